#include "bvh/narrow.h"

#include "bvh/ccd.h"
#include "core/loop.h"
#include "core/parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Stencils between two questions whether to cancel, and multiplications of one that passes. */
enum { BETWEEN_QUESTIONS = 1 << 17, MULTIPLICATIONS = 1 << 9 };

/* Some stencils of a call, and what is computed of them. */
typedef struct job {
    const cs_stencils *stencils;
    double margin;
    const cs_distances *distances;
    const cs_impacts *impacts;
    _Atomic uint64_t least; /* the bits of a time: those of numbers >= 0 are in their order */
    int64_t first;
} job;

/* Work on all stencils, from one question to the next. */
static cs_status share(job *all, cs_loop_work work, int threads, cs_cancellation *cancellation)
{
    int64_t count = all->stencils->count;
    for (all->first = 0; all->first < count; all->first += BETWEEN_QUESTIONS) {
        int64_t rest = count - all->first,
                some = rest < BETWEEN_QUESTIONS ? rest : BETWEEN_QUESTIONS;
        int team = cs_threads_for(threads, some, CS_WORTH_THREADS_STENCILS, cs_loop_pieces(some));
        cs_loop(team, some, work, all);
        if (cs_is_cancelled(cancellation, (double)MULTIPLICATIONS * (double)some))
            return CS_INTERRUPTED;
    }
    return CS_OK;
}

/* ---- distances ---------------------------------------------------------------------------------- */

static void find_distances(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const job *all = context;
    const cs_distances *to = all->distances;
    (void)piece;
    for (int64_t i = all->first + begin; i < all->first + end; i++) {
        cs_motion motion;
        cs_nearest nearest;
        cs_motion_load(all->stencils, i, 0, &motion);
        cs_polygon_nearest(&motion.start, &nearest);
        cs_stencil_put(&motion, &nearest, to->distance + i, to->weight + 4 * i,
                       to->separation + 3 * i);
    }
}

cs_status cs_stencil_distances(const cs_stencils *stencils, const cs_distances *to, int threads,
                               cs_cancellation *cancellation)
{
    job all = {.stencils = stencils, .distances = to};
    return share(&all, find_distances, threads, cancellation);
}

/* ---- impacts ------------------------------------------------------------------------------------ */

static void put_impact(const cs_path *path, const cs_impact *impact, const cs_impacts *to,
                       int64_t i)
{
    double *weight = to->weight + 4 * i, *separation = to->separation + 3 * i;
    to->hit[i] = (uint8_t)impact->is_hit;
    to->doubtful[i] = impact->is_hit && !cs_ccd_is_certain(path, impact->time);
    to->time[i] = impact->time;
    if (impact->is_hit) {
        cs_stencil_put(&path->motion, &impact->moment.nearest, NULL, weight, separation);
        return;
    }
    for (int k = 0; k < 4; k++) weight[k] = NAN;
    for (int k = 0; k < 3; k++) separation[k] = NAN;
}

static void find_impacts(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const job *all = context;
    (void)piece;
    for (int64_t i = all->first + begin; i < all->first + end; i++) {
        cs_path path;
        cs_impact impact;
        cs_path_load(all->stencils, i, all->margin, &path);
        cs_ccd_find(&path, INFINITY, &impact);
        put_impact(&path, &impact, all->impacts, i);
    }
}

cs_status cs_stencil_impacts(const cs_stencils *stencils, double margin, const cs_impacts *to,
                             int threads, cs_cancellation *cancellation)
{
    job all = {.stencils = stencils, .margin = margin, .impacts = to};
    return share(&all, find_impacts, threads, cancellation);
}

/* ---- the least time ----------------------------------------------------------------------------- */

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static double number_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void take_least(_Atomic uint64_t *least, double time)
{
    uint64_t found = bits_of(time), known = atomic_load_explicit(least, memory_order_relaxed);
    while (found < known && !atomic_compare_exchange_weak_explicit(
                                least, &known, found, memory_order_relaxed, memory_order_relaxed))
        ;
}

static void find_least(void *context, int64_t piece, int64_t begin, int64_t end)
{
    job *all = context;
    (void)piece;
    for (int64_t i = all->first + begin; i < all->first + end; i++) {
        double enough = number_of(atomic_load_explicit(&all->least, memory_order_relaxed));
        cs_path path;
        cs_impact impact;
        if (!(enough > 0)) return;
        cs_path_load(all->stencils, i, all->margin, &path);
        cs_ccd_find(&path, enough, &impact);
        if (impact.is_hit) take_least(&all->least, impact.time);
    }
}

cs_status cs_stencil_free_step(const cs_stencils *stencils, double margin, int threads,
                               cs_cancellation *cancellation, double *least)
{
    job all = {.stencils = stencils, .margin = margin, .least = bits_of(1)};
    cs_status status = share(&all, find_least, threads, cancellation);
    *least = number_of(all.least);
    return status;
}
