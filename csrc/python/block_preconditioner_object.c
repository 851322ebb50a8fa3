/* _core.BlockPreconditioner: a cs_preconditioner, which is made and applied with the GIL released. */
#include "core/error.h"
#include "python/block_objects.h"

int block_ask_signals(void *context)
{
    block_asking *c = context;
    PyEval_RestoreThread(c->thread);
    int answer = PyErr_Occurred() ? -1 : PyErr_CheckSignals();
    c->thread = PyEval_SaveThread();
    return answer;
}

static int read_positions(block_preconditioner_object *self, PyObject *given)
{
    if (given == Py_None) return 0;
    PyArrayObject *array = double_array(given, "positions");
    self->positions = (PyObject *)array;
    if (!array) return -1;
    npy_intp needed = (npy_intp)(CS_BLOCK_ROWS * self->system->system.vertices);
    if (PyArray_SIZE(array) == needed) return 0;
    PyErr_Format(PyExc_ValueError, "positions has %zd numbers: %zd are needed",
                 (Py_ssize_t)PyArray_SIZE(array), (Py_ssize_t)needed);
    return -1;
}

/* BlockPreconditioner(system, exact, kind, positions, relaxation): `exact` is the same matrix in double precision. */
static PyObject *preconditioner_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"system", "exact", "kind", "positions", "relaxation", NULL};
    PyObject *system, *exact, *positions;
    const char *name;
    double relaxation;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOsOd:BlockPreconditioner", names, &system,
                                     &exact, &name, &positions, &relaxation))
        return NULL;
    const cs_preconditioner_kind *kind = cs_preconditioner_find(name);
    if (!kind) return PyErr_Format(PyExc_ValueError, "%s is no preconditioner", name);
    block_preconditioner_object *self = (block_preconditioner_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    atomic_flag_clear(&self->busy);
    self->system = (block_system_object *)Py_NewRef(system);
    self->exact = (block_system_object *)Py_NewRef(exact);
    cs_error error = {0};
    cs_preconditioner_options options = {.relaxation = relaxation, .exact = &self->exact->system};
    cs_status status = CS_OK;
    if (read_positions(self, positions) < 0) goto fail;
    if (self->positions) options.position = PyArray_DATA((PyArrayObject *)self->positions);
    Py_BEGIN_ALLOW_THREADS
    status = cs_preconditioner_make(&self->M, kind, &self->system->system, &options, &error);
    Py_END_ALLOW_THREADS
    if (!status) return (PyObject *)self;
    raise_error(&error);
fail:
    Py_DECREF(self);
    return NULL;
}

static void preconditioner_dealloc(block_preconditioner_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_preconditioner_clear(&self->M);
    Py_XDECREF(self->system);
    Py_XDECREF(self->exact);
    Py_XDECREF(self->positions);
    type->tp_free(self);
    Py_DECREF(type);
}

int block_begin_both(block_preconditioner_object *self)
{
    if (atomic_flag_test_and_set(&self->busy)) {
        PyErr_SetString(PyExc_RuntimeError, "this preconditioner is in use, in another thread or "
                                            "by the solve that calls this: make one for each");
        return -1;
    }
    if (block_read(self->system) == 0) {
        if (block_read(self->exact) == 0) return 0;
        block_read_end(self->system);
    }
    atomic_flag_clear(&self->busy);
    return -1;
}

void block_end_both(block_preconditioner_object *self)
{
    block_read_end(self->exact);
    block_read_end(self->system);
    atomic_flag_clear(&self->busy);
}

/* update(threads) -> None, or the message that A is not positive definite. */
static PyObject *preconditioner_update(block_preconditioner_object *self, PyObject *args)
{
    long long threads;
    if (!PyArg_ParseTuple(args, "L:update", &threads) || block_begin_both(self) < 0) return NULL;
    cs_error error = {0};
    block_asking context = {0};
    cs_cancellation cancellation = {.is_cancelled = block_ask_signals, .context = &context};
    int most = block_threads(self->system, threads);
    context.thread = PyEval_SaveThread();
    cs_status status = cs_preconditioner_update(&self->M, most, &cancellation, &error);
    PyEval_RestoreThread(context.thread);
    block_end_both(self);
    if (PyErr_Occurred()) return NULL;
    if (status == CS_INDEFINITE) return PyUnicode_FromString(error.message);
    if (!status) Py_RETURN_NONE;
    raise_error(&error);
    return NULL;
}

/* apply(x, threads) -> M x as a new array. The caller has checked the length of x. */
static PyObject *preconditioner_apply(block_preconditioner_object *self, PyObject *args)
{
    PyObject *given, *result = NULL;
    long long threads;
    if (!PyArg_ParseTuple(args, "OL:apply", &given, &threads)) return NULL;
    const cs_block_system *s = &self->system->system;
    int type = s->single ? NPY_FLOAT : NPY_DOUBLE;
    PyArrayObject *x = (PyArrayObject *)PyArray_FROM_OTF(given, type, NPY_ARRAY_IN_ARRAY);
    npy_intp rows = (npy_intp)(CS_BLOCK_ROWS * s->vertices);
    if (!x) return NULL;
    if (PyArray_SIZE(x) == rows) result = PyArray_SimpleNew(1, &rows, type);
    else
        PyErr_Format(PyExc_ValueError, "x has %zd entries: %zd are needed",
                     (Py_ssize_t)PyArray_SIZE(x), (Py_ssize_t)rows);
    if (result && block_begin_both(self) < 0) Py_CLEAR(result);
    if (result) {
        int most = block_threads(self->system, threads);
        Py_BEGIN_ALLOW_THREADS
        cs_preconditioner_apply(&self->M, PyArray_DATA(x), PyArray_DATA((PyArrayObject *)result),
                                most);
        Py_END_ALLOW_THREADS
        block_end_both(self);
    }
    Py_DECREF(x);
    return result;
}

/* describe() -> a dict */
static PyObject *preconditioner_describe(block_preconditioner_object *self, PyObject *unused)
{
    (void)unused;
    const cs_preconditioner *M = &self->M;
    PyObject *told = Py_BuildValue("{s:s,s:L,s:d,s:d}", "kind", M->kind->name, "bytes",
                                   (long long)M->bytes, "work", M->work, "set_up", M->set_up);
    for (int n = 0; told && n < M->tells; n++) {
        PyObject *value = PyFloat_FromDouble(M->told[n].value);
        if (!value || PyDict_SetItemString(told, M->told[n].name, value) < 0) Py_CLEAR(told);
        Py_XDECREF(value);
    }
    return told;
}

static PyMethodDef preconditioner_methods[] = {
    {"update", (PyCFunction)(void (*)(void))preconditioner_update, METH_VARARGS,
     "update(threads)\n--\n\nReads the values of the matrix."},
    {"apply", (PyCFunction)(void (*)(void))preconditioner_apply, METH_VARARGS,
     "apply(x, threads)\n--\n\nM x."},
    {"describe", (PyCFunction)(void (*)(void))preconditioner_describe, METH_NOARGS,
     "describe()\n--\n\nWork and bytes, as a dict."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot preconditioner_slots[] = {
    {Py_tp_new, (void *)preconditioner_new},
    {Py_tp_dealloc, (void *)preconditioner_dealloc},
    {Py_tp_methods, preconditioner_methods},
    {Py_tp_doc, "BlockPreconditioner(...)\n--\n\nA preconditioner of a BlockSystem. See "
                "contactsolve.sparse.Preconditioner."},
    {0, NULL},
};

PyType_Spec block_preconditioner_spec = {
    .name = "contactsolve._core.BlockPreconditioner",
    .basicsize = sizeof(block_preconditioner_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = preconditioner_slots,
};

PyObject *preconditioner_kinds(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *kinds = PyDict_New();
    const cs_preconditioner_kind *kind;
    for (int n = 0; kinds && (kind = cs_preconditioner_kind_at(n)); n++) {
        PyObject *text = PyUnicode_FromString(kind->summary);
        if (!text || PyDict_SetItemString(kinds, kind->name, text) < 0) Py_CLEAR(kinds);
        Py_XDECREF(text);
    }
    return kinds;
}

PyObject *choose_preconditioner(PyObject *module, PyObject *args)
{
    (void)module;
    block_system_object *system;
    double factor;
    const cs_preconditioner_kind *kind = NULL;
    cs_error error = {0};
    if (!PyArg_ParseTuple(args, "Od:choose_preconditioner", &system, &factor)) return NULL;
    if (block_read(system) < 0) return NULL;
    cs_status status = cs_preconditioner_choose(&system->system, factor, 0, &kind, &error);
    block_read_end(system);
    if (status) {
        raise_error(&error);
        return NULL;
    }
    return PyUnicode_FromString(kind->name);
}
