/* The state of a world: what a step takes from those before it, as arrays with names.
 *
 *     save:     world --> numbers, arrays of its own
 *     restore:  arrays --> checks --> room for the contacts --> the same arrays of this world
 *
 * Both list the arrays by one function, `describe`: an array that is added there is saved and restored. What a caller
 * adds in other ways (options, materials, bodies, shapes, joints) is not part of a state. */
#include "core/error.h"
#include "dynamics/world.h"

#include <math.h>
#include <string.h>

enum { STEPS, ITERATIONS, OUTCOME, CHANGED, ORDERED, FACTORIZED, COUNTERS };

/* ---- the arrays ------------------------------------------------------------------------------ */

static void list(cs_world_state *state, const char *name, cs_number_kind kind, int64_t rows,
                 int columns, void *data)
{
    state->array[state->count++] = (cs_state_array){name, kind, rows, columns, data};
}

/* state <- the arrays of a world, with the contacts in `memory`. */
static void describe(cs_world *world, cs_memory *memory, cs_world_state *state)
{
    /* Bodies. */
    cs_rigid *rigid = &world->rigid;
    const cs_space *space = &world->space;
    int64_t bodies = rigid->count, contacts = memory->count;
    state->count = 0;
    list(state, "position", CS_FLOAT64, bodies, space->dimension, rigid->now.position);
    list(state, "orientation", CS_FLOAT64, bodies, space->orientation, rigid->now.orientation);
    list(state, "velocity", CS_FLOAT64, bodies, space->dof, rigid->now.velocity);
    list(state, "force", CS_FLOAT64, bodies, space->dof, rigid->force);
    list(state, "removed", CS_UINT8, bodies, 1, rigid->removed);

    /* Closed contacts of the last step. */
    list(state, "contact_shape", CS_INT64, contacts, 2, memory->shape.data);
    list(state, "contact_feature", CS_INT32, contacts, 1, memory->feature.data);
    list(state, "contact_body", CS_INT64, contacts, 2, memory->body.data);
    list(state, "contact_point", CS_FLOAT64, contacts, space->dimension, memory->point.data);
    list(state, "contact_normal", CS_FLOAT64, contacts, space->dimension, memory->normal.data);
    list(state, "contact_gap", CS_FLOAT64, contacts, 1, memory->gap.data);
    list(state, "contact_impulse", CS_FLOAT64, contacts, CS_WORLD_ROWS, memory->impulse.data);
    list(state, "contact_law_holds", CS_UINT8, contacts, 1, world->saved.law_holds.data);

    /* The order of bodies in the problem. */
    list(state, "body_number", CS_INT64, bodies, 1, world->saved.number.data);

    /* Joints. */
    cs_joints *joints = &world->joints;
    list(state, "joint_removed", CS_UINT8, joints->count, 1, joints->removed);
    list(state, "joint_drive", CS_FLOAT64, joints->count, CS_DRIVE_NUMBERS, joints->drive);
    list(state, "joint_coordinate", CS_FLOAT64, joints->count, 1, joints->now.coordinate);
    list(state, "joint_impulse", CS_FLOAT64, joints->count, CS_JOINT_ROWS, joints->now.impulse);

    /* The index set from which methods that pivot begin. */
    if (world->pivots) {
        list(state, "contact_index", CS_UINT8, contacts, CS_WORLD_ROWS, memory->index.data);
        list(state, "joint_index", CS_UINT8, joints->count, CS_JOINT_ROWS, joints->now.index);
        list(state, "pivots", CS_INT64, 1, 1, &world->saved.pivots);
    }

    /* Numbers of the last step. */
    list(state, "counter", CS_INT64, 1, COUNTERS, world->saved.counter);
    list(state, "natural_map", CS_FLOAT64, 1, 2, world->saved.natural_map);
}

/* Room for what a saved state has in other forms. */
static cs_status make_room(cs_world *world, int64_t contacts, cs_error *error)
{
    if (cs_buffer_room(&world->saved.law_holds, contacts, 1) &&
        cs_buffer_room(&world->saved.number, world->rigid.count, sizeof(int64_t)))
        return CS_OK;
    return cs_no_memory(error, "%lld contacts", (long long)contacts);
}

/* The law of a contact's materials as they are now; NULL without an error if one of its shapes was removed. */
static const cs_law *law_of_shapes(cs_world *world, const int64_t *shape, cs_error *error)
{
    const int *material = world->material.data;
    int first = material[shape[0]], second = material[shape[1]];
    return first < 0 || second < 0 ? NULL : cs_law_between(world, first, second, error);
}

cs_status cs_world_save(cs_world *world, cs_world_state *state, cs_error *error)
{
    /* Laws are where they are in memory; what a step asks is whether they are those of the next one. */
    const cs_memory *closed = &world->closed;
    const cs_law *const *law = closed->law.data;
    cs_status status = make_room(world, closed->count, error);
    if (status) return status;
    unsigned char *law_holds = world->saved.law_holds.data;
    for (int64_t c = 0; c < closed->count; c++) {
        const int64_t *shape = (const int64_t *)closed->shape.data + 2 * c;
        law_holds[c] = law_of_shapes(world, shape, NULL) == law[c];
    }

    /* Numbers of the last step. */
    const cs_step_report *report = &world->report;
    world->saved.counter[STEPS] = world->steps;
    world->saved.counter[ITERATIONS] = report->iterations;
    world->saved.counter[OUTCOME] = report->outcome;
    world->saved.counter[CHANGED] = world->changed;
    world->saved.pivots = report->pivots;

    /* The order of bodies, unless they have to be ordered anew. */
    const cs_step_problem *step = &world->step;
    int64_t *number = world->saved.number.data;
    for (int64_t i = 0; i < world->rigid.count; i++)
        number[i] = step->ordered < 0 ? -1 : ((const int64_t *)step->number.data)[i];
    world->saved.counter[ORDERED] = step->ordered;
    world->saved.counter[FACTORIZED] = step->scheme != NULL;
    world->saved.natural_map[0] = report->natural_map;
    world->saved.natural_map[1] = report->natural_map_scaled;
    describe(world, &world->closed, state);
    return CS_OK;
}

/* ---- checks of what is restored ---------------------------------------------------------------- */

static const char *const kind_names[] = {"float64", "int64", "int32", "uint8"};
static const size_t kind_size[] = {sizeof(double), sizeof(int64_t), sizeof(int32_t), 1};

static const cs_state_array *find_array(const cs_world_state *state, const char *name)
{
    for (int i = 0; i < state->count; i++)
        if (strcmp(state->array[i].name, name) == 0) return &state->array[i];
    return NULL;
}

/* Whether the world can do without an array. */
static int is_optional(const char *name)
{
    static const char *const optional[] = {"force", "contact_index", "joint_index", "pivots"};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (strcmp(name, optional[i]) == 0) return 1;
    return 0;
}

/* Whether all numbers of an array have to be finite. */
static int is_finite(const cs_state_array *array)
{
    return array->kind == CS_FLOAT64 && strcmp(array->name, "natural_map") != 0 &&
           strcmp(array->name, "joint_drive") != 0;
}

/* The arrays that are given must be those of the world. */
static cs_status check_arrays(const cs_world_state *wanted, const cs_world_state *given,
                              cs_error *error)
{
    for (int i = 0; i < wanted->count; i++) {
        const cs_state_array *own = &wanted->array[i], *array = find_array(given, own->name);
        if (!array && is_optional(own->name)) continue;
        if (!array) return cs_fail(error, CS_INVALID, "the array %s is missing", own->name);
        if (array->kind != own->kind || array->columns != own->columns || array->rows != own->rows)
            return cs_fail(error, CS_INVALID, "%s is (%lld, %d) of %s: (%lld, %d) of %s is needed",
                           own->name, (long long)array->rows, array->columns,
                           kind_names[array->kind], (long long)own->rows, own->columns,
                           kind_names[own->kind]);
        if (!is_finite(own)) continue;
        for (int64_t k = 0; k < array->rows * array->columns; k++)
            if (!isfinite(((const double *)array->data)[k]))
                return cs_fail(error, CS_INVALID, "%s[%lld] is %s: a finite number is needed",
                               own->name, (long long)(k / own->columns),
                               cs_number(((const double *)array->data)[k]).text);
    }
    return CS_OK;
}

/* Quaternions must have the length 1, as far as rounding allows. */
static cs_status check_orientations(const cs_world *world, const cs_world_state *given,
                                    cs_error *error)
{
    const double *q = find_array(given, "orientation")->data;
    for (int64_t i = 0; world->space.dimension == 3 && i < world->rigid.count; i++) {
        double square = 0;
        for (int k = 0; k < 4; k++) square += q[4 * i + k] * q[4 * i + k];
        if (!(fabs(square - 1) < 1e-6))
            return cs_fail(error, CS_INVALID, "orientation[%lld] has the length %s: 1 is needed",
                           (long long)i, cs_number(sqrt(square)).text);
    }
    return CS_OK;
}

/* Contacts must be between shapes and bodies that there are, and sorted. */
static cs_status check_contacts(const cs_world *world, const cs_world_state *given, cs_error *error)
{
    const cs_state_array *shapes = find_array(given, "contact_shape");
    const int64_t *shape = shapes->data, *body = find_array(given, "contact_body")->data;
    const int32_t *feature = find_array(given, "contact_feature")->data;
    for (int64_t c = 0; c < shapes->rows; c++) {
        for (int k = 0; k < 2; k++) {
            if (shape[2 * c + k] < 0 || shape[2 * c + k] >= world->shapes)
                return cs_fail(error, CS_INVALID, "contact_shape[%lld, %d] is %lld: there are %lld",
                               (long long)c, k, (long long)shape[2 * c + k],
                               (long long)world->shapes);
            if (body[2 * c + k] < -1 || body[2 * c + k] >= world->rigid.count)
                return cs_fail(error, CS_INVALID, "contact_body[%lld, %d] is %lld: there are %lld",
                               (long long)c, k, (long long)body[2 * c + k],
                               (long long)world->rigid.count);
        }
        const int64_t *own = shape + 2 * c;
        if (c + 1 < shapes->rows && cs_compare_ids(own, feature[c], own + 2, feature[c + 1]) >= 0)
            return cs_fail(error, CS_INVALID, "contact_shape[%lld] is not after the one before it",
                           (long long)(c + 1));
    }
    return CS_OK;
}

/* Counters must be possible. */
static cs_status check_counters(const int64_t *counter, cs_error *error)
{
    static const struct {
        int64_t least, most;
    } range[COUNTERS] = {
        [STEPS] = {0, INT64_MAX / 2},
        [ITERATIONS] = {0, INT64_MAX / 2},
        [OUTCOME] = {CS_CONVERGED, CS_UNBOUNDED},
        [CHANGED] = {0, 1},
        [ORDERED] = {.least = -1}, /* at most the steps */
        [FACTORIZED] = {0, 1},
    };
    for (int i = 0; i < COUNTERS; i++) {
        int64_t most = i == ORDERED ? counter[STEPS] : range[i].most;
        if (counter[i] < range[i].least || counter[i] > most)
            return cs_fail(error, CS_INVALID, "counter[%d] is %lld: %lld to %lld is needed", i,
                           (long long)counter[i], (long long)range[i].least, (long long)most);
    }
    return CS_OK;
}

/* Joints are there or were removed. */
static cs_status check_joints(const cs_world *world, const cs_world_state *given, cs_error *error)
{
    const unsigned char *removed = find_array(given, "joint_removed")->data;
    for (int64_t i = 0; i < world->joints.count; i++)
        if (removed[i] > 1)
            return cs_fail(error, CS_INVALID, "joint_removed[%lld] is %d: 0 or 1 is needed",
                           (long long)i, removed[i]);
    return CS_OK;
}

/* Codes of an index set are those of cs_index_code, if there are any. */
static cs_status check_indices(const cs_world_state *given, const char *name, cs_error *error)
{
    const cs_state_array *array = find_array(given, name);
    for (int64_t i = 0; array && i < array->rows * array->columns; i++) {
        int code = ((const unsigned char *)array->data)[i];
        if (code >= CS_INDEX_CODES)
            return cs_fail(error, CS_INVALID, "%s[%lld, %lld] is %d: 0 to %d is needed", name,
                           (long long)(i / array->columns), (long long)(i % array->columns), code,
                           CS_INDEX_CODES - 1);
    }
    return CS_OK;
}

/* Bodies that were removed must have no shapes, and counters have to be possible. */
static cs_status check_numbers(const cs_world *world, const cs_world_state *given, cs_error *error)
{
    const unsigned char *removed = find_array(given, "removed")->data;
    const int64_t *owner = world->owner.data;
    const int64_t *counter = find_array(given, "counter")->data;
    for (int64_t i = 0; i < world->rigid.count; i++)
        if (removed[i] > 1 || removed[i] < world->rigid.removed[i])
            return cs_fail(error, CS_INVALID, "removed[%lld] is %d: %d%s is needed", (long long)i,
                           removed[i], world->rigid.removed[i],
                           world->rigid.removed[i] ? "" : " or 1");
    for (int64_t i = 0; i < world->shapes; i++)
        if (owner[i] >= 0 && removed[owner[i]])
            return cs_fail(error, CS_INVALID, "removed[%lld] is 1, but the body has shape %lld",
                           (long long)owner[i], (long long)i);
    return check_counters(counter, error);
}

/* The bodies that move must have the numbers from 0 on, each once, if they have been ordered. */
static cs_status check_order(const cs_world *world, const cs_world_state *given, cs_error *error)
{
    const int64_t *number = find_array(given, "body_number")->data;
    const unsigned char *removed = find_array(given, "removed")->data;
    int ordered = ((const int64_t *)find_array(given, "counter")->data)[ORDERED] >= 0;
    int64_t count = world->rigid.count, moving = 0, bad = -1;
    for (int64_t i = 0; i < count; i++) moving += !world->rigid.driven[i] && !removed[i];
    unsigned char *seen = cs_allocate(moving, 1);
    if (!seen) return cs_no_memory(error, "%lld bodies", (long long)count);
    for (int64_t i = 0; i < count && bad < 0; i++) {
        int moves = ordered && !world->rigid.driven[i] && !removed[i];
        int fits = moves ? number[i] >= 0 && number[i] < moving : number[i] == -1;
        if (!fits || (moves && seen[number[i]]++)) bad = i;
    }
    cs_release(seen);
    if (bad < 0) return CS_OK;
    return cs_fail(error, CS_INVALID, "body_number[%lld] is %lld: another number, once, is needed",
                   (long long)bad, (long long)number[bad]);
}

/* ---- restoring ------------------------------------------------------------------------------- */

/* The laws of contacts, of which some are no longer in force. */
static cs_status find_laws(cs_world *world, cs_memory *memory, const cs_world_state *given,
                           cs_error *error)
{
    static const cs_law replaced = {0};
    const int64_t *shape = find_array(given, "contact_shape")->data;
    const unsigned char *law_holds = find_array(given, "contact_law_holds")->data;
    const cs_law **law = memory->law.data;
    for (int64_t c = 0; c < memory->count; c++) {
        law[c] = law_holds[c] ? law_of_shapes(world, shape + 2 * c, error) : &replaced;
        if (!law[c])
            return cs_fail(error, CS_INVALID,
                           "contact_law_holds[%lld] is 1, but its law is unknown", (long long)c);
    }
    return CS_OK;
}

/* Copies the arrays that are given into those of the world. */
static void copy_arrays(const cs_world_state *own, const cs_world_state *given)
{
    for (int i = 0; i < own->count; i++) {
        const cs_state_array *to = &own->array[i], *from = find_array(given, to->name);
        size_t size = (size_t)(to->rows * to->columns) * kind_size[to->kind];
        if (!size) continue;
        if (from) memmove(to->data, from->data, size); /* a world may take its own state */
        else memset(to->data, 0, size);
    }
}

/* The order of bodies of the state, for which there is room. */
static void take_order(cs_world *world)
{
    cs_step_problem *step = &world->step;
    const int64_t *saved = world->saved.number.data;
    int64_t *number = step->number.data, *body = step->body.data;
    step->ordered = world->saved.counter[ORDERED];
    step->scheme = world->saved.counter[FACTORIZED] ? CS_STEP_SCHEME : NULL;
    step->bodies = 0;
    step->of = world->rigid.count;
    for (int64_t i = 0; i < step->of; i++) {
        number[i] = saved[i];
        if (number[i] < 0) continue;
        body[number[i]] = i;
        step->bodies++;
    }
}

/* What follows from the arrays. */
static void take_numbers(cs_world *world)
{
    const cs_saved_numbers *saved = &world->saved;
    cs_rigid *rigid = &world->rigid;
    for (int64_t i = 0; i < rigid->count; i++)
        rigid->movable[i] = !rigid->driven[i] && !rigid->removed[i];
    world->joints.apart_is_known = 0;
    world->steps = saved->counter[STEPS];
    world->changed = saved->counter[CHANGED] != 0;
    world->report = (cs_step_report){
        .contacts = world->closed.count,
        .iterations = saved->counter[ITERATIONS],
        .pivots = world->pivots ? saved->pivots : 0,
        .outcome = (cs_outcome)saved->counter[OUTCOME],
        .natural_map = saved->natural_map[0],
        .natural_map_scaled = saved->natural_map[1],
    };
}

cs_status cs_world_restore(cs_world *world, const cs_world_state *state, cs_error *error)
{
    /* Room for the contacts, in the memory of the step before the last, which nothing needs. */
    const cs_state_array *shapes = find_array(state, "contact_shape");
    int64_t count = shapes ? shapes->rows : 0;
    cs_memory *memory = &world->last;
    cs_status status = cs_memory_reserve(memory, count, world->space.dimension, error);
    if (status) return status;
    status = make_room(world, count, error);
    if (status) return status;
    memory->count = count;
    if (count) memset(memory->index.data, 0, CS_WORLD_ROWS * (size_t)count);

    /* Checks. */
    cs_world_state own;
    describe(world, memory, &own);
    status = check_arrays(&own, state, error);
    if (!status) status = check_orientations(world, state, error);
    if (!status) status = check_contacts(world, state, error);
    if (!status) status = check_numbers(world, state, error);
    if (!status) status = check_joints(world, state, error);
    if (!status && world->pivots) status = check_indices(state, "contact_index", error);
    if (!status && world->pivots) status = check_indices(state, "joint_index", error);
    if (!status) status = check_order(world, state, error);
    if (!status) status = find_laws(world, memory, state, error);
    int64_t bodies = world->rigid.count;
    if (!status &&
        (cs_buffer_reserve(&world->step.number, bodies, world->step.of, sizeof(int64_t)) ||
         cs_buffer_reserve(&world->step.body, bodies, world->step.of, sizeof(int64_t))))
        status = cs_no_memory(error, "%lld bodies", (long long)bodies);
    if (status) {
        memory->count = 0;
        return status;
    }

    /* From here on nothing fails. */
    copy_arrays(&own, state);
    cs_memory before = world->closed;
    world->closed = world->last;
    world->last = before;
    cs_step_problem_release(&world->step);
    take_numbers(world);
    take_order(world);
    return CS_OK;
}

cs_status cs_world_skip_shapes(cs_world *world, int64_t count, cs_error *error)
{
    int64_t given = world->shapes, total;
    if (count < 0 || count > INT32_MAX - given)
        return cs_fail(error, CS_INVALID, "count is %lld: a world has at most %d shapes",
                       (long long)count, INT32_MAX);
    total = given + count;
    int *material = cs_buffer_grown(&world->material, total, given, sizeof *material);
    int64_t *owner = cs_buffer_grown(&world->owner, total, given, sizeof *owner);
    if (!material || !owner) return cs_no_memory(error, "%lld shapes", (long long)total);
    for (int64_t i = given; i < total; i++) {
        material[i] = -1;
        owner[i] = -1;
    }
    cs_collider_skip(world->collider, count);
    world->shapes = total;
    return CS_OK;
}
