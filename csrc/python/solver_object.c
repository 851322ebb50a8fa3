/* _core.Solver: a cs_solver that runs with the GIL released. Between sweeps, `poll` takes the GIL to
 * check for Ctrl-C, to call the callback and to show progress. */
#include "core/clock.h"
#include "python/answer.h"
#include "python/checkpoint_arguments.h"
#include "python/description.h"
#include "python/fields.h"
#include "python/rank_arguments.h"
#include "python/solver_arguments.h"
#include "solver/network.h"
#include "solver/on_ranks.h"
#include "solver/there.h"

#include <math.h>
#include <string.h>

typedef struct solver_object {
    PyObject_HEAD
    shared_solver *shared;
    PyTypeObject *answer_type; /* owned by the module, which this type keeps alive */
} solver_object;

/* ---- between sweeps -------------------------------------------------------------------------- */

#define PROGRESS_SECONDS 0.1 /* between two calls of progress */

/* What `poll` calls between sweeps. */
typedef struct listeners {
    PyThreadState *thread;         /* saved while the GIL is released */
    PyObject *callback, *progress; /* borrowed; NULL for none */
    double last_shown;             /* cs_clock of the last call of progress */
} listeners;

/* A new array of doubles that Python code cannot change. */
static PyObject *read_only_copy(const double *values, int64_t count)
{
    PyObject *array = new_doubles(values, count);
    if (array) PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
    return array;
}

/* Calls callback(iteration, row, impulses). Returns 0 to continue, 1 after StopIteration, and -1 with
 * an error set. */
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

/* Calls progress(iteration, row), unless the last call was less than PROGRESS_SECONDS ago. */
static int show(listeners *c, const cs_progress *progress)
{
    double now = cs_clock();
    if (!c->progress || now - c->last_shown < PROGRESS_SECONDS) return 0;
    c->last_shown = now;
    PyObject *answer = PyObject_CallFunction(c->progress, "LN", (long long)progress->iteration,
                                             read_only_copy(progress->row, progress->columns));
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

/* The context of `poll`. */
typedef struct poll_context {
    listeners listeners;
    int64_t rows;
    double deadline;                         /* cs_clock at which the set-up fails; 0: none */
    rank_arguments *rank;                    /* or NULL */
    const checkpoint_arguments *checkpoints; /* of the solver's next solve; or NULL */
    const cs_solver *solver;
} poll_context;

/* The poll of cs_control: returns 0 to continue, 1 to stop, and -1 with an error set. */
static int poll(void *context, const cs_progress *progress)
{
    poll_context *p = context;
    PyEval_RestoreThread(p->listeners.thread);

    /* An error may be set already, because support functions run Python code in sweeps. */
    int answer = PyErr_Occurred() ? -1 : PyErr_CheckSignals();
    if (!answer && p->deadline > 0 && cs_clock() >= p->deadline) {
        PyErr_SetString(PyExc_TimeoutError, "set-up took longer than max_setup_seconds");
        answer = -1;
    }

    /* A rank that waits for no other one asks whether one has failed. */
    if (!answer) answer = rank_check(p->rank);

    /* Show the progress, and call the callback. */
    if (!answer && progress) answer = show(&p->listeners, progress);
    if (!answer && progress && progress->impulses)
        answer = call_back(p->listeners.callback, progress, p->rows);

    p->listeners.thread = PyEval_SaveThread();
    return answer;
}

/* The `write` of cs_checkpoints: the Python function exchanges messages of its own. */
static int write_checkpoint(void *context, const cs_saved *saved)
{
    poll_context *p = context;
    PyEval_RestoreThread(p->listeners.thread);
    rank_end(p->rank);
    int answer = PyErr_Occurred() ? -1 : call_write(p->checkpoints, p->solver, saved);
    if (rank_begin(p->rank) < 0) answer = -1;
    p->listeners.thread = PyEval_SaveThread();
    return answer;
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Creates the solver with the GIL released; fails after this many seconds, if they are finite. */
static cs_status create(solver_object *self, const cs_options *options, double seconds,
                        cs_error *error)
{
    poll_context context = {
        .deadline = isfinite(seconds) ? cs_clock() + seconds : 0,
        .rank = &self->shared->rank,
    };
    cs_control control = {.poll = poll, .context = &context};
    context.listeners.thread = PyEval_SaveThread();
    shared_solver *shared = self->shared;
    const cs_problem *problem = shared->problem->problem;
    int known = 1;
    cs_status status =
        shared->rank.transport
            ? cs_solver_make_on_ranks(&shared->solver, problem, options, &shared->rank.share,
                                      rank_transport(&shared->rank), &known, &control, error)
            : cs_solver_create(&shared->solver, problem, options, &control, error);
    PyEval_RestoreThread(context.listeners.thread);
    if (status && !known) rank_abort(&shared->rank, error);
    return status;
}

/* Solver(problem, options, settings, order, scheme, record, max_setup_seconds, share=None, transport=None) */
static PyObject *solver_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"problem", "options",           "settings", "order",     "scheme",
                            "record",  "max_setup_seconds", "share",    "transport", NULL};
    core_state *state = PyType_GetModuleState(type);
    PyObject *problem, *options, *settings, *order, *scheme, *record;
    PyObject *share = Py_None, *transport = Py_None;
    double setup_seconds;
    solver_arguments r = {.lists = {0}};
    cs_error error = {0};
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "O!O!O!O!O!O!d|OO:Solver", names, state->problem_type, &problem,
            &PyDict_Type, &options, &PyDict_Type, &settings, &PyDict_Type, &order, &PyDict_Type,
            &scheme, &PyTuple_Type, &record, &setup_seconds, &share, &transport))
        return NULL;

    /* From here on the object owns its references, and `fail` releases them. */
    solver_object *self = (solver_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    problem_object *owner = (problem_object *)problem;
    self->answer_type = state->answer_type;
    self->shared = shared_solver_new(owner);
    if (!self->shared) goto fail;

    if (read_rank_arguments(&self->shared->rank, owner->problem, share, transport,
                            state->transport_type) < 0)
        goto fail;

    /* Options are read before the problem is locked: reading them may run Python code. */
    if (read_solver_arguments(&r, owner->problem, options, settings, order, scheme, record) < 0)
        goto fail;

    /* The problem keeps its values while the solver packs them. */
    if (rank_begin(&self->shared->rank) < 0) goto fail;
    if (problem_begin(owner) < 0) {
        rank_end(&self->shared->rank);
        goto fail;
    }
    cs_status status = create(self, &r.options, setup_seconds, &error);
    problem_end(owner);
    rank_end(&self->shared->rank);
    if (status) {
        raise_error(&error);
        goto fail;
    }
    order_lists_clear(&r.lists);
    return (PyObject *)self;
fail:
    order_lists_clear(&r.lists);
    Py_DECREF(self);
    return NULL;
}

static void solver_dealloc(solver_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (self->shared) deferred_finish_before_release(self->shared);
    shared_solver_release(self->shared);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- solving --------------------------------------------------------------------------------- */

/* Reads None, or an array of exactly `wanted` doubles. Returns -1 with an error set for others. */
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

/* Reads None, or an array of one int8 for each row. Returns -1 with an error set for others. */
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

/* The arrays of a solve, NULL for those that are not given: a start by impulses or by an index set, and values in place
 * of the problem's own. */
typedef struct solve_arrays {
    PyArrayObject *impulses, *index_set, *b, *parameters;
    checkpoint_arguments checkpoints; /* on ranks */
    int is_there;                     /* whether arrays are in the memory of a device: */
    cs_there there;
    int refused; /* result: the solve takes none there, and has not been made; */
    int leaves;  /* but it would leave its impulses there */
} solve_arrays;

/* Reads None, or the addresses (initial, b, impulses), of which the first two may be 0. Returns -1 with an error set. */
static int read_there(PyObject *value, solve_arrays *given)
{
    unsigned long long initial, b, impulses;
    if (value == Py_None) return 0;
    if (!PyTuple_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "there: a tuple of addresses is needed");
        return -1;
    }
    if (!PyArg_ParseTuple(value, "KKK", &initial, &b, &impulses)) return -1;
    given->is_there = 1;
    given->there = (cs_there){
        .initial = (const double *)(uintptr_t)initial,
        .b = (const double *)(uintptr_t)b,
        .impulses = (double *)(uintptr_t)impulses,
    };
    return 0;
}

/* Whether the next solve may have its arrays on the device. */
static cs_status find_place(cs_solver *solver, solve_arrays *given, const cs_control *control,
                            cs_error *error)
{
    const cs_there impulses_alone = {.impulses = given->there.impulses};
    int possible = 0;
    cs_status status = cs_solver_solves_there(solver, &given->there, control, &possible, error);
    given->refused = !possible;
    if (!status && !possible)
        status = cs_solver_solves_there(solver, &impulses_alone, control, &given->leaves, error);
    return status;
}

/* Solves with the GIL released. ghosts: an array for cs_solver_ghosts, or NULL. Returns -1 with an error set. */
static int run(solver_object *self, solve_arrays *given, PyObject *callback, PyObject *progress,
               PyObject *ghosts, cs_result *result)
{
    /* The caller is polled at each iteration only if there is a callback, which needs the impulses. */
    shared_solver *shared = self->shared;
    poll_context context = {
        .listeners = {.callback = callback == Py_None ? NULL : callback,
                      .progress = progress == Py_None ? NULL : progress},
        .rows = shared->problem->problem->rows,
        .rank = &shared->rank,
        .checkpoints = &given->checkpoints,
        .solver = shared->solver,
    };
    cs_control control = {poll, &context, callback != Py_None};
    cs_checkpoints *checkpoints = given->checkpoints.write ? &given->checkpoints.checkpoints : NULL;
    if (checkpoints) {
        checkpoints->write = write_checkpoint;
        checkpoints->context = &context;
    }
    cs_error error = {0};

    /* Python code may read earlier answers while this solver is at work. */
    if ((context.listeners.callback || context.listeners.progress) &&
        deferred_finish_all(shared->problem, shared) < 0)
        return -1;

    /* Whether arrays may be on the device, and the solve, with the GIL released. */
    context.listeners.thread = PyEval_SaveThread();
    cs_status status = CS_OK;
    if (given->is_there) status = find_place(shared->solver, given, &control, &error);
    if (status || given->refused) {
        PyEval_RestoreThread(context.listeners.thread);
        if (status) raise_error(&error);
        return status ? -1 : 0;
    }
    const signed char *set = given->index_set ? PyArray_DATA(given->index_set) : NULL;
    cs_solver_checkpoints(shared->solver, checkpoints);
    cs_solver_there(shared->solver, given->is_there ? &given->there : NULL);
    cs_solver_ghosts(shared->solver, ghosts ? PyArray_DATA((PyArrayObject *)ghosts) : NULL);
    status = cs_solver_begin_with(shared->solver, set, &error);
    if (!status)
        status = cs_solver_solve(shared->solver, data_of(given->impulses), data_of(given->b),
                                 data_of(given->parameters), &control, result, &error);
    cs_solver_checkpoints(shared->solver, NULL);
    cs_solver_there(shared->solver, NULL);
    cs_solver_ghosts(shared->solver, NULL);
    PyEval_RestoreThread(context.listeners.thread);
    if (status && shared->rank.transport && !cs_solver_failure_is_known(shared->solver))
        rank_abort(&shared->rank, &error);

    /* A support function of the last sweeps may have raised after the last poll. */
    if (status) raise_error(&error);
    return status || PyErr_Occurred() ? -1 : 0;
}

/* Solves and returns the Answer, or NULL with an error set. */
static PyObject *answer_of(solver_object *self, solve_arrays *given, PyObject *callback,
                           PyObject *progress)
{
    /* The solver writes into arrays that the answer will own. What an evaluation gives can follow later if no iterate is
     * evaluated anyway. */
    shared_solver *shared = self->shared;
    const cs_problem *problem = shared->problem->problem;
    int now =
        !given->is_there && (cs_solver_evaluates(shared->solver) || cs_problem_calls_back(problem));
    answer_parts parts = {
        .rows = problem->rows,
        .version = problem->version,
        .impulses = new_doubles(NULL, problem->rows),
    };
    PyObject *answer = NULL, *ghosts = NULL;
    int64_t ghost_velocities = cs_ranks_ghost_velocities(shared->solver->ranks);
    if (!parts.impulses) return NULL;
    if (now) {
        parts.xi = new_doubles(NULL, problem->rows);
        parts.velocity = new_doubles(NULL, problem->velocities);
        if (!parts.xi || !parts.velocity) goto out;
    } else if (ghost_velocities > 0) {
        ghosts = new_doubles(NULL, ghost_velocities);
        if (!ghosts) goto out;
    }
    cs_result result = {
        .impulses = PyArray_DATA((PyArrayObject *)parts.impulses),
        .residual_velocities = now ? PyArray_DATA((PyArrayObject *)parts.xi) : NULL,
        .velocity_change = now ? PyArray_DATA((PyArrayObject *)parts.velocity) : NULL,
    };

    /* The solve, and its answer. */
    if (run(self, given, callback, progress, ghosts, &result) < 0) goto out;
    if (given->refused) {
        answer = PyBool_FromLong(given->leaves);
        goto out;
    }
    parts.result = &result;
    if (given->there.written) Py_SETREF(parts.impulses, Py_NewRef(Py_None));
    if (!now && !given->is_there) {
        parts.later =
            deferred_new(shared, &result, parts.impulses, ghosts, given->b, given->parameters);
        if (!parts.later) goto out;
    }
    answer = new_answer(self->answer_type, &parts);
    if (!answer) deferred_release(parts.later);
out:
    Py_DECREF(parts.impulses);
    Py_XDECREF(parts.xi);
    Py_XDECREF(parts.velocity);
    Py_XDECREF(ghosts);
    return answer;
}

/* solve(initial, index_set, b, parameters, callback, progress, there, checkpoints=None) -> Answer; each may be None. b and
 * parameters must stay as they are while the answer exists. `there`: addresses of the device (initial or 0, b or 0,
 * impulses), in place of the arrays. Where a solve does not take them all, nothing is done, and instead of an answer a bool says
 * whether it would leave impulses there. */
static PyObject *solver_solve(solver_object *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 7 && count != 8) {
        PyErr_SetString(PyExc_TypeError, "solve takes initial, index_set, b, parameters, callback, "
                                         "progress, there and checkpoints");
        return NULL;
    }
    shared_solver *shared = self->shared;
    const cs_problem *problem = shared->problem->problem;
    solve_arrays given = {.impulses = NULL};
    PyObject *answer = NULL;

    /* Convert the arguments. */
    if (optional_doubles(args[0], "initial", problem->rows, &given.impulses) < 0) goto out;
    if (optional_set(args[1], problem->rows, &given.index_set) < 0) goto out;
    if (optional_doubles(args[2], "b", problem->rows, &given.b) < 0) goto out;
    if (optional_doubles(args[3], "mu", problem->parameters, &given.parameters) < 0) goto out;
    if (read_there(args[6], &given) < 0) goto out;

    /* The problem keeps its values until the solve ends. */
    if (shared_solver_begin(shared) < 0) goto out;
    if ((count == 7 ||
         read_checkpoint_arguments(&given.checkpoints, shared->solver, args[7]) == 0) &&
        rank_begin(&shared->rank) == 0) {
        if (problem_begin(shared->problem) == 0) {
            answer = answer_of(self, &given, args[4], args[5]);
            problem_end(shared->problem);
        }
        rank_end(&shared->rank);
    }
    shared_solver_end(shared);
out:
    checkpoint_arguments_clear(&given.checkpoints);
    Py_XDECREF(given.impulses);
    Py_XDECREF(given.index_set);
    Py_XDECREF(given.b);
    Py_XDECREF(given.parameters);
    return answer;
}

/* describe() -> a Description of the solver as it is now */
static PyObject *solver_describe(solver_object *self, PyObject *unused)
{
    (void)unused;
    core_state *state = PyType_GetModuleState(Py_TYPE(self));
    return new_description(state->description_type, self->shared->solver);
}

/* ray() -> impulses that could grow without bound, or None */
static PyObject *solver_ray(solver_object *self, PyObject *unused)
{
    (void)unused;
    const double *ray = cs_solver_ray(self->shared->solver);
    if (!ray) Py_RETURN_NONE;
    return new_doubles(ray, self->shared->problem->problem->rows);
}

/* ranks() -> figures of this rank, or None */
static PyObject *solver_ranks(solver_object *self, PyObject *unused)
{
    (void)unused;
    cs_ranks_info info;
    if (!self->shared->solver->ranks) Py_RETURN_NONE;
    cs_ranks_describe(self->shared->solver->ranks, &info);
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "owned_bodies", (long long)info.owned,
                         "ghost_bodies", (long long)info.ghosts, "visits", (long long)info.visits,
                         "own_contacts", (long long)info.own, "neighbours",
                         (long long)info.neighbours, "messages", (long long)info.messages, "bytes",
                         (long long)info.bytes, "overlapped_exchanges", (long long)info.overlapped);
}

/* impulses_there(impulses, pointer) -> whether the device has these impulses of the last solve and has copied them to
 * its memory at `pointer` (rows) */
static PyObject *solver_impulses_there(solver_object *self, PyObject *args)
{
    PyObject *given, *number, *answer = NULL;
    PyArrayObject *impulses = NULL;
    cs_error error = {0};
    int found = 0;
    shared_solver *shared = self->shared;
    if (!PyArg_ParseTuple(args, "OO:impulses_there", &given, &number)) return NULL;
    double *to = PyLong_AsVoidPtr(number);
    if (PyErr_Occurred()) return NULL;
    if (optional_doubles(given, "impulses", shared->problem->problem->rows, &impulses) < 0 ||
        shared_solver_begin(shared) < 0) {
        Py_XDECREF(impulses);
        return NULL;
    }
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_solver_impulses_there(shared->solver, PyArray_DATA(impulses), to, &found, &error);
    Py_END_ALLOW_THREADS
    shared_solver_end(shared);
    if (status) raise_error(&error);
    else answer = PyBool_FromLong(found);
    Py_DECREF(impulses);
    return answer;
}

/* evaluate(impulses, b, parameters, version) -> an Answer whose velocities, evaluated when they are read, are those of impulses
 * of an earlier solve with these b and parameters, which may be None; None if the problem no longer has the version of that
 * solve. Arrays must stay as they are while the answer exists. */
static PyObject *solver_evaluate(solver_object *self, PyObject *args)
{
    PyObject *own_impulses, *own_b, *own_parameters, *answer = NULL;
    PyArrayObject *impulses = NULL, *b = NULL, *parameters = NULL;
    shared_solver *shared = self->shared;
    const cs_problem *problem = shared->problem->problem;
    long long version;
    if (!PyArg_ParseTuple(args, "OOOL:evaluate", &own_impulses, &own_b, &own_parameters, &version))
        return NULL;
    if (optional_doubles(own_impulses, "impulses", problem->rows, &impulses) < 0 ||
        optional_doubles(own_b, "b", problem->rows, &b) < 0 ||
        optional_doubles(own_parameters, "mu", problem->parameters, &parameters) < 0)
        goto out;
    if (!impulses) {
        PyErr_SetString(PyExc_TypeError, "impulses are needed");
        goto out;
    }

    /* The answer takes the evaluation. */
    const cs_result nothing = {.outcome = CS_STOPPED};
    answer_parts parts = {.result = &nothing, .rows = problem->rows, .version = version};
    parts.later = deferred_again(shared, version, (PyObject *)impulses, b, parameters);
    if (parts.later) answer = new_answer(self->answer_type, &parts);
    if (!answer) deferred_release(parts.later);
    if (!parts.later && !PyErr_Occurred()) answer = Py_NewRef(Py_None);
out:
    Py_XDECREF(impulses);
    Py_XDECREF(b);
    Py_XDECREF(parameters);
    return answer;
}

/* Connects a network whose processes are on the ranks of a transport, with the GIL released. */
static cs_status connect_on_ranks(shared_solver *shared, const char *name, int workers,
                                  const cs_setting *settings, int count, cs_error *error)
{
    int known = 0;
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_solver_connect_on_ranks(shared->solver, name, workers, settings, count,
                                        rank_transport(&shared->rank), &known, error);
    Py_END_ALLOW_THREADS
    if (status && !known) rank_abort(&shared->rank, error);
    return status;
}

/* connect(network, workers, settings, transport=None): has a network of processes make the sweeps */
static PyObject *solver_connect(solver_object *self, PyObject *args)
{
    const char *name;
    int workers;
    PyObject *dictionary, *transport = Py_None;
    cs_setting settings[CS_MAX_OWN_OPTIONS];
    cs_error error = {0};
    core_state *state = PyType_GetModuleState(Py_TYPE(self));
    shared_solver *shared = self->shared;
    if (!PyArg_ParseTuple(args, "siO!|O:connect", &name, &workers, &PyDict_Type, &dictionary,
                          &transport))
        return NULL;
    if (transport != Py_None && !PyObject_TypeCheck(transport, state->transport_type)) {
        PyErr_SetString(PyExc_TypeError, "transport: a Transport is needed");
        return NULL;
    }
    int count = read_settings(dictionary, settings);
    if (count < 0 || shared_solver_begin(shared) < 0) return NULL;
    if (transport != Py_None && !shared->rank.transport)
        shared->rank.transport = Py_NewRef(transport);
    cs_status status = CS_OK;
    int begun = rank_begin(&shared->rank) == 0;
    if (begun && transport != Py_None)
        status = connect_on_ranks(shared, name, workers, settings, count, &error);
    else if (begun)
        status = cs_solver_connect(shared->solver, name, workers, settings, count, &error);
    if (begun) rank_end(&shared->rank);
    shared_solver_end(shared);
    if (begun && !status) Py_RETURN_NONE;
    if (begun) raise_error(&error);
    return NULL;
}

static const field network_count_fields[] = {
    FIELD(cs_network_counts, processes, INT64),     FIELD(cs_network_counts, runs, INT64),
    FIELD(cs_network_counts, sweeps, INT64),        FIELD(cs_network_counts, messages, INT64),
    FIELD(cs_network_counts, bytes, INT64),         FIELD(cs_network_counts, sleeps, INT64),
    FIELD(cs_network_counts, messages_away, INT64), FIELD(cs_network_counts, bytes_away, INT64),
};
enum { NETWORK_COUNT_FIELDS = sizeof network_count_fields / sizeof *network_count_fields };

/* network_counts() -> a dict of what has passed through the channels of its network, or None */
static PyObject *solver_network_counts(solver_object *self, PyObject *unused)
{
    (void)unused;
    cs_network_counts counts;
    if (shared_solver_begin(self->shared) < 0) return NULL;
    int found = cs_solver_network_counts(self->shared->solver, &counts);
    shared_solver_end(self->shared);
    if (!found) Py_RETURN_NONE;
    return dictionary_of(network_count_fields, NETWORK_COUNT_FIELDS, &counts);
}

static PyMethodDef solver_methods[] = {
    {"connect", (PyCFunction)(void (*)(void))solver_connect, METH_VARARGS,
     "connect(network, workers, settings, transport=None)\n--\n\nHas a network of processes make "
     "the sweeps."},
    {"network_counts", (PyCFunction)(void (*)(void))solver_network_counts, METH_NOARGS,
     "network_counts()\n--\n\nWhat has passed through the channels of its network, or None."},
    {"impulses_there", (PyCFunction)(void (*)(void))solver_impulses_there, METH_VARARGS,
     "impulses_there(impulses, pointer)\n--\n\nCopies impulses within the device, if it has them."},
    {"evaluate", (PyCFunction)(void (*)(void))solver_evaluate, METH_VARARGS,
     "evaluate(impulses, b, parameters, version)\n--\n\nAn Answer with the velocities of impulses; "
     "None after an update."},
    {"ranks", (PyCFunction)(void (*)(void))solver_ranks, METH_NOARGS,
     "ranks()\n--\n\nBodies and contacts of this rank, messages and bytes that it sends in a "
     "sweep, exchanges of the last solve that travelled during visits; None for a problem on one "
     "rank."},
    {"ray", (PyCFunction)(void (*)(void))solver_ray, METH_NOARGS,
     "ray()\n--\n\nImpulses that could grow without bound, after a solve that met a ray; or None."},
    {"solve", (PyCFunction)(void (*)(void))solver_solve, METH_FASTCALL,
     "solve(initial, index_set, b, parameters, callback, progress, there)\n--\n\nRuns the solver."},
    {"describe", (PyCFunction)(void (*)(void))solver_describe, METH_NOARGS,
     "describe()\n--\n\nA Description of the solver as it is now."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot solver_slots[] = {
    {Py_tp_new, (void *)solver_new},
    {Py_tp_dealloc, (void *)solver_dealloc},
    {Py_tp_methods, solver_methods},
    {Py_tp_doc,
     "Solver(problem, options, settings, order, scheme, record, max_setup_seconds, share=None,\n"
     "transport=None)\n--\n\n"
     "A solver in C. See contactsolve.Solver."},
    {0, NULL},
};

PyType_Spec solver_spec = {
    .name = "contactsolve._core.Solver",
    .basicsize = sizeof(solver_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = solver_slots,
};
