/* Cholesky factor of a sparse matrix within its envelope, in panels of 8 rows.
 *
 *     panel 0  |d        |       A row is stored from its first non-zero column to the diagonal. All rows
 *     panel 1  |  o d    |       of a panel begin at the least of their first columns, rounded down to a
 *     panel 2  |o o o d  |       multiple of 8. Elimination creates no entries outside.
 *     panel 3  |    o o d|
 *
 * A panel is stored column after column, 8 rows each. A product of two panels reads them in this order,
 *
 *     C -= P Q^T = sum over columns k of P_k Q_k^T,
 *
 * with the 8 x 8 tile C in registers. A full matrix is an envelope that begins in column 0; the same code is used for
 * both, near the peak speed of the machine. The last panel is padded with rows of the identity.
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
    double *inverse;                   /* (8 count): one over the diagonal of the factor */
    double *scratch;                   /* (8 count) */
    int64_t capacity_panels, capacity; /* of the arrays above, and of `value` */
} cs_panels;

/* Why a factorization stopped: a pivot was not above its floor, or it was cancelled. */
typedef struct cs_breakdown {
    int64_t row;  /* where it stopped; -1: it is complete */
    double pivot; /* the diagonal entry after elimination */
    int cancelled;
} cs_breakdown;

/* A pivot counts as zero up to this fraction of its diagonal entry, times the number of rows. */
#define CS_PIVOT_FLOOR 2.220446049250313e-16

typedef struct cs_panel_kernels {
    const char *name;
    /* Factors panels from .. to - 1, after all panels before them. */
    void (*factor)(cs_panels *panels, int64_t from, int64_t to, cs_breakdown *breakdown);
    void (*solve)(const cs_panels *panels, double *x);
} cs_panel_kernels;

/* The number of doubles of a matrix with these first columns (rows). */
int64_t cs_panels_size(int64_t rows, const int64_t *first);

/* Allocates an envelope with these first columns, which also has room for every principal submatrix. Returns non-zero if
 * memory runs out. */
int cs_panels_take(cs_panels *panels, int64_t rows, const int64_t *first, cs_arena *arena);

/* Makes the matrix zero, with `rows` rows and these first columns, and with identity rows behind the last one. */
void cs_panels_shape(cs_panels *panels, int64_t rows, const int64_t *first);

/* Makes the matrix zero again, with identity rows behind the last one. */
void cs_panels_clear(cs_panels *panels);

/* The address of entry (i, j), where j is from the panel's first column to i. */
static inline double *cs_panels_entry(const cs_panels *panels, int64_t i, int64_t j)
{
    int64_t p = i / CS_PANEL;
    return panels->value + panels->start[p] + (j - panels->first[p]) * CS_PANEL + i % CS_PANEL;
}

/* Replaces the lower triangle of A by L with L L^T = A. `cancellation` may be NULL. */
void cs_panels_factor(cs_panels *panels, cs_cancellation *cancellation, cs_breakdown *breakdown);

/* x <- (L L^T)^-1 x (rows) */
void cs_panels_solve(const cs_panels *panels, double *x);

/* The kernels with the widest vectors of this machine, which all functions use. */
const cs_panel_kernels *cs_panels_kernels(void);

#endif
