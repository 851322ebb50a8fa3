/* Several sweeps of a device in one launch: by dataflow (cuda/dataflow.inc), by counters (cuda/counter.inc), with T on the
 * chip (cuda/on_chip.inc), or by regions (cuda/regions.inc); or over whole rows of T in one graph (cuda/dense.inc). Which
 * sweeps can be made so, and what a visit waits for. */
#ifndef CS_DEVICE_FLOW_H
#define CS_DEVICE_FLOW_H

#include "backend/device.h"

/* How a device makes sweeps: the words of the option `device_sweeps`. */
typedef enum cs_device_sweeps {
    CS_SWEEPS_AUTO,     /* by dataflow, or on the chip, where that is possible, else by a graph */
    CS_SWEEPS_DATAFLOW, /* several sweeps in one launch; an error where that is not possible */
    CS_SWEEPS_COUNTER,  /* the same by counters, in any order whose updates are seen at once */
    CS_SWEEPS_ON_CHIP, /* the same over whole rows of T that stay on the chip, as far as they fit */
    CS_SWEEPS_REGIONS, /* the same in the order of regions, each by a block of threads */
    CS_SWEEPS_GRAPH,   /* a launch for each step of a sweep, captured once */
    CS_SWEEPS_LAUNCHES, /* a launch for each step of a sweep */
} cs_device_sweeps;

/* The word of the option as one of these. */
cs_device_sweeps cs_device_sweeps_of(const char *word);

/* What these need besides the packed problem, on the host. */
typedef struct cs_flow_lists {
    cs_flow_way way; /* CS_FLOW_NONE: sweeps are made by launches */
    cs_chip_plan chip;
    cs_dense_plan dense;
    cs_region_plan region;
    cs_flow_plan plan;
    cs_device_visit *visit; /* (visits) */
    uint32_t *order;        /* (visits, 2, 32) */
    int64_t visits, places;
    int64_t most_degree; /* what a number of 32 bits counts in a sweep: contacts of one body */
    int group;           /* one that has contacts */
    int set;             /* the kind of all sets; -1: there are several */
    int several;         /* whether visits are of several groups */
    int64_t *wait_start; /* (visits + 1) into wait: of counters */
    int32_t *wait;       /* the visits that a visit waits for */
} cs_flow_lists;

/* NULL if the sweeps of a packed problem can be made by dataflow, or why they cannot. */
const char *cs_flow_why_not(const cs_packed *packed);

/* Fills the lists from the steps of a forward sweep; those of a backward sweep tell the places of statistics. `why` <-
 * why dataflow is not possible after all, else NULL. */
cs_status cs_flow_lay(const cs_packed *packed, const cs_device_step *forwards,
                      const cs_device_step *backwards, int64_t steps, cs_arena *arena,
                      cs_flow_lists *lists, const char **why, cs_error *error);

/* visit <- the batches of the steps, in the order of a forward sweep; where their numbers in `order` begin. */
void cs_flow_list_visits(const cs_device_step *forwards, const cs_device_step *backwards,
                         int64_t steps, cs_device_visit *visit);

/* The place of a side's body in a lane of a batch among the moved bodies; -1 if it does not move. */
int64_t cs_flow_record_of(const cs_packed *packed, const cs_device_visit *visit, int side,
                          int lane);

/* Allocates what dataflow needs of the visits, and describes their sets. */
cs_status cs_flow_take(const cs_packed *packed, const cs_device_step *forwards, int64_t steps,
                       cs_arena *arena, cs_flow_lists *lists, cs_error *error);

/* Ranks visit[first] ... visit[visits - 1] among those of each body: order <- degree << 16 | rank. `degree` (moved_bodies)
 * <- how many there are, from 0. `why` <- why they cannot be ranked, else NULL. */
void cs_flow_rank(const cs_packed *packed, cs_flow_lists *lists, int64_t first, int32_t *degree,
                  const char **why);

/* The same two for sweeps by regions: lists->region, and visits sorted by region. */
const char *cs_regions_why_not(const cs_packed *packed);
cs_status cs_regions_lay(const cs_packed *packed, const cs_device_step *forwards,
                         const cs_device_step *backwards, int64_t steps, cs_arena *arena,
                         cs_flow_lists *lists, const char **why, cs_error *error);

/* The bytes that a block which sweeps a region shares: the velocities of the largest one. */
int64_t cs_regions_shared(const cs_packed *packed, const cs_flow_lists *lists);

/* The same two for sweeps by counters. */
const char *cs_counter_why_not(const cs_packed *packed);
cs_status cs_counter_lay(const cs_packed *packed, cs_arena *arena, cs_flow_lists *lists,
                         const char **why, cs_error *error);

/* Fills the lists of sweeps on the chip; returns why they are not possible, or NULL. */
const char *cs_on_chip_lay(const cs_packed *packed, int single_prox, const cs_chip_limits *limits,
                           cs_flow_lists *lists);

/* Sweeps in a graph: the most of them, and about the most kernels. More gain nothing. */
enum { CS_GRAPH_SWEEPS = 64, CS_GRAPH_KERNELS = 2048 };

/* Fills the lists of sweeps over whole rows of T from iterate to iterate; `shared`: bytes that a block may share. `why` <- why
 * they are not possible, else NULL. */
cs_status cs_dense_lay(const cs_packed *packed, int64_t shared, cs_arena *arena,
                       cs_flow_lists *lists, const char **why, cs_error *error);

/* How many sweeps a launch of them makes at most. */
int64_t cs_dense_sweeps(const cs_dense_plan *plan);

/* first, count <- the visits of group g in a stage: they are consecutive. Returns whether there are any. */
int cs_device_find_visits(const cs_packed *packed, const cs_stage *stage, int g, int64_t *first,
                          int64_t *count);

#endif
