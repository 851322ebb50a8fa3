#include "methods/multilevel/internal.h"

#include <math.h>
#include <string.h>

/* Pivots are raised by this part of the diagonal. */
#define RAISED 1e-9
/* Of a pattern's square, what is no multiple of others. */
#define INDEPENDENT 1e-8

/* ---- patterns -------------------------------------------------------------------------------- */

static void swap_columns(double *w, int64_t rows, int64_t i, int64_t j)
{
    for (int64_t r = 0; r < rows; r++) {
        double kept = w[r * CS_FACE_WIDTH + i];
        w[r * CS_FACE_WIDTH + i] = w[r * CS_FACE_WIDTH + j];
        w[r * CS_FACE_WIDTH + j] = kept;
    }
}

static double product(const double *w, int64_t rows, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) sum += w[r * CS_FACE_WIDTH + i] * w[r * CS_FACE_WIDTH + j];
    return sum;
}

/* The first `columns` of (rows, CS_FACE_WIDTH) become an orthonormal basis of what all of them span, or
 * of most of it; zero where it has fewer. Each time the one that has most left. */
static void orthonormalise(double *w, int64_t rows, int64_t columns)
{
    double whole[CS_FACE_WIDTH], left[CS_FACE_WIDTH];
    for (int j = 0; j < CS_FACE_WIDTH; j++) whole[j] = product(w, rows, j, j);
    for (int64_t i = 0; i < columns; i++) {
        int64_t pivot = i;
        for (int64_t j = i; j < CS_FACE_WIDTH; j++) {
            left[j] = whole[j] > 0 ? product(w, rows, j, j) / whole[j] : 0;
            if (left[j] > left[pivot]) pivot = j;
        }
        double norm = sqrt(left[pivot] * whole[pivot]);
        double factor = left[pivot] > INDEPENDENT ? 1 / norm : 0;
        swap_columns(w, rows, i, pivot);
        whole[pivot] = whole[i];
        for (int64_t r = 0; r < rows; r++) w[r * CS_FACE_WIDTH + i] *= factor;
        for (int64_t j = i + 1; j < CS_FACE_WIDTH; j++) {
            double along = product(w, rows, i, j);
            for (int64_t r = 0; r < rows; r++)
                w[r * CS_FACE_WIDTH + j] -= along * w[r * CS_FACE_WIDTH + i];
        }
    }
}

/* Impulses as one body's Jacobian has them, for each of its degrees of freedom: those of its wrenches,
 * shared out among the contacts of the face. */
void cs_find_patterns(cs_coarse *c, int64_t face)
{
    double *w = c->pattern + c->pattern_at[face];
    int64_t row = 0;
    for (int64_t e = c->contact.start[face]; e < c->contact.start[face + 1]; e++) {
        int64_t k = c->contact.item[e];
        const cs_block_group *group = cs_block_group_of(c->problem, k);
        int side = cs_lower_side(c, k), dof = group->dof[side];
        const double *jacobian = cs_partner_jacobian(group, k - group->first_block, side);
        for (int i = 0; i < group->rows; i++, row++)
            for (int j = 0; j < CS_FACE_WIDTH; j++) {
                int counts = c->loose[c->first_row[k] + i] && j < dof;
                w[row * CS_FACE_WIDTH + j] = counts ? jacobian[i * dof + j] : 0;
            }
    }
    orthonormalise(w, row, c->width[face]);
}

/* ---- one aggregate --------------------------------------------------------------------------- */

/* G_k of one side, (rows, dof). */
static const double *scaled_side(const cs_coarse *c, int64_t entry)
{
    int64_t block = cs_entry_block(entry);
    const cs_block_group *group = cs_block_group_of(c->problem, block);
    return c->scaled + c->scaled_at[block] + cs_partner_offset(group, cs_entry_partner(entry));
}

/* Where the patterns of a face begin among an aggregate's columns. */
static int64_t column_of(const cs_coarse *c, int64_t aggregate, int64_t face)
{
    int64_t column = 0;
    for (int64_t t = c->all.touching.start[aggregate]; c->all.touching.item[t] != face; t++)
        column += c->width[c->all.touching.item[t]];
    return column;
}

/* effect (columns, dof) <- G_b^T W of one body. Returns whether it is on a face at all. */
static int find_effect(cs_coarse *c, int64_t aggregate, int64_t body, int dof)
{
    const cs_adjacency *adjacency = &c->all.adjacency;
    int found = 0;
    for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
        int64_t k = cs_entry_block(adjacency->entry[e]), face = c->all.face[k];
        if (face < 0) continue;
        if (!found++)
            memset(c->effect, 0, sizeof(double) * (size_t)(c->part[aggregate].columns * dof));
        double *effect = c->effect + column_of(c, aggregate, face) * dof;
        const double *g = scaled_side(c, adjacency->entry[e]);
        const double *w = c->pattern + c->pattern_at[face] + c->all.place[k] * CS_FACE_WIDTH;
        for (int64_t i = 0; i < c->rows[k]; i++)
            for (int64_t j = 0; j < c->width[face]; j++)
                for (int d = 0; d < dof; d++)
                    effect[j * dof + d] += w[i * CS_FACE_WIDTH + j] * g[i * dof + d];
    }
    return found;
}

/* A_ii += G_k G_l^T for an inner block and all of this body's. */
static void add_inner(cs_coarse *c, cs_part *part, int64_t body, int64_t entry, int dof)
{
    const cs_adjacency *adjacency = &c->all.adjacency;
    int64_t k = cs_entry_block(entry);
    const double *g = scaled_side(c, entry);
    for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
        int64_t other = adjacency->entry[e], l = cs_entry_block(other);
        if (c->all.inner[l] < 0 || c->all.place[l] > c->all.place[k]) continue;
        const double *h = scaled_side(c, other);
        for (int64_t i = 0; i < c->rows[k]; i++)
            for (int64_t j = 0; j < c->rows[l]; j++) {
                int64_t row = c->all.place[k] + i, column = c->all.place[l] + j;
                if (column > row || !c->loose[c->first_row[k] + i] ||
                    !c->loose[c->first_row[l] + j])
                    continue;
                *cs_panels_entry(&part->panels, row, column) +=
                    cs_dot(dof, g + i * dof, h + j * dof);
            }
    }
}

/* A_iI W += G_k (G_b^T W) */
static void add_right(const cs_coarse *c, cs_part *part, int64_t entry, int dof)
{
    int64_t k = cs_entry_block(entry);
    const double *g = scaled_side(c, entry);
    for (int64_t j = 0; j < part->columns; j++)
        for (int64_t i = 0; i < c->rows[k]; i++)
            if (c->loose[c->first_row[k] + i])
                c->right[j * part->inner + c->all.place[k] + i] +=
                    cs_dot(dof, g + i * dof, c->effect + j * dof);
}

static void add_body(cs_coarse *c, int64_t aggregate, int64_t body)
{
    const cs_adjacency *adjacency = &c->all.adjacency;
    cs_part *part = &c->part[aggregate];
    int dof = cs_body_group_of(c->problem, body)->dof;
    int on_face = find_effect(c, aggregate, body, dof);
    for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
        if (c->all.inner[cs_entry_block(adjacency->entry[e])] < 0) continue;
        add_inner(c, part, body, adjacency->entry[e], dof);
        if (on_face) add_right(c, part, adjacency->entry[e], dof);
    }
    for (int64_t i = 0; on_face && i < part->columns; i++)
        for (int64_t j = 0; j < part->columns; j++)
            part->schur[i * part->columns + j] +=
                cs_dot(dof, c->effect + i * dof, c->effect + j * dof);
}

/* What a block adds to the diagonal beside its bodies: compliance and the shift. That of a face is the
 * lower aggregate's. */
static void add_diagonal(const cs_coarse *c, int64_t aggregate, int64_t block)
{
    cs_part *part = &c->part[aggregate];
    const cs_block_group *group = cs_block_group_of(c->problem, block);
    const double *sigma =
        group->compliance ? group->compliance + (block - group->first_block) * group->rows : NULL;
    int64_t face = c->all.face[block], place = c->all.place[block];
    int64_t first = face < 0 ? 0 : column_of(c, aggregate, face);
    for (int i = 0; i < group->rows; i++) {
        int64_t row = c->first_row[block] + i;
        if (!c->loose[row]) continue;
        double more = (sigma ? sigma[i] : 0) + c->shift / c->rho[row];
        if (face < 0) *cs_panels_entry(&part->panels, place + i, place + i) += more;
        if (face < 0) continue;
        const double *w = c->pattern + c->pattern_at[face] + (place + i) * CS_FACE_WIDTH;
        for (int64_t j = 0; j < c->width[face]; j++)
            for (int64_t l = 0; l < c->width[face]; l++)
                part->schur[(first + j) * part->columns + first + l] += more * w[j] * w[l];
    }
}

/* A diagonal that is raised; 1 in rows without any. */
void cs_raise_diagonal(cs_panels *panels)
{
    for (int64_t i = 0; i < panels->rows; i++) {
        double *entry = cs_panels_entry(panels, i, i);
        *entry = *entry > 0 ? *entry * (1 + RAISED) : 1;
    }
}

/* X and the Schur complement, from A_ii and A_iI W. Returns whether A_ii has a factor. */
static int extend(cs_coarse *c, cs_part *part)
{
    cs_breakdown breakdown;
    cs_raise_diagonal(&part->panels);
    cs_panels_factor(&part->panels, NULL, &breakdown);
    if (breakdown.row >= 0) return 0;
    for (int64_t j = 0; j < part->columns; j++) {
        double *x = part->extended + j * part->inner;
        for (int64_t i = 0; i < part->inner; i++) x[i] = -c->right[j * part->inner + i];
        cs_panels_solve(&part->panels, x);
    }
    for (int64_t i = 0; i < part->columns; i++)
        for (int64_t j = 0; j < part->columns; j++)
            part->schur[i * part->columns + j] +=
                cs_dot(part->inner, c->right + i * part->inner, part->extended + j * part->inner);
    return 1;
}

void cs_condense(cs_coarse *c, int64_t aggregate)
{
    cs_part *part = &c->part[aggregate];
    cs_panels_clear(&part->panels);
    memset(c->right, 0, sizeof(double) * (size_t)(part->columns * part->inner));
    memset(part->schur, 0, sizeof(double) * (size_t)(part->columns * part->columns));
    for (int64_t m = c->all.body.start[aggregate]; m < c->all.body.start[aggregate + 1]; m++)
        add_body(c, aggregate, c->all.body.item[m]);
    for (int64_t e = c->within.start[aggregate]; e < c->within.start[aggregate + 1]; e++)
        add_diagonal(c, aggregate, c->within.item[e]);
    for (int64_t t = c->all.touching.start[aggregate]; t < c->all.touching.start[aggregate + 1];
         t++) {
        int64_t face = c->all.touching.item[t];
        if (c->all.side[2 * face] != aggregate) continue;
        for (int64_t e = c->contact.start[face]; e < c->contact.start[face + 1]; e++)
            add_diagonal(c, aggregate, c->contact.item[e]);
    }
    part->solvable = extend(c, part);
    part->stale = 0;
}
