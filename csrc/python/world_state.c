/* Methods of _core.World that move bodies, and that save and restore its state. */
#include "python/world_object.h"

#include "python/fields.h"

#include <limits.h>
#include <string.h>

/* place(body, position, orientation, velocity) */
PyObject *world_place(world_object *self, PyObject *args)
{
    PyObject *value[4];
    PyArrayObject *body = NULL, *array[3] = {NULL};
    const double *data[3] = {NULL};
    const cs_space *space = &self->space;
    const char *const name[3] = {"position", "orientation", "velocity"};
    const int each[3] = {space->dimension, space->orientation, space->dof};
    cs_error error = {0};
    if (!PyArg_ParseTuple(args, "OOOO:place", &value[0], &value[1], &value[2], &value[3]))
        return NULL;
    if (!(body = int64_array(value[0], "body"))) return NULL;
    int64_t count = (int64_t)PyArray_SIZE(body);
    for (int i = 0; i < 3; i++)
        if (read_body_doubles(value[i + 1], name[i], count, each[i], &array[i], &data[i]) < 0)
            goto out;
    if (world_begin(self) < 0) goto out;
    if (cs_world_place(self->world, PyArray_DATA(body), count, data[0], data[1], data[2], &error))
        raise_error(&error);
    world_end(self);
out:
    Py_DECREF(body);
    for (int i = 0; i < 3; i++) Py_XDECREF((PyObject *)array[i]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* skip_shapes(count) */
PyObject *world_skip_shapes(world_object *self, PyObject *value)
{
    cs_error error = {0};
    long long count = PyLong_AsLongLong(value);
    if ((count == -1 && PyErr_Occurred()) || world_begin(self) < 0) return NULL;
    if (cs_world_skip_shapes(self->world, count, &error)) raise_error(&error);
    world_end(self);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- state ----------------------------------------------------------------------------------- */

/* The types of NumPy for cs_number_kind. */
static const int types[] = {NPY_DOUBLE, NPY_INT64, NPY_INT32, NPY_UINT8};
enum { TYPES = sizeof types / sizeof *types };

/* A copy of an array of a state, (rows, columns). */
static PyObject *copy_of(const cs_state_array *array)
{
    npy_intp shape[2] = {(npy_intp)array->rows, array->columns};
    PyObject *copy = PyArray_SimpleNew(2, shape, types[array->kind]);
    size_t size = copy ? (size_t)PyArray_NBYTES((PyArrayObject *)copy) : 0;
    if (size) memcpy(PyArray_DATA((PyArrayObject *)copy), array->data, size);
    return copy;
}

/* save() -> the arrays of the state by name */
PyObject *world_save(world_object *self, PyObject *unused)
{
    (void)unused;
    cs_world_state state;
    cs_error error = {0};
    if (world_begin(self) < 0) return NULL;
    PyObject *saved = PyDict_New();
    if (saved && cs_world_save(self->world, &state, &error)) {
        raise_error(&error);
        Py_CLEAR(saved);
    }
    for (int i = 0; saved && i < state.count; i++)
        if (add_item(saved, state.array[i].name, copy_of(&state.array[i])) < 0) Py_CLEAR(saved);
    world_end(self);
    return saved;
}

/* Describes an array of two dimensions; *held <- a contiguous one, a new reference. Returns -1 with an error set. */
static int read_array(PyObject *name, PyObject *value, cs_state_array *array, PyObject **held)
{
    array->name = PyUnicode_AsUTF8(name);
    if (!array->name) return -1;
    if (!PyArray_Check(value) || PyArray_NDIM((PyArrayObject *)value) != 2) {
        PyErr_Format(PyExc_ValueError, "%s: an array of two dimensions is needed", array->name);
        return -1;
    }
    PyArrayObject *given = (PyArrayObject *)value;
    int kind = 0;
    while (kind < TYPES && !PyArray_EquivTypenums(PyArray_TYPE(given), types[kind])) kind++;
    if (kind == TYPES || PyArray_DIM(given, 1) > INT_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: float64, int64, int32 or uint8 is needed", array->name);
        return -1;
    }
    *held = PyArray_FROM_OF(value, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_NOTSWAPPED);
    if (!*held) return -1;
    array->kind = (cs_number_kind)kind;
    array->rows = (int64_t)PyArray_DIM(given, 0);
    array->columns = (int)PyArray_DIM(given, 1);
    array->data = PyArray_DATA((PyArrayObject *)*held);
    return 0;
}

/* restore(arrays): a dict, as from save */
PyObject *world_restore(world_object *self, PyObject *value)
{
    cs_world_state state = {0};
    cs_error error = {0};
    PyObject *held[CS_MOST_STATE_ARRAYS] = {NULL}, *name, *array;
    Py_ssize_t at = 0;
    if (!PyDict_Check(value) || PyDict_GET_SIZE(value) > CS_MOST_STATE_ARRAYS) {
        PyErr_SetString(PyExc_TypeError, "restore takes the dict of save");
        return NULL;
    }
    for (; PyDict_Next(value, &at, &name, &array); state.count++)
        if (read_array(name, array, &state.array[state.count], &held[state.count]) < 0) goto out;
    if (world_begin(self) < 0) goto out;
    if (cs_world_restore(self->world, &state, &error)) raise_error(&error);
    world_end(self);
out:
    for (int i = 0; i < CS_MOST_STATE_ARRAYS; i++) Py_XDECREF(held[i]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}
