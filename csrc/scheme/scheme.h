/* How A lambda + b is had, and the sweep's inner loop.
 *
 *     problem x schedule  --pack-->  cs_packed  --stage-->  lambda updated, residual measured
 *
 * A packed group holds what one visit reads, in the order of the visits and in the precision of the
 * solve: visit by visit, or in batches of `lanes` visits that are made at once,
 *
 *     lanes = 1:  visit 0: x0 y0 z0   visit 1: x1 y1 z1   ...
 *     lanes = 4:  batch 0: x0 x1 x2 x3  y0 y1 y2 y3  z0 z1 z2 z3   batch 1: ...
 *
 * where a batch may have lanes to spare, whose numbers are zero. lambda is in the user's order, but
 * for groups in batches. */
#ifndef CS_SCHEME_H
#define CS_SCHEME_H

#include "core/pace.h"
#include "order/schedule.h"
#include "problem/problem.h"
#include "prox/prox.h"
#include "scheme/local/local.h"

#include <stdatomic.h>

/* CS_MIXED: what sweeps only read in bulk (factors, rows of A, R) in float, everything else in
 * double. Then A is that of rounded factors; solver/refresh.c makes up for it. */
typedef enum cs_dtype { CS_F32, CS_F64, CS_MIXED, CS_DTYPES } cs_dtype;

/* Which of the three pieces of row k a block of column l belongs to: l is visited before k in a
 * forward sweep, or after it, or neither (scheme/rows.h). */
enum { CS_BEFORE, CS_NEITHER, CS_AFTER, CS_PIECES };

/* Where the pieces of one row begin. */
typedef struct cs_row_pieces {
    int64_t neither, after; /* in cs_packed_group.column */
    int64_t first_neither;  /* in cs_packed_group.value */
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
    void *compliance; /* (count, m): diagonal of Sigma, factorized only; or NULL */
    int sets, coupled_set[CS_MAX_ROWS];
    /* factorized: G_k and where the partners' velocities are (the spare ones where immovable) */
    cs_form form;      /* CS_GENERAL but for groups in batches */
    int hand;          /* of compressed frames: 1 where the last axis is n x t, else -1 */
    void *scaled;      /* (count, m d_0 + m d_1) (stored), or the numbers of a compressed contact */
    int64_t *velocity; /* (count, 2) */
    int32_t *place;    /* the same in batches: (slots / lanes, 2, lanes) */
    void *contribution; /* (slots, 2, stride of d): G^T lambda of each side, in batches whose visits
                         * share bodies; or NULL */
    int64_t *sum;       /* (count, 2): where the part sums what it changes there; or NULL */
    /* rows of blocks, of A or of T */
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
} cs_packed_group;

/* Where a body's velocity comes from: one side of one visited block. */
typedef struct cs_gather {
    int64_t visit;
    int group, side;
} cs_gather;

/* One phase of one stage: its tasks, and how many have been begun and ended in this sweep. */
typedef struct cs_phase {
    const cs_stage *stage;
    int number; /* within the stage */
    int64_t tasks;
    _Alignas(64) atomic_llong begun; /* apart: every thread counts here */
    atomic_llong ended;
} cs_phase;

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

/* How u = G^T lambda follows a simultaneous stage (factorized). */
typedef enum cs_velocities {
    CS_AS_FITS,    /* recomputed after large stages, added to after small ones */
    CS_RECOMPUTE,  /* from all contacts, body by body */
    CS_ADD,        /* the stage's changes added, one contact after another */
    CS_ACCUMULATE, /* the changes summed by each part of the stage, these sums added in order */
} cs_velocities;

/* Steps after which the solution of a block's own problem is given up, and after how many it
 * is asked whether they get smaller. */
enum { CS_INNER_STEPS = 5000, CS_INNER_PATIENCE = 100 };

typedef struct cs_packed {
    const cs_problem *problem;
    const struct cs_scheme *scheme;
    const cs_schedule *schedule;
    cs_dtype dtype;
    int threads;
    int paced;          /* `threads` are the most, shared or not as the pace says */
    cs_pace pace;       /* of the sweeps so far */
    int bound_previous; /* friction bound from the impulse before the update */
    cs_velocities way;  /* how velocities follow stages whose contacts do not see each other */
    double averaging;   /* omega */
    double damping;     /* nu, for blocks whose own problem is solved */
    int backwards;      /* this sweep goes through stages, ranges and visits from the end */
    int general;        /* nothing is to be compressed */
    int instructions;   /* asked for: cs_instructions, CS_INSTRUCTIONS_SCALAR or _AUTO */
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

/* How the blocks of a group are updated. */
typedef enum cs_local {
    CS_PROJECTED,     /* a projected step with the factors r */
    CS_EXACT,         /* one with a full R_k */
    CS_BLOCK,         /* the block's own problem is solved in the best way for its set, */
    CS_BLOCK_NEWTON,  /* by Newton's method */
    CS_BLOCK_QUARTIC, /* or by the roots of a polynomial */
} cs_local;

static inline int cs_solves_block(cs_local local) { return local >= CS_BLOCK; }

typedef struct cs_scheme {
    const char *name, *summary;
    int needs_jacobian;
    int needs_steps;     /* R is part of what it holds: blocks cannot be solved without one */
    int needs_symmetric; /* for methods alone that sweep forwards and backwards in turn */
    /* Chooses which groups are visited in batches; NULL for none. */
    cs_status (*lay_out)(cs_packed *packed, const cs_local *local, cs_arena *arena,
                         cs_error *error);
    /* Adds what this scheme reads to the groups. */
    cs_status (*pack)(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error);
    /* Makes what depends on lambda (u = G^T lambda) agree with it. */
    void (*refresh[CS_DTYPES])(cs_packed *packed);
    /* The next four may be NULL. The first is called before each sweep; returns how many products
     * of blocks it will take, which are all those of A where there is no such function. */
    int64_t (*begin)(cs_packed *packed);
    /* For what a scheme makes of R and b. Called when all R and when all b have been written... */
    void (*take_steps[CS_DTYPES])(cs_packed *packed);
    void (*take_data[CS_DTYPES])(cs_packed *packed);
    /* ... and when R_k of one visited block has been multiplied by `factor`, as rollbacks do to all
     * of them, or rewritten (NULL), as adaptive factors may. Visits may be told of at once. */
    void (*take_step[CS_DTYPES])(cs_packed *packed, int group, int64_t visit, const double *factor);
    /* Schemes that sweep in mixed precision: b -= A lambda of every visit, with A as it is stored.
     * Called when what depends on lambda agrees with it. */
    void (*subtract_products)(cs_packed *packed);
    /* A stage is worked off in phases, one after another; the tasks of a phase may run at once, on
     * threads that have flushed denormals. Returns how many tasks a phase has; -1 past the last. */
    int64_t (*tasks)(const cs_packed *packed, const cs_stage *stage, int phase);
    void (*run[CS_DTYPES])(cs_packed *packed, const cs_stage *stage, int phase, int64_t task);
} cs_scheme;

/* The scheme of that name, or NULL. */
const cs_scheme *cs_scheme_find(const char *name);

/* The scheme whose sweeps take less time (scheme/choice.c). `wanted`: what cs_pack_common is given,
 * but for the scheme. */
cs_status cs_scheme_choose(const cs_packed *wanted, const cs_local *local, const cs_scheme **scheme,
                           cs_error *error);

/* What a group's visits are by themselves, not in batches. */
void cs_describe_groups(cs_packed *packed);

/* The lane of a slot; there is always a power of two of them. */
static inline int64_t cs_lane_of(const cs_packed_group *group, int64_t slot)
{
    return slot & (group->lanes - 1);
}

/* Where number i of `width` of a visit is in an array of its group. */
static inline int64_t cs_packed_place(const cs_packed_group *group, int64_t visit, int64_t width,
                                      int64_t i)
{
    if (group->lanes == 1) return visit * width + i;
    int64_t lane = cs_lane_of(group, group->slot[visit]);
    return (group->slot[visit] - lane) * width + i * group->lanes + lane;
}

/* The precision of impulses, velocities and b, and that of what is stored in bulk. */
static inline cs_dtype cs_real(cs_dtype dtype) { return dtype == CS_MIXED ? CS_F64 : dtype; }
static inline cs_dtype cs_stored(cs_dtype dtype) { return dtype == CS_MIXED ? CS_F32 : dtype; }

/* Bytes of one `real`, and of one `stored`. */
static inline size_t cs_real_size(cs_dtype dtype)
{
    return dtype == CS_F32 ? sizeof(float) : sizeof(double);
}

static inline size_t cs_stored_size(cs_dtype dtype)
{
    return dtype == CS_F64 ? sizeof(double) : sizeof(float);
}

/* The scheme's sweeps in that precision: whether there are any. */
static inline int cs_scheme_takes(const cs_scheme *scheme, cs_dtype dtype)
{
    return scheme->run[dtype] != NULL;
}

/* to[at + i] = from[i], where `to` has float (CS_F32) or double (CS_F64). */
void cs_convert(cs_dtype precision, void *to, int64_t at, const double *from, int64_t count);

/* The first row of a visited block in the user's order. */
int64_t cs_visited_row(const cs_packed *packed, int group, int64_t visit);

/* Prepares what every scheme reads. `weighted`: each block has its own omega. */
cs_status cs_pack_common(cs_packed *packed, const cs_local *local, int weighted, cs_arena *arena,
                         cs_error *error);

/* An array of `width` numbers a visit, of float or double, unset but in the lanes to spare, which are
 * zero; or NULL. */
void *cs_take_visits(cs_dtype precision, const cs_packed_group *group, int64_t width,
                     cs_arena *arena);

/* Writes the `width` numbers of a visit to an array of its group, of float or double. */
void cs_put_visit(cs_dtype precision, const cs_packed_group *group, void *array, int64_t visit,
                  const double *from, int64_t width);

/* How contacts are visited: "scalar", "wide, avx2, 4 lanes". */
void cs_packed_kernel(const cs_packed *packed, char *text, size_t size);

/* Lists what a sweep of the scheme does; after the scheme's own packing. */
cs_status cs_pack_phases(cs_packed *packed, cs_arena *arena, cs_error *error);

/* Writes b (rows) and the sets' parameters (parameters), both in the user's order. */
void cs_pack_data(cs_packed *packed, const double *b, const double *parameters);

/* Writes R: `r` (rows), and `step` of group g (count, m, m): R_k where it is full, A_kk where the
 * block's own problem is solved. Undoes cs_scale_steps. */
void cs_pack_steps(cs_packed *packed, const double *r, double *const *step);
void cs_scale_steps(cs_packed *packed, double factor);

/* R_k <- factor R_k for one visited block that has one; cs_pack_steps undoes it. */
void cs_scale_step(cs_packed *packed, int group, int64_t visit, double factor);

/* Writes the diagonal R (m) of one visited block, which has no other; cs_pack_steps undoes it. */
void cs_set_steps(cs_packed *packed, int group, int64_t visit, const double *r);

/* Tells the scheme of a visited block whose R_k has been written by others: see take_step. */
void cs_step_changed(cs_packed *packed, int group, int64_t visit, const double *factor);

/* Writes omega of each block (blocks), in the user's order. */
void cs_pack_weights(cs_packed *packed, const double *weight);

/* b as the visits have it now (rows). */
void cs_get_data(const cs_packed *packed, double *b);

/* lambda in and out of the precision of the solve. */
void cs_put_impulses(cs_packed *packed, const double *lambda);
void cs_get_impulses(const cs_packed *packed, double *lambda);

/* A loop in the direction of the sweep: `count` numbers from `first`, each a `step` further. */
typedef struct cs_walk {
    int64_t first, step, count;
} cs_walk;

/* Through begin, begin + 1, ..., end - 1, or the other way round. */
static inline cs_walk cs_walk_over(const cs_packed *packed, int64_t begin, int64_t end)
{
    if (packed->backwards) return (cs_walk){end - 1, -1, end - begin};
    return (cs_walk){begin, 1, end - begin};
}

/* Cuts a loop over `count` things into pieces of CS_CHUNK. */
static inline int64_t cs_chunks(int64_t count) { return (count + CS_CHUNK - 1) / CS_CHUNK; }

/* Calls `work` for each block that a stage visits, with the part of the stage that visits it. */
void cs_each_visit(const cs_schedule *schedule, const cs_stage *stage,
                   void (*work)(void *context, int group, int64_t visit, int64_t part),
                   void *context);

#endif
