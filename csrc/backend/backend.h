/* The seam between methods and whatever makes their sweeps.
 *
 *     methods, solver  --cs_packing-->  cs_backend: pack | sweeps | points | impulses in and out
 *
 * A backend packs a problem for a schedule and a scheme, and works on what it has packed. Nothing above
 * knows how that is laid out or where it is: it holds a cs_packing and calls the functions of its table.
 * Impulses, data and factors go in and out in the user's order and in double precision, by calls made for
 * that; many sweeps may be one call. So what is packed may as well be on a device of its own.
 *
 * Some methods call no backend and run on the host, in the arrays of the problem: `subspace` and `splitting`,
 * which make their own sweeps (methods/pivoting/hybrid.c), the other methods that pivot, `apgd`,
 * `spectral_gradient`, `admm` and `interior_point`. `tresca` and `de_saxce` pack nothing, but hand the backend
 * to their inner method. Newton steps, coarse corrections and measures are computed on the host as well.
 *
 * Calls for one packing come from one thread at a time. The caller flushes denormals. */
#ifndef CS_BACKEND_H
#define CS_BACKEND_H

#include "scheme/scheme.h"

#include <math.h>

typedef struct cs_backend cs_backend;

/* What is to be packed, and how it is swept. All of it outlives the packing. */
typedef struct cs_pack_request {
    const cs_problem *problem;
    const cs_schedule *schedule;
    const cs_scheme *scheme;
    cs_dtype dtype;
    int threads;
    int paced;          /* `threads` are the most, shared or not as the pace of the sweeps says */
    int bound_previous; /* friction bound from the impulse before the update */
    const cs_setting *setting; /* the scheme's own options, one for each of its table */
    double averaging;          /* omega */
    const double
        *weight;      /* (blocks): omega of each block, read by `pack` only; NULL: `averaging` */
    int instructions; /* as cs_packed has them */
    int general;      /* contacts are not to be compressed */
    const cs_local *local; /* (groups): how their blocks are updated; read by `pack` only */
} cs_pack_request;

/* Something packed, and by whom. */
typedef struct cs_packing {
    const cs_backend *backend;
    void *state; /* the backend's; NULL: nothing is packed */
    cs_dtype dtype;
    int threads;
    int keeps_velocities; /* u = G^T lambda goes with the impulses of points: sums need no refresh */
    int64_t matrix_blocks; /* in one sweep; 0: A is not formed */
    int64_t products;      /* of blocks with impulses, in the sweeps of this solve */
} cs_packing;

/* One iterate: impulses as packed, and u = G^T lambda beside them where the backend keeps it. Both are
 * linear in lambda, so that sums of points need no product with A. Only the backend looks inside. */
typedef struct cs_point {
    void *impulses, *velocities;
} cs_point;

/* The best sweep so far: which iterate it led to, and from which residual on sweeps diverge.
 * Residuals are compared over nu: halving R halves them by itself. */
typedef struct cs_best_sweep {
    double scale;  /* nu: product of the rollbacks so far */
    double least;  /* smallest residual / nu so far */
    double margin; /* residuals up to so many times `least` are as good */
    double growth; /* and beyond so many times it, and the margin, they diverge; INFINITY: never */
    int best_is_current; /* lambda still is the best iterate */
    int best_backwards;  /* the sweep that followed the best iterate */
    int64_t number;      /* sweeps so far, those that were taken back included */
    int64_t best_number; /* after which sweep the best iterate was reached */
} cs_best_sweep;

/* Sweeps in one call. */
typedef struct cs_sweep_call {
    int64_t most;        /* sweeps, at least one */
    int backwards;       /* the next sweep goes from the end; told anew after each */
    int alternates;      /* every second sweep goes the other way */
    cs_best_sweep *best; /* the best iterate is kept by it; NULL: nothing is kept */
    /* Said by the backend, unless it fails. */
    int64_t made;         /* sweeps; fewer than `most` where an alarm ended them */
    int alarm;            /* the last one may have diverged: `best` does not hold it */
    int64_t products;     /* of blocks with impulses */
    cs_sweep_stats stats; /* of the last one */
} cs_sweep_call;

struct cs_backend {
    const char *name;

    /* The scheme of less time. `scheme` of the request is not looked at. */
    cs_status (*choose)(const cs_pack_request *request, const cs_scheme **scheme, cs_error *error);
    /* Packs; `packing` has backend, dtype and threads, and gets the rest. What is taken from `arena` lives
     * as long as the packing; everything else goes with `release`. */
    cs_status (*pack)(const cs_pack_request *request, cs_arena *arena, const cs_control *control,
                      cs_packing *packing, cs_error *error);
    /* Lets go of what is not in the arena; NULL: that is nothing. */
    void (*release)(void *state);
    /* How contacts are visited: "scalar", "wide, avx2, 4 lanes". Returns bytes held outside the arena. */
    int64_t (*describe)(const void *state, char *kernel, size_t size);

    /* The impulses (rows). */
    void (*put)(void *state, const double *impulses);
    void (*get)(const void *state, double *impulses);
    /* b (rows) and the sets' parameters (parameters); b as the visits have it now. */
    void (*put_data)(void *state, const double *b, const double *parameters);
    void (*get_data)(const void *state, double *b);
    /* R: `r` (rows), and `step` of group g (count, m, m): R_k where it is full, A_kk where the block's own
     * problem is solved, else NULL. Undoes what the next two do to R. */
    void (*put_steps)(void *state, const double *r, double *const *step);
    /* R <- factor R */
    void (*scale_steps)(void *state, double factor);
    /* The diagonals R (rows) of some blocks of groups without `step`: where changed (blocks) is not 0. */
    void (*replace_steps)(void *state, const double *r, const unsigned char *changed);

    /* Makes what depends on lambda agree with it. */
    void (*refresh)(void *state);
    /* In mixed precision: b -= A lambda, with A as it is stored. Follows a refresh. */
    void (*subtract_products)(void *state);

    /* Up to call->most sweeps. Of a backend whose other calls may fail late, their failure, too. */
    cs_status (*sweep)(void *state, cs_sweep_call *call, cs_error *error);

    /* The iterate as the best one so far; and back. What depends on lambda is not refreshed. */
    void (*keep)(void *state);
    void (*restore)(void *state);

    /* Points, in the arena or released with the packing; where the sweeps are. Of both parts each:
     *     copy          to <- from
     *     combine       to <- a p + b q;  `to` may be one of them
     *     extrapolate   x <- x + beta (x - before),  before <- x as it was
     *     conjugate     p <- beta p + (x - start),   x <- x + beta p as it was,   start <- x as it is now
     * and of the impulses  p.q  and  |p - q|^2. */
    cs_status (*take_point)(void *state, cs_arena *arena, cs_point *point, cs_error *error);
    cs_point (*here)(const void *state);
    void (*copy)(void *state, cs_point to, cs_point from);
    void (*combine)(void *state, cs_point to, double a, cs_point p, double b, cs_point q);
    void (*extrapolate)(void *state, cs_point x, double beta, cs_point before);
    void (*conjugate)(void *state, cs_point x, double beta, cs_point p, cs_point start);
    double (*dot)(void *state, cs_point p, cs_point q);
    double (*distance)(void *state, cs_point p, cs_point q);
};

/* ---- what backends share ----------------------------------------------------------------------------- */

/* Whether a sweep may have diverged; rounding, of which the backend knows nothing, apart. */
static inline int cs_best_is_exceeded(const cs_best_sweep *best, const cs_sweep_stats *stats)
{
    if (!isfinite(stats->merit)) return 1;
    return stats->residual / best->scale > best->least * best->growth * best->margin;
}

/* A sweep that is kept may have led to the best iterate so far. */
static inline void cs_best_update(cs_best_sweep *best, const cs_sweep_stats *stats)
{
    double scaled = stats->residual / best->scale;
    best->best_is_current = scaled <= best->least * best->margin;
    if (!best->best_is_current) return;
    best->least = fmin(best->least, scaled);
    best->best_number = best->number;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

/* Where nothing is packed, the impulses are nowhere else than in the user's order. */
static inline void cs_packing_put(cs_packing *packing, const double *impulses)
{
    if (packing->state) packing->backend->put(packing->state, impulses);
}

static inline void cs_packing_get(const cs_packing *packing, double *impulses)
{
    if (packing->state) packing->backend->get(packing->state, impulses);
}

static inline void cs_packing_put_steps(cs_packing *packing, const double *r, double *const *step)
{
    packing->backend->put_steps(packing->state, r, step);
}

static inline void cs_packing_scale_steps(cs_packing *packing, double factor)
{
    packing->backend->scale_steps(packing->state, factor);
}

static inline void cs_packing_refresh(cs_packing *packing)
{
    packing->backend->refresh(packing->state);
}

static inline cs_status cs_packing_sweep(cs_packing *packing, cs_sweep_call *call, cs_error *error)
{
    cs_status status = packing->backend->sweep(packing->state, call, error);
    if (!status) packing->products += call->products;
    return status;
}

static inline void cs_packing_keep(const cs_packing *packing)
{
    packing->backend->keep(packing->state);
}

static inline void cs_packing_restore(const cs_packing *packing)
{
    packing->backend->restore(packing->state);
}

static inline void cs_packing_release(cs_packing *packing)
{
    if (packing->state && packing->backend->release) packing->backend->release(packing->state);
    packing->state = NULL;
}

#endif
