/* The judgement of a solve: the speeds V to which tolerances are relative, islands that need no impulses, and the
 * verdict at the end.
 *
 *     begin: V of each island ──► iterates: measured ──► after 10, 20, 40, ... iterations: a ray?
 *                                                               │
 *     end:   Delta <= tau?  floor above tau?  ray?  ◄───────────┘
 *            converged      inaccurate        infeasible, unbounded
 *
 * A ray is a direction in which the impulses grow; some rays prove that the problem has no solution
 * (measure/certificate.h). Delta, tau and V are those of measure/measure.h; docs/methods.md
 * (When a solve ends) describes the outcomes. */
#ifndef CS_JUDGE_H
#define CS_JUDGE_H

#include "measure/certificate.h"
#include "solver/solver.h"

/* Fails if a coupled set has a zero diagonal in a given A although other blocks act on it, and the method has no step
 * for that. Called before the problem is cut into islands, so that the message has the caller's row numbers. */
cs_status cs_check_diagonals(const cs_solver *solver, cs_error *error);

/* Allocates solver->judge and computes what depends on the problem's values but not on b. Called after
 * cs_choose_steps, which computes rho. */
cs_status cs_judge_take(cs_solver *solver, cs_error *error);

/* Whether iterates may be judged by cs_backend.measure: nothing but natural maps is asked of them, and every row moves
 * something. */
int cs_judges_over_factors(const cs_solver *solver);

/* The same for this iterate: state->natural_map <- its natural map. Returns 0 if there is none. */
int cs_measure_over_factors(cs_solver *solver, cs_state *state);

/* Fills the calls by which a backend computes the judgement of an iterate along with the sweeps that lead to it: over the
 * factors, or (judge.there) from J and M^-1 as given, the only one of the `last` iterate. V must be known. */
void cs_expect_judgement(const cs_solver *solver, int last, cs_measure_call *measure,
                         cs_verdict_call *verdict);

/* Where a device gives verdicts in this solve (judge.there): state->natural_map <- that of the packed iterate, from J and
 * M^-1 as given; with `floor` solver->judge.floor <- its rounding floor. */
void cs_judge_there(cs_solver *solver, cs_state *state, int floor);

/* The number of threads that the evaluation of an iterate may use now. */
int cs_judge_threads(const cs_solver *solver);

/* Begins a solve whose b and parameters are known. Without a tolerance, V is computed only when an iterate is
 * evaluated (cs_judge_scales). */
void cs_judge_begin(cs_solver *solver);

/* Computes V of each island, unless that has been done in this solve. */
void cs_judge_scales(cs_solver *solver);

/* Sets impulses that no iteration has to compute: in islands that P_C(0) solves, P_C(0); in immovable rows, the
 * point of their set to which b drives them, if there is one. Does nothing if there is no tolerance.
 * Returns whether there may be such impulses. */
int cs_settle(cs_solver *solver);

/* xi <- A lambda + b at these impulses, by the solver's threads; solver->velocity <- M^-1 J^T lambda. */
void cs_residual_at(cs_solver *solver, const double *impulses, const double *b, double *xi);

/* Around what judges an iterate, whose seconds are not counted if time_checks is 0: cs_check_ends takes what
 * cs_check_begins returned. */
double cs_check_begins(const cs_solver *solver, const cs_budget *budget);
void cs_check_ends(const cs_solver *solver, cs_budget *budget, double since);

/* Computes V, and solver->xi = A lambda + b; discards the cached natural map of the state. */
void cs_evaluate(cs_solver *solver, cs_state *state);

/* The same for the impulses state->lambda, which are handed out; and their natural map, in the same pass over the contacts. */
void cs_evaluate_result(cs_solver *solver, cs_state *state);

/* The test whether the growth of the impulses proves that there is no solution. It runs after few iterations only:
 * cs_next_ray returns the next one (INT64_MAX: none), and cs_ray_is_due whether it has been reached. cs_test_growth
 * runs the test after iteration `number`, with the impulses solver->lambda, or (judge.there) those on the device. */
int64_t cs_next_ray(const cs_solver *solver);
int cs_ray_is_due(const cs_solver *solver, int64_t number);
cs_status cs_test_growth(cs_solver *solver, int64_t number, int *proven, cs_error *error);

/* Keeps solver->lambda, or (judge.there) the packed iterate, as a candidate for a proof at the end, in addition to the better
 * iterate that is returned. */
void cs_keep_for_rays(cs_solver *solver);

/* Tests whether a direction (rows) that a method found proves that there is no solution (`proven`). `ray` NULL: tests
 * directions in which b drives the impulses (cs_prove_driven). */
cs_status cs_try_ray(cs_solver *solver, const double *ray, int *proven, cs_error *error);

/* Completes the outcome at the end of a solve, whose state must be known: it becomes inaccurate, infeasible or
 * unbounded if the rounding floor or a proof shows that. */
cs_status cs_find_verdict(cs_solver *solver, cs_budget *budget, cs_state *state, cs_result *result,
                          cs_error *error);

/* Whether after this outcome no other method should be tried. */
int cs_is_final(cs_outcome outcome);

#endif
