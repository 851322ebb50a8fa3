/* L U by profiles (linalg/profile.h): solutions of random systems, refused ones, work counted. */
#include "linalg/profile.h"
#include "testing.h"

#include <string.h>

enum { MOST = 40 };

/* A random profile with a heavy diagonal, its dense copy into `dense`. */
static void fill(cs_profile *profile, uint64_t *random, double *dense)
{
    int64_t rows = profile->rows;
    memset(dense, 0, sizeof(double) * MOST * MOST);
    cs_profile_clear(profile);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = profile->first[i]; j <= i; j++) {
            double lower = test_random(random), upper = test_random(random);
            dense[i * MOST + j] = cs_profile_row(profile, i)[j] = i == j ? 9 + lower : lower;
            if (i != j) dense[j * MOST + i] = cs_profile_row(profile, j)[i] = upper;
        }
}

static void random_systems(void)
{
    uint64_t random = 7;
    for (int64_t rows = 0; rows <= MOST; rows++) {
        int64_t first[MOST];
        double dense[MOST * MOST], x[MOST], b[MOST] = {0}, count = 0;
        for (int64_t i = 0; i < rows; i++) {
            first[i] = (int64_t)((double)(i + 1) * (test_random(&random) + 1) / 2);
            if (first[i] > i) first[i] = i;
        }
        cs_arena arena = {0};
        cs_profile profile = {0};
        CHECK(!cs_profile_shape(&profile, rows, first, &arena));
        CHECK(!cs_profile_take(&profile, &arena));
        fill(&profile, &random, dense);
        for (int64_t i = 0; i < rows; i++) x[i] = test_random(&random);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < rows; j++) b[i] += dense[i * MOST + j] * x[j];
        for (int64_t i = 0; i < rows; i++) CHECK(profile.end[i] > i && profile.end[i] <= rows);
        for (int64_t i = 1; i < rows; i++) CHECK(profile.end[i] >= profile.end[i - 1]);
        CHECK(!cs_profile_factor(&profile));
        cs_profile_solve(&profile, b);
        CHECK_ALL_NEAR(rows, b, x, 1e-13);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = profile.first[i]; k < i; k++) count += (double)(profile.end[k] - k);
        CHECK(count <= cs_profile_work(&profile));
        cs_arena_clear(&arena);
    }
}

static void vanishing_pivots(void)
{
    const int64_t first[2] = {0, 0};
    cs_arena arena = {0};
    cs_profile profile = {0};
    CHECK(!cs_profile_shape(&profile, 2, first, &arena));
    CHECK(!cs_profile_take(&profile, &arena));
    for (int i = 0; i < 2; i++) cs_profile_row(&profile, i)[1 - i] = 1;
    CHECK(cs_profile_factor(&profile));
    cs_profile_clear(&profile);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) cs_profile_row(&profile, i)[j] = 1;
    CHECK(cs_profile_factor(&profile));
    cs_arena_clear(&arena);
}

int main(void)
{
    random_systems();
    vanishing_pivots();
    return test_result();
}
