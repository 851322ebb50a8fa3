/* The registry of methods: what a method says of itself, and the functions that it gives.
 *
 *     options checked --> prepare: its state, and what is packed --> solve, on a budget --> release
 *
 * A method is a cs_method in a file below methods/ and a line in methods/methods.def. The solver reaches
 * methods through this table alone. */
#ifndef CS_METHOD_H
#define CS_METHOD_H

#include "core/option.h"
#include "order/schedule.h"
#include "solver/budget.h"

#define CS_BIT(i) (1u << (i))

/* A figure of a method's results. An enum beside each table names the figures: solver->figure_value[NAME] is the
 * value of that one. It is zero when a solve begins, and the result has it as it is when the solve ends; NaN
 * leaves it out. */
#define CS_COUNT_FIGURE(text, line)                     \
    {                                                   \
        .name = text, .summary = line, .kind = CS_COUNT \
    }
#define CS_NUMBER_FIGURE(text, line)                     \
    {                                                    \
        .name = text, .summary = line, .kind = CS_NUMBER \
    }

/* The restarts of a method that counts nothing else. */
enum { CS_RESTARTS, CS_RESTARTS_FIGURES };
#define CS_RESTARTS_FIGURE                                                                        \
    {                                                                                             \
        .name = "restarts", .summary = "times that the method gave up its momentum or its model", \
        .kind = CS_COUNT, .largest = 1                                                            \
    }
extern const cs_figure cs_restarts_figure[CS_RESTARTS_FIGURES];

/* A method: what is iterated. */
typedef struct cs_method {
    const char *name, *summary;
    const char *about, *paper; /* as cs_method_info has them */
    unsigned needs, solves;
    const cs_method_option *option;
    int options;
    const cs_figure
        *figure; /* of its results; a solve counts in solver->figure_value, see CS_COUNT_FIGURE */
    int figures;
    cs_stage_kind stage; /* what the blocks of one sweep see of each other */
    int symmetric;       /* every second sweep goes backwards */
    int splits;          /* R is that of bodies whose mass is shared out among their contacts */
    int takes_zero_diagonals; /* sets with zero diagonal blocks of A, where others act on them */
    int each; /* iterations are long: every one is judged, whatever check_every says */
    /* The place of the option, of cs_over_words, that says over which sweeps the method works, plus
     * one; 0: as `stage` and `symmetric` say. */
    int over;
    int experimental;     /* its options and its defaults may change between releases */
    int without_sweeps;   /* nothing is packed; what it builds takes the place of that */
    int takes_index_sets; /* solves may begin with one */
    int as_a_whole;       /* islands are not solved separately: its rays are of the whole problem */
    const struct cs_steps
        *steps; /* of methods over sweeps (solver/accelerate.h); NULL for others */
    /* Brings the own options into the common ones, for code that takes these; may be NULL. */
    void (*adopt)(const struct cs_method *method, const double *settings, cs_options *options);
    /* Whether it takes the options and the problem; may be NULL. */
    cs_status (*check)(const cs_options *options, const char *name, const cs_problem *problem,
                       cs_error *error);

    /* Its state, solver->own: bytes, zero when a solver is made. Before each `prepare`, and at the end,
     * `release` lets go of what is not in the solver's arena and brings the state back to zero, but for
     * what it keeps for the problem's next values (`again`). NULL: nothing is to be let go of. */
    size_t own;
    cs_status (*prepare)(cs_solver *solver, cs_budget *budget, cs_error *error); /* may be NULL */
    void (*release)(cs_solver *solver, int again);

    cs_status (*solve)(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error);
    void (*describe)(const cs_solver *solver, cs_solver_info *info); /* adds to it; may be NULL */
} cs_method;

/* The method of that name, or NULL. */
const cs_method *cs_method_find(const char *name);

/* Fails with the names that an option takes: those of a list, with "auto" in front if allowed. */
cs_status cs_unknown_name(const char *option, const char *given, int with_auto,
                          const char *(*list)(int, const char **), cs_error *error);

/* The table of a method's own options. */
cs_option_table cs_options_of(const cs_method *method);

/* values[i] <- the method's i-th option, its default where `settings` have no other. */
cs_status cs_read_settings(const cs_method *method, const cs_setting *settings, int count,
                           double *values, cs_error *error);

/* Whether the problem and the options are ones for the method. */
cs_status cs_check_needs(const cs_method *method, const cs_options *options,
                         const cs_problem *problem, cs_error *error);

/* The `check` of methods without sweeps: refuses options about sweeps. */
cs_status cs_refuse_sweeps(const cs_options *options, const char *name, const cs_problem *problem,
                           cs_error *error);

/* Sweeps that a method may work over. */
extern const char *const cs_over_words[];

/* Whether a sweep is one simultaneous stage, whatever the order says; `settings` may be NULL for the
 * defaults. */
int cs_is_flat(const cs_method *method, const double *settings);
/* Whether every second sweep goes backwards. */
int cs_is_symmetric(const cs_method *method, const double *settings);

/* What a method's and an order's name, or "auto", stand for. */
cs_status cs_choose_method(const char *name, const cs_method **method, cs_error *error);
cs_status cs_choose_order(const char *name, const cs_order_options *options, const cs_order **order,
                          cs_error *error);

/* The fixed-point iteration that Jacobi and Gauss-Seidel share.  S1 chapter 3 */
cs_status cs_fixed_point(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error);

#endif
