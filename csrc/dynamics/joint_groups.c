/* The parts of joints in the problem of a step: their groups, and their impulses. */
#include "core/error.h"
#include "dynamics/world.h"

#include <string.h>

/* ---- groups ------------------------------------------------------------------------------------ */

/* The set and the numbers of a part. */
typedef struct form {
    const char *set;
    int rows, parameters;
} form;

static form form_of(const cs_joint *joint, cs_part_kind kind)
{
    if (kind == CS_PART_HELD) return (form){"free", cs_joint_held(joint->kind), 0};
    return kind == CS_PART_LIMIT ? (form){"half_line", 1, 0} : (form){"box", 1, 2};
}

/* Whether an active joint has such a part. */
static int has_part(const cs_joint *joint, cs_part_kind kind)
{
    if (kind == CS_PART_HELD) return cs_joint_held(joint->kind) > 0;
    return kind == CS_PART_LIMIT ? cs_joint_has_limit(joint) : joint->has_drive;
}

/* The group of joints of this form, which may be a new one. */
static int group_of(cs_step_problem *step, const form *wanted)
{
    int g = step->contact_groups;
    for (; g < step->groups; g++)
        if (step->group[g].rows == wanted->rows && strcmp(step->group[g].set, wanted->set) == 0)
            return g;
    cs_step_group *group = &step->group[step->groups++];
    group->set = wanted->set;
    group->rows = wanted->rows;
    group->parameters = wanted->parameters;
    group->frames = group->soft = 0;
    group->count = 0;
    return g;
}

/* Whether a part adds to the diagonal of A. */
static int is_soft(const cs_joint *joint, cs_part_kind kind)
{
    if (kind == CS_PART_DRIVE) return joint->stiffness + joint->damping > 0;
    for (int i = 0; kind == CS_PART_HELD && i < cs_joint_held(joint->kind); i++)
        if (joint->compliance[i] > 0) return 1;
    return 0;
}

static void add_part(cs_step_problem *step, int64_t i, const cs_joint *joint, cs_part_kind kind)
{
    form wanted = form_of(joint, kind);
    int g = group_of(step, &wanted);
    cs_step_group *group = &step->group[g];
    group->soft |= is_soft(joint, kind);
    ((cs_joint_part *)step->part.data)[step->parts++] =
        (cs_joint_part){.joint = i, .index = group->count++, .kind = kind, .group = g};
}

int cs_joints_have_rows(const cs_world *world)
{
    for (int64_t i = 0; i < world->joints.count; i++)
        for (int kind = CS_PART_HELD; kind <= CS_PART_DRIVE; kind++)
            if (has_part(&world->joints.joint[i], (cs_part_kind)kind) &&
                cs_joint_is_active(world, i))
                return 1;
    return 0;
}

cs_status cs_divide_joints(cs_world *world, cs_error *error)
{
    cs_step_problem *step = &world->step;
    const cs_joints *joints = &world->joints;
    if (!cs_buffer_room(&step->part, 3 * joints->count, sizeof(cs_joint_part)))
        return cs_no_memory(error, "%lld joints", (long long)joints->count);
    step->parts = 0;
    for (int kind = CS_PART_HELD; kind <= CS_PART_DRIVE; kind++)
        for (int64_t i = 0; i < joints->count; i++)
            if (has_part(&joints->joint[i], (cs_part_kind)kind) && cs_joint_is_active(world, i))
                add_part(step, i, &joints->joint[i], (cs_part_kind)kind);
    return CS_OK;
}

/* ---- compliance ---------------------------------------------------------------------------------- */

double cs_joint_spring(const cs_world *world, const cs_joint *joint)
{
    double rest = world->stepper->rest * world->options.time_step;
    return rest * joint->stiffness + joint->damping;
}

/* compliance (m) <- Sigma of a part. Held: lambda / dt = -(error + dt J u^E) / C; of a drive as in joint_rows.c. */
static void write_compliance(const cs_world *world, const cs_joint *joint, cs_part_kind kind, int m,
                             double *compliance)
{
    double dt = world->options.time_step;
    double spring = dt * cs_joint_spring(world, joint);
    if (kind == CS_PART_DRIVE) compliance[0] = spring > 0 ? 1 / spring : 0;
    for (int i = 0; kind == CS_PART_HELD && i < m; i++)
        compliance[i] = joint->compliance[i] / (dt * dt);
}

void cs_fill_compliances(cs_world *world)
{
    /* Contacts. */
    const cs_step_problem *step = &world->step;
    double dt = world->options.time_step, soft = world->options.contact_compliance / (dt * dt);
    for (int g = 0; g < step->contact_groups; g++) {
        const cs_step_group *group = &step->group[g];
        for (int64_t i = 0; group->soft && i < group->count * group->rows; i++)
            ((double *)group->compliance.data)[i] = soft;
    }

    /* Joints. */
    const cs_joint_part *part = step->part.data;
    for (int64_t i = 0; i < step->parts; i++) {
        const cs_step_group *group = &step->group[part[i].group];
        if (group->soft)
            write_compliance(world, &world->joints.joint[part[i].joint], part[i].kind, group->rows,
                             (double *)group->compliance.data + part[i].index * group->rows);
    }
}

/* ---- impulses ------------------------------------------------------------------------------------ */

/* The first row of a part among those of its joint. */
static int64_t own_row(const cs_joint_part *part)
{
    int first = part->kind == CS_PART_HELD    ? 0
                : part->kind == CS_PART_LIMIT ? CS_JOINT_LIMIT
                                              : CS_JOINT_DRIVE;
    return part->joint * CS_JOINT_ROWS + first;
}

void cs_give_joint_impulses(const cs_world *world, double *values, signed char *index_set)
{
    const cs_step_problem *step = &world->step;
    const cs_joint_part *part = step->part.data;
    const unsigned char *code = world->joints.now.index;
    for (int64_t i = 0; i < step->parts; i++) {
        const cs_step_group *group = &step->group[part[i].group];
        int64_t row = group->begin + part[i].index * group->rows, own = own_row(&part[i]);
        memcpy(values + row, world->joints.now.impulse + own, sizeof(double) * (size_t)group->rows);
        for (int k = 0; index_set && k < group->rows; k++)
            index_set[row + k] = cs_index_of_code(code[own + k]);
    }
}

void cs_take_joint_impulses(cs_world *world, const double *values, const signed char *index_set)
{
    const cs_step_problem *step = &world->step;
    const cs_joint_part *part = step->part.data;
    cs_joint_state *next = &world->joints.next;
    size_t rows = CS_JOINT_ROWS * (size_t)world->joints.count;
    if (!rows) return;
    memset(next->impulse, 0, sizeof(double) * rows);
    memset(next->index, 0, rows);
    for (int64_t i = 0; i < step->parts; i++) {
        const cs_step_group *group = &step->group[part[i].group];
        int64_t row = group->begin + part[i].index * group->rows, own = own_row(&part[i]);
        memcpy(next->impulse + own, values + row, sizeof(double) * (size_t)group->rows);
        for (int k = 0; index_set && k < group->rows; k++)
            next->index[own + k] = cs_index_code(index_set[row + k]);
    }
}
