/* Derivatives that Newton's method uses, against differences of what they are derivatives of. */
#include "prox/prox.h"
#include "methods/newton/fischer_burmeister.h"
#include "methods/newton/slope.h"
#include "testing.h"

#include <math.h>
#include <string.h>

enum { TRIES = 400 };

static uint64_t state = 1;

static double random_number(void) { return test_random(&state); }

static cs_block_group group_of(const char *name, int rows)
{
    cs_block_group group = {.count = 1, .rows = rows, .set = cs_set_find(name)};
    group.parameters = group.set->parameters(rows);
    group.set->coupling(rows, group.coupled_set);
    return group;
}

static void parameters_of(const cs_block_group *group, double *parameters)
{
    for (int i = 0; i < group->parameters; i++) parameters[i] = 0.2 + fabs(random_number());
    if (strcmp(group->set->name, "box") != 0) return;
    for (int i = 0; i < group->rows; i++) {
        parameters[i] = i % 3 == 2 ? -INFINITY : -fabs(random_number());
        parameters[group->rows + i] = i % 3 == 1 ? INFINITY : fabs(random_number());
    }
}

typedef struct sample {
    cs_block_group group;
    double parameters[2 * CS_MAX_ROWS], r[CS_MAX_ROWS];
    double at[2][CS_MAX_ROWS]; /* impulse and velocity */
} sample;

static void function(const sample *s, double *phi)
{
    double ignored[2][CS_MAX_ROWS * CS_MAX_ROWS];
    cs_fischer_burmeister(&s->group, s->parameters, s->r, s->at[0], s->at[1], phi, ignored[0],
                          ignored[1]);
}

/* The largest difference between the derivatives and central differences of a step. */
static double worst(const sample *s, double step)
{
    double phi[CS_MAX_ROWS], derivative[2][CS_MAX_ROWS * CS_MAX_ROWS], largest = 0;
    int rows = s->group.rows;
    cs_fischer_burmeister(&s->group, s->parameters, s->r, s->at[0], s->at[1], phi, derivative[0],
                          derivative[1]);
    for (int of = 0; of < 2; of++)
        for (int j = 0; j < rows; j++) {
            double up[CS_MAX_ROWS], down[CS_MAX_ROWS];
            sample other = *s;
            other.at[of][j] = s->at[of][j] + step;
            function(&other, up);
            other.at[of][j] = s->at[of][j] - step;
            function(&other, down);
            for (int i = 0; i < rows; i++) {
                double difference = (up[i] - down[i]) / (2 * step);
                largest = fmax(largest, fabs(difference - derivative[of][i * rows + j]));
            }
        }
    return largest;
}

static sample sample_of(const char *name, int rows)
{
    sample s = {.group = group_of(name, rows)};
    parameters_of(&s.group, s.parameters);
    double r = 0.2 + fabs(random_number());
    for (int i = 0; i < rows; i++) {
        s.r[i] = r;
        s.at[0][i] = random_number();
        s.at[1][i] = random_number();
    }
    return s;
}

static void derivatives_are_those_of_the_function(const char *name, int rows)
{
    int kinks = 0;
    for (int i = 0; i < TRIES; i++) {
        sample s = sample_of(name, rows);
        double error = worst(&s, 1e-6);
        if (error > 1e-7) kinks++;
    }
    CHECK(kinks <= 1);
}

/* Zero where impulse and velocity are those of a contact, and only there. */
static void zeros_are_solutions(void)
{
    for (int i = 0; i < TRIES; i++) {
        sample s = sample_of("disc", 3);
        double phi[CS_MAX_ROWS], mu = s.parameters[0], *impulse = s.at[0], *velocity = s.at[1];
        function(&s, phi);
        CHECK(fabs(phi[0]) + fabs(phi[1]) + fabs(phi[2]) > 1e-3);
        impulse[0] = i % 3 ? fabs(impulse[0]) : 0;
        velocity[0] = i % 3 ? 0 : fabs(velocity[0]);
        double speed = hypot(velocity[1], velocity[2]);
        for (int t = 1; t < 3; t++) {
            if (i % 3 == 2) velocity[t] = 0;
            impulse[t] = i % 3 == 2 ? 0.5 * mu * impulse[0] * impulse[t]
                                    : -mu * impulse[0] * velocity[t] / speed;
        }
        function(&s, phi);
        for (int t = 0; t < 3; t++) CHECK_NEAR(phi[t], 0, 1e-15);
    }
}

/* At kinks: finite, and an element with which impulses and velocities both count. */
static void kinks_have_derivatives(void)
{
    sample s = sample_of("disc", 3);
    memset(s.at, 0, sizeof s.at);
    for (int edge = 0; edge < 2; edge++) {
        double phi[CS_MAX_ROWS], derivative[2][CS_MAX_ROWS * CS_MAX_ROWS];
        s.at[0][0] = edge;
        s.at[0][1] = edge * s.parameters[0];
        cs_fischer_burmeister(&s.group, s.parameters, s.r, s.at[0], s.at[1], phi, derivative[0],
                              derivative[1]);
        for (int i = 0; i < 3; i++) CHECK_NEAR(phi[i], 0, 1e-15);
        for (int i = 0; i < 9; i++) CHECK(isfinite(derivative[0][i]) && isfinite(derivative[1][i]));
        for (int i = 0; i < 3; i++) CHECK(derivative[1][i * 4] > 0.1 * s.parameters[0] * s.r[0]);
    }
}

/* ---- slopes of the prox ---------------------------------------------------------------------- */

enum { NUMBERS = 64 };

typedef struct block {
    cs_block_group group;
    double parameters[NUMBERS];
    double z[CS_MAX_ROWS];
} block;

/* A polygon of 3 to 12 corners around the origin. */
static void put_polygon(double *parameters, int sides)
{
    double turn = 3 * random_number();
    parameters[0] = 0.3 + fabs(random_number());
    parameters[1] = sides;
    for (int i = 0; i < sides; i++) {
        double angle = turn + 2 * acos(-1) * (i + 0.3 * random_number()) / sides;
        parameters[2 + 2 * i] = cos(angle);
        parameters[3 + 2 * i] = sin(angle);
    }
}

/* Shapes by number: smooth, with corners, with edges of both kinds. Returns whether there is one. */
static int put_shape(int number, int rows, double *parameters)
{
    double a = 0.3 + fabs(random_number()), b = 0.3 + fabs(random_number());
    double c = cos(a), d = sin(a);
    const double plane[][NUMBERS] = {
        {CS_FRICTION_ELLIPSOID, 4, a, b},
        {CS_FRICTION_SUPERELLIPSOID, 5, 3, a, b},
        {CS_FRICTION_SUPERELLIPSOID, 5, INFINITY, a, b},
        {CS_FRICTION_TURNED, 8, c, d, CS_FRICTION_ELLIPSOID, 4, a, b},
        {CS_FRICTION_HULL, 18, CS_FRICTION_SHIFTED, 8, a, 0, CS_FRICTION_ELLIPSOID, 4, b, b,
         CS_FRICTION_SHIFTED, 8, -a, 0, CS_FRICTION_ELLIPSOID, 4, b, b},
        {CS_FRICTION_SUM, 14, CS_FRICTION_POINTS, 8, -a, -b, a, -b, 0, a, CS_FRICTION_ELLIPSOID, 4,
         b, a},
        {CS_FRICTION_POINTS, 10, -a, -b, b, -a, a, b, -b, a},
    };
    const double space[][NUMBERS] = {
        {CS_FRICTION_ELLIPSOID, 5, a, b, 0.5},
        {CS_FRICTION_SUPERELLIPSOID, 6, 3, a, b, 0.7},
        {CS_FRICTION_PATCH, 11, a, 0, 0.5, -b, a, 0.4, 0.1, -b, 0.6},
        {CS_FRICTION_POINTS, 14, a, b, -0.4, -a, b, -0.5, 0.1, -a, -0.6, -0.1, 0.2, b},
        {CS_FRICTION_SUM, 12, CS_FRICTION_ELLIPSOID, 5, a, a, 0, CS_FRICTION_ELLIPSOID, 5, 0, 0, b},
    };
    int count = (int)(rows == 3 ? sizeof plane / sizeof *plane : sizeof space / sizeof *space);
    const double *shape = rows == 3 ? plane[number % 7] : space[number % 5];
    parameters[0] = 0.3 + fabs(random_number());
    memcpy(parameters + 1, shape, sizeof(double) * (NUMBERS - 1));
    return number < count;
}

static int corner_of_box(void *context, int64_t number, int n, const double *direction,
                         double *point)
{
    (void)context, (void)number;
    for (int i = 0; i < n; i++) point[i] = copysign(0.2 + 0.3 * i, direction[i]);
    return 0;
}

static const cs_support box_support = {.point = corner_of_box};

static block block_of(const char *name, int rows, int number)
{
    static int handle;
    block k = {.group = group_of(name, rows)};
    if (strcmp(name, "polygon") == 0) put_polygon(k.parameters, 3 + number % 10);
    else if (strcmp(name, "support") == 0) put_shape(number, rows, k.parameters);
    else parameters_of(&k.group, k.parameters);
    if (strcmp(name, "support_function") == 0) {
        if (!handle) handle = cs_support_register(&box_support);
        k.parameters[1] = handle;
        k.parameters[2] = 0;
    }
    for (int i = 0; i < rows; i++) k.z[i] = random_number();
    if (number % 4) k.z[0] = fabs(k.z[0]);
    return k;
}

static void project(const block *k, const double *z, double *p)
{
    memcpy(p, z, sizeof(double) * (size_t)k->group.rows);
    k->group.set->prox_f64(k->group.rows, p, k->parameters, NULL);
}

/* The largest difference between the slope and differences of the prox over steps ahead and back, which
 * differ from each other, by at most `kink`, at a kink. */
static double worst_slope(const block *k, double *kink)
{
    const double step = 1e-6;
    double p[CS_MAX_ROWS], at[CS_MAX_ROWS], slope[CS_MAX_ROWS * CS_MAX_ROWS], largest = 0;
    int rows = k->group.rows;
    cs_prox_slope(&k->group, 0, k->parameters, k->z, p, slope);
    project(k, k->z, at);
    CHECK_ALL_NEAR(rows, p, at, 1e-15);
    *kink = 0;
    for (int j = 0; j < rows; j++) {
        double z[CS_MAX_ROWS], up[CS_MAX_ROWS], down[CS_MAX_ROWS];
        memcpy(z, k->z, sizeof z);
        z[j] = k->z[j] + step;
        project(k, z, up);
        z[j] = k->z[j] - step;
        project(k, z, down);
        for (int i = 0; i < rows; i++) {
            double difference = (up[i] - down[i]) / (2 * step);
            largest = fmax(largest, fabs(difference - slope[i * rows + j]));
            *kink = fmax(*kink, fabs(up[i] - 2 * at[i] + down[i]) / step);
        }
    }
    return largest;
}

/* Kinks, where the differences to both sides are not the same, are left out: they are few. */
static void slopes_are_those_of_the_prox(const char *name, int rows, double tolerance)
{
    int kinks = 0;
    for (int i = 0; i < TRIES; i++) {
        block k = block_of(name, rows, i % 40);
        double kink, error = worst_slope(&k, &kink);
        if (kink > 1e-3) kinks++;
        else CHECK_NEAR(error, 0, tolerance);
    }
    CHECK(kinks <= TRIES / 50);
}

/* Axes of length zero: the set is a segment, or a disc in space. */
static void flat_sets_have_slopes(void)
{
    for (int i = 0; i < TRIES; i++) {
        block k = block_of("ellipse", 3, 1), round = block_of("contensou_coupled", 4, 1);
        double kink, error;
        k.parameters[i % 2] = 0;
        round.parameters[1] = 0;
        error = worst_slope(&k, &kink);
        if (!(kink > 1e-3)) CHECK_NEAR(error, 0, 1e-7);
        error = worst_slope(&round, &kink);
        if (!(kink > 1e-3)) CHECK_NEAR(error, 0, 1e-7);
    }
}

/* Without friction nothing moves but the normal impulse, tangential impulses of zero least of all. */
static void no_friction_is_no_slope(const char *name, int rows)
{
    double p[CS_MAX_ROWS], slope[CS_MAX_ROWS * CS_MAX_ROWS];
    block k = block_of(name, rows, 1);
    k.parameters[0] = 0;
    if (strcmp(name, "ellipse") == 0) k.parameters[1] = 0;
    for (int at_zero = 0; at_zero < 2; at_zero++) {
        for (int i = 1; i < rows && at_zero; i++) k.z[i] = 0;
        cs_prox_slope(&k.group, 0, k.parameters, k.z, p, slope);
        CHECK_NEAR(slope[0], 1, 0);
        for (int i = 1; i < rows * rows; i++) CHECK_NEAR(slope[i], 0, 0);
    }
}

/* Without friction, without a normal impulse, far away, and just outside: finite. */
static void slopes_are_finite(const char *name, int rows)
{
    for (int i = 0; i < 40; i++) {
        double p[CS_MAX_ROWS], slope[CS_MAX_ROWS * CS_MAX_ROWS];
        block k = block_of(name, rows, i);
        const double scales[] = {0, 1e-300, 1e-12, 1e12, 1e200};
        for (int s = 0; s < 10; s++) {
            block other = k;
            for (int j = s < 5; j < (s < 5 ? rows : 1); j++) other.z[j] *= scales[s % 5];
            cs_prox_slope(&k.group, 0, k.parameters, other.z, p, slope);
            for (int j = 0; j < rows * rows; j++) CHECK(isfinite(slope[j]));
        }
        k.parameters[0] = 0;
        cs_prox_slope(&k.group, 0, k.parameters, k.z, p, slope);
        for (int j = 0; j < rows * rows; j++) CHECK(isfinite(slope[j]));
    }
}

static void all_slopes(void)
{
    const double exact = 5e-7; /* what is left to differences near edges that bend much */
    slopes_are_those_of_the_prox("free", 3, exact);
    slopes_are_those_of_the_prox("box", 4, exact);
    slopes_are_those_of_the_prox("half_line", 3, exact);
    slopes_are_those_of_the_prox("disc", 2, exact);
    slopes_are_those_of_the_prox("disc", 3, exact);
    slopes_are_those_of_the_prox("box_friction", 2, exact);
    slopes_are_those_of_the_prox("box_friction", 3, exact);
    slopes_are_those_of_the_prox("rolling", 5, exact);
    slopes_are_those_of_the_prox("contensou", 4, exact);
    slopes_are_those_of_the_prox("second_order_cone", 2, exact);
    slopes_are_those_of_the_prox("second_order_cone", 3, exact);
    for (int rows = 2; rows < 6; rows++) slopes_are_those_of_the_prox("tresca", rows, exact);
    slopes_are_those_of_the_prox("ellipse", 3, exact);
    slopes_are_those_of_the_prox("polygon", 3, exact);
    slopes_are_those_of_the_prox("contensou_coupled", 4, exact);
    slopes_are_those_of_the_prox("support_function", 3, exact);
    slopes_are_those_of_the_prox("support_function", 4, exact);
    slopes_are_those_of_the_prox("support", 3, exact);
    slopes_are_those_of_the_prox("support", 4, 1e-6); /* as exact as differences of its prox */
    flat_sets_have_slopes();
    no_friction_is_no_slope("ellipse", 3);
    no_friction_is_no_slope("polygon", 3);
    no_friction_is_no_slope("contensou_coupled", 4);
    no_friction_is_no_slope("support", 3);
    no_friction_is_no_slope("support", 4);
    slopes_are_finite("ellipse", 3);
    slopes_are_finite("polygon", 3);
    slopes_are_finite("contensou_coupled", 4);
    slopes_are_finite("support", 3);
    slopes_are_finite("support", 4);
}

int main(void)
{
    all_slopes();
    derivatives_are_those_of_the_function("free", 3);
    derivatives_are_those_of_the_function("half_line", 1);
    derivatives_are_those_of_the_function("half_line", 3);
    derivatives_are_those_of_the_function("box", 4);
    derivatives_are_those_of_the_function("box_friction", 3);
    derivatives_are_those_of_the_function("second_order_cone", 2);
    derivatives_are_those_of_the_function("second_order_cone", 3);
    derivatives_are_those_of_the_function("disc", 2);
    derivatives_are_those_of_the_function("disc", 3);
    zeros_are_solutions();
    kinks_have_derivatives();
    return test_result();
}
