/* What the sums over a direction say (measure/certificate.h), for the device and the host. */
#ifndef CS_DEVICE_RAY_H
#define CS_DEVICE_RAY_H

#include "backend/device.h"

#include <math.h>

/* Contacts at which a direction is measured first. */
enum { CS_RAY_SAMPLE = CS_DEVICE_THREADS };

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
