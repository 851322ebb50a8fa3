/* Vectors of three numbers and rotation matrices (3, 3), row by row. */
#ifndef CS_VECTOR_H
#define CS_VECTOR_H

#include <math.h>

static inline double cs_dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double cs_length(const double *a) { return sqrt(cs_dot(a, a)); }

static inline void cs_set_vector(double *to, double x, double y, double z)
{
    to[0] = x;
    to[1] = y;
    to[2] = z;
}

static inline void cs_assign(double *to, const double *a) { cs_set_vector(to, a[0], a[1], a[2]); }

static inline void cs_subtract(const double *a, const double *b, double *to)
{
    cs_set_vector(to, a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/* to <- a + factor b */
static inline void cs_add_scaled(const double *a, double factor, const double *b, double *to)
{
    cs_set_vector(to, a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]);
}

/* to <- a x b; `to` must be neither. */
static inline void cs_cross(const double *a, const double *b, double *to)
{
    cs_set_vector(to, a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                  a[0] * b[1] - a[1] * b[0]);
}

/* a <- a / |a|; returns |a|, and leaves a as it is if that is zero. */
static inline double cs_normalize(double *a)
{
    double length = cs_length(a);
    if (length > 0) cs_set_vector(a, a[0] / length, a[1] / length, a[2] / length);
    return length;
}

/* to <- R x; `to` must not be x. */
static inline void cs_rotate(const double *R, const double *x, double *to)
{
    cs_set_vector(to, cs_dot(R, x), cs_dot(R + 3, x), cs_dot(R + 6, x));
}

/* to <- a unit vector orthogonal to the unit vector a. */
static inline void cs_any_orthogonal(const double *a, double *to)
{
    double x = fabs(a[0]), y = fabs(a[1]), z = fabs(a[2]);
    double axis[3] = {x <= y && x <= z, !(x <= y && x <= z) && y <= z, 0};
    axis[2] = 1 - axis[0] - axis[1];
    cs_cross(a, axis, to);
    cs_normalize(to);
}

#endif
