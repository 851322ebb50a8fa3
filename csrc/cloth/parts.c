/* The parts of a mesh that are apart from each other. */
#include "cloth/collisions.h"

#include "core/error.h"

/* The least vertex that is known to be of the same part. */
static int64_t least_of(int64_t *part, int64_t i)
{
    while (part[i] != i) i = part[i] = part[part[i]];
    return i;
}

cs_status cs_find_parts(const cs_tree *tree, cs_arena *arena, int64_t **part, cs_error *error)
{
    int64_t *of = cs_arena_take(arena, tree->vertices, sizeof *of);
    cs_status status = cs_arena_status(arena, error, "%lld vertices", (long long)tree->vertices);
    if (status) return status;
    for (int64_t i = 0; i < tree->vertices; i++) of[i] = i;
    for (int64_t i = 0; i < tree->edges; i++) {
        int64_t a = least_of(of, tree->edge[2 * i]), b = least_of(of, tree->edge[2 * i + 1]);
        if (a < b) of[b] = a;
        else of[a] = b;
    }
    for (int64_t i = 0; i < tree->vertices; i++) of[i] = least_of(of, i);
    *part = of;
    return CS_OK;
}
