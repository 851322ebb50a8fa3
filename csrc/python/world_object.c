/* _core.World: a cs_world that steps with the GIL released. */
#include "python/world_object.h"

#include "python/fields.h"
#include "python/shape_arguments.h"

#include <string.h>

int world_begin(world_object *self)
{
    if (!atomic_flag_test_and_set(&self->busy)) return 0;
    PyErr_SetString(
        PyExc_RuntimeError,
        "this World is in the middle of a step (in another thread or around this call)");
    return -1;
}

void world_end(world_object *self) { atomic_flag_clear(&self->busy); }

/* ---- life ------------------------------------------------------------------------------------ */

static const field option_fields[] = {
    FIELD(cs_world_options, dimension, INT),
    FIELD(cs_world_options, time_step, DOUBLE),
    FIELD(cs_world_options, activation, DOUBLE),
    FIELD(cs_world_options, stepper, TEXT),
    FIELD(cs_world_options, gyroscopic, TEXT),
    FIELD(cs_world_options, tension, TEXT),
    FIELD(cs_world_options, contact_compliance, DOUBLE),
};
enum { OPTION_FIELDS = sizeof option_fields / sizeof *option_fields };

/* World(world, gravity, options, settings, order, scheme, record) */
static PyObject *world_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *own, *gravity, *options, *settings, *order, *scheme, *record;
    if (keywords && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "World takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!OO!O!O!O!O!:World", &PyDict_Type, &own, &gravity, &PyDict_Type,
                          &options, &PyDict_Type, &settings, &PyDict_Type, &order, &PyDict_Type,
                          &scheme, &PyTuple_Type, &record))
        return NULL;
    world_object *self = (world_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    atomic_flag_clear(&self->busy);
    self->given = Py_NewRef(args);

    /* The options of the world and of its solver. */
    cs_world_options chosen = cs_world_options_default();
    PyArrayObject *pull = NULL;
    cs_error error = {0};
    if (read_fields(own, option_fields, OPTION_FIELDS, &chosen, NULL) < 0) goto fail;
    if (read_solver_arguments(&self->arguments, NULL, options, settings, order, scheme, record) < 0)
        goto fail;
    chosen.solver = self->arguments.options;
    if (!(pull = double_array(gravity, "gravity"))) goto fail;
    if (PyArray_SIZE(pull) != chosen.dimension) {
        PyErr_Format(PyExc_ValueError, "gravity has %zd entries; %d are needed",
                     (Py_ssize_t)PyArray_SIZE(pull), chosen.dimension);
        goto fail;
    }
    memcpy(chosen.gravity, PyArray_DATA(pull), sizeof(double) * (size_t)chosen.dimension);
    if (cs_world_create(&self->world, &chosen, &error)) {
        raise_error(&error);
        goto fail;
    }
    self->space = self->world->space;
    Py_DECREF(pull);
    return (PyObject *)self;
fail:
    Py_XDECREF(pull);
    Py_DECREF(self);
    return NULL;
}

static void world_dealloc(world_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_world_destroy(self->world);
    order_lists_clear(&self->arguments.lists);
    Py_XDECREF(self->given);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- materials ------------------------------------------------------------------------------- */

/* A material, and the array of its parameters. */
typedef struct described_material {
    cs_material material;
    PyArrayObject *parameter;
} described_material;

/* Reads (set, rows, parameters, normal and tangential restitution). Returns -1 with an error set. */
static int read_material(PyObject *args, const char *format, described_material *d, int *first,
                         int *second)
{
    PyObject *parameters;
    cs_material *m = &d->material;
    double *epsilon = m->restitution;
    int read = first ? PyArg_ParseTuple(args, format, first, second, &m->set, &m->rows, &parameters,
                                        &epsilon[0], &epsilon[1])
                     : PyArg_ParseTuple(args, format, &m->set, &m->rows, &parameters, &epsilon[0],
                                        &epsilon[1]);
    if (!read || !(d->parameter = double_array(parameters, "parameters"))) return -1;
    m->parameter = PyArray_DATA(d->parameter);
    m->parameters = (int)PyArray_SIZE(d->parameter);
    return 0;
}

/* add_material(set, rows, parameters, normal, tangential) -> its number */
static PyObject *world_add_material(world_object *self, PyObject *args)
{
    described_material d = {{0}, NULL};
    cs_error error = {0};
    int number = -1;
    if (read_material(args, "siOdd:add_material", &d, NULL, NULL) < 0) return NULL;
    if (world_begin(self) == 0) {
        if (cs_world_add_material(self->world, &d.material, &number, &error)) raise_error(&error);
        world_end(self);
    }
    Py_DECREF(d.parameter);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(number);
}

/* set_pair(first, second, set, rows, parameters, normal, tangential) */
static PyObject *world_set_pair(world_object *self, PyObject *args)
{
    described_material d = {{0}, NULL};
    cs_error error = {0};
    int first, second;
    if (read_material(args, "iisiOdd:set_pair", &d, &first, &second) < 0) return NULL;
    if (world_begin(self) == 0) {
        if (cs_world_set_pair(self->world, first, second, &d.material, &error)) raise_error(&error);
        world_end(self);
    }
    Py_DECREF(d.parameter);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- bodies and shapes ----------------------------------------------------------------------- */

int read_body_doubles(PyObject *value, const char *name, int64_t count, int each,
                      PyArrayObject **array, const double **data)
{
    if (value == Py_None) return 0;
    *array = double_array(value, name);
    if (!*array) return -1;
    *data = PyArray_DATA(*array);
    if ((int64_t)PyArray_SIZE(*array) == count * each) return 0;
    PyErr_Format(PyExc_ValueError, "%s has %zd entries; %lld bodies need %d each", name,
                 (Py_ssize_t)PyArray_SIZE(*array), (long long)count, each);
    return -1;
}

/* add_bodies(mass, inertia, position, orientation, velocity, driven) -> the number of the first */
static PyObject *world_add_bodies(world_object *self, PyObject *args)
{
    enum { MASS, INERTIA, POSITION, ORIENTATION, VELOCITY, DRIVEN, ARRAYS };
    PyObject *value[ARRAYS], *answer = NULL;
    PyArrayObject *array[ARRAYS] = {NULL};
    cs_world_bodies bodies = {0};
    const cs_space *space = &self->space;
    cs_error error = {0};
    int64_t first;
    if (!PyArg_ParseTuple(args, "OOOOOO:add_bodies", &value[0], &value[1], &value[2], &value[3],
                          &value[4], &value[5]))
        return NULL;

    /* The arrays; masses tell the number of bodies. */
    if (value[INERTIA] == Py_None || value[POSITION] == Py_None) {
        PyErr_SetString(PyExc_TypeError, "inertia and position are needed");
        goto out;
    }
    if (!(array[MASS] = double_array(value[MASS], "mass"))) goto out;
    int64_t count = bodies.count = (int64_t)PyArray_SIZE(array[MASS]);
    bodies.mass = PyArray_DATA(array[MASS]);
    if (read_body_doubles(value[INERTIA], "inertia", count, space->inertia, &array[INERTIA],
                          &bodies.inertia) < 0 ||
        read_body_doubles(value[POSITION], "position", count, space->dimension, &array[POSITION],
                          &bodies.position) < 0 ||
        read_body_doubles(value[ORIENTATION], "orientation", count, space->orientation,
                          &array[ORIENTATION], &bodies.orientation) < 0 ||
        read_body_doubles(value[VELOCITY], "velocity", count, space->dof, &array[VELOCITY],
                          &bodies.velocity) < 0)
        goto out;
    if (value[DRIVEN] != Py_None) {
        array[DRIVEN] =
            (PyArrayObject *)PyArray_FROM_OTF(value[DRIVEN], NPY_BOOL, NPY_ARRAY_IN_ARRAY);
        if (!array[DRIVEN]) goto out;
        if ((int64_t)PyArray_SIZE(array[DRIVEN]) != count) {
            PyErr_SetString(PyExc_ValueError, "driven: one entry for each body is needed");
            goto out;
        }
        bodies.driven = PyArray_DATA(array[DRIVEN]);
    }

    /* Add them. */
    if (world_begin(self) < 0) goto out;
    cs_status status = cs_world_add_bodies(self->world, &bodies, &first, &error);
    world_end(self);
    if (status) raise_error(&error);
    else answer = PyLong_FromLongLong(first);
out:
    for (int i = 0; i < ARRAYS; i++) Py_XDECREF((PyObject *)array[i]);
    return answer;
}

/* add_shapes(kind, numbers, vertices, body, position, orientation, material) -> the number of the first */
static PyObject *world_add_shapes(world_object *self, PyObject *args)
{
    shape_arguments shapes = {0};
    PyObject *material_value, *given, *answer = NULL;
    PyArrayObject *material = NULL;
    cs_error error = {0};
    int64_t first;
    if (PyTuple_GET_SIZE(args) != 7) {
        PyErr_SetString(PyExc_TypeError, "add_shapes takes kind, numbers, vertices, body, "
                                         "position, orientation and material");
        return NULL;
    }
    given = PyTuple_GetSlice(args, 0, 6);
    if (!given || read_shape_arguments(&shapes, given, self->space.dimension) < 0) goto out;
    material_value = PyTuple_GET_ITEM(args, 6);
    material = (PyArrayObject *)PyArray_FROM_OTF(material_value, NPY_INT, NPY_ARRAY_IN_ARRAY);
    if (!material) goto out;
    if ((int64_t)PyArray_SIZE(material) != shapes.count) {
        PyErr_SetString(PyExc_ValueError, "material: one entry for each shape is needed");
        goto out;
    }
    if (world_begin(self) < 0) goto out;
    cs_status status = cs_world_add_shapes(self->world, shapes.shape, PyArray_DATA(material),
                                           shapes.count, &first, &error);
    world_end(self);
    if (status) raise_error(&error);
    else answer = PyLong_FromLongLong(first);
out:
    shape_arguments_clear(&shapes);
    Py_XDECREF((PyObject *)material);
    Py_XDECREF(given);
    return answer;
}

/* remove(body) */
static PyObject *world_remove(world_object *self, PyObject *value)
{
    cs_error error = {0};
    long long body = PyLong_AsLongLong(value);
    if ((body == -1 && PyErr_Occurred()) || world_begin(self) < 0) return NULL;
    if (cs_world_remove(self->world, body, &error)) raise_error(&error);
    world_end(self);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The poll of cs_control: -1 with an error set after Ctrl-C. `context` is the saved thread state. */
static int poll(void *context, const cs_progress *progress)
{
    (void)progress;
    PyThreadState **thread = context;
    PyEval_RestoreThread(*thread);
    int answer = PyErr_Occurred() ? -1 : PyErr_CheckSignals();
    *thread = PyEval_SaveThread();
    return answer;
}

/* step() */
static PyObject *world_step(world_object *self, PyObject *unused)
{
    (void)unused;
    if (world_begin(self) < 0) return NULL;
    cs_error error = {0};
    PyThreadState *thread = PyEval_SaveThread();
    cs_control control = {poll, &thread, 0};
    cs_status status = cs_world_step(self->world, &control, &error);
    PyEval_RestoreThread(thread);
    world_end(self);
    if (status) raise_error(&error);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static const field report_fields[] = {
    FIELD(cs_step_report, contacts, INT64),       FIELD(cs_step_report, iterations, INT64),
    FIELD(cs_step_report, natural_map, DOUBLE),   FIELD(cs_step_report, natural_map_scaled, DOUBLE),
    FIELD(cs_step_report, new_solver, FLAG),      FIELD(cs_step_report, collide_seconds, DOUBLE),
    FIELD(cs_step_report, setup_seconds, DOUBLE), FIELD(cs_step_report, solve_seconds, DOUBLE),
    FIELD(cs_step_report, seconds, DOUBLE),       FIELD(cs_step_report, pivots, INT64),
};
enum { REPORT_FIELDS = sizeof report_fields / sizeof *report_fields };

/* report() -> what the last step did, as a dict */
static PyObject *world_report(world_object *self, PyObject *unused)
{
    (void)unused;
    cs_world_view view;
    if (world_begin(self) < 0) return NULL;
    cs_world_look(self->world, &view);
    world_end(self);
    PyObject *report = dictionary_of(report_fields, REPORT_FIELDS, &view.report);
    PyObject *status = report ? PyUnicode_FromString(cs_outcome_name(view.report.outcome)) : NULL;
    if (report && (add_item(report, "status", status) < 0 ||
                   add_item(report, "steps", PyLong_FromLongLong(view.steps)) < 0 ||
                   add_item(report, "time", PyFloat_FromDouble(view.time)) < 0))
        Py_CLEAR(report);
    return report;
}

/* ---- what callers see ------------------------------------------------------------------------ */

PyObject *view_of(world_object *self, const void *data, int type, int64_t count, int columns,
                  int writable)
{
    npy_intp shape[2] = {(npy_intp)count, columns};
    if (!count) return PyArray_SimpleNew(columns ? 2 : 1, shape, type);
    PyObject *array =
        PyArray_SimpleNewFromData(columns ? 2 : 1, shape, type, (void *)(uintptr_t)data);
    if (!array) return NULL;
    if (!writable) PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    if (PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef((PyObject *)self)) < 0)
        Py_CLEAR(array);
    return array;
}

/* state() -> views of the bodies, as a dict */
static PyObject *world_state(world_object *self, PyObject *unused)
{
    (void)unused;
    cs_world_view v;
    const cs_space *s = &self->space;
    if (world_begin(self) < 0) return NULL;
    cs_world_look(self->world, &v);
    world_end(self);
    int turns = s->orientation == 1 ? 0 : 4;
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "position",
                         view_of(self, v.position, NPY_DOUBLE, v.bodies, s->dimension, 0),
                         "orientation",
                         view_of(self, v.orientation, NPY_DOUBLE, v.bodies, turns, 0), "velocity",
                         view_of(self, v.velocity, NPY_DOUBLE, v.bodies, s->dof, 0), "force",
                         view_of(self, v.force, NPY_DOUBLE, v.bodies, s->dof, 1), "mass",
                         view_of(self, v.mass, NPY_DOUBLE, v.bodies, 0, 0), "inertia",
                         view_of(self, v.inertia, NPY_DOUBLE, v.bodies, s->inertia, 0), "driven",
                         view_of(self, v.driven, NPY_BOOL, v.bodies, 0, 0), "removed",
                         view_of(self, v.removed, NPY_BOOL, v.bodies, 0, 0));
}

/* contacts() -> copies of the contacts of the last step, as a dict */
static PyObject *world_contacts(world_object *self, PyObject *unused)
{
    (void)unused;
    cs_world_view v;
    if (world_begin(self) < 0) return NULL;
    cs_world_look(self->world, &v);
    const cs_contacts *c = &v.contact;
    int dimension = self->space.dimension;
    size_t real = sizeof(double), whole = sizeof(int64_t);
    PyObject *contacts =
        Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "shape",
                      copied_array(c->shape, NPY_INT64, c->count, 2, whole), "feature",
                      copied_array(c->feature, NPY_INT32, c->count, 0, sizeof(int32_t)), "body",
                      copied_array(c->body, NPY_INT64, c->count, 2, whole), "point",
                      copied_array(c->point, NPY_DOUBLE, c->count, dimension, real), "normal",
                      copied_array(c->normal, NPY_DOUBLE, c->count, dimension, real), "gap",
                      copied_array(c->gap, NPY_DOUBLE, c->count, 0, real), "impulse",
                      copied_array(v.impulse, NPY_DOUBLE, c->count, CS_WORLD_ROWS, real));
    world_end(self);
    return contacts;
}

/* overlaps() -> bodies and gaps of the contacts at which bodies penetrate each other at present, as a dict */
static PyObject *world_overlaps(world_object *self, PyObject *unused)
{
    (void)unused;
    cs_contacts found;
    cs_error error = {0};
    PyObject *overlaps = NULL;
    if (world_begin(self) < 0) return NULL;
    if (cs_world_overlaps(self->world, &found, &error)) raise_error(&error);
    else
        overlaps = Py_BuildValue(
            "{s:N,s:N,s:N}", "shape",
            copied_array(found.shape, NPY_INT64, found.count, 2, sizeof(int64_t)), "body",
            copied_array(found.body, NPY_INT64, found.count, 2, sizeof(int64_t)), "gap",
            copied_array(found.gap, NPY_DOUBLE, found.count, 0, sizeof(double)));
    world_end(self);
    return overlaps;
}

/* energy() -> (kinetic, potential) */
static PyObject *world_energy(world_object *self, PyObject *unused)
{
    (void)unused;
    double kinetic, potential;
    if (world_begin(self) < 0) return NULL;
    cs_world_energy(self->world, &kinetic, &potential);
    world_end(self);
    return Py_BuildValue("(dd)", kinetic, potential);
}

/* momentum() -> (linear, angular) */
static PyObject *world_momentum(world_object *self, PyObject *unused)
{
    (void)unused;
    double linear[3], angular[3];
    if (world_begin(self) < 0) return NULL;
    cs_world_momentum(self->world, linear, angular);
    world_end(self);
    return Py_BuildValue("(NN)", new_doubles(linear, self->space.dimension),
                         new_doubles(angular, self->space.dof - self->space.dimension));
}

/* A dict of the arrays of group g of the last step's problem. */
static PyObject *describe_group(const world_object *self, int g)
{
    const cs_step_group *group = &self->world->step.group[g];
    int m = group->rows, dof = self->space.dof;
    size_t real = sizeof(double);
    PyObject *jacobian = copied_array(NULL, NPY_DOUBLE, group->count, 2 * m * dof, real);
    PyObject *bodies = copied_array(NULL, NPY_INT64, group->count, 2, sizeof(int64_t));
    PyObject *b = copied_array(NULL, NPY_DOUBLE, group->count, m, real);
    PyObject *parameter = copied_array(NULL, NPY_DOUBLE, group->count, group->parameters, real);
    PyObject *compliance =
        group->soft ? copied_array(NULL, NPY_DOUBLE, group->count, m, real) : Py_NewRef(Py_None);
    if (!jacobian || !bodies || !b || !parameter || !compliance) {
        Py_XDECREF(jacobian);
        Py_XDECREF(bodies);
        Py_XDECREF(b);
        Py_XDECREF(parameter);
        Py_XDECREF(compliance);
        return NULL;
    }
    cs_step_arrays arrays = {
        .jacobian = PyArray_DATA((PyArrayObject *)jacobian),
        .bodies = PyArray_DATA((PyArrayObject *)bodies),
        .b = PyArray_DATA((PyArrayObject *)b),
        .parameter = PyArray_DATA((PyArrayObject *)parameter),
        .compliance = group->soft ? PyArray_DATA((PyArrayObject *)compliance) : NULL,
    };
    cs_step_read_group(self->world, g, &arrays);
    return Py_BuildValue("{s:s,s:i,s:N,s:N,s:N,s:N,s:N}", "set", group->set, "rows", m, "jacobian",
                         jacobian, "bodies", bodies, "b", b, "parameters", parameter, "compliance",
                         compliance);
}

/* problem() -> M^-1 and a tuple of the groups of contacts and joints of the last step, as dicts of copies */
static PyObject *world_problem(world_object *self, PyObject *unused)
{
    (void)unused;
    if (world_begin(self) < 0) return NULL;
    const cs_step_problem *step = &self->world->step;
    int dof = self->space.dof, groups = step->problem ? step->groups : 0;
    PyObject *list = PyTuple_New(groups);
    for (int g = 0; list && g < groups; g++) {
        PyObject *described = describe_group(self, g);
        if (!described) Py_CLEAR(list);
        else PyTuple_SET_ITEM(list, g, described);
    }
    int64_t bodies = groups ? step->of : 0;
    PyObject *inverse =
        list ? copied_array(NULL, NPY_DOUBLE, bodies, step->full ? dof * dof : dof, sizeof(double))
             : NULL;
    if (inverse && groups)
        cs_step_read_inverse(self->world, PyArray_DATA((PyArrayObject *)inverse));
    world_end(self);
    if (!inverse) {
        Py_XDECREF(list);
        return NULL;
    }
    return Py_BuildValue("(NN)", inverse, list);
}

static PyMethodDef world_methods[] = {
    {"add_material", (PyCFunction)world_add_material, METH_VARARGS,
     "add_material(set, rows, parameters, normal, tangential)\n--\n\nReturns its number."},
    {"set_pair", (PyCFunction)world_set_pair, METH_VARARGS,
     "set_pair(first, second, set, rows, parameters, normal, tangential)\n--\n\nThe material of a "
     "pair."},
    {"add_bodies", (PyCFunction)world_add_bodies, METH_VARARGS,
     "add_bodies(mass, inertia, position, orientation, velocity, driven)\n--\n\nReturns the number "
     "of the first."},
    {"add_shapes", (PyCFunction)world_add_shapes, METH_VARARGS,
     "add_shapes(kind, numbers, vertices, body, position, orientation, material)\n--\n\nReturns "
     "the number of the first."},
    {"add_joints", (PyCFunction)world_add_joints, METH_VARARGS,
     "add_joints(kind, body, numbers, flags)\n--\n\nReturns the number of the first."},
    {"remove_joint", (PyCFunction)world_remove_joint, METH_O,
     "remove_joint(joint)\n--\n\nRemoves a joint."},
    {"joints", (PyCFunction)(void (*)(void))world_joints, METH_NOARGS,
     "joints()\n--\n\nWhat joints have at present, and a view of their drives."},
    {"remove", (PyCFunction)world_remove, METH_O, "remove(body)\n--\n\nRemoves a body."},
    {"skip_shapes", (PyCFunction)world_skip_shapes, METH_O,
     "skip_shapes(count)\n--\n\nGives the next numbers of shapes to none."},
    {"place", (PyCFunction)world_place, METH_VARARGS,
     "place(body, position, orientation, velocity)\n--\n\nMoves bodies."},
    {"save", (PyCFunction)(void (*)(void))world_save, METH_NOARGS,
     "save()\n--\n\nCopies of the arrays of the state."},
    {"restore", (PyCFunction)world_restore, METH_O,
     "restore(arrays)\n--\n\nTakes the state of another world."},
    {"step", (PyCFunction)(void (*)(void))world_step, METH_NOARGS, "step()\n--\n\nMakes a step."},
    {"report", (PyCFunction)(void (*)(void))world_report, METH_NOARGS,
     "report()\n--\n\nWhat the last step did."},
    {"state", (PyCFunction)(void (*)(void))world_state, METH_NOARGS,
     "state()\n--\n\nViews of the bodies."},
    {"contacts", (PyCFunction)(void (*)(void))world_contacts, METH_NOARGS,
     "contacts()\n--\n\nCopies of the contacts of the last step."},
    {"overlaps", (PyCFunction)(void (*)(void))world_overlaps, METH_NOARGS,
     "overlaps()\n--\n\nWhere bodies penetrate each other at present."},
    {"energy", (PyCFunction)(void (*)(void))world_energy, METH_NOARGS,
     "energy()\n--\n\nKinetic and potential energy."},
    {"momentum", (PyCFunction)(void (*)(void))world_momentum, METH_NOARGS,
     "momentum()\n--\n\nLinear and angular momentum."},
    {"problem", (PyCFunction)(void (*)(void))world_problem, METH_NOARGS,
     "problem()\n--\n\nThe arrays of the last step's problem."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot world_slots[] = {
    {Py_tp_new, (void *)world_new},
    {Py_tp_dealloc, (void *)world_dealloc},
    {Py_tp_methods, world_methods},
    {Py_tp_doc, "World(world, gravity, options, settings, order, scheme, record)\n--\n\n"
                "A world in C. See contactsolve.dynamics.World."},
    {0, NULL},
};

PyType_Spec world_spec = {
    .name = "contactsolve._core.World",
    .basicsize = sizeof(world_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = world_slots,
};
