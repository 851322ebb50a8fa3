#include "core/error.h"
#include "linalg/ordering.h"
#include "methods/multilevel/internal.h"

#include <math.h>

/* Sizes of aggregates that are tried. */
enum { SMALLEST = 2, LARGEST = 32 };

/* ---- structure ------------------------------------------------------------------------------------ */

static void list_rows(cs_coarse *c, cs_arena *arena)
{
    const cs_problem *problem = c->problem;
    c->first_row = cs_arena_take(arena, problem->blocks, sizeof(int64_t));
    c->rows = cs_arena_take(arena, problem->blocks, sizeof(int64_t));
    if (cs_arena_failed(arena)) return;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t i = 0; i < group->count; i++) {
            c->first_row[group->first_block + i] = cs_group_row(group, i);
            c->rows[group->first_block + i] = group->rows;
        }
    }
}

/* list <- the blocks by what they belong to, -1: to nothing. */
static void list_blocks(const cs_problem *problem, const int64_t *owner, int64_t owners,
                        cs_arena *arena, cs_lists *list)
{
    list->start = cs_arena_take(arena, owners + 2, sizeof(int64_t));
    list->item = cs_arena_take(arena, problem->blocks, sizeof(int64_t));
    if (cs_arena_failed(arena)) return;
    for (int64_t k = 0; k < problem->blocks; k++)
        if (owner[k] >= 0) list->start[owner[k] + 2]++;
    for (int64_t i = 0; i < owners; i++) list->start[i + 2] += list->start[i + 1];
    for (int64_t k = 0; k < problem->blocks; k++)
        if (owner[k] >= 0) list->item[list->start[owner[k] + 1]++] = k;
}

/* How many patterns each face has room for: as many as it has rows, or a body freedoms. */
static int find_widths(cs_coarse *c, cs_arena *arena)
{
    int64_t faces = c->all.faces;
    c->width = cs_arena_take(arena, faces, sizeof(int64_t));
    c->unknown = cs_arena_take(arena, faces, sizeof(int64_t));
    c->part = cs_arena_take(arena, c->all.count, sizeof *c->part);
    if (cs_arena_failed(arena)) return -1;
    for (int64_t f = 0; f < faces; f++) {
        int64_t first = c->contact.item[c->contact.start[f]];
        int64_t dof = cs_block_group_of(c->problem, first)->dof[cs_lower_side(c, first)];
        int64_t width = dof < c->all.between[f] ? dof : c->all.between[f];
        c->width[f] = width < CS_FACE_WIDTH ? width : CS_FACE_WIDTH;
    }
    for (int64_t a = 0; a < c->all.count; a++) {
        c->part[a].inner = c->all.rows[a];
        for (int64_t t = c->all.touching.start[a]; t < c->all.touching.start[a + 1]; t++)
            c->part[a].columns += c->width[c->all.touching.item[t]];
    }
    return 0;
}

/* Faces that meet in an aggregate are neighbours. */
static int find_graph(const cs_coarse *c, cs_arena *scratch, cs_graph *graph)
{
    const cs_lists *touching = &c->all.touching;
    int64_t faces = c->all.faces, total = 0;
    for (int64_t a = 0; a < c->all.count; a++) {
        int64_t met = touching->start[a + 1] - touching->start[a];
        total += met * (met - 1);
    }
    int64_t *start = cs_arena_take(scratch, faces + 1, sizeof(int64_t));
    int64_t *column = cs_arena_take(scratch, total, sizeof(int64_t)), at = 0;
    if (cs_arena_failed(scratch)) return -1;
    for (int64_t f = 0; f < faces; f++) {
        for (int s = 0; s < 2; s++) {
            int64_t a = c->all.side[2 * f + s];
            for (int64_t t = touching->start[a]; t < touching->start[a + 1]; t++)
                if (touching->item[t] != f) column[at++] = touching->item[t];
        }
        start[f + 1] = at;
    }
    *graph = (cs_graph){faces, start, column};
    return 0;
}

/* Where each face's unknowns are, and the envelope of P^T A P. */
static int lay_out(cs_coarse *c, cs_arena *scratch, cs_arena *arena)
{
    int64_t faces = c->all.faces;
    cs_graph graph;
    int64_t *order = cs_arena_take(scratch, faces, sizeof(int64_t));
    int64_t *place = cs_arena_take(scratch, faces, sizeof(int64_t));
    int64_t *first = cs_arena_take(scratch, faces, sizeof(int64_t));
    int64_t *work = cs_arena_take(scratch, 3 * faces, sizeof(int64_t));
    if (!order || !place || !first || !work || find_graph(c, scratch, &graph)) return -1;
    cs_reverse_cuthill_mckee(&graph, order, work);
    cs_envelope(&graph, order, place, first);
    for (int64_t i = 0; i < faces; i++) {
        c->unknown[order[i]] = c->unknowns;
        c->unknowns += c->width[order[i]];
    }
    c->envelope = cs_arena_take(arena, c->unknowns, sizeof(int64_t));
    if (!c->envelope) return -1;
    for (int64_t i = 0; i < faces; i++)
        for (int64_t j = 0; j < c->width[order[i]]; j++)
            c->envelope[c->unknown[order[i]] + j] = c->unknown[order[first[i]]];
    return 0;
}

/* Multiplications that factors and corrections take. */
static void count_work(cs_coarse *c)
{
    const cs_adjacency *adjacency = &c->all.adjacency;
    for (int64_t a = 0; a < c->all.count; a++) {
        cs_part *part = &c->part[a];
        double n = (double)part->inner, m = (double)part->columns;
        part->work = n * n * (n / 6 + m) + n * m * m;
        for (int64_t i = c->all.body.start[a]; i < c->all.body.start[a + 1]; i++) {
            int64_t body = c->all.body.item[i];
            double rows = 0, dof = cs_body_group_of(c->problem, body)->dof;
            for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++)
                rows += (double)c->rows[cs_entry_block(adjacency->entry[e])];
            part->work += dof * (rows * (rows / 2 + m) + m * m);
        }
        c->all_factors += part->work;
        c->one_solve += n * (n + 2 * m);
    }
    for (int64_t i = 0; i < c->unknowns; i++) {
        double reach = (double)(i - c->envelope[i] + CS_PANEL);
        c->coarse_factor += reach * reach / 2;
        c->one_solve += 2 * reach;
    }
    c->all_factors += c->coarse_factor;
}

static cs_status find_structure(cs_coarse *c, const cs_problem *problem, int64_t size,
                                cs_arena *arena, cs_error *error)
{
    cs_arena scratch = {0};
    *c = (cs_coarse){.problem = problem};
    cs_status status = cs_aggregates_find(problem, size, arena, &c->all, error);
    if (status) return status;
    list_rows(c, arena);
    list_blocks(problem, c->all.face, c->all.faces, arena, &c->contact);
    list_blocks(problem, c->all.inner, c->all.count, arena, &c->within);
    int lost = find_widths(c, arena) || lay_out(c, &scratch, arena);
    cs_arena_clear(&scratch);
    if (lost)
        return cs_no_memory(error, "a coarse problem of %lld bodies", (long long)problem->bodies);
    count_work(c);
    return CS_OK;
}

/* The size of which the factors take the least work. */
static cs_status choose_size(const cs_problem *problem, int64_t *size, cs_error *error)
{
    double least = INFINITY;
    for (int64_t tried = SMALLEST; tried <= LARGEST; tried *= 2) {
        cs_arena scratch = {0};
        cs_coarse c;
        cs_status status = find_structure(&c, problem, tried, &scratch, error);
        if (!status && c.all_factors < least) {
            least = c.all_factors;
            *size = tried;
        }
        cs_arena_clear(&scratch);
        if (status) return status;
    }
    return CS_OK;
}

/* ---- room ------------------------------------------------------------------------------------ */

static int take_jacobians(cs_coarse *c, cs_arena *arena)
{
    const cs_problem *problem = c->problem;
    int64_t total = 0;
    c->scaled_at = cs_arena_take(arena, problem->blocks + 1, sizeof(int64_t));
    if (!c->scaled_at) return -1;
    for (int64_t k = 0; k < problem->blocks; k++) {
        c->scaled_at[k] = total;
        total += cs_jacobian_size(cs_block_group_of(problem, k));
    }
    c->scaled = cs_arena_take(arena, total, sizeof(double));
    if (!c->scaled) return -1;
    for (int64_t k = 0; k < problem->blocks; k++) {
        const cs_block_group *group = cs_block_group_of(problem, k);
        cs_scaled_jacobian(problem, group, k - group->first_block, c->scaled + c->scaled_at[k]);
    }
    return 0;
}

static int take_faces(cs_coarse *c, cs_arena *arena)
{
    int64_t total = 0;
    c->pattern_at = cs_arena_take(arena, c->all.faces, sizeof(int64_t));
    c->changed = cs_arena_take(arena, c->all.faces, 1);
    if (cs_arena_failed(arena)) return -1;
    for (int64_t f = 0; f < c->all.faces; f++) {
        c->pattern_at[f] = total;
        total += c->all.between[f] * CS_FACE_WIDTH;
    }
    c->pattern = cs_arena_take(arena, total, sizeof(double));
    return cs_arena_failed(arena) ? -1 : 0;
}

/* A multiple of 8: each array then begins on a cache line of its own, as the first does. */
static int64_t rounded(int64_t count) { return (count + CS_PANEL - 1) / CS_PANEL * CS_PANEL; }

/* The next `count` of `room`, which is NULL while they are only counted. */
static double *next(double *room, int64_t *used, int64_t count)
{
    double *array = room ? room + *used : NULL;
    *used += rounded(count);
    return array;
}

/* The arrays of one aggregate, all of them from common room: there are many. */
static void carve(cs_coarse *c, cs_part *part, double *room, int64_t *used, int64_t *numbers,
                  int64_t *counted)
{
    int64_t n = part->inner, m = part->columns, count = rounded(n) / CS_PANEL;
    int64_t size = cs_panels_size(n, c->zeros);
    part->extended = next(room, used, m * n);
    part->schur = next(room, used, m * m);
    part->panels = (cs_panels){
        .first = numbers ? numbers + *counted : NULL,
        .start = numbers ? numbers + *counted + count : NULL,
        .value = next(room, used, size),
        .inverse = next(room, used, count * CS_PANEL),
        .scratch = c->scratch,
        .capacity_panels = count,
        .capacity = size,
    };
    *counted += 2 * count + 1;
}

static int take_parts(cs_coarse *c, cs_arena *arena)
{
    int64_t most = 0, columns = 0, used = 0, counted = 0;
    c->zeros = cs_arena_take(arena, CS_MOST_INNER, sizeof(int64_t));
    c->scratch = cs_arena_take(arena, CS_MOST_INNER, sizeof(double));
    if (cs_arena_failed(arena)) return -1;
    for (int64_t a = 0; a < c->all.count; a++) {
        int64_t n = c->part[a].inner, m = c->part[a].columns;
        carve(c, &c->part[a], NULL, &used, NULL, &counted);
        if (m * n > most) most = m * n;
        if (m > columns) columns = m;
    }
    double *room = cs_arena_take(arena, used, sizeof(double));
    int64_t *numbers = cs_arena_take(arena, counted, sizeof(int64_t));
    c->right = cs_arena_take(arena, most, sizeof(double));
    c->effect = cs_arena_take(arena, columns * CS_MAX_DOF, sizeof(double));
    if (cs_arena_failed(arena)) return -1;
    used = counted = 0;
    for (int64_t a = 0; a < c->all.count; a++) {
        carve(c, &c->part[a], room, &used, numbers, &counted);
        cs_panels_shape(&c->part[a].panels, c->part[a].inner, c->zeros);
    }
    return 0;
}

static int take_arrays(cs_coarse *c, cs_arena *arena)
{
    if (take_jacobians(c, arena) || take_faces(c, arena) || take_parts(c, arena) ||
        cs_panels_take(&c->panels, c->unknowns, c->envelope, arena))
        return -1;
    cs_panels_shape(&c->panels, c->unknowns, c->envelope);
    c->loose = cs_arena_take(arena, c->problem->rows, 1);
    c->x = cs_arena_take(arena, c->unknowns, sizeof(double));
    c->y = cs_arena_take(arena, CS_MOST_INNER, sizeof(double));
    return cs_arena_failed(arena) ? -1 : 0;
}

cs_status cs_coarse_take(const cs_problem *problem, int64_t size, double most_work, cs_arena *arena,
                         cs_coarse **coarse, cs_error *error)
{
    *coarse = NULL;
    cs_status status = size ? CS_OK : choose_size(problem, &size, error);
    cs_coarse *c = cs_arena_take(arena, 1, sizeof *c);
    if (!c)
        return cs_no_memory(error, "a coarse problem of %lld bodies", (long long)problem->bodies);
    if (!status) status = find_structure(c, problem, size, arena, error);
    if (status || c->all_factors > most_work) return status;
    if (take_arrays(c, arena))
        return cs_no_memory(error, "a coarse problem of %lld bodies", (long long)problem->bodies);
    *coarse = c;
    return CS_OK;
}

double cs_coarse_work(const cs_coarse *c) { return c->all_factors + c->one_solve; }
double cs_coarse_spent(const cs_coarse *c) { return c->spent; }
