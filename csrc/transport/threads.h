/* Ranks that are threads of one process: for tests, notebooks and ThreadSanitizer.
 *
 *     rank 0  ──► channel of exchange n, 0 → 1 ──►  rank 1
 *             ◄── channel of exchange n, 1 → 0 ◄──
 *
 * Each message of an exchange has a channel with one place (transport/channel.h), which the first of its two ranks
 * makes and the second finds by the number of the exchange. A rank copies its message into the place and goes on;
 * it waits only if the other one has not yet read the message before. A rank that waits looks for a few
 * microseconds, then lets others run, and then sleeps on its own event, which all of its channels wake. */
#ifndef CS_TRANSPORT_THREADS_H
#define CS_TRANSPORT_THREADS_H

#include "transport/transport.h"

/* What all ranks share. */
typedef struct cs_team cs_team;

/* Makes the transports of all ranks: transport (ranks), each to be used and destroyed by the thread of its rank.
 * team <- what they share, to be released by the caller; NULL: it is not wanted. timeout [s]. Fails for fewer than
 * one rank, and for several ranks in a build without threads; then all are NULL. */
cs_status cs_threads_make(cs_team **team, cs_transport **transport, int ranks, double timeout,
                          cs_error *error);

/* Breaks the transports of all ranks with this message, from any thread. */
void cs_team_abort(cs_team *team, const char *message);

/* It may be released before the transports or after them. May be NULL. */
void cs_team_release(cs_team *team);

#endif
