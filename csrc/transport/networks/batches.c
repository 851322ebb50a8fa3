/* An accumulator that hands out the parts of one stage after another (S1 Figs 7.2 to 7.4). Rigid workers visit the
 * stages whose parts share no moving body, the safe colours; relaxed workers, if the network has some, the unsafe
 * ones. While one kind works the other waits:
 *
 *     accumulator ──► batch: stage, first part, end ──► rigid or relaxed worker
 *     accumulator ◄── residual                     ◄── rigid or relaxed worker */
#include "transport/networks/network.h"

typedef struct batch {
    int64_t stop, sweep, first, end; /* parts first .. end - 1 */
} batch;

/* The residual, S1's whole answer. What else is measured lies with the parts. */
typedef struct answer {
    double residual;
} answer;

typedef struct batches {
    cs_network_run *run;
    const cs_network_job *job;
    int processes; /* workers of all kinds */
    int relaxed;   /* whether there are relaxed ones */
    int poison;
    cs_channel **to;         /* (processes) */
    cs_channel *back;        /* from all of them */
    cs_network_stats *stats; /* (parts): of this sweep */
} batches;

static void be_worker(const batches *b, int worker)
{
    const cs_network_job *job = b->job;
    batch given;
    while (cs_channel_read(b->to[worker], &given, CS_FOREVER) == CS_CHANNEL_READY && !given.stop) {
        answer back = {0};
        for (int64_t part = given.first; part < given.end; part++) {
            job->visit(job->context, given.sweep, part, &b->stats[part]);
            if (b->stats[part].residual > back.residual) back.residual = b->stats[part].residual;
        }
        if (cs_channel_write(b->back, &back, CS_FOREVER)) return;
    }
}

/* Hands out the parts of a stage and waits for all answers; returns 0 if the network has ended. */
static int make_stage(const batches *b, int64_t sweep, const cs_network_stage *stage)
{
    int workers = b->run->workers, first_worker = stage->unsafe && b->relaxed ? workers : 0;
    int64_t sent = 0;
    for (int w = 0; w < workers; w++) {
        batch given = {
            .sweep = sweep,
            .first = stage->first_part + cs_network_first(stage->parts, workers, w),
            .end = stage->first_part + cs_network_first(stage->parts, workers, w + 1),
        };
        if (given.first == given.end) continue;
        if (cs_channel_write(b->to[first_worker + w], &given, CS_FOREVER)) return 0;
        sent++;
    }
    for (answer back; sent > 0; sent--)
        if (cs_channel_read(b->back, &back, CS_FOREVER)) return 0;
    return 1;
}

static int make_sweep(const batches *b, int64_t sweep)
{
    const cs_network_job *job = b->job;
    for (int64_t s = 0; s < job->stages; s++) {
        job->enter(job->context, s);
        if (!make_stage(b, sweep, &job->stage[s])) return 0;
        job->leave(job->context, s);
    }
    for (int64_t p = 0; p < job->parts; p++) job->note(job->context, p, &b->stats[p]);
    return 1;
}

static void be_accumulator(const batches *b)
{
    const cs_network_job *job = b->job;
    for (int64_t sweep = 0, stop = 0; !stop; sweep++) {
        job->begin(job->context, sweep);
        if (!make_sweep(b, sweep)) return;
        stop = job->judge(job->context, sweep);
    }
    if (b->poison) {
        cs_network_poison(b->run);
        return;
    }
    for (int w = 0; w < b->processes; w++)
        if (cs_channel_write(b->to[w], &(batch){.stop = 1}, CS_FOREVER)) return;
}

static void be_process(void *context, int number)
{
    const batches *b = context;
    if (number == 0) be_accumulator(b);
    else be_worker(b, number - 1);
}

static cs_status make_batches(cs_network_run *run, int relaxed_workers, int poison, cs_error *error)
{
    batches b = {.run = run, .job = run->job, .relaxed = relaxed_workers, .poison = poison};
    b.processes = run->workers * (relaxed_workers ? 2 : 1);
    b.to = cs_arena_take(&run->arena, b.processes, sizeof(cs_channel *));
    b.stats = cs_arena_take(&run->arena, run->job->parts, sizeof *b.stats);
    cs_status status = cs_arena_status(&run->arena, error, "a network");

    cs_channel_shape to = {.places = 1, .bytes = sizeof(batch)};
    cs_channel_shape back = {.places = run->workers, .bytes = sizeof(answer), .any_writer = 1};
    for (int w = 0; w < b.processes && !status; w++)
        status = cs_network_channel(run, &to, &b.to[w], error);
    if (!status) status = cs_network_channel(run, &back, &b.back, error);
    return status ? status : cs_network_execute(run, b.processes + 1, be_process, &b, error);
}

/* ---- networks of this kind ----------------------------------------------------------------------- */

static const cs_option options[] = {CS_ENDING_OPTION};

#define DIRECT "workers write impulses and w where all others read them"

static cs_status run_rigid(cs_network_run *run, cs_error *error)
{
    return make_batches(run, 0, cs_network_value(run, 0) != 0, error);
}

static cs_status run_relaxed(cs_network_run *run, cs_error *error)
{
    return make_batches(run, 1, cs_network_value(run, 0) != 0, error);
}

const cs_network cs_network_rigid = {
    .name = "rigid",
    .summary = "colour by colour: workers update impulses and w directly (S1 section 7.2.1)",
    .about = "The contacts of a colour share no moving body. The accumulator tells each worker its "
             "part of the colour, and waits for all residuals before the next one.",
    .sweeps = CS_NETWORK_OF_SAFE,
    .option = options,
    .options = 1,
    .run = run_rigid,
    .pointers = DIRECT,
};

const cs_network cs_network_relaxed = {
    .name = "relaxed",
    .summary = "rigid workers for safe colours, relaxed ones for the unsafe one (S1 section 7.2.2)",
    .about =
        "The small colours are one unsafe stage, whose contacts share bodies. A relaxed worker "
        "sweeps its range of it with its own copy of the velocities, and the accumulator adds "
        "their changes in the order of the workers.",
    .scheme = "factorized",
    .sweeps = CS_NETWORK_OF_ANY,
    .option = options,
    .options = 1,
    .run = run_relaxed,
    .pointers = DIRECT,
};

const cs_network cs_network_relaxed_iteration_matrix = {
    .name = "relaxed_iteration_matrix",
    .summary =
        "the same over rows of T, with Jacobi's method in the unsafe stage (S1 section 7.2.3)",
    .about = "Relaxed workers read a copy of the unsafe contacts' impulses from before the stage, "
             "which takes the place of S1's compressed updates of x.",
    .scheme = "iteration_matrix",
    .sweeps = CS_NETWORK_OF_ANY,
    .option = options,
    .options = 1,
    .run = run_relaxed,
    .pointers = DIRECT,
};
