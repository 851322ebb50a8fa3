/* Factors and corrections of the second level (coarse.h has the equations). */
#include "methods/multilevel/internal.h"

#include <string.h>

/* ---- factors --------------------------------------------------------------------------------- */

/* Adopts new free rows: marks the aggregates whose factors depend on changed ones, and computes the patterns
 * of changed faces. Returns whether any factor changes. */
static int update_free_rows(cs_coarse *c, const signed char *is_free)
{
    int changed = 0;
    memset(c->changed, 0, (size_t)c->aggregates.faces);

    /* Blocks whose free rows have changed: their aggregate is stale, or their face has changed. */
    for (int64_t k = 0; k < c->problem->blocks; k++) {
        signed char *mine = c->is_free + c->first_row[k];
        if (memcmp(mine, is_free + c->first_row[k], (size_t)c->rows[k]) == 0) continue;
        memcpy(mine, is_free + c->first_row[k], (size_t)c->rows[k]);
        int64_t face = c->aggregates.face[k], aggregate = c->aggregates.inner[k];
        if (aggregate >= 0) c->part[aggregate].stale = 1;
        if (face >= 0) c->changed[face] = 1;
        changed |= face >= 0 || aggregate >= 0;
    }

    /* A changed face has new patterns, and both aggregates at its sides are stale. */
    for (int64_t f = 0; f < c->aggregates.faces; f++) {
        if (!c->changed[f]) continue;
        cs_find_patterns(c, f);
        for (int s = 0; s < 2; s++) c->part[c->aggregates.side[2 * f + s]].stale = 1;
    }
    return changed;
}

/* P^T A P += the Schur complement of one aggregate (lower triangle). */
static void add_schur(cs_coarse *c, int64_t aggregate)
{
    const cs_lists *touching = &c->aggregates.touching;
    const cs_part *part = &c->part[aggregate];

    /* Blocks of the Schur complement, one for each pair of faces f and g; they begin at row i and column j. */
    int64_t i = 0, j;
    for (int64_t s = touching->start[aggregate]; s < touching->start[aggregate + 1]; s++) {
        int64_t f = touching->item[s];
        j = 0;
        for (int64_t t = touching->start[aggregate]; t < touching->start[aggregate + 1]; t++) {
            int64_t g = touching->item[t];
            for (int64_t p = 0; p < c->width[f]; p++)
                for (int64_t q = 0; q < c->width[g]; q++)
                    if (c->unknown[g] + q <= c->unknown[f] + p)
                        *cs_panels_entry(&c->panels, c->unknown[f] + p, c->unknown[g] + q) +=
                            part->schur[(i + p) * part->columns + j + q];
            j += c->width[g];
        }
        i += c->width[f];
    }
}

void cs_coarse_forget(cs_coarse *c)
{
    c->factored = 0;
    for (int64_t a = 0; a < c->aggregates.count; a++) c->part[a].stale = 1;
}

int cs_coarse_factor(cs_coarse *c, const signed char *is_free, const double *rho, double shift,
                     cs_cancellation *cancellation)
{
    if (shift != c->shift || rho != c->rho) cs_coarse_forget(c);

    /* Nothing to do if neither the shift nor the free rows have changed. */
    c->shift = shift;
    c->rho = rho;
    if (!update_free_rows(c, is_free) && c->factored) return 0;

    /* The factors of stale aggregates. */
    c->factored = 0;
    for (int64_t a = 0; a < c->aggregates.count; a++) {
        cs_part *part = &c->part[a];
        if (!part->stale) continue;
        cs_condense(c, a);
        c->work_done += part->work;
        if (cs_is_cancelled(cancellation, part->work)) return -1;
    }

    /* P^T A P and its factor. */
    cs_panels_clear(&c->panels);
    for (int64_t a = 0; a < c->aggregates.count; a++) add_schur(c, a);
    cs_raise_diagonal(&c->panels);
    cs_breakdown breakdown;
    cs_panels_factor(&c->panels, cancellation, &breakdown);
    c->work_done += c->coarse_factor_work;
    if (breakdown.cancelled) return -1;

    /* Corrections need all factors. */
    c->solvable = breakdown.row < 0;
    for (int64_t a = 0; a < c->aggregates.count; a++) c->solvable &= c->part[a].solvable;
    c->factored = 1;
    return 0;
}

/* ---- corrections ----------------------------------------------------------------------------- */

/* y (inner) <- -xi on the free rows within an aggregate, 0 on its other rows. */
static void gather(const cs_coarse *c, int64_t aggregate, const double *xi, double *y)
{
    memset(y, 0, sizeof(double) * (size_t)c->part[aggregate].inner);
    for (int64_t e = c->inner_block.start[aggregate]; e < c->inner_block.start[aggregate + 1];
         e++) {
        int64_t k = c->inner_block.item[e], row = c->first_row[k];
        for (int64_t i = 0; i < c->rows[k]; i++)
            if (c->is_free[row + i]) y[c->aggregates.place[k] + i] = -xi[row + i];
    }
}

/* delta (rows) <- y (inner) on the free rows within an aggregate. */
static void scatter(const cs_coarse *c, int64_t aggregate, const double *y, double *delta)
{
    for (int64_t e = c->inner_block.start[aggregate]; e < c->inner_block.start[aggregate + 1];
         e++) {
        int64_t k = c->inner_block.item[e], row = c->first_row[k];
        for (int64_t i = 0; i < c->rows[k]; i++)
            delta[row + i] = c->is_free[row + i] ? y[c->aggregates.place[k] + i] : 0;
    }
}

/* x += X^T y or, if `extends` is set, y += X x, with the extensions X of one aggregate. */
static void through_faces(const cs_coarse *c, int64_t aggregate, int extends, double *x, double *y)
{
    const cs_lists *touching = &c->aggregates.touching;
    const cs_part *part = &c->part[aggregate];
    const double *extended = part->extended;
    for (int64_t t = touching->start[aggregate]; t < touching->start[aggregate + 1]; t++) {
        double *e = x + c->unknown[touching->item[t]];
        for (int64_t j = 0; j < c->width[touching->item[t]]; j++, extended += part->inner) {
            if (!extends) e[j] += cs_dot(part->inner, extended, y);
            for (int64_t i = 0; extends && i < part->inner; i++) y[i] += e[j] * extended[i];
        }
    }
}

/* x += -W^T xi if `delta` is NULL, otherwise delta <- W x, on one face. */
static void on_face(const cs_coarse *c, int64_t face, const double *xi, double *delta)
{
    const double *w = c->pattern + c->pattern_at[face];
    double *x = c->x + c->unknown[face];
    for (int64_t e = c->face_block.start[face]; e < c->face_block.start[face + 1]; e++) {
        int64_t k = c->face_block.item[e];
        for (int64_t i = 0; i < c->rows[k]; i++, w += CS_FACE_WIDTH) {
            int64_t row = c->first_row[k] + i;
            if (delta) delta[row] = cs_dot(c->width[face], w, x);
            for (int64_t j = 0; !delta && j < c->width[face]; j++) x[j] -= w[j] * xi[row];
        }
    }
}

void cs_coarse_correct(cs_coarse *c, const double *xi, double *delta)
{
    /* Without factors the correction is zero. */
    c->work_done += c->solve_work;
    memset(delta, 0, sizeof(double) * (size_t)c->problem->rows);
    if (!c->solvable) return;

    /* x = P^T r */
    memset(c->x, 0, sizeof(double) * (size_t)c->unknowns);
    for (int64_t a = 0; a < c->aggregates.count; a++) {
        gather(c, a, xi, c->y);
        through_faces(c, a, 0, c->x, c->y);
    }
    for (int64_t f = 0; f < c->aggregates.faces; f++) on_face(c, f, xi, NULL);

    /* x = (P^T A P)^-1 P^T r */
    cs_panels_solve(&c->panels, c->x);

    /* delta = X x + A_ii^-1 r_i within aggregates, W x on faces. */
    for (int64_t a = 0; a < c->aggregates.count; a++) {
        gather(c, a, xi, c->y);
        cs_panels_solve(&c->part[a].panels, c->y);
        through_faces(c, a, 1, c->x, c->y);
        scatter(c, a, c->y, delta);
    }
    for (int64_t f = 0; f < c->aggregates.faces; f++) on_face(c, f, NULL, delta);
}
