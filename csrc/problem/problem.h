/* A contact problem as arrays.
 *
 *     bodies   group 0: d = 6 | group 1: d = 12 | ...     one velocity vector, groups in turn
 *     blocks   group 0: m = 3 on (6, 6) | group 1: m = 1 on (6, 12) | ...   one lambda, in turn
 *
 * Everything a kernel needs of a block follows from its group and its place in it. A problem has
 * either bodies and Jacobians or a given A (`matrix`), never both. */
#ifndef CS_PROBLEM_H
#define CS_PROBLEM_H

#include "contactsolve.h"
#include "core/compiler.h"
#include "core/memory.h"
#include "core/set.h"
#include "problem/block_matrix.h"

enum { CS_MAX_GROUPS = 64, CS_MAX_DOF = 64, CS_PARTNERS = 2 };

typedef struct cs_body_group {
    int64_t count;
    int dof;
    int diagonal;           /* inverse_mass is (count, dof), else (count, dof, dof) */
    int64_t first_body;     /* number of its first body */
    int64_t first_velocity; /* where its velocities begin */
    double *inverse_mass;
    double *root;             /* L with L L^T = M^-1, in the form of inverse_mass */
    unsigned char *immovable; /* (count): M^-1 = 0 */
} cs_body_group;

typedef struct cs_block_group {
    int64_t count;
    int rows;   /* m */
    int dof[2]; /* of the first and the second body; 0 where A is given */
    int64_t first_block, first_row;
    double *jacobian;  /* (count, m d_0 + m d_1) */
    int64_t *bodies;   /* (count, 2), -1: fixed world */
    int64_t *velocity; /* (count, 2): where the partners' velocities begin; -1: immovable */
    double *b;         /* (count, m) */
    const cs_set *set;
    int parameters;               /* per block */
    double *compliance;           /* (count, m): diagonal of Sigma; or NULL */
    double *included;             /* (count, m): the part of it in a given A; or NULL */
    int64_t first_parameter;      /* where the group's begin among all */
    double *parameter;            /* (count, parameters) */
    int coupled_set[CS_MAX_ROWS]; /* of each row */
} cs_block_group;

struct cs_problem {
    cs_arena arena;
    cs_body_group body_group[CS_MAX_GROUPS];
    cs_block_group block_group[CS_MAX_GROUPS];
    int body_groups, block_groups;
    int64_t bodies, velocities; /* totals */
    int64_t blocks, rows, parameters;
    cs_block_matrix *matrix; /* the given A, or NULL */
    int64_t version;         /* counts replacements of the values */
};

/* Whether the problem has blocks without Jacobians whose matrix has not been given. */
static inline int cs_problem_is_open(const cs_problem *problem)
{
    return problem->block_groups && !problem->block_group[0].jacobian && !problem->matrix;
}

/* A body's group, NULL for the fixed world. */
const cs_body_group *cs_body_group_of(const cs_problem *problem, int64_t body);

/* moved (bodies) <- the bodies that blocks move, ascending; returns how many. Of a large scene few may
 * be in contact. */
int64_t cs_moved_bodies(const cs_problem *problem, int64_t *moved);

/* The group of a block. */
const cs_block_group *cs_block_group_of(const cs_problem *problem, int64_t block);

/* First row of a block in lambda. */
int64_t cs_block_row(const cs_problem *problem, int64_t block);

/* First row in lambda of block `index` of a group. */
static inline int64_t cs_group_row(const cs_block_group *group, int64_t index)
{
    return group->first_row + index * group->rows;
}

/* Doubles in one block of a group's Jacobian. */
static inline int64_t cs_jacobian_size(const cs_block_group *group)
{
    return (int64_t)group->rows * (group->dof[0] + group->dof[1]);
}

/* ---- the partners of a block: the bodies that it acts on. Only of groups with Jacobians. ------ */

/* How many a block of the group has; the fixed world counts. */
static inline int cs_block_partners(const cs_block_group *group)
{
    (void)group;
    return CS_PARTNERS;
}

/* The body's number, -1 for the fixed world. */
static inline int64_t cs_partner_body(const cs_block_group *group, int64_t index, int partner)
{
    return group->bodies[CS_PARTNERS * index + partner];
}

/* Where its velocity begins among those of all bodies, -1 for an immovable one. */
static inline int64_t cs_partner_velocity(const cs_block_group *group, int64_t index, int partner)
{
    return group->velocity[CS_PARTNERS * index + partner];
}

/* Whether it does: not of the fixed world, nor of a body with M^-1 = 0. */
static inline int cs_partner_moves(const cs_block_group *group, int64_t index, int partner)
{
    return cs_partner_velocity(group, index, partner) >= 0;
}

/* Where its part, (m, d), begins among the numbers of J_k, or of G_k = J_k L. */
static inline int64_t cs_partner_offset(const cs_block_group *group, int partner)
{
    return partner ? (int64_t)group->rows * group->dof[0] : 0;
}

/* Its part of J. */
static inline const double *cs_partner_jacobian(const cs_block_group *group, int64_t index,
                                                int partner)
{
    return group->jacobian + index * cs_jacobian_size(group) + cs_partner_offset(group, partner);
}

/* velocity <- M^-1 J^T lambda, with the Jacobian and inverse mass as given. S1 eq. 3.18 */
void cs_velocity_change(const cs_problem *problem, const double *lambda, double *velocity);

/* xi <- A lambda + b with the data as given; `velocity` (velocities) is scratch and ends as
 * M^-1 J^T lambda. S1 eq. 2.69 */
void cs_residual_velocity(const cs_problem *problem, const double *lambda, const double *b,
                          double *velocity, double *xi);

/* G_k = J_k L of block `index` of `group`: (m, d_0) then (m, d_1), a side of an immovable body
 * zero. A = G G^T. Of a block that joins a body to itself the first side is (J_0 + J_1) L, the second
 * zero. */
void cs_scaled_jacobian(const cs_problem *problem, const cs_block_group *group, int64_t index,
                        double *scaled);

/* xi += A lambda, likewise. */
void cs_add_products(const cs_problem *problem, const double *lambda, double *velocity, double *xi);

/* magnitude (rows) <- |A| |lambda| + |b|, for bounds of rounding errors; of Jacobians
 * |J| |M^-1| |J^T| |lambda| + Sigma |lambda| + |b|. `velocity` (velocities) is scratch. */
void cs_magnitude(const cs_problem *problem, const double *lambda, const double *b,
                  double *velocity, double *magnitude);

/* magnitude (rows) <- |A|^T |x|, likewise. */
void cs_magnitude_transposed(const cs_problem *problem, const double *x, double *velocity,
                             double *magnitude);

/* y (rows) <- A^T x, with the data as given. `velocity` (velocities) is scratch. */
void cs_multiply_transposed(const cs_problem *problem, const double *x, double *velocity,
                            double *y);

/* Calls `visit` with every entry of a given A, one row of blocks after another. Inlined where `visit` is a
 * constant. */
typedef void (*cs_visit_entry)(void *context, int64_t row, int64_t column, double entry);
CS_INLINE void cs_each_entry(const cs_problem *problem, cs_visit_entry visit, void *context)
{
    const cs_block_matrix *matrix = problem->matrix;
    for (int64_t k = 0; k < problem->blocks; k++) {
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
/* The same without compliance: that of J M^-1 J^T; of a given A it is A_kk without what it includes. */
void cs_mass_diagonal(const cs_problem *problem, const cs_block_group *group, int64_t index,
                      double *diagonal);

#endif
