/* The contact graph stored by bodies: for each body, the blocks that act on it.
 *
 *     entry  = 2 block + partner        partner 0 or 1: which of the block's two bodies this body is
 *     body   b_0: entries | b_1: entries | ...      compressed rows; start[b] ... start[b + 1] - 1 */
#ifndef CS_ADJACENCY_H
#define CS_ADJACENCY_H

#include "problem/problem.h"

typedef struct cs_adjacency {
    int64_t *body;  /* (blocks, 2): the bodies of each block; -1 where immovable */
    int64_t *start; /* (bodies + 1) into entry */
    int64_t *entry; /* the entries of each body, blocks ascending */
} cs_adjacency;

/* The block of an entry, and which of the block's partners the body is. */
static inline int64_t cs_entry_block(int64_t entry) { return entry / CS_PARTNERS; }
static inline int cs_entry_partner(int64_t entry) { return (int)(entry % CS_PARTNERS); }

/* The two bodies of a block; -1 where immovable. */
static inline const int64_t *cs_adjacency_bodies(const cs_adjacency *adjacency, int64_t block)
{
    return adjacency->body + CS_PARTNERS * block;
}

static inline int64_t cs_adjacency_body(const cs_adjacency *adjacency, int64_t block, int partner)
{
    return cs_adjacency_bodies(adjacency, block)[partner];
}

/* The other body of an entry's block; -1 where immovable. */
static inline int64_t cs_adjacency_other(const cs_adjacency *adjacency, int64_t entry)
{
    return adjacency->body[entry ^ 1];
}

/* Builds the graph in `arena`. Immovable bodies are left out unless `with_immovable` is set; the fixed
 * world, -1, always is. Fails only if memory runs out. */
cs_status cs_adjacency_build(const cs_problem *problem, cs_arena *arena, int with_immovable,
                             cs_adjacency *adjacency, cs_error *error);

/* The same by so many threads, without immovable bodies. */
cs_status cs_adjacency_share(const cs_problem *problem, int threads, cs_arena *arena,
                             cs_adjacency *adjacency, cs_error *error);

#endif
