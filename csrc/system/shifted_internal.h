/* Shared by the files that implement system/shifted.h: shifted.c allocates and solves, shifted_pattern.c
 * computes the pattern of the factor, shifted_factor.c fills the matrix and factors it. */
#ifndef CS_SHIFTED_INTERNAL_H
#define CS_SHIFTED_INTERNAL_H

#include "linalg/sparse.h"
#include "system/shifted.h"

struct cs_shifted {
    const cs_problem *problem;
    const cs_block_matrix *matrix; /* A in constraint space, or NULL */
    int64_t nodes;                 /* blocks or bodies */
    int64_t *place;                /* (nodes): the new number of each */
    int64_t *first;                /* (nodes + 1): the first unknown, by new numbers */
    /* Nodes at or below the diagonal, by new numbers, ascending; and how many unknowns come before. */
    int64_t *start, *column, *before;
    cs_graph graph;   /* of unknowns */
    double *value;    /* beside its columns */
    double *jacobian; /* body space: G_k of all blocks, */
    int64_t *scaled;  /* (blocks + 1) where each begins, */
    int64_t *partner; /* (blocks, 2): bodies, -1 immovable, */
    int64_t *square;  /* (blocks) where each begins in arrays of (m, m), */
    double *root;     /* L, (m, m) each, */
    double *inner;    /* E^-1, (m, m) each; NULL without compliance, */
    double *q;        /* L E^-1 L^T, (m, m) each, */
    double *rest;     /* (rows) */
    double *x;        /* unknowns */
    cs_sparse_factor factor;
};

/* Unknowns of node p in its row of nodes. */
static inline int64_t cs_shifted_width(const cs_shifted *s, int64_t p)
{
    return s->before[s->start[p + 1] - 1] + s->first[p + 1] - s->first[p];
}

/* The order of the nodes, the lower triangle, and room for its entries. Non-zero: no memory, or
 * cancelled (`cancellation` may be NULL). */
int cs_shifted_find_pattern(cs_shifted *shifted, cs_cancellation *cancellation, cs_arena *arena);

#endif
