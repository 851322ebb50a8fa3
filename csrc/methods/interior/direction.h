/* The direction of an interior-point step, and its length: the right side of the linear system, the change
 * of the forces y, the fraction of the step that stays inside, and the products x y after it. */
#ifndef CS_INTERIOR_DIRECTION_H
#define CS_INTERIOR_DIRECTION_H

#include "methods/interior/blocks.h"

/* What a step aims at. A predictor aims at products of zero. A corrector aims at products of `target`, and
 * includes the second-order terms dx' dy' of the current step. */
typedef struct cs_aim {
    double target;
    int corrects;
} cs_aim;

/* RIGHT <- L^T (-r + V^-1 c), in scaled unknowns; c goes to PUSH_LOW and PUSH_HIGH. */
void cs_interior_find_right(cs_solver *solver, const cs_aim *aim);

/* DLOW and DHIGH <- dy of the step in STEP and SCALED. */
void cs_interior_find_forces(cs_solver *solver);

/* The fraction of the step, at most 1, that stays inside. */
double cs_interior_reach(const cs_solver *solver);

/* The mean of x y after this fraction of the step. */
double cs_interior_mean_product(const cs_solver *solver, const cs_interior *own, double part);

/* The mean of x |r| over normal rows with a shift: how far the shift is from convergence. */
double cs_interior_mean_defect(const cs_solver *solver, const cs_interior *own);

/* Makes this fraction of the step, and counts the changes of the impulses. */
void cs_interior_move(cs_solver *solver, double part, cs_sweep_stats *stats);

#endif
