/* What the visits of a sweep read and write, in C and in C++: a GPU's kernels are made of the same
 * bodies (scheme/update.inc, contact_visits.inc and row_visits.inc).
 *
 * A packed group holds what one visit reads, in the order of the visits and in the precision of the
 * solve: visit by visit, or in batches of `lanes` visits that are made at once,
 *
 *     lanes = 1:  visit 0: x0 y0 z0   visit 1: x1 y1 z1   ...
 *     lanes = 4:  batch 0: x0 x1 x2 x3  y0 y1 y2 y3  z0 z1 z2 z3   batch 1: ...
 *
 * where a batch may have lanes to spare, whose numbers are zero. lambda is in the user's order, but
 * for groups in batches. */
#ifndef CS_PACKED_H
#define CS_PACKED_H

#include "core/pace.h"
#include "order/schedule.h"
#include "problem/problem.h"
#include "prox/prox.h"
#include "scheme/local/local.h"

/* CS_MIXED: what sweeps only read in bulk (factors, rows of A, R) in float, everything else in
 * double. Then A is that of rounded factors; solver/refresh.c makes up for it. */
typedef enum cs_dtype { CS_F32, CS_F64, CS_MIXED, CS_DTYPES } cs_dtype;

/* Which of the three pieces of row k a block of column l belongs to: l is visited before k in a
 * forward sweep, or after it, or neither (scheme/rows.h). */
enum { CS_BEFORE, CS_NEITHER, CS_AFTER, CS_PIECES };

/* Where the pieces of one row begin. */
typedef struct cs_row_pieces {
    int64_t neither, after; /* in cs_packed_rows.column */
    int64_t first_neither;  /* in cs_packed_rows.value */
} cs_row_pieces;

/* What is kept of the factors G of a group's blocks; scheme/compressed.h tells of all but G. */
typedef enum cs_form {
    CS_GENERAL, /* G itself */
    CS_SPHERES, /* frame and arms of contacts between bodies whose I^-1 is a multiple of identity */
    CS_SOLIDS,  /* and of any others */
    CS_PLANAR,  /* frame and angular entries of contacts in the plane */
} cs_form;

/* Arrays of numbers are void * here: float or double, as cs_packed.dtype says; those marked (stored)
 * are float where it is CS_MIXED. `count` in their lengths is `slots` for groups in batches. */

/* What `factorized` reads of a group: G_k, and where the partners' velocities are (the spare ones
 * where immovable). */
typedef struct cs_packed_factors {
    cs_form form;      /* CS_GENERAL but for groups in batches */
    int hand;          /* of compressed frames: 1 where the last axis is n x t, else -1 */
    void *scaled;      /* (count, m d_0 + m d_1) (stored), or the numbers of a compressed contact */
    void *compliance;  /* (count, m): diagonal of Sigma; or NULL */
    int64_t *velocity; /* (count, 2) */
    int32_t *place;    /* the same in batches: (slots / lanes, 2, lanes) */
    void *contribution; /* (slots, 2, stride of d): G^T lambda of each side, in batches whose visits
                         * share bodies; or NULL */
    int64_t *sum;       /* (count, 2): where the part sums what it changes there; or NULL */
} cs_packed_factors;

/* What schemes over rows read of one: its rows of blocks, of A or of T. */
typedef struct cs_packed_rows {
    int64_t *start;        /* (count + 1) into column */
    int64_t *first;        /* (count + 1) into value */
    int64_t *column;       /* first row of the column's block in lambda */
    int in_vectors;        /* visited by scheme/row_kernels.h: blocks column by column, */
    int32_t *short_column; /* and this in place of `column` */
    unsigned char *width;  /* its rows; NULL where every block of the problem has m */
    void *value;           /* (stored) */
    void *c;               /* iteration_matrix: (count, m): -R_k b_k */
    cs_row_pieces *piece;  /* halves: (count); NULL where rows are not split */
    void *kept;            /* halves: (count, 2, m): products with what comes before and after */
} cs_packed_rows;

/* What every scheme reads of a group, and the scheme's own part, the other one being zero. */
typedef struct cs_packed_group {
    int64_t count;
    int lanes;             /* visits made at once */
    int64_t slots;         /* lanes of all batches; count where lanes is 1 */
    int64_t *slot;         /* (count): batch x lanes + lane of a visit; NULL where lanes is 1 */
    int keeps;             /* its visits put lambda from before them to cs_packed.kept */
    unsigned char *used;   /* (slots / lanes): lanes of each batch that have a visit */
    int64_t first_impulse; /* in cs_packed.lambda */
    int rows, dof[2];
    cs_set_kind set;
    int parameters;
    int64_t *row;    /* (count): first row of the visited block in lambda; NULL in batches */
    void *b;         /* (count, m) */
    void *r;         /* (count, m) (stored): diagonal of R_k, relaxation and rollback included */
    void *parameter; /* (count, parameters) */
    void *step; /* (count, m, m) (stored): a full R_k, for free blocks solved exactly; or NULL */
    void *
        diagonal; /* (count, m, m) (stored): A_kk, where the block's own problem is solved; or NULL */
    const cs_set
        *outright;    /* its set, and how such a problem is solved (scheme/local/local.h); NULL */
    cs_local_way way; /* where projected steps have to do */
    void *weight;     /* (count): omega of each block; NULL where all have cs_packed.averaging */
    int sets, coupled_set[CS_MAX_ROWS];
    cs_packed_factors factors;
    cs_packed_rows matrix;
} cs_packed_group;

/* Where a body's velocity comes from: one side of one visited block. */
typedef struct cs_gather {
    int64_t visit;
    int group, side;
} cs_gather;

/* A part's own copy of one body's velocity: in a concurrent stage it sees no other part's work. */
typedef struct cs_local_velocity {
    int64_t place, copy; /* in cs_packed.velocity */
    int dof;
} cs_local_velocity;

typedef struct cs_sweep_stats {
    double residual;    /* max |new - old|  S1 eq. 3.31 */
    double merit;       /* sum (new - old)^2  S1 eq. 3.30; not a number once an impulse is not */
    int64_t unfinished; /* block solves given up before rounding */
} cs_sweep_stats;

/* Steps after which the solution of a block's own problem is given up, and after how many it
 * is asked whether they get smaller. */
enum { CS_INNER_STEPS = 5000, CS_INNER_PATIENCE = 100 };

typedef struct cs_packed {
    const cs_problem *problem;
    const struct cs_scheme *scheme;
    const cs_schedule *schedule;
    cs_dtype dtype;
    int threads;
    int paced;                 /* `threads` are the most, shared or not as the pace says */
    cs_pace pace;              /* of the sweeps so far */
    int bound_previous;        /* friction bound from the impulse before the update */
    const cs_setting *setting; /* the scheme's own options, see cs_scheme_value */
    double averaging;          /* omega */
    double damping;            /* nu, for blocks whose own problem is solved */
    int backwards;             /* this sweep goes through stages, ranges and visits from the end */
    int general;               /* nothing is to be compressed */
    int instructions;          /* asked for: cs_instructions, CS_INSTRUCTIONS_SCALAR or _AUTO */
    const struct cs_wide_kernels *wide; /* that visit groups in batches; NULL where none are */
    const struct cs_row_kernels *row_kernels; /* that visit rows in vectors; NULL where none are */
    cs_packed_group group[CS_MAX_GROUPS];
    int64_t matrix_blocks;
    int64_t products;              /* of blocks with impulses, in the sweeps of this solve */
    const cs_block_matrix *matrix; /* iteration_matrix: A, for when R changes */
    /* halves: blocks in each piece of the rows, what this sweep computes of the outer two, and
     * whether what it does not is kept */
    int64_t piece_blocks[CS_PIECES];
    int computes_before, computes_after, products_kept;
    int64_t impulses; /* in lambda, lanes to spare included */
    /* (impulses), then as many as before the stage, for those who may not see others */
    void *lambda;
    void *kept;     /* (impulses): the next sweep puts lambda from before it there; or NULL */
    void *velocity; /* u = G^T lambda, then spare ones for immovable bodies, one for each part of
                     * a stage, then the parts' own copies of what they touch */
    int64_t *body_place; /* (bodies): where that of each begins; -1: no block moves it */
    int64_t *moved;      /* (moved_bodies): those that blocks move, ascending */
    int64_t moved_bodies;
    int64_t first_spare; /* and the spare ones */
    int64_t velocities;  /* length of all */
    void *inertia; /* (velocities): roots of M^-1 beside the velocities, for CS_SOLIDS; or NULL */
    struct cs_local_velocity *local; /* these copies */
    int64_t *local_start;            /* (parts + 1) into local; NULL without concurrent stages */
    int64_t *gather_start;           /* (bodies + 1) */
    cs_gather *gather;
    cs_sweep_stats *part;   /* (parts of all stages), of the last sweep */
    struct cs_phase *phase; /* (phases): what a sweep does, in order */
    int64_t *backward;      /* (phases): the same from the last stage to the first */
    int64_t phases;
} cs_packed;

/* What a visit multiplies. */
typedef enum cs_row_products {
    CS_ROWS_OF_A,      /* matrix */
    CS_ROWS_OF_T,      /* iteration_matrix */
    CS_ROWS_IN_PIECES, /* half_sweep, symmetric_half */
} cs_row_products;

/* A loop in the direction of the sweep: `count` numbers from `first`, each a `step` further. */
typedef struct cs_walk {
    int64_t first, step, count;
} cs_walk;

/* Numbers from one body's velocities to the next: whole pieces of 16 bytes in either precision. */
CS_DEVICE static inline int cs_velocity_stride(int dof) { return (dof + 3) / 4 * 4; }

#endif
