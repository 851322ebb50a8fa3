/* How H is laid out: which nodes it has, in which order, and where each block goes. */
#include "system/newton_system.h"

#include "core/error.h"
#include "linalg/ordering.h"

/* The nodes of H: movable bodies, or blocks of a given A; and which of them share an entry. */
typedef struct nodes {
    int64_t count;
    int64_t *start, *column; /* the graph */
    int64_t *order, *place, *first, *width;
    int64_t *of; /* (velocities): the body's node where a body begins; NULL with a given A */
} nodes;

static const char factor[] = "the factor of Newton's method";

static cs_status cancelled(cs_error *error)
{
    return cs_fail(error, CS_INTERRUPTED, "interrupted while laying out a factor");
}

/* Cost of ordering a node or an entry of the graph, and of placing a block, in multiplications. */
enum { ORDER_WORK = 100, PLACE_WORK = 100 };

/* Numbers the movable bodies; their pairs become the graph. Here and below, the caller checks the arena
 * for failed allocations. */
static void take_bodies(const cs_problem *problem, cs_arena *arena, nodes *n)
{
    n->of = cs_arena_take(arena, problem->velocities, sizeof(int64_t));
    n->width = cs_arena_take(arena, problem->bodies, sizeof(int64_t));
    n->start = cs_arena_take(arena, problem->bodies + 2, sizeof(int64_t));
    n->column = cs_arena_take(arena, 2 * problem->blocks, sizeof(int64_t));
    if (cs_arena_failed(arena)) return;

    /* The nodes. */
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *group = &problem->body_group[g];
        for (int64_t i = 0; i < group->count; i++) {
            if (group->immovable[i]) continue;
            n->width[n->count] = group->dof;
            n->of[group->first_velocity + i * group->dof] = n->count++;
        }
    }

    /* The graph in compressed rows: the first pass counts, the second one fills. */
    for (int fills = 0; fills < 2; fills++) {
        for (int g = 0; g < problem->block_groups; g++)
            for (int64_t k = 0; k < problem->block_group[g].count; k++) {
                const cs_block_group *group = &problem->block_group[g];
                if (!cs_partner_moves(group, k, 0) || !cs_partner_moves(group, k, 1)) continue;
                int64_t a = n->of[cs_partner_velocity(group, k, 0)];
                int64_t b = n->of[cs_partner_velocity(group, k, 1)];
                if (fills) {
                    n->column[n->start[a + 1]++] = b;
                    n->column[n->start[b + 1]++] = a;
                } else {
                    n->start[a + 2]++;
                    n->start[b + 2]++;
                }
            }
        for (int64_t i = 0; i < n->count && !fills; i++) n->start[i + 2] += n->start[i + 1];
    }
}

/* The blocks of A as nodes, with the pattern of A + A^T. */
static void take_blocks(const cs_problem *problem, cs_arena *arena, nodes *n)
{
    const cs_block_matrix *matrix = problem->matrix;
    int64_t entries = matrix->start[matrix->blocks];
    n->count = problem->blocks;
    n->width = cs_arena_take(arena, n->count, sizeof(int64_t));
    n->start = cs_arena_take(arena, n->count + 2, sizeof(int64_t));
    n->column = cs_arena_take(arena, 2 * entries, sizeof(int64_t));
    if (cs_arena_failed(arena)) return;
    for (int64_t k = 0; k < n->count; k++) {
        n->width[k] = cs_block_group_of(problem, k)->rows;
        for (int64_t e = matrix->start[k]; e < matrix->start[k + 1]; e++) {
            n->start[k + 2]++;
            n->start[matrix->column[e] + 2]++;
        }
    }
    for (int64_t k = 0; k < n->count; k++) n->start[k + 2] += n->start[k + 1];
    for (int64_t k = 0; k < n->count; k++)
        for (int64_t e = matrix->start[k]; e < matrix->start[k + 1]; e++) {
            n->column[n->start[k + 1]++] = matrix->column[e];
            n->column[n->start[matrix->column[e] + 1]++] = k;
        }
}

/* Where every node begins in H, and the first column of every row of H. */
static void lay_out(cs_newton_system *system, cs_arena *arena, nodes *n, int64_t **first)
{
    cs_graph graph = {n->count, n->start, n->column};
    int64_t *scratch = cs_arena_take(arena, 3 * n->count, sizeof(int64_t));
    int64_t *begin = cs_arena_take(arena, n->count + 1, sizeof(int64_t));
    n->order = cs_arena_take(arena, n->count, sizeof(int64_t));
    n->place = cs_arena_take(arena, n->count, sizeof(int64_t));
    n->first = cs_arena_take(arena, n->count, sizeof(int64_t));
    if (cs_arena_failed(arena)) return;

    /* An order of the nodes with a narrow envelope. */
    cs_reverse_cuthill_mckee(&graph, n->order, scratch);
    cs_envelope(&graph, n->order, n->place, n->first);

    /* From nodes to rows of H. */
    for (int64_t i = 0; i < n->count; i++) begin[i + 1] = begin[i] + n->width[n->order[i]];
    system->size = begin[n->count];
    *first = cs_arena_take(arena, system->size, sizeof(int64_t));
    if (!*first) return;
    for (int64_t i = 0; i < n->count; i++)
        for (int64_t row = begin[i]; row < begin[i + 1]; row++) (*first)[row] = begin[n->first[i]];
    for (int64_t i = 0; i < n->count; i++) n->place[i] = begin[n->place[i]];
}

/* The places of all blocks in H, and their scaled Jacobians G. Non-zero: cancelled. */
static int place_blocks(cs_newton_system *system, const nodes *n, cs_cancellation *cancellation)
{
    const cs_problem *problem = system->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t block = group->first_block + k;
            if (cs_is_cancelled(cancellation, PLACE_WORK)) return -1;
            if (!n->of) {
                system->place[block] = n->place[block];
                continue;
            }
            cs_scaled_jacobian(problem, group, k,
                               system->scaled + system->first[g] + k * cs_jacobian_size(group));
            for (int side = 0; side < cs_block_partners(group); side++) {
                int64_t velocity = cs_partner_velocity(group, k, side);
                system->place[2 * block + side] = velocity < 0 ? -1 : n->place[n->of[velocity]];
            }
        }
    }
    return 0;
}

static void take_arrays(cs_newton_system *system, cs_arena *arena)
{
    const cs_problem *problem = system->problem;
    int64_t squares = 0, scaled = 0;
    int compliant = 0, given = problem->matrix != NULL;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        system->square[g] = squares;
        system->first[g] = scaled;
        squares += group->count * group->rows * group->rows;
        if (!given) scaled += group->count * cs_jacobian_size(group);
        compliant |= group->compliance != NULL;
    }
    system->place = cs_arena_take(arena, 2 * problem->blocks, sizeof(int64_t));
    system->slope = cs_arena_take(arena, squares, sizeof(double));
    system->symmetric = cs_arena_take(arena, squares, sizeof(double));
    if (given) system->root = cs_arena_take(arena, squares, sizeof(double));
    else system->scaled = cs_arena_take(arena, scaled, sizeof(double));
    if (compliant) system->inverse = cs_arena_take(arena, squares, sizeof(double));
    system->y = cs_arena_take(arena, system->size, sizeof(double));
    system->work = cs_arena_take(arena, problem->rows, sizeof(double));
    system->right = cs_arena_take(arena, problem->rows, sizeof(double));
    system->basis = cs_arena_take(arena, (CS_KRYLOV + 1) * problem->rows, sizeof(double));
}

/* Whether L U of H with S costs less than GMRES with a factor of the symmetric part. The constants are
 * nanoseconds on one machine; only their ratios matter. */
static int eliminates(const cs_problem *problem, const cs_profile *profile, const int64_t *first)
{
    const double multiply = 0.4, contact = 120, entry = 1, steps = 8;
    double entries = 0;
    for (int64_t i = 0; i < profile->rows; i++) entries += (double)(i + 1 - first[i]);
    double products = steps * (contact * (double)problem->blocks + entry * entries);
    return !problem->matrix && multiply * cs_profile_work(profile) < products;
}

/* The nodes of H and their order, each stage in turn. */
static cs_status take_order(cs_newton_system *system, cs_cancellation *cancellation,
                            cs_arena *scratch, nodes *n, int64_t **first, cs_error *error)
{
    const cs_problem *problem = system->problem;
    if (problem->matrix) take_blocks(problem, scratch, n);
    else take_bodies(problem, scratch, n);
    if (cs_arena_failed(scratch)) return cs_no_memory(error, factor);
    double size = (double)n->count + (double)n->start[n->count];
    if (cs_is_cancelled(cancellation, ORDER_WORK * size)) return cancelled(error);
    lay_out(system, scratch, n, first);
    if (cs_arena_failed(scratch)) return cs_no_memory(error, factor);
    return cs_is_cancelled(cancellation, ORDER_WORK * size) ? cancelled(error) : CS_OK;
}

cs_status cs_newton_size_of(const cs_problem *problem, cs_cancellation *cancellation,
                            cs_newton_size *size, cs_error *error)
{
    cs_newton_system system = {.problem = problem};
    cs_arena scratch = {0};
    nodes n = {0};
    int64_t *first = NULL;
    *size = (cs_newton_size){0};
    cs_status status = take_order(&system, cancellation, &scratch, &n, &first, error);
    if (!status) {
        cs_profile_shape(&system.profile, system.size, first, &scratch);
        status = cs_arena_status(&scratch, error, factor);
    }
    if (!status && eliminates(problem, &system.profile, first))
        size->elimination = cs_profile_work(&system.profile);
    for (int64_t i = 0; !status && i < system.size; i++) {
        double width = (double)(i + 1 - first[i]);
        size->entries += width;
        size->multiplications += width * width / 2;
    }
    cs_arena_clear(&scratch);
    return status;
}

cs_status cs_newton_system_build(cs_newton_system *system, const cs_problem *problem,
                                 const double *scale, double bytes, cs_cancellation *cancellation,
                                 cs_arena *arena, cs_error *error)
{
    *system = (cs_newton_system){.problem = problem, .scale = scale};
    cs_arena scratch = {0};
    nodes n = {0};
    int64_t *first = NULL;
    cs_status status = take_order(system, cancellation, &scratch, &n, &first, error);
    double needed = status ? 0 : 8.0 * (double)cs_panels_size(system->size, first);
    if (needed > bytes)
        status = cs_fail(error, CS_UNSUPPORTED,
                         "method='newton' needs a factor of %.3g bytes, and factor_bytes is %.3g: "
                         "increase it, or use a method that sweeps",
                         needed, bytes);
    if (!status) {
        take_arrays(system, arena);
        cs_panels_take(&system->panels, system->size, first, arena);
        if (!cs_profile_shape(&system->profile, system->size, first, arena) &&
            eliminates(problem, &system->profile, first))
            cs_profile_take(&system->profile, arena);
        status = cs_arena_status(arena, error, factor);
    }
    if (!status) {
        cs_panels_shape(&system->panels, system->size, first);
        if (place_blocks(system, &n, cancellation)) status = cancelled(error);
    }
    cs_arena_clear(&scratch);
    return status;
}
