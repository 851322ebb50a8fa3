/* The derivative of nearest points: see cs_slope_in_scaled. */
#include "prox/gjk.inc"

/* The change of the direction to both sides in central differences. */
#define DIFFERENCE 1e-5
/* If the support point moves by more than this part of the size of S meanwhile, it jumps along an edge. */
#define JUMP 1e-3

/* rate <- the derivative of the support point as the direction u turns towards e, by a central difference. */
static void support_rate(gjk_search *q, const double *u, const double *e, double *rate)
{
    int n = q->oracle->n;
    gjk_probe ahead = {{0}, {0}}, back = {{0}, {0}};
    for (int i = 0; i < n; i++) {
        ahead.u[i] = u[i] + DIFFERENCE * e[i];
        back.u[i] = u[i] - DIFFERENCE * e[i];
    }
    gjk_normalise(n, ahead.u);
    gjk_normalise(n, back.u);
    gjk_evaluate(q, &ahead);
    gjk_evaluate(q, &back);
    gjk_subtract(n, ahead.s, back.s, rate);
    for (int i = 0; i < n; i++) rate[i] /= 2 * DIFFERENCE;
}

/* e <- two unit vectors orthogonal to u: e[0] along the component of x orthogonal to u, and e[1] orthogonal to
 * both. */
static void tangent_axes(const double *u, const double *x, double e[2][3])
{
    double part = gjk_dot(3, u, x);
    for (int i = 0; i < 3; i++) e[0][i] = x[i] - part * u[i];
    gjk_normalise(3, e[0]);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        e[1][i] = u[j] * e[0][k] - u[k] * e[0][j];
    }
}

/* Whether that rate is a jump of the support point from one end of an edge to the other. */
static int jumps(const gjk_search *q, double rate) { return rate * DIFFERENCE > JUMP * q->size; }

/* w <- the eigenvalues of W, e <- their directions, at an edge or a face, where the support point moves by `jump`.
 * e[0] is the direction of the edge. It is estimated twice, because its error appears as a false movement of the
 * support point along the edge: the second estimate is accurate to the square of a difference. */
static void curvature_at_edge(gjk_search *q, const double *u, const double *jump, double e[2][3],
                              double *w)
{
    double rate[3];
    tangent_axes(u, jump, e);
    support_rate(q, u, e[0], rate);
    tangent_axes(u, rate, e);
    for (int i = 0; i < 2; i++) {
        support_rate(q, u, e[i], rate);
        w[i] = gjk_dot(3, e[i], rate);
    }
}

/* The same for any point of the surface of S. */
static void curvature_in_space(gjk_search *q, const double *u, double e[2][3], double *w)
{
    /* W in any two directions orthogonal to u. If the support point jumps, S has an edge here. */
    double rate[2][3], first[2][3];
    gjk_across(u, first);
    for (int i = 0; i < 2; i++) support_rate(q, u, first[i], rate[i]);
    int longest = gjk_norm(3, rate[1]) > gjk_norm(3, rate[0]);
    if (jumps(q, gjk_norm(3, rate[longest]))) {
        curvature_at_edge(q, u, rate[longest], e, w);
        return;
    }

    /* In these directions W = (a b; b c) is symmetric: compute its eigenvalues and eigenvectors. */
    double a = gjk_dot(3, first[0], rate[0]), c = gjk_dot(3, first[1], rate[1]);
    double b = (gjk_dot(3, first[0], rate[1]) + gjk_dot(3, first[1], rate[0])) / 2;
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
    /* A point inside is its own nearest point. */
    int n = oracle->n, inside = scale > 0 && gjk_equal(n, z, x);
    gjk_search q = {.oracle = oracle};
    double u[3] = {0}, e[2][3] = {{0}}, w[2] = {0}, rate[3];
    for (int i = 0; i < n * n; i++) G[i] = inside && i % (n + 1) == 0;
    gjk_subtract(n, z, x, u);
    double distance = gjk_normalise(n, u) / scale;
    if (inside || !(scale > 0) || !isfinite(distance)) return;

    /* Eigenvalues and directions of W. */
    if (n == 3) {
        curvature_in_space(&q, u, e, w);
    } else {
        e[0][0] = -u[1];
        e[0][1] = u[0];
        support_rate(&q, u, e[0], rate);
        w[0] = gjk_dot(2, e[0], rate);
    }

    /* G has the eigenvalues w / (w + D): 1 along an edge, 0 at a corner. */
    for (int k = 0; k < n - 1 && !q.failed; k++) {
        double part = jumps(&q, w[k]) ? 1 : w[k] > 0 ? w[k] / (w[k] + distance) : 0;
        for (int i = 0; i < n * n; i++) G[i] += part * e[k][i / n] * e[k][i % n];
    }
}
