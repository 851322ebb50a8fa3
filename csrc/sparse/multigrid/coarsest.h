/* The coarsest level: Cholesky in panels, in double precision. */
#ifndef CS_COARSEST_H
#define CS_COARSEST_H

#include "linalg/panel.h"
#include "sparse/multigrid/grid.h"

typedef struct cs_coarsest {
    const cs_block_system *system;
    int single;
    cs_panels panels;
    int64_t *first; /* (rows): the first column of each */
    double *x;      /* (rows) */
    double shift;   /* that was added to the diagonal, as a multiple of it */
} cs_coarsest;

/* `system`: its values; `single`: vectors are float. */
cs_status cs_coarsest_take(cs_coarsest *coarsest, const cs_block_system *system, int single,
                           cs_arena *arena, cs_error *error);

/* Returns -1, or a vertex at which the matrix is not positive definite. One that was rounded to float may have lost that: it
 * gets a shift. */
int64_t cs_coarsest_factor(cs_coarsest *coarsest, cs_cancellation *cancellation);

/* z <- A^-1 r, vectors of the system. */
void cs_coarsest_solve(const cs_coarsest *coarsest, const void *r, void *z);

/* Multiplications of a factorization, and of a solve. */
double cs_coarsest_set_up(const cs_coarsest *coarsest);
double cs_coarsest_work(const cs_coarsest *coarsest);

#endif
