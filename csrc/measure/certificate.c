#include "measure/certificate.h"

#include "core/error.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The prox of a point this far away shows the recession cone: finite bounds are negligible beside it, and
 * entries below NOTHING x FAR_AWAY count as zero. */
#define FAR_AWAY 0x1p200
#define NOTHING 0x1p-100
/* The least relative tolerance that a proof assumes. With a smaller one, Lambda_i would be so small that a
 * proof excluded only negligible impulses. */
#define LEAST_RTOL 1e-6

/* Sums over the rows of one island. All members are doubles, as `allocate` allocates them with others. */
typedef struct island_sums {
    double largest;   /* max |d_i| */
    double work;      /* b . d */
    double magnitude; /* |b| . |d| */
    double left;      /* sum_i (|A^T d| + 4 eps |A|^T |d|)_i Lambda_i, or a lower bound of it */
    double energy;    /* d . A^T d */
    double rounding;  /* |d| . |A|^T |d| */
    double seen;      /* max rho |A^T d| */
    double bound;     /* least Lambda_i */
} island_sums;

typedef struct proof_search {
    const cs_proof_data *data;
    double *direction, *image, *magnitude, *velocity; /* (rows), but the last: (velocities) */
    double *residual, *along, *step;                  /* (rows), for least squares */
    island_sums *sum;                                 /* (islands) */
    unsigned char *proven;                            /* (islands) */
} proof_search;

/* ---- rows ------------------------------------------------------------------------------------ */

/* One row: its index, its island, and rho and the tolerance of its coupled set. */
typedef struct row_of_island {
    int64_t row, island;
    double rho, tolerance;
} row_of_island;

static row_of_island row_at(const proof_search *p, const cs_block_group *group, int64_t k, int i)
{
    const cs_state *state = p->data->state;
    int64_t block = group->first_block + k, row = cs_group_row(group, k) + i;
    double rho = state->rho[row], scale = state->scale[block];
    double tolerance = fmax(cs_tolerance_of(state, block, rho), LEAST_RTOL * rho * scale);
    return (row_of_island){row, p->data->island[block], rho, tolerance};
}

/* ---- the cone K ------------------------------------------------------------------------------ */

/* d <- the projection of d onto the recession cone of the block's set, which is the prox of FAR_AWAY d,
 * scaled back. Without `friction` the tangential entries of contacts become zero. */
static void project_block(const proof_search *p, const cs_block_group *group, int64_t k,
                          int friction)
{
    double z[CS_MAX_ROWS], *d = p->direction + cs_group_row(group, k);
    for (int i = 0; i < group->rows; i++) z[i] = FAR_AWAY * d[i];
    group->set->prox_f64(group->rows, z, cs_state_parameters(p->data->state, group, k), NULL);
    for (int i = 0; i < group->rows; i++) {
        d[i] = fabs(z[i]) > NOTHING * FAR_AWAY ? z[i] / FAR_AWAY : 0;
        int tangential = !group->set->convex && group->coupled_set[i] > 0;
        if (tangential && !friction) d[i] = 0;
    }
}

/* direction <- P_K(direction), scaled so that the largest entry of each island is 1. */
static void project(proof_search *p, int friction)
{
    const cs_problem *problem = p->data->state->problem;

    /* Project, and find the largest entry of each island. */
    for (int64_t k = 0; k < problem->blocks; k++) p->sum[k].largest = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            project_block(p, group, k, friction);
            double *largest = &p->sum[p->data->island[group->first_block + k]].largest;
            for (int i = 0; i < group->rows; i++)
                *largest = fmax(*largest, fabs(p->direction[cs_group_row(group, k) + i]));
        }
    }

    /* Scale; a direction that is zero or has overflowed becomes zero. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            double largest = p->sum[p->data->island[group->first_block + k]].largest;
            int usable = largest > 0 && isfinite(largest);
            double *d = p->direction + cs_group_row(group, k);
            for (int i = 0; i < group->rows; i++) d[i] = usable ? d[i] / largest : 0;
        }
    }
}

/* ---- the inequality -------------------------------------------------------------------------- */

/* What a row adds to the sums of its island. */
typedef void (*add_terms)(const proof_search *p, const row_of_island *r, island_sums *sum);

/* Those of b alone. */
static void add_work(const proof_search *p, const row_of_island *r, island_sums *sum)
{
    double work = p->data->state->b[r->row] * p->direction[r->row];
    sum->work += work;
    sum->magnitude += fabs(work);
}

/* Adds |A^T d|_i Lambda_i, or with the rounding error of A^T d. Lambda may be infinite where A^T d is 0. */
static void add_left(const row_of_island *r, double seen, island_sums *sum)
{
    double most = r->tolerance / (CS_FLOOR_UNITS * DBL_EPSILON);
    if (!(seen > 0)) return;
    sum->left += seen * most;
    sum->bound = fmin(sum->bound, most);
}

/* Those of A^T d. Without its rounding error, `left` is a lower bound, also as it is computed: sums of terms that are
 * not smaller are not smaller. */
static void add_image(const proof_search *p, const row_of_island *r, island_sums *sum)
{
    double image = p->image[r->row];
    add_left(r, fabs(image), sum);
    sum->energy += p->direction[r->row] * image;
    sum->seen = fmax(sum->seen, r->rho * fabs(image));
}

/* Those of the rounding error of A^T d. */
static void add_rounding(const proof_search *p, const row_of_island *r, island_sums *sum)
{
    double size = p->magnitude[r->row];
    add_left(r, fabs(p->image[r->row]) + CS_FLOOR_UNITS * DBL_EPSILON * size, sum);
    sum->rounding += fabs(p->direction[r->row]) * size;
}

static void add_rows(proof_search *p, add_terms add)
{
    const cs_problem *problem = p->data->state->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++)
            for (int i = 0; i < group->rows; i++) {
                row_of_island r = row_at(p, group, k, i);
                add(p, &r, &p->sum[r.island]);
            }
    }
}

/* Whether `may` holds for some island without a proof. */
static int some_island(const proof_search *p, int (*may)(const island_sums *sum))
{
    for (int64_t k = 0; k < p->data->state->problem->blocks; k++)
        if (!p->proven[k] && may(&p->sum[k])) return 1;
    return 0;
}

/* Whether b drives the impulses along the direction, as in every proof and in every direction worth a refinement. */
static int is_driven(const island_sums *sum) { return sum->work < 0; }

/* Whether the inequality holds. */
static int is_contradiction(const island_sums *sum)
{
    return sum->left < -sum->work - CS_B_UNITS * DBL_EPSILON * sum->magnitude;
}

/* Computes the sums of all islands for the current direction, as far as they may make a difference: products with A
 * take most of the time. Returns 0 if the direction is neither a proof nor worth a refinement. */
static int measure(proof_search *p)
{
    /* What b does costs no product. */
    const cs_problem *problem = p->data->state->problem;
    for (int64_t k = 0; k < problem->blocks; k++) p->sum[k] = (island_sums){.bound = INFINITY};
    add_rows(p, add_work);
    if (!some_island(p, is_driven)) return 0;

    /* What A sees, mostly, is too much for a proof. */
    cs_multiply_transposed(p->data->shared, problem, p->direction, p->velocity, p->image);
    add_rows(p, add_image);
    if (!some_island(p, is_contradiction)) return 1;

    /* Only then the rounding error makes a difference. */
    for (int64_t k = 0; k < problem->blocks; k++) {
        p->sum[k].left = 0;
        p->sum[k].bound = INFINITY;
    }
    cs_magnitude_transposed(p->data->shared, problem, p->direction, p->velocity, p->magnitude);
    add_rows(p, add_rounding);
    return 1;
}

/* Whether the direction proves that the island has no solution: the inequality holds, and A is not definite
 * along d, as it is with compliance. */
static int is_proof(const island_sums *sum)
{
    int flat = sum->energy <= CS_FLOOR_UNITS * DBL_EPSILON * sum->rounding;
    return flat && is_contradiction(sum);
}

/* Whether refining the direction may lead to a proof. */
static int is_near(const island_sums *sum, double nearly)
{
    return sum->work < 0 && sum->seen <= nearly && sum->seen > 0;
}

/* Whether P_C(0) solves the block's island, so that no proof is needed. Rows that nothing moves are an
 * exception, if d has entries in them and A^T d is zero. */
static int is_solved(const proof_search *p, const cs_block_group *group, int64_t k,
                     const island_sums *sum)
{
    const cs_state *state = p->data->state;
    if (state->scale[group->first_block + k] != 0) return 0;
    int unmoved = 0;
    for (int64_t i = 0, row = cs_group_row(group, k); i < group->rows; i++, row++)
        unmoved |= state->rho[row] == 0 && p->direction[row] != 0;
    return !unmoved || sum->seen > 0;
}

/* Tests the current direction, and adds the islands that it proves to the certificate. Returns whether
 * refinement may prove further islands. */
static int judge(proof_search *p, cs_proof proof, cs_certificate *certificate)
{
    const cs_problem *problem = p->data->state->problem;
    int near = 0;
    if (!measure(p)) return 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t block = group->first_block + k, island = p->data->island[block];
            const island_sums *sum = &p->sum[island];

            /* Skip islands that have a solution or a proof; mark 1 is from an earlier direction. */
            if (is_solved(p, group, k, sum) || p->proven[island] == 1) continue;
            near |= is_near(sum, p->data->nearly);
            if (!is_proof(sum)) continue;

            /* Record the proof and this block's part of the direction; mark 2 lets the island's other
             * blocks follow. */
            p->proven[island] = 2;
            certificate->bound = fmin(certificate->bound, sum->bound);
            if (proof > certificate->proof) certificate->proof = proof;
            size_t bytes = sizeof(double) * (size_t)group->rows;
            int64_t row = cs_group_row(group, k);
            memcpy(certificate->direction + row, p->direction + row, bytes);
        }
    }
    for (int64_t k = 0; k < problem->blocks; k++) p->proven[k] = p->proven[k] > 0;
    return near;
}

/* ---- refinement: projection onto the kernel of A^T ------------------------------------------------ */

/* y <- B x = sqrt(rho) A^T sqrt(rho) x if `transposed`, otherwise y <- B^T x. Only the rows in which the
 * direction is not zero take part, as the variables of the least-squares problem. */
static void multiply(proof_search *p, const double *x, int transposed, double *y)
{
    const cs_state *state = p->data->state;
    const cs_problem *problem = state->problem;
    double *scaled = p->magnitude;
    for (int64_t i = 0; i < problem->rows; i++) {
        int masked = transposed && p->direction[i] == 0;
        scaled[i] = masked ? 0 : sqrt(state->rho[i]) * x[i];
        y[i] = 0;
    }
    if (transposed) cs_multiply_transposed(p->data->shared, problem, scaled, p->velocity, y);
    else cs_shared_residual_velocity(p->data->shared, problem, scaled, NULL, p->velocity, y);
    for (int64_t i = 0; i < problem->rows; i++) {
        int masked = !transposed && p->direction[i] == 0;
        y[i] = masked ? 0 : sqrt(state->rho[i]) * y[i];
    }
}

/* |x|^2 */
static double square(const double *x, int64_t rows)
{
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) sum += x[i] * x[i];
    return sum;
}

/* direction <- its component in the kernel of A^T, by conjugate gradients on the normal equations of
 * min |B y| from y = d / sqrt(rho), with B = sqrt(rho) A^T sqrt(rho).  Hestenes and Stiefel 1952 */
static void refine(proof_search *p)
{
    const cs_state *state = p->data->state;
    int64_t rows = state->problem->rows;
    double *y = p->step, *along = p->along, *residual = p->residual, *image = p->image;

    /* Start from the direction: residual = B y, and the search direction is the gradient B^T B y. */
    for (int64_t i = 0; i < rows; i++)
        y[i] = state->rho[i] > 0 ? p->direction[i] / sqrt(state->rho[i]) : 0;
    multiply(p, y, 1, residual);
    multiply(p, residual, 0, along);
    double gradient = square(along, rows);
    for (int k = 0; k < p->data->refinements && gradient > 0; k++) {
        /* Step to the minimum along the search direction. */
        multiply(p, along, 1, image);
        double curvature = square(image, rows);
        if (!(curvature > 0)) break;
        double length = gradient / curvature;
        for (int64_t i = 0; i < rows; i++) {
            y[i] -= length * along[i];
            residual[i] -= length * image[i];
        }

        /* Make the next search direction conjugate to this one. */
        multiply(p, residual, 0, image);
        double next = square(image, rows);
        for (int64_t i = 0; i < rows; i++) along[i] = image[i] + next / gradient * along[i];
        gradient = next;
    }

    /* Transform back. */
    for (int64_t i = 0; i < rows; i++)
        if (p->direction[i] != 0) p->direction[i] = sqrt(state->rho[i]) * y[i];
}

/* ---- proofs ---------------------------------------------------------------------------------- */

/* Allocates all scratch at once: six arrays of rows, one of velocities, the sums and the marks of islands. */
static cs_status allocate(proof_search *p, cs_arena *scratch, cs_error *error)
{
    const cs_problem *problem = p->data->state->problem;
    int64_t rows = problem->rows, numbers = 6 * rows + problem->velocities;
    int64_t sums = problem->blocks * (int64_t)(sizeof *p->sum / sizeof(double));
    double **array[] = {&p->direction, &p->image, &p->magnitude, &p->residual, &p->along, &p->step};
    double *all = cs_arena_take(scratch, numbers + sums + problem->blocks, sizeof(double));
    if (!all) return cs_no_memory(error, "a certificate");
    for (int i = 0; i < 6; i++) *array[i] = all + i * rows;
    p->velocity = all + 6 * rows;
    p->sum = (island_sums *)(void *)(all + numbers);
    p->proven = (unsigned char *)(all + numbers + sums);
    return CS_OK;
}

/* Refines the direction, projects it into K again, and tests it. */
static void judge_refined(proof_search *p, cs_proof proof, int friction,
                          cs_certificate *certificate)
{
    refine(p);
    project(p, friction);
    judge(p, proof, certificate);
}

/* Tests the projection of the candidate into K, and then its refinement if that may prove more. */
static void try_cone(proof_search *p, const double *candidate, int friction,
                     cs_certificate *certificate)
{
    cs_proof proof = friction ? CS_PROVES_UNBOUNDED : CS_PROVES_INFEASIBLE;
    memcpy(p->direction, candidate, sizeof(double) * (size_t)p->data->state->problem->rows);
    project(p, friction);
    if (judge(p, proof, certificate) && p->data->refinements > 0)
        judge_refined(p, proof, friction, certificate);
}

/* Initialises the certificate and the scratch memory. */
static cs_status begin(proof_search *p, const cs_proof_data *data, cs_arena *scratch,
                       cs_certificate *certificate, cs_error *error)
{
    int64_t rows = data->state->problem->rows;
    *p = (proof_search){.data = data};
    *certificate = (cs_certificate){.direction = certificate->direction, .bound = INFINITY};
    if (rows == 0) return CS_OK;
    memset(certificate->direction, 0, sizeof(double) * (size_t)rows);
    return allocate(p, scratch, error);
}

/* Whether the cone K has other directions with friction than without. */
static int has_friction(const cs_problem *problem)
{
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int i = 0; i < group->rows && !group->set->convex; i++)
            if (group->coupled_set[i] > 0) return 1;
    }
    return 0;
}

cs_status cs_prove(const cs_proof_data *data, const double *candidate, int friction,
                   cs_certificate *certificate, cs_error *error)
{
    cs_arena scratch = {0};
    proof_search p;
    const cs_problem *problem = data->state->problem;
    cs_status status = begin(&p, data, &scratch, certificate, error);
    if (!status && problem->rows && (!friction || has_friction(problem)))
        try_cone(&p, candidate, friction, certificate);
    cs_arena_clear(&scratch);
    return status;
}

/* theta: the largest row sum of sqrt(rho) |A|^T sqrt(rho), at least 1. */
static double largest_row_sum(proof_search *p)
{
    const cs_state *state = p->data->state;
    double largest = 1;
    for (int64_t i = 0; i < state->problem->rows; i++) p->step[i] = sqrt(state->rho[i]);
    cs_magnitude_transposed(p->data->shared, state->problem, p->step, p->velocity, p->magnitude);
    for (int64_t i = 0; i < state->problem->rows; i++)
        largest = fmax(largest, p->step[i] * p->magnitude[i]);
    return largest;
}

/* Tests the current direction, and with `refined` its refinement, too. It leaves the iterates of
 * cs_prove_driven in `residual` and `along` alone, unless it refines, which is the last step. */
static void judge_iterate(proof_search *p, int refined, cs_certificate *certificate)
{
    project(p, 0);
    judge(p, CS_PROVES_INFEASIBLE, certificate);
    if (refined && certificate->proof == CS_NO_PROOF)
        judge_refined(p, CS_PROVES_INFEASIBLE, 0, certificate);
}

/* direction <- P_K(y - rho (A^T y + b) / theta), with y in `residual` */
static void gradient_step(proof_search *p, double theta)
{
    const cs_state *state = p->data->state;
    const cs_problem *problem = state->problem;
    cs_multiply_transposed(p->data->shared, problem, p->residual, p->velocity, p->image);
    for (int64_t i = 0; i < problem->rows; i++) {
        double rho = state->rho[i] > 0 ? state->rho[i] / theta : 1;
        p->direction[i] = p->residual[i] - rho * (p->image[i] + state->b[i]);
    }
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++)
            project_block(p, &problem->block_group[g], k, 0);
}

cs_status cs_prove_driven(const cs_proof_data *data, int64_t steps, cs_certificate *certificate,
                          cs_error *error)
{
    cs_arena scratch = {0};
    proof_search p;
    cs_status status = begin(&p, data, &scratch, certificate, error);
    int64_t rows = data->state->problem->rows, next = 1;
    if (status || !rows) goto out;

    /* Start at zero: `along` holds the iterate before, `residual` the extrapolated one. */
    double theta = largest_row_sum(&p), t = 1;
    memset(p.along, 0, sizeof(double) * (size_t)rows);
    memset(p.residual, 0, sizeof(double) * (size_t)rows);
    for (int64_t k = 1; k <= steps && certificate->proof == CS_NO_PROOF; k++) {
        /* One accelerated step. */
        double after = (1 + sqrt(1 + 4 * t * t)) / 2, beta = (t - 1) / after;
        gradient_step(&p, theta);
        for (int64_t i = 0; i < rows; i++) {
            p.residual[i] = p.direction[i] + beta * (p.direction[i] - p.along[i]);
            p.along[i] = p.direction[i];
        }
        t = after;

        /* Test the iterates 1, 2, 4, 8, ... and the last one, which is refined as well. */
        if (k < next && k < steps) continue;
        next = 2 * k;
        judge_iterate(&p, k == steps, certificate);
    }
out:
    cs_arena_clear(&scratch);
    return status;
}
