/* The backend of a device. The host packs, converts what goes in and out, and lists the steps of a sweep; the device's
 * arrays are copies of the host's. */
#include "backend/device_internal.h"
#include "backend/scales.h"
#include "core/instructions.h"
#include "scheme/wide.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* 32 lanes in every precision. The host calls no kernel. */
static const cs_wide_kernels device_kernels = {.name = "device", .lanes = {32, 32, 32}};

/* By the way of a flow. */
static const char *const way_names[] = {"graph",   "dataflow", "counter",
                                        "on_chip", "regions",  "graph"};

/* T of so many bytes: "auto" captures its sweeps in graphs, whose kernels then take less time than blocks that meet on the
 * chip. */
enum { GRAPH_BYTES = 1000000 };

/* Lays out sweeps with T on the chip. `why` <- why not: with "auto", that not all of T fits. */
static void take_chip(cs_on_device *d, const char **why)
{
    cs_chip_limits limits = {0};
    d->device->chip(d->queue, &limits);
    *why = cs_on_chip_lay(&d->packed, d->single_prox, &limits, &d->lists);
    if (*why || d->sweeps != CS_SWEEPS_AUTO) return;
    double bytes = (double)d->packed.impulses * (double)d->packed.dense_stride *
                   (double)cs_real_size(d->packed.dtype);
    if (!d->lists.chip.fits) *why = "T does not fit the chip";
    else if (bytes <= GRAPH_BYTES) *why = "a graph is faster";
}

/* Lays out sweeps over whole rows of T by launches or a graph, or leaves them to the steps of their stages. */
static cs_status take_dense(cs_on_device *d, cs_arena *arena, cs_error *error)
{
    cs_chip_limits limits = {0};
    const char *why = NULL;
    d->lists = (cs_flow_lists){0};
    if (!d->packed.dense_stride) return CS_OK;
    d->device->chip(d->queue, &limits);
    cs_status status = cs_dense_lay(&d->packed, limits.shared, arena, &d->lists, &why, error);
    if (why) d->lists = (cs_flow_lists){0};
    else d->lists.dense.captured = d->sweeps != CS_SWEEPS_LAUNCHES;
    return status;
}

/* The kind of all sets, as their kernels are told; -1: there are several. */
static int set_of(const cs_on_device *d)
{
    int set = d->lists.set;
    return set >= 0 && d->single_prox ? (int)cs_kind_in_single((cs_set_kind)set) : set;
}

/* Lays out sweeps by dataflow. `why` <- why not; `text` has room for a sentence. */
static cs_status take_dataflow(cs_on_device *d, cs_arena *arena, char *text, size_t size,
                               const char **why, cs_error *error)
{
    *why = cs_flow_why_not(&d->packed);
    if (*why) return CS_OK;
    cs_flow_lists *lists = &d->lists;
    cs_status status = cs_flow_lay(&d->packed, d->sweep[0].step, d->sweep[1].step,
                                   d->sweep[0].count, arena, lists, why, error);
    if (status || *why) return status;

    /* Blocks of threads, and what they keep. */
    cs_flow_plan *plan = &lists->plan;
    d->device->plan(d->queue, d->packed.dtype, &d->packed.group[lists->group], set_of(d),
                    lists->several, plan);
    if (plan->blocks) return CS_OK;
    snprintf(text, size,
             "a warp needs %lld bytes of shared memory for its contacts, and a block has %lld",
             (long long)plan->least, (long long)plan->most);
    *why = text;
    return CS_OK;
}

/* Lays out sweeps by regions. `why` <- why not; `text` has room for a sentence. */
static cs_status take_regions(cs_on_device *d, cs_arena *arena, char *text, size_t size,
                              const char **why, cs_error *error)
{
    *why = cs_regions_why_not(&d->packed);
    if (*why) return CS_OK;
    cs_status status = cs_regions_lay(&d->packed, d->sweep[0].step, d->sweep[1].step,
                                      d->sweep[0].count, arena, &d->lists, why, error);
    if (status || *why) return status;

    /* The velocities of a region are in the memory of its block. */
    cs_chip_limits limits = {0};
    int64_t shared = cs_regions_shared(&d->packed, &d->lists);
    d->device->chip(d->queue, &limits);
    if (shared > limits.shared) {
        snprintf(text, size,
                 "the velocities of a region need %lld bytes of shared memory, and a block has "
                 "%lld: more regions are needed",
                 (long long)shared, (long long)limits.shared);
        *why = text;
        return CS_OK;
    }

    /* All blocks are resident. */
    int64_t blocks = d->device->resident(d->queue, d->packed.dtype,
                                         &d->packed.group[d->lists.group], set_of(d), shared);
    if (d->lists.region.count <= blocks) return CS_OK;
    snprintf(text, size, "the order has %lld regions, and %lld blocks run at the same time",
             (long long)d->lists.region.count, (long long)blocks);
    *why = text;
    return CS_OK;
}

/* Lays out sweeps of which a launch makes several, if they are to be made so. */
static cs_status take_flow(cs_on_device *d, cs_arena *arena, cs_error *error)
{
    /* The way that is asked for, or one that may be possible. */
    cs_flow_way way = CS_FLOW_DATAFLOW;
    if (d->packed.ranks) {
        d->sweeps = CS_SWEEPS_LAUNCHES; /* messages come between stages */
        return CS_OK;
    }
    if (d->sweeps == CS_SWEEPS_GRAPH || d->sweeps == CS_SWEEPS_LAUNCHES)
        return take_dense(d, arena, error);
    if (d->sweeps == CS_SWEEPS_COUNTER) way = CS_FLOW_COUNTER;
    else if (d->sweeps == CS_SWEEPS_ON_CHIP) way = CS_FLOW_ON_CHIP;
    else if (d->sweeps == CS_SWEEPS_REGIONS) way = CS_FLOW_REGIONS;
    else if (d->sweeps == CS_SWEEPS_AUTO && d->packed.dense_stride) way = CS_FLOW_ON_CHIP;

    /* Whether it is possible. */
    cs_status status = CS_OK;
    const char *why = NULL;
    char text[160];
    if (way == CS_FLOW_ON_CHIP) {
        take_chip(d, &why);
    } else if (way == CS_FLOW_REGIONS) {
        status = take_regions(d, arena, text, sizeof text, &why, error);
    } else if (way == CS_FLOW_COUNTER) {
        why = cs_counter_why_not(&d->packed);
        if (!why) status = cs_counter_lay(&d->packed, arena, &d->lists, &why, error);
    } else {
        status = take_dataflow(d, arena, text, sizeof text, &why, error);
    }
    if (status || !why) return status;

    /* Launches in its place. */
    if (d->sweeps == CS_SWEEPS_AUTO) return take_dense(d, arena, error);
    d->lists = (cs_flow_lists){0};
    return cs_fail(error, CS_INVALID, "device_sweeps='%s' is not possible here: %s", way_names[way],
                   why);
}

static void run(cs_on_device *d, const cs_step_list *list)
{
    d->program.packed.damping = d->packed.damping;
    d->device->run(d->queue, &d->program, list->step, list->count);
}

/* ---- packing ------------------------------------------------------------------------------------- */

/* The first group whose contacts are not between two bodies, for which there are no factors on a device; -1: none. */
static int group_without_kernels(const cs_problem *problem)
{
    for (int g = 0; g < problem->block_groups; g++) {
        int partners = problem->block_group[g].partners;
        if (partners && partners != CS_PAIR) return g;
    }
    return -1;
}

/* Refuses what has no kernels. */
static cs_status check(const cs_pack_request *request, const char *name, cs_error *error)
{
    const cs_schedule *schedule = request->schedule;
    if (cs_problem_calls_back(request->problem))
        return cs_fail(error, CS_INVALID,
                       "a set calls a function of the caller, which device='%s' cannot", name);
    if (request->scheme->begin)
        return cs_fail(error, CS_INVALID,
                       "scheme='%s' has no kernels for device='%s'; factorized, matrix, "
                       "iteration_matrix and dense do",
                       request->scheme->name, name);
    if (strcmp(request->scheme->name, "factorized") == 0) {
        cs_packed packed = {.setting = request->setting};
        cs_velocities velocities = cs_velocities_of(&packed);
        int g = group_without_kernels(request->problem);
        if (g >= 0)
            return cs_fail(error, CS_INVALID,
                           "group %d has contacts of %d bodies, for which scheme='factorized' has "
                           "no kernels for device='%s': it takes contacts of 2 bodies, and "
                           "scheme='matrix' takes all",
                           g, request->problem->block_group[g].partners, name);
        if (velocities == CS_ADD || velocities == CS_ACCUMULATE)
            return cs_fail(error, CS_INVALID,
                           "velocities='%s' has no kernels for device='%s', which recomputes "
                           "velocities",
                           velocities == CS_ADD ? "add" : "accumulate", name);
    }
    int dense = strcmp(request->scheme->name, "dense") == 0;
    for (int64_t s = 0; s < schedule->stages; s++)
        if (schedule->stage[s].kind == CS_CONCURRENT ||
            (dense && schedule->stage[s].kind == CS_DISJOINT))
            return cs_fail(error, CS_INVALID,
                           "order='%s' makes parts that see each other's updates only after a "
                           "stage, for which device='%s' has no kernels",
                           schedule->order, name);
    return CS_OK;
}

/* Copies the request into `packed`, which must be zero. */
static void describe_request(cs_packed *packed, const cs_pack_request *request)
{
    cs_describe_request(packed, request);
    /* Those of the processor do not matter, but for visits one after another. */
    if (packed->instructions != CS_INSTRUCTIONS_SCALAR) packed->instructions = CS_INSTRUCTIONS_AUTO;
    packed->device_kernels = &device_kernels;
}

static cs_status choose(const cs_pack_request *request, const cs_scheme **scheme, cs_error *error)
{
    cs_packed packed = {0};
    *scheme = cs_scheme_find("matrix");
    if (group_without_kernels(request->problem) >= 0) return CS_OK;
    describe_request(&packed, request);
    packed.device_kernels = NULL;
    return cs_scheme_choose(&packed, request->local, scheme, error);
}

/* Packs on the host. */
static cs_status pack_here(cs_on_device *d, const cs_pack_request *request, cs_arena *arena,
                           const cs_control *control, cs_error *error)
{
    cs_packed *packed = &d->packed;
    describe_request(packed, request);
    cs_status status =
        cs_pack_common(packed, request->local, request->weight != NULL, arena, error);
    if (status) return status;
    if (request->weight) cs_pack_weights(packed, request->weight);
    status = request->scheme->pack(packed, arena, control, error);
    if (!status) status = cs_pack_scales(packed, request, &d->measures, arena, error);
    d->group = cs_arena_take(arena, request->problem->block_groups, sizeof *d->group);
    d->block = cs_arena_take(arena, request->problem->block_groups, sizeof *d->block);
    d->changed = cs_arena_take(arena, request->problem->block_groups, sizeof *d->changed);
    if (!status && (!d->group || !d->block || !d->changed)) status = cs_no_workspace(error);
    if (!status) status = cs_device_list_steps(d, arena, error);
    return status ? status : take_flow(d, arena, error);
}

/* Memory for sums, and how much natural maps need. */
static cs_status take_results(cs_on_device *d, cs_arena *arena, cs_error *error)
{
    int64_t longest = d->packed.impulses;
    int64_t chunks = cs_quotient(longest > 0 ? longest : 1, CS_DEVICE_CHUNK);
    d->sums = cs_arena_take(arena, chunks, sizeof *d->sums);
    if (!d->sums) return cs_no_workspace(error);
    d->chunks = chunks;
    for (int g = 0; g < d->packed.problem->block_groups; g++)
        d->map_blocks += cs_quotient(d->packed.group[g].slots, CS_DEVICE_THREADS);
    return CS_OK;
}

static cs_status pack(const cs_pack_request *request, cs_arena *arena, const cs_control *control,
                      cs_packing *packing, cs_error *error)
{
    const cs_device *device = ((const cs_device_backed *)packing->backend)->device;
    cs_status status = check(request, device->name, error);
    if (!status) status = cs_device_check_ranks(request, device->name, error);
    if (status) return status;
    cs_on_device *d = cs_arena_take(arena, 1, sizeof *d);
    if (!d) return cs_no_workspace(error);
    d->device = device;
    d->sweeps = (cs_device_sweeps)request->device_sweeps;
    d->single_prox = request->single_prox;
    d->changes = request->changes && !request->ranks;
    status = device->open(&d->queue, error);
    if (status) return status;
    packing->state = d; /* `release` closes the queue, also after a failure */

    status = pack_here(d, request, arena, control, error);
    d->program.rows_scheme = strcmp(request->scheme->name, "factorized") != 0;
    d->program.products =
        strcmp(request->scheme->name, "iteration_matrix") == 0 ? CS_ROWS_OF_T : CS_ROWS_OF_A;
    if (!status) status = take_results(d, arena, error);
    if (!status) status = cs_device_prepare_verdicts(d, request, arena, error);
    if (!status) status = cs_device_copy_all(d, request->points, request->rho, error);
    packing->keeps_velocities = d->packed.velocity != NULL;
    packing->matrix_blocks = d->packed.matrix_blocks;
    return status;
}

static int refill(void *state, const cs_pack_request *request, int roots)
{
    cs_on_device *d = state;
    cs_packed *packed = &d->packed;
    packed->setup_threads = request->setup_threads;
    if (d->judges && !request->rho) return 0;
    if (!packed->scheme->refill || !packed->scheme->refill(packed, roots) ||
        !cs_refill_scales(packed, request, d->measures))
        return 0;
    cs_device_upload_factors(d, roots);
    cs_device_refill_verdict(d, request->rho, roots);
    return 1;
}

static void release(void *state)
{
    cs_on_device *d = state;
    cs_release(d->point);
    d->point = NULL;
    if (d->queue) d->device->close(d->queue);
    d->queue = NULL;
}

static int64_t describe(const void *state, char *kernel, size_t size)
{
    const cs_on_device *d = state;
    char own[96];
    cs_packed_kernel(&d->packed, own, sizeof own);
    const char *how = way_names[d->lists.way];
    if (d->sweeps == CS_SWEEPS_LAUNCHES) how = "launches";
    snprintf(kernel, size, "%s, %s, %s", d->device->name, own, how);
    return d->bytes;
}

/* ---- in and out ---------------------------------------------------------------------------------- */

static void put(void *state, const double *impulses)
{
    /* Zero, also in unused lanes. */
    cs_on_device *d = state;
    char *lambda = d->program.packed.lambda;
    size_t real = cs_real_size(d->packed.dtype), bytes = (size_t)d->packed.impulses * real;
    cs_device_changed(d);

    /* As given, to be put into the order of visits there; or packed here. */
    if (impulses && cs_device_takes_arrays(d)) {
        size_t given = (size_t)d->packed.problem->rows * sizeof *impulses;
        cs_device_upload(d, d->verdict.lambda, impulses, given);
        cs_device_pack_impulses(d);
        return;
    }
    if (!impulses) {
        d->device->zero(d->queue, lambda, bytes);
        return;
    }
    cs_put_impulses(&d->packed, impulses);
    cs_device_upload(d, d->program.packed.lambda, d->packed.lambda, bytes);
}

static void get(const void *state, double *impulses)
{
    cs_on_device *d = (cs_on_device *)(uintptr_t)state; /* it keeps a copy */
    if (d->judges) {
        cs_device_get_plain(d, impulses);
        return;
    }
    d->device->download(d->queue, d->packed.lambda, d->program.packed.lambda,
                        (size_t)d->packed.impulses * cs_real_size(d->packed.dtype));
    d->current = 1;
    cs_get_impulses(&d->packed, impulses);
}

/* Packs on the host, and uploads that. */
static void upload_data(cs_on_device *d, const double *b, const double *parameters)
{
    cs_pack_data(&d->packed, b, parameters);
    for (int g = 0; g < d->packed.problem->block_groups; g++)
        cs_device_upload_data(d, g, b != NULL, parameters != NULL);
}

static void put_data(void *state, const double *b, const double *parameters)
{
    /* As given. */
    cs_on_device *d = state;
    const cs_problem *problem = d->packed.problem;
    cs_device_upload(d, d->given_b, b, (size_t)problem->rows * sizeof *b);
    cs_device_upload(d, d->given_parameters, parameters,
                     (size_t)problem->parameters * sizeof *parameters);

    /* In the order of visits. */
    if (!d->packs_there) {
        upload_data(d, b, parameters);
        return;
    }
    if (b) cs_device_pack_b(d);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (parameters && group->parameters)
            cs_device_pack_there(d, g, group->parameters,
                                 d->given_parameters + group->first_parameter,
                                 d->group[g].parameter);
    }
}

static void correct_b(void *state, const double *b) { upload_data(state, b, NULL); }

static void get_data(const void *state, double *b)
{
    const cs_on_device *d = state;
    for (int g = 0; g < d->packed.problem->block_groups; g++) {
        const cs_packed_group *to = &d->packed.group[g];
        d->device->download(d->queue, to->b, d->group[g].b,
                            (size_t)(to->slots * to->rows) * cs_real_size(d->packed.dtype));
    }
    cs_get_data(&d->packed, b);
}

static void upload_all_steps(cs_on_device *d)
{
    for (int g = 0; g < d->packed.problem->block_groups; g++) cs_device_upload_steps(d, g);
}

static void put_steps(void *state, const double *r, double *const *step)
{
    cs_on_device *d = state;
    cs_pack_steps(&d->packed, r, step);
    upload_all_steps(d);
}

static void scale_steps(void *state, double factor)
{
    cs_on_device *d = state;
    cs_scale_steps(&d->packed, factor);
    upload_all_steps(d);
}

static void replace_steps(void *state, const double *r, const unsigned char *changed)
{
    cs_on_device *d = state;
    cs_replace_steps(&d->packed, r, changed);
    upload_all_steps(d);
}

/* ---- sweeps -------------------------------------------------------------------------------------- */

static void refresh(void *state)
{
    cs_on_device *d = state;
    d->mapped = 0;
    run(d, &d->refresh);
    cs_device_exchange(d, CS_ALL_GHOSTS);
}

static void subtract_products(void *state)
{
    cs_on_device *d = state;
    run(d, &d->subtract);
}

/* Sweeps by a launch for each step. Those after a sweep that may have diverged do nothing. */
static void sweep_by_launches(cs_on_device *d, const cs_device_state *begin, int64_t sweeps)
{
    int backwards = begin->backwards;
    for (int64_t i = 0; i < sweeps; i++) {
        d->program.packed.backwards = backwards;
        d->program.packed.damping = d->packed.damping;
        const cs_step_list *list = &d->sweep[backwards];
        d->device->sweep(d->queue, &d->program, list->step, list->count,
                         d->sweeps != CS_SWEEPS_LAUNCHES);
        backwards = begin->alternates && !backwards;
    }
}

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

/* Whether a launch decides about each of its sweeps, or measures it. */
static int judges_each(const cs_device_state *begin)
{
    return begin->keeps_best || begin->rule.measures || begin->rule.ends;
}

/* The most sweeps of a launch. Versions of 32 bits limit those that keep no iterates. */
static int64_t most_of_launch(const cs_on_device *d, const cs_device_state *begin)
{
    if (cs_flow_keeps_all(d->flow.way)) return cs_flow_sweeps(&d->lists);
    return judges_each(begin) ? d->most_sweeps : INT32_MAX / d->lists.most_degree;
}

/* Several sweeps a launch. If each of them is judged, a launch keeps lambda after each, and decides at its end which of them
 * is the best, and which sweep is the last one. Otherwise lambda changes in place. Over whole rows of T it is always kept. */
static void sweep_in_turn(cs_on_device *d, const cs_device_state *begin, int64_t sweeps)
{
    cs_device_flow *flow = &d->flow;
    d->program.packed.damping = d->packed.damping;
    int each = judges_each(begin), keeps_all = cs_flow_keeps_all(flow->way);
    flow->iterates = each || keeps_all ? d->iterates : NULL;
    flow->alternates = begin->alternates;
    flow->backwards = begin->backwards;
    int64_t most = most_of_launch(d, begin);
    for (int64_t left = sweeps; left > 0; left -= flow->sweeps) {
        flow->sweeps = left < most ? left : most;
        flow->recorded = each ? flow->sweeps : 1;
        d->device->flow(d->queue, &d->program, flow);
        flow->backwards = cs_flow_goes_backwards(flow, flow->sweeps);
    }
}

/* After a launch that ended before its last sweep: it has left lambda and u as they were before it. Its sweeps up to its end
 * are made again, in place. */
static void repeat_sweeps(cs_on_device *d, const cs_device_state *end)
{
    cs_device_state again = {.alternates = end->alternates, .backwards = end->began_backwards};
    d->program.changes.asked = 0;
    cs_device_upload(d, d->program.state, &again, sizeof again);
    sweep_in_turn(d, &again, end->reached);
}

/* Whether launches change lambda in place, several sweeps each. */
static int sweeps_in_place(const cs_on_device *d)
{
    return d->lists.way && !cs_flow_keeps_all(d->lists.way);
}

/* Whether a call ended before the last sweep of a launch, which has changed what it sweeps over. */
static int ends_early(const cs_on_device *d, const cs_device_state *end, int64_t sweeps)
{
    if (!sweeps_in_place(d) || !end->ended) return 0;
    int64_t before = end->made - end->reached, left = sweeps - before;
    return end->reached < lesser(left, d->most_sweeps);
}

/* Asks for the natural map over the factors, which comes with the next report. */
static void ask_for_map(cs_on_device *d, const cs_measure_call *call)
{
    /* V, also for tests of growth, which follow. */
    cs_device_map *map = d->map_there;
    if (d->judges && call->scale) cs_device_take_speeds(d, call->scale, call->new_scale);

    /* The maps of all groups. */
    for (int g = 0; g < d->packed.problem->block_groups; g++) {
        const cs_packed_group *group = &d->packed.group[g];
        if (!group->slots) continue;
        if (call->new_scale && group->speed) {
            int64_t first = d->packed.problem->block_group[g].first_block;
            cs_pack_block_numbers(&d->packed, g, call->scale + first, group->speed);
            cs_device_upload(d, d->group[g].speed, group->speed,
                             (size_t)group->slots * sizeof(double));
        }
        double speed = call->scale ? call->scale[0] : 0;
        cs_device_map bounds = {.impulse = call->rtol, .velocity = call->atol, .scaled = speed};
        d->device->measure(d->queue, &d->program, g, &bounds, map);
        map += cs_quotient(group->slots, CS_DEVICE_THREADS);
    }
    d->device->join_maps(d->queue, d->map_blocks, d->map_there, &d->report_there->map);
    d->mapped = 1;
}

/* Asks for what the caller will judge after these sweeps, so that one report has all of it. */
static void ask_for_judgement(cs_on_device *d, const cs_sweep_call *call)
{
    if (call->measure && d->measures) ask_for_map(d, call->measure);
    else if (call->verdict && d->judges) cs_device_ask_verdict(d, call->verdict);
}

/* Copies lambda, and u if `velocities`, to or from where they are kept before a launch that changes them in place and whose
 * changes decide after it. */
static void copy_before(const cs_on_device *d, int restores, int velocities)
{
    size_t real = cs_real_size(d->packed.dtype);
    size_t impulses = (size_t)d->packed.impulses * real;
    size_t moved = velocities ? (size_t)cs_device_velocities(d) * real : 0;
    void *lambda = d->program.packed.lambda, *u = d->program.packed.velocity;
    void *kept = d->program.changes.before, *kept_u = (char *)kept + impulses;
    d->device->copy(d->queue, restores ? lambda : kept, restores ? kept : lambda, impulses);
    if (moved) d->device->copy(d->queue, restores ? u : kept_u, restores ? kept_u : u, moved);
}

/* The sweeps of a call from `begin`, up to its end. */
static void make_sweeps(cs_on_device *d, const cs_device_state *begin, int64_t sweeps)
{
    cs_device_upload(d, d->program.state, begin, sizeof *begin);
    if (d->lists.way) sweep_in_turn(d, begin, sweeps);
    else sweep_by_launches(d, begin, sweeps);
}

/* d->report <- what they have reported. Nothing is under way once the report is here. */
static cs_status read_sweeps(cs_on_device *d, cs_error *error)
{
    cs_device_read_report(d);
    return d->device->failed(d->queue, error);
}

/* After a launch in place in which the rule holds before its last sweep: makes the sweeps up to that one in its stead. */
static cs_status sweep_up_to(cs_on_device *d, const cs_device_state *begin, cs_device_state *end,
                             cs_error *error)
{
    cs_device_state again = *begin;
    again.rule = (cs_sweep_rule){.measures = 0};
    d->program.changes.asked = 0;
    cs_device_changed(d);
    copy_before(d, 1, 1);
    make_sweeps(d, &again, end->met);
    cs_status status = read_sweeps(d, error);
    cs_impulse_change change = end->change;
    *end = d->report.state;
    end->change = change;
    return status;
}

/* Whether this packing may have a rule: ranks, whose sums are made of those of others, may not. */
static int rules(const void *state) { return !((const cs_on_device *)state)->packed.ranks; }

static cs_status sweep(void *state, cs_sweep_call *call, cs_error *error)
{
    /* What the sweeps of this call go by. */
    cs_on_device *d = state;
    cs_device_changed(d);
    if (d->packed.ranks) return cs_device_sweep_on_ranks(d, call, error);
    cs_device_state begin = {.backwards = call->backwards, .alternates = call->alternates};
    begin.keeps_best = call->best != NULL;
    if (call->best) begin.best = *call->best;
    if (call->rule) begin.rule = *call->rule;

    /* The sweeps: where changes are measured, those of one launch. */
    int64_t most = call->most;
    int measures = d->program.changes.asked = begin.rule.measures;
    if (measures && d->lists.way) most = lesser(most, most_of_launch(d, &begin));
    if (measures && sweeps_in_place(d)) copy_before(d, 0, most > 1 && begin.rule.ends);
    make_sweeps(d, &begin, most);
    if (most == call->most) ask_for_judgement(d, call);
    cs_status status = read_sweeps(d, error);

    /* A call that ended before the last one of them. */
    cs_device_state here = d->report.state;
    if (!status && here.met && here.met < most) {
        status = sweep_up_to(d, &begin, &here, error);
    } else if (!status && ends_early(d, &here, most)) {
        cs_device_changed(d);
        repeat_sweeps(d, &here);
        status = d->device->wait(d->queue, error);
    }
    if (status) return status;
    if (call->best) *call->best = here.best;
    call->backwards = here.backwards;
    call->made = here.made;
    call->alarm = here.alarm;
    call->stats = here.stats;
    call->change = here.change;
    call->products = here.made * d->packed.matrix_blocks;
    return CS_OK;
}

static void keep(void *state)
{
    cs_on_device *d = state;
    d->device->copy(d->queue, d->program.best, d->program.packed.lambda,
                    (size_t)d->packed.impulses * cs_real_size(d->packed.dtype));
}

static void restore(void *state)
{
    cs_on_device *d = state;
    cs_device_changed(d);
    d->device->copy(d->queue, d->program.packed.lambda, d->program.best,
                    (size_t)d->packed.impulses * cs_real_size(d->packed.dtype));
}

static cs_status wait(void *state, cs_error *error)
{
    cs_on_device *d = state;
    return d->device->wait(d->queue, error);
}

/* ---- the natural map over the factors --------------------------------------------------------------- */

static int measure(void *state, const cs_measure_call *call, cs_natural_map *map)
{
    /* It may have come with the sweeps. */
    cs_on_device *d = state;
    if (!d->measures) return 0;
    if (!d->mapped) {
        ask_for_map(d, call);
        cs_device_read_report(d);
    }
    const cs_device_map *found = &d->report.map;
    int finite = found->infinite == 0;
    *map = cs_no_defect();
    map->impulse = found->impulse;
    map->velocity = found->velocity;
    map->scaled = found->scaled;
    map->met = found->excess <= 0;
    if (!d->packed.ranks) return finite;

    /* A NaN of one rank comes to all. */
    if (!finite) map->impulse = NAN;
    cs_join_natural_maps(d->packed.ranks, map);
    return !isnan(map->impulse);
}

/* ---- points -------------------------------------------------------------------------------------- */

/* Makes the list of points longer. */
static cs_status lengthen_points(cs_on_device *d, cs_error *error)
{
    int64_t room = 2 * d->room_for_points + 8;
    cs_point *longer = cs_allocate(room, sizeof *longer);
    if (!longer) return cs_no_workspace(error);
    for (int64_t i = 0; i < d->made_points; i++) longer[i] = d->point[i];
    cs_release(d->point);
    d->point = longer;
    d->room_for_points = room;
    return CS_OK;
}

/* One that was given back, or a new one. */
static cs_status take_point(void *state, cs_arena *arena, cs_point *point, cs_error *error)
{
    cs_on_device *d = state;
    size_t real = cs_real_size(d->packed.dtype);
    cs_status status = CS_OK;
    (void)arena;
    if (d->made_points == d->room_for_points) status = lengthen_points(d, error);
    if (status) return status;
    if (d->taken_points == d->made_points) {
        cs_point *fresh = &d->point[d->made_points];
        fresh->impulses = cs_device_take(d, (size_t)d->packed.impulses * real);
        fresh->velocities = cs_device_take(d, (size_t)cs_device_velocities(d) * real);
        status = d->failed;
        if (status && error) *error = d->failure;
        d->failed = CS_OK;
        if (status) return status;
        d->made_points++;
    }
    *point = d->point[d->taken_points++];
    return CS_OK;
}

static void give_points_back(void *state, int64_t taken)
{
    ((cs_on_device *)state)->taken_points = taken;
}

static cs_point here(const void *state)
{
    const cs_on_device *d = state;
    return (cs_point){d->program.packed.lambda, d->program.packed.velocity};
}

/* A point is written to: whether it is the one that the sweeps work on. */
static void write_point(cs_on_device *d, cs_point point)
{
    if (point.impulses == d->program.packed.lambda) cs_device_changed(d);
}

static void copy(void *state, cs_point to, cs_point from)
{
    cs_on_device *d = state;
    size_t real = cs_real_size(d->packed.dtype);
    write_point(d, to);
    d->device->copy(d->queue, to.impulses, from.impulses, (size_t)d->packed.impulses * real);
    d->device->copy(d->queue, to.velocities, from.velocities,
                    (size_t)cs_device_velocities(d) * real);
}

/* Applies an operation to the impulses of the points, and to their velocities unless it sums. */
static void pass(cs_on_device *d, cs_device_operation what, cs_point to, double a, cs_point p,
                 double b, cs_point q)
{
    int sums = what == CS_POINT_DOT || what == CS_POINT_DISTANCE;
    if (!sums) write_point(d, to);
    if (what == CS_POINT_EXTRAPOLATE || what == CS_POINT_CONJUGATE) {
        write_point(d, p);
        write_point(d, q);
    }
    cs_device_pass own = {.what = what,
                          .single = cs_real(d->packed.dtype) == CS_F32,
                          .count = d->packed.impulses,
                          .a = a,
                          .b = b,
                          .to = to.impulses,
                          .p = p.impulses,
                          .q = q.impulses,
                          .sums = d->sums_there};
    if (own.count) d->device->pass(d->queue, &own);
    own.count = cs_device_velocities(d);
    own.to = to.velocities;
    own.p = p.velocities;
    own.q = q.velocities;
    if (!sums && own.count) d->device->pass(d->queue, &own);
}

static void combine(void *state, cs_point to, double a, cs_point p, double b, cs_point q)
{
    pass(state, CS_POINT_COMBINE, to, a, p, b, q);
}

static void extrapolate(void *state, cs_point x, double beta, cs_point before)
{
    pass(state, CS_POINT_EXTRAPOLATE, x, beta, before, 0, (cs_point){0});
}

static void conjugate(void *state, cs_point x, double beta, cs_point p, cs_point start)
{
    pass(state, CS_POINT_CONJUGATE, x, beta, p, 0, start);
}

static double sum_over(cs_on_device *d, cs_device_operation what, cs_point p, cs_point q)
{
    double sum = 0;
    int64_t chunks = cs_quotient(d->packed.impulses, CS_DEVICE_CHUNK);
    pass(d, what, (cs_point){0}, 0, p, 0, q);
    d->device->download(d->queue, d->sums, d->sums_there, (size_t)chunks * sizeof *d->sums);
    for (int64_t c = 0; c < chunks; c++) sum += d->sums[c];
    return sum;
}

static double dot(void *state, cs_point p, cs_point q)
{
    return sum_over(state, CS_POINT_DOT, p, q);
}

static double distance(void *state, cs_point p, cs_point q)
{
    return sum_over(state, CS_POINT_DISTANCE, p, q);
}

/* ---- the table ----------------------------------------------------------------------------------- */

const cs_backend cs_device_functions = {
    .choose = choose,
    .pack = pack,
    .refill = refill,
    .release = release,
    .describe = describe,
    .put = put,
    .get = get,
    .get_there = cs_device_get_there,
    .put_data = put_data,
    .correct_b = correct_b,
    .get_data = get_data,
    .put_steps = put_steps,
    .scale_steps = scale_steps,
    .replace_steps = replace_steps,
    .refresh = refresh,
    .subtract_products = subtract_products,
    .sweep = sweep,
    .rules = rules,
    .wait = wait,
    .solve_parts = cs_device_solve_parts,
    .measure = measure,
    .verdicts = &cs_device_verdicts,
    .arrays = &cs_device_arrays,
    .keep = keep,
    .restore = restore,
    .take_point = take_point,
    .give_points_back = give_points_back,
    .here = here,
    .copy = copy,
    .combine = combine,
    .extrapolate = extrapolate,
    .conjugate = conjugate,
    .dot = dot,
    .distance = distance,
};
