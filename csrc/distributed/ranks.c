#include "distributed/ranks.h"

#include "core/ascending.h"
#include "core/error.h"
#include "problem/adjacency.h"
#include "transport/transport.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bodies of neighbours whose numbers travel: those of one neighbour after another, ascending. */
typedef struct neighbour_lists {
    int64_t neighbours;
    int *rank;                           /* (neighbours) */
    int64_t *first_send, *first_receive; /* (neighbours + 1) */
    int64_t *send, *receive;             /* bodies */
    unsigned char *send_stage,
        *receive_stage; /* (sends or receives, width): stages after which they travel, bit by bit */
    int64_t width;
} neighbour_lists;

/* One exchange: the items whose numbers it carries, bodies or rows of lambda, and its buffers. */
typedef struct carrier {
    cs_exchange *exchange;
    int64_t sends, receives;
    int64_t *send, *receive; /* items */
    const int *width;        /* numbers of each item; NULL: one */
    int64_t *send_part,
        *receive_part; /* in a concurrent stage: the parts that change the bodies; or NULL */
    char *out, *in;
    size_t size; /* bytes of a number */
    int64_t messages, bytes;
    unsigned char *
        readers; /* (width of the lists): stages that read what arrives, bit by bit; or NULL: none */

    /* While it is open, from begin to end: where what arrives goes, and a second array for it, or NULL. */
    int open, overlapped; /* whether contacts have been visited meanwhile */
    void *values, *copy;
    const int64_t *place;
    struct carrier *next; /* in the list of those that are open */
} carrier;

struct cs_ranks {
    int rank, ranks;
    const cs_share *share;
    const cs_problem *problem;
    cs_transport *transport;
    cs_arena arena;
    int agreed;              /* whether the last agreement was on a failure */
    cs_error failure;        /* its status is CS_OK if there is none */
    int *owner;              /* (bodies): the rank that owns it; -1 if it is immovable */
    int *dof;                /* (bodies) */
    int64_t *velocity_place; /* (bodies): its first velocity in the problem's vector */
    neighbour_lists lists;
    unsigned char *
        leaves; /* (bodies, width of the lists): stages after which an own body travels, bit by bit */
    carrier *first_open,
        **end_of_open; /* the carriers that are open, in the sequence of their begins */
    int64_t overlapped;
    carrier products, ghosts; /* of all ghosts: velocities in double precision; u */
    carrier *stage;           /* (stages): u after each stage, from the bodies' owners */
    carrier *back; /* (stages): u after each disjoint stage, to the owners from whoever visited */
    carrier *changes;  /* (stages): of u in concurrent stages, to the bodies' owners */
    carrier impulses;  /* of contacts that one rank visits and others have */
    double *visits;    /* (stages): of all ranks; whole numbers */
    double rows;       /* of the whole problem; a whole number */
    cs_gather numbers; /* CS_RANKS_NUMBERS of each rank */
    cs_gather parts;   /* of each rank: TALLIED numbers, and one of each of its parts */
    cs_gather pieces;  /* of each rank: CS_RANKS_PIECE_NUMBERS of each of its pieces */
    int64_t own_pieces, all_pieces; /* of shared islands: of this rank, and of all */
    int64_t *island;                /* (all_pieces): of the pieces of one rank after another */
    cs_ranks_info info;             /* but for `overlapped` */
};

/* What each rank adds to the numbers of its parts: its largest number, and its count. */
enum { LARGEST, COUNT, TALLIED };

/* ---- failures ------------------------------------------------------------------------------------ */

/* Whether calls have become useless. */
static int has_failed(const cs_ranks *ranks) { return ranks->failure.status != CS_OK; }

cs_status cs_ranks_status(const cs_ranks *ranks, cs_error *error)
{
    if (!ranks || !has_failed(ranks)) return CS_OK;
    if (error) *error = ranks->failure;
    return ranks->failure.status;
}

cs_status cs_ranks_agree(cs_ranks *ranks, cs_status status, cs_error *error)
{
    cs_error ignored = {0};
    if (!ranks) return status;
    if (has_failed(ranks)) return status ? status : cs_ranks_status(ranks, error);
    status = cs_transport_agree(ranks->transport, status, error ? error : &ignored);
    ranks->agreed = status != CS_OK;
    return status;
}

void cs_ranks_begin(cs_ranks *ranks)
{
    if (!ranks) return;
    ranks->agreed = 0;
    ranks->overlapped = 0;
}

int cs_ranks_have_agreed(const cs_ranks *ranks) { return ranks && ranks->agreed; }

/* ---- who has what ------------------------------------------------------------------------------- */

/* Fills owner, dof and velocity_place of all bodies. */
static void describe_bodies(cs_ranks *ranks)
{
    const cs_problem *problem = ranks->problem;
    const cs_share *share = ranks->share;
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *group = &problem->body_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t body = group->first_body + k;
            ranks->owner[body] = group->immovable[k] ? -1
                                                     : cs_owner_of_part(share->label[body],
                                                                        share->parts, ranks->ranks);
            ranks->dof[body] = group->dof;
            ranks->velocity_place[body] = group->first_velocity + k * group->dof;
        }
    }
}

/* body <- the distinct movable bodies of a block. Returns their number. */
static int ends_of(const cs_problem *problem, int64_t block, int64_t body[CS_MAX_PARTNERS])
{
    const cs_block_group *group = cs_block_group_of(problem, block);
    int64_t index = block - group->first_block, place[CS_MAX_PARTNERS];
    int partners = cs_block_partners(group);
    for (int s = 0; s < partners; s++)
        place[s] = cs_partner_moves(group, index, s) ? cs_partner_body(group, index, s) : -1;
    return cs_distinct_bodies(place, partners, body);
}

/* Whether a rank has the block, because it owns one of its bodies. */
static int has_block(const cs_ranks *ranks, int rank, int64_t block)
{
    int64_t body[CS_MAX_PARTNERS];
    int ends = ends_of(ranks->problem, block, body), has = 0;
    for (int i = 0; i < ends; i++) has |= ranks->owner[body[i]] == rank;
    return has;
}

/* Whether every rank that has the block visits it, in a stage of this kind; otherwise only the owner of its part. */
static int is_visited_by_all(int64_t kind)
{
    return kind == CS_SIMULTANEOUS || kind == CS_INDEPENDENT;
}

static int visits_block(const cs_ranks *ranks, int rank, int64_t kind, int64_t block)
{
    const cs_share *share = ranks->share;
    if (is_visited_by_all(kind)) return has_block(ranks, rank, block);
    return cs_owner_of_part(share->part[block], share->parts, ranks->ranks) == rank;
}

/* Fails for a stage that several ranks cannot share. */
static cs_status check_stages(const cs_ranks *ranks, cs_error *error)
{
    const cs_share *share = ranks->share;
    for (int64_t s = 0; s < share->stages; s++) {
        if (share->kind[s] != CS_SEQUENTIAL) continue;
        for (int64_t i = share->start[s]; i < share->start[s + 1]; i++) {
            int64_t body[CS_MAX_PARTNERS], block = share->block[i];
            int ends = ends_of(ranks->problem, block, body);
            int own = visits_block(ranks, ranks->rank, share->kind[s], block);
            for (int e = 0; e < ends; e++) own &= ranks->owner[body[e]] == ranks->rank;
            if (!own)
                return cs_fail(error, CS_UNSUPPORTED,
                               "stage %lld is %s, and its contact %lld acts on bodies of several "
                               "ranks, which cannot visit contacts one after another; use a "
                               "border in colours",
                               (long long)s, cs_stage_kind_name((int)share->kind[s]),
                               (long long)share->contact[block]);
        }
    }
    return CS_OK;
}

/* ---- lists of ghosts ------------------------------------------------------------------------------ */

/* send and receive <- rank x bodies + body of what travels; both sorted, each once. */
static cs_status find_travellers(cs_ranks *ranks, cs_arena *scratch, int64_t **send, int64_t *sends,
                                 int64_t **receive, int64_t *receives, cs_error *error)
{
    const cs_problem *problem = ranks->problem;
    int64_t most = CS_MAX_PARTNERS * (CS_MAX_PARTNERS - 1) * problem->blocks;
    *send = cs_arena_take_unset(scratch, most, sizeof(int64_t));
    *receive = cs_arena_take_unset(scratch, most, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the neighbours of a rank");

    /* Of each block, own bodies go to the owners of its other bodies, which come in return. */
    *sends = *receives = 0;
    for (int64_t block = 0; block < problem->blocks; block++) {
        int64_t body[CS_MAX_PARTNERS];
        int ends = ends_of(problem, block, body);
        for (int i = 0; i < ends; i++) {
            if (ranks->owner[body[i]] != ranks->rank) continue;
            for (int j = 0; j < ends; j++) {
                int64_t other = ranks->owner[body[j]];
                if (other == ranks->rank) continue;
                (*send)[(*sends)++] = other * problem->bodies + body[i];
                (*receive)[(*receives)++] = other * problem->bodies + body[j];
            }
        }
    }
    *sends = cs_sort_distinct_64(*send, *sends);
    *receives = cs_sort_distinct_64(*receive, *receives);
    return CS_OK;
}

/* Divides sorted pairs of rank and body into lists by rank: first (neighbours + 1) and the bodies. */
static void list_by_rank(const cs_ranks *ranks, const int64_t *pair, int64_t pairs, int64_t *first,
                         int64_t *body)
{
    const neighbour_lists *lists = &ranks->lists;
    int64_t i = 0;
    for (int64_t n = 0; n < lists->neighbours; n++) {
        first[n] = i;
        for (; i < pairs && pair[i] / ranks->problem->bodies == lists->rank[n]; i++)
            body[i] = pair[i] % ranks->problem->bodies;
    }
    first[lists->neighbours] = i;
}

/* Fills the lists of all that travels. */
static cs_status make_lists(cs_ranks *ranks, cs_error *error)
{
    cs_arena scratch = {0};
    neighbour_lists *lists = &ranks->lists;
    int64_t *send, *receive, sends = 0, receives = 0;
    cs_status status = find_travellers(ranks, &scratch, &send, &sends, &receive, &receives, error);
    if (status) goto out;

    /* The neighbours: whoever sends something receives something. */
    lists->rank = cs_arena_take(&ranks->arena, ranks->ranks, sizeof(int));
    for (int64_t i = 0; i < receives && lists->rank; i++) {
        int rank = (int)(receive[i] / ranks->problem->bodies);
        int known = lists->neighbours > 0 && lists->rank[lists->neighbours - 1] == rank;
        if (!known) lists->rank[lists->neighbours++] = rank;
    }

    /* The bodies. */
    lists->width = (ranks->share->stages + 7) / 8;
    lists->first_send =
        cs_arena_take(&ranks->arena, lists->neighbours + 1, sizeof *lists->first_send);
    lists->first_receive =
        cs_arena_take(&ranks->arena, lists->neighbours + 1, sizeof *lists->first_receive);
    lists->send = cs_arena_take(&ranks->arena, sends, sizeof(int64_t));
    lists->receive = cs_arena_take(&ranks->arena, receives, sizeof(int64_t));
    lists->send_stage = cs_arena_take(&ranks->arena, sends * lists->width, 1);
    lists->receive_stage = cs_arena_take(&ranks->arena, receives * lists->width, 1);
    status = cs_arena_status(&ranks->arena, error, "the neighbours of a rank");
    if (status) goto out;
    list_by_rank(ranks, send, sends, lists->first_send, lists->send);
    list_by_rank(ranks, receive, receives, lists->first_receive, lists->receive);
out:
    cs_arena_clear(&scratch);
    return status;
}

/* The place of a body among those that travel to neighbour n; -1 if it does not. */
static int64_t find_send(const neighbour_lists *lists, int64_t n, int64_t body)
{
    int64_t first = lists->first_send[n], count = lists->first_send[n + 1] - first;
    const int64_t *found =
        bsearch(&body, lists->send + first, (size_t)count, sizeof body, cs_compare_64);
    return found ? found - lists->send : -1;
}

/* to |= from, `width` bytes. */
static void add_bits(unsigned char *to, const unsigned char *from, int64_t width)
{
    for (int64_t i = 0; i < width; i++) to[i] |= from[i];
}

static void set_bit(unsigned char *bits, int64_t i)
{
    bits[i / 8] |= (unsigned char)(1 << (i % 8));
}
static int has_bit(const unsigned char *bits, int64_t i) { return bits[i / 8] >> (i % 8) & 1; }

/* Notes that own bodies of a block travel after a stage to the neighbours that have them but do not visit the block. */
static void note_block(cs_ranks *ranks, int64_t stage, int64_t kind, int64_t block)
{
    neighbour_lists *lists = &ranks->lists;
    int64_t body[CS_MAX_PARTNERS];
    int ends = ends_of(ranks->problem, block, body);
    for (int i = 0; i < ends; i++) {
        if (ranks->owner[body[i]] != ranks->rank) continue;
        for (int64_t n = 0; n < lists->neighbours; n++) {
            int64_t place = find_send(lists, n, body[i]);
            int same = kind != CS_CONCURRENT && visits_block(ranks, lists->rank[n], kind, block);
            if (place < 0 || same) continue;
            set_bit(lists->send_stage + place * lists->width, stage);
        }
    }
}

/* Finds after which stages the own bodies travel. A simultaneous stage may compute u anew from all contacts of a body; in a
 * concurrent one only the owner of a body has the changes of all parts. */
static void note_stages(cs_ranks *ranks)
{
    const cs_share *share = ranks->share;
    for (int64_t s = 0; s < share->stages; s++) {
        int all = share->kind[s] == CS_SIMULTANEOUS;
        int64_t first = all ? 0 : share->start[s],
                end = all ? ranks->problem->blocks : share->start[s + 1];
        for (int64_t i = first; i < end; i++) note_block(ranks, s, share->kind[s], share->block[i]);
    }

    /* The same by bodies. */
    const neighbour_lists *lists = &ranks->lists;
    for (int64_t i = 0; i < lists->first_send[lists->neighbours]; i++)
        add_bits(ranks->leaves + lists->send[i] * lists->width,
                 lists->send_stage + i * lists->width, lists->width);
}

/* Makes an exchange of `send_bytes` and `receive_bytes` for each neighbour, in contiguous buffers. */
static cs_status make_exchange(cs_ranks *ranks, const char *what, char *out,
                               const int64_t *send_bytes, char *in, const int64_t *receive_bytes,
                               cs_exchange **exchange, cs_error *error)
{
    cs_arena scratch = {0};
    int64_t count = ranks->lists.neighbours;
    cs_neighbour *neighbour = cs_arena_take(&scratch, count, sizeof *neighbour);
    if (!neighbour) return cs_no_memory(error, "the neighbours of a rank");
    for (int64_t n = 0; n < count; n++) {
        neighbour[n] =
            (cs_neighbour){ranks->lists.rank[n], out, send_bytes[n], in, receive_bytes[n]};
        out += send_bytes[n];
        in += receive_bytes[n];
    }
    cs_status status = cs_exchange_make(exchange, ranks->transport, what, neighbour, count, error);
    cs_arena_clear(&scratch);
    return status;
}

/* Tells the neighbours after which stages bodies travel. Collective. */
static cs_status tell_stages(cs_ranks *ranks, cs_error *error)
{
    neighbour_lists *lists = &ranks->lists;
    cs_exchange *exchange = NULL;
    cs_arena scratch = {0};
    int64_t *send = cs_arena_take(&scratch, lists->neighbours, sizeof(int64_t));
    int64_t *receive = cs_arena_take(&scratch, lists->neighbours, sizeof(int64_t));
    cs_status status = cs_arena_status(&scratch, error, "the neighbours of a rank");
    for (int64_t n = 0; n < lists->neighbours && !status; n++) {
        send[n] = (lists->first_send[n + 1] - lists->first_send[n]) * lists->width;
        receive[n] = (lists->first_receive[n + 1] - lists->first_receive[n]) * lists->width;
    }
    if (!status)
        status = make_exchange(ranks, "stages of ghost bodies", (char *)lists->send_stage, send,
                               (char *)lists->receive_stage, receive, &exchange, error);
    if (!status) status = cs_exchange_begin(exchange, error);
    if (!status) status = cs_exchange_end(exchange, error);
    cs_exchange_free(exchange);
    cs_arena_clear(&scratch);
    return status;
}

/* ---- carriers ------------------------------------------------------------------------------------ */

/* Whether item i travels after a stage, or, with CS_ALL_GHOSTS, at all. */
static int travels(const unsigned char *stages, int64_t width, int64_t i, int64_t stage)
{
    return stage < 0 || has_bit(stages + i * width, stage);
}

/* The bytes of an item. */
static int64_t item_bytes(const carrier *c, int64_t item)
{
    return (int64_t)c->size * (c->width ? c->width[item] : 1);
}

/* body <- those of `all` (first[n] ... for each neighbour) that travel after a stage; bytes (neighbours) of each. Returns
 * their number. */
static int64_t choose(const cs_ranks *ranks, const int64_t *all, const int64_t *first,
                      const unsigned char *stages, int64_t stage, size_t size, int64_t *body,
                      int64_t *bytes)
{
    int64_t count = 0;
    for (int64_t n = 0; n < ranks->lists.neighbours; n++) {
        bytes[n] = 0;
        for (int64_t i = first[n]; i < first[n + 1]; i++) {
            if (!travels(stages, ranks->lists.width, i, stage)) continue;
            body[count++] = all[i];
            bytes[n] += ranks->dof[all[i]] * (int64_t)size;
        }
    }
    return count;
}

static int64_t sum_of(const int64_t *values, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) sum += values[i];
    return sum;
}

/* Takes the buffers of a carrier and makes its exchange. */
static cs_status finish_carrier(cs_ranks *ranks, const char *what, const int64_t *send_bytes,
                                const int64_t *receive_bytes, carrier *c, cs_error *error)
{
    int64_t neighbours = ranks->lists.neighbours;
    c->bytes = sum_of(send_bytes, neighbours);
    for (int64_t n = 0; n < neighbours; n++) c->messages += send_bytes[n] > 0;
    c->out = cs_arena_take(&ranks->arena, c->bytes, 1);
    c->in = cs_arena_take(&ranks->arena, sum_of(receive_bytes, neighbours), 1);
    cs_status status = cs_arena_status(&ranks->arena, error, "the neighbours of a rank");
    if (status) return status;
    return make_exchange(ranks, what, c->out, send_bytes, c->in, receive_bytes, &c->exchange,
                         error);
}

/* Makes the carrier of u after a stage, or of all ghosts. Collective. */
static cs_status make_carrier(cs_ranks *ranks, int64_t stage, size_t size, const char *what,
                              carrier *c, cs_error *error)
{
    /* What travels. */
    const neighbour_lists *lists = &ranks->lists;
    int64_t neighbours = lists->neighbours;
    cs_arena scratch = {0};
    int64_t *send_bytes = cs_arena_take(&scratch, neighbours, sizeof(int64_t));
    int64_t *receive_bytes = cs_arena_take(&scratch, neighbours, sizeof(int64_t));
    cs_status status = CS_OK;
    *c = (carrier){.size = size};
    c->width = ranks->dof;
    c->send = cs_arena_take(&ranks->arena, lists->first_send[neighbours], sizeof(int64_t));
    c->receive = cs_arena_take(&ranks->arena, lists->first_receive[neighbours], sizeof(int64_t));
    if (!send_bytes || !receive_bytes || !c->send || !c->receive) {
        status = cs_no_memory(error, "the neighbours of a rank");
        goto out;
    }
    c->sends = choose(ranks, lists->send, lists->first_send, lists->send_stage, stage, size,
                      c->send, send_bytes);
    c->receives = choose(ranks, lists->receive, lists->first_receive, lists->receive_stage, stage,
                         size, c->receive, receive_bytes);

    status = finish_carrier(ranks, what, send_bytes, receive_bytes, c, error);
out:
    cs_arena_clear(&scratch);
    return status;
}

/* Pairs of a rank and what goes there or comes from there: rank * count + number. A number is that of a row; of a body; or,
 * for the changes of a part, part * bodies + body. */
typedef struct pairs {
    int64_t *pair, count;
} pairs;

/* What the numbers of pairs are of. */
typedef struct numbering {
    int64_t parts; /* 1: numbers have no part */
    int64_t items; /* bodies or rows */
} numbering;

/* item, part (NULL: numbers have none) and bytes (neighbours) <- those of the pairs, by neighbour. */
static void take_pairs(const cs_ranks *ranks, const pairs *from, numbering of, const carrier *c,
                       int64_t *item, int64_t *part, int64_t *bytes)
{
    int64_t i = 0, numbers = of.parts * of.items;
    for (int64_t n = 0; n < ranks->lists.neighbours; n++) {
        bytes[n] = 0;
        for (; i < from->count && from->pair[i] / numbers == ranks->lists.rank[n]; i++) {
            item[i] = from->pair[i] % of.items;
            if (part) part[i] = from->pair[i] % numbers / of.items;
            bytes[n] += item_bytes(c, item[i]);
        }
    }
}

/* Sorts the pairs, and makes the carrier of what goes to ranks and comes from ranks. Collective. */
static cs_status make_carrier_of_pairs(cs_ranks *ranks, pairs *send, pairs *receive, numbering of,
                                       const int *width, size_t size, const char *what, carrier *c,
                                       cs_error *error)
{
    cs_arena scratch = {0}, *arena = &ranks->arena;
    int64_t neighbours = ranks->lists.neighbours;
    int64_t *send_bytes = cs_arena_take(&scratch, neighbours, sizeof(int64_t));
    int64_t *receive_bytes = cs_arena_take(&scratch, neighbours, sizeof(int64_t));
    send->count = cs_sort_distinct_64(send->pair, send->count);
    receive->count = cs_sort_distinct_64(receive->pair, receive->count);
    *c = (carrier){.size = size, .width = width, .sends = send->count, .receives = receive->count};
    c->send = cs_arena_take(arena, c->sends, sizeof(int64_t));
    c->receive = cs_arena_take(arena, c->receives, sizeof(int64_t));
    if (of.parts > 1) {
        c->send_part = cs_arena_take(arena, c->sends, sizeof(int64_t));
        c->receive_part = cs_arena_take(arena, c->receives, sizeof(int64_t));
    }
    cs_status status = cs_arena_status(&scratch, error, "the neighbours of a rank");
    if (!status) status = cs_arena_status(arena, error, "the neighbours of a rank");
    if (!status) {
        take_pairs(ranks, send, of, c, c->send, c->send_part, send_bytes);
        take_pairs(ranks, receive, of, c, c->receive, c->receive_part, receive_bytes);
        status = finish_carrier(ranks, what, send_bytes, receive_bytes, c, error);
    }
    cs_arena_clear(&scratch);
    return status;
}

/* Adds to the pairs the bodies of a block whose velocities go to their owners, from the rank that visits the block: as
 * they are, in a disjoint stage, or the changes of the block's part, in a concurrent one. */
static void note_bodies(const cs_ranks *ranks, int64_t block, numbering of, pairs *send,
                        pairs *receive)
{
    const cs_share *share = ranks->share;
    int64_t body[CS_MAX_PARTNERS], own = share->part[block], part = of.parts > 1 ? own : 0;
    int ends = ends_of(ranks->problem, block, body);
    int visitor = cs_owner_of_part(own, share->parts, ranks->ranks);
    for (int e = 0; e < ends; e++) {
        int owner = ranks->owner[body[e]];
        if (owner == visitor) continue;
        if (visitor == ranks->rank)
            send->pair[send->count++] = (owner * of.parts + part) * of.items + body[e];
        else if (owner == ranks->rank)
            receive->pair[receive->count++] = (visitor * of.parts + part) * of.items + body[e];
    }
}

/* Adds the rows of a block of a disjoint stage, whose impulses go from the rank that visits it to the others that have it. */
static void note_impulses(const cs_ranks *ranks, int64_t block, pairs *send, pairs *receive)
{
    const cs_share *share = ranks->share;
    const cs_problem *problem = ranks->problem;
    int64_t body[CS_MAX_PARTNERS];
    int ends = ends_of(problem, block, body);
    int visitor = cs_owner_of_part(share->part[block], share->parts, ranks->ranks);
    for (int64_t row = cs_block_row(problem, block); row < cs_block_end(problem, block); row++) {
        if (visitor != ranks->rank) {
            receive->pair[receive->count++] = visitor * problem->rows + row;
            continue;
        }
        for (int e = 0; e < ends; e++) {
            int64_t other = ranks->owner[body[e]];
            if (other != ranks->rank) send->pair[send->count++] = other * problem->rows + row;
        }
    }
}

/* Makes the carriers of disjoint and concurrent stages. Collective. */
static cs_status make_disjoint_carriers(cs_ranks *ranks, size_t real_size, cs_error *error)
{
    /* Room for all pairs. */
    const cs_share *share = ranks->share;
    const cs_problem *problem = ranks->problem;
    cs_arena scratch = {0};
    int64_t bodies = CS_MAX_PARTNERS * problem->blocks, rows = CS_MAX_PARTNERS * problem->rows;
    pairs body[2] = {{cs_arena_take_unset(&scratch, bodies, sizeof(int64_t)), 0},
                     {cs_arena_take_unset(&scratch, bodies, sizeof(int64_t)), 0}};
    pairs row[2] = {{cs_arena_take_unset(&scratch, rows, sizeof(int64_t)), 0},
                    {cs_arena_take_unset(&scratch, rows, sizeof(int64_t)), 0}};
    cs_status status = cs_arena_status(&scratch, error, "the neighbours of a rank");

    /* Stage by stage. Changes of a concurrent stage are those of each part. */
    for (int64_t s = 0; s < share->stages && !status; s++) {
        int concurrent = share->kind[s] == CS_CONCURRENT;
        if (share->kind[s] != CS_DISJOINT && !concurrent) continue;
        numbering of = {concurrent ? share->parts : 1, problem->bodies};
        body[0].count = body[1].count = 0;
        for (int64_t i = share->start[s]; i < share->start[s + 1]; i++) {
            note_bodies(ranks, share->block[i], of, &body[0], &body[1]);
            note_impulses(ranks, share->block[i], &row[0], &row[1]);
        }
        status =
            make_carrier_of_pairs(ranks, &body[0], &body[1], of, ranks->dof, real_size,
                                  concurrent ? "changes of parts" : "impulses on bodies of others",
                                  concurrent ? &ranks->changes[s] : &ranks->back[s], error);
    }
    if (!status)
        status = make_carrier_of_pairs(ranks, &row[0], &row[1], (numbering){1, problem->rows}, NULL,
                                       real_size, "impulses of contacts of others",
                                       &ranks->impulses, error);
    cs_arena_clear(&scratch);
    return status;
}

/* Finds the stages that read what carriers bring: visits read u of their ghosts; a simultaneous stage, which may compute u
 * anew from impulses, reads everything. */
static cs_status note_readers(cs_ranks *ranks, cs_error *error)
{
    /* The stages that read each ghost. */
    const cs_share *share = ranks->share;
    int64_t width = ranks->lists.width, bodies = ranks->problem->bodies;
    cs_arena scratch = {0};
    unsigned char *readers = cs_arena_take(&scratch, bodies * width, 1);
    unsigned char *everything = cs_arena_take(&scratch, width, 1);
    cs_status status = cs_arena_status(&scratch, error, "the stages of a rank");
    for (int64_t s = 0; s < share->stages && !status; s++) {
        int64_t kind = share->kind[s];
        if (kind == CS_SIMULTANEOUS) set_bit(everything, s);
        for (int64_t i = share->start[s]; i < share->start[s + 1]; i++) {
            int64_t body[CS_MAX_PARTNERS], block = share->block[i];
            int ends = ends_of(ranks->problem, block, body);
            if (kind == CS_DISJOINT && !visits_block(ranks, ranks->rank, kind, block)) continue;
            for (int e = 0; e < ends; e++) set_bit(readers + body[e] * width, s);
        }
    }

    /* Those of each carrier. */
    for (int64_t s = 0; s <= share->stages && !status; s++) {
        carrier *c = s < share->stages ? &ranks->stage[s] : &ranks->impulses;
        c->readers = cs_arena_take(&ranks->arena, width, 1);
        status = cs_arena_status(&ranks->arena, error, "the stages of a rank");
        if (status) break;
        add_bits(c->readers, everything, width);
        for (int64_t i = 0; i < c->receives && s < share->stages; i++)
            add_bits(c->readers, readers + c->receive[i] * width, width);
    }
    cs_arena_clear(&scratch);
    return status;
}

int cs_ranks_at_border(const cs_ranks *ranks, int64_t stage, int64_t block)
{
    int64_t body[CS_MAX_PARTNERS];
    int ends = ends_of(ranks->problem, block, body), border = 0;
    int waits = ranks->share->kind[stage] == CS_SIMULTANEOUS; /* u is sent after the whole stage */
    for (int e = 0; e < ends; e++) {
        int is_own = ranks->owner[body[e]] == ranks->rank;
        border |=
            !is_own || (!waits && has_bit(ranks->leaves + body[e] * ranks->lists.width, stage));
    }
    return border;
}

/* ---- what travels ---------------------------------------------------------------------------------- */

/* to <- from, the bytes of an item: of six velocities or one row without a call, in double or single precision. */
static inline void copy_item(char *to, const char *from, size_t bytes)
{
    if (bytes == 6 * sizeof(double)) memcpy(to, from, 6 * sizeof(double));
    else if (bytes == 6 * sizeof(float)) memcpy(to, from, 6 * sizeof(float));
    else if (bytes == sizeof(double)) memcpy(to, from, sizeof(double));
    else memcpy(to, from, bytes);
}

/* Sends the numbers of the carrier's items: those of item k are at place[k], or (place NULL) those of the i-th one at
 * out_place[i]. Returns whether anything travels. */
static int send_items(cs_ranks *ranks, const carrier *c, const void *values, const int64_t *place,
                      const int64_t *out_place)
{
    char *out = c->out;
    if (has_failed(ranks) || c->sends + c->receives == 0) return 0;
    for (int64_t i = 0; i < c->sends; i++) {
        size_t bytes = (size_t)item_bytes(c, c->send[i]);
        int64_t at = place ? place[c->send[i]] : out_place[i];
        copy_item(out, (const char *)values + c->size * (size_t)at, bytes);
        out += bytes;
    }
    return !cs_exchange_begin(c->exchange, &ranks->failure);
}

/* values <- the numbers of the items that have arrived. */
static void put_items(const carrier *c, void *values, const int64_t *place, const int64_t *in_place)
{
    const char *in = c->in;
    for (int64_t i = 0; i < c->receives; i++) {
        size_t bytes = (size_t)item_bytes(c, c->receive[i]);
        int64_t at = place ? place[c->receive[i]] : in_place[i];
        copy_item((char *)values + c->size * (size_t)at, in, bytes);
        in += bytes;
    }
}

/* Waits for what an open carrier brings. */
static void close_carrier(cs_ranks *ranks, carrier *c)
{
    /* Off the list. */
    carrier **place = &ranks->first_open;
    while (*place != c) place = &(*place)->next;
    *place = c->next;
    if (!c->next) ranks->end_of_open = place;
    c->open = 0;

    /* In. */
    ranks->overlapped += c->overlapped;
    if (has_failed(ranks) || cs_exchange_end(c->exchange, &ranks->failure)) return;
    put_items(c, c->values, c->place, NULL);
    if (c->copy) put_items(c, c->copy, c->place, NULL);
}

/* The same for all that were opened up to this one, which may bring numbers of the same ghosts. */
static void close_up_to(cs_ranks *ranks, const carrier *last)
{
    for (int done = 0; !done;) {
        carrier *first = ranks->first_open;
        done = first == last;
        close_carrier(ranks, first);
    }
}

/* Sends the numbers of the carrier's items, which arrive when it is closed. Returns whether anything travels. */
static int open_carrier(cs_ranks *ranks, carrier *c, void *values, const int64_t *place)
{
    if (c->open) close_up_to(ranks, c);
    if (!send_items(ranks, c, values, place, NULL)) return 0;
    c->open = 1;
    c->overlapped = 0;
    c->values = values;
    c->place = place;
    c->copy = NULL;
    c->next = NULL;
    *ranks->end_of_open = c;
    ranks->end_of_open = &c->next;
    return 1;
}

/* Exchanges the numbers of the carrier's items, and waits for them. */
static void carry_from(cs_ranks *ranks, const carrier *c, void *values, const int64_t *place,
                       const int64_t *out_place, const int64_t *in_place)
{
    if (send_items(ranks, c, values, place, out_place) &&
        !cs_exchange_end(c->exchange, &ranks->failure))
        put_items(c, values, place, in_place);
}

static void carry(cs_ranks *ranks, const carrier *c, void *values, const int64_t *place)
{
    carry_from(ranks, c, values, place, NULL, NULL);
}

void cs_ranks_await(cs_ranks *ranks, int64_t stage)
{
    const carrier *last = NULL;
    for (const carrier *c = ranks->first_open; c; c = c->next)
        if (has_bit(c->readers, stage)) last = c;
    if (last) close_up_to(ranks, last);
}

void cs_ranks_settle(cs_ranks *ranks)
{
    while (ranks && ranks->first_open) close_carrier(ranks, ranks->first_open);
}

void cs_ranks_work(cs_ranks *ranks)
{
    for (carrier *c = ranks->first_open; c; c = c->next) {
        c->overlapped = 1;
        cs_exchange_advance(c->exchange);
    }
}

cs_changes cs_ranks_changes(const cs_ranks *ranks, int64_t stage)
{
    const carrier *c = &ranks->changes[stage];
    return (cs_changes){c->sends, c->receives, c->send, c->send_part, c->receive, c->receive_part};
}

void cs_ranks_exchange_changes(cs_ranks *ranks, int64_t stage, void *values,
                               const int64_t *send_place, const int64_t *receive_place)
{
    carry_from(ranks, &ranks->changes[stage], values, NULL, send_place, receive_place);
}

/* The carrier of u after a stage, or of all ghosts. */
static const carrier *carrier_of(const cs_ranks *ranks, int64_t stage)
{
    return stage < 0 ? &ranks->ghosts : &ranks->stage[stage];
}

void cs_ranks_exchange(cs_ranks *ranks, int64_t stage, void *values, const int64_t *place)
{
    if (!ranks) return;
    if (stage == CS_ALL_GHOSTS) {
        cs_ranks_settle(ranks);
        carry(ranks, &ranks->ghosts, values, place);
        return;
    }
    if (ranks->back[stage].open) close_carrier(ranks, &ranks->back[stage]);
    open_carrier(ranks, &ranks->stage[stage], values, place);
}

int cs_ranks_travels(const cs_ranks *ranks, int64_t stage)
{
    return ranks && carrier_of(ranks, stage)->sends + carrier_of(ranks, stage)->receives > 0;
}

int cs_ranks_return(cs_ranks *ranks, int64_t stage, void *values, const int64_t *place)
{
    return open_carrier(ranks, &ranks->back[stage], values, place);
}

int cs_ranks_borrow(const cs_ranks *ranks)
{
    return ranks && ranks->impulses.sends + ranks->impulses.receives > 0;
}

void cs_ranks_exchange_impulses(cs_ranks *ranks, void *values, const int64_t *place)
{
    if (ranks) open_carrier(ranks, &ranks->impulses, values, place);
}

void cs_ranks_copy_impulses(cs_ranks *ranks, void *copy) { ranks->impulses.copy = copy; }

void cs_ranks_complete(void *context, double *velocity)
{
    cs_ranks *ranks = context;
    if (ranks) carry(ranks, &ranks->products, velocity, ranks->velocity_place);
}

int64_t cs_ranks_ghost_velocities(const cs_ranks *ranks)
{
    int64_t numbers = 0;
    for (int64_t i = 0; ranks && i < ranks->products.receives; i++)
        numbers += ranks->dof[ranks->products.receive[i]];
    return numbers;
}

void cs_ranks_take_ghosts(const cs_ranks *ranks, const double *velocity, double *ghosts)
{
    const carrier *c = &ranks->products;
    for (int64_t i = 0; i < c->receives; i++) {
        int64_t body = c->receive[i];
        memcpy(ghosts, velocity + ranks->velocity_place[body], (size_t)item_bytes(c, body));
        ghosts += ranks->dof[body];
    }
}

void cs_ranks_put_ghosts(const cs_ranks *ranks, const double *ghosts, double *velocity)
{
    const carrier *c = &ranks->products;
    for (int64_t i = 0; i < c->receives; i++) {
        int64_t body = c->receive[i];
        memcpy(velocity + ranks->velocity_place[body], ghosts, (size_t)item_bytes(c, body));
        ghosts += ranks->dof[body];
    }
}

/* ---- decisions ----------------------------------------------------------------------------------- */

const double *cs_ranks_gather(cs_ranks *ranks, const double *own, int count)
{
    if (has_failed(ranks)) return NULL;
    double *room = ranks->numbers.own;
    memset(room, 0, CS_RANKS_NUMBERS * sizeof *room);
    memcpy(room, own, (size_t)count * sizeof *room);
    return cs_gather_run(&ranks->numbers, &ranks->failure) ? NULL : ranks->numbers.all;
}

/* How many of the numbers that are left go in the next message. */
static int in_message(int64_t left)
{
    return left < CS_RANKS_NUMBERS ? (int)left : CS_RANKS_NUMBERS;
}

void cs_ranks_largest(cs_ranks *ranks, double *values, int64_t count)
{
    for (int64_t first = 0; ranks && first < count; first += CS_RANKS_NUMBERS) {
        int some = in_message(count - first);
        const double *all = cs_ranks_gather(ranks, values + first, some);
        for (int r = 0; all && r < ranks->ranks; r++)
            for (int i = 0; i < some; i++) {
                double other = all[r * CS_RANKS_NUMBERS + i], *value = &values[first + i];
                if (other > *value || isnan(other)) *value = other;
            }
    }
}

void cs_ranks_totals(cs_ranks *ranks, double *values, int64_t count)
{
    for (int64_t first = 0; ranks && first < count; first += CS_RANKS_NUMBERS) {
        int some = in_message(count - first);
        const double *all = cs_ranks_gather(ranks, values + first, some);
        for (int i = 0; all && i < some; i++) {
            values[first + i] = 0;
            for (int r = 0; r < ranks->ranks; r++)
                values[first + i] += all[r * CS_RANKS_NUMBERS + i];
        }
    }
}

int cs_ranks_any(cs_ranks *ranks, int flag)
{
    double value = flag != 0;
    cs_ranks_largest(ranks, &value, 1);
    return value != 0;
}

int cs_ranks_all(cs_ranks *ranks, int flag) { return !cs_ranks_any(ranks, !flag); }

/* The first part of a rank. */
static int64_t first_part(const cs_ranks *ranks, int rank)
{
    return ranks->share->parts * rank / ranks->ranks;
}

double cs_ranks_tally(cs_ranks *ranks, const double *of_part, int64_t parts, double *largest,
                      double *count)
{
    /* On one rank, or after a failure. */
    double sum = 0;
    if (!ranks || has_failed(ranks)) {
        for (int64_t p = 0; p < parts; p++) sum += of_part[p];
        return sum;
    }

    /* Gather the numbers of all ranks and parts. */
    double *own = ranks->parts.own;
    int64_t first = first_part(ranks, ranks->rank), end = first_part(ranks, ranks->rank + 1);
    own[LARGEST] = *largest;
    own[COUNT] = *count;
    memcpy(own + TALLIED, of_part + first, sizeof(double) * (size_t)(end - first));
    if (cs_gather_run(&ranks->parts, &ranks->failure)) return 0;

    /* Combine those of ranks, and add those of parts in their order: ranks own consecutive parts. */
    const double *next = ranks->parts.all;
    *count = 0;
    for (int r = 0; r < ranks->ranks; r++) {
        if (next[LARGEST] > *largest || isnan(next[LARGEST])) *largest = next[LARGEST];
        *count += next[COUNT];
        next += TALLIED;
        for (int64_t p = first_part(ranks, r); p < first_part(ranks, r + 1); p++) sum += *next++;
    }
    return sum;
}

double cs_ranks_sum(cs_ranks *ranks, const double *of_part, int64_t parts)
{
    double largest = 0, count = 0;
    return cs_ranks_tally(ranks, of_part, parts, &largest, &count);
}

/* block (blocks) <- the blocks that the rank of neighbour n has, too, in the same sequence as there. Returns their number. */
static int64_t common_blocks(const cs_ranks *ranks, int64_t n, int64_t *block)
{
    int64_t count = 0;
    for (int64_t k = 0; k < ranks->problem->blocks; k++)
        if (has_block(ranks, ranks->lists.rank[n], k)) block[count++] = k;
    return count;
}

cs_status cs_ranks_add_counts(cs_ranks *ranks, int64_t *counts, cs_error *error)
{
    if (!ranks) return CS_OK;
    if (has_failed(ranks)) return cs_ranks_status(ranks, error);

    /* What goes to each neighbour comes from there as well: a block has a few bodies, each of one rank. */
    cs_arena scratch = {0};
    cs_exchange *exchange = NULL;
    int64_t neighbours = ranks->lists.neighbours;
    int64_t most = (CS_MAX_PARTNERS - 1) * ranks->problem->blocks, items = 0;
    int64_t *block = cs_arena_take_unset(&scratch, most + ranks->problem->blocks, sizeof *block);
    int64_t *out = cs_arena_take_unset(&scratch, most, sizeof *out);
    int64_t *in = cs_arena_take_unset(&scratch, most, sizeof *in);
    int64_t *bytes = cs_arena_take(&scratch, neighbours, sizeof *bytes);
    cs_status status = cs_arena_status(&scratch, error, "the neighbours of a rank");
    for (int64_t n = 0; n < neighbours && !status; n++) {
        int64_t common = common_blocks(ranks, n, block + items);
        bytes[n] = common * (int64_t)sizeof(int64_t);
        items += common;
    }
    for (int64_t i = 0; i < items; i++) out[i] = counts[block[i]];

    /* Over, and in. */
    if (!status)
        status = make_exchange(ranks, "counts of contacts", (char *)out, bytes, (char *)in, bytes,
                               &exchange, error);
    if (!status) status = cs_exchange_begin(exchange, error);
    if (!status) status = cs_exchange_end(exchange, error);
    for (int64_t i = 0; i < items && !status; i++) counts[block[i]] += in[i];
    cs_exchange_free(exchange);
    cs_arena_clear(&scratch);
    return status;
}

void cs_ranks_sum_pieces(cs_ranks *ranks, const double *of_piece, double *of_island)
{
    /* Gather the numbers of all pieces. */
    if (!ranks || has_failed(ranks) || ranks->share->shared_islands == 0) return;
    size_t numbers = CS_RANKS_PIECE_NUMBERS * (size_t)ranks->own_pieces;
    if (numbers) memcpy(ranks->pieces.own, of_piece, sizeof(double) * numbers);
    if (cs_gather_run(&ranks->pieces, &ranks->failure)) return;

    /* Ranks own consecutive parts: their order is that of the parts. */
    for (int64_t i = 0; i < CS_RANKS_PIECE_NUMBERS * ranks->share->shared_islands; i++)
        of_island[i] = 0;
    const double *next = ranks->pieces.all;
    for (int64_t i = 0; i < ranks->all_pieces; i++)
        for (int s = 0; s < CS_RANKS_PIECE_NUMBERS; s++)
            of_island[CS_RANKS_PIECE_NUMBERS * ranks->island[i] + s] += *next++;
}

int64_t cs_ranks_rows(const cs_ranks *ranks) { return (int64_t)ranks->rows; }

int64_t cs_ranks_visits(const cs_ranks *ranks, int64_t stage)
{
    return (int64_t)ranks->visits[stage];
}

/* ---- making ---------------------------------------------------------------------------------------- */

/* Takes what the rank knows by itself. */
static cs_status take(cs_ranks *ranks, cs_error *error)
{
    const cs_problem *problem = ranks->problem;
    ranks->owner = cs_arena_take(&ranks->arena, problem->bodies, sizeof(int));
    ranks->dof = cs_arena_take(&ranks->arena, problem->bodies, sizeof(int));
    ranks->velocity_place = cs_arena_take(&ranks->arena, problem->bodies, sizeof(int64_t));
    ranks->leaves =
        cs_arena_take(&ranks->arena, problem->bodies * ((ranks->share->stages + 7) / 8), 1);
    ranks->stage = cs_arena_take(&ranks->arena, ranks->share->stages, sizeof *ranks->stage);
    ranks->back = cs_arena_take(&ranks->arena, ranks->share->stages, sizeof *ranks->back);
    ranks->changes = cs_arena_take(&ranks->arena, ranks->share->stages, sizeof *ranks->changes);
    ranks->visits = cs_arena_take(&ranks->arena, ranks->share->stages, sizeof(double));
    cs_status status = cs_arena_status(&ranks->arena, error, "the share of a rank");
    if (status) return status;
    describe_bodies(ranks);
    status = check_stages(ranks, error);
    return status ? status : make_lists(ranks, error);
}

/* Makes the gathers. Collective. */
static cs_status make_gathers(cs_ranks *ranks, cs_error *error)
{
    cs_arena scratch = {0};
    int64_t *bytes = cs_arena_take(&scratch, ranks->ranks, sizeof(int64_t));
    if (!bytes) return cs_no_memory(error, "the share of a rank");
    for (int r = 0; r < ranks->ranks; r++) bytes[r] = CS_RANKS_NUMBERS * (int64_t)sizeof(double);
    cs_status status =
        cs_gather_make(&ranks->numbers, ranks->transport, "numbers of ranks", bytes, error);
    for (int r = 0; r < ranks->ranks; r++)
        bytes[r] =
            (TALLIED + first_part(ranks, r + 1) - first_part(ranks, r)) * (int64_t)sizeof(double);
    if (!status)
        status = cs_gather_make(&ranks->parts, ranks->transport, "sums of parts", bytes, error);
    cs_arena_clear(&scratch);
    return status;
}

/* piece (blocks) <- island * parts + part of each own block of a shared island, ascending and each once. Returns their
 * number. */
static int64_t find_own_pieces(const cs_ranks *ranks, int64_t *piece)
{
    const cs_share *share = ranks->share;
    int64_t count = 0;
    for (int64_t k = 0; k < ranks->problem->blocks; k++)
        if (share->island[k] >= 0 && cs_ranks_own(ranks, share->part[k]))
            piece[count++] = share->island[k] * share->parts + share->part[k];
    return cs_sort_distinct_64(piece, count);
}

/* Lets ranks know the pieces of the islands that they share. Collective. */
static cs_status share_pieces(cs_ranks *ranks, cs_error *error)
{
    /* How many pieces each rank has. */
    cs_arena scratch = {0};
    cs_status status = CS_OK;
    if (ranks->share->shared_islands == 0) return CS_OK;
    int64_t *piece = cs_arena_take(&scratch, ranks->problem->blocks, sizeof(int64_t));
    int64_t *bytes = cs_arena_take(&scratch, ranks->ranks, sizeof(int64_t));
    if (cs_arena_failed(&scratch)) {
        status = cs_no_memory(error, "the islands of ranks");
        goto out;
    }
    ranks->own_pieces = find_own_pieces(ranks, piece);
    double count = (double)ranks->own_pieces;
    const double *all = cs_ranks_gather(ranks, &count, 1);
    if (!all) {
        status = cs_ranks_status(ranks, error);
        goto out;
    }
    for (int r = 0; r < ranks->ranks; r++) {
        int64_t pieces = (int64_t)all[r * CS_RANKS_NUMBERS];
        ranks->all_pieces += pieces;
        bytes[r] = pieces * (int64_t)sizeof(int64_t);
    }

    /* Their islands, and the gather of their numbers. */
    for (int64_t i = 0; i < ranks->own_pieces; i++) piece[i] /= ranks->share->parts;
    ranks->island = cs_arena_take(&ranks->arena, ranks->all_pieces, sizeof(int64_t));
    if (!ranks->island) status = cs_no_memory(error, "the islands of ranks");
    if (!status)
        status = cs_gather_once(ranks->transport, "islands of parts", bytes, piece, ranks->island,
                                error);
    for (int r = 0; r < ranks->ranks; r++) bytes[r] *= CS_RANKS_PIECE_NUMBERS;
    if (!status)
        status = cs_gather_make(&ranks->pieces, ranks->transport, "sums of islands", bytes, error);
out:
    cs_arena_clear(&scratch);
    return status;
}

/* Counts what cs_ranks_describe tells. */
static void count_own(cs_ranks *ranks)
{
    cs_ranks_info *info = &ranks->info;
    *info =
        (cs_ranks_info){.neighbours = ranks->lists.neighbours, .visits = ranks->problem->blocks};
    for (int64_t body = 0; body < ranks->problem->bodies; body++) {
        info->owned += ranks->owner[body] == ranks->rank;
        info->ghosts += ranks->owner[body] >= 0 && ranks->owner[body] != ranks->rank;
    }
    for (int64_t k = 0; k < ranks->problem->blocks; k++)
        info->own += cs_ranks_own(ranks, ranks->share->part[k]);
    for (int64_t s = 0; s < ranks->share->stages; s++) {
        const carrier *of_stage[] = {&ranks->stage[s], &ranks->back[s], &ranks->changes[s]};
        for (int i = 0; i < 3; i++) {
            info->messages += of_stage[i]->messages;
            info->bytes += of_stage[i]->bytes;
        }
    }
    info->messages += ranks->impulses.messages;
    info->bytes += ranks->impulses.bytes;
}

/* Counts the visits of all ranks in each stage, and the rows of the whole problem. Collective. */
static void count_all(cs_ranks *ranks)
{
    const cs_share *share = ranks->share;
    for (int64_t s = 0; s < share->stages; s++)
        for (int64_t i = share->start[s]; i < share->start[s + 1]; i++)
            ranks->visits[s] += cs_ranks_own(ranks, share->part[share->block[i]]);
    for (int64_t k = 0; k < ranks->problem->blocks; k++)
        if (cs_ranks_own(ranks, share->part[k]))
            ranks->rows += cs_block_group_of(ranks->problem, k)->rows;
    cs_ranks_totals(ranks, ranks->visits, share->stages);
    cs_ranks_totals(ranks, &ranks->rows, 1);
}

/* Makes the exchanges. Collective. */
static cs_status make_carriers(cs_ranks *ranks, size_t real_size, cs_error *error)
{
    cs_status status = make_carrier(ranks, CS_ALL_GHOSTS, sizeof(double), "velocities of ghosts",
                                    &ranks->products, error);
    if (!status)
        status = make_carrier(ranks, CS_ALL_GHOSTS, real_size, "impulses on ghosts", &ranks->ghosts,
                              error);
    for (int64_t s = 0; s < ranks->share->stages && !status; s++)
        status = make_carrier(ranks, s, real_size, "impulses on ghosts after a stage",
                              &ranks->stage[s], error);
    if (!status) status = make_disjoint_carriers(ranks, real_size, error);
    return status ? status : note_readers(ranks, error);
}

cs_status cs_ranks_make(cs_ranks **result, const cs_share *share, const cs_problem *problem,
                        size_t real_size, cs_transport *transport, int *known, cs_error *error)
{
    /* What needs no other rank. The others learn of a failure. */
    cs_ranks *ranks = *result = cs_allocate(1, sizeof *ranks);
    int rank = cs_transport_rank(transport), count = cs_transport_ranks(transport);
    cs_status status = ranks ? CS_OK : cs_no_memory(error, "the share of a rank");
    if (!status) {
        *ranks = (cs_ranks){.rank = rank,
                            .ranks = count,
                            .share = share,
                            .problem = problem,
                            .transport = transport};
        ranks->end_of_open = &ranks->first_open;
        status = cs_share_check(share, problem, count, error);
    }
    if (!status) status = take(ranks, error);
    cs_error ignored = {0};
    status = cs_transport_agree(transport, status, error ? error : &ignored);
    *known = status != CS_OK;

    /* What they tell each other. */
    if (!status) status = make_gathers(ranks, error);
    if (!status) {
        note_stages(ranks);
        status = tell_stages(ranks, error);
    }
    if (!status) status = share_pieces(ranks, error);
    if (!status) status = make_carriers(ranks, real_size, error);
    if (!status) {
        count_own(ranks);
        count_all(ranks);
        status = cs_ranks_status(ranks, error);
    }
    if (!status) return CS_OK;
    cs_ranks_free(ranks);
    *result = NULL;
    return status;
}

void cs_ranks_free(cs_ranks *ranks)
{
    if (!ranks) return;
    for (int64_t s = 0; s < ranks->share->stages && ranks->stage; s++)
        cs_exchange_free(ranks->stage[s].exchange);
    for (int64_t s = 0; s < ranks->share->stages && ranks->back; s++)
        cs_exchange_free(ranks->back[s].exchange);
    for (int64_t s = 0; s < ranks->share->stages && ranks->changes; s++)
        cs_exchange_free(ranks->changes[s].exchange);
    cs_exchange_free(ranks->impulses.exchange);
    cs_exchange_free(ranks->products.exchange);
    cs_exchange_free(ranks->ghosts.exchange);
    cs_gather_free(&ranks->numbers);
    cs_gather_free(&ranks->parts);
    cs_gather_free(&ranks->pieces);
    cs_arena_clear(&ranks->arena);
    cs_release(ranks);
}

/* ---- figures --------------------------------------------------------------------------------------- */

int cs_ranks_count(const cs_ranks *ranks) { return ranks ? ranks->ranks : 1; }
const cs_share *cs_ranks_share(const cs_ranks *ranks) { return ranks ? ranks->share : NULL; }

int64_t cs_ranks_bytes(const cs_ranks *ranks) { return ranks ? (int64_t)ranks->arena.bytes : 0; }

int cs_ranks_own(const cs_ranks *ranks, int64_t part)
{
    return !ranks || cs_owner_of_part(part, ranks->share->parts, ranks->ranks) == ranks->rank;
}

int cs_ranks_own_body(const cs_ranks *ranks, int64_t body)
{
    return !ranks || ranks->owner[body] == ranks->rank;
}

int64_t cs_ranks_contact(const cs_ranks *ranks, int64_t block)
{
    return ranks && block >= 0 ? ranks->share->contact[block] : block;
}

void cs_ranks_describe(const cs_ranks *ranks, cs_ranks_info *info)
{
    *info = ranks->info;
    info->overlapped = ranks->overlapped;
}
