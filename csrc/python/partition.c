/* _core.partition_labels: the part of each body; _core.islands: the island of each block. */
#include "python/core.h"

/* Computes the labels of a problem. */
typedef cs_status (*labeller)(const cs_problem *problem, const cs_order_options *options,
                              int64_t *labels, cs_error *error);

/* A new array of `count` labels, or NULL with an error set. */
static PyObject *labels_of(PyObject *owner, int64_t count, labeller label,
                           const cs_order_options *options)
{
    problem_object *object = (problem_object *)owner;
    npy_intp length = (npy_intp)count;
    PyObject *labels = PyArray_SimpleNew(1, &length, NPY_INT64);
    if (!labels) return NULL;

    /* The problem keeps its values meanwhile. */
    if (problem_begin(object) < 0) goto fail;
    cs_error error = {0};
    cs_status status =
        label(object->problem, options, PyArray_DATA((PyArrayObject *)labels), &error);
    problem_end(object);
    if (!status) return labels;
    raise_error(&error);
fail:
    Py_DECREF(labels);
    return NULL;
}

PyObject *core_partition_labels(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *owner;
    cs_order_options options = {0};
    cs_setting strategy = {.name = "strategy"};
    if (!PyArg_ParseTuple(args, "O!si:partition_labels", state->problem_type, &owner,
                          &strategy.word, &options.parts))
        return NULL;
    options.settings = &strategy;
    options.setting_count = 1;
    int64_t count = cs_problem_vertices(((problem_object *)owner)->problem);
    return labels_of(owner, count, cs_partition_labels, &options);
}

/* The labeller of islands. */
static cs_status label_islands(const cs_problem *problem, const cs_order_options *options,
                               int64_t *labels, cs_error *error)
{
    (void)options;
    int64_t count = 0;
    return cs_problem_islands(problem, labels, &count, error);
}

PyObject *core_islands(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *owner;
    if (!PyArg_ParseTuple(args, "O!:islands", state->problem_type, &owner)) return NULL;
    return labels_of(owner, ((problem_object *)owner)->problem->blocks, label_islands, NULL);
}
