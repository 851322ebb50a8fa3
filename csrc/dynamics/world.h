/* A world: bodies with shapes and materials, whose contacts are found and solved step by step.
 *
 *     state q, u --> stepper: q^M --> collider: closed contacts --> problem --> solver --> impulses, u^E --> q^E
 *
 * A step works on a copy of the state, which replaces the state at its end: a step that fails or is interrupted leaves
 * the world as it was. Units: m, kg, s, N s. S2 sections 4.1 to 4.5 and 4.7 */
#ifndef CS_WORLD_H
#define CS_WORLD_H

#include "collide/collide.h"
#include "contactsolve.h"
#include "core/buffer.h"
#include "dynamics/joints.h"

enum { CS_WORLD_ROWS = 6 }; /* of a contact at most */

/* The code of a cs_index in the state of a world: 0, as of what is new, is CS_INDEX_UNKNOWN. */
enum { CS_INDEX_CODES = 4 };
static inline unsigned char cs_index_code(signed char index)
{
    return (unsigned char)(index == CS_INDEX_UNKNOWN ? 0 : index + 2);
}
static inline signed char cs_index_of_code(unsigned char code)
{
    return (signed char)(code ? code - 2 : CS_INDEX_UNKNOWN);
}

/* The numbers of a body in a space. */
typedef struct cs_space {
    int dimension;   /* 3, or 2: the plane */
    int dof;         /* velocities: 6, linear before angular, in the world frame; 3 in the plane */
    int orientation; /* 4: a unit quaternion w, x, y, z; 1: an angle */
    int inertia;     /* 9: a tensor in the body's frame; 1 */
} cs_space;

/* What a step changes. */
typedef struct cs_motion {
    double *position;    /* (bodies, dimension): centres of mass */
    double *orientation; /* (bodies, orientation) */
    double *velocity;    /* (bodies, dof) */
} cs_motion;

/* Bodies. All arrays have room for `capacity`; when larger ones replace them, those that the caller may see stay
 * allocated as long as the world exists. */
typedef struct cs_rigid {
    int64_t count, capacity;
    cs_motion now, next;
    double *force;  /* (bodies, dof): applied forces and moments, in the world frame */
    double *change; /* (bodies, dof): M^-1 h dt, of the step */
    double *
        inverse; /* M^-1 at the contacts' configuration: (bodies, dof), or (bodies, dof, dof) unless isotropic */
    double *mass, *inverse_mass;       /* (bodies) */
    double *inertia, *inverse_inertia; /* (bodies, inertia): in the body's frame */
    unsigned char *driven;             /* keeps its velocity, whatever acts on it */
    unsigned char *removed;
    unsigned char *movable; /* neither driven nor removed */
    int isotropic;          /* every inertia is a multiple of the identity */
} cs_rigid;

/* What holds at a contact: the set of its impulses, and restitution. */
typedef struct cs_law {
    const char *set;
    int rows, parameters;
    double *parameter;     /* (parameters) */
    double restitution[2]; /* normal, tangential */
} cs_law;

/* The law of two different materials, first < second. */
typedef struct cs_law_pair {
    int first, second;
    const cs_law *law;
} cs_law_pair;

/* The laws of materials, and of pairs of different ones. Laws do not move: contacts point to them. */
typedef struct cs_materials {
    cs_buffer laws, pairs; /* (count) cs_law *, (pair_count) cs_law_pair * */
    int count, pair_count;
} cs_materials;

/* The closed contacts of a step, sorted by (shape, shape, feature), with their impulses. */
typedef struct cs_memory {
    int64_t count;
    cs_buffer shape, feature; /* (count, 2) int64_t, (count) int32_t */
    cs_buffer body;           /* (count, 2) int64_t */
    cs_buffer point, normal;  /* (count, dimension) */
    cs_buffer gap;            /* (count) */
    cs_buffer law;            /* (count) const cs_law * */
    cs_buffer impulse;        /* (count, CS_WORLD_ROWS) */
    cs_buffer index; /* (count, CS_WORLD_ROWS) unsigned char: the code of each row's cs_index */
} cs_memory;

/* A contact's place in the problem: its group, and its index there. */
typedef struct cs_place {
    int group;
    int64_t index;
} cs_place;

/* A group of contacts, or of parts of joints, with the same set and rows, as cs_blocks. */
typedef struct cs_step_group {
    const char *set;
    int rows, parameters;
    int frames; /* contacts in space */
    int soft;   /* has a compliance */
    int64_t count;
    int64_t begin;      /* its first row in lambda */
    cs_buffer jacobian; /* (count, CS_FRAME_NUMBERS): frames; or (count, 2, rows, dof): J */
    cs_buffer bodies, b, parameter;
    cs_buffer compliance; /* (count, rows) */
} cs_step_group;

/* Groups of contacts, which come first, and of all. */
enum { CS_CONTACT_GROUPS = 64, CS_STEP_GROUPS = CS_CONTACT_GROUPS + CS_JOINT_GROUPS };

/* The scheme that a world keeps: its work is proportional to the contacts, whatever contacts there are. */
#define CS_STEP_SCHEME "factorized"

/* The problem of a step, which is kept for the next one if the same contacts are closed then. */
typedef struct cs_step_problem {
    cs_step_group group[CS_STEP_GROUPS];
    int contact_groups, groups;
    cs_buffer part; /* (parts) cs_joint_part: what joints have in the problem */
    int64_t parts;
    cs_problem *problem;
    cs_solver *solver;
    size_t reserved;    /* bytes of large pages that stay with the process for the next solver */
    cs_buffer number;   /* (of) int64_t: of each body in the problem; -1: it cannot move */
    cs_buffer body;     /* (bodies) int64_t: the body of each number */
    int64_t bodies;     /* that can move, */
    int64_t of;         /* of so many in the world */
    int64_t ordered;    /* the step in which they were ordered; -1: never */
    cs_buffer sequence; /* (contacts) int64_t: contacts in the order of the problem, */
    cs_buffer place;    /* (contacts) cs_place: and where each one is */
    int threads;        /* of this step's loops, */
    int on_one_thread;  /* and the steps from now on that have one */
    const cs_law *law;  /* of all contacts; NULL if they have several */
    const char *
        scheme; /* CS_STEP_SCHEME if a solver chose it since bodies were ordered; NULL: it chooses */
    cs_buffer motion;  /* (bodies, dimension + 2 dof): position, velocity, and without contacts */
    cs_buffer inverse; /* M^-1 of the step, as in cs_rigid, by number */
    cs_buffer initial, impulse, velocity; /* (rows), (rows), (bodies, dof) */
    cs_buffer index_set;                  /* (rows) signed char: a cs_index, first as initial */
    int full;                             /* M^-1 has full blocks */
    double feedback;                      /* of gaps, as cs_world_solve has it */
} cs_step_problem;

/* The number of a body in the problem; -1 of the fixed world, and of bodies that cannot move. */
static inline int64_t cs_body_number(const cs_step_problem *step, int64_t body)
{
    return body < 0 ? -1 : ((const int64_t *)step->number.data)[body];
}

/* How the moment of inertia of a turning body enters a step: I w' = moment - w x I w. */
typedef enum cs_gyroscopic {
    CS_GYROSCOPIC_NONE,     /* without the last term */
    CS_GYROSCOPIC_EXPLICIT, /* at the beginning of the step */
    CS_GYROSCOPIC_IMPLICIT, /* at its end */
} cs_gyroscopic;

/* What a saved state has that the world keeps in other forms. */
typedef struct cs_saved_numbers {
    /* Steps; iterations, outcome of the last; changed; the step in which bodies were ordered; whether the scheme
     * is kept. */
    int64_t counter[6];
    double natural_map[2];
    int64_t pivots; /* of the last step */
    cs_buffer
        law_holds; /* (contacts) unsigned char: the contact's law still is that of its materials */
    cs_buffer
        number; /* (bodies) int64_t: of each body in the problem, as cs_step_problem has them */
} cs_saved_numbers;

struct cs_world {
    cs_arena arena;
    cs_world_options options;
    const struct cs_stepper *stepper;
    cs_gyroscopic gyroscopic;
    int pivots; /* the method of the solver starts from index sets */
    cs_space space;
    cs_rigid rigid;
    cs_collider *collider;
    cs_materials materials;
    int64_t shapes;     /* whose numbers were given out; a number is not used again */
    cs_buffer material; /* (shapes) int: of each shape, -1 if it was removed, */
    cs_buffer owner;    /* (shapes) int64_t: and its body; -1: the fixed world, or removed */
    int changed;        /* bodies, shapes or materials have changed since the last step */
    cs_joints joints;
    cs_contacts found;      /* the closed contacts of a step, in the collider's memory, */
    cs_memory closed, last; /* and in the world's; and those of the step before */
    cs_step_problem step;
    cs_step_report report; /* of the last step */
    int64_t steps;
    cs_saved_numbers saved;
};

/* ---- bodies ---------------------------------------------------------------------------------- */

/* next <- now, where a step begins; now <- next, where it ends. */
void cs_world_begin_motion(cs_world *world);
void cs_world_end_motion(cs_world *world);

/* next.q += h F(next.q) next.u, with quaternions normalised.  S2 Table 4.2, steps 2 and 6 */
void cs_world_move(cs_world *world, double h);

/* Fails if next is not finite: names the body. */
cs_status cs_world_check_motion(const cs_world *world, cs_error *error);

/* M^-1 and M^-1 h dt at next: gravity, applied forces and the gyroscopic term.  S2 Table 4.2, step 3 */
void cs_world_apply_forces(cs_world *world);

/* ---- contacts -------------------------------------------------------------------------------- */

/* The law between two materials; NULL with an error if they differ and cannot be combined. */
const cs_law *cs_law_between(cs_world *world, int first, int second, cs_error *error);

/* Room for what `count` contacts leave to the next step, of which there are none yet. */
cs_status cs_memory_reserve(cs_memory *memory, int64_t count, int dimension, cs_error *error);

/* Below 0, 0 or above 0: how the identifiers of two contacts, (shape, shape, feature), compare. */
static inline int cs_compare_ids(const int64_t *shape, int32_t feature, const int64_t *other_shape,
                                 int32_t other_feature)
{
    for (int k = 0; k < 2; k++)
        if (shape[k] != other_shape[k]) return shape[k] < other_shape[k] ? -1 : 1;
    return feature < other_feature ? -1 : feature > other_feature;
}

/* Finds the contacts at next whose gap is at most the activation distance, and gives them the impulses that they had
 * in the step before. */
cs_status cs_world_find_contacts(cs_world *world, cs_error *error);

/* The threads that share a loop over so many items in this step: one if the processors are busy. */
int cs_world_threads(cs_world *world, int64_t size);

/* Solves for the impulses of the closed contacts, and sets next.u <- u + M^-1 (h dt + J^T lambda). `feedback`
 * [1/s]: the gap times this is added to b along the normal.  S2 eq. 4.31; S3 eq. 1.14 */
cs_status cs_world_solve(cs_world *world, double feedback, const cs_control *control,
                         cs_error *error);

void cs_step_problem_release(cs_step_problem *step);

/* inverse (step.of, dof or dof^2) <- M^-1 of the last step's problem; zero for bodies that cannot move. */
void cs_step_read_inverse(const cs_world *world, double *inverse);

/* The arrays of a group of the last step's problem: contacts sorted by identifier, joints by number. */
typedef struct cs_step_arrays {
    double *jacobian;   /* (count, 2, rows, dof) */
    int64_t *bodies;    /* (count, 2) */
    double *b;          /* (count, rows) */
    double *parameter;  /* (count, parameters) */
    double *compliance; /* (count, rows), if the group is soft */
} cs_step_arrays;
void cs_step_read_group(const cs_world *world, int g, const cs_step_arrays *to);

/* ---- parts of cs_world_solve ------------------------------------------------------------------ */

/* Whether so many steps have passed that the bodies of the problem are to be ordered anew where contacts change; and
 * numbers them. */
int cs_order_is_due(const cs_world *world);
cs_status cs_order_bodies(cs_world *world, cs_error *error);

/* Work of cs_loop. Puts the bodies begin .. end - 1 of the problem side by side (context: cs_world). */
void cs_gather_bodies(void *context, int64_t piece, int64_t begin, int64_t end);

/* Writes the rows of contacts begin .. end - 1 of step.sequence (context: cs_row_work). */
typedef struct cs_row_work {
    cs_world *world;
    double feedback;
} cs_row_work;
void cs_fill_rows(void *context, int64_t piece, int64_t begin, int64_t end);

/* ---- joints ---------------------------------------------------------------------------------- */

/* Fails if what drives a joint is not a number, or its bounds are crossed: names the joint. */
cs_status cs_world_check_drives(const cs_world *world, cs_error *error);

/* Whether contacts between two bodies are left out because a joint holds them; there may be pairs once
 * cs_world_find_apart has found them. */
cs_status cs_world_find_apart(cs_world *world, cs_error *error);
int cs_are_apart(const cs_world *world, int64_t first, int64_t second);

/* joints.tension <- that of the joints' impulses in the step before, at next; nothing if it is explicit. */
cs_status cs_world_find_tension(cs_world *world, cs_error *error);

/* k rest dt + c of a spring: its force at the end of a step changes by so much with the speed there. */
double cs_joint_spring(const cs_world *world, const cs_joint *joint);

/* Whether any joint has rows in the problem of a step. */
int cs_joints_have_rows(const cs_world *world);

/* Whether a joint has rows: it was not removed, nor were its bodies. */
int cs_joint_is_active(const cs_world *world, int64_t joint);

/* The groups of the joints, after those of the contacts, and the place of every part. Rooms are left to the caller. */
cs_status cs_divide_joints(cs_world *world, cs_error *error);

/* Work of cs_loop. Writes the rows of parts begin .. end - 1 (context: cs_world). */
void cs_fill_joints(void *context, int64_t piece, int64_t begin, int64_t end);

/* Compliances of contacts and of all parts of joints, which do not change while the problem is kept. */
void cs_fill_compliances(cs_world *world);

/* values and index_set (rows) <- the joints' impulses of the step before, and their index set unless it is NULL; and the
 * other way, for this one. */
void cs_give_joint_impulses(const cs_world *world, double *values, signed char *index_set);
void cs_take_joint_impulses(cs_world *world, const double *values, const signed char *index_set);

/* The joints' state at the end of a step. */
void cs_world_end_joints(cs_world *world);

/* ---- steppers -------------------------------------------------------------------------------- */

/* A time-stepping scheme: a file in steppers/, and a line in steppers.def. It moves `next` through one step. */
typedef struct cs_stepper {
    const char *name, *summary, *paper;
    double
        rest; /* the part of the step through which bodies move with u^E: q^E = q + rest dt F u^E */
    cs_status (*step)(cs_world *world, const cs_control *control, cs_error *error);
} cs_stepper;

const cs_stepper *cs_stepper_find(const char *name);

#endif
