/* Cholesky's factor of a sparse matrix by its envelope, in panels of 8 rows.
 *
 *     panel 0  |d        |       every row is kept from its first non-zero column to the diagonal;
 *     panel 1  |  o d    |       rows of one panel from the first column of any of them, rounded
 *     panel 2  |o o o d  |       down to a multiple of 8. Elimination fills nothing outside.
 *     panel 3  |    o o d|
 *
 * A panel is stored column after column, 8 rows each: the layout that a product of two panels wants,
 *
 *     C -= P Q^T = sum over columns k of P_k Q_k^T,
 *
 * an 8 x 8 tile held in registers. A full matrix is the envelope that begins in column 0: the same
 * code serves both, near the peak speed of the machine. Rows that pad the last panel are those of the
 * identity.
 *
 * Kernels are built for several instruction sets (linalg/panel.kernel.c). */
#ifndef CS_PANEL_H
#define CS_PANEL_H

#include "core/memory.h"
#include "core/cancellation.h"

enum { CS_PANEL = 8 };

typedef struct cs_panels {
    int64_t rows, count; /* rows of the matrix; panels */
    int64_t *first;      /* (count): first column, a multiple of 8 */
    int64_t *start;      /* (count + 1) into value */
    double *value;
    double *inverse; /* (8 count): one over the diagonal of the factor */
    double *scratch; /* (8 count) */
    int64_t capacity_panels, capacity;
} cs_panels;

/* Where a factorization ended: at a pivot not above its floor, or where it was cancelled. */
typedef struct cs_breakdown {
    int64_t row;  /* -1: nowhere */
    double pivot; /* the diagonal entry after elimination */
    int cancelled;
} cs_breakdown;

/* Pivots up to this part of the diagonal entry, times the rows, count as zero. */
#define CS_PIVOT_FLOOR 2.220446049250313e-16

typedef struct cs_panel_kernels {
    const char *name;
    /* Panels from .. to; those before are done. */
    void (*factor)(cs_panels *panels, int64_t from, int64_t to, cs_breakdown *breakdown);
    void (*solve)(const cs_panels *panels, double *x);
} cs_panel_kernels;

/* Doubles that a matrix with these first columns (rows) needs. */
int64_t cs_panels_size(int64_t rows, const int64_t *first);

/* Allocates this envelope; it suffices for every principal submatrix. Non-zero: no memory. */
int cs_panels_take(cs_panels *panels, int64_t rows, const int64_t *first, cs_arena *arena);

/* An all-zero matrix of `rows` with these first columns; the identity behind the last row. */
void cs_panels_shape(cs_panels *panels, int64_t rows, const int64_t *first);

/* All zero again, the identity behind the last row. */
void cs_panels_clear(cs_panels *panels);

/* Where entry (i, j) is, first of the panel <= j <= i. */
static inline double *cs_panels_entry(const cs_panels *panels, int64_t i, int64_t j)
{
    int64_t p = i / CS_PANEL;
    return panels->value + panels->start[p] + (j - panels->first[p]) * CS_PANEL + i % CS_PANEL;
}

/* L with L L^T = A in place of the lower triangle of A. `cancellation` may be NULL. */
void cs_panels_factor(cs_panels *panels, cs_cancellation *cancellation, cs_breakdown *breakdown);

/* x <- (L L^T)^-1 x (rows) */
void cs_panels_solve(const cs_panels *panels, double *x);

/* The kernels in use: those with the widest vectors that this machine runs. */
const cs_panel_kernels *cs_panels_kernels(void);

#endif
