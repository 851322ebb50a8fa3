/* The state of conjugate gradients, and the decisions between their phases, for the files of sparse/conjugate.h. */
#ifndef CS_CONJUGATE_STATE_H
#define CS_CONJUGATE_STATE_H

#include "linalg/krylov.h"
#include "sparse/block_kernels.h"
#include "sparse/conjugate.h"

#include <stdatomic.h>

/* The lists of phases. */
enum { CS_CG_ITERATE, CS_CG_CHECK, CS_CG_PROVE, CS_CG_LISTS };

/* Sums of the parts. */
typedef struct cs_cg_sums {
    _Alignas(64) double curvature; /* p.Ap */
    double residual, product;      /* r.r, r.z */
    double truth, right, size;     /* of a check: s.s of s = b - A x; b.b; x.x */
    double claim, apart;           /* r.r of the recurrence before, and of its difference from s */
} cs_cg_sums;

struct cs_block_cg {
    const cs_block_system *A, *iterated;
    cs_preconditioner *M;
    const cs_scaled_blocks *scaled; /* Eisenstat's product, in place of A and M */
    const cs_block_kernels *kernels;
    int single, form; /* vectors of the iteration are float; their form with `iterated` */
    int is_inexact;   /* the iteration reads or writes float */

    /* Vectors in double precision: the solution, the right-hand side, the true residual. */
    double *x, *b, *s, *x_outer;
    /* Of x: the present one; that with the least true residual, which may be the same; and another. */
    double *buffer[3], *best, *spare;
    /* The iteration's: `v.x` is what is not yet part of the solution; z may be r. */
    cs_block_vectors v;
    void *z, *own_r, *own_z; /* `own`: of M, for other callers */
    cs_cg_sums *sum;         /* (parts) */
    cs_phases list[CS_CG_LISTS];
    unsigned char *chosen; /* (rounds) */
    int64_t most;          /* iterations */

    /* The state of a run. */
    const cs_cg_options *options;
    cs_cg_result *result;
    cs_cg_record *record; /* (most + 2) */
    cs_conjugate steps;
    double product; /* r.z now */
    /* Of x and b, a power of two: neither float nor squares have room for all numbers. */
    double unit;
    double target, ratio; /* |r| over sqrt(r.z), at the last check */
    double trusted;       /* claims below this are rounding */
    double least, lowest; /* |b - A x| so far; the claim since the last check */
    double magnitude;     /* of A: the largest trace of a diagonal block */
    /* The next direction is that of steepest descent; this check is of the best x. */
    int begins, returns;
    int is_doubtful, doubts; /* p.Ap <= 0 or r.Mr < 0 */
    int64_t round, rounds;
    int stalls, ends;
    double phase_work;
    atomic_int is_cancelled;
};

/* Decisions, each made by one thread: alpha, from p.Ap; what follows an iteration, a check, and a proof that A is not positive
 * definite (conjugate_decisions.c). */
void cs_cg_choose_length(cs_block_cg *cg);
void cs_cg_decide(cs_block_cg *cg);
void cs_cg_conclude(cs_block_cg *cg);
void cs_cg_conclude_proof(cs_block_cg *cg);

/* Shows the present iterate to the caller, on whose thread the iteration is made alone (conjugate.c). */
void cs_cg_look(cs_block_cg *cg);

#endif
