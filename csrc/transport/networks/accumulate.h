/* What workers and an accumulator on threads (accumulate.c) and on ranks (accumulate_on_ranks.c) have in common. */
#ifndef CS_ACCUMULATE_H
#define CS_ACCUMULATE_H

#include "transport/networks/network.h"

typedef struct cs_accumulation_options {
    int pages_apart; /* a channel for each worker: on ranks each worker has one */
    int two_copies;  /* w_in and w_out */
    double ahead;    /* share of its parts that a worker visits ahead */
    int poison;      /* how the network ends */
} cs_accumulation_options;

/* Makes the links of processes on ranks; makes the sweeps of a run by them. */
cs_status cs_accumulation_link(cs_network_run *run, const cs_accumulation_options *options,
                               cs_error *error);
cs_status cs_accumulate_on_ranks(cs_network_run *run, const cs_accumulation_options *options,
                                 cs_error *error);

#endif
