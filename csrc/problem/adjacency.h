/* The contact graph stored by bodies: for each body, the blocks that act on it.
 *
 *     entry  = block << shift | partner     partner 0, 1, ...: which of the block's bodies this body is
 *     body   b_0: entries | b_1: entries | ...      compressed rows; start[b] ... start[b + 1] - 1 */
#ifndef CS_ADJACENCY_H
#define CS_ADJACENCY_H

#include "problem/problem.h"

typedef struct cs_adjacency {
    int shift;      /* 1, or 2 if a block has more than two partners */
    int64_t *body;  /* (blocks, 1 << shift): the bodies of each block; -1 where immovable or none */
    int64_t *start; /* (bodies + 1) into entry */
    int64_t *entry; /* the entries of each body, blocks ascending */
} cs_adjacency;

/* The block of an entry, and which of the block's partners the body is. */
static inline int64_t cs_entry_block(const cs_adjacency *adjacency, int64_t entry)
{
    return entry >> adjacency->shift;
}
static inline int cs_entry_partner(const cs_adjacency *adjacency, int64_t entry)
{
    return (int)(entry & ((1 << adjacency->shift) - 1));
}

/* The places for bodies that each block has. */
static inline int cs_adjacency_partners(const cs_adjacency *adjacency)
{
    return 1 << adjacency->shift;
}

/* The bodies of a block, cs_adjacency_partners of them; -1 where immovable or none. */
static inline const int64_t *cs_adjacency_bodies(const cs_adjacency *adjacency, int64_t block)
{
    return adjacency->body + (block << adjacency->shift);
}

static inline int64_t cs_adjacency_body(const cs_adjacency *adjacency, int64_t block, int partner)
{
    return cs_adjacency_bodies(adjacency, block)[partner];
}

/* Another body of an entry's block, number 1 ... cs_adjacency_partners - 1; -1 where immovable or none. */
static inline int64_t cs_adjacency_other(const cs_adjacency *adjacency, int64_t entry, int number)
{
    return adjacency->body[entry ^ number];
}

/* end <- the distinct ones of a block's bodies, which has this many places for them; -1 where immovable or none. Returns
 * their number. */
static inline int cs_distinct_bodies(const int64_t *body, int places, int64_t end[CS_MAX_PARTNERS])
{
    int count = 0;
    for (int s = 0; s < places; s++) {
        int known = body[s] < 0;
        for (int i = 0; i < count; i++) known |= end[i] == body[s];
        if (!known) end[count++] = body[s];
    }
    return count;
}

/* end <- the distinct bodies of a block. Returns their number. */
static inline int cs_adjacency_ends(const cs_adjacency *adjacency, int64_t block,
                                    int64_t end[CS_MAX_PARTNERS])
{
    return cs_distinct_bodies(cs_adjacency_bodies(adjacency, block),
                              cs_adjacency_partners(adjacency), end);
}

/* Builds the graph in `arena`. Immovable bodies are left out unless `with_immovable` is set; the fixed
 * world, -1, always is. Fails only if memory runs out. */
cs_status cs_adjacency_build(const cs_problem *problem, cs_arena *arena, int with_immovable,
                             cs_adjacency *adjacency, cs_error *error);

/* The same by so many threads, without immovable bodies. */
cs_status cs_adjacency_share(const cs_problem *problem, int threads, cs_arena *arena,
                             cs_adjacency *adjacency, cs_error *error);

#endif
