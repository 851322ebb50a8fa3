/* Factors G or rows of A are read from what the problem itself offers, in the user's order, and nothing is shared
 * with the schemes but the order of the sums: a side's products in two halves, a body's contributions by groups
 * and visits, merits by parts, sums over points in eight lanes of chunks of 4,096; and the solver of a block's local
 * problem (scheme/local). So what it computes are the bits of the scalar kernels. */
#include "plain_backend.h"

#include "core/error.h"
#include "scheme/local/local.h"
#include "scheme/wide.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 8, LUMP = 4096 };

int plain_live;
int64_t plain_sweeps, plain_calls;

typedef struct plain_points {
    struct plain_points *next;
    cs_point point;
} plain_points;

typedef struct plain {
    const cs_problem *problem;
    const cs_schedule *schedule;
    int factorized, bound_previous;
    double averaging, *weight; /* (blocks); or NULL */
    cs_local local[CS_MAX_GROUPS];
    double damping; /* of blocks whose local problems are solved: product of the rollbacks */
    double *lambda, *before, *best; /* (rows) */
    double *u;                      /* (velocities), then what immovable sides write to */
    double *b, *parameters, *r;
    double *merits;                /* (parts) */
    double *step[CS_MAX_GROUPS];   /* R_k, or A_kk where local problems are solved; or NULL */
    double *factor[CS_MAX_GROUPS]; /* G of each block */
    const cs_block_matrix *matrix;
    cs_arena rows; /* of A, where it was assembled here */
    int64_t blocks_of_matrix;
    int backwards;
    cs_sweep_stats stats;
    plain_points *points;
} plain;

static double *numbers(int64_t count) { return calloc((size_t)count + 1, sizeof(double)); }

static double *copied(const double *from, int64_t count)
{
    double *copy = numbers(count);
    if (copy && count) memcpy(copy, from, sizeof(double) * (size_t)count);
    return copy;
}

static cs_status no_memory(cs_error *error)
{
    return cs_fail(error, CS_NO_MEMORY, "out of memory for the plain backend");
}

/* ---- packing --------------------------------------------------------------------------------- */

static void release(void *state)
{
    plain *p = state;
    while (p->points) {
        plain_points *next = p->points->next;
        free(p->points->point.impulses);
        free(p->points->point.velocities);
        free(p->points);
        p->points = next;
    }
    for (int g = 0; g < p->problem->block_groups; g++) {
        free(p->step[g]);
        free(p->factor[g]);
    }
    double *own[] = {p->weight, p->lambda, p->before,     p->best,  p->u,
                     p->b,      p->r,      p->parameters, p->merits};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
    cs_arena_clear(&p->rows);
    free(p);
    plain_live--;
}

static const char *what_is_missing(const cs_pack_request *request)
{
    if (request->dtype != CS_F64) return "other precisions than float64";
    if (strcmp(request->scheme->name, "matrix") && strcmp(request->scheme->name, "factorized"))
        return "other schemes than matrix and factorized";
    for (int64_t s = 0; s < request->schedule->stages; s++) {
        const cs_stage *stage = &request->schedule->stage[s];
        if (stage->kind == CS_CONCURRENT) return "concurrent stages";
        if (stage->kind == CS_SIMULTANEOUS && request->schedule->stages > 1)
            return "several simultaneous stages";
    }
    int added = request->scheme->options && request->setting[0].number > CS_RECOMPUTE;
    return added ? "velocities that are added to" : NULL;
}

static cs_status choose(const cs_pack_request *request, const cs_scheme **scheme, cs_error *error)
{
    (void)error;
    *scheme = cs_scheme_find(request->problem->matrix ? "matrix" : "factorized");
    return CS_OK;
}

static int fill_factors(plain *p)
{
    for (int g = 0; g < p->problem->block_groups; g++) {
        const cs_block_group *group = &p->problem->block_group[g];
        int64_t size = cs_jacobian_size(group);
        p->factor[g] = numbers(group->count * size);
        if (!p->factor[g]) return 0;
        for (int64_t k = 0; k < group->count; k++)
            cs_scaled_jacobian(p->problem, group, k, p->factor[g] + k * size);
    }
    return 1;
}

static cs_status pack(const cs_pack_request *request, cs_arena *arena, const cs_control *control,
                      cs_packing *packing, cs_error *error)
{
    (void)arena;
    const cs_problem *problem = request->problem;
    const char *missing = what_is_missing(request);
    if (missing) return cs_fail(error, CS_UNSUPPORTED, "the plain backend has no %s", missing);
    plain *p = packing->state = calloc(1, sizeof *p);
    if (!p) return no_memory(error);
    plain_live++;
    p->problem = problem;
    p->schedule = request->schedule;
    p->factorized = strcmp(request->scheme->name, "factorized") == 0;
    p->bound_previous = request->bound_previous;
    p->averaging = request->averaging;
    p->damping = 1;
    memcpy(p->local, request->local, sizeof *p->local * (size_t)problem->block_groups);
    p->lambda = numbers(problem->rows);
    p->before = numbers(problem->rows);
    p->best = numbers(problem->rows);
    p->u = numbers(problem->velocities + CS_MAX_DOF);
    p->b = numbers(problem->rows);
    p->r = numbers(problem->rows);
    p->parameters = numbers(problem->parameters);
    p->merits = numbers(request->schedule->parts);
    if (request->weight) p->weight = copied(request->weight, problem->blocks);
    int complete = p->lambda && p->before && p->best && p->u && p->b && p->r && p->parameters &&
                   p->merits && (p->weight || !request->weight);
    if (!complete || (p->factorized && !fill_factors(p))) return no_memory(error);
    p->matrix = problem->matrix;
    if (!p->factorized && !p->matrix) {
        cs_block_matrix *built = NULL;
        cs_status status = cs_assemble(problem, 1, &p->rows, control, &built, error);
        if (status) return status;
        p->matrix = built;
    }
    if (!p->factorized) packing->matrix_blocks = p->matrix->start[problem->blocks];
    packing->keeps_velocities = p->factorized;
    p->blocks_of_matrix = packing->matrix_blocks;
    return CS_OK;
}

static int64_t describe(const void *state, char *kernel, size_t size)
{
    const plain *p = state;
    snprintf(kernel, size, "plain");
    return (int64_t)sizeof(double) * (3 * p->problem->rows + p->problem->velocities);
}

/* ---- in and out ------------------------------------------------------------------------------ */

static void put(void *state, const double *impulses)
{
    plain *p = state;
    size_t bytes = sizeof(double) * (size_t)p->problem->rows;
    if (impulses) memcpy(p->lambda, impulses, bytes);
    else memset(p->lambda, 0, bytes);
}

static void get(const void *state, double *impulses)
{
    const plain *p = state;
    memcpy(impulses, p->lambda, sizeof(double) * (size_t)p->problem->rows);
}

static void put_data(void *state, const double *b, const double *parameters)
{
    plain *p = state;
    if (b) memcpy(p->b, b, sizeof(double) * (size_t)p->problem->rows);
    if (parameters)
        memcpy(p->parameters, parameters, sizeof(double) * (size_t)p->problem->parameters);
}

static void get_data(const void *state, double *b)
{
    const plain *p = state;
    memcpy(b, p->b, sizeof(double) * (size_t)p->problem->rows);
}

/* There is no way to fail but to end the program: memory for copies of matrices is not a solve's to ask for. */
static void put_steps(void *state, const double *r, double *const *step)
{
    plain *p = state;
    p->damping = 1;
    memcpy(p->r, r, sizeof(double) * (size_t)p->problem->rows);
    for (int g = 0; g < p->problem->block_groups; g++) {
        const cs_block_group *group = &p->problem->block_group[g];
        free(p->step[g]);
        p->step[g] = step[g] ? copied(step[g], group->count * group->rows * group->rows) : NULL;
        if (step[g] && !p->step[g]) abort();
    }
}

static void scale_steps(void *state, double factor)
{
    plain *p = state;
    p->damping *= factor;
    for (int g = 0; g < p->problem->block_groups; g++) {
        const cs_block_group *group = &p->problem->block_group[g];
        if (cs_solves_block(p->local[g])) continue;
        for (int64_t i = 0; i < group->count * group->rows; i++)
            p->r[group->first_row + i] *= factor;
        int64_t count = p->step[g] ? group->count * group->rows * group->rows : 0;
        for (int64_t i = 0; i < count; i++) p->step[g][i] *= factor;
    }
}

static void replace_steps(void *state, const double *r, const unsigned char *changed)
{
    plain *p = state;
    for (int64_t block = 0; block < p->problem->blocks; block++) {
        int64_t first = cs_block_row(p->problem, block);
        int rows = cs_block_group_of(p->problem, block)->rows;
        for (int i = 0; i < rows && changed[block]; i++) p->r[first + i] = r[first + i];
    }
}

/* ---- one block ------------------------------------------------------------------------------- */

static double *side_of(plain *p, const cs_block_group *group, int64_t k, int side)
{
    int64_t at = group->velocity[2 * k + side];
    return p->u + (at < 0 ? p->problem->velocities : at);
}

/* xi += G_side u */
static void read_side(int rows, int dof, const double *G, const double *u, double *xi)
{
    for (int i = 0; i < rows; i++) {
        double half[2] = {0, 0};
        for (int c = 0; c < dof - dof % 2; c++) half[c % 2] += G[i * dof + c] * u[c];
        if (dof % 2) half[0] += G[i * dof + dof - 1] * u[dof - 1];
        xi[i] += half[0] + half[1];
    }
}

/* u += G_side^T delta */
static void write_side(int rows, int dof, const double *G, const double *delta, double *u)
{
    for (int c = 0; c < dof; c++)
        for (int i = 0; i < rows; i++) u[c] += G[i * dof + c] * delta[i];
}

static const double *factor_of(const plain *p, int g, int64_t k)
{
    return p->factor[g] + k * cs_jacobian_size(&p->problem->block_group[g]);
}

/* xi_k = A_row k lambda + b_k, of the impulses that k may see. */
static void residual_of(plain *p, int g, int64_t k, const double *lambda, double *xi)
{
    const cs_block_group *group = &p->problem->block_group[g];
    int rows = group->rows, d0 = group->dof[0], d1 = group->dof[1];
    int64_t first = group->first_row + k * rows, block = group->first_block + k;
    for (int i = 0; i < rows; i++) xi[i] = p->b[first + i];
    if (p->factorized) {
        const double *G = factor_of(p, g, k);
        read_side(rows, d0, G, side_of(p, group, k, 0), xi);
        read_side(rows, d1, G + rows * d0, side_of(p, group, k, 1), xi);
        for (int i = 0; i < rows && group->compliance; i++)
            xi[i] += group->compliance[k * rows + i] * p->lambda[first + i];
        return;
    }
    const double *value = p->matrix->value + p->matrix->first[block];
    for (int64_t e = p->matrix->start[block]; e < p->matrix->start[block + 1]; e++) {
        int64_t other = p->matrix->column[e];
        int width = cs_block_group_of(p->problem, other)->rows;
        const double *x = lambda + cs_block_row(p->problem, other);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < width; j++) xi[i] += value[i * width + j] * x[j];
        value += rows * width;
    }
}

/* z <- prox(lambda_k - R_k xi) */
static void project(const plain *p, int g, int64_t k, const double *xi, double *z)
{
    const cs_block_group *group = &p->problem->block_group[g];
    int rows = group->rows;
    int64_t first = group->first_row + k * rows;
    const double *old = p->lambda + first;
    for (int i = 0; i < rows; i++) {
        z[i] = old[i];
        if (!p->step[g]) z[i] -= p->r[first + i] * xi[i];
        for (int j = 0; j < rows && p->step[g]; j++)
            z[i] -= p->step[g][(k * rows + i) * rows + j] * xi[j];
    }
    group->set->prox_f64(rows, z, p->parameters + group->first_parameter + k * group->parameters,
                         p->bound_previous ? old : NULL);
}

/* The local problem of a block: W z + q = v, W = A_kk, z = prox(z - r v). */
typedef struct local_problem {
    const cs_block_group *group;
    const double *W, *r, *parameters, *previous;
    double q[CS_MAX_ROWS];
} local_problem;

/* A projected step of one coupled set, of `scale` r. Returns its largest change, relative to its terms. */
static double step_of_set(const local_problem *l, int coupled, double scale, double *z)
{
    int rows = l->group->rows;
    double next[CS_MAX_ROWS], largest = 0;
    for (int i = 0; i < rows; i++) {
        double v = l->q[i];
        for (int j = 0; j < rows; j++) v += l->W[i * rows + j] * z[j];
        next[i] = l->group->coupled_set[i] == coupled ? z[i] - scale * l->r[i] * v : z[i];
    }
    l->group->set->prox_f64(rows, next, l->parameters, l->previous);
    for (int i = 0; i < rows; i++) {
        double change = fabs(next[i] - z[i]), size = fabs(z[i]) + l->r[i] * fabs(l->q[i]);
        if (change > largest * size) largest = change / size;
        z[i] = next[i];
    }
    return largest;
}

/* Projected steps until they are as small as rounding errors; steps that do not become smaller are halved.
 * Returns 1 if they still are not small in the end. */
static int step_to_the_end(const local_problem *l, double *z)
{
    double scale = 1, earlier = DBL_MAX;
    for (int n = 1; n <= CS_INNER_STEPS; n++) {
        double largest = 0;
        for (int s = 0; s < l->group->rows; s++) {
            int found = 0;
            for (int i = 0; i < l->group->rows; i++) found |= l->group->coupled_set[i] == s;
            if (found) largest = fmax(largest, step_of_set(l, s, scale, z));
        }
        if (!(largest > 4 * DBL_EPSILON)) return 0;
        if (n % CS_INNER_CHECK_EVERY != 0) continue;
        if (largest > earlier / 2 && scale > 1.0 / 64) scale /= 2;
        earlier = largest;
    }
    return 1;
}

/* z <- the solution of the local problem of a block; by projected steps where scheme/local finds none.
 * Returns 1 if it was not solved to rounding. */
static int solve_block(const plain *p, int g, int64_t k, const double *xi, double *z)
{
    const cs_block_group *group = &p->problem->block_group[g];
    int rows = group->rows;
    int64_t first = group->first_row + k * rows;
    const double *old = p->lambda + first;
    local_problem l = {
        .group = group,
        .W = p->step[g] + k * rows * rows,
        .r = p->r + first,
        .parameters = p->parameters + group->first_parameter + k * group->parameters,
        .previous = p->bound_previous ? old : NULL,
    };
    for (int i = 0; i < rows; i++) {
        l.q[i] = xi[i];
        z[i] = old[i];
        for (int j = 0; j < rows; j++) l.q[i] -= l.W[i * rows + j] * old[j];
    }
    cs_local_method method = (cs_local_method)(p->local[g] - CS_BLOCK);
    if (cs_local_fits(group->set, rows, method) &&
        cs_local_solve(group->set, rows, method, l.W, l.q, l.parameters, p->bound_previous, z))
        return 0;
    return step_to_the_end(&l, z);
}

static void visit(plain *p, int g, int64_t k, int shown, cs_sweep_stats *part)
{
    const cs_block_group *group = &p->problem->block_group[g];
    int rows = group->rows, solves = cs_solves_block(p->local[g]);
    double *own = p->lambda + group->first_row + k * rows, weight = p->averaging;
    double xi[CS_MAX_ROWS], z[CS_MAX_ROWS], delta[CS_MAX_ROWS];
    residual_of(p, g, k, shown ? p->lambda : p->before, xi);
    if (solves) part->unfinished += solve_block(p, g, k, xi, z);
    else project(p, g, k, xi, z);
    if (p->weight) weight = p->weight[group->first_block + k];
    if (solves) weight *= p->damping;
    for (int i = 0; i < rows; i++) {
        if (weight != 1) z[i] = own[i] + weight * (z[i] - own[i]);
        delta[i] = z[i] - own[i];
        own[i] = z[i];
        if (fabs(delta[i]) > part->residual) part->residual = fabs(delta[i]);
        part->merit += delta[i] * delta[i];
    }
    if (!p->factorized || !shown) return;
    const double *G = factor_of(p, g, k);
    write_side(rows, group->dof[0], G, delta, side_of(p, group, k, 0));
    write_side(rows, group->dof[1], G + rows * group->dof[0], delta, side_of(p, group, k, 1));
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* u = G^T lambda, in the order of the visits; where the stage is simultaneous, in that of the blocks. */
static void refresh(void *state)
{
    plain *p = state;
    if (!p->factorized) return;
    int by_block = p->schedule->stages > 0 && p->schedule->stage[0].kind == CS_SIMULTANEOUS;
    memset(p->u, 0, sizeof(double) * (size_t)(p->problem->velocities + CS_MAX_DOF));
    for (int g = 0; g < p->problem->block_groups; g++) {
        const cs_block_group *group = &p->problem->block_group[g];
        for (int64_t v = 0; v < group->count; v++) {
            int64_t k = by_block ? v : p->schedule->visit[g][v];
            const double *G = factor_of(p, g, k), *own = p->lambda + group->first_row;
            for (int side = 0; side < 2; side++, G += group->rows * group->dof[0])
                if (group->velocity[2 * k + side] >= 0)
                    write_side(group->rows, group->dof[side], G, own + k * group->rows,
                               side_of(p, group, k, side));
        }
    }
}

/* The i-th of `count`, in the direction of the sweep. */
static int64_t turned(const plain *p, int64_t i, int64_t count)
{
    return p->backwards ? count - 1 - i : i;
}

static void sweep_part(plain *p, const cs_stage *stage, int64_t part)
{
    const cs_schedule *schedule = p->schedule;
    const int64_t *ranges = schedule->part + stage->first_part + part;
    int shown = stage->kind != CS_SIMULTANEOUS;
    cs_sweep_stats stats = {0};
    for (int64_t n = 0; n < ranges[1] - ranges[0]; n++) {
        const cs_range *range = &schedule->range[ranges[0] + turned(p, n, ranges[1] - ranges[0])];
        for (int64_t i = 0; i < range->count; i++) {
            int64_t v = range->first + turned(p, i, range->count);
            visit(p, range->group, schedule->visit[range->group][v], shown, &stats);
        }
    }
    if (stats.residual > p->stats.residual) p->stats.residual = stats.residual;
    p->stats.unfinished += stats.unfinished;
    p->merits[stage->first_part + part] = stats.merit;
}

static void sweep_once(plain *p)
{
    const cs_schedule *schedule = p->schedule;
    p->stats = (cs_sweep_stats){0};
    for (int64_t n = 0; n < schedule->stages; n++) {
        const cs_stage *stage = &schedule->stage[turned(p, n, schedule->stages)];
        memcpy(p->before, p->lambda, sizeof(double) * (size_t)p->problem->rows);
        for (int64_t part = 0; part < stage->parts; part++) sweep_part(p, stage, part);
        if (stage->kind == CS_SIMULTANEOUS) refresh(p);
    }
    for (int64_t part = 0; part < schedule->parts; part++) p->stats.merit += p->merits[part];
    if (isnan(p->stats.merit)) p->stats.residual = NAN;
    plain_sweeps++;
}

static void keep(void *state)
{
    plain *p = state;
    memcpy(p->best, p->lambda, sizeof(double) * (size_t)p->problem->rows);
}

static void restore(void *state)
{
    plain *p = state;
    memcpy(p->lambda, p->best, sizeof(double) * (size_t)p->problem->rows);
}

static cs_status sweep(void *state, cs_sweep_call *call, cs_error *error)
{
    (void)error;
    plain *p = state;
    cs_best_sweep *best = call->best;
    plain_calls++;
    call->alarm = 0;
    for (call->made = 0; call->made < call->most && !call->alarm; call->made++) {
        if (best && best->best_is_current) {
            keep(p);
            best->best_backwards = call->backwards;
        }
        p->backwards = call->backwards;
        sweep_once(p);
        call->backwards = call->alternates && !call->backwards;
        if (!best) continue;
        best->number++;
        call->alarm = cs_best_is_exceeded(best, &p->stats);
        if (!call->alarm) cs_best_update(best, &p->stats);
    }
    call->stats = p->stats;
    call->products = call->made * p->blocks_of_matrix;
    return CS_OK;
}

/* ---- points ---------------------------------------------------------------------------------- */

static cs_status take_point(void *state, cs_arena *arena, cs_point *point, cs_error *error)
{
    (void)arena;
    plain *p = state;
    plain_points *taken = calloc(1, sizeof *taken);
    if (!taken) return no_memory(error);
    taken->next = p->points;
    p->points = taken;
    taken->point.impulses = numbers(p->problem->rows);
    taken->point.velocities = numbers(p->problem->velocities);
    *point = taken->point;
    return point->impulses && point->velocities ? CS_OK : no_memory(error);
}

static cs_point here(const void *state)
{
    const plain *p = state;
    return (cs_point){p->lambda, p->u};
}

/* Both arrays of a point, one after the other. */
static double *array_of(cs_point point, int which)
{
    return which ? point.velocities : point.impulses;
}

static int64_t length_of(const plain *p, int which)
{
    return which ? p->problem->velocities : p->problem->rows;
}

static void copy(void *state, cs_point to, cs_point from)
{
    for (int w = 0; w < 2; w++)
        memcpy(array_of(to, w), array_of(from, w), sizeof(double) * (size_t)length_of(state, w));
}

static void combine(void *state, cs_point to, double a, cs_point p, double b, cs_point q)
{
    for (int w = 0; w < 2; w++)
        for (int64_t i = 0; i < length_of(state, w); i++)
            array_of(to, w)[i] = a * array_of(p, w)[i] + b * array_of(q, w)[i];
}

static void extrapolate(void *state, cs_point x, double beta, cs_point before)
{
    for (int w = 0; w < 2; w++)
        for (int64_t i = 0; i < length_of(state, w); i++) {
            double now = array_of(x, w)[i];
            array_of(x, w)[i] += beta * (now - array_of(before, w)[i]);
            array_of(before, w)[i] = now;
        }
}

static void conjugate(void *state, cs_point x, double beta, cs_point p, cs_point start)
{
    for (int w = 0; w < 2; w++)
        for (int64_t i = 0; i < length_of(state, w); i++) {
            double move = array_of(x, w)[i] - array_of(start, w)[i];
            double repeated = beta * array_of(p, w)[i];
            array_of(x, w)[i] += repeated;
            array_of(start, w)[i] = array_of(x, w)[i];
            array_of(p, w)[i] = repeated + move;
        }
}

static double sum_over(const plain *state, cs_point p, cs_point q, int distance)
{
    const double *x = p.impulses, *y = q.impulses;
    double sum = 0;
    for (int64_t first = 0; first < state->problem->rows; first += LUMP) {
        double lane[LANES] = {0}, lump = 0;
        for (int64_t i = first; i < first + LUMP && i < state->problem->rows; i++)
            lane[i % LANES] += distance ? (x[i] - y[i]) * (x[i] - y[i]) : x[i] * y[i];
        for (int l = 0; l < LANES; l++) lump += lane[l];
        sum += lump;
    }
    return sum;
}

static double dot(void *state, cs_point p, cs_point q) { return sum_over(state, p, q, 0); }
static double distance(void *state, cs_point p, cs_point q) { return sum_over(state, p, q, 1); }

const cs_backend plain_backend = {
    .name = "plain",
    .choose = choose,
    .pack = pack,
    .release = release,
    .describe = describe,
    .put = put,
    .get = get,
    .put_data = put_data,
    .get_data = get_data,
    .put_steps = put_steps,
    .scale_steps = scale_steps,
    .replace_steps = replace_steps,
    .refresh = refresh,
    .sweep = sweep,
    .keep = keep,
    .restore = restore,
    .take_point = take_point,
    .here = here,
    .copy = copy,
    .combine = combine,
    .extrapolate = extrapolate,
    .conjugate = conjugate,
    .dot = dot,
    .distance = distance,
};
