/* Conjugate gradients for symmetric block systems, stopped by the true residual |b - A x|.  S5 section 4
 *
 *     iteration     phases of tasks, one for each part; all iterations run in one parallel region
 *     check         r <- b - A x in double precision takes the place of the residual of the recurrence, which a
 *                   single-precision iteration would otherwise lose; the direction p is kept
 *
 * The iteration reads `iterated`, whose numbers may be float; the check reads A. Both have the same parts and pattern. Sums
 * are added part by part, in their order: the bits of a result depend on the parts, never on threads. */
#ifndef CS_CONJUGATE_H
#define CS_CONJUGATE_H

#include "sparse/preconditioner.h"

typedef enum cs_cg_verdict {
    CS_CG_CONVERGED,
    CS_CG_MAX_ITERATIONS,
    CS_CG_FLOOR,      /* the true residual does not fall any more: rounding */
    CS_CG_INDEFINITE, /* p.Ap <= 0, or r.Mr < 0 */
    CS_CG_STOPPED     /* cancelled */
} cs_cg_verdict;

typedef struct cs_cg_options {
    double rtol, atol; /* |b - A x| <= max(rtol |b|, atol) */
    int64_t max_iterations;
    int threads;
    cs_cancellation *cancellation; /* NULL: runs to its end; thread 0 asks */
    /* NULL, or called after each iteration, whose iterate is then in `iterate` (3 vertices): on one thread, the caller's.
     * Non-zero: the run shall end. */
    int (*look)(void *context);
    void *context;
    double *iterate;
} cs_cg_options;

/* One row of the history. What was not computed is NaN. */
typedef struct cs_cg_record {
    int64_t iteration;
    double claim; /* |r| of the recurrence, */
    double norm;  /* its norm in the inner product of M, sqrt(r.Mr), */
    double truth; /* and |b - A x| */
} cs_cg_record;

typedef struct cs_cg_result {
    cs_cg_verdict verdict;
    int64_t iterations, checks;
    double residual; /* |b - A x| of the result */
    double claim;    /* |r| by the recurrence, just before */
    double right;    /* |b| */
    double bytes;    /* that matrices and preconditioner were read */
    const cs_cg_record *history;
    int64_t records;
} cs_cg_result;

typedef struct cs_block_cg cs_block_cg;

/* Takes all memory of solves with at most `max_iterations`, in `arena`. `single`: vectors of the iteration are float. M has
 * been updated once; its system is `iterated`, or one of the same pattern and parts. */
cs_status cs_block_cg_make(cs_block_cg **cg, const cs_block_system *A,
                           const cs_block_system *iterated, cs_preconditioner *M, int single,
                           int64_t max_iterations, cs_arena *arena, cs_error *error);

/* Solves A x = b; x (3 vertices) holds the start, and then the result; in the old numbers. */
void cs_block_cg_run(cs_block_cg *cg, const double *b, double *x, const cs_cg_options *options,
                     cs_cg_result *result);

#endif
