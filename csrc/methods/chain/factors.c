/* Links that factor a matrix: Newton's method, and block pivoting (the direct method). */
#include "methods/chain/chain.h"

#include <math.h>

/* s->newton_is_due <- whether Newton's method is worth its cost. If so, builds its workspace on first use.
 * `cancellation` ends the preparation. */
static cs_status lay_out_newton(cs_chain_solve *s, const cs_setting *own, int count,
                                cs_cancellation *cancellation)
{
    cs_solver *solver = s->solver;
    cs_status status = cs_chain_estimate_newton_step(s, cancellation);
    if (status) return status;

    /* It is due if sweeps yielded to it, or if it is cheap enough beside the sweeps so far. */
    s->far = s->best > CS_NEAR * s->start && s->chain->newton_step > CS_CHEAP_STEP;
    double worth = s->far ? CS_FAR_WORTH : CS_STEPS_WORTH;
    if (!s->newton_takes_over && cs_chain_newton_cost(s) > worth * s->sweeps) return CS_OK;
    s->newton_is_due = isfinite(s->chain->newton_step);
    if (!s->newton_is_due || s->chain->built) return CS_OK;

    /* Build the workspace. */
    cs_budget building = {.control = s->budget->control, .cancellation = cancellation};
    cs_arena_mark mark = cs_arena_position(&solver->arena);
    status = cs_chain_switch_to(s, &cs_method_newton, own, count, s->max_iterations);
    if (!status) status = cs_method_newton.prepare(solver, &building, s->error);
    s->chain->built = !status;
    if (!status) return CS_OK;

    /* If the build was cancelled or ran out of memory, undo it, so that a later solve may try again. */
    s->chain->newton = (cs_newton){0};
    cs_arena_rewind(&solver->arena, mark);
    return status;
}

cs_status cs_chain_run_newton(cs_chain_solve *s)
{
    /* The options of the link: its patience grows with that of the chain. */
    double rounds = (double)s->patience / s->setting[CS_CHAIN_PATIENCE];
    double steps = floor((s->newton_takes_over ? CS_SOONER_PATIENCE : CS_NEWTON_PATIENCE) * rounds);
    if (steps > CS_LONGEST) steps = CS_LONGEST;
    cs_setting own[] = {{.name = "patience", .number = steps},
                        {.name = "start", .number = 0},
                        {.name = "factor_bytes", .number = s->setting[CS_CHAIN_FACTOR_BYTES]}};
    int64_t before = s->budget->made;
    if (s->ended) return CS_OK;

    /* Run the link if it is due, and count its steps. */
    s->newton_is_due = 0;
    cs_status status = cs_chain_prepare_link(s, lay_out_newton, own, 3);
    int due = !status && !s->ended && s->newton_is_due;
    if (due)
        status = cs_chain_run_link(s, &cs_method_newton, s->chain->best, own, 3,
                                   s->far ? CS_FAR_STEPS : s->max_iterations);
    s->newton_steps += (double)(s->budget->made - before);
    if (status != CS_UNSUPPORTED) return status;

    /* The method does not accept the sets or the size of the problem: it is not tried again. */
    s->chain->newton_step = INFINITY;
    *s->error = (cs_error){0};
    return CS_OK;
}

/* Handles the status of a direct link, or of its preparation. CS_UNSUPPORTED, as for a singular A, is no error
 * of the chain: it does without the direct method from then on. */
static cs_status accept_failure(cs_chain_solve *s, cs_status status)
{
    if (status != CS_UNSUPPORTED) return status;
    s->chain->no_direct = 1;
    *s->error = (cs_error){0};
    return CS_OK;
}

cs_status cs_chain_prepare_direct(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    if (s->ended || s->chain->no_direct || cs_chain_has_direct(s->chain)) return CS_OK;

    /* Prepare the method as a solver of its own would. */
    cs_arena_mark mark = cs_arena_position(&solver->arena);
    cs_status status = cs_chain_switch_to(s, &cs_method_bpp, NULL, 0, CS_DIRECT_SOLVES);
    if (!status) cs_method_bpp.adopt(&cs_method_bpp, solver->setting, &solver->options);
    if (!status) status = cs_method_bpp.prepare(solver, s->budget, s->error);

    /* After a failure, give the memory back; factors of an earlier problem are kept. */
    if (status) {
        s->chain->direct = (cs_pivoting){.kept = s->chain->direct.kept};
        cs_arena_rewind(&solver->arena, mark);
    }
    return accept_failure(s, status);
}

cs_status cs_chain_run_direct(cs_chain_solve *s, const double *from, int solves)
{
    cs_status status = cs_chain_prepare_direct(s);
    if (status || s->ended || s->chain->no_direct) return status;
    return accept_failure(s, cs_chain_run_link(s, &cs_method_bpp, from, NULL, 0, solves));
}
