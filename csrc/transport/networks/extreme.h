/* What the extreme network on threads (extreme.c) and on ranks (extreme_on_ranks.c) have in common. */
#ifndef CS_EXTREME_H
#define CS_EXTREME_H

#include "transport/networks/network.h"

typedef struct cs_extreme_options {
    int data;       /* messages hold data, not numbers of contacts */
    int merged;     /* dispatcher and accumulator are one process */
    int64_t places; /* of each channel of the workers; on ranks, of each worker */
    int poison;     /* how the network ends */
} cs_extreme_options;

/* The beginning of a task and of a result; the data follow. */
typedef struct cs_extreme_task {
    int64_t part, sweep; /* part -1: stop */
} cs_extreme_task;

typedef struct cs_extreme_result {
    int64_t part;
    cs_network_stats stats;
} cs_extreme_result;

/* Makes the links of processes on ranks; makes the sweeps of a run by them. */
cs_status cs_extreme_link(cs_network_run *run, const cs_extreme_options *options, cs_error *error);
cs_status cs_extreme_on_ranks(cs_network_run *run, const cs_extreme_options *options,
                              cs_error *error);

#endif
