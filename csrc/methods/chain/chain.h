/* A solve by method="auto": links of other methods over one solver's operators. methods/chain/auto.c tells what
 * follows on what, and why. */
#ifndef CS_CHAIN_H
#define CS_CHAIN_H

#include "methods/newton/newton.h"
#include "methods/pivoting/contact.h"
#include "solver/accelerate.h"

/* Its own options. */
enum { CS_CHAIN_PATIENCE, CS_CHAIN_FACTOR_BYTES, CS_CHAIN_OPTIONS };

enum {
    CS_DIRECT_ROWS = 4000,   /* of problems that are solved directly at once, at most */
    CS_DIRECT_SOLVES = 60,   /* with renewed friction bounds, at most */
    CS_FIRST_SWEEPS = 120,   /* before the direct method, at most */
    CS_LONGEST = 2000000000, /* patience that any link takes */
};

extern const cs_method cs_method_auto, cs_method_bpp, cs_method_nesterov, cs_method_nncg,
    cs_method_newton, cs_method_gauss_seidel;

/* What may take over from sweeps sooner than by the halving test. */
typedef enum cs_alternative {
    CS_NEWTON_FOLLOWS,
    CS_DIRECT_FOLLOWS,
    CS_NO_ALTERNATIVE
} cs_alternative;

typedef struct cs_chain {
    cs_link link[CS_MAX_LINKS];
    double *best;                   /* (rows): impulses */
    double *start;                  /* (rows): those that the solve began with */
    double row[CS_MAX_COLUMNS + 2]; /* of the history: the iterate that a link has handed over */
    cs_newton newton;               /* states of the links that have one */
    cs_pivoting direct;
    double newton_step; /* its cost in sweeps; infinite: not for this problem, NaN: not known */
    int built;          /* Newton's method has its workspace; */
    int no_direct;      /* the direct method is not for this problem, or has failed */
} cs_chain;

/* A solve under way. */
typedef struct cs_chain_solve {
    cs_solver *solver;
    cs_chain *chain;
    cs_budget *budget;
    cs_result *result;
    cs_error *error;
    double setting[CS_MAX_METHOD_OPTIONS]; /* of the chain's own options */
    int64_t most;                          /* iterations */
    double best;                           /* judgement of the best iterate, */
    double start;                          /* and of the first */
    int64_t best_number;
    double sweeps, steps; /* made so far, steps being Newton's */
    double told;          /* seconds of all links so far */
    int newton_is_due;    /* it pays, and is built, */
    int far;              /* although its steps are dear, and the solution is not near */
    int sooner;   /* the last sweeps were left for Newton's method, which is expected sooner */
    int too_long; /* the last direct link was left before its first solve was done */
    cs_alternative follows; /* what may take over from sweeps before these have ended */
    int64_t patience;       /* of this round */
    int restarts, rollbacks;
    cs_outcome verdict; /* of the last sweeps */
    int links, ended;
} cs_chain_solve;

/* ---- which links there are, and what they cost (costs.c) ------------------------------------------- */

/* Whether a link may be one of this solver's. */
int cs_chain_takes(const cs_solver *solver, const cs_method *method);

/* Plain sweeps are all that there is to do. */
int cs_chain_only_sweeps(const cs_solver *solver);

/* Whether factors of A exist for sure and are small. */
int cs_chain_begins_directly(const cs_solver *solver);

/* Whether the direct method is prepared. */
int cs_chain_has_direct(const cs_chain *chain);

/* What one step of Newton's method costs, in sweeps, into the chain. */
cs_status cs_chain_weigh_newton(cs_chain_solve *s, cs_cancellation *cancellation);

/* What a solution by it is expected to cost, in sweeps. */
double cs_chain_newton_cost(const cs_chain_solve *s);

/* The same, asked by sweeps: the `alternative` of their budget. */
cs_status cs_chain_alternative(void *chain_solve, cs_cancellation *cancellation, double *sweeps,
                               cs_error *error);

/* ---- links (links.c) ----------------------------------------------------------------------------- */

/* Makes the solver one of that method, with these own options, for as many iterations. */
cs_status cs_chain_become(cs_chain_solve *s, const cs_method *method, const cs_setting *own,
                          int count, int64_t iterations);

/* One link, from these impulses (rows). */
cs_status cs_chain_run_link(cs_chain_solve *s, const cs_method *method, const double *from,
                            const cs_setting *own, int count, int64_t iterations);

/* By what iterates are compared: that of the one handed out last. */
double cs_chain_judgement(const cs_chain_solve *s);

/* Sweeps by a method in steps, for so many iterations at most (sweeps.c). */
cs_status cs_chain_run_sweeps(cs_chain_solve *s, const cs_method *method, int64_t iterations);

/* Newton's method, where it pays (factors.c). */
cs_status cs_chain_run_newton(cs_chain_solve *s);

/* Prepares the direct method; where A shows to be singular, there is none from then on (factors.c). */
cs_status cs_chain_prepare_direct(cs_chain_solve *s);

/* The direct method, for so many solves at most; with a singular A it fails for good (factors.c). */
cs_status cs_chain_run_direct(cs_chain_solve *s, const double *from, int solves);

#endif
