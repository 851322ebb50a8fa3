/* Candidates: pairs of primitives whose boxes overlap. */
#include "cloth/collisions.h"

#include "core/clock.h"
#include "core/error.h"

#include <math.h>
#include <string.h>

/* One query: of the vertices (edges) of one tree with the faces (edges) of another. */
typedef struct asking {
    cs_collisions *c;
    cs_query *query;
    cs_tree *tree, *other;
    int64_t first, second; /* numbers of their vertices 0 */
    cs_stencil_kind kind;
    int64_t number; /* of the query, of all that there are */
} asking;

/* index <- the four vertices of a pair. */
static void put_vertices(const asking *a, const int64_t *pair, int64_t *index)
{
    if (a->kind == CS_VERTEX_FACE) {
        const int32_t *corner = a->other->face + 3 * pair[1];
        index[0] = a->first + pair[0];
        for (int k = 0; k < 3; k++) index[1 + k] = a->second + corner[k];
        return;
    }
    const int32_t *one = a->tree->edge + 2 * pair[0], *two = a->other->edge + 2 * pair[1];
    for (int k = 0; k < 2; k++) {
        index[k] = a->first + one[k];
        index[2 + k] = a->second + two[k];
    }
}

int cs_is_movable(const cs_collisions *c, const int64_t *vertex)
{
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        if (c->inverse_mass[vertex[k]] > 0) return 1;
    return 0;
}

/* Whether the four may meet: the response can change how they move, or they are told to move. */
static int may_meet(const cs_collisions *c, const int64_t *vertex)
{
    if (cs_is_movable(c, vertex)) return 1;
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        for (int64_t i = 3 * vertex[k]; i < 3 * vertex[k] + 3; i++)
            if (c->start[i] != c->end[i]) return 1;
    return 0;
}

/* A key for each pair, ascending as pairs are found. */
static uint64_t key_of(const asking *a, const int64_t *pair)
{
    return (uint64_t)a->number << 2 * CS_KEY_BITS | (uint64_t)pair[0] << CS_KEY_BITS |
           (uint64_t)pair[1];
}

const cs_obstacle *cs_key_of_obstacle(const cs_collisions *c, uint64_t key)
{
    int64_t number = (int64_t)(key >> 2 * CS_KEY_BITS);
    return number ? &c->obstacle[(number - 1) / 2] : NULL;
}

/* Appends what a query finds. */
static cs_status ask(const asking *a, const cs_response_call *call, cs_error *error)
{
    cs_collisions *c = a->c;
    cs_candidates *to = &c->pairs[a->kind];
    const cs_query_options options = {.kind = a->kind == CS_VERTEX_FACE ? CS_PAIRS_VERTEX_FACE
                                                                        : CS_PAIRS_EDGE_EDGE,
                                      .rule = c->options.rule,
                                      .max_pairs = -1,
                                      .threads = call->threads,
                                      .cancellation = call->cancellation};
    cs_tree *other = a->other == a->tree ? NULL : a->other;
    cs_status status = cs_query_run(a->query, a->tree, other, &options, error);
    if (status) return status;

    int64_t found = a->query->report.pairs;
    int64_t *pair = cs_scratch(c, found, 2 * sizeof *pair);
    int64_t *index = cs_buffer_grown(&to->index, to->count + found, to->count,
                                     CS_STENCIL_VERTICES * sizeof *index);
    uint64_t *key = cs_buffer_grown(&to->key, to->count + found, to->count, sizeof *key);
    if (!pair || !index || !key) return cs_no_memory(error, "%lld pairs", (long long)found);
    status = cs_query_write(a->query, pair, error);
    for (int64_t i = 0; !status && i < found; i++) {
        int64_t *put = index + CS_STENCIL_VERTICES * to->count;
        put_vertices(a, pair + 2 * i, put);
        key[to->count] = key_of(a, pair + 2 * i);
        to->count += may_meet(c, put);
    }
    return status;
}

/* The cloth with itself. */
static cs_status ask_self(cs_collisions *c, const cs_response_call *call, cs_error *error)
{
    cs_status status = CS_OK;
    for (int kind = 0; !status && kind < CS_STENCIL_KINDS; kind++) {
        const asking a = {c, &c->query, &c->tree, &c->tree, 0, 0, (cs_stencil_kind)kind, 0};
        status = ask(&a, call, error);
    }
    return status;
}

/* The cloth with an obstacle. */
static cs_status ask_obstacle(cs_collisions *c, cs_obstacle *o, const cs_response_call *call,
                              cs_error *error)
{
    int64_t n0 = 1 + 2 * (o - c->obstacle);
    const asking all[] = {
        {c, &o->query, &c->tree, &o->tree, 0, o->first, CS_VERTEX_FACE, n0},
        {c, &o->query, &o->tree, &c->tree, o->first, 0, CS_VERTEX_FACE, n0 + 1},
        {c, &o->query, &c->tree, &o->tree, 0, o->first, CS_EDGE_EDGE, n0},
    };
    cs_status status = CS_OK;
    for (int n = 0; !status && n < 3; n++) status = ask(&all[n], call, error);
    return status;
}

/* Boxes of an obstacle stay while it does not move: the margin is that of the thickness. */
static cs_status fit_obstacle(cs_collisions *c, cs_obstacle *o, const cs_response_call *call,
                              cs_error *error)
{
    if (o->is_fitted) return CS_OK;
    const double *x0 = c->start + 3 * o->first, *x1 = c->end + 3 * o->first;
    cs_status status =
        cs_tree_refit(&o->tree, x0, x1, CS_REACH * c->options.thickness / 2, call->threads, error);
    o->is_fitted = !status;
    return status;
}

cs_status cs_find_candidates(cs_collisions *c, const double *end, double margin,
                             const cs_response_call *call, cs_error *error)
{
    double begun = cs_clock();
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) c->pairs[kind].count = 0;
    cs_status status = cs_tree_refit(&c->tree, c->start, end, margin, call->threads, error);
    if (!status && c->options.has_self) status = ask_self(c, call, error);
    for (int64_t n = 0; !status && n < c->obstacles; n++) {
        c->obstacle[n].is_fitted &= !c->obstacle[n].moves || c->present.queries > 0;
        status = fit_obstacle(c, &c->obstacle[n], call, error);
        if (!status) status = ask_obstacle(c, &c->obstacle[n], call, error);
    }
    c->present.queries++;

    /* Nothing is known of them yet. */
    for (int kind = 0; !status && kind < CS_STENCIL_KINDS; kind++) {
        cs_candidates *pairs = &c->pairs[kind];
        size_t count = (size_t)pairs->count;
        void *state = cs_buffer_room(&pairs->state, pairs->count, 1);
        void *near = cs_buffer_room(&pairs->near, pairs->count, 1);
        if (!state || !near) return cs_no_memory(error, "%zu candidates", count);
        memset(state, CS_PAIR_UNTESTED, count);
        memset(near, 0, count);
        c->present.candidates += pairs->count;
    }
    c->present.candidate_seconds += cs_clock() - begun;
    return status;
}

/* ---- boxes and later ends --------------------------------------------------------------------------- */

/* Whether the box of a vertex, lower ends and negated upper ends in float, holds x: with a bound of the roundings of the product,
 * of which the boxes have left room for their own. */
static int is_inside(const cs_tree *tree, int64_t vertex, const double *x)
{
    const float *box = (const float *)tree->vertex_box + tree->stride * vertex;
    double slack = 0x1p-50 * (fabs(x[0]) + fabs(x[1]) + fabs(x[2]));
    for (int d = 0; d < tree->k / 2; d++) {
        const signed char *n = cs_dop_direction(tree->k, d);
        double along = n[0] * x[0] + n[1] * x[1] + n[2] * x[2];
        if (along - slack < (double)box[2 * d] || along + slack > -(double)box[2 * d + 1]) return 0;
    }
    return 1;
}

int cs_holds_motion(const cs_collisions *c)
{
    for (int64_t i = 0; i < c->cloth; i++)
        if (c->is_moved[i] && !is_inside(&c->tree, i, c->end + 3 * i)) return 0;
    return 1;
}
