/* Methods of _core.World for joints. */
#include "python/world_object.h"

#include "python/fields.h"

#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* The columns of `numbers`: points, axes, turn, length, ratio, limits, compliance, stiffness, damping, drive. */
enum { NUMBERS = 32, FLAGS = 2 };

/* Copies the next `count` numbers. */
static void take(double *to, const double **from, size_t count)
{
    memcpy(to, *from, count * sizeof *to);
    *from += count;
}

static void read_joint(cs_joint *joint, int kind, const int64_t *body, const double *numbers,
                       const int64_t *flags)
{
    joint->kind = (cs_joint_kind)kind;
    memcpy(joint->body, body, sizeof joint->body);
    take(joint->point[0], &numbers, 6);
    take(joint->axis[0], &numbers, 6);
    take(joint->turn, &numbers, 4);
    take(&joint->length, &numbers, 1);
    take(&joint->ratio, &numbers, 1);
    take(joint->limits, &numbers, 2);
    take(joint->compliance, &numbers, 6);
    take(&joint->stiffness, &numbers, 1);
    take(&joint->damping, &numbers, 1);
    take(joint->drive, &numbers, CS_DRIVE_NUMBERS);
    joint->has_drive = flags[0] != 0;
    joint->touches = flags[1] != 0;
}

/* Whether an array has `count` times `each` entries; else an error is set. */
static int fits(PyArrayObject *array, const char *name, int64_t count, int each)
{
    if (!array) return 0;
    if ((int64_t)PyArray_SIZE(array) == count * each) return 1;
    PyErr_Format(PyExc_ValueError, "%s has %zd entries; %lld joints need %d each", name,
                 (Py_ssize_t)PyArray_SIZE(array), (long long)count, each);
    return 0;
}

/* ---- methods ----------------------------------------------------------------------------------- */

/* add_joints(kind, body, numbers, flags) -> the number of the first */
PyObject *world_add_joints(world_object *self, PyObject *args)
{
    const char *name;
    PyObject *value[3], *answer = NULL;
    cs_error error = {0};
    int64_t first;
    if (!PyArg_ParseTuple(args, "sOOO:add_joints", &name, &value[0], &value[1], &value[2]))
        return NULL;
    int kind = cs_joint_find(name);
    PyArrayObject *body = int64_array(value[0], "body");
    PyArrayObject *numbers = double_array(value[1], "numbers");
    PyArrayObject *flags = int64_array(value[2], "flags");
    int64_t count = body ? (int64_t)PyArray_SIZE(body) / 2 : 0;
    cs_joint *joints = PyMem_Calloc((size_t)(count > 0 ? count : 1), sizeof *joints);
    if (!joints) PyErr_NoMemory();
    if (kind < 0) PyErr_Format(PyExc_ValueError, "kind is '%s': it is unknown", name);
    if (!joints || kind < 0 || !fits(body, "body", count, 2) ||
        !fits(numbers, "numbers", count, NUMBERS) || !fits(flags, "flags", count, FLAGS))
        goto out;
    for (int64_t i = 0; i < count; i++)
        read_joint(&joints[i], kind, (const int64_t *)PyArray_DATA(body) + 2 * i,
                   (const double *)PyArray_DATA(numbers) + NUMBERS * i,
                   (const int64_t *)PyArray_DATA(flags) + FLAGS * i);

    /* Add them. */
    if (world_begin(self) < 0) goto out;
    cs_status status = cs_world_add_joints(self->world, joints, count, &first, &error);
    world_end(self);
    if (status) raise_error(&error);
    else answer = PyLong_FromLongLong(first);
out:
    PyMem_Free(joints);
    Py_XDECREF((PyObject *)body);
    Py_XDECREF((PyObject *)numbers);
    Py_XDECREF((PyObject *)flags);
    return answer;
}

/* remove_joint(joint) */
PyObject *world_remove_joint(world_object *self, PyObject *value)
{
    cs_error error = {0};
    long long joint = PyLong_AsLongLong(value);
    if ((joint == -1 && PyErr_Occurred()) || world_begin(self) < 0) return NULL;
    if (cs_world_remove_joint(self->world, joint, &error)) raise_error(&error);
    world_end(self);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* joints() -> what joints have at present, and a view of their drives, as a dict */
PyObject *world_joints(world_object *self, PyObject *unused)
{
    (void)unused;
    cs_world_view view;
    size_t real = sizeof(double);
    if (world_begin(self) < 0) return NULL;
    cs_world_look(self->world, &view);
    int64_t count = view.joints;
    PyObject *coordinate = copied_array(NULL, NPY_DOUBLE, count, 0, real);
    PyObject *rate = copied_array(NULL, NPY_DOUBLE, count, 0, real);
    PyObject *off = copied_array(NULL, NPY_DOUBLE, count, 2, real);
    PyObject *impulse = copied_array(view.joint_impulse, NPY_DOUBLE, count, CS_JOINT_ROWS, real);
    PyObject *removed = copied_array(view.joint_removed, NPY_BOOL, count, 0, 1);
    if (coordinate && rate && off) {
        cs_joint_measures measures = {
            .coordinate = PyArray_DATA((PyArrayObject *)coordinate),
            .rate = PyArray_DATA((PyArrayObject *)rate),
            .error = PyArray_DATA((PyArrayObject *)off),
        };
        cs_world_measure_joints(self->world, &measures);
    }
    world_end(self);
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N}", "coordinate", coordinate, "rate", rate,
                         "error", off, "impulse", impulse, "removed", removed, "drive",
                         view_of(self, view.drive, NPY_DOUBLE, count, CS_DRIVE_NUMBERS, 1));
}
