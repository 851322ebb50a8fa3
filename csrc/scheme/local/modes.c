/* Every mode that a contact may be in. A ball of one row sticks or is at either end of its bound,
 * which is linear; one ball of more rows slides as scheme/local/sliding.h says. Of two balls the second
 * is eliminated: at an end of its bound its rows go into the column of the normal impulse, and
 * where it slides with kappa, v = -kappa z, they are a Schur complement.  */
#include "scheme/local/local.h"
#include "scheme/local/sliding.h"

#include <math.h>
#include <string.h>

enum { CANDIDATES = 2 * CS_SLIDING_MOST + 2, BISECTIONS = 60, SET_SWEEPS = 4096 };

/* Impulses of the normal and the first ball, all that are consistent there. */
typedef struct candidates {
    int count;
    double z[CANDIDATES][4];
} candidates;

static double length_of(int count, const double *x)
{
    double square = 0;
    for (int i = 0; i < count; i++) square += x[i] * x[i];
    return sqrt(square);
}

/* Sliding along one row, z_t = side c z_n, v_n = 0: whether there is a normal impulse. */
static int slide_along(const cs_sliding *c, int side, double *z)
{
    double slope = side * c->reach, stiffness = c->normal + slope * c->across[0];
    if (stiffness == 0) return 0;
    z[0] = -c->q / stiffness;
    z[1] = slope * z[0];
    return z[0] >= 0;
}

/* `hard`: where one is not enough. */
static void add_slides(const cs_sliding *c, int hard, candidates *found)
{
    if (c->rows == 1)
        for (int side = -1; side <= 1; side += 2)
            found->count += slide_along(c, side, found->z[found->count]);
    else found->count += cs_sliding_root(c, 0, found->z[found->count]);
    if (!hard || c->rows == 1) return;
    if (c->rows == 2) found->count += cs_sliding_quartic(c, found->z + found->count);
    found->count += cs_sliding_scan(c, found->z + found->count);
}

/* The normal impulse and ball 0 alone, W (n, n); without a ball the normal impulse. */
static void first_ball(const cs_local_problem *p, const double *W, const double *q, int hard,
                       candidates *found)
{
    int n = p->first[1 < p->balls ? 1 : p->balls];
    cs_sliding c;
    found->count = 0;
    if (!cs_sliding_reduce(n, W, q, p->reach[0], &c)) return;
    if (n == 1) {
        found->z[0][0] = -q[0] / W[0];
        found->count = found->z[0][0] >= 0;
        return;
    }
    found->count += cs_sliding_stick(&c, found->z[0]);
    if (hard || !found->count) add_slides(&c, hard, found);
}

/* ---- the second ball ------------------------------------------------------------------------- */

/* The last rows e of W are eliminated: z_e = share z_rest + own. */
typedef struct elimination {
    int rest, count; /* rows */
    double share[CS_MAX_ROWS * CS_MAX_ROWS], own[CS_MAX_ROWS];
    double W[CS_MAX_ROWS * CS_MAX_ROWS], q[CS_MAX_ROWS]; /* of the rest */
} elimination;

static elimination begin(const cs_local_problem *p)
{
    elimination e = {.rest = p->first[1], .count = p->rows - p->first[1]};
    return e;
}

static void finish(const cs_local_problem *p, elimination *e)
{
    for (int i = 0; i < e->rest; i++) {
        const double *last = p->W + i * p->rows + e->rest;
        e->q[i] = p->q[i];
        for (int k = 0; k < e->count; k++) e->q[i] += last[k] * e->own[k];
        for (int j = 0; j < e->rest; j++) {
            double sum = p->W[i * p->rows + j];
            for (int k = 0; k < e->count; k++) sum += last[k] * e->share[k * e->rest + j];
            e->W[i * e->rest + j] = sum;
        }
    }
}

/* v_e = -kappa z_e. */
static elimination slide_with(const cs_local_problem *p, double kappa)
{
    elimination e = begin(p);
    for (int column = 0; column <= e.rest; column++) {
        double a[4], b[2];
        for (int i = 0; i < e.count; i++) {
            const double *row = p->W + (e.rest + i) * p->rows;
            for (int j = 0; j < e.count; j++)
                a[i * e.count + j] = row[e.rest + j] + (i == j ? kappa : 0);
            b[i] = column < e.rest ? -row[column] : -p->q[e.rest + i];
        }
        cs_local_eliminate(e.count, a, b);
        for (int i = 0; i < e.count; i++)
            *(column < e.rest ? &e.share[i * e.rest + column] : &e.own[i]) = b[i];
    }
    finish(p, &e);
    return e;
}

/* One row at an end of its bound, z_e = side c z_n. */
static elimination at_end(const cs_local_problem *p, int side)
{
    elimination e = begin(p);
    e.share[0] = side * p->reach[1];
    finish(p, &e);
    return e;
}

static void expand(const elimination *e, const double *rest, double *z)
{
    memcpy(z, rest, sizeof(double) * (size_t)e->rest);
    for (int i = 0; i < e->count; i++) {
        z[e->rest + i] = e->own[i];
        for (int j = 0; j < e->rest; j++) z[e->rest + i] += e->share[i * e->rest + j] * rest[j];
    }
}

/* The best point so far. */
typedef struct best {
    const cs_local_problem *p;
    double *z, defect;
} best;

static int is_enough(const best *b) { return b->defect <= CS_LOCAL_TOLERANCE; }

/* Takes a candidate, made better by Newton's method where it is not exact. */
static void attempt(best *b, const double *candidate)
{
    double z[CS_MAX_ROWS];
    memcpy(z, candidate, sizeof(double) * (size_t)b->p->rows);
    double defect = cs_local_defect(b->p, z);
    if (!(defect <= CS_LOCAL_TOLERANCE / 4)) defect = cs_local_newton(b->p, z);
    if (!(defect < b->defect)) return;
    b->defect = defect;
    memcpy(b->z, z, sizeof(double) * (size_t)b->p->rows);
}

static void try_all(best *b, const elimination *e, int hard)
{
    candidates found;
    double z[CS_MAX_ROWS];
    first_ball(b->p, e->W, e->q, hard, &found);
    for (int i = 0; i < found.count && !is_enough(b); i++) {
        expand(e, found.z[i], z);
        attempt(b, z);
    }
}

/* By how much the second ball, sliding with kappa, is above its bound; z (m) gets the impulses.
 * Returns whether the rest has any. */
static int excess_of(const cs_local_problem *p, double kappa, double *z, double *excess)
{
    elimination e = slide_with(p, kappa);
    candidates found;
    first_ball(p, e.W, e.q, 0, &found);
    if (!found.count) return 0;
    expand(&e, found.z[0], z);
    *excess = length_of(e.count, z + e.rest) - p->reach[1] * z[0];
    return isfinite(*excess);
}

static void bisect_slide(best *b, double low, double high, double at_low)
{
    double z[CS_MAX_ROWS], excess;
    for (int i = 0; i < BISECTIONS && !is_enough(b); i++) {
        double middle = sqrt(low * high);
        if (!excess_of(b->p, middle, z, &excess)) return;
        if (excess * at_low > 0) low = middle;
        else high = middle;
        if (i % 8 == 7) attempt(b, z);
    }
}

/* kappa of the second ball over all scales. */
static void try_slide(best *b)
{
    const cs_local_problem *p = b->p;
    double z[CS_MAX_ROWS], size = 0, before = 0, excess = 0;
    for (int i = p->first[1]; i < p->rows; i++) size = fmax(size, p->W[i * p->rows + i]);
    double kappa = 1e-12 * size;
    for (int i = 0, known = 0; i < 2 * 18 && !is_enough(b); i++, kappa *= sqrt(10)) {
        int here = excess_of(p, kappa, z, &excess);
        if (here && known && before * excess <= 0) bisect_slide(b, kappa / sqrt(10), kappa, before);
        known = here;
        before = excess;
    }
}

static void try_modes(best *b, int hard)
{
    const cs_local_problem *p = b->p;
    candidates found;
    if (p->balls < 2) {
        first_ball(p, p->W, p->q, hard, &found);
        for (int i = 0; i < found.count && !is_enough(b); i++) attempt(b, found.z[i]);
        return;
    }
    elimination e = slide_with(p, 0);
    try_all(b, &e, hard);
    for (int side = -1; side <= 1 && e.count == 1 && !is_enough(b); side += 2) {
        elimination end = at_end(p, side);
        try_all(b, &end, hard);
    }
    if (e.count > 1 && hard && !is_enough(b)) try_slide(b);
}

double cs_local_modes(const cs_local_problem *p, double *z)
{
    best b = {.p = p, .z = z, .defect = INFINITY};
    for (int hard = 0; hard < 2 && !is_enough(&b); hard++) try_modes(&b, hard);
    return b.defect;
}

/* ---- cones ----------------------------------------------------------------------------------- */

/* On the cone's boundary v = kappa (-mu^2 z_n, z_t) up to sign: (W + kappa C) z = -q with
 * C = diag(-mu^2, 1, 1). z <- that; returns by how much it is above the bound. */
static double on_boundary(const cs_local_problem *p, double kappa, double *z)
{
    int rows = p->rows;
    double a[CS_MAX_ROWS * CS_MAX_ROWS], mu = p->reach[0];
    for (int i = 0; i < rows; i++) {
        z[i] = -p->q[i];
        for (int j = 0; j < rows; j++) a[i * rows + j] = p->W[i * rows + j];
        a[i * (rows + 1)] += kappa * (i == 0 ? -mu * mu : 1);
    }
    cs_local_eliminate(rows, a, z);
    return length_of(rows - 1, z + 1) - mu * z[0];
}

double cs_local_boundary(const cs_local_problem *p, double *z)
{
    best b = {.p = p, .z = z, .defect = INFINITY};
    double size = 0, before = 0, x[CS_MAX_ROWS];
    for (int i = 0; i < p->rows; i++) size += p->W[i * (p->rows + 1)];
    double kappa = 1e-16 * size / (1 + p->reach[0] * p->reach[0]);
    for (int i = 0; i < 8 * 32 && !is_enough(&b); i++) {
        double next = kappa * pow(10, 0.125), excess = on_boundary(p, next, x);
        double low = kappa, high = next;
        if (i > 0 && before * excess <= 0) {
            for (int n = 0; n < BISECTIONS; n++) {
                double middle = (low + high) / 2;
                if (on_boundary(p, middle, x) * before > 0) low = middle;
                else high = middle;
            }
            attempt(&b, x);
        }
        kappa = next;
        before = excess;
    }
    return b.defect;
}

/* ---- bounds that do not follow --------------------------------------------------------------- */

/* Rows first ... end - 1 in the ball of that radius, the others as they are. */
static void solve_ball(const cs_local_problem *p, int first, int end, double radius, double *z)
{
    cs_sliding c = {.rows = end - first, .normal = 1, .q = -1, .reach = radius};
    double x[4];
    for (int i = first; i < end; i++) {
        const double *row = p->W + i * p->rows;
        c.g[i - first] = -p->q[i];
        for (int j = 0; j < p->rows; j++) {
            if (j < first || j >= end) c.g[i - first] -= row[j] * z[j];
            else c.s[(i - first) * c.rows + j - first] = row[j];
        }
        c.size = fmax(c.size, row[i]);
    }
    if (!cs_sliding_stick(&c, x) && !cs_sliding_root(&c, 0, x)) return;
    for (int i = first; i < end; i++) z[i] = x[1 + i - first];
}

double cs_local_by_sets(const cs_local_problem *p, double *z)
{
    best b = {.p = p, .z = z, .defect = INFINITY};
    double x[CS_MAX_ROWS] = {0};
    for (int n = 1; n <= SET_SWEEPS && !is_enough(&b); n++) {
        double v = p->q[0];
        for (int j = 1; j < p->rows; j++) v += p->W[j] * x[j];
        x[0] = v < 0 ? -v / p->W[0] : 0;
        for (int i = 0; i < p->balls; i++)
            solve_ball(p, p->first[i], p->first[i + 1], p->reach[i] * p->normal, x);
        if ((n & (n - 1)) == 0) attempt(&b, x);
    }
    return b.defect;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

enum { PIVOTS = 4096 };

/* z <- that of rows at their lower (-1) or upper end (1) and others (0) without velocity. */
static void solve_free(const cs_local_problem *p, const int *state, double *z)
{
    int rows = p->rows, free[CS_MAX_ROWS], count = 0;
    double a[CS_MAX_ROWS * CS_MAX_ROWS], b[CS_MAX_ROWS];
    for (int i = 0; i < rows; i++) {
        if (state[i]) z[i] = state[i] < 0 ? p->low[i] : p->high[i];
        else free[count++] = i;
    }
    for (int i = 0; i < count; i++) {
        const double *row = p->W + free[i] * rows;
        b[i] = -p->q[free[i]];
        for (int j = 0; j < rows; j++)
            if (state[j]) b[i] -= row[j] * z[j];
        for (int j = 0; j < count; j++) a[i * count + j] = row[free[j]];
    }
    cs_local_eliminate(count, a, b);
    for (int i = 0; i < count; i++) z[free[i]] = b[i];
}

/* Murty's rule: the first row out of place changes. Returns whether there was one. */
static int exchange(const cs_local_problem *p, const double *z, int *state)
{
    for (int i = 0; i < p->rows; i++) {
        double v = p->q[i];
        for (int j = 0; j < p->rows; j++) v += p->W[i * p->rows + j] * z[j];
        int next = state[i];
        if (state[i] == 0 && z[i] < p->low[i]) next = -1;
        if (state[i] == 0 && z[i] > p->high[i]) next = 1;
        if ((state[i] < 0 && v < 0) || (state[i] > 0 && v > 0)) next = 0;
        if (next == state[i] || p->low[i] == p->high[i]) continue;
        state[i] = next;
        return 1;
    }
    return 0;
}

double cs_local_pivots(const cs_local_problem *p, double *z)
{
    int state[CS_MAX_ROWS];
    for (int i = 0; i < p->rows; i++)
        state[i] = isfinite(p->low[i]) ? -1 : (isfinite(p->high[i]) ? 1 : 0);
    double defect = INFINITY;
    for (int n = 0; n < PIVOTS && defect > CS_LOCAL_TOLERANCE; n++) {
        solve_free(p, state, z);
        defect = cs_local_defect(p, z);
        if (defect > CS_LOCAL_TOLERANCE && !exchange(p, z, state)) break;
    }
    return defect;
}
