/* The interface of a method: its properties, its options and its functions.
 *
 *     check options --> pack the problem --> prepare: the method's state --> solve, with a budget --> release
 *
 * A method is a cs_method in a file below methods/, and a line in methods/methods.def. The solver calls methods
 * only through their cs_method. */
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

/* A method. */
typedef struct cs_method {
    const char *name, *summary;
    const char *about, *paper; /* see cs_method_info */
    unsigned needs, solves;    /* bits CS_BIT(CS_NEEDS_*) and CS_BIT(CS_SOLVES_*) */
    const cs_method_option *option;
    int options;
    const cs_figure
        *figure; /* of its results; a solve counts in solver->figure_value, see CS_COUNT_FIGURE */
    int figures;
    cs_stage_kind stage; /* which updates of one sweep the blocks of that sweep see */
    int symmetric;       /* every second sweep goes backwards */
    int splits;          /* R is computed as if each body's mass were divided among its contacts */
    int takes_zero_diagonals; /* sets with a zero diagonal in A are allowed if others act on them */
    int each; /* every iteration is judged, whatever check_every is, because iterations are long */
    /* 1 + the index of the method's option with the words cs_over_words, which says over which sweeps it works.
     * 0: there is none, and `stage` and `symmetric` say it. */
    int over;
    int experimental;     /* its options and defaults may change between releases */
    int reads_impulses;   /* it takes judged iterates from solver->lambda: no device judges them */
    int without_sweeps;   /* nothing is packed; `prepare` builds what the method needs instead */
    int takes_index_sets; /* solves may start from an index set */
    int as_a_whole;       /* islands are not solved separately: its rays are of the whole problem */
    const struct cs_steps *steps; /* of methods in steps (solver/accelerate.h), otherwise NULL */
    /* Copies values of its own options to common options, for code that reads these. May be NULL. */
    void (*adopt)(const struct cs_method *method, const double *settings, cs_options *options);
    /* Fails if the method does not support the options or the problem. May be NULL. */
    cs_status (*check)(const cs_options *options, const char *name, const cs_problem *problem,
                       cs_error *error);

    /* The method's state, solver->own, has this many bytes, which are zero when the solver is created. `release` is
     * called before each `prepare`, and when the solver is destroyed. It frees what is not in the solver's arena and
     * sets the state to zero; if `again`, the problem has new values, and the state may keep what stays valid.
     * NULL: there is nothing to free, and the solver sets the state to zero. */
    size_t own;
    cs_status (*prepare)(cs_solver *solver, cs_budget *budget, cs_error *error); /* may be NULL */
    void (*release)(cs_solver *solver, int again);

    cs_status (*solve)(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error);
    /* Adds the method's own figures to `info`. May be NULL. */
    void (*describe)(const cs_solver *solver, cs_solver_info *info);
} cs_method;

/* The method of that name, or NULL. */
const cs_method *cs_method_find(const char *name);

/* Fails with a message that lists the names an option takes: those of `list`, with "auto" first if allowed. */
cs_status cs_unknown_name(const char *option, const char *given, int with_auto,
                          const char *(*list)(int, const char **), cs_error *error);

/* The table of a method's own options. */
cs_option_table cs_options_of(const cs_method *method);

/* values[i] <- the method's i-th option: its value in `settings`, or its default. */
cs_status cs_read_settings(const cs_method *method, const cs_setting *settings, int count,
                           double *values, cs_error *error);

/* Fails if the problem or the options lack what the method needs. */
cs_status cs_check_needs(const cs_method *method, const cs_options *options,
                         const cs_problem *problem, cs_error *error);

/* The `check` of methods without sweeps: refuses options that only sweeps use. */
cs_status cs_refuse_sweeps(const cs_options *options, const char *name, const cs_problem *problem,
                           cs_error *error);

/* The kinds of sweeps that a method may work over; the list ends with NULL. */
extern const char *const cs_over_words[];

/* Whether a sweep is one simultaneous stage, whatever the order is. `settings` are the values of the method's
 * options; NULL: their defaults. */
int cs_is_flat(const cs_method *method, const double *settings);
/* Whether every second sweep goes backwards. */
int cs_is_symmetric(const cs_method *method, const double *settings);

/* Look up a method or an order by its name, which may be "auto". The order's options are checked, too. */
cs_status cs_choose_method(const char *name, const cs_method **method, cs_error *error);
cs_status cs_choose_order(const char *name, const cs_order_options *options, const cs_order **order,
                          cs_error *error);

/* The fixed-point iteration that Jacobi and Gauss-Seidel share.  S1 chapter 3 */
cs_status cs_fixed_point(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error);

#endif
