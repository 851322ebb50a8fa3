/* method="auto": a chain of methods ("links") that share the operators of one solver.
 *
 *     direct ──► sweeps with momentum ──► direct ──► rounds ┬─► sweeps with momentum   (nesterov)
 *     (bpp)      (nesterov)               (bpp)      with   ├─► Newton                 (newton)
 *                                                    more   └─► conjugate gradients    (nncg)
 *                                                    patience
 *
 * Each link starts from the best iterate of all links before it. Sweeps yield when the halving test of
 * solver/stagnation.h fails: they have not halved the scaled natural map for as many sweeps as the link had
 * made at the last halving, and for at least `patience` sweeps. The patience doubles from round to round.
 *
 * Newton's method follows if twenty of its steps are expected to cost at most 1.5 times what the sweeps so far
 * have cost. The cost of a step is predicted from the size of its factor (cs_newton_size_of). If a step is
 * expensive and the solution is not near, the method waits for six times as many sweeps, and then makes at
 * most sixty steps.
 *
 * Newton's method may also take over before sweeps stagnate: once the sweeps of the link have cost a quarter
 * of what it is expected to cost if the scaled natural map is at most 1e-2, and 1.5 times that otherwise. Its
 * intermediate iterates are of little use before it converges. Steps that were made in vain are added to its
 * expected cost.
 *
 * The direct method is for problems for which factors of A are certain to exist and are small: those with
 * compliance on every row, or without friction. Without friction it is the first link. With friction it is
 * also the first link of a warm start, but limited to two pivots. If that fails, or if the start is cold, it
 * waits until sweeps have brought the scaled natural map to 1e-2, or for 120 sweeps; with a loose tolerance it
 * waits until sweeps stagnate. After a cold start it is then tried from the start of the solve, with the same
 * limit. If two pivots do not suffice, it runs with the friction bounds of the best iterate, from which it
 * needs few.
 *
 * Interior-point steps are tried once in a solve, after a round that has not halved the natural map: when sweeps
 * have cost twice what sixty Newton steps are predicted to cost, and after the last round at any price. They need no
 * start, and solve problems on which the other links end in cycles.
 *
 * No choice depends on a clock, so that the iterates are the same on every machine and with any number of
 * threads. benchmarks/convergence/ablations.py measures what each rule is worth; a rule stays only if the
 * chain is significantly slower without it.
 *
 * Without a tolerance there is no stagnation test, and mixed precision and balanced factors R are for plain
 * sweeps. In these cases the chain is a single link of Gauss-Seidel. */
#include "core/error.h"
#include "solver/judge.h"
#include "methods/chain/chain.h"
#include "methods/pivoting/contact.h"

#include <math.h>
#include <string.h>

static const cs_method_option option[CS_CHAIN_OPTIONS] = {
    [CS_CHAIN_PATIENCE] =
        CS_COUNT_OPTION("patience", 400, 1,
                        "sweeps without halving the natural map after which the first method "
                        "yields to the next one; it doubles in every further round"),
    [CS_CHAIN_FACTOR_BYTES] = CS_NUMBER_OPTION(
        "factor_bytes", 256e6, 0, HUGE_VAL,
        "memory limit of the factor of Newton's method [bytes]; larger problems skip that method"),
};

enum { POINTS = 2 }; /* maximum earlier iterates that a link of sweeps keeps */

/* Evaluates the natural map at the start of the solve, which is the best iterate so far. */
static void judge_start(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    size_t bytes = sizeof(double) * (size_t)solver->problem->rows;

    /* Judge the start as links are judged: scaled if the tolerance is relative. */
    cs_state state = cs_state_of(solver);
    cs_evaluate(solver, &state);
    const cs_natural_map *map = cs_natural_map_of(&state);
    s->first = *map;
    s->start = solver->options.rtol > 0 ? map->scaled : map->impulse;
    s->best = s->start;

    /* Keep its impulses; an empty problem has none. */
    if (!bytes) return;
    memcpy(s->chain->start, solver->lambda, bytes);
    memcpy(s->chain->best, solver->lambda, bytes);
}

/* Runs direct solves from the start of the solve. They end if the first one needs more than a few pivots. */
static cs_status try_directly(cs_chain_solve *s)
{
    s->budget->pivots = CS_BRIEF_PIVOTS;
    cs_status status = cs_chain_run_direct(s, s->chain->start, CS_DIRECT_SOLVES);
    s->budget->pivots = 0;
    return status;
}

/* Whether the tolerance is so loose that sweeps alone may be fastest. A relative tolerance compares with a
 * scaled natural map; an absolute one is divided by the natural map at the start. */
static int is_loose(const cs_chain_solve *s)
{
    const cs_options *options = &s->solver->options;
    return (options->rtol > 0 ? options->rtol : options->atol / s->start) > CS_LOOSE;
}

/* Runs the sweeps before the direct method. They yield to it by the natural map, or after CS_FIRST_SWEEPS if
 * the stop rule is another measure. With a loose tolerance they go on until they stagnate. */
static cs_status sweep_first(cs_chain_solve *s)
{
    int loose = is_loose(s), judged = s->solver->stop == &cs_measure_natural_map;
    int64_t most = loose || judged ? s->max_iterations : CS_FIRST_SWEEPS;
    s->alternative = loose ? CS_NO_ALTERNATIVE : CS_DIRECT_FOLLOWS;
    cs_status status = cs_chain_run_sweeps(s, &cs_method_nesterov, most);
    s->alternative = CS_NEWTON_FOLLOWS;
    return status;
}

/* Whether all impulses (rows) are zero. */
static int is_zero(const double *impulses, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        if (impulses[i] != 0) return 0;
    return 1;
}

/* The direct method, before the first round. Without friction its first solve is the solution. With friction,
 * sweeps from a cold start come first, because they approach a solution sooner; a warm start is near one
 * already. The direct method is tried from the start of the solve with a few pivots. If these do not suffice,
 * it runs again with the friction bounds of the best iterate. */
static cs_status begin_directly(cs_chain_solve *s)
{
    cs_status status = cs_chain_prepare_direct(s);
    if (status || s->ended || s->chain->no_direct) return status;

    /* Frictionless problems need nothing else. */
    if (!s->chain->direct.coupled) return cs_chain_run_direct(s, s->chain->start, CS_DIRECT_SOLVES);

    /* A warm start: a brief try, then sweeps. A cold start: the other way round. If the brief try was not
     * enough, the method starts from the best iterate. */
    int warm = !is_zero(s->chain->start, s->solver->problem->rows);
    if (warm) status = try_directly(s);
    if (!status && !s->ended && !s->chain->no_direct) status = sweep_first(s);
    if (!status && !warm) status = try_directly(s);
    if (status || s->ended || !(warm || s->direct_is_cut)) return status;
    return cs_chain_run_direct(s, s->chain->best, CS_DIRECT_SOLVES);
}

/* Runs rounds of links until the tolerance is met, all iterations are made, or CS_FRUITLESS rounds in a row have
 * not halved the natural map. */
static cs_status iterate(cs_chain_solve *s)
{
    cs_status status = CS_OK;
    judge_start(s);
    if (cs_chain_begins_directly(s->solver)) status = begin_directly(s);
    else if (s->solver->packing.dtype == CS_F64) s->budget->first = &s->first;
    for (int fruitless = 0; fruitless < CS_FRUITLESS && !status && !s->ended;) {
        /* Sweeps, then Newton's method. */
        double before = s->best;
        status = cs_chain_run_sweeps(s, &cs_method_nesterov, s->max_iterations);
        int took_over = s->newton_takes_over;
        if (!status) status = cs_chain_run_newton(s);

        /* If sweeps have not stagnated, they go on. Newton's method now has a higher expected cost. */
        if (took_over) continue;

        /* The last link of the round; the next round is more patient. */
        if (!status) status = cs_chain_run_sweeps(s, &cs_method_nncg, s->max_iterations);
        int stuck = s->best > before / 2, last = fruitless + 1 >= CS_FRUITLESS;

        /* If the round was fruitless, interior-point steps, which need no good start. */
        if (!status && stuck) status = cs_chain_run_interior(s, last);
        fruitless = s->best > before / 2 ? fruitless + 1 : 0;
        s->patience = s->patience < CS_LONGEST / 2 ? 2 * s->patience : CS_LONGEST;
    }

    /* The chain gives up with the outcome of the last sweeps. */
    if (!status && !s->ended) s->result->outcome = s->sweeps_outcome;
    return status;
}

/* Returns the best iterate of all links, with the figures of the whole chain. */
static cs_status end_with_best(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    cs_result *result = s->result;
    int judged = cs_is_final(result->outcome);
    int settled = result->outcome == CS_CONVERGED || result->outcome == CS_INACCURATE;

    /* If the last link did not return the best iterate, restore and judge that one. Otherwise only the final
     * verdict may be missing: the floor, and whether there is a solution. */
    if (!settled && s->best < cs_chain_judgement(s)) {
        memcpy(solver->lambda, s->chain->best, sizeof(double) * (size_t)solver->problem->rows);
        cs_packing_put(&solver->packing, solver->lambda);
        cs_run run = cs_run_begin(solver, s->budget, NULL, s->error);
        cs_status status = cs_run_end_with(&run, result);
        if (status) return status;
    } else if (!judged) {
        double since = cs_check_begins(solver, s->budget);
        cs_state state = cs_state_of(solver);
        cs_settle(solver);
        cs_evaluate(solver, &state);
        cs_status status = cs_find_verdict(solver, s->budget, &state, result, s->error);
        cs_check_ends(solver, s->budget, since);
        if (status) return status;
    }

    /* Report the figures of the chain; `result->link` has those of each method. */
    if (result->outcome != CS_CONVERGED) result->best_iteration = s->best_number;
    solver->figure_value[CS_RESTARTS] = s->restarts;
    result->rollbacks = s->rollbacks;
    result->pivoting = NULL;
    result->link = s->chain->link;
    result->links = s->links;

    /* The seconds of the final verdict are added to the last link. */
    if (s->links > 0)
        s->chain->link[s->links - 1].seconds += cs_seconds(s->budget) - s->reported_seconds;
    return CS_OK;
}

/* Switches the solver back from the method of the last link to method="auto". */
static void switch_back(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    solver->method = &cs_method_auto;
    solver->own = s->chain;
    solver->options.max_iterations = s->max_iterations;
    s->budget->is_link = 0;
    s->budget->patience = 0;
    memcpy(solver->setting, s->setting, sizeof solver->setting);
}

/* The `solve` of method="auto". */
static cs_status solve_by_chain(cs_solver *solver, cs_budget *budget, cs_result *result,
                                cs_error *error)
{
    cs_chain *chain = solver->own;

    /* Begin with nothing judged, and with the user's patience. */
    budget->is_link = 1;
    cs_chain_solve s = {
        .solver = solver,
        .chain = chain,
        .budget = budget,
        .result = result,
        .error = error,
        .max_iterations = solver->options.max_iterations,
        .best = INFINITY,
        .patience = (int64_t)solver->setting[CS_CHAIN_PATIENCE],
    };
    memcpy(s.setting, solver->setting, sizeof s.setting);
    for (int i = 0; i < 3; i++) result->band[i] = NAN;

    /* Run the chain, or the one link that replaces it. */
    cs_status status = cs_chain_only_sweeps(solver)
                           ? cs_chain_run_link(&s, &cs_method_gauss_seidel, s.chain->start, NULL, 0,
                                               s.max_iterations)
                           : iterate(&s);

    /* Return the best iterate, with the budget as it was before. */
    switch_back(&s);
    budget->first = NULL;
    if (!status) status = end_with_best(&s);
    budget->made = 0;
    return status;
}

/* The `prepare` of method="auto": workspace of the chain, and of its sweeps. */
static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    (void)budget;
    cs_chain *chain = solver->own;

    /* Impulses of the best iterate and of the start. */
    chain->best = cs_arena_take(&solver->arena, solver->problem->rows, sizeof(double));
    chain->start = cs_arena_take(&solver->arena, solver->problem->rows, sizeof(double));
    if (cs_arena_failed(&solver->arena)) return cs_no_memory(error, "a chain of methods");
    chain->newton_step = NAN;

    /* The direct method is not used with the option `averaging`: in sweeps it averages impulses, in the direct
     * method friction bounds. */
    chain->no_direct =
        !cs_chain_can_use(solver, &cs_method_bpp) || !isnan(solver->options.averaging);
    if (cs_chain_only_sweeps(solver)) return CS_OK;

    /* Earlier iterates, and the scalars of whichever sweeps have more of them. */
    size_t scalars = cs_method_nesterov.steps->scalars;
    if (cs_method_nncg.steps->scalars > scalars) scalars = cs_method_nncg.steps->scalars;
    return cs_points_take(solver, POINTS, scalars, error);
}

/* The `release` of method="auto": only the direct method holds memory outside the arena, and may keep
 * factors. */
static void release(cs_solver *solver, int again)
{
    cs_chain *chain = solver->own;
    solver->own = &chain->direct;
    cs_pivoting_release(solver, again);
    solver->own = chain;
    *chain = (cs_chain){.direct = chain->direct};
}

const cs_method cs_method_auto = {
    .name = "auto",
    .summary = "a chain of methods: a direct solve where A allows it, sweeps with momentum, "
               "Newton's method, conjugate gradients",
    .about =
        "Each method yields to the next when it stagnates, that is when it no longer halves the "
        "natural map, and the next one starts from the best iterate of all. Nesterov's momentum "
        "over Gauss-Seidel comes first; then Newton's method, when sweeps stagnate and have cost "
        "two "
        "thirds of what it is predicted to cost from the size of its factor, or sooner: after a "
        "quarter of that cost if the scaled natural map is at 1e-2, else after 1.5 times it; then "
        "nonlinear conjugate gradients. The chain then begins again, "
        "with more patience; interior-point steps are tried once, after a round that has not "
        "halved the natural map. If A is certain to be positive definite, block pivoting comes "
        "first "
        "on frictionless problems. With friction, and compliance on every row, it runs after the "
        "sweeps have reached a scaled natural map of 1e-2, or after 120 of them. `info[\"links\"]` "
        "reports which methods ran and why each ended. Without a tolerance, in mixed precision "
        "and with r_factor='balanced' it is plain Gauss-Seidel.",
    .paper = "those of its methods",
    .solves = CS_SOLVES_AS_SWEEPS | CS_BIT(CS_SOLVES_MASS_RATIO),
    .figure = cs_restarts_figure,
    .figures = CS_RESTARTS_FIGURES,
    .option = option,
    .options = CS_CHAIN_OPTIONS,
    .stage = CS_SEQUENTIAL,
    .own = sizeof(cs_chain),
    .prepare = prepare,
    .release = release,
    .solve = solve_by_chain,
};
