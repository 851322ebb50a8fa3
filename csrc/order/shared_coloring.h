/* A greedy colouring of contacts that several ranks share: one round of it on one rank.
 *
 * The colour of a contact is the lowest one that no contact of higher priority has at its movable bodies (S1 section
 * 4.3). Each rank knows all contacts at the bodies of those that it colours, and the colours that other ranks found last.
 * In a round
 *
 *     colour    every rank colours its contacts in the sequence of the priorities, with the last colours of the others:
 *               tentative colours
 *     exchange  ranks tell each other which colours have changed: conflicts, which the next round removes
 *
 * Rounds end when no colour changes on any rank. Every contact then has the lowest colour that those before it leave, so
 * that the colours are those of one rank that colours all in this sequence, whatever the ranks. The contact of highest
 * priority is right after the first round, and each further round settles at least the first contact that was wrong. */
#ifndef CS_SHARED_COLORING_H
#define CS_SHARED_COLORING_H

#include "contactsolve.h"

typedef struct cs_shared_coloring {
    int64_t blocks, bodies;
    int partners;             /* places for bodies of each block, at most CS_MAX_PARTNERS */
    const int64_t *body;      /* (blocks, partners): the movable bodies; -1 where fixed or none */
    const int64_t *sequence;  /* (blocks): the blocks, highest priority first */
    const unsigned char *own; /* (blocks): whether this rank colours the block */
    int by_palette; /* the rule of order/greedy_palette.h beyond 64 colours, which borders of a partition follow */
    int64_t *color; /* (blocks): in and out; -1: not known yet */
} cs_shared_coloring;

/* One round: c->color <- the colours of own blocks. changed <- how many of them have changed. Fails if memory runs out,
 * and for blocks or bodies out of range, and colours of other ranks above what so many blocks can have. */
cs_status cs_color_shared(const cs_shared_coloring *c, int64_t *changed, cs_error *error);

#endif
