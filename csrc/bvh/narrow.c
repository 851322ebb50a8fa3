#include "bvh/narrow.h"

#include "bvh/ccd.h"
#include "core/parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Stencils that a thread takes at a time, and multiplications of one that passes. */
enum { AT_A_TIME = 1024, MULTIPLICATIONS = 1 << 9 };

/* All stencils of a call, and what is computed of them. */
typedef struct job {
    const cs_stencils *stencils;
    double margin;
    const cs_distances *distances;
    const cs_impacts *impacts;
    _Atomic uint64_t least; /* the bits of a time: those of numbers >= 0 are in their order */

    void (*work)(struct job *all, int64_t begin, int64_t end);
    _Atomic int64_t next; /* stencil that no thread has taken */
    atomic_int is_stopped;
    cs_cancellation *cancellation;
} job;

/* Each thread takes the next stencils when it is done with its own. The first, which is the caller's, asks whether to
 * cancel. */
static void work_on(void *context, int thread)
{
    job *all = context;
    int64_t count = all->stencils->count, begin;
    while (!atomic_load_explicit(&all->is_stopped, memory_order_relaxed) &&
           (begin = atomic_fetch_add_explicit(&all->next, AT_A_TIME, memory_order_relaxed)) <
               count) {
        int64_t end = count - begin < AT_A_TIME ? count : begin + AT_A_TIME;
        all->work(all, begin, end);
        if (thread == 0 &&
            cs_is_cancelled(all->cancellation, (double)MULTIPLICATIONS * (double)(end - begin)))
            atomic_store_explicit(&all->is_stopped, 1, memory_order_relaxed);
    }
}

static cs_status share(job *all, int threads)
{
    int64_t count = all->stencils->count, parts = count / AT_A_TIME + 1;
    cs_parallel(cs_threads_for(threads, count, CS_WORTH_THREADS_STENCILS, parts), work_on, all);
    return all->is_stopped ? CS_INTERRUPTED : CS_OK;
}

/* ---- distances ---------------------------------------------------------------------------------- */

static void find_distances(job *all, int64_t begin, int64_t end)
{
    const cs_distances *to = all->distances;
    for (int64_t i = begin; i < end; i++) {
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
    job all = {.stencils = stencils,
               .distances = to,
               .work = find_distances,
               .cancellation = cancellation};
    return share(&all, threads);
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

static void find_impacts(job *all, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
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
    job all = {.stencils = stencils,
               .margin = margin,
               .impacts = to,
               .work = find_impacts,
               .cancellation = cancellation};
    return share(&all, threads);
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

static void find_least(job *all, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
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
    job all = {.stencils = stencils,
               .margin = margin,
               .least = bits_of(1),
               .work = find_least,
               .cancellation = cancellation};
    cs_status status = share(&all, threads);
    *least = number_of(all.least);
    return status;
}
