/* Collision detection: from shapes on bodies and the poses of the bodies to a table of contacts.
 *
 *     shapes ──► place ──► grid ──► pairs ──► pairs.def ──► contacts
 *               poses in   bounding   sorted by   points of      sorted by id:
 *               the world  spheres    shapes      each pair      (shape, shape, feature)
 *
 * Threads share each step. No result depends on how many there are: pairs are sorted before points are computed, and
 * each pair is computed by itself. Memory grows with the scene; a step that needs no more than an earlier one allocates
 * nothing. */
#ifndef CS_COLLIDE_H
#define CS_COLLIDE_H

#include "contactsolve.h"

typedef enum cs_shape_kind {
#define CS_SHAPE(identifier, name, dimension, numbers, names) CS_SHAPE_##identifier,
#include "collide/shapes.def"
#undef CS_SHAPE
    CS_SHAPE_KINDS
} cs_shape_kind;

enum { CS_SHAPE_NUMBERS = 4, CS_MOST_VERTICES = 64 };

/* A convex shape, in a frame of its own. Capsules and cylinders lie along z, segments along x; a segment is the capsule
 * of the plane, whose radius may be zero. half_length of a capsule or segment: from the centre to the centre of an end.
 * A half-space is solid where normal . x <= offset. */
typedef struct cs_shape {
    cs_shape_kind kind;
    double number[CS_SHAPE_NUMBERS]; /* radius, half extents, ...: see shapes.def */
    const double *vertices; /* (vertex_count, dimension) of a hull or polygon, in any order */
    int64_t vertex_count;
    int64_t body;          /* -1: the fixed world */
    double position[3];    /* of the shape's frame in the body's */
    double orientation[4]; /* w, x, y, z; in the plane: the angle */
} cs_shape;

/* The name of a kind, NULL past the last; and the kind of a name, -1 for none. */
const char *cs_shape_name(int kind);
int cs_shape_find(const char *name);

/* Mass properties of a shape with density 1, in its own frame; in the plane, volume is area, and the moment of inertia
 * is inertia[8]. */
typedef struct cs_shape_mass {
    double volume, center[3];
    double inertia[9];      /* about the centre of mass */
    double bounding_radius; /* of a sphere about the centre of mass that holds the shape */
} cs_shape_mass;

/* Checks a shape and computes its mass properties. A half-space has none: an error. */
cs_status cs_shape_measure(const cs_shape *shape, int dimension, cs_shape_mass *mass,
                           cs_error *error);

typedef struct cs_collider cs_collider;

cs_status cs_collider_create(cs_collider **collider, int dimension, cs_error *error);
void cs_collider_destroy(cs_collider *collider);

/* Adds shapes, whose ids are *first, *first + 1, ... Either all are added or, if one is wrong, none. */
cs_status cs_collider_add(cs_collider *collider, const cs_shape *shapes, int64_t count,
                          int64_t *first, cs_error *error);

/* Removes a shape. Other shapes keep their ids; its own is not used again. */
cs_status cs_collider_remove(cs_collider *collider, int64_t shape, cs_error *error);

int64_t cs_collider_shapes(const cs_collider *collider);

/* Poses of all bodies at one time. */
typedef struct cs_poses {
    int64_t bodies;
    const double *position;       /* (bodies, dimension) */
    const double *orientation;    /* (bodies, 4): w, x, y, z, of any length but zero; in the plane
                                     (bodies): angles */
    const unsigned char *movable; /* (bodies); NULL: all are */
} cs_poses;

/* Contacts, sorted by (shape[0], shape[1], feature), which is their id: shape[0] < shape[1]. A feature stays the same
 * from step to step while the same vertices, edges and faces touch. The arrays belong to the collider and are valid
 * until its next call. */
typedef struct cs_contacts {
    int64_t count;
    const int64_t *shape;   /* (count, 2) */
    const int32_t *feature; /* (count) */
    const int64_t *body;    /* (count, 2): of the two shapes */
    const double *point;    /* (count, dimension): midway between the two surfaces */
    const double *normal;   /* (count, dimension): unit length, from the first body to the second */
    const double *gap;      /* (count): negative: penetration */
} cs_contacts;

/* Finds every contact with gap <= margin between shapes of different bodies, of which at least one is movable. A pair
 * of shapes has at most 4 contacts, 2 in the plane; the smallest gap of a pair is the distance of the shapes, or their
 * penetration. threads: 0: by the number of shapes. */
cs_status cs_collider_find(cs_collider *collider, const cs_poses *poses, double margin, int threads,
                           cs_contacts *contacts, cs_error *error);

/* Pairs of shapes that may touch, sorted: those whose bounding spheres and boxes are no farther apart than the margin.
 * This is the first half of cs_collider_find. The array belongs to the collider. */
typedef struct cs_shape_pairs {
    int64_t count;
    const int64_t *shape; /* (count, 2): ids */
} cs_shape_pairs;

cs_status cs_collider_find_pairs(cs_collider *collider, const cs_poses *poses, double margin,
                                 int threads, cs_shape_pairs *pairs, cs_error *error);

#endif
