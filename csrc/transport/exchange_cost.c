#include "transport/exchange_cost.h"

#include "core/clock.h"
#include "transport/threads.h"

#include <math.h>

/* One rank's exchange with its partner, and its buffers. */
typedef struct pair {
    cs_exchange *exchange;
    cs_arena arena;
} pair;

static cs_status make_pair(pair *p, cs_transport *transport, int64_t bytes, cs_error *error)
{
    int partner = cs_transport_rank(transport) ^ 1;
    int64_t count = partner < cs_transport_ranks(transport);
    *p = (pair){0};
    cs_neighbour neighbour = {
        .rank = partner,
        .send = cs_arena_take(&p->arena, bytes, 1),
        .send_bytes = bytes,
        .receive = cs_arena_take(&p->arena, bytes, 1),
        .receive_bytes = bytes,
    };
    cs_status status =
        cs_arena_status(&p->arena, error, "messages of %lld bytes", (long long)bytes);
    cs_status made = cs_exchange_make(&p->exchange, transport, "messages of a measurement",
                                      &neighbour, count, status ? NULL : error);
    return status ? status : made;
}

static void free_pair(pair *p)
{
    cs_exchange_free(p->exchange);
    cs_arena_clear(&p->arena);
}

/* Mean seconds of a reading of the clock. */
static double reading_cost(void)
{
    enum { READINGS = 200 };
    double start = cs_clock(), end = start;
    for (int i = 0; i < READINGS; i++) end = cs_clock();
    return (end - start) / READINGS;
}

/* One exchange with a pause in it; own <- the seconds in which the rank was within the transport. */
static cs_status run_with_pause(cs_exchange *exchange, double pause, double *own, cs_error *error)
{
    double start = cs_clock();
    cs_status status = cs_exchange_begin(exchange, error);
    double begun = cs_clock(), now = begun;
    while (now - begun < pause) now = cs_clock();
    double resumed = cs_clock();
    if (!status) status = cs_exchange_end(exchange, error);
    *own = begun - start + (cs_clock() - resumed);
    return status;
}

static cs_status run_without_pause(cs_exchange *exchange, int64_t count, double *seconds,
                                   cs_error *error)
{
    cs_status status = CS_OK;
    double start = cs_clock();
    for (int64_t i = 0; i < count && !status; i++) {
        status = cs_exchange_begin(exchange, error);
        if (!status) status = cs_exchange_end(exchange, error);
    }
    *seconds = (cs_clock() - start) / (double)count;
    return status;
}

cs_status cs_exchange_cost(cs_transport *transport, int64_t bytes, int64_t count, double pause,
                           double *seconds, cs_error *error)
{
    pair own;
    cs_error local = {0};
    cs_status status = make_pair(&own, transport, bytes, &local);
    status = cs_transport_agree(transport, status, &local);

    *seconds = 0;
    if (!status && !(pause > 0)) status = run_without_pause(own.exchange, count, seconds, &local);
    double each = 0, total = 0;
    for (int64_t i = 0; i < count && pause > 0 && !status; i++) {
        status = run_with_pause(own.exchange, pause, &each, &local);
        total += each;
    }
    if (pause > 0) *seconds = fmax(0, total / (double)count - 2 * reading_cost());
    free_pair(&own);
    return status ? cs_fail(error, status, "%s", local.message) : CS_OK;
}

cs_status cs_exchange_work(int64_t bytes, int64_t count, double *seconds, cs_error *error)
{
    enum { RANKS = 2 };
    cs_transport *transport[RANKS];
    pair own[RANKS] = {{0}};
    cs_status status = cs_threads_make(NULL, transport, RANKS, 60, error);
    if (status) return status;
    for (int r = 0; r < RANKS && !status; r++)
        status = make_pair(&own[r], transport[r], bytes, error);

    double start = cs_clock();
    for (int64_t i = 0; i < count && !status; i++) {
        for (int r = 0; r < RANKS && !status; r++)
            status = cs_exchange_begin(own[r].exchange, error);
        for (int r = 0; r < RANKS && !status; r++) status = cs_exchange_end(own[r].exchange, error);
    }
    *seconds = (cs_clock() - start) / (double)(RANKS * count);

    for (int r = 0; r < RANKS; r++) free_pair(&own[r]);
    for (int r = 0; r < RANKS; r++) cs_transport_destroy(transport[r]);
    return status;
}
