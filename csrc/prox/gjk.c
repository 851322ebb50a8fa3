#include "prox/gjk.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

enum {
    PLANE_STEPS = 200, /* bisection alone takes 55 */
    INSIDE_STEPS = 64, /* until a point on the boundary counts as inside */
    SPACE_STEPS = 300, /* steps of the simplex */
    NEWTON_STEPS = 16,
};

/* Beyond so many units of S only the direction of a point matters, to rounding. */
#define FAR 1e60
/* Chords longer than this, over the size of S, that are an edge to rounding tell where its foot is. */
#define LONG_EDGE 0.1
/* Four points that are so nearly in one plane have no inside. */
#define FLAT 1e-13
/* So near to S, over the size of both, the boundary may be that where y is. */
#define NEAR 1e-6
/* Of the direction, for derivatives of the support point; to both sides, for the slope. */
#define DIFFERENCE 1e-7
#define TO_BOTH_SIDES 1e-5
/* What the support point moves by meanwhile, over the size of S, where it jumps along an edge. */
#define JUMP 1e-3

/* ---- vectors --------------------------------------------------------------------------------- */

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double norm(int n, const double *a)
{
    return n == 2 ? hypot(a[0], a[1]) : hypot(hypot(a[0], a[1]), a[2]);
}

static void subtract(int n, const double *a, const double *b, double *difference)
{
    for (int i = 0; i < n; i++) difference[i] = a[i] - b[i];
}

static void copy(int n, const double *from, double *to)
{
    for (int i = 0; i < n; i++) to[i] = from[i];
}

/* Returns the length; a zero vector is left. */
static double normalise(int n, double *a)
{
    double length = norm(n, a);
    for (int i = 0; i < n && length > 0; i++) a[i] /= length;
    return length;
}

static double cross(const double *a, const double *b) { return a[0] * b[1] - a[1] * b[0]; }

static int equal(int n, const double *a, const double *b)
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i]) return 0;
    return 1;
}

/* ---- one search ------------------------------------------------------------------------------ */

typedef struct search {
    const cs_oracle *oracle;
    double y[3];
    double size; /* of the points of S seen so far */
    int failed;
} search;

/* A direction of length 1, and the support point there. */
typedef struct probe {
    double u[3], s[3];
} probe;

static void ask(search *q, probe *p)
{
    int n = q->oracle->n;
    p->s[0] = p->s[1] = p->s[2] = 0;
    if (!q->failed) q->failed = q->oracle->support(q->oracle->context, n, p->u, p->s);
    q->size = fmax(q->size, norm(n, p->s));
}

/* What rounding leaves of y and of points of S. */
static double room(const search *q, double units)
{
    return units * DBL_EPSILON * (norm(q->oracle->n, q->y) + q->size);
}

/* u . (y - s): y is outside of S, by at least so much, where it is positive. */
static double separation(const search *q, const probe *p)
{
    double from[3] = {0};
    subtract(q->oracle->n, q->y, p->s, from);
    return dot(q->oracle->n, p->u, from);
}

/* ---- the plane ------------------------------------------------------------------------------- */

/* x <- the nearest point of the segment. */
static void nearest_on_segment(const double *p, const double *q, const double *y, double *x)
{
    double along[2], from[2];
    subtract(2, q, p, along);
    subtract(2, y, p, from);
    double square = dot(2, along, along), part = square > 0 ? dot(2, from, along) / square : 0;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    for (int i = 0; i < 2; i++) x[i] = part == 1 ? q[i] : p[i] + part * along[i];
}

/* u <- the direction from the segment to y, x <- the nearest point of the segment; returns the distance.
 * Beside the segment u is across it: y - x of a point nearby would be rounding for the most part. */
static double away_from_segment(const double *p, const double *q, const double *y, double *x,
                                double *u)
{
    double along[2], from[2];
    nearest_on_segment(p, q, y, x);
    subtract(2, y, x, u);
    if (equal(2, x, p) || equal(2, x, q)) return normalise(2, u);
    subtract(2, q, p, along);
    subtract(2, y, p, from);
    normalise(2, along);
    double beside = cross(along, from);
    u[0] = beside < 0 ? along[1] : -along[1];
    u[1] = beside < 0 ? -along[0] : along[0];
    return fabs(beside);
}

/* Whether y is in the triangle. */
static int in_triangle(const double *a, const double *b, const double *c, const double *y)
{
    const double *corner[] = {a, b, c};
    int left = 0, right = 0;
    for (int i = 0; i < 3; i++) {
        double along[2], from[2];
        subtract(2, corner[(i + 1) % 3], corner[i], along);
        subtract(2, y, corner[i], from);
        double side = cross(along, from);
        left |= side > 0;
        right |= side < 0;
    }
    return !(left && right);
}

/* Looks for a direction in which S does not reach as far as y, from a first point of S; returns
 * whether there is one. */
static int separate_in_plane(search *q, const double *first, probe *found)
{
    double a[2], b[2], x[2], to_a[2], to_b[2];
    copy(2, found->s, a);
    copy(2, first, b);
    for (int step = 0; step < INSIDE_STEPS && !q->failed; step++) {
        if (away_from_segment(a, b, q->y, x, found->u) <= room(q, 4)) return 0;
        ask(q, found);
        if (separation(q, found) > room(q, 4)) return 1;
        int flat = cross(a, b) == 0 && equal(2, a, b);
        if (!flat && in_triangle(a, b, found->s, q->y)) return 0;
        nearest_on_segment(a, found->s, q->y, to_a);
        nearest_on_segment(b, found->s, q->y, to_b);
        subtract(2, q->y, to_a, to_a);
        subtract(2, q->y, to_b, to_b);
        copy(2, found->s, norm(2, to_a) < norm(2, to_b) ? b : a);
    }
    return 0;
}

/* Directions a and b with the one sought between them: turning from a to b by `turn` (1: left), the
 * support point overtakes y, and `excess`, turn x cross(u, y - s), goes from positive to negative.
 * S1 eq. 2.45 in place of d: the root of a function that needs no derivative. */
typedef struct bracket {
    probe a, b;
    double turn, weight_a, weight_b; /* the excess at a and at b, or less of it */
    int last;                        /* which end was moved last: -1 for a, 1 for b */
} bracket;

static double excess(const search *q, const bracket *k, const probe *p)
{
    double from[2];
    subtract(2, q->y, p->s, from);
    return k->turn * cross(p->u, from);
}

/* Whether u points from s to y, to rounding: s is the nearest point then. */
static int is_nearest(const search *q, const probe *p)
{
    double from[2];
    subtract(2, q->y, p->s, from);
    return fabs(cross(p->u, from)) <= 2 * DBL_EPSILON * (norm(2, p->s) + norm(2, from));
}

static int is_between(const bracket *k, const double *u)
{
    double least = 2 * DBL_EPSILON;
    return k->turn * cross(k->a.u, u) > least && k->turn * cross(u, k->b.u) > least;
}

/* Perpendicular to the chord between the support points: finds edges. */
static int try_chord(const search *q, const bracket *k, double *foot, double *u)
{
    return away_from_segment(k->a.s, k->b.s, q->y, foot, u) > 0 && is_between(k, u);
}

/* By the secant of the excess, one end weighed less after it has stayed twice (Illinois). */
static void take_secant(const bracket *k, double *u)
{
    double part = k->weight_a / (k->weight_a - k->weight_b);
    for (int i = 0; i < 2; i++) u[i] = k->a.u[i] + part * (k->b.u[i] - k->a.u[i]);
    normalise(2, u);
}

static void take_middle(const bracket *k, double *u)
{
    for (int i = 0; i < 2; i++) u[i] = k->a.u[i] + k->b.u[i];
    normalise(2, u);
}

static void narrow(const search *q, bracket *k, const probe *c)
{
    double value = excess(q, k, c);
    int end = value > 0 && separation(q, c) > 0 ? -1 : 1;
    if (end < 0) {
        k->a = *c;
        k->weight_a = value;
        if (k->last == end) k->weight_b /= 2;
    } else {
        k->b = *c;
        /* Where S reaches beyond y the direction has been turned too far. */
        k->weight_b = value < 0 ? value : -k->weight_a;
        if (k->last == end) k->weight_a /= 2;
    }
    k->last = end;
}

/* Where the bracket has closed, the support point jumps from a to b, along an edge, if at all. */
static void foot_between(const search *q, const bracket *k, double *x)
{
    double u[2], from_a[2], from_b[2];
    take_middle(k, u);
    subtract(2, q->y, k->a.s, from_a);
    subtract(2, q->y, k->b.s, from_b);
    double first = k->turn * cross(u, from_a), second = k->turn * cross(u, from_b);
    double part = first > 0 && second < 0 ? first / (first - second) : first > 0 ? 1 : 0;
    for (int i = 0; i < 2; i++) x[i] = k->a.s[i] + part * (k->b.s[i] - k->a.s[i]);
}

/* Whether the chord is an edge of S: it reaches no further in the direction of y. */
static int is_edge(const search *q, const bracket *k, const probe *c, const double *foot)
{
    double beyond[2], along[2];
    if (equal(2, c->s, k->a.s) || equal(2, c->s, k->b.s)) return 1;
    subtract(2, c->s, foot, beyond);
    subtract(2, k->b.s, k->a.s, along);
    return dot(2, c->u, beyond) <= 2 * DBL_EPSILON * q->size &&
           norm(2, along) > LONG_EDGE * q->size;
}

static void close_bracket(search *q, bracket *k, double *x)
{
    double width = k->turn * cross(k->a.u, k->b.u);
    for (int step = 0; step < PLANE_STEPS && !q->failed; step++) {
        probe c;
        double foot[2], now = k->turn * cross(k->a.u, k->b.u);
        if (now <= 4 * DBL_EPSILON) break;
        int slow = step % 3 == 2 && now > width / 8, chord = 0;
        if (step % 3 == 2) width = now;
        if (slow) take_middle(k, c.u);
        else if (step % 3 == 1) take_secant(k, c.u);
        else chord = try_chord(q, k, foot, c.u);
        if (!chord && !is_between(k, c.u)) take_middle(k, c.u);
        ask(q, &c);
        if (chord && is_edge(q, k, &c, foot)) {
            copy(2, foot, x);
            return;
        }
        if (is_nearest(q, &c) && separation(q, &c) > 0) {
            copy(2, c.s, x);
            return;
        }
        narrow(q, k, &c);
    }
    foot_between(q, k, x);
}

static void nearest_in_plane(search *q, const double *first, double *x)
{
    bracket k = {.turn = 1};
    copy(2, q->y, x);
    copy(2, q->y, k.a.u);
    if (normalise(2, k.a.u) == 0) k.a.u[0] = 1;
    ask(q, &k.a);
    if (!(separation(q, &k.a) > room(q, 4)) && !separate_in_plane(q, first ? first : k.a.s, &k.a))
        return;
    k.turn = excess(q, &k, &k.a) > 0 ? 1 : -1;
    copy(2, k.a.s, x);
    if (is_nearest(q, &k.a)) return;
    subtract(2, q->y, k.a.s, k.b.u);
    normalise(2, k.b.u);
    ask(q, &k.b);
    copy(2, k.b.s, x);
    if (is_nearest(q, &k.b) && separation(q, &k.b) > 0) return;
    k.weight_a = excess(q, &k, &k.a);
    double value = excess(q, &k, &k.b);
    k.weight_b = value < 0 ? value : -k.weight_a;
    close_bracket(q, &k, x);
}

/* ---- space ----------------------------------------------------------------------------------- */

typedef struct simplex {
    int points;
    double p[4][3];
} simplex;

/* Solves the k equations g w = h, k <= 3; returns 0 where g is singular. */
static int solve_small(int k, double singular, double g[3][3], double *h)
{
    double scale = 0;
    for (int i = 0; i < k * k; i++) scale = fmax(scale, fabs(g[i / k][i % k]));
    for (int c = 0; c < k; c++) {
        int pivot = c;
        for (int i = c + 1; i < k; i++)
            if (fabs(g[i][c]) > fabs(g[pivot][c])) pivot = i;
        if (!(fabs(g[pivot][c]) > singular * scale)) return 0;
        for (int j = 0; j < k; j++) {
            double swap = g[pivot][j];
            g[pivot][j] = g[c][j];
            g[c][j] = swap;
        }
        double swap = h[pivot];
        h[pivot] = h[c];
        h[c] = swap;
        for (int i = 0; i < k; i++) {
            double multiple = i == c ? 0 : g[i][c] / g[c][c];
            for (int j = c; j < k; j++) g[i][j] -= multiple * g[c][j];
            h[i] -= multiple * h[c];
        }
    }
    for (int i = 0; i < k; i++) h[i] /= g[i][i];
    return 1;
}

/* x <- the point nearest to y of the plane through the points in `mask`; returns whether it lies
 * between them. */
static int nearest_on_face(const simplex *s, int mask, const double *y, double *x)
{
    int first = 0, k = 0;
    double along[3][3], from[3], g[3][3], w[3] = {0}, rest = 1;
    while (!(mask >> first & 1)) first++;
    for (int i = first + 1; i < s->points; i++)
        if (mask >> i & 1) subtract(3, s->p[i], s->p[first], along[k++]);
    subtract(3, y, s->p[first], from);
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < k; j++) g[i][j] = dot(3, along[i], along[j]);
        w[i] = dot(3, along[i], from);
    }
    /* Of four points y itself, unless they lie in one plane. */
    for (int i = 0; i < 9 && k == 3; i++) g[i / 3][i % 3] = along[i % 3][i / 3];
    if (k == 3) copy(3, from, w);
    if (!solve_small(k, k == 3 ? FLAT : 0, g, w)) return 0;
    copy(3, s->p[first], x);
    for (int i = 0; i < k; i++) {
        if (!(w[i] >= 0)) return 0;
        rest -= w[i];
        for (int j = 0; j < 3; j++) x[j] += w[i] * along[i][j];
    }
    return rest >= 0;
}

/* The most that a point of the simplex lies beyond x, towards y: none where x is the nearest. */
static double violation(const simplex *s, const double *y, const double *x)
{
    double towards[3], most = 0;
    subtract(3, y, x, towards);
    for (int i = 0; i < s->points; i++) {
        double from[3];
        subtract(3, s->p[i], x, from);
        most = fmax(most, dot(3, towards, from));
    }
    return most;
}

/* x <- the nearest point of the simplex, which is cut down to the face around it. The faces are
 * judged by how nearly the rest lies behind them: distances would tie. All four points are kept where
 * y is between them. */
static void nearest_on_simplex(simplex *s, const double *y, double *x)
{
    double least = INFINITY;
    int best = 1;
    for (int mask = 1; mask < 1 << s->points; mask++) {
        double candidate[3];
        if (!nearest_on_face(s, mask, y, candidate)) continue;
        double found = violation(s, y, candidate);
        if (!(found < least)) continue;
        least = found;
        best = mask;
        copy(3, candidate, x);
    }
    int kept = 0;
    for (int i = 0; i < s->points; i++)
        if (best >> i & 1) copy(3, s->p[i], s->p[kept++]);
    s->points = kept;
}

/* Two directions across u. */
static void across(const double *u, double e[2][3])
{
    int least = fabs(u[1]) < fabs(u[0]) ? 1 : 0;
    if (fabs(u[2]) < fabs(u[least])) least = 2;
    for (int i = 0; i < 3; i++) e[0][i] = (i == least) - u[least] * u[i];
    normalise(3, e[0]);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        e[1][i] = u[j] * e[0][k] - u[k] * e[0][j];
    }
}

/* A step of Newton's method for y - s(u) = D u, across u: (D + ds/du) change = y - s, with the
 * derivative by differences. Returns |y - s| across u before the step. */
static double turn_direction(search *q, probe *p)
{
    double e[2][3], from[3], f[2], g[2][2], distance = separation(q, p);
    across(p->u, e);
    subtract(3, q->y, p->s, from);
    for (int i = 0; i < 2; i++) f[i] = dot(3, e[i], from);
    for (int j = 0; j < 2; j++) {
        probe beside;
        for (int i = 0; i < 3; i++) beside.u[i] = p->u[i] + DIFFERENCE * e[j][i];
        ask(q, &beside);
        subtract(3, beside.s, p->s, from);
        for (int i = 0; i < 2; i++)
            g[i][j] = dot(3, e[i], from) / DIFFERENCE + (i == j ? distance : 0);
    }
    double determinant = g[0][0] * g[1][1] - g[0][1] * g[1][0], before = hypot(f[0], f[1]);
    if (!(fabs(determinant) > 0)) return before;
    double change[2] = {(g[1][1] * f[0] - g[0][1] * f[1]) / determinant,
                        (g[0][0] * f[1] - g[1][0] * f[0]) / determinant};
    for (int i = 0; i < 3; i++) p->u[i] += change[0] * e[0][i] + change[1] * e[1][i];
    normalise(3, p->u);
    ask(q, p);
    return before;
}

/* Newton's method from a direction that separates y from S; returns whether it met rounding. From a
 * direction that does not, it may tell that y is inside: no deeper than `depth` below the boundary, on
 * the side that it came from. */
static int polish(search *q, probe *p, double depth, double *x)
{
    double last = INFINITY, first[3];
    copy(3, p->u, first);
    for (int step = 0; step < NEWTON_STEPS && !q->failed; step++) {
        double from[3], s[3], apart = separation(q, p);
        int outside = apart > room(q, 4);
        if (!outside && !(apart >= -depth && dot(3, p->u, first) > 0.5)) return 0;
        subtract(3, q->y, p->s, from);
        double enough = 4 * DBL_EPSILON * (norm(3, p->s) + norm(3, from));
        copy(3, p->s, s);
        double off = turn_direction(q, p);
        if (off <= enough || (off > last / 2 && off <= 8 * enough)) {
            copy(3, outside ? s : q->y, x);
            return 1;
        }
        if (off > last / 2) return 0;
        last = off;
    }
    return 0;
}

/* One more point for the simplex; returns 0 where it has come as near as rounding lets it. */
static int approach(search *q, simplex *s, double *tried, double *x)
{
    probe p;
    nearest_on_simplex(s, q->y, x);
    subtract(3, q->y, x, p.u);
    double length = normalise(3, p.u);
    int near = length <= NEAR * (norm(3, q->y) + q->size);
    if (length <= room(q, 4) || s->points == 4) {
        copy(3, q->y, x);
        return 0;
    }
    ask(q, &p);
    double apart = separation(q, &p), gap = length - apart;
    if ((near || apart > room(q, 4)) && gap < *tried / 16) {
        probe own = p;
        *tried = gap;
        if (polish(q, &own, near ? length : 0, x)) return 0;
    }
    if (gap <= 2 * DBL_EPSILON * q->size) return 0;
    for (int i = 0; i < s->points; i++)
        if (equal(3, s->p[i], p.s)) return 0;
    copy(3, p.s, s->p[s->points++]);
    return 1;
}

static void nearest_in_space(search *q, const double *first, double *x)
{
    probe p = {{0}, {0}};
    simplex s = {.points = 1};
    double tried = INFINITY;
    copy(3, q->y, p.u);
    if (normalise(3, p.u) == 0) p.u[0] = 1;
    ask(q, &p);
    copy(3, p.s, s.p[0]);
    if (first && !(separation(q, &p) > 0)) copy(3, first, s.p[s.points++]);
    for (int step = 0; step < SPACE_STEPS && !q->failed; step++)
        if (!approach(q, &s, &tried, x)) return;
}

/* ---- all ------------------------------------------------------------------------------------- */

int cs_nearest_by_support(const cs_oracle *oracle, int has_origin, double *y)
{
    static const double origin[3] = {0};
    search q = {.oracle = oracle};
    double x[3] = {0};
    copy(oracle->n, y, q.y);
    if (has_origin && norm(oracle->n, y) == 0) return 0;
    if (oracle->n == 2) nearest_in_plane(&q, has_origin ? origin : NULL, x);
    else nearest_in_space(&q, has_origin ? origin : NULL, x);
    for (int i = 0; i < oracle->n; i++) y[i] = q.failed ? 0 : x[i];
    return q.failed;
}

int cs_nearest_in_scaled(const cs_oracle *oracle, double scale, double *z)
{
    int n = oracle->n;
    double y[3] = {0}, before[3] = {0}, largest = 0;
    if (isinf(scale)) return 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(z[i]));
    int far = !(largest / scale <= FAR);
    for (int i = 0; i < n; i++) y[i] = far ? z[i] / largest * FAR : z[i] / scale;
    if (largest == 0 || !(scale > 0)) {
        for (int i = 0; i < n; i++) z[i] = 0;
        return 0;
    }
    copy(n, y, before);
    int failed = cs_nearest_by_support(oracle, 1, y);
    if (!failed && equal(n, y, before)) return 0; /* sticking impulses do not creep */
    for (int i = 0; i < n; i++) z[i] = scale * y[i];
    return failed;
}

/* ---- the slope ------------------------------------------------------------------------------- */

/* rate <- how the support point moves as the direction u turns towards e. */
static void turn_to(search *q, const double *u, const double *e, double *rate)
{
    int n = q->oracle->n;
    probe ahead = {{0}, {0}}, back = {{0}, {0}};
    for (int i = 0; i < n; i++) {
        ahead.u[i] = u[i] + TO_BOTH_SIDES * e[i];
        back.u[i] = u[i] - TO_BOTH_SIDES * e[i];
    }
    normalise(n, ahead.u);
    normalise(n, back.u);
    ask(q, &ahead);
    ask(q, &back);
    subtract(n, ahead.s, back.s, rate);
    for (int i = 0; i < n; i++) rate[i] /= 2 * TO_BOTH_SIDES;
}

/* e[0] <- the direction across u in which x lies, e[1] <- the one across both. */
static void lay_along(const double *u, const double *x, double e[2][3])
{
    double part = dot(3, u, x);
    for (int i = 0; i < 3; i++) e[0][i] = x[i] - part * u[i];
    normalise(3, e[0]);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        e[1][i] = u[j] * e[0][k] - u[k] * e[0][j];
    }
}

/* Whether that is a jump: along an edge S does not bend at all. */
static int jumps(const search *q, double rate) { return rate * TO_BOTH_SIDES > JUMP * q->size; }

/* Both rates of turning, w, and their directions e, where the support point jumps: along the edge, or one
 * of a face, and across it. What the support point does along the edge while u turns across it is due to
 * rounding, and to how well the edge is known: the second time, to the square of a difference. */
static void turn_at_edge(search *q, const double *u, const double *jump, double e[2][3], double *w)
{
    double rate[3];
    lay_along(u, jump, e);
    turn_to(q, u, e[0], rate);
    lay_along(u, rate, e);
    for (int i = 0; i < 2; i++) {
        turn_to(q, u, e[i], rate);
        w[i] = dot(3, e[i], rate);
    }
}

/* The same, for any surface: W is symmetric, and its own directions are taken. */
static void turn_in_space(search *q, const double *u, double e[2][3], double *w)
{
    double rate[2][3], first[2][3];
    across(u, first);
    for (int i = 0; i < 2; i++) turn_to(q, u, first[i], rate[i]);
    int longest = norm(3, rate[1]) > norm(3, rate[0]);
    if (jumps(q, norm(3, rate[longest]))) {
        turn_at_edge(q, u, rate[longest], e, w);
        return;
    }

    /* Across u, W = (a b; b c): its eigenvalues and eigenvectors. */
    double a = dot(3, first[0], rate[0]), c = dot(3, first[1], rate[1]);
    double b = (dot(3, first[0], rate[1]) + dot(3, first[1], rate[0])) / 2;
    double half = hypot((a - c) / 2, b), angle = atan2(2 * b, a - c) / 2;
    w[0] = (a + c) / 2 + half;
    w[1] = (a + c) / 2 - half;
    for (int i = 0; i < 3; i++) {
        e[0][i] = cos(angle) * first[0][i] + sin(angle) * first[1][i];
        e[1][i] = cos(angle) * first[1][i] - sin(angle) * first[0][i];
    }
}

void cs_slope_in_scaled(const cs_oracle *oracle, double scale, const double *z, const double *x,
                        double *G)
{
    int n = oracle->n, inside = scale > 0 && equal(n, z, x);
    search q = {.oracle = oracle};
    double u[3] = {0}, e[2][3] = {{0}}, w[2] = {0}, rate[3];
    for (int i = 0; i < n * n; i++) G[i] = inside && i % (n + 1) == 0;
    subtract(n, z, x, u);
    double distance = normalise(n, u) / scale;
    if (inside || !(scale > 0) || !isfinite(distance)) return;

    /* The directions in which the surface bends, and how much. */
    if (n == 3) {
        turn_in_space(&q, u, e, w);
    } else {
        e[0][0] = -u[1];
        e[0][1] = u[0];
        turn_to(&q, u, e[0], rate);
        w[0] = dot(2, e[0], rate);
    }

    /* What the nearest point follows of a move: all of it along an edge, nothing at a corner. */
    for (int k = 0; k < n - 1 && !q.failed; k++) {
        double part = jumps(&q, w[k]) ? 1 : w[k] > 0 ? w[k] / (w[k] + distance) : 0;
        for (int i = 0; i < n * n; i++) G[i] += part * e[k][i / n] * e[k][i % n];
    }
}
