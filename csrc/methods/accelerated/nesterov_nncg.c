/* Nesterov's momentum and nonsmooth nonlinear conjugate gradients in turn, in one run:
 *
 *     nesterov ──► nncg ──► nesterov, twice as patient ──► nncg ──► ...
 *
 * The first brings stacks and grids close to a solution and stalls on loose piles, the second converges on loose piles and
 * stalls on heavy bodies over light ones. A stage hands over when it no longer halves the natural map, or when it diverges
 * (solver/stages.h); the next one begins at the best iterate. These are the links of sweeps of method="auto" without the
 * methods between them that need the whole problem, so that ranks have this method, too. */
#include "methods/accelerated/stages_of_sweeps.h"
#include "solver/stages.h"

enum { RESTART = CS_STAGE_OPTIONS, CONTRACTION, FORMULA, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_STAGE_PATIENCE_OPTION,
    CS_OVER_OPTION(0),
    CS_ROUNDS_OPTION,
    [RESTART] = CS_RESTART_OPTION,
    [CONTRACTION] = CS_CONTRACTION_OPTION,
    [FORMULA] = CS_FORMULA_OPTION,
};

enum { NESTEROV, NNCG };
static const char *const names[] = {[NESTEROV] = "nesterov", [NNCG] = "nncg", NULL};

/* The variables of a solve. */
typedef struct both {
    cs_stages stages;
    cs_momentum momentum;
    cs_conjugate_step conjugate;
} both;

static int points(const cs_solver *solver) { return cs_nncg_points(solver->setting[FORMULA]); }

static void begin(cs_steps_run *steps)
{
    both *own = steps->scalars;
    if (own->stages.stage == NESTEROV) {
        cs_nesterov_begin(steps, &own->momentum);
    } else {
        cs_nncg_clear(steps);
        cs_nncg_begin(steps, &own->conjugate);
    }
}

static void extrapolate(cs_steps_run *steps)
{
    both *own = steps->scalars;
    const double *setting = steps->run.solver->setting;
    if (own->stages.stage == NESTEROV)
        cs_nesterov_extrapolate(steps, &own->momentum, setting[RESTART], setting[CONTRACTION]);
    else cs_nncg_extrapolate(steps, &own->conjugate, setting[FORMULA]);
}

static const cs_steps steps = {
    .points = points,
    .scalars = sizeof(both),
    .begin = begin,
    .extrapolate = extrapolate,
    .stage = names,
};

const cs_method cs_method_nesterov_nncg = {
    .name = "nesterov_nncg",
    .summary = "`nesterov` and `nncg` in turn: each hands over when it stagnates",
    .about =
        "Each hands over when it no longer halves the natural map, or when it diverges; the other "
        "one begins at the best iterate of both, with more patience in every round. What one of "
        "them cannot solve is often easy for the other: Nesterov's method stalls on loose piles, "
        "conjugate gradients on stacks with heavy bodies. `info[\"links\"]` reports the stages and "
        "why each ended. `auto` has links of other methods between these; this method is for "
        "ranks, "
        "and for problems whose factors are too large. Without a tolerance nothing is judged, and "
        "only divergence ends a stage.",
    .paper = "Nesterov 1983; Silcowitz, Niebe and Erleben 2010; those of `nesterov` and `nncg`",
    .solves = CS_SOLVES_AS_SWEEPS,
    .figure = cs_stage_figure,
    .figures = CS_STAGE_FIGURES,
    .option = option,
    .options = OPTIONS,
    .over = CS_OVER + 1,
    .own = CS_STAGES_OWN,
    .steps = &steps,
    .solve = cs_accelerate,
};
