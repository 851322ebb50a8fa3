#include "measure/certificate.h"

#include "core/ascending.h"
#include "core/error.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* The prox of a point this far away shows the recession cone: finite bounds are negligible beside it, and
 * entries below NOTHING x FAR_AWAY count as zero. */
#define FAR_AWAY 0x1p200
#define NOTHING 0x1p-100
/* The least relative tolerance that a proof assumes. With a smaller one, Lambda_i would be so small that a
 * proof excluded only negligible impulses. */
#define LEAST_RTOL 1e-6

/* Sums and extremes over the rows of one island. All members are doubles, as `allocate` allocates them with others. */
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
    double *of_piece, *of_island;                     /* (pieces, SUMS), (islands, SUMS): scratch */
    double *shared;                                   /* (shared islands): scratch */
    unsigned char *proven;                            /* (islands) */
} proof_search;

/* Sums that are taken at once. */
enum { SUMS = CS_RANKS_PIECE_NUMBERS };

/* ---- pieces of islands ----------------------------------------------------------------------- */

/* key (blocks) <- island x parts + part of each block that belongs to this rank, ascending and each once. Returns their
 * number. */
static int64_t find_keys(const cs_problem *problem, const int64_t *island, const int64_t *part,
                         int64_t parts, const cs_ranks *ranks, int64_t *key)
{
    int64_t count = 0;
    for (int64_t k = 0; k < problem->blocks; k++)
        if (cs_ranks_own(ranks, part[k])) key[count++] = island[k] * parts + part[k];
    return cs_sort_distinct_64(key, count);
}

/* The place of a key among ascending ones, which have it. */
static int64_t find_place(const int64_t *key, int64_t count, int64_t wanted)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (key[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
}

cs_status cs_island_pieces_make(const cs_problem *problem, const int64_t *island, int64_t islands,
                                int64_t *part, const cs_ranks *ranks, cs_arena *arena,
                                cs_island_pieces *pieces, cs_error *error)
{
    *pieces = (cs_island_pieces){islands, islands, NULL, NULL};
    if (!part) return CS_OK;

    /* The pieces. */
    int64_t parts = 1, *key = cs_allocate(problem->blocks, sizeof *key);
    if (!key) return cs_no_memory(error, "the islands of parts");
    for (int64_t k = 0; k < problem->blocks; k++)
        if (part[k] >= parts) parts = part[k] + 1;
    pieces->pieces = find_keys(problem, island, part, parts, ranks, key);
    pieces->island = cs_arena_take(arena, pieces->pieces, sizeof(int64_t));
    if (cs_arena_failed(arena)) {
        cs_release(key);
        return cs_no_memory(error, "the islands of parts");
    }
    for (int64_t i = 0; i < pieces->pieces; i++) pieces->island[i] = key[i] / parts;

    /* The piece of each block. */
    pieces->of_block = part;
    for (int64_t k = 0; k < problem->blocks; k++)
        pieces->of_block[k] = cs_ranks_own(ranks, part[k])
                                  ? find_place(key, pieces->pieces, island[k] * parts + part[k])
                                  : -1;
    cs_release(key);
    return CS_OK;
}

/* The piece of a block; -1 if it belongs to another rank. */
static int64_t piece_of(const proof_search *p, int64_t block)
{
    const cs_island_pieces *pieces = p->data->pieces;
    return pieces->of_block ? pieces->of_block[block] : p->data->island[block];
}

/* The ranks that search together, and the islands that they share, which are the first ones; NULL and 0 on one process. */
static cs_ranks *ranks_of(const proof_search *p) { return p->data->state->ranks; }

static int64_t shared_islands(const proof_search *p)
{
    return ranks_of(p) ? cs_ranks_share(ranks_of(p))->shared_islands : 0;
}

/* of_island <- the sums over each island of what is in of_piece. */
static void add_pieces(proof_search *p)
{
    const cs_island_pieces *pieces = p->data->pieces;
    memset(p->of_island, 0, sizeof(double) * SUMS * (size_t)pieces->islands);
    for (int64_t i = 0; i < pieces->pieces; i++) {
        int64_t island = pieces->island ? pieces->island[i] : i;
        for (int s = 0; s < SUMS; s++) p->of_island[SUMS * island + s] += p->of_piece[SUMS * i + s];
    }
    cs_ranks_sum_pieces(ranks_of(p), p->of_piece, p->of_island);
}

/* A number of each island that all ranks share <- the largest of all ranks. `at` is its place in island_sums; `sign` -1: the
 * least. */
static void share_largest(proof_search *p, size_t at, double sign)
{
    int64_t count = shared_islands(p);
    for (int64_t i = 0; i < count; i++)
        memcpy(&p->shared[i], (char *)&p->sum[i] + at, sizeof(double));
    for (int64_t i = 0; i < count; i++) p->shared[i] *= sign;
    cs_ranks_largest(ranks_of(p), p->shared, count);
    for (int64_t i = 0; i < count; i++) p->shared[i] *= sign;
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)&p->sum[i] + at, &p->shared[i], sizeof(double));
}

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
    cs_set_bounds bounds = cs_bounds_of(state, block);
    double tolerance = fmax(cs_bounds_tolerance(&bounds, rho), LEAST_RTOL * rho * scale);
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
    for (int64_t i = 0; i < p->data->pieces->islands; i++) p->sum[i].largest = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            project_block(p, group, k, friction);
            double *largest = &p->sum[p->data->island[group->first_block + k]].largest;
            for (int i = 0; i < group->rows; i++)
                *largest = fmax(*largest, fabs(p->direction[cs_group_row(group, k) + i]));
        }
    }
    share_largest(p, offsetof(island_sums, largest), 1);

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

/* What a row adds to two sums over its piece, and to the extremes of its island; and where the sums over islands go. */
typedef struct terms {
    void (*add)(const proof_search *p, const row_of_island *r, double *of_piece,
                island_sums *island);
    void (*take)(const double *of_island, island_sums *island);
} terms;

/* Those of b alone. */
static void add_work(const proof_search *p, const row_of_island *r, double *of_piece,
                     island_sums *island)
{
    (void)island;
    double work = p->data->state->b[r->row] * p->direction[r->row];
    of_piece[0] += work;
    of_piece[1] += fabs(work);
}

static void take_work(const double *of_island, island_sums *island)
{
    island->work = of_island[0];
    island->magnitude = of_island[1];
}

/* Adds |A^T d|_i Lambda_i, or with the rounding error of A^T d. Lambda may be infinite where A^T d is 0. */
static void add_left(const row_of_island *r, double seen, double *left, island_sums *island)
{
    double most = r->tolerance / (CS_FLOOR_UNITS * DBL_EPSILON);
    if (!(seen > 0)) return;
    *left += seen * most;
    island->bound = fmin(island->bound, most);
}

/* Those of A^T d. Without its rounding error, `left` is a lower bound, also as it is computed: sums of terms that are
 * not smaller are not smaller. */
static void add_image(const proof_search *p, const row_of_island *r, double *of_piece,
                      island_sums *island)
{
    double image = p->image[r->row];
    add_left(r, fabs(image), &of_piece[0], island);
    of_piece[1] += p->direction[r->row] * image;
    island->seen = fmax(island->seen, r->rho * fabs(image));
}

static void take_image(const double *of_island, island_sums *island)
{
    island->left = of_island[0];
    island->energy = of_island[1];
}

/* Those of the rounding error of A^T d. */
static void add_rounding(const proof_search *p, const row_of_island *r, double *of_piece,
                         island_sums *island)
{
    double size = p->magnitude[r->row];
    double seen = fabs(p->image[r->row]) + CS_FLOOR_UNITS * DBL_EPSILON * size;
    add_left(r, seen, &of_piece[0], island);
    of_piece[1] += fabs(p->direction[r->row]) * size;
}

static void take_rounding(const double *of_island, island_sums *island)
{
    island->left = of_island[0];
    island->rounding = of_island[1];
}

static const terms WORK = {add_work, take_work}, IMAGE = {add_image, take_image},
                   ROUNDING = {add_rounding, take_rounding};

/* Sums these terms over all islands. Rows of other ranks' blocks are theirs to add. */
static void add_rows(proof_search *p, const terms *of)
{
    const cs_problem *problem = p->data->state->problem;
    const cs_island_pieces *pieces = p->data->pieces;
    memset(p->of_piece, 0, sizeof(double) * SUMS * (size_t)pieces->pieces);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t piece = piece_of(p, group->first_block + k);
            for (int i = 0; i < group->rows && piece >= 0; i++) {
                row_of_island r = row_at(p, group, k, i);
                of->add(p, &r, &p->of_piece[SUMS * piece], &p->sum[r.island]);
            }
        }
    }

    /* Over islands, and over ranks. */
    add_pieces(p);
    for (int64_t i = 0; i < pieces->islands; i++) of->take(&p->of_island[SUMS * i], &p->sum[i]);
    if (of == &WORK) return;
    share_largest(p, offsetof(island_sums, bound), -1);
    if (of == &IMAGE) share_largest(p, offsetof(island_sums, seen), 1);
}

/* Whether `may` holds for some island without a proof. */
static int some_island(const proof_search *p, int (*may)(const island_sums *sum))
{
    int some = 0;
    for (int64_t i = 0; i < p->data->pieces->islands && !some; i++)
        some = !p->proven[i] && may(&p->sum[i]);
    return cs_ranks_any(ranks_of(p), some);
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
    int64_t islands = p->data->pieces->islands;
    for (int64_t i = 0; i < islands; i++) p->sum[i] = (island_sums){.bound = INFINITY};
    add_rows(p, &WORK);
    if (!some_island(p, is_driven)) return 0;

    /* What A sees, mostly, is too much for a proof. */
    cs_multiply_transposed(p->data->shared, problem, p->direction, p->velocity, p->image);
    add_rows(p, &IMAGE);
    if (!some_island(p, is_contradiction)) return 1;

    /* Only then the rounding error makes a difference. */
    for (int64_t i = 0; i < islands; i++) p->sum[i].bound = INFINITY;
    cs_magnitude_transposed(p->data->shared, problem, p->direction, p->velocity, p->magnitude);
    add_rows(p, &ROUNDING);
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

/* What ranks tell each other of a test. */
enum { PROOF, NEAR, BOUND, NUMBERS };

/* What each rank has found of the islands that they share, and of its own, becomes known to all. */
static void share_proofs(proof_search *p, cs_certificate *certificate, int *near)
{
    int64_t count = shared_islands(p);
    if (!ranks_of(p)) return;
    double numbers[NUMBERS] = {
        [PROOF] = certificate->proof, [NEAR] = *near, [BOUND] = -certificate->bound};
    cs_ranks_largest(ranks_of(p), numbers, NUMBERS);
    certificate->proof = (cs_proof)numbers[PROOF];
    *near = numbers[NEAR] != 0;
    certificate->bound = -numbers[BOUND];
    for (int64_t i = 0; i < count; i++) p->shared[i] = p->proven[i];
    cs_ranks_largest(ranks_of(p), p->shared, count);
    for (int64_t i = 0; i < count; i++) p->proven[i] = p->shared[i] != 0;
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
    for (int64_t i = 0; i < p->data->pieces->islands; i++) p->proven[i] = p->proven[i] > 0;
    share_proofs(p, certificate, &near);
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
static double square(const proof_search *p, const double *x)
{
    double sum = 0;
    if (p->data->dot) return p->data->dot(p->data->context, x, x);
    for (int64_t i = 0; i < p->data->state->problem->rows; i++) sum += x[i] * x[i];
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
    double gradient = square(p, along);
    for (int k = 0; k < p->data->refinements && gradient > 0; k++) {
        /* Step to the minimum along the search direction. */
        multiply(p, along, 1, image);
        double curvature = square(p, image);
        if (!(curvature > 0)) break;
        double length = gradient / curvature;
        for (int64_t i = 0; i < rows; i++) {
            y[i] -= length * along[i];
            residual[i] -= length * image[i];
        }

        /* Make the next search direction conjugate to this one. */
        multiply(p, residual, 0, image);
        double next = square(p, image);
        for (int64_t i = 0; i < rows; i++) along[i] = image[i] + next / gradient * along[i];
        gradient = next;
    }

    /* Transform back. */
    for (int64_t i = 0; i < rows; i++)
        if (p->direction[i] != 0) p->direction[i] = sqrt(state->rho[i]) * y[i];
}

/* ---- proofs ---------------------------------------------------------------------------------- */

/* Allocates all scratch at once: six arrays of rows, one of velocities, the sums of pieces, the sums and the marks of
 * islands. */
static cs_status allocate(proof_search *p, cs_arena *scratch, cs_error *error)
{
    const cs_problem *problem = p->data->state->problem;
    const cs_island_pieces *pieces = p->data->pieces;
    int64_t rows = problem->rows, islands = pieces->islands;
    int64_t numbers = 6 * rows + problem->velocities;
    int64_t sums = islands * (int64_t)(sizeof *p->sum / sizeof(double));
    int64_t scratches = SUMS * (pieces->pieces + islands) + shared_islands(p);
    double **array[] = {&p->direction, &p->image, &p->magnitude, &p->residual, &p->along, &p->step};
    double *all = cs_arena_take(scratch, numbers + sums + scratches + islands, sizeof(double));
    if (!all) return cs_no_memory(error, "a certificate");
    for (int i = 0; i < 6; i++) *array[i] = all + i * rows;
    p->velocity = all + 6 * rows;
    p->sum = (island_sums *)(void *)(all + numbers);
    p->of_piece = all + numbers + sums;
    p->of_island = p->of_piece + SUMS * pieces->pieces;
    p->shared = p->of_island + SUMS * islands;
    p->proven = (unsigned char *)(p->shared + shared_islands(p));
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
    int64_t rows = p->data->state->problem->rows;
    if (rows) memcpy(p->direction, candidate, sizeof(double) * (size_t)rows);
    project(p, friction);
    if (judge(p, proof, certificate) && p->data->refinements > 0)
        judge_refined(p, proof, friction, certificate);
}

/* The rows of all ranks. */
static int64_t all_rows(const cs_proof_data *data)
{
    return data->state->ranks ? cs_ranks_rows(data->state->ranks) : data->state->problem->rows;
}

/* Initialises the certificate and the scratch memory. */
static cs_status begin(proof_search *p, const cs_proof_data *data, cs_arena *scratch,
                       cs_certificate *certificate, cs_error *error)
{
    int64_t rows = data->state->problem->rows;
    *p = (proof_search){.data = data};
    *certificate = (cs_certificate){.direction = certificate->direction, .bound = INFINITY};
    if (all_rows(data) == 0) return CS_OK;
    if (rows) memset(certificate->direction, 0, sizeof(double) * (size_t)rows);
    return cs_ranks_agree(data->state->ranks, allocate(p, scratch, error), error);
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
    if (!status && all_rows(data) && (!friction || has_friction(problem)))
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
    cs_ranks_largest(state->ranks, &largest, 1);
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
    if (status || !all_rows(data)) goto out;

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
