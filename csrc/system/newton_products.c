/* Products of the systems of Newton's method: with A, with G block by block, with blocks (m, m). */
#include "system/newton_blocks.h"

#include <string.h>

/* ---- G --------------------------------------------------------------------------------------- */

/* y <- y + G^T x of one side */
CS_INLINE void add_transposed(int rows, int dof, const double *scaled, const double *x, double *y)
{
    for (int c = 0; c < dof; c++) {
        double sum = y[c];
        for (int i = 0; i < rows; i++) sum += scaled[i * dof + c] * x[i];
        y[c] = sum;
    }
}

/* y <- y + G_k^T x */
CS_INLINE void to_bodies(const cs_newton_view *v, const double *x, double *y)
{
    for (int side = 0; side < cs_block_partners(v->group); side++) {
        int dof = v->group->dof[side];
        const double *scaled = v->scaled + cs_partner_offset(v->group, side);
        double *own = y + v->place[side];
        if (v->place[side] < 0) continue;
        if (v->rows == 3 && dof == 6) add_transposed(3, 6, scaled, x, own);
        else add_transposed(v->rows, dof, scaled, x, own);
    }
}

/* x <- x + factor G y of one side */
CS_INLINE void add_product_of_side(int rows, int dof, const double *scaled, const double *y,
                                   double factor, double *x)
{
    for (int i = 0; i < rows; i++) {
        double even = 0, odd = 0;
        int c = 0;
        for (; c + 1 < dof; c += 2) {
            even += scaled[i * dof + c] * y[c];
            odd += scaled[i * dof + c + 1] * y[c + 1];
        }
        if (c < dof) even += scaled[i * dof + c] * y[c];
        x[i] += factor * (even + odd);
    }
}

/* x <- x + factor G_k y */
CS_INLINE void from_bodies(const cs_newton_view *v, const double *y, double factor, double *x)
{
    for (int side = 0; side < cs_block_partners(v->group); side++) {
        int dof = v->group->dof[side];
        const double *scaled = v->scaled + cs_partner_offset(v->group, side);
        const double *own = y + v->place[side];
        if (v->place[side] < 0) continue;
        if (v->rows == 3 && dof == 6) add_product_of_side(3, 6, scaled, own, factor, x);
        else add_product_of_side(v->rows, dof, scaled, own, factor, x);
    }
}

void cs_newton_gather(cs_newton_system *system, const double *x)
{
    memset(system->y, 0, sizeof(double) * (size_t)system->size);
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < cs_newton_count_of(system, g); k++) {
            cs_newton_view v = cs_newton_view_of(system, g, k);
            to_bodies(&v, x + v.row, system->y);
        }
}

void cs_newton_add_product(const cs_newton_system *system, double factor, double *x)
{
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < cs_newton_count_of(system, g); k++) {
            cs_newton_view v = cs_newton_view_of(system, g, k);
            from_bodies(&v, system->y, factor, x + v.row);
        }
}

/* ---- A --------------------------------------------------------------------------------------- */

static void multiply_given(const cs_problem *problem, const double *x, double *y)
{
    const cs_block_matrix *matrix = problem->matrix;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t block = group->first_block + k;
            const double *value = matrix->value + matrix->first[block];
            double *sum = y + cs_group_row(group, k);
            memset(sum, 0, sizeof(double) * (size_t)group->rows);
            for (int64_t e = matrix->start[block]; e < matrix->start[block + 1]; e++) {
                const double *part = x + cs_block_row(problem, matrix->column[e]);
                int columns = cs_block_group_of(problem, matrix->column[e])->rows;
                for (int i = 0; i < group->rows; i++)
                    for (int j = 0; j < columns; j++) sum[i] += value[i * columns + j] * part[j];
                value += group->rows * columns;
            }
        }
    }
}

void cs_newton_multiply(cs_newton_system *system, const double *x, double *y)
{
    if (!system->scaled) {
        multiply_given(system->problem, x, y);
        return;
    }
    cs_newton_gather(system, x);
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < cs_newton_count_of(system, g); k++) {
            cs_newton_view v = cs_newton_view_of(system, g, k);
            for (int i = 0; i < v.rows; i++)
                y[v.row + i] = v.compliance ? v.compliance[i] * x[v.row + i] : 0;
            from_bodies(&v, system->y, 1, y + v.row);
        }
}

/* ---- blocks (m, m) --------------------------------------------------------------------------- */

void cs_newton_multiply_blocks(const cs_newton_system *system, const double *a, int transposed,
                               const double *x, double *y)
{
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < cs_newton_count_of(system, g); k++) {
            cs_newton_view v = cs_newton_view_of(system, g, k);
            double own[CS_MAX_ROWS];
            cs_newton_multiply_block(v.rows, a + v.square, transposed, x + v.row, own);
            memcpy(y + v.row, own, sizeof(double) * (size_t)v.rows);
        }
}
