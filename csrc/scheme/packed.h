/* The data that the visits of a sweep read and write. The header compiles as C and as C++, because the kernels of
 * a GPU are made from the same bodies (scheme/update.inc, contact_visits.inc and row_visits.inc).
 *
 * A packed group holds what its visits read, in the order of the visits and in the precision of the
 * solve: visit by visit, or in batches of `lanes` visits that are made at once,
 *
 *     lanes = 1:  visit 0: x0 y0 z0   visit 1: x1 y1 z1   ...
 *     lanes = 4:  batch 0: x0 x1 x2 x3  y0 y1 y2 y3  z0 z1 z2 z3   batch 1: ...
 *
 * A batch may have unused lanes, whose numbers are zero. lambda is in the user's order, except for
 * groups in batches, which have it in the order of their slots. */
#ifndef CS_PACKED_H
#define CS_PACKED_H

#include "core/pace.h"
#include "order/schedule.h"
#include "problem/problem.h"
#include "prox/prox.h"
#include "scheme/local/local.h"

/* The precision of a solve. CS_MIXED: large arrays that sweeps only read (factors, rows of A, R) are float,
 * everything else is double. Sweeps then use an A with rounded entries, which solver/refresh.c corrects. */
typedef enum cs_dtype { CS_F32, CS_F64, CS_MIXED, CS_DTYPES } cs_dtype;

/* The three pieces of a row k of blocks. In a forward sweep, column l is visited before k, after k, or neither
 * (cs_piece_of in scheme/rows.h). */
enum { CS_BEFORE, CS_NEITHER, CS_AFTER, CS_PIECES };

/* Where the pieces of one row begin; the first piece begins where the row does. */
typedef struct cs_row_pieces {
    int64_t neither, after; /* index into cs_packed_rows.column */
    int64_t first_neither;  /* index into cs_packed_rows.value */
} cs_row_pieces;

/* How the factors G of a group's blocks are stored: in full, or compressed (scheme/compressed.h). */
typedef enum cs_form {
    CS_GENERAL,  /* G itself */
    CS_SPHERES,  /* frame and lever arms; I^-1 of every body is a multiple of the identity */
    CS_SOLIDS,   /* frame and lever arms; bodies have any I^-1 */
    CS_PLANAR,   /* contacts in the plane: frame and the angular entries of G */
    CS_WEIGHTED, /* contacts of four vertices: frame and the weight of each */
} cs_form;

/* Whether kernels visit contacts of two bodies only: those of devices do, which are compiled as C++. */
#if defined(__cplusplus)
enum { CS_PAIRS_ONLY = 1 };
#else
enum { CS_PAIRS_ONLY = 0 };
#endif

/* The number of entries per visit in cs_packed_factors.scaled. */
CS_DEVICE static inline int cs_form_width(cs_form form, int rows, int dof_sum)
{
    if (form == CS_GENERAL) return rows * dof_sum;
    return form == CS_PLANAR ? 6 : form == CS_WEIGHTED ? 9 + CS_MAX_PARTNERS : 12;
}

/* Arrays of numbers are void * here: float or double, depending on cs_packed.dtype. Those marked (stored)
 * are float if it is CS_MIXED. For groups in batches, read `slots` for `count` in their lengths. */

/* What the scheme `factorized` reads of a group: G_k, and where the velocities of both partners are. An immovable
 * partner has a spare velocity, which is always zero. */
typedef struct cs_packed_factors {
    cs_form form;   /* CS_GENERAL for groups that are not in batches, but for cs_packed.by_parts */
    int handedness; /* of compressed frames: 1 if the last axis is n x t, -1 if it is -n x t */
    void *
        scaled; /* (count, m d_0 + ... + m d_(p-1)) (stored): G, or the numbers of a compressed contact */
    void *compliance;  /* (count, m): diagonal of Sigma; or NULL */
    int64_t *velocity; /* (count, p): indices into cs_packed.velocity */
    int32_t *place;    /* (slots / lanes, p, lanes): the same indices for groups in batches */
    void
        *contribution; /* (slots, p, stride of d): G^T lambda of each side, for batches whose visits
                         * share bodies; or NULL. On devices: of all groups, body by body, as `given` says */
    int32_t *
        given; /* devices: (slots / lanes, p, lanes): where each side's contribution is, in pieces of 16
                        * bytes; -1: the side does not move. NULL without contributions */
    int64_t *sum; /* (count, p): where the part accumulates its changes of u; or NULL */
} cs_packed_factors;

/* What schemes over rows read of a group: its rows of blocks, of A or of T. */
typedef struct cs_packed_rows {
    int64_t *start;  /* (count + 1) into column */
    int64_t *first;  /* (count + 1) into value */
    int64_t *column; /* first row of the column's block in lambda */
    int in_vectors;  /* visited by scheme/row_kernels.h, with blocks stored column by column */
    int32_t *short_column; /* `column` in 32 bits, for groups in vectors */
    unsigned char *width;  /* columns of each block; NULL if every block of the problem is m x m */
    void *value;           /* (stored): entries of all blocks; dense: (count, m, dense_stride) */
    void *c;               /* iteration_matrix, dense: (count, m): -R_k b_k */
    cs_row_pieces *piece;  /* half_sweeps.c: (count); NULL if rows are not split */
    void *kept; /* half_sweeps.c: (count, 2, m): products of the pieces before and after */
} cs_packed_rows;

/* What every scheme reads of a group, and what `factorized` or the schemes over rows read; the part of the other
 * scheme is zero. */
typedef struct cs_packed_group {
    int64_t count;
    int lanes;                /* visits made at once */
    int64_t slots;            /* lanes of all batches; equal to `count` if `lanes` is 1 */
    int64_t *slot;            /* (count): batch x lanes + lane of a visit; NULL if `lanes` is 1 */
    int keeps;                /* its visits copy lambda_k to cs_packed.kept before they change it */
    unsigned char *used;      /* (slots / lanes): lanes of each batch that have a visit */
    int64_t first_impulse;    /* index into cs_packed.lambda */
    int rows, partners;       /* m and p */
    int dof[CS_MAX_PARTNERS]; /* d of each partner */
    int column[CS_MAX_PARTNERS +
               1]; /* the columns of G before those of each partner, and all of them */
    cs_set_kind set;
    int parameters;
    int64_t *row; /* (count): first row of the visited block in lambda; NULL in batches */
    void *b;      /* (count, m) */
    void *r;      /* (count, m) (stored): diagonal of R_k, with relaxation and rollbacks applied */
    void *parameter; /* (count, parameters) */
    void *step; /* (count, m, m) (stored): a full R_k, for free blocks solved exactly; or NULL */
    void *
        diagonal; /* (count, m, m) (stored): A_kk, if the blocks' local problems are solved; or NULL */
    const cs_set
        *local_set; /* the set, if scheme/local/local.h solves its local problems; or NULL */
    cs_local_method local_method;
    void *weight; /* (count): omega of each block; NULL if all have cs_packed.averaging */
    double *
        rho; /* (count, m): rho_s of each row (measure/measure.h); or NULL if no iterate is measured here */
    double *inverse; /* (count, m): 1 / rho_s */
    double *speed;   /* (count): V of the island of each block; or NULL */
    int sets, coupled_set[CS_MAX_ROWS];
    cs_packed_factors factors;
    cs_packed_rows matrix;
} cs_packed_group;

/* One term of a body's velocity: G^T lambda of one side of one visited block. */
typedef struct cs_velocity_term {
    int64_t visit;
    int group, side;
} cs_velocity_term;

/* A part's own copy of one body's velocity. In a concurrent stage, the part changes the copy and therefore does
 * not see the changes of other parts. */
typedef struct cs_velocity_copy {
    int64_t shared, own; /* indices into cs_packed.velocity: of the velocity, and of its copy */
    int dof;
} cs_velocity_copy;

typedef struct cs_sweep_stats {
    double residual;    /* max |new - old|  S1 eq. 3.31 */
    double merit;       /* sum (new - old)^2  S1 eq. 3.30; not a number once an impulse is not */
    int64_t unfinished; /* local problems that were not solved to rounding */
} cs_sweep_stats;

/* The most projected steps for a block's local problem, and the number of steps between two checks that the steps
 * become smaller. */
enum { CS_INNER_STEPS = 5000, CS_INNER_CHECK_EVERY = 100 };

typedef struct cs_packed {
    const cs_problem *problem;
    const struct cs_scheme *scheme;
    const cs_schedule *schedule;
    cs_dtype dtype;
    int threads;         /* of sweeps */
    int setup_threads;   /* of packing */
    int64_t preemptions; /* so far, for the choice of setup_threads */
    int paced;           /* core/pace.h decides for each sweep between `threads` and one thread */
    cs_pace pace;        /* measured times of the sweeps so far */
    int bound_previous;  /* the friction bound uses the normal impulse from before the update */
    const cs_setting *setting; /* the scheme's own options; read them with cs_scheme_value */
    double averaging;          /* omega */
    double damping;            /* nu, factor of omega for blocks whose local problems are solved */
    int backwards;             /* this sweep goes through stages, ranges and visits from the end */
    int general;               /* store all factors as CS_GENERAL */
    int by_parts; /* sweeps are those of cs_backend.solve_parts alone: groups that are not in batches may be
                   * compressed (scheme/compressed_visits.inc), and no refresh sums velocities body by body */
    int instructions; /* the option: a cs_instructions, CS_INSTRUCTIONS_SCALAR or _AUTO */
    const struct cs_wide_kernels *
        device_kernels; /* the batches of a device, whose `visit` the host does not call; or NULL */
    const struct cs_wide_kernels *wide;       /* visit groups in batches; NULL if there are none */
    const struct cs_row_kernels *row_kernels; /* visit rows in vectors; NULL if there are none */
    const struct cs_dense_kernels *dense_kernels; /* multiply whole rows; NULL if there are none */
    cs_packed_group *group;                       /* (block_groups of the problem) */
    int64_t matrix_blocks;
    int64_t products; /* blocks multiplied by impulses, in the sweeps of this solve */
    const cs_block_matrix
        *matrix;          /* iteration_matrix, dense: A, from which T is made when R changes */
    int64_t dense_stride; /* dense: numbers from one row of T to the next */
    void *dense_copy;     /* dense: (parts of a stage, impulses): copies of lambda; or NULL */

    /* half_sweeps.c: number of blocks in each piece of the rows; whether this sweep computes the products of the
     * pieces before and after; whether the products of the sweep before are still valid. */
    int64_t piece_blocks[CS_PIECES];
    int computes_before, computes_after, products_kept;

    /* lambda (impulses), and behind it a copy (impulses) from before the stage, for visits that must not see the
     * updates of others. */
    int64_t impulses; /* length of lambda, with the unused lanes of batches */
    void *lambda;
    int at_zero; /* lambda was set to zero, and nothing has changed it since */
    void *kept;  /* (impulses): the next sweep stores here the lambda from before it; or NULL */

    /* u = G^T lambda of the bodies that blocks move; then spare velocities for immovable bodies, one for each part
     * of a stage; then the parts' own copies. */
    void *velocity;
    int64_t
        *body_place; /* (bodies): where the velocity of each body begins; -1: no block moves it */
    int64_t *moved;  /* (moved_bodies): the bodies that blocks move, ascending */
    int64_t moved_bodies;
    int64_t first_spare; /* where the spare velocities begin */
    int64_t velocities;  /* length of `velocity` */
    void *inertia; /* (velocities): roots of M^-1 at the same indices, for CS_SOLIDS; or NULL */
    struct cs_velocity_copy *copy; /* the parts' own copies */
    int64_t *copy_start;           /* (parts + 1) into copy */
    int64_t *gather_start;         /* (bodies + 1) into gather */
    cs_velocity_term *gather;      /* the terms of each body's velocity */
    double *copy_scale,
        *gather_scale; /* (copies), (terms): 1 / sqrt(n) of bodies split among n parts (scheme/split.h); or NULL */

    struct cs_ranks
        *ranks; /* that share the problem (distributed/ranks.h); NULL: it is on one rank */
    unsigned char
        *absent; /* (parts of all stages): whether another rank visits the part; or NULL */
    int64_t *impulse_place; /* (rows): where each impulse is in lambda; NULL without `absent` */
    int64_t **change_from,
        **change_to;      /* (stages): where changes of parts are that go to other ranks and come
                                         * from them, in `velocity`; NULL without `absent` */
    double *owner_sum;    /* (owners of the schedule): scratch for sums over parts of the problem */
    cs_sweep_stats *part; /* (parts of all stages): statistics of the last sweep */
    struct cs_stage_phase *phase;  /* (phases): what a sweep does, in order */
    struct cs_phase *shared_phase; /* (phases, or stages): those that run, in their own order */
    int64_t *backward;             /* (phases): the order of the phases in a backward sweep */
    int64_t phases;
} cs_packed;

/* What a natural map over the packed factors is compared with: tau_s = atol + rtol rho_s V. V is that of each lane
 * (cs_packed_group.speed), or the same for all contacts. */
typedef struct cs_map_bounds {
    double rtol, atol, speed;
} cs_map_bounds;

/* The rows that a visit multiplies, and the schemes that use them. */
typedef enum cs_row_products {
    CS_ROWS_OF_A,      /* matrix */
    CS_ROWS_OF_T,      /* iteration_matrix */
    CS_ROWS_IN_PIECES, /* half_sweep, symmetric_half: rows of A in three pieces */
} cs_row_products;

/* A loop in the direction of the sweep: first, first + step, ..., `count` numbers. */
typedef struct cs_walk {
    int64_t first, step, count;
} cs_walk;

/* The partners of each block, and the columns of G before those of one of them; of number p: all columns. */
CS_DEVICE static inline int cs_packed_partners(const cs_packed_group *group)
{
    return CS_PAIRS_ONLY ? CS_PAIR : group->partners;
}
CS_DEVICE static inline int cs_packed_column(const cs_packed_group *group, int partner)
{
    if (!CS_PAIRS_ONLY) return group->column[partner];
    return (partner > 0 ? group->dof[0] : 0) + (partner > 1 ? group->dof[1] : 0);
}

/* The degrees of freedom of all partners; 0 if they differ. */
CS_DEVICE static inline int cs_common_dof(const cs_packed_group *group)
{
    for (int s = 1; s < group->partners; s++)
        if (group->dof[s] != group->dof[0]) return 0;
    return group->dof[0];
}

/* The distance from one body's velocity to the next: a multiple of 16 bytes in both precisions. */
CS_DEVICE static inline int cs_velocity_stride(int dof) { return (dof + 3) / 4 * 4; }

#endif
