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
    to->contribution = NULL; /* copy_gather */
    to->sum = NULL;
}

/* Copies what schemes over rows read of a group. */
static void copy_rows(cs_on_device *d, int g)
{
    const cs_packed_group *from = &d->packed.group[g];
    cs_packed_rows *to = &d->group[g].matrix;
    to->short_column = NULL; /* no kernel reads these three */
    to->piece = NULL;
    to->kept = NULL;
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

/* ---- velocities summed body by body -------------------------------------------------------------- */

/* What the sums of velocities need, on the host. */
typedef struct gather_lists {
    cs_device_body *body;          /* (moved_bodies) */
    int32_t *given[CS_MAX_GROUPS]; /* (slots / lanes, 2, lanes) of each group with contributions */
    int64_t pieces;                /* of all contributions */
} gather_lists;

/* The terms of body i of the moved ones, which begin at *first in cs_packed.gather. */
static int64_t terms_of(const cs_packed *packed, int64_t i, int64_t *first)
{
    int64_t body = packed->moved[i];
    *first = packed->gather_start[body];
    return packed->gather_start[body + 1] - *first;
}

/* Lists the bodies, and how many pieces of contributions they have. Returns the pieces of each contribution, or -1 if
 * these differ. */
static int list_bodies(cs_on_device *d, gather_lists *lists)
{
    const cs_packed *packed = &d->packed;
    int size = (int)cs_real_size(packed->dtype), most = 1, same = 0;
    lists->pieces = 0;
    for (int64_t i = 0; i < packed->moved_bodies; i++) {
        int64_t body = packed->moved[i], first, terms = terms_of(packed, i, &first);
        int dof = cs_body_group_of(packed->problem, body)->dof;
        int pieces = cs_contribution_pieces(dof, size);
        if (lists->body)
            lists->body[i] = (cs_device_body){(int32_t)lists->pieces, (int32_t)terms,
                                              (int32_t)(packed->body_place[body] / 4), dof};
        lists->pieces += terms * pieces;
        if (pieces > most) most = pieces;
        same = !i || pieces == same ? pieces : -1;
    }
    for (d->program.piece_shift = 0; 1 << d->program.piece_shift < most;) d->program.piece_shift++;
    return same ? same : -1;
}

/* Writes where each side of each contact in batches puts its contribution. */
static void place_contributions(const cs_on_device *d, const gather_lists *lists)
{
    const cs_packed *packed = &d->packed;
    int size = (int)cs_real_size(packed->dtype);
    for (int g = 0; g < packed->problem->block_groups; g++)
        for (int64_t i = 0; lists->given[g] && i < 2 * packed->group[g].slots; i++)
            lists->given[g][i] = -1;
    for (int64_t i = 0; i < packed->moved_bodies; i++) {
        int64_t first, terms = terms_of(packed, i, &first), next = lists->body[i].given;
        int pieces = cs_contribution_pieces(lists->body[i].dof, size);
        for (int64_t e = first; e < first + terms; e++, next += pieces) {
            const cs_velocity_term *from = &packed->gather[e];
            const cs_packed_group *group = &packed->group[from->group];
            if (!lists->given[from->group]) continue;
            int64_t slot = group->slot[from->visit], lane = slot % group->lanes;
            lists->given[from->group][2 * (slot - lane) + from->side * group->lanes + lane] =
                (int32_t)next;
        }
    }
}

/* The bodies whose velocities are summed, the memory of the contributions, and their places. A step that sums them needs
 * them, which those of colours and of visits one after another have for a refresh. */
static void copy_gather(cs_on_device *d, cs_arena *scratch)
{
    const cs_packed *packed = &d->packed;
    cs_device_program *program = &d->program;
    int groups = packed->problem->block_groups, given = 0;
    if (!packed->gather || packed->by_parts) return;
    gather_lists lists = {0};
    program->only_given = 1;
    for (int g = 0; g < groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        given |= group->factors.contribution != NULL;
        if (group->lanes == 1 && group->count) program->only_given = 0;
        if (group->factors.contribution && !d->counts)
            lists.given[g] = cs_arena_take_unset(scratch, 2 * group->slots, sizeof(int32_t));
    }
    if (!d->counts)
        lists.body = cs_arena_take_unset(scratch, packed->moved_bodies, sizeof *lists.body);
    if (cs_arena_failed(scratch)) return; /* the caller reports it */
    int same = list_bodies(d, &lists);
    if (program->only_given) program->only_given = same;
    if (!d->counts) place_contributions(d, &lists);

    /* To the device. */
    size_t bytes = (size_t)packed->moved_bodies * sizeof *lists.body;
    cs_device_body *body = cs_device_take(d, bytes);
    cs_device_upload(d, body, lists.body, bytes);
    program->body = body;
    void *contribution = given ? cs_device_take(d, 16 * (size_t)lists.pieces) : NULL;
    program->contribution = contribution;
    for (int g = 0; g < groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        if (!group->factors.contribution) continue;
        size_t places = 2 * (size_t)group->slots * sizeof(int32_t);
        d->group[g].factors.contribution = contribution;
        d->group[g].factors.given = cs_device_take(d, places);
        cs_device_upload(d, d->group[g].factors.given, lists.given[g], places);
    }
}

/* ---- sweeps of which a launch makes several ------------------------------------------------------ */

/* What every way of several sweeps a launch needs on the device; `directions`: of statistics. */
static cs_device_flow flow_of(cs_on_device *d, int directions)
{
    const cs_flow_lists *from = &d->lists;
    size_t lambda = (size_t)d->packed.impulses * cs_real_size(d->packed.dtype);
    int64_t stats = directions * d->most_sweeps * from->places;
    int64_t sums = d->most_sweeps * CS_DEVICE_BATCHES;
    d->iterates = cs_device_take(d, (size_t)d->most_sweeps * lambda);
    return (cs_device_flow){
        .way = from->way,
        .visit = copy_of(d, from->visit, from->visits, sizeof *from->visit),
        .visits = from->visits,
        .stats = cs_device_take(d, (size_t)stats * sizeof(cs_sweep_stats)),
        .sum = cs_device_take(d, (size_t)sums * sizeof(cs_sweep_stats)),
        .meet = cs_device_take(d, sizeof(uint32_t)),
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

/* Memory of sweeps over whole rows of T: an iterate and statistics of each sweep of a launch. */
static void copy_dense(cs_on_device *d)
{
    const cs_flow_lists *from = &d->lists;
    size_t real = cs_real_size(d->packed.dtype), sweeps = (size_t)cs_flow_sweeps(from);
    d->iterates = cs_device_take(d, sweeps * (size_t)d->packed.dense_stride * real);
    d->flow = (cs_device_flow){
        .way = from->way,
        .chip = from->chip,
        .dense = from->dense,
        .stats = cs_device_take(d, sweeps * (size_t)from->places * sizeof(cs_sweep_stats)),
        .sum = cs_device_take(d, sweeps * sizeof(cs_sweep_stats)),
        .places = from->places,
        .directions = 1,
        .group = from->group,
    };
    if (from->dense.panels) d->flow.dense.sums = cs_device_take(d, 2 * CS_PANEL_ROWS * real);
    if (from->way == CS_FLOW_ON_CHIP) d->flow.done = cs_device_take(d, sizeof(uint32_t));
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

/* Memory of dataflow on the device, also between regions: a body's record has 16 bytes for three words of its velocity; there
 * is one more for all that does not move. */
static void copy_flow(cs_on_device *d)
{
    const cs_flow_lists *from = &d->lists;
    const cs_packed *packed = &d->packed;
    size_t velocity = (size_t)packed->group[from->group].dof[0] * cs_real_size(packed->dtype);
    d->flow = flow_of(d, 2);
    d->flow.region = copy_regions(d);
    d->flow.plan = from->plan;
    d->flow.order = copy_of(d, from->order, from->visits * 64, sizeof *from->order);
    d->flow.record = cs_device_take(d, (size_t)(packed->moved_bodies + 1) * (velocity / 12 * 16));
    d->flow.several = from->several;
    d->flow.set = from->set < 0 ? -1 : (int)d->group[from->group].set;
}

/* ---- changes of impulses -------------------------------------------------------------------------- */

/* The slot of each block of a group in batches; of others, which keep the user's order, NULL. */
static int64_t *slots_of(cs_on_device *d, int g, cs_arena *scratch)
{
    const cs_packed_group *group = &d->packed.group[g];
    size_t bytes = (size_t)group->count * sizeof(int64_t);
    if (group->lanes == 1) return NULL;
    if (d->counts) return cs_device_take(d, bytes);
    int64_t *slot = cs_arena_take_unset(scratch, group->count, sizeof *slot);
    if (!slot) return NULL;
    for (int64_t v = 0; v < group->count; v++)
        slot[d->packed.schedule->visit[g][v]] = group->slot[v];
    return cs_device_copy_of(d, slot, bytes);
}

/* The most sweeps of a launch whose changes are measured. */
static int64_t measured_sweeps(const cs_on_device *d)
{
    if (d->lists.way == CS_FLOW_NONE) return 1;
    return cs_flow_keeps_all(d->lists.way) ? cs_flow_sweeps(&d->lists) : d->most_sweeps;
}

/* What measures changes of impulses. */
static void copy_changes(cs_on_device *d, cs_arena *scratch)
{
    int groups = d->packed.problem->block_groups;
    int64_t pieces = 0, sweeps = measured_sweeps(d);
    int64_t before = d->packed.impulses + cs_device_velocities(d);
    d->program.changes = (cs_device_changes){.asked = 0};
    if (!d->changes) return;
    for (int g = 0; g < groups; g++) {
        const cs_packed_group *group = &d->packed.group[g];
        int64_t rows = group->count * group->rows;
        d->changed[g] = (cs_device_changed_rows){
            .slot = slots_of(d, g, scratch),
            .count = rows,
            .rows = group->rows,
            .lanes = group->lanes,
            .first = group->first_impulse,
            .first_piece = pieces,
        };
        pieces += cs_quotient(rows, CS_CHANGE_ROWS);
    }
    d->program.changes = (cs_device_changes){
        .group = d->changed,
        .groups = groups,
        .pieces = pieces,
        .before = cs_device_take(d, (size_t)before * cs_real_size(d->packed.dtype)),
        .part = cs_device_take(d, (size_t)(sweeps * pieces) * sizeof(cs_change_sums)),
        .change = cs_device_take(d, (size_t)sweeps * sizeof(cs_impulse_change)),
    };
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
    /* No kernel reads what follows; devices have no concurrent stages. */
    to->copy_scale = to->gather_scale = NULL;
    to->copy = NULL;
    to->copy_start = NULL;
    to->matrix = NULL;
    to->dense_copy = NULL;
    to->setting = NULL;
    to->device_kernels = to->wide = NULL;
    to->row_kernels = NULL;
    to->dense_kernels = NULL;
    for (int g = 0; g < groups; g++) copy_group(d, g, scratch);
    copy_gather(d, scratch);
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
    if (from->gather) {
        to->gather_start = copy_of(d, from->gather_start, bodies + 1, sizeof *from->gather_start);
        to->gather = copy_of(d, from->gather, from->gather_start[bodies], sizeof *from->gather);
    }
    program->range = copy_of(d, from->schedule->range, from->schedule->ranges, sizeof(cs_range));
    program->part = copy_of(d, from->schedule->part, from->schedule->parts + 1, sizeof(int64_t));
    if (d->lists.way == CS_FLOW_COUNTER) copy_counter(d);
    else if (cs_flow_keeps_all(d->lists.way)) copy_dense(d);
    else if (d->lists.way != CS_FLOW_NONE) copy_flow(d);
    copy_changes(d, scratch);
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

/* The iterates that a launch keeps: as many as fit into CS_FLOW_ITERATES bytes. */
static int64_t iterates_of(const cs_on_device *d)
{
    int64_t lambda = d->packed.impulses * (int64_t)cs_real_size(d->packed.dtype);
    int64_t most = CS_FLOW_ITERATES / (lambda > 0 ? lambda : 1);
    if (most < CS_FLOW_LEAST_SWEEPS) return CS_FLOW_LEAST_SWEEPS;
    return most < CS_FLOW_SWEEPS ? most : CS_FLOW_SWEEPS;
}

cs_status cs_device_copy_all(cs_on_device *d, int64_t points, const double *rho, cs_error *error)
{
    /* Where memory is short, launches keep fewer iterates, and the host judges. */
    cs_arena scratch = {0};
    d->most_sweeps = iterates_of(d);
    cs_status status = check_room(d, points, rho, &scratch, error);
    if (status && d->lists.way && d->most_sweeps > CS_FLOW_LEAST_SWEEPS) {
        d->most_sweeps = CS_FLOW_LEAST_SWEEPS;
        status = check_room(d, points, rho, &scratch, error);
    }
    if (status && d->judges) {
        d->judges = 0;
        status = check_room(d, points, rho, &scratch, error);
    }
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
