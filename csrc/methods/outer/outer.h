/* Outer fixed points: Coulomb's law as a sequence of convex problems.
 *
 *     what is frozen --> convex problem --inner method--> lambda --> judged by Coulomb's law
 *          ^                                                               |
 *          '------------ renewed: weighted, or combined (renewal.h) <------'
 *
 * One number is frozen for each contact with friction: a shift of its normal velocity, or the normal
 * impulse that bounds its friction. The convex problem shares everything with the caller's problem except b,
 * the sets and their parameters. Its solver, that of the inner method, is made once; each solve begins with
 * the current impulses and ends at a part of their natural map. Orders, schemes, threads and precision are
 * those of the inner method. */
#ifndef CS_OUTER_H
#define CS_OUTER_H

#include "solver/accelerate.h"
#include "methods/pivoting/renewal.h"

/* What is frozen, and how. */
typedef struct cs_frozen {
    /* The set of the convex problem; NULL: the group's own. */
    const char *(*set)(const cs_block_group *group);
    /* Changes b (m), which is that of the caller's problem at first, and writes the parameters of the set in
     * the convex problem, for the frozen number of a block. */
    void (*freeze)(const cs_block_group *group, const double *parameters, double frozen, double *b,
                   double *inside);
    /* What would be frozen at these impulses and velocities (m). */
    double (*renew)(const cs_block_group *group, const double *parameters, const double *lambda,
                    const double *xi);
    int of_velocities; /* the frozen number is a velocity; otherwise an impulse */
} cs_frozen;

/* Their state. */
typedef struct cs_outer {
    const cs_frozen *frozen;
    cs_problem *problem; /* convex; shares arrays with the caller's */
    cs_solver *inner;
    double *b, *parameters; /* of the convex problem */
    double *lambda, *xi;    /* (rows): its impulses; and its velocities before the solve */
    double *now, *image;    /* (rows): what is frozen, and its renewal, in the normal rows */
    double *scale;          /* (rows): divides products of two frozen numbers, see renewal.h */
    cs_renewal *renewal;    /* NULL where a weight was given */
    int64_t inner_iterations;
} cs_outer;

/* The options that these methods share; the inner method's name is the first one. */
enum { CS_INNER = CS_PATIENCE + 1, CS_TOLERANCE, CS_FLOOR, CS_INNER_ITERATIONS, CS_WEIGHT };
enum { CS_OUTER_OPTIONS = CS_WEIGHT + 1 };

#define CS_OUTER_OPTION_LIST(inner_words, frozen_text)                                           \
    CS_PATIENCE_OPTION,                                                                          \
        [CS_INNER] =                                                                             \
            CS_WORD_OPTION("inner", inner_words, "method that solves the convex problems"),      \
        [CS_TOLERANCE] = {.name = "tolerance",                                                   \
                          .summary = "natural map at which an inner solve ends, relative to "    \
                                     "that of the problem",                                      \
                          .kind = CS_NUMBER,                                                     \
                          .usual = 0.03,                                                         \
                          .above = 1,                                                            \
                          .most = 0.9},                                                          \
        [CS_FLOOR] = {.name = "floor",                                                           \
                      .summary = "scaled natural map at which every inner solve ends; None: "    \
                                 "what rounding in dtype may leave",                             \
                      .kind = CS_NUMBER,                                                         \
                      .optional = 1,                                                             \
                      .above = 1,                                                                \
                      .most = 0.1},                                                              \
        [CS_INNER_ITERATIONS] =                                                                  \
            CS_COUNT_OPTION("inner_iterations", 2000, 1, "maximum iterations per inner solve"),  \
        [CS_WEIGHT] = {.name = "weight",                                                         \
                       .summary =                                                                \
                           "weight of the new " frozen_text " against the one before; above 1: " \
                           "over-relaxed; None: 1, with Anderson combination and damping "       \
                           "where three solves have not halved the natural map",                 \
                       .kind = CS_NUMBER,                                                        \
                       .optional = 1,                                                            \
                       .above = 1,                                                               \
                       .most = 1.99}

/* Inner methods for every convex problem. */
#define CS_OUTER_INNER                                                                  \
    "nesterov", "gauss_seidel", "symmetric_gauss_seidel", "jacobi", "momentum", "nncg", \
        "anderson", "chebyshev", "mass_splitting", "apgd", "spectral_gradient", "newton", "admm"

/* Members of their cs_method, with `option` and `prepare` of their own. */
#define CS_OUTER_METHOD                                                                            \
    .figures = CS_FIGURE_INNER_ITERATIONS, .option = option, .options = CS_OUTER_OPTIONS,          \
    .stage = CS_SIMULTANEOUS, .each = 1, .steps = &cs_outer_steps, .check = cs_outer_check,        \
    .without_sweeps = 1, .own = sizeof(cs_outer), .prepare = prepare, .release = cs_outer_release, \
    .describe = cs_outer_describe, .solve = cs_outer_solve

/* The functions of a cs_method: refuses options without effect; makes the convex problem and its solver;
 * solves. */
cs_status cs_outer_check(const cs_options *options, const char *name, const cs_problem *problem,
                         cs_error *error);
cs_status cs_outer_prepare(cs_solver *solver, const cs_frozen *frozen, cs_budget *budget,
                           cs_error *error);
cs_status cs_outer_solve(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error);
extern const cs_steps cs_outer_steps;
void cs_outer_release(cs_solver *solver, int again);
void cs_outer_describe(const cs_solver *solver, cs_solver_info *info);

#endif
