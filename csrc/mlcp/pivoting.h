/* Direct solution of mixed linear complementarity problems by pivoting.  S3
 *
 *     A x + b = w,   w = w+ - w-,   0 <= w+  _|_  x - lo >= 0,   0 <= w-  _|_  hi - x >= 0
 *
 * Every row is free (w = 0) or tight at a bound; an index set says which. Given one, the free part
 * of x is the solution of a linear system, and w follows from x:
 *
 *     A_FF x_F = -(b_F + A_FT x_T)                                             (S3 eq. 2.3)
 *
 *     matrix ──► islands ──► order ──► engine: factors of A_FF for one index set after another
 *                                         │
 *                rule: the next index set ◄┘  until every row is feasible (S3 eq. 2.1)
 *
 * A row is *feasible* if x and w satisfy its conditions for its current index. Islands are the
 * connected components of A; each is solved by itself. An *engine* factors A_FF and solves with the
 * factor; a *rule* chooses index sets. Each is one file and one line in engines.def or rules.def.
 * Neither judges its own result: verdict.c evaluates x on the matrix as given. */
#ifndef CS_PIVOTING_H
#define CS_PIVOTING_H

#include "core/compiler.h"
#include "core/costs.h"
#include "linalg/ordering.h"
#include "linalg/skyline.h"

#include <stdatomic.h>

typedef struct cs_engine cs_engine;
typedef struct cs_rule cs_rule;

/* The log of one thread: one row per step. */
typedef struct cs_pivot_log {
    int64_t rows, capacity;
    double *value; /* (rows, CS_LOG_COLUMNS) */
} cs_pivot_log;

/* The row at which a factorization found that A is not positive definite. */
typedef struct cs_pivot_failure {
    int64_t row;               /* of the matrix as given; -1: none */
    double pivot, entry, cure; /* A_ii after elimination; A_ii; a compliance that would suffice */
} cs_pivot_failure;

/* How the last solve of an island ended. */
typedef struct cs_pivot_end {
    cs_status status;
    cs_mlcp_outcome outcome;
    int64_t steps, single_steps, factorizations, refinements, interior_steps;
    cs_reuse_counts reuse;
    const cs_pivot_log *log; /* holds the island's `rows` rows, from row `first` on */
    int64_t first, rows;
    cs_pivot_failure failure;
} cs_pivot_end;

/* The state of the interior-point iteration, kept from one call to the next. */
typedef struct cs_interior {
    double *array; /* (CS_INTERIOR_ARRAYS, rows); NULL: interior-point steps are off */
    double mean;   /* of force times gap, over all finite bounds */
    int64_t bounds;
} cs_interior;

enum { CS_INTERIOR_ARRAYS = 10 };

/* One connected component of the matrix, in the order of its engine. */
typedef struct cs_island {
    int64_t rows;
    int64_t *user; /* (rows): the rows' numbers in the matrix as given */
    int64_t *start, *column;
    double *value; /* (A + A^T)/2, columns ascending */
    double *diagonal;
    int64_t *first; /* (rows): first column of the lower triangle */
    const cs_engine *engine;
    void *factor;          /* owned by the engine */
    signed char *factored; /* (rows): 1 for rows that are tight in the current factor */
    int is_factored;
    int is_stale;        /* the current factor belongs to an earlier matrix */
    int64_t cache_bytes; /* its share of the bytes that caches may use */
    /* The rest belongs to one solve. */
    double *b, *lo, *hi;
    double *x, *w;
    double *noise;                 /* |b| + |A| |x|: the scale of rounding errors in w */
    double *step, *slope;          /* scratch */
    double *direction, *image;     /* of conjugate gradients */
    signed char *state;            /* a cs_index of each row */
    signed char *next;             /* the index of each row in the next step; or marks of rows */
    int64_t *list;                 /* scratch */
    signed char *before;           /* (rows): scratch */
    cs_cancellation *cancellation; /* NULL: runs to its end */
    cs_interior interior;
    cs_pivot_end end;
} cs_island;

/* The index of A_ii among the values, by bisection: columns ascend. */
static inline int64_t cs_island_diagonal(const cs_island *s, int64_t i)
{
    int64_t low = s->start[i], high = s->start[i + 1] - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (s->column[middle] < i) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Whether both bounds of a row are equal, so that x_i is known. */
static inline int cs_is_fixed(const cs_island *s, int64_t i) { return s->lo[i] == s->hi[i]; }

struct cs_engine {
    const char *name, *summary;
    cs_fill_order order;
    /* Allocates the island's factors. Non-zero: no memory, or cancelled. */
    int (*take)(cs_island *s, cs_arena *arena);
    /* Factors A_FF for s->state; a breakdown names a row of the island. s->cancellation may stop it. */
    void (*factor)(cs_island *s, cs_breakdown *breakdown);
    /* r <- A_FF^-1 r. r is zero on tight rows, before and after. */
    void (*solve)(cs_island *s, double *r);
    /* May be NULL. `release` frees memory outside the arena; `report_cache` adds to `sum` the counts of the
     * cache since the last call. */
    void (*release)(cs_island *s);
    void (*report_cache)(cs_island *s, cs_cache_counts *sum);
    /* May be NULL if the engine keeps nothing but the current factor. Announces that the values of the
     * matrix have changed; solves with the current factor remain possible. */
    void (*forget)(cs_island *s);
    /* 1: a factor is an update of the previous one, so that rounding errors may accumulate */
    int accumulates_errors;
    int anew;      /* 1: each factor is computed from the current matrix alone */
    double weight; /* cost of a multiplication (core/costs.h) */
    /* Multiplications of a factor for an index set with `tight` tight rows, `changed` of which differ from
     * the previous index set. */
    double (*work)(const cs_island *s, double changed, double tight);
};

/* The engine of that name, or NULL. */
const cs_engine *cs_engine_find(const char *name);

/* The columns of the log, which has one row per step of a rule. */
enum {
    CS_LOG_STEP,
    CS_LOG_ISLAND,
    CS_LOG_INFEASIBLE,
    CS_LOG_TIGHT,
    CS_LOG_CHANGED,
    CS_LOG_COLUMNS
};

/* The solve of one island by a rule. */
typedef struct cs_pivot_run {
    cs_island *island;
    const cs_mlcp_options *options;
    const cs_control *control;
    cs_pivot_log *log;
    double tolerance; /* violations up to this, relative to `noise` and |x|, count as rounding */
    int64_t number;   /* number of the island */
    int64_t steps, single_steps, factorizations, refinements, interior_steps, max_steps;
    cs_reuse_counts reuse;
    double last_poll;
    atomic_int *halt;       /* shared by all islands: set once one of them has to stop */
    cs_breakdown breakdown; /* of a failed factor */
    cs_pivot_failure *failure;
    cs_mlcp_outcome outcome;
    int stopped, aborted;
} cs_pivot_run;

struct cs_rule {
    const char *name, *summary;
    int single;     /* 1: changes one row at a time */
    int no_factors; /* 1: uses no engine */
    /* Pivots from s->state to the final index set, x and w. Fails with CS_UNSUPPORTED, run->breakdown
     * set, if A_FF is not positive definite. */
    cs_status (*solve)(cs_pivot_run *run, cs_error *error);
};

/* The rule of that name, or NULL. */
const cs_rule *cs_rule_find(const char *name);

/* The relative violation that counts as rounding, at first and at most; a rule that cycles multiplies
 * it by ten. */
#define CS_PIVOT_ROUNDING 1e-13
#define CS_PIVOT_ROUGHEST 1e-9

/* Single pivots without fewer infeasible rows after which bpp switches to projected Newton steps. */
enum { CS_PIVOT_SINGLE_LIMIT = 10 };

/* ---- functions that rules share -------------------------------------------------------------- */

/* w <- A x + b and `noise`. */
void cs_pivot_evaluate(cs_island *s);

/* Factors A_FF for s->state, unless the current factor is that one. */
cs_status cs_pivot_factor(cs_pivot_run *run, cs_error *error);

/* Computes x and w for s->state with the factor of an earlier matrix as a preconditioner. Returns 0 if
 * there is none for these rows, or if the iteration converges too slowly. */
int cs_pivot_reuse(cs_pivot_run *run);

/* Whether the current factor has the rows of s->state; it may belong to an earlier matrix. */
int cs_pivot_has_rows(const cs_island *s);

/* The largest |w| / noise of the free rows; up to CS_PIVOT_REFINE it is rounding. */
double cs_pivot_residual(const cs_island *s);
#define CS_PIVOT_REFINE (32 * DBL_EPSILON)

/* Sets x_T to its bounds and x_F to zero; `step` <- -(b_F + A_FT x_T), zero on tight rows.
 * S3 eq. 2.3 */
void cs_pivot_right_side(cs_island *s);

/* x += A_FF^-1 step with the current factor; evaluates w. */
void cs_pivot_add_step(cs_island *s);

/* x and w for s->state: factor, solve, refine.  S3 Algorithm 2.1, lines 4-8 */
cs_status cs_pivot_candidate(cs_pivot_run *run, cs_error *error);

/* The index that x and w ask for in row i: s->state[i] if the row is feasible.  S3 eq. 2.1 */
signed char cs_pivot_wanted(const cs_pivot_run *run, int64_t i);

/* Polls the caller every few milliseconds. Sets run->stopped if the solve has to stop; returns
 * CS_INTERRUPTED if it has to fail. */
cs_status cs_pivot_poll(cs_pivot_run *run, cs_error *error);

/* The same as the function of a cs_cancellation, whose context is the run. */
int cs_pivot_is_cancelled(void *run);

/* Fails with CS_INTERRUPTED: a computation was cancelled. The current x is still the result, unless
 * run->aborted. */
cs_status cs_pivot_interrupted(const cs_pivot_run *run, cs_error *error);

/* Appends a row to the log, and polls the caller. */
cs_status cs_pivot_step(cs_pivot_run *run, int64_t infeasible, int64_t changed, cs_error *error);

/* Makes room for this many rows. */
cs_status cs_pivot_log_reserve(cs_pivot_log *log, int64_t rows, cs_error *error);

/* Detects cycles of index sets by Brent's method: one set is kept, and later ones are compared with it;
 * after 1, 3, 7, ... comparisons the current set replaces it. */
typedef struct cs_cycle_check {
    uint64_t kept; /* hash of the kept set */
    int64_t age;   /* comparisons with it so far; 0 before the first set */
    int64_t until; /* number of comparisons after which it is replaced */
} cs_cycle_check;

/* Whether s->state equals the kept set, so that the rule is cycling. */
int cs_pivot_is_cycling(cs_cycle_check *circle, const cs_island *s);

/* Multiplies the tolerance for rounding by ten, and restarts the detection. Returns 0 if the tolerance
 * then exceeds CS_PIVOT_ROUGHEST. */
int cs_pivot_raise_tolerance(cs_pivot_run *run, cs_cycle_check *circle);

/* Block principal pivoting from s->state on, with Murty's rule after `block_steps` block steps. If that
 * stagnates and `descends`, projected Newton steps and Keller's rule follow. */
cs_status cs_pivot_blocks(cs_pivot_run *run, int64_t block_steps, int descends, cs_error *error);

/* s->state <- the index set that interior-point steps predict. They begin anew, or `resume` from the
 * last ones. The engine must be one whose factors are computed `anew`. */
cs_status cs_pivot_interior(cs_pivot_run *run, int resume, cs_error *error);

/* Keller's rule from s->state on. */
cs_status cs_pivot_keller(cs_pivot_run *run, cs_error *error);

/* Projected Newton steps from x on; s->state <- the index set that they reach. */
cs_status cs_pivot_descend(cs_pivot_run *run, cs_error *error);

/* ---- the matrix ------------------------------------------------------------------------------ */

/* The data of one thread in a solve. */
typedef struct cs_pivot_worker {
    cs_pivot_log log;
    double last_poll;
    int64_t failed; /* its first island that failed; -1: none */
    cs_error error; /* the error of that island */
    int interrupted;
} cs_pivot_worker;

/* A solver of problems that share one matrix. */
struct cs_mlcp {
    cs_arena arena, loaded; /* `loaded` holds the matrix alone, so that an update can replace it */
    cs_mlcp_options options;
    const cs_rule *rule;
    int64_t rows, islands;
    int64_t *start, *column; /* (A + A^T)/2 */
    double *value;
    double *skew; /* (A - A^T)/2, or NULL where A is symmetric */
    double *diagonal;
    double asymmetry; /* max |A - A^T| / max |A| */
    cs_island *island;
    int64_t *largest_first; /* (islands) */
    int threads;
    cs_pivot_worker *worker; /* (threads) */
    cs_pivot_log log;
    double *x, *w;                 /* (rows), in the user's order */
    double *origin, *speed;        /* (rows), (islands): scratch of the verdict */
    double seconds;                /* of the set-up */
    cs_pivot_failure failure;      /* of the last solve */
    cs_cancellation *cancellation; /* of the set-up; may be NULL */
};

/* As cs_mlcp_create; fails with CS_INTERRUPTED if cancelled (`cancellation` may be NULL). */
cs_status cs_mlcp_make(cs_mlcp **mlcp, const cs_csr *matrix, const cs_mlcp_options *options,
                       cs_cancellation *cancellation, cs_error *error);

/* Reports that a part of the set-up failed: cancelled, or otherwise no memory for `what`. */
cs_status cs_mlcp_setup_failed(const cs_mlcp *mlcp, const char *what, cs_error *error);

/* Cost of reading or writing an entry of the matrix, in multiplications. */
enum { CS_ENTRY_WORK = 8 };

/* Checks a matrix and brings (A + A^T)/2 into the arena, repeated entries added up. */
cs_status cs_mlcp_load(cs_mlcp *mlcp, const cs_csr *matrix, cs_error *error);

/* Splits the matrix into islands, each in the order of its engine. */
cs_status cs_mlcp_split(cs_mlcp *mlcp, cs_error *error);

/* Chooses the number of threads, and the order in which they take the islands. */
cs_status cs_mlcp_assign_islands(cs_mlcp *mlcp, cs_error *error);

/* Solves all islands: mlcp->x, the index set, the log and the counts of `result`. */
cs_status cs_mlcp_solve_islands(cs_mlcp *mlcp, const double *b, const double *lo, const double *hi,
                                const signed char *initial, const cs_control *control,
                                cs_mlcp_result *result, cs_error *error);

/* The result's distance from a solution. cs_mlcp_judge sets w <- A x + b with the matrix as given; on
 * islands that the projection of zero, P(0), solves, it sets x to P(0). */
typedef struct cs_mlcp_verdict {
    double residual, scaled, complementarity;
    int64_t worst; /* -1 with no rows */
} cs_mlcp_verdict;
cs_mlcp_verdict cs_mlcp_judge(const cs_mlcp *mlcp, const double *b, const double *lo,
                              const double *hi, double *x, double *w);

/* Estimates the largest condition number |A_FF| |A_FF^-1| in the 1-norm of any island, from
 * the current factors; NAN for rules that do not factor. Hager's method (Higham 1988, Algorithm 4.1). */
double cs_mlcp_condition(cs_mlcp *mlcp);

#endif
