/* Channels between threads: each message arrives once and in order, whichever kind of ends and however many places
 * there are; who waits is woken by a message, by a place, by poison or by the time. With ThreadSanitizer the programs
 * also show that what was written before a message is seen by who has read it. */
#include "core/clock.h"
#include "core/parallel.h"
#include "testing.h"
#include "transport/channel.h"

#include <stdatomic.h>

enum { MESSAGES = 2000, MOST = 8 };

/* A channel with memory of its own. */
typedef struct made {
    cs_arena arena;
    cs_channel *channel;
} made;

static made make(cs_channel_shape shape)
{
    made m = {0};
    cs_error error = {0};
    CHECK_STATUS(cs_channel_make(&m.channel, &shape, &m.arena, &error), CS_OK, &error);
    return m;
}

static void release(made *m)
{
    cs_channel_release(m->channel);
    cs_arena_clear(&m->arena);
}

/* ---- messages ------------------------------------------------------------------------------------- */

typedef struct numbered {
    int64_t writer, number;
} numbered;

/* Writers 0 .. writers - 1 send numbers; the other threads read until the channel is poisoned. */
typedef struct crowd {
    cs_channel *channel;
    int writers, readers;
    atomic_llong read, wrong;
    atomic_llong sum[MOST]; /* of each writer's numbers */
} crowd;

static void write_all(crowd *c, int writer)
{
    for (int64_t i = 0; i < MESSAGES; i++) {
        numbered message = {writer, i};
        if (cs_channel_write(c->channel, &message, CS_FOREVER)) atomic_fetch_add(&c->wrong, 1);
    }
}

/* One reader sees each writer's numbers in order; several see some of them in order. The last message poisons the
 * channel. */
static void read_all(crowd *c)
{
    int64_t last[MOST];
    for (int w = 0; w < MOST; w++) last[w] = -1;
    numbered message;
    while (cs_channel_read(c->channel, &message, CS_FOREVER) == CS_CHANNEL_READY) {
        int in_order = message.number > last[message.writer] &&
                       (c->readers > 1 || message.number == last[message.writer] + 1);
        if (!in_order) atomic_fetch_add(&c->wrong, 1);
        last[message.writer] = message.number;
        atomic_fetch_add(&c->sum[message.writer], message.number);
        if (atomic_fetch_add(&c->read, 1) + 1 == (long long)c->writers * MESSAGES)
            cs_channel_poison(c->channel);
    }
}

static void join_crowd(void *context, int thread)
{
    crowd *c = context;
    if (thread < c->writers) write_all(c, thread);
    else read_all(c);
}

static void each_message_arrives_once(void)
{
    static const int64_t places[] = {0, 1, 3, 64};
    static const int ends[][2] = {{1, 1}, {4, 1}, {1, 4}, {3, 3}};
    for (int k = 0; k < 16; k++) {
        crowd c = {.writers = ends[k / 4][0], .readers = ends[k / 4][1]};
        made m = make((cs_channel_shape){.places = places[k % 4],
                                         .bytes = sizeof(numbered),
                                         .any_writer = c.writers > 1,
                                         .any_reader = c.readers > 1,
                                         .spins = k % 2 ? 1 : 0});
        c.channel = m.channel;
        CHECK(cs_concurrently(c.writers + c.readers, join_crowd, &c));
        CHECK(c.wrong == 0 && c.read == (long long)c.writers * MESSAGES);
        for (int w = 0; w < c.writers; w++)
            CHECK(c.sum[w] == (long long)MESSAGES * (MESSAGES - 1) / 2);
        cs_channel_counts counts = cs_channel_count(m.channel);
        CHECK(counts.messages == c.read && counts.bytes == c.read * (int64_t)sizeof(numbered));
        release(&m);
    }
}

/* ---- rendezvous ------------------------------------------------------------------------------------ */

typedef struct meeting {
    cs_channel *channel;
    atomic_int read, early;
} meeting;

static void meet(void *context, int thread)
{
    meeting *m = context;
    int64_t number = 0;
    for (int i = 0; i < 200; i++) {
        if (thread == 0) {
            cs_channel_write(m->channel, &number, CS_FOREVER);
            if (atomic_load(&m->read) <= i) atomic_fetch_add(&m->early, 1);
        } else {
            void *place;
            cs_channel_peek(m->channel, &place, CS_FOREVER);
            atomic_fetch_add(&m->read, 1);
            cs_channel_accept(m->channel);
        }
    }
}

static void a_rendezvous_ends_with_the_reading(void)
{
    made m = make((cs_channel_shape){.places = 0, .bytes = sizeof(int64_t)});
    meeting both = {.channel = m.channel};
    CHECK(cs_concurrently(2, meet, &both));
    CHECK(both.read == 200 && both.early == 0);
    release(&m);
}

/* ---- waiting --------------------------------------------------------------------------------------- */

static void a_skip_guard_does_not_wait(void)
{
    made m = make((cs_channel_shape){.places = 1, .bytes = sizeof(int64_t)});
    int64_t number = 7, found = 0;
    CHECK(cs_channel_read(m.channel, &found, CS_AT_ONCE) == CS_CHANNEL_WAITING);
    CHECK(cs_channel_write(m.channel, &number, CS_AT_ONCE) == CS_CHANNEL_READY);
    CHECK(cs_channel_write(m.channel, &number, CS_AT_ONCE) == CS_CHANNEL_WAITING);
    CHECK(cs_channel_read(m.channel, &found, CS_AT_ONCE) == CS_CHANNEL_READY && found == 7);
    release(&m);
}

static void waiting_ends_with_the_time(void)
{
    made m = make((cs_channel_shape){.places = 1, .bytes = 0});
    double start = cs_clock();
    CHECK(cs_channel_read(m.channel, NULL, start + 0.02) == CS_CHANNEL_WAITING);
    double took = cs_clock() - start;
    CHECK(took >= 0.02 && took < 2);
    CHECK(cs_channel_count(m.channel).reader_sleeps == 1);
    release(&m);
}

/* ---- poison ---------------------------------------------------------------------------------------- */

typedef struct sleepers {
    cs_channel *empty, *full;
    atomic_int poisoned;
} sleepers;

static void sleep_or_poison(void *context, int thread)
{
    sleepers *s = context;
    int64_t number = 0;
    cs_channel_state state = CS_CHANNEL_READY;
    if (thread == 0) {
        while (!cs_channel_count(s->empty).reader_sleeps ||
               !cs_channel_count(s->full).writer_sleeps)
            CS_PAUSE();
        cs_channel_poison(s->empty);
        cs_channel_poison(s->full);
    } else if (thread == 1) state = cs_channel_read(s->empty, &number, CS_FOREVER);
    else state = cs_channel_write(s->full, &number, CS_FOREVER);
    if (state == CS_CHANNEL_POISONED) atomic_fetch_add(&s->poisoned, 1);
}

static void poison_wakes_who_sleeps(void)
{
    cs_channel_shape shape = {.places = 1, .bytes = sizeof(int64_t)};
    made empty = make(shape), full = make(shape);
    int64_t number = 0;
    cs_channel_write(full.channel, &number, CS_AT_ONCE);
    sleepers s = {.empty = empty.channel, .full = full.channel};
    CHECK(cs_concurrently(3, sleep_or_poison, &s));
    CHECK(s.poisoned == 2);

    /* Messages that were not read are lost. */
    CHECK(cs_channel_read(full.channel, &number, CS_FOREVER) == CS_CHANNEL_POISONED);
    CHECK(cs_channel_is_poisoned(full.channel));
    release(&empty);
    release(&full);
}

/* ---- alternation ----------------------------------------------------------------------------------- */

typedef struct alternation {
    cs_channel *channel[MOST];
    int64_t read[MOST], wrong;
} alternation;

static void alternate(void *context, int thread)
{
    alternation *a = context;
    if (thread > 0) {
        for (int64_t i = 0; i < MESSAGES; i++)
            cs_channel_write(a->channel[thread - 1], &i, CS_FOREVER);
        return;
    }
    int64_t chosen = -1;
    for (int64_t n = 0; n < 3 * MESSAGES; n++) {
        int64_t number = -1;
        cs_channel_state state =
            cs_channel_select(a->channel, 3, (chosen + 1) % 3, CS_FOREVER, &chosen);
        if (state || cs_channel_read(a->channel[chosen], &number, CS_AT_ONCE)) a->wrong++;
        if (number != a->read[chosen]++) a->wrong++;
    }
}

static void an_alternation_reads_what_is_ready(void)
{
    cs_arena arena = {0};
    cs_error error = {0};
    cs_event *event;
    alternation a = {.wrong = 0};
    CHECK_STATUS(cs_event_make(&event, &arena, &error), CS_OK, &error);
    cs_channel_shape shape = {.places = 2, .bytes = sizeof(int64_t), .readable = event};
    for (int c = 0; c < 3; c++)
        CHECK_STATUS(cs_channel_make(&a.channel[c], &shape, &arena, &error), CS_OK, &error);

    /* With nothing to read it does not wait; and it is fair: from `first` on. */
    int64_t chosen = -1, number = 0;
    CHECK(cs_channel_select(a.channel, 3, 0, CS_AT_ONCE, &chosen) == CS_CHANNEL_WAITING);
    cs_channel_write(a.channel[0], &number, CS_AT_ONCE);
    cs_channel_write(a.channel[2], &number, CS_AT_ONCE);
    CHECK(cs_channel_select(a.channel, 3, 1, CS_AT_ONCE, &chosen) == CS_CHANNEL_READY &&
          chosen == 2);
    CHECK(cs_channel_select(a.channel, 3, 0, CS_AT_ONCE, &chosen) == CS_CHANNEL_READY &&
          chosen == 0);
    CHECK(cs_channel_read(a.channel[0], &number, CS_AT_ONCE) == CS_CHANNEL_READY);
    CHECK(cs_channel_read(a.channel[2], &number, CS_AT_ONCE) == CS_CHANNEL_READY);

    CHECK(cs_concurrently(4, alternate, &a));
    CHECK(a.wrong == 0);
    for (int c = 0; c < 3; c++) CHECK(a.read[c] == MESSAGES);

    /* A poisoned channel ends it. */
    cs_channel_poison(a.channel[1]);
    CHECK(cs_channel_select(a.channel, 3, 0, CS_FOREVER, &chosen) == CS_CHANNEL_POISONED);
    CHECK(chosen == 1);
    for (int c = 0; c < 3; c++) cs_channel_release(a.channel[c]);
    cs_event_release(event);
    cs_arena_clear(&arena);
}

/* ---- misuse ---------------------------------------------------------------------------------------- */

static void shapes_are_checked(void)
{
    cs_arena arena = {0};
    cs_error error = {0};
    cs_channel *channel;
    cs_channel_shape few = {.places = -1, .bytes = 8}, small = {.places = 1, .bytes = -8};
    CHECK_STATUS(cs_channel_make(&channel, &few, &arena, &error), CS_INVALID, &error);
    CHECK_STATUS(cs_channel_make(&channel, &small, &arena, &error), CS_INVALID, &error);
    CHECK(channel == NULL);
    cs_arena_clear(&arena);
}

static void count_call(void *context, int thread)
{
    (void)thread;
    atomic_fetch_add((atomic_int *)context, 1);
}

static void all_threads_begin_or_none(void)
{
    atomic_int calls = 0;
    CHECK(!cs_concurrently(CS_MOST_CONCURRENT + 1, count_call, &calls));
    CHECK(!cs_concurrently(0, count_call, &calls) && calls == 0);
    CHECK(cs_concurrently(1, count_call, &calls) && calls == 1);
    CHECK(cs_concurrently(20, count_call, &calls) && calls == 21);
}

int main(void)
{
    shapes_are_checked();
    a_skip_guard_does_not_wait();
    waiting_ends_with_the_time();
    atomic_int calls = 0;
    if (cs_concurrently(2, count_call, &calls)) {
        all_threads_begin_or_none();
        each_message_arrives_once();
        a_rendezvous_ends_with_the_reading();
        poison_wakes_who_sleeps();
        an_alternation_reads_what_is_ready();
    }
    return test_result();
}
