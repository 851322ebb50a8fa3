/* Bounding volume trees of a triangle mesh in motion. The volumes are k-DOPs: intervals in k / 2 directions (Klosowski et al.
 * 1998). There is a tree of the vertices, one of the edges and one of the faces, each built when a query first needs it.
 *
 *     branch   | box of child 0 | child 1 | child 2 | child 3 |     A node holds the boxes of its children, row by row:
 *                  /                \                               the lower end in a direction for all children, then
 *     leaf     | box of primitive 0 | 1 | 2 | 3 |  ...              minus the upper end. One test compares all children of
 *                                                                   a node with all children of another (tree_kernels.h).
 *
 * Trees of the three kinds, in place of one tree of faces with an owner for each vertex and edge (Curtis et al. 2008): a
 * leaf's boxes then are those of what is asked for. With owners, neighbouring faces alone, of which there are six a face,
 * would lead to nine tests of edges each.
 *
 * Leaves are full except the last one, and have depths that differ by at most one. They are numbered first, in the order of
 * the tree; branches follow, children before parents, so that a refit goes through the numbers upwards. Vectors of a box hold
 * the lower end and minus the upper end of each direction: a union is a minimum of all numbers. */
#ifndef CS_TREE_H
#define CS_TREE_H

#include "core/cancellation.h"
#include "core/memory.h"

enum { CS_TREE_KINDS = 3, CS_MOST_DOP = 26, CS_MOST_ARITY = 4, CS_MOST_LEVELS = 32 };

/* Kinds of primitives; each has one corner more than the one before. */
typedef enum cs_primitive { CS_VERTICES, CS_EDGES, CS_FACES } cs_primitive;

/* A tree of primitives of one kind. */
typedef struct cs_hierarchy {
    int corners, arity, k;
    int64_t primitives, leaves, nodes; /* 0 nodes: not built */
    int32_t *primitive;                /* (arity leaves): -1 behind the last one */
    int32_t *vertex;                   /* (leaves, corners, arity): corners of `primitive` */
    int32_t *child;  /* (arity (nodes - leaves)): of branches, from number `leaves` on; -1: none */
    int32_t *parent; /* (nodes): arity * node + place; -1: the root, which is the last node */
    int32_t *size;   /* (nodes): leaves below, and itself */
    int levels;      /* of branches; level l begins with node level[l] */
    int64_t level[CS_MOST_LEVELS + 1];
    void *box;      /* (nodes, k, arity), in the precision of the tree */
    double cost;    /* sum of the extents of all nodes but the root */
    double quality; /* cost over size of the mesh after the last build, over what it is now */
    double built;   /* the first of these */
    int64_t builds;
    cs_arena arena;
} cs_hierarchy;

typedef struct cs_tree {
    int k, arity, single; /* single: boxes are float */
    int64_t vertices, edges, faces;
    const int32_t *face; /* (faces, 3) */
    const int32_t *edge; /* (edges, 2): ends ascending, sorted */
    int stride;          /* of vertex_box: k, rounded up to a multiple of 4 */
    void *vertex_box;    /* (vertices, stride): in the precision of the tree */
    double extents;      /* sum over faces: the size of the mesh */
    cs_hierarchy of[CS_TREE_KINDS];
    int64_t serial;   /* no other tree has the same */
    int64_t rebuilds; /* because the quality fell, or because the caller asked */
    cs_arena arena;
} cs_tree;

/* Checks and copies the faces (count, 3), and finds the edges. Boxes are those of no motion and no margin at x (vertices, 3),
 * finite. Fails for a k other than 6, 14, 18 and 26, an arity other than 2 and 4, an empty mesh and a face with a vertex out
 * of range or twice. */
cs_status cs_tree_make(cs_tree *tree, int k, int arity, int single, int64_t vertices,
                       const double *x, const int64_t *face, int64_t faces, cs_error *error);
void cs_tree_clear(cs_tree *tree);

/* Boxes of the motion from x0 to x1 (vertices, 3), finite; x1 may be NULL. Each is enlarged by a ball with the radius `margin`,
 * finite and not negative, and rounded outwards. A hierarchy whose quality has fallen below CS_TREE_WORN is built anew. */
#define CS_TREE_WORN 0.5
cs_status cs_tree_refit(cs_tree *tree, const double *x0, const double *x1, double margin,
                        int threads, cs_error *error);

/* Builds the hierarchies that are there anew, for the present boxes. */
cs_status cs_tree_rebuild(cs_tree *tree, int threads, cs_error *error);

/* Builds the hierarchy of this kind if it is not there. */
cs_status cs_tree_need(cs_tree *tree, cs_primitive kind, int threads, cs_error *error);

int64_t cs_tree_count(const cs_tree *tree, cs_primitive kind);

/* lower, upper (count, k / 2) <- the boxes of all primitives of a kind, in the precision of the tree. */
void cs_tree_boxes(const cs_tree *tree, cs_primitive kind, void *lower, void *upper);

/* The d-th of the k / 2 directions of a k-DOP. */
const signed char *cs_dop_direction(int k, int d);

/* Bytes of all boxes. */
int64_t cs_tree_bytes(const cs_tree *tree);

/* ---- for the files of this folder ------------------------------------------------------------------------ */

/* The topology for the boxes of the vertices, without its own. */
cs_status cs_hierarchy_build(cs_hierarchy *h, const cs_tree *tree, cs_primitive kind,
                             cs_error *error);

/* The vertices of the i-th primitive of a kind. `own`: place of the index of a vertex itself. */
static inline const int32_t *cs_corners_of(const cs_tree *tree, cs_primitive kind, int64_t i,
                                           int32_t *own)
{
    *own = (int32_t)i;
    return kind == CS_VERTICES ? own : kind == CS_EDGES ? tree->edge + 2 * i : tree->face + 3 * i;
}

#endif
