/* Deferred evaluations. A solve that nothing has to judge returns its impulses alone: their residual velocities, their
 * velocity change and their natural map are evaluated when they are read, at the latest before the problem gets new
 * values or the solver goes. On several ranks the solve evaluates the natural map, which takes all of them, and keeps the
 * velocities of other ranks' bodies, so that the rest is evaluated by one rank alone.
 *
 *     answer --> deferred --> shared solver --> problem --> list of its deferred evaluations (not owned)
 */
#ifndef CS_PYTHON_DEFERRED_H
#define CS_PYTHON_DEFERRED_H

#include "distributed/share.h"
#include "python/core.h"

/* What a solver of one rank has beside the problem: a _core.Transport, and a tuple of the arrays of its share. */
typedef struct rank_arguments {
    PyObject *transport, *arrays; /* NULL: the problem is on one rank */
    cs_share share;
} rank_arguments;

/* A solver, which its _core.Solver and the deferred evaluations of its solves share. The last one destroys it. */
typedef struct shared_solver {
    atomic_int references;
    atomic_int use;      /* see `solver_use` */
    atomic_ulong thread; /* that solves; 0: none */
    problem_object *problem;
    rank_arguments rank; /* outlive the solver */
    cs_solver *solver;
} shared_solver;

/* One solver has one workspace, so that it does one thing at a time. */
typedef enum solver_use { SOLVER_IDLE, SOLVER_SOLVES, SOLVER_EVALUATES } solver_use;

/* A new solver with one reference, without a cs_solver; NULL with an error set. */
shared_solver *shared_solver_new(problem_object *problem);
void shared_solver_release(shared_solver *shared);

/* Takes the solver for a solve. Returns -1 with an error set if another one is running. */
int shared_solver_begin(shared_solver *shared);
void shared_solver_end(shared_solver *shared);

/* An evaluation of an answer, which is `done` or not. */
typedef struct deferred {
    int references;
    atomic_int done;
    struct deferred *previous, *next; /* in the list of its problem, until it is done */
    shared_solver *shared;            /* NULL once it is done */
    PyObject *impulses;               /* (rows) */
    PyObject *ghosts;                 /* (ghost velocities) on ranks; or NULL */
    PyArrayObject *b, *parameters;    /* of the solve, or NULL */
    PyObject *xi, *velocity;          /* (rows), (velocities): NULL until they are known */
    cs_result result;                 /* natural maps and the worst block, once it is done */
} deferred;

/* A new one for the impulses of a solve, whose solver the caller has taken. `ghosts` is an array or NULL; `b` and
 * `parameters` are the arrays of that solve, or NULL; nobody may change them or `impulses`. NULL with an error set. */
deferred *deferred_new(shared_solver *shared, const cs_result *result, PyObject *impulses,
                       PyObject *ghosts, PyArrayObject *b, PyArrayObject *parameters);
/* The same for impulses of an earlier solve, when the problem had this version; NULL without an error if it has another one
 * now. */
deferred *deferred_again(shared_solver *shared, int64_t version, PyObject *impulses,
                         PyArrayObject *b, PyArrayObject *parameters);
void deferred_release(deferred *self);
int deferred_is_done(const deferred *self);

/* Evaluates unless that is done. Waits for a solve in another thread. Returns -1 with an error set. */
int deferred_finish(deferred *self);

/* The same for the velocity change alone, which costs less. */
int deferred_find_velocity(deferred *self);

/* Evaluates all that wait for a problem's values: those of one solver, or (NULL) of all its solvers. The caller has
 * taken that solver, or locked the problem. Returns -1 with an error set. */
int deferred_finish_all(const problem_object *problem, const shared_solver *of);

/* Evaluates what waits for a solver whose _core.Solver goes. */
void deferred_finish_before_release(shared_solver *shared);

#endif
