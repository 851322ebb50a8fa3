/* Channels between threads, as in Communicating Sequential Processes (Hoare 1978; S1 chapter 5): one thread writes a
 * message, another one reads it, and who comes too early waits.
 *
 *     writer ──► [ place | place | ... ] ──► reader
 *
 * Messages have a fixed size and are copied into the places of a ring. A channel with no place is a rendezvous: the
 * writer goes on once the message has been read. One writer and one reader need no lock: each end has a counter of
 * its own. Several writers (any-to-one) or readers (one-to-any) take turns at their end.
 *
 * Who waits looks again and again for a bounded time, because another processor answers within a microsecond, and
 * then sleeps on a condition variable, because more threads than processors would otherwise keep each other from
 * running.
 *
 * Poison ends a network: once a channel is poisoned, each call fails at both ends, also of those who wait, and
 * messages that were not read are lost (S1 section 5.2.1). */
#ifndef CS_CHANNEL_H
#define CS_CHANNEL_H

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <stdint.h>

typedef enum cs_channel_state {
    CS_CHANNEL_READY,    /* done */
    CS_CHANNEL_WAITING,  /* the time is over; nothing was done */
    CS_CHANNEL_POISONED, /* the channel has ended; nothing was done */
} cs_channel_state;

/* Times up to which a call waits, by cs_clock(). CS_AT_ONCE makes a skip guard: the call does not wait at all. */
#define CS_AT_ONCE 0.0
#define CS_FOREVER ((double)INFINITY)

typedef struct cs_channel cs_channel;

/* What a thread sleeps on. Channels that one thread reads in turn (cs_channel_select) share the event of that thread. */
typedef struct cs_event cs_event;

typedef struct cs_channel_shape {
    int64_t places;     /* messages that it holds; 0: a rendezvous */
    int64_t bytes;      /* of a message */
    int any_writer;     /* several threads may write: any-to-one */
    int any_reader;     /* several threads may read: one-to-any */
    int spins;          /* looks before a thread sleeps; 0: CS_CHANNEL_SPINS */
    cs_event *readable; /* on which the reader sleeps; NULL: an event of the channel's own */
    cs_event *writable; /* on which the writer sleeps; NULL: likewise */
} cs_channel_shape;

enum { CS_CHANNEL_SPINS = 400 }; /* some ten microseconds */

/* What has passed through a channel. Complete once the threads at both ends have ended. */
typedef struct cs_channel_counts {
    int64_t messages, bytes;              /* written */
    int64_t writer_sleeps, reader_sleeps; /* waits that outlasted the looks; 0 at a shared event */
} cs_channel_counts;

/* An event or a channel in memory of the arena. Fails with CS_INVALID for fewer than 0 places, or for fewer than 0
 * bytes, and without memory. Release both before the arena, a channel before its event, and no sooner than all
 * threads have left them. */
cs_status cs_event_make(cs_event **event, cs_arena *arena, cs_error *error);
void cs_event_release(cs_event *event);
int64_t cs_event_sleeps(const cs_event *event); /* waits that outlasted the looks */

/* Sleeps until someone wakes the event, for some milliseconds at most; not at all if is_ready(context), which must
 * not wake events, says so after whoever changes it would see the sleeper. For threads that wait for several channels
 * at both ends. */
void cs_event_sleep(cs_event *event, int (*is_ready)(const void *context), const void *context);
/* Wakes all that sleep on it. */
void cs_event_wake(cs_event *event);

cs_status cs_channel_make(cs_channel **channel, const cs_channel_shape *shape, cs_arena *arena,
                          cs_error *error);
void cs_channel_release(cs_channel *channel);

/* Copies a message into the channel. A rendezvous also waits for the reader: the time holds for the place only. */
cs_channel_state cs_channel_write(cs_channel *channel, const void *message, double until);

/* Moves the oldest message out of the channel. */
cs_channel_state cs_channel_read(cs_channel *channel, void *message, double until);

/* The same without a copy. `place` <- the memory of the next message to write, which cs_channel_send then sends, or
 * of the oldest one, whose place cs_channel_accept then gives back. In between, the end belongs to the caller. */
cs_channel_state cs_channel_reserve(cs_channel *channel, void **place, double until);
void cs_channel_send(cs_channel *channel);
cs_channel_state cs_channel_peek(cs_channel *channel, void **place, double until);
void cs_channel_accept(cs_channel *channel);

/* The number of the message whose place the caller has reserved, from 1 on; and waiting until the message of that
 * number was read: a rendezvous, for callers that send without a copy. */
int64_t cs_channel_number(const cs_channel *channel);
cs_channel_state cs_channel_meet(cs_channel *channel, int64_t number, double until);

/* Whether a read, or a write, would go on at once. */
int cs_channel_has_message(const cs_channel *channel);
int cs_channel_has_place(const cs_channel *channel);

/* Alternation: waits until one of the channels has a message or is poisoned. chosen <- its index, the first such from
 * `first` on, around the end: a caller that gives *chosen + 1 of the last time is fair. The caller has to be the only
 * reader of all of them, and they share one event. */
cs_channel_state cs_channel_select(cs_channel *const *channel, int64_t count, int64_t first,
                                   double until, int64_t *chosen);

void cs_channel_poison(cs_channel *channel);
int cs_channel_is_poisoned(const cs_channel *channel);

/* Of a channel that no thread uses: moves the oldest message out, though it is poisoned; returns 0 if there is none. */
int cs_channel_take_lost(cs_channel *channel, void *message);

cs_channel_counts cs_channel_count(const cs_channel *channel);

#endif
