/* The natural map at given impulses by one thread, which reads the Jacobians once: velocities of bodies, residual velocities
 * and natural maps, piece by piece.
 *
 *     contacts    J^T lambda   |  piece 0 | piece 1 | piece 2 | piece 3 | ...
 *     bodies      M^-1         |  whose last contact is in the piece
 *     contacts    xi, map      |  of pieces all of whose bodies are complete: 0 after 1, 1 after 3, ...
 *     then        velocities of other ranks' bodies, and the contacts at them
 *
 * Where numbers of contacts that are near to each other are near, too, the cache still has the Jacobians of the pieces that
 * become ready. Sums and maxima have the bits of other ways. */
#ifndef CS_ONE_PASS_H
#define CS_ONE_PASS_H

#include "measure/measure.h"

enum { CS_ONE_PASS_PIECE = 64 }; /* contacts */

typedef struct cs_one_pass {
    int64_t pieces;
    int64_t *first_body, *body; /* (pieces + 2), (bodies): those that are complete after each piece,
                                 * and those of other ranks */
    int64_t *first_ready,
        *ready; /* (pieces + 2), (pieces): those that are ready after each piece, and at the end */
    cs_natural_map *map; /* (pieces) */
} cs_one_pass;

/* Finds the order of the pieces of a problem with Jacobians. */
cs_status cs_one_pass_make(cs_one_pass *pass, const cs_problem *problem, const cs_ranks *ranks,
                           cs_arena *arena, cs_error *error);

/* state->natural_map <- that of state->lambda; velocity (velocities) <- M^-1 J^T lambda, and xi (rows), to which state->xi
 * points, <- A lambda + b. `shared` completes velocities. Collective. */
const cs_natural_map *cs_one_pass_run(const cs_one_pass *pass, cs_state *state,
                                      const cs_shared_products *shared, double *velocity,
                                      double *xi);

#endif
