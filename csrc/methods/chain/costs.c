/* Which links a chain has, and what they are expected to cost. */
#include "core/costs.h"
#include "methods/chain/chain.h"
#include "methods/pivoting/contact.h"
#include "system/newton_system.h"

#include <math.h>

enum {
    NEWTON_STEPS = 20, /* that a solution by Newton's method is expected to take */
};

/* Whether a link may be one of this solver's. What it says against it is of no interest. */
int cs_chain_takes(const cs_solver *solver, const cs_method *method)
{
    cs_error error = {0};
    if (cs_check_needs(method, &solver->options, solver->problem, &error)) return 0;
    return !method->check ||
           !method->check(&solver->options, method->name, solver->problem, &error);
}

/* Plain sweeps are all that there is to do. */
int cs_chain_only_sweeps(const cs_solver *solver)
{
    return solver->fixed_iterations || solver->packing.dtype == CS_MIXED ||
           cs_is_balanced(&solver->options);
}

static int is_compliant(const cs_block_group *group)
{
    for (int64_t i = 0; i < group->count * group->rows; i++)
        if (!group->compliance || !(group->compliance[i] > 0)) return 0;
    return 1;
}

/* Whether factors of A exist for sure and are small. */
int cs_chain_begins_directly(const cs_solver *solver)
{
    const cs_chain *chain = solver->own;
    const cs_problem *problem = solver->problem;
    if (chain->no_direct || problem->rows > CS_DIRECT_ROWS) return 0;
    int compliant = 1, frictionless = 1;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        compliant = compliant && is_compliant(group);
        frictionless = frictionless && group->set->convex && !group->set->bilateral;
    }
    return compliant || frictionless;
}

static double cost_of_sweep(const cs_solver *solver)
{
    const cs_problem *problem = solver->problem;
    double contact = solver->schedule.natural ? CS_COST_CONTACT_ALONE : CS_COST_CONTACT;
    if (!problem->matrix) return contact * (double)problem->rows / 3;
    const int64_t *start = problem->matrix->start;
    return CS_COST_GIVEN_VISIT * (double)problem->blocks +
           CS_COST_GIVEN_BLOCK * (double)start[problem->matrix->blocks];
}

/* Where its preparation was interrupted, there is no more than room for it. */
int cs_chain_has_direct(const cs_chain *chain) { return chain->direct.mlcp != NULL; }

/* What one step of Newton's method costs, in sweeps. */
cs_status cs_chain_weigh_newton(cs_chain_solve *s, cs_cancellation *cancellation)
{
    cs_chain *chain = s->chain;
    const cs_problem *problem = s->solver->problem;
    cs_newton_size size;
    if (!isnan(chain->newton_step)) return CS_OK;
    int known = !cs_chain_takes(s->solver, &cs_method_newton);
    cs_status status = known ? CS_OK : cs_newton_size_of(problem, cancellation, &size, s->error);
    if (status) return status;
    chain->newton_step = INFINITY;
    if (known || 8 * size.entries > s->setting[CS_CHAIN_FACTOR_BYTES]) return CS_OK;
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

/* What a solution by Newton's method is expected to cost, in sweeps. */
double cs_chain_newton_cost(const cs_chain_solve *s)
{
    return (s->steps + NEWTON_STEPS) * s->chain->newton_step;
}

/* The same, asked by sweeps. */
cs_status cs_chain_alternative(void *context, cs_cancellation *cancellation, double *sweeps,
                               cs_error *error)
{
    cs_chain_solve *s = context;
    *sweeps = CS_FIRST_SWEEPS / CS_LATE_SHARE;
    if (s->follows == CS_DIRECT_FOLLOWS) return CS_OK;
    cs_status status = cs_chain_weigh_newton(s, cancellation);
    (void)error; /* that of the solve */
    *sweeps = cs_chain_newton_cost(s);
    return status;
}
