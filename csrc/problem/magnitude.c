/* Products with |A| and with A^T. Rounding floors need |A| |lambda| + |b|; certificates need A^T d. */
#include "problem/products.h"

#include <math.h>
#include <string.h>

/* velocity += |J_k^T| |lambda_k| of one group */
static void add_impulses(const cs_block_group *group, const double *lambda, double *velocity)
{
    const double *jacobian = group->jacobian;
    for (int64_t k = 0; k < group->count; k++)
        for (int side = 0; side < 2; side++) {
            int dof = group->dof[side];
            int64_t at = group->velocity[2 * k + side];
            const double *impulse = lambda + cs_group_row(group, k);
            for (int i = 0; i < group->rows && at >= 0; i++)
                for (int c = 0; c < dof; c++)
                    velocity[at + c] += fabs(jacobian[i * dof + c] * impulse[i]);
            jacobian += group->rows * dof;
        }
}

/* velocity <- |M^-1| velocity of one group. `scratch` (dof) holds the product of one body. */
static void apply_inverse_mass(const cs_body_group *group, double *velocity, double *scratch)
{
    int dof = group->dof;
    for (int64_t body = 0; body < group->count; body++) {
        double *v = velocity + group->first_velocity + body * dof;
        const double *inverse = group->inverse_mass + body * dof * (group->diagonal ? 1 : dof);
        for (int i = 0; i < dof; i++) {
            scratch[i] = group->diagonal ? fabs(inverse[i]) * v[i] : 0;
            for (int c = 0; c < dof && !group->diagonal; c++)
                scratch[i] += fabs(inverse[i * dof + c]) * v[c];
        }
        memcpy(v, scratch, sizeof(double) * (size_t)dof);
    }
}

/* magnitude_k += |J_k| velocity + Sigma_k |lambda_k| of one group */
static void add_velocities(const cs_block_group *group, const double *velocity,
                           const double *lambda, double *magnitude)
{
    const double *jacobian = group->jacobian;
    int rows = group->rows;
    for (int64_t k = 0; k < group->count; k++) {
        double *sum = magnitude + cs_group_row(group, k);

        /* |J_k| velocity, partner by partner. */
        for (int side = 0; side < 2; side++) {
            int dof = group->dof[side];
            int64_t at = group->velocity[2 * k + side];
            for (int i = 0; i < rows && at >= 0; i++)
                for (int c = 0; c < dof; c++)
                    sum[i] += fabs(jacobian[i * dof + c]) * velocity[at + c];
            jacobian += rows * dof;
        }

        /* Sigma_k |lambda_k| */
        for (int i = 0; i < rows && group->compliance; i++)
            sum[i] += group->compliance[k * rows + i] * fabs(lambda[cs_group_row(group, k) + i]);
    }
}

/* y += A x or A^T x for a given A, or the same with absolute values of all terms. */
typedef struct product {
    int transposed, absolute;
    const double *x;
    double *y;
} product;

/* Adds the term of one entry of A. */
static void add_entry(void *context, int64_t row, int64_t column, double entry)
{
    const product *p = context;
    double term = entry * p->x[p->transposed ? row : column];
    p->y[p->transposed ? column : row] += p->absolute ? fabs(term) : term;
}

/* magnitude += |J| |M^-1| |J^T| |lambda| + Sigma |lambda| */
static void add_magnitudes(const cs_problem *problem, const double *lambda, double *velocity,
                           double *magnitude)
{
    double scratch[CS_MAX_DOF];
    memset(velocity, 0, sizeof(double) * (size_t)problem->velocities);
    for (int g = 0; g < problem->block_groups; g++)
        add_impulses(&problem->block_group[g], lambda, velocity);
    for (int g = 0; g < problem->body_groups; g++)
        apply_inverse_mass(&problem->body_group[g], velocity, scratch);
    for (int g = 0; g < problem->block_groups; g++)
        add_velocities(&problem->block_group[g], velocity, lambda, magnitude);
}

void cs_magnitude(const cs_problem *problem, const double *lambda, const double *b,
                  double *velocity, double *magnitude)
{
    for (int64_t i = 0; i < problem->rows; i++) magnitude[i] = fabs(b[i]);
    if (problem->matrix) cs_each_entry(problem, add_entry, &(product){0, 1, lambda, magnitude});
    else add_magnitudes(problem, lambda, velocity, magnitude);
}

void cs_magnitude_transposed(const cs_problem *problem, const double *x, double *velocity,
                             double *magnitude)
{
    memset(magnitude, 0, sizeof(double) * (size_t)problem->rows);
    if (problem->matrix) cs_each_entry(problem, add_entry, &(product){1, 1, x, magnitude});
    else add_magnitudes(problem, x, velocity, magnitude);
}

void cs_multiply_transposed(const cs_problem *problem, const double *x, double *velocity, double *y)
{
    memset(y, 0, sizeof(double) * (size_t)problem->rows);
    if (problem->matrix) cs_each_entry(problem, add_entry, &(product){1, 0, x, y});
    else cs_add_products(problem, x, velocity, y); /* A = J M^-1 J^T is symmetric */
}
