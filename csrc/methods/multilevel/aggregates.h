/* Aggregates of bodies, and what lies between them.
 *
 *     o-o-o | o-o-o | o-o        inner      contacts within an aggregate, or with what cannot move
 *      a        b      cface       all contacts between the same two aggregates
 *
 * Bodies are taken in Cuthill and McKee's order, and each aggregate grows from its first one through
 * the contact graph. So that work stays linear, contacts beyond CS_MOST_INNER rows within an aggregate
 * and faces beyond CS_MOST_TOUCHING of one aggregate belong nowhere. */
#ifndef CS_AGGREGATES_H
#define CS_AGGREGATES_H

#include "problem/adjacency.h"

enum { CS_MOST_INNER = 192, CS_MOST_TOUCHING = 24 };

/* Lists of lists: those of i are item[start[i]] ... item[start[i + 1] - 1]. */
typedef struct cs_lists {
    int64_t *start, *item;
} cs_lists;

typedef struct cs_aggregates {
    cs_adjacency adjacency;
    int64_t count, faces;
    int64_t *of_body;  /* (bodies): -1 for those without contacts and those that cannot move */
    int64_t *inner;    /* (blocks): the aggregate that a block is within, or -1 */
    int64_t *face;     /* (blocks): the interface that it belongs to, or -1 */
    int64_t *place;    /* (blocks): its first row within that aggregate or interface */
    int64_t *rows;     /* (count): within each aggregate */
    int64_t *between;  /* (faces): rows of each */
    int64_t *side;     /* (faces, 2): the aggregates, the lower one first */
    cs_lists body;     /* of each aggregate */
    cs_lists touching; /* faces of each aggregate, ascending */
} cs_aggregates;

/* Aggregates of `size` bodies at most; everything is taken from the arena. */
cs_status cs_aggregates_find(const cs_problem *problem, int64_t size, cs_arena *arena,
                             cs_aggregates *aggregates, cs_error *error);

#endif
