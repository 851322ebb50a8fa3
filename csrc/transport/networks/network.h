/* Networks of processes that make sweeps: S1's designs in Communicating Sequential Processes (its chapters 6 and 7).
 * Each process runs on a thread of its own, from the first sweep of a run to the last one, and waits for the others
 * at channels (transport/channel.h) alone.
 *
 * A network knows processes, channels and messages. What is computed it takes from a job: the sweep
 * (sweep/networks.h) fills in functions that visit a part of a stage or add its changes.
 *
 *     sweep:    stage | stage | ...     one after another
 *     stage:    part | part | ...       a worker visits a part; parts are S1's pages, or single contacts
 *
 * The accumulator adds changes in the order of the parts, whichever arrives first, so that results depend neither on
 * the number of workers nor on who is faster.
 *
 * Networks whose messages hold data also run with their processes on ranks (transport/networks/ranks.h), each of which
 * has the whole job. What a process on a thread reads where another one has written it is then in the message. */
#ifndef CS_NETWORK_H
#define CS_NETWORK_H

#include "core/option.h"
#include "transport/channel.h"
#include "transport/networks/ranks.h"

/* Which sweeps a network makes. */
typedef enum cs_network_sweeps_of {
    CS_NETWORK_OF_ONE_SIMULTANEOUS, /* one stage, whose contacts do not see each other: Jacobi */
    CS_NETWORK_OF_ONE_CONCURRENT, /* one stage, whose parts do not see each other: naive Gauss-Seidel */
    CS_NETWORK_OF_SAFE,           /* stages whose parts share no moving body: colours */
    CS_NETWORK_OF_ANY,            /* stages of all kinds: colours, and an unsafe one */
} cs_network_sweeps_of;

/* The statistics of a part, as in a sweep. */
typedef struct cs_network_stats {
    double residual, merit;
    int64_t unfinished;
} cs_network_stats;

typedef struct cs_network_stage {
    int64_t first_part, parts;
    int unsafe; /* its parts share bodies, so that their changes must wait for the end of the stage */
} cs_network_stage;

enum { CS_NETWORK_MOST_BYTES = 4096, CS_MOST_NETWORK_WORKERS = 100 };

/* What the processes compute. `sweep`: the number of the sweep in this run, from 0; `part`: counted through all stages.
 * Functions for which a network has no use may be NULL; so may be `add`, where visits change nothing that is summed. */
typedef struct cs_network_job {
    void *context;
    int64_t sweeps; /* at most, in this run */
    int64_t stages, parts;
    const cs_network_stage *stage;

    /* Workers: visit a part. */
    void (*visit)(void *context, int64_t sweep, int64_t part, cs_network_stats *stats);
    /* Workers: the same before the accumulator has ended the sweep before, with the worker's own changes alone. Then,
     * once that sweep was accepted: settle. */
    void (*look_ahead)(void *context, int worker, int64_t sweep, int64_t part,
                       cs_network_stats *stats);
    void (*settle)(void *context, int64_t sweep, int64_t part);

    /* The accumulator: before the workers' news of a sweep; before and after a stage; add the changes of a part, which
     * comes after the one before; take its statistics. */
    void (*begin)(void *context, int64_t sweep);
    void (*enter)(void *context, int64_t stage);
    void (*leave)(void *context, int64_t stage);
    void (*add)(void *context, int64_t sweep, int64_t part);
    void (*note)(void *context, int64_t part, const cs_network_stats *stats);
    /* Ends a sweep. Returns whether it is the last one of the run. */
    int (*judge)(void *context, int64_t sweep);

    /* Messages that hold all the data of one visit: the dispatcher writes a task, a worker its result, which the
     * accumulator takes. */
    int64_t task_bytes, result_bytes; /* at most CS_NETWORK_MOST_BYTES */
    void (*pack)(void *context, int64_t part, void *task);
    void (*solve)(void *context, int worker, int64_t part, const void *task, void *result,
                  cs_network_stats *stats);
    void (*take)(void *context, int64_t part, const void *result);

    /* On ranks, what messages of a network with pages hold beside words: the changes of a part, which its worker has
     * made in a sweep; and what a worker reads in a sweep, which the accumulator has made before it. Whether the visits
     * of the next sweep shall copy impulses, as `judge` has decided, and telling a worker's rank so. */
    const int64_t *page_bytes; /* (parts) */
    const int64_t *word_bytes; /* (workers) */
    void (*pack_page)(void *context, int64_t sweep, int64_t part, void *page);
    void (*take_page)(void *context, int64_t sweep, int64_t part, const void *page);
    void (*pack_word)(void *context, int64_t sweep, int worker, void *word);
    void (*take_word)(void *context, int64_t sweep, int worker, const void *word);
    int (*keeps)(void *context);
    void (*set_keeps)(void *context, int keeps);
    /* All impulses and velocities, from the accumulator to the dispatcher. */
    int64_t state_bytes;
    void (*pack_state)(void *context, void *state);
    void (*take_state)(void *context, const void *state);
} cs_network_job;

struct cs_network_run;

typedef struct cs_network {
    const char *name, *summary, *about;
    const char *scheme; /* whose sweeps it makes; NULL: of either */
    cs_network_sweeps_of sweeps;
    int by_contact; /* each contact is a part of its own */
    const cs_option *option;
    int options;
    cs_status (*run)(struct cs_network_run *run, cs_error *error);

    /* On ranks: makes the links of all runs, in run->links; and makes one run, in which only messages can fail.
     * `pointers`: why a network has neither. */
    cs_status (*link)(struct cs_network_run *run, cs_error *error);
    cs_status (*run_on_ranks)(struct cs_network_run *run, cs_error *error);
    const char *pointers;
} cs_network;

/* One run: some sweeps by processes that begin and end with it. */
typedef struct cs_network_run {
    const cs_network *network;
    const cs_setting *setting; /* of each option, as cs_option_settle fills them */
    int workers;
    const cs_network_job *job;
    cs_network_counts *counts;
    cs_network_ranks *ranks; /* of the processes; NULL: they are threads */
    void *links;             /* on ranks: of the network */
    /* Set by cs_network_run_job. */
    cs_arena arena;
    cs_channel **channel; /* (channels): all, for poison and release */
    int64_t channels, most_channels;
    cs_event *event; /* on which the accumulator waits for several channels; NULL: none was made */
} cs_network_run;

/* network <- that of the name; settled (CS_MAX_OWN_OPTIONS) <- all its options: settings (count), and defaults.
 * Fails with CS_UNKNOWN_NAME, and with CS_INVALID for options out of range. */
cs_status cs_network_settle(const cs_network **network, const char *name,
                            const cs_setting *settings, int count, cs_setting *settled,
                            cs_error *error);

/* Makes the run, and adds to its counts. Fails with CS_NO_MEMORY, and with CS_UNSUPPORTED without as many threads.
 * The job's results are then undefined. */
cs_status cs_network_run_job(cs_network_run *run, cs_error *error);

/* The same on ranks, where cs_network_link has made run->links. Collective. Both fail with CS_RANK_FAILED and
 * CS_TIMED_OUT if another rank does; cs_network_link with CS_UNSUPPORTED for networks whose messages are pointers, and
 * then, or without memory, on all ranks. counts <- those of the processes on this rank. */
cs_status cs_network_link(cs_network_run *run, cs_error *error);
cs_status cs_network_run_on_ranks(cs_network_run *run, cs_error *error);

/* ---- for the networks ---------------------------------------------------------------------------- */

/* The value of option i: a number, or the index of a word. */
static inline double cs_network_value(const cs_network_run *run, int i)
{
    return run->setting[i].number;
}

/* A channel that the run releases; and the event that the reader of several of them waits on. */
cs_status cs_network_channel(cs_network_run *run, const cs_channel_shape *shape,
                             cs_channel **channel, cs_error *error);
cs_status cs_network_event(cs_network_run *run, cs_event **event, cs_error *error);

/* Poisons all channels of the run. */
void cs_network_poison(const cs_network_run *run);

/* Runs so many processes until all have ended: process 0 on the caller's thread. */
cs_status cs_network_execute(cs_network_run *run, int processes,
                             void (*process)(void *context, int number), void *context,
                             cs_error *error);

/* The first of the parts of a stage that worker w of `workers` owns: a contiguous run each. */
static inline int64_t cs_network_first(int64_t parts, int workers, int w)
{
    return parts * w / workers;
}

/* On ranks: whether a process is here, and a link between two of them; see cs_rank_link_make. */
static inline int cs_network_has(const cs_network_run *run, int process)
{
    return cs_network_is_here(run->ranks, process, (int)run->counts->processes);
}
cs_status cs_network_make_link(const cs_network_run *run, cs_rank_link *link, int from, int to,
                               int64_t bytes, cs_error *error);

/* The option of how a network ends, which all have. */
extern const char *const cs_network_endings[];
#define CS_ENDING_OPTION                                                                    \
    CS_WORD_OPTION("ending", cs_network_endings,                                            \
                   "how the network ends: by a message to each process, \"signal\", or by " \
                   "\"poison\" of its channels (S1 section 5.2.1)")

#endif
