/* method="auto": a chain of methods over one solver's operators, from the best iterate so far.
 *
 *     direct ──► sweeps with momentum ──► Newton ──► conjugate gradients ──► again, more patiently
 *     (bpp)      (nesterov)               (newton)   (nncg)
 *
 * A link hands over when the halving test of solver/watch.h fails: no halving of the scaled natural map
 * for as many sweeps as the link had made when it last halved it, and for a least number of them, which
 * doubles from round to round. Nothing is lost by that: the next link begins with the best iterate that
 * was judged. Links that this problem, or what was asked of sweeps, is not for are left out.
 *
 * The direct method comes first where factors of A are sure to exist and to be small: compliance on every
 * row, or no friction. What Newton's method costs is told by the size of its factor (cs_newton_size_of):
 * it waits until sweeps have cost as much as it will, or takes over sooner, after a quarter of that, if at
 * their pace the sweeps have more left to do than all of it. If that leads nowhere, sweeps go on, and it
 * has so much more to cost. No choice looks at a clock, so that iterates are the same on every machine
 * and from any number of threads.
 *
 * A solve with no tolerance has nothing to hand over by, and mixed precision and factors that follow
 * residuals are for plain sweeps: there it is Gauss-Seidel. */
#include "core/clock.h"
#include "core/error.h"
#include "solver/accelerate.h"
#include "solver/newton/system.h"

#include <math.h>
#include <string.h>

enum { PATIENCE, FACTOR_BYTES, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    [PATIENCE] =
        CS_COUNT_OPTION("patience", 300, 1,
                        "sweeps without halving the natural map after which the first link "
                        "hands over; twice as many in every further round"),
    [FACTOR_BYTES] = CS_NUMBER_OPTION("factor_bytes", 256e6, 0, HUGE_VAL,
                                      "most bytes of the factor of Newton's method, which larger "
                                      "problems do without"),
};

enum {
    DIRECT_ROWS = 4000,   /* of problems that are solved directly at once, at most */
    DIRECT_SOLVES = 60,   /* with renewed friction bounds, at most */
    NEWTON_STEPS = 20,    /* that a solution by Newton's method is expected to take; */
    NEWTON_PATIENCE = 16, /* steps without a halving, at first, */
    SOONER_PATIENCE = 48, /* and where it takes over sooner, further from the solution */
    LONGEST = 2000000000, /* patience that any link takes */
    FRUITLESS = 4,        /* rounds in a row without a halving, at most */
};
#define HARDLY 0.1 /* judgement of a better iterate over that of the first, at least */
#define STEPS_WORTH \
    1.5 /* cost of the expected Newton steps over that of the sweeps so far, at most */
#define CONJUGATE_RELAXATION 1.3 /* with which nncg takes the fewest sweeps */

/* Nanoseconds of one machine, of which only the ratios matter. A sweep: for each contact with three rows
 * and Jacobians, in an order for vectors or one by one as they stand; for a visit and a block of a given
 * A. A Newton step: for a multiplication of its factor, for an entry of it in the products of GMRES, for
 * a contact; for one where a given A is unsymmetric, so that GMRES takes many steps. */
static const double CONTACT = 24, CONTACT_ALONE = 38, VISIT = 14, BLOCK = 6;
static const double MULTIPLY = 0.1, ENTRY = 12, STEP = 1200, STEP_UNSYMMETRIC = 18000;
/* And where small systems are eliminated, without GMRES. */
static const double ELIMINATE = 0.4, STEP_ELIMINATED = 420;

extern const cs_method cs_method_auto, cs_method_bpp, cs_method_nesterov, cs_method_newton,
    cs_method_nncg, cs_method_gauss_seidel;

typedef struct cs_chain {
    cs_link link[CS_MAX_LINKS];
    double *best;  /* (rows): impulses */
    double *start; /* (rows): those that the solve began with */
    double newton; /* one step's cost in sweeps; infinite: not for this problem, NaN: not known */
    int built;     /* Newton's method has its workspace; */
    int no_direct; /* the direct method is not for this problem, or has failed */
} cs_chain;

/* A solve under way. */
typedef struct solve {
    cs_solver *solver;
    cs_chain *chain;
    const cs_control *control;
    cs_result *result;
    cs_error *error;
    double setting[CS_MAX_METHOD_OPTIONS]; /* of the chain's own options */
    int64_t most;                          /* iterations */
    double best;                           /* judgement of the best iterate, */
    double start;                          /* and of the first */
    int64_t best_number;
    double sweeps, steps; /* made so far, steps being Newton's */
    double told;          /* seconds of all links so far */
    int newton_is_due;    /* it pays, and is built */
    int sooner;       /* the last sweeps were left for Newton's method, which is expected sooner */
    int64_t patience; /* of this round */
    int restarts, rollbacks;
    cs_outcome verdict; /* of the last sweeps */
    int links, ended;
} solve;

/* ---- which links there are ------------------------------------------------------------------- */

/* Whether a link may be one of this solver's. What it says against it is of no interest. */
static int takes(const cs_solver *solver, const cs_method *method)
{
    cs_error error = {0};
    if (cs_check_needs(method, &solver->options, solver->problem, &error)) return 0;
    return !method->check ||
           !method->check(&solver->options, method->name, solver->problem, &error);
}

/* Plain sweeps are all that there is to do. */
static int only_sweeps(const cs_solver *solver)
{
    return solver->fixed_iterations || solver->packed.dtype == CS_MIXED ||
           cs_is_balanced(&solver->options);
}

static int is_compliant(const cs_block_group *group)
{
    for (int64_t i = 0; i < group->count * group->rows; i++)
        if (!group->compliance || !(group->compliance[i] > 0)) return 0;
    return 1;
}

/* Whether factors of A exist for sure and are small. */
static int begins_directly(const cs_solver *solver)
{
    const cs_problem *problem = solver->problem;
    if (solver->chain->no_direct || problem->rows > DIRECT_ROWS) return 0;
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
    const double contact = solver->schedule.natural ? CONTACT_ALONE : CONTACT;
    if (!problem->matrix) return contact * (double)problem->rows / 3;
    const int64_t *start = problem->matrix->start;
    return VISIT * (double)problem->blocks + BLOCK * (double)start[problem->matrix->blocks];
}

/* What one step of Newton's method costs, in sweeps. */
static cs_status weigh_newton(solve *s, cs_pulse *pulse)
{
    cs_chain *chain = s->chain;
    const cs_problem *problem = s->solver->problem;
    cs_newton_size size;
    if (!isnan(chain->newton)) return CS_OK;
    int known = !takes(s->solver, &cs_method_newton);
    cs_status status = known ? CS_OK : cs_newton_size_of(problem, pulse, &size, s->error);
    if (status) return status;
    chain->newton = INFINITY;
    if (known || 8 * size.entries > s->setting[FACTOR_BYTES]) return CS_OK;
    int unsymmetric = problem->matrix && problem->matrix->asymmetry > 0;
    double cost = size.elimination > 0
                      ? ELIMINATE * size.elimination + STEP_ELIMINATED * (double)problem->blocks
                      : MULTIPLY * size.multiplications + ENTRY * size.entries +
                            (unsymmetric ? STEP_UNSYMMETRIC : STEP) * (double)problem->blocks;
    chain->newton = cost / cost_of_sweep(s->solver);
    return CS_OK;
}

/* What a solution by Newton's method is expected to cost, in sweeps. */
static double newton_cost(const solve *s) { return (s->steps + NEWTON_STEPS) * s->chain->newton; }

/* The same, asked by sweeps. */
static cs_status rival_of_sweeps(void *context, cs_pulse *pulse, double *sweeps, cs_error *error)
{
    solve *s = context;
    cs_status status = weigh_newton(s, pulse);
    (void)error; /* that of the solve */
    *sweeps = newton_cost(s);
    return status;
}

/* ---- one link -------------------------------------------------------------------------------- */

static const char *why_of(cs_outcome outcome)
{
    switch (outcome) {
    case CS_CONVERGED: return "the tolerance is met";
    case CS_STALLED: return "the natural map stands still";
    case CS_WANDERING: return "the natural map goes up and down";
    case CS_DIVERGING: return "the residual grows, whatever R is";
    case CS_STOPPED: return "stopped by the callback";
    case CS_MAX_SECONDS: return "max_seconds have passed";
    default: return "the iterations that it was given are made";
    }
}

static double judgement(const solve *s)
{
    return s->solver->options.rtol > 0 ? s->result->natural_map_scaled : s->result->natural_map;
}

static void note(solve *s, const char *method, const char *why)
{
    cs_result *result = s->result;
    int last = s->links == CS_MAX_LINKS;
    cs_link *link = &s->chain->link[s->links - last];
    if (!last) *link = (cs_link){.method = method, .first = s->solver->made, .islands = 1};
    link->iterations += result->iterations - s->solver->made;
    link->seconds += result->seconds - s->told;
    link->reached = fmin(s->best, judgement(s));
    link->outcome = result->outcome;
    link->why = why;
    s->told = result->seconds;
    s->links += !last;
}

/* Keeps the iterate that a link has handed out, if it is the best. */
static void keep_best(solve *s)
{
    cs_solver *solver = s->solver;
    double here = judgement(s);
    if (s->links > 1 && !(here < s->best)) return;
    s->best = here;
    s->best_number = s->result->best_iteration;
    memcpy(s->chain->best, solver->lambda, sizeof(double) * (size_t)solver->problem->rows);
}

/* The best iterate; where that is hardly better than what the solve began with, this again: what has led
 * nowhere may be far from every solution. The row of the handed over iterate is written anew. */
static void begin_with_best(solve *s)
{
    cs_solver *solver = s->solver;
    int hardly = s->best > HARDLY * s->start && !s->sooner;
    const double *from = hardly ? s->chain->start : s->chain->best;
    if (!s->links) return;
    memcpy(solver->lambda, from, sizeof(double) * (size_t)solver->problem->rows);
    cs_put_impulses(&solver->packed, solver->lambda);
    solver->history.rows--;
}

/* Makes the solver one of that method, with these own options, for as many iterations. */
static cs_status become(solve *s, const cs_method *method, const cs_setting *own, int count,
                        int64_t iterations)
{
    cs_solver *solver = s->solver;
    int64_t left = s->most - solver->made;
    solver->method = method;
    solver->options.max_iterations = solver->made + (iterations < left ? iterations : left);
    return cs_read_settings(method, own, count, solver->setting, s->error);
}

static void become_chain(solve *s)
{
    cs_solver *solver = s->solver;
    solver->method = &cs_method_auto;
    solver->options.max_iterations = s->most;
    solver->patience = 0;
    memcpy(solver->setting, s->setting, sizeof solver->setting);
}

/* After a link: its figures into the chain's. Whether the solve goes on. */
static int finish(solve *s, const cs_method *method, const char *why)
{
    cs_solver *solver = s->solver;
    cs_result *result = s->result;
    note(s, method->name, why ? why : why_of(result->outcome));
    keep_best(s);
    s->restarts += result->restarts;
    s->rollbacks += result->rollbacks;
    solver->made = result->iterations;
    solver->spent = result->seconds;
    s->ended = result->outcome == CS_CONVERGED || result->outcome == CS_STOPPED ||
               result->outcome == CS_MAX_SECONDS || solver->made >= s->most;
    return !s->ended;
}

static cs_status run_link(solve *s, const cs_method *method, const cs_setting *own, int count,
                          int64_t iterations)
{
    cs_solver *solver = s->solver;
    begin_with_best(s);
    cs_status status = become(s, method, own, count, iterations);
    s->result->restarts = s->result->rollbacks = 0;
    if (!status) status = method->solve(solver, s->control, s->result, s->error);
    s->sooner = solver->outrun;
    solver->outrun = 0;
    if (!status) finish(s, method, s->sooner ? "Newton's method is expected sooner" : NULL);
    return status;
}

/* Sweeps with momentum, or with conjugate directions and longer steps. */
static cs_status run_sweeps(solve *s, const cs_method *method)
{
    cs_solver *solver = s->solver;
    cs_setting own[] = {{.name = "patience", .number = (double)s->patience}};
    int longer = method == &cs_method_nncg && solver->options.relaxation == 1 &&
                 !cs_solves_blocks(&solver->options);
    int64_t before = solver->made;
    if (s->ended) return CS_OK;
    if (longer) cs_scale_steps(&solver->packed, CONJUGATE_RELAXATION);
    solver->patience = 1;
    int rivals = method == &cs_method_nesterov && solver->stop == cs_measure_find("natural_map");
    solver->rival = rivals ? rival_of_sweeps : NULL;
    solver->rival_context = s;
    cs_status status = run_link(s, method, own, 1, s->most);
    solver->rival = NULL;
    s->sweeps += (double)(solver->made - before);
    s->verdict = s->result->outcome;
    if (longer || solver->steps_scale != 1) cs_pack_steps(&solver->packed, solver->r, solver->step);
    solver->steps_scale = 1;
    return status;
}

/* Whether it pays, and what it works in, which is built once. */
static cs_status lay_out_newton(solve *s, const cs_setting *own, int count, cs_pulse *pulse)
{
    cs_solver *solver = s->solver;
    cs_status status = weigh_newton(s, pulse);
    if (status) return status;
    if (!s->sooner && newton_cost(s) > STEPS_WORTH * s->sweeps) return CS_OK;
    s->newton_is_due = isfinite(s->chain->newton);
    if (!s->newton_is_due || s->chain->built) return CS_OK;
    solver->pulse = pulse;
    status = become(s, &cs_method_newton, own, count, s->most);
    if (!status) status = cs_method_newton.build(solver, s->error);
    solver->pulse = NULL;
    s->chain->built = !status;
    return status;
}

/* The same, heard meanwhile. */
static cs_status prepare_newton(solve *s, const cs_setting *own, int count)
{
    double start = cs_clock();
    cs_run run = cs_run_begin(s->solver, s->control);
    cs_pulse pulse = {cs_run_leaves_off, &run, 0};
    s->newton_is_due = 0;
    cs_status status = lay_out_newton(s, own, count, &pulse);
    cs_restore_denormals(run.mode);
    s->solver->spent += cs_clock() - start;
    if (status != CS_INTERRUPTED || !run.stopped) return status;
    *s->error = (cs_error){0};
    s->result->outcome = run.late ? CS_MAX_SECONDS : CS_STOPPED;
    s->ended = 1;
    return CS_OK;
}

static cs_status run_newton(solve *s)
{
    cs_solver *solver = s->solver;
    double rounds = (double)s->patience / s->setting[PATIENCE];
    double steps = floor((s->sooner ? SOONER_PATIENCE : NEWTON_PATIENCE) * rounds);
    cs_setting own[] = {{.name = "patience", .number = fmin(steps, LONGEST)},
                        {.name = "start", .number = 0},
                        {.name = "factor_bytes", .number = s->setting[FACTOR_BYTES]}};
    int64_t before = solver->made;
    if (s->ended) return CS_OK;
    cs_status status = prepare_newton(s, own, 3);
    int due = !status && !s->ended && s->newton_is_due;
    if (due) status = run_link(s, &cs_method_newton, own, 3, s->most);
    s->steps += (double)(solver->made - before);
    if (status != CS_UNSUPPORTED) return status;
    /* Sets or a size that it does not take. */
    s->chain->newton = INFINITY;
    *s->error = (cs_error){0};
    return CS_OK;
}

/* The direct method; with a singular A it fails for good. */
static cs_status run_direct(solve *s)
{
    cs_solver *solver = s->solver;
    cs_chain *chain = s->chain;
    cs_status status = CS_OK;
    int64_t rows = solver->history.rows;
    if (s->ended || chain->no_direct) return CS_OK;
    if (!solver->pivoting) {
        double start = cs_clock();
        status = become(s, &cs_method_bpp, NULL, 0, DIRECT_SOLVES);
        if (!status) cs_method_bpp.adopt(&cs_method_bpp, solver->setting, &solver->options);
        if (!status) status = cs_method_bpp.prepare(solver, s->control, s->error);
        if (!status) solver->spent += cs_clock() - start;
    }
    if (!status) status = run_link(s, &cs_method_bpp, NULL, 0, DIRECT_SOLVES);
    if (status != CS_UNSUPPORTED) return status;
    chain->no_direct = 1;
    *s->error = (cs_error){0};
    solver->history.rows = rows;
    return CS_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* What the solve begins with, judged. */
static void judge_start(solve *s)
{
    cs_solver *solver = s->solver;
    size_t bytes = sizeof(double) * (size_t)solver->problem->rows;
    cs_state state = cs_state_of(solver);
    cs_residual_velocity(solver->problem, solver->lambda, solver->b, solver->velocity, solver->xi);
    const cs_natural_map *map = cs_natural_map_of(&state);
    s->start = solver->options.rtol > 0 ? map->scaled : map->impulse;
    if (bytes) memcpy(s->chain->start, solver->lambda, bytes);
}

/* Rounds until the tolerance is met, the iterations are made, or several rounds have brought nothing. */
static cs_status iterate(solve *s)
{
    cs_status status = CS_OK;
    judge_start(s);
    if (begins_directly(s->solver)) status = run_direct(s);
    for (int fruitless = 0; fruitless < FRUITLESS && !status && !s->ended;) {
        double before = s->best;
        status = run_sweeps(s, &cs_method_nesterov);
        int sooner = s->sooner;
        if (!status) status = run_newton(s);
        if (sooner) continue; /* with more to cost for Newton's method */
        if (!status) status = run_sweeps(s, &cs_method_nncg);
        if (!status && s->solver->problem->rows <= DIRECT_ROWS) status = run_direct(s);
        fruitless = s->best > before / 2 ? fruitless + 1 : 0;
        s->patience = s->patience < LONGEST / 2 ? 2 * s->patience : LONGEST;
    }
    /* Given up: of a direct link behind the sweeps only its few solves were at an end. */
    if (!status && !s->ended) s->result->outcome = s->verdict;
    return status;
}

/* The best iterate of all links is what is handed out. */
static cs_status end_with_best(solve *s)
{
    cs_solver *solver = s->solver;
    cs_result *result = s->result;
    if (result->outcome != CS_CONVERGED && s->best < judgement(s)) {
        memcpy(solver->lambda, s->chain->best, sizeof(double) * (size_t)solver->problem->rows);
        cs_put_impulses(&solver->packed, solver->lambda);
        cs_run run = cs_run_begin(solver, s->control);
        cs_status status = cs_run_end(&run, CS_OK, 1, result, s->error);
        if (status) return status;
    }
    if (result->outcome != CS_CONVERGED) result->best_iteration = s->best_number;
    result->restarts = s->restarts;
    result->rollbacks = s->rollbacks;
    result->pivoting = NULL; /* links tell */
    result->link = s->chain->link;
    result->links = s->links;
    return CS_OK;
}

static cs_status solve_by_chain(cs_solver *solver, const cs_control *control, cs_result *result,
                                cs_error *error)
{
    solve s = {
        .solver = solver,
        .chain = solver->chain,
        .control = control,
        .result = result,
        .error = error,
        .most = solver->options.max_iterations,
        .best = INFINITY,
        .patience = (int64_t)solver->setting[PATIENCE],
    };
    memcpy(s.setting, solver->setting, sizeof s.setting);
    for (int i = 0; i < 3; i++) result->band[i] = NAN;
    cs_status status =
        only_sweeps(solver) ? run_link(&s, &cs_method_gauss_seidel, NULL, 0, s.most) : iterate(&s);
    become_chain(&s);
    if (!status) status = end_with_best(&s);
    solver->made = 0;
    solver->spent = 0;
    return status;
}

cs_status cs_chain_take(cs_solver *solver, cs_error *error)
{
    if (solver->method != &cs_method_auto) return CS_OK;
    cs_chain *chain = solver->chain = cs_arena_take(&solver->arena, 1, sizeof *chain);
    if (!chain) return cs_fail(error, CS_NO_MEMORY, "out of memory for a chain of methods");
    chain->best = cs_arena_take(&solver->arena, solver->problem->rows, sizeof(double));
    chain->start = cs_arena_take(&solver->arena, solver->problem->rows, sizeof(double));
    if (!chain->best || !chain->start)
        return cs_fail(error, CS_NO_MEMORY, "out of memory for a chain of methods");
    chain->newton = NAN;
    return CS_OK;
}

static cs_status build(cs_solver *solver, cs_error *error)
{
    static const cs_method *const links[] = {&cs_method_nesterov, &cs_method_nncg,
                                             &cs_method_newton};
    cs_status status = cs_chain_take(solver, error);
    if (status) return status;
    /* Sweeps' averaging is of impulses, that of the direct method of friction bounds. */
    solver->chain->no_direct = !takes(solver, &cs_method_bpp) || !isnan(solver->options.averaging);
    if (only_sweeps(solver)) return CS_OK;
    int points = 0;
    size_t memory = 0;
    for (int i = 0; i < (int)(sizeof links / sizeof *links); i++) {
        const cs_steps *steps = links[i]->steps;
        int count = links[i] == &cs_method_nncg ? 2 : steps->points(solver);
        if (count > points) points = count;
        if (steps->memory > memory) memory = steps->memory;
    }
    return cs_points_take_most(solver, points, memory, error);
}

/* Whether the part came to that method before its i-th link. */
static int came_before(const cs_result *part, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(part->link[j].method, part->link[i].method) == 0) return 1;
    return 0;
}

void cs_chain_add(cs_solver *whole, const cs_result *part, cs_result *result)
{
    cs_link *all = whole->chain->link;
    for (int i = 0; i < part->links; i++) {
        const cs_link *more = &part->link[i];
        int at = 0;
        while (at < result->links && strcmp(all[at].method, more->method) != 0) at++;
        if (at == result->links) {
            all[result->links++] = *more;
            continue;
        }
        all[at].iterations += more->iterations;
        all[at].seconds += more->seconds;
        all[at].islands += !came_before(part, i);
        all[at].reached = fmax(all[at].reached, more->reached);
        if (cs_outcome_is_worse(more->outcome, all[at].outcome)) {
            all[at].outcome = more->outcome;
            all[at].why = more->why;
        }
    }
    result->link = all;
}

const cs_method cs_method_auto = {
    .name = "auto",
    .summary = "a chain: directly where that is sure, sweeps with momentum, Newton's method, "
               "conjugate gradients",
    .about =
        "Each link begins with the best iterate so far and hands over when it no longer "
        "halves the natural map: Nesterov's momentum over Gauss-Seidel; Newton's method once "
        "sweeps have cost as much as it will, by the size of its factor, or sooner where their "
        "pace leaves them more than that to do; nonlinear conjugate gradients with relaxation 1.3; "
        "and again, more patiently. Block pivoting comes first "
        "where A is sure to be positive definite, by compliance on every row or for want of "
        "friction. `info[\"links\"]` tells what was done and why. Without a tolerance, in mixed "
        "precision and with r_factor='balanced' it is plain Gauss-Seidel.",
    .paper = "of the methods that it is made of",
    .solves = CS_SOLVES_AS_SWEEPS | CS_BIT(CS_SOLVES_MASS_RATIO),
    .option = option,
    .options = OPTIONS,
    .stage = CS_SEQUENTIAL,
    .build = build,
    .solve = solve_by_chain,
};
