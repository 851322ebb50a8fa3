/* Shapes: names, checks, frames about the centre of the bounding sphere, bounding boxes. */
#include "collide/solid.h"
#include "core/vector.h"
#include "core/error.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

/* ---- kinds ----------------------------------------------------------------------------------- */

#define UNWRAP(...) __VA_ARGS__
typedef struct kind_info {
    const char *name;
    int dimension, numbers;
    const char *number[CS_SHAPE_NUMBERS];
} kind_info;

static const kind_info kinds[] = {
#define CS_SHAPE(identifier, name, dimension, numbers, names) \
    {name, dimension, numbers, {UNWRAP names}},
#include "core/shapes.def"
#undef CS_SHAPE
};

const char *cs_shape_name(int kind)
{
    return kind >= 0 && kind < CS_SHAPE_KINDS ? kinds[kind].name : NULL;
}

int cs_shape_find(const char *name)
{
    for (int kind = 0; kind < CS_SHAPE_KINDS; kind++)
        if (strcmp(kinds[kind].name, name) == 0) return kind;
    return -1;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* What is checked, for messages. */
typedef struct subject {
    const cs_shape *shape;
    int dimension;
    int64_t index;
    cs_error *error;
} subject;

/* How messages name the shape: "shapes[3] (box)", or "box" where there is only one. */
static cs_text name_of(const subject *s)
{
    cs_text text;
    const char *name = cs_shape_name((int)s->shape->kind);
    if (s->index < 0) snprintf(text.text, sizeof text.text, "%s", name);
    else snprintf(text.text, sizeof text.text, "shapes[%lld] (%s)", (long long)s->index, name);
    return text;
}

/* Reports what is wrong with a number of the shape. */
static cs_status wrong(const subject *s, const char *name, double value, const char *wanted)
{
    return cs_fail(s->error, CS_INVALID, "%s: %s is %s, but it has to be %s", name_of(s).text, name,
                   cs_number(value).text, wanted);
}

static cs_status check_numbers(const subject *s)
{
    const cs_shape *shape = s->shape;
    const kind_info *kind = &kinds[shape->kind];
    for (int i = 0; i < kind->numbers; i++) {
        double value = shape->number[i];
        if (!(fabs(value) <= CS_LARGEST_LENGTH))
            return wrong(s, kind->number[i], value, "at most 1e100");
        if (shape->kind == CS_SHAPE_TRIANGLE) {
            if (value == floor(value) && value >= 0 && value <= 7) continue;
            return wrong(s, kind->number[i], value, "a whole number from 0 to 7");
        }
        /* A segment may be thin; half-spaces have any numbers. */
        int may_be_zero = shape->kind == CS_SHAPE_SEGMENT && i == 0;
        if (shape->kind != CS_SHAPE_HALF_SPACE && !(value > 0 || (may_be_zero && value == 0)))
            return wrong(s, kind->number[i], value, may_be_zero ? "at least zero" : "positive");
        if (shape->kind != CS_SHAPE_HALF_SPACE && value != 0 && value < CS_LEAST_LENGTH)
            return wrong(s, kind->number[i], value, "at least 1e-100");
    }
    return CS_OK;
}

static cs_status check_pose(const subject *s)
{
    static const char *const axis[] = {"position[0]", "position[1]", "position[2]"};
    double rotation[9];
    if (s->shape->body < -1)
        return cs_fail(s->error, CS_INVALID,
                       "%s: body is %lld, but it has to be a body, or -1 for the "
                       "fixed world",
                       name_of(s).text, (long long)s->shape->body);
    for (int i = 0; i < s->dimension; i++)
        if (!(fabs(s->shape->position[i]) <= CS_LARGEST_LENGTH))
            return wrong(s, axis[i], s->shape->position[i], "at most 1e100");
    if (cs_rotation_of(s->dimension, s->shape->orientation, rotation) < 0)
        return wrong(s, "orientation[0]", s->shape->orientation[0],
                     s->dimension == 3 ? "a part of a finite quaternion that is not zero"
                                       : "a finite angle");
    return CS_OK;
}

static cs_status check_kind(const subject *s)
{
    int kind = (int)s->shape->kind;
    if (kind < 0 || kind >= CS_SHAPE_KINDS)
        return cs_fail(s->error, CS_INVALID, "shapes[%lld]: kind is %d: there are %d kinds",
                       (long long)s->index, kind, CS_SHAPE_KINDS);
    if (kinds[kind].dimension && kinds[kind].dimension != s->dimension)
        return cs_fail(s->error, CS_INVALID,
                       "shapes[%lld]: a %s has %d dimensions, but the others here have %d",
                       (long long)s->index, kinds[kind].name, kinds[kind].dimension, s->dimension);
    return CS_OK;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* A turn by an angle in the plane is a quaternion along z. */
static int rotation_in_plane(double angle, double *R)
{
    if (!isfinite(angle)) return -1;
    if (!R) return 0;
    double c = cos(angle), s = sin(angle);
    memcpy(R, (double[9]){c, -s, 0, s, c, 0, 0, 0, 1}, sizeof(double[9]));
    return 0;
}

int cs_rotation_of(int dimension, const double *orientation, double *R)
{
    if (dimension == 2) return rotation_in_plane(*orientation, R);
    double q[4], largest = 0, square = 0;
    for (int i = 0; i < 4; i++) {
        double part = fabs(orientation[i]);
        if (!(part <= DBL_MAX)) return -1;
        largest = part > largest ? part : largest;
    }
    if (!(largest > 0)) return -1;
    if (!R) return 0;

    /* The largest part of one that is far from unit length is scaled to 1 first, so that no square overflows. */
    int near_unit = largest <= 1 && largest > 0.25;
    for (int i = 0; i < 4; i++) {
        q[i] = near_unit ? orientation[i] : orientation[i] / largest;
        square += q[i] * q[i];
    }
    double w = q[0], x = q[1], y = q[2], z = q[3], f = 2 / square;
    R[0] = 1 - f * (y * y + z * z), R[1] = f * (x * y - w * z), R[2] = f * (x * z + w * y);
    R[3] = f * (x * y + w * z), R[4] = 1 - f * (x * x + z * z), R[5] = f * (y * z - w * x);
    R[6] = f * (x * z - w * y), R[7] = f * (y * z + w * x), R[8] = 1 - f * (x * x + y * y);
    return 0;
}

/* Moves the origin of the solid's frame to the middle of its vertices' box, and computes its bounds. */
static void bound_polytope(cs_solid *solid)
{
    cs_polytope *polytope = solid->polytope;
    double low[3], high[3], middle[3], moved[3], square = 0;
    cs_assign(low, polytope->vertex[0]);
    cs_assign(high, polytope->vertex[0]);
    for (int v = 1; v < polytope->vertices; v++)
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], polytope->vertex[v][i]);
            high[i] = fmax(high[i], polytope->vertex[v][i]);
        }

    for (int i = 0; i < 3; i++) {
        middle[i] = 0.5 * (low[i] + high[i]);
        solid->extent[i] = 0.5 * (high[i] - low[i]);
    }
    for (int v = 0; v < polytope->vertices; v++) {
        cs_subtract(polytope->vertex[v], middle, polytope->vertex[v]);
        square = fmax(square, cs_dot(polytope->vertex[v], polytope->vertex[v]));
    }
    int planes = polytope->topology ? polytope->topology->planes : polytope->vertices;
    for (int f = 0; f < planes; f++) polytope->plane[f][3] -= cs_dot(polytope->plane[f], middle);
    solid->bound = sqrt(square) * (1 + 4 * DBL_EPSILON);
    cs_rotate(solid->rotation, middle, moved);
    cs_add_scaled(solid->position, 1, moved, solid->position);
}

/* The polytope of a hull, triangle or polygon, checked. */
static cs_status make_hull(cs_solid *solid, const subject *s)
{
    const cs_shape *shape = s->shape;
    double point[CS_MOST_VERTICES][3] = {{0}};
    const char *why = "";
    int is_triangle = shape->kind == CS_SHAPE_TRIANGLE;
    if (is_triangle) solid->inner = (int)shape->number[0];
    if (is_triangle && shape->vertex_count != 3)
        return cs_fail(s->error, CS_INVALID, "%s: vertices has %lld points, but 3 are needed",
                       name_of(s).text, (long long)shape->vertex_count);
    if (!is_triangle &&
        (shape->vertex_count < s->dimension + 1 || shape->vertex_count > CS_MOST_VERTICES))
        return cs_fail(s->error, CS_INVALID,
                       "%s: vertices has %lld points, but %d to %d are needed", name_of(s).text,
                       (long long)shape->vertex_count, s->dimension + 1, CS_MOST_VERTICES);
    for (int v = 0; v < shape->vertex_count; v++)
        for (int i = 0; i < s->dimension; i++) {
            point[v][i] = shape->vertices[v * s->dimension + i];
            if (fabs(point[v][i]) <= CS_LARGEST_LENGTH) continue;
            return cs_fail(s->error, CS_INVALID,
                           "%s: vertices[%d, %d] is %s, but it has to be at most 1e100",
                           name_of(s).text, v, i, cs_number(point[v][i]).text);
        }
    cs_status status = is_triangle ? cs_polytope_triangle((const double(*)[3])point, &solid->memory,
                                                          &solid->polytope, &why)
                                   : cs_polytope_hull(s->dimension, (const double(*)[3])point,
                                                      (int)shape->vertex_count, &solid->memory,
                                                      &solid->polytope, &why);
    if (status == CS_NO_MEMORY) return cs_no_memory(s->error, "a hull");
    if (!status) bound_polytope(solid);
    return status ? cs_fail(s->error, status, "%s: vertices: %s", name_of(s).text, why) : CS_OK;
}

static cs_status make_half_space(cs_solid *solid, const subject *s)
{
    cs_assign(solid->normal, s->shape->number);
    if (s->dimension == 2) solid->normal[2] = 0;
    double length = cs_normalize(solid->normal);
    if (!(length > 0)) return wrong(s, "normal", 0, "a vector that is not zero");
    solid->offset = s->shape->number[3] / length;
    solid->bound = INFINITY;
    return CS_OK;
}

/* A sphere, or the set of all points within `radius` of a segment along an axis; a cylinder is inside of it. */
static void make_round(cs_solid *solid, const double *number, int axis)
{
    solid->radius = number[0];
    for (int i = 0; i < 3; i++) solid->extent[i] = number[0];
    solid->bound = number[0];
    if (axis < 0) return;
    solid->half = number[1];
    solid->extent[axis] = number[1] + (solid->kind == CS_SHAPE_CYLINDER ? 0 : number[0]);
    solid->bound =
        solid->kind == CS_SHAPE_CYLINDER ? hypot(number[0], number[1]) : number[0] + number[1];
}

static cs_status make_box(cs_solid *solid, const subject *s)
{
    memcpy(solid->extent, s->shape->number, sizeof solid->extent);
    solid->bound = cs_length(solid->extent) * (1 + 4 * DBL_EPSILON);
    solid->polytope = cs_polytope_box(solid->extent, &solid->memory);
    return cs_arena_status(&solid->memory, s->error, "a box");
}

cs_status cs_solid_make(cs_solid *solid, const cs_shape *shape, int dimension, int64_t index,
                        cs_error *error)
{
    subject s = {shape, dimension, index, error};
    *solid = (cs_solid){.kind = shape->kind};
    cs_status status = check_kind(&s);
    if (!status) status = check_numbers(&s);
    if (!status) status = check_pose(&s);
    if (status) return status;

    for (int i = 0; i < dimension; i++) solid->position[i] = shape->position[i];
    cs_rotation_of(dimension, shape->orientation, solid->rotation);
    switch (shape->kind) {
    case CS_SHAPE_SPHERE:
    case CS_SHAPE_DISC: make_round(solid, shape->number, -1); return CS_OK;
    case CS_SHAPE_CAPSULE:
    case CS_SHAPE_CYLINDER: make_round(solid, shape->number, 2); return CS_OK;
    case CS_SHAPE_SEGMENT: make_round(solid, shape->number, 0); return CS_OK;
    case CS_SHAPE_BOX: return make_box(solid, &s);
    case CS_SHAPE_HALF_SPACE: return make_half_space(solid, &s);
    case CS_SHAPE_HULL:
    case CS_SHAPE_TRIANGLE:
    case CS_SHAPE_POLYGON: return make_hull(solid, &s);
    case CS_SHAPE_KINDS: break;
    }
    return cs_fail(error, CS_INVALID, "shapes[%lld]: unknown kind", (long long)index);
}

/* ---- bounding boxes ---------------------------------------------------------------------------- */

/* reach <- half the width of the solid along each axis of the world. */
static void reach_of(const cs_solid *solid, const double *R, double *reach)
{
    for (int i = 0; i < 3; i++) {
        const double *row = R + 3 * i;
        switch (solid->kind) {
        case CS_SHAPE_CAPSULE: reach[i] = fabs(row[2]) * solid->half + solid->radius; break;
        case CS_SHAPE_SEGMENT: reach[i] = fabs(row[0]) * solid->half + solid->radius; break;
        case CS_SHAPE_CYLINDER:
            reach[i] = fabs(row[2]) * solid->half + hypot(row[0], row[1]) * solid->radius;
            break;
        case CS_SHAPE_BOX:
        case CS_SHAPE_HULL:
        case CS_SHAPE_TRIANGLE:
        case CS_SHAPE_POLYGON:
            reach[i] = fabs(row[0]) * solid->extent[0] + fabs(row[1]) * solid->extent[1] +
                       fabs(row[2]) * solid->extent[2];
            break;
        default: reach[i] = solid->bound;
        }
        reach[i] *= 1 + 8 * DBL_EPSILON;
    }
}

void cs_solid_box(const cs_solid *solid, const double *center, const double *rotation,
                  double box[2][3])
{
    double reach[3];
    reach_of(solid, rotation, reach);
    for (int i = 0; i < 3; i++) {
        box[0][i] = center[i] - reach[i];
        box[1][i] = center[i] + reach[i];
    }
}
