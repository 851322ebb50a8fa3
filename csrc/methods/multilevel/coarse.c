#include "methods/multilevel/internal.h"

#include <string.h>

/* ---- all of them ----------------------------------------------------------------------------- */

/* Takes the new loose rows over; marks the aggregates and faces that these change. */
static int renew(cs_coarse *c, const signed char *loose)
{
    int changed = 0;
    memset(c->changed, 0, (size_t)c->all.faces);
    for (int64_t k = 0; k < c->problem->blocks; k++) {
        signed char *mine = c->loose + c->first_row[k];
        if (memcmp(mine, loose + c->first_row[k], (size_t)c->rows[k]) == 0) continue;
        memcpy(mine, loose + c->first_row[k], (size_t)c->rows[k]);
        int64_t face = c->all.face[k], aggregate = c->all.inner[k];
        if (aggregate >= 0) c->part[aggregate].stale = 1;
        if (face >= 0) c->changed[face] = 1;
        changed |= face >= 0 || aggregate >= 0;
    }
    for (int64_t f = 0; f < c->all.faces; f++) {
        if (!c->changed[f]) continue;
        cs_find_patterns(c, f);
        for (int s = 0; s < 2; s++) c->part[c->all.side[2 * f + s]].stale = 1;
    }
    return changed;
}

/* P^T A P += the Schur complement of one aggregate. */
static void add_part(cs_coarse *c, int64_t aggregate)
{
    const cs_lists *touching = &c->all.touching;
    const cs_part *part = &c->part[aggregate];
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
    for (int64_t a = 0; a < c->all.count; a++) c->part[a].stale = 1;
}

int cs_coarse_factor(cs_coarse *c, const signed char *loose, const double *rho, double shift,
                     cs_cancellation *cancellation)
{
    if (shift != c->shift || rho != c->rho) cs_coarse_forget(c);
    c->shift = shift;
    c->rho = rho;
    if (!renew(c, loose) && c->factored) return 0;
    c->factored = 0;
    for (int64_t a = 0; a < c->all.count; a++) {
        cs_part *part = &c->part[a];
        if (!part->stale) continue;
        cs_condense(c, a);
        c->spent += part->work;
        if (cs_is_cancelled(cancellation, part->work)) return -1;
    }
    cs_panels_clear(&c->panels);
    for (int64_t a = 0; a < c->all.count; a++) add_part(c, a);
    cs_raise_diagonal(&c->panels);
    cs_breakdown breakdown;
    cs_panels_factor(&c->panels, cancellation, &breakdown);
    c->spent += c->coarse_factor;
    if (breakdown.cancelled) return -1;
    c->solvable = breakdown.row < 0;
    for (int64_t a = 0; a < c->all.count; a++) c->solvable &= c->part[a].solvable;
    c->factored = 1;
    return 0;
}

/* ---- corrections ----------------------------------------------------------------------------- */

/* y (inner) <- -xi on the loose inner rows of an aggregate, or back: delta <- y. */
static void gather(const cs_coarse *c, int64_t aggregate, const double *xi, double *y)
{
    memset(y, 0, sizeof(double) * (size_t)c->part[aggregate].inner);
    for (int64_t e = c->within.start[aggregate]; e < c->within.start[aggregate + 1]; e++) {
        int64_t k = c->within.item[e], row = c->first_row[k];
        for (int64_t i = 0; i < c->rows[k]; i++)
            if (c->loose[row + i]) y[c->all.place[k] + i] = -xi[row + i];
    }
}

static void scatter(const cs_coarse *c, int64_t aggregate, const double *y, double *delta)
{
    for (int64_t e = c->within.start[aggregate]; e < c->within.start[aggregate + 1]; e++) {
        int64_t k = c->within.item[e], row = c->first_row[k];
        for (int64_t i = 0; i < c->rows[k]; i++)
            delta[row + i] = c->loose[row + i] ? y[c->all.place[k] + i] : 0;
    }
}

/* x += X^T y, or y += X x, over the faces of an aggregate. */
static void through_faces(const cs_coarse *c, int64_t aggregate, int back, double *x, double *y)
{
    const cs_lists *touching = &c->all.touching;
    const cs_part *part = &c->part[aggregate];
    const double *extended = part->extended;
    for (int64_t t = touching->start[aggregate]; t < touching->start[aggregate + 1]; t++) {
        double *e = x + c->unknown[touching->item[t]];
        for (int64_t j = 0; j < c->width[touching->item[t]]; j++, extended += part->inner) {
            if (!back) e[j] += cs_dot(part->inner, extended, y);
            for (int64_t i = 0; back && i < part->inner; i++) y[i] += e[j] * extended[i];
        }
    }
}

/* x += -W^T xi, or delta <- W x, on one face. */
static void on_face(const cs_coarse *c, int64_t face, const double *xi, double *delta)
{
    const double *w = c->pattern + c->pattern_at[face];
    double *x = c->x + c->unknown[face];
    for (int64_t e = c->contact.start[face]; e < c->contact.start[face + 1]; e++) {
        int64_t k = c->contact.item[e];
        for (int64_t i = 0; i < c->rows[k]; i++, w += CS_FACE_WIDTH) {
            int64_t row = c->first_row[k] + i;
            if (delta) delta[row] = cs_dot(c->width[face], w, x);
            for (int64_t j = 0; !delta && j < c->width[face]; j++) x[j] -= w[j] * xi[row];
        }
    }
}

void cs_coarse_correct(cs_coarse *c, const double *xi, double *delta)
{
    c->spent += c->one_solve;
    memset(delta, 0, sizeof(double) * (size_t)c->problem->rows);
    if (!c->solvable) return;
    memset(c->x, 0, sizeof(double) * (size_t)c->unknowns);
    for (int64_t a = 0; a < c->all.count; a++) {
        gather(c, a, xi, c->y);
        through_faces(c, a, 0, c->x, c->y);
    }
    for (int64_t f = 0; f < c->all.faces; f++) on_face(c, f, xi, NULL);
    cs_panels_solve(&c->panels, c->x);
    for (int64_t a = 0; a < c->all.count; a++) {
        gather(c, a, xi, c->y);
        cs_panels_solve(&c->part[a].panels, c->y);
        through_faces(c, a, 1, c->x, c->y);
        scatter(c, a, c->y, delta);
    }
    for (int64_t f = 0; f < c->all.faces; f++) on_face(c, f, NULL, delta);
}
