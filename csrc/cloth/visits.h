/* Contacts as sweeps visit them: what a visit needs, and no more, in the order of colours.
 *
 *     list of contacts ──► colours ──► visits  [colour 0 | colour 1 | ... | rest] ──► impulses of the list
 *
 * Contacts of one colour share no vertex that can move, so that threads may visit them at once, and their order makes no
 * difference. Each contact, in the order of the list, takes the first colour that none of its vertices has; the rest finds
 * none, and one thread visits it. Each colour is cut into pieces, by the number of its contacts alone: what a piece gives
 * to a sum does not depend on threads. */
#ifndef CS_VISITS_H
#define CS_VISITS_H

#include "core/buffer.h"

enum {
    CS_COLORS = 64,       /* bits of a mask */
    CS_VISITS_ALONE = 64, /* contacts of a colour that one thread visits, if they are fewer */
    CS_VISITS_PIECE = 32  /* most contacts of a piece otherwise: they take a microsecond or two */
};

/* Two lines of a cache. */
typedef struct cs_visit {
    int32_t vertex[4];
    double weight[4];
    double normal[3];
    double inverse, bound; /* as those of the contact */
    double push;           /* what the shift has to give along the normal [m/s] */
    double impulse[3];     /* [N s] */
    double pushed;         /* impulse of the shift, along the normal [N s] */
} cs_visit;

/* Beside each visit: what not all sweeps read. */
typedef struct cs_trail {
    int64_t contact;                /* its number in the list */
    int64_t visited;                /* clock of its last visit */
    double before[3], direction[3]; /* impulse before an iteration, and the way that it goes on */
    double last_pushed;             /* before the last sweep */
} cs_trail;

/* Groups are the colours in use, and the rest. */
typedef struct cs_visits {
    int64_t colored; /* contacts that have a colour */
    int64_t groups;
    int64_t count[CS_COLORS + 1]; /* contacts of each colour, and of the rest */
    int64_t start[CS_COLORS + 2]; /* of each group: its first visit */
    int64_t piece[CS_COLORS + 2]; /* and its first piece */
    uint64_t *used;               /* (vertices): colours of contacts at a vertex */
    cs_buffer color, visit,
        trail; /* of unsigned char, in the order of the list; of cs_visit; of cs_trail */
    cs_buffer change, square; /* of double: results of pieces */
} cs_visits;

#endif
