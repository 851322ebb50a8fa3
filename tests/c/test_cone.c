/* Second-order cones for interior points: the scaling, Jordan's product, the way to the wall. */
#include "methods/interior/cone.h"

#include "testing.h"

enum { TRIES = 200 };

static uint64_t state = 7;

/* A point inside, `margin` from the wall or less. */
static void inside(int rows, double margin, double *x)
{
    double square = 0;
    for (int i = 1; i < rows; i++) {
        x[i] = test_random(&state);
        square += x[i] * x[i];
    }
    x[0] = sqrt(square) + margin * (1.5 + test_random(&state));
}

static void scaling_makes_both_the_same(int rows, double margin)
{
    for (int i = 0; i < TRIES; i++) {
        double x[CS_CONE_ROWS], y[CS_CONE_ROWS], of_x[CS_CONE_ROWS], back[CS_CONE_ROWS];
        cs_scaling s;
        inside(rows, margin, x);
        inside(rows, 1, y);
        CHECK(cs_scaling_of(rows, x, y, &s) == 0);
        cs_scale(&s, -1, x, of_x);
        CHECK_ALL_NEAR(rows, of_x, s.v, 1e-14 / margin);
        cs_scale(&s, 1, of_x, back);
        CHECK_ALL_NEAR(rows, back, x, 1e-14 / margin);
        double shifted[CS_CONE_ROWS], twice[CS_CONE_ROWS], want[CS_CONE_ROWS];
        cs_scale_shifted(&s, 0, 0, of_x, shifted);
        CHECK_ALL_NEAR(rows, shifted, x, 1e-14 / margin);
        cs_scale_shifted(&s, 0.3, 0, x, shifted);
        cs_scale_shifted(&s, 0.3, 0, shifted, twice); /* (V^-2 + 0.3)^-1 x */
        cs_scale(&s, -1, twice, want);
        cs_scale(&s, -1, want, want);
        for (int r = 0; r < rows; r++) want[r] += 0.3 * twice[r];
        CHECK_ALL_NEAR(rows, want, x, 1e-12 / margin);
    }
}

static void division_undoes_the_product(int rows)
{
    for (int i = 0; i < TRIES; i++) {
        double x[CS_CONE_ROWS], y[CS_CONE_ROWS], product[CS_CONE_ROWS], back[CS_CONE_ROWS];
        inside(rows, 0.1, x);
        for (int r = 0; r < rows; r++) y[r] = test_random(&state);
        cs_jordan_multiply(rows, x, y, product);
        cs_jordan_divide(rows, x, product, back);
        CHECK_ALL_NEAR(rows, back, y, 1e-12);
    }
}

static void the_wall_is_where_reach_says(int rows)
{
    int never = 0;
    for (int i = 0; i < TRIES; i++) {
        double x[CS_CONE_ROWS], d[CS_CONE_ROWS], square = 0;
        inside(rows, 0.5, x);
        for (int r = 0; r < rows; r++) d[r] = test_random(&state);
        double part = cs_cone_reach(rows, x, d);
        never += isinf(part);
        if (isinf(part)) part = 1e9;
        for (int r = 1; r < rows; r++) square += (x[r] + part * d[r]) * (x[r] + part * d[r]);
        double left = x[0] + part * d[0] - sqrt(square);
        if (part < 1e9) CHECK(fabs(left) < 1e-9 * (1 + part));
        else CHECK(left >= 0);
    }
    CHECK(never > 0 && never < TRIES);
}

int main(void)
{
    const double outside[] = {1, 1, 0.1};
    const double good[] = {1, 0, 0};
    cs_scaling s;
    CHECK(cs_scaling_of(3, outside, good, &s) == -1);
    CHECK(cs_scaling_of(3, good, outside, &s) == -1);
    for (int rows = 2; rows <= 3; rows++) {
        scaling_makes_both_the_same(rows, 1);
        scaling_makes_both_the_same(rows, 1e-4);
        division_undoes_the_product(rows);
        the_wall_is_where_reach_says(rows);
    }
    return test_result();
}
