/* The sets: each prox is the projection onto its set, found here by comparing with sampled points.
 *
 * p is the projection of z onto a convex set C exactly when p is in C and (z - p).(y - p) <= 0 for
 * every y in C. Friction is two projections: the normal impulse onto the half-line, then the
 * tangential impulse onto the disc that it leaves. */
#include "prox/prox.h"
#include "testing.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 400 };

/* Whether no sampled point lies on z's side of the plane through p. */
static int is_projection(int n, const double *z, const double *p, double (*points)[CS_MAX_ROWS])
{
    double size = 0;
    for (int i = 0; i < n; i++) size = fmax(size, fmax(fabs(z[i]), fabs(p[i])));
    for (int s = 0; s < SAMPLES; s++) {
        double product = 0, distance = size;
        for (int i = 0; i < n; i++) {
            product += (z[i] - p[i]) * (points[s][i] - p[i]);
            distance = fmax(distance, fabs(points[s][i]));
        }
        if (!(product <= 16 * DBL_EPSILON * size * distance)) return 0;
    }
    return 1;
}

static double anywhere(uint64_t *random) { return 10 * test_random(random); }

/* ---- box, half-line, free -------------------------------------------------------------------- */

/* A point of the box: corners, edges and inside. */
static void sample_box(int rows, const double *bounds, uint64_t *random, double *point)
{
    for (int i = 0; i < rows; i++) {
        double lo = fmax(bounds[i], -1e3), hi = fmin(bounds[rows + i], 1e3);
        double u = test_random(random);
        point[i] = u < -0.3 ? lo : u > 0.3 ? hi : lo + (hi - lo) * (u + 0.3) / 0.6;
    }
}

static void box_is_a_projection(void)
{
    const cs_set *set = cs_set_find("box");
    static double points[SAMPLES][CS_MAX_ROWS];
    uint64_t random = 3;
    for (int round = 0; round < 60; round++) {
        int rows = round % CS_MAX_ROWS + 1;
        double bounds[2 * CS_MAX_ROWS], z[CS_MAX_ROWS], p[CS_MAX_ROWS];
        for (int i = 0; i < rows; i++) {
            double a = anywhere(&random), b = anywhere(&random);
            bounds[i] = round % 5 == 1 ? -INFINITY : fmin(a, b);
            bounds[rows + i] = round % 7 == 2 ? INFINITY : fmax(a, b);
            if (round % 9 == 3) bounds[i] = bounds[rows + i] = a; /* a single point */
            z[i] = p[i] = anywhere(&random);
        }
        set->prox_f64(rows, p, bounds, NULL);
        for (int i = 0; i < rows; i++) CHECK(p[i] >= bounds[i] && p[i] <= bounds[rows + i]);
        for (int s = 0; s < SAMPLES; s++) sample_box(rows, bounds, &random, points[s]);
        CHECK(is_projection(rows, z, p, points));
    }
}

static void half_line_is_a_projection(void)
{
    const cs_set *set = cs_set_find("half_line");
    static double points[SAMPLES][CS_MAX_ROWS]; /* rows behind the first stay zero */
    uint64_t random = 5;
    for (int s = 1; s < SAMPLES; s++) points[s][0] = fabs(anywhere(&random));
    for (int round = 0; round < 60; round++) {
        int rows = round % CS_MAX_ROWS + 1;
        double z[CS_MAX_ROWS], p[CS_MAX_ROWS];
        for (int i = 0; i < rows; i++) z[i] = p[i] = anywhere(&random);
        set->prox_f64(rows, p, NULL, NULL);
        CHECK(p[0] >= 0);
        for (int i = 1; i < rows; i++) CHECK(p[i] == 0);
        CHECK(is_projection(rows, z, p, points));
    }
}

static void free_is_the_identity(void)
{
    double z[] = {-1, 2, -3, 4, -5, 1e300}, kept[6];
    memcpy(kept, z, sizeof z);
    cs_set_find("free")->prox_f64(6, z, NULL, NULL);
    CHECK(memcmp(kept, z, sizeof z) == 0);
}

/* ---- disc ------------------------------------------------------------------------------------ */

static void check_disc(int rows, double mu, const double *z, const double *previous,
                       uint64_t *random)
{
    static double points[SAMPLES][CS_MAX_ROWS];
    double p[3];
    memcpy(p, z, sizeof(double) * (size_t)rows);
    cs_set_find("disc")->prox_f64(rows, p, &mu, previous);
    CHECK(p[0] == fmax(z[0], 0));
    double bound = previous ? fmax(previous[0], 0) : p[0], radius = mu * bound;
    double length = rows == 2 ? fabs(p[1]) : hypot(p[1], p[2]);
    CHECK(length <= radius * (1 + 4 * DBL_EPSILON));
    for (int s = 0; s < SAMPLES; s++) {
        double angle = acos(-1) * test_random(random);
        double distance = s % 3 ? radius : radius * fabs(test_random(random));
        points[s][0] = rows == 2 ? distance * (s % 2 ? 1 : -1) : distance * cos(angle);
        points[s][1] = distance * sin(angle);
    }
    CHECK(is_projection(rows - 1, z + 1, p + 1, points));
}

static void disc_is_a_projection(void)
{
    uint64_t random = 9;
    for (int round = 0; round < 200; round++) {
        double mu = round % 8 == 0 ? 0 : fabs(test_random(&random)), z[3], previous[3];
        for (int i = 0; i < 3; i++) z[i] = anywhere(&random);
        for (int i = 0; i < 3; i++) previous[i] = anywhere(&random);
        if (round % 10 == 1) z[1] = z[2] = 0;
        if (round % 10 == 2) z[0] = 0;
        if (round % 10 == 3) { /* just outside */
            double length = hypot(z[1], z[2]), wanted = 1.0001 * mu * fabs(z[0]);
            for (int i = 1; i < 3; i++) z[i] *= wanted / length;
        }
        for (int rows = 2; rows <= 3; rows++) {
            check_disc(rows, mu, z, NULL, &random);
            check_disc(rows, mu, z, previous, &random);
        }
    }
}

/* Inside, the impulse is left exactly as it is: a sticking contact must not creep. */
static void disc_leaves_sticking_impulses_alone(void)
{
    double mu = 0.5, z[] = {2, 0.6, -0.8}, kept[] = {2, 0.6, -0.8};
    cs_set_find("disc")->prox_f64(3, z, &mu, NULL);
    CHECK(memcmp(z, kept, sizeof z) == 0);
    float mu_f32 = 0.5f, z_f32[] = {2, 0.6f, -0.8f}, kept_f32[] = {2, 0.6f, -0.8f};
    cs_set_find("disc")->prox_f32(3, z_f32, &mu_f32, NULL);
    CHECK(memcmp(z_f32, kept_f32, sizeof z_f32) == 0);
}

/* ---- of all sets ----------------------------------------------------------------------------- */

enum { MOST_PARAMETERS = 24, CORNERS = 5 };

/* mu, the number of corners, the corners of a convex polygon around the origin. */
static int sample_polygon(uint64_t *random, double *parameters)
{
    parameters[0] = fabs(test_random(random));
    parameters[1] = CORNERS;
    for (int i = 0; i < CORNERS; i++) {
        double angle = 2 * acos(-1) / CORNERS * (i + 0.2 * test_random(random));
        parameters[2 + 2 * i] = cos(angle);
        parameters[3 + 2 * i] = sin(angle);
    }
    return 2 + 2 * CORNERS;
}

/* A ball, told by a function. */
static int ball(void *context, int64_t block, int n, const double *direction, double *point)
{
    const double *radius = context;
    for (int i = 0; i < n; i++) point[i] = radius[block] * direction[i];
    return 0;
}

static double radii[] = {0.3, 0.8};
static const cs_support balls = {ball, radii};
static int handle; /* of `balls` */

/* mu and a shape: in the plane the sum of an ellipse that is flat in t1 and two points; in space an
 * ellipsoid, as nearest points of mixed shapes there are not exact. */
static int sample_shape(int n, uint64_t *random, double *parameters)
{
    double *shape = parameters + 1, *axes = shape + 4, *points = axes + n + 2;
    parameters[0] = fabs(test_random(random));
    if (n == 3) {
        shape[0] = 1, shape[1] = 5;
        for (int i = 0; i < n; i++) shape[2 + i] = 0.1 + fabs(test_random(random));
        return 6;
    }
    shape[0] = 5, shape[1] = 6 + 3 * n; /* sum */
    shape[2] = 1, shape[3] = 2 + n;     /* ellipsoid */
    for (int i = 0; i < n; i++) axes[i] = i ? 1.1 + test_random(random) : 0;
    axes[n] = 3, axes[n + 1] = 2 + 2 * n; /* points */
    for (int i = 0; i < n; i++) points[i] = test_random(random);
    for (int i = 0; i < n; i++) points[n + i] = -points[i];
    return 7 + 3 * n;
}

/* Parameters that suit each set; returns how many, -1 where it does not take so many rows. */
static int sample_parameters(const cs_set *set, int rows, uint64_t *random, double *parameters)
{
    int count = set->parameters(rows);
    if (count < 0) return -1;
    if (strcmp(set->name, "polygon") == 0) return sample_polygon(random, parameters);
    if (strcmp(set->name, "support") == 0) return sample_shape(rows - 1, random, parameters);
    for (int i = 0; i < count; i++) parameters[i] = fabs(test_random(random));
    if (strcmp(set->name, "support_function") == 0) parameters[1] = handle, parameters[2] = 1;
    for (int i = 0; i < rows && strcmp(set->name, "box") == 0; i++) parameters[i] *= -1;
    return count;
}

static void prox_twice_is_prox_once(const cs_set *set)
{
    uint64_t random = 21;
    for (int round = 0; round < 300; round++) {
        int rows = round % CS_MAX_ROWS + 1;
        double parameters[MOST_PARAMETERS], once[CS_MAX_ROWS], twice[CS_MAX_ROWS];
        if (sample_parameters(set, rows, &random, parameters) < 0) continue;
        for (int i = 0; i < rows; i++) once[i] = anywhere(&random);
        set->prox_f64(rows, once, parameters, NULL);
        memcpy(twice, once, sizeof once);
        set->prox_f64(rows, twice, parameters, NULL);
        CHECK_ALL_NEAR(rows, twice, once, 10 * 2 * DBL_EPSILON); /* exact but for the disc's root */
    }
}

static void both_precisions_agree(const cs_set *set)
{
    uint64_t random = 23;
    for (int round = 0; round < 300; round++) {
        int rows = round % CS_MAX_ROWS + 1;
        double parameters[MOST_PARAMETERS], wide[CS_MAX_ROWS], previous[CS_MAX_ROWS];
        float parameters_f32[MOST_PARAMETERS], narrow[CS_MAX_ROWS], previous_f32[CS_MAX_ROWS];
        int count = sample_parameters(set, rows, &random, parameters);
        if (count < 0) continue;
        for (int i = 0; i < count; i++) parameters[i] = parameters_f32[i] = (float)parameters[i];
        for (int i = 0; i < rows; i++) {
            wide[i] = narrow[i] = (float)anywhere(&random);
            previous[i] = previous_f32[i] = (float)anywhere(&random);
        }
        set->prox_f64(rows, wide, parameters, round % 2 ? previous : NULL);
        set->prox_f32(rows, narrow, parameters_f32, round % 2 ? previous_f32 : NULL);
        for (int i = 0; i < rows; i++)
            CHECK_NEAR((double)narrow[i], wide[i], 10 * 2 * (double)FLT_EPSILON);
    }
}

/* ---- names, rows, parameters ----------------------------------------------------------------- */

static void rows_and_parameters(void)
{
    for (int rows = 1; rows <= 6; rows++) {
        CHECK(cs_set_parameters("free", rows) == 0);
        CHECK(cs_set_parameters("box", rows) == 2 * rows);
        CHECK(cs_set_parameters("half_line", rows) == 0);
        CHECK(cs_set_parameters("disc", rows) == (rows == 2 || rows == 3 ? 1 : -1));
    }
    const char *name;
    for (int i = 0; (name = cs_set_name(i, NULL)); i++) {
        CHECK(cs_set_parameters(name, 0) == -1);
        CHECK(cs_set_parameters(name, -1) == -1);
        CHECK(cs_set_parameters(name, 7) == -1);
        CHECK(cs_set_find(name) && strcmp(cs_set_find(name)->name, name) == 0);
        CHECK(cs_set_find(name)->kind == i);
        int variable = strcmp(name, "polygon") == 0 || strcmp(name, "support") == 0;
        CHECK(cs_set_is_variable(name) == variable);
    }
    CHECK(cs_set_name(-1, NULL) == NULL);
    CHECK(cs_set_find("cone") == NULL && cs_set_parameters("cone", 3) == -1);
}

static void descriptions(void)
{
    cs_set_properties info = {0};
    CHECK(cs_set_properties_of("rolling", 5, &info) && info.contact && info.frictional &&
          info.balls);
    CHECK(info.circular && info.coupled_set[2] == 1 && info.coupled_set[4] == 2);
    CHECK(cs_set_properties_of("second_order_cone", 3, &info) && info.balls && !info.circular);
    CHECK(info.coupled_set[0] == info.coupled_set[2]);
    CHECK(cs_set_properties_of("half_line", 1, &info) && info.contact && !info.frictional);
    CHECK(cs_set_properties_of("free", 6, &info) && !info.contact && info.coupled_set[5] == 5);
    CHECK(!cs_set_properties_of("free", 7, &info) && !cs_set_properties_of("disc", 5, &info));
    CHECK(!cs_set_properties_of("cone", 3, &info));
}

static void coupled_rows(void)
{
    static const int decoupled[] = {0, 1, 1, 2};
    int coupled[CS_MAX_ROWS];
    cs_set_find("disc")->coupling(3, coupled);
    CHECK(coupled[0] == 0 && coupled[1] == 1 && coupled[2] == 1);
    cs_set_find("box")->coupling(6, coupled);
    for (int i = 0; i < 6; i++) CHECK(coupled[i] == i);
    cs_set_find("contensou")->coupling(4, coupled);
    for (int i = 0; i < 4; i++) CHECK(coupled[i] == decoupled[i]);
    cs_set_find("contensou_coupled")->coupling(4, coupled);
    for (int i = 0; i < 4; i++) CHECK(coupled[i] == (i > 0));
    cs_set_find("second_order_cone")->coupling(3, coupled);
    for (int i = 0; i < 3; i++) CHECK(coupled[i] == 0);
}

/* ---- shapes of friction ---------------------------------------------------------------------- */

/* With the support function: x is the nearest point of C to z where (z - x) . x is all that C
 * reaches in the direction of z - x, and x itself reaches no further than C anywhere. */
static void friction_is_a_projection(const cs_set *set)
{
    uint64_t random = 27;
    for (int round = 0; round < 600; round++) {
        int rows = round % CS_MAX_ROWS + 1, last, coupled[CS_MAX_ROWS];
        double parameters[MOST_PARAMETERS], z[CS_MAX_ROWS], x[CS_MAX_ROWS], gap[CS_MAX_ROWS];
        if (sample_parameters(set, rows, &random, parameters) < 0 || rows < 2) continue;
        set->coupling(rows, coupled);
        last = coupled[rows - 1];
        for (int i = 0; i < rows; i++) z[i] = x[i] = anywhere(&random);
        set->prox_f64(rows, x, parameters, NULL);
        for (int i = 0; i < rows; i++) gap[i] = z[i] - x[i];
        for (int s = coupled[1]; s <= last; s++) {
            double work = 0, reach = x[0] * set->reach(rows, s, parameters, gap);
            for (int i = 1; i < rows; i++) work += coupled[i] == s ? gap[i] * x[i] : 0;
            CHECK_NEAR(work, reach, 100 * 32 * DBL_EPSILON);
            for (int probe = 0; probe < 20; probe++) {
                double v[CS_MAX_ROWS] = {0}, product = 0;
                for (int i = 1; i < rows; i++) v[i] = test_random(&random);
                for (int i = 1; i < rows; i++) product += coupled[i] == s ? v[i] * x[i] : 0;
                CHECK(product <= x[0] * set->reach(rows, s, parameters, v) + 1e-14);
            }
        }
    }
}

/* Bad parameters are told by the number of the block among all, not within its group. */
static void bad_parameters_are_told(void)
{
    cs_error error = {0};
    double mu[] = {0, 0.5, -0.1}, lo_hi[] = {0, 0, 1, 1, 0, 2, 1, 1.5};
    const cs_set *disc = cs_set_find("disc"), *box = cs_set_find("box");
    CHECK_STATUS(cs_check_parameters(disc, 2, 3, 1, mu, 40, &error), CS_OK, &error);
    CHECK_STATUS(cs_check_parameters(disc, 3, 3, 1, mu, 40, &error), CS_INVALID, &error);
    CHECK(strncmp(error.message, "mu[42] is -0.1: ", 16) == 0);
    CHECK_STATUS(cs_check_parameters(box, 1, 2, 4, lo_hi, 40, &error), CS_OK, &error);
    CHECK_STATUS(cs_check_parameters(box, 2, 2, 4, lo_hi, 40, &error), CS_INVALID, &error);
    CHECK(strcmp(error.message, "lo[41, 1] is 2, above hi[41, 1] = 1.5") == 0);
    double bad[] = {NAN, INFINITY, -1e-300};
    for (int i = 0; i < 3; i++)
        CHECK(cs_check_parameters(disc, 1, 3, 1, &bad[i], 0, NULL) == CS_INVALID);
    double wrong[][2] = {{NAN, 0}, {0, NAN}, {INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
    for (int i = 0; i < 4; i++)
        CHECK(cs_check_parameters(box, 1, 1, 2, wrong[i], 0, NULL) == CS_INVALID);
}

/* ---- functions of the caller's --------------------------------------------------------------- */

static int gives_up(void *context, int64_t block, int n, const double *direction, double *point)
{
    (void)block, (void)n, (void)direction, (void)point;
    ++*(int *)context;
    return 1;
}

static void a_failed_function_leaves_no_friction(void)
{
    int calls = 0;
    cs_support failing = {gives_up, &calls};
    int place = cs_support_register(&failing);
    double parameters[] = {0.5, place, 0}, z[] = {1, 2, 3}, along[] = {0, 1, 0};
    const cs_set *set = cs_set_find("support_function");
    CHECK(place > 0 && place != handle);
    set->prox_f64(3, z, parameters, NULL);
    CHECK(calls == 1 && z[0] == 1 && z[1] == 0 && z[2] == 0);
    CHECK(isnan(set->reach(3, 1, parameters, along)));
    cs_support_release(place);
    cs_error error = {0};
    CHECK_STATUS(cs_check_parameters(set, 1, 3, 3, parameters, 7, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "contact 7 has no support function of the handle") != NULL);
    z[1] = 1;
    set->prox_f64(3, z, parameters, NULL); /* a handle that is gone calls nobody */
    CHECK(calls == 2 && z[1] == 0);
    CHECK(cs_support_register(&failing) == place);
    cs_support_release(place);
    cs_support_release(0);
    cs_support_release(CS_MAX_SUPPORTS + 1);
}

static void handles_run_out(void)
{
    static int places[CS_MAX_SUPPORTS];
    int count = 0;
    while (count < CS_MAX_SUPPORTS && (places[count] = cs_support_register(&balls))) count++;
    CHECK(count == CS_MAX_SUPPORTS - 1 && cs_support_register(&balls) == 0);
    for (int i = 0; i < count; i++) cs_support_release(places[i]);
}

/* Every length that is not the shape's own is told, not read beyond. */
static void shapes_of_wrong_lengths_are_told(void)
{
    uint64_t random = 31;
    double parameters[MOST_PARAMETERS];
    const cs_set *set = cs_set_find("support");
    int count = sample_shape(2, &random, parameters);
    cs_error error = {0};
    CHECK_STATUS(cs_check_parameters(set, 1, 3, count, parameters, 0, &error), CS_OK, &error);
    for (int each = 3; each < count; each++) {
        double *copy = malloc(sizeof(double) * (size_t)each); /* watched by the sanitizer */
        memcpy(copy, parameters, sizeof(double) * (size_t)each);
        CHECK(cs_check_parameters(set, 1, 3, each, copy, 0, NULL) == CS_INVALID);
        copy[2] = each - 1; /* as if it were so long: what is inside is not */
        /* Without its second part the sum is whole again. */
        CHECK(cs_check_parameters(set, 1, 3, each, copy, 0, NULL) ==
              (each == 7 ? CS_OK : CS_INVALID));
        free(copy);
    }
    for (int i = 1; i < 5; i++)
        for (int bad = 0; bad < 4; bad++) {
            double kept = parameters[i];
            parameters[i] = (double[]){NAN, -1, 1e9, 0.5}[bad];
            CHECK(cs_check_parameters(set, 1, 3, count, parameters, 0, NULL) == CS_INVALID);
            parameters[i] = kept;
        }
}

int main(void)
{
    handle = cs_support_register(&balls);
    CHECK(handle > 0);
    box_is_a_projection();
    half_line_is_a_projection();
    free_is_the_identity();
    disc_is_a_projection();
    disc_leaves_sticking_impulses_alone();
    for (int i = 0; cs_set_name(i, NULL); i++) {
        if (cs_set_find(cs_set_name(i, NULL))->reach)
            friction_is_a_projection(cs_set_find(cs_set_name(i, NULL)));
        prox_twice_is_prox_once(cs_set_find(cs_set_name(i, NULL)));
        both_precisions_agree(cs_set_find(cs_set_name(i, NULL)));
    }
    rows_and_parameters();
    descriptions();
    coupled_rows();
    a_failed_function_leaves_no_friction();
    handles_run_out();
    shapes_of_wrong_lengths_are_told();
    cs_support_release(handle);
    bad_parameters_are_told();
    return test_result();
}
