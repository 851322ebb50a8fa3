/* The loops over boxes, for one instruction set; [0]: of double, [1]: of float. */
#ifndef CS_TREE_KERNELS_H
#define CS_TREE_KERNELS_H

#include "bvh/tree.h"

/* Compares all children of a node with all of another: bit arity * i + j of the answer is set if child i of a overlaps child j
 * of b. Boxes that touch overlap. Places without a child hold NaN and overlap nothing. */
typedef unsigned (*cs_tree_overlap)(const void *a, const void *b);

/* Which children of two leaves share a vertex, in the same bits; v, w (corners, arity): their vertices. */
typedef unsigned (*cs_tree_sharing)(const int32_t *v, const int32_t *w);

typedef struct cs_tree_motion {
    const double *x0, *x1; /* (vertices, 3) */
    double margin;
} cs_tree_motion;

typedef struct cs_tree_kernels {
    const char *name;
    cs_tree_overlap (*overlap[2])(int k, int arity);
    cs_tree_sharing (*sharing)(int corners_v,
                               int arity); /* by the corners of the first kind of a pair */
    /* The boxes of vertices begin .. end - 1. */
    void (*fill_vertices[2])(cs_tree *tree, const cs_tree_motion *motion, int64_t begin,
                             int64_t end);
    /* The boxes in leaves, or in branches, begin .. end - 1 from those of vertices or children, and theirs in their parents.
     * Returns the sum of their extents along the axes. */
    double (*fill_leaves[2])(const cs_tree *tree, cs_hierarchy *h, int64_t begin, int64_t end);
    double (*fill_branches[2])(const cs_tree *tree, cs_hierarchy *h, int64_t begin, int64_t end);
    /* The sum of the extents of faces begin .. end - 1. */
    double (*face_extents[2])(const cs_tree *tree, int64_t begin, int64_t end);
} cs_tree_kernels;

/* Those with the widest vectors of this machine. */
const cs_tree_kernels *cs_tree_kernels_here(void);

/* Those of an instruction set (core/instructions.h), which need not run here; NULL past the last. */
const cs_tree_kernels *cs_tree_kernels_of(int instructions);

#endif
