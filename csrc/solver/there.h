/* Solves whose arrays are in the memory of the solver's device: they begin with impulses there, have a b there, and leave
 * their impulses there. The processor then has no copy of b, unless something reads it: a proof, say, that there is no
 * solution. */
#ifndef CS_THERE_H
#define CS_THERE_H

#include "solver/solver.h"

/* Arrays of a solve: (rows), in double precision and in the user's order; addresses of the device. */
typedef struct cs_there {
    const double *initial; /* NULL: that of cs_solver_solve */
    const double *b;       /* likewise */
    double *impulses;      /* result */
    int written; /* result: whether they are there; if not, cs_result.impulses, which then must not be NULL, has them */
} cs_there;

/* possible <- whether the next solve may have these arrays there. Prepares the solver if the problem has new values. */
cs_status cs_solver_solves_there(cs_solver *solver, const cs_there *there,
                                 const cs_control *control, int *possible, cs_error *error);

/* The arrays of the next solve, which must be possible; those that are not NULL replace `initial` and `b` of cs_solver_solve,
 * and no velocities may be asked for. NULL ends this. */
void cs_solver_there(cs_solver *solver, cs_there *there);

/* Whether the prepared solver may have these arrays there. */
int cs_there_is_possible(const cs_solver *solver, const cs_there *there);

/* For the solver: hands b, or the initial impulses, to the backend. Fails if they are not finite. */
cs_status cs_there_load_b(cs_solver *solver, cs_error *error);
cs_status cs_there_load_impulses(cs_solver *solver, cs_error *error);

/* solver->b, and V of all blocks, <- what only the device has (loaded.b_is_there). */
void cs_there_fetch_b(cs_solver *solver);

#endif
