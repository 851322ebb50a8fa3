/* Impacts: candidates that meet between x0 and x1, and contacts that stop them. */
#include "cloth/collisions.h"

#include "bvh/ccd.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/loop.h"
#include "core/vector.h"

typedef struct job {
    const cs_collisions *c;
    cs_stencils stencils;
    unsigned char *state;
} job;

static cs_stencils stencils_of(const cs_collisions *c, int kind)
{
    const cs_candidates *pairs = &c->pairs[kind];
    return (cs_stencils){(cs_stencil_kind)kind, pairs->count, c->start, c->end, pairs->index.data};
}

static int has_moved(const cs_collisions *c, const int64_t *vertex)
{
    return c->is_moved[vertex[0]] | c->is_moved[vertex[1]] | c->is_moved[vertex[2]] |
           c->is_moved[vertex[3]];
}

static void test_pairs(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const job *j = context;
    (void)piece;
    for (int64_t i = begin; i < end; i++) {
        const int64_t *vertex = j->stencils.index + CS_STENCIL_VERTICES * i;
        if (j->state[i] != CS_PAIR_UNTESTED && !has_moved(j->c, vertex)) continue;
        cs_path path;
        cs_impact impact;
        cs_path_load(&j->stencils, i, 0, &path);
        cs_ccd_find(&path, INFINITY, &impact);
        int is_left_out = j->c->options.is_allowed && impact.is_hit &&
                          (impact.time == 0 || !cs_is_movable(j->c, vertex));
        j->state[i] = impact.is_hit && !is_left_out ? CS_PAIR_HIT : CS_PAIR_FREE;
    }
}

int64_t cs_find_hits(cs_collisions *c, const cs_response_call *call)
{
    double begun = cs_clock();
    int64_t hits = 0;
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        job j = {c, stencils_of(c, kind), c->pairs[kind].state.data};
        int64_t count = j.stencils.count;
        cs_loop(cs_threads_for_pairs(call, count), count, test_pairs, &j);
        for (int64_t i = 0; i < count; i++) hits += j.state[i] == CS_PAIR_HIT;
    }
    for (int64_t i = 0; i < c->cloth; i++) c->is_moved[i] = 0;
    c->present.narrow_seconds += cs_clock() - begun;
    return hits;
}

/* The contact of a hit, with the weights and the normal at its time. It may come as near as the thickness; where it is nearer, not
 * any nearer. Beyond half of the passes it has to go away, ever faster, as far as repulsion would: turning primitives meet again
 * where they are very close. */
static void stop(const cs_collisions *c, const cs_path *path, double strictness,
                 cs_contact *contact)
{
    cs_impact impact;
    double separation[3];
    cs_ccd_find(path, INFINITY, &impact);
    cs_stencil_put(&path->motion, &impact.moment.nearest, NULL, contact->weight, separation);
    if (impact.moment.is_plane) cs_assign(contact->normal, impact.moment.normal);
    else {
        cs_assign(contact->normal, separation);
        cs_normalize(contact->normal);
    }

    /* The way that is left until the thickness. */
    double apart[3] = {0, 0, 0}, shift[3] = {0, 0, 0};
    for (int k = 0; k < CS_STENCIL_VERTICES; k++) {
        cs_add_scaled(apart, contact->weight[k], c->start + 3 * contact->vertex[k], apart);
        cs_add_scaled(shift, contact->weight[k], c->shift + 3 * contact->vertex[k], shift);
    }
    double shifted = cs_dot(contact->normal, shift);
    contact->gap = cs_dot(contact->normal, apart);
    contact->is_impact = 1;
    double rest = contact->gap - c->options.thickness;
    double away = strictness * c->options.push * c->options.thickness;
    contact->bound = (rest > 0 && !(strictness > 0) ? -rest : away) / c->h - shifted;
}

cs_status cs_add_impacts(cs_collisions *c, double strictness, cs_error *error)
{
    for (int kind = 0; kind < CS_STENCIL_KINDS; kind++) {
        const cs_candidates *pairs = &c->pairs[kind];
        const unsigned char *state = pairs->state.data;
        const cs_stencils stencils = stencils_of(c, kind);
        for (int64_t i = 0; i < pairs->count; i++) {
            if (state[i] != CS_PAIR_HIT) continue;
            cs_path path;
            cs_contact *new = cs_new_contact(c, stencils.kind, i, error);
            if (!new) return CS_NO_MEMORY;
            cs_path_load(&stencils, i, 0, &path);
            stop(c, &path, strictness, new);
            c->contacts += cs_weigh_contact(c, new);
            c->present.impacts++;
        }
    }
    return CS_OK;
}
