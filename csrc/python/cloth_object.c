/* _core.Cloth: a cs_cloth whose systems are assembled with the GIL released. */
#include "cloth/cloth.h"

#include "cloth/polar.h"
#include "core/costs.h"
#include "core/error.h"
#include "core/parallel.h"
#include "python/core.h"

#include <string.h>

typedef struct cloth_object {
    PyObject_HEAD
    cs_cloth cloth;
    atomic_flag busy; /* set while the step is in use */
} cloth_object;

/* Returns -1 with an error set if another thread uses the cloth. */
static int begin(cloth_object *self)
{
    if (!atomic_flag_test_and_set(&self->busy)) return 0;
    PyErr_SetString(
        PyExc_RuntimeError,
        "this Cloth is in the middle of a step (in another thread or around this call)");
    return -1;
}

static int threads_for(const cloth_object *self, long long most)
{
    return cs_threads_for(most, self->cloth.mesh.vertices, CS_WORTH_THREADS_PRODUCT,
                          self->cloth.system.parts);
}

/* ---- life ----------------------------------------------------------------------------------------- */

/* Reads (density, young, poisson, bending, damping, gravity x, y, z), in this order. */
static int read_options(PyObject *numbers, cs_cloth_options *options)
{
    PyArrayObject *array = double_array(numbers, "numbers");
    if (!array) return -1;
    const double *value = PyArray_DATA(array);
    options->density = value[0];
    options->young = value[1];
    options->poisson = value[2];
    options->bending = value[3];
    options->damping = value[4];
    memcpy(options->gravity, value + 5, sizeof options->gravity);
    Py_DECREF(array);
    return 0;
}

/* Cloth(vertices, rest, faces, numbers, quadratic, parts, labels, single): the caller has checked the shapes of arrays.
 * labels may be None, for slices. */
static PyObject *cloth_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *vertices, *shape, *triangles, *numbers, *labels;
    cs_cloth_options options = {0};
    long long parts;
    int quadratic;
    if (keywords && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Cloth takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OOOOpLOp:Cloth", &vertices, &shape, &triangles, &numbers,
                          &quadratic, &parts, &labels, &options.single))
        return NULL;
    options.model = quadratic ? CS_BENDING_QUADRATIC : CS_BENDING_HINGE;
    options.parts = parts;

    /* Read arrays. */
    cloth_object *self = NULL;
    PyArrayObject *x = double_array(vertices, "vertices"), *rest = NULL, *face = NULL,
                  *label = NULL;
    if (!x || !(rest = double_array(shape, "rest"))) goto out;
    if (!(face = int64_array(triangles, "faces"))) goto out;
    if (labels != Py_None && !(label = int64_array(labels, "partition"))) goto out;
    if (read_options(numbers, &options) < 0) goto out;
    options.label = label ? PyArray_DATA(label) : NULL;

    /* Make the cloth. */
    self = (cloth_object *)type->tp_alloc(type, 0);
    if (!self) goto out;
    atomic_flag_clear(&self->busy);
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_cloth_make(&self->cloth, &options, PyArray_SIZE(x) / 3, PyArray_DATA(x),
                           PyArray_DATA(rest), PyArray_DATA(face), PyArray_SIZE(face) / 3, &error);
    Py_END_ALLOW_THREADS
    if (status) {
        raise_error(&error);
        Py_CLEAR(self);
    }
out:
    Py_XDECREF(x);
    Py_XDECREF(rest);
    Py_XDECREF(face);
    Py_XDECREF(label);
    return (PyObject *)self;
}

static void cloth_dealloc(cloth_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_cloth_clear(&self->cloth);
    type->tp_free(self);
    Py_DECREF(type);
}

/* attach(vertices) */
static PyObject *cloth_attach(cloth_object *self, PyObject *vertices)
{
    cs_error error = {0};
    PyArrayObject *vertex = int64_array(vertices, "attach");
    if (!vertex) return NULL;
    if (begin(self) == 0) {
        if (cs_cloth_attach(&self->cloth, PyArray_DATA(vertex), PyArray_SIZE(vertex), &error))
            raise_error(&error);
        atomic_flag_clear(&self->busy);
    }
    Py_DECREF(vertex);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- the state --------------------------------------------------------------------------------------- */

static PyObject *vectors_of(const cloth_object *self, const double *x)
{
    return copied_array(x, NPY_DOUBLE, self->cloth.mesh.vertices, 3, sizeof *x);
}

/* state() -> (positions, velocities, time) */
static PyObject *cloth_state(cloth_object *self, PyObject *unused)
{
    (void)unused;
    const cs_cloth *cloth = &self->cloth;
    return Py_BuildValue("(NNd)", vectors_of(self, cloth->position),
                         vectors_of(self, cloth->velocity), cloth->time);
}

/* set_state(positions, velocities, time): finite arrays of the right size. */
static PyObject *cloth_set_state(cloth_object *self, PyObject *args)
{
    PyObject *positions, *velocities;
    double time;
    if (!PyArg_ParseTuple(args, "OOd:set_state", &positions, &velocities, &time)) return NULL;
    PyArrayObject *x = double_array(positions, "positions"), *v = NULL;
    if (x && (v = double_array(velocities, "velocities")) && begin(self) == 0) {
        size_t size = sizeof(double) * (size_t)(3 * self->cloth.mesh.vertices);
        memcpy(self->cloth.position, PyArray_DATA(x), size);
        memcpy(self->cloth.velocity, PyArray_DATA(v), size);
        self->cloth.time = time;
        atomic_flag_clear(&self->busy);
    }
    Py_XDECREF(x);
    Py_XDECREF(v);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* energy() -> (kinetic, gravity, membrane, bending) */
static PyObject *cloth_energy(cloth_object *self, PyObject *unused)
{
    (void)unused;
    cs_cloth_energy e = cs_cloth_find_energy(&self->cloth);
    return Py_BuildValue("(dddd)", e.kinetic, e.gravity, e.membrane, e.bending);
}

/* momentum() -> (linear, angular) */
static PyObject *cloth_momentum(cloth_object *self, PyObject *unused)
{
    (void)unused;
    double linear[3], angular[3];
    cs_cloth_momentum(&self->cloth, linear, angular);
    return Py_BuildValue("(NN)", new_doubles(linear, 3), new_doubles(angular, 3));
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* begin(h, target, force): arrays (n, 3) or None. */
static PyObject *cloth_begin(cloth_object *self, PyObject *args)
{
    double h;
    PyObject *targets, *forces;
    PyArrayObject *target = NULL, *force = NULL;
    cs_error error = {0};
    if (!PyArg_ParseTuple(args, "dOO:begin", &h, &targets, &forces)) return NULL;
    if (targets != Py_None && !(target = double_array(targets, "attach"))) goto out;
    if (forces != Py_None && !(force = double_array(forces, "forces"))) goto out;
    if (begin(self) < 0) goto out;
    if (cs_cloth_begin(&self->cloth, h, target ? PyArray_DATA(target) : NULL,
                       force ? PyArray_DATA(force) : NULL, &error))
        raise_error(&error);
    atomic_flag_clear(&self->busy);
out:
    Py_XDECREF(target);
    Py_XDECREF(force);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* assemble(threads) -> (values (blocks, 3, 3), right (3 n)) */
static PyObject *cloth_assemble(cloth_object *self, PyObject *args)
{
    long long threads;
    if (!PyArg_ParseTuple(args, "L:assemble", &threads)) return NULL;
    const cs_graph *graph = &self->cloth.graph;
    npy_intp shape[3] = {(npy_intp)graph->start[graph->count], 3, 3};
    PyObject *values = PyArray_SimpleNew(3, shape, NPY_DOUBLE);
    if (!values) return NULL;
    if (begin(self) < 0) {
        Py_DECREF(values);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    cs_cloth_assemble(&self->cloth, threads_for(self, threads));
    cs_cloth_values(&self->cloth, PyArray_DATA((PyArrayObject *)values));
    Py_END_ALLOW_THREADS
    PyObject *right = new_doubles(self->cloth.right, 3 * graph->count);
    atomic_flag_clear(&self->busy);
    return Py_BuildValue("(NN)", values, right);
}

/* correct(change): 3 n numbers. */
static PyObject *cloth_correct(cloth_object *self, PyObject *given)
{
    PyArrayObject *change = double_array(given, "change");
    if (change && begin(self) == 0) {
        cs_cloth_correct(&self->cloth, PyArray_DATA(change), threads_for(self, 0));
        atomic_flag_clear(&self->busy);
    }
    Py_XDECREF(change);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* finish() */
static PyObject *cloth_finish(cloth_object *self, PyObject *unused)
{
    (void)unused;
    cs_error error = {0};
    if (begin(self) < 0) return NULL;
    cs_status status = cs_cloth_finish(&self->cloth, &error);
    atomic_flag_clear(&self->busy);
    if (status) raise_error(&error);
    return status ? NULL : Py_NewRef(Py_None);
}

/* describe() -> a dict */
static PyObject *cloth_describe(cloth_object *self, PyObject *unused)
{
    (void)unused;
    const cs_cloth *c = &self->cloth;
    return Py_BuildValue("{s:L,s:L,s:N,s:N,s:N,s:N,s:N}", "edges", (long long)c->mesh.edges,
                         "hinges", (long long)c->mesh.hinges, "mass",
                         new_doubles(c->mass, c->mesh.vertices), "indptr",
                         new_integers(c->graph.start, c->graph.count + 1), "indices",
                         new_integers(c->graph.column, c->graph.start[c->graph.count]), "first",
                         new_integers(c->system.first, c->system.parts + 1), "order",
                         new_integers(c->system.old, c->system.vertices));
}

static PyMethodDef cloth_methods[] = {
    {"attach", (PyCFunction)(void (*)(void))cloth_attach, METH_O,
     "attach(vertices)\n--\n\nAttaches these vertices, and no others."},
    {"state", (PyCFunction)(void (*)(void))cloth_state, METH_NOARGS,
     "state()\n--\n\n(positions, velocities, time), as copies."},
    {"set_state", (PyCFunction)(void (*)(void))cloth_set_state, METH_VARARGS,
     "set_state(positions, velocities, time)\n--\n\nReplaces the state."},
    {"energy", (PyCFunction)(void (*)(void))cloth_energy, METH_NOARGS,
     "energy()\n--\n\n(kinetic, gravity, membrane, bending)."},
    {"momentum", (PyCFunction)(void (*)(void))cloth_momentum, METH_NOARGS,
     "momentum()\n--\n\n(linear, angular)."},
    {"begin", (PyCFunction)(void (*)(void))cloth_begin, METH_VARARGS,
     "begin(h, target, force)\n--\n\nBegins a step."},
    {"assemble", (PyCFunction)(void (*)(void))cloth_assemble, METH_VARARGS,
     "assemble(threads)\n--\n\nThe blocks of the matrix, and the right-hand side."},
    {"correct", (PyCFunction)(void (*)(void))cloth_correct, METH_O,
     "correct(change)\n--\n\nTakes a solution."},
    {"finish", (PyCFunction)(void (*)(void))cloth_finish, METH_NOARGS,
     "finish()\n--\n\nEnds the step."},
    {"describe", (PyCFunction)(void (*)(void))cloth_describe, METH_NOARGS,
     "describe()\n--\n\nThe mesh, the masses and the parts of the matrix, as a dict."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot cloth_slots[] = {
    {Py_tp_new, (void *)cloth_new},
    {Py_tp_dealloc, (void *)cloth_dealloc},
    {Py_tp_methods, cloth_methods},
    {Py_tp_doc, "Cloth(...)\n--\n\nA cloth. See contactsolve.cloth.Cloth."},
    {0, NULL},
};

PyType_Spec cloth_spec = {
    .name = "contactsolve._core.Cloth",
    .basicsize = sizeof(cloth_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = cloth_slots,
};

/* ---- for tests -------------------------------------------------------------------------------------------- */

/* R (3, 2) and S (2, 2), row by row, of F = R S. */
static void rotation_and_stretch(const cs_polar *polar, double *rotation, double *stretch)
{
    const double v[2][2] = {{polar->axis[0], polar->axis[1]}, {-polar->axis[1], polar->axis[0]}};
    for (int j = 0; j < 2; j++) {
        for (int k = 0; k < 3; k++)
            rotation[2 * k + j] = polar->frame[0][k] * v[0][j] + polar->frame[1][k] * v[1][j];
        for (int i = 0; i < 2; i++)
            stretch[2 * i + j] =
                polar->sigma[0] * v[0][i] * v[0][j] + polar->sigma[1] * v[1][i] * v[1][j];
    }
}

PyObject *core_polar(PyObject *m, PyObject *matrices)
{
    (void)m;
    PyArrayObject *given = double_array(matrices, "matrices");
    if (!given) return NULL;
    int64_t count = PyArray_SIZE(given) / 6;
    PyObject *rotations = copied_array(NULL, NPY_DOUBLE, count, 6, sizeof(double));
    PyObject *stretches =
        rotations ? copied_array(NULL, NPY_DOUBLE, count, 4, sizeof(double)) : NULL;
    const double *f = PyArray_DATA(given);
    for (int64_t i = 0; stretches && i < count; i++) {
        cs_polar polar;
        const double *row = f + 6 * i;
        const double columns[2][3] = {{row[0], row[2], row[4]}, {row[1], row[3], row[5]}};
        cs_polar_find(columns, &polar);
        rotation_and_stretch(&polar, (double *)PyArray_DATA((PyArrayObject *)rotations) + 6 * i,
                             (double *)PyArray_DATA((PyArrayObject *)stretches) + 4 * i);
    }
    Py_DECREF(given);
    if (stretches) return Py_BuildValue("(NN)", rotations, stretches);
    Py_XDECREF(rotations);
    return NULL;
}
