/* Points of the CPU's backend. The threads of the solve share the elements in chunks of fixed size, and the sums of
 * the chunks are added in order: the result is the same, to the last bit, for any number of threads. */
#include "backend/cpu_internal.h"

#include "core/error.h"
#include "core/loop.h"
#include "core/parallel.h"
#include "distributed/ranks.h"
#include "scheme/wide.h"

enum { SUM_LANES = 8, CHUNK = 4096 };

#define CS_TEMPLATE "backend/points.inc"
#include "core/each_precision.h"

typedef enum operation { COMBINE, EXTRAPOLATE, CONJUGATE, DOT, DISTANCE } operation;

/* One pass over two or three arrays of `count` numbers. `a` is beta for EXTRAPOLATE and CONJUGATE. */
typedef struct pass {
    operation what;
    int single; /* whether the numbers are float */
    int threads;
    int64_t count;
    double a, b;
    void *to, *p, *q; /* as in backend/points.inc; NULL if the operation does not use them */
    double *sum;      /* (chunks): sums of DOT and DISTANCE */
} pass;

/* The address of array[i]. */
static void *at(const pass *job, void *array, int64_t i)
{
    return job->single ? (void *)((float *)array + i) : (void *)((double *)array + i);
}

/* Applies the operation to one chunk. */
static void do_chunk(const pass *job, int64_t chunk)
{
    /* The elements of the chunk; the last one may be shorter. */
    int64_t first = chunk * CHUNK, left = job->count - first;
    int64_t count = left < CHUNK ? left : CHUNK;
    void *to = job->to ? at(job, job->to, first) : NULL;
    void *p = at(job, job->p, first), *q = job->q ? at(job, job->q, first) : NULL;

    /* The function of the operation and of the precision. */
    switch (job->what) {
    case COMBINE:
        if (job->single) combine_f32(count, to, (float)job->a, p, (float)job->b, q);
        else combine_f64(count, to, job->a, p, job->b, q);
        break;
    case EXTRAPOLATE:
        if (job->single) extrapolate_f32(count, to, (float)job->a, p);
        else extrapolate_f64(count, to, job->a, p);
        break;
    case CONJUGATE:
        if (job->single) conjugate_f32(count, to, (float)job->a, p, q);
        else conjugate_f64(count, to, job->a, p, q);
        break;
    case DOT:
    case DISTANCE:
        job->sum[chunk] = job->single ? product_f32(count, p, q, job->what == DISTANCE)
                                      : product_f64(count, p, q, job->what == DISTANCE);
    }
}

static int64_t chunks_of(int64_t count) { return (count + CHUNK - 1) / CHUNK; }

/* The chunks of one thread: thread, thread + threads, ... */
static void do_share(void *context, int thread)
{
    const pass *job = context;
    for (int64_t c = thread; c < chunks_of(job->count); c += job->threads) do_chunk(job, c);
}

/* Runs one pass, on a single thread if the arrays are short. */
static void run(pass *job)
{
    if (job->count < CS_WORTH_THREADS_POINT) job->threads = 1;
    if (job->threads > 1) cs_parallel(job->threads, do_share, job);
    else do_share(job, 0);
}

static int is_single(const cs_cpu *cpu) { return cpu->packed.dtype == CS_F32; }
static size_t size_of(const cs_cpu *cpu) { return cs_real_size(cpu->packed.dtype); }

/* The length of u, without the spare velocities and the parts' copies; 0 if the scheme keeps no u. */
static int64_t velocities_of(const cs_cpu *cpu)
{
    return cpu->packed.velocity ? cpu->packed.first_spare : 0;
}

/* Applies an operation to the impulses of the points and, with `velocities_too`, to their velocities. */
static void run_over(cs_cpu *cpu, operation what, int velocities_too, cs_point to, double a,
                     cs_point p, double b, cs_point q)
{
    /* The impulses, which may change. */
    cpu->packed.at_zero = 0;
    pass job = {what, is_single(cpu), cpu->packed.threads, cpu->packed.impulses, a,
                b,    to.impulses,    p.impulses,          q.impulses,           cpu->chunk_sum};
    run(&job);

    /* The velocities. */
    job.count = velocities_of(cpu);
    job.threads = cpu->packed.threads;
    job.to = to.velocities;
    job.p = p.velocities;
    job.q = q.velocities;
    if (velocities_too && job.count) run(&job);
}

static cs_status no_memory(cs_error *error) { return cs_no_memory(error, "earlier iterates"); }

cs_status cs_cpu_take_sums(cs_cpu *cpu, cs_arena *arena, cs_error *error)
{
    const cs_schedule *schedule = cpu->packed.schedule;
    int64_t parts = schedule && schedule->owner ? schedule->parts : 0;
    int64_t chunks = chunks_of(cpu->packed.impulses);
    cpu->chunk_sum = cs_arena_take(arena, parts > chunks ? parts : chunks, sizeof(double));
    return cpu->chunk_sum ? CS_OK : no_memory(error);
}

cs_status cs_cpu_take_point(void *state, cs_arena *arena, cs_point *point, cs_error *error)
{
    cs_cpu *cpu = state;
    point->impulses = cs_arena_take(arena, cpu->packed.impulses, size_of(cpu));
    point->velocities = cs_arena_take(arena, velocities_of(cpu), size_of(cpu));
    return point->impulses && point->velocities ? CS_OK : no_memory(error);
}

cs_point cs_cpu_here(const void *state)
{
    const cs_packed *packed = &((const cs_cpu *)state)->packed;
    return (cs_point){packed->lambda, packed->velocity};
}

void cs_cpu_copy(void *state, cs_point to, cs_point from)
{
    cs_cpu *cpu = cs_cpu_settled(state);
    int threads = cs_packed_threads(&cpu->packed);
    cs_loop_copy(threads, to.impulses, from.impulses, cpu->packed.impulses, size_of(cpu));
    cs_loop_copy(threads, to.velocities, from.velocities, velocities_of(cpu), size_of(cpu));
    cpu->packed.at_zero = 0;
}

void cs_cpu_combine(void *state, cs_point to, double a, cs_point p, double b, cs_point q)
{
    run_over(cs_cpu_settled(state), COMBINE, 1, to, a, p, b, q);
}

void cs_cpu_extrapolate(void *state, cs_point x, double beta, cs_point before)
{
    run_over(cs_cpu_settled(state), EXTRAPOLATE, 1, x, beta, before, 0, (cs_point){0});
}

void cs_cpu_conjugate(void *state, cs_point x, double beta, cs_point p, cs_point start)
{
    run_over(cs_cpu_settled(state), CONJUGATE, 1, x, beta, p, 0, start);
}

/* ---- sums over the parts of the problem ---------------------------------------------------------- */

/* DOT or DISTANCE of `count` numbers from number `first` on. */
static double product(const pass *job, int64_t first, int64_t count)
{
    void *p = at(job, job->p, first), *q = at(job, job->q, first);
    int distance = job->what == DISTANCE;
    return job->single ? product_f32(count, p, q, distance) : product_f64(count, p, q, distance);
}

/* The sum over one range of visits. Batches lie one after another; other visits have their impulses in the user's order. */
static double sum_of_range(const cs_packed *packed, const pass *job, const cs_range *range)
{
    const cs_packed_group *group = &packed->group[range->group];
    double sum = 0;
    if (group->lanes > 1) {
        int64_t size = group->lanes * group->rows, first = cs_first_batch(group, range);
        return product(job, group->first_impulse + first * size,
                       (cs_end_batch(group, range) - first) * size);
    }
    for (int64_t v = range->first; v < range->first + range->count; v++)
        sum += product(job, group->row[v], group->rows);
    return sum;
}

/* The parts of stages, whose sums threads share. */
typedef struct part_sums {
    const cs_packed *packed;
    const pass *job;
} part_sums;

static void sum_parts(void *context, int64_t piece, int64_t first, int64_t end)
{
    const part_sums *all = context;
    const cs_schedule *schedule = all->packed->schedule;
    (void)piece;
    for (int64_t part = first; part < end; part++) {
        double sum = 0;
        for (int64_t r = schedule->part[part]; r < schedule->part[part + 1]; r++)
            sum += sum_of_range(all->packed, all->job, &schedule->range[r]);
        all->job->sum[part] = sum;
    }
}

/* The sum of DOT or DISTANCE over the parts of the problem, in their order. */
static double sum_by_owners(cs_cpu *cpu, operation what, cs_point p, cs_point q)
{
    const cs_packed *packed = &cpu->packed;
    const cs_schedule *schedule = packed->schedule;
    pass job = {.what = what,
                .single = is_single(cpu),
                .p = p.impulses,
                .q = q.impulses,
                .sum = cpu->chunk_sum};
    cs_loop(cs_packed_threads(packed), schedule->parts, sum_parts, &(part_sums){packed, &job});
    double *sum = packed->owner_sum;
    for (int64_t owner = 0; owner < schedule->owners; owner++) sum[owner] = 0;
    for (int64_t part = 0; part < schedule->parts; part++)
        sum[schedule->owner[part]] += cpu->chunk_sum[part];
    return cs_ranks_sum(packed->ranks, sum, schedule->owners);
}

/* The sum of DOT or DISTANCE over all chunks, in their order. */
static double sum_over(cs_cpu *cpu, operation what, cs_point p, cs_point q)
{
    double sum = 0;
    if (cpu->packed.schedule && cpu->packed.schedule->owner) return sum_by_owners(cpu, what, p, q);
    run_over(cpu, what, 0, (cs_point){0}, 0, p, 0, q);
    for (int64_t c = 0; c < chunks_of(cpu->packed.impulses); c++) sum += cpu->chunk_sum[c];
    return sum;
}

double cs_cpu_dot(void *state, cs_point p, cs_point q)
{
    return sum_over(cs_cpu_settled(state), DOT, p, q);
}

double cs_cpu_distance(void *state, cs_point p, cs_point q)
{
    return sum_over(cs_cpu_settled(state), DISTANCE, p, q);
}

/* ---- points in the user's order ------------------------------------------------------------------ */

/* Number i of an array of the sweeps' precision, as a double. */
static double number_at(const cs_cpu *cpu, const void *array, int64_t i)
{
    return is_single(cpu) ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

/* The numbers behind the velocity of a body that may matter: compressed contacts have its root there (scheme/wide.c), which
 * combinations of points combine, too. */
static int behind(const cs_body_group *group)
{
    int rest = cs_velocity_stride(group->dof) - group->dof;
    return rest < group->dof ? rest : group->dof;
}

void cs_cpu_put_point(void *state, cs_point point, const double *impulses, const double *u)
{
    /* The impulses: as lambda is written, to another place. */
    cs_cpu *cpu = cs_cpu_settled(state);
    cs_packed there = cpu->packed;
    const cs_problem *problem = there.problem;
    cs_dtype precision = cs_real(there.dtype);
    there.lambda = point.impulses;
    cs_put_impulses(&there, impulses);
    cpu->packed.at_zero = 0;

    /* The velocities. */
    for (int g = 0; g < problem->body_groups && u && there.velocity; g++) {
        const cs_body_group *group = &problem->body_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t place = there.body_place[group->first_body + k];
            const double *from = u + group->first_velocity + k * group->dof;
            if (place < 0) continue;
            cs_convert(precision, point.velocities, place, from, group->dof);
            cs_convert(precision, point.velocities, place + group->dof, from + problem->velocities,
                       behind(group));
        }
    }
}

void cs_cpu_get_point(const void *state, cs_point point, double *impulses, double *u)
{
    /* The impulses. */
    const cs_cpu *cpu = cs_cpu_settled(state);
    cs_packed there = cpu->packed;
    const cs_problem *problem = there.problem;
    there.lambda = point.impulses;
    cs_get_impulses(&there, impulses);

    /* The velocities. */
    for (int64_t i = 0; i < 2 * problem->velocities && u; i++) u[i] = 0;
    for (int g = 0; g < problem->body_groups && u && there.velocity; g++) {
        const cs_body_group *group = &problem->body_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t place = there.body_place[group->first_body + k];
            double *to = u + group->first_velocity + k * group->dof;
            if (place < 0) continue;
            for (int i = 0; i < group->dof; i++)
                to[i] = number_at(cpu, point.velocities, place + i);
            for (int i = 0; i < behind(group); i++)
                to[problem->velocities + i] =
                    number_at(cpu, point.velocities, place + group->dof + i);
        }
    }
}

cs_point cs_cpu_kept(const void *state) { return (cs_point){((const cs_cpu *)state)->best, NULL}; }
