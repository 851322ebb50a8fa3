#include "methods/newton/fischer_burmeister.h"

#include "problem/friction.h"

#include <math.h>
#include <string.h>

/* Divisions by eigenvalues of the root use at least this fraction of its largest one. On the boundary of
 * the cone the generalised Jacobian is then the limit of that of the smoothed function. */
#define LEAST_ROOT 1e-10

int cs_fischer_burmeister_is_known(const cs_block_group *group)
{
    const cs_set *set = group->set;
    int plain = set->bilateral || set->bounds || cs_has_no_friction(group);
    return plain || cs_has_discs(group) || cs_has_intervals(group) || cs_has_cones(group);
}

/* ---- one row --------------------------------------------------------------------------------- */

/* phi(a, b) and its derivatives. If a is infinite, phi(a, b) = b. */
typedef struct scalar {
    double value, by_a, by_b;
} scalar;

/* Evaluates phi. At a = b = 0 the derivatives are one element of the generalised Jacobian. */
static scalar scalar_of(double a, double b)
{
    if (isinf(a)) return (scalar){b, 0, 1};
    double length = hypot(a, b);
    const double kink = 1 - sqrt(0.5);
    if (length == 0) return (scalar){0, kink, kink};
    /* a + b - length, without cancellation if both are positive. */
    double value = a > 0 && b > 0 ? 2 * a * (b / (a + b + length)) : a + b - length;
    return (scalar){value, 1 - a / length, 1 - b / length};
}

/* phi of one row with bounds [low, high], and its derivatives with respect to the impulse, to the force r
 * v, and to the bounds. */
typedef struct bounded {
    double value, by_impulse, by_force, by_low, by_high;
} bounded;

/* Evaluates phi(impulse - low, -phi(high - impulse, -force)), with derivatives by the chain rule. If the
 * bounds are equal, it is impulse - low. */
static bounded bounded_of(double impulse, double force, double low, double high)
{
    if (low == high) return (bounded){impulse - low, 1, 0, -1, 0};
    scalar upper = scalar_of(high - impulse, -force),
           lower = scalar_of(impulse - low, -upper.value);
    return (bounded){
        .value = lower.value,
        .by_impulse = lower.by_a + lower.by_b * upper.by_a,
        .by_force = lower.by_b * upper.by_b,
        .by_low = -lower.by_a,
        .by_high = -lower.by_b * upper.by_a,
    };
}

/* Writes row i of a block: phi and the diagonal entries of the Jacobian. */
static void take_row(int rows, int i, const bounded *row, double r, double *phi, double *by_impulse,
                     double *by_velocity)
{
    phi[i] = row->value;
    by_impulse[i * rows + i] = row->by_impulse;
    by_velocity[i * rows + i] = row->by_force * r;
}

/* ---- the cone -------------------------------------------------------------------------------- */

/* The root (x^2 + y^2)^(1/2) in the Jordan algebra: its eigenvalues `low` and `high`, whose eigenvectors
 * are (1, -axis) / 2 and (1, axis) / 2. */
typedef struct root {
    double low, high;
    double axis[CS_MAX_ROWS]; /* unit vector in entries 1, 2, ... */
} root;

/* The inner product without entry 0. */
static double dot(int rows, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 1; i < rows; i++) sum += x[i] * y[i];
    return sum;
}

/* The product of the eigenvalues of x^2 + y^2, written as a sum of squares to avoid cancellation. */
static double determinant(int rows, const double *x, const double *y)
{
    double length_x = sqrt(dot(rows, x, x)), length_y = sqrt(dot(rows, y, y));
    double of_x = (x[0] - length_x) * (x[0] + length_x);
    double of_y = (y[0] - length_y) * (y[0] + length_y);
    double mixed = x[0] * y[0] - dot(rows, x, y), sum = mixed * mixed;
    for (int i = 1; i < rows; i++) {
        double cross = x[0] * y[i] - y[0] * x[i];
        sum += cross * cross;
    }
    if (rows == 3) {
        double area = x[1] * y[2] - x[2] * y[1];
        sum += area * area;
    }
    return of_x * of_x + of_y * of_y + 2 * sum;
}

/* The root of x^2 + y^2. */
static root root_of(int rows, const double *x, const double *y)
{
    root w = {0};

    /* x^2 + y^2 = (size, w.axis), with eigenvalues size -+ length. */
    double size = x[0] * x[0] + y[0] * y[0] + dot(rows, x, x) + dot(rows, y, y), length = 0;
    for (int i = 1; i < rows; i++) {
        w.axis[i] = 2 * (x[0] * x[i] + y[0] * y[i]);
        length += w.axis[i] * w.axis[i];
    }
    length = sqrt(length);
    for (int i = 1; i < rows; i++) w.axis[i] = length > 0 ? w.axis[i] / length : i == 1;

    /* The small eigenvalue follows from the product of both, without cancellation. */
    w.high = sqrt(size + length);
    w.low = w.high > 0 ? fmin(w.high, sqrt(determinant(rows, x, y)) / w.high) : 0;
    return w;
}

/* u <- L_w^-1 u, the inverse of the Jordan product with w. */
static void divide_by(int rows, const root *w, double *u)
{
    /* Its eigenvalues are w.high, w.low, and their mean across the axis. */
    double along = dot(rows, w->axis, u), least = LEAST_ROOT * w->high;
    double plus = (u[0] + along) / 2 / w->high, minus = (u[0] - along) / 2 / fmax(w->low, least);
    double middle = (w->high + w->low) / 2;
    u[0] = plus + minus;
    for (int i = 1; i < rows; i++)
        u[i] = (plus - minus) * w->axis[i] + (u[i] - along * w->axis[i]) / middle;
}

/* derivative (m, m) <- (I - L_w^-1 L_x) inner: the derivative of phi through x, where inner is the
 * derivative of x. If w = 0, it is inner itself. */
static void derive(int rows, const root *w, const double *x, const double *inner,
                   double *derivative)
{
    for (int c = 0; c < rows; c++) {
        double u[CS_MAX_ROWS], column[CS_MAX_ROWS];
        for (int i = 0; i < rows; i++) column[i] = inner[i * rows + c];

        /* u = L_w^-1 L_x column. */
        u[0] = x[0] * column[0] + dot(rows, x, column);
        for (int i = 1; i < rows; i++) u[i] = x[0] * column[i] + x[i] * column[0];
        if (w->high > 0) divide_by(rows, w, u);
        for (int i = 0; i < rows; i++)
            derivative[i * rows + c] = column[i] - (w->high > 0 ? u[i] : 0);
    }
}

/* phi of a cone, or of a disc with its shift, and its derivatives. */
static void on_cone(int rows, double mu, int shifted, double r, const double *impulse,
                    const double *velocity, double *phi, double *by_impulse, double *by_velocity)
{
    double x[CS_MAX_ROWS], y[CS_MAX_ROWS], length = 0;
    double from_impulse[CS_MAX_ROWS * CS_MAX_ROWS] = {0},
                                      from_velocity[CS_MAX_ROWS * CS_MAX_ROWS] = {0};

    /* x and y, and their derivatives; |v_t| is not differentiable at 0, where 0 is an element of its
     * generalised derivative. */
    for (int i = 1; i < rows; i++) length += velocity[i] * velocity[i];
    length = sqrt(length);
    x[0] = mu * impulse[0];
    y[0] = r * (velocity[0] + (shifted ? mu * length : 0));
    from_impulse[0] = mu;
    from_velocity[0] = r;
    for (int i = 1; i < rows; i++) {
        x[i] = impulse[i];
        y[i] = r * mu * velocity[i];
        from_impulse[i * rows + i] = 1;
        from_velocity[i * rows + i] = r * mu;
        if (shifted && length > 0) from_velocity[i] = r * mu * velocity[i] / length;
    }

    /* phi = x + y - w. */
    root w = root_of(rows, x, y);
    phi[0] = x[0] + y[0] - (w.high + w.low) / 2;
    for (int i = 1; i < rows; i++) phi[i] = x[i] + y[i] - (w.high - w.low) / 2 * w.axis[i];
    derive(rows, &w, x, from_impulse, by_impulse);
    derive(rows, &w, y, from_velocity, by_velocity);
}

/* ---- any block ------------------------------------------------------------------------------- */

/* A frictionless contact: the normal row has impulses >= 0; the others have none. */
static void on_half_line(int rows, double r, const double *impulse, const double *velocity,
                         double *phi, double *by_impulse, double *by_velocity)
{
    bounded row = bounded_of(impulse[0], r * velocity[0], 0, INFINITY);
    take_row(rows, 0, &row, r, phi, by_impulse, by_velocity);
    for (int i = 1; i < rows; i++) {
        phi[i] = impulse[i];
        by_impulse[i * rows + i] = 1;
    }
}

/* Friction with an interval -+ mu lambda_n for each tangent. */
static void with_box_friction(int rows, double mu, const double *r, const double *impulse,
                              const double *velocity, double *phi, double *by_impulse,
                              double *by_velocity)
{
    on_half_line(rows, r[0], impulse, velocity, phi, by_impulse, by_velocity);
    double bound = mu * fmax(0, impulse[0]);
    for (int i = 1; i < rows; i++) {
        bounded row = bounded_of(impulse[i], r[i] * velocity[i], -bound, bound);
        take_row(rows, i, &row, r[i], phi, by_impulse, by_velocity);
        if (bound > 0) by_impulse[i * rows] = mu * (row.by_high - row.by_low);
    }
}

void cs_fischer_burmeister(const cs_block_group *group, const double *parameters, const double *r,
                           const double *impulse, const double *velocity, double *phi,
                           double *by_impulse, double *by_velocity)
{
    int rows = group->rows, free = group->set->bilateral;
    int disc = cs_has_discs(group), conical = disc || cs_has_cones(group);
    memset(by_impulse, 0, sizeof(double) * (size_t)(rows * rows));
    memset(by_velocity, 0, sizeof(double) * (size_t)(rows * rows));

    /* Rows with bounds of their own; friction by intervals; cones; and contacts without friction. */
    if (free || group->set->bounds) {
        for (int i = 0; i < rows; i++) {
            bounded row =
                bounded_of(impulse[i], r[i] * velocity[i], free ? -INFINITY : parameters[i],
                           free ? INFINITY : parameters[rows + i]);
            take_row(rows, i, &row, r[i], phi, by_impulse, by_velocity);
        }
    } else if (!disc && cs_has_intervals(group)) {
        with_box_friction(rows, parameters[0], r, impulse, velocity, phi, by_impulse, by_velocity);
    } else if (conical && parameters[0] > 0) {
        on_cone(rows, parameters[0], disc, r[0], impulse, velocity, phi, by_impulse, by_velocity);
    } else {
        on_half_line(rows, r[0], impulse, velocity, phi, by_impulse, by_velocity);
    }
}
