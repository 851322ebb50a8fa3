/* Sparse Cholesky factor by the elimination tree: only entries of the pattern are stored.
 *
 * The pattern is computed once, for the whole matrix. A factor may then leave rows out: its pattern is a
 * part of the whole one. Up-looking, row by row (Davis 2006, section 4.7). */
#ifndef CS_SPARSE_H
#define CS_SPARSE_H

#include "linalg/ordering.h"
#include "linalg/panel.h"

typedef struct cs_sparse_factor {
    cs_graph graph;
    int64_t *parent;      /* (rows): the elimination tree */
    int64_t *start;       /* (rows + 1): room of the columns of L below the diagonal */
    int64_t *end;         /* (rows): current end of each column */
    int64_t *row;         /* (start[rows]) */
    double *value;        /* (start[rows]) */
    double *diagonal;     /* (rows) */
    double *work;         /* (rows), zero between calls */
    int64_t *mark, *path; /* (rows) */
    double products;      /* multiplications of the factor so far */
} cs_sparse_factor;

/* Finds the pattern; the graph, in its order, must outlive the factor. Non-zero: no memory,
 * or cancelled (`cancellation` may be NULL). */
int cs_sparse_take(cs_sparse_factor *factor, const cs_graph *graph, cs_cancellation *cancellation,
                   cs_arena *arena);

/* Factors the rows with out[i] == 0 (NULL: all). `value` is parallel to the graph's columns;
 * `cancellation` may be NULL. */
void cs_sparse_factorize(cs_sparse_factor *factor, const double *value, const signed char *out,
                         cs_cancellation *cancellation, cs_breakdown *breakdown);

/* x <- (L L^T)^-1 x on the rows of the factor; x must be zero in all other rows, and remains zero there. */
void cs_sparse_solve(const cs_sparse_factor *factor, const signed char *out, double *x);

#endif
