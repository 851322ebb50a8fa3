/* Which links a chain may have, and what they are expected to cost. Costs are estimated from sizes alone, in
 * units of one sweep, with the constants of core/costs.h. */
#include "core/costs.h"
#include "methods/chain/chain.h"
#include "methods/pivoting/contact.h"
#include "system/newton_system.h"

#include <math.h>

enum {
    NEWTON_STEPS = 20, /* expected steps of a solution by Newton's method */
};

/* Whether a method accepts the solver's options and problem. The message of a refusal is discarded. */
int cs_chain_can_use(const cs_solver *solver, const cs_method *method)
{
    cs_error error = {0};
    if (cs_check_needs(method, &solver->options, solver->problem, &error)) return 0;
    return !method->check ||
           !method->check(&solver->options, method->name, solver->problem, &error);
}

/* Whether the chain is plain Gauss-Seidel. */
int cs_chain_only_sweeps(const cs_solver *solver)
{
    return solver->fixed_iterations || solver->packing.dtype == CS_MIXED ||
           cs_is_balanced(&solver->options);
}

/* Whether each row of the group has compliance. */
static int is_compliant(const cs_block_group *group)
{
    for (int64_t i = 0; i < group->count * group->rows; i++)
        if (!group->compliance || !(group->compliance[i] > 0)) return 0;
    return 1;
}

/* Whether the direct method is tried before the first round. */
int cs_chain_begins_directly(const cs_solver *solver)
{
    const cs_chain *chain = solver->own;
    const cs_problem *problem = solver->problem;
    if (chain->no_direct || problem->rows > CS_DIRECT_ROWS) return 0;

    /* Either every row has compliance, or all sets are convex and unilateral: no friction, no joints. */
    int compliant = 1, frictionless = 1;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        compliant = compliant && is_compliant(group);
        frictionless = frictionless && group->set->convex && !group->set->bilateral;
    }
    return compliant || frictionless;
}

/* The estimated time of one sweep, in nanoseconds. */
static double cost_of_sweep(const cs_solver *solver)
{
    const cs_problem *problem = solver->problem;
    double contact = solver->schedule.natural ? CS_COST_CONTACT_ALONE : CS_COST_CONTACT;
    if (!problem->matrix) return contact * (double)problem->rows / 3;
    const int64_t *start = problem->matrix->start;
    return CS_COST_GIVEN_VISIT * (double)problem->blocks +
           CS_COST_GIVEN_BLOCK * (double)start[problem->matrix->blocks];
}

/* Whether the direct method is prepared. An interrupted preparation leaves `mlcp` NULL. */
int cs_chain_has_direct(const cs_chain *chain) { return chain->direct.mlcp != NULL; }

/* chain->newton_step <- the estimated cost of one Newton step in sweeps, INFINITY if the method does not
 * accept the problem or its factor would exceed the memory limit. Fails if the estimate is cancelled. */
cs_status cs_chain_estimate_newton_step(cs_chain_solve *s, cs_cancellation *cancellation)
{
    cs_chain *chain = s->chain;
    const cs_problem *problem = s->solver->problem;
    cs_newton_size size;
    if (!isnan(chain->newton_step)) return CS_OK;

    /* The size of the factor; an entry has eight bytes. */
    int refused = !cs_chain_can_use(s->solver, &cs_method_newton);
    cs_status status = refused ? CS_OK : cs_newton_size_of(problem, cancellation, &size, s->error);
    if (status) return status;
    chain->newton_step = INFINITY;
    if (refused || 8 * size.entries > s->setting[CS_CHAIN_FACTOR_BYTES]) return CS_OK;

    /* The time of a step: small systems are eliminated by L U, others need a Cholesky factor and GMRES. */
    int unsymmetric = problem->matrix && problem->matrix->asymmetry > 0;
    double cost = size.elimination > 0
                      ? CS_COST_ELIMINATE_MULTIPLY * size.elimination +
                            CS_COST_ELIMINATE_CONTACT * (double)problem->blocks
                      : CS_COST_NEWTON_MULTIPLY * size.multiplications +
                            CS_COST_NEWTON_ENTRY * size.entries +
                            (unsymmetric ? CS_COST_NEWTON_UNSYMMETRIC : CS_COST_NEWTON_CONTACT) *
                                (double)problem->blocks;
    chain->newton_step = cost / cost_of_sweep(s->solver);
    return CS_OK;
}

/* The expected cost of a solution by Newton's method, in sweeps. */
double cs_chain_newton_cost(const cs_chain_solve *s)
{
    return (s->newton_steps + NEWTON_STEPS) * s->chain->newton_step;
}

/* The expected cost of the alternative method, in sweeps. The driver lets sweeps yield after CS_LATE_SHARE
 * times this number, or sooner if they are near a solution; the direct method is to follow after
 * CS_FIRST_SWEEPS. */
cs_status cs_chain_alternative(void *context, cs_cancellation *cancellation, double *sweeps,
                               cs_error *error)
{
    cs_chain_solve *s = context;
    *sweeps = CS_FIRST_SWEEPS / CS_LATE_SHARE;
    if (s->alternative == CS_DIRECT_FOLLOWS) return CS_OK;
    cs_status status = cs_chain_estimate_newton_step(s, cancellation);
    (void)error; /* the same as s->error */
    *sweeps = cs_chain_newton_cost(s);
    return status;
}
