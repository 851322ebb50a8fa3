/* Static condensation: the patterns W of one face, and the factors of one aggregate.
 *
 *     A_ii, A_iI W      sums over the bodies of the aggregate, of G_b G_b^T and of G_b (G_b^T W)
 *     X = -A_ii^-1 A_iI W
 *     S = W^T A_II W + (A_iI W)^T X,   with the contribution of this aggregate's bodies to A_II alone
 *
 * Przemieniecki 1963 */
#include "methods/multilevel/internal.h"

#include <math.h>
#include <string.h>

/* Fraction by which diagonal entries are raised. */
#define RAISED 1e-9
/* A pattern is independent of others if more than this fraction of its square remains after they are projected
 * out. */
#define INDEPENDENT 1e-8

/* ---- patterns -------------------------------------------------------------------------------- */

/* Swaps columns i and j of w (rows, CS_FACE_WIDTH). */
static void swap_columns(double *w, int64_t rows, int64_t i, int64_t j)
{
    for (int64_t r = 0; r < rows; r++) {
        double kept = w[r * CS_FACE_WIDTH + i];
        w[r * CS_FACE_WIDTH + i] = w[r * CS_FACE_WIDTH + j];
        w[r * CS_FACE_WIDTH + j] = kept;
    }
}

/* The product of columns i and j of w (rows, CS_FACE_WIDTH). */
static double product(const double *w, int64_t rows, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) sum += w[r * CS_FACE_WIDTH + i] * w[r * CS_FACE_WIDTH + j];
    return sum;
}

/* Gram-Schmidt with column pivoting: the first `columns` columns of w (rows, CS_FACE_WIDTH) become an
 * orthonormal basis of the span of all columns, or of a part of it if its dimension is larger. If it is
 * smaller, the last of these columns are zero. */
static void orthonormalise(double *w, int64_t rows, int64_t columns)
{
    double whole[CS_FACE_WIDTH], left[CS_FACE_WIDTH];
    for (int j = 0; j < CS_FACE_WIDTH; j++) whole[j] = product(w, rows, j, j);
    for (int64_t i = 0; i < columns; i++) {
        /* The pivot is the column of which the largest fraction remains. */
        int64_t pivot = i;
        for (int64_t j = i; j < CS_FACE_WIDTH; j++) {
            left[j] = whole[j] > 0 ? product(w, rows, j, j) / whole[j] : 0;
            if (left[j] > left[pivot]) pivot = j;
        }

        /* Normalise it, or make it zero if it depends on others. */
        double norm = sqrt(left[pivot] * whole[pivot]);
        double factor = left[pivot] > INDEPENDENT ? 1 / norm : 0;
        swap_columns(w, rows, i, pivot);
        whole[pivot] = whole[i];
        for (int64_t r = 0; r < rows; r++) w[r * CS_FACE_WIDTH + i] *= factor;

        /* Project it out of the other columns. */
        for (int64_t j = i + 1; j < CS_FACE_WIDTH; j++) {
            double along = product(w, rows, i, j);
            for (int64_t r = 0; r < rows; r++)
                w[r * CS_FACE_WIDTH + j] -= along * w[r * CS_FACE_WIDTH + i];
        }
    }
}

/* W of one block on a face, (rows, CS_FACE_WIDTH): see cs_find_patterns. */
static void find_pattern(const cs_coarse *c, int64_t k, double *w)
{
    const cs_block_group *group = cs_block_group_of(c->problem, k);
    int parts = 0;
    for (int s = 0; s < group->partners; s++) {
        if (!cs_is_lower_side(c, k, s)) continue;
        double room[CS_FRAME_ENTRIES];
        const double *jacobian = cs_partner_jacobian(group, k - group->first_block, s, room);
        int dof = group->dof[s];
        for (int i = 0; i < group->rows; i++)
            for (int j = 0; j < CS_FACE_WIDTH; j++) {
                int counts = c->is_free[c->first_row[k] + i] && j < dof;
                double *entry = &w[i * CS_FACE_WIDTH + j], own = counts ? jacobian[i * dof + j] : 0;
                *entry = parts ? *entry + own : own;
            }
        parts++;
    }
}

/* W of a face: columns of the Jacobians of the lower aggregate's bodies, on free rows. Column j spreads
 * component j of a wrench over the contacts of the face. The columns are then made orthonormal. */
void cs_find_patterns(cs_coarse *c, int64_t face)
{
    double *w = c->pattern + c->pattern_at[face];
    int64_t row = 0;
    for (int64_t e = c->face_block.start[face]; e < c->face_block.start[face + 1]; e++) {
        int64_t k = c->face_block.item[e];
        find_pattern(c, k, w + row * CS_FACE_WIDTH);
        row += c->rows[k];
    }
    orthonormalise(w, row, c->width[face]);
}

/* ---- one aggregate --------------------------------------------------------------------------- */

/* G_k of one side of a block, (rows, dof). */
static const double *scaled_side(const cs_coarse *c, int64_t entry)
{
    int64_t block = cs_entry_block(&c->aggregates.adjacency, entry);
    const cs_block_group *group = cs_block_group_of(c->problem, block);
    int partner = cs_entry_partner(&c->aggregates.adjacency, entry);
    return c->scaled + c->scaled_at[block] + cs_partner_offset(group, partner);
}

/* The first of an aggregate's columns that belongs to a face. */
static int64_t column_of(const cs_coarse *c, int64_t aggregate, int64_t face)
{
    int64_t column = 0;
    for (int64_t t = c->aggregates.touching.start[aggregate];
         c->aggregates.touching.item[t] != face; t++)
        column += c->width[c->aggregates.touching.item[t]];
    return column;
}

/* c->effect (columns, dof) <- G_b^T W of one body. Returns 0, with `effect` unchanged, if the body is on no
 * face. */
static int find_effect(cs_coarse *c, int64_t aggregate, int64_t body, int dof)
{
    const cs_adjacency *adjacency = &c->aggregates.adjacency;
    int found = 0;
    for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
        int64_t k = cs_entry_block(adjacency, adjacency->entry[e]), face = c->aggregates.face[k];
        if (face < 0) continue;

        /* The first contact on a face clears the array. */
        if (!found++)
            memset(c->effect, 0, sizeof(double) * (size_t)(c->part[aggregate].columns * dof));

        /* Add the contact's W and G. */
        double *effect = c->effect + column_of(c, aggregate, face) * dof;
        const double *g = scaled_side(c, adjacency->entry[e]);
        const double *w = c->pattern + c->pattern_at[face] + c->aggregates.place[k] * CS_FACE_WIDTH;
        for (int64_t i = 0; i < c->rows[k]; i++)
            for (int64_t j = 0; j < c->width[face]; j++)
                for (int d = 0; d < dof; d++)
                    effect[j * dof + d] += w[i * CS_FACE_WIDTH + j] * g[i * dof + d];
    }
    return found;
}

/* A_ii += G_k G_l^T for the inner block k of an entry and all inner blocks l of this body, on free rows (lower
 * triangle). */
static void add_inner(cs_coarse *c, cs_part *part, int64_t body, int64_t entry, int dof)
{
    const cs_adjacency *adjacency = &c->aggregates.adjacency;
    int64_t k = cs_entry_block(&c->aggregates.adjacency, entry);
    const double *g = scaled_side(c, entry);
    for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
        int64_t other = adjacency->entry[e], l = cs_entry_block(adjacency, other);
        if (c->aggregates.inner[l] < 0 || c->aggregates.place[l] > c->aggregates.place[k]) continue;
        const double *h = scaled_side(c, other);
        for (int64_t i = 0; i < c->rows[k]; i++)
            for (int64_t j = 0; j < c->rows[l]; j++) {
                int64_t row = c->aggregates.place[k] + i, column = c->aggregates.place[l] + j;
                if (column > row || !c->is_free[c->first_row[k] + i] ||
                    !c->is_free[c->first_row[l] + j])
                    continue;
                *cs_panels_entry(&part->panels, row, column) +=
                    cs_dot(dof, g + i * dof, h + j * dof);
            }
    }
}

/* A_iI W += G_k (G_b^T W) for the inner block k of an entry, on free rows. */
static void add_right(const cs_coarse *c, cs_part *part, int64_t entry, int dof)
{
    int64_t k = cs_entry_block(&c->aggregates.adjacency, entry);
    const double *g = scaled_side(c, entry);
    for (int64_t j = 0; j < part->columns; j++)
        for (int64_t i = 0; i < c->rows[k]; i++)
            if (c->is_free[c->first_row[k] + i])
                c->right[j * part->inner + c->aggregates.place[k] + i] +=
                    cs_dot(dof, g + i * dof, c->effect + j * dof);
}

/* Adds what one body contributes to A_ii, A_iI W and the Schur complement. */
static void add_body(cs_coarse *c, int64_t aggregate, int64_t body)
{
    const cs_adjacency *adjacency = &c->aggregates.adjacency;
    cs_part *part = &c->part[aggregate];
    int dof = cs_body_group_of(c->problem, body)->dof;
    int on_face = find_effect(c, aggregate, body, dof);

    /* A_ii and A_iI W, from the inner blocks of the body. */
    for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
        if (c->aggregates.inner[cs_entry_block(adjacency, adjacency->entry[e])] < 0) continue;
        add_inner(c, part, body, adjacency->entry[e], dof);
        if (on_face) add_right(c, part, adjacency->entry[e], dof);
    }

    /* The Schur complement += (G_b^T W)^T (G_b^T W) */
    for (int64_t i = 0; on_face && i < part->columns; i++)
        for (int64_t j = 0; j < part->columns; j++)
            part->schur[i * part->columns + j] +=
                cs_dot(dof, c->effect + i * dof, c->effect + j * dof);
}

/* Adds the diagonal of one block that does not come from bodies, compliance and the shift: to A_ii, or for a
 * block on a face through W to the Schur complement. */
static void add_diagonal(const cs_coarse *c, int64_t aggregate, int64_t block)
{
    cs_part *part = &c->part[aggregate];
    const cs_block_group *group = cs_block_group_of(c->problem, block);
    const double *sigma =
        group->compliance ? group->compliance + (block - group->first_block) * group->rows : NULL;
    int64_t face = c->aggregates.face[block], place = c->aggregates.place[block];
    int64_t first = face < 0 ? 0 : column_of(c, aggregate, face);

    /* The free rows. */
    for (int i = 0; i < group->rows; i++) {
        int64_t row = c->first_row[block] + i;
        if (!c->is_free[row]) continue;
        double more = (sigma ? sigma[i] : 0) + c->shift / c->rho[row];
        if (face < 0) *cs_panels_entry(&part->panels, place + i, place + i) += more;
        if (face < 0) continue;
        const double *w = c->pattern + c->pattern_at[face] + (place + i) * CS_FACE_WIDTH;
        for (int64_t j = 0; j < c->width[face]; j++)
            for (int64_t l = 0; l < c->width[face]; l++)
                part->schur[(first + j) * part->columns + first + l] += more * w[j] * w[l];
    }
}

/* Raises each diagonal entry by a small fraction; entries that are zero become 1. */
void cs_raise_diagonal(cs_panels *panels)
{
    for (int64_t i = 0; i < panels->rows; i++) {
        double *entry = cs_panels_entry(panels, i, i);
        *entry = *entry > 0 ? *entry * (1 + RAISED) : 1;
    }
}

/* Factors A_ii, computes X, and completes the Schur complement. Returns whether A_ii has a factor. */
static int eliminate_inner(cs_coarse *c, cs_part *part)
{
    cs_breakdown breakdown;

    /* The factor. */
    cs_raise_diagonal(&part->panels);
    cs_panels_factor(&part->panels, NULL, &breakdown);
    if (breakdown.row >= 0) return 0;

    /* X = -A_ii^-1 A_iI W */
    for (int64_t j = 0; j < part->columns; j++) {
        double *x = part->extended + j * part->inner;
        for (int64_t i = 0; i < part->inner; i++) x[i] = -c->right[j * part->inner + i];
        cs_panels_solve(&part->panels, x);
    }

    /* The Schur complement += (A_iI W)^T X */
    for (int64_t i = 0; i < part->columns; i++)
        for (int64_t j = 0; j < part->columns; j++)
            part->schur[i * part->columns + j] +=
                cs_dot(part->inner, c->right + i * part->inner, part->extended + j * part->inner);
    return 1;
}

void cs_condense(cs_coarse *c, int64_t aggregate)
{
    cs_part *part = &c->part[aggregate];

    /* Sums over the bodies of the aggregate. */
    cs_panels_clear(&part->panels);
    memset(c->right, 0, sizeof(double) * (size_t)(part->columns * part->inner));
    memset(part->schur, 0, sizeof(double) * (size_t)(part->columns * part->columns));
    for (int64_t m = c->aggregates.body.start[aggregate];
         m < c->aggregates.body.start[aggregate + 1]; m++)
        add_body(c, aggregate, c->aggregates.body.item[m]);

    /* Compliance and the shift: of inner blocks, and of faces of which this is the lower aggregate. */
    for (int64_t e = c->inner_block.start[aggregate]; e < c->inner_block.start[aggregate + 1]; e++)
        add_diagonal(c, aggregate, c->inner_block.item[e]);
    for (int64_t t = c->aggregates.touching.start[aggregate];
         t < c->aggregates.touching.start[aggregate + 1]; t++) {
        int64_t face = c->aggregates.touching.item[t];
        if (c->aggregates.side[2 * face] != aggregate) continue;
        for (int64_t e = c->face_block.start[face]; e < c->face_block.start[face + 1]; e++)
            add_diagonal(c, aggregate, c->face_block.item[e]);
    }

    /* Eliminate the inner rows. */
    part->solvable = eliminate_inner(c, part);
    part->stale = 0;
}
