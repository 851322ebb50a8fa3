#include "solver/stagnation.h"

#include <math.h>
#include <stdlib.h>

#define NARROW 2 /* largest ratio of the largest to the least residual of a stalled solve */

void cs_stagnation_begin(cs_stagnation *test)
{
    test->reference = INFINITY;
    test->since = test->seen = test->count = 0;
    test->stride = 1;
}

/* Keeps every `stride`-th residual. If the array is full, every second one is dropped and the stride doubles. */
static void keep(cs_stagnation *test, double residual)
{
    if (test->seen++ % test->stride != 0) return;
    if (test->count == CS_STAGNATION_VALUES) {
        for (int i = 0; i < CS_STAGNATION_VALUES / 2; i++) test->value[i] = test->value[2 * i];
        test->count = CS_STAGNATION_VALUES / 2;
        test->stride *= 2;
    }
    test->value[test->count++] = residual;
}

int cs_stagnation_test(cs_stagnation *test, int64_t number, double residual, int64_t patience)
{
    if (residual <= test->reference / 2 || !isfinite(test->reference)) {
        test->reference = residual;
        test->since = number;
        test->seen = test->count = 0;
        test->stride = 1;
    }
    keep(test, residual);
    return patience > 0 && number - test->since >= patience;
}

/* The comparison function of qsort. */
static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

cs_outcome cs_stagnation_verdict(cs_stagnation *test, double *band)
{
    qsort(test->value, (size_t)test->count, sizeof(double), ascending);
    band[0] = test->value[0];
    band[1] = test->value[test->count / 2];
    band[2] = test->value[test->count - 1];
    return band[2] <= NARROW * band[0] ? CS_STALLED : CS_WANDERING;
}
