/* The steps of `nesterov` and `nncg`, for these methods and for one that makes both in turn. Each has its variables, and
 * the first points of the solver: `nesterov` one, `nncg` as many as cs_nncg_points says. */
#ifndef CS_STAGES_OF_SWEEPS_H
#define CS_STAGES_OF_SWEEPS_H

#include "solver/accelerate.h"

#include <math.h>

/* ---- Nesterov's momentum (nesterov.c), whose variables are a cs_momentum ------------------------------------ */

#define CS_RESTART_OPTION                                                                       \
    CS_NUMBER_OPTION("restart", 1.5, 1, HUGE_VAL,                                               \
                     "restart threshold: the momentum is reset when a step is longer than the " \
                     "shortest one since the last restart by this factor")
#define CS_CONTRACTION_OPTION                                                                   \
    CS_NUMBER_OPTION("contraction", CS_CONTRACTION, 0, HUGE_VAL,                                \
                     "exponent of the bound on the momentum, which is a power of the ratio of " \
                     "the lengths of the last two steps; 0: no bound")

/* Sets t = 1 and y = x: at the beginning, after a restart, and after a rollback. */
void cs_nesterov_begin(cs_steps_run *steps, cs_momentum *momentum);

/* From x_k = S(y_k) to y_k+1, with the method's options of these names. */
void cs_nesterov_extrapolate(cs_steps_run *steps, cs_momentum *momentum, double restart,
                             double contraction);

/* ---- nonsmooth nonlinear conjugate gradients (nncg.c) -------------------------------------------------------- */

extern const char *const cs_nncg_formulas[];
#define CS_FORMULA_OPTION CS_WORD_OPTION("formula", cs_nncg_formulas, "formula of beta")

/* The variables of a solve. */
typedef struct cs_conjugate_step {
    double square; /* |g_k-1|^2; 0: there is no earlier step */
    int newer;     /* which of the two gradients is to hold g_k; the other one holds g_k-1 */
} cs_conjugate_step;

/* The number of points with this value of the option `formula`. */
int cs_nncg_points(double formula);

/* Without an earlier step, beta is 0: at the beginning, and after a rollback. */
void cs_nncg_begin(cs_steps_run *steps, cs_conjugate_step *own);

/* p <- 0, after steps of another method that may have left numbers there that are not finite. */
void cs_nncg_clear(cs_steps_run *steps);

/* From S(y_k) to y_k+1. */
void cs_nncg_extrapolate(cs_steps_run *steps, cs_conjugate_step *own, double formula);

#endif
