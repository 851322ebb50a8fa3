/* What the sums over a direction say (measure/certificate.h), for the device and the host. */
#ifndef CS_DEVICE_RAY_H
#define CS_DEVICE_RAY_H

#include "backend/device.h"

#include <math.h>

/* Directions that a solve may ask for at its end: the impulses, what was kept, and their difference both ways; each without and
 * with friction. They are measured together at a sample of the contacts. */
enum { CS_RAY_DIRECTIONS = 8, CS_RAY_SAMPLE = CS_DEVICE_THREADS };

/* Writes direction j into the call. */
CS_INLINE void cs_ray_direction(int j, cs_ray_call *call)
{
    int way = j % 4;
    call->here = way == 1 ? 0 : way == 3 ? -1 : 1;
    call->kept = way == 0 ? 0 : way == 2 ? -1 : 1;
    call->friction = j >= 4;
}

/* Whether the direction is certainly neither a proof nor worth a refinement; `nearly` as of cs_proof_data. `seen` and `left`
 * may be those of some of the rows, since more rows do not make them smaller. The sums have another order than those of
 * the host, and the direction another scale: what is close to a bound is the host's to decide. */
CS_INLINE int cs_ray_is_hopeless(const cs_device_ray *sum, double nearly)
{
    const double rounding = 1e-9, beyond = 1.01, close = 2;
    if (!isfinite(sum->largest) || !isfinite(sum->work) || !isfinite(sum->seen)) return 0;

    /* A direction that is zero, or that b does not drive. */
    if (sum->magnitude == 0 || sum->work > rounding * sum->magnitude) return 1;

    /* What A sees is too much for a proof and for a refinement. */
    return sum->seen > beyond * nearly * sum->largest &&
           sum->left > close * (fabs(sum->work) + sum->magnitude * rounding);
}

#endif
