/* What a kind of transport provides, and the state that transport.c keeps for all kinds. For csrc/transport only.
 *
 *     cs_exchange_begin ──► start          cs_exchange_end ──► finish, and while it says "not yet":
 *                                               rest, cause, is_lost, the caller's function, the deadline
 */
#ifndef CS_TRANSPORT_KIND_H
#define CS_TRANSPORT_KIND_H

#include "transport/transport.h"

enum { CS_CAUSE_SIZE = sizeof((cs_error *)0)->message }; /* of the cause of a failure */

typedef struct cs_transport_kind {
    const char *name;

    /* Finds or makes what carries the messages of an exchange, and stores it in exchange->own. */
    cs_status (*connect)(cs_exchange *exchange, cs_error *error);
    /* Also after a `connect` that failed. */
    void (*disconnect)(cs_exchange *exchange);

    /* Sends what can be sent without waiting. */
    cs_status (*start)(cs_exchange *exchange, cs_error *error);
    /* Sends and receives the rest as far as possible. done <- whether nothing is left. May be called once more when it
     * is done. */
    cs_status (*finish)(cs_exchange *exchange, int *done, cs_error *error);
    /* What a rank does before it tries to finish again; looks: see core/back_off.h. */
    void (*rest)(cs_exchange *exchange, int *looks);
    /* Whether a message to or from neighbour i is missing. */
    int (*is_missing)(cs_exchange *exchange, int64_t i);
    /* Whether neighbour i has ended, so that its message will never come. May be NULL. */
    int (*is_lost)(cs_exchange *exchange, int64_t i);

    /* Whether a rank has aborted; then message <- its cause. */
    int (*has_failed)(cs_transport *transport, char *message, size_t size);
    /* Tells all ranks a cause, unless there is one already. */
    void (*alarm)(cs_transport *transport, const char *message);

    /* Tells others that this rank has ended. May be NULL. */
    void (*leave)(cs_transport *transport);

    /* Frees what the kind has, the memory of the transport included. */
    void (*destroy)(cs_transport *transport);
} cs_transport_kind;

/* The first member of the struct of each kind. */
struct cs_transport {
    const cs_transport_kind *kind;
    int rank, ranks;
    double timeout; /* [s] */
    int (*is_interrupted)(void *context);
    void *context;
    int64_t numbers;        /* of exchanges made so far */
    int gathering;          /* whether exchanges that are made belong to a gather */
    cs_exchange *under_way; /* the first of a list of exchanges between begin and end */
    cs_traffic traffic;
    cs_error failure;             /* with a status if the transport is broken */
    cs_gather statuses, messages; /* of agreements */
};

struct cs_exchange {
    cs_transport *transport;
    const char *what;
    int64_t number; /* the same on all ranks */
    int64_t count;
    cs_neighbour *neighbour;
    int64_t messages, bytes; /* that each run sends */
    int of_gather;           /* whether it belongs to a gather */
    int running;             /* between begin and end */
    cs_exchange *next;       /* in the list of those that are under way */
    void *own;               /* of the kind */
    cs_arena arena;
};

/* Sets up what all kinds share, the gathers of agreements included. `transport` must be zero but for what the kind
 * has set. */
cs_status cs_transport_begin(cs_transport *transport, const cs_transport_kind *kind, int rank,
                             int ranks, double timeout, cs_error *error);

/* Frees what cs_transport_begin has made. */
void cs_transport_end(cs_transport *transport);

#endif
