/* The judgement of a solve (solver/judge.h). */
#include "solver/judge.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/loop.h"
#include "solver/steps/part_sums.h"
#include "solver/there.h"

#include <math.h>
#include <string.h>

enum {
    FIRST_RAY = 10, /* iterations before the first test; the next ones follow at 20, 40 ... */
    LEAST_REFINEMENTS = 5,  /* a direction after k iterations is refined by k / 10 steps, */
    MOST_REFINEMENTS = 100, /* within these bounds */
    DRIVEN = 4              /* steps of cs_prove_driven, as a multiple of these */
};
/* Products with A that cs_prove_driven may make after an iterative solve: one for so many sweeps, which take four times
 * as long; and those with so many blocks altogether, in about a millisecond. It makes TESTS for its tests and for its
 * step length, and one for each step. A refinement takes two. */
enum { SWEEPS_A_PRODUCT = 16, FREE_BLOCKS = 16384, TESTS = 12 };
/* Largest rho |A^T d| of a direction d that is worth a refinement. */
#define NEARLY 1e-2
/* Growth of the impulses, in units of rho V: a test for a ray needs at least STEADY per iteration, and the tests at
 * the end of the solve need at least GROWN in total. */
#define STEADY 0.005
#define GROWN 10
/* Immovable blocks: how far b drives their impulses; the distance beyond which they are unbounded; and the rounding
 * error of a projection from that far, relative to the distance. */
#define FAR_AWAY 0x1p200
#define NEAR_BY 0x1p100
#define ROUNDING 0x1p-44

/* ---- data that depend on the problem ------------------------------------------------------------ */

/* Fails with the message that the method has no step in this row. */
static cs_status refuse_zero_diagonal(const cs_solver *solver, int64_t block, int64_t row,
                                      cs_error *error)
{
    return cs_fail(
        error, CS_UNSUPPORTED,
        "A[%lld, %lld] of contact %lld is 0 while other entries of row or column %lld are "
        "not, so that method='%s' has no step there: use method='lemke', which solves "
        "such problems with a symmetric A",
        (long long)row, (long long)row, (long long)block, (long long)row, solver->method->name);
}

cs_status cs_check_diagonals(const cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_arena scratch = {0};
    if (!problem->matrix || solver->method->takes_zero_diagonals || solver->within) return CS_OK;
    double *rho = cs_arena_take(&scratch, problem->rows, sizeof(double));
    double *coupling = cs_arena_take(&scratch, problem->rows, sizeof(double));
    cs_status status = cs_arena_status(&scratch, error, "the workspace");
    if (status) goto out;

    /* rho of every row. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            double diagonal[CS_MAX_ROWS * CS_MAX_ROWS];
            cs_diagonal_block(problem, group, k, diagonal);
            cs_set_scales(group, diagonal, rho + cs_group_row(group, k));
        }
    }

    /* The first row with rho = 0 that other blocks act on. */
    int64_t row = cs_find_couplings(problem, rho, coupling);
    if (row >= 0) status = refuse_zero_diagonal(solver, cs_row_block(problem, row), row, error);
out:
    cs_arena_clear(&scratch);
    return status;
}

/* The number of blocks whose impulses move nothing (rho = 0 in every row). */
static int64_t count_immovable(const cs_solver *solver)
{
    const cs_problem *problem = solver->problem;
    int64_t count = 0;
    for (int64_t k = 0; k < problem->blocks; k++) {
        int moves = 0;
        for (int64_t i = cs_block_row(problem, k); i < cs_block_end(problem, k); i++)
            moves |= solver->factors.rho[i] > 0;
        count += !moves;
    }
    return count;
}

/* The pieces of islands, for sums over them. */
static cs_status take_pieces(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_judge *judge = &solver->judge;
    cs_arena *arena = &solver->arena;
    int64_t *part = NULL;
    judge->of_part = NULL;
    if (solver->schedule.owner) {
        part = cs_arena_take(arena, problem->blocks, sizeof *part);
        judge->of_part = cs_arena_take(arena, solver->schedule.owners, sizeof *judge->of_part);
        if (cs_arena_failed(arena)) return cs_no_memory(error, "the workspace");
        cs_part_of_blocks(solver, part);
    }
    return cs_island_pieces_make(problem, judge->island, judge->islands, part, solver->ranks, arena,
                                 &judge->pieces, error);
}

cs_status cs_judge_take(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_arena *arena = &solver->arena;
    solver->judge.response = cs_arena_take_unset(arena, problem->rows, sizeof(double));
    double **blocks[] = {&solver->judge.scale, &solver->judge.speed, &solver->judge.largest,
                         &solver->judge.reach};
    int64_t shared = solver->ranks ? cs_ranks_share(solver->ranks)->shared_islands : 0;
    for (int i = 0; i < 4; i++)
        *blocks[i] = cs_arena_take_unset(arena, problem->blocks + shared, sizeof(double));
    solver->judge.magnitude = cs_arena_take_unset(arena, problem->rows, sizeof(double));
    solver->judge.ray.earlier =
        cs_loop_take(solver->setup_threads, arena, problem->rows, sizeof(double));
    solver->judge.ray.certificate.direction =
        cs_arena_take_unset(arena, problem->rows, sizeof(double));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "the workspace");

    /* Islands, rho of sets with a zero diagonal on which others act, which changes the number of immovable blocks, and
     * a_s. */
    solver->judge.islands =
        cs_number_all_islands(problem, solver->setup_threads, solver->judge.island);
    if (solver->judge.islands < shared) solver->judge.islands = shared;
    solver->judge.largest_island = -1;
    solver->judge.alone = cs_problem_calls_back(problem);
    solver->judge.begun = 0;
    if (cs_find_couplings(problem, solver->factors.rho, solver->judge.magnitude) >= 0)
        solver->judge.immovable_blocks = count_immovable(solver);
    int immovable = cs_has_immovable_rows(problem, solver->setup_threads, solver->factors.rho);
    solver->judge.immovable_row = cs_ranks_any(solver->ranks, immovable);
    solver->judge.handed_over = solver->judge.handed_there = 0;
    cs_find_responses(problem, solver->factors.rho, solver->setup_threads, solver->judge.response);
    return take_pieces(solver, error);
}

/* ---- before and during a solve ------------------------------------------------------------------ */

int cs_judge_threads(const cs_solver *solver)
{
    return solver->judge.alone ? 1 : cs_products_threads(&solver->products);
}

void cs_judge_scales(cs_solver *solver)
{
    const cs_problem *problem = solver->problem;
    cs_judge *judge = &solver->judge;
    if (judge->begun) return;
    judge->begun = 1;
    judge->handed_over = judge->handed_there = 0;

    /* Scratch that is in use neither before the first iteration nor, without a tolerance, at all. */
    cs_scale_data data = {
        .problem = problem,
        .shared = &solver->products,
        .b = solver->b,
        .parameters = solver->parameters,
        .rho = solver->factors.rho,
        .response = judge->response,
        .island = judge->island,
        .islands = judge->islands,
        .ranks = cs_ranks_count(solver->ranks) > 1 ? solver->ranks : NULL,
        .threads = cs_judge_threads(solver),
        .scale = judge->scale,
        .speed = judge->speed,
        .largest = judge->largest,
        .reach = judge->reach,
        .lambda = judge->ray.earlier,
        .xi = judge->ray.certificate.direction,
        .magnitude = judge->magnitude,
        .velocity = solver->velocity,
    };

    /* V of each island, unless an enclosing problem gives it. */
    if (judge->outer_scale)
        cs_loop_copy(data.threads, judge->scale, judge->outer_scale, problem->blocks,
                     sizeof(double));
    else cs_find_scales(&data);

    /* Whether some island rests. */
    judge->rests = 0;
    for (int64_t k = 0; k < problem->blocks && !judge->rests; k++)
        judge->rests = judge->scale[k] == 0;
}

void cs_judge_begin(cs_solver *solver)
{
    /* No ray is known yet. */
    cs_judge *judge = &solver->judge;
    judge->ray.next = FIRST_RAY;
    judge->ray.kept = 0;
    judge->ray.certificate.proof = CS_NO_PROOF;
    judge->settles = 0;
    judge->there = judge->possible_there;
    if (judge->outer_scale) judge->begun = 0;
    if (solver->fixed_iterations) return;

    /* V, unless it is that of the last solve, and whether cs_settle has work. */
    cs_judge_scales(solver);
    judge->settles = cs_ranks_any(solver->ranks, judge->immovable_row || judge->rests);
    judge->there = judge->there && !judge->settles;

    /* The b that counts as zero in immovable rows. */
    double largest_b = 0;
    for (int64_t i = 0; i < solver->problem->rows && judge->immovable_row; i++)
        largest_b = fmax(largest_b, fabs(solver->b[i]));
    cs_ranks_largest(solver->ranks, &largest_b, 1);
    judge->noise = CS_B_UNITS * DBL_EPSILON * largest_b;
}

/* Whether the block has an immovable row, one whose impulse moves nothing (rho = 0). `rho` is that of the block. */
static int has_immovable_row(const cs_block_group *group, const double *rho)
{
    int immovable = 0;
    for (int i = 0; i < group->rows; i++) immovable |= rho[i] == 0;
    return immovable;
}

/* z <- the block's impulses, where the immovable rows go as far as b drives them within the set: the projection of a
 * point at a distance of FAR_AWAY |b|. Returns whether they grow without bound. */
static int drive_immovable(const cs_solver *solver, const cs_block_group *group, int64_t index,
                           double *z)
{
    /* Project the far point. */
    int64_t row = cs_group_row(group, index);
    const double *rho = solver->factors.rho + row, *b = solver->b + row;
    double largest = 0, reached = 0;
    for (int i = 0; i < group->rows; i++) {
        double drive = rho[i] > 0 || fabs(b[i]) <= solver->judge.noise ? 0 : FAR_AWAY * b[i];
        largest = fmax(largest, fabs(drive));
        z[i] = solver->lambda[row + i] - drive;
    }
    group->set->prox_f64(group->rows, z,
                         solver->parameters + group->first_parameter + index * group->parameters,
                         NULL);

    /* Bounded, if the impulses remain near. */
    for (int i = 0; i < group->rows; i++)
        if (rho[i] == 0) reached = fmax(reached, fabs(z[i]));
    if (reached < NEAR_BY) return 0;

    /* Impulses that are large, but as small as the rounding error of the projection, are on the boundary of a cone:
     * their exact value is zero. */
    int endless = !(reached <= ROUNDING * largest);
    for (int i = 0; i < group->rows && !endless; i++)
        if (rho[i] == 0) z[i] = 0;
    return endless;
}

/* Sets the impulses of the immovable rows of one block: to where b drives them; if that is unbounded, to the
 * projection of the present impulses. */
static void settle_immovable(cs_solver *solver, const cs_block_group *group, int64_t index)
{
    int64_t row = cs_group_row(group, index);
    double z[CS_MAX_ROWS], *lambda = solver->lambda + row;
    const double *parameters =
        solver->parameters + group->first_parameter + index * group->parameters;
    if (drive_immovable(solver, group, index, z)) {
        memcpy(z, lambda, sizeof(double) * (size_t)group->rows);
        group->set->prox_f64(group->rows, z, parameters, NULL);
    }
    for (int i = 0; i < group->rows; i++)
        if (solver->factors.rho[row + i] == 0) lambda[i] = z[i];
}

/* Sets the impulses of a block in an island that P_C(0) solves, unless the whole block is immovable. */
static void settle_resting(cs_solver *solver, const cs_block_group *group, int64_t index)
{
    double z[CS_MAX_ROWS] = {0};
    int64_t row = cs_group_row(group, index);
    int moves = 0;
    group->set->prox_f64(group->rows, z,
                         solver->parameters + group->first_parameter + index * group->parameters,
                         NULL);
    for (int i = 0; i < group->rows; i++) moves |= solver->factors.rho[row + i] > 0;
    if (moves) memcpy(solver->lambda + row, z, sizeof(double) * (size_t)group->rows);
}

int cs_settle(cs_solver *solver)
{
    const cs_problem *problem = solver->problem;
    if (!solver->judge.settles || solver->fixed_iterations) return 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            if (solver->judge.scale[group->first_block + k] == 0) settle_resting(solver, group, k);
            if (has_immovable_row(group, solver->factors.rho + cs_group_row(group, k)))
                settle_immovable(solver, group, k);
        }
    }
    return 1;
}

double cs_check_begins(const cs_solver *solver, const cs_budget *budget)
{
    return solver->options.time_checks ? 0 : cs_seconds(budget);
}

void cs_check_ends(const cs_solver *solver, cs_budget *budget, double since)
{
    if (!solver->options.time_checks) cs_leave_out(budget, since);
}

void cs_residual_at(cs_solver *solver, const double *impulses, const double *b, double *xi)
{
    cs_shared_residual_velocity(&solver->products, solver->problem, impulses, b, solver->velocity,
                                xi);
}

void cs_evaluate(cs_solver *solver, cs_state *state)
{
    cs_there_fetch_b(solver);
    cs_judge_scales(solver);
    cs_residual_at(solver, solver->lambda, solver->b, solver->xi);
    state->threads = cs_judge_threads(solver);
    state->have_natural_map = 0;
}

void cs_evaluate_result(cs_solver *solver, cs_state *state)
{
    /* It takes longer than a product, and has a pace of its own. */
    cs_there_fetch_b(solver);
    cs_judge *judge = &solver->judge;
    cs_shared_products shared = solver->products;
    shared.pace = judge->pace;
    int threads = cs_products_threads(&shared);
    cs_judge_scales(solver);

    /* The velocities of bodies, then those of contacts with their natural maps. */
    double start = cs_clock();
    state->threads = judge->alone ? 1 : threads;
    if (threads <= 1 && judge->one_pass.pieces) {
        cs_one_pass_run(&judge->one_pass, state, &shared, solver->velocity, solver->xi);
        return;
    }
    cs_shared_velocities(&shared, solver->problem, state->lambda, solver->velocity);
    cs_natural_map_and_residual(state, solver->velocity, solver->xi);
    if (shared.paced && shared.threads > 1)
        cs_pace_learn(&judge->pace, threads > 1, cs_clock() - start);
}

/* Whether some recorded measure is of that kind. */
static int records(const cs_solver *solver, int (*is_such)(const cs_measure *))
{
    for (int c = 0; c < solver->history.columns - 2; c++)
        if (is_such(solver->history.measure[c])) return 1;
    return 0;
}

/* Measures that need the state, and not only its natural map; those that need V. */
static int needs_state(const cs_measure *measure)
{
    return !measure->of_sweep && !cs_measure_is_natural_map(measure);
}

static int needs_scales(const cs_measure *measure)
{
    return measure == &cs_measure_natural_map_scaled;
}

int cs_judges_over_factors(const cs_solver *solver)
{
    int natural_map = solver->fixed_iterations ? records(solver, cs_measure_is_natural_map)
                                               : cs_measure_is_natural_map(solver->stop);
    return natural_map && !solver->judge.immovable_row && !records(solver, needs_state);
}

/* The rounding unit of the iterates. */
static double rounding_unit(const cs_solver *solver)
{
    return solver->packing.dtype == CS_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* What asks for the natural map of an iterate over the factors, and for a verdict on it. V is known where it is needed. */
static cs_measure_call measure_call(const cs_solver *solver, int scales)
{
    const cs_judge *judge = &solver->judge;
    int fixed = solver->fixed_iterations;
    return (cs_measure_call){
        .rtol = fixed ? 0 : solver->options.rtol,
        .atol = fixed ? 0 : solver->options.atol,
        .scale = scales ? judge->scale : NULL,
        .new_scale = scales && !judge->handed_over,
    };
}

static cs_verdict_call verdict_call(const cs_solver *solver, int floor)
{
    const cs_judge *judge = &solver->judge;
    int fixed = solver->fixed_iterations;
    return (cs_verdict_call){
        .rtol = fixed ? 0 : solver->options.rtol,
        .atol = fixed ? 0 : solver->options.atol,
        .unit = floor ? rounding_unit(solver) : 0,
        .scale = judge->scale,
        .new_scale = !judge->handed_there,
    };
}

void cs_expect_judgement(const cs_solver *solver, int last, cs_measure_call *measure,
                         cs_verdict_call *verdict)
{
    *measure = measure_call(solver, 1);
    *verdict = verdict_call(solver, last);
}

int cs_measure_over_factors(cs_solver *solver, cs_state *state)
{
    /* V, where it is asked for. */
    const cs_packing *packing = &solver->packing;
    if (!packing->state || !packing->backend->measure) return 0;
    int scales = !solver->fixed_iterations || records(solver, needs_scales);
    if (scales) cs_judge_scales(solver);

    /* The natural map. */
    cs_measure_call call = measure_call(solver, scales);
    if (!packing->backend->measure(packing->state, &call, &state->natural_map)) return 0;
    solver->judge.handed_over = scales;
    state->have_natural_map = 1;
    return 1;
}

void cs_judge_there(cs_solver *solver, cs_state *state, int floor)
{
    const cs_packing *packing = &solver->packing;
    cs_judge_scales(solver);
    cs_verdict_call call = verdict_call(solver, floor);
    packing->backend->verdicts->judge(packing->state, &call);
    solver->judge.handed_there = 1;
    state->natural_map = call.map;
    state->have_natural_map = 1;
    if (floor) solver->judge.floor = call.floor;
}

/* ---- rays ---------------------------------------------------------------------------------------- */

/* Whether the solve ends by the stop rule in velocities (measure/measure.h). Only then rounding floors and proofs
 * decide on the outcome. */
static int judges_by_velocity(const cs_solver *solver)
{
    return !solver->fixed_iterations && solver->stop == &cs_measure_natural_map;
}

/* Whether some |x_i - y_i| is at least `least` rho_i V: the distance between two vectors of impulses (rows), in units of
 * the impulses that stop the speed V. `y` NULL: zero. Collective. */
static int are_apart(const cs_solver *solver, const double *x, const double *y, double least)
{
    const cs_problem *problem = solver->problem;
    int apart = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count && !apart; k++) {
            double scale = solver->judge.scale[group->first_block + k];
            int64_t row = cs_group_row(group, k);
            for (int i = 0; i < group->rows; i++, row++) {
                double unit = solver->factors.rho[row] * scale;
                apart |= unit > 0 && fabs(x[row] - (y ? y[row] : 0)) >= least * unit;
            }
        }
    }
    return cs_ranks_any(solver->ranks, apart);
}

/* The same for the iterate that is judged, one that was kept before, or the change from that one. */
static int has_grown(const cs_solver *solver, cs_ray_part what, double least)
{
    const cs_packing *packing = &solver->packing;
    const double *here = solver->lambda, *kept = solver->judge.ray.earlier;
    if (solver->judge.there)
        return packing->backend->verdicts->has_grown(packing->state, what, least);
    return are_apart(solver, what == CS_RAY_KEPT ? kept : here, what == CS_RAY_CHANGE ? kept : NULL,
                     least);
}

/* Whether a device says that the direction `here` x lambda + `kept` x (what was kept) needs no test. */
static int is_hopeless(const cs_solver *solver, double here, double kept, int friction)
{
    const cs_packing *packing = &solver->packing;
    cs_ray_call call = {
        .here = here,
        .kept = kept,
        .friction = friction,
        .rtol = solver->options.rtol,
        .atol = solver->options.atol,
        .nearly = NEARLY,
    };
    return solver->judge.there && packing->backend->verdicts->is_hopeless(packing->state, &call);
}

/* solver->lambda and ray.earlier <- the iterate and what was kept, if they are on a device. */
static void fetch_for_rays(cs_solver *solver)
{
    const cs_packing *packing = &solver->packing;
    cs_there_fetch_b(solver);
    if (!solver->judge.there) return;
    cs_packing_get(packing, solver->lambda);
    if (solver->judge.ray.kept)
        packing->backend->verdicts->get_ray(packing->state, solver->judge.ray.earlier);
}

/* Keeps the iterate for later tests. */
static void keep(cs_solver *solver)
{
    const cs_packing *packing = &solver->packing;
    size_t bytes = sizeof(double) * (size_t)solver->problem->rows;
    if (solver->judge.there) packing->backend->verdicts->keep_ray(packing->state);
    else if (bytes) memcpy(solver->judge.ray.earlier, solver->lambda, bytes);
    solver->judge.ray.kept = 1; /* also on a rank without rows */
}

int64_t cs_next_ray(const cs_solver *solver)
{
    return judges_by_velocity(solver) ? solver->judge.ray.next : INT64_MAX;
}

int cs_ray_is_due(const cs_solver *solver, int64_t number)
{
    return number >= solver->judge.ray.next && judges_by_velocity(solver);
}

/* Refinement steps of a direction that was found after so many iterations. */
static int64_t refinements(int64_t number)
{
    int64_t steps = number / 10;
    if (steps < LEAST_REFINEMENTS) return LEAST_REFINEMENTS;
    return steps > MOST_REFINEMENTS ? MOST_REFINEMENTS : steps;
}

/* The input of a proof, with sums by parts if the schedule has them. */
static cs_proof_data proof_data(cs_solver *solver, const cs_state *state, cs_solver_sums *sums,
                                int64_t steps, double nearly)
{
    const cs_judge *judge = &solver->judge;
    return (cs_proof_data){
        .state = state,
        .shared = &solver->products,
        .island = judge->island,
        .pieces = &judge->pieces,
        .dot = judge->of_part ? cs_part_dot : NULL,
        .context = sums,
        .refinements = (int)steps,
        .nearly = nearly,
    };
}

/* Tests whether `candidate` (rows), a direction in which the impulses grew for `number` iterations, is a proof. */
static cs_status prove(cs_solver *solver, const double *candidate, int64_t number, int friction,
                       cs_error *error)
{
    cs_state state = cs_state_of(solver);
    cs_solver_sums sums = {solver, solver->judge.of_part};
    cs_proof_data data = proof_data(solver, &state, &sums, refinements(number), NEARLY);
    return cs_prove(&data, candidate, friction, &solver->judge.ray.certificate, error);
}

cs_status cs_test_growth(cs_solver *solver, int64_t number, int *proven, cs_error *error)
{
    /* Test the growth since half as many iterations, if it is large enough. */
    cs_ray *ray = &solver->judge.ray;
    int64_t rows = solver->problem->rows;
    cs_status status = CS_OK;
    double least = STEADY * (double)number;
    if (ray->kept && has_grown(solver, CS_RAY_CHANGE, least) && !is_hopeless(solver, 1, -1, 0)) {
        double *direction = ray->earlier;
        fetch_for_rays(solver);
        for (int64_t i = 0; i < rows; i++) direction[i] = solver->lambda[i] - direction[i];
        status = prove(solver, direction, number, 0, error);
    }
    *proven = ray->certificate.proof == CS_PROVES_INFEASIBLE;

    /* Keep these impulses for the next test. */
    keep(solver);
    ray->next = 2 * number;
    return status;
}

/* If there is a proof: result <- its outcome and the certificate. */
static void take_proof(const cs_solver *solver, cs_result *result)
{
    const cs_certificate *certificate = &solver->judge.ray.certificate;
    if (certificate->proof == CS_NO_PROOF) return;
    int infeasible = certificate->proof == CS_PROVES_INFEASIBLE;
    result->outcome = infeasible ? CS_INFEASIBLE : CS_UNBOUNDED;
    result->certificate = certificate->direction;
    result->certified = certificate->bound;
}

void cs_keep_for_rays(cs_solver *solver)
{
    if (judges_by_velocity(solver)) keep(solver);
}

/* cs_try_ray with `steps` refinement steps. */
static cs_status try_ray(cs_solver *solver, const double *ray, int64_t steps, int *proven,
                         cs_error *error)
{
    cs_there_fetch_b(solver);
    cs_state state = cs_state_of(solver);
    cs_solver_sums sums = {solver, solver->judge.of_part};
    cs_proof_data data = proof_data(solver, &state, &sums, steps, INFINITY);
    cs_certificate *certificate = &solver->judge.ray.certificate;
    cs_status status = ray ? cs_prove(&data, ray, 0, certificate, error)
                           : cs_prove_driven(&data, DRIVEN * steps, certificate, error);
    *proven = solver->judge.ray.certificate.proof == CS_PROVES_INFEASIBLE;
    return status;
}

cs_status cs_try_ray(cs_solver *solver, const double *ray, int *proven, cs_error *error)
{
    return try_ray(solver, ray, MOST_REFINEMENTS, proven, error);
}

/* ---- the end --------------------------------------------------------------------------------------- */

/* Whether some immovable row cannot satisfy b: its impulse would grow without bound. Collective. */
static int has_unsatisfied_row(const cs_solver *solver)
{
    const cs_problem *problem = solver->problem;
    double z[CS_MAX_ROWS];
    int found = 0;
    for (int g = 0; g < problem->block_groups && solver->judge.settles; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count && !found; k++)
            found = has_immovable_row(group, solver->factors.rho + cs_group_row(group, k)) &&
                    drive_immovable(solver, group, k, z);
    }
    return cs_ranks_any(solver->ranks, found);
}

/* Tests the candidates of the end of a solve until one is a proof:
 *
 *     a = 0    -b in the immovable rows, if one of them cannot satisfy b
 *     a = 1    the impulses that are returned
 *     a = 2    the iterate that was kept (ray.earlier), if there is one
 *     a = 3, 4 the difference of these two, in both directions */
static cs_status prove_by_iterates(cs_solver *solver, int64_t number, int unsatisfied, int friction,
                                   cs_error *error)
{
    /* Each candidate is parts[a][0] lambda + parts[a][1] earlier. */
    static const double parts[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, -1}, {-1, 1}};
    cs_ray *ray = &solver->judge.ray;
    int first = unsatisfied ? 0 : 1, attempts = ray->kept ? 5 : 2;
    cs_status status = CS_OK;
    for (int a = first; a < attempts && !status && ray->certificate.proof == CS_NO_PROOF; a++) {
        if (is_hopeless(solver, parts[a][0], parts[a][1], friction)) continue;
        fetch_for_rays(solver);
        for (int64_t i = 0; i < solver->problem->rows; i++) {
            double candidate = parts[a][0] * solver->lambda[i] + parts[a][1] * ray->earlier[i];
            int driven =
                a == 0 && solver->factors.rho[i] == 0 && fabs(solver->b[i]) > solver->judge.noise;
            solver->judge.magnitude[i] = driven ? -solver->b[i] : candidate;
        }
        status = prove(solver, solver->judge.magnitude, number, friction, error);
    }
    return status;
}

/* The piece of an island that a block is in; -1 if the block belongs to another rank. */
static int64_t piece_of_block(const cs_judge *judge, int64_t block)
{
    return judge->pieces.of_block ? judge->pieces.of_block[block] : judge->island[block];
}

/* The number of blocks of the largest island, which is counted once. The scratch arrays are free then. */
static int64_t largest_island(cs_solver *solver)
{
    double *size = solver->judge.reach, largest = 0;
    if (solver->judge.largest_island >= 0) return solver->judge.largest_island;
    for (int64_t i = 0; i < solver->judge.islands; i++) size[i] = 0;
    for (int64_t k = 0; k < solver->problem->blocks; k++)
        if (piece_of_block(&solver->judge, k) >= 0) size[solver->judge.island[k]]++;

    /* Islands of several ranks are the first ones. */
    if (solver->ranks)
        cs_ranks_totals(solver->ranks, size, cs_ranks_share(solver->ranks)->shared_islands);
    for (int64_t i = 0; i < solver->judge.islands; i++) largest = fmax(largest, size[i]);
    cs_ranks_largest(solver->ranks, &largest, 1);
    return solver->judge.largest_island = (int64_t)largest;
}

/* Refinement steps for directions in which b drives the impulses, after a solve of `number` iterations: as many as its
 * cost allows; 0 if that is none. Only those of small islands become proofs by a few steps: many small ones have the
 * steps that each would have by itself. */
static int64_t affordable_refinements(cs_solver *solver, int64_t number)
{
    int64_t free = FREE_BLOCKS / (largest_island(solver) + 1);
    int64_t most = (number / SWEEPS_A_PRODUCT + free - TESTS) / (DRIVEN + 2);
    int64_t wanted = refinements(number);
    if (most < 0) return 0;
    return wanted < most ? wanted : most;
}

/* Looks for a proof at the end of a solve: among the iterates, then among directions in which b drives the impulses.
 * If there is none, directions with friction may still show that the impulses are unbounded. A link of a chain tests
 * only its iterates, because another method may still solve the problem. */
static cs_status prove_at_end(cs_solver *solver, int64_t number, int unsatisfied, int is_link,
                              cs_error *error)
{
    cs_certificate *certificate = &solver->judge.ray.certificate;
    int proven = 0;

    /* If the impulses did not grow, the solve only needs more iterations. */
    int grown = has_grown(solver, CS_RAY_HERE, GROWN);
    if (!grown && solver->judge.ray.kept) grown = has_grown(solver, CS_RAY_KEPT, GROWN);
    if (!grown && !unsatisfied) return CS_OK;

    /* Test the candidates. */
    cs_status status = prove_by_iterates(solver, number, unsatisfied, 0, error);
    int64_t steps = affordable_refinements(solver, number);
    if (!status && certificate->proof == CS_NO_PROOF && !is_link && steps > 0)
        status = try_ray(solver, NULL, steps, &proven, error);
    if (!status && certificate->proof == CS_NO_PROOF && !is_link)
        status = prove_by_iterates(solver, number, unsatisfied, 1, error);
    return status;
}

static cs_floor floor_here(const cs_solver *solver, const cs_state *state)
{
    return cs_find_floor(state, &solver->products, rounding_unit(solver), solver->judge.magnitude,
                         solver->velocity);
}

cs_status cs_find_verdict(cs_solver *solver, cs_budget *budget, cs_state *state, cs_result *result,
                          cs_error *error)
{
    /* Outcomes that are final already. */
    if (result->outcome == CS_INACCURATE) return CS_OK;
    result->floor = NAN;
    result->floor_block = -1;
    result->certificate = NULL;
    result->certified = NAN;
    if (result->outcome == CS_INFEASIBLE) take_proof(solver, result);
    if (!judges_by_velocity(solver) || result->outcome == CS_STOPPED ||
        result->outcome == CS_INFEASIBLE)
        return CS_OK;

    /* Whether rounding errors alone exceed the tolerance, and whether some immovable row cannot satisfy b. */
    int met = result->outcome == CS_CONVERGED, late = result->outcome == CS_MAX_SECONDS;
    cs_floor floor = solver->judge.there ? solver->judge.floor : floor_here(solver, state);
    int inaccurate = met ? !floor.reachable : floor.only_floor;
    int unsatisfied = has_unsatisfied_row(solver);

    /* Look for a proof, unless the solve converged within the reachable accuracy, or ran out of time. */
    if ((!met && !late) || inaccurate || unsatisfied) {
        cs_status status =
            prove_at_end(solver, result->iterations, unsatisfied, budget->is_link, error);
        if (status) return status;
        take_proof(solver, result);
        if (result->certificate) return CS_OK;
    }

    /* Without a proof, the outcome is inaccurate if only rounding errors prevent convergence. */
    if (!inaccurate) return CS_OK;
    result->outcome = CS_INACCURATE;
    result->floor = met ? floor.scaled : floor.missed;
    result->floor_block = met ? floor.block : floor.missed_block;
    return CS_OK;
}

int cs_is_final(cs_outcome outcome)
{
    return outcome == CS_CONVERGED || outcome == CS_STOPPED || outcome == CS_MAX_SECONDS ||
           outcome == CS_INACCURATE || outcome == CS_INFEASIBLE;
}
