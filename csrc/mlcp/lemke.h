/* Lemke's method for a linear complementarity problem with any matrix:
 *
 *     w = M z + q,   0 <= w _|_ z >= 0
 *
 * The problem is kept as a dictionary: the basic variables in terms of the others. An artificial
 * variable z0 makes q feasible and is driven out again; whichever variable leaves, its partner
 * enters. Ties are broken lexicographically, so that no basis comes twice (Cottle, Pang and Stone
 * 1992, section 4.4). Rows may be free: then w = 0 and z has no sign. */
#ifndef CS_LEMKE_H
#define CS_LEMKE_H

#include "core/memory.h"
#include "core/cancellation.h"

/* Pivots after which the dictionary is written anew, and one more for every so many rows. */
enum { CS_LEMKE_REBUILD = 64, CS_LEMKE_REBUILD_ROWS = 8 };

typedef enum cs_lemke_end {
    CS_LEMKE_SOLVED,
    CS_LEMKE_RAY,
    CS_LEMKE_MAX_PIVOTS,
    CS_LEMKE_CANCELLED,
    CS_LEMKE_LOST, /* the basis is singular to rounding: another attempt may do better */
} cs_lemke_end;

/* Attempts that callers make before they take a ray, or such a basis, for the end. */
enum { CS_LEMKE_ATTEMPTS = 3 };
/* And one more after a ray: it begins with all z basic. Where diagonal entries are zero, the usual beginning
 * may have no way to a solution. */
enum { CS_LEMKE_FROM_ALL = CS_LEMKE_ATTEMPTS };

typedef struct cs_lemke {
    int64_t rows;
    double *matrix, *q;        /* (rows, rows), (rows) */
    const unsigned char *free; /* (rows) or NULL */
    double *dictionary;        /* (rows, rows + 2): the columns of the others, and the constant */
    int64_t *basic, *other; /* (rows), (rows + 1): variables, 0.. for w, rows.. for z, 2 rows: z0 */
    double *z, *work;       /* (rows) the answer; (rows, rows + 1) */
    int64_t *list;          /* (rows) */
    unsigned char *wanted;  /* (2 rows + 1) */
    double size;            /* the largest constant of the beginning */
    int64_t ray;            /* the column in which a ray was met */
    int64_t left;           /* the variable that left last; -1 before the first pivot */
    int attempt;
    int lost;                      /* the basis to begin with is singular */
    int64_t pivots, age;           /* so far; since the dictionary was written */
    cs_cancellation *cancellation; /* may be NULL */
    int cancelled;                 /* since the beginning: the dictionary may be half-done */
} cs_lemke;

/* What it takes for problems of so many rows. */
static inline double cs_lemke_bytes(int64_t rows)
{
    double n = (double)rows; /* the matrix, the dictionary and the work beside it */
    return sizeof(double) * n * (3 * n + 3);
}

/* Room for problems of so many rows, the matrix zero. Non-zero: no memory, or `cancellation` says to leave off. */
int cs_lemke_take(cs_lemke *lemke, int64_t rows, cs_arena *arena);

/* Begins: `matrix` and `q` hold the problem. Each `attempt` covers q in its own way: errors that lead
 * one astray leave another alone. */
void cs_lemke_begin(cs_lemke *lemke, int attempt);

/* One pivot; returns whether the end has come, and what it is. Beats `cancellation`, and so does what writes
 * or solves anew. */
int cs_lemke_pivot(cs_lemke *lemke, cs_lemke_end *end);

/* z <- the direction of the ray that was met: what z changes by as the entering variable grows. */
void cs_lemke_ray(cs_lemke *lemke);

/* z <- the solution of M_aa z_a = -q_a on the first `count` rows of the list, zero elsewhere; all zero
 * where M_aa is singular or the cancellation says so. */
void cs_lemke_solve(cs_lemke *lemke, int64_t count);

/* z from the basis at hand: M_aa z_a = -q_a solved anew, since dictionaries gather errors. */
void cs_lemke_finish(cs_lemke *lemke);

#endif
