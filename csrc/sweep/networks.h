/* Sweeps by a network of processes (transport/networks/network.h) in place of phases: S1's parallel designs, over the
 * same packed data and with the same functions of the scheme, so that impulses have the bits of cs_sweep. */
#ifndef CS_SWEEP_NETWORKS_H
#define CS_SWEEP_NETWORKS_H

#include "scheme/scheme.h"
#include "transport/networks/network.h"

typedef struct cs_sweep_network cs_sweep_network;

/* Sweeps of one call. */
typedef struct cs_network_call {
    int64_t most; /* sweeps */
    /* Called after each sweep. Returns whether it is the last one; keep <- where the next one shall copy lambda
     * before it changes it (impulses), or NULL. */
    int (*judge)(void *context, const cs_sweep_stats *stats, void **keep);
    void *context;
    void *keep; /* the same for the first sweep */

    /* On ranks. best: where `judge` lets impulses be copied to. state (state_bytes, at most CS_NETWORK_STATE_BYTES):
     * what `judge` writes, on the rank of the accumulator; after the run all ranks have it. */
    void *best, *state;
    int64_t state_bytes;
} cs_network_call;

enum { CS_NETWORK_STATE_BYTES = 256 };

/* Prepares sweeps of `packed` by the network of that name. settings (count): its options. Memory from `arena` has to
 * live as long as the packing. ranks: those of the processes, each of which has packed the whole problem, with links of
 * no other network; then all ranks call this, and agree on a failure; or NULL: processes are threads. Fails with
 * CS_UNKNOWN_NAME, with CS_INVALID if the network does not make such sweeps, or for options out of range, and with
 * CS_UNSUPPORTED on ranks if its messages are pointers. */
cs_status cs_sweep_network_make(cs_sweep_network **made, cs_packed *packed, const char *name,
                                int workers, const cs_setting *settings, int count,
                                cs_network_ranks *ranks, cs_arena *arena, cs_error *error);

/* Makes the sweeps. The caller flushes denormals. On ranks it is collective, and all of them have the results. Fails
 * with CS_NO_MEMORY, with CS_UNSUPPORTED without as many threads, and on ranks as messages do; the impulses are then
 * undefined. */
cs_status cs_sweep_network_run(cs_sweep_network *network, const cs_network_call *call,
                               cs_error *error);

/* What has passed through its channels so far. */
const cs_network_counts *cs_sweep_network_counts(const cs_sweep_network *network);

#endif
