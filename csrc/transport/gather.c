/* Gathers by doubling (Bruck, Ho, Kipnis, Upfal, Weathersby, Efficient algorithms for all-to-all communications in
 * multiport message-passing systems, IEEE Trans. Parallel Distrib. Syst. 8, 1997, section 4): before the round of
 * distance d = 1, 2, 4, ..., rank r has the pieces of r, r + 1, ..., r + d - 1 modulo the number of ranks. It sends
 * them to rank r - d and receives those of r + d, r + d + 1, ... from rank r + d; in the last round only as many as
 * are missing. */
#include "transport/kind.h"

#include <string.h>

/* Bytes of the pieces of `count` ranks from the rank `first` on, modulo the number of ranks. */
static int64_t bytes_of(const cs_gather *gather, int first, int count)
{
    int ranks = gather->transport->ranks, end = first + count;
    const int64_t *start = gather->start;
    if (first >= ranks) return start[end - ranks] - start[first - ranks];
    if (end <= ranks) return start[end] - start[first];
    return start[ranks] - start[first] + start[end - ranks];
}

/* The exchange of one distance. */
static cs_status make_round(cs_gather *gather, int distance, const char *what, cs_error *error)
{
    cs_transport *t = gather->transport;
    int rank = t->rank, ranks = t->ranks;
    int count = distance < ranks - distance ? distance : ranks - distance;
    int64_t held = bytes_of(gather, rank, distance);
    cs_neighbour to = {.rank = (rank + ranks - distance) % ranks,
                       .send = gather->turned,
                       .send_bytes = bytes_of(gather, rank, count)};
    cs_neighbour from = {.rank = (rank + distance) % ranks,
                         .receive = gather->turned + held,
                         .receive_bytes = bytes_of(gather, rank + distance, count)};

    /* Both may be the same rank. */
    cs_neighbour both[2] = {to, from};
    if (to.rank == from.rank) {
        both[0].receive = from.receive;
        both[0].receive_bytes = from.receive_bytes;
    }
    return cs_exchange_make(&gather->round[gather->rounds], t, what, both,
                            to.rank == from.rank ? 1 : 2, error);
}

cs_status cs_gather_make(cs_gather *gather, cs_transport *transport, const char *what,
                         const int64_t *bytes, cs_error *error)
{
    int ranks = transport->ranks, rounds = 0;
    for (int distance = 1; distance < ranks; distance *= 2) rounds++;
    *gather = (cs_gather){.transport = transport};

    /* Memory. */
    int64_t total = 0;
    int64_t *start = cs_arena_take(&gather->arena, ranks + 1, sizeof *start);
    for (int r = 0; r < ranks; r++) {
        if (start) start[r] = total;
        total += bytes[r];
    }
    gather->turned = cs_arena_take(&gather->arena, total, 1);
    gather->round = cs_arena_take(&gather->arena, rounds, sizeof *gather->round);
    gather->turned_back = cs_arena_take(&gather->arena, total, 1);
    cs_status status =
        cs_arena_status(&gather->arena, error, "a gather of %lld bytes", (long long)total);
    if (status) {
        transport->numbers += rounds; /* the same on all ranks */
        goto out;
    }
    start[ranks] = total;
    gather->start = start;
    gather->own = gather->turned;
    gather->all = gather->turned_back;

    /* All exchanges are made, whether or not one fails: numbers of exchanges match them. */
    transport->gathering = 1;
    for (int distance = 1; distance < ranks; distance *= 2, gather->rounds++) {
        cs_status made = make_round(gather, distance, what, status ? NULL : error);
        if (!status) status = made;
    }
    transport->gathering = 0;

out:
    if (status) cs_gather_free(gather);
    return status;
}

cs_status cs_gather_run(cs_gather *gather, cs_error *error)
{
    cs_transport *transport = gather->transport;
    transport->traffic.gathers++;
    for (int k = 0; k < gather->rounds; k++) {
        cs_status status = cs_exchange_begin(gather->round[k], error);
        if (!status) status = cs_exchange_end(gather->round[k], error);
        if (status) return status;
    }

    /* From the order that begins with the own rank to that of ranks. */
    int64_t before = gather->start[transport->rank];
    int64_t rest = gather->start[transport->ranks] - before;
    memcpy(gather->turned_back + before, gather->turned, (size_t)rest);
    memcpy(gather->turned_back, gather->turned + rest, (size_t)before);
    return CS_OK;
}

void cs_gather_free(cs_gather *gather)
{
    for (int k = 0; k < gather->rounds; k++) cs_exchange_free(gather->round[k]);
    cs_arena_clear(&gather->arena);
    *gather = (cs_gather){0};
}

cs_status cs_gather_once(cs_transport *transport, const char *what, const int64_t *bytes,
                         const void *own, void *all, cs_error *error)
{
    cs_gather gather;
    cs_status status = cs_gather_make(&gather, transport, what, bytes, error);
    if (!status) {
        memcpy(gather.own, own, (size_t)bytes[transport->rank]);
        status = cs_gather_run(&gather, error);
    }
    if (!status) memcpy(all, gather.all, (size_t)gather.start[transport->ranks]);
    cs_gather_free(&gather);
    return status;
}
