/* The problem of a step: the closed contacts in groups of one set, their Jacobians and b, and its solution.
 *
 *     b = (1 + epsilon) (J u^S) + J M^-1 h dt [+ gap / dt],    u^E = u^S + M^-1 (h dt + J^T lambda)      S2 eq. 4.31
 *
 * Bodies that cannot move are the fixed world to the solver; their velocities are part of J u^S (S2: chi). */
#include "core/clock.h"
#include "core/error.h"
#include "core/loop.h"
#include "core/parallel.h"
#include "dynamics/frame.h"
#include "dynamics/world.h"

#include <math.h>
#include <string.h>

static int threads_of(const cs_world *world, int64_t count)
{
    return cs_threads_for(world->options.solver.threads, count, CS_WORTH_THREADS_COPY,
                          CS_LOOP_PIECES);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The group of contacts with this law, which may be a new one; -1 if there are too many. */
static int group_of(cs_step_problem *step, const cs_law *law)
{
    for (int g = 0; g < step->groups; g++) {
        const cs_step_group *group = &step->group[g];
        if (group->rows == law->rows && group->parameters == law->parameters &&
            strcmp(group->set, law->set) == 0)
            return g;
    }
    if (step->groups == CS_STEP_GROUPS) return -1;
    cs_step_group *group = &step->group[step->groups];
    group->set = law->set;
    group->rows = law->rows;
    group->parameters = law->parameters;
    group->count = 0;
    return step->groups++;
}

/* Room for the arrays of a group. */
static int make_room(cs_step_group *group, int dof)
{
    size_t size = sizeof(double);
    return cs_buffer_room(&group->jacobian, 2 * group->count * group->rows * dof, size) &&
           cs_buffer_room(&group->bodies, 2 * group->count, sizeof(int64_t)) &&
           cs_buffer_room(&group->b, group->count * group->rows, size) &&
           cs_buffer_room(&group->parameter, group->count * group->parameters, size);
}

/* The place of every contact in the problem, and room for what the problem takes. */
static cs_status divide(cs_world *world, cs_error *error)
{
    cs_step_problem *step = &world->step;
    int64_t count = world->closed.count;
    const cs_law *const *law = world->closed.law.data;
    cs_place *place = cs_buffer_room(&step->place, count, sizeof *place);
    if (!place) return cs_no_memory(error, "%lld contacts", (long long)count);
    step->groups = 0;
    for (int64_t c = 0; c < count; c++) {
        int g = group_of(step, law[c]);
        if (g < 0)
            return cs_fail(error, CS_UNSUPPORTED,
                           "the contacts of a step have more than %d kinds of sets and rows",
                           CS_STEP_GROUPS);
        place[c] = (cs_place){g, step->group[g].count++};
    }
    int64_t row = 0;
    for (int g = 0; g < step->groups; g++) {
        cs_step_group *group = &step->group[g];
        if (!make_room(group, world->space.dof))
            return cs_no_memory(error, "%lld contacts", (long long)count);
        group->begin = row;
        row += group->count * group->rows;
    }
    return CS_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* rows (m, 6) <- sign times the rows of a body in space with this arm from its centre to the contact.  S1 eqs. 2.55 to
 * 2.63 */
static void rows_in_space(const cs_frame *frame, int m, const double *arm, double sign,
                          double *rows)
{
    const double *axis[3] = {frame->normal, frame->tangent[0], frame->tangent[1]};
    memset(rows, 0, sizeof(double) * 6 * (size_t)m);
    for (int i = 0; i < m && i < 3; i++) {
        const double *e = axis[i];
        double *row = rows + 6 * i;
        for (int k = 0; k < 3; k++) row[k] = sign * e[k];
        row[3] = sign * (arm[1] * e[2] - arm[2] * e[1]);
        row[4] = sign * (arm[2] * e[0] - arm[0] * e[2]);
        row[5] = sign * (arm[0] * e[1] - arm[1] * e[0]);
    }

    /* Spin about the normal; or rolling about the tangents. */
    for (int i = 3; i < m; i++) {
        const double *e = m == 4 ? frame->normal : axis[i - 2];
        for (int k = 0; k < 3; k++) rows[6 * i + 3 + k] = sign * e[k];
    }
}

/* The same in the plane, (m, 3): the tangent is the normal, turned by a quarter to the left. */
static void rows_in_plane(const double *normal, int m, const double *arm, double sign, double *rows)
{
    double axis[2][2] = {{normal[0], normal[1]}, {-normal[1], normal[0]}};
    for (int i = 0; i < m; i++) {
        rows[3 * i] = sign * axis[i][0];
        rows[3 * i + 1] = sign * axis[i][1];
        rows[3 * i + 2] = sign * (arm[0] * axis[i][1] - arm[1] * axis[i][0]);
    }
}

/* The rows of one body of a contact; returns whether the solver can move it. velocity (m) and change (m) += those of
 * the rows. */
static int add_body(const cs_world *world, int64_t c, int partner, const cs_frame *frame, int m,
                    double *rows, double *velocity, double *change)
{
    /* The fixed world. */
    const cs_rigid *rigid = &world->rigid;
    int dimension = world->space.dimension, dof = world->space.dof;
    int64_t body = world->found.body[2 * c + partner];
    memset(rows, 0, sizeof(double) * (size_t)(m * dof));
    if (body < 0) return 0;

    /* The rows. */
    double arm[3], sign = partner ? 1 : -1;
    for (int k = 0; k < dimension; k++)
        arm[k] = world->found.point[dimension * c + k] - rigid->next.position[dimension * body + k];
    if (dimension == 3) rows_in_space(frame, m, arm, sign, rows);
    else rows_in_plane(world->found.normal + 2 * c, m, arm, sign, rows);

    /* J u and J M^-1 h dt. */
    for (int i = 0; i < m; i++)
        for (int k = 0; k < dof; k++) {
            velocity[i] += rows[i * dof + k] * rigid->next.velocity[dof * body + k];
            change[i] += rows[i * dof + k] * rigid->change[dof * body + k];
        }
    if (rigid->movable[body]) return 1;
    memset(rows, 0, sizeof(double) * (size_t)(m * dof));
    return 0;
}

typedef struct row_work {
    cs_world *world;
    double feedback;
} row_work;

/* J, b, bodies and parameters of contact c. */
static void fill(const row_work *work, int64_t c)
{
    cs_world *world = work->world;
    const cs_place *place = (const cs_place *)world->step.place.data + c;
    cs_step_group *group = &world->step.group[place->group];
    const cs_law *law = ((const cs_law *const *)world->closed.law.data)[c];
    int m = group->rows, dof = world->space.dof;
    int64_t at = place->index;

    /* J, and the velocities of its rows. */
    cs_frame frame;
    double velocity[CS_WORLD_ROWS] = {0}, change[CS_WORLD_ROWS] = {0};
    double *jacobian = (double *)group->jacobian.data + 2 * at * m * dof;
    int64_t *bodies = (int64_t *)group->bodies.data + 2 * at;
    if (world->space.dimension == 3) cs_frame_of(world->found.normal + 3 * c, &frame);
    for (int partner = 0; partner < 2; partner++) {
        double *rows = jacobian + partner * m * dof;
        int moves = add_body(world, c, partner, &frame, m, rows, velocity, change);
        bodies[partner] = moves ? world->found.body[2 * c + partner] : -1;
    }

    /* b: restitution holds for the normal and the tangents. */
    double *b = (double *)group->b.data + at * m;
    int tangents = world->space.dimension;
    for (int i = 0; i < m; i++) {
        double epsilon = i == 0 ? law->restitution[0] : i < tangents ? law->restitution[1] : 0;
        b[i] = velocity[i] + change[i] + epsilon * velocity[i];
    }
    b[0] += work->feedback * world->found.gap[c];
    if (group->parameters)
        memcpy((double *)group->parameter.data + at * group->parameters, law->parameter,
               sizeof(double) * (size_t)group->parameters);
}

static void fill_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    for (int64_t c = begin; c < end; c++) fill(context, c);
}

/* ---- the problem ----------------------------------------------------------------------------- */

void cs_step_problem_release(cs_step_problem *step)
{
    cs_solver_destroy(step->solver);
    cs_problem_destroy(step->problem);
    step->solver = NULL;
    step->problem = NULL;
}

/* Whether the contacts are those of the step before, between the same bodies that move. */
static int is_unchanged(const cs_world *world)
{
    const cs_memory *closed = &world->closed, *last = &world->last;
    const cs_step_problem *step = &world->step;
    size_t count = (size_t)closed->count;
    if (!step->solver || closed->count != last->count) return 0;
    if (step->bodies != world->rigid.count || step->full == world->rigid.isotropic) return 0;
    return !world->changed &&
           memcmp(closed->shape.data, last->shape.data, 2 * count * sizeof(int64_t)) == 0 &&
           memcmp(closed->feature.data, last->feature.data, count * sizeof(int32_t)) == 0 &&
           memcmp(closed->law.data, last->law.data, count * sizeof(cs_law *)) == 0;
}

/* New values for the problem of the step before. */
static cs_status update(cs_world *world, cs_error *error)
{
    cs_step_problem *step = &world->step;
    const double *inverse = world->rigid.inverse;
    const double *jacobian[CS_STEP_GROUPS], *b[CS_STEP_GROUPS], *parameter[CS_STEP_GROUPS];
    for (int g = 0; g < step->groups; g++) {
        jacobian[g] = step->group[g].jacobian.data;
        b[g] = step->group[g].b.data;
        parameter[g] = step->group[g].parameter.data;
    }
    cs_values values = {
        .inverse_mass = step->full ? &inverse : NULL,
        .jacobian = jacobian,
        .b = b,
        .parameters = parameter,
    };
    return cs_problem_update(step->problem, &values, error);
}

/* Keeps M^-1, which belongs to the problem that callers may read later. */
static cs_status keep_inverse(cs_world *world, cs_error *error)
{
    int dof = world->space.dof, each = world->rigid.isotropic ? dof : dof * dof;
    int64_t size = world->rigid.count * each;
    double *kept = cs_buffer_room(&world->step.inverse, size, sizeof *kept);
    if (!kept) return cs_no_memory(error, "%lld bodies", (long long)world->rigid.count);
    if (size) memcpy(kept, world->rigid.inverse, sizeof *kept * (size_t)size);
    return CS_OK;
}

/* A new problem. */
static cs_status build(cs_world *world, cs_error *error)
{
    cs_step_problem *step = &world->step;
    const cs_rigid *rigid = &world->rigid;
    int dof = world->space.dof;
    cs_status status = cs_problem_create(&step->problem, error);
    cs_bodies bodies = {
        .count = rigid->count,
        .dof = dof,
        .diagonal = rigid->isotropic,
        .inverse_mass = rigid->inverse,
    };
    if (!status) status = cs_problem_add_bodies(step->problem, &bodies, error);
    step->bodies = rigid->count;
    step->full = !rigid->isotropic;
    for (int g = 0; g < step->groups && !status; g++) {
        const cs_step_group *group = &step->group[g];
        cs_blocks blocks = {
            .count = group->count,
            .rows = group->rows,
            .dof = {dof, dof},
            .jacobian = group->jacobian.data,
            .bodies = group->bodies.data,
            .b = group->b.data,
            .set = group->set,
            .parameters = group->parameter.data,
            .parameters_each = cs_set_is_variable(group->set) ? group->parameters : 0,
        };
        status = cs_problem_add_blocks(step->problem, &blocks, error);
    }
    return status;
}

/* The problem of the closed contacts, and a solver for it. */
static cs_status prepare(cs_world *world, const row_work *work, const cs_control *control,
                         cs_error *error)
{
    int unchanged = is_unchanged(world);
    if (!unchanged) cs_step_problem_release(&world->step);
    cs_status status = divide(world, error);
    if (status) return status;
    int64_t count = world->closed.count;
    cs_loop(threads_of(world, count), count, fill_piece, (void *)work);
    status = keep_inverse(world, error);
    if (status) return status;
    if (unchanged) return update(world, error);
    status = build(world, error);
    if (!status)
        status = cs_solver_create(&world->step.solver, world->step.problem, &world->options.solver,
                                  control, error);
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

/* values (rows) <- impulses of the contacts; or the other way. */
static void exchange(cs_world *world, double *values, int out)
{
    const cs_place *place = world->step.place.data;
    double *impulse = world->closed.impulse.data;
    for (int64_t c = 0; c < world->closed.count; c++) {
        double *rows = values + row_of(&world->step, &place[c]);
        size_t size = sizeof(double) * (size_t)world->step.group[place[c].group].rows;
        double *own = impulse + CS_WORLD_ROWS * c;
        memcpy(out ? own : rows, out ? rows : own, size);
    }
}

/* next.u += M^-1 h dt + the velocity change by the contacts (NULL: none). */
static void accelerate(cs_world *world, const double *change)
{
    cs_rigid *rigid = &world->rigid;
    int64_t count = rigid->count * world->space.dof;
    for (int64_t i = 0; i < count; i++)
        rigid->next.velocity[i] += rigid->change[i] + (change ? change[i] : 0);
}

/* Solves the problem, and keeps the impulses and what the solve reports. */
static cs_status find_impulses(cs_world *world, const cs_control *control, cs_error *error)
{
    cs_step_problem *step = &world->step;
    int64_t rows = cs_problem_rows(step->problem);
    int64_t velocities = world->rigid.count * world->space.dof;
    double *initial = cs_buffer_room(&step->initial, rows, sizeof *initial);
    double *impulse = cs_buffer_room(&step->impulse, rows, sizeof *impulse);
    double *velocity = cs_buffer_room(&step->velocity, velocities, sizeof *velocity);
    if (!initial || !impulse || !velocity) return cs_no_memory(error, "%lld rows", (long long)rows);
    exchange(world, initial, 0);

    /* The solve; any impulses that it returns are used. */
    cs_result result = {.impulses = impulse, .velocity_change = velocity};
    cs_status status = cs_solver_solve(step->solver, initial, NULL, NULL, control, &result, error);
    if (status) return status;
    exchange(world, impulse, 1);
    world->report.outcome = result.outcome;
    world->report.iterations = result.iterations;
    world->report.natural_map = result.natural_map;
    world->report.natural_map_scaled = result.natural_map_scaled;
    accelerate(world, velocity);
    return CS_OK;
}

cs_status cs_world_solve(cs_world *world, double feedback, const cs_control *control,
                         cs_error *error)
{
    world->report.outcome = CS_CONVERGED;
    if (!world->closed.count) {
        cs_step_problem_release(&world->step);
        accelerate(world, NULL);
        return CS_OK;
    }

    /* Set up, and solve. */
    row_work work = {world, feedback};
    double begun = cs_clock();
    cs_status status = prepare(world, &work, control, error);
    double prepared = cs_clock();
    if (!status) status = find_impulses(world, control, error);
    world->report.setup_seconds = prepared - begun;
    world->report.solve_seconds = cs_clock() - prepared;
    return status;
}
