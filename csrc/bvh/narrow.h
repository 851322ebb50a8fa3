/* The narrow phase: distances and continuous collision detection of many stencils, which threads share.
 *
 * Each stencil is a computation of its own, and a least time is a minimum: results have the same bits on any number of
 * threads. `threads`: the most, 0 for all that are available. Calls return CS_INTERRUPTED if `cancellation` ends them. */
#ifndef CS_NARROW_H
#define CS_NARROW_H

#include "bvh/stencil.h"
#include "core/cancellation.h"
#include "core/error.h"

/* distance (count), weight (count, 4) and separation (count, 3) at the positions `start`. */
typedef struct cs_distances {
    double *distance, *weight, *separation;
} cs_distances;
cs_status cs_stencil_distances(const cs_stencils *stencils, const cs_distances *to, int threads,
                               cs_cancellation *cancellation);

/* What is known of hits; of others, time is infinite, weight and separation are NaN. */
typedef struct cs_impacts {
    uint8_t *hit, *doubtful;     /* (count) */
    double *time;                /* (count) */
    double *weight, *separation; /* (count, 4), (count, 3), at that time */
} cs_impacts;
cs_status cs_stencil_impacts(const cs_stencils *stencils, double margin, const cs_impacts *to,
                             int threads, cs_cancellation *cancellation);

/* least <- the least time of all hits, or 1. Threads leave a stencil as soon as it is known not to be the first. */
cs_status cs_stencil_free_step(const cs_stencils *stencils, double margin, int threads,
                               cs_cancellation *cancellation, double *least);

#endif
