/* _core.partition_labels and _core.islands: which part each body, which island each block is in. */
#include "python/core.h"

PyObject *core_partition_labels(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *owner;
    cs_order_options options = {0};
    int labelling;
    if (!PyArg_ParseTuple(args, "O!ii:partition_labels", state->problem_type, &owner, &labelling,
                          &options.parts))
        return NULL;
    options.labelling = (cs_labelling)labelling;
    const cs_problem *problem = ((problem_object *)owner)->problem;
    npy_intp length = (npy_intp)cs_problem_vertices(problem);
    PyObject *labels = PyArray_SimpleNew(1, &length, NPY_INT64);
    if (!labels) return NULL;
    if (problem_begin((problem_object *)owner) < 0) goto fail;
    cs_error error = {0};
    cs_status status =
        cs_partition_labels(problem, &options, PyArray_DATA((PyArrayObject *)labels), &error);
    problem_end((problem_object *)owner);
    if (!status) return labels;
    raise_error(&error);
fail:
    Py_DECREF(labels);
    return NULL;
}

PyObject *core_islands(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *owner;
    int64_t count = 0;
    if (!PyArg_ParseTuple(args, "O!:islands", state->problem_type, &owner)) return NULL;
    const cs_problem *problem = ((problem_object *)owner)->problem;
    npy_intp length = (npy_intp)problem->blocks;
    PyObject *labels = PyArray_SimpleNew(1, &length, NPY_INT64);
    if (!labels) return NULL;
    if (problem_begin((problem_object *)owner) < 0) goto fail;
    cs_error error = {0};
    cs_status status =
        cs_problem_islands(problem, PyArray_DATA((PyArrayObject *)labels), &count, &error);
    problem_end((problem_object *)owner);
    if (!status) return labels;
    raise_error(&error);
fail:
    Py_DECREF(labels);
    return NULL;
}
