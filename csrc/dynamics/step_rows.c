/* The rows of the closed contacts: frames or Jacobians, and b.
 *
 *     b = (1 + epsilon) (J u^S) + J M^-1 h dt [+ gap / dt]      S2 eq. 4.31
 *       = J (u^S + M^-1 h dt) + epsilon (J u^S) [+ gap / dt]
 *
 * Bodies that cannot move are the fixed world to the solver; their velocities are part of J u^S (S2: chi). */
#include "dynamics/tangents.h"
#include "dynamics/world.h"
#include "problem/frames.h"

#include <string.h>

/* How many contacts or bodies ahead memory is prefetched. */
enum { AHEAD = 16 };

/* What the rows of a contact need of a body. */
typedef struct mover {
    const double *position; /* NULL: the fixed world */
    const double *velocity; /* u^S, */
    const double *free;     /* and u^S + M^-1 h dt; both are the same if the body cannot move */
    int64_t number;         /* in the problem; -1 if it cannot move */
} mover;

static mover find_mover(const cs_world *world, int64_t body)
{
    /* Bodies of the problem are side by side. */
    const cs_rigid *rigid = &world->rigid;
    int dimension = world->space.dimension, dof = world->space.dof;
    if (body < 0) return (mover){.number = -1};
    int64_t number = cs_body_number(&world->step, body);
    if (number >= 0) {
        const double *own =
            (const double *)world->step.motion.data + number * (dimension + 2 * dof);
        return (mover){own, own + dimension, own + dimension + dof, number};
    }
    const double *velocity = rigid->next.velocity + body * dof;
    return (mover){rigid->next.position + body * dimension, velocity, velocity, -1};
}

/* Position, velocity, free velocity and M^-1 of body number i of the problem. Constants make the copies short. */
CS_INLINE void gather_body(cs_world *world, int64_t i, int dimension, int dof, int each)
{
    cs_step_problem *step = &world->step;
    const cs_rigid *rigid = &world->rigid;
    int64_t body = ((const int64_t *)step->body.data)[i];
    const double *velocity = rigid->next.velocity + body * dof,
                 *change = rigid->change + body * dof;
    double *own = (double *)step->motion.data + i * (dimension + 2 * dof);
    double *inverse = (double *)step->inverse.data + i * each;
    memcpy(own, rigid->next.position + body * dimension, sizeof(double) * (size_t)dimension);
    for (int k = 0; k < dof; k++) {
        own[dimension + k] = velocity[k];
        own[dimension + dof + k] = velocity[k] + change[k];
    }
    memcpy(inverse, rigid->inverse + body * each, sizeof(double) * (size_t)each);
}

void cs_gather_bodies(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    cs_world *world = context;
    const cs_rigid *rigid = &world->rigid;
    int dimension = world->space.dimension, dof = world->space.dof;
    int each = rigid->isotropic ? dof : dof * dof;
    const int64_t *body_of = world->step.body.data;
    for (int64_t i = begin; i < end; i++) {
        if (i + AHEAD < end) {
            int64_t next = body_of[i + AHEAD];
            cs_prefetch(rigid->next.position + next * dimension, dimension);
            cs_prefetch(rigid->next.velocity + next * dof, dof);
            cs_prefetch(rigid->change + next * dof, dof);
            cs_prefetch(rigid->inverse + next * each, each);
        }
        if (dimension == 3 && each == 6) gather_body(world, i, 3, 6, 6);
        else if (dimension == 3) gather_body(world, i, 3, 6, 36);
        else gather_body(world, i, 2, 3, each);
    }
}

/* ---- in space -------------------------------------------------------------------------------- */

/* linear (3) += sign times the velocity at the end of an arm of a body; angular (3) += sign times its rotation. */
CS_INLINE void add_velocity_at(const double *arm, const double *velocity, double sign,
                               double *linear, double *angular)
{
    double at[3];
    cs_velocity_at(arm, velocity, at);
    for (int k = 0; k < 3; k++) {
        linear[k] += sign * at[k];
        angular[k] += sign * velocity[3 + k];
    }
}

/* values (m) <- a difference of velocities and one of rotations along the rows. */
CS_INLINE void along_rows(const double *const *axis, int m, const double *linear,
                          const double *angular, double *values)
{
    for (int i = 0; i < m && i < 3; i++) values[i] = cs_dot(axis[i], linear);
    for (int i = 3; i < m; i++) values[i] = cs_dot(axis[cs_frame_turning_axis(m, i)], angular);
}

/* frame (12), free (m) and, if the contact bounces, velocity (m) <- those of the rows of both bodies. */
CS_INLINE void rows_in_space(const double *point, const double *normal, const mover *body, int m,
                             int bounces, double *frame, double *velocity, double *free)
{
    /* n, t and the lever arms; the second body's velocity at the contact, less the first one's. */
    double linear[2][3] = {{0}}, angular[2][3] = {{0}}, third[3];
    cs_tangents axes;
    cs_tangents_of(normal, &axes);
    memcpy(frame, axes.normal, sizeof axes.normal);
    memcpy(frame + 3, axes.tangent[0], sizeof axes.tangent[0]);
    for (int side = 0; side < 2; side++) {
        const mover *own = &body[side];
        double arm[3] = {0}, sign = side ? 1 : -1;
        if (own->position) {
            for (int k = 0; k < 3; k++) arm[k] = point[k] - own->position[k];
            add_velocity_at(arm, own->free, sign, linear[0], angular[0]);
            if (bounces) add_velocity_at(arm, own->velocity, sign, linear[1], angular[1]);
        }
        memcpy(frame + CS_FRAME_ARM + 3 * side, arm, sizeof arm);
    }

    /* Along the rows. */
    const double *axis[3];
    cs_frame_axes(frame, third, axis);
    along_rows(axis, m, linear[0], angular[0], free);
    if (bounces) along_rows(axis, m, linear[1], angular[1], velocity);
}

/* ---- in the plane ---------------------------------------------------------------------------- */

/* rows (m, 3) <- sign times the rows of a body with this arm from its centre to the contact: the tangent is the
 * normal, turned by a quarter to the left. */
static void side_in_plane(const double *normal, int m, const double *arm, double sign, double *rows)
{
    double axis[2][2] = {{normal[0], normal[1]}, {-normal[1], normal[0]}};
    for (int i = 0; i < m; i++) {
        rows[3 * i] = sign * axis[i][0];
        rows[3 * i + 1] = sign * axis[i][1];
        rows[3 * i + 2] = sign * (arm[0] * axis[i][1] - arm[1] * axis[i][0]);
    }
}

/* jacobian (2, m, 3), velocity (m) and free (m): the latter two are zero before. */
static void rows_in_plane(const double *point, const double *normal, const mover *body, int m,
                          double *jacobian, double *velocity, double *free)
{
    memset(jacobian, 0, sizeof(double) * 6 * (size_t)m);
    for (int side = 0; side < 2; side++) {
        if (!body[side].position) continue;
        double *rows = jacobian + 3 * m * side;
        double arm[2] = {point[0] - body[side].position[0], point[1] - body[side].position[1]};
        side_in_plane(normal, m, arm, side ? 1 : -1, rows);
        for (int i = 0; i < m; i++)
            for (int k = 0; k < 3; k++) {
                velocity[i] += rows[3 * i + k] * body[side].velocity[k];
                free[i] += rows[3 * i + k] * body[side].free[k];
            }
        if (body[side].number < 0) memset(rows, 0, sizeof(double) * 3 * (size_t)m);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Rows, bodies and parameters of contact c, which is number `at` of its group: of m rows. */
CS_INLINE void fill(const cs_row_work *work, int64_t c, const cs_law *law, cs_step_group *group,
                    int64_t at, int dimension, int m)
{
    /* The bodies. */
    cs_world *world = work->world;
    const cs_contacts *found = &world->found;
    int64_t *bodies = (int64_t *)group->bodies.data + 2 * at;
    mover body[2];
    for (int side = 0; side < 2; side++) {
        body[side] = find_mover(world, found->body[2 * c + side]);
        bodies[side] = body[side].number;
    }

    /* Their rows. */
    double velocity[CS_WORLD_ROWS] = {0}, free[CS_WORLD_ROWS] = {0};
    const double *point = found->point + dimension * c, *normal = found->normal + dimension * c;
    double *jacobian = group->jacobian.data;
    int bounces = law->restitution[0] > 0 || law->restitution[1] > 0;
    if (dimension == 3)
        rows_in_space(point, normal, body, m, bounces, jacobian + CS_FRAME_NUMBERS * at, velocity,
                      free);
    else rows_in_plane(point, normal, body, m, jacobian + 6 * m * at, velocity, free);

    /* b: restitution holds for the normal and the tangents. */
    double *b = (double *)group->b.data + at * m;
    for (int i = 0; i < m; i++) {
        double epsilon = i == 0 ? law->restitution[0] : i < dimension ? law->restitution[1] : 0;
        b[i] = free[i] + epsilon * velocity[i];
    }
    b[0] += work->feedback * found->gap[c];
    double *parameter = (double *)group->parameter.data + at * group->parameters;
    for (int i = 0; i < group->parameters; i++) parameter[i] = law->parameter[i];
}

/* Begins to load what is known of contact c: the order of the problem jumps about in the order of identifiers. */
CS_INLINE void prefetch_contact(const cs_world *world, int64_t c)
{
    const cs_contacts *found = &world->found;
    int dimension = world->space.dimension;
    __builtin_prefetch(found->body + 2 * c);
    __builtin_prefetch(found->point + dimension * c);
    __builtin_prefetch(found->normal + dimension * c);
    __builtin_prefetch(found->gap + c);
    if (world->step.law) return;
    __builtin_prefetch((const cs_law *const *)world->closed.law.data + c);
    __builtin_prefetch((const cs_place *)world->step.place.data + c);
}

void cs_fill_rows(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const cs_row_work *work = context;
    cs_world *world = work->world;
    cs_step_problem *step = &world->step;
    const int64_t *sequence = step->sequence.data;
    const cs_place *place = step->place.data;
    const cs_law *const *law = world->closed.law.data;
    int dimension = world->space.dimension;
    for (int64_t i = begin; i < end; i++) {
        int64_t c = sequence[i];
        if (i + AHEAD < end) prefetch_contact(world, sequence[i + AHEAD]);
        cs_step_group *group = &step->group[step->law ? 0 : place[c].group];
        const cs_law *own = step->law ? step->law : law[c];
        int64_t at = step->law ? i : place[c].index;
        if (dimension == 2) fill(work, c, own, group, at, 2, group->rows);
        else if (group->rows == 3) fill(work, c, own, group, at, 3, 3);
        else fill(work, c, own, group, at, 3, group->rows);
    }
}
