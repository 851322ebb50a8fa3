/* Proofs that a moving polygon stays farther than the margin from the origin, by planes.
 *
 * If n . p > margin for a unit vector n and all corners p, the polygon is farther than the margin from the origin,
 * whatever n is: how n was found, and with what error, does not matter. Corners move along straight lines, so that for
 *
 *     a fixed plane      n . p(t) is linear: its root bounds the times that the plane proves free;
 *     a turning plane    n(t) . p(t), n(t) linear between two times, is quadratic: it is bounded by its coefficients in the
 *                        basis of Bernstein, n_0.p_0, (n_0.p_1 + n_1.p_0) / 2, n_1.p_1.
 *
 * Rounding. u = 2^-53, M the largest coordinate of a corner at t = 0 and 1; vertices are exact as given.
 *     corners at 0 and 1 are differences of two doubles          error of a coordinate  <=  u M
 *     corners at t: (1 - t) p_0 + t p_1                                                 <=  4 u M (with the above 4.01 u M)
 *     |n| <= 1 + 8 u, so that the sum of |n_c| is at most 1.7321; a product n . p adds 3 roundings of the sum of |n_c p_c|
 *     fixed plane        1.7321 (1 + 3.01) u M                              <=  6.95 u M:   CS_FIXED_ERROR = 8 u
 *     turning plane      1.7321 (4.01 + 3.01 + 1) u M, 1 for the mean       <=  13.9 u M:   CS_TURNING_ERROR = 16 u
 * and |n(t)| <= 1 + 8 u between two such n. The margin is raised by 16 u of itself, which covers |n| and its own
 * roundings. Each proof compares with margin + error M. Subtraction of that number, and the quotient that is a root,
 * have relative errors of few u: the times of a fixed plane are drawn in by 2^-50 of themselves. */
#ifndef CS_SEPARATION_H
#define CS_SEPARATION_H

#include "bvh/stencil.h"

#define CS_FIXED_ERROR 0x1p-50
#define CS_TURNING_ERROR 0x1p-49

/* A polygon in motion, and the heights above which planes separate. */
typedef struct cs_path {
    cs_motion motion;
    double fixed, turning;
} cs_path;

void cs_path_load(const cs_stencils *stencils, int64_t i, double margin, cs_path *path);

/* A time, the polygon at it, and a plane that separates there if `is_plane`. */
typedef struct cs_moment {
    double time;
    cs_polygon polygon;
    cs_nearest nearest;
    double normal[3];
    int is_plane;
} cs_moment;

void cs_moment_find(const cs_path *path, double time, cs_moment *moment);

/* The times from `from` to `to` are proven free; none if from > to. from >= 0; to > 1: to the end. */
typedef struct cs_free_span {
    double from, to;
} cs_free_span;

cs_free_span cs_fixed_plane(const cs_path *path, const double *normal);

/* Whether the plane that turns from one moment's to that of a later one proves all times between free. */
int cs_turning_plane(const cs_path *path, const cs_moment *first, const cs_moment *last);

/* The latest time up to which a fixed plane proves all times from `time` on free, of planes other than the moment's own:
 * those of the face and of all edges; `time` if none does. */
double cs_other_planes(const cs_path *path, const cs_moment *moment, double time);

#endif
