/* Lemke's method for a linear complementarity problem with any matrix:
 *
 *     w = M z + q,   0 <= w _|_ z >= 0
 *
 * The problem is kept as a dictionary: the basic variables in terms of the others. An artificial
 * variable z0 makes q feasible and is driven out again. When a variable leaves the basis, its complement
 * enters. Ties are broken lexicographically, so that no basis repeats (Cottle, Pang and Stone 1992,
 * section 4.4). Rows may be free: then w = 0 and z has no sign. */
#ifndef CS_LEMKE_H
#define CS_LEMKE_H

#include "core/memory.h"
#include "core/cancellation.h"

/* The dictionary is recomputed after REBUILD + rows / REBUILD_ROWS pivots. */
enum { CS_LEMKE_REBUILD = 64, CS_LEMKE_REBUILD_ROWS = 8 };

typedef enum cs_lemke_end {
    CS_LEMKE_SOLVED,
    CS_LEMKE_RAY,
    CS_LEMKE_MAX_PIVOTS,
    CS_LEMKE_CANCELLED,
    CS_LEMKE_LOST, /* the basis is singular to rounding: another attempt may do better */
} cs_lemke_end;

/* Attempts that callers make before they report a ray or a singular basis. */
enum { CS_LEMKE_ATTEMPTS = 3 };
/* The last attempt, after a ray, starts with all z basic. If diagonal entries are zero, the usual start
 * may not lead to a solution. */
enum { CS_LEMKE_FROM_ALL = CS_LEMKE_ATTEMPTS };

typedef struct cs_lemke {
    int64_t rows;
    double *matrix, *q;        /* (rows, rows), (rows) */
    const unsigned char *free; /* (rows) or NULL */
    double *dictionary; /* (rows, rows + 2): coefficients of the nonbasic variables; the constant */
    /* (rows), (rows + 1): numbers of the basic and of the nonbasic variables: 0.. for w, rows.. for z,
     * 2 rows for z0. */
    int64_t *basic, *other;
    double *z, *work;      /* (rows): the solution; (rows, rows + 1): scratch */
    int64_t *list;         /* (rows): scratch; input of cs_lemke_solve */
    unsigned char *wanted; /* (2 rows + 1): whether a variable belongs to the wanted basis */
    double size;           /* the largest |q| */
    int64_t ray;           /* the column of the variable that grows along a ray */
    int64_t left;          /* the variable that left last; -1 before the first pivot */
    int attempt;           /* number of the current attempt */
    int lost;              /* the first basis is singular */
    int64_t pivots, age;   /* pivots so far, and since the dictionary was last written */
    cs_cancellation *cancellation; /* may be NULL */
    int cancelled;                 /* cancelled in this attempt: the dictionary may be incomplete */
} cs_lemke;

/* Bytes that a problem with this many rows needs. */
static inline double cs_lemke_bytes(int64_t rows)
{
    double n = (double)rows; /* the matrix, the dictionary and the work beside it */
    return sizeof(double) * n * (3 * n + 3);
}

/* Allocates for problems of `rows` rows; the matrix is zero. Non-zero: no memory, or cancelled. */
int cs_lemke_take(cs_lemke *lemke, int64_t rows, cs_arena *arena);

/* Starts an attempt; `matrix` and `q` hold the problem. Each `attempt` has other coefficients of z0: an
 * attempt that fails by rounding may succeed with others. */
void cs_lemke_begin(cs_lemke *lemke, int attempt);

/* One pivot; returns non-zero at the end, and `end` <- why. Pivots, rebuilds and solves ask
 * `cancellation`. */
int cs_lemke_pivot(cs_lemke *lemke, cs_lemke_end *end);

/* z <- the direction of the ray: the change of z per unit of the entering variable. */
void cs_lemke_ray(cs_lemke *lemke);

/* z <- the solution of M_aa z_a = -q_a on the first `count` rows of the list, zero elsewhere. All zero if
 * M_aa is singular or the solve is cancelled before its first result. */
void cs_lemke_solve(cs_lemke *lemke, int64_t count);

/* z <- the solution of the current basis. It is solved again from M_aa z_a = -q_a, because dictionaries
 * accumulate rounding errors. */
void cs_lemke_finish(cs_lemke *lemke);

#endif
