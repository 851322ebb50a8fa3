/* What an exchange costs, for benchmarks and for the choice of the number of ranks. */
#ifndef CS_TRANSPORT_EXCHANGE_COST_H
#define CS_TRANSPORT_EXCHANGE_COST_H

#include "transport/transport.h"

/* Collective: each rank exchanges `bytes` with its partner (rank 2k with 2k + 1; the last of an odd number has none)
 * `count` times. seconds <- mean time of an exchange with all that it waits. */
cs_status cs_exchange_cost(cs_transport *transport, int64_t bytes, int64_t count, double *seconds,
                           cs_error *error);

/* One thread plays two ranks that are threads, so that no message has to be waited for. seconds <- mean time that a
 * rank works for an exchange of `bytes` with one neighbour. */
cs_status cs_exchange_work(int64_t bytes, int64_t count, double *seconds, cs_error *error);

#endif
