/* Methods for local problems that try all cases, by shape:
 *
 *     balls          every mode of contact (cs_local_modes). A ball of one row sticks or is at one of its two
 *                    bounds, which are linear problems; a ball of more rows sticks or slides as in
 *                    scheme/local/sliding.h. If there are two balls, the second one is eliminated: at a bound its
 *                    rows are proportional to the normal impulse, and if it sticks or slides with v = -kappa z,
 *                    its rows give a Schur complement
 *     fixed radii    block Gauss-Seidel over the balls (cs_local_fixed_bounds)
 *     cone           a search along its boundary (cs_local_cone_boundary)
 *     box            Murty's least-index rule (cs_local_murty) */
#include "scheme/local/local.h"
#include "scheme/local/sliding.h"

#include <math.h>
#include <string.h>

enum { MAX_CANDIDATES = 2 * CS_SLIDING_MOST + 2, BISECTIONS = 60, SET_SWEEPS = 4096 };

/* Impulses of the normal row and of the first ball that solve these rows. */
typedef struct candidates {
    int count;
    double z[MAX_CANDIDATES][4];
} candidates;

/* |x| */
static double length_of(int count, const double *x)
{
    double square = 0;
    for (int i = 0; i < count; i++) square += x[i] * x[i];
    return sqrt(square);
}

/* z <- sliding along one row: z_t = side c z_n, v_n = 0. Returns whether the normal impulse is not negative. */
static int slide_along(const cs_sliding *c, int side, double *z)
{
    double slope = side * c->reach, stiffness = c->normal + slope * c->across[0];
    if (stiffness == 0) return 0;
    z[0] = -c->q / stiffness;
    z[1] = slope * z[0];
    return z[0] >= 0;
}

/* Adds sliding contacts: one of them, or with `exhaustive` all that the quartic and the scan find. */
static void add_sliding(const cs_sliding *c, int exhaustive, candidates *found)
{
    if (c->rows == 1)
        for (int side = -1; side <= 1; side += 2)
            found->count += slide_along(c, side, found->z[found->count]);
    else found->count += cs_sliding_root(c, 0, found->z[found->count]);
    if (!exhaustive || c->rows == 1) return;
    if (c->rows == 2) found->count += cs_sliding_quartic(c, found->z + found->count);
    found->count += cs_sliding_scan(c, found->z + found->count);
}

/* found <- the solutions of the normal row and ball 0 alone, with W (n, n) and q (n) of these rows. */
static void first_ball(const cs_local_problem *p, const double *W, const double *q, int exhaustive,
                       candidates *found)
{
    /* Without a ball, only the normal impulse. */
    int n = p->first[1 < p->balls ? 1 : p->balls];
    cs_sliding c;
    found->count = 0;
    if (!cs_sliding_reduce(n, W, q, p->reach[0], &c)) return;
    if (n == 1) {
        found->z[0][0] = -q[0] / W[0];
        found->count = found->z[0][0] >= 0;
        return;
    }

    /* Sticking, and sliding if that is impossible or all modes are wanted. */
    found->count += cs_sliding_stick(&c, found->z[0]);
    if (exhaustive || !found->count) add_sliding(&c, exhaustive, found);
}

/* ---- the second ball ------------------------------------------------------------------------- */

/* The elimination of the last rows e, those of the second ball: z_e = coefficient z_rest + constant. */
typedef struct elimination {
    int rest, count; /* number of remaining and of eliminated rows */
    double coefficient[CS_MAX_ROWS * CS_MAX_ROWS], constant[CS_MAX_ROWS];
    double W[CS_MAX_ROWS * CS_MAX_ROWS], q[CS_MAX_ROWS]; /* the problem of the remaining rows */
} elimination;

/* An elimination with z_e = 0. */
static elimination begin_elimination(const cs_local_problem *p)
{
    elimination e = {.rest = p->first[1], .count = p->rows - p->first[1]};
    return e;
}

/* Computes W and q of the remaining rows. */
static void eliminate(const cs_local_problem *p, elimination *e)
{
    for (int i = 0; i < e->rest; i++) {
        const double *last = p->W + i * p->rows + e->rest;
        e->q[i] = p->q[i];
        for (int k = 0; k < e->count; k++) e->q[i] += last[k] * e->constant[k];
        for (int j = 0; j < e->rest; j++) {
            double sum = p->W[i * p->rows + j];
            for (int k = 0; k < e->count; k++) sum += last[k] * e->coefficient[k * e->rest + j];
            e->W[i * e->rest + j] = sum;
        }
    }
}

/* Eliminates a second ball that slides with v_e = -kappa z_e; it sticks if kappa = 0. */
static elimination eliminate_sliding(const cs_local_problem *p, double kappa)
{
    elimination e = begin_elimination(p);

    /* (W_ee + kappa 1) z_e = -W_er z_rest - q_e, column by column; the last column is q_e. */
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
            *(column < e.rest ? &e.coefficient[i * e.rest + column] : &e.constant[i]) = b[i];
    }
    eliminate(p, &e);
    return e;
}

/* Eliminates a second ball of one row at a bound: z_e = side c z_n. */
static elimination eliminate_at_bound(const cs_local_problem *p, int side)
{
    elimination e = begin_elimination(p);
    e.coefficient[0] = side * p->reach[1];
    eliminate(p, &e);
    return e;
}

/* z <- the impulses of all rows, from those of the remaining rows. */
static void expand(const elimination *e, const double *rest, double *z)
{
    memcpy(z, rest, sizeof(double) * (size_t)e->rest);
    for (int i = 0; i < e->count; i++) {
        z[e->rest + i] = e->constant[i];
        for (int j = 0; j < e->rest; j++)
            z[e->rest + i] += e->coefficient[i * e->rest + j] * rest[j];
    }
}

/* The best point so far. */
typedef struct best {
    const cs_local_problem *p;
    double *z, defect;
} best;

/* Whether that point is a solution. */
static int is_solved(const best *b) { return b->defect <= CS_LOCAL_TOLERANCE; }

/* Compares a candidate with the best point, after Newton's method if the candidate is not exact. */
static void try_candidate(best *b, const double *candidate)
{
    double z[CS_MAX_ROWS];
    memcpy(z, candidate, sizeof(double) * (size_t)b->p->rows);
    double defect = cs_local_defect(b->p, z);
    if (!(defect <= CS_LOCAL_TOLERANCE / 4)) defect = cs_local_newton(b->p, z);
    if (!(defect < b->defect)) return;
    b->defect = defect;
    memcpy(b->z, z, sizeof(double) * (size_t)b->p->rows);
}

/* Tries all solutions of the remaining rows. */
static void try_rest(best *b, const elimination *e, int exhaustive)
{
    candidates found;
    double z[CS_MAX_ROWS];
    first_ball(b->p, e->W, e->q, exhaustive, &found);
    for (int i = 0; i < found.count && !is_solved(b); i++) {
        expand(e, found.z[i], z);
        try_candidate(b, z);
    }
}

/* excess <- |z_e| minus its bound if the second ball slides with kappa; z (m) <- the impulses. Returns 0 if the
 * remaining rows have no solution. */
static int second_ball_excess(const cs_local_problem *p, double kappa, double *z, double *excess)
{
    elimination e = eliminate_sliding(p, kappa);
    candidates found;
    first_ball(p, e.W, e.q, 0, &found);
    if (!found.count) return 0;
    expand(&e, found.z[0], z);
    *excess = length_of(e.count, z + e.rest) - p->reach[1] * z[0];
    return isfinite(*excess);
}

/* Bisects kappa of the second ball between two values at which its excess has different signs. */
static void bisect_second_sliding(best *b, double low, double high, double at_low)
{
    double z[CS_MAX_ROWS], excess;
    for (int i = 0; i < BISECTIONS && !is_solved(b); i++) {
        double middle = sqrt(low * high);
        if (!second_ball_excess(b->p, middle, z, &excess)) return;
        if (excess * at_low > 0) low = middle;
        else high = middle;
        if (i % 8 == 7) try_candidate(b, z);
    }
}

/* Searches kappa of a sliding second ball over all scales: two values per decade, 18 decades. */
static void try_second_sliding(best *b)
{
    const cs_local_problem *p = b->p;
    double z[CS_MAX_ROWS], size = 0, before = 0, excess = 0;
    for (int i = p->first[1]; i < p->rows; i++) size = fmax(size, p->W[i * p->rows + i]);
    double kappa = 1e-12 * size;
    for (int i = 0, known = 0; i < 2 * 18 && !is_solved(b); i++, kappa *= sqrt(10)) {
        int here = second_ball_excess(p, kappa, z, &excess);
        if (here && known && before * excess <= 0)
            bisect_second_sliding(b, kappa / sqrt(10), kappa, before);
        known = here;
        before = excess;
    }
}

/* Tries the modes of all balls. `exhaustive`: with all sliding contacts. */
static void try_modes(best *b, int exhaustive)
{
    const cs_local_problem *p = b->p;
    candidates found;
    if (p->balls < 2) {
        first_ball(p, p->W, p->q, exhaustive, &found);
        for (int i = 0; i < found.count && !is_solved(b); i++) try_candidate(b, found.z[i]);
        return;
    }

    /* Two balls: the second one sticks, is at a bound, or slides. */
    elimination e = eliminate_sliding(p, 0);
    try_rest(b, &e, exhaustive);
    for (int side = -1; side <= 1 && e.count == 1 && !is_solved(b); side += 2) {
        elimination end = eliminate_at_bound(p, side);
        try_rest(b, &end, exhaustive);
    }
    if (e.count > 1 && exhaustive && !is_solved(b)) try_second_sliding(b);
}

double cs_local_modes(const cs_local_problem *p, double *z)
{
    best b = {.p = p, .z = z, .defect = INFINITY};
    for (int exhaustive = 0; exhaustive < 2 && !is_solved(&b); exhaustive++)
        try_modes(&b, exhaustive);
    return b.defect;
}

/* ---- cones ----------------------------------------------------------------------------------- */

/* On the boundary of the cone v = -kappa (-mu^2 z_n, z_t), so that (W + kappa C) z = -q with C = diag(-mu^2, 1, 1).
 * z <- the solution; returns |z_t| - mu z_n. */
static double cone_excess(const cs_local_problem *p, double kappa, double *z)
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

double cs_local_cone_boundary(const cs_local_problem *p, double *z)
{
    /* Eight values of kappa per decade, over 32 decades, relative to the trace of W. */
    best b = {.p = p, .z = z, .defect = INFINITY};
    double size = 0, before = 0, x[CS_MAX_ROWS];
    for (int i = 0; i < p->rows; i++) size += p->W[i * (p->rows + 1)];
    double kappa = 1e-16 * size / (1 + p->reach[0] * p->reach[0]);
    for (int i = 0; i < 8 * 32 && !is_solved(&b); i++) {
        double next = kappa * pow(10, 0.125), excess = cone_excess(p, next, x);
        double low = kappa, high = next;

        /* A sign change: bisect, and try the result. */
        if (i > 0 && before * excess <= 0) {
            for (int n = 0; n < BISECTIONS; n++) {
                double middle = (low + high) / 2;
                if (cone_excess(p, middle, x) * before > 0) low = middle;
                else high = middle;
            }
            try_candidate(&b, x);
        }
        kappa = next;
        before = excess;
    }
    return b.defect;
}

/* ---- friction bounds that do not follow the normal impulse ------------------------------------ */

/* Solves rows first ... end - 1 of z in a ball of that radius, with all other rows fixed. As a contact with
 * W_nn = 1 and q_n = -1, whose normal impulse is 1, it sticks or slides like any other. */
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

double cs_local_fixed_bounds(const cs_local_problem *p, double *z)
{
    best b = {.p = p, .z = z, .defect = INFINITY};
    double x[CS_MAX_ROWS] = {0};
    for (int n = 1; n <= SET_SWEEPS && !is_solved(&b); n++) {
        /* The normal impulse, then one ball after another. */
        double v = p->q[0];
        for (int j = 1; j < p->rows; j++) v += p->W[j] * x[j];
        x[0] = v < 0 ? -v / p->W[0] : 0;
        for (int i = 0; i < p->balls; i++)
            solve_ball(p, p->first[i], p->first[i + 1], p->reach[i] * p->normal, x);

        /* Try Newton's method after 1, 2, 4, ... sweeps. */
        if ((n & (n - 1)) == 0) try_candidate(&b, x);
    }
    return b.defect;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

enum { PIVOTS = 4096 };

/* z <- the impulses if each row is at its lower bound (state -1), at its upper bound (1), or has v = 0 (0). */
static void solve_free_rows(const cs_local_problem *p, const int *state, double *z)
{
    int rows = p->rows, free[CS_MAX_ROWS], count = 0;
    double a[CS_MAX_ROWS * CS_MAX_ROWS], b[CS_MAX_ROWS];
    /* Rows at bounds. */
    for (int i = 0; i < rows; i++) {
        if (state[i]) z[i] = state[i] < 0 ? p->low[i] : p->high[i];
        else free[count++] = i;
    }

    /* Free rows: solve W_ff z_f = -q_f - W_fb z_b. */
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

/* Murty's rule: changes the state of the first row that violates its conditions. Returns whether there is one. */
static int pivot(const cs_local_problem *p, const double *z, int *state)
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

double cs_local_murty(const cs_local_problem *p, double *z)
{
    int state[CS_MAX_ROWS];
    for (int i = 0; i < p->rows; i++)
        state[i] = isfinite(p->low[i]) ? -1 : (isfinite(p->high[i]) ? 1 : 0);
    double defect = INFINITY;
    for (int n = 0; n < PIVOTS && defect > CS_LOCAL_TOLERANCE; n++) {
        solve_free_rows(p, state, z);
        defect = cs_local_defect(p, z);
        if (defect > CS_LOCAL_TOLERANCE && !pivot(p, z, state)) break;
    }
    return defect;
}
