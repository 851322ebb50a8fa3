/* The processes of a network on the ranks of a transport, and the channels between them.
 *
 *     process 0 ... P - 1  ──►  process p is on rank p R / P, a contiguous run of processes on each of R ranks
 *
 * A rank is one thread, on which its processes take turns at the places where they would wait for each other: S1's
 * user-level threads within a kernel-level one (its section 5.2). A link is a channel with one place between two
 * given processes. If these are on different ranks, each message is one message of the transport, all of whose bytes
 * are those of the writer; otherwise it stays where it was written. Channels that several ranks would read or write
 * do not exist.
 *
 * Poison travels: it is a message that marks the link as ended, because ranks share no flag. */
#ifndef CS_NETWORK_RANKS_H
#define CS_NETWORK_RANKS_H

#include "core/error.h"
#include "core/memory.h"
#include "transport/transport.h"

typedef struct cs_network_ranks cs_network_ranks;

/* The ranks of a network whose links are made later. The transport must outlive the result. Fails without memory. */
cs_status cs_network_ranks_make(cs_network_ranks **made, cs_transport *transport, cs_error *error);
/* May be NULL. */
void cs_network_ranks_free(cs_network_ranks *ranks);

/* Frees links, gathers and what `cs_network_ranks_memory` has given. */
void cs_network_ranks_clear(cs_network_ranks *ranks);
cs_arena *cs_network_ranks_memory(cs_network_ranks *ranks);

/* The number of ranks, and that of this one. */
int cs_network_ranks_count(const cs_network_ranks *ranks);
int cs_network_ranks_own(const cs_network_ranks *ranks);

/* The rank of process p of so many, and whether it is this one. */
int cs_network_rank_of(const cs_network_ranks *ranks, int process, int processes);
int cs_network_is_here(const cs_network_ranks *ranks, int process, int processes);

/* Collective: whether all ranks come with CS_OK; otherwise the failure of the lowest rank that has one. Then whether
 * the last agreement was on a failure: all ranks know of it. cs_network_ranks_begin forgets it. */
cs_status cs_network_ranks_agree(cs_network_ranks *ranks, cs_status status, cs_error *error);
int cs_network_ranks_have_agreed(const cs_network_ranks *ranks);
void cs_network_ranks_begin(cs_network_ranks *ranks);

/* Collective: values (count) <- the largest of all ranks. After a failure they remain, and cs_network_ranks_status
 * tells it. */
enum { CS_NETWORK_WISHES = 3 };
void cs_network_ranks_largest(cs_network_ranks *ranks, double *values, int count);
cs_status cs_network_ranks_status(const cs_network_ranks *ranks, cs_error *error);

/* What the processes of this rank have written since cs_network_ranks_recount, poison left out; and how much of it
 * went to other ranks. */
typedef struct cs_rank_link_counts {
    int64_t messages, bytes, messages_away, bytes_away;
} cs_rank_link_counts;
cs_rank_link_counts cs_network_ranks_counted(const cs_network_ranks *ranks);
void cs_network_ranks_recount(cs_network_ranks *ranks);

/* ---- gathers ------------------------------------------------------------------------------------- */

/* A gather that lives as long as the links. Collective; bytes (ranks), equal on all ranks. A failure has to be agreed
 * on. */
cs_status cs_network_ranks_gather(cs_network_ranks *ranks, const char *what, const int64_t *bytes,
                                  cs_gather **made, cs_error *error);

/* ---- links --------------------------------------------------------------------------------------- */

typedef struct cs_rank_link {
    cs_network_ranks *ranks;
    cs_exchange *exchange; /* NULL: both processes are on one rank */
    int writes, reads;     /* whether the process that writes, or reads, is on this rank */
    int under_way;         /* a message has been sent, or is expected */
    int64_t bytes;         /* of a message, its mark included */
    int64_t *place;        /* of the message; NULL on other ranks */
} cs_rank_link;

/* How to make a link from one process to another one; `what`, of the messages, lives as long as the link. */
typedef struct cs_rank_link_shape {
    const char *what;
    int from, to, processes;
    int64_t bytes; /* of a message, without its mark */
} cs_rank_link_shape;

/* Collective: every rank makes all links in the same order, whatever fails; a failure has to be agreed on. The link
 * must not be moved. */
cs_status cs_rank_link_make(cs_rank_link *link, cs_network_ranks *ranks,
                            const cs_rank_link_shape *shape, cs_error *error);

/* The writer: waits until the message before was read; place <- where the next one is written. Then sends it, without
 * waiting; or ends the link. */
cs_status cs_rank_link_reserve(cs_rank_link *link, void **place, cs_error *error);
cs_status cs_rank_link_send(cs_rank_link *link, cs_error *error);
cs_status cs_rank_link_poison(cs_rank_link *link, cs_error *error);

/* The reader: tells that a message will come, so that it may arrive while others are read; and waits for it. `place`
 * is the message until the next one is expected; NULL: the link was poisoned. */
cs_status cs_rank_link_expect(cs_rank_link *link, cs_error *error);
cs_status cs_rank_link_read(cs_rank_link *link, const void **place, cs_error *error);

/* Waits until all that this rank has sent was received. */
cs_status cs_network_ranks_settle(cs_network_ranks *ranks, cs_error *error);

#endif
