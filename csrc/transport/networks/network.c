#include "transport/networks/network.h"

#include "core/denormals.h"
#include "core/parallel.h"

#include <stdio.h>
#include <string.h>

#define CS_NETWORK(name) extern const cs_network cs_network_##name;
#include "transport/networks/networks.def"
#undef CS_NETWORK

static const cs_network *const network[] = {
#define CS_NETWORK(name) &cs_network_##name,
#include "transport/networks/networks.def"
#undef CS_NETWORK
};

const char *const cs_network_endings[] = {"signal", "poison", NULL};

enum { NETWORKS = sizeof network / sizeof *network };

static const cs_network *find(const char *name)
{
    for (int k = 0; k < NETWORKS; k++)
        if (strcmp(network[k]->name, name) == 0) return network[k];
    return NULL;
}

cs_status cs_network_settle(const cs_network **found, const char *name, const cs_setting *settings,
                            int count, cs_setting *settled, cs_error *error)
{
    const cs_network *n = *found = find(name);
    if (!n) return cs_fail(error, CS_UNKNOWN_NAME, "there is no network '%s'", cs_word(name).text);
    cs_option_table table = {"network", n->name, n->option, n->options};
    return cs_option_settle(&table, settings, count, settled, error);
}

int cs_network_describe(int i, cs_network_info *info)
{
    if (i < 0 || i >= NETWORKS) return 0;
    const cs_network *n = network[i];
    *info = (cs_network_info){n->name, n->summary, n->about, n->option, n->options};
    return 1;
}

cs_status cs_network_check(const char *name, const cs_setting *settings, int count, cs_error *error)
{
    const cs_network *found;
    cs_setting own[CS_MAX_OWN_OPTIONS];
    return cs_network_settle(&found, name, settings, count, own, error);
}

/* ---- channels of a run --------------------------------------------------------------------------- */

cs_status cs_network_channel(cs_network_run *run, const cs_channel_shape *shape,
                             cs_channel **channel, cs_error *error)
{
    /* Make room in the list of channels. */
    if (run->channels == run->most_channels) {
        int64_t most = run->most_channels ? 2 * run->most_channels : 16;
        cs_channel **list = cs_arena_take(&run->arena, most, sizeof(cs_channel *));
        if (!list) return cs_no_memory(error, "the channels of a network");
        if (run->channels) memcpy(list, run->channel, sizeof *list * (size_t)run->channels);
        run->channel = list;
        run->most_channels = most;
    }

    cs_status status = cs_channel_make(channel, shape, &run->arena, error);
    if (!status) run->channel[run->channels++] = *channel;
    return status;
}

cs_status cs_network_event(cs_network_run *run, cs_event **event, cs_error *error)
{
    cs_status status = cs_event_make(&run->event, &run->arena, error);
    if (status) run->event = NULL;
    *event = run->event;
    return status;
}

void cs_network_poison(const cs_network_run *run)
{
    for (int64_t c = 0; c < run->channels; c++) cs_channel_poison(run->channel[c]);
}

/* Counts what has passed, and releases what the run has made. */
static void finish(cs_network_run *run)
{
    cs_network_counts *counts = run->counts;
    for (int64_t c = 0; c < run->channels; c++) {
        cs_channel_counts passed = cs_channel_count(run->channel[c]);
        counts->messages += passed.messages;
        counts->bytes += passed.bytes;
        counts->sleeps += passed.writer_sleeps + passed.reader_sleeps;
        cs_channel_release(run->channel[c]);
    }
    if (run->event) {
        counts->sleeps += cs_event_sleeps(run->event);
        cs_event_release(run->event);
    }
    cs_arena_clear(&run->arena);
}

cs_status cs_network_run_job(cs_network_run *run, cs_error *error)
{
    run->arena = (cs_arena){0};
    run->channel = NULL;
    run->channels = run->most_channels = 0;
    run->event = NULL;
    cs_status status = run->network->run(run, error);
    if (!status) run->counts->runs++;
    finish(run);
    return status;
}

/* ---- on ranks ------------------------------------------------------------------------------------ */

cs_status cs_network_make_link(const cs_network_run *run, cs_rank_link *link, int from, int to,
                               int64_t bytes, cs_error *error)
{
    cs_rank_link_shape shape = {
        .what = run->network->name,
        .from = from,
        .to = to,
        .processes = (int)run->counts->processes,
        .bytes = bytes,
    };
    return cs_rank_link_make(link, run->ranks, &shape, error);
}

/* Refuses a network whose messages are pointers, and names the others. */
static cs_status refuse_pointers(const cs_network *refused, cs_error *error)
{
    /* The others as a list of words, the last one after "or". */
    char others[160] = "";
    int last = NETWORKS - 1;
    while (last > 0 && network[last]->pointers) last--;
    for (int k = 0; k <= last; k++) {
        size_t used = strlen(others);
        const char *join = !used ? "" : k == last ? " or " : ", ";
        if (!network[k]->pointers)
            snprintf(others + used, sizeof others - used, "%s'%s'", join, network[k]->name);
    }
    return cs_fail(error, CS_UNSUPPORTED,
                   "network '%s' cannot run on ranks, because its %s: leave out comm=, or use %s",
                   refused->name, refused->pointers, others);
}

cs_status cs_network_link(cs_network_run *run, cs_error *error)
{
    cs_error ignored = {0};
    cs_status status = CS_OK;
    if (!error) error = &ignored;
    if (run->network->pointers) status = refuse_pointers(run->network, error);
    else status = run->network->link(run, error);
    return cs_network_ranks_agree(run->ranks, status, error);
}

cs_status cs_network_run_on_ranks(cs_network_run *run, cs_error *error)
{
    cs_network_ranks_recount(run->ranks);
    cs_status status = run->network->run_on_ranks(run, error);
    if (!status) status = cs_network_ranks_settle(run->ranks, error);
    if (!status) run->counts->runs++;
    return status;
}

/* ---- processes ----------------------------------------------------------------------------------- */

typedef struct execution {
    void (*process)(void *context, int number);
    void *context;
    cs_float_mode mode; /* of the caller */
} execution;

static void begin_process(void *context, int number)
{
    const execution *e = context;
    cs_float_mode own = cs_take_float_mode(e->mode);
    e->process(e->context, number);
    cs_restore_denormals(own);
}

cs_status cs_network_execute(cs_network_run *run, int processes,
                             void (*process)(void *context, int number), void *context,
                             cs_error *error)
{
    execution e = {process, context, cs_float_mode_here()};
    run->counts->processes = processes;
    if (cs_concurrently(processes, begin_process, &e)) return CS_OK;
    return cs_fail(
        error, CS_UNSUPPORTED,
        "network '%s' needs a thread for each of its %d processes, which this build (%s) "
        "or the system does not give",
        run->network->name, processes, cs_threads_kind());
}
