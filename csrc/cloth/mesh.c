#include "cloth/mesh.h"

#include "core/ascending.h"
#include "core/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- edges --------------------------------------------------------------------------------------- */

/* An edge of a face, with its ends in ascending order. */
typedef struct side {
    int64_t low, high, opposite, face;
} side;

static int compare_sides(const void *a, const void *b)
{
    const side *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return (x->face > y->face) - (x->face < y->face);
}

static cs_status check_faces(const cs_mesh *mesh, cs_error *error)
{
    for (int64_t t = 0; t < mesh->faces; t++) {
        const int64_t *v = mesh->face + 3 * t;
        for (int k = 0; k < 3; k++) {
            if (v[k] < 0 || v[k] >= mesh->vertices)
                return cs_fail(error, CS_INVALID,
                               "faces[%lld, %d] is %lld: there are vertices 0 to %lld",
                               (long long)t, k, (long long)v[k], (long long)(mesh->vertices - 1));
            if (v[k] == v[(k + 1) % 3])
                return cs_fail(error, CS_INVALID, "faces[%lld] has vertex %lld twice", (long long)t,
                               (long long)v[k]);
        }
    }
    return CS_OK;
}

static cs_status check_vertices(const cs_mesh *mesh, cs_arena *scratch, cs_error *error)
{
    unsigned char *is_used = cs_arena_take(scratch, mesh->vertices, 1);
    cs_status status = cs_arena_status(scratch, error, "%lld vertices", (long long)mesh->vertices);
    if (status) return status;
    for (int64_t i = 0; i < 3 * mesh->faces; i++) is_used[mesh->face[i]] = 1;
    for (int64_t i = 0; i < mesh->vertices; i++)
        if (!is_used[i])
            return cs_fail(error, CS_INVALID, "vertices[%lld] has no mass: it is of no face",
                           (long long)i);
    return CS_OK;
}

/* The sides of all faces, those of one edge beside each other. */
static void list_sides(const cs_mesh *mesh, side *sides)
{
    for (int64_t t = 0; t < mesh->faces; t++)
        for (int k = 0; k < 3; k++) {
            const int64_t *v = mesh->face + 3 * t;
            int64_t a = v[k], b = v[(k + 1) % 3];
            sides[3 * t + k] = (side){a < b ? a : b, a < b ? b : a, v[(k + 2) % 3], t};
        }
    qsort(sides, (size_t)(3 * mesh->faces), sizeof *sides, compare_sides);
}

static int same_edge(const side *a, const side *b)
{
    return a->low == b->low && a->high == b->high;
}

/* The sides of one edge, `count` of them. */
static cs_status check_edge(const side *s, int64_t count, cs_error *error)
{
    for (int64_t a = 0; a < count && a < 3; a++)
        for (int64_t b = 0; b < a; b++)
            if (s[a].opposite == s[b].opposite)
                return cs_fail(error, CS_INVALID, "faces[%lld] repeats faces[%lld]",
                               (long long)s[a].face, (long long)s[b].face);
    if (count > 2)
        return cs_fail(error, CS_INVALID,
                       "faces[%lld] is the third face at the edge of vertices %lld and %lld, after "
                       "%lld and %lld",
                       (long long)s[2].face, (long long)s[0].low, (long long)s[0].high,
                       (long long)s[0].face, (long long)s[1].face);
    return CS_OK;
}

/* Hinges of the edges with two faces; `hinge`: room for 3 faces / 2. */
static cs_status list_hinges(cs_mesh *mesh, const side *sides, cs_hinge *hinge, cs_error *error)
{
    int64_t count = 3 * mesh->faces, next;
    for (int64_t e = 0; e < count; e = next) {
        for (next = e + 1; next < count && same_edge(&sides[e], &sides[next]); next++) {
        }
        const side *s = sides + e;
        cs_status status = check_edge(s, next - e, error);
        if (status) return status;
        mesh->edges++;
        if (next - e == 2)
            hinge[mesh->hinges++] = (cs_hinge){{s[0].low, s[0].high, s[0].opposite, s[1].opposite},
                                               {s[0].face, s[1].face}};
    }
    mesh->hinge = hinge;
    return CS_OK;
}

cs_status cs_mesh_make(cs_mesh *mesh, int64_t vertices, const int64_t *face, int64_t faces,
                       cs_arena *arena, cs_error *error)
{
    cs_arena scratch = {0};
    *mesh = (cs_mesh){.vertices = vertices, .faces = faces};
    if (faces < 1) return cs_fail(error, CS_INVALID, "faces is empty: a cloth has at least one");

    /* Take. */
    int64_t *own = cs_arena_take_unset(arena, 3 * faces, sizeof *own);
    cs_hinge *hinge = cs_arena_take_unset(arena, 3 * faces / 2, sizeof *hinge);
    side *sides = cs_arena_take_unset(&scratch, 3 * faces, sizeof *sides);
    cs_status status = cs_arena_status(arena, error, "%lld faces", (long long)faces);
    if (!status) status = cs_arena_status(&scratch, error, "%lld faces", (long long)faces);
    if (status) goto out;

    /* Check, and find hinges. */
    memcpy(own, face, sizeof *own * (size_t)(3 * faces));
    mesh->face = own;
    status = check_faces(mesh, error);
    if (!status) status = check_vertices(mesh, &scratch, error);
    if (status) goto out;
    list_sides(mesh, sides);
    status = list_hinges(mesh, sides, hinge, error);
out:
    cs_arena_clear(&scratch);
    return status;
}

/* ---- the graph ------------------------------------------------------------------------------------ */

/* Counts (`column` is NULL) or adds all pairs of the `count` vertices of an element. */
static void add_pairs(const int64_t *vertex, int count, int64_t *end, int64_t *column)
{
    for (int a = 0; a < count; a++)
        for (int b = 0; b < count; b++) {
            if (column) column[end[vertex[a]]] = vertex[b];
            end[vertex[a]]++;
        }
}

static void add_elements(const cs_mesh *mesh, int hinges, int64_t *end, int64_t *column)
{
    for (int64_t t = 0; t < mesh->faces; t++) add_pairs(mesh->face + 3 * t, 3, end, column);
    for (int64_t t = 0; hinges && t < mesh->hinges; t++)
        add_pairs(mesh->hinge[t].vertex, 4, end, column);
}

/* Sorts each row, keeps each column once, and moves the rows together. begin (vertices + 1): of the rows; start likewise. */
static void sort_rows(int64_t vertices, const int64_t *begin, int64_t *start, int64_t *column)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < vertices; i++) {
        int64_t *row = column + begin[i];
        int64_t count = cs_sort_distinct_64(row, begin[i + 1] - begin[i]);
        memmove(column + kept, row, sizeof *row * (size_t)count);
        kept += count;
        start[i + 1] = kept;
    }
}

cs_status cs_mesh_graph(const cs_mesh *mesh, int hinges, cs_graph *graph, cs_arena *arena,
                        cs_error *error)
{
    /* The rows with repeated columns. */
    int64_t n = mesh->vertices, pairs = 9 * mesh->faces + (hinges ? 16 * mesh->hinges : 0);
    int64_t *begin = cs_arena_take(arena, n + 1, sizeof *begin);
    int64_t *end = cs_arena_take(arena, n + 1, sizeof *end);
    int64_t *start = cs_arena_take(arena, n + 1, sizeof *start);
    int64_t *column = cs_arena_take_unset(arena, pairs, sizeof *column);
    cs_status status = cs_arena_status(arena, error, "a graph of %lld vertices", (long long)n);
    if (status) return status;
    add_elements(mesh, hinges, begin + 1, NULL);
    for (int64_t i = 0; i < n; i++) begin[i + 1] += begin[i];
    memcpy(end, begin, sizeof *end * (size_t)n);
    add_elements(mesh, hinges, end, column);

    sort_rows(n, begin, start, column);
    *graph = (cs_graph){n, start, column};
    return CS_OK;
}
