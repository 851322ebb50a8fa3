/* Functions of the module: distances and continuous collision detection of stencils. They run with the GIL released. */
#include "bvh/narrow.h"

#include "core/error.h"
#include "python/block_objects.h"

/* Arguments that all of them have; `index` may be None. The caller has checked shapes, indices and numbers. */
typedef struct arguments {
    cs_stencils stencils;
    PyArrayObject *start, *end, *index;
} arguments;

static void clear(arguments *a)
{
    Py_XDECREF(a->start);
    Py_XDECREF(a->end);
    Py_XDECREF(a->index);
}

/* `start` and `end` may be the same object. Returns -1 with an error set. */
static int take(arguments *a, int kind, PyObject *start, PyObject *end, PyObject *index)
{
    if (!(a->start = double_array(start, "x0")) || !(a->end = double_array(end, "x1"))) return -1;
    if (index != Py_None && !(a->index = int64_array(index, "indices"))) return -1;
    npy_intp numbers = a->index ? PyArray_SIZE(a->index) : PyArray_SIZE(a->start) / 3;
    a->stencils = (cs_stencils){
        .kind = kind ? CS_EDGE_EDGE : CS_VERTEX_FACE,
        .count = numbers / CS_STENCIL_VERTICES,
        .start = PyArray_DATA(a->start),
        .end = PyArray_DATA(a->end),
        .index = a->index ? PyArray_DATA(a->index) : NULL,
    };
    return 0;
}

/* New arrays of results, for all stencils: of a type, (count, columns) or (count) if `columns` is 0. They are released
 * together, and handed out as a tuple. */
enum { MOST_RESULTS = 5 };

static PyObject *new_results(int64_t count, int results, const int *type, const int *columns)
{
    PyObject *tuple = PyTuple_New(results);
    for (int i = 0; tuple && i < results; i++) {
        npy_intp shape[] = {(npy_intp)count, columns[i]};
        PyObject *array = PyArray_SimpleNew(columns[i] ? 2 : 1, shape, type[i]);
        if (array) PyTuple_SET_ITEM(tuple, i, array);
        else Py_CLEAR(tuple);
    }
    return tuple;
}

static void *data_of(PyObject *tuple, int i)
{
    return PyArray_DATA((PyArrayObject *)PyTuple_GET_ITEM(tuple, i));
}

/* Hands out the answer, or clears it: a signal has raised its exception. */
static PyObject *answered(PyObject *answer, cs_status status)
{
    if (!status && !PyErr_Occurred()) return answer;
    Py_XDECREF(answer);
    return NULL;
}

PyObject *core_stencil_distances(PyObject *m, PyObject *args)
{
    (void)m;
    static const int type[] = {NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE}, columns[] = {0, 4, 3};
    int kind, threads;
    PyObject *x, *index, *answer = NULL;
    arguments a = {0};
    if (!PyArg_ParseTuple(args, "iOOi:stencil_distances", &kind, &x, &index, &threads)) return NULL;
    if (take(&a, kind, x, x, index) == 0) answer = new_results(a.stencils.count, 3, type, columns);
    if (answer) {
        cs_distances to = {data_of(answer, 0), data_of(answer, 1), data_of(answer, 2)};
        block_asking asking = {.thread = PyEval_SaveThread()};
        cs_cancellation cancellation = {.is_cancelled = block_ask_signals, .context = &asking};
        cs_status status = cs_stencil_distances(&a.stencils, &to, threads, &cancellation);
        PyEval_RestoreThread(asking.thread);
        answer = answered(answer, status);
    }
    clear(&a);
    return answer;
}

PyObject *core_stencil_impacts(PyObject *m, PyObject *args)
{
    (void)m;
    static const int type[] = {NPY_BOOL, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_BOOL};
    static const int columns[] = {0, 0, 4, 3, 0};
    int kind, threads;
    double margin;
    PyObject *start, *end, *index, *answer = NULL;
    arguments a = {0};
    if (!PyArg_ParseTuple(args, "iOOdOi:stencil_impacts", &kind, &start, &end, &margin, &index,
                          &threads))
        return NULL;
    if (take(&a, kind, start, end, index) == 0)
        answer = new_results(a.stencils.count, MOST_RESULTS, type, columns);
    if (answer) {
        cs_impacts to = {data_of(answer, 0), data_of(answer, 4), data_of(answer, 1),
                         data_of(answer, 2), data_of(answer, 3)};
        block_asking asking = {.thread = PyEval_SaveThread()};
        cs_cancellation cancellation = {.is_cancelled = block_ask_signals, .context = &asking};
        cs_status status = cs_stencil_impacts(&a.stencils, margin, &to, threads, &cancellation);
        PyEval_RestoreThread(asking.thread);
        answer = answered(answer, status);
    }
    clear(&a);
    return answer;
}

PyObject *core_stencil_free_step(PyObject *m, PyObject *args)
{
    (void)m;
    int kind, threads;
    double margin, least = 0;
    PyObject *start, *end, *index;
    cs_status status = CS_INTERRUPTED;
    arguments a = {0};
    if (!PyArg_ParseTuple(args, "iOOdOi:stencil_free_step", &kind, &start, &end, &margin, &index,
                          &threads))
        return NULL;
    if (take(&a, kind, start, end, index) == 0) {
        block_asking asking = {.thread = PyEval_SaveThread()};
        cs_cancellation cancellation = {.is_cancelled = block_ask_signals, .context = &asking};
        status = cs_stencil_free_step(&a.stencils, margin, threads, &cancellation, &least);
        PyEval_RestoreThread(asking.thread);
    }
    clear(&a);
    return status || PyErr_Occurred() ? NULL : PyFloat_FromDouble(least);
}
