/* Copies of a packed problem on a device. */
#include "backend/device_internal.h"

/* Memory on the device; NULL after a failure, and where it is counted only. */
void *cs_device_take(cs_on_device *d, size_t bytes)
{
    void *memory = NULL;
    bytes = cs_device_units(bytes ? bytes : 1);
    d->bytes += (int64_t)bytes;
    if (!d->failed && !d->counts)
        d->failed = d->device->take(d->queue, &memory, bytes, &d->failure);
    return memory;
}

void cs_device_upload(const cs_on_device *d, void *to, const void *from, size_t bytes)
{
    if (to && from && bytes) d->device->upload(d->queue, to, from, bytes);
}

void *cs_device_copy_of(cs_on_device *d, const void *from, size_t bytes)
{
    if (!from) return NULL;
    void *to = cs_device_take(d, bytes);
    cs_device_upload(d, to, from, bytes);
    return to;
}

static void *copy_of(cs_on_device *d, const void *from, int64_t count, size_t size)
{
    return cs_device_copy_of(d, from, (size_t)count * size);
}

/* Memory for numbers that are written later; NULL for NULL. */
static void *room_for(cs_on_device *d, const void *like, int64_t count, size_t size)
{
    return like ? cs_device_take(d, (size_t)count * size) : NULL;
}

/* The places of partners, with -1 for spare velocities, which threads need not read. */
static int32_t *places_of(cs_on_device *d, const cs_packed_group *group, cs_arena *scratch)
{
    int64_t count = 2 * group->slots;
    if (d->counts) return cs_device_take(d, (size_t)count * sizeof(int32_t));
    int32_t *place = cs_arena_take_unset(scratch, count, sizeof *place);
    if (!place) return NULL;
    for (int64_t i = 0; i < count; i++)
        place[i] = group->factors.place[i] >= d->packed.first_spare ? -1 : group->factors.place[i];
    return copy_of(d, place, count, sizeof *place);
}

void cs_device_upload_data(cs_on_device *d, int g, int b, int parameters)
{
    const cs_packed_group *from = &d->packed.group[g];
    const cs_packed_group *to = &d->group[g];
    size_t real = cs_real_size(d->packed.dtype);
    size_t rows = (size_t)(from->slots * from->rows);
    size_t parameter = (size_t)(from->slots * from->parameters);
    if (b) cs_device_upload(d, to->b, from->b, rows * real);
    if (parameters) cs_device_upload(d, to->parameter, from->parameter, parameter * real);
    if (b) cs_device_upload(d, to->matrix.c, from->matrix.c, rows * real);
}

/* The entries of all rows of a group. */
static int64_t values_of(const cs_packed *packed, const cs_packed_group *group)
{
    if (packed->dense_stride) return group->count * group->rows * packed->dense_stride;
    return group->matrix.first[group->count];
}

void cs_device_upload_steps(cs_on_device *d, int g)
{
    const cs_packed_group *from = &d->packed.group[g];
    const cs_packed_group *to = &d->group[g];
    size_t stored = cs_stored_size(d->packed.dtype);
    size_t rows = (size_t)(from->slots * from->rows), squares = rows * (size_t)from->rows;
    cs_device_upload(d, to->r, from->r, rows * stored);
    cs_device_upload(d, to->step, from->step, squares * stored);
    cs_device_upload(d, to->diagonal, from->diagonal, squares * stored);
    if (!from->matrix.c) return;
    cs_device_upload(d, to->matrix.value, from->matrix.value,
                     (size_t)values_of(&d->packed, from) * stored);
    cs_device_upload(d, to->matrix.c, from->matrix.c, rows * cs_real_size(d->packed.dtype));
}

void cs_device_upload_factors(cs_on_device *d, int roots)
{
    size_t real = cs_real_size(d->packed.dtype), stored = cs_stored_size(d->packed.dtype);
    for (int g = 0; g < d->packed.problem->block_groups; g++) {
        const cs_packed_group *from = &d->packed.group[g];
        const cs_packed_group *to = &d->group[g];
        size_t rows = (size_t)(from->slots * from->rows);
        int width = cs_form_width(from->factors.form, from->rows, from->dof[0] + from->dof[1]);
        cs_device_upload(d, to->factors.scaled, from->factors.scaled,
                         (size_t)(from->slots * width) * stored);
        cs_device_upload(d, to->rho, from->rho, rows * sizeof(double));
        cs_device_upload(d, to->inverse, from->inverse, rows * sizeof(double));
    }
    if (!roots) return;
    size_t velocities = (size_t)d->packed.velocities * real;
    cs_device_upload(d, d->program.packed.velocity, d->packed.velocity, velocities);
    cs_device_upload(d, d->program.packed.inertia, d->packed.inertia, velocities);
}

/* Copies what the scheme `factorized` reads of a group. */
static void copy_factors(cs_on_device *d, int g, cs_arena *scratch)
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
    to->contribution = room_for(d, from->factors.contribution, 2 * from->slots * stride, real);
    to->sum = NULL;
}

/* Copies what schemes over rows read of a group. */
static void copy_rows(cs_on_device *d, int g)
{
    const cs_packed_group *from = &d->packed.group[g];
    cs_packed_rows *to = &d->group[g].matrix;
    if (!from->matrix.value) return;
    to->value = copy_of(d, from->matrix.value, values_of(&d->packed, from),
                        cs_stored_size(d->packed.dtype));
    to->c = room_for(d, from->matrix.c, from->count * from->rows, cs_real_size(d->packed.dtype));
    if (!from->matrix.start) return;
    int64_t columns = from->matrix.start[from->count];
    to->start = copy_of(d, from->matrix.start, from->count + 1, sizeof(int64_t));
    to->first = copy_of(d, from->matrix.first, from->count + 1, sizeof(int64_t));
    to->column = copy_of(d, from->matrix.column, columns, sizeof(int64_t));
    to->width = copy_of(d, from->matrix.width, columns, 1);
}

/* The block of each slot of a group in batches; of others, which keep the user's order, NULL. */
static int64_t *blocks_of(cs_on_device *d, int g, cs_arena *scratch)
{
    const cs_packed_group *group = &d->packed.group[g];
    size_t bytes = (size_t)group->slots * sizeof(int64_t);
    if (group->lanes == 1) return NULL;
    if (d->counts) return cs_device_take(d, bytes);
    int64_t *block = cs_arena_take_unset(scratch, group->slots, sizeof *block);
    if (!block) return NULL;
    for (int64_t s = 0; s < group->slots; s++) block[s] = -1;
    for (int64_t v = 0; v < group->count; v++)
        block[group->slot[v]] = d->packed.schedule->visit[g][v];
    return cs_device_copy_of(d, block, bytes);
}

/* Copies a group. Its b, R, parameters and V follow when they are known. */
static void copy_group(cs_on_device *d, int g, cs_arena *scratch)
{
    const cs_packed_group *from = &d->packed.group[g];
    cs_packed_group *to = &d->group[g];
    size_t real = cs_real_size(d->packed.dtype), stored = cs_stored_size(d->packed.dtype);
    int64_t slots = from->slots, rows = slots * from->rows;
    *to = *from;
    to->set = d->single_prox ? cs_kind_in_single(from->set) : from->set;
    to->slot = copy_of(d, from->slot, from->count, sizeof *from->slot);
    to->used = copy_of(d, from->used, slots / from->lanes, 1);
    to->row = copy_of(d, from->row, from->count, sizeof *from->row);
    to->b = room_for(d, from->b, rows, real);
    to->r = room_for(d, from->r, rows, stored);
    to->parameter = room_for(d, from->parameter, slots * from->parameters, real);
    to->step = room_for(d, from->step, rows * from->rows, stored);
    to->diagonal = room_for(d, from->diagonal, rows * from->rows, stored);
    to->weight = copy_of(d, from->weight, slots, real);
    to->rho = copy_of(d, from->rho, rows, sizeof(double));
    to->inverse = copy_of(d, from->inverse, rows, sizeof(double));
    to->speed = room_for(d, from->speed, slots, sizeof(double));
    to->local_set = NULL;
    d->block[g] = blocks_of(d, g, scratch);
    copy_factors(d, g, scratch);
    copy_rows(d, g);
}

/* The degrees of freedom of the moved bodies. */
static int32_t *moved_dof_of(cs_on_device *d, cs_arena *scratch)
{
    const cs_packed *packed = &d->packed;
    if (!packed->moved) return NULL;
    if (d->counts) return cs_device_take(d, (size_t)packed->moved_bodies * sizeof(int32_t));
    int32_t *dof = cs_arena_take_unset(scratch, packed->moved_bodies, sizeof *dof);
    for (int64_t i = 0; dof && i < packed->moved_bodies; i++)
        dof[i] = cs_body_group_of(packed->problem, packed->moved[i])->dof;
    return dof ? copy_of(d, dof, packed->moved_bodies, sizeof *dof) : NULL;
}

/* What every way of several sweeps a launch needs on the device; `directions`: of statistics. */
static cs_device_flow flow_of(cs_on_device *d, int directions)
{
    const cs_flow_lists *from = &d->lists;
    size_t lambda = (size_t)d->packed.impulses * cs_real_size(d->packed.dtype);
    int64_t stats = directions * CS_FLOW_SWEEPS * from->places;
    d->iterates = cs_device_take(d, CS_FLOW_SWEEPS * lambda);
    return (cs_device_flow){
        .way = from->way,
        .visit = copy_of(d, from->visit, from->visits, sizeof *from->visit),
        .visits = from->visits,
        .stats = cs_device_take(d, (size_t)stats * sizeof(cs_sweep_stats)),
        .sum = cs_device_take(d, CS_FLOW_SWEEPS * sizeof(cs_sweep_stats)),
        .places = from->places,
        .directions = directions,
        .group = from->group,
    };
}

/* Memory of counters on the device. */
static void copy_counter(cs_on_device *d)
{
    const cs_flow_lists *from = &d->lists;
    int64_t before = d->packed.impulses + cs_device_velocities(d);
    d->flow = flow_of(d, 1);
    d->flow.wait_start = copy_of(d, from->wait_start, from->visits + 1, sizeof *from->wait_start);
    d->flow.wait = copy_of(d, from->wait, from->wait_start[from->visits], sizeof *from->wait);
    d->flow.done = cs_device_take(d, (size_t)from->visits * sizeof(uint32_t));
    d->flow.before = cs_device_take(d, (size_t)before * cs_real_size(d->packed.dtype));
}

/* Memory of sweeps on the chip. */
static void copy_chip(cs_on_device *d)
{
    d->flow = flow_of(d, 1);
    d->flow.chip = d->lists.chip;
    d->flow.done = cs_device_take(d, sizeof(uint32_t));
    d->flow.before = cs_device_take(d, (size_t)d->packed.impulses * cs_real_size(d->packed.dtype));
}

/* The lists of regions on the device. */
static cs_region_plan copy_regions(cs_on_device *d)
{
    const cs_region_plan *from = &d->lists.region;
    cs_region_plan plan = *from;
    int64_t bodies = d->packed.moved_bodies;
    plan.begin = copy_of(d, from->begin, from->count * (from->inner + 1) + 1, sizeof *from->begin);
    plan.body_start = copy_of(d, from->body_start, from->count + 1, sizeof *from->body_start);
    plan.body = copy_of(d, from->body, bodies, sizeof *from->body);
    plan.degree = copy_of(d, from->degree, bodies, sizeof *from->degree);
    plan.edge = copy_of(d, from->edge, from->count, sizeof *from->edge);
    return plan;
}

/* Memory of dataflow on the device, also between regions: a body's record has 16 bytes for three words of its velocity. */
static void copy_flow(cs_on_device *d)
{
    const cs_flow_lists *from = &d->lists;
    const cs_packed *packed = &d->packed;
    size_t velocity = (size_t)packed->group[from->group].dof[0] * cs_real_size(packed->dtype);
    d->flow = flow_of(d, 2);
    d->flow.region = copy_regions(d);
    d->flow.order = copy_of(d, from->order, from->visits * 64, sizeof *from->order);
    d->flow.record = cs_device_take(d, (size_t)packed->moved_bodies * (velocity / 12 * 16));
    d->flow.several = from->several;
    d->flow.set = from->set < 0 ? -1 : (int)d->group[from->group].set;
}

/* Takes all memory, and copies what is known. */
static void copy_arrays(cs_on_device *d, const double *rho, cs_arena *scratch)
{
    const cs_packed *from = &d->packed;
    cs_device_program *program = &d->program;
    cs_packed *to = &program->packed;
    size_t real = cs_real_size(from->dtype);
    int groups = from->problem->block_groups;
    *to = *from;
    to->problem = NULL;
    to->scheme = NULL;
    to->schedule = NULL;
    to->copy_scale = to->gather_scale = NULL; /* devices have no concurrent stages */
    for (int g = 0; g < groups; g++) copy_group(d, g, scratch);
    program->group = d->group;
    to->group = copy_of(d, d->group, groups, sizeof *d->group);
    to->lambda = cs_device_take(d, 2 * (size_t)from->impulses * real);
    program->best = cs_device_take(d, (size_t)from->impulses * real);
    to->kept = NULL;
    to->velocity = copy_of(d, from->velocity, from->velocities, real); /* it has roots of M^-1 */
    to->inertia = copy_of(d, from->inertia, from->velocities, real);
    int64_t bodies = from->problem->bodies;
    to->body_place = copy_of(d, from->body_place, bodies, sizeof *from->body_place);
    to->moved = copy_of(d, from->moved, from->moved_bodies, sizeof *from->moved);
    program->moved_dof = moved_dof_of(d, scratch);
    if (from->gather) {
        to->gather_start = copy_of(d, from->gather_start, bodies + 1, sizeof *from->gather_start);
        to->gather = copy_of(d, from->gather, from->gather_start[bodies], sizeof *from->gather);
    }
    program->range = copy_of(d, from->schedule->range, from->schedule->ranges, sizeof(cs_range));
    program->part = copy_of(d, from->schedule->part, from->schedule->parts + 1, sizeof(int64_t));
    if (d->lists.way == CS_FLOW_COUNTER) copy_counter(d);
    else if (d->lists.way == CS_FLOW_ON_CHIP) copy_chip(d);
    else if (d->lists.way != CS_FLOW_NONE) copy_flow(d);
    d->report_there = cs_device_take(d, sizeof *d->report_there);
    program->state = d->report_there ? &d->report_there->state : NULL;
    to->part = cs_device_take(d, (size_t)program->blocks * sizeof *to->part);
    d->sums_there = cs_device_take(d, (size_t)d->chunks * sizeof *d->sums);
    d->map_there = cs_device_take(d, (size_t)d->map_blocks * sizeof *d->map_there);
    cs_device_copy_verdict(d, rho);
}

cs_status cs_device_end_count(cs_on_device *d, int64_t before, const char *what, cs_error *error)
{
    size_t needed = (size_t)(d->bytes - before), room = d->device->room(d->queue);
    d->counts = 0;
    d->bytes = before;
    if (needed <= room) return CS_OK;
    return cs_fail(error, CS_NO_MEMORY,
                   "out of memory on device='%s': %s needs %zu bytes, and %zu are free",
                   d->device->name, what, needed, room);
}

/* Fails if all that is packed and the points of the method need more memory than there is. */
static cs_status check_room(cs_on_device *d, int64_t points, const double *rho, cs_arena *scratch,
                            cs_error *error)
{
    size_t real = cs_real_size(d->packed.dtype);
    d->counts = 1;
    copy_arrays(d, rho, scratch);
    for (int64_t i = 0; i < points; i++) {
        cs_device_take(d, (size_t)d->packed.impulses * real);
        cs_device_take(d, (size_t)cs_device_velocities(d) * real);
    }
    return cs_device_end_count(d, 0, "the problem", error);
}

cs_status cs_device_copy_all(cs_on_device *d, int64_t points, const double *rho, cs_error *error)
{
    cs_arena scratch = {0};
    cs_status status = check_room(d, points, rho, &scratch, error);
    if (status) {
        cs_arena_clear(&scratch);
        return status;
    }
    copy_arrays(d, rho, &scratch);
    status = d->failed;
    if (status && error) *error = d->failure;
    d->failed = CS_OK;
    if (!status) status = cs_arena_status(&scratch, error, "the workspace");
    if (!status) status = d->device->wait(d->queue, error); /* before the scratch memory goes */
    cs_arena_clear(&scratch);
    return status;
}
