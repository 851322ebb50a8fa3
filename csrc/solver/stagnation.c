#include "solver/stagnation.h"

#include <math.h>
#include <stdlib.h>

#define NARROW 2 /* largest over least residual of a band that counts as standing still */

void cs_stagnation_begin(cs_stagnation *watch)
{
    watch->reference = INFINITY;
    watch->since = watch->seen = watch->count = 0;
    watch->stride = 1;
}

void cs_stagnation_resume(cs_stagnation *watch, int64_t number, double reference)
{
    cs_stagnation_begin(watch);
    watch->reference = reference;
    watch->since = number;
}

static void keep(cs_stagnation *watch, double residual)
{
    if (watch->seen++ % watch->stride != 0) return;
    if (watch->count == CS_WATCHED) {
        for (int i = 0; i < CS_WATCHED / 2; i++) watch->value[i] = watch->value[2 * i];
        watch->count = CS_WATCHED / 2;
        watch->stride *= 2;
    }
    watch->value[watch->count++] = residual;
}

int cs_stagnation_test(cs_stagnation *watch, int64_t number, double residual, int64_t patience)
{
    if (residual <= watch->reference / 2 || !isfinite(watch->reference)) {
        watch->reference = residual;
        watch->since = number;
        watch->seen = watch->count = 0;
        watch->stride = 1;
    }
    keep(watch, residual);
    return patience > 0 && number - watch->since >= patience;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

cs_outcome cs_stagnation_verdict(cs_stagnation *watch, double *band)
{
    qsort(watch->value, (size_t)watch->count, sizeof(double), ascending);
    band[0] = watch->value[0];
    band[1] = watch->value[watch->count / 2];
    band[2] = watch->value[watch->count - 1];
    return band[2] <= NARROW * band[0] ? CS_STALLED : CS_WANDERING;
}
