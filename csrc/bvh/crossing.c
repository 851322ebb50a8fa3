/* Proofs that there is a contact. They say which hits are certain; no answer depends on them otherwise.
 *
 * With a margin: a distance of at most that at some time, as it is computed and with its rounding error.
 * Without: let n be a fixed direction, and the origin lie strictly inside of the polygon's shadow along n during [a, b]:
 * n . (p_k x p_k+1) has one sign for all edges. The line through the origin along n then meets the polygon in one point, at a
 * height that is p_0 . (p_1 x p_2) over a number without a root. If that determinant has opposite signs at a and b, the height
 * is zero at some time between. */
#include "bvh/ccd.h"

#include "core/vector.h"

/* Errors in units of M^2 and M^3, M the largest coordinate. With the corners' error 4.01 u M (bvh/separation.h) and
 * |p| <= 1.7321 M: n . (p x q) is off by less than 2 x 1.7321^2 x 4.01 u M^2 for corners and 1.7321 x 10 u M^2 for its
 * operations, less than 45 u M^2, and their means by as much; the determinant by less than 3 x 1.7321^3 x 4.01 u M^3 and
 * 12 x 6 u M^3, less than 135 u M^3. */
#define SHADOW_ERROR 0x1p-47
#define VOLUME_ERROR 0x1p-45

/* The sign of all three numbers, with that error; 0: they have none in common. */
static int sign_of(double a, double b, double c, double error)
{
    if (a > error && b > error && c > error) return 1;
    return a < -error && b < -error && c < -error ? -1 : 0;
}

static double triple(const double *n, const double *p, const double *q)
{
    double across[3];
    cs_cross(p, q, across);
    return cs_dot(n, across);
}

/* The sign of n . (p_k x p_k+1), a quadratic between the moments, by its coefficients in the basis of Bernstein. */
static int edge_sign(const cs_moment *a, const cs_moment *b, const double *n, int k, double error)
{
    int next = cs_next_corner(&a->polygon, k);
    const double *p = a->polygon.at[k], *q = a->polygon.at[next];
    const double *p_end = b->polygon.at[k], *q_end = b->polygon.at[next];
    double middle = 0.5 * (triple(n, p, q_end) + triple(n, p_end, q));
    return sign_of(triple(n, p, q), middle, triple(n, p_end, q_end), error);
}

static int volume_sign(const cs_moment *moment, double error)
{
    const cs_polygon *p = &moment->polygon;
    double volume = triple(p->at[0], p->at[1], p->at[2]);
    return sign_of(volume, volume, volume, error);
}

static int crosses(const cs_path *path, const cs_moment *a, const cs_moment *b)
{
    double size = path->motion.size, error = SHADOW_ERROR * size * size, n[3];
    int before = volume_sign(a, VOLUME_ERROR * size * size * size);
    if (!before || before != -volume_sign(b, VOLUME_ERROR * size * size * size)) return 0;
    if (!cs_polygon_face_normal(&a->polygon, n)) return 0;
    int side = edge_sign(a, b, n, 0, error);
    for (int k = 1; k < a->polygon.corners && side; k++)
        if (edge_sign(a, b, n, k, error) != side) side = 0;
    return side != 0;
}

static int is_within_margin(const cs_path *path, const cs_moment *moment)
{
    double error = CS_TURNING_ERROR * path->motion.size;
    return sqrt(moment->nearest.square) * (1 + 0x1p-50) + error <= path->motion.margin;
}

int cs_ccd_is_certain(const cs_path *path, double time)
{
    /* All times are the same. */
    cs_moment a, b;
    if (path->motion.size == 0) return 1;

    /* Closely around the time at first: there it is most nearly at rest. */
    for (int power = -46; power < 0; power += 5) {
        double apart = ldexp(1, power), from = time - apart, to = time + apart;
        cs_moment_find(path, to < 1 ? to : 1, &b);
        if (path->motion.margin > 0) {
            if (is_within_margin(path, &b)) return 1;
            continue;
        }
        cs_moment_find(path, from > 0 ? from : 0, &a);
        if (crosses(path, &a, &b)) return 1;
    }
    return 0;
}
