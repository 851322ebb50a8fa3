/* _core.Mlcp: a cs_mlcp that runs with the GIL released. Between pivots, `poll` takes the GIL to check for
 * Ctrl-C. */
#include "core/error.h"
#include "linalg/ordering.h"
#include "python/fields.h"

#include <string.h>

typedef struct mlcp_object {
    PyObject_HEAD
    cs_mlcp *mlcp;
    int64_t rows;
    atomic_flag busy; /* set during a solve or an update */
} mlcp_object;

/* The poll of cs_control; `context` is the address of the saved thread state. Returns -1 with an error set
 * if a signal has raised one, and otherwise 0. */
static int poll(void *context, const cs_progress *progress)
{
    (void)progress;
    PyThreadState **thread = context;
    PyEval_RestoreThread(*thread);
    int answer = PyErr_CheckSignals();
    *thread = PyEval_SaveThread();
    return answer;
}

/* ---- creation -------------------------------------------------------------------------------- */

/* matrix <- three arrays, whose lengths are checked. Returns -1 with an error set. */
static int read_matrix(PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr,
                       cs_csr *matrix)
{
    int64_t starts = (int64_t)PyArray_SIZE(indptr), entries = (int64_t)PyArray_SIZE(indices);
    if (starts < 1 || (int64_t)PyArray_SIZE(data) != entries) {
        PyErr_SetString(PyExc_ValueError, "A.data and A.indices differ in length, or A.indptr is "
                                          "empty");
        return -1;
    }
    *matrix = (cs_csr){starts - 1, PyArray_DATA(indptr), PyArray_DATA(indices), PyArray_DATA(data)};
    if (matrix->start[starts - 1] == entries) return 0;
    PyErr_Format(PyExc_ValueError, "A.indptr ends with %lld; A has %lld entries",
                 (long long)matrix->start[starts - 1], (long long)entries);
    return -1;
}

/* Creates the solver with the GIL released. Returns -1 with an error set. */
static int create(mlcp_object *self, const cs_csr *matrix, const cs_mlcp_options *options)
{
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_mlcp_create(&self->mlcp, matrix, options, &error);
    Py_END_ALLOW_THREADS
    if (status) raise_error(&error);
    self->rows = matrix->rows;
    return status ? -1 : 0;
}

/* The option_setter of cs_mlcp_options. */
static cs_status set_option(void *options, const cs_setting *setting, cs_error *error)
{
    return cs_mlcp_options_set(options, setting, error);
}

/* Mlcp(data, indices, indptr, options) */
static PyObject *mlcp_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"data", "indices", "indptr", "options", NULL};
    cs_mlcp_options options = cs_mlcp_options_default();
    PyObject *values[3], *given;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOO!:Mlcp", names, &values[0], &values[1],
                                     &values[2], &PyDict_Type, &given))
        return NULL;
    if (set_options(given, set_option, &options) < 0) return NULL;

    /* Convert the matrix, and create the object. */
    cs_csr matrix;
    mlcp_object *self = NULL;
    PyArrayObject *data = double_array(values[0], "A.data");
    PyArrayObject *indices = data ? int64_array(values[1], "A.indices") : NULL;
    PyArrayObject *indptr = indices ? int64_array(values[2], "A.indptr") : NULL;
    if (!indptr || read_matrix(data, indices, indptr, &matrix) < 0) goto out;
    self = (mlcp_object *)type->tp_alloc(type, 0);
    if (!self) goto out;
    atomic_flag_clear(&self->busy);
    if (create(self, &matrix, &options) < 0) Py_CLEAR(self);
out:
    Py_XDECREF(data);
    Py_XDECREF(indices);
    Py_XDECREF(indptr);
    return (PyObject *)self;
}

static void mlcp_dealloc(mlcp_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_mlcp_destroy(self->mlcp);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- solving --------------------------------------------------------------------------------- */

/* `value` as an array with an entry for each row; NULL with an error set. */
static PyArrayObject *rows_of(const mlcp_object *self, PyObject *value, const char *name, int type)
{
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_OTF(value, type, NPY_ARRAY_IN_ARRAY);
    if (!array || (int64_t)PyArray_SIZE(array) == self->rows) return array;
    PyErr_Format(PyExc_ValueError, "%s has %zd entries; A has %lld rows", name,
                 (Py_ssize_t)PyArray_SIZE(array), (long long)self->rows);
    Py_DECREF(array);
    return NULL;
}

static const field result_fields[] = {
    FIELD(cs_mlcp_result, residual, DOUBLE),
    FIELD(cs_mlcp_result, residual_scaled, DOUBLE),
    FIELD(cs_mlcp_result, complementarity, DOUBLE),
    FIELD(cs_mlcp_result, worst_row, INT64),
    FIELD(cs_mlcp_result, pivots, INT64),
    FIELD(cs_mlcp_result, single_pivots, INT64),
    FIELD(cs_mlcp_result, factorizations, INT64),
    FIELD(cs_mlcp_result, refinements, INT64),
    FIELD(cs_mlcp_result, interior_steps, INT64),
    FIELD(cs_mlcp_result, condition, DOUBLE),
    {"time", FIELD_DOUBLE, offsetof(cs_mlcp_result, seconds)},
};
enum { RESULT_FIELDS = sizeof result_fields / sizeof *result_fields };

static const field cache_fields[] = {
    FIELD(cs_cache_counts, hits, INT64),      FIELD(cs_cache_counts, misses, INT64),
    FIELD(cs_cache_counts, evictions, INT64), FIELD(cs_cache_counts, entries, INT64),
    FIELD(cs_cache_counts, bytes, INT64),     FIELD(cs_cache_counts, most_bytes, INT64),
};
static const field reuse_fields[] = {
    FIELD(cs_reuse_counts, solves, INT64),
    FIELD(cs_reuse_counts, steps, INT64),
    FIELD(cs_reuse_counts, failed, INT64),
};
enum {
    CACHE_FIELDS = sizeof cache_fields / sizeof *cache_fields,
    REUSE_FIELDS = sizeof reuse_fields / sizeof *reuse_fields
};

/* The history as a new array (rows, columns). */
static PyObject *history_of(const cs_mlcp_result *result)
{
    npy_intp shape[2] = {(npy_intp)result->history_rows, result->history_columns};
    PyObject *history = PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    size_t size = sizeof(double) * (size_t)(result->history_rows * result->history_columns);
    if (history && size) memcpy(PyArray_DATA((PyArrayObject *)history), result->history, size);
    return history;
}

/* The answer as a dict, by the names of cs_mlcp_result. */
static PyObject *answer(const cs_mlcp_result *result, PyObject *x, PyObject *w, PyObject *set)
{
    PyObject *dictionary = dictionary_of(result_fields, RESULT_FIELDS, result);
    if (dictionary && (add_item(dictionary, "x", Py_NewRef(x)) < 0 ||
                       add_item(dictionary, "w", Py_NewRef(w)) < 0 ||
                       add_item(dictionary, "index_set", Py_NewRef(set)) < 0 ||
                       add_item(dictionary, "history", history_of(result)) < 0 ||
                       add_item(dictionary, "cache",
                                dictionary_of(cache_fields, CACHE_FIELDS, &result->cache)) < 0 ||
                       add_item(dictionary, "reuse",
                                dictionary_of(reuse_fields, REUSE_FIELDS, &result->reuse)) < 0 ||
                       add_item(dictionary, "status",
                                PyUnicode_FromString(cs_mlcp_outcome_name(result->outcome))) < 0))
        Py_CLEAR(dictionary);
    return dictionary;
}

/* Solves with the GIL released. `data`: b, lo and hi; `initial` may be NULL. */
static PyObject *run(mlcp_object *self, PyArrayObject *const *data, const signed char *initial)
{
    npy_intp rows = (npy_intp)self->rows;
    PyObject *x = new_doubles(NULL, self->rows), *w = new_doubles(NULL, self->rows);
    PyObject *set = PyArray_SimpleNew(1, &rows, NPY_INT8), *dictionary = NULL;
    if (!x || !w || !set) goto out;
    cs_mlcp_result result = {
        .x = PyArray_DATA((PyArrayObject *)x),
        .w = PyArray_DATA((PyArrayObject *)w),
        .index_set = PyArray_DATA((PyArrayObject *)set),
    };

    /* The poll needs the thread state that is saved while the GIL is released. */
    cs_error error = {0};
    PyThreadState *thread = PyEval_SaveThread();
    cs_control control = {.poll = poll, .context = &thread};
    cs_status status = cs_mlcp_solve(self->mlcp, PyArray_DATA(data[0]), PyArray_DATA(data[1]),
                                     PyArray_DATA(data[2]), initial, &control, &result, &error);
    PyEval_RestoreThread(thread);

    /* Return the answer, or the error. */
    if (status) raise_error(&error);
    else dictionary = answer(&result, x, w, set);
out:
    Py_XDECREF(x);
    Py_XDECREF(w);
    Py_XDECREF(set);
    return dictionary;
}

/* solve(b, lo, hi, initial) -> the answer; initial may be None */
static PyObject *mlcp_solve(mlcp_object *self, PyObject *const *args, Py_ssize_t count)
{
    static const char *const names[] = {"b", "lo", "hi"};
    PyArrayObject *data[3] = {NULL, NULL, NULL}, *initial = NULL;
    PyObject *dictionary = NULL;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "solve takes b, lo, hi and initial");
        return NULL;
    }

    /* Convert the arguments. */
    for (int i = 0; i < 3; i++)
        if (!(data[i] = rows_of(self, args[i], names[i], NPY_DOUBLE))) goto out;
    if (args[3] != Py_None && !(initial = rows_of(self, args[3], "initial", NPY_INT8))) goto out;

    /* One solver has one workspace: a second solve at the same time is refused. */
    if (atomic_flag_test_and_set(&self->busy)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this solver is already solving in another thread: make one for each");
        goto out;
    }
    dictionary = run(self, data, initial ? PyArray_DATA(initial) : NULL);
    atomic_flag_clear(&self->busy);
out:
    for (int i = 0; i < 3; i++) Py_XDECREF(data[i]);
    Py_XDECREF(initial);
    return dictionary;
}

/* update(data, indices, indptr): replaces A by a matrix with the same number of rows. */
static PyObject *mlcp_update(mlcp_object *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "update takes data, indices and indptr");
        return NULL;
    }

    /* Convert the matrix. */
    cs_csr matrix;
    cs_error error = {0};
    PyObject *done = NULL;
    PyArrayObject *data = double_array(args[0], "A.data");
    PyArrayObject *indices = data ? int64_array(args[1], "A.indices") : NULL;
    PyArrayObject *indptr = indices ? int64_array(args[2], "A.indptr") : NULL;
    if (!indptr || read_matrix(data, indices, indptr, &matrix) < 0) goto out;

    /* Replace it, unless the solver is busy. */
    if (atomic_flag_test_and_set(&self->busy)) {
        PyErr_SetString(PyExc_RuntimeError, "this solver is solving in another thread");
        goto out;
    }
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_mlcp_update(self->mlcp, &matrix, &error);
    Py_END_ALLOW_THREADS
    atomic_flag_clear(&self->busy);
    if (status) raise_error(&error);
    else done = Py_NewRef(Py_None);
out:
    Py_XDECREF(data);
    Py_XDECREF(indices);
    Py_XDECREF(indptr);
    return done;
}

static const field info_fields[] = {
    {"method", FIELD_TEXT, offsetof(cs_mlcp_info, rule)},
    FIELD(cs_mlcp_info, engine, TEXT),
    FIELD(cs_mlcp_info, kernel, TEXT),
    FIELD(cs_mlcp_info, islands, INT64),
    FIELD(cs_mlcp_info, largest_island, INT64),
    FIELD(cs_mlcp_info, threads, INT),
    FIELD(cs_mlcp_info, asymmetry, DOUBLE),
    FIELD(cs_mlcp_info, bytes, INT64),
    {"setup_seconds", FIELD_DOUBLE, offsetof(cs_mlcp_info, seconds)},
};
enum { INFO_FIELDS = sizeof info_fields / sizeof *info_fields };

static PyObject *mlcp_describe(mlcp_object *self, PyObject *unused)
{
    (void)unused;
    cs_mlcp_info info;
    cs_mlcp_describe(self->mlcp, &info);
    return dictionary_of(info_fields, INFO_FIELDS, &info);
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* order <- a fill-reducing order of a graph whose columns are within its rows. Returns -1 with an error
 * set. */
static int order_graph(const char *name, const cs_graph *graph, int64_t *order)
{
    if (strcmp(name, "minimum_degree") == 0) {
        cs_error error;
        if (!cs_minimum_degree(graph, order, NULL)) return 0;
        cs_no_memory(&error, "the order");
        raise_error(&error);
        return -1;
    }

    /* Otherwise the order is that of Cuthill and McKee. */
    int64_t *scratch = PyMem_Malloc(sizeof(int64_t) * (size_t)(3 * graph->count + 1));
    if (!scratch) {
        PyErr_NoMemory();
        return -1;
    }
    cs_reverse_cuthill_mckee(graph, order, scratch);
    PyMem_Free(scratch);
    return 0;
}

/* A fill-reducing order if a name is given, otherwise the elimination tree. The caller has checked that the
 * pattern is that of a symmetric matrix. */
static PyObject *order_or_tree(const char *name, PyObject *columns, PyObject *starts)
{
    PyArrayObject *column = int64_array(columns, "A.indices"), *result = NULL;
    PyArrayObject *start = column ? int64_array(starts, "A.indptr") : NULL;
    if (!start) goto out;

    /* The graph, and an array for the result. */
    npy_intp count = PyArray_SIZE(start) - 1;
    cs_graph graph = {count, PyArray_DATA(start), PyArray_DATA(column)};
    result = (PyArrayObject *)PyArray_ZEROS(1, &count, NPY_INT64, 0);
    if (!result) goto out;
    if (name) {
        if (order_graph(name, &graph, PyArray_DATA(result)) < 0) Py_CLEAR(result);
    } else {
        int64_t *scratch = PyMem_Malloc(sizeof(int64_t) * (size_t)(count + 1));
        if (scratch) {
            cs_elimination_tree(&graph, PyArray_DATA(result), scratch);
        } else {
            Py_CLEAR(result);
            PyErr_NoMemory();
        }
        PyMem_Free(scratch);
    }
out:
    Py_XDECREF(column);
    Py_XDECREF(start);
    return (PyObject *)result;
}

PyObject *core_fill_order(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    PyObject *columns, *starts;
    if (!PyArg_ParseTuple(args, "sOO:fill_order", &name, &columns, &starts)) return NULL;
    return order_or_tree(name, columns, starts);
}

PyObject *core_elimination_tree(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *columns, *starts;
    if (!PyArg_ParseTuple(args, "OO:elimination_tree", &columns, &starts)) return NULL;
    return order_or_tree(NULL, columns, starts);
}

static PyMethodDef mlcp_methods[] = {
    {"solve", (PyCFunction)(void (*)(void))mlcp_solve, METH_FASTCALL,
     "solve(b, lo, hi, initial)\n--\n\nSolves."},
    {"update", (PyCFunction)(void (*)(void))mlcp_update, METH_FASTCALL,
     "update(data, indices, indptr)\n--\n\nTakes other values of A."},
    {"describe", (PyCFunction)(void (*)(void))mlcp_describe, METH_NOARGS,
     "describe()\n--\n\nWhat was chosen, as a dict."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot mlcp_slots[] = {
    {Py_tp_new, (void *)mlcp_new},
    {Py_tp_dealloc, (void *)mlcp_dealloc},
    {Py_tp_methods, mlcp_methods},
    {Py_tp_doc, "Mlcp(...)\n--\n\nMixed LCPs with one matrix. See contactsolve.MlcpSolver."},
    {0, NULL},
};

PyType_Spec mlcp_spec = {
    .name = "contactsolve._core.Mlcp",
    .basicsize = sizeof(mlcp_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = mlcp_slots,
};
