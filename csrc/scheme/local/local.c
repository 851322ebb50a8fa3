#include "scheme/local/local.h"

#include "prox/prox.h"
#include "scheme/local/sliding.h"

#include <math.h>
#include <string.h>

/* local <- the description of a set that has one. What it does not set is not read, so that nothing else is cleared: each
 * visit of a block describes its set. */
static void describe_set(const cs_set *set, int rows, const double *parameters, cs_local_set *local)
{
    local->shape = CS_LOCAL_BALLS;
    local->absolute = local->parts = 0;
    set->describe_local(rows, parameters, local);
}

int cs_local_fits(const cs_set *set, int rows, cs_local_method method)
{
    cs_local_set local;
    double parameters[2 * CS_MAX_ROWS] = {0};
    if (!set->describe_local) return 0;
    if (method != CS_LOCAL_QUARTIC) return 1;

    /* The polynomial is that of one ball or ellipse in the plane, whose size follows the normal impulse. */
    describe_set(set, rows, parameters, &local);
    const cs_friction_part *only = &local.part[0];
    if (local.shape != CS_LOCAL_BALLS || local.absolute || local.parts > 1) return 0;
    return local.parts == 0 || (only->axes ? only->axes : only->rows) <= 2;
}

/* ---- the set as a local problem -------------------------------------------------------------- */

/* The unknowns x of the local problem: the impulses of the block are z = D x, with D (m, rows of the problem). Rows
 * that cannot have an impulse have no unknown. */
typedef struct coordinates {
    int plain; /* D = 1 */
    double D[CS_MAX_ROWS * CS_MAX_ROWS];
} coordinates;

/* Adds an unknown along `axis` (m): the normal impulse if it is the first one, otherwise one of the next ball. */
static void add_axis(cs_local_problem *p, coordinates *c, int m, const double *axis)
{
    for (int i = 0; i < m; i++) c->D[i * CS_MAX_ROWS + p->rows] = axis[i];
    p->set_of[p->rows] = p->rows > 0 ? 1 + p->balls : 0;
    p->rows++;
}

/* Adds a ball of rows first ... first + count - 1. If its radius is zero, these rows have no unknowns. */
static void add_ball(cs_local_problem *p, coordinates *c, int m, int first, int count, double reach)
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

/* Adds an ellipsoid with semi-axes `semi` along the rows of `axes` (count, m). Scaled to unit axes, it is a ball of
 * radius z_n. */
static void add_ellipsoid(cs_local_problem *p, coordinates *c, int m, int count, const double *semi,
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

/* Balls over all rows behind the normal, one after another and none of them empty: the unknowns are the impulses, and D
 * is not written. Returns 0 if the set is another one. */
static int describe_plain(const cs_local_set *local, int m, cs_local_problem *p)
{
    int row = 1;
    for (int i = 0; i < local->parts; i++) {
        const cs_friction_part *part = &local->part[i];
        if (part->axes || part->first != row) return 0;
        if (!(part->radius * (p->fixed ? p->normal : 1) > 0)) return 0;
        for (int k = 0; k < part->rows; k++) p->set_of[row++] = 1 + i;
        p->reach[i] = part->radius;
        p->first[i + 1] = row;
    }
    p->balls = local->parts;
    p->rows = row;
    return row == m;
}

/* Adds the normal impulse and the parts of friction. Rows that no part bounds have no unknowns. */
static void describe_friction(const cs_local_set *local, int m, cs_local_problem *p, coordinates *c)
{
    const double normal[CS_MAX_ROWS] = {1};
    if (describe_plain(local, m, p)) return;

    /* Coordinates D. */
    p->rows = p->balls = 0;
    add_axis(p, c, m, normal);
    for (int i = 0; i < local->parts; i++) {
        const cs_friction_part *part = &local->part[i];
        if (part->axes) add_ellipsoid(p, c, m, part->axes, part->semi, part->axis);
        else add_ball(p, c, m, part->first, part->rows, part->radius);
    }
    if (p->rows < m) c->plain = 0;
}

/* p->W <- D^T W D, p->q <- D^T q */
static void transform_matrix(const coordinates *c, int m, const double *W, const double *q,
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

/* p->r <- 1 / the trace of W over each coupled set. Returns whether all values are positive and finite. */
static int set_factors(cs_local_problem *p)
{
    double trace[CS_MAX_ROWS] = {0};
    for (int i = 0; i < p->rows; i++) trace[p->set_of[i]] += p->W[i * (p->rows + 1)];
    for (int i = 0; i < p->rows; i++) {
        p->r[i] = 1 / trace[p->set_of[i]];
        if (!(p->r[i] > 0 && isfinite(p->r[i]) && isfinite(p->q[i]))) return 0;
    }
    return 1;
}

/* Describes the local problem of a set, in p and c. Returns 0 if its factors r are not positive and finite. */
static int describe(const cs_set *set, int m, const double *W, const double *q,
                    const double *parameters, int previous, double normal, cs_local_problem *p,
                    coordinates *c)
{
    /* Begin without unknowns, and choose how friction is bounded. */
    cs_local_set local;
    describe_set(set, m, parameters, &local);
    int follows = local.shape != CS_LOCAL_BALLS || local.parts > 0;
    c->plain = 1;
    p->shape = local.shape;
    p->rows = p->balls = 0;
    p->first[0] = p->first[1] = p->first[2] = 1;
    for (int i = 0; i < m; i++) p->set_of[i] = local.shape == CS_LOCAL_BOX ? i : 0;
    p->fixed = (previous && follows) || local.absolute;
    p->normal = local.absolute ? 1 : normal > 0 ? normal : 0;

    /* Describe the shape. */
    if (local.shape == CS_LOCAL_BOX) {
        p->rows = m;
        memcpy(p->low, parameters, sizeof(double) * (size_t)m);
        memcpy(p->high, parameters + m, sizeof(double) * (size_t)m);
    } else if (local.shape == CS_LOCAL_CONE) {
        p->rows = m;
        p->reach[0] = parameters[0];
    } else describe_friction(&local, m, p, c);
    transform_matrix(c, m, W, q, p);
    return set_factors(p);
}

/* x <- the unknowns of impulses z (m): D^T z, divided by the squares of D's orthogonal columns. */
static void to_unknowns(const coordinates *c, int m, const double *z, int rows, double *x)
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

/* z (m) <- D x */
static void to_impulses(const coordinates *c, int m, int rows, const double *x, double *z)
{
    for (int k = 0; k < m; k++) {
        z[k] = c->plain ? x[k] : 0;
        for (int i = 0; i < rows && !c->plain; i++) z[k] += c->D[k * CS_MAX_ROWS + i] * x[i];
    }
}

/* ---- methods --------------------------------------------------------------------------------- */

/* Newton's method from x, and if that fails from the frictionless solution. x <- the better result; returns its
 * defect. */
static double newton_from_two_starts(const cs_local_problem *p, double *x)
{
    double other[CS_MAX_ROWS] = {0}, defect = cs_local_newton(p, x);
    if (defect <= CS_LOCAL_TOLERANCE) return defect;
    if (p->shape != CS_LOCAL_BOX && p->q[0] < 0) other[0] = -p->q[0] / p->W[0];
    double there = cs_local_newton(p, other);
    if (!(there < defect)) return defect;
    memcpy(x, other, sizeof(double) * (size_t)p->rows);
    return there;
}

/* Newton's method, and if that fails the exhaustive method for the shape. x <- the better result; returns its
 * defect. */
static double newton_first(const cs_local_problem *p, double *x)
{
    double other[CS_MAX_ROWS] = {0}, defect = newton_from_two_starts(p, x), there = INFINITY;
    if (defect <= CS_LOCAL_TOLERANCE) return defect;
    if (p->shape == CS_LOCAL_BOX) there = cs_local_murty(p, other);
    else if (p->shape == CS_LOCAL_CONE) there = cs_local_cone_boundary(p, other);
    else there = p->fixed ? cs_local_fixed_bounds(p, other) : cs_local_modes(p, other);
    if (!(there < defect)) return defect;
    memcpy(x, other, sizeof(double) * (size_t)p->rows);
    return there;
}

/* An estimate of kappa from the impulses before the visit, by least squares on v_t = -kappa z_t. */
static double guess_kappa(const cs_local_problem *p, const double *x)
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

/* Solves a contact with one ball of friction: sticking, or sliding by one root. Returns the defect. */
static double solve_by_root(const cs_local_problem *p, double *x)
{
    cs_sliding c;
    double z[4];
    if (!cs_sliding_reduce(p->rows, p->W, p->q, p->reach[0], &c)) return INFINITY;
    if (!cs_sliding_stick(&c, z) && !cs_sliding_root(&c, guess_kappa(p, x), z)) return INFINITY;
    double defect = cs_local_defect(p, z);
    if (defect <= CS_LOCAL_TOLERANCE) memcpy(x, z, sizeof(double) * (size_t)p->rows);
    return defect;
}

/* The same for two tangential rows by the quartic; takes the first root that is a solution. */
static double solve_by_quartic(const cs_local_problem *p, double *x)
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

/* Solves a problem with balls of friction by `method`. Returns the defect. */
static double solve_balls(const cs_local_problem *p, cs_local_method method, double *x)
{
    /* Bounds that do not follow the normal impulse. */
    if (p->fixed) return newton_first(p, x);

    /* Closed forms: an open contact, and one without friction. */
    if (p->q[0] >= 0) {
        memset(x, 0, sizeof(double) * (size_t)p->rows);
        return 0;
    }
    if (p->balls == 0) {
        x[0] = -p->q[0] / p->W[0];
        return 0;
    }

    /* One ball of two rows, by one root or by the quartic. */
    if (method == CS_LOCAL_NEWTON) return newton_first(p, x);
    if (p->rows == 3 && p->balls == 1) {
        double defect = method == CS_LOCAL_BEST ? solve_by_root(p, x) : solve_by_quartic(p, x);
        if (defect <= CS_LOCAL_TOLERANCE) return defect;
    }

    /* All modes, if that is what the method asks for, or if they are linear. */
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
    /* Describe the problem. */
    cs_local_problem p;
    coordinates c;
    double x[CS_MAX_ROWS], before = z[0];
    if (!describe(set, rows, W, q, parameters, previous, z[0], &p, &c)) return 0;
    to_unknowns(&c, rows, z, p.rows, x);

    /* Solve it from the impulses of before the visit. */
    double defect = p.shape == CS_LOCAL_BALLS ? solve_balls(&p, method, x) : newton_first(&p, x);

    /* Return the impulses; the transformation may have moved them out of the set by rounding errors. */
    if (!(defect < 1)) return 0;
    to_impulses(&c, rows, p.rows, x, z);
    if (!c.plain) set->prox_f64(rows, z, parameters, previous ? &before : NULL);
    return defect <= CS_LOCAL_TOLERANCE;
}
