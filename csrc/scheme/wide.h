/* Visits to several contacts at once, one in each lane of a vector.
 *
 *     a stage's contacts   c0 c1 c2 c3 | c4 c5 c6 c7 | c8 c9 -  -        batches of 4 lanes
 *
 * The contacts of a batch share no moving body, so that a visit to all of them at once gives the same result as
 * visits one after another. In an independent stage this holds for any contacts. In other stages, a batch takes
 * consecutive visits until one shares a body with it; the batches are found from the bodies, not from the schedule.
 * In a simultaneous stage, any contacts may form a batch; their contributions to u are then summed body by body.
 *
 * The scheme itself visits one after another the groups that do not fit: shapes without a kernel, blocks whose local
 * problems are solved, and orders with too few consecutive visits that do not share bodies. */
#ifndef CS_WIDE_H
#define CS_WIDE_H

#include "scheme/scheme.h"

/* The natural map of some batches (measure/measure.h): maxima over their coupled sets. `excess` is that of
 * Delta_s - tau_s where V is not zero; `finite`: no impulse or velocity is infinite or NaN. */
typedef struct cs_batch_map {
    double impulse, velocity, scaled, excess;
    int finite;
} cs_batch_map;

/* One build of the kernels. */
typedef struct cs_wide_kernels {
    const char *name;
    int lanes[CS_DTYPES];
    /* Visits batches first .. end - 1 of a group, and adds to `stats`. If `stats` is NULL, it does not change lambda
     * and computes u += G^T lambda. A group with contributions gets new contributions instead of changes of u. */
    void (*visit[CS_DTYPES])(const cs_packed *packed, const cs_packed_group *group, int64_t first,
                             int64_t end, cs_sweep_stats *stats);
    /* In double precision: the natural map of these batches. */
    void (*measure)(const cs_packed *packed, const cs_packed_group *group,
                    const cs_map_bounds *bounds, int64_t first, int64_t end, cs_batch_map *map);
    /* In mixed precision: b -= G u of these batches. */
    void (*subtract)(const cs_packed *packed, const cs_packed_group *group, int64_t first,
                     int64_t end);
} cs_wide_kernels;

/* How u = G^T lambda follows a simultaneous stage: the words of the option `velocities` of factorized. */
typedef enum cs_velocities {
    CS_AS_FITS,    /* recomputed after large stages, added to after small ones */
    CS_RECOMPUTE,  /* from all contacts, body by body */
    CS_ADD,        /* the stage's changes added, one contact after another */
    CS_ACCUMULATE, /* the changes summed by each part of the stage, these sums added in order */
} cs_velocities;

/* The word that a packed problem of the scheme factorized has. */
cs_velocities cs_velocities_of(const cs_packed *packed);

/* Chooses the kernels and lays out the groups that they visit. */
cs_status cs_wide_lay_out(cs_packed *packed, const cs_local *local, cs_arena *arena,
                          cs_error *error);

/* Stores the roots of M^-1, which compressed contacts need, beside the velocities of the bodies. The second function
 * writes them again where the first one has allocated what they need; velocities of all bodies have to be zero. */
cs_status cs_wide_pack_roots(cs_packed *packed, cs_arena *arena, cs_error *error);
void cs_wide_put_roots(cs_packed *packed);

/* The batches of a range: from cs_first_batch to cs_end_batch - 1. */
static inline int64_t cs_first_batch(const cs_packed_group *group, const cs_range *range)
{
    return group->slot[range->first] / group->lanes;
}

static inline int64_t cs_end_batch(const cs_packed_group *group, const cs_range *range)
{
    return group->slot[range->first + range->count - 1] / group->lanes + 1;
}

#endif
