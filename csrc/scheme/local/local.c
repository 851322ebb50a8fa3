#include "scheme/local/local.h"

#include "prox/prox.h"
#include "scheme/local/sliding.h"

#include <math.h>
#include <string.h>

int cs_local_fits(const cs_set *set, int rows, cs_local_method method)
{
    switch ((cs_set_kind)set->kind) {
    case CS_SET_half_line: return 1;
    case CS_SET_disc:
    case CS_SET_ellipse: return 1;
    case CS_SET_box_friction: return method != CS_LOCAL_QUARTIC || rows == 2;
    case CS_SET_box:
    case CS_SET_rolling:
    case CS_SET_contensou:
    case CS_SET_contensou_coupled:
    case CS_SET_tresca:
    case CS_SET_second_order_cone: return method != CS_LOCAL_QUARTIC;
    default: return 0;
    }
}

/* ---- the set as a local problem -------------------------------------------------------------- */

/* The impulses of the set are D z, D (m, rows of the problem), z those of the problem. */
typedef struct change {
    int plain; /* D = 1 */
    double D[CS_MAX_ROWS * CS_MAX_ROWS];
} change;

/* Another unknown along `axis` (m), of the ball that is being added, or the normal impulse. */
static void add_axis(cs_local_problem *p, change *c, int m, const double *axis)
{
    for (int i = 0; i < m; i++) c->D[i * CS_MAX_ROWS + p->rows] = axis[i];
    p->set_of[p->rows] = p->rows > 0 ? 1 + p->balls : 0;
    p->rows++;
}

/* Rows first ... first + count - 1 of the set as a ball; without a radius they are none. */
static void add_ball(cs_local_problem *p, change *c, int m, int first, int count, double reach)
{
    if (!(reach * (p->fixed ? p->normal : 1) > 0)) {
        c->plain = 0;
        return;
    }
    for (int i = first; i < first + count; i++) {
        double axis[CS_MAX_ROWS] = {0};
        axis[i] = 1;
        add_axis(p, c, m, axis);
    }
    p->reach[p->balls++] = reach;
    p->first[p->balls] = p->rows;
}

/* An ellipsoid of those semi-axes along the columns of `axes` (m, count): a ball of radius z_n. */
static void add_ellipsoid(cs_local_problem *p, change *c, int m, int count, const double *semi,
                          const double axes[][CS_MAX_ROWS])
{
    c->plain = 0;
    int before = p->rows;
    for (int i = 0; i < count; i++) {
        double axis[CS_MAX_ROWS];
        if (!(semi[i] * (p->fixed ? p->normal : 1) > 0)) continue;
        for (int j = 0; j < m; j++) axis[j] = semi[i] * axes[i][j];
        add_axis(p, c, m, axis);
    }
    if (p->rows == before) return;
    p->reach[p->balls++] = 1;
    p->first[p->balls] = p->rows;
}

static void describe_friction(cs_set_kind kind, int m, const double *parameters,
                              cs_local_problem *p, change *c)
{
    double mu = parameters[0], normal[CS_MAX_ROWS] = {1};
    add_axis(p, c, m, normal);
    if (kind == CS_SET_half_line) c->plain = m == 1;
    else if (kind == CS_SET_disc) add_ball(p, c, m, 1, m - 1, mu);
    else if (kind == CS_SET_box_friction)
        for (int i = 1; i < m; i++) add_ball(p, c, m, i, 1, mu);
    else if (kind == CS_SET_rolling)
        for (int i = 0; i < 2; i++) add_ball(p, c, m, 1 + 2 * i, 2, parameters[i]);
    else if (kind == CS_SET_contensou) {
        add_ball(p, c, m, 1, 2, mu);
        add_ball(p, c, m, 3, 1, mu * parameters[1] * (2.0 / 3));
    } else if (kind == CS_SET_tresca) {
        add_ball(p, c, m, 1, m < 3 ? 1 : 2, parameters[0]);
        if (m > 3) add_ball(p, c, m, 3, m - 3, parameters[1]);
    } else if (kind == CS_SET_ellipse) {
        double x = cos(parameters[2]), y = sin(parameters[2]);
        const double axes[2][CS_MAX_ROWS] = {{0, x, y}, {0, -y, x}};
        add_ellipsoid(p, c, m, 2, parameters, axes);
    } else {
        double semi[3] = {mu, mu, mu * parameters[1] * (2.0 / 3)};
        const double axes[3][CS_MAX_ROWS] = {{0, 1}, {0, 0, 1}, {0, 0, 0, 1}};
        add_ellipsoid(p, c, m, 3, semi, axes);
    }
}

/* W <- D^T W D, q <- D^T q */
static void put_matrix(const change *c, int m, const double *W, const double *q,
                       cs_local_problem *p)
{
    int rows = p->rows;
    if (c->plain) {
        memcpy(p->W, W, sizeof(double) * (size_t)(m * m));
        memcpy(p->q, q, sizeof(double) * (size_t)m);
        return;
    }
    for (int i = 0; i < rows; i++) {
        p->q[i] = 0;
        for (int k = 0; k < m; k++) p->q[i] += c->D[k * CS_MAX_ROWS + i] * q[k];
        for (int j = 0; j < rows; j++) {
            double sum = 0;
            for (int k = 0; k < m; k++)
                for (int l = 0; l < m; l++)
                    sum += c->D[k * CS_MAX_ROWS + i] * W[k * m + l] * c->D[l * CS_MAX_ROWS + j];
            p->W[i * rows + j] = sum;
        }
    }
}

/* r of each coupled set, 1 over the trace of its part of W. Returns whether all are positive. */
static int put_factors(cs_local_problem *p)
{
    double trace[CS_MAX_ROWS] = {0};
    for (int i = 0; i < p->rows; i++) trace[p->set_of[i]] += p->W[i * (p->rows + 1)];
    for (int i = 0; i < p->rows; i++) {
        p->r[i] = 1 / trace[p->set_of[i]];
        if (!(p->r[i] > 0 && isfinite(p->r[i]) && isfinite(p->q[i]))) return 0;
    }
    return 1;
}

static int describe(const cs_set *set, int m, const double *W, const double *q,
                    const double *parameters, int previous, double normal, cs_local_problem *p,
                    change *c)
{
    cs_set_kind kind = (cs_set_kind)set->kind;
    c->plain = 1;
    p->rows = p->balls = 0;
    p->first[0] = p->first[1] = p->first[2] = 1;
    for (int i = 0; i < m; i++) p->set_of[i] = kind == CS_SET_box ? i : 0;
    p->shape = CS_LOCAL_BALLS;
    p->fixed = (previous && kind != CS_SET_half_line) || kind == CS_SET_tresca;
    p->normal = kind == CS_SET_tresca ? 1 : normal > 0 ? normal : 0;
    if (kind == CS_SET_box) {
        p->shape = CS_LOCAL_BOX;
        p->rows = m;
        memcpy(p->low, parameters, sizeof(double) * (size_t)m);
        memcpy(p->high, parameters + m, sizeof(double) * (size_t)m);
    } else if (kind == CS_SET_second_order_cone) {
        p->shape = CS_LOCAL_CONE;
        p->rows = m;
        p->reach[0] = parameters[0];
    } else describe_friction(kind, m, parameters, p, c);
    put_matrix(c, m, W, q, p);
    return put_factors(p);
}

/* x <- the unknowns of impulses z (m), whose axes are orthogonal. */
static void put_start(const change *c, int m, const double *z, int rows, double *x)
{
    for (int i = 0; i < rows; i++) {
        double square = 0;
        if (c->plain) x[i] = z[i];
        if (c->plain) continue;
        x[i] = 0;
        for (int k = 0; k < m; k++) {
            x[i] += c->D[k * CS_MAX_ROWS + i] * z[k];
            square += c->D[k * CS_MAX_ROWS + i] * c->D[k * CS_MAX_ROWS + i];
        }
        x[i] /= square;
    }
}

static void get_impulses(const change *c, int m, int rows, const double *x, double *z)
{
    for (int k = 0; k < m; k++) {
        z[k] = c->plain ? x[k] : 0;
        for (int i = 0; i < rows && !c->plain; i++) z[k] += c->D[k * CS_MAX_ROWS + i] * x[i];
    }
}

/* ---- the ways -------------------------------------------------------------------------------- */

/* Newton's from here, and from where nothing but the normal impulse acts. */
static double from_two_starts(const cs_local_problem *p, double *x)
{
    double other[CS_MAX_ROWS] = {0}, defect = cs_local_newton(p, x);
    if (defect <= CS_LOCAL_TOLERANCE) return defect;
    if (p->shape != CS_LOCAL_BOX && p->q[0] < 0) other[0] = -p->q[0] / p->W[0];
    double there = cs_local_newton(p, other);
    if (!(there < defect)) return defect;
    memcpy(x, other, sizeof(double) * (size_t)p->rows);
    return there;
}

static double newton_first(const cs_local_problem *p, double *x)
{
    double other[CS_MAX_ROWS] = {0}, defect = from_two_starts(p, x), there = INFINITY;
    if (defect <= CS_LOCAL_TOLERANCE) return defect;
    if (p->shape == CS_LOCAL_BOX) there = cs_local_pivots(p, other);
    else if (p->shape == CS_LOCAL_CONE) there = cs_local_boundary(p, other);
    else there = p->fixed ? cs_local_by_sets(p, other) : cs_local_modes(p, other);
    if (!(there < defect)) return defect;
    memcpy(x, other, sizeof(double) * (size_t)p->rows);
    return there;
}

/* kappa as the impulses before the visit have it: v_t = -kappa z_t. */
static double guess_of(const cs_local_problem *p, const double *x)
{
    double product = 0, square = 0;
    for (int i = 1; i < p->rows; i++) {
        double v = p->q[i];
        for (int j = 0; j < p->rows; j++) v += p->W[i * p->rows + j] * x[j];
        product -= v * x[i];
        square += x[i] * x[i];
    }
    return square > 0 ? product / square : 0;
}

/* One ball of friction by one root. Returns the defect. */
static double by_root(const cs_local_problem *p, double *x)
{
    cs_sliding c;
    double z[4];
    if (!cs_sliding_reduce(p->rows, p->W, p->q, p->reach[0], &c)) return INFINITY;
    if (!cs_sliding_stick(&c, z) && !cs_sliding_root(&c, guess_of(p, x), z)) return INFINITY;
    double defect = cs_local_defect(p, z);
    if (defect <= CS_LOCAL_TOLERANCE) memcpy(x, z, sizeof(double) * (size_t)p->rows);
    return defect;
}

/* One ball of friction of two rows by the quartic: the first root that is a solution. */
static double by_quartic(const cs_local_problem *p, double *x)
{
    cs_sliding c;
    double z[CS_SLIDING_MOST][4], defect = INFINITY;
    if (!cs_sliding_reduce(p->rows, p->W, p->q, p->reach[0], &c)) return INFINITY;
    int count = cs_sliding_stick(&c, z[0]);
    if (!count) count = cs_sliding_quartic(&c, z);
    for (int i = 0; i < count && !(defect <= CS_LOCAL_TOLERANCE); i++) {
        defect = cs_local_defect(p, z[i]);
        if (defect <= CS_LOCAL_TOLERANCE) memcpy(x, z[i], sizeof(double) * (size_t)p->rows);
    }
    return defect;
}

static double solve_in_balls(const cs_local_problem *p, cs_local_method method, double *x)
{
    if (p->fixed) return newton_first(p, x);
    if (p->q[0] >= 0) {
        memset(x, 0, sizeof(double) * (size_t)p->rows);
        return 0;
    }
    if (p->balls == 0) {
        x[0] = -p->q[0] / p->W[0];
        return 0;
    }
    if (method == CS_LOCAL_NEWTON) return newton_first(p, x);
    if (p->rows == 3 && p->balls == 1) {
        double defect = method == CS_LOCAL_BEST ? by_root(p, x) : by_quartic(p, x);
        if (defect <= CS_LOCAL_TOLERANCE) return defect;
    }
    if (method == CS_LOCAL_QUARTIC || p->rows == 2) {
        double other[CS_MAX_ROWS] = {0}, defect = cs_local_modes(p, other);
        if (defect <= CS_LOCAL_TOLERANCE) memcpy(x, other, sizeof(double) * (size_t)p->rows);
        if (defect <= CS_LOCAL_TOLERANCE) return defect;
    }
    return newton_first(p, x);
}

int cs_local_solve(const cs_set *set, int rows, cs_local_method method, const double *W,
                   const double *q, const double *parameters, int previous, double *z)
{
    cs_local_problem p;
    change c;
    double x[CS_MAX_ROWS], before = z[0];
    if (!describe(set, rows, W, q, parameters, previous, z[0], &p, &c)) return 0;
    put_start(&c, rows, z, p.rows, x);
    double defect = p.shape == CS_LOCAL_BALLS ? solve_in_balls(&p, method, x) : newton_first(&p, x);
    if (!(defect < 1)) return 0;
    get_impulses(&c, rows, p.rows, x, z);
    if (!c.plain) set->prox_f64(rows, z, parameters, previous ? &before : NULL);
    return defect <= CS_LOCAL_TOLERANCE;
}
