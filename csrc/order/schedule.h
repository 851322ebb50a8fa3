/* Who sees whose values: the order of a sweep.
 *
 *     schedule = stage | stage | ...          one after another
 *     stage    = range | range | ...          of one kind
 *     range    = consecutive visits to the blocks of one group
 *
 * Jacobi is one simultaneous stage, Gauss-Seidel one sequential stage; later orders (colours,
 * partitions) are longer lists of stages. */
#ifndef CS_SCHEDULE_H
#define CS_SCHEDULE_H

#include "problem/problem.h"

typedef enum cs_stage_kind {
    CS_SEQUENTIAL,   /* every block sees the ones before it */
    CS_SIMULTANEOUS, /* every block sees the values from before the stage */
} cs_stage_kind;

typedef struct cs_range {
    int group;
    int64_t first, count; /* visits to the group: places in visit[group] */
} cs_range;

typedef struct cs_stage {
    cs_stage_kind kind;
    int64_t first_range, ranges;
} cs_stage;

typedef struct cs_schedule {
    cs_stage *stage;
    cs_range *range;
    int64_t stages, ranges;
    int64_t *visit[CS_MAX_GROUPS]; /* (group's count): blocks of the group, as visited */
    int natural;                   /* every group is visited in its own order */
} cs_schedule;

typedef struct cs_order {
    const char *name, *summary;
    /* Fills `sequence` (blocks) with the blocks in the order of their visits. */
    void (*sequence)(const cs_problem *problem, uint64_t seed, int64_t *sequence);
} cs_order;

/* The order of that name, or NULL. */
const cs_order *cs_order_find(const char *name);

/* One stage over the blocks in the order of `sequence` (blocks). */
cs_status cs_schedule_single(const cs_problem *problem, cs_stage_kind kind, const int64_t *sequence,
                             cs_arena *arena, cs_schedule *schedule, cs_error *error);

#endif
