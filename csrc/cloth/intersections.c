/* Intersections of a state: edges that go through faces, and pairs that touch. */
#include "cloth/collisions.h"

#include "bvh/ccd.h"
#include "core/error.h"
#include "core/vector.h"

#include <stdio.h>
#include <string.h>

/* Six times the volume of a tetrahedron, as far as it is beyond rounding; 0: it may be flat. */
static double volume_of(const double *a, const double *b, const double *c, const double *d)
{
    double u[3], v[3], w[3], normal[3];
    cs_subtract(a, d, u);
    cs_subtract(b, d, v);
    cs_subtract(c, d, w);
    cs_cross(u, v, normal);
    double volume = cs_dot(normal, w);
    double most = 0x1p-48 * cs_length(u) * cs_length(v) * cs_length(w);
    return fabs(volume) > most ? volume : 0;
}

/* Whether the edge from p to q goes through the inside of a face. */
static int goes_through(const double *p, const double *q, const double *const *face)
{
    double above = volume_of(face[0], face[1], face[2], p);
    double below = volume_of(face[0], face[1], face[2], q);
    if (!(above * below < 0)) return 0;
    double side[3];
    for (int k = 0; k < 3; k++) side[k] = volume_of(p, q, face[k], face[(k + 1) % 3]);
    return (side[0] > 0 && side[1] > 0 && side[2] > 0) ||
           (side[0] < 0 && side[1] < 0 && side[2] < 0);
}

/* Two faces, by the vertices in arrays over all. */
typedef struct two_faces {
    int64_t corner[2][3];
} two_faces;

static int has(const int64_t *corner, int64_t vertex)
{
    return corner[0] == vertex || corner[1] == vertex || corner[2] == vertex;
}

/* The mesh of a vertex, for a message, and its number there. */
static cs_text name_place(const cs_collisions *c, int64_t vertex, int64_t *number)
{
    cs_text text = {"of the cloth"};
    const cs_obstacle *o = cs_obstacle_of(c, vertex);
    *number = vertex - (o ? o->first : 0);
    if (o) snprintf(text.text, sizeof text.text, "of obstacles[%d]", (int)(o - c->obstacle));
    return text;
}

static cs_status tell_intersection(const cs_collisions *c, int64_t p, int64_t q,
                                   const int64_t *face, cs_error *error)
{
    int64_t edge[2], corner[3];
    name_place(c, p, &edge[0]);
    cs_text one = name_place(c, q, &edge[1]);
    for (int k = 0; k < 2; k++) name_place(c, face[k], &corner[k]);
    cs_text two = name_place(c, face[2], &corner[2]);
    return cs_fail(error, CS_INVALID,
                   "vertices: the edge of vertices %lld and %lld %s goes through the face of "
                   "vertices %lld, %lld and %lld %s: allow=True goes on",
                   (long long)edge[0], (long long)edge[1], one.text, (long long)corner[0],
                   (long long)corner[1], (long long)corner[2], two.text);
}

/* The edges of either face that share no vertex with the other. */
static cs_status test_faces(const cs_collisions *c, const two_faces *f, cs_error *error)
{
    for (int side = 0; side < 2; side++) {
        const int64_t *own = f->corner[side], *other = f->corner[!side];
        const double *face[3];
        for (int k = 0; k < 3; k++) face[k] = c->start + 3 * other[k];
        for (int k = 0; k < 3; k++) {
            int64_t p = own[k], q = own[(k + 1) % 3];
            if (has(other, p) || has(other, q)) continue;
            if (goes_through(c->start + 3 * p, c->start + 3 * q, face))
                return tell_intersection(c, p, q, other, error);
        }
    }
    return CS_OK;
}

static void put_face(const cs_tree *tree, int64_t first, int64_t face, int64_t *corner)
{
    for (int k = 0; k < 3; k++) corner[k] = first + tree->face[3 * face + k];
}

/* Pairs of faces of the cloth and of itself or an obstacle. */
static cs_status test_trees(cs_collisions *c, cs_query *query, cs_tree *other, int64_t first,
                            const cs_response_call *call, cs_error *error)
{
    const cs_query_options options = {.kind = CS_PAIRS_FACES,
                                      .rule = c->options.rule,
                                      .max_pairs = -1,
                                      .threads = call->threads,
                                      .cancellation = call->cancellation};
    cs_status status =
        cs_query_run(query, &c->tree, other == &c->tree ? NULL : other, &options, error);
    if (status) return status;
    int64_t *pair = cs_scratch(c, query->report.pairs, 2 * sizeof *pair);
    if (!pair) return cs_no_memory(error, "pairs of faces");
    int64_t count = query->report.pairs;
    status = cs_query_write(query, pair, error);
    for (int64_t i = 0; !status && i < count; i++) {
        two_faces f;
        put_face(&c->tree, 0, pair[2 * i], f.corner[0]);
        put_face(other, first, pair[2 * i + 1], f.corner[1]);
        status = test_faces(c, &f, error);
    }
    return status;
}

/* "vertex 3 of the cloth touches the face of vertices 1, 2 and 5 of obstacles[0]", and the same of two edges. */
typedef struct sentence {
    char text[320];
} sentence;

static sentence tell_pair(const cs_collisions *c, cs_stencil_kind kind, const int64_t *vertex,
                          const char *verb)
{
    sentence told;
    int64_t n[CS_STENCIL_VERTICES];
    cs_text first = name_place(c, vertex[0], &n[0]), last;
    for (int k = 1; k < 3; k++) name_place(c, vertex[k], &n[k]);
    last = name_place(c, vertex[3], &n[3]);
    if (kind == CS_VERTEX_FACE)
        snprintf(told.text, sizeof told.text,
                 "vertex %lld %s %s the face of vertices %lld, %lld and %lld %s", (long long)n[0],
                 first.text, verb, (long long)n[1], (long long)n[2], (long long)n[3], last.text);
    else
        snprintf(told.text, sizeof told.text,
                 "the edge of vertices %lld and %lld %s %s that of vertices %lld and %lld %s",
                 (long long)n[0], (long long)n[1], first.text, verb, (long long)n[2],
                 (long long)n[3], last.text);
    return told;
}

static cs_status tell_touch(const cs_collisions *c, cs_stencil_kind kind, const int64_t *vertex,
                            cs_error *error)
{
    return cs_fail(error, CS_INVALID, "vertices: %s: allow=True goes on",
                   tell_pair(c, kind, vertex, "touches").text);
}

/* Pairs that touch without any motion. */
static cs_status test_touches(cs_collisions *c, const cs_response_call *call, cs_error *error)
{
    if (!cs_find_hits(c, call)) return CS_OK;
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        const unsigned char *state = c->pairs[kind].state.data;
        for (int64_t i = 0; i < c->pairs[kind].count; i++)
            if (state[i] == CS_PAIR_HIT)
                return tell_touch(c, (cs_stencil_kind)kind, cs_candidate(&c->pairs[kind], i),
                                  error);
    }
    return CS_OK;
}

/* ---- motions that are told --------------------------------------------------------------------------- */

/* Names the hit of primitives that are attached or of an obstacle, with its time. */
static cs_status tell_told(const cs_collisions *c, cs_stencil_kind kind, int64_t i, double from,
                           cs_error *error)
{
    const int64_t *vertex = cs_candidate(&c->pairs[kind], i);
    const cs_stencils all = {kind, c->pairs[kind].count, c->start, c->end,
                             c->pairs[kind].index.data};
    cs_path path;
    cs_impact impact;
    cs_path_load(&all, i, 0, &path);
    cs_ccd_find(&path, INFINITY, &impact);
    return cs_fail(error, CS_INVALID,
                   "attach: %s at t = %s s, and nothing can stop them, since they are attached or "
                   "of an obstacle: allow=True goes on",
                   tell_pair(c, kind, vertex, "meets").text,
                   cs_number(from + c->h * impact.time).text);
}

cs_status cs_refuse_told_hits(const cs_collisions *c, const cs_response_call *call, cs_error *error)
{
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        const unsigned char *state = c->pairs[kind].state.data;
        for (int64_t i = 0; i < c->pairs[kind].count; i++)
            if (state[i] == CS_PAIR_HIT && !cs_is_movable(c, cs_candidate(&c->pairs[kind], i)))
                return tell_told(c, (cs_stencil_kind)kind, i, call->time, error);
    }
    return CS_OK;
}

/* ---- states ------------------------------------------------------------------------------------------ */

/* Obstacles are where they are at the beginning of a step: a motion that was told before is forgotten. */
static void stop_obstacles(cs_collisions *c)
{
    size_t size = sizeof *c->start * (size_t)(3 * (c->vertices - c->cloth));
    memcpy(c->end + 3 * c->cloth, c->start + 3 * c->cloth, size);
    for (int64_t n = 0; n < c->obstacles; n++) {
        c->obstacle[n].is_fitted &= !c->obstacle[n].moves;
        c->obstacle[n].moves = 0;
    }
}

cs_status cs_collisions_check(cs_collisions *c, const double *x, int threads, cs_error *error)
{
    /* A motion of nothing; all vertices of the cloth count. */
    const cs_response_call call = {.h = 1, .threads = threads};
    for (int64_t i = 0; i < 3 * c->cloth; i++) c->start[i] = c->end[i] = x[i];
    for (int64_t i = 0; i < c->cloth; i++) c->inverse_mass[i] = 1;
    stop_obstacles(c);
    c->present = (cs_collision_report){0};
    cs_status status = cs_find_candidates(c, c->end, 0, &call, error);
    if (!status && c->options.has_self)
        status = test_trees(c, &c->query, &c->tree, 0, &call, error);
    for (int64_t n = 0; !status && n < c->obstacles; n++) {
        cs_obstacle *o = &c->obstacle[n];
        status = test_trees(c, &o->query, &o->tree, o->first, &call, error);
    }
    if (!status) status = test_touches(c, &call, error);
    return status;
}
