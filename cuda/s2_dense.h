/* S2's JOR and SOR iterations over a dense T (S2 chapter 5) by S2's own kernels, for measurements beside ours:
 *
 *     JOR   y <- prox(T x + d)                      S2 eq. 5.2
 *     SOR   y <- prox(L y + U x + d),  T = L + U    S2 eq. 5.11
 *
 * T is stored by columns: a thread has a row, so that the threads of a warp read neighbours in a column. All contacts have
 * three rows and a disc of friction, S2 eqs. 4.33 to 4.35. */
#ifndef CS_CUDA_S2_DENSE_H
#define CS_CUDA_S2_DENSE_H

#include "cuda/blas.h"
#include "cuda/kernels.h"

/* What a launch gets, by value; addresses are those of the device. */
typedef struct cs_s2_problem {
    int64_t contacts;
    int64_t rows;  /* of T, x, y, d: 3 contacts, and padding between directions (S2 eq. 5.9) */
    int64_t pitch; /* numbers from a column of T to the next one */
    /* Row i of contact c is row c contact_step + i direction_step: 3 and 1 in S2 eq. 5.7, 1 and (padded) contacts in
     * eqs. 5.8 and 5.9. */
    int64_t contact_step, direction_step;
    const void *matrix, *d, *mu;
    void *x, *y;
    void *sum; /* (rows): S2's t, what SOR has accumulated of each row (S2 eq. 5.13) */
} cs_s2_problem;

typedef enum cs_s2_kernel {
    CS_S2_BLAS_ADD_PROX,  /* JOR variant 1 of S2 table 6.1 */
    CS_S2_BLAS_PROX,      /* 2 */
    CS_S2_ALL_IN_ONE_128, /* 3 */
    CS_S2_ALL_IN_ONE_192, /* 4 */
    CS_S2_OWN_PROX,       /* 5 */
    CS_S2_FULL_SOR_96,    /* full SOR variant 1 */
    CS_S2_FULL_SOR_192,   /* 2 */
    CS_S2_RELAXED_SOR,    /* relaxed SOR variants 1 to 4, by their panels */
    CS_S2_KERNELS,
} cs_s2_kernel;

/* What kernel A of full SOR's variant 1 leaves out, to measure what it takes: impulses are wrong then. From the propagation on,
 * in the order of S2 figure 6.4, each leaves out all before it as well, but has the barriers. */
typedef enum cs_s2_part {
    CS_S2_NOTHING,
    CS_S2_BARRIERS,
    CS_S2_PROPAGATION,
    CS_S2_NORMAL,
    CS_S2_FRICTION,
    CS_S2_WRITES,
    CS_S2_STEP_A, /* the kernel */
    CS_S2_PARTS,
} cs_s2_part;

/* S2 eqs. 4.49 and 4.50 */
typedef enum cs_s2_criterion { CS_S2_NEVER, CS_S2_EACH, CS_S2_NORM } cs_s2_criterion;

/* Of one precision. `panel`: rows that SOR updates between two propagations. */
typedef struct cs_s2_kernels {
    /* Begins SOR: sum <- the part of T x that the first iteration takes from x.  S2 eq. 5.15 */
    void (*begin)(cs_queue *queue, const cs_s2_problem *problem, cs_s2_kernel kernel,
                  int64_t panel);
    /* y <- one iteration from x. */
    void (*iterate)(cs_queue *queue, const cs_s2_problem *problem, cs_s2_kernel kernel,
                    int64_t panel, cs_s2_part left_out, cs_blas *blas);
    /* *converged <- 0 if the criterion does not hold between x and y. */
    void (*judge)(cs_queue *queue, const cs_s2_problem *problem, cs_s2_criterion criterion,
                  double rtol, double atol, int *converged);
} cs_s2_kernels;

extern const cs_s2_kernels cs_s2_kernels_f32, cs_s2_kernels_f64;

/* The name of a kernel; NULL past the end. */
const char *cs_s2_kernel_name(int kernel);

/* What cs_s2_run is asked. Arrays are on the host and stay the caller's. */
typedef struct cs_s2_request {
    cs_s2_kernel kernel;
    cs_s2_part left_out; /* CS_S2_NOTHING, unless the kernel is CS_S2_FULL_SOR_96 */
    cs_s2_criterion criterion;
    int single; /* whether numbers are float, else double */
    int64_t panel;
    int64_t iterations, check_every;
    double rtol, atol;
    cs_s2_problem shape; /* sizes and steps; its addresses are not read */
    const void *matrix;  /* (rows, pitch): T by columns */
    const void *d;       /* (rows) */
    const void *mu;      /* (contacts) */
    void *impulses;      /* (rows): the first iterate, and the last one */
} cs_s2_request;

/* Seconds of each part (S2 eq. 6.1), and how the iterations ended. */
typedef struct cs_s2_outcome {
    double allocation, to_device, iteration, from_device, release;
    int64_t iterations;
    int converged;
} cs_s2_outcome;

/* Takes memory on the device, iterates, and gives the memory back. */
cs_status cs_s2_run(const cs_s2_request *request, cs_s2_outcome *outcome, cs_error *error);

#endif
