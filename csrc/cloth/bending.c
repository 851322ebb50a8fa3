#include "cloth/bending.h"

#include "core/vector.h"

/* The faces of a hinge in some state. */
typedef struct opened {
    double edge[3], length; /* from vertex 0 to vertex 1 */
    double normal[2][3],
        height[2];  /* unit normals, and the heights of vertices 2 and 3 over the edge */
    double foot[2]; /* of these heights, in parts of the edge */
} opened;

/* Returns 0 if a face has collapsed: its hinge does nothing. */
static int open_hinge(const int64_t *vertex, const double *x, opened *o)
{
    int whole = 1;
    const double *start = x + 3 * vertex[0];
    cs_subtract(x + 3 * vertex[1], start, o->edge);
    o->length = cs_length(o->edge);
    for (int s = 0; s < 2; s++) {
        /* Both normals point to the same side where the hinge is flat. */
        double d[3];
        cs_subtract(x + 3 * vertex[2 + s], start, d);
        if (s == 0) cs_cross(o->edge, d, o->normal[s]);
        else cs_cross(d, o->edge, o->normal[s]);
        double doubled = cs_normalize(o->normal[s]);
        if (!(doubled > CS_LEAST_HEIGHT * o->length * o->length)) whole = 0;
        o->height[s] = doubled / o->length;
        o->foot[s] = cs_dot(d, o->edge) / (o->length * o->length);
    }
    return whole;
}

/* theta: positive if vertices 2 and 3 have moved against the normals. Its sine and cosine lose no digits in a flat state. */
static double angle_of(const opened *o)
{
    double turn[3];
    cs_cross(o->normal[0], o->normal[1], turn);
    return atan2(cs_dot(turn, o->edge) / o->length, cs_dot(o->normal[0], o->normal[1]));
}

/* What acts on vertices 2 and 3 is held by the ends of the edge, without force or moment on the whole. */
static void hold(const opened *o, double second, double third, double *ends)
{
    ends[0] = -(1 - o->foot[0]) * second - (1 - o->foot[1]) * third;
    ends[1] = -o->foot[0] * second - o->foot[1] * third;
}

void cs_hinge_measure(cs_hinge_rest *rest, const cs_hinge *hinge, const double *x)
{
    opened o;
    for (int a = 0; a < 4; a++) rest->vertex[a] = hinge->vertex[a];

    /* Faces that are not degenerate are whole, but for rounding at the limit, which leaves all lengths positive. */
    (void)open_hinge(rest->vertex, x, &o);
    rest->size = o.length / (o.height[0] + o.height[1]);
    rest->angle = angle_of(&o);
    rest->weight[2] = 1 / o.height[0];
    rest->weight[3] = 1 / o.height[1];
    hold(&o, rest->weight[2], rest->weight[3], rest->weight);
}

/* Gradients of theta by the four vertices. */
static void differentiate(const opened *o, double gradient[4][3])
{
    for (int k = 0; k < 3; k++) {
        double ends[2];
        gradient[2][k] = -o->normal[0][k] / o->height[0];
        gradient[3][k] = -o->normal[1][k] / o->height[1];
        hold(o, gradient[2][k], gradient[3][k], ends);
        gradient[0][k] = ends[0];
        gradient[1][k] = ends[1];
    }
}

/* to <- the sum of scale[a] x_a, whose scales sum to zero; from differences. */
static void weigh(const cs_hinge_rest *rest, const double *x, double *to)
{
    cs_set_vector(to, 0, 0, 0);
    for (int a = 1; a < 4; a++) {
        double d[3];
        cs_subtract(x + 3 * rest->vertex[a], x + 3 * rest->vertex[0], d);
        cs_add_scaled(to, rest->weight[a], d, to);
    }
}

/* The rate of theta by a vector field. */
static double turn_by(const cs_hinge_rest *rest, double gradient[4][3], const double *field)
{
    double rate = 0;
    for (int a = 1; a < 4; a++) {
        double d[3];
        cs_subtract(field + 3 * rest->vertex[a], field + 3 * rest->vertex[0], d);
        rate += cs_dot(gradient[a], d);
    }
    return rate;
}

/* W = (c / 4) |w x|^2. */
static void add_quadratic(const cs_hinge_rest *rest, double c, const cs_element_state *state,
                          cs_hinge_share *share)
{
    double h = state->h, here[3], shift[3];
    weigh(rest, state->position, here);
    weigh(rest, state->shift, shift);
    share->even = h * h * c / 2;
    for (int k = 0; k < 3; k++) share->pull[k] = h * c / 2 * here[k] + share->even * shift[k];
}

/* Moments of the angle: stiffness of the hinges, and viscosity. */
static void add_moments(const cs_hinge_rest *rest, const cs_bending *law, double c,
                        const cs_element_state *state, cs_hinge_share *share)
{
    /* The angle and its gradients. */
    opened o;
    if (!open_hinge(rest->vertex, state->position, &o)) return;
    differentiate(&o, share->gradient);

    /* The moment, with what the step adds to it. */
    double h = state->h;
    if (law->model == CS_BENDING_HINGE) {
        double half = angle_of(&o) / 2;
        share->along = h * h * c / 2 * cos(half);
        share->moment = h * c * (sin(half) - sin(rest->angle / 2)) +
                        share->along * turn_by(rest, share->gradient, state->shift);
    }
    if (state->damping > 0) {
        double viscous = h * state->damping * c / 2;
        share->along += viscous;
        share->moment += viscous * turn_by(rest, share->gradient, state->rate);
    }
}

void cs_hinge_compute(const cs_hinge_rest *rest, const cs_bending *law,
                      const cs_element_state *state, cs_hinge_share *share)
{
    double c = law->stiffness * rest->size;
    int quadratic = law->model == CS_BENDING_QUADRATIC;
    *share = (cs_hinge_share){.along = 0};
    for (int a = 0; a < 4; a++) share->weight[a] = rest->weight[a];
    if (quadratic) add_quadratic(rest, c, state, share);
    if (!quadratic || state->damping > 0) add_moments(rest, law, c, state, share);
}

void cs_hinge_add_block(const cs_hinge_share *share, int a, int b, double *block)
{
    const double *p = share->gradient[a], *q = share->gradient[b];
    double even = share->even * share->weight[a] * share->weight[b];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) block[3 * i + j] += share->along * (p[i] * q[j]);
        block[4 * i] += even;
    }
}

void cs_hinge_add_load(const cs_hinge_share *share, int a, double *force)
{
    for (int k = 0; k < 3; k++)
        force[k] -= share->moment * share->gradient[a][k] + share->weight[a] * share->pull[k];
}

double cs_hinge_energy(const cs_hinge_rest *rest, const cs_bending *law, const double *position)
{
    double c = law->stiffness * rest->size;
    if (law->model == CS_BENDING_QUADRATIC) {
        double bent[3];
        weigh(rest, position, bent);
        return c / 4 * cs_dot(bent, bent);
    }

    /* The integral of the moment, without the difference of two cosines. */
    opened o;
    if (!open_hinge(rest->vertex, position, &o)) return 0;
    double half = angle_of(&o) / 2, still = rest->angle / 2;
    return c * (4 * sin((half + still) / 2) * sin((half - still) / 2) -
                2 * sin(still) * (half - still));
}
