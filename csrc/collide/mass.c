/* Mass properties of shapes, in closed form. */
#include "collide/solid.h"
#include "core/vector.h"
#include "core/error.h"

#include <string.h>

#define PI 3.14159265358979323846

static void diagonal(cs_shape_mass *mass, double x, double y, double z)
{
    mass->inertia[0] = x, mass->inertia[4] = y, mass->inertia[8] = z;
}

static void measure_capsule(cs_shape_mass *mass, double r, double h)
{
    double side = 2 * PI * r * r * h, ends = 4 * PI / 3 * r * r * r;
    double across = side * (r * r / 4 + h * h / 3) + ends * (0.4 * r * r + h * h + 0.75 * r * h);
    mass->volume = side + ends;
    diagonal(mass, across, across, side * r * r / 2 + ends * 0.4 * r * r);
    mass->bounding_radius = r + h;
}

static void measure_cylinder(cs_shape_mass *mass, double r, double h)
{
    double m = mass->volume = 2 * PI * r * r * h, across = m * (r * r / 4 + h * h / 3);
    diagonal(mass, across, across, m * r * r / 2);
    mass->bounding_radius = hypot(r, h);
}

/* A rectangle between two half discs, whose centres of mass are c beyond its ends. */
static void measure_segment(cs_shape_mass *mass, double r, double h)
{
    double side = 4 * r * h, ends = PI * r * r, c = 4 * r / (3 * PI);
    mass->volume = side + ends;
    diagonal(mass, 0, 0, side * (r * r + h * h) / 3 + ends * (r * r / 2 + h * h + 2 * h * c));
    mass->bounding_radius = r + h;
}

/* The sums of volume, x and x x^T over tetrahedra from the origin, or triangles in the plane. */
typedef struct moments {
    double volume, first[3], second[9];
} moments;

/* Adds a simplex of `corners` vertices beside the origin. Over a simplex of volume V with the vertices v_i, one of
 * them the origin, and k = corners: integral of x = V sum v_i / (k + 1), and of x x^T
 * = V (sum v_i v_i^T + (sum v_i)(sum v_i)^T) / ((k + 1)(k + 2)). */
static void add_simplex(moments *m, double volume, const double *const *corner, int corners)
{
    double sum[3] = {0};
    m->volume += volume;
    for (int c = 0; c < corners; c++) cs_add_scaled(sum, 1, corner[c], sum);
    cs_add_scaled(m->first, volume / (corners + 1), sum, m->first);
    for (int i = 0; i < 9; i++) {
        double value = sum[i / 3] * sum[i % 3];
        for (int c = 0; c < corners; c++) value += corner[c][i / 3] * corner[c][i % 3];
        m->second[i] += volume / ((corners + 1) * (corners + 2)) * value;
    }
}

static void add_faces(moments *m, const cs_polytope *p)
{
    const cs_topology *t = p->topology;
    for (int f = 0; f < t->faces; f++)
        for (int i = t->first[f] + 1; i + 1 < t->first[f + 1]; i++) {
            const double *corner[3] = {p->vertex[t->corner[t->first[f]]], p->vertex[t->corner[i]],
                                       p->vertex[t->corner[i + 1]]};
            double cross[3];
            cs_cross(corner[1], corner[2], cross);
            add_simplex(m, cs_dot(corner[0], cross) / 6, corner, 3);
        }
}

static void add_sides(moments *m, const cs_polytope *p)
{
    for (int v = 0; v < p->vertices; v++) {
        const double *a = p->vertex[v], *b = p->vertex[(v + 1) % p->vertices];
        add_simplex(m, (a[0] * b[1] - a[1] * b[0]) / 2, (const double *const[]){a, b}, 2);
    }
}

/* Of a polytope: about the origin of the solid's frame, which is near its middle, then about the centre of mass. */
static void measure_polytope(cs_shape_mass *mass, const cs_polytope *p)
{
    moments m = {0};
    if (p->topology) add_faces(&m, p);
    else add_sides(&m, p);
    mass->volume = m.volume;
    for (int i = 0; i < 3; i++) mass->center[i] = m.first[i] / m.volume;
    for (int i = 0; i < 9; i++) m.second[i] -= m.volume * mass->center[i / 3] * mass->center[i % 3];
    double trace = m.second[0] + m.second[4] + m.second[8];
    for (int i = 0; i < 9; i++) mass->inertia[i] = (i % 4 == 0 ? trace : 0) - m.second[i];
    if (!p->topology) {
        memset(mass->inertia, 0, sizeof mass->inertia);
        mass->inertia[8] = trace;
    }
    for (int v = 0; v < p->vertices; v++) {
        double apart[3];
        cs_subtract(p->vertex[v], mass->center, apart);
        mass->bounding_radius = fmax(mass->bounding_radius, cs_length(apart));
    }
}

static void measure(const cs_solid *solid, cs_shape_mass *mass)
{
    double r = solid->radius;
    *mass = (cs_shape_mass){.bounding_radius = r};
    switch (solid->kind) {
    case CS_SHAPE_SPHERE:
        mass->volume = 4 * PI / 3 * r * r * r;
        diagonal(mass, 0.4 * mass->volume * r * r, 0.4 * mass->volume * r * r,
                 0.4 * mass->volume * r * r);
        break;
    case CS_SHAPE_DISC:
        mass->volume = PI * r * r;
        diagonal(mass, 0, 0, mass->volume * r * r / 2);
        break;
    case CS_SHAPE_CAPSULE: measure_capsule(mass, r, solid->half); break;
    case CS_SHAPE_CYLINDER: measure_cylinder(mass, r, solid->half); break;
    case CS_SHAPE_SEGMENT: measure_segment(mass, r, solid->half); break;
    case CS_SHAPE_BOX:
    case CS_SHAPE_HULL:
    case CS_SHAPE_POLYGON: measure_polytope(mass, solid->polytope); break;
    case CS_SHAPE_TRIANGLE: mass->bounding_radius = solid->bound; break; /* no volume */
    default: break;
    }
}

cs_status cs_shape_measure(const cs_shape *shape, int dimension, cs_shape_mass *mass,
                           cs_error *error)
{
    /* In its own frame, whatever its place on a body. */
    cs_shape alone = *shape;
    cs_set_vector(alone.position, 0, 0, 0);
    memset(alone.orientation, 0, sizeof alone.orientation);
    if (dimension == 3) alone.orientation[0] = 1;
    alone.body = -1;

    cs_solid solid = {0};
    cs_status status = cs_solid_make(&solid, &alone, dimension, -1, error);
    if (!status && shape->kind == CS_SHAPE_HALF_SPACE)
        status = cs_fail(error, CS_INVALID, "a half_space has no mass: its volume is infinite");
    if (!status) {
        measure(&solid, mass);
        cs_add_scaled(mass->center, 1, solid.position, mass->center);
    }
    cs_arena_clear(&solid.memory);
    return status;
}
