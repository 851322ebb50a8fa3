/* A triangle mesh: which vertices the faces, and the hinges at inner edges, have. */
#ifndef CS_MESH_H
#define CS_MESH_H

#include "core/memory.h"
#include "linalg/ordering.h"

/* Two faces at an edge: vertices 0 and 1 are its ends, 2 and 3 are opposite of it, in face[0] and face[1]. */
typedef struct cs_hinge {
    int64_t vertex[4], face[2];
} cs_hinge;

typedef struct cs_mesh {
    int64_t vertices, faces, hinges, edges;
    const int64_t *face;   /* (faces, 3) */
    const cs_hinge *hinge; /* (hinges), by their vertices 0 and 1 */
} cs_mesh;

/* Copies the faces (count, 3) into `arena` and finds the hinges. Fails for a vertex out of range, a corner that is there
 * twice, a face that is repeated, an edge of three faces, and a vertex without faces. */
cs_status cs_mesh_make(cs_mesh *mesh, int64_t vertices, const int64_t *face, int64_t faces,
                       cs_arena *arena, cs_error *error);

/* The pattern of a matrix: each vertex with itself, those of its faces, and, if `hinges`, those of its hinges; ascending. */
cs_status cs_mesh_graph(const cs_mesh *mesh, int hinges, cs_graph *graph, cs_arena *arena,
                        cs_error *error);

#endif
