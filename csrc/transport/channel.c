#include "transport/channel.h"

#include "core/clock.h"
#include "core/mutex.h"

#include <stdatomic.h>
#include <string.h>

struct cs_event {
    atomic_int sleepers;
    atomic_llong sleeps; /* so far */
    cs_mutex mutex;
    cs_condition condition;
};

/* One end of a channel, on a cache line of its own, which the threads at this end write. */
typedef struct channel_end {
    _Alignas(64) atomic_llong moved; /* messages that have passed */
    atomic_int taken;                /* by one of several threads at this end */
    int shared;                      /* several threads use it */
    int own_event;
    cs_event *event; /* on which threads at this end sleep */
} channel_end;

struct cs_channel {
    channel_end writer, reader;
    _Alignas(64) atomic_int poisoned;
    int spins;
    int meets; /* a rendezvous */
    int64_t places;
    size_t bytes, stride;
    char *place; /* (places, stride) */
};

/* ---- events -------------------------------------------------------------------------------------- */

cs_status cs_event_make(cs_event **event, cs_arena *arena, cs_error *error)
{
    *event = cs_arena_take(arena, 1, sizeof(cs_event));
    if (!*event) return cs_no_memory(error, "a channel");
    atomic_init(&(*event)->sleepers, 0);
    atomic_init(&(*event)->sleeps, 0);
    cs_mutex_init(&(*event)->mutex);
    cs_condition_init(&(*event)->condition);
    return CS_OK;
}

void cs_event_release(cs_event *event)
{
    cs_condition_destroy(&event->condition);
    cs_mutex_destroy(&event->mutex);
}

int64_t cs_event_sleeps(const cs_event *event) { return atomic_load(&event->sleeps); }

/* Wakes who sleeps. The caller has changed what they wait for before, and a sleeper looks once more after it has
 * counted itself, each in the one order of sequentially consistent operations: one of the two sees the other. */
void cs_event_wake(cs_event *event)
{
    if (!atomic_load(&event->sleepers)) return;
    cs_mutex_lock(&event->mutex);
    cs_condition_broadcast(&event->condition);
    cs_mutex_unlock(&event->mutex);
}

void cs_event_sleep(cs_event *event, int (*is_ready)(const void *context), const void *context)
{
    cs_mutex_lock(&event->mutex);
    atomic_fetch_add(&event->sleepers, 1);
    atomic_fetch_add_explicit(&event->sleeps, 1, memory_order_relaxed);
    if (!is_ready(context)) cs_condition_wait_briefly(&event->condition, &event->mutex);
    atomic_fetch_sub(&event->sleepers, 1);
    cs_mutex_unlock(&event->mutex);
}

/* ---- making -------------------------------------------------------------------------------------- */

static cs_status make_end(channel_end *end, int shared, cs_event *event, cs_arena *arena,
                          cs_error *error)
{
    atomic_init(&end->moved, 0);
    atomic_init(&end->taken, 0);
    end->shared = shared;
    end->own_event = !event;
    end->event = event;
    return event ? CS_OK : cs_event_make(&end->event, arena, error);
}

cs_status cs_channel_make(cs_channel **channel, const cs_channel_shape *shape, cs_arena *arena,
                          cs_error *error)
{
    *channel = NULL;
    if (shape->places < 0)
        return cs_fail(error, CS_INVALID, "places is %lld, but a channel has 0 or more",
                       (long long)shape->places);
    if (shape->bytes < 0)
        return cs_fail(error, CS_INVALID, "bytes is %lld, but a message has 0 or more",
                       (long long)shape->bytes);

    /* Take the memory. Messages begin at multiples of 16 bytes. */
    cs_channel *made = cs_arena_take(arena, 1, sizeof(cs_channel));
    if (!made) return cs_no_memory(error, "a channel");
    made->meets = shape->places == 0;
    made->places = made->meets ? 1 : shape->places;
    made->bytes = (size_t)shape->bytes;
    made->stride = (made->bytes + 15) / 16 * 16;
    made->spins = shape->spins ? shape->spins : CS_CHANNEL_SPINS;
    made->place = cs_arena_take(arena, made->places, made->stride);
    if (!made->place) return cs_no_memory(error, "the places of a channel");
    atomic_init(&made->poisoned, 0);

    /* Make the ends. */
    cs_status status = make_end(&made->writer, shape->any_writer, shape->writable, arena, error);
    if (status) return status;
    status = make_end(&made->reader, shape->any_reader, shape->readable, arena, error);
    if (status) {
        if (made->writer.own_event) cs_event_release(made->writer.event);
        return status;
    }
    *channel = made;
    return CS_OK;
}

void cs_channel_release(cs_channel *channel)
{
    if (channel->writer.own_event) cs_event_release(channel->writer.event);
    if (channel->reader.own_event) cs_event_release(channel->reader.event);
}

/* ---- looking ------------------------------------------------------------------------------------- */

int cs_channel_has_message(const cs_channel *channel)
{
    return atomic_load(&channel->writer.moved) != atomic_load(&channel->reader.moved);
}

int cs_channel_has_place(const cs_channel *channel)
{
    long long filled = atomic_load(&channel->writer.moved) - atomic_load(&channel->reader.moved);
    return filled < channel->places;
}

/* One look at a channel: whether the caller can go on. */
typedef struct look {
    cs_channel *channel;
    channel_end *end; /* which the caller takes; NULL: none */
    int (*is_ready)(const cs_channel *channel);
} look;

/* Gives back an end that several threads share. */
static void leave(channel_end *end)
{
    if (!end->shared) return;
    atomic_store(&end->taken, 0);
    cs_event_wake(end->event);
}

static cs_channel_state try_once(const look *at)
{
    cs_channel *channel = at->channel;
    if (atomic_load_explicit(&channel->poisoned, memory_order_relaxed)) return CS_CHANNEL_POISONED;
    if (!at->is_ready(channel)) return CS_CHANNEL_WAITING;
    if (!at->end || !at->end->shared) return CS_CHANNEL_READY;

    /* Take the end; another thread may have taken the place or the message meanwhile. */
    int free = 0;
    if (!atomic_compare_exchange_strong(&at->end->taken, &free, 1)) return CS_CHANNEL_WAITING;
    if (at->is_ready(channel)) return CS_CHANNEL_READY;
    atomic_store(&at->end->taken, 0);
    return CS_CHANNEL_WAITING;
}

/* Tries until it succeeds: `spins` times in a row, then each time that `event` wakes the thread. */
static cs_channel_state wait_for(cs_channel_state (*attempt)(const void *context),
                                 const void *context, cs_event *event, int spins, double until)
{
    cs_channel_state state = attempt(context);
    if (state != CS_CHANNEL_WAITING || until <= CS_AT_ONCE) return state;
    for (int looks = 0; looks < spins; looks++) {
        CS_PAUSE();
        state = attempt(context);
        if (state != CS_CHANNEL_WAITING) return state;
    }

    /* Sleep. The sleep is short, so that the time is looked at, and a wake-up that came between an attempt of another
     * thread and this one costs milliseconds at most. */
    cs_mutex_lock(&event->mutex);
    atomic_fetch_add(&event->sleepers, 1);
    atomic_fetch_add_explicit(&event->sleeps, 1, memory_order_relaxed);
    for (;;) {
        state = attempt(context);
        if (state != CS_CHANNEL_WAITING || (until < CS_FOREVER && cs_clock() >= until)) break;
        cs_condition_wait_briefly(&event->condition, &event->mutex);
    }
    atomic_fetch_sub(&event->sleepers, 1);
    cs_mutex_unlock(&event->mutex);
    return state;
}

static cs_channel_state attempt_look(const void *context) { return try_once(context); }

static cs_channel_state wait_at(const look *at, cs_event *event, double until)
{
    return wait_for(attempt_look, at, event, at->channel->spins, until);
}

/* ---- messages ------------------------------------------------------------------------------------ */

static char *place_of(const cs_channel *channel, const channel_end *end)
{
    long long moved = atomic_load_explicit(&end->moved, memory_order_relaxed);
    return channel->place + (size_t)(moved % channel->places) * channel->stride;
}

/* Counts a message at one end, and wakes who waits at the other one. */
static void pass(channel_end *end, channel_end *other)
{
    atomic_store(&end->moved, atomic_load_explicit(&end->moved, memory_order_relaxed) + 1);
    leave(end);
    cs_event_wake(other->event);
}

cs_channel_state cs_channel_reserve(cs_channel *channel, void **place, double until)
{
    look at = {channel, &channel->writer, cs_channel_has_place};
    cs_channel_state state = wait_at(&at, channel->writer.event, until);
    if (state == CS_CHANNEL_READY) *place = place_of(channel, &channel->writer);
    return state;
}

void cs_channel_send(cs_channel *channel) { pass(&channel->writer, &channel->reader); }

cs_channel_state cs_channel_peek(cs_channel *channel, void **place, double until)
{
    look at = {channel, &channel->reader, cs_channel_has_message};
    cs_channel_state state = wait_at(&at, channel->reader.event, until);
    if (state == CS_CHANNEL_READY) *place = place_of(channel, &channel->reader);
    return state;
}

void cs_channel_accept(cs_channel *channel) { pass(&channel->reader, &channel->writer); }

int64_t cs_channel_number(const cs_channel *channel)
{
    return atomic_load_explicit(&channel->writer.moved, memory_order_relaxed) + 1;
}

/* Waits until so many messages have been read. */
typedef struct meeting {
    cs_channel *channel;
    int64_t number;
} meeting;

static cs_channel_state attempt_meeting(const void *context)
{
    const meeting *m = context;
    if (atomic_load(&m->channel->reader.moved) >= m->number) return CS_CHANNEL_READY;
    int poisoned = atomic_load_explicit(&m->channel->poisoned, memory_order_relaxed);
    return poisoned ? CS_CHANNEL_POISONED : CS_CHANNEL_WAITING;
}

cs_channel_state cs_channel_meet(cs_channel *channel, int64_t number, double until)
{
    meeting m = {channel, number};
    return wait_for(attempt_meeting, &m, channel->writer.event, channel->spins, until);
}

cs_channel_state cs_channel_write(cs_channel *channel, const void *message, double until)
{
    void *place;
    cs_channel_state state = cs_channel_reserve(channel, &place, until);
    if (state != CS_CHANNEL_READY) return state;
    memcpy(place, message, channel->bytes);

    /* In a rendezvous, wait until it was read. */
    int64_t number = cs_channel_number(channel);
    cs_channel_send(channel);
    return channel->meets ? cs_channel_meet(channel, number, CS_FOREVER) : CS_CHANNEL_READY;
}

cs_channel_state cs_channel_read(cs_channel *channel, void *message, double until)
{
    void *place;
    cs_channel_state state = cs_channel_peek(channel, &place, until);
    if (state != CS_CHANNEL_READY) return state;
    memcpy(message, place, channel->bytes);
    cs_channel_accept(channel);
    return CS_CHANNEL_READY;
}

int cs_channel_take_lost(cs_channel *channel, void *message)
{
    if (!cs_channel_has_message(channel)) return 0;
    memcpy(message, place_of(channel, &channel->reader), channel->bytes);
    pass(&channel->reader, &channel->writer);
    return 1;
}

/* ---- alternation --------------------------------------------------------------------------------- */

typedef struct selection {
    cs_channel *const *channel;
    int64_t count, first;
    int64_t *chosen;
} selection;

static cs_channel_state attempt_selection(const void *context)
{
    const selection *s = context;
    for (int64_t n = 0; n < s->count; n++) {
        int64_t i = (s->first + n) % s->count;
        look at = {s->channel[i], NULL, cs_channel_has_message};
        cs_channel_state state = try_once(&at);
        if (state == CS_CHANNEL_WAITING) continue;
        *s->chosen = i;
        return state;
    }
    return CS_CHANNEL_WAITING;
}

cs_channel_state cs_channel_select(cs_channel *const *channel, int64_t count, int64_t first,
                                   double until, int64_t *chosen)
{
    selection s = {channel, count, first, chosen};
    return wait_for(attempt_selection, &s, channel[0]->reader.event, channel[0]->spins, until);
}

/* ---- poison -------------------------------------------------------------------------------------- */

void cs_channel_poison(cs_channel *channel)
{
    atomic_store(&channel->poisoned, 1);
    cs_event_wake(channel->writer.event);
    cs_event_wake(channel->reader.event);
}

int cs_channel_is_poisoned(const cs_channel *channel)
{
    return atomic_load(&channel->poisoned) != 0;
}

cs_channel_counts cs_channel_count(const cs_channel *channel)
{
    int64_t messages = atomic_load(&channel->writer.moved);
    return (cs_channel_counts){
        .messages = messages,
        .bytes = messages * (int64_t)channel->bytes,
        .writer_sleeps = channel->writer.own_event ? cs_event_sleeps(channel->writer.event) : 0,
        .reader_sleeps = channel->reader.own_event ? cs_event_sleeps(channel->reader.event) : 0,
    };
}
