#include "methods/pivoting/hybrid.h"

#include "core/error.h"

#include <math.h>
#include <string.h>

/* The weight of new normal impulses: its first and its smallest value, the factor by which it shrinks, and
 * how it grows. It shrinks after PATIENCE steps without a natural map below BETTER times the best one. */
#define FIRST_WEIGHT 0.5
#define LEAST_WEIGHT 0.05
#define WEIGHT_FACTOR 0.7
#define BETTER 0.9
#define GROWTH 1.1
enum { PATIENCE = 10 };

/* ---- set-up ---------------------------------------------------------------------------------- */

cs_status cs_hybrid_check(const cs_options *options, const char *name, const cs_problem *problem,
                          cs_error *error)
{
    /* Normal impulses and friction must be separate coupled sets. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (group->set->contact && group->rows > 1 && group->coupled_set[1] == 0)
            return cs_fail(error, CS_UNSUPPORTED,
                           "method='%s' treats normal impulses and friction separately, which "
                           "blocks of set '%s' do not allow: use a method that sweeps",
                           name, group->set->name);
    }

    /* The methods average friction bounds by their own rules. */
    if (!isnan(options->averaging))
        return cs_fail(error, CS_UNSUPPORTED,
                       "averaging is %s: method='%s' averages friction bounds by a rule of its own",
                       cs_number(options->averaging).text, name);
    return cs_pivoting_check_options(options, name, error);
}

cs_status cs_hybrid_prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    cs_arena *arena = &solver->arena;
    int64_t rows = solver->problem->rows;
    cs_status status = cs_pivoting_take(solver, error);
    if (status) return status;

    /* Allocate A and the vectors. */
    cs_pivoting *p = solver->own;
    cs_hybrid *hybrid = p->hybrid = cs_arena_take(arena, 1, sizeof *hybrid);
    p->coupled = 1;
    if (!hybrid) goto no_memory;
    status = cs_pivoting_matrix(solver, arena, budget, &hybrid->matrix, error);
    if (status) return status;
    hybrid->value = cs_arena_take(arena, hybrid->matrix.start[rows], sizeof(double));
    double **vectors[] = {&hybrid->x,     &hybrid->xi,     &hybrid->change,
                          &hybrid->image, &hybrid->before, &hybrid->direction};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = cs_arena_take(arena, rows, sizeof(double));
    if (cs_arena_failed(arena)) goto no_memory;

    /* Factor A once. */
    cs_hybrid_load(solver);
    return cs_hybrid_factor(solver, budget->cancellation, error);
no_memory:
    return cs_no_memory(error, "%lld rows", (long long)rows);
}

/* Whether the blocks of the group are contacts with tangential rows. */
static int has_friction(const cs_block_group *group)
{
    return group->set->contact && group->rows > 1;
}

cs_status cs_hybrid_use_renewal(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    int64_t count = 0;

    /* Count the contacts with friction. */
    for (int g = 0; g < problem->block_groups; g++)
        if (has_friction(&problem->block_group[g])) count += problem->block_group[g].count;

    /* Store their normal rows. */
    cs_renewal *renewal = cs_renewal_take(count, &solver->arena);
    if (!renewal)
        return cs_no_memory(error, "the friction bounds of %lld contacts", (long long)count);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; has_friction(group) && k < group->count; k++)
            renewal->row[--count] = cs_group_row(group, k);
    }
    cs_hybrid_of(solver)->renewal = renewal;
    return CS_OK;
}

double *cs_hybrid_entry(cs_hybrid *hybrid, int64_t row, int64_t column)
{
    int64_t e = hybrid->matrix.start[row];
    while (hybrid->matrix.column[e] != column) e++;
    return hybrid->value + e;
}

void cs_hybrid_load(cs_solver *solver)
{
    cs_hybrid *hybrid = cs_hybrid_of(solver);
    const cs_csr *A = &hybrid->matrix;
    if (!A->rows) return;
    memcpy(hybrid->value, A->value, sizeof(double) * (size_t)A->start[A->rows]);
    for (int64_t i = 0; i < A->rows; i++) {
        double *entry = cs_hybrid_entry(hybrid, i, i);
        /* The diagonal is zero in rows that no impulse moves. They are not coupled to others, and their
         * change is bounded by zero, so any positive value will do. */
        *entry = *entry > 0 ? *entry * (1 + CS_HYBRID_SHARE) : 1;
    }
}

cs_status cs_hybrid_factor(cs_solver *solver, cs_cancellation *cancellation, cs_error *error)
{
    cs_pivoting *p = solver->own;
    cs_csr matrix = p->hybrid->matrix;
    cs_mlcp_options options = solver->options.pivoting;
    options.rule = "bpp";
    matrix.value = p->hybrid->value;

    /* Replace the old cs_mlcp only by a new one. */
    cs_mlcp *made;
    cs_status status = cs_mlcp_make(&made, &matrix, &options, cancellation, error);
    if (status) return status;
    cs_mlcp_destroy(p->mlcp);
    p->mlcp = made;
    return CS_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Row `row` of A x. */
static double product(const cs_csr *A, int64_t row, const double *x)
{
    double sum = 0;
    for (int64_t e = A->start[row]; e < A->start[row + 1]; e++)
        sum += A->value[e] * x[A->column[e]];
    return sum;
}

/* z <- the projection of z (m) on the set of one block. Friction is bounded by the normal impulse in z
 * (`own_normal`), or by the one in pivoting->normal. */
static void project(const cs_pivoting_run *run, const cs_block_group *group, int64_t index,
                    double *z, int own_normal)
{
    int64_t row = cs_group_row(group, index);
    const double *normal = own_normal || !group->set->contact ? NULL : run->pivoting->normal + row;
    group->set->prox_f64(group->rows, z, cs_state_parameters(&run->run.state, group, index),
                         normal);
}

/* Projects x (rows) on the sets; rows that no impulse moves keep their values. */
static void project_all(const cs_pivoting_run *run, double *x, int own_normal)
{
    const cs_problem *problem = run->run.solver->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            /* Project a copy; take the rows that move. */
            double z[CS_MAX_ROWS];
            int64_t row = cs_group_row(group, k);
            memcpy(z, x + row, sizeof(double) * (size_t)group->rows);
            project(run, group, k, z, own_normal);
            for (int i = 0; i < group->rows; i++)
                if (run->run.state.rho[row + i] > 0) x[row + i] = z[i];
        }
    }
}

void cs_hybrid_begin(cs_pivoting_run *run)
{
    cs_hybrid *hybrid = run->pivoting->hybrid;
    int64_t rows = run->run.solver->problem->rows;

    /* The first step starts from the initial impulses. */
    if (run->run.number == 1) {
        memcpy(hybrid->x, run->run.solver->lambda, sizeof(double) * (size_t)rows);
        hybrid->weight = FIRST_WEIGHT;
        hybrid->best = INFINITY;
        hybrid->patience = PATIENCE;
        if (hybrid->renewal) cs_renewal_begin(hybrid->renewal);
        memset(run->pivoting->index_set, CS_INDEX_FREE, (size_t)rows);
    }

    /* Bring x into the current friction bounds. */
    hybrid->cancellation = (cs_cancellation){.is_cancelled = cs_run_is_cancelled, .context = run};
    project_all(run, hybrid->x, 0);
    cs_hybrid_evaluate(run);
}

void cs_hybrid_evaluate(cs_pivoting_run *run)
{
    cs_hybrid *hybrid = run->pivoting->hybrid;
    for (int64_t i = 0; i < run->run.solver->problem->rows; i++)
        hybrid->xi[i] = run->run.solver->b[i] + product(&hybrid->matrix, i, hybrid->x);
}

/* Sets the bounds of the change of one block. Zero is always allowed, also if rounding has put x outside. */
static void bound_block(cs_pivoting_run *run, const cs_block_group *group, int64_t index)
{
    cs_pivoting *p = run->pivoting;
    const double *parameters = cs_state_parameters(&run->run.state, group, index);
    int64_t row = cs_group_row(group, index);
    int box = group->set->bounds;
    for (int i = 0; i < group->rows; i++) {
        double x = p->hybrid->x[row + i], lo = 0, hi = 0;

        /* Bounds of x: those of the set for boxes, joints and normal rows; friction rows stay. */
        if (box) {
            lo = parameters[i] - x;
            hi = parameters[group->rows + i] - x;
        } else if (group->set->bilateral) {
            lo = -INFINITY;
            hi = INFINITY;
        } else if (i == 0) {
            lo = -x;
            hi = INFINITY;
        }

        /* Bounds of the change. */
        int moves = run->run.state.rho[row + i] > 0;
        p->lo[row + i] = moves ? fmin(lo, 0) : 0;
        p->hi[row + i] = moves ? fmax(hi, 0) : 0;
    }
}

void cs_hybrid_bound(cs_pivoting_run *run)
{
    const cs_problem *problem = run->run.solver->problem;
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++)
            bound_block(run, &problem->block_group[g], k);
}

/* Work of a direct step without rows, of a prox, and of a prox that calls a function of the caller; in
 * multiplications, for cancellation. */
enum { STEP_WORK = 10000, PROX_WORK = 100, CALLERS_PROX_WORK = 100000 };

/* The work of the prox of one block, in multiplications. */
static double prox_work(const cs_block_group *group)
{
    return group->set->alone ? CALLERS_PROX_WORK : PROX_WORK;
}

/* The work of the prox of all blocks. */
static double all_prox_work(const cs_problem *problem)
{
    double work = 0;
    for (int g = 0; g < problem->block_groups; g++)
        work += (double)problem->block_group[g].count * prox_work(&problem->block_group[g]);
    return work;
}

cs_status cs_hybrid_step(cs_pivoting_run *run, cs_result *result, cs_error *error)
{
    cs_hybrid *hybrid = run->pivoting->hybrid;
    int64_t rows = run->run.solver->problem->rows;
    double slope = 0, curvature = 0;

    /* Solve the mixed LCP for the change. */
    cs_status status =
        cs_pivoting_mlcp(run, hybrid->xi, run->pivoting->index_set, hybrid->change, result, error);
    if (status) return status;

    /* Project the result on the sets; the change leads there. */
    for (int64_t i = 0; i < rows; i++) hybrid->image[i] = hybrid->x[i] + hybrid->change[i];
    project_all(run, hybrid->image, 0);
    for (int64_t i = 0; i < rows; i++) hybrid->change[i] = hybrid->image[i] - hybrid->x[i];

    /* Line search: minimize the energy along the change. The sets are convex, so that a length of at most 1
     * does not leave them. */
    for (int64_t i = 0; i < rows; i++) {
        hybrid->image[i] = product(&hybrid->matrix, i, hybrid->change);
        slope -= hybrid->xi[i] * hybrid->change[i];
        curvature += hybrid->image[i] * hybrid->change[i];
    }
    double length = curvature > 0 ? slope / curvature : 1;
    length = fmin(fmax(length, 0), 1);

    /* Make the step. */
    for (int64_t i = 0; i < rows; i++) {
        hybrid->x[i] += length * hybrid->change[i];
        hybrid->xi[i] += length * hybrid->image[i];
    }

    /* Report the work for cancellation. Blocks are projected once here, and once more at the end of the
     * step (cs_hybrid_extrapolate). */
    double work = STEP_WORK + 2 * all_prox_work(run->run.solver->problem);
    cs_is_cancelled(&hybrid->cancellation,
                    work + CS_ENTRY_WORK * (double)hybrid->matrix.start[rows]);
    return CS_OK;
}

/* Updates block k of group g by a projected Gauss-Seidel step, or only its friction rows. */
static void visit(cs_pivoting_run *run, int g, int64_t k, int friction_only)
{
    cs_solver *solver = run->run.solver;
    cs_hybrid *hybrid = run->pivoting->hybrid;
    const cs_block_group *group = &solver->problem->block_group[g];
    int rows = group->rows;
    int64_t row = cs_group_row(group, k);
    const double *step = solver->factors.step[g] ? solver->factors.step[g] + k * rows * rows : NULL;
    double xi[CS_MAX_ROWS], z[CS_MAX_ROWS];

    /* The current velocities of the block. */
    for (int i = 0; i < rows; i++)
        xi[i] = solver->b[row + i] + product(&hybrid->matrix, row + i, hybrid->x);

    /* Step against the velocities, and project; friction is bounded by pivoting->normal. */
    for (int i = 0; i < rows; i++) {
        z[i] = hybrid->x[row + i];
        if (friction_only && i == 0) continue;
        if (!step) z[i] -= solver->factors.r[row + i] * xi[i];
        for (int j = 0; j < rows && step; j++) z[i] -= step[i * rows + j] * xi[j];
    }
    project(run, group, k, z, 0);
    for (int i = 0; i < rows; i++)
        if (run->run.state.rho[row + i] > 0) hybrid->x[row + i] = z[i];
}

/* Work of a sweep without blocks, in multiplications. */
enum { SWEEP_WORK = 10 };

/* The work of a visit, in multiplications. */
static double visit_work(const cs_pivoting_run *run, const cs_block_group *group, int64_t k)
{
    const int64_t *start = run->pivoting->hybrid->matrix.start + cs_group_row(group, k);
    return prox_work(group) + CS_ENTRY_WORK * (double)(start[group->rows] - start[0]);
}

void cs_hybrid_sweep(cs_pivoting_run *run, int64_t sweeps, int friction_only)
{
    const cs_problem *problem = run->run.solver->problem;
    cs_cancellation *cancellation = &run->pivoting->hybrid->cancellation;
    for (int64_t s = 0; s < sweeps && !cs_is_cancelled(cancellation, SWEEP_WORK); s++)
        for (int g = 0; g < problem->block_groups; g++) {
            const cs_block_group *group = &problem->block_group[g];
            if (friction_only && !has_friction(group)) continue;
            for (int64_t k = 0; k < group->count; k++) {
                visit(run, g, k, friction_only);
                if (cs_is_cancelled(cancellation, visit_work(run, group, k))) return;
            }
        }
}

double cs_hybrid_extrapolate(cs_pivoting_run *run, double last)
{
    cs_hybrid *hybrid = run->pivoting->hybrid;
    int64_t rows = run->run.solver->problem->rows;
    double size = 0;

    /* Measure this pass. */
    for (int64_t i = 0; i < rows; i++) {
        double change = hybrid->x[i] - hybrid->before[i];
        if (run->run.state.rho[i] > 0) size += change * change / run->run.state.rho[i];
    }

    /* Conjugate the direction with the last one; restart if the passes do not shrink. */
    double beta = last > 0 && size < last ? size / last : 0;
    for (int64_t i = 0; i < rows; i++) {
        double change = hybrid->x[i] - hybrid->before[i];
        double along = beta > 0 ? hybrid->direction[i] : 0;
        hybrid->x[i] += beta * along;
        hybrid->direction[i] = beta * along + change;
    }
    project_all(run, hybrid->x, 0);
    return size;
}

/* Shrinks the weight if the natural map has not decreased enough for PATIENCE steps; lets it grow after
 * each decrease. */
static void judge_weight(cs_pivoting_run *run)
{
    cs_hybrid *hybrid = run->pivoting->hybrid;
    double scaled = cs_natural_map_of(&run->run.state)->scaled;
    if (scaled < BETTER * hybrid->best) {
        hybrid->best = scaled;
        hybrid->patience = PATIENCE;
        hybrid->weight = fmin(hybrid->weight * GROWTH, 1);
    } else if (hybrid->patience-- == 0) {
        hybrid->weight = fmax(hybrid->weight * WEIGHT_FACTOR, LEAST_WEIGHT);
        hybrid->patience = PATIENCE;
    }
}

void cs_hybrid_end(cs_pivoting_run *run)
{
    cs_hybrid *hybrid = run->pivoting->hybrid;
    cs_solver *solver = run->run.solver;
    int64_t rows = solver->problem->rows;
    int cold_start = run->run.number == 1 && run->cold_start;

    /* Update the normal impulses that bound friction. If the first step started from zero impulses, take
     * those found. */
    judge_weight(run);
    if (hybrid->renewal && !cold_start)
        cs_renewal_next(hybrid->renewal, run->run.state.rho, hybrid->x,
                        cs_natural_map_of(&run->run.state)->scaled, run->pivoting->normal);
    for (int64_t i = 0; i < rows && (cold_start || !hybrid->renewal); i++) {
        double *normal = &run->pivoting->normal[i];
        *normal += (cold_start ? 1 : hybrid->weight) * (fmax(hybrid->x[i], 0) - *normal);
    }

    /* Hand out x, with friction within the bounds of its own normal impulses. */
    memcpy(solver->lambda, hybrid->x, sizeof(double) * (size_t)rows);
    project_all(run, solver->lambda, 1);
}
