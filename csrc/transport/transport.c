#include "transport/transport.h"

#include "core/clock.h"
#include "transport/kind.h"

#include <stdio.h>
#include <string.h>

/* Seconds between two questions of a rank that waits: whether others have failed, and whether the caller
 * interrupts. */
#define CAUSE_SECONDS 1e-3
#define INTERRUPTION_SECONDS 5e-3

/* ---- ranks ---------------------------------------------------------------------------------------------- */

int cs_transport_rank(const cs_transport *transport) { return transport->rank; }
int cs_transport_ranks(const cs_transport *transport) { return transport->ranks; }
const char *cs_transport_name(const cs_transport *transport) { return transport->kind->name; }
cs_traffic cs_transport_traffic(const cs_transport *transport) { return transport->traffic; }
double cs_transport_timeout(const cs_transport *transport) { return transport->timeout; }

void cs_transport_set_timeout(cs_transport *transport, double seconds)
{
    transport->timeout = seconds;
}

void cs_transport_listen(cs_transport *transport, int (*is_interrupted)(void *context),
                         void *context)
{
    transport->is_interrupted = is_interrupted;
    transport->context = context;
}

/* bytes[0 ... ranks - 1] <- size */
static void fill(int64_t *bytes, int ranks, int64_t size)
{
    for (int r = 0; r < ranks; r++) bytes[r] = size;
}

cs_status cs_transport_begin(cs_transport *transport, const cs_transport_kind *kind, int rank,
                             int ranks, double timeout, cs_error *error)
{
    transport->kind = kind;
    transport->rank = rank;
    transport->ranks = ranks;
    transport->timeout = timeout;

    /* An agreement must not need memory: it also reports that there is none. */
    int64_t *bytes = cs_allocate(ranks, sizeof *bytes);
    if (!bytes) return cs_no_memory(error, "the sizes of %d ranks", ranks);
    fill(bytes, ranks, sizeof(int64_t));
    cs_status status = cs_gather_make(&transport->statuses, transport, "agreement", bytes, error);
    fill(bytes, ranks, CS_CAUSE_SIZE);
    if (!status)
        status =
            cs_gather_make(&transport->messages, transport, "cause of a failure", bytes, error);
    cs_release(bytes);
    return status;
}

void cs_transport_end(cs_transport *transport)
{
    cs_gather_free(&transport->statuses);
    cs_gather_free(&transport->messages);
}

void cs_transport_leave(cs_transport *transport)
{
    if (!transport->failure.status)
        cs_fail(&transport->failure, CS_RANK_FAILED, "rank %d has ended", transport->rank);
    if (transport->kind->leave) transport->kind->leave(transport);
}

void cs_transport_destroy(cs_transport *transport)
{
    if (!transport) return;
    cs_transport_leave(transport);
    transport->kind->destroy(transport);
}

/* ---- failures ------------------------------------------------------------------------------------------- */

/* Reports why the transport is broken. */
static cs_status report(const cs_transport *transport, cs_error *error)
{
    return cs_fail(error, transport->failure.status, "%s", transport->failure.message);
}

/* Breaks the transport because of `error`, and tells other ranks. */
static cs_status give_up(cs_transport *transport, const cs_error *error)
{
    char message[CS_CAUSE_SIZE + 32];
    transport->failure = *error;
    snprintf(message, sizeof message, "rank %d: %s", transport->rank, error->message);
    transport->kind->alarm(transport, message);
    return error->status;
}

void cs_transport_abort(cs_transport *transport, const char *message)
{
    char told[CS_CAUSE_SIZE];
    snprintf(told, sizeof told, "rank %d: %s", transport->rank, message);
    if (!transport->failure.status) cs_fail(&transport->failure, CS_RANK_FAILED, "%s", told);
    transport->kind->alarm(transport, told);
}

cs_status cs_transport_check(cs_transport *transport, cs_error *error)
{
    if (transport->failure.status) return report(transport, error);
    char message[CS_CAUSE_SIZE];
    if (!transport->kind->has_failed(transport, message, sizeof message)) return CS_OK;
    cs_fail(&transport->failure, CS_RANK_FAILED, "%s", message);
    return report(transport, error);
}

cs_status cs_transport_agree(cs_transport *transport, cs_status status, cs_error *error)
{
    /* The statuses of all ranks. Usually this is all. */
    int64_t own = status;
    memcpy(transport->statuses.own, &own, sizeof own);
    cs_error broken = {0};
    cs_status failed = cs_gather_run(&transport->statuses, &broken);
    if (failed) return status ? status : cs_fail(error, failed, "%s", broken.message);
    const int64_t *all = transport->statuses.all;
    int first = 0;
    while (first < transport->ranks && !all[first]) first++;
    if (first == transport->ranks) return CS_OK;
    cs_status agreed = (cs_status)all[first];

    /* The message of the lowest rank that failed. An interruption is an exception on its own rank only. */
    memcpy(transport->messages.own, error->message, CS_CAUSE_SIZE);
    failed = cs_gather_run(&transport->messages, &broken);
    if (failed) return status ? status : cs_fail(error, failed, "%s", broken.message);
    const char *message = (const char *)transport->messages.all + transport->messages.start[first];
    if (agreed == CS_INTERRUPTED && !*message) message = cs_status_text(agreed);
    if (agreed == CS_INTERRUPTED && first != transport->rank) agreed = CS_RANK_FAILED;
    return cs_fail(error, agreed, "rank %d: %.*s", first, (int)CS_CAUSE_SIZE - 32, message);
}

/* ---- making an exchange --------------------------------------------------------------------------------- */

static cs_status check(const cs_exchange *exchange, cs_error *error)
{
    for (int64_t i = 0; i < exchange->count; i++) {
        const cs_neighbour *n = &exchange->neighbour[i];
        if (n->rank < 0 || n->rank >= exchange->transport->ranks ||
            n->rank == exchange->transport->rank)
            return cs_fail(
                error, CS_INVALID,
                "%s: neighbour %lld of rank %d is rank %d, but another one of %d is needed",
                exchange->what, (long long)i, exchange->transport->rank, n->rank,
                exchange->transport->ranks);
        if (n->send_bytes < 0 || n->receive_bytes < 0)
            return cs_fail(error, CS_INVALID,
                           "%s: rank %d sends %lld bytes to rank %d and receives %lld",
                           exchange->what, exchange->transport->rank, (long long)n->send_bytes,
                           n->rank, (long long)n->receive_bytes);
        for (int64_t j = 0; j < i; j++)
            if (exchange->neighbour[j].rank == n->rank)
                return cs_fail(error, CS_INVALID, "%s: rank %d names rank %d twice", exchange->what,
                               exchange->transport->rank, n->rank);
    }
    return CS_OK;
}

cs_status cs_exchange_make(cs_exchange **exchange, cs_transport *transport, const char *what,
                           const cs_neighbour *neighbour, int64_t count, cs_error *error)
{
    /* The number is counted even if this fails, so that it stays the same on all ranks. */
    int64_t number = transport->numbers++;
    *exchange = NULL;
    cs_exchange *made = cs_allocate(1, sizeof *made);
    if (!made) return cs_no_memory(error, "an exchange of %s", what);
    made->transport = transport;
    made->what = what;
    made->number = number;
    made->count = count;
    made->of_gather = transport->gathering;

    cs_status status;
    made->neighbour = cs_arena_take(&made->arena, count, sizeof *neighbour);
    status = cs_arena_status(&made->arena, error, "%lld neighbours", (long long)count);
    if (status) goto out;
    if (count) memcpy(made->neighbour, neighbour, sizeof *neighbour * (size_t)count);
    status = check(made, error);
    if (status) goto out;
    for (int64_t i = 0; i < count; i++) {
        made->messages += neighbour[i].send_bytes > 0;
        made->bytes += neighbour[i].send_bytes;
    }
    status = transport->kind->connect(made, error);

out:
    if (status) cs_exchange_free(made);
    else *exchange = made;
    return status;
}

/* Takes an exchange off the list of those that are under way, if it is there. */
static void take_off(cs_exchange *exchange)
{
    cs_exchange **place = &exchange->transport->under_way;
    while (*place && *place != exchange) place = &(*place)->next;
    if (*place) *place = exchange->next;
}

void cs_exchange_free(cs_exchange *exchange)
{
    if (!exchange) return;
    if (exchange->running) take_off(exchange);
    exchange->transport->kind->disconnect(exchange);
    cs_arena_clear(&exchange->arena);
    cs_release(exchange);
}

/* ---- running it ----------------------------------------------------------------------------------------- */

cs_status cs_exchange_begin(cs_exchange *exchange, cs_error *error)
{
    cs_transport *transport = exchange->transport;
    if (transport->failure.status) return report(transport, error);
    if (exchange->running)
        return cs_fail(error, CS_INVALID, "an exchange of %s has begun already", exchange->what);

    cs_traffic *traffic = &transport->traffic;
    if (exchange->of_gather) {
        traffic->gather_messages += exchange->messages;
        traffic->gather_bytes += exchange->bytes;
    } else {
        traffic->exchanges++;
        traffic->messages += exchange->messages;
        traffic->bytes += exchange->bytes;
    }
    exchange->running = 1;
    exchange->next = transport->under_way;
    transport->under_way = exchange;
    cs_error own = {0};
    cs_status status = transport->kind->start(exchange, &own);
    if (!status) return CS_OK;
    give_up(transport, &own);
    return report(transport, error);
}

/* text <- "1, 3 and others": ranks whose messages are missing. */
static void name_missing(cs_exchange *exchange, char *text, size_t size)
{
    enum { MOST_NAMED = 8 };
    int named = 0;
    size_t used = 0;
    text[0] = 0;
    for (int64_t i = 0; i < exchange->count && used + 16 < size; i++) {
        if (!exchange->transport->kind->is_missing(exchange, i)) continue;
        if (named++ == MOST_NAMED) {
            snprintf(text + used, size - used, " and others");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%d", used ? ", " : "",
                                 exchange->neighbour[i].rank);
    }
}

/* What a rank that has waited for `waited` seconds asks; `ask`: the caller's function, too. */
static cs_status look_around(cs_exchange *exchange, double waited, int ask, cs_error *error)
{
    cs_transport *transport = exchange->transport;
    cs_status status = cs_transport_check(transport, error);
    if (status) return status;

    /* A neighbour that has ended sends nothing any more. */
    const cs_transport_kind *kind = transport->kind;
    for (int64_t i = 0; kind->is_lost && i < exchange->count; i++)
        if (kind->is_lost(exchange, i))
            return cs_fail(error, CS_RANK_FAILED,
                           "rank %d has ended, but rank %d waits for its message (%s)",
                           exchange->neighbour[i].rank, transport->rank, exchange->what);

    if (ask && transport->is_interrupted && transport->is_interrupted(transport->context))
        return cs_fail(error, CS_INTERRUPTED, "interrupted");

    if (waited < transport->timeout) return CS_OK;
    char missing[128];
    name_missing(exchange, missing, sizeof missing);
    return cs_fail(error, CS_TIMED_OUT, "rank %d has waited %s s for a message of rank %s (%s)",
                   transport->rank, cs_number(transport->timeout).text, missing, exchange->what);
}

void cs_exchange_advance(cs_exchange *exchange)
{
    int done;
    cs_error own = {0};
    cs_transport *transport = exchange->transport;
    if (!exchange->running || transport->failure.status) return;

    /* Requests that have failed tell it once: the end would find them idle. */
    if (transport->kind->finish(exchange, &done, &own)) give_up(transport, &own);
}

/* The exchanges under way but this one: their messages may be what the rank that it waits for is waiting for. */
static void advance_others(const cs_exchange *exchange)
{
    for (cs_exchange *e = exchange->transport->under_way; e; e = e->next)
        if (e != exchange) cs_exchange_advance(e);
}

/* Tries to finish until it is done or nothing is to be hoped for. */
static cs_status wait_for(cs_exchange *exchange, cs_error *error)
{
    const cs_transport_kind *kind = exchange->transport->kind;
    double start = cs_clock(), now = start, looked = start, asked = start;
    cs_status status = CS_OK;
    int looks = 0, done = 0;
    while (!status && !done) {
        advance_others(exchange);
        if (exchange->transport->failure.status) {
            status = report(exchange->transport, error);
            break;
        }
        kind->rest(exchange, &looks);
        status = kind->finish(exchange, &done, error);
        if (status || done) break;

        /* Everything else is asked rarely. */
        now = cs_clock();
        if (now - looked < CAUSE_SECONDS) continue;
        looked = now;
        int ask = now - asked >= INTERRUPTION_SECONDS;
        if (ask) asked = now;
        status = look_around(exchange, now - start, ask, error);
    }
    exchange->transport->traffic.waiting += cs_clock() - start;
    return status;
}

cs_status cs_exchange_end(cs_exchange *exchange, cs_error *error)
{
    cs_transport *transport = exchange->transport;
    if (transport->failure.status) return report(transport, error);
    if (!exchange->running)
        return cs_fail(error, CS_INVALID, "an exchange of %s ends before it begins",
                       exchange->what);

    int done = 0;
    cs_error own = {0};
    cs_status status = transport->kind->finish(exchange, &done, &own);
    if (!status && !done) status = wait_for(exchange, &own);
    if (!status) {
        take_off(exchange);
        exchange->running = 0;
        return CS_OK;
    }

    /* Others are told the cause, unless it comes from them. */
    if (!transport->failure.status) give_up(transport, &own);
    return report(transport, error);
}
