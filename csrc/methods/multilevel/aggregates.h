/* Aggregates of bodies, and the faces between them.
 *
 *     o-o-o | o-o-o | o-o        inner contacts   within one aggregate, or with what cannot move
 *       a       b      c         face             all contacts between the same two aggregates
 *
 * Seeds are taken in reverse Cuthill-McKee order, and an aggregate grows from its seed through the contact
 * graph, breadth first. Two limits keep the work linear in the number of contacts: contacts beyond
 * CS_MOST_INNER rows within an aggregate, and faces beyond CS_MOST_TOUCHING of one aggregate, are left out of
 * the second level. So are contacts whose bodies are in more than two aggregates. */
#ifndef CS_AGGREGATES_H
#define CS_AGGREGATES_H

#include "problem/adjacency.h"

enum {
    CS_MOST_INNER = 192,   /* maximum rows within an aggregate */
    CS_MOST_TOUCHING = 24, /* maximum faces of an aggregate */
};

/* Lists of lists: those of i are item[start[i]] ... item[start[i + 1] - 1]. */
typedef struct cs_lists {
    int64_t *start, *item;
} cs_lists;

typedef struct cs_aggregates {
    cs_adjacency adjacency; /* the contact graph */
    int64_t count, faces;
    int64_t *of_body;   /* (bodies): the aggregate; -1 without contacts or if immovable */
    int64_t *inner;     /* (blocks): the aggregate that the block is within, or -1 */
    int64_t *face;      /* (blocks): the face that the block is on, or -1 */
    int64_t *place;     /* (blocks): its first row within that aggregate or face */
    int64_t *rows;      /* (count): rows within each aggregate */
    int64_t *face_rows; /* (faces): rows on each face */
    int64_t *side;      /* (faces, 2): the two aggregates, the lower number first */
    cs_lists body;      /* bodies of each aggregate */
    cs_lists touching;  /* faces of each aggregate, ascending */
} cs_aggregates;

/* Finds aggregates of at most `size` bodies, and the faces between them. Everything is taken from the
 * arena. */
cs_status cs_aggregates_find(const cs_problem *problem, int64_t size, cs_arena *arena,
                             cs_aggregates *aggregates, cs_error *error);

#endif
