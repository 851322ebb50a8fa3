/* _core.BlockSystem: a cs_block_system whose products run with the GIL released. */
#include "core/costs.h"
#include "core/error.h"
#include "core/parallel.h"
#include "python/block_objects.h"

/* label <- those of the caller, or slices. */
static cs_status find_labels(const cs_graph *graph, int64_t parts, const int64_t *given,
                             cs_arena *scratch, const int64_t **label, cs_error *error)
{
    *label = given;
    if (given) return CS_OK;
    int64_t *slices = cs_arena_take(scratch, graph->count, sizeof *slices);
    cs_status status = cs_arena_status(scratch, error, "the parts");
    *label = slices;
    return status ? status : cs_block_slices(graph, parts, slices, error);
}

/* Makes the system with the GIL released. Returns -1 with an error set. */
static int create(block_system_object *self, const cs_graph *graph, int64_t parts,
                  const int64_t *given, int single)
{
    cs_error error = {0};
    cs_arena scratch = {0};
    const int64_t *label;
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = find_labels(graph, parts, given, &scratch, &label, &error);
    if (!status)
        status =
            cs_block_system_make(&self->system, graph, parts, label, single, &self->arena, &error);
    if (!status)
        status = cs_block_product_take(&self->system, &self->product, &self->arena, &error);
    cs_arena_clear(&scratch);
    Py_END_ALLOW_THREADS
    if (status) raise_error(&error);
    return status ? -1 : 0;
}

/* BlockSystem(indices, indptr, parts, labels, single): labels may be None, for slices. The caller has checked that the
 * pattern is symmetric, and its indices. */
static PyObject *block_system_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"indices", "indptr", "parts", "labels", "single", NULL};
    PyObject *columns, *starts, *labels;
    long long parts;
    int single;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOLOp:BlockSystem", names, &columns, &starts,
                                     &parts, &labels, &single))
        return NULL;
    block_system_object *self = NULL;
    PyArrayObject *label = NULL, *column = int64_array(columns, "indices");
    PyArrayObject *start = column ? int64_array(starts, "indptr") : NULL;
    if (!start) goto out;
    if (labels != Py_None && !(label = int64_array(labels, "partition"))) goto out;
    self = (block_system_object *)type->tp_alloc(type, 0);
    if (!self) goto out;
    atomic_init(&self->reading, 0);
    atomic_flag_clear(&self->busy);
    self->preemptions = -1;
    self->blocks = PyArray_SIZE(column);
    const cs_graph graph = {PyArray_SIZE(start) - 1, PyArray_DATA(start), PyArray_DATA(column)};
    if (create(self, &graph, parts, label ? PyArray_DATA(label) : NULL, single) < 0) Py_CLEAR(self);
out:
    Py_XDECREF(column);
    Py_XDECREF(start);
    Py_XDECREF(label);
    return (PyObject *)self;
}

static void block_system_dealloc(block_system_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_arena_clear(&self->arena);
    type->tp_free(self);
    Py_DECREF(type);
}

int block_read(block_system_object *self)
{
    int reading = atomic_load(&self->reading);
    do {
        if (reading < 0) {
            PyErr_SetString(PyExc_RuntimeError, "the matrix is being updated in another thread");
            return -1;
        }
    } while (!atomic_compare_exchange_weak(&self->reading, &reading, reading + 1));
    return 0;
}

void block_read_end(block_system_object *self) { atomic_fetch_sub(&self->reading, 1); }

/* Refuses readers until the values are replaced. Returns -1 with an error set if some are reading. */
static int block_replace(block_system_object *self)
{
    int idle = 0;
    if (atomic_compare_exchange_strong(&self->reading, &idle, -1)) return 0;
    PyErr_SetString(PyExc_RuntimeError, idle < 0 ? "the matrix is being updated in another thread"
                                                 : "the values are being read, by a product or a "
                                                   "solve: update the matrix after that");
    return -1;
}

int block_threads(block_system_object *self, long long most)
{
    int threads =
        cs_threads_for(most, self->system.vertices, CS_WORTH_THREADS_PRODUCT, self->system.parts);
    return most ? threads : cs_threads_for_now(threads, &self->preemptions);
}

/* put(values): (blocks, 3, 3), in the order of the indices. */
static PyObject *block_system_put(block_system_object *self, PyObject *values)
{
    PyArrayObject *array = double_array(values, "values");
    if (!array) return NULL;
    if (PyArray_SIZE(array) != 9 * self->blocks) {
        PyErr_Format(PyExc_ValueError, "values has %zd numbers: %lld blocks of 9 are needed",
                     (Py_ssize_t)PyArray_SIZE(array), (long long)self->blocks);
        Py_DECREF(array);
        return NULL;
    }
    int status = block_replace(self), threads = block_threads(self, 0);
    if (status == 0) {
        Py_BEGIN_ALLOW_THREADS
        cs_block_system_put(&self->system, PyArray_DATA(array), threads);
        Py_END_ALLOW_THREADS
        atomic_store(&self->reading, 0);
    }
    Py_DECREF(array);
    if (status < 0) return NULL;
    Py_RETURN_NONE;
}

/* asymmetry(values, mirror, indices) -> the largest difference, relative to the blocks, and its place. The caller has checked
 * lengths. */
static PyObject *block_system_asymmetry(block_system_object *self, PyObject *args)
{
    PyObject *values, *mirrors, *columns, *answer = NULL;
    if (!PyArg_ParseTuple(args, "OOO:asymmetry", &values, &mirrors, &columns)) return NULL;
    PyArrayObject *value = double_array(values, "values");
    PyArrayObject *mirror = value ? int64_array(mirrors, "mirror") : NULL;
    PyArrayObject *column = mirror ? int64_array(columns, "indices") : NULL;
    if (column) {
        cs_error error = {0};
        cs_asymmetry found;
        cs_status status;
        int threads = block_threads(self, 0);
        const cs_block_pattern pattern = {self->system.vertices, self->blocks, PyArray_DATA(column),
                                          PyArray_DATA(mirror)};
        Py_BEGIN_ALLOW_THREADS
        status = cs_block_asymmetry(&pattern, PyArray_DATA(value), threads, &found, &error);
        Py_END_ALLOW_THREADS
        if (status) raise_error(&error);
        else answer = Py_BuildValue("dL", found.apart, (long long)found.place);
    }
    Py_XDECREF(value);
    Py_XDECREF(mirror);
    Py_XDECREF(column);
    return answer;
}

/* y <- A x with the vectors of the object, or, while another call has them, with others. */
static cs_status multiply(block_system_object *self, const void *x, void *y, int threads,
                          cs_error *error)
{
    cs_block_product product = self->product;
    cs_arena arena = {0};
    int others = atomic_flag_test_and_set(&self->busy);
    cs_status status =
        others ? cs_block_product_take(&self->system, &product, &arena, error) : CS_OK;
    if (!status) cs_block_system_multiply(&self->system, &product, x, y, threads);
    if (!others) atomic_flag_clear(&self->busy);
    cs_arena_clear(&arena);
    return status;
}

/* multiply(x, threads) -> A x as a new array. The caller has checked the length of x. */
static PyObject *block_system_multiply(block_system_object *self, PyObject *args)
{
    PyObject *given, *result = NULL;
    long long threads;
    if (!PyArg_ParseTuple(args, "OL:multiply", &given, &threads)) return NULL;
    int type = self->system.single ? NPY_FLOAT : NPY_DOUBLE;
    PyArrayObject *x = (PyArrayObject *)PyArray_FROM_OTF(given, type, NPY_ARRAY_IN_ARRAY);
    npy_intp rows = (npy_intp)(CS_BLOCK_ROWS * self->system.vertices);
    if (!x) return NULL;
    if (PyArray_SIZE(x) == rows) result = PyArray_SimpleNew(1, &rows, type);
    else
        PyErr_Format(PyExc_ValueError, "x has %zd entries: %zd are needed",
                     (Py_ssize_t)PyArray_SIZE(x), (Py_ssize_t)rows);
    if (result && block_read(self) < 0) Py_CLEAR(result);
    if (result) {
        cs_error error = {0};
        cs_status status;
        int most = block_threads(self, threads);
        Py_BEGIN_ALLOW_THREADS
        status =
            multiply(self, PyArray_DATA(x), PyArray_DATA((PyArrayObject *)result), most, &error);
        Py_END_ALLOW_THREADS
        block_read_end(self);
        if (status) {
            Py_CLEAR(result);
            raise_error(&error);
        }
    }
    Py_DECREF(x);
    return result;
}

/* describe() -> a dict */
static PyObject *block_system_describe(block_system_object *self, PyObject *unused)
{
    (void)unused;
    const cs_block_system *s = &self->system;
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:L,s:L,s:L,s:s}", "first", new_integers(s->first, s->parts + 1),
        "boundary", new_integers(s->boundary, s->parts), "order", new_integers(s->old, s->vertices),
        "external_first", new_integers(s->outer_first, s->parts + 1), "local_blocks",
        (long long)s->local.blocks, "external_blocks", (long long)s->outer.blocks, "bytes",
        (long long)cs_block_system_bytes(s), "kernel", cs_block_system_kernel());
}

static PyMethodDef block_system_methods[] = {
    {"put", (PyCFunction)(void (*)(void))block_system_put, METH_O,
     "put(values)\n--\n\nTakes values of the blocks."},
    {"asymmetry", (PyCFunction)(void (*)(void))block_system_asymmetry, METH_VARARGS,
     "asymmetry(values, mirror, indices)\n--\n\nHow far values are from symmetric."},
    {"multiply", (PyCFunction)(void (*)(void))block_system_multiply, METH_VARARGS,
     "multiply(x, threads)\n--\n\nA x."},
    {"describe", (PyCFunction)(void (*)(void))block_system_describe, METH_NOARGS,
     "describe()\n--\n\nThe parts and the order of the vertices, as a dict."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot block_system_slots[] = {
    {Py_tp_new, (void *)block_system_new},
    {Py_tp_dealloc, (void *)block_system_dealloc},
    {Py_tp_methods, block_system_methods},
    {Py_tp_doc, "BlockSystem(...)\n--\n\nA symmetric matrix of 3 x 3 blocks. See "
                "contactsolve.sparse.SymmetricBlocks."},
    {0, NULL},
};

PyType_Spec block_system_spec = {
    .name = "contactsolve._core.BlockSystem",
    .basicsize = sizeof(block_system_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = block_system_slots,
};
