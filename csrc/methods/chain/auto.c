/* method="auto": a chain of methods over one solver's operators; its links are in methods/chain/.
 *
 *     direct ──► sweeps with momentum ──► direct ──► again ┬─► sweeps with momentum  (nesterov)
 *     (bpp)      (nesterov)               (bpp)       and  ├─► Newton                (newton)
 *                                                   again, ├─► conjugate gradients   (nncg)
 *                                          more patiently  └─► direct                (bpp)
 *
 * Sweeps hand over when the halving test of solver/stagnation.h fails: no halving of the scaled natural map for
 * as many sweeps as the link had made when it last halved it, and for a least number of them, which
 * doubles from round to round, and is half of that for those that have not found the best iterate. Each of
 * the two kinds of sweeps goes its own way from the start, and goes on where it was left as if it had not
 * been: where solutions are found by luck, after long wandering, the chain finds what either would. A kind
 * first tries from the best iterate where others have come ten times nearer, or where that is close.
 *
 * The direct method solves what has factors of A that are sure to exist and to be small: compliance on every
 * row, or no friction. Without friction it comes first. With friction it has one factor before all else, where
 * that costs no more than ten sweeps, or from a warm start some solves, where its first index set is found in
 * two steps. Then it waits for sweeps to bring the scaled natural map to a hundredth, or for 120 of them,
 * unless they are about to arrive. After them it sets out from the start, if it has not yet and its index set
 * is found in two steps, else from the friction bounds of the best iterate, which leave it far fewer to make.
 *
 * What Newton's method costs is told by the size of its factor (cs_newton_size_of). It waits until sweeps
 * have cost as much as it will. It takes over sooner, after a quarter of that, if it is cheap, sweeps at their
 * pace have more left to do than all of it, and the scaled natural map is down to a hundredth, or sweeps have
 * cost half as much again: what it finds on its way is worth little before it arrives. If that leads nowhere,
 * it has so much more to cost. No choice looks at a clock, so that iterates are the same on every machine and
 * from any number of threads.
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
    NO_PIVOTS = -1,   /* of a direct solve before all else, */
    BRIEF_PIVOTS = 2, /* and of one that does without what sweeps have found */
};
#define LOOSE 1e-4 /* tolerance for which sweeps may do, over what the solve begins with */
#define NEAR 0.1   /* scaled natural map from which the direct method takes friction bounds */

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

/* Direct solves from the start whose first one is left after so many pivots. */
static cs_status try_directly(cs_chain_solve *s, int pivots, int solves)
{
    s->budget->pivots = pivots;
    cs_status status = cs_chain_run_direct(s, s->chain->start, solves);
    s->budget->pivots = 0;
    return status;
}

/* Whether so little is asked for that sweeps may do. */
static int is_loose(const cs_chain_solve *s)
{
    const cs_options *options = &s->solver->options;
    return (options->rtol > 0 ? options->rtol : options->atol / s->start) > LOOSE;
}

/* Sweeps until the direct method is to follow. Other measures than the natural map have no pace. */
static cs_status sweep_first(cs_chain_solve *s)
{
    int loose = is_loose(s), paced = s->solver->stop == cs_measure_find("natural_map");
    s->follows = loose ? CS_NO_ALTERNATIVE : CS_DIRECT_FOLLOWS;
    cs_status status =
        cs_chain_run_sweeps(s, CS_WITH_MOMENTUM, loose || paced ? s->most : CS_FIRST_SWEEPS);
    s->follows = CS_NEWTON_FOLLOWS;
    return status;
}

static int is_zero(const double *impulses, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        if (impulses[i] != 0) return 0;
    return 1;
}

/* Before sweeps: a warm start is near a solution, so that the direct method may have few steps to make. From
 * nothing it has a single factor, where that is cheap. Returns whether it was tried. */
static int begins_before_sweeps(cs_chain_solve *s, cs_status *status)
{
    int warm = !is_zero(s->chain->start, s->solver->problem->rows);
    if (warm && !is_loose(s)) *status = try_directly(s, BRIEF_PIVOTS, CS_DIRECT_SOLVES);
    else if (cs_chain_is_brief(s)) *status = try_directly(s, NO_PIVOTS, 1);
    else return 0;
    return 1;
}

/* The direct method first. Without friction it ends with its first solve. Else briefly; then sweeps, which know
 * sooner what is near a solution; and it again, from the start where it has not been tried there and its index
 * set is found in a step or two, else with the friction bounds of the best iterate. */
static cs_status begin_directly(cs_chain_solve *s)
{
    cs_status status = cs_chain_prepare_direct(s);
    if (status || s->ended || s->chain->no_direct) return status;
    if (!s->chain->direct.coupled) return cs_chain_run_direct(s, s->chain->start, CS_DIRECT_SOLVES);
    int tried = begins_before_sweeps(s, &status);
    if (status || s->ended || s->chain->no_direct) return status;
    status = sweep_first(s);
    int near = s->result->natural_map_scaled <= NEAR;
    if (!status && !tried) status = try_directly(s, BRIEF_PIVOTS, CS_DIRECT_SOLVES);
    if (status || s->ended || !(tried || s->too_long)) return status;
    return cs_chain_run_direct(s, near ? s->chain->best : s->chain->start, CS_DIRECT_SOLVES);
}

/* Rounds until the tolerance is met, the iterations are made, or several rounds have brought nothing. */
static cs_status iterate(cs_chain_solve *s)
{
    cs_status status = CS_OK;
    judge_start(s);
    if (cs_chain_begins_directly(s->solver)) status = begin_directly(s);
    for (int fruitless = 0; fruitless < FRUITLESS && !status && !s->ended;) {
        double before = s->best;
        status = cs_chain_run_sweeps(s, CS_WITH_MOMENTUM, s->most);
        int sooner = s->sooner;
        if (!status) status = cs_chain_run_newton(s);
        if (sooner) continue; /* with more to cost for Newton's method */
        if (!status) status = cs_chain_run_sweeps(s, CS_WITH_DIRECTIONS, s->most);
        if (!status && s->solver->problem->rows <= CS_DIRECT_ROWS)
            status = cs_chain_run_direct(s, cs_chain_best_or_start(s), CS_DIRECT_SOLVES);
        fruitless = s->best > before / 2 ? fruitless + 1 : 0;
        s->patience = s->patience < CS_LONGEST / 2 ? 2 * s->patience : CS_LONGEST;
    }
    /* Given up: of a direct link behind the sweeps only its few solves were at an end. */
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
        .own = {INFINITY, INFINITY},
        .adopted = {INFINITY, INFINITY},
        .tried = INFINITY,
    };
    memcpy(s.setting, solver->setting, sizeof s.setting);
    for (int kind = 0; kind < CS_KINDS; kind++) chain->checkpoint[kind].made = 0;
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
    return cs_chain_take_checkpoints(solver, error);
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
        "natural map. Nesterov's momentum over Gauss-Seidel comes first; then Newton's method, "
        "once the sweeps have cost as much as Newton's method is predicted to cost from the size "
        "of its factor, or sooner if the scaled natural map is at 1e-2 and the sweeps would take "
        "longer than that at their convergence rate; then nonlinear conjugate gradients with "
        "relaxation 1.3. The chain then begins again, with more patience. Both kinds of sweeps "
        "start from the initial impulses and later resume from their checkpoints; they start from "
        "the best iterate instead if that is far better, or close to a solution. If A is certain "
        "to be positive definite, block pivoting comes first on frictionless problems. With "
        "friction, and compliance on every row, it tries one factor first if that is cheap, and "
        "runs again after the sweeps have reached a scaled natural map of 1e-2, or after 120 of "
        "them. `info[\"links\"]` reports which methods ran and why each ended. Without a "
        "tolerance, in mixed precision and with r_factor='balanced' it is plain Gauss-Seidel.",
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
