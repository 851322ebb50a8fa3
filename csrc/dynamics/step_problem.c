/* The problem of a step: the closed contacts and the joints in groups of one set, and its solution.
 *
 *     u^E = u^S + M^-1 (h dt + J^T lambda)      S2 Table 4.2
 *
 * The problem has its own order of bodies (body_order.c), and contacts follow the later of their bodies. */
#include "core/clock.h"
#include "core/counting_sort.h"
#include "core/error.h"
#include "core/loop.h"
#include "core/pages.h"
#include "core/parallel.h"
#include "dynamics/world.h"
#include "problem/frames.h"
#include "solver/solver.h"

#include <string.h>

/* Steps that one thread makes alone after one in which another thread came late: to ask costs as much again. */
enum { STEPS_ON_ONE_THREAD = 16 };

int cs_world_threads(cs_world *world, int64_t size)
{
    const cs_options *options = &world->options.solver;
    cs_step_problem *step = &world->step;
    int64_t preemptions = -1;
    if (options->exact_threads) return cs_threads_exactly(options->threads, CS_LOOP_PIECES);
    if (step->on_one_thread > 0) return 1;
    int most = cs_threads_for(options->threads, size, CS_WORTH_THREADS_SETUP, CS_LOOP_PIECES);
    int threads = cs_threads_for_now(most, &preemptions);
    if (threads < most) step->on_one_thread = STEPS_ON_ONE_THREAD;
    return threads;
}

/* The threads that share loops over the contacts and joints of this step. */
static void choose_threads(cs_world *world)
{
    cs_step_problem *step = &world->step;
    step->threads = cs_world_threads(world, world->closed.count + world->joints.count);
    if (step->on_one_thread > 0) step->on_one_thread--;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The group of contacts with this law, which may be a new one; -1 if there are too many. */
static int group_of(cs_world *world, const cs_law *law)
{
    cs_step_problem *step = &world->step;
    for (int g = 0; g < step->groups; g++) {
        const cs_step_group *group = &step->group[g];
        if (group->rows == law->rows && group->parameters == law->parameters &&
            strcmp(group->set, law->set) == 0)
            return g;
    }
    if (step->groups == CS_CONTACT_GROUPS) return -1;
    cs_step_group *group = &step->group[step->groups];
    group->set = law->set;
    group->rows = law->rows;
    group->parameters = law->parameters;
    group->frames = world->space.dimension == 3;
    group->soft = world->options.contact_compliance > 0;
    group->count = 0;
    return step->groups++;
}

/* The numbers that the rows of a block take: a frame for a contact in space, else J. */
static int row_numbers(const cs_step_group *group, const cs_space *space)
{
    return group->frames ? CS_FRAME_NUMBERS : 2 * group->rows * space->dof;
}

/* Room for the arrays of a group. */
static int make_room(cs_step_group *group, const cs_space *space)
{
    size_t size = sizeof(double);
    return cs_buffer_room(&group->jacobian, group->count * row_numbers(group, space), size) &&
           cs_buffer_room(&group->bodies, 2 * group->count, sizeof(int64_t)) &&
           cs_buffer_room(&group->b, group->count * group->rows, size) &&
           cs_buffer_room(&group->compliance, group->soft * group->count * group->rows, size) &&
           cs_buffer_room(&group->parameter, group->count * group->parameters, size);
}

/* key[c] <- the later of the numbers of the bodies of contact c, plus 1. */
typedef struct keys {
    const cs_world *world;
    int64_t *key;
} keys;

static void find_keys(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const keys *k = context;
    const int64_t *body = k->world->found.body;
    for (int64_t c = begin; c < end; c++) {
        int64_t first = cs_body_number(&k->world->step, body[2 * c]);
        int64_t second = cs_body_number(&k->world->step, body[2 * c + 1]);
        k->key[c] = 1 + (first > second ? first : second);
    }
}

/* step->sequence <- the contacts, sorted by the later of their bodies. */
static cs_status sort_contacts(cs_world *world, cs_error *error)
{
    int64_t count = world->closed.count;
    cs_arena scratch = {0};
    keys k = {world, cs_arena_take_unset(&scratch, count, sizeof(int64_t))};
    cs_counting_sort sort = {
        .threads = world->step.threads,
        .count = count,
        .key = k.key,
        .keys = world->step.bodies + 1,
        .sorted = cs_buffer_room(&world->step.sequence, count, sizeof(int64_t)),
    };
    cs_status status = CS_OK;
    if (!k.key || !sort.sorted) status = cs_no_memory(error, "%lld contacts", (long long)count);
    else {
        cs_loop(sort.threads, count, find_keys, &k);
        status = cs_sort_by_key(&sort, &scratch, error);
    }
    cs_arena_clear(&scratch);
    return status;
}

/* Whether all contacts have one law. */
static int have_one_law(const cs_world *world)
{
    const cs_law *const *law = world->closed.law.data;
    for (int64_t c = 1; c < world->closed.count; c++)
        if (law[c] != law[0]) return 0;
    return world->closed.count > 0;
}

/* Places of contacts that all have one law: those of the sequence. */
static void place_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    cs_step_problem *step = context;
    const int64_t *sequence = step->sequence.data;
    cs_place *place = step->place.data;
    for (int64_t i = begin; i < end; i++) place[sequence[i]] = (cs_place){0, i};
}

/* Places of contacts by their laws. Returns whether there are groups enough. */
static int place_by_laws(cs_world *world)
{
    cs_step_problem *step = &world->step;
    const cs_law *const *law = world->closed.law.data, *last = NULL;
    const int64_t *sequence = step->sequence.data;
    cs_place *place = step->place.data;
    for (int64_t i = 0, g = 0; i < world->closed.count; i++) {
        int64_t c = sequence[i];
        if (law[c] != last) g = group_of(world, law[c]);
        last = law[c];
        if (g < 0) return 0;
        place[c] = (cs_place){(int)g, step->group[g].count++};
    }
    return 1;
}

/* The place of every contact in the problem. */
static cs_status divide_contacts(cs_world *world, cs_error *error)
{
    cs_step_problem *step = &world->step;
    int64_t count = world->closed.count;
    if (!cs_buffer_room(&step->place, count, sizeof(cs_place)))
        return cs_no_memory(error, "%lld contacts", (long long)count);
    step->groups = 0;
    step->law = have_one_law(world) ? *(const cs_law *const *)world->closed.law.data : NULL;
    if (step->law) {
        step->group[group_of(world, step->law)].count = count;
        cs_loop(step->threads, count, place_piece, step);
    } else if (!place_by_laws(world))
        return cs_fail(error, CS_UNSUPPORTED,
                       "the contacts of a step have more than %d kinds of sets and rows",
                       CS_CONTACT_GROUPS);
    step->contact_groups = step->groups;
    return CS_OK;
}

/* The place of every contact and of every part of a joint, and room for what the problem takes. */
static cs_status divide(cs_world *world, cs_error *error)
{
    cs_step_problem *step = &world->step;
    int64_t count = world->closed.count;
    cs_status status = divide_contacts(world, error);
    if (!status) status = cs_divide_joints(world, error);
    if (status) return status;

    /* Groups one after another. */
    int64_t row = 0;
    for (int g = 0; g < step->groups; g++) {
        cs_step_group *group = &step->group[g];
        if (!make_room(group, &world->space))
            return cs_no_memory(error, "%lld contacts", (long long)count);
        group->begin = row;
        row += group->count * group->rows;
    }
    return CS_OK;
}

/* ---- the problem ----------------------------------------------------------------------------- */

void cs_step_problem_release(cs_step_problem *step)
{
    cs_solver_destroy(step->solver);
    cs_problem_destroy(step->problem);
    step->solver = NULL;
    step->problem = NULL;
}

/* Whether the contacts are between the same shapes as in the step before, and the same bodies move. The problem does
 * not know of features: a pair with as many contacts, at other corners, has the same rows with other numbers. */
static int are_same_contacts(const cs_world *world)
{
    const cs_memory *closed = &world->closed, *last = &world->last;
    size_t count = (size_t)closed->count;
    if (world->changed || closed->count != last->count) return 0;
    return !count ||
           (memcmp(closed->shape.data, last->shape.data, 2 * count * sizeof(int64_t)) == 0 &&
            memcmp(closed->law.data, last->law.data, count * sizeof(cs_law *)) == 0);
}

/* New values for the problem of the step before. */
static cs_status update(cs_world *world, cs_error *error)
{
    cs_step_problem *step = &world->step;
    const double *inverse = step->inverse.data;
    const double *jacobian[CS_STEP_GROUPS], *frame[CS_STEP_GROUPS], *b[CS_STEP_GROUPS],
        *parameter[CS_STEP_GROUPS];
    for (int g = 0; g < step->groups; g++) {
        const double *rows = step->group[g].jacobian.data;
        jacobian[g] = step->group[g].frames ? NULL : rows;
        frame[g] = step->group[g].frames ? rows : NULL;
        b[g] = step->group[g].b.data;
        parameter[g] = step->group[g].parameter.data;
    }
    cs_values values = {
        .inverse_mass = step->full ? &inverse : NULL,
        .jacobian = jacobian,
        .frame = frame,
        .b = b,
        .parameters = parameter,
    };
    step->problem->threads = step->threads;
    return cs_problem_update(step->problem, &values, error);
}

/* Puts the bodies of the problem side by side. M^-1 stays for callers who read the problem later. */
static cs_status gather_bodies(cs_world *world, cs_error *error)
{
    cs_step_problem *step = &world->step;
    int dof = world->space.dof, each = world->rigid.isotropic ? dof : dof * dof;
    int64_t motion = step->bodies * (world->space.dimension + 2 * dof);
    if (!cs_buffer_room(&step->motion, motion, sizeof(double)) ||
        !cs_buffer_room(&step->inverse, step->bodies * each, sizeof(double)))
        return cs_no_memory(error, "%lld bodies", (long long)step->bodies);
    cs_loop(step->threads, step->bodies, cs_gather_bodies, world);
    return CS_OK;
}

/* A new problem. */
static cs_status build(cs_world *world, cs_error *error)
{
    cs_step_problem *step = &world->step;
    int dof = world->space.dof;
    cs_status status = cs_problem_create(&step->problem, error);
    if (!status) step->problem->threads = step->threads;
    cs_bodies bodies = {
        .count = step->bodies,
        .dof = dof,
        .diagonal = world->rigid.isotropic,
        .inverse_mass = step->inverse.data,
    };
    if (!status) status = cs_problem_add_bodies(step->problem, &bodies, error);
    step->full = !world->rigid.isotropic;
    for (int g = 0; g < step->groups && !status; g++) {
        const cs_step_group *group = &step->group[g];
        cs_blocks blocks = {
            .count = group->count,
            .rows = group->rows,
            .dof = {dof, dof},
            .jacobian = group->frames ? NULL : group->jacobian.data,
            .frame = group->frames ? group->jacobian.data : NULL,
            .bodies = group->bodies.data,
            .b = group->b.data,
            .set = group->set,
            .parameters = group->parameter.data,
            .compliance = group->soft ? group->compliance.data : NULL,
            .parameters_each = cs_set_is_variable(group->set) ? group->parameters : 0,
        };
        status = cs_problem_add_blocks(step->problem, &blocks, error);
    }
    return status;
}

/* The order of bodies and contacts in the problem. A world that was restored has no problem to keep: it has to keep the
 * order where the world that was saved kept its problem. */
static cs_status order(cs_world *world, int same_contacts, cs_error *error)
{
    cs_step_problem_release(&world->step);
    cs_status status = CS_OK;
    if (world->step.ordered < 0 || (!same_contacts && cs_order_is_due(world))) {
        status = cs_order_bodies(world, error);
        world->step.scheme = NULL;
    }
    if (!status && world->closed.count) status = sort_contacts(world, error);
    return status ? status : divide(world, error);
}

/* The next step most likely takes as much memory for its problem and solver as this one. */
static void reserve_pages(cs_step_problem *step)
{
    cs_solver_info info;
    cs_solver_describe(step->solver, &info);
    size_t bytes = (size_t)info.bytes + step->problem->arena.bytes;
    cs_pages_reserve(bytes);
    cs_pages_unreserve(step->reserved);
    step->reserved = bytes;
}

/* A solver for the problem. To choose a scheme takes as long as to pack it, and the choice seldom changes: until bodies
 * are ordered anew, the one is kept whose work is proportional to the contacts. */
static cs_status make_solver(cs_world *world, const cs_control *control, cs_error *error)
{
    cs_step_problem *step = &world->step;
    cs_options options = world->options.solver;
    int chooses = strcmp(options.scheme, "auto") == 0;
    if (chooses && step->scheme) options.scheme = step->scheme;
    cs_status status = cs_solver_create(&step->solver, step->problem, &options, control, error);
    const cs_scheme *chosen = status ? NULL : step->solver->scheme;
    if (chooses && chosen && strcmp(chosen->name, CS_STEP_SCHEME) == 0)
        step->scheme = CS_STEP_SCHEME;
    if (!status) reserve_pages(step);
    return status;
}

/* The problem of the closed contacts and the joints, and a solver for it. */
static cs_status prepare(cs_world *world, double feedback, const cs_control *control,
                         cs_error *error)
{
    /* The rows of all contacts and joints. */
    int same_contacts = are_same_contacts(world);
    int unchanged =
        same_contacts && world->step.solver && world->step.full == !world->rigid.isotropic;
    int64_t count = world->closed.count;
    choose_threads(world);
    cs_status status = unchanged ? CS_OK : order(world, same_contacts, error);
    if (!status) status = gather_bodies(world, error);
    if (status) return status;
    cs_row_work work = {world, feedback};
    world->step.feedback = feedback;
    cs_loop(world->step.threads, count, cs_fill_rows, &work);
    cs_loop(world->step.threads, world->step.parts, cs_fill_joints, world);

    /* The problem and its solver: new values, or new ones. */
    if (unchanged) return update(world, error);
    cs_fill_compliances(world);
    status = build(world, error);
    if (!status) status = make_solver(world, control, error);
    if (status) cs_step_problem_release(&world->step);
    else world->report.new_solver = 1;
    return status;
}

/* ---- impulses -------------------------------------------------------------------------------- */

/* The first row of a contact in lambda. */
static int64_t row_of(const cs_step_problem *step, const cs_place *place)
{
    const cs_step_group *group = &step->group[place->group];
    return group->begin + place->index * group->rows;
}

/* Impulses, and the index set, between contacts and the rows of the problem. */
typedef struct transfer {
    cs_world *world;
    double *values;         /* (rows) */
    signed char *index_set; /* (rows); NULL: the method has none */
    int out;                /* to the contacts */
} transfer;

/* The index set of contact c, of m rows. */
static void move_indices(const transfer *t, int64_t c, int64_t row, int m)
{
    unsigned char *code = (unsigned char *)t->world->closed.index.data + CS_WORLD_ROWS * c;
    for (int i = 0; i < m; i++) {
        if (t->out) code[i] = cs_index_code(t->index_set[row + i]);
        else t->index_set[row + i] = cs_index_of_code(code[i]);
    }
}

static void move_impulses(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const transfer *t = context;
    const cs_step_problem *step = &t->world->step;
    const cs_place *place = step->place.data;
    const int64_t *sequence = step->sequence.data;
    for (int64_t i = begin; i < end; i++) {
        int64_t c = sequence[i];
        double *rows = t->values + row_of(step, &place[c]);
        double *own = (double *)t->world->closed.impulse.data + CS_WORLD_ROWS * c;
        double *to = t->out ? own : rows;
        const double *from = t->out ? rows : own;
        int m = step->group[place[c].group].rows;
        if (m == 3) memcpy(to, from, 3 * sizeof(double)); /* without a call */
        else memcpy(to, from, sizeof(double) * (size_t)m);
        if (t->index_set) move_indices(t, c, row_of(step, &place[c]), m);
    }
}

/* values and index_set (rows) <- those of the contacts; or the other way. */
static void exchange(cs_world *world, double *values, signed char *index_set, int out)
{
    transfer t = {world, values, index_set, out};
    cs_loop(world->step.threads, world->closed.count, move_impulses, &t);
}

/* What changes the velocities of the bodies. */
typedef struct acceleration {
    cs_world *world;
    const double *change; /* by the contacts, in the order of the problem; or NULL */
} acceleration;

static void accelerate_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const acceleration *a = context;
    cs_rigid *rigid = &a->world->rigid;
    const int64_t *number = a->world->step.number.data;
    int dof = a->world->space.dof;
    for (int64_t i = begin; i < end; i++) {
        double *velocity = rigid->next.velocity + i * dof;
        const double *own = a->change && number[i] >= 0 ? a->change + number[i] * dof : NULL;
        for (int k = 0; k < dof; k++)
            velocity[k] += rigid->change[i * dof + k] + (own ? own[k] : 0);
    }
}

/* next.u += M^-1 h dt + the velocity change by the contacts (NULL: none). */
static void accelerate(cs_world *world, int threads, const double *change)
{
    acceleration a = {world, change};
    cs_loop(threads, world->rigid.count, accelerate_piece, &a);
}

/* The pivots of a solve; 0 if its method makes none. */
static int64_t pivots_of(const cs_result *result)
{
    for (int i = 0; i < result->figures; i++)
        if (strcmp(result->figure[i].name, "pivots") == 0 && result->figure_value[i] > 0)
            return (int64_t)result->figure_value[i];
    return 0;
}

/* Solves the problem, and keeps the impulses and what the solve reports. */
static cs_status find_impulses(cs_world *world, const cs_control *control, cs_error *error)
{
    cs_step_problem *step = &world->step;
    int64_t rows = cs_problem_rows(step->problem);
    int64_t velocities = step->bodies * world->space.dof;
    double *initial = cs_buffer_room(&step->initial, rows, sizeof *initial);
    double *impulse = cs_buffer_room(&step->impulse, rows, sizeof *impulse);
    double *velocity = cs_buffer_room(&step->velocity, velocities, sizeof *velocity);
    signed char *index_set = world->pivots ? cs_buffer_room(&step->index_set, rows, 1) : NULL;
    if (!initial || !impulse || !velocity || (world->pivots && !index_set))
        return cs_no_memory(error, "%lld rows", (long long)rows);
    exchange(world, initial, index_set, 0);
    cs_give_joint_impulses(world, initial, index_set);

    /* The solve; any impulses that it returns are used. */
    cs_result result = {.impulses = impulse, .velocity_change = velocity};
    cs_status status = index_set ? cs_solver_begin_with(step->solver, index_set, error) : CS_OK;
    if (!status)
        status = cs_solver_solve(step->solver, initial, NULL, NULL, control, &result, error);
    if (status) return status;
    if (index_set) memcpy(index_set, cs_solver_index_set(step->solver), (size_t)rows);
    exchange(world, impulse, index_set, 1);
    cs_take_joint_impulses(world, impulse, index_set);
    world->report.outcome = result.outcome;
    world->report.iterations = result.iterations;
    world->report.pivots = pivots_of(&result);
    world->report.natural_map = result.natural_map;
    world->report.natural_map_scaled = result.natural_map_scaled;
    accelerate(world, step->threads, velocity);
    return CS_OK;
}

cs_status cs_world_solve(cs_world *world, double feedback, const cs_control *control,
                         cs_error *error)
{
    world->report.outcome = CS_CONVERGED;
    if (!world->closed.count && !cs_joints_have_rows(world)) {
        cs_step_problem_release(&world->step);
        world->step.parts = 0;
        cs_take_joint_impulses(world, NULL, NULL);
        accelerate(world, 1, NULL);
        return CS_OK;
    }

    /* Set up, and solve. */
    double begun = cs_clock();
    cs_status status = prepare(world, feedback, control, error);
    double prepared = cs_clock();
    if (!status) status = find_impulses(world, control, error);
    world->report.setup_seconds = prepared - begun;
    world->report.solve_seconds = cs_clock() - prepared;
    return status;
}
