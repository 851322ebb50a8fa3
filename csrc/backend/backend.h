/* The interface between the methods and whatever runs their sweeps: the processor, or a device such as a GPU.
 *
 *     methods, solver  --cs_packing-->  cs_backend: pack | sweeps | points | impulses in and out
 *
 * A backend packs a problem for a schedule and a scheme, and then works on the packed data. Only the backend
 * knows how these data are laid out and in whose memory they are: all other code holds a cs_packing and calls
 * the functions of its table. Impulses, data and factors R pass through these functions in the user's order and
 * in double precision. One call may make many sweeps, so that a device need not report after each of them.
 *
 * Some methods call no backend and run on the host, in the arrays of the problem: `subspace` and `splitting`,
 * which make their own sweeps (methods/pivoting/hybrid.c), the other methods that pivot, `apgd`,
 * `spectral_gradient`, `admm` and `interior_point`. `tresca` and `de_saxce` pack nothing, but hand the backend
 * to their inner method. Newton steps and coarse corrections are computed on the host as well, and so
 * are measures, but for the natural map of an iterate that is not the last one (`measure`), what a device has of the
 * verdict on it (cs_verdicts), and the changes of impulses that it measures after sweeps (cs_sweep_rule).
 *
 * Only one thread at a time may call the functions of a packing. The caller flushes denormals. */
#ifndef CS_BACKEND_H
#define CS_BACKEND_H

#include "measure/measure.h"
#include "scheme/scheme.h"

#include <math.h>

/* A network of processes (transport/networks/network.h) that makes the sweeps. */
typedef struct cs_network_request {
    const char *name; /* NULL: none */
    int workers;
    cs_setting setting[CS_MAX_OWN_OPTIONS];
    int settings;
    int looks_ahead;                /* iterates depend on where runs begin */
    struct cs_network_ranks *ranks; /* of the processes; NULL: they are threads */
} cs_network_request;

typedef struct cs_backend cs_backend;

/* What shall be packed, and how it will be swept. What the pointers refer to must outlive the packing, except where
 * only `pack` reads it. */
typedef struct cs_pack_request {
    const cs_problem *problem;
    const cs_schedule *schedule;
    const cs_scheme *scheme;
    cs_dtype dtype;
    int threads;       /* of sweeps */
    int setup_threads; /* of the packing itself */
    int paced; /* whether core/pace.h decides for each sweep between `threads` and one thread */
    int bound_previous; /* the friction bound uses the normal impulse from before the update */
    const cs_setting *setting; /* the scheme's own options, one for each option of its table */
    double averaging;          /* omega, if `weight` is NULL */
    const double *weight;      /* (blocks): omega of each block, read by `pack` only; or NULL */
    int instructions;          /* see cs_packed.instructions */
    int device_sweeps;         /* a cs_device_sweeps */
    int single_prox;           /* a device computes the prox of floats in single precision */
    int general;               /* whether to store the factors of all contacts uncompressed */
    int by_parts;              /* see cs_packed */
    const cs_local *local;     /* (groups): how their blocks are updated; read by `pack` only */
    const double
        *rho; /* (rows): of cs_state, all above 0, for `measure`, read by `pack` only; or NULL */
    struct cs_ranks
        *ranks;      /* that share the problem (distributed/ranks.h); NULL: it is on one rank */
    int changes;     /* whether rules of sweeps may measure changes of impulses */
    int64_t points;  /* that the method will take */
    int64_t islands; /* with `rho`: how many islands have a speed V of their own */
} cs_pack_request;

/* A packed problem and its backend. */
typedef struct cs_packing {
    const cs_backend *backend;
    void *state; /* owned by the backend; NULL if nothing is packed */
    cs_dtype dtype;
    int threads;
    int keeps_velocities;  /* whether points include u = G^T lambda: their sums need no refresh */
    int64_t matrix_blocks; /* blocks of A that one sweep multiplies; 0 if A is not formed */
    int64_t products;      /* blocks multiplied by impulses in the sweeps of this solve */
    int64_t points;        /* taken so far */
} cs_packing;

/* One iterate: the packed impulses and, if the backend keeps them, the velocities u = G^T lambda. Because u is
 * linear in lambda, linear combinations of points need no product with A. Only the backend reads the arrays. */
typedef struct cs_point {
    void *impulses, *velocities;
} cs_point;

/* The best iterate so far, and the criterion of divergence. Residuals are divided by nu, because a halving of R
 * halves the residual without any progress. */
typedef struct cs_best_sweep {
    double scale;  /* nu: product of the rollbacks so far */
    double least;  /* smallest residual / nu so far */
    double margin; /* a residual / nu of up to margin x least counts as equally good */
    double growth; /* one above growth x margin x least counts as divergence; may be INFINITY */
    int best_is_current; /* whether lambda is the best iterate */
    int best_backwards;  /* whether the sweep that follows the best iterate goes backwards */
    int64_t number;      /* sweeps so far, including those that were rolled back */
    int64_t best_number; /* the number of the sweep that computed the best iterate */
} cs_best_sweep;

/* One evaluation of the natural map, which stops a solve at Delta_s <= atol + rtol rho_s V. */
typedef struct cs_measure_call {
    double rtol, atol;
    const double
        *scale;    /* (blocks): V; NULL: `scaled` is not asked for, and there is no tolerance */
    int new_scale; /* whether V has changed since the last call */
} cs_measure_call;

/* The verdict on lambda: its natural map, and the rounding floor of it if that is asked for. */
typedef struct cs_verdict_call {
    double rtol, atol;
    double
        unit; /* the rounding unit of the iterates, for the floor; 0: the floor is not asked for */
    const double *scale; /* (blocks): V; the same for all of them if there is one island */
    int new_scale;       /* whether V has changed since the last call */
    cs_natural_map map;  /* results */
    cs_floor floor;
} cs_verdict_call;

/* What is asked of each sweep of a call. */
typedef struct cs_sweep_rule {
    int measures;      /* whether to measure the change of the impulses, */
    double rtol, atol; /* with these tolerances */
    /* The call ends with the first sweep of which this number is at most `bound`; or CS_SWEEP_NO_NUMBER. */
    cs_sweep_number ends;
    double bound;
} cs_sweep_rule;

/* One call that makes several sweeps. */
typedef struct cs_sweep_call {
    int64_t most;        /* maximum number of sweeps, at least 1 */
    int backwards;       /* whether the next sweep goes backwards; updated after each sweep */
    int alternates;      /* whether forward and backward sweeps alternate */
    cs_best_sweep *best; /* updated after each sweep; NULL: do not keep the best iterate */
    /* What the caller will ask of the iterate after the last of these sweeps, for devices, which compute it along with them:
     * the map over the factors where they have it, or else the verdict. NULL: nothing. */
    const cs_measure_call *measure;
    const cs_verdict_call *verdict;
    /* For backends that have `rules`. Once a rule has ended a call, `best` and what was kept may be those of a sweep after the
     * last one: the solve has ended, and returns lambda. NULL: none. */
    const cs_sweep_rule *rule;
    /* Results, if the call does not fail. Less than `most` sweeps are made if the last one may have diverged, if the rule ends
     * the call, or, where changes are measured, if the backend makes no more at once. */
    int64_t made;
    int alarm; /* whether the last sweep may have diverged; then `best` does not include it */
    int64_t products;         /* blocks multiplied by impulses */
    cs_sweep_stats stats;     /* of the last sweep */
    cs_impulse_change change; /* likewise, if the rule measures it */
} cs_sweep_call;

/* Impulses that may have grown: lambda, what was kept, or lambda minus what was kept. */
typedef enum cs_ray_part { CS_RAY_HERE, CS_RAY_KEPT, CS_RAY_CHANGE } cs_ray_part;

typedef struct cs_ray_call {
    double here, kept;
    int friction;
    double rtol, atol;
    double nearly; /* as of cs_proof_data */
} cs_ray_call;

/* What a device computes of verdicts, in double precision from J, M^-1, b and the parameters as given, with the bits of
 * measure/natural_map.c and rounding_floor.c. The host then reads no impulses before a solve ends. */
typedef struct cs_verdicts {
    /* Whether this packing has what follows: if not, none of it may be called. */
    int (*possible)(const void *state);
    void (*judge)(void *state, cs_verdict_call *call);
    /* velocity (velocities) <- M^-1 J^T lambda */
    void (*velocity)(void *state, double *velocity);

    /* For proofs that there is no solution: keep lambda, and read what was kept (rows). Whether some impulse of those that
     * `what` says is at least `least` rho V, with the V of the last `judge` or `measure`. */
    void (*keep_ray)(void *state);
    void (*get_ray)(const void *state, double *impulses);
    int (*has_grown)(void *state, cs_ray_part what, double least);
    /* Whether the direction here x lambda + kept x what was kept, projected into K with or without `friction`, is certainly
     * neither a proof nor worth a refinement (measure/certificate.h): the host need not test it. */
    int (*is_hopeless)(void *state, const cs_ray_call *call);
} cs_verdicts;

/* What b says of V in a problem with one island, without compliance (measure/natural_map_scale.c). */
typedef struct cs_zero_speeds {
    double speed,
        largest; /* max a_s Delta_s(0), and max |b|, from which V follows where P_C(0) = 0 */
    int moved;   /* whether P_C(0) is not 0 */
    int finite;  /* whether b is */
} cs_zero_speeds;

/* Arrays (rows) of the caller in the memory of the device, in double precision and in the user's order. */
typedef struct cs_arrays_there {
    /* Whether this packing takes impulses and b there. What follows needs verdicts. */
    int (*takes)(const void *state);
    /* Whether all numbers are finite. Waits. */
    int (*are_finite)(void *state, const double *numbers);
    /* As `put` and `put_data` of cs_backend, for impulses and b; and what V follows from with this b. Waits. */
    void (*put)(void *state, const double *impulses);
    void (*put_b)(void *state, const double *b, cs_zero_speeds *speeds);
    /* to <- lambda */
    void (*get)(void *state, double *to);
    /* The processor's array `to` <- numbers of the device. Waits. */
    void (*read)(const void *state, const double *numbers, double *to);
} cs_arrays_there;

struct cs_parts_call; /* backend/parts.h */

struct cs_backend {
    const char *name;

    /* Chooses the scheme whose sweeps take less time. Ignores request->scheme. */
    cs_status (*choose)(const cs_pack_request *request, const cs_scheme **scheme, cs_error *error);
    /* Packs the problem. The caller sets backend, dtype and threads of `packing`; this function sets the rest.
     * Memory from `arena` lives as long as the packing; `release` frees everything else. */
    cs_status (*pack)(const cs_pack_request *request, cs_arena *arena, const cs_control *control,
                      cs_packing *packing, cs_error *error);
    /* Writes the problem's new J, and M^-1 if `roots`, and `rho` of the request into the packing, as packing it anew
     * would. Returns 0 if it has to be packed anew, because its layout would be another one. May be NULL: then it
     * always has to. */
    int (*refill)(void *state, const cs_pack_request *request, int roots);
    /* Frees what is not in the arena. NULL: there is nothing to free. */
    void (*release)(void *state);
    /* kernel <- how contacts are visited: "scalar", "wide, avx2, 4 lanes". Returns the bytes held outside the
     * arena. */
    int64_t (*describe)(const void *state, char *kernel, size_t size);

    /* Write and read the impulses (rows). `put` of NULL: they become zero. */
    void (*put)(void *state, const double *impulses);
    void (*get)(const void *state, double *impulses);
    /* to (rows), in the memory of the device, <- impulses, without a copy on the host, if `impulses` (rows) is what
     * `get` wrote last and nothing has changed since. found <- whether that is so. May be NULL: there is no device. */
    cs_status (*get_there)(void *state, const double *impulses, double *to, int *found,
                           cs_error *error);
    /* Writes b (rows) and the sets' parameters (parameters), NULL for those that remain; in mixed precision writes a
     * corrected b for the visits alone; reads the b that the visits use. */
    void (*put_data)(void *state, const double *b, const double *parameters);
    void (*correct_b)(void *state, const double *b);
    void (*get_data)(const void *state, double *b);
    /* Writes R: its diagonal `r` (rows), and for each group g step[g] (count, m, m): R_k if it is full, A_kk if
     * local problems are solved, otherwise NULL. Undoes scale_steps and replace_steps. */
    void (*put_steps)(void *state, const double *r, double *const *step);
    /* R <- factor R */
    void (*scale_steps)(void *state, double factor);
    /* Writes the diagonals `r` (rows) of the blocks k with changed[k] != 0 (blocks), all of which are in groups
     * without `step`. */
    void (*replace_steps)(void *state, const double *r, const unsigned char *changed);

    /* Recomputes the data that depend on lambda. */
    void (*refresh)(void *state);
    /* In mixed precision: b -= A lambda, with A as it is stored. Called after `refresh`. */
    void (*subtract_products)(void *state);

    /* Makes up to call->most sweeps. Also reports failures of earlier calls that a device detects late. */
    cs_status (*sweep)(void *state, cs_sweep_call *call, cs_error *error);
    /* Whether calls of this packing may have a rule. NULL: they may not. */
    int (*rules)(const void *state);
    /* Waits for all calls so far, and reports failures. May be NULL: then no call is late. */
    cs_status (*wait)(void *state, cs_error *error);

    /* Has a network of processes make the sweeps that follow, with memory from `arena` that lives as long as the
     * packing. May be NULL: the backend has no networks. Then: what has passed through its channels. */
    cs_status (*connect)(void *state, const cs_network_request *request, cs_arena *arena,
                         cs_error *error);
    const cs_network_counts *(*connected)(const void *state);

    /* Solves the parts of the only stage of the schedule, which is disjoint and visited one contact after another
     * (backend/parts.h). In float32 or float64. */
    cs_status (*solve_parts)(void *state, struct cs_parts_call *call, cs_error *error);

    /* map <- the natural map of lambda over what is packed, with the velocities that the sweeps keep, without the worst
     * block: correct to rounding, but not the final word on an iterate. Returns 0 if a number is not finite, or if the
     * backend has no such evaluation for this packing. May be NULL. */
    int (*measure)(void *state, const cs_measure_call *call, cs_natural_map *map);
    const cs_verdicts *verdicts;   /* of devices; or NULL */
    const cs_arrays_there *arrays; /* of devices; or NULL */

    /* Store lambda as the best iterate; restore it, without a refresh of what depends on lambda. */
    void (*keep)(void *state);
    void (*restore)(void *state);

    /* Points. take_point allocates one, in the arena or to be freed by `release`; `here` is the point that the
     * sweeps work on. These functions change both impulses and velocities:
     *     copy          to <- from
     *     combine       to <- a p + b q;  `to` may be p or q
     *     extrapolate   x <- x + beta (x - before),  before <- the old x
     *     conjugate     p <- beta p + (x - start),   x <- x + beta (the old p),   start <- the new x
     * and these are sums over the impulses only:
     *     dot           p.q
     *     distance      |p - q|^2 */
    cs_status (*take_point)(void *state, cs_arena *arena, cs_point *point, cs_error *error);
    /* Keeps the first `taken` points; the others may be handed out again. May be NULL. */
    void (*give_points_back)(void *state, int64_t taken);
    cs_point (*here)(const void *state);
    void (*copy)(void *state, cs_point to, cs_point from);
    void (*combine)(void *state, cs_point to, double a, cs_point p, double b, cs_point q);
    void (*extrapolate)(void *state, cs_point x, double beta, cs_point before);
    void (*conjugate)(void *state, cs_point x, double beta, cs_point p, cs_point start);
    double (*dot)(void *state, cs_point p, cs_point q);
    double (*distance)(void *state, cs_point p, cs_point q);

    /* For checkpoints: write and read a point in the user's order, with its bits. impulses (rows); u (2,
     * velocities of the problem): the velocities of each body, and what the sweeps keep behind them, zero for bodies that no
     * block moves; or NULL. `kept` is the point of `keep`, which has no velocities. May be NULL: the backend has no
     * checkpoints. */
    void (*put_point)(void *state, cs_point point, const double *impulses, const double *u);
    void (*get_point)(const void *state, cs_point point, double *impulses, double *u);
    cs_point (*kept)(const void *state);
};

/* ---- functions that all backends share ----------------------------------------------------------------- */

/* Copies the request into `packed`, which must be zero. */
static inline void cs_describe_request(cs_packed *packed, const cs_pack_request *request)
{
    packed->problem = request->problem;
    packed->schedule = request->schedule;
    packed->scheme = request->scheme;
    packed->dtype = request->dtype;
    packed->threads = request->threads;
    packed->setup_threads = request->setup_threads;
    packed->preemptions = -1;
    packed->paced = request->paced;
    packed->bound_previous = request->bound_previous;
    packed->setting = request->setting;
    packed->averaging = request->averaging;
    packed->instructions = request->instructions;
    packed->general = request->general;
    packed->by_parts = request->by_parts;
    packed->ranks = request->ranks;
}

/* Whether a sweep may have diverged. The backend does not consider rounding errors; its caller does. */
CS_INLINE_ON_BOTH int cs_best_is_exceeded(const cs_best_sweep *best, const cs_sweep_stats *stats)
{
    if (!isfinite(stats->merit)) return 1;
    return stats->residual / best->scale > best->least * best->growth * best->margin;
}

/* Updates `best` after a sweep that did not diverge. */
CS_INLINE_ON_BOTH void cs_best_update(cs_best_sweep *best, const cs_sweep_stats *stats)
{
    double scaled = stats->residual / best->scale;
    best->best_is_current = scaled <= best->least * best->margin;
    if (!best->best_is_current) return;
    best->least = fmin(best->least, scaled);
    best->best_number = best->number;
}

/* Whether a rule ends a call with a sweep of these numbers; `change` of NULL: it is not known yet. */
CS_INLINE_ON_BOTH int cs_rule_ends(const cs_sweep_rule *rule, const cs_sweep_stats *stats,
                                   const cs_impulse_change *change)
{
    switch (rule->ends) {
    case CS_SWEEP_RESIDUAL: return stats->residual <= rule->bound;
    case CS_SWEEP_MERIT: return stats->merit <= rule->bound;
    case CS_SWEEP_DELTA_ELEMENT: return change && change->element <= rule->bound;
    case CS_SWEEP_DELTA_NORM: return change && change->norm <= rule->bound;
    default: return 0;
    }
}

/* Counts a sweep that has been made, with the call's statistics, and tests it for divergence. Returns the alarm. */
static inline int cs_sweep_count(cs_sweep_call *call)
{
    cs_best_sweep *best = call->best;
    call->made++;
    if (!best) return 0;
    best->number++;
    call->alarm = cs_best_is_exceeded(best, &call->stats);
    if (!call->alarm) cs_best_update(best, &call->stats);
    return call->alarm;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

/* The next two do nothing if nothing is packed: then the impulses exist in the user's order only. */
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

/* Sweeps, and counts the products of the solve. */
static inline cs_status cs_packing_sweep(cs_packing *packing, cs_sweep_call *call, cs_error *error)
{
    cs_status status = packing->backend->sweep(packing->state, call, error);
    if (!status) packing->products += call->products;
    return status;
}

static inline cs_status cs_packing_wait(const cs_packing *packing, cs_error *error)
{
    if (!packing->state || !packing->backend->wait) return CS_OK;
    return packing->backend->wait(packing->state, error);
}

static inline void cs_packing_give_points_back(cs_packing *packing, int64_t taken)
{
    packing->points = taken;
    if (packing->state && packing->backend->give_points_back)
        packing->backend->give_points_back(packing->state, taken);
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
