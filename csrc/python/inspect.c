/* _core.inspect: the state and the error of each contact at given impulses. */
#include "python/fields.h"

/* A new 1-D array, uninitialised. */
static PyObject *new_array(int64_t count, int type)
{
    npy_intp length = (npy_intp)count;
    return PyArray_SimpleNew(1, &length, type);
}

static void *data_of(PyObject *array) { return PyArray_DATA((PyArrayObject *)array); }

/* Non-zero with an error set if the array has another length than `wanted`. */
static int wrong_length(PyArrayObject *array, const char *name, int64_t wanted)
{
    if ((int64_t)PyArray_SIZE(array) == wanted) return 0;
    PyErr_Format(PyExc_ValueError, "%s has %zd entries; the problem needs %lld", name,
                 (Py_ssize_t)PyArray_SIZE(array), (long long)wanted);
    return 1;
}

/* The arrays of an inspection. */
enum { ACTIVITY, MAP, SCALED, INFEASIBILITY, ROW, VELOCITY, ARRAYS };

/* Returns the arrays of an inspection in a dict, by their names. */
static PyObject *inspect(const cs_problem *problem, PyArrayObject *impulses, PyArrayObject *xi,
                         PyArrayObject *b, PyArrayObject *parameters, double tolerance)
{
    static const struct {
        const char *name;
        int type;
    } arrays[ARRAYS] = {
        [ACTIVITY] = {"activity", NPY_UINT8},
        [MAP] = {"natural_map", NPY_DOUBLE},
        [SCALED] = {"natural_map_scaled", NPY_DOUBLE},
        [INFEASIBILITY] = {"infeasibility", NPY_DOUBLE},
        [ROW] = {"worst_row", NPY_INT64},
        [VELOCITY] = {"worst_velocity", NPY_DOUBLE},
    };

    /* Allocate the arrays, which the dict owns. */
    PyObject *array[ARRAYS], *answer = PyDict_New();
    if (!answer) return NULL;
    for (int i = 0; i < ARRAYS; i++) {
        array[i] = new_array(i == ACTIVITY ? problem->rows : problem->blocks, arrays[i].type);
        if (add_item(answer, arrays[i].name, array[i]) < 0) goto fail;
    }

    /* Fill them. A support function may have set an error, too. */
    cs_inspection inspection = {
        .activity = data_of(array[ACTIVITY]),
        .natural_map = data_of(array[MAP]),
        .natural_map_scaled = data_of(array[SCALED]),
        .infeasibility = data_of(array[INFEASIBILITY]),
        .worst_row = data_of(array[ROW]),
        .worst_velocity = data_of(array[VELOCITY]),
    };
    cs_error error = {0};
    cs_status status = cs_problem_inspect(
        problem, PyArray_DATA(impulses), PyArray_DATA(xi), PyArray_DATA(b),
        parameters ? PyArray_DATA(parameters) : NULL, tolerance, &inspection, &error);
    if (!status && !PyErr_Occurred()) return answer;
    if (status) raise_error(&error);
fail:
    Py_DECREF(answer);
    return NULL;
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

    /* Convert the arrays, and check their lengths. */
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

    /* The problem keeps its values meanwhile. */
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
