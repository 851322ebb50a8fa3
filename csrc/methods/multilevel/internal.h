/* What the files of this folder share. */
#ifndef CS_COARSE_INTERNAL_H
#define CS_COARSE_INTERNAL_H

#include "linalg/panel.h"
#include "methods/multilevel/aggregates.h"
#include "methods/multilevel/coarse.h"

/* Patterns of a face: a wrench has six components. */
enum { CS_FACE_WIDTH = 6 };

/* One aggregate: `inner` rows, `columns` patterns on its faces. */
typedef struct cs_part {
    int64_t inner, columns;
    cs_panels panels; /* of A_ii */
    double *extended; /* (columns, inner): X */
    double *schur;    /* (columns, columns) */
    double work;      /* multiplications of all that */
    int stale, solvable;
} cs_part;

struct cs_coarse {
    const cs_problem *problem;
    cs_aggregates all;
    cs_part *part;                         /* (aggregates) */
    double *scaled;                        /* G_k of all blocks */
    int64_t *scaled_at;                    /* (blocks): where each begins */
    int64_t *first_row;                    /* (blocks) */
    int64_t *rows;                         /* (blocks) */
    double *pattern;                       /* W of all faces, (rows, CS_FACE_WIDTH) each */
    int64_t *pattern_at, *width, *unknown; /* (faces): where W begins, its columns, its unknowns */
    cs_lists contact, within;              /* blocks of each face, of each aggregate */
    signed char *loose;                    /* (rows), as factored */
    unsigned char *changed;                /* (faces) */
    cs_panels panels;                      /* of P^T A P */
    int64_t unknowns, *envelope;
    double *right;   /* (columns, inner): A_iI W of one aggregate */
    int64_t *zeros;  /* (CS_MOST_INNER): first columns of a full matrix */
    double *scratch; /* (CS_MOST_INNER) */
    double *effect;  /* (columns, dof): G^T W of one body */
    double *x, *y;   /* (unknowns), (CS_MOST_INNER) */
    double all_factors, coarse_factor, one_solve; /* multiplications of each */
    double spent;                                 /* so far */
    const double *rho;                            /* (rows), the caller's */
    double shift;
    int factored, solvable;
};

/* The side of a block that lies in the lower aggregate of its face. */
static inline int cs_lower_side(const cs_coarse *c, int64_t block)
{
    int64_t body = cs_adjacency_body(&c->all.adjacency, block, 0);
    return c->all.of_body[body] != c->all.side[2 * c->all.face[block]];
}

/* W of a face, for the rows that are loose now. */
void cs_find_patterns(cs_coarse *coarse, int64_t face);

/* Factors of one aggregate: A_ii, X and its Schur complement. */
void cs_condense(cs_coarse *coarse, int64_t aggregate);

/* A diagonal that is raised a little, for redundant contacts make A singular; 1 in rows without any. */
void cs_raise_diagonal(cs_panels *panels);

static inline double cs_dot(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

#endif
