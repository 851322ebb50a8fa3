/* The cache of factors: a tree of parts, and a list of them by last use. */
#include "mlcp/cache.h"

#include "core/memory.h"

#include <string.h>

/* ---- by last use ----------------------------------------------------------------------------- */

/* Takes a node out of the list by last use. */
static void unlink_use(cs_cache *cache, cs_cache_node *node)
{
    if (node->newer) node->newer->older = node->older;
    else cache->newest = node->older;
    if (node->older) node->older->newer = node->newer;
    else cache->oldest = node->newer;
}

/* Inserts a node into that list, behind `newer`, or at the front if `newer` is NULL. */
static void link_use(cs_cache *cache, cs_cache_node *node, cs_cache_node *newer)
{
    node->newer = newer;
    node->older = newer ? newer->older : cache->newest;
    if (newer) newer->older = node;
    else cache->newest = node;
    if (node->older) node->older->newer = node;
    else cache->oldest = node;
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* The child of a node that removes `row`, or NULL. */
static cs_cache_node *child_of(const cs_cache_node *node, int64_t row)
{
    cs_cache_node *child = node->child;
    while (child && child->row != row) child = child->sibling;
    return child;
}

/* Removes a node without children. */
static void remove_leaf(cs_cache *cache, cs_cache_node *leaf)
{
    cs_cache_node **link = &leaf->parent->child;
    while (*link != leaf) link = &(*link)->sibling;
    *link = leaf->sibling;
    unlink_use(cache, leaf);
    cache->counts.bytes -= leaf->bytes;
    cache->counts.entries--;
    cs_release(leaf->value);
    cs_release(leaf);
}

/* Removes the least recently used parts until `bytes` fit. Returns -1 if that would remove a part of the last
 * search. */
static int make_room(cs_cache *cache, int64_t bytes)
{
    if (bytes > cache->limit) return -1;
    while (cache->counts.bytes > cache->limit - bytes) {
        if (cache->oldest->used == cache->now) return -1;
        remove_leaf(cache, cache->oldest);
        cache->counts.evictions++;
    }
    return 0;
}

int64_t cs_cache_find(cs_cache *cache, const int64_t *rows, int64_t count, cs_cache_node **path)
{
    /* Walk down the tree. */
    cs_cache_node *node = &cache->root;
    int64_t found = 0;
    cache->now++;
    while (found < count && (node = child_of(node, rows[found]))) path[found++] = node;

    /* Move the path to the front of the list, the deepest node first, so that it becomes the oldest of them. */
    for (int64_t i = found - 1; i >= 0; i--) {
        path[i]->used = cache->now;
        unlink_use(cache, path[i]);
        link_use(cache, path[i], NULL);
    }
    return found;
}

cs_cache_node *cs_cache_add(cs_cache *cache, cs_cache_node *parent, int64_t row,
                            const double *value, int64_t numbers)
{
    /* Make room, and copy the numbers. */
    int64_t bytes = (int64_t)sizeof(cs_cache_node) + numbers * (int64_t)sizeof(double);
    if (make_room(cache, bytes)) return NULL;
    cs_cache_node *node = cs_allocate(1, sizeof *node);
    double *copy = node ? cs_allocate(numbers, sizeof(double)) : NULL;
    if (!copy) {
        cs_release(node);
        return NULL;
    }
    memcpy(copy, value, sizeof(double) * (size_t)numbers);

    /* Insert the node into the tree and into the list. */
    if (!parent) parent = &cache->root;
    *node = (cs_cache_node){.parent = parent,
                            .sibling = parent->child,
                            .row = row,
                            .used = cache->now,
                            .bytes = bytes,
                            .value = copy};
    parent->child = node;
    link_use(cache, node, parent == &cache->root ? NULL : parent);
    cache->counts.entries++;
    cache->counts.bytes += bytes;
    if (cache->counts.bytes > cache->counts.most_bytes)
        cache->counts.most_bytes = cache->counts.bytes;
    return node;
}

void cs_cache_clear(cs_cache *cache)
{
    while (cache->oldest) remove_leaf(cache, cache->oldest);
}
