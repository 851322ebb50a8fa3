/* Judging a solve: the speeds that tolerances are relative to, islands that are solved without impulses,
 * and the verdict at the end.
 *
 *     begin: V of each island ──► iterates: measured ──► 10, 20, 40, ... iterations: a ray?
 *                                                               │
 *     end:   Delta <= tau?  floor above tau?  ray?  ◄───────────┘
 *            converged      inaccurate        infeasible, unbounded                math.md section 4 */
#ifndef CS_JUDGE_H
#define CS_JUDGE_H

#include "measure/certificate.h"
#include "solver/solver.h"

/* Refuses sets of a given A with a zero diagonal that others act on, for methods without a step there. Before
 * the problem is cut: the numbers told are those of the whole. */
cs_status cs_check_diagonals(const cs_solver *solver, cs_error *error);

/* Room for it, and what depends on the problem's values: rho and a_s, after cs_choose_steps. */
cs_status cs_judge_take(cs_solver *solver, cs_error *error);

/* Before a solve, whose b and parameters are known: V of each island. Overwrites lambda and xi. */
void cs_judge_begin(cs_solver *solver);

/* Impulses where none are needed or none do anything: islands that P_C(0) solves have it; rows that
 * nothing moves are at the end of their set that b drives them to, where it has one. Returns whether there
 * were such impulses to set. */
int cs_settle(cs_solver *solver);

/* xi <- A lambda + b by the solver's threads, with these impulses; solver->velocity <- M^-1 J^T lambda. */
void cs_residual_at(cs_solver *solver, const double *impulses, const double *b, double *xi);

/* Adds the seconds since `start`, in which an iterate was judged, to `seconds`, if its clock counts these. */
void cs_time_check(const cs_solver *solver, cs_budget *budget, double start, double *seconds);

/* Brings solver->xi and the state in line with solver->lambda: xi = A lambda + b. */
void cs_evaluate(cs_solver *solver, cs_state *state);

/* After iteration `number`, whose impulses are solver->lambda: whether their growth proves that there is
 * no solution. Looks at few iterations; `due` tells of one, and `next` which comes next. */
int64_t cs_next_ray(const cs_solver *solver);
int cs_ray_is_due(const cs_solver *solver, int64_t number);
cs_status cs_test_growth(cs_solver *solver, int64_t number, int *proven, cs_error *error);

/* Keeps the iterate at hand, solver->lambda, beside the better one that is returned. */
void cs_keep_for_rays(cs_solver *solver);

/* Tries a direction (rows) that another method has come upon; NULL: that in which b drives the impulses.
 * `proven`: there is no solution. */
cs_status cs_try_ray(cs_solver *solver, const double *ray, int *proven, cs_error *error);

/* The end of a solve, at a state that is known: outcomes that only the floor and rays tell. */
cs_status cs_find_verdict(cs_solver *solver, cs_budget *budget, cs_state *state, cs_result *result,
                          cs_error *error);

/* Whether an outcome ends a solve for good, so that no other method is worth a try. */
int cs_is_final(cs_outcome outcome);

#endif
