#include "collide/posed.h"

#include "core/vector.h"

/* ---- places -------------------------------------------------------------------------------------- */

/* The two ends of a rod along local axis k. */
static void pose_rod(const cs_placed *placed, int k, const double *center, cs_posed *posed)
{
    const double *R = placed->rotation;
    double axis[3] = {R[k], R[3 + k], R[6 + k]}, half = placed->solid->half;
    posed->vertices = 2;
    posed->edges = 1;
    posed->size = half;
    cs_add_scaled(center, -half, axis, posed->vertex[0]);
    cs_add_scaled(center, half, axis, posed->vertex[1]);
    if (k == 2) return;

    /* The sides of a segment in the plane: vertices 0, 1 and 1, 0, counterclockwise. */
    posed->faces = 2;
    cs_set_vector(posed->plane[0], axis[1], -axis[0], 0);
    cs_set_vector(posed->plane[1], -axis[1], axis[0], 0);
    for (int f = 0; f < 2; f++) posed->plane[f][3] = cs_dot(posed->plane[f], center);
}

static void pose_polytope(const cs_placed *placed, const double *center, cs_posed *posed)
{
    const cs_polytope *polytope = placed->solid->polytope;
    posed->topology = polytope->topology;
    posed->vertices = polytope->vertices;
    posed->faces = polytope->topology ? polytope->topology->faces : polytope->vertices;
    posed->edges = polytope->topology ? polytope->topology->edges : 0;
    posed->size = placed->solid->bound;
    for (int v = 0; v < posed->vertices; v++) {
        cs_rotate(placed->rotation, polytope->vertex[v], posed->vertex[v]);
        cs_add_scaled(posed->vertex[v], 1, center, posed->vertex[v]);
    }
    int planes = polytope->topology ? polytope->topology->planes : posed->faces;
    for (int f = 0; f < planes; f++) {
        cs_rotate(placed->rotation, polytope->plane[f], posed->plane[f]);
        posed->plane[f][3] = polytope->plane[f][3] + cs_dot(posed->plane[f], center);
    }
}

void cs_pose(const cs_placed *placed, const double *origin, cs_posed *posed)
{
    double center[3];
    cs_subtract(placed->center, origin, center);
    posed->topology = NULL;
    posed->faces = posed->edges = 0;
    posed->inner = placed->solid->inner;
    posed->radius = placed->solid->radius;
    switch (placed->solid->kind) {
    case CS_SHAPE_CAPSULE: pose_rod(placed, 2, center, posed); break;
    case CS_SHAPE_SEGMENT: pose_rod(placed, 0, center, posed); break;
    case CS_SHAPE_BOX:
    case CS_SHAPE_HULL:
    case CS_SHAPE_TRIANGLE:
    case CS_SHAPE_POLYGON: pose_polytope(placed, center, posed); break;
    default:
        posed->vertices = 1;
        posed->size = 0;
        cs_assign(posed->vertex[0], center);
    }
}

cs_convex cs_convex_of(const cs_posed *posed)
{
    return (cs_convex){.vertices = posed->vertices, .vertex = (const double(*)[3])posed->vertex};
}

/* ---- axes ---------------------------------------------------------------------------------------- */

/* The vertex that is lowest along a normal, and how low. */
static int lowest(const cs_posed *posed, const double *normal, double *value)
{
    int best = 0;
    *value = cs_dot(normal, posed->vertex[0]);
    for (int v = 1; v < posed->vertices; v++) {
        double height = cs_dot(normal, posed->vertex[v]);
        if (height < *value) *value = height, best = v;
    }
    return best;
}

/* Tries the faces of one shape. Returns 0 if one separates by more than `most`. */
static int try_faces(const cs_posed *of, const cs_posed *other, cs_axis_kind kind, double most,
                     double tolerance, cs_axis *axis)
{
    double at_least = axis->kind ? axis->separation + tolerance : -INFINITY;
    for (int f = 0; f < of->faces; f++) {
        double value;
        int vertex = lowest(other, of->plane[f], &value);
        double separation = value - of->plane[f][3];
        if (separation > most) return 0;
        if (!(separation > at_least)) continue;
        *axis = (cs_axis){kind, separation, {0}, {f, 0}, vertex};
        double sign = kind == CS_AXIS_FACE_A ? 1 : -1;
        for (int i = 0; i < 3; i++) axis->normal[i] = sign * of->plane[f][i];
        at_least = separation;
    }
    return 1;
}

static void edge_of(const cs_posed *posed, int e, const double **from, double *along)
{
    static const uint8_t rod[2] = {0, 1};
    const uint8_t *end = posed->topology ? posed->topology->edge[e] : rod;
    *from = posed->vertex[end[0]];
    cs_subtract(posed->vertex[end[1]], *from, along);
}

/* The normals of the faces beside an edge; 0 for the edge of a rod, which has none. */
static int faces_beside(const cs_posed *posed, int e, const double **left, const double **right)
{
    if (!posed->topology) return 0;
    *left = posed->plane[posed->topology->beside[e][0]];
    *right = posed->plane[posed->topology->beside[e][1]];
    return 1;
}

/* Around an edge of a triangle, the arc of normals is half a circle. Its second half begins at `right`, in the plane of
 * the triangle, which is the end of either half: what is on neither side of it counts to the half from `left` on. */
static double beyond_middle(const cs_posed *posed, const double *along, double left, double right)
{
    if (!posed->topology || posed->topology->planes == posed->topology->faces) return right;
    return right * right <= 1e-24 * cs_dot(along, along) ? -left : right;
}

/* Whether the product of two edges is the normal of a face of A - B: whether the arcs between the normals beside them
 * cross on the sphere of directions. [Gregorius, GDC 2013] The arc of a rod's edge is a whole circle. */
static int arcs_cross(const cs_posed *a, const double *along_a, const double *left_a,
                      const double *right_a, const cs_posed *b, const double *along_b,
                      const double *left_b, const double *right_b)
{
    double lb = cs_dot(left_b, along_a);
    double rb = beyond_middle(b, along_a, lb, cs_dot(right_b, along_a));
    if (!(lb * rb < 0)) return 0;
    if (!left_a) return 1;
    double la = cs_dot(left_a, along_b);
    double ra = beyond_middle(a, along_b, la, cs_dot(right_a, along_b));
    return la * ra < 0 && lb * ra < 0;
}

/* The separation along the product of two edges, outward from A. */
static double separation_of_edges(const double *from_a, const double *along_a, const double *left_a,
                                  const double *right_a, const double *from_b,
                                  const double *along_b, const double *left_b,
                                  const double *right_b, double *normal)
{
    double outward[3] = {0}, apart[3];
    cs_cross(along_a, along_b, normal);
    double square = cs_dot(along_a, along_a) * cs_dot(along_b, along_b);
    if (cs_dot(normal, normal) <= 1e-14 * square) return -INFINITY;
    cs_normalize(normal);
    if (left_a) cs_add_scaled(left_a, 1, right_a, outward);
    else
        for (int i = 0; i < 3; i++) outward[i] = -left_b[i] - right_b[i];
    if (cs_dot(normal, outward) < 0)
        for (int i = 0; i < 3; i++) normal[i] = -normal[i];
    cs_subtract(from_b, from_a, apart);
    return cs_dot(normal, apart);
}

static int try_edges(const cs_posed *a, const cs_posed *b, double most, double tolerance,
                     cs_axis *axis)
{
    double at_least = axis->kind ? axis->separation + tolerance : -INFINITY;
    for (int i = 0; i < a->edges; i++) {
        const double *from_a, *left_a = NULL, *right_a = NULL;
        double along_a[3];
        edge_of(a, i, &from_a, along_a);
        faces_beside(a, i, &left_a, &right_a);
        for (int j = 0; j < b->edges; j++) {
            const double *from_b, *left_b, *right_b;
            double along_b[3], normal[3];
            if (!faces_beside(b, j, &left_b, &right_b)) continue;
            edge_of(b, j, &from_b, along_b);
            if (!arcs_cross(a, along_a, left_a, right_a, b, along_b, left_b, right_b)) continue;
            double separation = separation_of_edges(from_a, along_a, left_a, right_a, from_b,
                                                    along_b, left_b, right_b, normal);
            if (separation > most) return 0;
            if (!(separation > at_least)) continue;
            *axis = (cs_axis){CS_AXIS_EDGES, separation, {0}, {i, j}, 0};
            cs_assign(axis->normal, normal);
            at_least = separation;
        }
    }
    return 1;
}

int cs_find_axis(const cs_posed *a, const cs_posed *b, double most, double tolerance, cs_axis *axis)
{
    *axis = (cs_axis){.separation = -INFINITY};
    return try_faces(a, b, CS_AXIS_FACE_A, most, tolerance, axis) &&
           try_faces(b, a, CS_AXIS_FACE_B, most, tolerance, axis) &&
           try_edges(a, b, most, tolerance, axis);
}

/* ---- faces --------------------------------------------------------------------------------------- */

/* The corners of a face, as numbers of vertices. */
static int corners_of(const cs_posed *posed, int f, uint8_t *corner)
{
    const cs_topology *topology = posed->topology;
    if (!topology) {
        corner[0] = (uint8_t)f;
        corner[1] = (uint8_t)((f + 1) % posed->vertices);
        return 2;
    }
    int count = topology->first[f + 1] - topology->first[f];
    for (int i = 0; i < count; i++) corner[i] = topology->corner[topology->first[f] + i];
    return count;
}

void cs_posed_face(const cs_posed *posed, int f, cs_outline *outline)
{
    uint8_t corner[CS_MOST_VERTICES];
    outline->count = corners_of(posed, f, corner);
    for (int i = 0; i < outline->count; i++)
        cs_assign(outline->corner[i], posed->vertex[corner[i]]);
    cs_outline_label(outline);
}

int cs_facing(const cs_posed *posed, const double *normal, int deepest, double tolerance)
{
    if (posed->vertices == 1) return -1;
    if (posed->vertices == 2) return 0;
    int best = -1, most = 0;
    double level = cs_dot(normal, posed->vertex[deepest]) + tolerance, least = INFINITY;
    for (int f = 0; f < posed->faces; f++) {
        uint8_t corner[CS_MOST_VERTICES];
        int corners = corners_of(posed, f, corner), near = 0;
        for (int i = 0; i < corners; i++) near += cs_dot(normal, posed->vertex[corner[i]]) <= level;
        double facing = cs_dot(normal, posed->plane[f]);
        if (near < most || (near == most && !(facing < least - 1e-12))) continue;
        best = f;
        most = near;
        least = facing;
    }
    return best;
}
