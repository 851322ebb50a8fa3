#include "solver/points.h"

#include "core/error.h"
#include "core/parallel.h"
#include "solver/accelerate.h"

#include <string.h>

enum { SUM_LANES = 8, CHUNK = 4096, WORTH_THREADS = 1 << 16 };

#define CS_TEMPLATE "solver/points.inc"
#include "core/both.h"

typedef enum action { COMBINE, EXTRAPOLATE, CONJUGATE, DOT, DISTANCE } action;

/* One pass over two or three arrays of `count` numbers. */
typedef struct pass {
    action what;
    int narrow, threads;
    int64_t count;
    double a, b;
    void *to, *p, *q;
    double *sum; /* of each chunk */
} pass;

static void *at(const pass *job, void *array, int64_t i)
{
    return job->narrow ? (void *)((float *)array + i) : (void *)((double *)array + i);
}

static void do_chunk(const pass *job, int64_t chunk)
{
    int64_t first = chunk * CHUNK, left = job->count - first;
    int64_t count = left < CHUNK ? left : CHUNK;
    void *to = job->to ? at(job, job->to, first) : NULL;
    void *p = at(job, job->p, first), *q = job->q ? at(job, job->q, first) : NULL;
    switch (job->what) {
    case COMBINE:
        if (job->narrow) combine_f32(count, to, (float)job->a, p, (float)job->b, q);
        else combine_f64(count, to, job->a, p, job->b, q);
        break;
    case EXTRAPOLATE:
        if (job->narrow) extrapolate_f32(count, to, (float)job->a, p);
        else extrapolate_f64(count, to, job->a, p);
        break;
    case CONJUGATE:
        if (job->narrow) conjugate_f32(count, to, (float)job->a, p, q);
        else conjugate_f64(count, to, job->a, p, q);
        break;
    case DOT:
    case DISTANCE:
        job->sum[chunk] = job->narrow ? product_f32(count, p, q, job->what == DISTANCE)
                                      : product_f64(count, p, q, job->what == DISTANCE);
    }
}

static int64_t chunks_of(int64_t count) { return (count + CHUNK - 1) / CHUNK; }

static void do_share(void *context, int thread)
{
    const pass *job = context;
    for (int64_t c = thread; c < chunks_of(job->count); c += job->threads) do_chunk(job, c);
}

static void run(pass *job)
{
    if (job->count < WORTH_THREADS) job->threads = 1;
    if (job->threads > 1) cs_parallel(job->threads, do_share, job);
    else do_share(job, 0);
}

static int is_narrow(const cs_solver *solver) { return solver->packed.dtype == CS_F32; }
static size_t size_of(const cs_solver *solver) { return is_narrow(solver) ? 4 : 8; }

/* Of u, without the spare velocities and the parts' copies. */
static int64_t velocities_of(const cs_solver *solver)
{
    return solver->packed.velocity ? solver->packed.first_spare : 0;
}

/* Runs over the impulses, and over the velocities where `all`. */
static void run_over(const cs_solver *solver, action what, int all, cs_point to, double a,
                     cs_point p, double b, cs_point q)
{
    pass job = {what,
                is_narrow(solver),
                solver->packed.threads,
                solver->packed.impulses,
                a,
                b,
                to.impulses,
                p.impulses,
                q.impulses,
                solver->points->chunk_sum};
    run(&job);
    job.count = velocities_of(solver);
    job.threads = solver->packed.threads;
    job.to = to.velocities;
    job.p = p.velocities;
    job.q = q.velocities;
    if (all && job.count) run(&job);
}

cs_status cs_points_take(cs_solver *solver, cs_error *error)
{
    const cs_steps *steps = solver->method->steps;
    if (!steps) return CS_OK;
    return cs_points_take_most(solver, steps->points(solver), steps->scalars, error);
}

cs_status cs_points_take_most(cs_solver *solver, int count, size_t memory, cs_error *error)
{
    cs_arena *arena = &solver->arena;
    cs_points *points = solver->points = cs_arena_take(arena, 1, sizeof *points);
    if (!points) return cs_no_memory(error, "earlier iterates");
    points->chunk_sum = cs_arena_take(arena, chunks_of(solver->packed.impulses), sizeof(double));
    return cs_points_make(solver, count, memory, &points->point, &points->scalars, error);
}

cs_status cs_points_make(cs_solver *solver, int count, size_t bytes, cs_point **points,
                         void **scalars, cs_error *error)
{
    cs_arena *arena = &solver->arena;
    *points = cs_arena_take(arena, count, sizeof(cs_point));
    *scalars = cs_arena_take(arena, (int64_t)bytes, 1);
    for (int i = 0; i < count && !cs_arena_failed(arena); i++) {
        cs_point *point = *points + i;
        point->impulses = cs_arena_take(arena, solver->packed.impulses, size_of(solver));
        point->velocities = cs_arena_take(arena, velocities_of(solver), size_of(solver));
    }
    return cs_arena_status(arena, error, "earlier iterates");
}

cs_point cs_point_at(const cs_solver *solver, int i) { return solver->points->point[i]; }

cs_point cs_point_here(const cs_solver *solver)
{
    return (cs_point){solver->packed.lambda, solver->packed.velocity};
}

void cs_point_copy(cs_solver *solver, cs_point to, cs_point from)
{
    memcpy(to.impulses, from.impulses, (size_t)solver->packed.impulses * size_of(solver));
    if (velocities_of(solver))
        memcpy(to.velocities, from.velocities, (size_t)velocities_of(solver) * size_of(solver));
}

void cs_point_combine(cs_solver *solver, cs_point to, double a, cs_point p, double b, cs_point q)
{
    run_over(solver, COMBINE, 1, to, a, p, b, q);
}

void cs_point_extrapolate(cs_solver *solver, cs_point x, double beta, cs_point before)
{
    run_over(solver, EXTRAPOLATE, 1, x, beta, before, 0, (cs_point){0});
}

void cs_point_conjugate(cs_solver *solver, cs_point x, double beta, cs_point p, cs_point start)
{
    run_over(solver, CONJUGATE, 1, x, beta, p, 0, start);
}

static double sum_over(cs_solver *solver, action what, cs_point p, cs_point q)
{
    double sum = 0;
    run_over(solver, what, 0, (cs_point){0}, 0, p, 0, q);
    for (int64_t c = 0; c < chunks_of(solver->packed.impulses); c++)
        sum += solver->points->chunk_sum[c];
    return sum;
}

double cs_point_dot(cs_solver *solver, cs_point p, cs_point q)
{
    return sum_over(solver, DOT, p, q);
}

double cs_point_distance(cs_solver *solver, cs_point p, cs_point q)
{
    return sum_over(solver, DISTANCE, p, q);
}
