/* The structure of the second level: the sizes of aggregates, faces and factors, the work that they take, and
 * the arrays. All of this depends on the contact graph alone. */
#include "core/error.h"
#include "linalg/ordering.h"
#include "methods/multilevel/internal.h"

#include <math.h>

/* Range of the sizes of aggregates from which the best one is chosen, by factors of 2. */
enum { SMALLEST = 2, LARGEST = 32 };

/* ---- structure ------------------------------------------------------------------------------- */

/* c->first_row and c->rows of all blocks. Check the arena for failure. */
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

/* list <- the blocks of each owner (counting sort). owner (blocks) is -1 for blocks without one. Check the
 * arena for failure. */
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

/* c->width, the number of patterns of each face: at most its rows, and at most the degrees of freedom of a
 * body. c->part: the rows and the columns of each aggregate. Returns non-zero if memory runs out. */
static int find_widths(cs_coarse *c, cs_arena *arena)
{
    int64_t faces = c->aggregates.faces;
    c->width = cs_arena_take(arena, faces, sizeof(int64_t));
    c->unknown = cs_arena_take(arena, faces, sizeof(int64_t));
    c->part = cs_arena_take(arena, c->aggregates.count, sizeof *c->part);
    if (cs_arena_failed(arena)) return -1;

    /* All contacts of a face count with the degrees of freedom of the first one. */
    for (int64_t f = 0; f < faces; f++) {
        int64_t first = c->face_block.item[c->face_block.start[f]];
        int64_t dof = cs_block_group_of(c->problem, first)->dof[cs_lower_side(c, first)];
        int64_t width = dof < c->aggregates.face_rows[f] ? dof : c->aggregates.face_rows[f];
        c->width[f] = width < CS_FACE_WIDTH ? width : CS_FACE_WIDTH;
    }

    /* An aggregate has the patterns of all its faces as columns. */
    for (int64_t a = 0; a < c->aggregates.count; a++) {
        c->part[a].inner = c->aggregates.rows[a];
        for (int64_t t = c->aggregates.touching.start[a]; t < c->aggregates.touching.start[a + 1];
             t++)
            c->part[a].columns += c->width[c->aggregates.touching.item[t]];
    }
    return 0;
}

/* graph <- the graph of faces, in which the faces of one aggregate are neighbours: the pattern of P^T A P.
 * Returns non-zero if memory runs out. */
static int find_graph(const cs_coarse *c, cs_arena *scratch, cs_graph *graph)
{
    const cs_lists *touching = &c->aggregates.touching;
    int64_t faces = c->aggregates.faces, total = 0;

    /* Count the neighbours. */
    for (int64_t a = 0; a < c->aggregates.count; a++) {
        int64_t met = touching->start[a + 1] - touching->start[a];
        total += met * (met - 1);
    }

    /* List them, for both sides of each face. */
    int64_t *start = cs_arena_take(scratch, faces + 1, sizeof(int64_t));
    int64_t *column = cs_arena_take(scratch, total, sizeof(int64_t)), at = 0;
    if (cs_arena_failed(scratch)) return -1;
    for (int64_t f = 0; f < faces; f++) {
        for (int s = 0; s < 2; s++) {
            int64_t a = c->aggregates.side[2 * f + s];
            for (int64_t t = touching->start[a]; t < touching->start[a + 1]; t++)
                if (touching->item[t] != f) column[at++] = touching->item[t];
        }
        start[f + 1] = at;
    }
    *graph = (cs_graph){faces, start, column};
    return 0;
}

/* Orders the unknowns of the faces by reverse Cuthill-McKee, and finds the envelope of P^T A P. Returns
 * non-zero if memory runs out. */
static int lay_out(cs_coarse *c, cs_arena *scratch, cs_arena *arena)
{
    int64_t faces = c->aggregates.faces;
    cs_graph graph;
    int64_t *order = cs_arena_take(scratch, faces, sizeof(int64_t));
    int64_t *place = cs_arena_take(scratch, faces, sizeof(int64_t));
    int64_t *first = cs_arena_take(scratch, faces, sizeof(int64_t));
    int64_t *work = cs_arena_take(scratch, 3 * faces, sizeof(int64_t));
    if (!order || !place || !first || !work || find_graph(c, scratch, &graph)) return -1;

    /* The order, and c->unknown of each face. */
    cs_reverse_cuthill_mckee(&graph, order, work);
    cs_envelope(&graph, order, place, first);
    for (int64_t i = 0; i < faces; i++) {
        c->unknown[order[i]] = c->unknowns;
        c->unknowns += c->width[order[i]];
    }

    /* The rows of a face begin at the first unknown of its first neighbour. */
    c->envelope = cs_arena_take(arena, c->unknowns, sizeof(int64_t));
    if (!c->envelope) return -1;
    for (int64_t i = 0; i < faces; i++)
        for (int64_t j = 0; j < c->width[order[i]]; j++)
            c->envelope[c->unknown[order[i]] + j] = c->unknown[order[first[i]]];
    return 0;
}

/* Counts the multiplications of factors and of one correction: part->work, c->factor_work,
 * c->coarse_factor_work and c->solve_work. */
static void count_work(cs_coarse *c)
{
    const cs_adjacency *adjacency = &c->aggregates.adjacency;
    for (int64_t a = 0; a < c->aggregates.count; a++) {
        /* The factor of A_ii, X and the Schur complement of one aggregate. */
        cs_part *part = &c->part[a];
        double n = (double)part->inner, m = (double)part->columns;
        part->work = n * n * (n / 6 + m) + n * m * m;

        /* The sums over bodies that make A_ii, A_iI W and the rest of the Schur complement. */
        for (int64_t i = c->aggregates.body.start[a]; i < c->aggregates.body.start[a + 1]; i++) {
            int64_t body = c->aggregates.body.item[i];
            double rows = 0, dof = cs_body_group_of(c->problem, body)->dof;
            for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++)
                rows += (double)c->rows[cs_entry_block(adjacency, adjacency->entry[e])];
            part->work += dof * (rows * (rows / 2 + m) + m * m);
        }
        c->factor_work += part->work;
        c->solve_work += n * (n + 2 * m);
    }

    /* The factor of P^T A P. */
    for (int64_t i = 0; i < c->unknowns; i++) {
        double reach = (double)(i - c->envelope[i] + CS_PANEL);
        c->coarse_factor_work += reach * reach / 2;
        c->solve_work += 2 * reach;
    }
    c->factor_work += c->coarse_factor_work;
}

/* Everything that decides the work, for aggregates of at most `size` bodies. */
static cs_status find_structure(cs_coarse *c, const cs_problem *problem, int64_t size,
                                cs_arena *arena, cs_error *error)
{
    cs_arena scratch = {0};
    *c = (cs_coarse){.problem = problem};
    cs_status status = cs_aggregates_find(problem, size, arena, &c->aggregates, error);
    if (status) return status;
    list_rows(c, arena);
    list_blocks(problem, c->aggregates.face, c->aggregates.faces, arena, &c->face_block);
    list_blocks(problem, c->aggregates.inner, c->aggregates.count, arena, &c->inner_block);
    int lost = find_widths(c, arena) || lay_out(c, &scratch, arena);
    cs_arena_clear(&scratch);
    if (lost)
        return cs_no_memory(error, "a coarse problem of %lld bodies", (long long)problem->bodies);
    count_work(c);
    return CS_OK;
}

/* size <- the maximum number of bodies per aggregate for which the factors need the least work. */
static cs_status choose_size(const cs_problem *problem, int64_t *size, cs_error *error)
{
    double least = INFINITY;
    for (int64_t tried = SMALLEST; tried <= LARGEST; tried *= 2) {
        cs_arena scratch = {0};
        cs_coarse c;
        cs_status status = find_structure(&c, problem, tried, &scratch, error);
        if (!status && c.factor_work < least) {
            least = c.factor_work;
            *size = tried;
        }
        cs_arena_clear(&scratch);
        if (status) return status;
    }
    return CS_OK;
}

/* ---- workspace ------------------------------------------------------------------------------- */

/* c->scaled <- G_k of all blocks. Returns non-zero if memory runs out. */
static int take_jacobians(cs_coarse *c, cs_arena *arena)
{
    const cs_problem *problem = c->problem;
    int64_t total = 0;

    /* Where each G_k begins. */
    c->scaled_at = cs_arena_take(arena, problem->blocks + 1, sizeof(int64_t));
    if (!c->scaled_at) return -1;
    for (int64_t k = 0; k < problem->blocks; k++) {
        c->scaled_at[k] = total;
        total += cs_jacobian_size(cs_block_group_of(problem, k));
    }

    /* The numbers. */
    c->scaled = cs_arena_take(arena, total, sizeof(double));
    if (!c->scaled) return -1;
    for (int64_t k = 0; k < problem->blocks; k++) {
        const cs_block_group *group = cs_block_group_of(problem, k);
        cs_scaled_jacobian(problem, group, k - group->first_block, c->scaled + c->scaled_at[k]);
    }
    return 0;
}

/* Allocates the arrays of faces. Returns non-zero if memory runs out. */
static int take_faces(cs_coarse *c, cs_arena *arena)
{
    int64_t total = 0;
    c->pattern_at = cs_arena_take(arena, c->aggregates.faces, sizeof(int64_t));
    c->changed = cs_arena_take(arena, c->aggregates.faces, 1);
    if (cs_arena_failed(arena)) return -1;
    for (int64_t f = 0; f < c->aggregates.faces; f++) {
        c->pattern_at[f] = total;
        total += c->aggregates.face_rows[f] * CS_FACE_WIDTH;
    }
    c->pattern = cs_arena_take(arena, total, sizeof(double));
    return cs_arena_failed(arena) ? -1 : 0;
}

/* Rounds up to a multiple of 8, so that every array begins on a cache line of its own, as the first one
 * does. */
static int64_t rounded(int64_t count) { return (count + CS_PANEL - 1) / CS_PANEL * CS_PANEL; }

/* Returns the next `count` numbers of `room` and adds them to `used`. With `room` NULL it only counts. */
static double *next_array(double *room, int64_t *used, int64_t count)
{
    double *array = room ? room + *used : NULL;
    *used += rounded(count);
    return array;
}

/* Assigns the arrays of one aggregate, as parts of two common arrays: `room` for doubles, `numbers` for
 * indices. With these NULL it only counts: `used` doubles, `counted` indices. */
static void carve_part(cs_coarse *c, cs_part *part, double *room, int64_t *used, int64_t *numbers,
                       int64_t *counted)
{
    int64_t n = part->inner, m = part->columns, count = rounded(n) / CS_PANEL;
    int64_t size = cs_panels_size(n, c->zeros);
    part->extended = next_array(room, used, m * n);
    part->schur = next_array(room, used, m * m);
    part->panels = (cs_panels){
        .first = numbers ? numbers + *counted : NULL,
        .start = numbers ? numbers + *counted + count : NULL,
        .value = next_array(room, used, size),
        .inverse = next_array(room, used, count * CS_PANEL),
        .scratch = c->scratch,
        .capacity_panels = count,
        .capacity = size,
    };
    *counted += 2 * count + 1;
}

/* Allocates the arrays of all aggregates. Returns non-zero if memory runs out. */
static int take_parts(cs_coarse *c, cs_arena *arena)
{
    int64_t most = 0, columns = 0, used = 0, counted = 0;
    c->zeros = cs_arena_take(arena, CS_MOST_INNER, sizeof(int64_t));
    c->scratch = cs_arena_take(arena, CS_MOST_INNER, sizeof(double));
    if (cs_arena_failed(arena)) return -1;

    /* Count, and find the largest aggregate. */
    for (int64_t a = 0; a < c->aggregates.count; a++) {
        int64_t n = c->part[a].inner, m = c->part[a].columns;
        carve_part(c, &c->part[a], NULL, &used, NULL, &counted);
        if (m * n > most) most = m * n;
        if (m > columns) columns = m;
    }

    /* Allocate. */
    double *room = cs_arena_take(arena, used, sizeof(double));
    int64_t *numbers = cs_arena_take(arena, counted, sizeof(int64_t));
    c->right = cs_arena_take(arena, most, sizeof(double));
    c->effect = cs_arena_take(arena, columns * CS_MAX_DOF, sizeof(double));
    if (cs_arena_failed(arena)) return -1;

    /* Assign. */
    used = counted = 0;
    for (int64_t a = 0; a < c->aggregates.count; a++) {
        carve_part(c, &c->part[a], room, &used, numbers, &counted);
        cs_panels_shape(&c->part[a].panels, c->part[a].inner, c->zeros);
    }
    return 0;
}

/* Allocates all arrays of a structure that is used. Returns non-zero if memory runs out. */
static int take_arrays(cs_coarse *c, cs_arena *arena)
{
    if (take_jacobians(c, arena) || take_faces(c, arena) || take_parts(c, arena) ||
        cs_panels_take(&c->panels, c->unknowns, c->envelope, arena))
        return -1;
    cs_panels_shape(&c->panels, c->unknowns, c->envelope);
    c->is_free = cs_arena_take(arena, c->problem->rows, 1);
    c->x = cs_arena_take(arena, c->unknowns, sizeof(double));
    c->y = cs_arena_take(arena, CS_MOST_INNER, sizeof(double));
    return cs_arena_failed(arena) ? -1 : 0;
}

cs_status cs_coarse_take(const cs_problem *problem, int64_t size, double most_work, cs_arena *arena,
                         cs_coarse **coarse, cs_error *error)
{
    *coarse = NULL;
    cs_status status = size ? CS_OK : choose_size(problem, &size, error);

    /* The structure, and its arrays unless the factors would be too expensive. */
    cs_coarse *c = cs_arena_take(arena, 1, sizeof *c);
    if (!c)
        return cs_no_memory(error, "a coarse problem of %lld bodies", (long long)problem->bodies);
    if (!status) status = find_structure(c, problem, size, arena, error);
    if (status || c->factor_work > most_work) return status;
    if (take_arrays(c, arena))
        return cs_no_memory(error, "a coarse problem of %lld bodies", (long long)problem->bodies);
    *coarse = c;
    return CS_OK;
}

double cs_coarse_work(const cs_coarse *c) { return c->factor_work + c->solve_work; }
double cs_coarse_spent(const cs_coarse *c) { return c->work_done; }
