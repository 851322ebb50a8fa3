/* The backend of a device. The host packs, converts what goes in and out, and lists the steps of a sweep; the device's
 * arrays are copies of the host's. */
#include "backend/device.h"

#include "backend/cpu.h"
#include "backend/device_flow.h"
#include "backend/scales.h"
#include "core/error.h"
#include "core/instructions.h"
#include "scheme/compressed.h"
#include "scheme/wide.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The steps of a sweep, in both directions, or of a refresh. */
typedef struct step_list {
    cs_device_step *step;
    int64_t count, blocks; /* blocks of threads that write statistics */
} step_list;

/* The state of a packing. */
typedef struct on_device {
    const cs_device *device;
    cs_queue *queue;
    cs_packed packed;          /* on the host */
    cs_device_program program; /* the same on the device */
    cs_packed_group *group;    /* (groups): program.group */
    step_list sweep[2];        /* forwards, backwards */
    step_list refresh, subtract;
    int measures;
    cs_device_map *map; /* (blocks of the largest group): on the host */
    cs_device_map *map_there;
    double *sums, *sums_there; /* (chunks) */
    cs_error failure;          /* the first one outside `sweep`, which reports it */
    cs_status failed;
    int64_t bytes; /* taken on the device */
    cs_device_sweeps sweeps;
    void *iterates;      /* (CS_FLOW_SWEEPS, impulses): of dataflow */
    cs_flow_lists lists; /* without visits if sweeps are made by launches */
    cs_device_flow flow;
} on_device;

/* The most sweeps of a launch by dataflow that keeps an iterate for each of them. */
enum { CS_FLOW_SWEEPS = 8 };

/* 32 lanes in every precision. The host calls no kernel. */
static const cs_wide_kernels device_kernels = {.name = "device", .lanes = {32, 32, 32}};

static cs_status no_memory(cs_error *error) { return cs_no_memory(error, "the workspace"); }

/* ---- copies on the device ------------------------------------------------------------------------ */

/* Memory on the device; NULL after a failure. */
static void *take(on_device *d, size_t bytes)
{
    void *memory = NULL;
    d->bytes += (int64_t)bytes;
    if (!d->failed) d->failed = d->device->take(d->queue, &memory, bytes ? bytes : 16, &d->failure);
    return memory;
}

static void upload(const on_device *d, void *to, const void *from, size_t bytes)
{
    if (to && from && bytes) d->device->upload(d->queue, to, from, bytes);
}

/* A copy of an array on the device; NULL for NULL. */
static void *copy_of(on_device *d, const void *from, int64_t count, size_t size)
{
    if (!from) return NULL;
    void *to = take(d, (size_t)count * size);
    upload(d, to, from, (size_t)count * size);
    return to;
}

/* The places of partners, with -1 for spare velocities, which threads need not read. */
static int32_t *places_of(on_device *d, const cs_packed_group *group, cs_arena *scratch)
{
    int64_t count = 2 * group->slots;
    int32_t *place = cs_arena_take_unset(scratch, count, sizeof *place);
    if (!place) return NULL;
    for (int64_t i = 0; i < count; i++)
        place[i] = group->factors.place[i] >= d->packed.first_spare ? -1 : group->factors.place[i];
    return copy_of(d, place, count, sizeof *place);
}

/* Writes what depends on b and on the parameters of the sets, and what depends on R. */
static void upload_data(on_device *d, int g)
{
    const cs_packed_group *from = &d->packed.group[g];
    const cs_packed_group *to = &d->group[g];
    size_t real = cs_real_size(d->packed.dtype);
    size_t rows = (size_t)(from->slots * from->rows);
    upload(d, to->b, from->b, rows * real);
    upload(d, to->parameter, from->parameter, (size_t)(from->slots * from->parameters) * real);
    upload(d, to->matrix.c, from->matrix.c, rows * real);
}

static size_t values_of(const cs_packed_group *group)
{
    return (size_t)group->matrix.first[group->count];
}

static void upload_steps(on_device *d, int g)
{
    const cs_packed_group *from = &d->packed.group[g];
    const cs_packed_group *to = &d->group[g];
    size_t stored = cs_stored_size(d->packed.dtype);
    size_t rows = (size_t)(from->slots * from->rows), squares = rows * (size_t)from->rows;
    upload(d, to->r, from->r, rows * stored);
    upload(d, to->step, from->step, squares * stored);
    upload(d, to->diagonal, from->diagonal, squares * stored);
    if (!from->matrix.c) return;
    upload(d, to->matrix.value, from->matrix.value, values_of(from) * stored);
    upload(d, to->matrix.c, from->matrix.c, rows * cs_real_size(d->packed.dtype));
}

/* Copies what the scheme `factorized` reads of a group. */
static void copy_factors(on_device *d, int g, cs_arena *scratch)
{
    const cs_packed_group *from = &d->packed.group[g];
    cs_packed_factors *to = &d->group[g].factors;
    size_t real = cs_real_size(d->packed.dtype), stored = cs_stored_size(d->packed.dtype);
    int64_t width = cs_form_width(from->factors.form, from->rows, from->dof[0] + from->dof[1]);
    to->scaled = copy_of(d, from->factors.scaled, from->slots * width, stored);
    to->compliance = copy_of(d, from->factors.compliance, from->slots * from->rows, real);
    to->velocity = copy_of(d, from->factors.velocity, 2 * from->count, sizeof(int64_t));
    to->place = from->factors.place ? places_of(d, from, scratch) : NULL;
    int64_t stride = cs_velocity_stride(from->dof[0]);
    to->contribution = copy_of(d, from->factors.contribution, 2 * from->slots * stride, real);
    to->sum = NULL;
}

/* Copies what schemes over rows read of a group. */
static void copy_rows(on_device *d, int g)
{
    const cs_packed_group *from = &d->packed.group[g];
    cs_packed_rows *to = &d->group[g].matrix;
    if (!from->matrix.start) return;
    int64_t columns = from->matrix.start[from->count];
    to->start = copy_of(d, from->matrix.start, from->count + 1, sizeof(int64_t));
    to->first = copy_of(d, from->matrix.first, from->count + 1, sizeof(int64_t));
    to->column = copy_of(d, from->matrix.column, columns, sizeof(int64_t));
    to->width = copy_of(d, from->matrix.width, columns, 1);
    to->value =
        copy_of(d, from->matrix.value, (int64_t)values_of(from), cs_stored_size(d->packed.dtype));
    to->c = copy_of(d, from->matrix.c, from->count * from->rows, cs_real_size(d->packed.dtype));
}

/* Copies a group. */
static void copy_group(on_device *d, int g, cs_arena *scratch)
{
    const cs_packed_group *from = &d->packed.group[g];
    cs_packed_group *to = &d->group[g];
    size_t real = cs_real_size(d->packed.dtype), stored = cs_stored_size(d->packed.dtype);
    int64_t slots = from->slots, rows = slots * from->rows;
    *to = *from;
    to->slot = copy_of(d, from->slot, from->count, sizeof *from->slot);
    to->used = copy_of(d, from->used, slots / from->lanes, 1);
    to->row = copy_of(d, from->row, from->count, sizeof *from->row);
    to->b = copy_of(d, from->b, rows, real);
    to->r = copy_of(d, from->r, rows, stored);
    to->parameter = copy_of(d, from->parameter, slots * from->parameters, real);
    to->step = copy_of(d, from->step, rows * from->rows, stored);
    to->diagonal = copy_of(d, from->diagonal, rows * from->rows, stored);
    to->weight = copy_of(d, from->weight, slots, real);
    to->rho = copy_of(d, from->rho, rows, sizeof(double));
    to->inverse = copy_of(d, from->inverse, rows, sizeof(double));
    to->speed = copy_of(d, from->speed, slots, sizeof(double));
    to->local_set = NULL;
    copy_factors(d, g, scratch);
    copy_rows(d, g);
}

/* The degrees of freedom of the moved bodies. */
static int32_t *moved_dof_of(on_device *d, cs_arena *scratch)
{
    const cs_packed *packed = &d->packed;
    if (!packed->moved) return NULL;
    int32_t *dof = cs_arena_take_unset(scratch, packed->moved_bodies, sizeof *dof);
    for (int64_t i = 0; dof && i < packed->moved_bodies; i++)
        dof[i] = cs_body_group_of(packed->problem, packed->moved[i])->dof;
    return dof ? copy_of(d, dof, packed->moved_bodies, sizeof *dof) : NULL;
}

/* Memory of dataflow on the device: a body's record has 16 bytes for three words of its velocity. */
static void copy_flow(on_device *d)
{
    const cs_flow_lists *from = &d->lists;
    const cs_packed *packed = &d->packed;
    if (!from->visits) return;
    int dof = packed->group[from->group].dof[0];
    size_t real = cs_real_size(packed->dtype), record = (size_t)dof * real / 12 * 16;
    d->flow = (cs_device_flow){
        .visit = copy_of(d, from->visit, from->visits, sizeof *from->visit),
        .visits = from->visits,
        .order = copy_of(d, from->order, from->visits * 64, sizeof *from->order),
        .record = take(d, (size_t)packed->moved_bodies * record),
        .stats = take(d, (size_t)(2 * CS_FLOW_SWEEPS * from->places) * sizeof(cs_sweep_stats)),
        .places = from->places,
        .group = from->group,
        .set = from->set,
    };
    d->iterates = take(d, CS_FLOW_SWEEPS * (size_t)packed->impulses * real);
}

/* Copies everything. */
static cs_status copy_all(on_device *d, cs_error *error)
{
    cs_arena scratch = {0};
    const cs_packed *from = &d->packed;
    cs_device_program *program = &d->program;
    cs_packed *to = &program->packed;
    size_t real = cs_real_size(from->dtype);
    int groups = from->problem->block_groups;
    *to = *from;
    to->problem = NULL;
    to->scheme = NULL;
    to->schedule = NULL;
    for (int g = 0; g < groups; g++) copy_group(d, g, &scratch);
    program->group = d->group;
    to->group = copy_of(d, d->group, groups, sizeof *d->group);
    to->lambda = take(d, 2 * (size_t)from->impulses * real);
    program->best = take(d, (size_t)from->impulses * real);
    to->kept = NULL;
    to->velocity = copy_of(d, from->velocity, from->velocities, real);
    to->inertia = copy_of(d, from->inertia, from->velocities, real);
    int64_t bodies = from->problem->bodies;
    to->body_place = copy_of(d, from->body_place, bodies, sizeof *from->body_place);
    to->moved = copy_of(d, from->moved, from->moved_bodies, sizeof *from->moved);
    program->moved_dof = moved_dof_of(d, &scratch);
    if (from->gather) {
        to->gather_start = copy_of(d, from->gather_start, bodies + 1, sizeof *from->gather_start);
        to->gather = copy_of(d, from->gather, from->gather_start[bodies], sizeof *from->gather);
    }
    program->range = copy_of(d, from->schedule->range, from->schedule->ranges, sizeof(cs_range));
    program->part = copy_of(d, from->schedule->part, from->schedule->parts + 1, sizeof(int64_t));
    copy_flow(d);
    program->state = take(d, sizeof *program->state);
    to->part = take(d, (size_t)program->blocks * sizeof *to->part);
    cs_status status = d->failed;
    if (status && error) *error = d->failure;
    d->failed = CS_OK;
    if (!status) status = cs_arena_status(&scratch, error, "the workspace");
    if (!status) status = d->device->wait(d->queue, error); /* before the scratch memory goes */
    cs_arena_clear(&scratch);
    return status;
}

/* ---- steps --------------------------------------------------------------------------------------- */

/* Appends a step; with `step` NULL it only counts. */
static void append(step_list *list, cs_device_step step, int64_t blocks)
{
    step.stats = list->blocks;
    if (list->step) list->step[list->count] = step;
    list->count++;
    list->blocks += blocks;
}

static int64_t quotient(int64_t count, int64_t size) { return (count + size - 1) / size; }

/* Appends the visits of group g in a stage, all at once: they are consecutive. */
static void append_group(step_list *list, const cs_packed *packed, const cs_stage *stage, int g,
                         cs_device_task batches)
{
    const cs_schedule *schedule = packed->schedule;
    const cs_packed_group *group = &packed->group[g];
    int64_t first = -1, end = 0;
    int64_t begin = schedule->part[stage->first_part];
    for (int64_t r = begin; r < schedule->part[stage->first_part + stage->parts]; r++) {
        const cs_range *range = &schedule->range[r];
        if (range->group != g || !range->count) continue;
        if (first < 0) first = range->first;
        end = range->first + range->count;
    }
    if (first < 0) return;
    cs_device_step step = {CS_STEP_VISITS, g,           stage->kind != CS_SIMULTANEOUS,
                           first,          end - first, 0};
    if (group->lanes > 1) {
        step.task = batches;
        step.first = group->slot[first] / group->lanes;
        step.count = group->slot[end - 1] / group->lanes + 1 - step.first;
        append(list, step, quotient(step.count, CS_DEVICE_BATCHES));
    } else {
        append(list, step, quotient(step.count, CS_DEVICE_THREADS));
    }
}

/* Appends the steps of a stage. */
static void append_stage(step_list *list, const cs_packed *packed, const cs_stage *stage)
{
    int simultaneous = stage->kind == CS_SIMULTANEOUS;
    if (simultaneous && !packed->velocity)
        append(list, (cs_device_step){CS_STEP_KEEP, 0, 0, 0, packed->impulses, 0}, 0);
    if (simultaneous || stage->kind == CS_INDEPENDENT) {
        for (int g = 0; g < packed->problem->block_groups; g++)
            append_group(list, packed, stage, g, CS_STEP_BATCHES);
    } else {
        append(list, (cs_device_step){CS_STEP_PARTS, 0, 1, stage->first_part, stage->parts, 0},
               quotient(stage->parts, CS_DEVICE_THREADS));
    }
    if (simultaneous && packed->velocity)
        append(list, (cs_device_step){CS_STEP_GATHER, 0, 0, 0, packed->moved_bodies, 0}, 0);
}

static void list_sweep(step_list *list, const cs_packed *packed, int backwards)
{
    const cs_schedule *schedule = packed->schedule;
    list->count = list->blocks = 0;
    for (int64_t i = 0; i < schedule->stages; i++)
        append_stage(list, packed, &schedule->stage[backwards ? schedule->stages - 1 - i : i]);
}

/* u = G^T lambda: contributions, the sums of bodies, and the batches without contributions, stage by stage. */
static void list_refresh(step_list *list, const cs_packed *packed, int backwards)
{
    const cs_schedule *schedule = packed->schedule;
    (void)backwards;
    list->count = list->blocks = 0;
    if (!packed->velocity) return;
    for (int after = 0; after < 2; after++) {
        for (int64_t s = 0; s < schedule->stages; s++)
            for (int g = 0; g < packed->problem->block_groups; g++) {
                const cs_packed_group *group = &packed->group[g];
                if (group->lanes > 1 && after == !group->factors.contribution)
                    append_group(list, packed, &schedule->stage[s], g, CS_STEP_ADD);
            }
        if (!after)
            append(list, (cs_device_step){CS_STEP_GATHER, 0, 0, 0, packed->moved_bodies, 0}, 0);
    }
}

/* In mixed precision: b -= A lambda. */
static void list_subtract(step_list *list, const cs_packed *packed, int backwards)
{
    (void)backwards;
    list->count = list->blocks = 0;
    if (packed->dtype != CS_MIXED) return;
    if (!packed->velocity)
        append(list, (cs_device_step){CS_STEP_KEEP, 0, 0, 0, packed->impulses, 0}, 0);
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        int wide = group->lanes > 1;
        cs_device_task task = wide ? CS_STEP_SUBTRACT_BATCHES : CS_STEP_SUBTRACT_VISITS;
        append(list, (cs_device_step){task, g, 0, 0, group->slots / group->lanes, 0}, 0);
    }
}

/* Fills a list, which is counted first. */
static cs_status take_list(step_list *list, const cs_packed *packed, cs_arena *arena,
                           void (*fill)(step_list *, const cs_packed *, int), int backwards,
                           cs_error *error)
{
    fill(list, packed, backwards);
    list->step = cs_arena_take(arena, list->count, sizeof *list->step);
    if (!list->step) return no_memory(error);
    fill(list, packed, backwards);
    return CS_OK;
}

static cs_status take_steps(on_device *d, cs_arena *arena, cs_error *error)
{
    const cs_packed *packed = &d->packed;
    cs_status status = take_list(&d->sweep[0], packed, arena, list_sweep, 0, error);
    if (!status) status = take_list(&d->sweep[1], packed, arena, list_sweep, 1, error);
    if (!status) status = take_list(&d->refresh, packed, arena, list_refresh, 0, error);
    if (!status) status = take_list(&d->subtract, packed, arena, list_subtract, 0, error);
    d->program.blocks = d->sweep[0].blocks > 0 ? d->sweep[0].blocks : 1;
    return status;
}

/* Lays out dataflow, if sweeps are to be made so. */
static cs_status take_flow(on_device *d, cs_arena *arena, cs_error *error)
{
    /* Whether it is possible. */
    cs_status status = CS_OK;
    if (d->sweeps == CS_SWEEPS_GRAPH || d->sweeps == CS_SWEEPS_LAUNCHES) return CS_OK;
    const char *why = cs_flow_why_not(&d->packed);
    if (!why)
        status = cs_flow_lay(&d->packed, d->sweep[0].step, d->sweep[1].step, d->sweep[0].count,
                             arena, &d->lists, &why, error);
    if (status || !why) return status;

    /* Launches in its place. */
    d->lists = (cs_flow_lists){0};
    if (d->sweeps == CS_SWEEPS_AUTO) return CS_OK;
    return cs_fail(error, CS_INVALID, "device_sweeps='dataflow' is not possible here: %s", why);
}

static void run(on_device *d, const step_list *list)
{
    d->program.packed.damping = d->packed.damping;
    d->device->run(d->queue, &d->program, list->step, list->count);
}

/* ---- packing ------------------------------------------------------------------------------------- */

/* Refuses what has no kernels. */
static cs_status check(const cs_pack_request *request, const char *name, cs_error *error)
{
    const cs_schedule *schedule = request->schedule;
    if (cs_problem_calls_back(request->problem))
        return cs_fail(error, CS_INVALID,
                       "a set calls a function of the caller, which device='%s' cannot", name);
    if (request->scheme->begin)
        return cs_fail(error, CS_INVALID,
                       "scheme='%s' has no kernels for device='%s'; factorized, matrix and "
                       "iteration_matrix do",
                       request->scheme->name, name);
    if (strcmp(request->scheme->name, "factorized") == 0) {
        cs_packed packed = {.setting = request->setting};
        cs_velocities velocities = cs_velocities_of(&packed);
        if (velocities == CS_ADD || velocities == CS_ACCUMULATE)
            return cs_fail(error, CS_INVALID,
                           "velocities='%s' has no kernels for device='%s', which recomputes "
                           "velocities",
                           velocities == CS_ADD ? "add" : "accumulate", name);
    }
    for (int64_t s = 0; s < schedule->stages; s++)
        if (schedule->stage[s].kind == CS_CONCURRENT)
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
    packed->instructions = CS_INSTRUCTIONS_AUTO; /* those of the processor do not matter */
    packed->device_kernels = &device_kernels;
}

static cs_status choose(const cs_pack_request *request, const cs_scheme **scheme, cs_error *error)
{
    cs_packed packed = {0};
    describe_request(&packed, request);
    packed.device_kernels = NULL;
    return cs_scheme_choose(&packed, request->local, scheme, error);
}

/* Packs on the host. */
static cs_status pack_here(on_device *d, const cs_pack_request *request, cs_arena *arena,
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
    if (!status && !d->group) status = no_memory(error);
    if (!status) status = take_steps(d, arena, error);
    return status ? status : take_flow(d, arena, error);
}

/* Memory for sums and natural maps, on both sides. */
static cs_status take_results(on_device *d, cs_arena *arena, cs_error *error)
{
    int64_t longest = d->packed.impulses, blocks = 1;
    int64_t chunks = quotient(longest > 0 ? longest : 1, CS_DEVICE_CHUNK);
    for (int g = 0; g < d->packed.problem->block_groups; g++) {
        int64_t own = quotient(d->packed.group[g].slots, CS_DEVICE_THREADS);
        if (own > blocks) blocks = own;
    }
    d->sums = cs_arena_take(arena, chunks, sizeof *d->sums);
    d->map = cs_arena_take(arena, blocks, sizeof *d->map);
    if (!d->sums || !d->map) return no_memory(error);
    d->sums_there = take(d, (size_t)chunks * sizeof *d->sums);
    d->map_there = take(d, (size_t)blocks * sizeof *d->map);
    return CS_OK;
}

/* The device of a backend made by cs_device_backend. */
typedef struct device_backend {
    cs_backend table;
    const cs_device *device;
} device_backend;

static cs_status pack(const cs_pack_request *request, cs_arena *arena, const cs_control *control,
                      cs_packing *packing, cs_error *error)
{
    const cs_device *device = ((const device_backend *)packing->backend)->device;
    cs_status status = check(request, device->name, error);
    if (status) return status;
    on_device *d = cs_arena_take(arena, 1, sizeof *d);
    if (!d) return no_memory(error);
    d->device = device;
    d->sweeps = (cs_device_sweeps)request->device_sweeps;
    status = device->open(&d->queue, error);
    if (status) return status;
    packing->state = d; /* `release` closes the queue, also after a failure */

    status = pack_here(d, request, arena, control, error);
    d->program.rows_scheme = strcmp(request->scheme->name, "factorized") != 0;
    d->program.products =
        strcmp(request->scheme->name, "iteration_matrix") == 0 ? CS_ROWS_OF_T : CS_ROWS_OF_A;
    if (!status) status = take_results(d, arena, error);
    if (!status) status = copy_all(d, error);
    packing->keeps_velocities = d->packed.velocity != NULL;
    packing->matrix_blocks = d->packed.matrix_blocks;
    return status;
}

static void release(void *state)
{
    on_device *d = state;
    if (d->queue) d->device->close(d->queue);
    d->queue = NULL;
}

static int64_t describe(const void *state, char *kernel, size_t size)
{
    const on_device *d = state;
    char own[96];
    cs_packed_kernel(&d->packed, own, sizeof own);
    const char *how = d->lists.visits                   ? "dataflow"
                      : d->sweeps == CS_SWEEPS_LAUNCHES ? "launches"
                                                        : "graph";
    snprintf(kernel, size, "%s, %s, %s", d->device->name, own, how);
    return d->bytes;
}

/* ---- in and out ---------------------------------------------------------------------------------- */

static void put(void *state, const double *impulses)
{
    on_device *d = state;
    if (impulses) cs_put_impulses(&d->packed, impulses);
    else cs_zero_impulses(&d->packed);
    upload(d, d->program.packed.lambda, d->packed.lambda,
           (size_t)d->packed.impulses * cs_real_size(d->packed.dtype));
}

static void get(const void *state, double *impulses)
{
    const on_device *d = state;
    d->device->download(d->queue, d->packed.lambda, d->program.packed.lambda,
                        (size_t)d->packed.impulses * cs_real_size(d->packed.dtype));
    cs_get_impulses(&d->packed, impulses);
}

static void put_data(void *state, const double *b, const double *parameters)
{
    on_device *d = state;
    cs_pack_data(&d->packed, b, parameters);
    for (int g = 0; g < d->packed.problem->block_groups; g++) upload_data(d, g);
}

static void get_data(const void *state, double *b)
{
    const on_device *d = state;
    for (int g = 0; g < d->packed.problem->block_groups; g++) {
        const cs_packed_group *to = &d->packed.group[g];
        d->device->download(d->queue, to->b, d->group[g].b,
                            (size_t)(to->slots * to->rows) * cs_real_size(d->packed.dtype));
    }
    cs_get_data(&d->packed, b);
}

static void upload_all_steps(on_device *d)
{
    for (int g = 0; g < d->packed.problem->block_groups; g++) upload_steps(d, g);
}

static void put_steps(void *state, const double *r, double *const *step)
{
    on_device *d = state;
    cs_pack_steps(&d->packed, r, step);
    upload_all_steps(d);
}

static void scale_steps(void *state, double factor)
{
    on_device *d = state;
    cs_scale_steps(&d->packed, factor);
    upload_all_steps(d);
}

static void replace_steps(void *state, const double *r, const unsigned char *changed)
{
    on_device *d = state;
    cs_replace_steps(&d->packed, r, changed);
    upload_all_steps(d);
}

/* ---- sweeps -------------------------------------------------------------------------------------- */

static void refresh(void *state)
{
    on_device *d = state;
    run(d, &d->refresh);
}

static void subtract_products(void *state)
{
    on_device *d = state;
    run(d, &d->subtract);
}

/* Sweeps by a launch for each step. Those after a sweep that may have diverged do nothing. */
static void sweep_by_launches(on_device *d, const cs_device_state *begin, int64_t sweeps)
{
    int backwards = begin->backwards;
    for (int64_t i = 0; i < sweeps; i++) {
        d->program.packed.backwards = backwards;
        d->program.packed.damping = d->packed.damping;
        const step_list *list = &d->sweep[backwards];
        d->device->sweep(d->queue, &d->program, list->step, list->count,
                         d->sweeps != CS_SWEEPS_LAUNCHES);
        backwards = begin->alternates && !backwards;
    }
}

/* Sweeps by dataflow. If the best iterate is kept, a launch keeps lambda after each of its sweeps, and decides at its end
 * which of them is the best, and which sweep is the last one. Otherwise lambda changes in place, and versions of 32 bits
 * limit the sweeps of a launch. */
static void sweep_by_dataflow(on_device *d, const cs_device_state *begin, int64_t sweeps)
{
    cs_device_flow *flow = &d->flow;
    flow->iterates = begin->keeps_best ? d->iterates : NULL;
    flow->alternates = begin->alternates;
    flow->backwards = begin->backwards;
    int64_t most = begin->keeps_best ? CS_FLOW_SWEEPS : INT32_MAX / d->lists.most_degree;
    for (int64_t left = sweeps; left > 0; left -= flow->sweeps) {
        flow->sweeps = left < most ? left : most;
        flow->recorded = begin->keeps_best ? flow->sweeps : 1;
        d->device->flow(d->queue, &d->program, flow);
        flow->backwards = cs_flow_goes_backwards(flow, flow->sweeps);
    }
}

/* After an alarm before the last sweep of a launch: the launch has left lambda and u as they were before it. Its sweeps
 * up to the alarm are made again, in place. */
static void repeat_sweeps(on_device *d, const cs_device_state *end)
{
    cs_device_state again = {.alternates = end->alternates, .backwards = end->began_backwards};
    upload(d, d->program.state, &again, sizeof again);
    sweep_by_dataflow(d, &again, end->reached);
}

/* Whether an alarm came before the last sweep of its launch. */
static int ends_early(const on_device *d, const cs_device_state *end, int64_t sweeps)
{
    if (!d->lists.visits || !end->alarm) return 0;
    int64_t before = end->made - end->reached, left = sweeps - before;
    return end->reached < (left < CS_FLOW_SWEEPS ? left : CS_FLOW_SWEEPS);
}

static cs_status sweep(void *state, cs_sweep_call *call, cs_error *error)
{
    /* What the sweeps of this call go by. */
    on_device *d = state;
    cs_device_state here = {.backwards = call->backwards, .alternates = call->alternates};
    here.keeps_best = call->best != NULL;
    if (call->best) here.best = *call->best;
    upload(d, d->program.state, &here, sizeof here);

    /* The sweeps. */
    if (d->lists.visits) sweep_by_dataflow(d, &here, call->most);
    else sweep_by_launches(d, &here, call->most);

    /* What they have reported. */
    d->device->download(d->queue, &here, d->program.state, sizeof here);
    cs_status status = d->device->wait(d->queue, error);
    if (!status && ends_early(d, &here, call->most)) {
        repeat_sweeps(d, &here);
        status = d->device->wait(d->queue, error);
    }
    if (status) return status;
    if (call->best) *call->best = here.best;
    call->backwards = here.backwards;
    call->made = here.made;
    call->alarm = here.alarm;
    call->stats = here.stats;
    call->products = here.made * d->packed.matrix_blocks;
    return CS_OK;
}

static void keep(void *state)
{
    on_device *d = state;
    d->device->copy(d->queue, d->program.best, d->program.packed.lambda,
                    (size_t)d->packed.impulses * cs_real_size(d->packed.dtype));
}

static void restore(void *state)
{
    on_device *d = state;
    d->device->copy(d->queue, d->program.packed.lambda, d->program.best,
                    (size_t)d->packed.impulses * cs_real_size(d->packed.dtype));
}

/* ---- the natural map ----------------------------------------------------------------------------- */

static int measure(void *state, const cs_measure_call *call, cs_natural_map *map)
{
    on_device *d = state;
    if (!d->measures) return 0;
    int finite = 1;
    *map = CS_NO_DEFECT;
    for (int g = 0; g < d->packed.problem->block_groups; g++) {
        const cs_packed_group *group = &d->packed.group[g];
        if (!group->slots) continue;
        if (call->new_scale && group->speed) {
            int64_t first = d->packed.problem->block_group[g].first_block;
            cs_pack_block_numbers(&d->packed, g, call->scale + first, group->speed);
            upload(d, d->group[g].speed, group->speed, (size_t)group->slots * sizeof(double));
        }
        double speed = call->scale ? call->scale[0] : 0;
        cs_device_map bounds = {.impulse = call->rtol, .velocity = call->atol, .scaled = speed};
        d->device->measure(d->queue, &d->program, g, &bounds, d->map_there);
        int64_t blocks = quotient(group->slots, CS_DEVICE_THREADS);
        d->device->download(d->queue, d->map, d->map_there, (size_t)blocks * sizeof *d->map);
        for (int64_t i = 0; i < blocks; i++) {
            map->impulse = fmax(map->impulse, d->map[i].impulse);
            map->velocity = fmax(map->velocity, d->map[i].velocity);
            map->scaled = fmax(map->scaled, d->map[i].scaled);
            map->met = map->met && d->map[i].excess <= 0;
            finite = finite && d->map[i].infinite == 0;
        }
    }
    return finite;
}

/* ---- points -------------------------------------------------------------------------------------- */

/* The length of u without the spare velocities. */
static int64_t velocities_of(const on_device *d)
{
    return d->packed.velocity ? d->packed.first_spare : 0;
}

static cs_status take_point(void *state, cs_arena *arena, cs_point *point, cs_error *error)
{
    on_device *d = state;
    size_t real = cs_real_size(d->packed.dtype);
    (void)arena;
    cs_status status =
        d->device->take(d->queue, &point->impulses, (size_t)d->packed.impulses * real, error);
    if (status) return status;
    return d->device->take(d->queue, &point->velocities, (size_t)velocities_of(d) * real + 16,
                           error);
}

static cs_point here(const void *state)
{
    const on_device *d = state;
    return (cs_point){d->program.packed.lambda, d->program.packed.velocity};
}

static void copy(void *state, cs_point to, cs_point from)
{
    on_device *d = state;
    size_t real = cs_real_size(d->packed.dtype);
    d->device->copy(d->queue, to.impulses, from.impulses, (size_t)d->packed.impulses * real);
    d->device->copy(d->queue, to.velocities, from.velocities, (size_t)velocities_of(d) * real);
}

/* Applies an operation to the impulses of the points, and to their velocities unless it sums. */
static void pass(on_device *d, cs_device_operation what, cs_point to, double a, cs_point p,
                 double b, cs_point q)
{
    int sums = what == CS_POINT_DOT || what == CS_POINT_DISTANCE;
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
    own.count = velocities_of(d);
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

static double sum_over(on_device *d, cs_device_operation what, cs_point p, cs_point q)
{
    double sum = 0;
    int64_t chunks = quotient(d->packed.impulses, CS_DEVICE_CHUNK);
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

static const cs_backend functions = {
    .choose = choose,
    .pack = pack,
    .release = release,
    .describe = describe,
    .put = put,
    .get = get,
    .put_data = put_data,
    .get_data = get_data,
    .put_steps = put_steps,
    .scale_steps = scale_steps,
    .replace_steps = replace_steps,
    .refresh = refresh,
    .subtract_products = subtract_products,
    .sweep = sweep,
    .measure = measure,
    .keep = keep,
    .restore = restore,
    .take_point = take_point,
    .here = here,
    .copy = copy,
    .combine = combine,
    .extrapolate = extrapolate,
    .conjugate = conjugate,
    .dot = dot,
    .distance = distance,
};

enum { DEVICES = 2 };

static const char *const names[DEVICES] = {"cuda", "cuda-emulated"};

static const char *const summaries[DEVICES] = {"a GPU by NVIDIA",
                                               "its kernels on the processor, slowly, for tests"};

/* The backends of devices that are registered. Modules register while they are loaded, one at a time. */
static device_backend known[DEVICES];

const char *cs_device_name(int i, const char **summary)
{
    if (i < 0 || i > DEVICES) return NULL;
    if (summary) *summary = i ? summaries[i - 1] : "the processor";
    return i ? names[i - 1] : "cpu";
}

/* The index of a name among the devices, or -1. */
static int find(const char *name)
{
    for (int i = 0; i < DEVICES; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

cs_status cs_device_register(const cs_device *device, cs_error *error)
{
    int i = find(device->name);
    if (i < 0) return cs_fail(error, CS_UNKNOWN_NAME, "device '%s' is unknown", device->name);
    if (device->layout != cs_device_layout())
        return cs_fail(error, CS_INVALID,
                       "the module of device '%s' was built from another version of the library",
                       device->name);
    known[i].table = functions;
    known[i].table.name = device->name;
    known[i].device = device;
    return CS_OK;
}

cs_status cs_device_backend(const char *name, const cs_backend **backend, cs_error *error)
{
    int i = find(name);
    *backend = &cs_backend_cpu;
    if (strcmp(name, "cpu") == 0) return CS_OK;
    if (i < 0) return cs_fail(error, CS_UNKNOWN_NAME, "device: '%s' is unknown", name);
    if (!known[i].device)
        return cs_fail(error, CS_UNSUPPORTED, "device='%s': its module is not loaded", name);
    const char *missing = known[i].device->missing();
    if (missing) return cs_fail(error, CS_UNSUPPORTED, "device='%s': %s", name, missing);
    *backend = &known[i].table;
    return CS_OK;
}
