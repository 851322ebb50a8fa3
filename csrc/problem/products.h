/* Products with A = J M^-1 J^T + Sigma, or a given A, in double precision and with the data as the user gave them:
 * what iterates are judged by. */
#ifndef CS_PRODUCTS_H
#define CS_PRODUCTS_H

#include "core/pace.h"
#include "core/phases.h"
#include "problem/adjacency.h"

/* velocity <- M^-1 J^T lambda. S1 eq. 3.18 */
void cs_velocity_change(const cs_problem *problem, const double *lambda, double *velocity);

/* xi += A lambda. `velocity` (velocities) is scratch; at return it holds M^-1 J^T lambda. It is unused for a given A. */
void cs_add_products(const cs_problem *problem, const double *lambda, double *velocity, double *xi);

/* xi <- A lambda + b, with `velocity` as above. `b` NULL: zero. S1 eq. 2.69 */
void cs_residual_velocity(const cs_problem *problem, const double *lambda, const double *b,
                          double *velocity, double *xi);

/* The same by several threads, with the same bits: each body adds the impulses of its contacts in the order in which
 * one thread would, and each contact its velocities. Zeroed, it is one thread's. */
typedef struct cs_shared_products {
    int threads;
    int paced;    /* `threads` are the most: shared or not as the pace says */
    cs_pace pace; /* of the products so far */
    cs_adjacency adjacency;
    cs_phase *phase; /* (2): bodies, contacts */
    /* Called between bodies and contacts, if some velocities (velocities) are another process's: writes these. Or NULL. */
    void (*complete)(void *context, double *velocity);
    void *context;
} cs_shared_products;

/* Bodies or contacts of one task of a product. */
enum { CS_PRODUCT_PIECE = 256 };

/* How many threads share the next product. */
static inline int cs_products_threads(const cs_shared_products *shared)
{
    if (shared->threads <= 1 || (shared->paced && !cs_pace_shares(&shared->pace))) return 1;
    return shared->threads;
}

/* How many threads share products: at most so many as `asked` for, 0 for all, by size; or `exact`ly as many. */
int cs_threads_of_products(const cs_problem *problem, int asked, int exact);

/* Prepares products by so many threads; what they need is in `arena`. Keeps the pace of earlier ones, and `complete`. */
cs_status cs_share_products(const cs_problem *problem, int threads, int paced, cs_arena *arena,
                            cs_shared_products *shared, cs_error *error);

/* Runs the tasks of a product by these threads: phase 0 moves bodies, and phase 1 goes through contacts; `complete` writes
 * into `velocity` in between. */
void cs_run_product(const cs_shared_products *shared,
                    void (*run)(void *context, int64_t phase, int64_t task), void *context,
                    double *velocity);

/* cs_residual_velocity by these threads. */
void cs_shared_residual_velocity(cs_shared_products *shared, const cs_problem *problem,
                                 const double *lambda, const double *b, double *velocity,
                                 double *xi);

/* cs_velocity_change by these threads. */
void cs_shared_velocity_change(const cs_shared_products *shared, const cs_problem *problem,
                               const double *lambda, double *velocity);

/* The same, and with what `complete` writes; nothing for a given A. */
void cs_shared_velocities(const cs_shared_products *shared, const cs_problem *problem,
                          const double *lambda, double *velocity);

/* velocity += J^T lambda of the blocks begin .. end - 1; velocity <- M^-1 velocity of one body: parts of cs_velocity_change. */
void cs_add_impulses_of_blocks(const cs_problem *problem, const double *lambda, int64_t begin,
                               int64_t end, double *velocity);
void cs_apply_inverse_mass(const cs_problem *problem, int64_t body, double *velocity);

/* xi <- A lambda + b in the rows of the blocks begin .. end - 1, with `velocity` = M^-1 J^T lambda. `b` may be xi;
 * NULL: zero. */
void cs_residual_of_blocks(const cs_problem *problem, const double *lambda, const double *b,
                           const double *velocity, int64_t begin, int64_t end, double *xi);

/* y (rows) <- A^T x with the user's data, by these threads. `velocity` (velocities) is scratch. */
void cs_multiply_transposed(cs_shared_products *shared, const cs_problem *problem, const double *x,
                            double *velocity, double *y);

/* magnitude (rows) <- |A| |lambda| + |b|, which bounds rounding errors, by these threads with the same bits as by one.
 * `b` NULL: zero. For a problem with Jacobians it is the upper bound |J| |M^-1| |J^T| |lambda| + Sigma |lambda| + |b|.
 * `velocity` (velocities) is scratch. */
void cs_magnitude(const cs_shared_products *shared, const cs_problem *problem, const double *lambda,
                  const double *b, double *velocity, double *magnitude);

/* magnitude (rows) <- |A|^T |x|, or the same kind of upper bound. */
void cs_magnitude_transposed(const cs_shared_products *shared, const cs_problem *problem,
                             const double *x, double *velocity, double *magnitude);

#endif
