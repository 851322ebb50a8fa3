/* Batches of problems, for contactsolve/batch.py. */
#include "compose/batch.h"
#include "core/clock.h"
#include "problem/concatenate.h"
#include "python/core.h"
#include "python/fields.h"
#include "python/solver_arguments.h"

#include <string.h>

/* ---- problems side by side --------------------------------------------------------------------- */

/* Reads the problems of a sequence, each of which is kept from changing. Returns how many are, all of them unless an error
 * is set. */
static Py_ssize_t begin_problems(PyObject *const *item, Py_ssize_t count, PyTypeObject *type,
                                 const cs_problem **parts)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (Py_TYPE(item[i]) != type) {
            PyErr_Format(PyExc_TypeError, "problems[%zd] is %R: a Problem is needed", i,
                         (PyObject *)Py_TYPE(item[i]));
            return i;
        }
        if (problem_begin((problem_object *)item[i]) < 0) return i;
        parts[i] = ((problem_object *)item[i])->problem;
    }
    return count;
}

PyObject *core_side_by_side(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *tuple, *groups = NULL;
    if (!PyArg_ParseTuple(args, "O!:side_by_side", &PyTuple_Type, &tuple)) return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(tuple), begun = 0;
    PyObject *const *item = ((PyTupleObject *)tuple)->ob_item;
    problem_object *whole = NULL;
    const cs_problem **parts = PyMem_Malloc((size_t)(count + 1) * sizeof *parts);
    if (!parts) return PyErr_NoMemory();

    /* The whole, while no part changes. */
    begun = begin_problems(item, count, state->problem_type, parts);
    if (begun < count) goto out;
    npy_intp shape[2] = {count, CS_MAX_GROUPS};
    groups = PyArray_ZEROS(2, shape, NPY_UINT8, 0);
    if (groups) whole = (problem_object *)state->problem_type->tp_alloc(state->problem_type, 0);
    if (!whole) goto out;
    cs_error error = {0};
    cs_status status;
    unsigned char *group_of = PyArray_DATA((PyArrayObject *)groups);
    Py_BEGIN_ALLOW_THREADS
    status = cs_concatenate(parts, count, group_of, &whole->problem, &error);
    Py_END_ALLOW_THREADS
    if (status) {
        raise_error(&error);
        Py_CLEAR(whole);
    }
out:
    for (Py_ssize_t i = 0; i < begun; i++) problem_end((problem_object *)item[i]);
    PyMem_Free(parts);
    PyObject *answer = whole ? Py_BuildValue("OO", (PyObject *)whole, groups) : NULL;
    Py_XDECREF((PyObject *)whole);
    Py_XDECREF(groups);
    return answer;
}

/* ---- solving ------------------------------------------------------------------------------------ */

#define PROGRESS_SECONDS 0.1 /* between two calls of progress */

typedef struct listener {
    PyThreadState *thread; /* saved while the GIL is released */
    PyObject *progress;    /* borrowed; NULL for none */
    double last_shown;
} listener;

/* Looks for Ctrl-C, and shows how many problems have ended. */
static int poll_batch(void *context, int64_t ended)
{
    listener *l = context;
    PyEval_RestoreThread(l->thread);
    int answer = PyErr_Occurred() ? -1 : PyErr_CheckSignals();
    double now = cs_clock();
    if (!answer && l->progress && now - l->last_shown >= PROGRESS_SECONDS) {
        l->last_shown = now;
        PyObject *shown = PyObject_CallFunction(l->progress, "L", (long long)ended);
        if (!shown) answer = -1;
        Py_XDECREF(shown);
    }
    l->thread = PyEval_SaveThread();
    return answer;
}

static int poll_setup(void *context, const cs_progress *progress)
{
    (void)progress;
    return poll_batch(context, 0);
}

/* The arrays of an answer, by their names in it. */
enum {
    IMPULSES,
    VELOCITIES,
    CHANGE,
    OUTCOME,
    ITERATIONS,
    ROLLBACKS,
    RESIDUAL,
    MAP,
    SCALED,
    WORST,
    HISTORY,
    ARRAYS
};
static const char *const array_names[ARRAYS] = {
    "impulses",           "residual_velocities", "velocity_change", "outcome",
    "iterations",         "rollbacks",           "residual",        "natural_map",
    "natural_map_scaled", "worst_block",         "history"};

typedef struct answer_arrays {
    PyObject *array[ARRAYS];
} answer_arrays;

/* Allocates them. Returns -1 with an error set. */
static int take_arrays(answer_arrays *to, const cs_problem *problem, int64_t parts,
                       int64_t histories, int64_t rows)
{
    const struct {
        int64_t count;
        int type;
    } kind[HISTORY] = {
        {problem->rows, NPY_DOUBLE},
        {problem->rows, NPY_DOUBLE},
        {problem->velocities, NPY_DOUBLE},
        {parts, NPY_INT},
        {parts, NPY_INT64},
        {parts, NPY_INT},
        {parts, NPY_DOUBLE},
        {parts, NPY_DOUBLE},
        {parts, NPY_DOUBLE},
        {parts, NPY_INT64},
    };
    for (int i = 0; i < HISTORY; i++) {
        npy_intp length = (npy_intp)kind[i].count;
        to->array[i] = PyArray_SimpleNew(1, &length, kind[i].type);
        if (!to->array[i]) return -1;
    }
    npy_intp shape[3] = {(npy_intp)histories, (npy_intp)rows, CS_PART_COLUMNS};
    to->array[HISTORY] = PyArray_SimpleNew(3, shape, NPY_DOUBLE);
    return to->array[HISTORY] ? 0 : -1;
}

static void *data(const answer_arrays *arrays, int i)
{
    return PyArray_DATA((PyArrayObject *)arrays->array[i]);
}

/* {name: array}, with the names of outcomes, and what else is known; the arrays are given away. */
static PyObject *dictionary(answer_arrays *arrays, const cs_batch_result *result)
{
    PyObject *answer = Py_BuildValue(
        "{s:s,s:d,s:d,s:d,s:O}", "used", result->used ? result->used : "processor", "setup_seconds",
        result->setup_seconds, "seconds", result->seconds, "sweep_seconds", result->sweep_seconds,
        "found", result->found ? Py_True : Py_False);
    for (int i = 0; i < ARRAYS && answer; i++) {
        if (add_item(answer, array_names[i], arrays->array[i]) < 0) Py_CLEAR(answer);
        arrays->array[i] = NULL;
    }
    return answer;
}

/* Solves with the GIL released. Returns -1 with an error set. */
static int run_batch(problem_object *owner, const cs_options *options, cs_batch_call *call,
                     PyObject *progress, cs_batch_result *result)
{
    listener l = {.progress = progress == Py_None ? NULL : progress, .last_shown = cs_clock()};
    cs_control control = {.poll = poll_setup, .context = &l};
    cs_error error = {0};
    call->poll = poll_batch;
    call->context = &l;
    call->control = &control;
    if (problem_begin(owner) < 0) return -1;
    l.thread = PyEval_SaveThread();
    cs_status status = cs_batch_solve(owner->problem, options, call, result, &error);
    PyEval_RestoreThread(l.thread);
    problem_end(owner);
    if (status) raise_error(&error);
    return status || PyErr_Occurred() ? -1 : 0;
}

PyObject *core_solve_batch(PyObject *module, PyObject *args)
{
    /* The arguments. */
    core_state *state = PyModule_GetState(module);
    PyObject *problem, *options, *order, *initial, *recorded, *progress, *answer = NULL;
    int per;
    long long parts, histories;
    unsigned long long there;
    solver_arguments r = {.lists = {0}};
    if (!PyArg_ParseTuple(args, "O!O!O!OOLLiKO:solve_batch", state->problem_type, &problem,
                          &PyDict_Type, &options, &PyDict_Type, &order, &initial, &recorded, &parts,
                          &histories, &per, &there, &progress))
        return NULL;
    problem_object *owner = (problem_object *)problem;
    PyArrayObject *first = NULL, *which = NULL;
    answer_arrays arrays = {{NULL}};
    PyObject *nothing = PyDict_New(), *none = PyTuple_New(0);
    if (!nothing || !none) goto out;
    if (read_solver_arguments(&r, owner->problem, options, nothing, order, nothing, none) < 0)
        goto out;
    if (initial != Py_None && !(first = double_array(initial, "initial"))) goto out;
    which = (PyArrayObject *)PyArray_FROM_OTF(recorded, NPY_INT32, NPY_ARRAY_IN_ARRAY);
    if (!which) goto out;
    if ((first && (int64_t)PyArray_SIZE(first) != owner->problem->rows) ||
        (int64_t)PyArray_SIZE(which) != parts) {
        PyErr_SetString(PyExc_ValueError, "initial or record has a wrong length");
        goto out;
    }

    /* The solve. */
    if (take_arrays(&arrays, owner->problem, parts, histories, r.options.max_iterations + 1) < 0)
        goto out;
    cs_batch_call call = {
        .initial = first ? PyArray_DATA(first) : NULL,
        .there = (double *)(uintptr_t)there,
        .per = (cs_per)per,
        .recorded = histories ? PyArray_DATA(which) : NULL,
        .history = data(&arrays, HISTORY),
        .histories = histories,
    };
    cs_batch_result result = {
        .impulses = data(&arrays, IMPULSES),
        .residual_velocities = data(&arrays, VELOCITIES),
        .velocity_change = data(&arrays, CHANGE),
        .outcome = data(&arrays, OUTCOME),
        .iterations = data(&arrays, ITERATIONS),
        .rollbacks = data(&arrays, ROLLBACKS),
        .residual = data(&arrays, RESIDUAL),
        .natural_map = data(&arrays, MAP),
        .natural_map_scaled = data(&arrays, SCALED),
        .worst_block = data(&arrays, WORST),
    };
    if (run_batch(owner, &r.options, &call, progress, &result) == 0)
        answer = dictionary(&arrays, &result);
out:
    for (int i = 0; i < ARRAYS; i++) Py_XDECREF(arrays.array[i]);
    order_lists_clear(&r.lists);
    Py_XDECREF(first);
    Py_XDECREF(which);
    Py_XDECREF(nothing);
    Py_XDECREF(none);
    return answer;
}

/* outcomes() -> the names of outcomes, by number */
PyObject *core_outcomes(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return Py_BuildValue("[ssss]", cs_outcome_name(CS_CONVERGED),
                         cs_outcome_name(CS_MAX_ITERATIONS), cs_outcome_name(CS_DIVERGING),
                         cs_outcome_name(CS_STOPPED));
}
