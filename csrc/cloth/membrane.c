#include "cloth/membrane.h"

#include "cloth/polar.h"
#include "core/vector.h"

#include <float.h>

/* The least singular value by which stress is divided: the stiffness of a triangle that is squeezed to a line has a bound. */
#define LEAST_STRETCH 0.0625

cs_status cs_triangle_measure(cs_triangle_rest *rest, const double *const x[3], int64_t t,
                              cs_error *error)
{
    /* Edges, in a frame whose first axis is along one of them. */
    double d1[3], d2[3], d3[3], normal[3];
    cs_subtract(x[1], x[0], d1);
    cs_subtract(x[2], x[0], d2);
    cs_subtract(x[2], x[1], d3);
    cs_cross(d1, d2, normal);
    double length = cs_length(d1), doubled = cs_length(normal);
    double longest = fmax(length, fmax(cs_length(d2), cs_length(d3)));
    if (!(doubled > CS_LEAST_HEIGHT * longest * longest))
        return cs_fail(error, CS_INVALID,
                       "faces[%lld] is degenerate: its rest shape has the area %s", (long long)t,
                       cs_number(doubled / 2).text);

    /* [grad N_1; grad N_2] is the inverse of [d1 d2], which is triangular in that frame. */
    double along = cs_dot(d1, d2) / length, height = doubled / length;
    rest->gradient[0][0] = 1 / length;
    rest->gradient[0][1] = -along / (length * height);
    rest->gradient[1][0] = 0;
    rest->gradient[1][1] = 1 / height;
    rest->area = doubled / 2;
    return CS_OK;
}

/* to (2, 3) <- (x_1 - x_0) grad N_1' + (x_2 - x_0) grad N_2', column by column: differences of a vector at the corners. */
static void differentiate(const cs_triangle_rest *rest, const double (*gradient)[2],
                          const double *x, double to[2][3])
{
    double d1[3], d2[3];
    const int64_t *v = rest->vertex;
    cs_subtract(x + 3 * v[1], x + 3 * v[0], d1);
    cs_subtract(x + 3 * v[2], x + 3 * v[0], d2);
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 3; k++) to[c][k] = d1[k] * gradient[0][c] + d2[k] * gradient[1][c];
}

/* stress <- the principal ones. */
static void find_stress(const cs_membrane *law, const cs_polar *polar, double *stress)
{
    double e1 = polar->sigma[0] - 1, e2 = polar->sigma[1] - 1;
    stress[0] = law->lambda * (e1 + e2) + 2 * law->mu * e1;
    stress[1] = law->lambda * (e1 + e2) + 2 * law->mu * e2;
}

/* scale times the second derivative of W / A, with the positive part of the geometric stiffness. */
static cs_triangle_modes elastic_modes(const cs_membrane *law, const cs_polar *polar,
                                       const double *stress, double scale)
{
    cs_triangle_modes m;
    double turn = fmax(stress[0] + stress[1], 0) / (polar->sigma[0] + polar->sigma[1] + DBL_MIN);
    for (int i = 0; i < 2; i++) {
        m.normal[i] = scale * (2 * law->mu + law->lambda);
        m.shear[i] = scale * (law->mu + turn / 2);
        m.out[i] = scale * fmax(stress[i], 0) / fmax(polar->sigma[i], LEAST_STRETCH);
    }
    m.poisson = scale * law->lambda;
    m.cross = scale * (law->mu - turn / 2);
    return m;
}

/* scale times the viscosity per area: C over the rate of Green's strain, sigma_i dF_ij + sigma_j dF_ji. */
static cs_triangle_modes viscous_modes(const cs_membrane *law, const cs_polar *polar, double scale)
{
    cs_triangle_modes m = {.out = {0, 0}};
    for (int i = 0; i < 2; i++) {
        double square = scale * polar->sigma[i] * polar->sigma[i];
        m.normal[i] = square * (2 * law->mu + law->lambda);
        m.shear[i] = square * law->mu;
    }
    m.poisson = scale * polar->sigma[0] * polar->sigma[1] * law->lambda;
    m.cross = scale * polar->sigma[0] * polar->sigma[1] * law->mu;
    return m;
}

/* stress (2, 3), column by column, += the modes of the derivatives of a vector field (2, 3), both in principal axes. */
static void add_product(const cs_triangle_modes *m, double d[2][3], double stress[2][3])
{
    stress[0][0] += m->normal[0] * d[0][0] + m->poisson * d[1][1];
    stress[1][1] += m->normal[1] * d[1][1] + m->poisson * d[0][0];
    stress[1][0] += m->shear[0] * d[1][0] + m->cross * d[0][1];
    stress[0][1] += m->shear[1] * d[0][1] + m->cross * d[1][0];
    stress[0][2] += m->out[0] * d[0][2];
    stress[1][2] += m->out[1] * d[1][2];
}

/* The same for a field that is given in space. */
static void add_field(const cs_triangle_rest *rest, const cs_triangle *t,
                      const cs_triangle_modes *m, const double *field, double stress[2][3])
{
    double d[2][3], local[2][3];
    differentiate(rest, (const double(*)[2])t->gradient + 1, field, d);
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 3; k++) local[c][k] = cs_dot(t->frame[k], d[c]);
    add_product(m, local, stress);
}

static void add_modes(cs_triangle_modes *m, const cs_triangle_modes *other)
{
    for (int i = 0; i < 2; i++) {
        m->normal[i] += other->normal[i];
        m->shear[i] += other->shear[i];
        m->out[i] += other->out[i];
    }
    m->poisson += other->poisson;
    m->cross += other->cross;
}

/* Gradients of all three N_a, turned to the principal axes. */
static void turn_gradients(const cs_triangle_rest *rest, const double *axis, cs_triangle *t)
{
    for (int a = 1; a < 3; a++) {
        const double *g = rest->gradient[a - 1];
        t->gradient[a][0] = axis[0] * g[0] + axis[1] * g[1];
        t->gradient[a][1] = axis[0] * g[1] - axis[1] * g[0];
    }
    for (int c = 0; c < 2; c++) t->gradient[0][c] = -t->gradient[1][c] - t->gradient[2][c];
}

void cs_triangle_compute(const cs_triangle_rest *rest, const cs_membrane *law,
                         const cs_element_state *state, cs_triangle *triangle)
{
    /* The principal frame. */
    cs_polar polar;
    double f[2][3], stress[2];
    differentiate(rest, rest->gradient, state->position, f);
    cs_polar_find((const double(*)[3])f, &polar);
    find_stress(law, &polar, stress);
    turn_gradients(rest, polar.axis, triangle);
    for (int k = 0; k < 3; k++) cs_assign(triangle->frame[k], polar.frame[k]);

    /* A (h t + h^2 K shift + h D rate), in principal axes. */
    double h = state->h, part[2][3] = {{0}};
    cs_triangle_modes viscous = viscous_modes(law, &polar, h * state->damping * rest->area);
    triangle->modes = elastic_modes(law, &polar, stress, h * h * rest->area);
    for (int i = 0; i < 2; i++) part[i][i] = h * rest->area * stress[i];
    add_field(rest, triangle, &triangle->modes, state->shift, part);
    if (state->damping > 0) add_field(rest, triangle, &viscous, state->rate, part);
    add_modes(&triangle->modes, &viscous);

    /* Back to space. */
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 3; k++)
            triangle->load[c][k] = part[c][0] * polar.frame[0][k] + part[c][1] * polar.frame[1][k] +
                                   part[c][2] * polar.frame[2][k];
}

void cs_triangle_add_block(const cs_triangle *triangle, int a, int b, double *block)
{
    /* In principal axes, where the normal is on its own. */
    const cs_triangle_modes *m = &triangle->modes;
    const double *p = triangle->gradient[a], *q = triangle->gradient[b];
    double local[2][2] = {{m->normal[0] * p[0] * q[0] + m->shear[0] * p[1] * q[1],
                           m->poisson * p[0] * q[1] + m->cross * p[1] * q[0]},
                          {m->poisson * p[1] * q[0] + m->cross * p[0] * q[1],
                           m->normal[1] * p[1] * q[1] + m->shear[1] * p[0] * q[0]}};
    double normal = m->out[0] * p[0] * q[0] + m->out[1] * p[1] * q[1];

    /* The frame on both sides. */
    const double *u = triangle->frame[0], *v = triangle->frame[1], *n = triangle->frame[2];
    for (int j = 0; j < 3; j++) {
        double x = local[0][0] * u[j] + local[0][1] * v[j];
        double y = local[1][0] * u[j] + local[1][1] * v[j];
        for (int i = 0; i < 3; i++)
            block[3 * i + j] += u[i] * x + v[i] * y + n[i] * (normal * n[j]);
    }
}

void cs_triangle_add_load(const cs_triangle *triangle, int a, double *force)
{
    const double *g = triangle->gradient[a];
    for (int k = 0; k < 3; k++)
        force[k] -= triangle->load[0][k] * g[0] + triangle->load[1][k] * g[1];
}

double cs_triangle_energy(const cs_triangle_rest *rest, const cs_membrane *law,
                          const double *position)
{
    cs_polar polar;
    double f[2][3];
    differentiate(rest, rest->gradient, position, f);
    cs_polar_find((const double(*)[3])f, &polar);
    double e1 = polar.sigma[0] - 1, e2 = polar.sigma[1] - 1;
    return rest->area * (law->mu * (e1 * e1 + e2 * e2) + law->lambda * (e1 + e2) * (e1 + e2) / 2);
}
