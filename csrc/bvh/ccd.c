#include "bvh/ccd.h"

#include "core/vector.h"

#include <stddef.h>

/* Most queries end at the first plane, hits after ten to twenty steps. */
enum { MOST_STEPS = 256 };

/* The part of the time to the expected contact that a turning plane spans: the most, and its change after a failure. */
#define MOST_REACH 0.9375
#define LESS_REACH 0.25

/* A distance beyond the margin, in parts of the size, below which nothing is worth proving. */
#define NEGLIGIBLE 0x1p-50

typedef struct search {
    const cs_path *path;
    double time;  /* proven free up to here */
    double reach; /* of the next turning plane */
    cs_moment here;
} search;

/* How long the nearest points need to come as near as the margin, at their velocity. */
static double time_to_contact(const search *s)
{
    const cs_motion *m = &s->path->motion;
    double rate = 0;
    for (int k = 0; k < m->start.corners; k++) {
        double change[3];
        cs_subtract(m->start.at[k], m->end.at[k], change);
        rate += s->here.nearest.weight[k] * cs_dot(s->here.normal, change);
    }
    double gap = sqrt(s->here.nearest.square) - m->margin;
    return rate > 0 ? gap / rate : INFINITY;
}

static double time_ahead(const search *s)
{
    double rest = 1 - s->time, contact = time_to_contact(s);
    double ahead = s->time + s->reach * (contact < rest ? contact : rest);
    return ahead < 1 ? ahead : 1;
}

/* How far times are proven free by a plane that is fixed, from `time` on. */
static double proven_by_fixed(const cs_free_span *span, double time)
{
    return span->from <= time && span->to > time ? span->to : time;
}

/* The same by the plane of a later moment, alone or turned to from the present one. */
static double proven_by(const search *s, const cs_moment *ahead, double time)
{
    if (!ahead->is_plane) return time;
    cs_free_span span = cs_fixed_plane(s->path, ahead->normal);
    double to = proven_by_fixed(&span, time);
    if (to >= ahead->time || !cs_turning_plane(s->path, &s->here, ahead)) return to;
    return proven_by_fixed(&span, ahead->time);
}

/* The same by the plane of the nearest points at s->time. */
static double proven_here(const search *s)
{
    if (!s->here.is_plane) return s->time;
    cs_free_span span = cs_fixed_plane(s->path, s->here.normal);
    return proven_by_fixed(&span, s->time);
}

static void adapt_reach(search *s, int has_succeeded)
{
    if (!has_succeeded) s->reach *= LESS_REACH;
    else if (s->reach < 0.5 * MOST_REACH) s->reach *= 2;
    else s->reach = MOST_REACH;
}

/* One step from s->time on, of which `ahead` is a later moment that is known already, or NULL. Returns how far all times are
 * proven free. */
static double advance(search *s, const cs_moment *known)
{
    cs_moment next;
    double time = proven_here(s), ahead = known ? known->time : time_ahead(s);
    if (time > 1) return time;

    if (ahead > time) {
        if (!known) cs_moment_find(s->path, ahead, &next);
        double further = proven_by(s, known ? known : &next, time);
        adapt_reach(s, further > time);
        time = further;
    }
    return time > s->time ? time : cs_other_planes(s->path, &s->here, s->time);
}

static int is_negligible(const cs_path *path, const cs_moment *moment)
{
    return sqrt(moment->nearest.square) <= path->turning + NEGLIGIBLE * path->motion.size;
}

static void put_free(cs_impact *impact)
{
    impact->is_hit = 0;
    impact->time = INFINITY;
}

static void put_hit(const search *s, cs_impact *impact)
{
    impact->is_hit = 1;
    impact->time = s->time;
    impact->moment = s->here;
}

/* Whether a fixed plane proves all times free, or those below `enough`. */
static int is_enough(const cs_free_span *span, double enough)
{
    return span->from <= 0 && (span->to > 1 || span->to >= enough);
}

/* The plane across the line from the mean of one primitive to that of the other. */
static int are_means_apart(const cs_path *path, double enough)
{
    const cs_polygon *start = &path->motion.start, *end = &path->motion.end;
    double n[3] = {0, 0, 0};
    for (int k = 0; k < start->corners; k++)
        for (int c = 0; c < 3; c++) n[c] += start->at[k][c] + end->at[k][c];
    if (!cs_unit(n)) return 0;
    cs_free_span span = cs_fixed_plane(path, n);
    return is_enough(&span, enough);
}

void cs_ccd_find(const cs_path *path, double enough, cs_impact *impact)
{
    /* Most primitives pass each other on two sides of one plane, often of that between their means. */
    cs_moment middle;
    cs_free_span span = {2, -1};
    impact->steps = 0;
    put_free(impact);
    if (are_means_apart(path, enough)) return;
    cs_moment_find(path, 0.5, &middle);
    if (middle.is_plane) span = cs_fixed_plane(path, middle.normal);
    impact->steps = 1;
    if (is_enough(&span, enough)) return;
    int is_begun = span.from <= 0;

    search s = {.path = path, .time = is_begun ? span.to : 0, .reach = MOST_REACH};
    while (impact->steps++ < MOST_STEPS) {
        cs_moment_find(path, s.time, &s.here);
        if (is_negligible(path, &s.here)) break;
        double to = advance(&s, impact->steps == 2 && !is_begun ? &middle : NULL);
        if (to > 1 || to >= enough) return;
        if (!(to > s.time)) break;
        s.time = to;
    }
    put_hit(&s, impact);
}
