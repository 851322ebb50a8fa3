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

/* rotation (3, 3) <- that of a quaternion w, x, y, z of any length; or of an angle in the plane. Returns -1 if it is
 * not finite, or its length is zero. rotation NULL: only this. */
int cs_rotation_of(int dimension, const double *orientation, double *rotation);

typedef struct cs_collider cs_collider;

cs_status cs_collider_create(cs_collider **collider, int dimension, cs_error *error);
void cs_collider_destroy(cs_collider *collider);

/* Adds shapes, whose ids are *first, *first + 1, ... Either all are added or, if one is wrong, none. */
cs_status cs_collider_add(cs_collider *collider, const cs_shape *shapes, int64_t count,
                          int64_t *first, cs_error *error);

/* Removes a shape. Other shapes keep their ids; its own is not used again. */
cs_status cs_collider_remove(cs_collider *collider, int64_t shape, cs_error *error);

/* Gives the next `count` ids to no shape. */
void cs_collider_skip(cs_collider *collider, int64_t count);

int64_t cs_collider_shapes(const cs_collider *collider);

/* Poses of all bodies at one time. */
typedef struct cs_poses {
    int64_t bodies;
    const double *position;       /* (bodies, dimension) */
    const double *orientation;    /* (bodies, 4): w, x, y, z, of any length but zero; in the plane
                                     (bodies): angles */
    const unsigned char *movable; /* (bodies); NULL: all are */
} cs_poses;

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
