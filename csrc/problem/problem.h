/* A contact problem as arrays.
 *
 *     bodies   group 0: d = 6 | group 1: d = 12 | ...     one velocity vector, groups in turn
 *     blocks   group 0: m = 3 on (6, 6) | group 1: m = 1 on (6, 12) | ...   one lambda, in turn
 *
 * All bodies of a group have the same number of degrees of freedom d, all blocks of a group the same
 * number of rows m, of partners p (the bodies that it acts on), the same d_0 ... d_(p-1) and the same set. A kernel finds
 * all data of a block from the block's group and its index in the group. A problem has either bodies and Jacobians or a given A
 * (`matrix`), never both. */
#ifndef CS_PROBLEM_H
#define CS_PROBLEM_H

#include "contactsolve.h"
#include "core/compiler.h"
#include "core/memory.h"
#include "core/pace.h"
#include "core/set.h"
#include "problem/block_matrix.h"
#include "problem/frames.h"

enum { CS_MAX_GROUPS = 64, CS_MAX_DOF = 64, CS_MAX_PARTNERS = 4, CS_PAIR = 2 };

/* The most numbers of J of one block. */
enum { CS_MAX_JACOBIAN = CS_MAX_PARTNERS * CS_MAX_ROWS * CS_MAX_DOF };

typedef struct cs_body_group {
    int64_t count;
    int dof;
    int diagonal;           /* whether inverse_mass is (count, dof); otherwise (count, dof, dof) */
    int64_t first_body;     /* number of the group's first body */
    int64_t first_velocity; /* index of the group's first entry in the velocity vector */
    double *inverse_mass;
    double *root;             /* L with L L^T = M^-1, in the form of inverse_mass */
    unsigned char *immovable; /* (count): M^-1 = 0 */
    struct {
        double *inverse_mass, *root;
        unsigned char *immovable;
    } next; /* arrays that the next update fills and exchanges with those above; or NULL */
} cs_body_group;

typedef struct cs_block_group {
    int64_t count;
    int rows;     /* m */
    int partners; /* p; 0 where A is given */
    int dof[CS_MAX_PARTNERS];        /* d of each partner */
    int column[CS_MAX_PARTNERS + 1]; /* the columns of J_k before those of each partner, and all of them */
    int64_t first_block, first_row;
    double *jacobian;  /* (count, m d_0 + ... + m d_(p-1)); NULL with frames, or where A is given */
    double *frame;     /* (count, CS_FRAME_NUMBERS): contacts in space, in place of J; or NULL */
    int64_t *bodies;   /* (count, p): body numbers; -1 is the fixed world */
    int64_t *velocity; /* (count, p): index of each body's first velocity; -1 if immovable */
    double *b;         /* (count, m) */
    const cs_set *set;
    int parameters;          /* number of parameters of each block */
    double *compliance;      /* (count, m): diagonal of Sigma; or NULL */
    double *included;        /* (count, m): the part of Sigma that a given A contains; or NULL */
    int64_t first_parameter; /* index of the group's first parameter among all groups' */
    double *parameter;       /* (count, parameters) */
    int coupled_set[CS_MAX_ROWS]; /* the coupled set that each row belongs to */
    struct {
        double *jacobian, *frame, *b, *parameter;
    } next; /* as in cs_body_group */
} cs_block_group;

struct cs_problem {
    cs_arena arena;
    cs_body_group body_group[CS_MAX_GROUPS];
    cs_block_group block_group[CS_MAX_GROUPS];
    int body_groups, block_groups;
    int64_t bodies, velocities; /* totals */
    int64_t blocks, rows, parameters;
    cs_block_matrix *matrix; /* the given A, or NULL */

    /* The version increases each time values are replaced. The others are the version at which these
     * data changed last: M^-1; J, M^-1 or a given A; and which blocks are coupled, which a body changes
     * that becomes immovable or movable, and a given A. */
    int64_t version;
    int64_t mass_version, matrix_version, coupling_version;
    int threads;  /* exactly so many copy arrays and assemble A; 0: as many as pay */
    cs_pace pace; /* of the updates so far */
};

/* The threads that share work on the problem: as many as it is told, else at most `most` (0: all), if the size is at
 * least `worth`. At most `parts` go on at once. */
int cs_problem_threads(const cs_problem *problem, int most, int64_t size, int64_t worth,
                       int64_t parts);

/* Whether the blocks of a group act on bodies: they have Jacobians, or frames in place of them. */
static inline int cs_has_jacobians(const cs_block_group *group)
{
    return group->jacobian || group->frame;
}

/* Whether the problem has blocks without Jacobians and A has not been given yet. */
static inline int cs_problem_is_open(const cs_problem *problem)
{
    return problem->block_groups && !cs_has_jacobians(&problem->block_group[0]) && !problem->matrix;
}

/* Whether the prox of some set calls the caller's code. */
static inline int cs_problem_calls_back(const cs_problem *problem)
{
    for (int g = 0; g < problem->block_groups; g++)
        if (problem->block_group[g].set->alone) return 1;
    return 0;
}

/* The group of a body; NULL for the fixed world. */
const cs_body_group *cs_body_group_of(const cs_problem *problem, int64_t body);

/* moved (bodies) <- the movable bodies that at least one block acts on, ascending. Returns their
 * number: in a large scene only a few bodies may be in contact. */
int64_t cs_moved_bodies(const cs_problem *problem, int64_t *moved);

/* The group of a block. */
const cs_block_group *cs_block_group_of(const cs_problem *problem, int64_t block);

/* Index of a block's first row in lambda, and the index after its last row. Spare rows, which belong to no
 * block, may follow the blocks of a group: the next block begins at or after the end of this one. */
int64_t cs_block_row(const cs_problem *problem, int64_t block);
int64_t cs_block_end(const cs_problem *problem, int64_t block);

/* The block that a row belongs to. */
int64_t cs_row_block(const cs_problem *problem, int64_t row);

/* Index in lambda of the first row of block `index` of a group. */
static inline int64_t cs_group_row(const cs_block_group *group, int64_t index)
{
    return group->first_row + index * group->rows;
}

/* The part of the blocks begin .. end - 1 that belongs to a group, by index in the group: from *first to *last - 1.
 * Returns whether there is one. */
static inline int cs_group_part(const cs_block_group *group, int64_t begin, int64_t end,
                                int64_t *first, int64_t *last)
{
    *first = begin > group->first_block ? begin - group->first_block : 0;
    *last = end - group->first_block < group->count ? end - group->first_block : group->count;
    return *first < *last;
}

/* Number of doubles in M^-1 of one body of a group. */
static inline int64_t cs_inverse_mass_size(const cs_body_group *group)
{
    return (int64_t)group->dof * (group->diagonal ? 1 : group->dof);
}

/* Number of doubles in the Jacobian of one block of a group. */
static inline int64_t cs_jacobian_size(const cs_block_group *group)
{
    return (int64_t)group->rows * group->column[group->partners];
}

/* ---- the partners of a block: the bodies that it acts on (groups with Jacobians only) ---------- */

/* The number of partners of each block, the fixed world included. */
static inline int cs_block_partners(const cs_block_group *group)
{
    return group->partners;
}

/* The body number of a partner; -1 for the fixed world. */
static inline int64_t cs_partner_body(const cs_block_group *group, int64_t index, int partner)
{
    return group->bodies[group->partners * index + partner];
}

/* Index of a partner's first velocity in the velocity vector; -1 if the partner is immovable. */
static inline int64_t cs_partner_velocity(const cs_block_group *group, int64_t index, int partner)
{
    return group->velocity[group->partners * index + partner];
}

/* Whether a partner can move. The fixed world and bodies with M^-1 = 0 cannot. */
static inline int cs_partner_moves(const cs_block_group *group, int64_t index, int partner)
{
    return cs_partner_velocity(group, index, partner) >= 0;
}

/* Offset of a partner's part (m, d) in J_k, which is also its offset in G_k = J_k L. */
static inline int64_t cs_partner_offset(const cs_block_group *group, int partner)
{
    return (int64_t)group->rows * group->column[partner];
}

/* A partner's part of J_k, (m, d): where it is stored, or in `room` (CS_FRAME_ENTRIES) if the group has frames. */
enum { CS_FRAME_ENTRIES = 6 * CS_MAX_ROWS };
static inline const double *cs_partner_jacobian(const cs_block_group *group, int64_t index,
                                                int partner, double *room)
{
    if (group->frame) {
        cs_frame_expand(group->frame + index * CS_FRAME_NUMBERS, group->rows, partner, room);
        return room;
    }
    return group->jacobian + index * cs_jacobian_size(group) + cs_partner_offset(group, partner);
}

/* What is stored of J_k, and how many doubles that is. */
static inline int64_t cs_jacobian_numbers(const cs_block_group *group)
{
    return group->frame ? (int64_t)CS_FRAME_NUMBERS : cs_jacobian_size(group);
}

static inline const double *cs_stored_jacobian(const cs_block_group *group, int64_t index)
{
    const double *first = group->frame ? group->frame : group->jacobian;
    return first + index * cs_jacobian_numbers(group);
}

/* Describes to a caller of cs_problem_add_blocks the bodies that a group acts on. */
static inline void cs_describe_partners(const cs_block_group *group, cs_blocks *blocks)
{
    blocks->partners = group->partners;
    for (int s = 0; s < CS_MAX_PARTNERS; s++) blocks->dof[s] = group->dof[s];
}

/* Whether the blocks of two groups have as many partners, with the same numbers of degrees of freedom. */
static inline int cs_same_partners(const cs_block_group *a, const cs_block_group *b)
{
    int same = a->partners == b->partners;
    for (int s = 0; s < CS_MAX_PARTNERS; s++) same &= a->dof[s] == b->dof[s];
    return same;
}

/* Whether a group has pairs of bodies with the same number of degrees of freedom. */
static inline int cs_has_pairs_of(const cs_block_group *group, int dof)
{
    return group->partners == CS_PAIR && group->dof[0] == dof && group->dof[1] == dof;
}

/* scaled <- G_k = J_k L of block `index` of `group`, (m, d_0) followed by (m, d_1) and so on, so that A = G G^T.
 * The part of an immovable body is zero. If several partners are the same body, the first one's part is
 * (J_0 + J_1 + ...) L and the others' are zero. */
void cs_scaled_jacobian(const cs_problem *problem, const cs_block_group *group, int64_t index,
                        double *scaled);

/* Calls `visit` for every entry of the rows of blocks begin .. end - 1 of a given A, one row of blocks after another. The
 * compiler inlines the call where `visit` is a constant. */
typedef void (*cs_visit_entry)(void *context, int64_t row, int64_t column, double entry);
CS_INLINE void cs_each_entry(const cs_problem *problem, int64_t begin, int64_t end,
                             cs_visit_entry visit, void *context)
{
    const cs_block_matrix *matrix = problem->matrix;
    for (int64_t k = begin; k < end; k++) {
        int rows = cs_block_group_of(problem, k)->rows;
        int64_t row = cs_block_row(problem, k);
        const double *value = matrix->value + matrix->first[k];
        for (int64_t e = matrix->start[k]; e < matrix->start[k + 1]; e++) {
            int columns = cs_block_group_of(problem, matrix->column[e])->rows;
            int64_t column = cs_block_row(problem, matrix->column[e]);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++) visit(context, row + i, column + j, *value++);
        }
    }
}

/* The diagonal block A_kk (m, m). */
void cs_diagonal_block(const cs_problem *problem, const cs_block_group *group, int64_t index,
                       double *diagonal);
/* The diagonal block (m, m) of J M^-1 J^T, without compliance. For a given A, A_kk minus the compliance
 * that A includes. */
void cs_mass_diagonal(const cs_problem *problem, const cs_block_group *group, int64_t index,
                      double *diagonal);

#endif
