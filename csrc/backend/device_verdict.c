/* Verdicts on a device (cs_verdicts): the problem as it was given, and what is computed from it. */
#include "backend/device_internal.h"

#include <math.h>

/* Whether b and the parameters are put into the order of visits on the device: every group is in batches, and nothing of
 * the scheme is computed from b. */
static int packs_there(const cs_packed *packed)
{
    if (packed->scheme->data_written[packed->dtype]) return 0;
    for (int g = 0; g < packed->problem->block_groups; g++)
        if (packed->group[g].lanes == 1) return 0;
    return 1;
}

/* Whether the parts of the schedule are solved by themselves (backend/parts.h), which includes their verdicts. */
static int is_batch(const cs_schedule *schedule)
{
    return schedule->stages == 1 && schedule->stage[0].kind == CS_DISJOINT;
}

cs_status cs_device_prepare_verdicts(cs_on_device *d, const cs_pack_request *request,
                                     cs_arena *arena, cs_error *error)
{
    const cs_problem *problem = request->problem;
    d->packs_there = packs_there(&d->packed);
    d->judges = request->rho && !problem->matrix && !request->ranks && !is_batch(request->schedule);
    d->blocks = cs_arena_take(arena, problem->block_groups, sizeof *d->blocks);
    d->bodies = cs_arena_take(arena, problem->body_groups, sizeof *d->bodies);
    if (!d->blocks || !d->bodies) return cs_no_workspace(error);
    if (!d->judges) return CS_OK;
    d->plain = cs_arena_take_unset(arena, problem->rows, sizeof *d->plain);
    if (!d->plain) return cs_no_workspace(error);
    d->several_speeds = request->islands > 1;
    return cs_adjacency_build(problem, arena, 0, &d->adjacency, error);
}

/* ---- copies ------------------------------------------------------------------------------------- */

static size_t jacobian_bytes(const cs_block_group *group)
{
    return (size_t)(group->count * cs_jacobian_numbers(group)) * sizeof(double);
}

static size_t mass_bytes(const cs_body_group *group)
{
    return (size_t)(group->count * cs_inverse_mass_size(group)) * sizeof(double);
}

/* A group of contacts. */
static void copy_blocks(cs_on_device *d, int g)
{
    const cs_block_group *from = &d->packed.problem->block_group[g];
    cs_device_blocks *to = &d->blocks[g];
    *to = (cs_device_blocks){
        .count = from->count,
        .first_block = from->first_block,
        .first_row = from->first_row,
        .rows = from->rows,
        .partners = from->partners,
        .set = from->set->kind,
        .parameters = from->parameters,
        .convex = from->set->convex,
        .jacobian = cs_device_copy_of(d, from->jacobian, jacobian_bytes(from)),
        .frame = cs_device_copy_of(d, from->frame, jacobian_bytes(from)),
        .velocity = cs_device_copy_of(d, from->velocity,
                                      (size_t)(from->count * from->partners) * sizeof(int64_t)),
        .compliance = cs_device_copy_of(d, from->compliance,
                                        (size_t)(from->count * from->rows) * sizeof(double)),
    };
    if (d->given_parameters) to->parameter = d->given_parameters + from->first_parameter;
    for (int i = 0; i < CS_MAX_PARTNERS; i++) to->dof[i] = from->dof[i];
    for (int i = 0; i <= CS_MAX_PARTNERS; i++) to->column[i] = from->column[i];
    for (int i = 0; i < CS_MAX_ROWS; i++) to->coupled_set[i] = from->coupled_set[i];
}

static void copy_bodies(cs_on_device *d, int g)
{
    const cs_body_group *from = &d->packed.problem->body_group[g];
    d->bodies[g] = (cs_device_bodies){
        .count = from->count,
        .first_body = from->first_body,
        .first_velocity = from->first_velocity,
        .dof = from->dof,
        .diagonal = from->diagonal,
        .inverse_mass = cs_device_copy_of(d, from->inverse_mass, mass_bytes(from)),
    };
}

/* Room for so many doubles. */
static double *doubles(cs_on_device *d, int64_t count)
{
    return cs_device_take(d, (size_t)count * sizeof(double));
}

/* The most contacts of a body that moves. */
static int64_t most_contacts(const cs_on_device *d)
{
    const cs_problem *problem = d->packed.problem;
    const int64_t *start = d->adjacency.start;
    int64_t most = 0;
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *group = &problem->body_group[g];
        for (int64_t k = 0, body = group->first_body; k < group->count; k++, body++)
            if (!group->immovable[k] && start[body + 1] - start[body] > most)
                most = start[body + 1] - start[body];
    }
    return most;
}

/* The group whose contacts are sampled: the largest one. -1 if it is too small for that, or more than the sample's kernel takes:
 * several groups of bodies, a full M^-1, many components, compliance; or if bodies have so many contacts, all of which it
 * reads for each contact of the sample, that it would take longer than all contacts do. */
static int sampled_group(const cs_on_device *d)
{
    enum { LEAST = 4 * CS_RAY_SAMPLE, MOST_CONTACTS = 1024 };
    const cs_device_verdict *v = &d->verdict;
    int largest = 0;
    for (int g = 1; g < v->block_groups; g++)
        if (v->block_group[g].count > v->block_group[largest].count) largest = g;
    const cs_device_blocks *group = v->block_group + largest;
    if (!v->block_groups || group->count < LEAST || group->compliance) return -1;
    const cs_device_bodies *bodies = v->body_group;
    int fits = v->body_groups == 1 && bodies->diagonal && bodies->dof <= CS_MAX_ROWS;
    return fits && most_contacts(d) <= MOST_CONTACTS ? largest : -1;
}

void cs_device_copy_verdict(cs_on_device *d, const double *rho)
{
    const cs_problem *problem = d->packed.problem;
    const cs_adjacency *adjacency = &d->adjacency;
    d->given_b = d->given_parameters = NULL;
    if (d->packs_there || d->judges) {
        d->given_b = doubles(d, problem->rows);
        d->given_parameters = doubles(d, problem->parameters);
    }
    if (!d->judges) return;

    /* The problem. */
    int full = 0;
    int64_t parts = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        copy_blocks(d, g);
        parts += cs_verdict_parts(problem->block_group[g].count);
    }
    for (int g = 0; g < problem->body_groups; g++) {
        copy_bodies(d, g);
        full |= !problem->body_group[g].diagonal;
    }

    /* What is computed from it. */
    size_t lists = (size_t)adjacency->start[problem->bodies];
    size_t rays = (size_t)(parts + 1 + CS_RAY_DIRECTIONS * (1 + parts + CS_RAY_SAMPLE));
    d->verdict = (cs_device_verdict){
        .block_group = d->blocks,
        .block_group_there =
            cs_device_copy_of(d, d->blocks, (size_t)problem->block_groups * sizeof *d->blocks),
        .body_group = d->bodies,
        .block_groups = problem->block_groups,
        .body_groups = problem->body_groups,
        .rows = problem->rows,
        .blocks = problem->blocks,
        .shift = adjacency->shift,
        .start =
            cs_device_copy_of(d, adjacency->start, (size_t)(problem->bodies + 1) * sizeof(int64_t)),
        .entry = cs_device_copy_of(d, adjacency->entry, lists * sizeof(int64_t)),
        .b = d->given_b,
        .rho = cs_device_copy_of(d, rho, (size_t)problem->rows * sizeof(double)),
        .scale = d->several_speeds ? doubles(d, problem->blocks) : NULL,
        .lambda = doubles(d, problem->rows),
        .kept = doubles(d, problem->rows),
        .velocity = doubles(d, problem->velocities),
        .magnitude = doubles(d, problem->velocities),
        .force = full ? doubles(d, problem->velocities) : NULL,
        .part = cs_device_take(d, (size_t)parts * sizeof(cs_device_part_verdict)),
        .parts = parts,
        .verdict = d->report_there ? &d->report_there->verdict : NULL,
        .grown = cs_device_take(d, sizeof(int)),
        .direction = doubles(d, problem->rows),
        .ray_part = cs_device_take(d, rays * sizeof(cs_device_ray)),
    };
    d->sampled = sampled_group(d);
}

void cs_device_refill_verdict(cs_on_device *d, const double *rho, int roots)
{
    const cs_problem *problem = d->packed.problem;
    if (!d->judges) return;
    d->moved = 0;
    cs_device_upload(d, (void *)(uintptr_t)d->verdict.rho, rho,
                     (size_t)problem->rows * sizeof(double));
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *from = &problem->block_group[g];
        void *jacobian = (void *)(uintptr_t)d->blocks[g].jacobian;
        cs_device_upload(d, jacobian, from->jacobian, jacobian_bytes(from));
        cs_device_upload(d, (void *)(uintptr_t)d->blocks[g].frame, from->frame,
                         jacobian_bytes(from));
    }
    for (int g = 0; g < problem->body_groups && roots; g++) {
        const cs_body_group *from = &problem->body_group[g];
        cs_device_upload(d, (void *)(uintptr_t)d->bodies[g].inverse_mass, from->inverse_mass,
                         mass_bytes(from));
    }
}

/* ---- verdicts ------------------------------------------------------------------------------------- */

static int possible(const void *state) { return ((const cs_on_device *)state)->judges; }

/* verdict.lambda <- the impulses, and verdict.velocity, unless they are there. */
static void unpack(cs_on_device *d)
{
    if (!d->unpacked) cs_device_unpack(d, d->verdict.lambda);
    d->unpacked = 1;
}

static void move(cs_on_device *d)
{
    unpack(d);
    if (!d->moved) d->device->move(d->queue, &d->verdict);
    d->moved = 1;
}

void cs_device_take_speeds(cs_on_device *d, const double *scale, int is_new)
{
    cs_device_verdict *v = &d->verdict;
    if (v->blocks) v->bounds.scale = scale[0];
    if (is_new)
        cs_device_upload(d, (void *)(uintptr_t)v->scale, scale, (size_t)v->blocks * sizeof(double));
}

void cs_device_ask_verdict(cs_on_device *d, const cs_verdict_call *call)
{
    cs_device_verdict *v = &d->verdict;
    v->bounds = (cs_set_bounds){call->rtol, call->atol, 0, call->unit / DBL_EPSILON};
    cs_device_take_speeds(d, call->scale, call->new_scale);
    move(d);
    d->device->judge(d->queue, v, call->unit > 0);
    d->judged = 1;
    d->judged_floor = call->unit > 0;
}

void cs_device_read_report(cs_on_device *d)
{
    /* After a failure, which the next call reports, nothing is copied: the tolerance is not met. */
    d->report.map = (cs_device_map){.infinite = 1};
    d->report.verdict.map = cs_no_defect();
    d->report.verdict.floor = cs_no_floor();
    d->report.verdict.map.met = 0;
    d->device->download(d->queue, &d->report, d->report_there, sizeof d->report);
}

/* The verdict on lambda, which may have come with the sweeps. */
static void judge(void *state, cs_verdict_call *call)
{
    cs_on_device *d = state;
    int known = d->judged && (d->judged_floor || !(call->unit > 0));
    if (!known) {
        cs_device_ask_verdict(d, call);
        cs_device_read_report(d);
    }
    call->map = d->report.verdict.map;
    call->floor = d->report.verdict.floor;
}

static void velocity(void *state, double *velocity)
{
    cs_on_device *d = state;
    move(d);
    d->device->download(d->queue, velocity, d->verdict.velocity,
                        (size_t)d->packed.problem->velocities * sizeof(double));
}

static size_t bytes_of_rows(const cs_on_device *d)
{
    return (size_t)d->verdict.rows * sizeof(double);
}

void cs_device_get_plain(cs_on_device *d, double *impulses)
{
    unpack(d);
    d->device->download(d->queue, d->plain, d->verdict.lambda, bytes_of_rows(d));
    cs_loop_copy(cs_packed_threads(&d->packed), impulses, d->plain, d->verdict.rows,
                 sizeof *d->plain);
    d->current = 1;
}

static void keep_ray(void *state)
{
    cs_on_device *d = state;
    unpack(d);
    d->directed = 0;
    d->device->copy(d->queue, d->verdict.kept, d->verdict.lambda, bytes_of_rows(d));
}

static void get_ray(const void *state, double *impulses)
{
    const cs_on_device *d = state;
    d->device->download(d->queue, impulses, d->verdict.kept, bytes_of_rows(d));
}

static int has_grown(void *state, cs_ray_part what, double least)
{
    cs_on_device *d = state;
    int grown = 0;
    unpack(d);
    d->device->zero(d->queue, d->verdict.grown, sizeof grown);
    d->device->look_for_growth(d->queue, &d->verdict, what, least);
    d->device->download(d->queue, &grown, d->verdict.grown, sizeof grown);
    return grown > 0;
}

/* d->direction <- the sums of all directions for the present iterate. Returns 0 if there is no sample. */
static int measure_directions(cs_on_device *d, const cs_ray_call *call)
{
    cs_device_verdict *v = &d->verdict;
    if (d->sampled < 0) return 0;
    if (d->directed) return 1;
    for (int j = 0; j < CS_RAY_DIRECTIONS; j++) d->direction[j].largest = NAN;
    d->device->measure_directions(d->queue, v, d->sampled, call);
    d->device->download(d->queue, d->direction, v->ray_part + v->parts + 1, sizeof d->direction);
    return d->directed = 1;
}

/* Whether the sample shows it. */
static int is_hopeless_at_sample(cs_on_device *d, const cs_ray_call *call)
{
    if (!measure_directions(d, call)) return 0;
    for (int j = 0; j < CS_RAY_DIRECTIONS; j++) {
        cs_ray_call known = *call;
        cs_ray_direction(j, &known);
        if (known.here == call->here && known.kept == call->kept &&
            known.friction == call->friction)
            return cs_ray_is_hopeless(&d->direction[j], call->nearly);
    }
    return 0;
}

static int is_hopeless(void *state, const cs_ray_call *call)
{
    cs_on_device *d = state;
    cs_device_ray sum = {.largest = NAN};
    if (d->verdict.scale) return 0; /* sums over several islands are the host's */
    unpack(d);
    if (is_hopeless_at_sample(d, call)) return 1;
    d->device->measure_ray(d->queue, &d->verdict, call);
    d->device->download(d->queue, &sum, d->verdict.ray_part + d->verdict.parts, sizeof sum);
    return cs_ray_is_hopeless(&sum, call->nearly);
}

const cs_verdicts cs_device_verdicts = {
    .possible = possible,
    .judge = judge,
    .velocity = velocity,
    .keep_ray = keep_ray,
    .get_ray = get_ray,
    .has_grown = has_grown,
    .is_hopeless = is_hopeless,
};
