/* A world and its bodies: creation, checks, memory; and its steps. */
#include "dynamics/world.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/pages.h"
#include "linalg/small.h"
#include "solver/method.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

cs_world_options cs_world_options_default(void)
{
    cs_world_options options = {
        .dimension = 3,
        .gravity = {0, 0, -9.81},
        .time_step = 1e-3,
        .activation = 1e-9,
        .stepper = "moreau",
        .gyroscopic = "explicit",
        .tension = "explicit",
        .solver = cs_options_default(),
    };
    options.solver.method = "auto";
    options.solver.max_iterations = 200;
    options.solver.islands = 0;
    return options;
}

static const char *const gyroscopic_words[] = {"none", "explicit", "implicit", NULL};
static const char *const tension_words[] = {"explicit", "implicit", NULL};

/* The index of a word; -1 if it is unknown. */
static int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0) return i;
    return -1;
}

static cs_status check_options(const cs_world_options *options, cs_error *error)
{
    if (options->dimension != 2 && options->dimension != 3)
        return cs_fail(error, CS_INVALID, "dimension is %d: 2 or 3 is needed", options->dimension);
    for (int k = 0; k < options->dimension; k++)
        if (!isfinite(options->gravity[k]))
            return cs_fail(error, CS_INVALID, "gravity[%d] is %s: a finite number is needed", k,
                           cs_number(options->gravity[k]).text);
    if (!(options->time_step > 0 && isfinite(options->time_step)))
        return cs_fail(error, CS_INVALID, "time_step is %s: a number above 0 is needed",
                       cs_number(options->time_step).text);
    if (!(options->activation >= 0 && isfinite(options->activation)))
        return cs_fail(error, CS_INVALID, "activation is %s: a number of at least 0 is needed",
                       cs_number(options->activation).text);
    double compliance = options->contact_compliance;
    double softness = compliance / (options->time_step * options->time_step);
    if (!(compliance >= 0 && isfinite(softness)))
        return cs_fail(error, CS_INVALID,
                       "contact_compliance is %s: a number of at least 0 is needed, which can be "
                       "divided by the square "
                       "of the time step",
                       cs_number(compliance).text);
    if (!cs_stepper_find(options->stepper))
        return cs_unknown_name("stepper", options->stepper, 0, cs_stepper_name, error);
    if (find_word(gyroscopic_words, options->gyroscopic) < 0)
        return cs_fail(error, CS_UNKNOWN_NAME,
                       "gyroscopic is '%s': 'none', 'explicit' or 'implicit' is needed",
                       cs_word(options->gyroscopic).text);
    if (find_word(tension_words, options->tension) < 0)
        return cs_fail(error, CS_UNKNOWN_NAME,
                       "tension is '%s': 'explicit' or 'implicit' is needed",
                       cs_word(options->tension).text);
    return CS_OK;
}

cs_status cs_world_create(cs_world **created, const cs_world_options *options, cs_error *error)
{
    *created = NULL;
    cs_status status = check_options(options, error);
    if (status) return status;
    cs_world *world = cs_allocate(1, sizeof *world);
    if (!world) return cs_no_memory(error, "a world");
    world->options = *options;
    world->stepper = cs_stepper_find(options->stepper);
    world->gyroscopic = (cs_gyroscopic)find_word(gyroscopic_words, options->gyroscopic);
    const cs_method *method = cs_method_find(options->solver.method);
    world->pivots = method && method->takes_index_sets;
    world->joints.implicit = find_word(tension_words, options->tension);
    world->space = options->dimension == 3 ? (cs_space){3, 6, 4, 9} : (cs_space){2, 3, 1, 1};
    world->rigid.isotropic = 1;
    world->step.ordered = -1;
    status = cs_collider_create(&world->collider, options->dimension, error);
    if (status) cs_world_destroy(world);
    else *created = world;
    return status;
}

static void release_memory(cs_memory *memory)
{
    cs_buffer_clear(&memory->shape);
    cs_buffer_clear(&memory->feature);
    cs_buffer_clear(&memory->body);
    cs_buffer_clear(&memory->point);
    cs_buffer_clear(&memory->normal);
    cs_buffer_clear(&memory->gap);
    cs_buffer_clear(&memory->law);
    cs_buffer_clear(&memory->impulse);
    cs_buffer_clear(&memory->index);
}

void cs_world_destroy(cs_world *world)
{
    if (!world) return;
    cs_step_problem *step = &world->step;
    cs_step_problem_release(step);
    cs_pages_unreserve(step->reserved);
    for (int g = 0; g < CS_STEP_GROUPS; g++) {
        cs_buffer_clear(&step->group[g].jacobian);
        cs_buffer_clear(&step->group[g].bodies);
        cs_buffer_clear(&step->group[g].b);
        cs_buffer_clear(&step->group[g].parameter);
        cs_buffer_clear(&step->group[g].compliance);
    }
    cs_buffer_clear(&step->number);
    cs_buffer_clear(&step->body);
    cs_buffer_clear(&step->part);
    cs_buffer_clear(&step->sequence);
    cs_buffer_clear(&step->place);
    cs_buffer_clear(&step->motion);
    cs_buffer_clear(&step->inverse);
    cs_buffer_clear(&step->initial);
    cs_buffer_clear(&step->impulse);
    cs_buffer_clear(&step->velocity);
    cs_buffer_clear(&step->index_set);
    release_memory(&world->closed);
    release_memory(&world->last);
    cs_buffer_clear(&world->materials.laws);
    cs_buffer_clear(&world->materials.pairs);
    cs_buffer_clear(&world->material);
    cs_buffer_clear(&world->owner);
    cs_buffer_clear(&world->joints.apart);
    cs_buffer_clear(&world->joints.tension);
    cs_buffer_clear(&world->saved.law_holds);
    cs_buffer_clear(&world->saved.number);
    cs_collider_destroy(world->collider);
    cs_arena_clear(&world->arena);
    cs_release(world);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Replaces an array by a larger one. The old one stays in the arena. */
static void *enlarge(cs_world *world, void *array, int64_t capacity, size_t size)
{
    void *larger = cs_arena_take(&world->arena, capacity, size);
    if (larger && world->rigid.count) memcpy(larger, array, (size_t)world->rigid.count * size);
    return larger;
}

static cs_status reserve(cs_world *world, int64_t count, cs_error *error)
{
    cs_rigid *rigid = &world->rigid;
    const cs_space *space = &world->space;
    if (count <= rigid->capacity) return CS_OK;
    int64_t capacity = count > 2 * rigid->capacity ? count : 2 * rigid->capacity;
    size_t size = sizeof(double), dimension = size * (size_t)space->dimension;
    size_t orientation = size * (size_t)space->orientation, dof = size * (size_t)space->dof;
    size_t inertia = size * (size_t)space->inertia;

    cs_arena_mark mark = cs_arena_position(&world->arena);
    cs_rigid larger = *rigid;
    larger.capacity = capacity;
    larger.now.position = enlarge(world, rigid->now.position, capacity, dimension);
    larger.now.orientation = enlarge(world, rigid->now.orientation, capacity, orientation);
    larger.now.velocity = enlarge(world, rigid->now.velocity, capacity, dof);
    larger.next.position = cs_arena_take(&world->arena, capacity, dimension);
    larger.next.orientation = cs_arena_take(&world->arena, capacity, orientation);
    larger.next.velocity = cs_arena_take(&world->arena, capacity, dof);
    larger.force = enlarge(world, rigid->force, capacity, dof);
    larger.change = cs_arena_take(&world->arena, capacity, dof);
    larger.inverse = cs_arena_take(&world->arena, capacity, dof * (size_t)space->dof);
    larger.mass = enlarge(world, rigid->mass, capacity, size);
    larger.inverse_mass = enlarge(world, rigid->inverse_mass, capacity, size);
    larger.inertia = enlarge(world, rigid->inertia, capacity, inertia);
    larger.inverse_inertia = enlarge(world, rigid->inverse_inertia, capacity, inertia);
    larger.driven = enlarge(world, rigid->driven, capacity, 1);
    larger.removed = enlarge(world, rigid->removed, capacity, 1);
    larger.movable = enlarge(world, rigid->movable, capacity, 1);
    cs_status status = cs_arena_status(&world->arena, error, "%lld bodies", (long long)capacity);
    if (status) cs_arena_rewind(&world->arena, mark);
    else *rigid = larger;
    return status;
}

/* Whether a symmetric tensor is positive definite, and its inverse. */
static int invert(const double *tensor, double *inverse)
{
    double lower[9];
    if (cs_semidefinite_cholesky(3, tensor, lower) >= 0) return 0;
    for (int i = 0; i < 3; i++)
        if (!(lower[4 * i] > 0)) return 0;
    return cs_invert(3, tensor, inverse) == 0;
}

static int is_isotropic(const double *tensor)
{
    for (int i = 0; i < 9; i++)
        if (tensor[i] != (i % 4 ? 0 : tensor[0])) return 0;
    return 1;
}

static cs_status check_numbers(const char *name, const double *values, int64_t body, int each,
                               cs_error *error)
{
    for (int k = 0; k < each; k++)
        if (!isfinite(values[k]))
            return cs_fail(error, CS_INVALID, "%s[%lld, %d] is %s: a finite number is needed", name,
                           (long long)body, k, cs_number(values[k]).text);
    return CS_OK;
}

/* By how much the length of a normalised quaternion may differ from 1. */
#define UNIT (8 * DBL_EPSILON)

/* The length of a quaternion; in the plane 1. */
static double length_of(const cs_space *space, const double *orientation)
{
    if (space->dimension == 2) return 1;
    double length = 0;
    for (int k = 0; k < 4; k++) length = hypot(length, orientation[k]);
    return length;
}

/* Checks motion i of those given. What is NULL is not checked. */
static cs_status check_motion(const cs_space *space, const cs_world_bodies *given, int64_t i,
                              cs_error *error)
{
    cs_status status = CS_OK;
    if (given->position)
        status = check_numbers("position", given->position + i * space->dimension, i,
                               space->dimension, error);
    if (given->velocity && !status)
        status = check_numbers("velocity", given->velocity + i * space->dof, i, space->dof, error);
    if (!given->orientation || status) return status;

    /* A quaternion has any length but zero. */
    const double *orientation = given->orientation + i * space->orientation;
    status = check_numbers("orientation", orientation, i, space->orientation, error);
    double length = length_of(space, orientation);
    if (!status && !(length > 0 && isfinite(length)))
        return cs_fail(error, CS_INVALID,
                       "orientation[%lld] is %s: a quaternion, of length 1 or near it, is needed",
                       (long long)i, length > 0 ? "too long" : "zero");
    return status;
}

/* Copies motion i of those given to place `at`, with quaternions normalised but for those that are to rounding. What is
 * NULL stays. */
static void take_motion(cs_world *world, const cs_world_bodies *given, int64_t i, int64_t at)
{
    const cs_space *space = &world->space;
    cs_motion *now = &world->rigid.now;
    for (int k = 0; given->position && k < space->dimension; k++)
        now->position[at * space->dimension + k] = given->position[i * space->dimension + k];
    for (int k = 0; given->velocity && k < space->dof; k++)
        now->velocity[at * space->dof + k] = given->velocity[i * space->dof + k];
    if (!given->orientation) return;
    const double *orientation = given->orientation + i * space->orientation;
    double length = length_of(space, orientation);
    if (fabs(length - 1) <= UNIT) length = 1;
    for (int k = 0; k < space->orientation; k++)
        now->orientation[at * space->orientation + k] = orientation[k] / length;
}

/* Checks body i of those given, and copies it to place `at`. */
static cs_status take_body(cs_world *world, const cs_world_bodies *given, int64_t i, int64_t at,
                           cs_error *error)
{
    /* Position, orientation, velocity: by default not turned, at rest. */
    cs_rigid *rigid = &world->rigid;
    const cs_space *space = &world->space;
    size_t size = sizeof(double);
    double *orientation = rigid->now.orientation + at * space->orientation;
    cs_status status = check_motion(space, given, i, error);
    if (status) return status;
    memset(orientation, 0, size * (size_t)space->orientation);
    orientation[0] = space->dimension == 3;
    memset(rigid->now.velocity + at * space->dof, 0, size * (size_t)space->dof);
    take_motion(world, given, i, at);

    /* Mass and inertia. */
    double mass = given->mass[i];
    const double *inertia = given->inertia + i * space->inertia;
    double *inverse = rigid->inverse_inertia + at * space->inertia;
    if (!(mass > 0 && isfinite(mass) && isfinite(1 / mass)))
        return cs_fail(error, CS_INVALID, "mass[%lld] is %s: a number above 0 is needed",
                       (long long)i, cs_number(mass).text);
    status = check_numbers("inertia", inertia, i, space->inertia, error);
    if (status) return status;
    for (int k = 0; space->dimension == 3 && k < 9; k++)
        if (fabs(inertia[k] - inertia[3 * (k % 3) + k / 3]) >
            1e-9 * (fabs(inertia[0]) + fabs(inertia[4]) + fabs(inertia[8])))
            return cs_fail(error, CS_INVALID, "inertia[%lld] is not symmetric", (long long)i);
    *inverse = 1 / *inertia;
    int definite = space->dimension == 3 ? invert(inertia, inverse) : *inertia > 0;
    for (int k = 0; k < space->inertia; k++) definite = definite && isfinite(inverse[k]);
    if (!definite)
        return cs_fail(error, CS_INVALID, "inertia[%lld] is not positive definite", (long long)i);
    memcpy(rigid->inertia + at * space->inertia, inertia, size * (size_t)space->inertia);
    rigid->mass[at] = mass;
    rigid->inverse_mass[at] = 1 / mass;

    /* Flags. */
    rigid->driven[at] = given->driven && given->driven[i];
    rigid->removed[at] = 0;
    rigid->movable[at] = !rigid->driven[at];
    memset(rigid->force + at * space->dof, 0, size * (size_t)space->dof);
    return CS_OK;
}

cs_status cs_world_add_bodies(cs_world *world, const cs_world_bodies *bodies, int64_t *first,
                              cs_error *error)
{
    cs_rigid *rigid = &world->rigid;
    int64_t begin = rigid->count;
    cs_status status = reserve(world, begin + bodies->count, error);
    for (int64_t i = 0; i < bodies->count && !status; i++)
        status = take_body(world, bodies, i, begin + i, error);
    if (status) return status;
    for (int64_t i = begin; i < begin + bodies->count && world->space.dimension == 3; i++)
        rigid->isotropic &= rigid->driven[i] || is_isotropic(rigid->inertia + 9 * i);
    rigid->count += bodies->count;
    world->step.ordered = -1;
    world->changed = 1;
    *first = begin;
    return CS_OK;
}

cs_status cs_world_add_shapes(cs_world *world, const cs_shape *shapes, const int *material,
                              int64_t count, int64_t *first, cs_error *error)
{
    for (int64_t i = 0; i < count; i++) {
        if (material[i] < 0 || material[i] >= world->materials.count)
            return cs_fail(error, CS_INVALID, "material[%lld] is %d: there are %d", (long long)i,
                           material[i], world->materials.count);
        int64_t body = shapes[i].body;
        if (body < -1 || body >= world->rigid.count || (body >= 0 && world->rigid.removed[body]))
            return cs_fail(error, CS_INVALID,
                           "body[%lld] is %lld: -1 for the fixed world, or a body is needed",
                           (long long)i, (long long)body);
    }
    int64_t given = world->shapes, total = given + count;
    int *material_of = cs_buffer_grown(&world->material, total, given, sizeof *material_of);
    int64_t *owner = cs_buffer_grown(&world->owner, total, given, sizeof *owner);
    if (!material_of || !owner) return cs_no_memory(error, "%lld shapes", (long long)total);
    cs_status status = cs_collider_add(world->collider, shapes, count, first, error);
    if (status) return status;
    for (int64_t i = 0; i < count; i++) {
        material_of[*first + i] = material[i];
        owner[*first + i] = shapes[i].body;
    }
    world->shapes = *first + count;
    world->changed = 1;
    return CS_OK;
}

cs_status cs_world_remove(cs_world *world, int64_t body, cs_error *error)
{
    if (body < 0 || body >= world->rigid.count || world->rigid.removed[body])
        return cs_fail(error, CS_INVALID, "body %lld is not in the world", (long long)body);
    int64_t *owner = world->owner.data;
    int *material = world->material.data;
    for (int64_t i = 0; i < world->shapes; i++) {
        if (owner[i] != body) continue;
        cs_status status = cs_collider_remove(world->collider, i, error);
        if (status) return status;
        owner[i] = -1;
        material[i] = -1;
    }
    world->rigid.removed[body] = 1;
    world->rigid.movable[body] = 0;
    world->joints.apart_is_known = 0;
    memset(world->rigid.now.velocity + body * world->space.dof, 0,
           sizeof(double) * (size_t)world->space.dof);
    world->step.ordered = -1;
    world->changed = 1;
    return CS_OK;
}

cs_status cs_world_place(cs_world *world, const int64_t *body, int64_t count,
                         const double *position, const double *orientation, const double *velocity,
                         cs_error *error)
{
    cs_world_bodies given = {
        .position = position, .orientation = orientation, .velocity = velocity};
    for (int64_t i = 0; i < count; i++) {
        if (body[i] < 0 || body[i] >= world->rigid.count || world->rigid.removed[body[i]])
            return cs_fail(error, CS_INVALID, "body %lld is not in the world", (long long)body[i]);
        cs_status status = check_motion(&world->space, &given, i, error);
        if (status) return status;
    }
    for (int64_t i = 0; i < count; i++) take_motion(world, &given, i, body[i]);
    return CS_OK;
}

/* ---- what callers see -------------------------------------------------------------------------- */

void cs_world_look(const cs_world *world, cs_world_view *view)
{
    const cs_rigid *rigid = &world->rigid;
    const cs_memory *closed = &world->closed;
    *view = (cs_world_view){
        .bodies = rigid->count,
        .position = rigid->now.position,
        .orientation = rigid->now.orientation,
        .velocity = rigid->now.velocity,
        .force = rigid->force,
        .mass = rigid->mass,
        .inertia = rigid->inertia,
        .driven = rigid->driven,
        .removed = rigid->removed,
        .contacts = closed->count,
        .contact =
            {
                .count = closed->count,
                .shape = closed->shape.data,
                .feature = closed->feature.data,
                .body = closed->body.data,
                .point = closed->point.data,
                .normal = closed->normal.data,
                .gap = closed->gap.data,
            },
        .impulse = closed->impulse.data,
        .joints = world->joints.count,
        .drive = world->joints.drive,
        .joint_impulse = world->joints.now.impulse,
        .joint_removed = world->joints.removed,
        .report = world->report,
        .steps = world->steps,
        .time = (double)world->steps * world->options.time_step,
        .problem = world->step.problem,
    };
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void exchange(cs_memory *a, cs_memory *b)
{
    cs_memory kept = *a;
    *a = *b;
    *b = kept;
}

cs_status cs_world_step(cs_world *world, const cs_control *control, cs_error *error)
{
    /* The step, of a copy of the state. */
    double begun = cs_clock();
    cs_step_report before = world->report;
    world->report = (cs_step_report){.natural_map = NAN, .natural_map_scaled = NAN};
    exchange(&world->closed, &world->last);
    cs_world_begin_motion(world);
    cs_status status = cs_world_check_drives(world, error);
    if (!status) status = world->stepper->step(world, control, error);
    if (!status) status = cs_world_check_motion(world, error);

    /* A step that failed leaves everything as it was, but for the problem of the step before. */
    if (status) {
        exchange(&world->closed, &world->last);
        cs_step_problem_release(&world->step);
        world->report = before;
        world->changed = 1;
        return status;
    }
    cs_world_end_joints(world);
    cs_world_end_motion(world);
    world->changed = 0;
    world->steps++;
    world->report.contacts = world->closed.count;
    world->report.seconds = cs_clock() - begun;
    return CS_OK;
}
