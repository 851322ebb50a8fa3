#include "cloth/polar.h"

#include "core/vector.h"

/* The triangle [[a, b], [0, d]] with a, d >= 0 of F = [q_0 q_1] [[a, b], [0, d]]. */
typedef struct triangle {
    double q[2][3], a, b, d;
} triangle;

/* Householder's reflection that takes `first` to the axis of x; then the second column in its plane. */
static void reduce(const double *first, const double *second, triangle *t)
{
    /* H = 1 - 2 v v'/v'v, with H first = -sign |first| e_x. */
    double v[3] = {first[0], first[1], first[2]}, turned[3];
    t->a = cs_length(first);
    double sign = first[0] < 0 ? -1 : 1;
    v[0] += sign * t->a;
    double scale = 2 / cs_dot(v, v);
    cs_add_scaled(second, -scale * cs_dot(v, second), v, turned);

    /* The part of the second column beside the first; any direction if there is none. */
    t->b = -sign * turned[0];
    t->d = hypot(turned[1], turned[2]);
    double beside[3] = {0, t->d > 0 ? turned[1] / t->d : 1, t->d > 0 ? turned[2] / t->d : 0};
    cs_set_vector(t->q[0], first[0] / t->a, first[1] / t->a, first[2] / t->a);
    cs_add_scaled(beside, -scale * cs_dot(v, beside), v, t->q[1]);
}

/* The rotation of [[a, b], [0, d]] has the cosine (a + d) / m and the sine -b / m. All entries of S but the difference of
 * its diagonal are sums of numbers of one sign. */
static void decompose(const triangle *t, cs_polar *polar)
{
    double m = hypot(t->a + t->d, t->b), cosine = (t->a + t->d) / m, sine = -t->b / m;
    double apart = ((t->a - t->d) * (t->a + t->d) - t->b * t->b) / m, shear = 2 * t->a * t->b / m;

    /* The first principal axis, by half of the angle whose cosine is apart / length. */
    double length = hypot(apart, shear), *v = polar->axis;
    v[0] = 1;
    v[1] = 0;
    if (length > 0) {
        double larger = sqrt((length + fabs(apart)) / (2 * length));
        double smaller = shear / (2 * length * larger);
        v[0] = apart >= 0 ? larger : fabs(smaller);
        v[1] = apart >= 0 ? smaller : copysign(larger, shear);
    }

    /* Singular values: (sigma_1 + sigma_2, sigma_1 - sigma_2) = (m, |(a - d, b)|), sigma_1 sigma_2 = a d. */
    polar->sigma[0] = (m + hypot(t->a - t->d, t->b)) / 2;
    polar->sigma[1] = t->a * t->d / polar->sigma[0];

    /* Images of the axes: the rotation, in the frame of q. */
    double x = cosine * v[0] - sine * v[1], y = sine * v[0] + cosine * v[1];
    for (int k = 0; k < 3; k++) {
        polar->frame[0][k] = x * t->q[0][k] + y * t->q[1][k];
        polar->frame[1][k] = -y * t->q[0][k] + x * t->q[1][k];
    }
}

/* The longer column comes first. The principal axes then have their numbers exchanged: v_2 is turned, so that the axes
 * keep their sense of rotation, and u_2 with it. */
static void exchange_axes(cs_polar *polar)
{
    double first = polar->axis[0];
    polar->axis[0] = polar->axis[1];
    polar->axis[1] = first;
    for (int k = 0; k < 3; k++) polar->frame[1][k] = -polar->frame[1][k];
}

void cs_polar_find(const double f[2][3], cs_polar *polar)
{
    /* Numbers near 1, whose squares neither overflow nor vanish. */
    double largest = 0, scaled[2][3];
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 3; k++) largest = fmax(largest, fabs(f[c][k]));
    if (largest == 0) {
        *polar = (cs_polar){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {1, 0}, {0, 0}};
        return;
    }
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 3; k++) scaled[c][k] = f[c][k] / largest;

    triangle t;
    int swap = cs_dot(scaled[1], scaled[1]) > cs_dot(scaled[0], scaled[0]);
    reduce(scaled[swap], scaled[!swap], &t);
    decompose(&t, polar);
    if (swap) exchange_axes(polar);
    cs_cross(polar->frame[0], polar->frame[1], polar->frame[2]);
    for (int i = 0; i < 2; i++) polar->sigma[i] *= largest;
}
