/* Nearest points of shapes, and the checks of their encoding: see prox/shape.h. */
#include "prox/shape.h"

#include "core/error.h"
#include "prox/gjk.h"

#include <math.h>
#include <stddef.h>

#define CS_TEMPLATE "prox/shape.inc"
#include "core/each_precision.h"

void cs_slope_in_shape(int n, const double *shape, double scale, const double *z, const double *p,
                       double *G)
{
    cs_oracle oracle = {shape_support_f64, shape, n};
    cs_slope_in_scaled(&oracle, scale, z, p, G);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* The largest dimension, relative to the normal impulse; larger ones are mistakes of the user. */
#define MAX_SIZE 1e6
/* The tolerance of cosine^2 + sine^2 = 1 for numbers in single precision. */
#define ROTATION_TOLERANCE 1e-6

/* An error in the encoding of a shape: its text, which ends before the wrong number, and that number. Without an error
 * the text is NULL. */
typedef struct fault {
    const char *text;
    double value;
} fault;

static const fault no_fault = {0};

/* Checks that numbers are between `least` and MAX_SIZE. */
static fault check_range(const double *values, int count, double least, const char *text)
{
    for (int i = 0; i < count; i++)
        if (!(values[i] >= least && values[i] <= MAX_SIZE)) return (fault){text, values[i]};
    return no_fault;
}

static fault check_node(int n, const double *shape, int length, int depth);

/* Checks a list of shapes that has `length` numbers. */
static fault check_parts(int n, const double *parts, int length, int depth)
{
    if (length < 2)
        return (fault){"is a sum or hull of too few shapes: at least one is needed, not", 0};
    for (int at = 0; at < length;) {
        double own = length - at >= 2 ? parts[at + 1] : 0;
        if (!(own >= 2 && own <= length - at)) return (fault){"has a part of a wrong length,", own};
        fault found = check_node(n, parts + at, (int)own, depth);
        if (found.text) return found;
        at += (int)own;
    }
    return no_fault;
}

static fault check_superellipsoid(int n, const double *numbers, int rest)
{
    static const fault wrong = {"has a wrong number of semi-axes for its block,", 0};
    if (rest != n + 1) return (fault){wrong.text, rest - 1};
    if (!(numbers[0] >= 1)) return (fault){"has an exponent below 1,", numbers[0]};
    return check_range(numbers + 1, n, 0, "has a semi-axis that is no number from 0 to 1e6,");
}

static fault check_patch(int n, const double *numbers, int rest)
{
    if (n != 3) return (fault){"is a patch, which needs a spin row; the tangential rows are", n};
    if (rest < 3 || rest % 3) return (fault){"has a patch whose numbers are not triples,", rest};
    for (int k = 0; k < rest / 3; k++) {
        fault found = check_range(numbers + 3 * k, 2, -MAX_SIZE, "has a point out of range,");
        if (!found.text)
            found = check_range(numbers + 3 * k + 2, 1, 0, "has a weight that is out of range,");
        if (found.text) return found;
    }
    return no_fault;
}

static fault check_turned(int n, const double *numbers, int rest, int depth)
{
    if (rest < 2) return (fault){"is turned by no angle", 0};
    double length = hypot(numbers[0], numbers[1]);
    if (!(fabs(length - 1) <= ROTATION_TOLERANCE))
        return (fault){"is turned by a cosine and sine of length", length};
    return check_parts(n, numbers + 2, rest - 2, depth);
}

/* Checks one shape with all shapes inside it. */
static fault check_node(int n, const double *shape, int length, int depth)
{
    /* The code and the length. */
    const double *numbers = shape + 2;
    int rest = length - 2;
    if (length < 2 || shape[1] != length) return (fault){"has a wrong length,", length};
    if (depth == CS_SHAPE_DEPTH)
        return (fault){"has shapes within shapes deeper than", CS_SHAPE_DEPTH};
    if (!(shape[0] >= CS_FRICTION_ELLIPSOID && shape[0] <= CS_FRICTION_SHIFTED))
        return (fault){"has an unknown code,", shape[0]};

    /* The data of the code. */
    switch ((enum cs_shape_code)(int)shape[0]) {
    case CS_FRICTION_ELLIPSOID:
        if (rest != n) return (fault){"has a wrong number of semi-axes for its block,", rest};
        return check_range(numbers, n, 0, "has a semi-axis that is no number from 0 to 1e6,");
    case CS_FRICTION_SUPERELLIPSOID: return check_superellipsoid(n, numbers, rest);
    case CS_FRICTION_POINTS:
        if (rest < n || rest % n) return (fault){"has points of a wrong size,", rest};
        return check_range(numbers, rest, -MAX_SIZE, "has a coordinate that is out of range,");
    case CS_FRICTION_PATCH: return check_patch(n, numbers, rest);
    case CS_FRICTION_SUM:
    case CS_FRICTION_HULL: return check_parts(n, numbers, rest, depth + 1);
    case CS_FRICTION_TURNED: return check_turned(n, numbers, rest, depth + 1);
    case CS_FRICTION_SHIFTED:
        if (rest < n) return (fault){"is shifted by too few numbers,", rest};
        fault found = check_range(numbers, n, -MAX_SIZE, "has an offset that is out of range,");
        return found.text ? found : check_parts(n, numbers + n, rest - n, depth + 1);
    }
    return no_fault;
}

/* The distance of the origin from the shape, relative to the size of the shape. */
static double origin_distance(int n, const double *shape)
{
    /* The size: the largest coordinate of the support points along the axes. */
    double size = 0, nearest[3] = {0}, copy[3] = {0}, square = 0;
    cs_oracle oracle = {shape_support_f64, shape, n};
    for (int i = 0; i < 2 * n; i++) {
        double direction[3] = {0};
        direction[i / 2] = i % 2 ? -1 : 1;
        cs_shape_support_f64(n, shape, direction, copy);
        for (int j = 0; j < n; j++) size = fmax(size, fabs(copy[j]));
    }

    /* The nearest point to the origin. */
    cs_nearest_by_support(&oracle, 0, nearest);
    for (int i = 0; i < n; i++) square += nearest[i] * nearest[i];
    return size > 0 ? sqrt(square) / size : 0;
}

cs_status cs_shape_check(int n, const double *shape, int length, int64_t block, cs_error *error)
{
    fault found = check_node(n, shape, length, 0);
    if (found.text)
        return cs_fail(error, CS_INVALID, "the shape of contact %lld %s %s", (long long)block,
                       found.text, cs_number(found.value).text);
    double distance = origin_distance(n, shape);
    if (distance > ROTATION_TOLERANCE)
        return cs_fail(error, CS_INVALID,
                       "the shape of contact %lld does not contain the origin, which is %s of its "
                       "size away",
                       (long long)block, cs_number(distance).text);
    return CS_OK;
}
