/* Links that factor: Newton's method, and block pivoting. */
#include "core/clock.h"
#include "methods/chain/chain.h"

#include <math.h>

enum {
    NEWTON_PATIENCE = 16, /* steps without a halving, at first, */
    SOONER_PATIENCE = 96, /* and where it takes over sooner, further from the solution */
    FAR_STEPS = 60,       /* of a link that is dear and far from a solution, at most */
};
/* Cost of the expected Newton steps over that of the sweeps so far, at most; and of dear ones, far from a
 * solution, where most of them are wasted on grids. */
#define STEPS_WORTH 1.5
#define FAR_WORTH 0.25
#define NEAR 1e-4      /* natural map over that of the start, below which a solution is near */
#define CHEAP_STEP 100 /* cost of a Newton step that is not dear, in sweeps, at most */

/* Whether it pays, and what it works in, which is built once. */
static cs_status lay_out_newton(cs_chain_solve *s, const cs_setting *own, int count,
                                cs_cancellation *cancellation)
{
    cs_solver *solver = s->solver;
    cs_status status = cs_chain_weigh_newton(s, cancellation);
    if (status) return status;
    s->far = s->best > NEAR * s->start && s->chain->newton_step > CHEAP_STEP;
    double worth = s->far ? FAR_WORTH : STEPS_WORTH;
    if (!s->sooner && cs_chain_newton_cost(s) > worth * s->sweeps) return CS_OK;
    s->newton_is_due = isfinite(s->chain->newton_step);
    if (!s->newton_is_due || s->chain->built) return CS_OK;
    cs_budget building = {.control = s->budget->control, .cancellation = cancellation};
    cs_arena_mark mark = cs_arena_position(&solver->arena);
    status = cs_chain_become(s, &cs_method_newton, own, count, s->most);
    if (!status) status = cs_method_newton.prepare(solver, &building, s->error);
    s->chain->built = !status;
    if (!status) return CS_OK;

    /* A later solve may try again: nothing stays of what was cancelled or found no memory. */
    s->chain->newton = (cs_newton){0};
    cs_arena_rewind(&solver->arena, mark);
    return status;
}

/* The same, heard meanwhile. */
static cs_status prepare_newton(cs_chain_solve *s, const cs_setting *own, int count)
{
    double start = cs_clock();
    cs_run run = cs_run_begin(s->solver, s->budget, NULL, s->error);
    cs_cancellation cancellation = {.is_cancelled = cs_run_is_cancelled, .context = &run};
    s->newton_is_due = 0;
    cs_status status = lay_out_newton(s, own, count, &cancellation);
    cs_restore_denormals(run.mode);
    s->budget->spent += cs_clock() - start;
    if (status != CS_INTERRUPTED || !run.stopped) return status;
    *s->error = (cs_error){0};
    s->result->outcome = run.late ? CS_MAX_SECONDS : CS_STOPPED;
    s->ended = 1;
    return CS_OK;
}

cs_status cs_chain_run_newton(cs_chain_solve *s)
{
    double rounds = (double)s->patience / s->setting[CS_CHAIN_PATIENCE];
    double steps = floor((s->sooner ? SOONER_PATIENCE : NEWTON_PATIENCE) * rounds);
    if (steps > CS_LONGEST) steps = CS_LONGEST;
    cs_setting own[] = {{.name = "patience", .number = steps},
                        {.name = "start", .number = 0},
                        {.name = "factor_bytes", .number = s->setting[CS_CHAIN_FACTOR_BYTES]}};
    int64_t before = s->budget->made;
    if (s->ended) return CS_OK;
    cs_status status = prepare_newton(s, own, 3);
    int due = !status && !s->ended && s->newton_is_due;
    if (due)
        status = cs_chain_run_link(s, &cs_method_newton, s->chain->best, own, 3,
                                   s->far ? FAR_STEPS : s->most);
    s->steps += (double)(s->budget->made - before);
    if (status != CS_UNSUPPORTED) return status;
    /* Sets or a size that it does not take. */
    s->chain->newton_step = INFINITY;
    *s->error = (cs_error){0};
    return CS_OK;
}

/* After a direct link, or its preparation: with a singular A the method fails for good. */
static cs_status without_direct(cs_chain_solve *s, cs_status status)
{
    if (status != CS_UNSUPPORTED) return status;
    s->chain->no_direct = 1;
    *s->error = (cs_error){0};
    return CS_OK;
}

cs_status cs_chain_prepare_direct(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    double start = cs_clock();
    if (s->ended || s->chain->no_direct || cs_chain_has_direct(s->chain)) return CS_OK;
    cs_arena_mark mark = cs_arena_position(&solver->arena);
    cs_status status = cs_chain_become(s, &cs_method_bpp, NULL, 0, CS_DIRECT_SOLVES);
    if (!status) cs_method_bpp.adopt(&cs_method_bpp, solver->setting, &solver->options);
    if (!status) status = cs_method_bpp.prepare(solver, s->budget, s->error);
    if (!status) s->budget->spent += cs_clock() - start;
    if (status) {
        s->chain->direct = (cs_pivoting){.kept = s->chain->direct.kept};
        cs_arena_rewind(&solver->arena, mark);
    }
    return without_direct(s, status);
}

cs_status cs_chain_run_direct(cs_chain_solve *s, const double *from, int solves)
{
    cs_status status = cs_chain_prepare_direct(s);
    if (status || s->ended || s->chain->no_direct) return status;
    return without_direct(s, cs_chain_run_link(s, &cs_method_bpp, from, NULL, 0, solves));
}
