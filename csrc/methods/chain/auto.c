/* method="auto": a chain of methods over one solver's operators; its links are in methods/chain/.
 *
 *     direct ──► sweeps with momentum ──► direct ──► again ┬─► sweeps with momentum   (nesterov)
 *     (bpp)      (nesterov)               (bpp)       and  ├─► Newton                 (newton)
 *                                                   again, └─► conjugate gradients    (nncg)
 *                                          more patiently
 *
 * Every link starts from the best iterate of all. Sweeps yield when the halving test of solver/stagnation.h
 * fails: they have not halved the scaled natural map for as many sweeps as the link had made when it last
 * halved it, and for a least number of them, which doubles from round to round.
 *
 * Newton's method follows if twenty of its steps are expected to cost at most 1.5 times what sweeps have cost, by
 * the size of its factor (cs_newton_size_of). If a step is dear and no solution is near, it waits for six times as
 * many sweeps, and makes at most sixty steps. It takes over before sweeps stagnate once these have cost 1.5 times
 * what it will, or a quarter of what it will where the scaled natural map is down to a hundredth: what it finds on its way
 * is worth little before it arrives. If that leads nowhere, it has so much more to cost.
 *
 * The direct method solves what has factors of A that are sure to exist and to be small: compliance on every
 * row, or no friction. Without friction it comes first, and also from a warm start if its first index set is
 * found in two steps. Otherwise it waits for sweeps to bring the scaled natural map to a hundredth, or for 120 of
 * them, or with a loose tolerance until they stagnate; then it is tried from the start, and if its index set takes
 * more than two steps it sets out from the friction bounds of the best iterate, which leave it far fewer to make.
 *
 * No choice looks at a clock, so that iterates are the same on every machine and from any number of threads.
 * What each rule is worth is measured by benchmarks/convergence/ablations.py: rules that did not pay beyond
 * luck are gone.
 *
 * A solve with no tolerance has nothing to hand over by, and mixed precision and factors that follow
 * residuals are for plain sweeps: there it is Gauss-Seidel. */
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

enum {
    FRUITLESS = 6,    /* rounds in a row without a halving, at most */
    BRIEF_PIVOTS = 2, /* of a direct solve that does without what sweeps have found */
    POINTS = 2,       /* earlier iterates, at most, that a link of sweeps keeps */
};
#define LOOSE 1e-4 /* tolerance over what the solve begins with, above which sweeps may do */

/* What the solve begins with, judged. */
static void judge_start(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    size_t bytes = sizeof(double) * (size_t)solver->problem->rows;
    cs_state state = cs_state_of(solver);
    cs_evaluate(solver, &state);
    const cs_natural_map *map = cs_natural_map_of(&state);
    s->start = solver->options.rtol > 0 ? map->scaled : map->impulse;
    s->best = s->start;
    if (!bytes) return;
    memcpy(s->chain->start, solver->lambda, bytes);
    memcpy(s->chain->best, solver->lambda, bytes);
}

/* Direct solves from the start, which end if the first one takes more than a few pivots. */
static cs_status try_directly(cs_chain_solve *s)
{
    s->budget->pivots = BRIEF_PIVOTS;
    cs_status status = cs_chain_run_direct(s, s->chain->start, CS_DIRECT_SOLVES);
    s->budget->pivots = 0;
    return status;
}

/* Whether the tolerance is so loose that sweeps may do. */
static int is_loose(const cs_chain_solve *s)
{
    const cs_options *options = &s->solver->options;
    return (options->rtol > 0 ? options->rtol : options->atol / s->start) > LOOSE;
}

/* Sweeps until the direct method is to follow: by the natural map, or after a number of them where the stop
 * rule is another measure. With a loose tolerance it follows only when they stagnate. */
static cs_status sweep_first(cs_chain_solve *s)
{
    int loose = is_loose(s), judged = s->solver->stop == cs_measure_find("natural_map");
    int64_t most = loose || judged ? s->most : CS_FIRST_SWEEPS;
    s->follows = loose ? CS_NO_ALTERNATIVE : CS_DIRECT_FOLLOWS;
    cs_status status = cs_chain_run_sweeps(s, &cs_method_nesterov, most);
    s->follows = CS_NEWTON_FOLLOWS;
    return status;
}

static int is_zero(const double *impulses, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        if (impulses[i] != 0) return 0;
    return 1;
}

/* The direct method first. Without friction it ends with its first solve. With friction sweeps come first,
 * because they know sooner what is near a solution; but a warm start is near one already. The direct method is
 * tried from the start, in a few pivots; if these do not suffice, with the friction bounds of the best iterate. */
static cs_status begin_directly(cs_chain_solve *s)
{
    cs_status status = cs_chain_prepare_direct(s);
    if (status || s->ended || s->chain->no_direct) return status;
    if (!s->chain->direct.coupled) return cs_chain_run_direct(s, s->chain->start, CS_DIRECT_SOLVES);

    int warm = !is_zero(s->chain->start, s->solver->problem->rows);
    if (warm) status = try_directly(s);
    if (!status && !s->ended && !s->chain->no_direct) status = sweep_first(s);
    if (!status && !warm) status = try_directly(s);
    if (status || s->ended || !(warm || s->too_long)) return status;
    return cs_chain_run_direct(s, s->chain->best, CS_DIRECT_SOLVES);
}

/* Rounds until the tolerance is met, the iterations are made, or several rounds have brought nothing. */
static cs_status iterate(cs_chain_solve *s)
{
    cs_status status = CS_OK;
    judge_start(s);
    if (cs_chain_begins_directly(s->solver)) status = begin_directly(s);
    for (int fruitless = 0; fruitless < FRUITLESS && !status && !s->ended;) {
        double before = s->best;
        status = cs_chain_run_sweeps(s, &cs_method_nesterov, s->most);
        int sooner = s->sooner;
        if (!status) status = cs_chain_run_newton(s);
        if (sooner) continue; /* with more to cost for Newton's method */
        if (!status) status = cs_chain_run_sweeps(s, &cs_method_nncg, s->most);
        fruitless = s->best > before / 2 ? fruitless + 1 : 0;
        s->patience = s->patience < CS_LONGEST / 2 ? 2 * s->patience : CS_LONGEST;
    }
    /* Given up: the outcome is that of the last sweeps. */
    if (!status && !s->ended) s->result->outcome = s->verdict;
    return status;
}

/* The best iterate of all links is what is handed out. */
static cs_status end_with_best(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    cs_result *result = s->result;
    int judged = cs_is_final(result->outcome);
    int settled = result->outcome == CS_CONVERGED || result->outcome == CS_INACCURATE;
    if (!settled && s->best < cs_chain_judgement(s)) {
        memcpy(solver->lambda, s->chain->best, sizeof(double) * (size_t)solver->problem->rows);
        cs_packing_put(&solver->packing, solver->lambda);
        cs_run run = cs_run_begin(solver, s->budget, NULL, s->error);
        cs_status status = cs_run_end_with(&run, result);
        if (status) return status;
    } else if (!judged) {
        cs_state state = cs_state_of(solver);
        cs_settle(solver);
        cs_evaluate(solver, &state);
        cs_status status = cs_find_verdict(solver, s->budget, &state, result, s->error);
        if (status) return status;
    }
    if (result->outcome != CS_CONVERGED) result->best_iteration = s->best_number;
    result->restarts = s->restarts;
    result->rollbacks = s->rollbacks;
    result->pivoting = NULL; /* links tell */
    result->link = s->chain->link;
    result->links = s->links;

    /* The verdict on the whole counts to the last link. */
    double told = 0;
    for (int i = 0; i < s->links; i++) told += s->chain->link[i].seconds;
    if (s->links > 0) s->chain->link[s->links - 1].seconds += result->seconds - told;
    return CS_OK;
}

static void become_chain(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    solver->method = &cs_method_auto;
    solver->own = s->chain;
    solver->options.max_iterations = s->most;
    s->budget->is_link = 0;
    s->budget->patience = 0;
    memcpy(solver->setting, s->setting, sizeof solver->setting);
}

static cs_status solve_by_chain(cs_solver *solver, cs_budget *budget, cs_result *result,
                                cs_error *error)
{
    cs_chain *chain = solver->own;
    budget->is_link = 1;
    cs_chain_solve s = {
        .solver = solver,
        .chain = chain,
        .budget = budget,
        .result = result,
        .error = error,
        .most = solver->options.max_iterations,
        .best = INFINITY,
        .patience = (int64_t)solver->setting[CS_CHAIN_PATIENCE],
    };
    memcpy(s.setting, solver->setting, sizeof s.setting);
    for (int i = 0; i < 3; i++) result->band[i] = NAN;
    cs_status status =
        cs_chain_only_sweeps(solver)
            ? cs_chain_run_link(&s, &cs_method_gauss_seidel, s.chain->start, NULL, 0, s.most)
            : iterate(&s);
    become_chain(&s);
    if (!status) status = end_with_best(&s);
    budget->made = 0;
    budget->spent = 0;
    return status;
}

static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    (void)budget;
    cs_chain *chain = solver->own;
    chain->best = cs_arena_take(&solver->arena, solver->problem->rows, sizeof(double));
    chain->start = cs_arena_take(&solver->arena, solver->problem->rows, sizeof(double));
    if (cs_arena_failed(&solver->arena)) return cs_no_memory(error, "a chain of methods");
    chain->newton_step = NAN;

    /* Sweeps' averaging is of impulses, that of the direct method of friction bounds. */
    chain->no_direct = !cs_chain_takes(solver, &cs_method_bpp) || !isnan(solver->options.averaging);
    if (cs_chain_only_sweeps(solver)) return CS_OK;
    size_t scalars = cs_method_nesterov.steps->scalars;
    if (cs_method_nncg.steps->scalars > scalars) scalars = cs_method_nncg.steps->scalars;
    return cs_points_take(solver, POINTS, scalars, error);
}

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
        "with more patience. If A is certain to be positive definite, block pivoting comes first "
        "on frictionless problems. With friction, and compliance on every row, it runs after the "
        "sweeps have reached a scaled natural map of 1e-2, or after 120 of them. `info[\"links\"]` "
        "reports which methods ran and why each ended. Without a tolerance, in mixed precision "
        "and with r_factor='balanced' it is plain Gauss-Seidel.",
    .paper = "those of its methods",
    .solves = CS_SOLVES_AS_SWEEPS | CS_BIT(CS_SOLVES_MASS_RATIO),
    .figures = CS_FIGURE_RESTARTS,
    .option = option,
    .options = CS_CHAIN_OPTIONS,
    .stage = CS_SEQUENTIAL,
    .own = sizeof(cs_chain),
    .prepare = prepare,
    .release = release,
    .solve = solve_by_chain,
};
