/* The links of sweeps, from the best iterate. */
#include "methods/chain/chain.h"

cs_status cs_chain_run_sweeps(cs_chain_solve *s, const cs_method *method, int64_t iterations)
{
    cs_solver *solver = s->solver;
    cs_setting own[] = {{.name = "patience", .number = (double)s->patience}};
    int64_t before = s->budget->made;
    if (s->ended) return CS_OK;

    /* Sweeps with momentum ask whether it is time for another method, if the natural map judges them. */
    int asks = method == &cs_method_nesterov && s->follows != CS_NO_ALTERNATIVE &&
               solver->stop == cs_measure_find("natural_map");
    s->budget->patience = 1;
    s->budget->alternative = asks ? cs_chain_alternative : NULL;
    s->budget->alternative_context = s;
    cs_status status = cs_chain_run_link(s, method, s->chain->best, own, 1, iterations);
    s->budget->alternative = NULL;
    s->budget->patience = 0;
    s->sweeps += (double)(s->budget->made - before);
    s->verdict = s->result->outcome;

    /* Rollbacks have scaled R for this link alone. */
    if (solver->factors.scale != 1)
        cs_packing_put_steps(&solver->packing, solver->factors.r, solver->factors.step);
    solver->factors.scale = 1;
    return status;
}
