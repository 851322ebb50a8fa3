#include "transport/networks/ranks.h"

#include <math.h>
#include <string.h>

/* Gathers that a network makes beside that of wishes. */
enum { MOST_GATHERS = 4 };

/* What a message is, in its first eight bytes. */
enum { MESSAGE, POISON };

typedef struct listed_link {
    cs_rank_link *link;
    struct listed_link *next;
} listed_link;

struct cs_network_ranks {
    cs_transport *transport;
    int rank, ranks;
    int agreed;       /* whether the last agreement was on a failure */
    cs_error failure; /* of a gather of wishes */
    cs_gather wishes; /* (CS_NETWORK_WISHES) of each rank */
    cs_rank_link_counts counts;
    cs_arena arena;     /* of links */
    listed_link *links; /* all of them */
    cs_gather gather[MOST_GATHERS];
    int gathers;
};

/* ---- the ranks ----------------------------------------------------------------------------------- */

cs_status cs_network_ranks_make(cs_network_ranks **made, cs_transport *transport, cs_error *error)
{
    int ranks = cs_transport_ranks(transport);
    *made = NULL;
    cs_network_ranks *own = cs_allocate(1, sizeof *own);
    int64_t *bytes = cs_allocate(ranks, sizeof *bytes);
    cs_status status = own && bytes ? CS_OK : cs_no_memory(error, "a network on %d ranks", ranks);

    /* The gather is made by all ranks or by none. */
    cs_error ignored = {0};
    if (!error) error = &ignored;
    status = cs_transport_agree(transport, status, error);
    for (int r = 0; r < ranks && !status; r++) bytes[r] = CS_NETWORK_WISHES * sizeof(double);
    if (!status) {
        own->transport = transport;
        own->rank = cs_transport_rank(transport);
        own->ranks = ranks;
        status = cs_gather_make(&own->wishes, transport, "wishes to end a solve", bytes, error);
        status = cs_transport_agree(transport, status, error);
    }
    cs_release(bytes);
    if (!status) *made = own;
    else if (own && own->transport) cs_network_ranks_free(own);
    else cs_release(own);
    return status;
}

void cs_network_ranks_clear(cs_network_ranks *ranks)
{
    for (listed_link *c = ranks->links; c; c = c->next) cs_exchange_free(c->link->exchange);
    for (int g = 0; g < ranks->gathers; g++) cs_gather_free(&ranks->gather[g]);
    ranks->links = NULL;
    ranks->gathers = 0;
    cs_arena_clear(&ranks->arena);
}

void cs_network_ranks_free(cs_network_ranks *ranks)
{
    if (!ranks) return;
    cs_network_ranks_clear(ranks);
    cs_gather_free(&ranks->wishes);
    cs_release(ranks);
}

cs_arena *cs_network_ranks_memory(cs_network_ranks *ranks) { return &ranks->arena; }

int cs_network_ranks_count(const cs_network_ranks *ranks) { return ranks->ranks; }
int cs_network_ranks_own(const cs_network_ranks *ranks) { return ranks->rank; }

int cs_network_rank_of(const cs_network_ranks *ranks, int process, int processes)
{
    return (int)((int64_t)process * ranks->ranks / processes);
}

int cs_network_is_here(const cs_network_ranks *ranks, int process, int processes)
{
    return cs_network_rank_of(ranks, process, processes) == ranks->rank;
}

cs_status cs_network_ranks_agree(cs_network_ranks *ranks, cs_status status, cs_error *error)
{
    cs_error ignored = {0};
    status = cs_transport_agree(ranks->transport, status, error ? error : &ignored);
    ranks->agreed = status != CS_OK;
    return status;
}

int cs_network_ranks_have_agreed(const cs_network_ranks *ranks) { return ranks->agreed; }

void cs_network_ranks_begin(cs_network_ranks *ranks)
{
    ranks->agreed = 0;
    ranks->failure = (cs_error){0};
}

void cs_network_ranks_largest(cs_network_ranks *ranks, double *values, int count)
{
    if (ranks->failure.status) return;
    double *own = ranks->wishes.own;
    for (int i = 0; i < CS_NETWORK_WISHES; i++) own[i] = i < count ? values[i] : 0;
    if (cs_gather_run(&ranks->wishes, &ranks->failure)) return;
    const double *all = ranks->wishes.all;
    for (int r = 0; r < ranks->ranks; r++)
        for (int i = 0; i < count; i++) values[i] = fmax(values[i], all[r * CS_NETWORK_WISHES + i]);
}

cs_status cs_network_ranks_status(const cs_network_ranks *ranks, cs_error *error)
{
    if (ranks->failure.status && error) *error = ranks->failure;
    return ranks->failure.status;
}

cs_rank_link_counts cs_network_ranks_counted(const cs_network_ranks *ranks)
{
    return ranks->counts;
}

void cs_network_ranks_recount(cs_network_ranks *ranks) { ranks->counts = (cs_rank_link_counts){0}; }

cs_status cs_network_ranks_gather(cs_network_ranks *ranks, const char *what, const int64_t *bytes,
                                  cs_gather **made, cs_error *error)
{
    *made = NULL;
    if (ranks->gathers == MOST_GATHERS)
        return cs_fail(error, CS_INVALID, "a network has %d gathers at most", (int)MOST_GATHERS);
    cs_gather *gather = &ranks->gather[ranks->gathers];
    cs_status status = cs_gather_make(gather, ranks->transport, what, bytes, error);
    if (status) return status;
    ranks->gathers++;
    *made = gather;
    return CS_OK;
}

/* ---- making links -------------------------------------------------------------------------------- */

/* Memory of a link for those that have one of its ends; and its place in the list of all. */
static cs_status take_place(cs_rank_link *link, cs_error *error)
{
    cs_network_ranks *ranks = link->ranks;
    listed_link *listed = cs_arena_take(&ranks->arena, 1, sizeof *listed);
    if (link->writes || link->reads)
        link->place = cs_arena_take(&ranks->arena, (link->bytes + 7) / 8, sizeof *link->place);
    cs_status status = cs_arena_status(&ranks->arena, error, "a channel between ranks");
    if (status) return status;
    *listed = (listed_link){link, ranks->links};
    ranks->links = listed;
    return CS_OK;
}

cs_status cs_rank_link_make(cs_rank_link *link, cs_network_ranks *ranks,
                            const cs_rank_link_shape *shape, cs_error *error)
{
    int from = cs_network_rank_of(ranks, shape->from, shape->processes);
    int to = cs_network_rank_of(ranks, shape->to, shape->processes);
    *link = (cs_rank_link){
        .ranks = ranks,
        .writes = from == ranks->rank,
        .reads = to == ranks->rank,
        .bytes = (int64_t)sizeof(int64_t) + shape->bytes,
    };
    cs_status failed = take_place(link, error);
    if (from == to) return failed;

    /* Every rank makes the exchange, for its number. */
    int takes_part = !failed && (link->writes || link->reads);
    cs_neighbour other = {.rank = link->writes ? to : from};
    if (takes_part && link->writes) other.send = link->place, other.send_bytes = link->bytes;
    if (takes_part && link->reads) other.receive = link->place, other.receive_bytes = link->bytes;
    cs_exchange *made;
    cs_status status = cs_exchange_make(&made, ranks->transport, shape->what, &other, takes_part,
                                        failed ? NULL : error);
    if (takes_part && !status) link->exchange = made;
    else cs_exchange_free(made);
    return failed ? failed : status;
}

/* ---- messages ------------------------------------------------------------------------------------ */

cs_status cs_rank_link_reserve(cs_rank_link *link, void **place, cs_error *error)
{
    *place = link->place + 1;
    if (!link->exchange || !link->under_way) return CS_OK;
    cs_status status = cs_exchange_end(link->exchange, error);
    if (!status) link->under_way = 0;
    return status;
}

static cs_status write_mark(cs_rank_link *link, int64_t mark, cs_error *error)
{
    *link->place = mark;
    cs_status status = link->exchange ? cs_exchange_begin(link->exchange, error) : CS_OK;
    link->under_way = 1;
    return status;
}

cs_status cs_rank_link_send(cs_rank_link *link, cs_error *error)
{
    cs_rank_link_counts *counts = &link->ranks->counts;
    counts->messages++;
    counts->bytes += link->bytes;
    if (link->exchange) counts->messages_away++, counts->bytes_away += link->bytes;
    return write_mark(link, MESSAGE, error);
}

cs_status cs_rank_link_poison(cs_rank_link *link, cs_error *error)
{
    void *place;
    cs_status status = cs_rank_link_reserve(link, &place, error);
    return status ? status : write_mark(link, POISON, error);
}

cs_status cs_rank_link_expect(cs_rank_link *link, cs_error *error)
{
    if (!link->exchange || link->under_way) return CS_OK;
    link->under_way = 1;
    return cs_exchange_begin(link->exchange, error);
}

cs_status cs_rank_link_read(cs_rank_link *link, const void **place, cs_error *error)
{
    cs_status status = cs_rank_link_expect(link, error);
    if (!status && link->exchange) status = cs_exchange_end(link->exchange, error);
    *place = NULL;
    if (status) return status;
    link->under_way = 0;
    if (*link->place != POISON) *place = link->place + 1;
    return CS_OK;
}

cs_status cs_network_ranks_settle(cs_network_ranks *ranks, cs_error *error)
{
    cs_status status = CS_OK;
    for (listed_link *c = ranks->links; c && !status; c = c->next) {
        cs_rank_link *link = c->link;
        if (!link->exchange || !link->writes || !link->under_way) continue;
        status = cs_exchange_end(link->exchange, error);
        if (!status) link->under_way = 0;
    }
    return status;
}
