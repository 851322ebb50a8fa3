/* Links of sweeps: nesterov and nncg, from the best iterate. */
#include "methods/chain/chain.h"

static const cs_takeover takeover = {
    .least_sweeps = CS_LEAST_SWEEPS,
    .small = CS_SMALL,
    .early_share = CS_EARLY_SHARE,
    .late_share = CS_LATE_SHARE,
};

cs_status cs_chain_run_sweeps(cs_chain_solve *s, const cs_method *method, int64_t iterations)
{
    cs_solver *solver = s->solver;
    cs_setting own[] = {{.name = "patience", .number = (double)s->patience}};
    int64_t before = s->budget->made;
    if (s->ended) return CS_OK;

    /* Sweeps with momentum may yield to the alternative method, if the natural map is the stop rule. */
    int asks = method == &cs_method_nesterov && s->alternative != CS_NO_ALTERNATIVE &&
               solver->stop == &cs_measure_natural_map;

    /* Run the link with the halving test of the chain: patience 1 means as many sweeps without a halving as
     * there were before the last one, and `own` sets the least number. */
    s->budget->patience = 1;
    s->budget->alternative = asks ? cs_chain_alternative : NULL;
    s->budget->alternative_context = s;
    s->budget->takeover = takeover;
    cs_status status = cs_chain_run_link(s, method, s->chain->best, own, 1, iterations);
    s->budget->alternative = NULL;
    s->budget->patience = 0;
    s->sweeps += (double)(s->budget->made - before);
    s->sweeps_outcome = s->result->outcome;

    /* Restore R: rollbacks scale it for this link only. */
    if (solver->factors.scale != 1)
        cs_packing_put_steps(&solver->packing, solver->factors.r, solver->factors.step);
    solver->factors.scale = 1;
    return status;
}
