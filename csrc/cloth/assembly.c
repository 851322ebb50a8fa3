#include "cloth/cloth.h"

#include "core/error.h"
#include "core/loop.h"
#include "sparse/scaled_blocks.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- who has a share in which block ------------------------------------------------------------------- */

/* While shares are listed. */
typedef struct listing {
    cs_cloth *cloth;
    int64_t *place; /* (vertices): old number -> new number */
    int64_t *part;  /* (vertices): of each new number */
    int filling;    /* the second time; the first time they are counted */
} listing;

/* Adds or counts one, in ascending order of the elements. */
static void list_share(const listing *l, cs_cloth_shares *shares, int64_t block, int64_t share)
{
    if (l->filling) shares->share[shares->start[block]++] = share;
    else shares->start[block + 1]++;
}

/* The block of row i and column j in A_loc. */
static int64_t local_block(const cs_block_system *s, int64_t i, int64_t j)
{
    int64_t e = s->local.start[i];
    while (s->local.column[e] != j) e++;
    return e;
}

/* The block of row i and column j of another part, in A_ext. */
static int64_t outer_block(const cs_block_system *s, int64_t part, int64_t i, int64_t j)
{
    int64_t e = s->outer.start[i];
    const int64_t *vertex = s->outer_vertex + s->outer_first[part];
    while (vertex[s->outer.column[e]] != j) e++;
    return e;
}

/* All blocks in which an element of `count` vertices has a share. */
static void list_element(const listing *l, int64_t element, const int64_t *vertex, int count)
{
    cs_cloth *cloth = l->cloth;
    const cs_block_system *s = &cloth->system;
    for (int a = 0; a < count; a++) {
        int64_t i = l->place[vertex[a]], part = l->part[i];
        list_share(l, &cloth->loads, i, 16 * element + 4 * a);
        for (int b = 0; b < count; b++) {
            int64_t j = l->place[vertex[b]], share = 16 * element + 4 * a + b;
            if (l->part[j] != part) list_share(l, &cloth->outer, outer_block(s, part, i, j), share);
            else if (i <= j) list_share(l, &cloth->local, local_block(s, i, j), share);
        }
    }
}

static void list_elements(const listing *l)
{
    const cs_mesh *mesh = &l->cloth->mesh;
    for (int64_t t = 0; t < mesh->faces; t++) list_element(l, t, mesh->face + 3 * t, 3);
    for (int64_t t = 0; t < l->cloth->hinges; t++)
        list_element(l, mesh->faces + t, mesh->hinge[t].vertex, 4);
}

/* Counts become starts; `share` is taken. */
static void sum_counts(cs_cloth_shares *shares, int64_t blocks, cs_arena *arena)
{
    for (int64_t e = 0; e < blocks; e++) shares->start[e + 1] += shares->start[e];
    shares->share = cs_arena_take_unset(arena, shares->start[blocks], sizeof *shares->share);
}

/* Filling has moved each start to the next one. */
static void restore_starts(cs_cloth_shares *shares, int64_t blocks)
{
    memmove(shares->start + 1, shares->start, sizeof *shares->start * (size_t)blocks);
    shares->start[0] = 0;
}

static void number_places(const cs_block_system *s, const listing *l)
{
    for (int64_t p = 0; p < s->parts; p++)
        for (int64_t i = s->first[p]; i < s->first[p + 1]; i++) {
            l->place[s->old[i]] = i;
            l->part[i] = p;
        }
}

cs_status cs_cloth_list_shares(cs_cloth *cloth, cs_error *error)
{
    /* Take. */
    cs_arena scratch = {0}, *arena = &cloth->arena;
    const cs_block_system *s = &cloth->system;
    cs_cloth_shares *shares[] = {&cloth->local, &cloth->outer, &cloth->loads};
    int64_t count[] = {s->local.blocks, s->outer.blocks, s->vertices};
    listing l = {.cloth = cloth};
    l.place = cs_arena_take(&scratch, s->vertices, sizeof *l.place);
    l.part = cs_arena_take(&scratch, s->vertices, sizeof *l.part);
    for (int k = 0; k < 3; k++)
        shares[k]->start = cs_arena_take(arena, count[k] + 1, sizeof *shares[k]->start);
    cs_status status = cs_arena_status(arena, error, "the shares of elements");
    if (!status) status = cs_arena_status(&scratch, error, "the places of vertices");
    if (status) goto out;

    /* Count, then fill. */
    number_places(s, &l);
    list_elements(&l);
    for (int k = 0; k < 3; k++) sum_counts(shares[k], count[k], arena);
    status = cs_arena_status(arena, error, "the shares of elements");
    if (status) goto out;
    l.filling = 1;
    list_elements(&l);
    for (int k = 0; k < 3; k++) restore_starts(shares[k], count[k]);
out:
    cs_arena_clear(&scratch);
    return status;
}

/* ---- the first pass: elements ---------------------------------------------------------------------------- */

/* What the passes read. */
typedef struct assembly {
    cs_cloth *cloth;
    cs_element_state state;
    double most;                  /* the largest number of the matrix */
    _Atomic(long long) overflown; /* the first vertex with a larger one, in old numbers */
} assembly;

static void compute_triangles(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const assembly *all = context;
    cs_cloth *cloth = all->cloth;
    (void)piece;
    for (int64_t t = begin; t < end; t++)
        cs_triangle_compute(&cloth->triangle_rest[t], &cloth->membrane, &all->state,
                            &cloth->triangle[t]);
}

static void compute_hinges(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const assembly *all = context;
    cs_cloth *cloth = all->cloth;
    (void)piece;
    for (int64_t t = begin; t < end; t++)
        cs_hinge_compute(&cloth->hinge_rest[t], &cloth->bending, &all->state, &cloth->hinge[t]);
}

/* ---- the second pass: blocks ------------------------------------------------------------------------------ */

/* block += the share of an element. Those of (a, b) and (b, a) are each other's transpose, to the last bit. */
static void add_share(const cs_cloth *cloth, int64_t share, double *block)
{
    int64_t element = share / 16, faces = cloth->mesh.faces;
    int a = (int)(share / 4 % 4), b = (int)(share % 4), low = a < b ? a : b, high = a < b ? b : a;
    double own[9] = {0};
    if (element < faces) cs_triangle_add_block(&cloth->triangle[element], low, high, own);
    else cs_hinge_add_block(&cloth->hinge[element - faces], low, high, own);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            block[3 * i + j] +=
                a == b ? (own[3 * i + j] + own[3 * j + i]) / 2 : own[a < b ? 3 * i + j : 3 * j + i];
}

/* Whether all numbers are of at most this size; NaN is not. */
static int fits(const double *number, int count, double most)
{
    int all = 1;
    for (int k = 0; k < count; k++) all &= fabs(number[k]) <= most;
    return all;
}

/* block <- that between two vertices, in old numbers: eliminated if one of them is attached. */
static void sum_block(const cs_cloth *cloth, const cs_cloth_shares *shares, int64_t e, int64_t i,
                      int64_t j, double *block)
{
    memset(block, 0, sizeof *block * CS_BLOCK_SIZE);
    if (!cloth->is_attached[i] && !cloth->is_attached[j])
        for (int64_t n = shares->start[e]; n < shares->start[e + 1]; n++)
            add_share(cloth, shares->share[n], block);
    for (int k = 0; i == j && k < CS_BLOCK_ROWS; k++) block[4 * k] += cloth->mass[i];
}

/* The right-hand side of a vertex: new number, old number. */
static void fill_right(const cs_cloth *cloth, int64_t at, int64_t i)
{
    double *right = cloth->right + 3 * i, m = cloth->mass[i], h = cloth->h;
    if (cloth->is_attached[i]) {
        for (int k = 0; k < 3; k++)
            right[k] =
                cloth->iterate ? 0 : m * (cloth->shift[3 * i + k] - cloth->velocity[3 * i + k]);
        return;
    }

    /* Forces from outside; of an iterate also M (v - v_next). */
    for (int k = 0; k < 3; k++) {
        right[k] = h * (m * cloth->options.gravity[k] + cloth->force[3 * i + k]);
        if (cloth->iterate)
            right[k] += m * (cloth->velocity[3 * i + k] - cloth->next_velocity[3 * i + k]);
    }

    /* Forces of the elements. */
    for (int64_t n = cloth->loads.start[at]; n < cloth->loads.start[at + 1]; n++) {
        int64_t element = cloth->loads.share[n] / 16, faces = cloth->mesh.faces;
        int a = (int)(cloth->loads.share[n] / 4 % 4);
        if (element < faces) cs_triangle_add_load(&cloth->triangle[element], a, right);
        else cs_hinge_add_load(&cloth->hinge[element - faces], a, right);
    }
}

/* Stores block e of both precisions. Returns whether it fits into them. */
static int store_block(const assembly *all, const cs_block_rows *rows, const cs_block_rows *half,
                       int64_t e, const double *block)
{
    const cs_cloth *cloth = all->cloth;
    cs_block_store(rows->value, cloth->system.single, e, block);
    if (cloth->options.precision == CS_CLOTH_MIXED) cs_block_store(half->value, 1, e, block);
    return fits(block, CS_BLOCK_SIZE, all->most);
}

/* Row i of A_loc, and of A_ext, whose columns are the numbers of `outer_vertex`. Returns whether all blocks fit. */
static int fill_row(const assembly *all, int64_t i, const int64_t *outer_vertex)
{
    int fit = 1;
    double block[CS_BLOCK_SIZE];
    const cs_cloth *cloth = all->cloth;
    const cs_block_system *s = &cloth->system, *half = &cloth->half;
    for (int64_t e = s->local.start[i]; e < s->local.start[i + 1]; e++) {
        sum_block(cloth, &cloth->local, e, s->old[i], s->old[s->local.column[e]], block);
        fit &= store_block(all, &s->local, &half->local, e, block);
    }
    for (int64_t e = s->outer.start[i]; e < s->outer.start[i + 1]; e++) {
        int64_t j = outer_vertex[s->outer.column[e]];
        sum_block(cloth, &cloth->outer, e, s->old[i], s->old[j], block);
        fit &= store_block(all, &s->outer, &half->outer, e, block);
    }
    return fit;
}

/* The rows of a part. */
static void fill_part(void *context, int64_t part, int thread)
{
    assembly *all = context;
    const cs_cloth *cloth = all->cloth;
    const cs_block_system *s = &cloth->system;
    (void)thread;
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++) {
        int64_t old = s->old[i];
        int fit = fill_row(all, i, s->outer_vertex + s->outer_first[part]);
        fill_right(cloth, i, old);
        if (!fit || !fits(cloth->right + 3 * old, 3, DBL_MAX)) cs_note_least(&all->overflown, old);
    }
}

/* Names the vertex and what may help. */
static cs_status fail_at(const cs_cloth *cloth, int64_t vertex, cs_error *error)
{
    int single = cloth->options.precision != CS_CLOTH_F64;
    return cs_fail(error, CS_INVALID,
                   "the system of the step of %s s from t = %s s overflows at vertex %lld: a "
                   "shorter step, or a smaller state or stiffness, is needed%s",
                   cs_number(cloth->h).text, cs_number(cloth->time).text, (long long)vertex,
                   single ? ", or dtype='float64'" : "");
}

cs_status cs_cloth_assemble(cs_cloth *cloth, int threads, cs_error *error)
{
    int single = cloth->options.precision != CS_CLOTH_F64;
    int64_t vertices = cloth->system.vertices;
    assembly all = {.cloth = cloth,
                    .state = {.position = cloth->next_position,
                              .rate = cloth->iterate ? cloth->next_velocity : cloth->shift,
                              .shift = cloth->shift,
                              .h = cloth->h,
                              .damping = cloth->options.damping},
                    .most = single ? FLT_MAX : DBL_MAX};
    atomic_init(&all.overflown, vertices);
    cs_loop(threads, cloth->mesh.faces, compute_triangles, &all);
    cs_loop(threads, cloth->hinges, compute_hinges, &all);
    cs_block_system_share(&cloth->system, threads, fill_part, &all);
    int64_t first = atomic_load(&all.overflown);
    return first < vertices ? fail_at(cloth, first, error) : CS_OK;
}

/* ---- the whole matrix --------------------------------------------------------------------------------------- */

/* The block of column j in row i of the graph. */
static int64_t block_of(const cs_graph *graph, int64_t i, int64_t j)
{
    int64_t e = graph->start[i];
    while (graph->column[e] != j) e++;
    return e;
}

void cs_cloth_values(const cs_cloth *cloth, double *value)
{
    double block[CS_BLOCK_SIZE];
    const cs_block_system *s = &cloth->system;
    for (int64_t i = 0; i < s->vertices; i++) {
        /* A block of A_loc, and its transpose below the diagonal. */
        for (int64_t e = s->local.start[i]; e < s->local.start[i + 1]; e++) {
            int64_t j = s->local.column[e],
                    mirrored = block_of(&cloth->graph, s->old[j], s->old[i]);
            cs_block_system_get(s, &s->local, e, block);
            for (int k = 0; k < CS_BLOCK_SIZE; k++)
                value[CS_BLOCK_SIZE * mirrored + CS_BLOCK_ROWS * (k % CS_BLOCK_ROWS) +
                      k / CS_BLOCK_ROWS] = block[k];
            memcpy(value + CS_BLOCK_SIZE * s->local.source[e], block, sizeof block);
        }

        for (int64_t e = s->outer.start[i]; e < s->outer.start[i + 1]; e++)
            cs_block_system_get(s, &s->outer, e, value + CS_BLOCK_SIZE * s->outer.source[e]);
    }
}
