/* The state of the second level, which the files of this folder share.
 *
 *     aggregates.c       aggregates of bodies, and the faces between them
 *     coarse_layout.c    sizes and arrays: everything that depends on the contact graph alone
 *     condense.c         patterns of one face, factors of one aggregate
 *     coarse.c           factors and corrections of the whole problem
 *     multilevel.c       the method: when to correct, and whether a correction is kept */
#ifndef CS_COARSE_INTERNAL_H
#define CS_COARSE_INTERNAL_H

#include "linalg/panel.h"
#include "methods/multilevel/aggregates.h"
#include "methods/multilevel/coarse.h"

/* Maximum patterns of a face: a wrench has six components. */
enum { CS_FACE_WIDTH = 6 };

/* One aggregate: `inner` rows within it, and `columns` patterns on its faces. */
typedef struct cs_part {
    int64_t inner, columns;
    cs_panels panels; /* A_ii, then its factor */
    double *extended; /* (columns, inner): X */
    double *schur;    /* (columns, columns): the Schur complement of A_ii */
    double work;      /* multiplications of all these factors */
    int stale;        /* the factors are not those of the present free rows */
    int solvable;     /* A_ii has a factor */
} cs_part;

struct cs_coarse {
    const cs_problem *problem;
    cs_aggregates aggregates;
    cs_part *part;      /* (aggregates) */
    double *scaled;     /* G_k of all blocks */
    int64_t *scaled_at; /* (blocks): where each G_k begins */
    int64_t *first_row; /* (blocks): first row in the problem */
    int64_t *rows;      /* (blocks): number of rows */
    double *pattern;    /* W of all faces, (rows, CS_FACE_WIDTH) each */
    int64_t *pattern_at, *width,
        *unknown;              /* (faces): where W begins, its columns, its first unknown */
    cs_lists face_block;       /* blocks of each face */
    cs_lists inner_block;      /* blocks within each aggregate */
    signed char *is_free;      /* (rows): the free rows of the factors */
    unsigned char *changed;    /* (faces): whether its free rows have changed */
    cs_panels panels;          /* P^T A P, then its factor */
    int64_t unknowns;          /* of P^T A P: patterns of all faces */
    int64_t *envelope;         /* (unknowns): first column of each row of P^T A P */
    double *right;             /* (columns, inner): A_iI W of one aggregate */
    int64_t *zeros;            /* (CS_MOST_INNER): first columns of a full matrix */
    double *scratch;           /* (CS_MOST_INNER) */
    double *effect;            /* (columns, dof): G^T W of one body */
    double *x, *y;             /* (unknowns), (CS_MOST_INNER) */
    double factor_work;        /* multiplications of all factors */
    double coarse_factor_work; /* of these, those of the factor of P^T A P */
    double solve_work;         /* multiplications of a correction without its factors */
    double work_done;          /* multiplications so far */
    const double *rho;         /* (rows), the caller's */
    double shift;              /* of the present factors */
    int factored;              /* whether there are factors */
    int solvable;              /* whether none of them broke down */
};

/* Whether a partner of a block is in the lower aggregate of the block's face. */
static inline int cs_is_lower_side(const cs_coarse *c, int64_t block, int partner)
{
    int64_t body = cs_adjacency_body(&c->aggregates.adjacency, block, partner);
    return body >= 0 &&
           c->aggregates.of_body[body] == c->aggregates.side[2 * c->aggregates.face[block]];
}

/* The first such partner of a block. */
static inline int cs_lower_side(const cs_coarse *c, int64_t block)
{
    int partner = 0;
    while (!cs_is_lower_side(c, block, partner)) partner++;
    return partner;
}

/* Computes W of a face for the present free rows. */
void cs_find_patterns(cs_coarse *coarse, int64_t face);

/* Computes the factors of one aggregate: A_ii, X and its Schur complement. */
void cs_condense(cs_coarse *coarse, int64_t aggregate);

/* Raises each diagonal entry by a small fraction, because redundant contacts make A singular. Entries that are
 * zero become 1. */
void cs_raise_diagonal(cs_panels *panels);

/* x.y of n numbers. */
static inline double cs_dot(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

#endif
