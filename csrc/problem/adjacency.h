/* Which blocks touch a body: the contact graph, seen from the bodies. */
#ifndef CS_ADJACENCY_H
#define CS_ADJACENCY_H

#include "problem/problem.h"

typedef struct cs_adjacency {
    int64_t *body;  /* (blocks, 2): the partners, -1 where immovable */
    int64_t *start; /* (bodies + 1) into entry */
    int64_t *entry; /* 2 * block + side, ascending within a body */
} cs_adjacency;

/* Immovable bodies have no blocks, unless `with_immovable` (the fixed world, -1, never has). */
cs_status cs_adjacency_build(const cs_problem *problem, cs_arena *arena, int with_immovable,
                             cs_adjacency *adjacency, cs_error *error);

#endif
