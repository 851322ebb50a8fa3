#include "prox/gjk.inc"

/* Of the direction, to both sides. */
#define TO_BOTH_SIDES 1e-5
/* What the support point moves by meanwhile, over the size of S, where it jumps along an edge. */
#define JUMP 1e-3

/* rate <- how the support point moves as the direction u turns towards e. */
static void turn_to(gjk_search *q, const double *u, const double *e, double *rate)
{
    int n = q->oracle->n;
    gjk_probe ahead = {{0}, {0}}, back = {{0}, {0}};
    for (int i = 0; i < n; i++) {
        ahead.u[i] = u[i] + TO_BOTH_SIDES * e[i];
        back.u[i] = u[i] - TO_BOTH_SIDES * e[i];
    }
    gjk_normalise(n, ahead.u);
    gjk_normalise(n, back.u);
    gjk_ask(q, &ahead);
    gjk_ask(q, &back);
    gjk_subtract(n, ahead.s, back.s, rate);
    for (int i = 0; i < n; i++) rate[i] /= 2 * TO_BOTH_SIDES;
}

/* e[0] <- the direction across u in which x lies, e[1] <- the one across both. */
static void lay_along(const double *u, const double *x, double e[2][3])
{
    double part = gjk_dot(3, u, x);
    for (int i = 0; i < 3; i++) e[0][i] = x[i] - part * u[i];
    gjk_normalise(3, e[0]);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        e[1][i] = u[j] * e[0][k] - u[k] * e[0][j];
    }
}

/* Whether that is a jump: along an edge S does not bend at all. */
static int jumps(const gjk_search *q, double rate) { return rate * TO_BOTH_SIDES > JUMP * q->size; }

/* Both rates of turning, w, and their directions e, where the support point jumps: along the edge, or one
 * of a face, and across it. What the support point does along the edge while u turns across it is due to
 * rounding, and to how well the edge is known: the second time, to the square of a difference. */
static void turn_at_edge(gjk_search *q, const double *u, const double *jump, double e[2][3],
                         double *w)
{
    double rate[3];
    lay_along(u, jump, e);
    turn_to(q, u, e[0], rate);
    lay_along(u, rate, e);
    for (int i = 0; i < 2; i++) {
        turn_to(q, u, e[i], rate);
        w[i] = gjk_dot(3, e[i], rate);
    }
}

/* The same, for any surface: W is symmetric, and its own directions are taken. */
static void turn_in_space(gjk_search *q, const double *u, double e[2][3], double *w)
{
    double rate[2][3], first[2][3];
    gjk_across(u, first);
    for (int i = 0; i < 2; i++) turn_to(q, u, first[i], rate[i]);
    int longest = gjk_norm(3, rate[1]) > gjk_norm(3, rate[0]);
    if (jumps(q, gjk_norm(3, rate[longest]))) {
        turn_at_edge(q, u, rate[longest], e, w);
        return;
    }

    /* Across u, W = (a b; b c): its eigenvalues and eigenvectors. */
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
    int n = oracle->n, inside = scale > 0 && gjk_equal(n, z, x);
    gjk_search q = {.oracle = oracle};
    double u[3] = {0}, e[2][3] = {{0}}, w[2] = {0}, rate[3];
    for (int i = 0; i < n * n; i++) G[i] = inside && i % (n + 1) == 0;
    gjk_subtract(n, z, x, u);
    double distance = gjk_normalise(n, u) / scale;
    if (inside || !(scale > 0) || !isfinite(distance)) return;

    /* The directions in which the surface bends, and how much. */
    if (n == 3) {
        turn_in_space(&q, u, e, w);
    } else {
        e[0][0] = -u[1];
        e[0][1] = u[0];
        turn_to(&q, u, e[0], rate);
        w[0] = gjk_dot(2, e[0], rate);
    }

    /* What the nearest point follows of a move: all of it along an edge, nothing at a corner. */
    for (int k = 0; k < n - 1 && !q.failed; k++) {
        double part = jumps(&q, w[k]) ? 1 : w[k] > 0 ? w[k] / (w[k] + distance) : 0;
        for (int i = 0; i < n * n; i++) G[i] += part * e[k][i / n] * e[k][i % n];
    }
}
