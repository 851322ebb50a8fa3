#include "methods/multilevel/aggregates.h"

#include "core/error.h"
#include "linalg/ordering.h"

/* Zeroed numbers from an arena; NULL if memory runs out. */
static int64_t *take(cs_arena *arena, int64_t count)
{
    return cs_arena_take(arena, count, sizeof(int64_t));
}

/* ---- growing --------------------------------------------------------------------------------- */

/* Returns the bodies (bodies) in reverse Cuthill-McKee order of the contact graph, in `scratch`; NULL if
 * memory runs out. */
static int64_t *order_bodies(const cs_problem *problem, const cs_adjacency *adjacency,
                             cs_arena *scratch)
{
    int64_t n = problem->bodies, at = 0;
    int partners = cs_adjacency_partners(adjacency);
    int64_t *start = take(scratch, n + 1);
    int64_t *column = take(scratch, partners * (partners - 1) * problem->blocks);
    int64_t *order = take(scratch, n), *work = take(scratch, 3 * n);
    if (!start || !column || !order || !work) return NULL;

    /* The neighbours of each body, in compressed rows. */
    for (int64_t body = 0; body < n; body++) {
        for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++)
            for (int s = 1; s < partners; s++) {
                int64_t other = cs_adjacency_other(adjacency, adjacency->entry[e], s);
                if (other >= 0 && other != body) column[at++] = other;
            }
        start[body + 1] = at;
    }
    cs_graph graph = {n, start, column};
    cs_reverse_cuthill_mckee(&graph, order, work);
    return order;
}

/* How many rows get inside aggregate `number` when the body joins it: those of its contacts with members, with
 * itself and with what cannot move. */
static int64_t rows_gained(const cs_problem *problem, const cs_aggregates *a, int64_t body,
                           int64_t number)
{
    int64_t rows = 0;
    int partners = cs_adjacency_partners(&a->adjacency);
    for (int64_t e = a->adjacency.start[body]; e < a->adjacency.start[body + 1]; e++) {
        int64_t entry = a->adjacency.entry[e];
        int inside = 1;
        for (int s = 1; s < partners; s++) {
            int64_t other = cs_adjacency_other(&a->adjacency, entry, s);
            inside &= other < 0 || other == body || a->of_body[other] == number;
        }
        if (inside) rows += cs_block_group_of(problem, cs_entry_block(&a->adjacency, entry))->rows;
    }
    return rows;
}

/* Grows aggregate a->count from its seed, breadth first, to at most `size` bodies. The members are written to
 * a->body.item from index `first` on. Returns their number. */
static int64_t grow_aggregate(const cs_problem *problem, cs_aggregates *a, int64_t seed,
                              int64_t size, int64_t first)
{
    int64_t *member = a->body.item + first, members = 0, number = a->count;
    int others = cs_adjacency_partners(&a->adjacency) - 1;

    /* The seed. */
    int64_t rows = rows_gained(problem, a, seed, number);
    a->of_body[seed] = number;
    member[members++] = seed;

    /* Neighbours of members join while there is room. */
    for (int64_t m = 0; m < members; m++)
        for (int64_t i = others * a->adjacency.start[member[m]];
             i < others * a->adjacency.start[member[m] + 1] && members < size; i++) {
            int64_t entry = a->adjacency.entry[i / others];
            int64_t other = cs_adjacency_other(&a->adjacency, entry, 1 + (int)(i % others));
            if (other < 0 || a->of_body[other] >= 0) continue;
            int64_t gained = rows_gained(problem, a, other, number);
            if (rows + gained > CS_MOST_INNER) continue;
            rows += gained;
            a->of_body[other] = number;
            member[members++] = other;
        }
    return members;
}

/* Grows all aggregates: a->of_body, a->body, a->count. */
static cs_status grow_all(const cs_problem *problem, int64_t size, cs_arena *arena,
                          cs_aggregates *a, cs_error *error)
{
    int64_t n = problem->bodies, filled = 0;
    cs_arena scratch = {0};
    int64_t *order = order_bodies(problem, &a->adjacency, &scratch);
    a->of_body = take(arena, n);
    a->body = (cs_lists){take(arena, n + 1), take(arena, n)};

    /* No body is in an aggregate yet. */
    int complete = order && !cs_arena_failed(arena);
    for (int64_t body = 0; complete && body < n; body++) a->of_body[body] = -1;

    /* Each body with contacts that is in none becomes a seed. */
    for (int64_t i = 0; complete && i < n; i++) {
        int64_t seed = order[i];
        if (a->of_body[seed] >= 0 || a->adjacency.start[seed] == a->adjacency.start[seed + 1])
            continue;
        filled += grow_aggregate(problem, a, seed, size, filled);
        a->body.start[++a->count] = filled;
    }
    cs_arena_clear(&scratch);
    return complete ? CS_OK : cs_no_memory(error, "aggregates of bodies");
}

/* ---- contacts -------------------------------------------------------------------------------- */

/* end <- the lowest and the highest aggregate of a block's movable bodies; -1 without one, and if they are in more than
 * two. */
static void ends_of(const cs_aggregates *a, int64_t block, int64_t end[2])
{
    int64_t body[CS_MAX_PARTNERS];
    int bodies = cs_adjacency_ends(&a->adjacency, block, body);
    end[0] = end[1] = bodies ? a->of_body[body[0]] : -1;
    for (int i = 1; i < bodies; i++) {
        int64_t own = a->of_body[body[i]];
        if (own < end[0]) end[0] = own;
        if (own > end[1]) end[1] = own;
    }
    for (int i = 0; i < bodies; i++) {
        int64_t own = a->of_body[body[i]];
        if (own == end[0] || own == end[1]) continue;
        end[0] = end[1] = -1;
        return;
    }
}

/* a->inner, a->place and a->rows of the blocks within aggregates. A block is within one if its other bodies
 * are in the same one, or cannot move. */
static void assign_inner(const cs_problem *problem, cs_aggregates *a)
{
    for (int64_t k = 0; k < problem->blocks; k++) {
        int64_t end[2], rows = cs_block_group_of(problem, k)->rows;
        ends_of(a, k, end);
        a->inner[k] = a->face[k] = -1;
        if (end[1] < 0 || (end[0] >= 0 && end[0] != end[1])) continue;
        if (a->rows[end[1]] + rows > CS_MOST_INNER) continue;
        a->inner[k] = end[1];
        a->place[k] = a->rows[end[1]];
        a->rows[end[1]] += rows;
    }
}

/* list <- the blocks between two aggregates, sorted by the lower aggregate (counting sort). */
static void sort_by_lower(const cs_problem *problem, const cs_aggregates *a, cs_lists *list)
{
    int64_t end[2];

    /* The first pass counts, the second one writes. */
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = 0; k < problem->blocks; k++) {
            ends_of(a, k, end);
            if (end[0] < 0 || end[0] == end[1]) continue;
            if (pass) list->item[list->start[end[0] + 1]++] = k;
            else list->start[end[0] + 2]++;
        }
        for (int64_t i = 0; !pass && i < a->count; i++) list->start[i + 2] += list->start[i + 1];
    }
}

/* The face between two aggregates, a new one if there is none yet; -1 if one of them has CS_MOST_TOUCHING
 * faces. known (count, 2): for each higher aggregate the last lower one that was asked for, plus one, and
 * their face. touched (count): faces of each aggregate so far. Requires blocks sorted by their lower
 * aggregate. */
static int64_t face_of(cs_aggregates *a, const int64_t end[2], int64_t *known, int64_t *touched)
{
    int64_t *last = known + 2 * end[1];

    /* The face is known. */
    if (last[0] == end[0] + 1) return last[1];

    /* It is a new one, if there is room. */
    last[0] = end[0] + 1;
    last[1] = -1;
    if (touched[end[0]] >= CS_MOST_TOUCHING || touched[end[1]] >= CS_MOST_TOUCHING) return -1;
    touched[end[0]]++;
    touched[end[1]]++;
    a->side[2 * a->faces] = end[0];
    a->side[2 * a->faces + 1] = end[1];
    return last[1] = a->faces++;
}

/* a->face and a->place of the blocks between aggregates, a->side, a->face_rows and a->faces. */
static cs_status find_faces(const cs_problem *problem, cs_arena *arena, cs_aggregates *a,
                            cs_error *error)
{
    /* Sort the blocks. */
    cs_arena scratch = {0};
    cs_lists sorted = {take(&scratch, a->count + 2), take(&scratch, problem->blocks)};
    int64_t *known = take(&scratch, 2 * a->count), *touched = take(&scratch, a->count);
    int complete = !cs_arena_failed(&scratch);
    if (complete) sort_by_lower(problem, a, &sorted);

    /* There are at most as many faces as blocks. */
    int64_t most = complete ? sorted.start[a->count] : 0;
    a->side = take(arena, 2 * most);
    a->face_rows = take(arena, most);
    complete = complete && !cs_arena_failed(arena);

    /* Assign each block to its face. */
    for (int64_t i = 0; i < most && complete; i++) {
        int64_t k = sorted.item[i], end[2];
        ends_of(a, k, end);
        int64_t number = a->face[k] = face_of(a, end, known, touched);
        if (number < 0) continue;
        a->place[k] = a->face_rows[number];
        a->face_rows[number] += cs_block_group_of(problem, k)->rows;
    }
    cs_arena_clear(&scratch);
    return complete ? CS_OK : cs_no_memory(error, "aggregates of bodies");
}

/* a->touching <- the faces of each aggregate (counting sort). Returns non-zero if memory runs out. */
static int list_touching(cs_arena *arena, cs_aggregates *a)
{
    a->touching = (cs_lists){take(arena, a->count + 2), take(arena, 2 * a->faces)};
    if (cs_arena_failed(arena)) return -1;
    for (int64_t i = 0; i < 2 * a->faces; i++) a->touching.start[a->side[i] + 2]++;
    for (int64_t i = 0; i < a->count; i++) a->touching.start[i + 2] += a->touching.start[i + 1];
    for (int64_t i = 0; i < 2 * a->faces; i++)
        a->touching.item[a->touching.start[a->side[i] + 1]++] = i / 2;
    return 0;
}

cs_status cs_aggregates_find(const cs_problem *problem, int64_t size, cs_arena *arena,
                             cs_aggregates *a, cs_error *error)
{
    /* Bodies. */
    cs_status status = cs_adjacency_build(problem, arena, 0, &a->adjacency, error);
    if (!status) status = grow_all(problem, size, arena, a, error);
    if (status) return status;

    /* Contacts. */
    a->inner = take(arena, problem->blocks);
    a->face = take(arena, problem->blocks);
    a->place = take(arena, problem->blocks);
    a->rows = take(arena, a->count);
    if (cs_arena_failed(arena)) return cs_no_memory(error, "aggregates of bodies");
    assign_inner(problem, a);
    status = find_faces(problem, arena, a, error);
    if (status) return status;
    return list_touching(arena, a) ? cs_no_memory(error, "aggregates of bodies") : CS_OK;
}
