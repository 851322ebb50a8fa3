/* Which edges stand out of their surfaces. */
#include "cloth/collisions.h"

#include "core/vector.h"

/* A face that rises by less than this part of the thickness beside an edge is flat. */
#define FLAT 0.05

/* The number of an edge: they are sorted by their ends. */
static int64_t find_edge(const cs_tree *tree, int32_t low, int32_t high)
{
    int64_t from = 0, to = tree->edges;
    while (to - from > 1) {
        int64_t middle = (from + to) / 2;
        const int32_t *edge = tree->edge + 2 * middle;
        if (edge[0] < low || (edge[0] == low && edge[1] <= high)) from = middle;
        else to = middle;
    }
    return from;
}

cs_status cs_find_opposites(const cs_tree *tree, cs_arena *arena, int32_t **opposite,
                            cs_error *error)
{
    int32_t *to = cs_arena_take(arena, 2 * tree->edges, sizeof *to);
    cs_status status = cs_arena_status(arena, error, "%lld edges", (long long)tree->edges);
    if (status) return status;
    for (int64_t i = 0; i < 2 * tree->edges; i++) to[i] = -1;
    for (int64_t t = 0; t < tree->faces; t++)
        for (int k = 0; k < 3; k++) {
            const int32_t *v = tree->face + 3 * t;
            int32_t a = v[k], b = v[(k + 1) % 3];
            int32_t *own = to + 2 * find_edge(tree, a < b ? a : b, a < b ? b : a);
            own[own[0] >= 0] = v[(k + 2) % 3];
        }
    *opposite = to;
    return CS_OK;
}

/* Whether both faces at an edge rise along n, or the only one does not fall. first: number of vertex 0. */
static int is_ridge(const cs_collisions *c, const int32_t *opposite, int64_t first, int64_t end,
                    const double *n)
{
    double flat = FLAT * c->options.thickness;
    for (int k = 0; k < 2; k++) {
        double rise[3];
        if (opposite[k] < 0) continue;
        cs_subtract(c->start + 3 * (first + opposite[k]), c->start + 3 * end, rise);
        if (!(cs_dot(rise, n) > -flat)) return 0;
    }
    return 1;
}

int cs_are_ridges(const cs_collisions *c, uint64_t key, const int64_t *vertex, const double *n)
{
    const uint64_t mask = (UINT64_C(1) << CS_KEY_BITS) - 1;
    const cs_obstacle *o = cs_key_of_obstacle(c, key);
    const double down[3] = {-n[0], -n[1], -n[2]};
    const int32_t *one = c->opposite + 2 * (key >> CS_KEY_BITS & mask);
    const int32_t *two = (o ? o->opposite : c->opposite) + 2 * (key & mask);
    return is_ridge(c, one, 0, vertex[0], n) && is_ridge(c, two, o ? o->first : 0, vertex[2], down);
}
