/* _core.inspect: a state seen contact by contact. */
#include "python/core.h"

static PyObject *new_bytes(int64_t count)
{
    npy_intp length = (npy_intp)count;
    return PyArray_SimpleNew(1, &length, NPY_UINT8);
}

static int wrong_length(PyArrayObject *array, const char *name, int64_t wanted)
{
    if ((int64_t)PyArray_SIZE(array) == wanted) return 0;
    PyErr_Format(PyExc_ValueError, "%s has %zd entries; the problem needs %lld", name,
                 (Py_ssize_t)PyArray_SIZE(array), (long long)wanted);
    return 1;
}

/* The four arrays of an inspection, a new tuple. */
static PyObject *inspect(const cs_problem *problem, PyArrayObject *impulses, PyArrayObject *xi,
                         PyArrayObject *b, PyArrayObject *parameters, double tolerance)
{
    PyObject *activity = new_bytes(problem->rows), *answer = NULL;
    PyObject *map = new_doubles(NULL, problem->blocks);
    PyObject *scaled = new_doubles(NULL, problem->blocks);
    PyObject *infeasibility = new_doubles(NULL, problem->blocks);
    if (!activity || !map || !scaled || !infeasibility) goto out;
    cs_inspection inspection = {
        .activity = PyArray_DATA((PyArrayObject *)activity),
        .natural_map = PyArray_DATA((PyArrayObject *)map),
        .natural_map_scaled = PyArray_DATA((PyArrayObject *)scaled),
        .infeasibility = PyArray_DATA((PyArrayObject *)infeasibility),
    };
    cs_error error = {0};
    cs_status status = cs_problem_inspect(
        problem, PyArray_DATA(impulses), PyArray_DATA(xi), PyArray_DATA(b),
        parameters ? PyArray_DATA(parameters) : NULL, tolerance, &inspection, &error);
    if (status) raise_error(&error);
    else if (!PyErr_Occurred()) /* in a support function */
        answer = PyTuple_Pack(4, activity, map, scaled, infeasibility);
out:
    Py_XDECREF(activity);
    Py_XDECREF(map);
    Py_XDECREF(scaled);
    Py_XDECREF(infeasibility);
    return answer;
}

PyObject *core_inspect(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *owner, *impulses_value, *xi_value, *b_value, *parameters_value, *answer = NULL;
    PyArrayObject *impulses = NULL, *xi = NULL, *b = NULL, *parameters = NULL;
    double tolerance;
    if (!PyArg_ParseTuple(args, "O!OOOOd:inspect", state->problem_type, &owner, &impulses_value,
                          &xi_value, &b_value, &parameters_value, &tolerance))
        return NULL;
    const cs_problem *problem = ((problem_object *)owner)->problem;
    impulses = double_array(impulses_value, "impulses");
    xi = double_array(xi_value, "residual_velocities");
    b = double_array(b_value, "b");
    if (!impulses || !xi || !b) goto out;
    if (wrong_length(impulses, "impulses", problem->rows)) goto out;
    if (wrong_length(xi, "residual_velocities", problem->rows)) goto out;
    if (wrong_length(b, "b", problem->rows)) goto out;
    if (parameters_value != Py_None) {
        parameters = double_array(parameters_value, "parameters");
        if (!parameters || wrong_length(parameters, "parameters", problem->parameters)) goto out;
    }
    if (problem_begin((problem_object *)owner) < 0) goto out;
    answer = inspect(problem, impulses, xi, b, parameters, tolerance);
    problem_end((problem_object *)owner);
out:
    Py_XDECREF(impulses);
    Py_XDECREF(xi);
    Py_XDECREF(b);
    Py_XDECREF(parameters);
    return answer;
}
