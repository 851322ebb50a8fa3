#include "transport/mpi.h"

#include "core/back_off.h"
#include "core/clock.h"
#include "transport/kind.h"

#include <stdio.h>
#include <string.h>

/* Seconds in which the messages of an abort leave; small ones leave at once. */
#define ALARM_SECONDS 0.5

typedef struct process {
    cs_transport transport;
    cs_mpi mpi;
    cs_mpi_requests alarm; /* the first receives, the others send */
    int told;              /* whether the messages of an abort have been sent */
    int heard;             /* whether one has come */
    char send[CS_CAUSE_SIZE], receive[CS_CAUSE_SIZE];
    void *status; /* of tests of these */
} process;

/* The requests of one exchange, and room for the statuses of a test. */
typedef struct messages {
    cs_mpi_requests requests;
    void *status;
    int connected;
} messages;

static process *process_of(const cs_exchange *exchange) { return (process *)exchange->transport; }

/* The request of this number. */
static void *request_of(const process *p, const cs_mpi_requests *requests, int i)
{
    return (char *)requests->request + (int64_t)i * p->mpi.request_bytes;
}

static cs_status failed(const char *function, int code, const char *what, cs_error *error)
{
    return cs_fail(error, CS_RANK_FAILED, "%s has failed with code %d (%s)", function, code, what);
}

/* ---- exchanges ------------------------------------------------------------------------------------------ */

static cs_status make_requests(cs_exchange *exchange, cs_error *error)
{
    process *p = process_of(exchange);
    messages *own = exchange->own = cs_arena_take(&exchange->arena, 1, sizeof *own);
    int64_t most = 2 * exchange->count + 1;
    void *status_room = cs_arena_take(&exchange->arena, most, (size_t)p->mpi.status_bytes);
    cs_status status = cs_arena_status(&exchange->arena, error, "%lld requests", (long long)most);
    if (status) return status;
    own->status = status_room;
    status = p->mpi.connect(p->mpi.context, exchange->number, exchange->neighbour, exchange->count,
                            &own->requests, error);
    own->connected = !status;
    return status;
}

static void free_requests(cs_exchange *exchange)
{
    process *p = process_of(exchange);
    messages *own = exchange->own;
    if (own && own->connected) p->mpi.disconnect(p->mpi.context, &own->requests, exchange->running);
}

static cs_status start(cs_exchange *exchange, cs_error *error)
{
    process *p = process_of(exchange);
    messages *own = exchange->own;
    if (!own->requests.count) return CS_OK;
    int code = p->mpi.startall(own->requests.count, own->requests.request);
    return code ? failed("MPI_Startall", code, exchange->what, error) : CS_OK;
}

static cs_status finish(cs_exchange *exchange, int *done, cs_error *error)
{
    process *p = process_of(exchange);
    messages *own = exchange->own;
    *done = 1;
    if (!own->requests.count) return CS_OK;
    int code = p->mpi.testall(own->requests.count, own->requests.request, done, own->status);
    return code ? failed("MPI_Testall", code, exchange->what, error) : CS_OK;
}

static void rest(cs_exchange *exchange, int *looks)
{
    (void)exchange;
    cs_back_off(looks);
}

/* Only asked where the exchange has failed: a test of one request alone completes it. */
static int is_missing(cs_exchange *exchange, int64_t i)
{
    process *p = process_of(exchange);
    const messages *own = exchange->own;
    int receives = 0, sends = 0, done = 1;
    for (int64_t k = 0; k < exchange->count; k++)
        receives += exchange->neighbour[k].receive_bytes > 0;
    int received = 0;
    for (int64_t k = 0; k < i; k++) {
        received += exchange->neighbour[k].receive_bytes > 0;
        sends += exchange->neighbour[k].send_bytes > 0;
    }
    const cs_neighbour *n = &exchange->neighbour[i];
    if (n->receive_bytes > 0 &&
        p->mpi.testall(1, request_of(p, &own->requests, received), &done, own->status))
        return 1;
    if (!done) return 1;
    if (n->send_bytes > 0 &&
        p->mpi.testall(1, request_of(p, &own->requests, receives + sends), &done, own->status))
        return 1;
    return !done;
}

/* ---- failures ------------------------------------------------------------------------------------------- */

static int has_failed(cs_transport *transport, char *message, size_t size)
{
    process *p = (process *)transport;
    int done = 0;
    if (!p->heard && p->alarm.count && !p->mpi.testall(1, p->alarm.request, &done, p->status) &&
        done)
        p->heard = 1;
    if (!p->heard && !p->told) return 0;
    snprintf(message, size, "%s", p->heard ? p->receive : p->send);
    return 1;
}

static void tell_all(cs_transport *transport, const char *message)
{
    process *p = (process *)transport;
    int others = p->alarm.count - 1, done = 0, looks = 0;
    if (p->told || p->heard) return;
    p->told = 1;
    snprintf(p->send, sizeof p->send, "%s", message);
    if (others < 1) return;

    void *requests = request_of(p, &p->alarm, 1);
    if (p->mpi.startall(others, requests)) return;
    double start = cs_clock();
    while (!done && cs_clock() - start < ALARM_SECONDS) {
        if (p->mpi.testall(others, requests, &done, p->status)) return;
        cs_back_off(&looks);
    }
}

/* ---- the transport -------------------------------------------------------------------------------------- */

/* MPI ends with no request under way. */
static void stop_listening(cs_transport *transport)
{
    process *p = (process *)transport;
    if (p->alarm.count) p->mpi.disconnect(p->mpi.context, &p->alarm, !p->heard);
    p->alarm = (cs_mpi_requests){0};
}

static void destroy(cs_transport *transport)
{
    process *p = (process *)transport;
    cs_transport_end(transport);
    stop_listening(transport);
    cs_release(p->status);
    cs_release(p);
}

static const cs_transport_kind mpi_kind = {
    .name = "mpi",
    .connect = make_requests,
    .disconnect = free_requests,
    .start = start,
    .finish = finish,
    .rest = rest,
    .is_missing = is_missing,
    .has_failed = has_failed,
    .alarm = tell_all,
    .leave = stop_listening,
    .destroy = destroy,
};

/* Starts the request that waits for an abort of any other rank. */
static cs_status start_listening(process *p, cs_error *error)
{
    cs_status status =
        p->mpi.connect_alarm(p->mpi.context, p->send, p->receive, sizeof p->send, &p->alarm, error);
    if (status) return status;
    int code = p->mpi.startall(1, p->alarm.request);
    return code ? failed("MPI_Startall", code, "messages of an abort", error) : CS_OK;
}

cs_status cs_mpi_make(cs_transport **transport, const cs_mpi *mpi, int rank, int ranks,
                      double timeout, cs_error *error)
{
    *transport = NULL;
    process *p = cs_allocate(1, sizeof *p);
    if (!p) return cs_no_memory(error, "the transport of rank %d", rank);
    p->mpi = *mpi;
    p->status = cs_allocate(ranks + 1, (size_t)mpi->status_bytes);
    cs_status status = p->status ? CS_OK : cs_no_memory(error, "the statuses of %d ranks", ranks);
    if (!status) status = cs_transport_begin(&p->transport, &mpi_kind, rank, ranks, timeout, error);
    if (!status && ranks > 1) status = start_listening(p, error);
    if (status) destroy(&p->transport);
    else *transport = &p->transport;
    return status;
}
