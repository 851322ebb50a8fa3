/* Direct solution of mixed linear complementarity problems by pivoting.  S3
 *
 *     A x + b = w,   w = w+ - w-,   0 <= w+  _|_  x - lo >= 0,   0 <= w-  _|_  hi - x >= 0
 *
 * Every row is free (w = 0) or tight at a bound; an index set says which. Given one, the free part
 * of x is the solution of a linear system, and w follows:
 *
 *     A_FF x_F = -(b_F + A_FT x_T)                                             (S3 eq. 2.3)
 *
 *     matrix ──► islands ──► order ──► engine: factors of A_FF for one index set after another
 *                                         │
 *                rule: the next index set ◄┘  until every row is where it belongs (S3 eq. 2.1)
 *
 * Islands are the connected parts of A; each is solved by itself. An *engine* knows how to factor
 * A_FF and to solve with it; a *rule* chooses index sets. Each is a file and a line in engines.def or
 * rules.def. The verdict is given outside of both, on the matrix as it was given (judge.c). */
#ifndef CS_PIVOTING_H
#define CS_PIVOTING_H

#include "core/compiler.h"
#include "linalg/ordering.h"
#include "linalg/skyline.h"

#include <stdatomic.h>

typedef struct cs_engine cs_engine;
typedef struct cs_rule cs_rule;

/* The steps of one thread: a row each. */
typedef struct cs_pivot_log {
    int64_t rows, capacity;
    double *value; /* (rows, CS_LOG_COLUMNS) */
} cs_pivot_log;

/* A row at which A proved not to be positive definite. */
typedef struct cs_pivot_failure {
    int64_t row;               /* of the matrix as given; -1: none */
    double pivot, entry, cure; /* what elimination left of A_ii; A_ii; a compliance that would do */
} cs_pivot_failure;

/* How the last solve of an island ended. */
typedef struct cs_pivot_end {
    cs_status status;
    cs_mlcp_outcome outcome;
    int64_t steps, single_steps, factorizations, refinements, interior_steps;
    cs_reuse_counts reuse;
    const cs_pivot_log *log; /* its rows are there, from `first` on */
    int64_t first, rows;
    cs_pivot_failure failure;
} cs_pivot_end;

/* Interior-point steps at rest between two calls. */
typedef struct cs_interior {
    double *array; /* (CS_INTERIOR_ARRAYS rows); NULL where there are to be none */
    double mean;   /* of force times gap */
    int64_t bounds;
} cs_interior;

enum { CS_INTERIOR_ARRAYS = 10 };

/* One connected part of the matrix, in the order of its engine. */
typedef struct cs_island {
    int64_t rows;
    int64_t *user; /* (rows): the rows' numbers in the matrix as given */
    int64_t *start, *column;
    double *value; /* (A + A^T)/2, columns ascending */
    double *diagonal;
    int64_t *first; /* (rows): first column of the lower triangle */
    const cs_engine *engine;
    void *factor;          /* the engine's */
    signed char *factored; /* (rows): the index set of the factor at hand, signs apart */
    int is_factored;
    int is_stale;        /* that factor is of an earlier matrix */
    int64_t cache_bytes; /* its share of what a cache may take */
    /* of one solve */
    double *b, *lo, *hi;
    double *x, *w;
    double *noise;             /* |b| + |A| |x|: what w is made of */
    double *step, *slope;      /* scratch */
    double *direction, *image; /* of conjugate gradients */
    signed char *state;        /* a cs_index of each row */
    signed char *next;
    int64_t *list; /* scratch */
    signed char *before;
    cs_cancellation *cancellation; /* asks whether to leave off; NULL: nobody wants to know */
    cs_interior interior;
    cs_pivot_end end;
} cs_island;

/* Where A_ii is among the values; columns ascend. */
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

/* Whether a row cannot leave its bound. */
static inline int cs_is_fixed(const cs_island *s, int64_t i) { return s->lo[i] == s->hi[i]; }

typedef enum cs_fill_order { CS_FILL_NATURAL, CS_FILL_RCM, CS_FILL_MINIMUM_DEGREE } cs_fill_order;

struct cs_engine {
    const char *name, *summary;
    cs_fill_order order;
    /* Takes what the island's factors need. Non-zero: no memory, or s->cancellation says to leave off. */
    int (*take)(cs_island *s, cs_arena *arena);
    /* Factors A_FF for s->state; a breakdown names a row of the island. Beats s->cancellation. */
    void (*factor)(cs_island *s, cs_breakdown *breakdown);
    /* r <- A_FF^-1 r. Rows that are tight hold zero, before and after. */
    void (*solve)(cs_island *s, double *r);
    /* May be NULL: lets go of memory outside the arena; adds up what a cache did since last asked. */
    void (*release)(cs_island *s);
    void (*tell)(cs_island *s, cs_cache_counts *sum);
    /* May be NULL, where factors are made of nothing but the matrix: the next one is of other values. The
     * one at hand stays good for solves. */
    void (*forget)(cs_island *s);
    /* Whether a factor is made from the one before, so that errors may gather. */
    int gathers;
    int anew; /* every factor is made of the matrix as it is then, with nothing kept of others */
    double weight; /* what a multiplication costs, the fastest kernel's being 1 */
    /* Multiplications that a change of `changed` of the rows costs, tight ones being `tight`. */
    double (*work)(const cs_island *s, double changed, double tight);
};

/* The engine of that name, or NULL. */
const cs_engine *cs_engine_find(const char *name);

/* What one step of a rule looked like: a row of the log. */
enum {
    CS_LOG_STEP,
    CS_LOG_ISLAND,
    CS_LOG_INFEASIBLE,
    CS_LOG_TIGHT,
    CS_LOG_CHANGED,
    CS_LOG_COLUMNS
};

/* A rule at work on an island. */
typedef struct cs_pivot_run {
    cs_island *island;
    const cs_mlcp_options *options;
    const cs_control *control;
    cs_pivot_log *log;
    double tolerance; /* rounding: what counts as nothing, over `noise` and |x| */
    int64_t number;   /* of the island */
    int64_t steps, single_steps, factorizations, refinements, interior_steps, max_steps;
    cs_reuse_counts reuse;
    double last_poll;
    atomic_int *halt;       /* of all islands: set where one has been told to end */
    cs_breakdown breakdown; /* of a failed factor */
    cs_pivot_failure *failure;
    cs_mlcp_outcome outcome;
    int stopped, aborted;
} cs_pivot_run;

struct cs_rule {
    const char *name, *summary;
    int single;     /* changes one row at a time */
    int no_factors; /* has no use for an engine */
    /* From s->state to the last index set, x and w. Fails with CS_UNSUPPORTED, run->breakdown set,
     * where A_FF is not positive definite. */
    cs_status (*solve)(cs_pivot_run *run, cs_error *error);
};

const cs_rule *cs_rule_find(const char *name);

/* Units of rounding that count as none, at first and at most; a rule that goes round in circles
 * takes ten times as many. */
#define CS_PIVOT_ROUNDING 1e-13
#define CS_PIVOT_ROUGHEST 1e-9

/* Single steps without fewer infeasible rows after which bpp tries another way. */
enum { CS_PIVOT_ALONE = 10 };

/* ---- what rules share ------------------------------------------------------------------------ */

/* w <- A x + b and `noise`. */
void cs_pivot_evaluate(cs_island *s);

/* A_FF is factored for s->state, unless it is already. */
cs_status cs_pivot_factor(cs_pivot_run *run, cs_error *error);

/* x and w for s->state with the factor of an earlier matrix; 0 where there is none for these rows, or it
 * does not do. */
int cs_pivot_reuse(cs_pivot_run *run);

/* Whether the factor at hand, were it of this matrix, would be that of s->state. */
int cs_pivot_has_rows(const cs_island *s);

/* The largest |w| of a free row over its noise, and up to which it is rounding. */
double cs_pivot_residual(const cs_island *s);
#define CS_PIVOT_REFINE (32 * DBL_EPSILON)

/* `step` <- -(b_F + A_FT x_T) at x_F = 0, zero on the tight rows, x_T being at its bounds. */
void cs_pivot_right_side(cs_island *s);

/* x += A_FF^-1 step by the factor at hand, and w. */
void cs_pivot_add_step(cs_island *s);

/* x and w for s->state: factor, solve, refine.  S3 Algorithm 2.1, lines 4-8 */
cs_status cs_pivot_candidate(cs_pivot_run *run, cs_error *error);

/* Where row i belongs by x and w: s->state[i] where it is right.  S3 eq. 2.1 */
signed char cs_pivot_wanted(const cs_pivot_run *run, int64_t i);

/* Asks now and then whether to go on: CS_INTERRUPTED, or run->stopped. */
cs_status cs_pivot_poll(cs_pivot_run *run, cs_error *error);

/* The same out of a cancellation, whose context is the run. */
int cs_pivot_is_cancelled(void *run);

/* CS_INTERRUPTED: something left off half-done. What is at hand is the answer, unless run->aborted. */
cs_status cs_pivot_interrupted(const cs_pivot_run *run, cs_error *error);

/* Appends to the log, and asks whether to go on. */
cs_status cs_pivot_step(cs_pivot_run *run, int64_t infeasible, int64_t changed, cs_error *error);

/* Room for so many rows. */
cs_status cs_pivot_log_reserve(cs_pivot_log *log, int64_t rows, cs_error *error);

/* A circle of index sets is found by Brent's method: one set is kept and the others are compared
 * with it; after 1, 3, 7, ... more the one at hand is kept instead. */
typedef struct cs_circle {
    uint64_t kept;
    int64_t age, until;
} cs_circle;

/* Whether s->state is the set that was kept. */
int cs_pivot_comes_again(cs_circle *circle, const cs_island *s);

/* From here on ten times more counts as rounding; 0 where that has been done often enough. */
int cs_pivot_be_lenient(cs_pivot_run *run, cs_circle *circle);

/* Block principal pivoting from s->state on, Murty's rule after so many steps. Where that gets nowhere
 * and `descends`, projected Newton steps and Keller's rule end the work. */
cs_status cs_pivot_blocks(cs_pivot_run *run, int64_t block_steps, int descends, cs_error *error);

/* s->state <- what interior-point steps foresee, from the start or from where the last ones `resume`;
 * the engine's factors are made `anew`. */
cs_status cs_pivot_interior(cs_pivot_run *run, int resume, cs_error *error);

/* Keller's rule from s->state on. */
cs_status cs_pivot_keller(cs_pivot_run *run, cs_error *error);

/* Projected Newton steps from x on; s->state ends as what they lead to. */
cs_status cs_pivot_descend(cs_pivot_run *run, cs_error *error);

/* ---- the matrix ------------------------------------------------------------------------------ */

/* One thread's share of a solve. */
typedef struct cs_pivot_worker {
    cs_pivot_log log;
    double last_poll;
    int64_t failed; /* the first of its islands that failed; -1 for none */
    cs_error error; /* of that one */
    int interrupted;
} cs_pivot_worker;

/* A solver of problems with one matrix. */
struct cs_mlcp {
    cs_arena arena, loaded; /* `loaded` holds the matrix by itself */
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
    double seconds;                /* of setting up */
    cs_pivot_failure failure;      /* of the last solve */
    cs_cancellation *cancellation; /* while it is made; may be NULL */
};

/* cs_mlcp_create, CS_INTERRUPTED where the cancellation (may be NULL) says to leave off. */
cs_status cs_mlcp_make(cs_mlcp **mlcp, const cs_csr *matrix, const cs_mlcp_options *options,
                       cs_cancellation *cancellation, cs_error *error);

/* The failure of a part of it: no memory for `what`, unless the cancellation has said to leave off. */
cs_status cs_mlcp_unmade(const cs_mlcp *mlcp, const char *what, cs_error *error);

/* What an entry of the matrix costs to read or to put somewhere, in multiplications. */
enum { CS_ENTRY_WORK = 8 };

/* Checks a matrix and brings (A + A^T)/2 into the arena, repeated entries added up. */
cs_status cs_mlcp_load(cs_mlcp *mlcp, const cs_csr *matrix, cs_error *error);

/* Cuts the matrix into islands, each in the order of its engine. */
cs_status cs_mlcp_split(cs_mlcp *mlcp, cs_error *error);

/* Multiplications of one factor of all islands, weighed by their engines. */
double cs_mlcp_factor_work(const cs_mlcp *mlcp);

/* Threads, and the order in which they take the islands. */
cs_status cs_mlcp_share_out(cs_mlcp *mlcp, cs_error *error);

/* Solves all islands: mlcp->x, the index set, the log and the counts of `result`. */
cs_status cs_mlcp_solve_islands(cs_mlcp *mlcp, const double *b, const double *lo, const double *hi,
                                const signed char *initial, const cs_control *control,
                                cs_mlcp_result *result, cs_error *error);

/* w <- A x + b with the matrix as given, and how far x is from a solution; x of islands that P(0) solves
 * becomes that. */
typedef struct cs_mlcp_verdict {
    double residual, scaled, complementarity;
    int64_t worst; /* -1 with no rows */
} cs_mlcp_verdict;
cs_mlcp_verdict cs_mlcp_judge(const cs_mlcp *mlcp, const double *b, const double *lo,
                              const double *hi, double *x, double *w);

/* An estimate of the largest condition number |A_FF| |A_FF^-1| in the 1-norm of any island, from
 * the factors at hand; infinite where there are none. Hager's method (Higham 1988, Algorithm 4.1). */
double cs_mlcp_condition(cs_mlcp *mlcp);

#endif
