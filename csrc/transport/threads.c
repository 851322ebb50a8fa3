#include "transport/threads.h"

#include "core/back_off.h"
#include "core/mutex.h"
#include "core/parallel.h"
#include "transport/channel.h"
#include "transport/kind.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* The way of one message of an exchange from one rank to another. The last of the two ranks that leaves frees it. */
typedef struct lane {
    int64_t number, bytes; /* of the exchange; of the message */
    int from, to;
    int left; /* ranks that have left, 0 ... 2 */
    cs_channel *channel;
    cs_arena arena;
    struct lane *next; /* in the list of lanes that only one rank has joined */
} lane;

/* What all ranks share. */
struct cs_team {
    int ranks;
    cs_event **event;   /* (ranks): on which each of them sleeps */
    atomic_int *ended;  /* (ranks): whether it has destroyed its transport */
    atomic_int members; /* that use it: transports, and who may abort */
    atomic_int failed;  /* whether `message` is set */
    cs_mutex mutex;     /* of all that follows */
    char message[CS_CAUSE_SIZE];
    lane *open;
    cs_arena arena;
};

typedef struct thread_rank {
    cs_transport transport;
    cs_team *team;
} thread_rank;

/* The lanes of one neighbour; NULL where there is no message. */
typedef struct lanes {
    lane *out, *in;
    int sent, received; /* in this run */
} lanes;

static cs_team *team_of(const cs_transport *transport)
{
    return ((const thread_rank *)transport)->team;
}

/* ---- lanes ---------------------------------------------------------------------------------------------- */

static void free_lane(lane *l)
{
    if (l->channel) cs_channel_release(l->channel);
    cs_arena_clear(&l->arena);
    cs_release(l);
}

/* Makes a lane and lists it. The caller has locked the team. */
static cs_status open_lane(cs_team *shared, const lane *wanted, lane **opened, cs_error *error)
{
    lane *made = cs_allocate(1, sizeof *made);
    if (!made) return cs_no_memory(error, "a message");
    *made = *wanted;
    cs_channel_shape shape = {.places = 1,
                              .bytes = wanted->bytes,
                              .readable = shared->event[wanted->to],
                              .writable = shared->event[wanted->from]};
    cs_status status = cs_channel_make(&made->channel, &shape, &made->arena, error);
    if (status) {
        free_lane(made);
        return status;
    }
    made->next = shared->open;
    shared->open = made;
    *opened = made;
    return CS_OK;
}

/* Finds the lane that the other rank has opened, and takes it off the list; or opens it. */
static cs_status join(cs_team *shared, const cs_exchange *exchange, const lane *wanted,
                      lane **joined, cs_error *error)
{
    cs_mutex_lock(&shared->mutex);
    lane **place = &shared->open;
    while (*place && ((*place)->number != wanted->number || (*place)->from != wanted->from ||
                      (*place)->to != wanted->to))
        place = &(*place)->next;

    cs_status status = CS_OK;
    lane *found = *place;
    if (!found) status = open_lane(shared, wanted, &found, error);
    else if (found->bytes != wanted->bytes) {
        int64_t sent = wanted->from == exchange->transport->rank ? wanted->bytes : found->bytes;
        status = cs_fail(error, CS_INVALID,
                         "%s: rank %d sends %lld bytes to rank %d, which expects %lld",
                         exchange->what, wanted->from, (long long)sent, wanted->to,
                         (long long)(wanted->bytes + found->bytes - sent));
    } else *place = found->next;
    if (!status) *joined = found;
    cs_mutex_unlock(&shared->mutex);
    return status;
}

/* A lane that the other rank has not joined stays listed: it may still come. */
static void leave(cs_team *shared, lane *l)
{
    if (!l) return;
    cs_mutex_lock(&shared->mutex);
    int is_last = ++l->left == 2;
    cs_mutex_unlock(&shared->mutex);
    if (is_last) free_lane(l);
}

/* ---- exchanges ------------------------------------------------------------------------------------------ */

static cs_status join_lanes(cs_exchange *exchange, cs_error *error)
{
    cs_team *shared = team_of(exchange->transport);
    int rank = exchange->transport->rank;
    lanes *own = exchange->own = cs_arena_take(&exchange->arena, exchange->count, sizeof *own);
    cs_status status =
        cs_arena_status(&exchange->arena, error, "%lld messages", (long long)exchange->count);
    for (int64_t i = 0; !status && i < exchange->count; i++) {
        const cs_neighbour *n = &exchange->neighbour[i];
        lane out = {
            .number = exchange->number, .bytes = n->send_bytes, .from = rank, .to = n->rank};
        lane in = {
            .number = exchange->number, .bytes = n->receive_bytes, .from = n->rank, .to = rank};
        if (out.bytes) status = join(shared, exchange, &out, &own[i].out, error);
        if (in.bytes && !status) status = join(shared, exchange, &in, &own[i].in, error);
    }
    return status;
}

static void leave_lanes(cs_exchange *exchange)
{
    cs_team *shared = team_of(exchange->transport);
    lanes *own = exchange->own;
    for (int64_t i = 0; own && i < exchange->count; i++) {
        leave(shared, own[i].out);
        leave(shared, own[i].in);
    }
}

static int send_message(lanes *l, const cs_neighbour *n)
{
    void *place;
    if (cs_channel_reserve(l->out->channel, &place, CS_AT_ONCE) != CS_CHANNEL_READY) return 0;
    memcpy(place, n->send, (size_t)n->send_bytes);
    cs_channel_send(l->out->channel);
    return 1;
}

static int receive_message(lanes *l, const cs_neighbour *n)
{
    void *place;
    if (cs_channel_peek(l->in->channel, &place, CS_AT_ONCE) != CS_CHANNEL_READY) return 0;
    memcpy(n->receive, place, (size_t)n->receive_bytes);
    cs_channel_accept(l->in->channel);
    return 1;
}

static cs_status start(cs_exchange *exchange, cs_error *error)
{
    /* A rank that never waits long sees an abort here. */
    const cs_team *shared = team_of(exchange->transport);
    if (atomic_load_explicit(&shared->failed, memory_order_relaxed) && atomic_load(&shared->failed))
        return cs_fail(error, CS_RANK_FAILED, "%s", shared->message);

    lanes *own = exchange->own;
    for (int64_t i = 0; i < exchange->count; i++) {
        own[i].received = !own[i].in;
        own[i].sent = !own[i].out || send_message(&own[i], &exchange->neighbour[i]);
    }
    return CS_OK;
}

static cs_status finish(cs_exchange *exchange, int *done, cs_error *error)
{
    (void)error;
    lanes *own = exchange->own;
    *done = 1;
    for (int64_t i = 0; i < exchange->count; i++) {
        const cs_neighbour *n = &exchange->neighbour[i];
        if (!own[i].sent) own[i].sent = send_message(&own[i], n);
        if (!own[i].received) own[i].received = receive_message(&own[i], n);
        *done &= own[i].sent & own[i].received;
    }
    return CS_OK;
}

static int is_missing(cs_exchange *exchange, int64_t i)
{
    const lanes *own = exchange->own;
    return !own[i].sent || !own[i].received;
}

static int is_lost(cs_exchange *exchange, int64_t i)
{
    /* First whether it has ended: what it sent before has arrived then. */
    const cs_team *shared = team_of(exchange->transport);
    const lanes *l = (lanes *)exchange->own + i;
    if (!atomic_load(&shared->ended[exchange->neighbour[i].rank])) return 0;
    if (!l->received) return !cs_channel_has_message(l->in->channel);
    return !l->sent && !cs_channel_has_place(l->out->channel);
}

/* ---- waiting -------------------------------------------------------------------------------------------- */

/* Whether something can be sent or received in any exchange under way, or the wait is over. */
static int can_go_on(const void *context)
{
    const cs_transport *transport = context;
    if (atomic_load(&team_of(transport)->failed)) return 1;
    for (const cs_exchange *e = transport->under_way; e; e = e->next) {
        const lanes *own = e->own;
        for (int64_t i = 0; i < e->count; i++) {
            if (!own[i].received && cs_channel_has_message(own[i].in->channel)) return 1;
            if (!own[i].sent && cs_channel_has_place(own[i].out->channel)) return 1;
        }
    }
    return 0;
}

/* Looks before a rank sleeps: some hundred microseconds, in which other threads may use the processor. */
enum { LOOKS = CS_LOOKS_SPINNING + 200 };

static void rest(cs_exchange *exchange, int *looks)
{
    if (*looks < LOOKS) cs_back_off(looks);
    else
        cs_event_sleep(team_of(exchange->transport)->event[exchange->transport->rank], can_go_on,
                       exchange->transport);
}

/* ---- failures ------------------------------------------------------------------------------------------- */

static void wake_all(cs_team *shared)
{
    for (int r = 0; r < shared->ranks; r++) cs_event_wake(shared->event[r]);
}

void cs_team_abort(cs_team *team, const char *message)
{
    cs_mutex_lock(&team->mutex);
    if (!atomic_load(&team->failed)) {
        snprintf(team->message, sizeof team->message, "%s", message);
        atomic_store(&team->failed, 1);
    }
    cs_mutex_unlock(&team->mutex);
    wake_all(team);
}

static void tell_all(cs_transport *transport, const char *message)
{
    cs_team_abort(team_of(transport), message);
}

static int has_failed(cs_transport *transport, char *message, size_t size)
{
    const cs_team *shared = team_of(transport);
    if (!atomic_load(&shared->failed)) return 0;
    snprintf(message, size, "%s", shared->message); /* never written again */
    return 1;
}

/* ---- the team ------------------------------------------------------------------------------------------- */

static void free_team(cs_team *shared)
{
    /* Lanes that the second rank has never joined. */
    while (shared->open) {
        lane *next = shared->open->next;
        free_lane(shared->open);
        shared->open = next;
    }
    for (int r = 0; r < shared->ranks; r++)
        if (shared->event[r]) cs_event_release(shared->event[r]);
    cs_mutex_destroy(&shared->mutex);
    cs_arena arena = shared->arena;
    cs_arena_clear(&arena);
}

void cs_team_release(cs_team *team)
{
    if (team && atomic_fetch_sub(&team->members, 1) == 1) free_team(team);
}

static void leave_team(cs_transport *transport)
{
    cs_team *shared = team_of(transport);
    atomic_store(&shared->ended[transport->rank], 1);
    wake_all(shared);
}

static void destroy(cs_transport *transport)
{
    cs_team *shared = team_of(transport);
    cs_transport_end(transport);
    cs_release(transport);
    cs_team_release(shared);
}

static const cs_transport_kind threads = {
    .name = "threads",
    .connect = join_lanes,
    .disconnect = leave_lanes,
    .start = start,
    .finish = finish,
    .rest = rest,
    .is_missing = is_missing,
    .is_lost = is_lost,
    .has_failed = has_failed,
    .alarm = tell_all,
    .leave = leave_team,
    .destroy = destroy,
};

static cs_status make_team(cs_team **made, int ranks, cs_error *error)
{
    cs_arena arena = {0};
    cs_team *shared = cs_arena_take(&arena, 1, sizeof *shared);
    cs_event **event = cs_arena_take(&arena, ranks, sizeof(cs_event *));
    atomic_int *ended = cs_arena_take(&arena, ranks, sizeof(atomic_int));
    cs_status status = cs_arena_status(&arena, error, "%d ranks", ranks);
    if (status) {
        cs_arena_clear(&arena);
        return status;
    }
    shared->ranks = ranks;
    shared->event = event;
    shared->ended = ended;
    cs_mutex_init(&shared->mutex);
    for (int r = 0; r < ranks; r++) atomic_init(&ended[r], 0);
    atomic_init(&shared->failed, 0);
    atomic_init(&shared->members, 1);
    for (int r = 0; r < ranks && !status; r++) status = cs_event_make(&event[r], &arena, error);
    shared->arena = arena;
    if (status) free_team(shared);
    else *made = shared;
    return status;
}

/* One rank of a team. */
static cs_status make_rank(cs_transport **transport, cs_team *team, int rank, double timeout,
                           cs_error *error)
{
    thread_rank *made = cs_allocate(1, sizeof *made);
    if (!made) return cs_no_memory(error, "rank %d", rank);
    made->team = team;
    atomic_fetch_add(&team->members, 1);
    *transport = &made->transport;
    return cs_transport_begin(*transport, &threads, rank, team->ranks, timeout, error);
}

cs_status cs_threads_make(cs_team **team, cs_transport **transport, int ranks, double timeout,
                          cs_error *error)
{
    /* Can there be so many ranks? */
    if (team) *team = NULL;
    for (int r = 0; r < ranks; r++) transport[r] = NULL;
    if (ranks < 1)
        return cs_fail(error, CS_INVALID, "ranks is %d, but at least 1 is needed", ranks);
    if (ranks > 1 && strcmp(cs_threads_kind(), "serial") == 0)
        return cs_fail(error, CS_UNSUPPORTED,
                       "ranks is %d, but this library was built without threads", ranks);

    cs_team *shared;
    cs_status status = make_team(&shared, ranks, error);
    if (status) return status;
    for (int r = 0; r < ranks && !status; r++)
        status = make_rank(&transport[r], shared, r, timeout, error);

    /* Without memory, none of them remains. */
    for (int r = 0; status && r < ranks; r++) {
        cs_transport_destroy(transport[r]);
        transport[r] = NULL;
    }
    if (team && !status) *team = shared;
    else cs_team_release(shared);
    return status;
}
