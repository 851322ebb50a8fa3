/* A solve by method="auto": a chain of methods ("links") that share the operators of one solver.
 *
 *     auto.c       the sequence of links, and the result
 *     links.c      one link: the solver switches to another method, and the chain notes what it returns
 *     sweeps.c     links of sweeps: nesterov, nncg
 *     factors.c    links that factor a matrix: newton, bpp
 *     interior.c   the link of interior-point steps
 *     costs.c      which links are possible, and what they are expected to cost
 *     policy.h     the numbers that decide
 *
 * The header of auto.c explains which link follows which, and why. */
#ifndef CS_CHAIN_H
#define CS_CHAIN_H

#include "methods/chain/policy.h"
#include "methods/newton/newton.h"
#include "methods/pivoting/contact.h"
#include "solver/accelerate.h"

/* The own options of method="auto". */
enum { CS_CHAIN_PATIENCE, CS_CHAIN_FACTOR_BYTES, CS_CHAIN_OPTIONS };

enum { CS_LONGEST = 2000000000 }; /* maximum patience that the options of all links accept */

extern const cs_method cs_method_auto, cs_method_bpp, cs_method_nesterov, cs_method_nncg,
    cs_method_newton, cs_method_gauss_seidel, cs_method_interior_point;

/* The alternative method, which may take over from sweeps before these stagnate. */
typedef enum cs_alternative {
    CS_NEWTON_FOLLOWS,
    CS_DIRECT_FOLLOWS,
    CS_NO_ALTERNATIVE
} cs_alternative;

/* What a link of interior-point steps uses; all NULL before its first use. */
typedef struct cs_chain_interior {
    void *state;        /* solver->own of the method */
    cs_packing packing; /* the iterate in the user's order, instead of the packed one, */
    cs_points *points;  /* and the vectors of the method */
} cs_chain_interior;

/* The state of method="auto": solver->own. */
typedef struct cs_chain {
    cs_link link[CS_MAX_LINKS];     /* reports of the links */
    double *best;                   /* (rows): impulses of the best iterate of all links */
    double *start;                  /* (rows): impulses that the solve began with */
    double row[CS_MAX_COLUMNS + 2]; /* history row of the iterate that the previous link returned */
    cs_newton newton;               /* state of links of Newton's method */
    cs_pivoting direct;             /* state of links of the direct method */
    cs_chain_interior interior;     /* state of links of interior-point steps */
    double
        newton_step; /* cost of a Newton step in sweeps; INFINITY: not applicable, NaN: unknown */
    int built;       /* the workspace of Newton's method is built */
    int no_direct;   /* the direct method is not applicable, or it has failed */
} cs_chain;

/* A solve under way. */
typedef struct cs_chain_solve {
    cs_solver *solver;
    cs_chain *chain;
    cs_budget *budget;
    cs_result *result;
    cs_error *error;
    double setting[CS_MAX_METHOD_OPTIONS]; /* the own options of method="auto" */
    int64_t max_iterations;                /* of all links together */
    double best;                           /* judgement of the best iterate: cs_chain_judgement */
    cs_natural_map first;                  /* of the first iterate, */
    double start;                          /* and its judgement */
    int64_t best_number;                   /* iteration that found the best iterate */
    double sweeps, newton_steps;           /* made so far */
    double reported_seconds;               /* cs_seconds when the last link was reported */
    int newton_is_due;          /* Newton's method is worth its cost, and its workspace is built */
    int far;                    /* Newton steps are expensive, and the solution is not near */
    int newton_takes_over;      /* the last sweeps yielded before they stagnated */
    int direct_is_cut;          /* the last direct link used up its pivots in its first solve */
    cs_alternative alternative; /* what may take over from the next sweeps */
    int64_t patience;           /* sweeps without a halving in this round */
    double restarts;            /* of all links */
    int rollbacks;              /* of all links */
    cs_outcome sweeps_outcome;  /* outcome of the last sweeps */
    int interior_ran;           /* interior-point steps were tried in this solve */
    int links;                  /* links reported so far */
    int ended;                  /* no further link is to run */
} cs_chain_solve;

/* ---- which links are possible, and what they cost (costs.c) ---------------------------------------- */

/* Whether a method accepts the solver's options and problem. */
int cs_chain_can_use(const cs_solver *solver, const cs_method *method);

/* Whether the chain is plain Gauss-Seidel: without a tolerance, in mixed precision, with balanced factors. */
int cs_chain_only_sweeps(const cs_solver *solver);

/* Whether the direct method is tried before the first round: factors of A are certain to exist, by compliance
 * on every row or because there is neither friction nor a joint, and they are small. */
int cs_chain_begins_directly(const cs_solver *solver);

/* Whether the direct method is prepared. */
int cs_chain_has_direct(const cs_chain *chain);

/* chain->newton_step <- the estimated cost of one Newton step, in sweeps; does nothing if it is known. */
cs_status cs_chain_estimate_newton_step(cs_chain_solve *s, cs_cancellation *cancellation);

/* The expected cost of a solution by Newton's method, in sweeps: that of the steps made so far and of 20
 * more. */
double cs_chain_newton_cost(const cs_chain_solve *s);

/* sweeps <- the expected cost of the alternative method, in sweeps. This is the `alternative` of a budget:
 * the driver of sweeps calls it, with the cs_chain_solve as context. */
cs_status cs_chain_alternative(void *chain_solve, cs_cancellation *cancellation, double *sweeps,
                               cs_error *error);

/* ---- links (links.c) ----------------------------------------------------------------------------- */

/* Switches the solver to a method with these own options, for at most `iterations` more iterations. */
cs_status cs_chain_switch_to(cs_chain_solve *s, const cs_method *method, const cs_setting *own,
                             int count, int64_t iterations);

/* Prepares the workspace of a link with these own options; `cancellation` ends it with CS_INTERRUPTED. */
typedef cs_status (*cs_chain_preparation)(cs_chain_solve *s, const cs_setting *own, int count,
                                          cs_cancellation *cancellation);

/* Runs a preparation, which the caller and the deadline may end: the chain then ends with what it has. */
cs_status cs_chain_prepare_link(cs_chain_solve *s, cs_chain_preparation prepare,
                                const cs_setting *own, int count);

/* Runs one link from the impulses `from` (rows), and reports it. The first link starts from the solver's own
 * impulses instead. */
cs_status cs_chain_run_link(cs_chain_solve *s, const cs_method *method, const double *from,
                            const cs_setting *own, int count, int64_t iterations);

/* The number by which iterates are compared: the natural map of the iterate that was returned last, scaled
 * if the tolerance is relative. */
double cs_chain_judgement(const cs_chain_solve *s);

/* Runs sweeps of a method in steps, at most `iterations` (sweeps.c). */
cs_status cs_chain_run_sweeps(cs_chain_solve *s, const cs_method *method, int64_t iterations);

/* Runs Newton's method if it is worth its cost (factors.c). */
cs_status cs_chain_run_newton(cs_chain_solve *s);

/* Runs interior-point steps from the start, once in a solve, if they are worth their cost; `last`: whatever
 * they cost, as long as the factor fits (interior.c). */
cs_status cs_chain_run_interior(cs_chain_solve *s, int last);

/* The solve of that link, on the packing of its own (interior.c). */
cs_status cs_chain_solve_unpacked(cs_chain_solve *s);

/* Prepares the direct method. If A is singular, the chain does without it from then on (factors.c). */
cs_status cs_chain_prepare_direct(cs_chain_solve *s);

/* Runs the direct method for at most `solves` solves. If A is singular, the chain does without it from then
 * on (factors.c). */
cs_status cs_chain_run_direct(cs_chain_solve *s, const double *from, int solves);

#endif
