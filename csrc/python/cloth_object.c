/* _core.Cloth: a cs_cloth whose systems are assembled with the GIL released. */
#include "cloth/polar.h"
#include "core/error.h"
#include "python/cloth_objects.h"

#include <string.h>

/* ---- life ----------------------------------------------------------------------------------------- */

/* Reads (density, young, poisson, bending, damping, gravity x, y, z, rtol), in this order. */
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
    options->rtol = value[8];
    Py_DECREF(array);
    return 0;
}

/* Cloth(vertices, rest, faces, numbers, quadratic, parts, labels, precision, preconditioner, max_iterations): the caller has
 * checked the shapes of arrays. labels may be None, for slices; precision: 0 float64, 1 float32, 2 mixed. */
static PyObject *cloth_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *vertices, *shape, *triangles, *numbers, *labels;
    cs_cloth_options options = {0};
    long long parts, most;
    int quadratic, precision;
    if (keywords && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Cloth takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OOOOpLOisL:Cloth", &vertices, &shape, &triangles, &numbers,
                          &quadratic, &parts, &labels, &precision, &options.preconditioner, &most))
        return NULL;
    options.model = quadratic ? CS_BENDING_QUADRATIC : CS_BENDING_HINGE;
    options.precision = (cs_cloth_precision)precision;
    options.parts = parts;
    options.max_iterations = most;

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
    self->preemptions = -1;
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
    if (cloth_begin(self) == 0) {
        if (cs_cloth_attach(&self->cloth, PyArray_DATA(vertex), PyArray_SIZE(vertex), &error))
            raise_error(&error);
        cloth_end(self);
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
    if (cloth_begin(self) < 0) return NULL;
    const cs_cloth *cloth = &self->cloth;
    PyObject *answer = Py_BuildValue("(NNd)", vectors_of(self, cloth->position),
                                     vectors_of(self, cloth->velocity), cloth->time);
    cloth_end(self);
    return answer;
}

/* set_state(positions, velocities, time): finite arrays of the right size. */
static PyObject *cloth_set_state(cloth_object *self, PyObject *args)
{
    PyObject *positions, *velocities;
    double time;
    if (!PyArg_ParseTuple(args, "OOd:set_state", &positions, &velocities, &time)) return NULL;
    PyArrayObject *x = double_array(positions, "positions"), *v = NULL;
    if (x && (v = double_array(velocities, "velocities")) && cloth_begin(self) == 0) {
        size_t size = sizeof(double) * (size_t)(3 * self->cloth.mesh.vertices);
        memcpy(self->cloth.position, PyArray_DATA(x), size);
        memcpy(self->cloth.velocity, PyArray_DATA(v), size);
        self->cloth.time = time;
        cs_cloth_forget_all(&self->cloth);
        cloth_end(self);
    }
    Py_XDECREF(x);
    Py_XDECREF(v);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* set_velocities(velocities): finite ones. Contacts keep their forces, which the next step begins with. */
static PyObject *cloth_set_velocities(cloth_object *self, PyObject *velocities)
{
    PyArrayObject *v = double_array(velocities, "velocities");
    if (v && cloth_begin(self) == 0) {
        size_t size = sizeof(double) * (size_t)(3 * self->cloth.mesh.vertices);
        memcpy(self->cloth.velocity, PyArray_DATA(v), size);
        cs_cloth_forget(&self->cloth);
        cloth_end(self);
    }
    Py_XDECREF(v);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* set_time(time): a finite one. */
static PyObject *cloth_set_time(cloth_object *self, PyObject *number)
{
    double time = PyFloat_AsDouble(number);
    if (PyErr_Occurred() || cloth_begin(self) < 0) return NULL;
    self->cloth.time = time;
    cloth_end(self);
    return Py_NewRef(Py_None);
}

/* forget() */
static PyObject *cloth_forget(cloth_object *self, PyObject *unused)
{
    (void)unused;
    if (cloth_begin(self) < 0) return NULL;
    cs_cloth_forget_all(&self->cloth);
    cloth_end(self);
    return Py_NewRef(Py_None);
}

/* energy() -> (kinetic, gravity, membrane, bending) */
static PyObject *cloth_energy(cloth_object *self, PyObject *unused)
{
    (void)unused;
    if (cloth_begin(self) < 0) return NULL;
    cs_cloth_energy e = cs_cloth_find_energy(&self->cloth);
    cloth_end(self);
    return Py_BuildValue("(dddd)", e.kinetic, e.gravity, e.membrane, e.bending);
}

/* momentum() -> (linear, angular) */
static PyObject *cloth_momentum(cloth_object *self, PyObject *unused)
{
    (void)unused;
    double linear[3], angular[3];
    if (cloth_begin(self) < 0) return NULL;
    cs_cloth_momentum(&self->cloth, linear, angular);
    cloth_end(self);
    return Py_BuildValue("(NN)", new_doubles(linear, 3), new_doubles(angular, 3));
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* Assembles with the GIL released. */
static PyObject *assembled(cloth_object *self, long long threads)
{
    const cs_graph *graph = &self->cloth.graph;
    npy_intp shape[3] = {(npy_intp)graph->start[graph->count], 3, 3};
    PyObject *values = PyArray_SimpleNew(3, shape, NPY_DOUBLE);
    if (!values) return NULL;
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_cloth_assemble(&self->cloth, cloth_threads(self, threads), &error);
    if (!status) cs_cloth_values(&self->cloth, PyArray_DATA((PyArrayObject *)values));
    Py_END_ALLOW_THREADS
    if (status) {
        raise_error(&error);
        Py_DECREF(values);
        return NULL;
    }
    return Py_BuildValue("(NN)", values, new_doubles(self->cloth.right, 3 * graph->count));
}

/* system(h, target, force, threads) -> (values (blocks, 3, 3), right (3 n)) */
static PyObject *cloth_system(cloth_object *self, PyObject *args)
{
    double h;
    long long threads;
    PyObject *target, *force, *answer = NULL;
    cloth_arrays arrays = {0};
    cs_error error = {0};
    if (!PyArg_ParseTuple(args, "dOOL:system", &h, &target, &force, &threads)) return NULL;
    if (cloth_read_arrays(&arrays, target, force) == 0 && cloth_begin(self) == 0) {
        if (cs_cloth_begin(&self->cloth, h, arrays.to, arrays.pull, &error)) raise_error(&error);
        else answer = assembled(self, threads);
        cloth_end(self);
    }
    cloth_clear_arrays(&arrays);
    return answer;
}

/* solver() -> the number of the solver that is kept, of all that were made; 0: none */
static PyObject *cloth_solver(cloth_object *self, PyObject *unused)
{
    (void)unused;
    if (cloth_begin(self) < 0) return NULL;
    long long number = self->cloth.cg ? (long long)self->cloth.made : 0;
    cloth_end(self);
    return PyLong_FromLongLong(number);
}

/* solver_origin() -> (h, positions, velocities) of the step that made it */
static PyObject *cloth_solver_origin(cloth_object *self, PyObject *unused)
{
    (void)unused;
    if (cloth_begin(self) < 0) return NULL;
    const cs_cloth *cloth = &self->cloth;
    PyObject *answer =
        Py_BuildValue("(dNN)", cloth->chosen_for, vectors_of(self, cloth->origin_position),
                      vectors_of(self, cloth->origin_velocity));
    cloth_end(self);
    return answer;
}

/* remake_solver(h, positions, velocities, threads): as a step from there would make it. */
static PyObject *cloth_remake_solver(cloth_object *self, PyObject *args)
{
    PyObject *positions, *velocities;
    double h;
    long long threads;
    cs_error error = {0};
    if (!PyArg_ParseTuple(args, "dOOL:remake_solver", &h, &positions, &velocities, &threads))
        return NULL;
    PyArrayObject *x = double_array(positions, "positions"), *v = NULL;
    if (x && (v = double_array(velocities, "velocities")) && cloth_begin(self) == 0) {
        const cs_cloth_call call = {.newton = 1, .threads = cloth_threads(self, threads)};
        cs_status status;
        Py_BEGIN_ALLOW_THREADS
        status = cs_cloth_remake(&self->cloth, h, PyArray_DATA(x), PyArray_DATA(v), &call, &error);
        Py_END_ALLOW_THREADS
        if (status) raise_error(&error);
        cloth_end(self);
    }
    Py_XDECREF(x);
    Py_XDECREF(v);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* set_counts(steps, steps_not_converged): those of a cloth that goes on. */
static PyObject *cloth_set_counts(cloth_object *self, PyObject *args)
{
    long long steps, missed;
    if (!PyArg_ParseTuple(args, "LL:set_counts", &steps, &missed)) return NULL;
    if (cloth_begin(self) < 0) return NULL;
    self->cloth.steps = steps;
    self->cloth.missed = missed;
    cloth_end(self);
    return Py_NewRef(Py_None);
}

/* describe() -> a dict */
static PyObject *cloth_describe(cloth_object *self, PyObject *unused)
{
    (void)unused;
    if (cloth_begin(self) < 0) return NULL;
    const cs_cloth *c = &self->cloth;
    PyObject *answer =
        Py_BuildValue("{s:L,s:L,s:N,s:N,s:N,s:N,s:N}", "edges", (long long)c->mesh.edges, "hinges",
                      (long long)c->mesh.hinges, "mass", new_doubles(c->mass, c->mesh.vertices),
                      "indptr", new_integers(c->graph.start, c->graph.count + 1), "indices",
                      new_integers(c->graph.column, c->graph.start[c->graph.count]), "first",
                      new_integers(c->system.first, c->system.parts + 1), "order",
                      new_integers(c->system.old, c->system.vertices));
    cloth_end(self);
    return answer;
}

static PyMethodDef cloth_methods[] = {
    {"attach", (PyCFunction)(void (*)(void))cloth_attach, METH_O,
     "attach(vertices)\n--\n\nAttaches these vertices, and no others."},
    {"state", (PyCFunction)(void (*)(void))cloth_state, METH_NOARGS,
     "state()\n--\n\n(positions, velocities, time), as copies."},
    {"set_state", (PyCFunction)(void (*)(void))cloth_set_state, METH_VARARGS,
     "set_state(positions, velocities, time)\n--\n\nReplaces the state."},
    {"set_velocities", (PyCFunction)(void (*)(void))cloth_set_velocities, METH_O,
     "set_velocities(velocities)\n--\n\nReplaces the velocities; forces of contacts stay."},
    {"set_time", (PyCFunction)(void (*)(void))cloth_set_time, METH_O,
     "set_time(time)\n--\n\nReplaces the time alone; the solver stays."},
    {"forget", (PyCFunction)(void (*)(void))cloth_forget, METH_NOARGS,
     "forget()\n--\n\nMakes what follows depend on the state alone, not on earlier steps."},
    {"energy", (PyCFunction)(void (*)(void))cloth_energy, METH_NOARGS,
     "energy()\n--\n\n(kinetic, gravity, membrane, bending)."},
    {"momentum", (PyCFunction)(void (*)(void))cloth_momentum, METH_NOARGS,
     "momentum()\n--\n\n(linear, angular)."},
    {"system", (PyCFunction)(void (*)(void))cloth_system, METH_VARARGS,
     "system(h, target, force, threads)\n--\n\nBlocks of the matrix, and the right-hand side."},
    {"step", (PyCFunction)(void (*)(void))cloth_step, METH_VARARGS,
     "step(h, target, force, newton, threads)\n--\n\nMakes a step; False: collisions need a "
     "shorter "
     "one."},
    {"predict", (PyCFunction)(void (*)(void))cloth_predict, METH_VARARGS,
     "predict(h, target, force, newton, threads)\n--\n\nBegins a step, and finds its contacts."},
    {"conclude", (PyCFunction)(void (*)(void))cloth_conclude, METH_VARARGS,
     "conclude(threads)\n--\n\nEnds the step that `predict` has begun; as `step`."},
    {"collide", (PyCFunction)(void (*)(void))cloth_collide, METH_VARARGS,
     "collide(numbers, counts, rule)\n--\n\nAdds collisions."},
    {"add_obstacle", (PyCFunction)(void (*)(void))cloth_add_obstacle, METH_VARARGS,
     "add_obstacle(vertices, faces)\n--\n\nAdds an obstacle."},
    {"move_obstacle", (PyCFunction)(void (*)(void))cloth_move_obstacle, METH_VARARGS,
     "move_obstacle(number, vertices, at_once)\n--\n\nWhere it is at the end of the next step, or "
     "from now on."},
    {"obstacle", (PyCFunction)(void (*)(void))cloth_obstacle, METH_O,
     "obstacle(number)\n--\n\nIts positions, a copy."},
    {"check", (PyCFunction)(void (*)(void))cloth_check, METH_VARARGS,
     "check(positions, threads)\n--\n\nRaises for intersections."},
    {"contacts", (PyCFunction)(void (*)(void))cloth_contacts, METH_O,
     "contacts(is_present)\n--\n\n(vertices, weights, normals, gaps, bounds, impulses, rates, "
     "is_impact) of the last step, or of the one that was predicted."},
    {"former_contacts", (PyCFunction)(void (*)(void))cloth_former_contacts, METH_NOARGS,
     "former_contacts()\n--\n\n(keys, forces, counts): contacts of the last step."},
    {"set_former_contacts", (PyCFunction)(void (*)(void))cloth_set_former_contacts, METH_VARARGS,
     "set_former_contacts(keys, forces, counts)\n--\n\nReplaces them."},
    {"set_impulses", (PyCFunction)(void (*)(void))cloth_set_impulses, METH_O,
     "set_impulses(impulses)\n--\n\nGives impulses to the contacts that `predict` has found."},
    {"report", (PyCFunction)(void (*)(void))cloth_report, METH_NOARGS,
     "report()\n--\n\nWhat the solves of the last step did, and numbers of steps, as a dict."},
    {"solver", (PyCFunction)(void (*)(void))cloth_solver, METH_NOARGS,
     "solver()\n--\n\nThe number of the solver that is kept, of all that were made; 0: none."},
    {"solver_origin", (PyCFunction)(void (*)(void))cloth_solver_origin, METH_NOARGS,
     "solver_origin()\n--\n\n(h, positions, velocities) of the step that made it."},
    {"remake_solver", (PyCFunction)(void (*)(void))cloth_remake_solver, METH_VARARGS,
     "remake_solver(h, positions, velocities, threads)\n--\n\nMakes the solver as a step from "
     "there would."},
    {"set_counts", (PyCFunction)(void (*)(void))cloth_set_counts, METH_VARARGS,
     "set_counts(steps, steps_not_converged)\n--\n\nReplaces the numbers of steps."},
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
