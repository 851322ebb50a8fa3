#include "order/shared_coloring.h"

#include "core/error.h"
#include "order/color_set.h"
#include "problem/adjacency.h"

enum { BITS = 64 }; /* colours that a body stores as bits */

/* No contact has as many conflicts. Bounds the sets of colours that other ranks' values determine. */
static const int64_t most_colors = (int64_t)1 << 31;

/* The colours taken at a body by blocks of higher priority. */
typedef struct body_colors {
    uint64_t taken;    /* bit c is set if colour c < BITS is taken */
    cs_color_set more; /* the others */
    int64_t
        below; /* all colours below are taken; by the rule of the palette, the lowest colour >= BITS that is free */
} body_colors;

/* One round. */
typedef struct round_state {
    const cs_shared_coloring *c;
    body_colors *at; /* (bodies) */
    int64_t pages;   /* pages of a colour set */
    cs_arena arena;
} round_state;

static int is_taken(const body_colors *at, int64_t color)
{
    return color < BITS ? (int)(at->taken >> color & 1) : cs_color_set_has(&at->more, color);
}

/* end <- the distinct bodies of a block. Returns their number. */
static int ends_of(const cs_shared_coloring *c, int64_t block, int64_t end[CS_MAX_PARTNERS])
{
    return cs_distinct_bodies(c->body + block * c->partners, c->partners, end);
}

/* The lowest colour that is free at all bodies of a block. */
static int64_t lowest_free(const round_state *r, const int64_t *end, int ends)
{
    int64_t color = 0;
    for (int i = 0; i < ends; i++)
        if (r->at[end[i]].below > color) color = r->at[end[i]].below;
    for (int taken = 1; taken; color += taken) {
        taken = 0;
        for (int i = 0; i < ends; i++) taken |= is_taken(&r->at[end[i]], color);
    }
    return color;
}

/* The same by the rule of a palette: beyond BITS, the first colour above all that are taken. */
static int64_t lowest_of_palette(const round_state *r, const int64_t *end, int ends)
{
    uint64_t taken = 0;
    int64_t color = BITS;
    for (int i = 0; i < ends; i++) {
        taken |= r->at[end[i]].taken;
        if (r->at[end[i]].below > color) color = r->at[end[i]].below;
    }
    return taken != UINT64_MAX ? __builtin_ctzll(~taken) : color;
}

/* Takes a colour at the bodies of a block. */
static void take(round_state *r, const int64_t *end, int ends, int64_t color)
{
    for (int i = 0; i < ends; i++) {
        body_colors *at = &r->at[end[i]];
        if (color < BITS) at->taken |= (uint64_t)1 << color;
        else if (r->c->by_palette) {
            if (color >= at->below) at->below = color + 1;
            continue;
        } else cs_color_set_add(&at->more, color, r->pages, &r->arena);
        if (cs_arena_failed(&r->arena)) return;
        while (!r->c->by_palette && is_taken(at, at->below)) at->below++;
    }
}

/* Checks what other ranks sent, and finds how many pages a colour set needs. */
static cs_status check(const cs_shared_coloring *c, int64_t *pages, cs_error *error)
{
    int64_t highest = 0;
    if (c->partners < 1 || c->partners > CS_MAX_PARTNERS)
        return cs_fail(error, CS_INVALID, "partners is %d: 1 to %d are possible", c->partners,
                       CS_MAX_PARTNERS);
    for (int64_t i = 0; i < c->blocks; i++) {
        if (c->sequence[i] < 0 || c->sequence[i] >= c->blocks)
            return cs_fail(error, CS_INVALID, "sequence[%lld] is %lld: there are %lld contacts",
                           (long long)i, (long long)c->sequence[i], (long long)c->blocks);
        if (c->color[i] < -1 || c->color[i] >= most_colors)
            return cs_fail(error, CS_INVALID, "colors[%lld] is %lld: it is no colour", (long long)i,
                           (long long)c->color[i]);
        if (c->color[i] > highest) highest = c->color[i];
    }
    for (int64_t i = 0; i < c->blocks * c->partners; i++)
        if (c->body[i] < -1 || c->body[i] >= c->bodies)
            return cs_fail(error, CS_INVALID, "bodies[%lld, %lld] is %lld: there are %lld bodies",
                           (long long)(i / c->partners), (long long)(i % c->partners),
                           (long long)c->body[i], (long long)c->bodies);

    /* An own block takes at most one colour more than there are blocks, or the next after those given. */
    *pages = cs_color_pages((highest > c->blocks ? highest : c->blocks) + 2);
    return CS_OK;
}

cs_status cs_color_shared(const cs_shared_coloring *c, int64_t *changed, cs_error *error)
{
    round_state r = {.c = c};
    *changed = 0;
    cs_status status = check(c, &r.pages, error);
    if (status) return status;
    r.at = cs_arena_take(&r.arena, c->bodies, sizeof *r.at);
    if (r.at && c->by_palette)
        for (int64_t body = 0; body < c->bodies; body++) r.at[body].below = BITS;

    /* Every block takes its colour before those of lower priority choose theirs. */
    for (int64_t i = 0; i < c->blocks && !cs_arena_failed(&r.arena); i++) {
        int64_t end[CS_MAX_PARTNERS], block = c->sequence[i];
        int ends = ends_of(c, block, end);
        if (c->own[block]) {
            int64_t color =
                c->by_palette ? lowest_of_palette(&r, end, ends) : lowest_free(&r, end, ends);
            *changed += color != c->color[block];
            c->color[block] = color;
        }
        if (c->color[block] >= 0) take(&r, end, ends, c->color[block]);
    }
    status = cs_arena_status(&r.arena, error, "colouring %lld contacts", (long long)c->blocks);
    cs_arena_clear(&r.arena);
    return status;
}
