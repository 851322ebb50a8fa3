#include "system/blocks.h"

#include <string.h>

/* Cost of placing a block, in multiplications. */
enum { PLACE_WORK = 100 };

/* ---- set-up ---------------------------------------------------------------------------------- */

/* The first unknown of a node; -1: it is immovable. */
static int64_t place_of(const cs_pattern *pattern, int64_t node)
{
    return node < 0 ? -1 : pattern->begin[pattern->place[node]];
}

static void place(cs_system_blocks *blocks, const cs_pattern *pattern, int g, int64_t index)
{
    const cs_block_group *group = &blocks->problem->block_group[g];
    int64_t block = group->first_block + index, *own = blocks->place + (block << blocks->shift);
    if (pattern->matrix) {
        own[0] = place_of(pattern, block);
        own[1] = -1;
        return;
    }
    for (int side = 0; side < cs_block_partners(group); side++)
        own[side] = place_of(pattern, pattern->body[(block << blocks->shift) + side]);
    cs_scaled_jacobian(blocks->problem, group, index,
                       blocks->scaled + blocks->first[g] + index * cs_jacobian_size(group));
}

int cs_system_blocks_take(cs_system_blocks *blocks, const cs_pattern *pattern,
                          cs_cancellation *cancellation, cs_arena *arena)
{
    const cs_problem *problem = pattern->problem;
    int64_t scaled = 0;
    *blocks = (cs_system_blocks){
        .problem = problem, .unknowns = pattern->unknowns, .shift = pattern->shift};

    /* Where the arrays of each group begin. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        blocks->square[g] = blocks->squares;
        blocks->first[g] = scaled;
        blocks->squares += group->count * group->rows * group->rows;
        scaled += group->count * cs_jacobian_size(group);
        blocks->compliant |= group->compliance != NULL;
    }
    blocks->place = cs_arena_take_unset(arena, problem->blocks << blocks->shift, sizeof(int64_t));
    if (!pattern->matrix) blocks->scaled = cs_arena_take_unset(arena, scaled, sizeof(double));
    if (cs_arena_failed(arena)) return -1;

    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++) {
            if (cs_is_cancelled(cancellation, PLACE_WORK)) return -1;
            place(blocks, pattern, g, k);
        }
    return 0;
}

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
CS_INLINE void to_bodies(const cs_system_block *v, const double *x, double *y)
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

void cs_system_gather(const cs_system_blocks *blocks, const double *x, double *y)
{
    memset(y, 0, sizeof(double) * (size_t)blocks->unknowns);
    for (int g = 0; g < blocks->problem->block_groups; g++)
        for (int64_t k = 0; k < blocks->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(blocks, g, k);
            to_bodies(&v, x + v.row, y);
        }
}

/* x <- x + factor G y of one side */
CS_INLINE void add_product_of_side(int rows, int dof, const double *scaled, const double *y,
                                   double factor, double *x)
{
    for (int i = 0; i < rows; i++) {
        /* Two sums, so that one addition need not wait for the other. */
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

void cs_system_add_product(const cs_system_blocks *blocks, double factor, const double *y,
                           double *x)
{
    for (int g = 0; g < blocks->problem->block_groups; g++)
        for (int64_t k = 0; k < blocks->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(blocks, g, k);
            for (int side = 0; side < cs_block_partners(v.group); side++) {
                int dof = v.group->dof[side];
                const double *scaled = v.scaled + cs_partner_offset(v.group, side);
                const double *own = y + v.place[side];
                if (v.place[side] < 0) continue;
                if (v.rows == 3 && dof == 6)
                    add_product_of_side(3, 6, scaled, own, factor, x + v.row);
                else add_product_of_side(v.rows, dof, scaled, own, factor, x + v.row);
            }
        }
}

/* ---- squares (m, m), and unknowns in constraint space ------------------------------------------ */

void cs_system_multiply_squares(const cs_system_blocks *blocks, const double *a, int transposed,
                                const double *x, double *y)
{
    for (int g = 0; g < blocks->problem->block_groups; g++)
        for (int64_t k = 0; k < blocks->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(blocks, g, k);
            const double *own = a + v.square, *from = x + v.row;
            double sum[CS_MAX_ROWS];
            for (int i = 0; i < v.rows; i++) {
                sum[i] = 0;
                for (int j = 0; j < v.rows; j++)
                    sum[i] += own[transposed ? j * v.rows + i : i * v.rows + j] * from[j];
            }
            memcpy(y + v.row, sum, sizeof(double) * (size_t)v.rows);
        }
}

CS_INLINE void between(int rows, int columns, const double *left, const double *a,
                       const double *right, double *product)
{
    double half[CS_MAX_ROWS * CS_MAX_ROWS]; /* a right */
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0;
            for (int c = 0; c < columns; c++) sum += a[i * columns + c] * right[c * columns + j];
            half[i * columns + j] = sum;
        }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0;
            for (int c = 0; c < rows; c++) sum += left[c * rows + i] * half[c * columns + j];
            product[i * columns + j] = sum;
        }
}

void cs_system_between(int rows, int columns, const double *left, const double *a,
                       const double *right, double *product)
{
    if (rows == 3 && columns == 3) between(3, 3, left, a, right, product);
    else between(rows, columns, left, a, right, product);
}

void cs_system_to_unknowns(const cs_system_blocks *blocks, const double *x, double *y)
{
    for (int g = 0; g < blocks->problem->block_groups; g++)
        for (int64_t k = 0; k < blocks->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(blocks, g, k);
            memcpy(y + v.place[0], x + v.row, sizeof(double) * (size_t)v.rows);
        }
}

void cs_system_to_rows(const cs_system_blocks *blocks, const double *y, double *x)
{
    for (int g = 0; g < blocks->problem->block_groups; g++)
        for (int64_t k = 0; k < blocks->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(blocks, g, k);
            memcpy(x + v.row, y + v.place[0], sizeof(double) * (size_t)v.rows);
        }
}
