/* What an exchange costs, for benchmarks and for the choice of the number of ranks. */
#ifndef CS_TRANSPORT_EXCHANGE_COST_H
#define CS_TRANSPORT_EXCHANGE_COST_H

#include "transport/transport.h"

/* Collective: each rank exchanges `bytes` with its partner (rank 2k with 2k + 1; the last of an odd number has
 * none) `count` times, and works for `pause` seconds between the begin and the end of each exchange. seconds <-
 * mean time of an exchange, without the pauses. Without a pause it is o + L + G bytes of the model LogGP
 * (Alexandrov, Ionescu, Schauser, Scheiman, LogGP, J. Parallel Distrib. Comput. 44, 1997), with o of a message sent
 * and one received; after a pause that is longer, messages have arrived, and o alone remains. */
cs_status cs_exchange_cost(cs_transport *transport, int64_t bytes, int64_t count, double pause,
                           double *seconds, cs_error *error);

/* One thread plays two ranks that are threads, so that no message has to be waited for. seconds <- mean time that a
 * rank works for an exchange of `bytes` with one neighbour. */
cs_status cs_exchange_work(int64_t bytes, int64_t count, double *seconds, cs_error *error);

#endif
