/* Outer fixed points: Coulomb's law as a sequence of convex problems.
 *
 *     frozen numbers --> convex problem --inner method--> lambda --> judged by Coulomb's law
 *          ^                                                              |
 *          '------------ updated: weighted, or combined (renewal.h) <-----'
 *
 * One number is frozen for each contact with friction, that is, kept constant in the convex problem: a
 * shift of its normal velocity, or the normal impulse that bounds its friction. The convex problem shares
 * everything with the caller's problem except b, the sets and their parameters. The solver of the inner
 * method is made once. Each inner solve starts from the current impulses and ends at a fraction of their
 * natural map. Orders, schemes, threads and precision are those of the inner method. */
#ifndef CS_OUTER_H
#define CS_OUTER_H

#include "solver/accelerate.h"
#include "methods/pivoting/renewal.h"

/* What is frozen, and how: each outer method defines one. */
typedef struct cs_frozen {
    /* The set of the blocks in the convex problem; NULL: the group keeps its own. */
    const char *(*set)(const cs_block_group *group);
    /* Writes one block of the convex problem for its frozen number: changes b (m), which holds that of the
     * caller's problem, and writes the parameters `inside` of the set. */
    void (*freeze)(const cs_block_group *group, const double *parameters, double frozen, double *b,
                   double *inside);
    /* The new number to freeze, from these impulses and velocities (m). */
    double (*renew)(const cs_block_group *group, const double *parameters, const double *lambda,
                    const double *xi);
    int of_velocities; /* 1: the frozen number is a velocity; 0: an impulse */
} cs_frozen;

/* The state of an outer method. */
typedef struct cs_outer {
    const cs_frozen *frozen;
    cs_problem *problem; /* the convex problem; shares arrays with the caller's */
    cs_solver *inner;
    double *b, *parameters; /* of the convex problem */
    double *lambda, *xi;    /* (rows): its impulses; its velocities before the solve */
    double *now, *image;    /* (rows), in normal rows: the frozen numbers, and the new ones */
    double *scale;          /* (rows): divides products of two frozen numbers, see renewal.h */
    cs_renewal *renewal;    /* NULL if the option weight is given */
} cs_outer;

/* The options that all outer methods share, after `patience`; CS_INNER is the name of the inner method. */
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

/* The figures that all outer methods have. */
enum { CS_INNER_ITERATIONS_MADE, CS_OUTER_FIGURES };

/* The inner methods that solve every convex problem. */
#define CS_OUTER_INNER                                                                  \
    "nesterov", "gauss_seidel", "symmetric_gauss_seidel", "jacobi", "momentum", "nncg", \
        "anderson", "chebyshev", "mass_splitting", "apgd", "spectral_gradient", "newton", "admm"

/* Members of the cs_method of an outer method, which defines `option` and `prepare`. */
#define CS_OUTER_METHOD                                                                         \
    .figure = cs_outer_figure, .figures = CS_OUTER_FIGURES, .option = option,                   \
    .options = CS_OUTER_OPTIONS, .stage = CS_SIMULTANEOUS, .each = 1, .steps = &cs_outer_steps, \
    .check = cs_outer_check, .without_sweeps = 1, .own = sizeof(cs_outer), .prepare = prepare,  \
    .release = cs_outer_release, .describe = cs_outer_describe, .solve = cs_accelerate

/* The functions of a cs_method: `check` refuses options without effect; `prepare` makes the convex problem
 * and its solver; `solve` solves. */
cs_status cs_outer_check(const cs_options *options, const char *name, const cs_problem *problem,
                         cs_error *error);
cs_status cs_outer_prepare(cs_solver *solver, const cs_frozen *frozen, cs_budget *budget,
                           cs_error *error);
extern const cs_steps cs_outer_steps;
extern const cs_figure cs_outer_figure[CS_OUTER_FIGURES];
void cs_outer_release(cs_solver *solver, int again);
void cs_outer_describe(const cs_solver *solver, cs_solver_info *info);

#endif
