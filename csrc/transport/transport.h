/* Messages between ranks, each of which holds some parts of one problem.
 *
 *     solver, Python ──► cs_exchange, cs_gather, cs_transport_agree ──► cs_transport_kind: threads | mpi
 *
 * A rank has a cs_transport of its own. There are three operations, and all ranks make them in the same order:
 *
 *     exchange   messages of fixed sizes between neighbours, in buffers of the caller; split into begin and end, so
 *                that work can be done in between
 *     gather     a few bytes of each rank, on all ranks
 *     agreement  the first failure of any rank, on all ranks
 *
 * Gathers and agreements are made of exchanges, so that a kind of transport has to provide exchanges only. A rank
 * that waits looks for failures of others, asks the caller's function (Ctrl-C), and gives up after `timeout`
 * seconds. Then, or when a rank aborts, the transport is broken on all ranks: each call of it that waits fails with
 * the first cause. No operation adds numbers of two ranks: what a rank receives are the bits that another one has
 * sent.
 *
 * Only one thread at a time may use a transport. A transport must outlive its exchanges and gathers. */
#ifndef CS_TRANSPORT_H
#define CS_TRANSPORT_H

#include "core/error.h"
#include "core/memory.h"

#include <stdint.h>

typedef struct cs_transport cs_transport;
typedef struct cs_exchange cs_exchange;

/* What an exchange sends to one rank and receives from it. Either may have zero bytes: then there is no message. */
typedef struct cs_neighbour {
    int rank;
    const void *send; /* (send_bytes): written before begin, unchanged until end has returned */
    int64_t send_bytes;
    void *receive; /* (receive_bytes): valid from the end to the next begin of this exchange */
    int64_t receive_bytes;
} cs_neighbour;

/* What one rank has sent, and how long it has waited. */
typedef struct cs_traffic {
    int64_t exchanges, messages, bytes; /* of exchanges: begun, and what was sent in them */
    int64_t gathers, gather_messages, gather_bytes; /* the same of gathers and agreements */
    double waiting;                                 /* [s] in which messages were missing */
} cs_traffic;

/* ---- ranks ---------------------------------------------------------------------------------------------- */

int cs_transport_rank(const cs_transport *transport);
int cs_transport_ranks(const cs_transport *transport);
const char *cs_transport_name(const cs_transport *transport); /* "threads" or "mpi" */

/* Since the transport was made. */
cs_traffic cs_transport_traffic(const cs_transport *transport);

/* Seconds after which a rank that waits in vain gives up. */
double cs_transport_timeout(const cs_transport *transport);
void cs_transport_set_timeout(cs_transport *transport, double seconds);

/* What a rank that waits asks every 5 ms, on its own thread: non-zero aborts with CS_INTERRUPTED. NULL: nothing. */
void cs_transport_listen(cs_transport *transport, int (*is_interrupted)(void *context),
                         void *context);

/* ---- failures ------------------------------------------------------------------------------------------- */

/* Breaks the transport on all ranks: they fail with CS_RANK_FAILED and "rank r: <message>", at once if they wait,
 * otherwise when they do or check. Of several causes the first one counts. Never waits long. */
void cs_transport_abort(cs_transport *transport, const char *message);

/* CS_OK, or why the transport is broken. Does not wait: for long work between two exchanges. */
cs_status cs_transport_check(cs_transport *transport, cs_error *error);

/* Collective: whether all ranks come with CS_OK. Otherwise all ranks get the status of the lowest rank that comes
 * with a failure, and its message (`error`, which must not be NULL) with "rank r: " before it. The transport stays
 * usable. */
cs_status cs_transport_agree(cs_transport *transport, cs_status status, cs_error *error);

/* ---- exchanges ------------------------------------------------------------------------------------------ */

/* Makes an exchange. Collective: each rank makes its exchanges in the same order, those without neighbours (count
 * 0) included, because their numbers match them. `neighbour` (count) is copied and names each rank once at most,
 * never the own one; the buffers must live until the exchange is freed. What rank a sends to b must have as many
 * bytes as b receives from a. what: of messages, "velocities of ghost bodies", at least as long-lived as the
 * exchange. Fails for a rank out of range or named twice, a negative size and without memory; ranks that are
 * threads also fail for sizes that differ. In that case *exchange is NULL, and the other ranks have to be told
 * (cs_transport_agree). */
cs_status cs_exchange_make(cs_exchange **exchange, cs_transport *transport, const char *what,
                           const cs_neighbour *neighbour, int64_t count, cs_error *error);

/* Sends what is in the buffers, and does not wait. Several exchanges may be under way at once, each of them once. */
cs_status cs_exchange_begin(cs_exchange *exchange, cs_error *error);

/* Waits until all messages have arrived, and all buffers may be written again. Other exchanges that are under way go on
 * meanwhile: they may end in another sequence on each rank. */
cs_status cs_exchange_end(cs_exchange *exchange, cs_error *error);

/* Between begin and end, for long work: sends and receives what can be without waiting. A failure breaks the transport, and
 * the end tells it. */
void cs_exchange_advance(cs_exchange *exchange);

/* May be NULL. Not between begin and end, unless the transport is broken. */
void cs_exchange_free(cs_exchange *exchange);

/* ---- gathers -------------------------------------------------------------------------------------------- */

/* A gather that is made once and run many times. log2(ranks) exchanges, rounded up; without bytes nobody waits. */
typedef struct cs_gather {
    /* Written by the caller before each run: (start[rank + 1] - start[rank]) bytes, aligned to 8. */
    void *own;
    /* The result: the bytes of rank r begin at start[r], without gaps; start (ranks + 1). */
    const void *all;
    const int64_t *start;
    /* For csrc/transport only. */
    cs_transport *transport;
    cs_arena arena;
    cs_exchange **round;
    char *turned, *turned_back; /* the pieces from that of the own rank on; `all` */
    int rounds;
} cs_gather;

/* Collective. bytes (ranks): of each rank, equal on all ranks; may be zero. Frees everything if it fails. The
 * gather must not be moved. */
cs_status cs_gather_make(cs_gather *gather, cs_transport *transport, const char *what,
                         const int64_t *bytes, cs_error *error);
cs_status cs_gather_run(cs_gather *gather, cs_error *error);
/* Also of a gather of zeros, or one that was freed. */
void cs_gather_free(cs_gather *gather);

/* A gather of a set-up: makes, runs and frees it. own (bytes[rank]) and all (sum of bytes). */
cs_status cs_gather_once(cs_transport *transport, const char *what, const int64_t *bytes,
                         const void *own, void *all, cs_error *error);

/* The rank takes part in nothing any more: its own calls fail, and ranks that are threads fail if they wait for it. */
void cs_transport_leave(cs_transport *transport);

/* Leaves, and frees the transport. May be NULL. */
void cs_transport_destroy(cs_transport *transport);

#endif
