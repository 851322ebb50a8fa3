/* Which blocks touch a body: the contact graph, seen from the bodies. */
#ifndef CS_ADJACENCY_H
#define CS_ADJACENCY_H

#include "problem/problem.h"

typedef struct cs_adjacency {
    int64_t *body;  /* (blocks, 2): the partners, -1 where immovable */
    int64_t *start; /* (bodies + 1) into entry */
    int64_t *entry; /* blocks of a body, ascending; see cs_entry_block */
} cs_adjacency;

/* The block of an entry, and which of its partners the body is. */
static inline int64_t cs_entry_block(int64_t entry) { return entry / CS_PARTNERS; }
static inline int cs_entry_partner(int64_t entry) { return (int)(entry % CS_PARTNERS); }

/* The partners of a block, -1 where immovable. */
static inline const int64_t *cs_adjacency_bodies(const cs_adjacency *adjacency, int64_t block)
{
    return adjacency->body + CS_PARTNERS * block;
}

static inline int64_t cs_adjacency_body(const cs_adjacency *adjacency, int64_t block, int partner)
{
    return cs_adjacency_bodies(adjacency, block)[partner];
}

/* The other body of an entry's block, likewise. */
static inline int64_t cs_adjacency_other(const cs_adjacency *adjacency, int64_t entry)
{
    return adjacency->body[entry ^ 1];
}

/* Immovable bodies have no blocks, unless `with_immovable` (the fixed world, -1, never has). */
cs_status cs_adjacency_build(const cs_problem *problem, cs_arena *arena, int with_immovable,
                             cs_adjacency *adjacency, cs_error *error);

#endif
