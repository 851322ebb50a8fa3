/* The parts of a mesh that are apart from each other. */
#include "cloth/collisions.h"

#include "core/disjoint_sets.h"
#include "core/error.h"

cs_status cs_find_parts(const cs_tree *tree, cs_arena *arena, int64_t **part, cs_error *error)
{
    int64_t *of = cs_arena_take(arena, tree->vertices, sizeof *of);
    cs_status status = cs_arena_status(arena, error, "%lld vertices", (long long)tree->vertices);
    if (status) return status;
    for (int64_t i = 0; i < tree->vertices; i++) of[i] = i;
    for (int64_t i = 0; i < tree->edges; i++)
        cs_disjoint_unite(of, tree->edge[2 * i], tree->edge[2 * i + 1]);
    for (int64_t i = 0; i < tree->vertices; i++) of[i] = cs_disjoint_root(of, i);
    *part = of;
    return CS_OK;
}
