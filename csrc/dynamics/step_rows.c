/* The rows of the closed contacts: frames or Jacobians, and b.
 *
 *     b = (1 + epsilon) (J u^S) + J M^-1 h dt [+ gap / dt]      S2 eq. 4.31
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
    const double *position, *velocity,
        *change; /* change: M^-1 h dt, NULL if the body cannot move */
} mover;

static mover find_mover(const cs_world *world, int64_t body)
{
    /* Bodies of the problem are side by side. */
    const cs_rigid *rigid = &world->rigid;
    int dimension = world->space.dimension, dof = world->space.dof;
    if (body < 0) return (mover){0};
    int64_t number = cs_body_number(&world->step, body);
    if (number >= 0) {
        const double *own =
            (const double *)world->step.motion.data + number * (dimension + 2 * dof);
        return (mover){own, own + dimension, own + dimension + dof};
    }
    return (mover){rigid->next.position + body * dimension, rigid->next.velocity + body * dof,
                   NULL};
}

void cs_gather_bodies(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    cs_world *world = context;
    cs_step_problem *step = &world->step;
    const cs_rigid *rigid = &world->rigid;
    int dimension = world->space.dimension, dof = world->space.dof;
    int each = rigid->isotropic ? dof : dof * dof;
    size_t size = sizeof(double);
    const int64_t *body_of = step->body.data;
    for (int64_t i = begin; i < end; i++) {
        int64_t body = body_of[i];
        if (i + AHEAD < end) {
            int64_t next = body_of[i + AHEAD];
            cs_prefetch(rigid->next.position + next * dimension, dimension);
            cs_prefetch(rigid->next.velocity + next * dof, dof);
            cs_prefetch(rigid->change + next * dof, dof);
            cs_prefetch(rigid->inverse + next * each, each);
        }
        double *own = (double *)step->motion.data + i * (dimension + 2 * dof);
        memcpy(own, rigid->next.position + body * dimension, size * (size_t)dimension);
        memcpy(own + dimension, rigid->next.velocity + body * dof, size * (size_t)dof);
        memcpy(own + dimension + dof, rigid->change + body * dof, size * (size_t)dof);
        memcpy((double *)step->inverse.data + i * each, rigid->inverse + body * each,
               size * (size_t)each);
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

/* frame (12), velocity (m) and change (m) <- those of the rows of both bodies. */
static void rows_in_space(const double *point, const double *normal, const mover *body, int m,
                          double *frame, double *velocity, double *change)
{
    /* n, t and the lever arms; the second body's velocity at the contact, less the first one's. */
    double linear[2][3] = {{0}}, angular[2][3] = {{0}}, third[3];
    cs_tangents axes;
    cs_tangents_of(normal, &axes);
    memcpy(frame, axes.normal, sizeof axes.normal);
    memcpy(frame + 3, axes.tangent[0], sizeof axes.tangent[0]);
    for (int side = 0; side < 2; side++) {
        const mover *own = &body[side];
        double *arm = frame + CS_FRAME_ARM + 3 * side, sign = side ? 1 : -1;
        for (int k = 0; k < 3; k++) arm[k] = own->position ? point[k] - own->position[k] : 0;
        if (own->position) add_velocity_at(arm, own->velocity, sign, linear[0], angular[0]);
        if (own->change) add_velocity_at(arm, own->change, sign, linear[1], angular[1]);
    }

    /* Along the rows. */
    const double *axis[3];
    cs_frame_axes(frame, third, axis);
    for (int i = 0; i < m && i < 3; i++) {
        velocity[i] = cs_dot(axis[i], linear[0]);
        change[i] = cs_dot(axis[i], linear[1]);
    }
    for (int i = 3; i < m; i++) {
        const double *about = axis[cs_frame_turning_axis(m, i)];
        velocity[i] = cs_dot(about, angular[0]);
        change[i] = cs_dot(about, angular[1]);
    }
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

/* jacobian (2, m, 3), velocity (m) and change (m): zero before. */
static void rows_in_plane(const double *point, const double *normal, const mover *body, int m,
                          double *jacobian, double *velocity, double *change)
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
                if (body[side].change) change[i] += rows[3 * i + k] * body[side].change[k];
            }
        if (!body[side].change) memset(rows, 0, sizeof(double) * 3 * (size_t)m);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Rows, bodies and parameters of contact c, which is number `at` of its group. */
static void fill(const cs_row_work *work, int64_t c, const cs_law *law, cs_step_group *group,
                 int64_t at)
{
    cs_world *world = work->world;
    const cs_contacts *found = &world->found;
    int m = group->rows, dimension = world->space.dimension;
    int64_t *bodies = (int64_t *)group->bodies.data + 2 * at;

    /* The bodies. */
    mover body[2];
    for (int side = 0; side < 2; side++) {
        int64_t own = found->body[2 * c + side];
        body[side] = find_mover(world, own);
        bodies[side] = cs_body_number(&world->step, own);
    }

    /* Their rows. */
    double velocity[CS_WORLD_ROWS] = {0}, change[CS_WORLD_ROWS] = {0};
    const double *point = found->point + dimension * c, *normal = found->normal + dimension * c;
    double *jacobian = group->jacobian.data;
    if (dimension == 3)
        rows_in_space(point, normal, body, m, jacobian + CS_FRAME_NUMBERS * at, velocity, change);
    else rows_in_plane(point, normal, body, m, jacobian + 6 * m * at, velocity, change);

    /* b: restitution holds for the normal and the tangents. */
    double *b = (double *)group->b.data + at * m;
    for (int i = 0; i < m; i++) {
        double epsilon = i == 0 ? law->restitution[0] : i < dimension ? law->restitution[1] : 0;
        b[i] = velocity[i] + change[i] + epsilon * velocity[i];
    }
    b[0] += work->feedback * found->gap[c];
    if (group->parameters)
        memcpy((double *)group->parameter.data + at * group->parameters, law->parameter,
               sizeof(double) * (size_t)group->parameters);
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
    for (int64_t i = begin; i < end; i++) {
        int64_t c = sequence[i];
        if (i + AHEAD < end) prefetch_contact(world, sequence[i + AHEAD]);
        if (step->law) fill(work, c, step->law, &step->group[0], i);
        else fill(work, c, law[c], &step->group[place[c].group], place[c].index);
    }
}
