#include "prox/support_callback.h"

#include "prox/gjk.h"

#include <stdatomic.h>
#include <stddef.h>

/* The registered functions. Every prox on any thread looks one up, so that there is no lock: registering and
 * releasing a function are single atomic operations on a pointer. */
static _Atomic(const cs_support *) places[CS_MAX_SUPPORTS];

int cs_support_register(const cs_support *support)
{
    for (int i = 0; i < CS_MAX_SUPPORTS; i++) {
        const cs_support *none = NULL;
        if (atomic_compare_exchange_strong(&places[i], &none, support)) return i + 1;
    }
    return 0;
}

void cs_support_release(int handle)
{
    if (handle >= 1 && handle <= CS_MAX_SUPPORTS) atomic_store(&places[handle - 1], NULL);
}

const cs_support *cs_support_find(double handle)
{
    if (!(handle >= 1 && handle <= CS_MAX_SUPPORTS) || handle != (int)handle) return NULL;
    return atomic_load(&places[(int)handle - 1]);
}

/* The context of one nearest-point search: the function and the block that it is called for. */
typedef struct call {
    const cs_support *support;
    int64_t block;
} call;

static int call_support(const void *context, int n, const double *direction, double *point)
{
    const call *c = context;
    return c->support->point(c->support->context, c->block, n, direction, point);
}

void cs_nearest_by_function(double handle, double block, int n, double scale, double *z)
{
    call c = {cs_support_find(handle), (int64_t)block};
    cs_oracle oracle = {call_support, &c, n};
    if (c.support) cs_nearest_in_scaled(&oracle, scale, z);
    for (int i = 0; i < n && !c.support; i++) z[i] = 0;
}

void cs_slope_by_function(double handle, double block, int n, double scale, const double *z,
                          const double *p, double *G)
{
    call c = {cs_support_find(handle), (int64_t)block};
    cs_oracle oracle = {call_support, &c, n};
    if (c.support) cs_slope_in_scaled(&oracle, scale, z, p, G);
    for (int i = 0; i < n * n && !c.support; i++) G[i] = 0;
}
