#include "cloth/visits.h"

#include "cloth/collisions.h"
#include "core/error.h"
#include "core/loop.h"
#include "core/vector.h"

#include <string.h>

void cs_clear_visits(cs_visits *v)
{
    cs_buffer_clear(&v->color);
    cs_buffer_clear(&v->visit);
    cs_buffer_clear(&v->trail);
    cs_buffer_clear(&v->change);
    cs_buffer_clear(&v->square);
}

void cs_reset_visits(cs_collisions *c)
{
    cs_visits *v = &c->visits;
    v->colored = 0;
    memset(v->count, 0, sizeof v->count);
    memset(v->used, 0, sizeof *v->used * (size_t)c->vertices);
}

/* The first colour that no vertex has which can move, or CS_COLORS; marks it at these. */
static int take_color(cs_collisions *c, const int64_t *vertex)
{
    uint64_t used = 0;
    int color = 0;
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        if (c->inverse_mass[vertex[k]] > 0) used |= c->visits.used[vertex[k]];
    if (!~used) return CS_COLORS;
    while (used >> color & 1) color++;
    for (int k = 0; k < CS_STENCIL_VERTICES; k++)
        if (c->inverse_mass[vertex[k]] > 0) c->visits.used[vertex[k]] |= UINT64_C(1) << color;
    return color;
}

/* Colours of the contacts that have none yet. */
static void color_contacts(cs_collisions *c)
{
    cs_visits *v = &c->visits;
    const cs_contact *all = c->contact.data;
    unsigned char *color = v->color.data;
    for (; v->colored < c->contacts; v->colored++) {
        int taken = take_color(c, all[v->colored].vertex);
        color[v->colored] = (unsigned char)taken;
        v->count[taken]++;
    }
}

/* Four pieces, or a multiple of it, so that two threads or four have as much. */
static int64_t count_pieces(int64_t contacts)
{
    const int64_t four = 4 * CS_VISITS_PIECE;
    return contacts < CS_VISITS_ALONE ? contacts > 0 : 4 * ((contacts + four - 1) / four);
}

/* Where groups and their pieces begin. The rest is one piece. */
static void lay_out(cs_visits *v)
{
    int64_t colors = 0;
    v->start[0] = v->piece[0] = 0;
    for (; colors < CS_COLORS && v->count[colors]; colors++) {
        v->start[colors + 1] = v->start[colors] + v->count[colors];
        v->piece[colors + 1] = v->piece[colors] + count_pieces(v->count[colors]);
    }
    v->groups = colors + 1;
    v->start[colors + 1] = v->start[colors] + v->count[CS_COLORS];
    v->piece[colors + 1] = v->piece[colors] + (v->count[CS_COLORS] > 0);
}

/* Numbers of contacts in the order of groups, and within each in that of the list. */
static void sort_contacts(cs_collisions *c)
{
    cs_visits *v = &c->visits;
    const unsigned char *color = v->color.data;
    cs_trail *trail = v->trail.data;
    int64_t next[CS_COLORS + 1];
    memcpy(next, v->start, sizeof next);
    next[CS_COLORS] = v->start[v->groups - 1];
    for (int64_t n = 0; n < c->contacts; n++) trail[next[color[n]]++].contact = n;
}

static void fill(void *context, int64_t piece, int64_t begin, int64_t end)
{
    cs_collisions *c = context;
    cs_visit *visit = c->visits.visit.data;
    cs_trail *trail = c->visits.trail.data;
    (void)piece;
    for (int64_t n = begin; n < end; n++) {
        const cs_contact *from = (const cs_contact *)c->contact.data + trail[n].contact;
        cs_visit *to = &visit[n];
        for (int k = 0; k < CS_STENCIL_VERTICES; k++) to->vertex[k] = (int32_t)from->vertex[k];
        memcpy(to->weight, from->weight, sizeof to->weight);
        cs_assign(to->normal, from->normal);
        cs_assign(to->impulse, from->impulse);
        to->inverse = from->inverse;
        to->bound = from->bound;
        to->push = from->push;
        to->pushed = 0;

        trail[n].visited = from->visited;
        cs_assign(trail[n].before, from->impulse);
        cs_set_vector(trail[n].direction, 0, 0, 0);
        trail[n].last_pushed = 0;
    }
}

cs_status cs_fill_visits(cs_collisions *c, int threads, cs_error *error)
{
    cs_visits *v = &c->visits;
    int64_t count = c->contacts;
    if (!cs_buffer_grown(&v->color, count, v->colored, 1) ||
        !cs_buffer_room(&v->visit, count, sizeof(cs_visit)) ||
        !cs_buffer_room(&v->trail, count, sizeof(cs_trail)))
        return cs_no_memory(error, "%lld contacts", (long long)count);
    color_contacts(c);
    lay_out(v);
    if (!cs_buffer_room(&v->change, v->piece[v->groups], sizeof(double)) ||
        !cs_buffer_room(&v->square, v->piece[v->groups], sizeof(double)))
        return cs_no_memory(error, "%lld contacts", (long long)count);
    sort_contacts(c);
    cs_loop(threads, count, fill, c);
    return CS_OK;
}

static void give_back(void *context, int64_t piece, int64_t begin, int64_t end)
{
    cs_collisions *c = context;
    const cs_visit *visit = c->visits.visit.data;
    const cs_trail *trail = c->visits.trail.data;
    (void)piece;
    for (int64_t n = begin; n < end; n++) {
        cs_contact *to = (cs_contact *)c->contact.data + trail[n].contact;
        cs_assign(to->impulse, visit[n].impulse);
        to->visited = trail[n].visited;
    }
}

void cs_give_back_visits(cs_collisions *c, int threads)
{
    cs_loop(threads, c->contacts, give_back, c);
}
