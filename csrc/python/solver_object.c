/* _core.Solver: a cs_solver that runs with the GIL released, and takes it back between sweeps to
 * look for Ctrl-C, to call back and to show progress. */
#include "core/clock.h"
#include "python/core.h"

#include <math.h>
#include <string.h>

typedef struct solver_object {
    PyObject_HEAD
    PyObject *problem; /* kept alive: the solver points into it */
    cs_solver *solver;
    atomic_flag busy;
} solver_object;

/* ---- between sweeps -------------------------------------------------------------------------- */

#define PROGRESS_SECONDS 0.1

typedef struct conversation {
    PyThreadState *thread;         /* while the GIL is released */
    PyObject *callback, *progress; /* borrowed; NULL for none */
    double last_shown;
} conversation;

static PyObject *read_only_copy(const double *values, int64_t count)
{
    PyObject *array = new_doubles(values, count);
    if (array) PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    return array;
}

/* callback(iteration, row, impulses); StopIteration asks to stop. */
static int call_back(PyObject *callback, const cs_progress *progress, int64_t rows)
{
    PyObject *answer = PyObject_CallFunction(callback, "LNN", (long long)progress->iteration,
                                             read_only_copy(progress->row, progress->columns),
                                             read_only_copy(progress->impulses, rows));
    Py_XDECREF(answer);
    if (answer) return 0;
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return -1;
    PyErr_Clear();
    return 1;
}

static int show(conversation *c, const cs_progress *progress)
{
    double now = cs_clock();
    if (!c->progress || now - c->last_shown < PROGRESS_SECONDS) return 0;
    c->last_shown = now;
    PyObject *answer = PyObject_CallFunction(c->progress, "LN", (long long)progress->iteration,
                                             read_only_copy(progress->row, progress->columns));
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

typedef struct poll_context {
    conversation talk;
    int64_t rows;
    double deadline; /* of what knows no other end; 0: none */
} poll_context;

static int poll(void *context, const cs_progress *progress)
{
    poll_context *p = context;
    PyEval_RestoreThread(p->talk.thread);
    int answer = PyErr_Occurred() ? -1 : PyErr_CheckSignals(); /* of a support function */
    if (!answer && p->deadline > 0 && cs_clock() >= p->deadline) {
        PyErr_SetString(PyExc_TimeoutError, "set-up took longer than max_setup_seconds");
        answer = -1;
    }
    if (!answer && progress) answer = show(&p->talk, progress);
    if (!answer && progress && progress->impulses)
        answer = call_back(p->talk.callback, progress, p->rows);
    p->talk.thread = PyEval_SaveThread();
    return answer;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Names of the measures to record, borrowed from the tuple. */
static int read_record(PyObject *record, const char **names)
{
    Py_ssize_t count = PyTuple_GET_SIZE(record);
    if (count > CS_MAX_COLUMNS) {
        PyErr_Format(PyExc_ValueError, "record names %zd measures; at most %d are taken", count,
                     CS_MAX_COLUMNS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        names[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(record, i));
        if (!names[i]) return -1;
    }
    return 0;
}

static cs_status create(solver_object *self, const cs_options *options, double seconds,
                        cs_error *error)
{
    poll_context context = {.deadline = isfinite(seconds) ? cs_clock() + seconds : 0};
    cs_control control = {.poll = poll, .context = &context};
    context.talk.thread = PyEval_SaveThread();
    cs_status status = cs_solver_create(&self->solver, ((problem_object *)self->problem)->problem,
                                        options, &control, error);
    PyEval_RestoreThread(context.talk.thread);
    return status;
}

static PyObject *solver_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"problem",
                            "method",
                            "scheme",
                            "order",
                            "local",
                            "r_factor",
                            "r_value",
                            "bound",
                            "relaxation",
                            "averaging",
                            "averaging_adjacent",
                            "rollback",
                            "rollback_growth",
                            "dtype",
                            "stop",
                            "rtol",
                            "atol",
                            "check_every",
                            "max_iterations",
                            "record",
                            "record_every",
                            "quality_r",
                            "threads",
                            "order_options",
                            "velocities",
                            "instructions",
                            "general",
                            "islands",
                            "settings",
                            "max_seconds",
                            "time_checks",
                            "measure_every",
                            "max_setup_seconds",
                            NULL};
    core_state *state = PyType_GetModuleState(type);
    cs_options options = cs_options_default();
    const char *record_names[CS_MAX_COLUMNS];
    PyObject *problem, *record, *order_options, *settings;
    cs_setting values[CS_MAX_METHOD_OPTIONS];
    order_lists lists = {0};
    long long check_every, max_iterations, record_every, measure_every;
    double setup_seconds;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "O!sssszdsddpidssddLLO!LdiO!ssppO!dpLd:Solver", names,
            state->problem_type, &problem, &options.method, &options.scheme, &options.order,
            &options.local, &options.r_factor, &options.r_value, &options.bound,
            &options.relaxation, &options.averaging, &options.averaging_adjacent, &options.rollback,
            &options.rollback_growth, &options.dtype, &options.stop, &options.rtol, &options.atol,
            &check_every, &max_iterations, &PyTuple_Type, &record, &record_every,
            &options.quality_r, &options.threads, &PyDict_Type, &order_options, &options.velocities,
            &options.instructions, &options.general, &options.islands, &PyDict_Type, &settings,
            &options.max_seconds, &options.time_checks, &measure_every, &setup_seconds))
        return NULL;
    options.check_every = check_every;
    options.max_iterations = max_iterations;
    options.record_every = record_every;
    options.measure_every = measure_every;
    options.record = record_names;
    options.records = (int)PyTuple_GET_SIZE(record);
    if (read_record(record, record_names) < 0) return NULL;
    options.settings = values;
    options.setting_count = read_settings(settings, values);
    if (options.setting_count < 0) return NULL;
    solver_object *self = (solver_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    atomic_flag_clear(&self->busy);
    self->problem = Py_NewRef(problem);
    if (read_order_options(order_options, ((problem_object *)problem)->problem,
                           &options.order_options, &lists) < 0)
        goto fail;
    cs_error error = {0};
    if (problem_begin((problem_object *)problem) < 0) goto fail;
    cs_status status = create(self, &options, setup_seconds, &error);
    problem_end((problem_object *)problem);
    if (status) {
        raise_error(&error);
        goto fail;
    }
    order_lists_clear(&lists);
    return (PyObject *)self;
fail:
    order_lists_clear(&lists);
    Py_DECREF(self);
    return NULL;
}

static void solver_dealloc(solver_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_solver_destroy(self->solver);
    Py_XDECREF(self->problem);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- solving --------------------------------------------------------------------------------- */

/* An optional array of exactly `wanted` doubles; 0 when there, or None. */
static int optional_doubles(PyObject *value, const char *name, int64_t wanted,
                            PyArrayObject **array)
{
    if (value == Py_None) return 0;
    *array = double_array(value, name);
    if (!*array) return -1;
    if ((int64_t)PyArray_SIZE(*array) == wanted) return 0;
    PyErr_Format(PyExc_ValueError, "%s has %zd entries; the problem needs %lld", name,
                 (Py_ssize_t)PyArray_SIZE(*array), (long long)wanted);
    return -1;
}

/* An optional array of one int8 for each row. */
static int optional_set(PyObject *value, int64_t rows, PyArrayObject **array)
{
    if (value == Py_None) return 0;
    *array = (PyArrayObject *)PyArray_FROM_OTF(value, NPY_INT8, NPY_ARRAY_IN_ARRAY);
    if (!*array || (int64_t)PyArray_SIZE(*array) == rows) return *array ? 0 : -1;
    PyErr_Format(PyExc_ValueError, "the index set has %zd entries; the problem needs %lld",
                 (Py_ssize_t)PyArray_SIZE(*array), (long long)rows);
    return -1;
}

static const double *data_of(PyArrayObject *array) { return array ? PyArray_DATA(array) : NULL; }

/* The links of a chain: dicts. */
static PyObject *links_of(const cs_result *result)
{
    PyObject *links = PyTuple_New(result->links);
    for (int i = 0; links && i < result->links; i++) {
        const cs_link *link = &result->link[i];
        PyObject *told = Py_BuildValue(
            "{s:s,s:L,s:L,s:d,s:d,s:s,s:s,s:L}", "method", link->method, "first",
            (long long)link->first, "iterations", (long long)link->iterations, "seconds",
            link->seconds, "reached", link->reached, "status", cs_outcome_name(link->outcome),
            "why", link->why, "islands", (long long)link->islands);
        if (!told) Py_CLEAR(links);
        else PyTuple_SET_ITEM(links, i, told);
    }
    return links;
}

/* The direction that proves a problem to have no solution, or None. */
static PyObject *certificate_of(const cs_result *result, npy_intp rows)
{
    if (!result->certificate) Py_RETURN_NONE;
    PyObject *copy = PyArray_SimpleNew(1, &rows, NPY_DOUBLE);
    if (copy && rows)
        memcpy(PyArray_DATA((PyArrayObject *)copy), result->certificate,
               sizeof(double) * (size_t)rows);
    return copy;
}

/* (impulses, residual velocities, velocity change, history, outcome, iterations, best iteration,
 * rollbacks, seconds, natural map, scaled natural map, worst block, unfinished blocks, products of
 * blocks, pivots, single pivots, factorizations, what a cache did, what factors used again did, how the
 * last pivoting ended or None, restarts, corrections tried and kept, inner iterations, band, links,
 * (floor, its block), (certificate or None, what it is for)) */
static PyObject *answer(const cs_result *result, PyObject *impulses, PyObject *xi,
                        PyObject *velocity)
{
    npy_intp shape[2] = {(npy_intp)result->history_rows, result->columns};
    PyObject *history = PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    if (!history) return NULL;
    memcpy(PyArray_DATA((PyArrayObject *)history), result->history,
           sizeof(double) * (size_t)(result->history_rows * result->columns));
    PyObject *certificate = certificate_of(result, PyArray_SIZE((PyArrayObject *)impulses));
    if (!certificate) {
        Py_DECREF(history);
        return NULL;
    }
    return Py_BuildValue("OOONsLLiddd(Lid)LLLLLNNzi(LL)L(ddd)N(dL)(Nd)", impulses, xi, velocity,
                         history, cs_outcome_name(result->outcome), (long long)result->iterations,
                         (long long)result->best_iteration, result->rollbacks, result->seconds,
                         result->natural_map, result->natural_map_scaled,
                         (long long)result->worst_block, result->worst_row, result->worst_velocity,
                         (long long)result->unfinished_blocks, (long long)result->block_products,
                         (long long)result->pivots, (long long)result->single_pivots,
                         (long long)result->factorizations, cache_counts(&result->cache),
                         reuse_counts(&result->reuse), result->pivoting, result->restarts,
                         (long long)result->corrections.tried, (long long)result->corrections.kept,
                         (long long)result->inner_iterations, result->band[0], result->band[1],
                         result->band[2], links_of(result), result->floor,
                         (long long)result->floor_block, certificate, result->certified);
}

/* What a solve begins with: impulses, or an index set. */
typedef struct beginning {
    PyArrayObject *impulses, *index_set;
} beginning;

static PyObject *run(solver_object *self, const beginning *initial, const double *b,
                     const double *parameters, PyObject *callback, PyObject *progress)
{
    const cs_problem *problem = ((problem_object *)self->problem)->problem;
    PyObject *impulses = new_doubles(NULL, problem->rows), *xi = new_doubles(NULL, problem->rows);
    PyObject *velocity = new_doubles(NULL, problem->velocities), *tuple = NULL;
    if (!impulses || !xi || !velocity) goto out;
    cs_result result = {
        .impulses = PyArray_DATA((PyArrayObject *)impulses),
        .residual_velocities = PyArray_DATA((PyArrayObject *)xi),
        .velocity_change = PyArray_DATA((PyArrayObject *)velocity),
    };
    poll_context context = {
        .talk = {.callback = callback == Py_None ? NULL : callback,
                 .progress = progress == Py_None ? NULL : progress},
        .rows = problem->rows,
    };
    cs_control control = {poll, &context, callback != Py_None};
    cs_error error = {0};
    context.talk.thread = PyEval_SaveThread();
    const signed char *set = initial->index_set ? PyArray_DATA(initial->index_set) : NULL;
    cs_status status = cs_solver_begin_with(self->solver, set, &error);
    if (!status)
        status = cs_solver_solve(self->solver, data_of(initial->impulses), b, parameters, &control,
                                 &result, &error);
    PyEval_RestoreThread(context.talk.thread);
    if (status) raise_error(&error);
    else if (!PyErr_Occurred()) /* in a support function of the last sweeps */
        tuple = answer(&result, impulses, xi, velocity);
out:
    Py_XDECREF(impulses);
    Py_XDECREF(xi);
    Py_XDECREF(velocity);
    return tuple;
}

static PyObject *solver_solve(solver_object *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError,
                        "solve takes initial, index_set, b, parameters, callback and progress");
        return NULL;
    }
    const cs_problem *problem = ((problem_object *)self->problem)->problem;
    beginning initial = {NULL, NULL};
    PyArrayObject *b = NULL, *parameters = NULL;
    PyObject *tuple = NULL;
    if (optional_doubles(args[0], "initial", problem->rows, &initial.impulses) < 0) goto out;
    if (optional_set(args[1], problem->rows, &initial.index_set) < 0) goto out;
    if (optional_doubles(args[2], "b", problem->rows, &b) < 0) goto out;
    if (optional_doubles(args[3], "mu", problem->parameters, &parameters) < 0) goto out;
    if (atomic_flag_test_and_set(&self->busy)) {
        PyErr_SetString(PyExc_RuntimeError, "this Solver is solving already (in another thread or "
                                            "around this callback): make one Solver for each");
        goto out;
    }
    if (problem_begin((problem_object *)self->problem) == 0) {
        tuple = run(self, &initial, data_of(b), data_of(parameters), args[4], args[5]);
        problem_end((problem_object *)self->problem);
    }
    atomic_flag_clear(&self->busy);
out:
    Py_XDECREF(initial.impulses);
    Py_XDECREF(initial.index_set);
    Py_XDECREF(b);
    Py_XDECREF(parameters);
    return tuple;
}

static PyObject *column_names(const cs_solver_info *info)
{
    PyObject *names = PyTuple_New(info->columns);
    for (int c = 0; names && c < info->columns; c++) {
        PyObject *name = PyUnicode_FromString(info->column[c]);
        if (!name) Py_CLEAR(names);
        else PyTuple_SET_ITEM(names, c, name);
    }
    return names;
}

static PyObject *solver_describe(solver_object *self, PyObject *unused)
{
    (void)unused;
    cs_solver_info info;
    cs_solver_describe(self->solver, &info);
    PyObject *columns = column_names(&info);
    if (!columns) return NULL;
    return Py_BuildValue(
        "{s:s,s:s,s:s,s:s,s:s,s:i,s:N,s:L,s:L,s:L,s:L,s:d,s:d,s:(dd),s:i,s:I,s:L,s:L,s:L,s:s,s:z,s:"
        "L,s:"
        "z,s:d,s:L}",
        "method", info.method, "scheme", info.scheme, "order", info.order, "local", info.local,
        "dtype", info.dtype, "threads", info.threads, "columns", columns, "matrix_blocks",
        (long long)info.matrix_blocks, "immovable_blocks", (long long)info.immovable_blocks,
        "singular_blocks", (long long)info.singular_blocks, "bytes", (long long)info.bytes,
        "setup_seconds", info.seconds, "r_value", info.r_value, "eigenvalues", info.eigenvalues[0],
        info.eigenvalues[1], "stop_is_ratio", info.stop_is_ratio, "figures", info.figures, "stages",
        (long long)info.stages, "colors", (long long)info.colors, "rounds", (long long)info.rounds,
        "kernel", info.kernel, "engine", info.engine, "islands", (long long)info.islands,
        "why_order", info.why_order, "step_bound", info.step_bound, "clusters",
        (long long)info.clusters);
}

static PyObject *solver_ray(solver_object *self, PyObject *unused)
{
    (void)unused;
    const double *ray = cs_solver_ray(self->solver);
    if (!ray) Py_RETURN_NONE;
    return new_doubles(ray, ((problem_object *)self->problem)->problem->rows);
}

static PyMethodDef solver_methods[] = {
    {"ray", (PyCFunction)(void (*)(void))solver_ray, METH_NOARGS,
     "ray()\n--\n\nImpulses that could grow for ever, after a solve that met a ray; or None."},
    {"solve", (PyCFunction)(void (*)(void))solver_solve, METH_FASTCALL,
     "solve(initial, index_set, b, parameters, callback, progress)\n--\n\nRuns the solver."},
    {"describe", (PyCFunction)(void (*)(void))solver_describe, METH_NOARGS,
     "describe()\n--\n\nWhat was chosen, as a dict."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot solver_slots[] = {
    {Py_tp_new, (void *)solver_new},
    {Py_tp_dealloc, (void *)solver_dealloc},
    {Py_tp_methods, solver_methods},
    {Py_tp_doc, "Solver(problem, ...)\n--\n\nA solver in C. See contactsolve.Solver."},
    {0, NULL},
};

PyType_Spec solver_spec = {
    .name = "contactsolve._core.Solver",
    .basicsize = sizeof(solver_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = solver_slots,
};
