/* _core.ordering: what an order makes of a problem, without a solver. */
#include "problem/problem.h"
#include "python/core.h"

#include <string.h>

/* `value` as labels of bodies, or of contacts where A is given; NULL with an error set. */
static PyArrayObject *labels_array(PyObject *value, const cs_problem *problem)
{
    PyArrayObject *labels = int64_array(value, "labels");
    int64_t wanted = cs_problem_vertices(problem);
    if (!labels || PyArray_SIZE(labels) == wanted) return labels;
    PyErr_Format(PyExc_ValueError, "labels has %zd entries; the problem has %lld %s",
                 (Py_ssize_t)PyArray_SIZE(labels), (long long)wanted,
                 problem->matrix ? "contacts and no bodies" : "bodies");
    Py_DECREF(labels);
    return NULL;
}

int read_order_options(PyObject *tuple, const cs_problem *problem, cs_order_options *options,
                       PyArrayObject **labels)
{
    unsigned long long seed;
    long long colors, unsafe_below, chunk, subtasks;
    int border, bodies;
    PyObject *value;
    if (!PyArg_ParseTuple(
            tuple, "KippLpLpppOpiLippppLpp:order_options", &seed, &options->parts,
            &options->fixed_as_body, &options->balanced, &colors, &options->multiple_of_parts,
            &unsafe_below, &options->unsafe_simultaneous, &options->unsafe_first,
            &options->unsafe_groups, &value, &options->ranges_of_bodies, &border, &chunk, &bodies,
            &options->no_domains, &options->sets_simultaneous, &options->sets_colored,
            &options->weighted_parts, &subtasks, &options->weighted_subtasks, &options->parallel))
        return -1;
    options->seed = seed;
    options->colors = colors;
    options->unsafe_below = unsafe_below;
    options->border = (cs_border)border;
    options->chunk = chunk;
    options->bodies = (cs_body_order)bodies;
    options->subtasks = subtasks;
    if (value == Py_None) return 0;
    *labels = labels_array(value, problem);
    if (!*labels) return -1;
    options->labels = PyArray_DATA(*labels);
    return 0;
}

PyArrayObject *permutation_array(PyObject *value, const cs_problem *problem)
{
    PyArrayObject *permutation = int64_array(value, "order");
    if (!permutation) return NULL;
    int64_t blocks = cs_problem_blocks(problem);
    if (PyArray_NDIM(permutation) == 1 && PyArray_SIZE(permutation) == blocks) return permutation;
    PyErr_Format(PyExc_ValueError, "order has %zd entries; the problem has %lld contacts",
                 (Py_ssize_t)PyArray_SIZE(permutation), (long long)blocks);
    Py_DECREF(permutation);
    return NULL;
}

static PyObject *new_array(const void *values, int64_t count, int type, size_t size)
{
    npy_intp length = (npy_intp)count;
    PyObject *array = PyArray_SimpleNew(1, &length, type);
    if (array && count) memcpy(PyArray_DATA((PyArrayObject *)array), values, size * (size_t)count);
    return array;
}

static PyObject *integers(const int64_t *values, int64_t count)
{
    return new_array(values, count, NPY_INT64, sizeof(int64_t));
}

/* "N" takes the new arrays over, and fails where one is NULL. */
static PyObject *answer(const cs_ordering_info *info)
{
    return Py_BuildValue("{s:s,s:s,s:N,s:N,s:N,s:N,s:N,s:N,s:L,s:d}", "method", info->method,
                         "order", info->order, "visit", integers(info->visit, info->blocks),
                         "part_start", integers(info->part_start, info->parts + 1), "stage_start",
                         integers(info->stage_start, info->stages + 1), "kind",
                         new_array(info->kind, info->stages, NPY_UINT8, 1), "row_blocks",
                         integers(info->row_blocks, info->blocks), "color_size",
                         integers(info->color_size, info->colors), "rounds",
                         (long long)info->rounds, "seconds", info->seconds);
}

static PyObject *describe(problem_object *owner, const char *method, const char *order,
                          const cs_order_options *options)
{
    cs_ordering *ordering = NULL;
    cs_ordering_info info;
    cs_error error = {0};
    cs_status status;
    if (problem_begin(owner) < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = cs_ordering_create(&ordering, owner->problem, method, order, options, &error);
    Py_END_ALLOW_THREADS
    problem_end(owner);
    if (status) {
        raise_error(&error);
        return NULL;
    }
    cs_ordering_describe(ordering, &info);
    PyObject *dictionary = answer(&info);
    cs_ordering_destroy(ordering);
    return dictionary;
}

PyObject *core_ordering(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *owner, *permutation_value, *tuple;
    PyObject *dictionary = NULL;
    PyArrayObject *permutation = NULL, *labels = NULL;
    const char *method, *order;
    cs_order_options options = {0};
    int threads;
    if (!PyArg_ParseTuple(args, "O!ssOO!i:ordering", state->problem_type, &owner, &method, &order,
                          &permutation_value, &PyTuple_Type, &tuple, &threads))
        return NULL;
    const cs_problem *problem = ((problem_object *)owner)->problem;
    if (read_order_options(tuple, problem, &options, &labels) < 0) return NULL;
    options.threads = threads;
    if (permutation_value != Py_None) {
        permutation = permutation_array(permutation_value, problem);
        if (!permutation) goto out;
        options.permutation = PyArray_DATA(permutation);
    }
    dictionary = describe((problem_object *)owner, method, order, &options);
out:
    Py_XDECREF(labels);
    Py_XDECREF(permutation);
    return dictionary;
}

PyObject *core_stage_kinds(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    const char *name;
    for (int i = 0; list && (name = cs_stage_kind_name(i)); i++) {
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PyList_Append(list, text) < 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}
