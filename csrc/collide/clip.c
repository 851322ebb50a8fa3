#include "collide/clip.h"

#include "collide/features.h"
#include "core/vector.h"

void cs_outline_label(cs_outline *outline)
{
    for (int i = 0; i < outline->count; i++) {
        outline->out[i] = (uint8_t)i;
        outline->in[i] = (uint8_t)((i + outline->count - 1) % outline->count);
    }
}

static void copy_corner(cs_outline *to, const cs_outline *from, int i)
{
    if (to->count == CS_MOST_CORNERS) return;
    cs_assign(to->corner[to->count], from->corner[i]);
    to->in[to->count] = from->in[i];
    to->out[to->count++] = from->out[i];
}

/* Adds the point where edge i of `from` crosses the side. `leaves`: the side's edge begins there; otherwise it ends. */
static void cross_side(cs_outline *to, const cs_outline *from, int i, double here, double there,
                       int leaves, uint8_t label)
{
    int next = (i + 1) % from->count;
    double apart[3];
    if (to->count == CS_MOST_CORNERS) return;
    cs_subtract(from->corner[next], from->corner[i], apart);
    cs_add_scaled(from->corner[i], here / (here - there), apart, to->corner[to->count]);
    to->in[to->count] = leaves ? from->out[i] : label;
    to->out[to->count++] = leaves ? label : from->out[i];
}

/* Cuts off what lies beyond normal . x = offset. */
static void cut(cs_outline *outline, const double *normal, double offset, double tolerance,
                uint8_t label)
{
    cs_outline all;
    all.count = 0;
    for (int i = 0; i < outline->count; i++) copy_corner(&all, outline, i);
    int edges = all.count > 2 ? all.count : all.count - 1;
    double beyond[CS_MOST_CORNERS];
    outline->count = 0;
    for (int i = 0; i < all.count; i++) beyond[i] = cs_dot(normal, all.corner[i]) - offset;
    for (int i = 0; i < all.count; i++) {
        int next = (i + 1) % all.count;
        int inside = beyond[i] <= tolerance, next_inside = beyond[next] <= tolerance;
        if (inside) copy_corner(outline, &all, i);
        if (i < edges && inside != next_inside)
            cross_side(outline, &all, i, beyond[i], beyond[next], inside, label);
    }
}

void cs_outline_clip(cs_outline *outline, const cs_outline *face, const double *normal,
                     double tolerance)
{
    for (int i = 0; i < face->count && outline->count; i++) {
        double along[3], side[3];
        cs_subtract(face->corner[(i + 1) % face->count], face->corner[i], along);
        cs_cross(along, normal, side);
        if (!(cs_normalize(side) > 0)) continue;
        cut(outline, side, cs_dot(side, face->corner[i]), tolerance, (uint8_t)(CS_CLIPPED + i));
    }
}

/* ---- the choice of points ------------------------------------------------------------------------ */

/* Corners that may become contacts. */
typedef struct candidates {
    int count;
    const double *normal;
    const double (*corner)[3];
    double gap[CS_MOST_CORNERS];
    int which[CS_MOST_CORNERS]; /* corners */
} candidates;

static int deepest_of(const candidates *c)
{
    int best = 0;
    for (int i = 1; i < c->count; i++)
        if (c->gap[i] < c->gap[best]) best = i;
    return best;
}

/* Twice the area of the triangle (a, b, i), seen against the normal. */
static double area_with(const candidates *c, int a, int b, int i)
{
    double ab[3], ai[3], cross[3];
    cs_subtract(c->corner[c->which[b]], c->corner[c->which[a]], ab);
    cs_subtract(c->corner[c->which[i]], c->corner[c->which[a]], ai);
    cs_cross(ab, ai, cross);
    return cs_dot(cross, c->normal);
}

static int farthest_from(const candidates *c, int from, double *distance)
{
    int best = from;
    *distance = 0;
    for (int i = 0; i < c->count; i++) {
        double apart[3];
        cs_subtract(c->corner[c->which[i]], c->corner[c->which[from]], apart);
        double square = cs_dot(apart, apart);
        if (square > *distance * (1 + 1e-9)) *distance = square, best = i;
    }
    return best;
}

/* chosen <- the deepest corner, the farthest from it, and one on each side of the line through them. Returns how many;
 * ties go to the first, with a margin against rounding. */
static int choose(const candidates *c, int most, int *chosen)
{
    double square;
    int count = 2;
    chosen[0] = deepest_of(c);
    chosen[1] = farthest_from(c, chosen[0], &square);
    if (!(square > 0)) return 1;
    for (int side = 1; side >= -1 && count < most; side -= 2) {
        int best = -1;
        double largest = 1e-9 * square;
        for (int i = 0; i < c->count; i++) {
            double area = side * area_with(c, chosen[0], chosen[1], i);
            if (area > largest * (1 + 1e-9)) largest = area, best = i;
        }
        if (best >= 0) chosen[count++] = best;
    }
    return count;
}

void cs_manifold_land(cs_manifold *manifold, const cs_outline *outline, const cs_landing *landing)
{
    const double *normal = landing->normal, *along = landing->along ? landing->along : normal;
    candidates c = {.normal = along, .corner = outline->corner};
    double around = landing->radius[0] + landing->radius[1];
    double slope = normal == along ? 1 : cs_dot(normal, along);
    for (int i = 0; i < outline->count; i++) {
        double gap = (cs_dot(normal, outline->corner[i]) - landing->offset) / slope - around;
        if (!(gap <= landing->margin)) continue;
        c.gap[c.count] = gap;
        c.which[c.count++] = i;
    }

    int chosen[CS_MOST_POINTS], count = c.count;
    if (count > landing->most) count = choose(&c, landing->most, chosen);
    else
        for (int i = 0; i < count; i++) chosen[i] = i;
    double sign = landing->reversed ? -1 : 1;
    for (int i = 0; i < 3; i++) manifold->normal[i] = sign * along[i];
    for (int k = 0; k < count; k++) {
        /* The surface of the first shape is that of the reference face, or that of the other. */
        int at = c.which[chosen[k]];
        double gap = c.gap[chosen[k]], surface[3];
        double back = landing->radius[1] + (landing->reversed ? 0 : gap);
        cs_add_scaled(outline->corner[at], -back, along, surface);
        int32_t label = outline->in[at] << CS_LABEL_SHIFT | outline->out[at];
        cs_manifold_add(manifold, surface, gap, landing->base | label, landing->margin);
    }
}
