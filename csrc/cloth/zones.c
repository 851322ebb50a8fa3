/* Rigid impact zones: regions of vertices that hits connect move as rigid bodies (Provot 1997; Bridson 2002, section 7.3). */
#include "cloth/collisions.h"

#include "core/disjoint_sets.h"
#include "core/error.h"
#include "core/vector.h"

#include <string.h>

/* ---- which vertices -------------------------------------------------------------------------------- */

/* The parent of a vertex of no zone. */
enum { NO_ZONE = -1 };

void cs_reset_zones(cs_collisions *c)
{
    for (int64_t i = 0; i < c->cloth; i++) c->zone[i] = NO_ZONE;
    c->leaders = 0;
}

/* Connects a vertex to the zone of another; returns whether anything has changed. */
static int join(int64_t *zone, int64_t to, int64_t i)
{
    int is_new = zone[i] == NO_ZONE || zone[to] == NO_ZONE;
    if (zone[i] == NO_ZONE) zone[i] = i;
    if (zone[to] == NO_ZONE) zone[to] = to;
    return cs_disjoint_unite(zone, to, i) || is_new;
}

/* A vertex of an obstacle that a zone touches. */
typedef struct leader {
    int64_t cloth, obstacle; /* vertices */
} leader;

static cs_status note_leader(cs_collisions *c, int64_t cloth, int64_t obstacle, cs_error *error)
{
    leader *all = cs_buffer_grown(&c->leader, c->leaders + 1, c->leaders, sizeof *all);
    if (!all) return cs_no_memory(error, "zones");
    all[c->leaders++] = (leader){cloth, obstacle};
    return CS_OK;
}

/* Connects the vertices of one hit: attached ones too, as they say where the zone goes. */
static cs_status join_hit(cs_collisions *c, const int64_t *vertex, int *has_grown, cs_error *error)
{
    int64_t first = -1;
    cs_status status = CS_OK;
    for (int k = 0; k < CS_STENCIL_VERTICES; k++) {
        if (vertex[k] >= c->cloth) continue;
        if (first < 0) first = vertex[k];
        *has_grown |= join(c->zone, first, vertex[k]);
    }
    for (int k = 0; !status && k < CS_STENCIL_VERTICES; k++)
        if (vertex[k] >= c->cloth) status = note_leader(c, first, vertex[k], error);
    return status;
}

static cs_status join_hits(cs_collisions *c, int *has_grown, cs_error *error)
{
    cs_status status = CS_OK;
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        const cs_candidates *pairs = &c->pairs[kind];
        const unsigned char *state = pairs->state.data;
        for (int64_t i = 0; !status && i < pairs->count; i++)
            if (state[i] == CS_PAIR_HIT)
                status = join_hit(c, cs_candidate(pairs, i), has_grown, error);
    }
    return status;
}

/* ---- how they move ---------------------------------------------------------------------------------- */

/* A rigid motion v + w x (x - center): that with the momenta of the vertices, or one through those that are told how to move, each
 * of which weighs 1. */
typedef struct body {
    double mass, center[3], v[3], spin[3]; /* angular momentum about the center */
    double inertia[6];                     /* xx, yy, zz, xy, xz, yz */
    double turn[3];                        /* angular velocity */
    int is_led;                            /* by vertices that are told */
    cs_obstacle *obstacle;                 /* the first that it touches */
} body;

static void add_point(body *b, double mass, const double *x, const double *v)
{
    b->mass += mass;
    cs_add_scaled(b->center, mass, x, b->center);
    cs_add_scaled(b->v, mass, v, b->v);
}

static void add_turn(body *b, double mass, const double *x, const double *v)
{
    double r[3], momentum[3];
    cs_subtract(x, b->center, r);
    cs_cross(r, v, momentum);
    cs_add_scaled(b->spin, mass, momentum, b->spin);
    double square = cs_dot(r, r);
    for (int k = 0; k < 3; k++) b->inertia[k] += mass * (square - r[k] * r[k]);
    b->inertia[3] -= mass * r[0] * r[1];
    b->inertia[4] -= mass * r[0] * r[2];
    b->inertia[5] -= mass * r[1] * r[2];
}

static void divide(body *b)
{
    for (int k = 0; k < 3; k++) {
        b->center[k] /= b->mass;
        b->v[k] /= b->mass;
    }
}

/* turn <- the angular velocity with this momentum. Points on a line have none about it: a part of 1e-12 of the trace makes the
 * matrix positive definite. */
static void find_turn(body *b)
{
    double *m = b->inertia, least = 1e-12 * (m[0] + m[1] + m[2]);
    if (!(least > 0)) return;
    double a = m[0] + least, d = m[1] + least, f = m[2] + least;
    double rows[3][3] = {{a, m[3], m[4]}, {m[3], d, m[5]}, {m[4], m[5], f}}, minor[3][3];
    for (int k = 0; k < 3; k++) cs_cross(rows[(k + 1) % 3], rows[(k + 2) % 3], minor[k]);
    double volume = cs_dot(rows[0], minor[0]);
    if (!(volume > 0)) return;
    for (int i = 0; i < 3; i++) {
        b->turn[i] = 0;
        for (int k = 0; k < 3; k++) b->turn[i] += minor[k][i] * b->spin[k] / volume;
    }
}

static void move_vertex(cs_collisions *c, const body *b, int64_t i)
{
    double r[3], v[3];
    if (!(c->inverse_mass[i] > 0)) return;
    cs_subtract(c->start + 3 * i, b->center, r);
    cs_cross(b->turn, r, v);
    cs_add_scaled(v, 1, b->v, v);
    for (int k = 0; b->obstacle && k < 3; k++)
        b->obstacle->impulse[k] += c->mass[i] * (v[k] - c->velocity[3 * i + k]);
    cs_assign(c->velocity + 3 * i, v);
    cs_set_vector(c->shift + 3 * i, 0, 0, 0);
    c->is_moved[i] = 1;
    c->stamp[i] = ++c->clock;
}

/* ---- all of them ------------------------------------------------------------------------------------- */

typedef void (*adding)(body *b, double mass, const double *x, const double *v);

/* Vertices of obstacles, each once for each hit. */
static void add_leaders(const cs_collisions *c, body *of, adding add)
{
    const leader *all = c->leader.data;
    for (int64_t n = 0; n < c->leaders; n++) {
        int64_t i = all[n].obstacle;
        add(&of[cs_disjoint_root(c->zone, all[n].cloth)], 1, c->start + 3 * i, c->velocity + 3 * i);
    }
}

/* Vertices of the cloth: those with a mass, or in a zone that is led, those that are told how to move. */
static void add_members(const cs_collisions *c, body *of, adding add)
{
    for (int64_t i = 0; i < c->cloth; i++) {
        if (c->zone[i] == NO_ZONE) continue;
        body *b = &of[cs_disjoint_root(c->zone, i)];
        int is_told = !(c->inverse_mass[i] > 0);
        if (is_told == b->is_led)
            add(b, is_told ? 1 : c->mass[i], c->start + 3 * i, c->velocity + 3 * i);
    }
}

/* Which zones follow others. */
static void find_leaders(const cs_collisions *c, body *of)
{
    const leader *all = c->leader.data;
    for (int64_t i = 0; i < c->cloth; i++)
        if (c->zone[i] != NO_ZONE && !(c->inverse_mass[i] > 0))
            of[cs_disjoint_root(c->zone, i)].is_led = 1;
    for (int64_t n = c->leaders - 1; n >= 0; n--) {
        body *b = &of[cs_disjoint_root(c->zone, all[n].cloth)];
        b->is_led = 1;
        b->obstacle = cs_obstacle_of(c, all[n].obstacle);
    }
}

static void count_zones(cs_collisions *c)
{
    c->present.zones = c->present.zone_vertices = 0;
    for (int64_t i = 0; i < c->cloth; i++) {
        c->present.zones += c->zone[i] == i;
        c->present.zone_vertices += c->zone[i] != NO_ZONE;
    }
}

cs_status cs_move_zones(cs_collisions *c, int *has_grown, cs_error *error)
{
    *has_grown = 0;
    cs_status status = join_hits(c, has_grown, error);
    if (status) return status;
    body *of = cs_scratch(c, c->cloth, sizeof *of);
    if (!of) return cs_no_memory(error, "zones");
    memset(of, 0, sizeof *of * (size_t)c->cloth);

    /* Their momenta, or those of what leads them. */
    find_leaders(c, of);
    add_leaders(c, of, add_point);
    add_members(c, of, add_point);
    for (int64_t i = 0; i < c->cloth; i++)
        if (c->zone[i] == i) divide(&of[i]);
    add_leaders(c, of, add_turn);
    add_members(c, of, add_turn);
    for (int64_t i = 0; i < c->cloth; i++)
        if (c->zone[i] == i) find_turn(&of[i]);

    for (int64_t i = 0; i < c->cloth; i++)
        if (c->zone[i] != NO_ZONE) move_vertex(c, &of[cs_disjoint_root(c->zone, i)], i);
    count_zones(c);
    return CS_OK;
}
