/* Deferred evaluations (python/deferred.h). They run no Python code, and keep the GIL. */
#include "python/deferred.h"

#include "solver/solver.h"

#include <time.h>

/* ---- solvers --------------------------------------------------------------------------------- */

shared_solver *shared_solver_new(problem_object *problem)
{
    shared_solver *shared = PyMem_RawCalloc(1, sizeof *shared);
    if (!shared) return (shared_solver *)PyErr_NoMemory();
    atomic_init(&shared->references, 1);
    atomic_init(&shared->use, SOLVER_IDLE);
    atomic_init(&shared->thread, 0);
    shared->problem = (problem_object *)Py_NewRef((PyObject *)problem);
    return shared;
}

void shared_solver_release(shared_solver *shared)
{
    if (!shared || atomic_fetch_sub(&shared->references, 1) > 1) return;
    cs_solver_destroy(shared->solver);
    Py_XDECREF(shared->rank.transport);
    Py_XDECREF(shared->rank.arrays);
    Py_DECREF((PyObject *)shared->problem);
    PyMem_RawFree(shared);
}

#define WAIT_NANOSECONDS 100000 /* between two looks at a solver that is in use */

/* Lets other threads go on for a moment. Returns -1 with an error set after Ctrl-C. */
static int wait_briefly(void)
{
    Py_BEGIN_ALLOW_THREADS
    nanosleep(&(struct timespec){.tv_nsec = WAIT_NANOSECONDS}, NULL);
    Py_END_ALLOW_THREADS
    return PyErr_CheckSignals();
}

/* Takes the solver if it is idle. Returns what it was used for. */
static solver_use take(shared_solver *shared, solver_use use)
{
    int found = SOLVER_IDLE;
    atomic_compare_exchange_strong(&shared->use, &found, use);
    return (solver_use)found;
}

int shared_solver_begin(shared_solver *shared)
{
    /* An evaluation in another thread ends soon. A second solve, from a thread or a callback, is refused. */
    solver_use found;
    while ((found = take(shared, SOLVER_SOLVES)) == SOLVER_EVALUATES)
        if (wait_briefly() < 0) return -1;
    if (found == SOLVER_IDLE) {
        atomic_store(&shared->thread, PyThread_get_thread_ident());
        return 0;
    }
    PyErr_SetString(PyExc_RuntimeError, "this Solver is already solving (in another thread or "
                                        "around this callback): make one Solver for each");
    return -1;
}

void shared_solver_end(shared_solver *shared)
{
    atomic_store(&shared->thread, 0);
    atomic_store(&shared->use, SOLVER_IDLE);
}

/* ---- the list of a problem ------------------------------------------------------------------- */

/* Guards the lists, and in each evaluation the references and `shared`, for a few instructions at a time. */
static atomic_flag guard = ATOMIC_FLAG_INIT;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&guard, memory_order_acquire)) {
    }
}

static void unlock(void) { atomic_flag_clear_explicit(&guard, memory_order_release); }

/* Adds an evaluation to the list of its problem, or takes it out. The list is locked. */
static void enter(deferred *self)
{
    deferred **first = &self->shared->problem->deferred;
    self->next = *first;
    if (self->next) self->next->previous = self;
    *first = self;
}

static void leave(deferred *self)
{
    if (self->previous) self->previous->next = self->next;
    else self->shared->problem->deferred = self->next;
    if (self->next) self->next->previous = self->previous;
    self->previous = self->next = NULL;
}

/* The first evaluation in the list that is of that solver (NULL: of any), as a new reference; or NULL. */
static deferred *first_of(const problem_object *problem, const shared_solver *of)
{
    lock();
    deferred *found = problem->deferred;
    while (found && of && found->shared != of) found = found->next;
    if (found) found->references++;
    unlock();
    return found;
}

/* The solver of an evaluation, as a new reference; NULL if it is done. */
static shared_solver *solver_of(deferred *self)
{
    lock();
    shared_solver *shared = self->shared;
    if (shared) atomic_fetch_add(&shared->references, 1);
    unlock();
    return shared;
}

/* Takes the evaluation out of the list, and releases its solver. */
static void detach(deferred *self)
{
    lock();
    shared_solver *shared = self->shared;
    if (shared) leave(self);
    self->shared = NULL;
    unlock();
    shared_solver_release(shared);
}

/* ---- evaluations ----------------------------------------------------------------------------- */

deferred *deferred_new(shared_solver *shared, const cs_result *result, PyObject *impulses,
                       PyObject *ghosts, PyArrayObject *b, PyArrayObject *parameters)
{
    deferred *self = PyMem_RawCalloc(1, sizeof *self);
    if (!self) return (deferred *)PyErr_NoMemory();
    self->references = 1;
    self->shared = shared;
    atomic_fetch_add(&shared->references, 1);
    self->result = *result;
    self->impulses = Py_NewRef(impulses);
    self->ghosts = Py_XNewRef(ghosts);
    self->b = (PyArrayObject *)Py_XNewRef((PyObject *)b);
    self->parameters = (PyArrayObject *)Py_XNewRef((PyObject *)parameters);
    lock();
    enter(self);
    unlock();
    return self;
}

void deferred_release(deferred *self)
{
    if (!self) return;

    /* The last reference takes it out of the list, before another thread can find it there. */
    lock();
    int left = --self->references;
    if (!left && self->shared) leave(self);
    unlock();
    if (left) return;

    /* Nobody else has it. */
    shared_solver_release(self->shared);
    Py_XDECREF((PyObject *)self->b);
    Py_XDECREF((PyObject *)self->parameters);
    Py_XDECREF(self->impulses);
    Py_XDECREF(self->ghosts);
    Py_XDECREF(self->xi);
    Py_XDECREF(self->velocity);
    PyMem_RawFree(self);
}

int deferred_is_done(const deferred *self) { return atomic_load(&self->done); }

/* The numbers of an array, or NULL. */
static double *numbers(PyObject *array)
{
    return array ? PyArray_DATA((PyArrayObject *)array) : NULL;
}

/* Fills the velocity change, with a solver that nobody else uses meanwhile. Returns -1 with an error set. */
static int find_velocity(deferred *self)
{
    if (self->velocity) return 0;
    const shared_solver *shared = self->shared;
    PyObject *velocity = new_doubles(NULL, shared->problem->problem->velocities);
    if (!velocity) return -1;
    cs_solver_ghosts(shared->solver, numbers(self->ghosts));
    cs_solver_velocity_change(shared->solver, numbers(self->impulses), numbers(velocity));
    cs_solver_ghosts(shared->solver, NULL);
    self->velocity = velocity;
    return 0;
}

/* Evaluates with a solver that nobody else uses meanwhile. Returns -1 with an error set. */
static int evaluate(deferred *self)
{
    if (deferred_is_done(self)) return 0;

    /* Arrays that the answer will own. A velocity change that was handed out belongs to the caller. */
    const cs_problem *problem = self->shared->problem->problem;
    PyObject *velocity = self->velocity ? NULL : new_doubles(NULL, problem->velocities);
    if (!self->xi) self->xi = new_doubles(NULL, problem->rows);
    if (!self->xi || (!velocity && !self->velocity)) goto fail;
    self->result.impulses = numbers(self->impulses);
    self->result.residual_velocities = numbers(self->xi);
    self->result.velocity_change = numbers(velocity);

    /* The evaluation. */
    cs_error error = {0};
    const double *b = self->b ? PyArray_DATA(self->b) : NULL;
    const double *parameters = self->parameters ? PyArray_DATA(self->parameters) : NULL;
    cs_solver_ghosts(self->shared->solver, numbers(self->ghosts));
    cs_status status =
        cs_solver_evaluate(self->shared->solver, b, parameters, &self->result, &error);
    cs_solver_ghosts(self->shared->solver, NULL);
    if (status) {
        raise_error(&error);
        goto fail;
    }
    if (velocity) self->velocity = velocity;
    atomic_store(&self->done, 1);
    detach(self);
    return 0;
fail:
    Py_XDECREF(velocity);
    return -1;
}

/* Takes the solver for an evaluation. Returns -1 with an error set if this thread is inside its solve, or after
 * Ctrl-C. */
static int take_to_evaluate(shared_solver *shared)
{
    solver_use found;
    while ((found = take(shared, SOLVER_EVALUATES)) != SOLVER_IDLE) {
        if (found == SOLVER_SOLVES && atomic_load(&shared->thread) == PyThread_get_thread_ident()) {
            PyErr_SetString(PyExc_RuntimeError, "this result is evaluated by its Solver, which is "
                                                "solving around this call: read it after that");
            return -1;
        }
        if (wait_briefly() < 0) return -1;
    }
    return 0;
}

/* Keeps the values of a problem, once an update in another thread has ended. Returns -1 with an error set. */
static int begin_with(problem_object *problem)
{
    while (!problem_try_begin(problem))
        if (wait_briefly() < 0) return -1;
    return 0;
}

deferred *deferred_again(shared_solver *shared, int64_t version, PyObject *impulses,
                         PyArrayObject *b, PyArrayObject *parameters)
{
    /* The values stay until the evaluation is in the list. */
    const cs_result nothing = {.outcome = CS_STOPPED};
    deferred *self = NULL;
    if (begin_with(shared->problem) < 0) return NULL;
    if (shared->problem->problem->version == version)
        self = deferred_new(shared, &nothing, impulses, NULL, b, parameters);
    problem_end(shared->problem);
    return self;
}

/* Calls `work` with a solver to which the caller has a reference. Returns -1 with an error set. */
static int work_with(deferred *self, shared_solver *shared, int (*work)(deferred *self))
{
    /* An update of the problem in another thread evaluates before it begins. */
    if (begin_with(shared->problem) < 0) return -1;

    /* A solve in another thread ends first. */
    int failed = take_to_evaluate(shared);
    if (!failed) {
        if (!deferred_is_done(self)) failed = work(self);
        shared_solver_end(shared);
    }
    problem_end(shared->problem);
    return failed;
}

/* Calls `work` unless the evaluation is done. */
static int work_on(deferred *self, int (*work)(deferred *self))
{
    shared_solver *shared = solver_of(self);
    int failed = shared ? work_with(self, shared, work) : 0;
    shared_solver_release(shared);
    return failed;
}

int deferred_finish(deferred *self) { return work_on(self, evaluate); }

int deferred_find_velocity(deferred *self) { return work_on(self, find_velocity); }

int deferred_finish_all(const problem_object *problem, const shared_solver *of)
{
    int failed = 0;
    for (deferred *self; !failed && (self = first_of(problem, of));) {
        failed = evaluate(self);
        deferred_release(self);
    }
    return failed;
}

void deferred_finish_before_release(shared_solver *shared)
{
    /* What cannot be evaluated now keeps the solver. */
    if (!problem_try_begin(shared->problem)) return;
    if (take(shared, SOLVER_EVALUATES) == SOLVER_IDLE) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        if (deferred_finish_all(shared->problem, shared) < 0) PyErr_Clear();
        PyErr_Restore(type, value, trace);
        shared_solver_end(shared);
    }
    problem_end(shared->problem);
}
