/* A cache of factors from which rows were removed.  S3 section 3.1
 *
 *     all rows ─┬─ 3 ─┬─ 7       The key is the set of removed rows, as an ascending path: {3, 9} is 3, 9.
 *               │     └─ 9       Its node stores the columns from 9 on of the factor without 3 and 9. Earlier
 *               └─ 5             columns are in its ancestors, because the removal of a row does not change them.
 *
 * If the cache exceeds its limit of bytes, the least recently used part is removed; a part is always removed after
 * its descendants. If a part does not fit, or memory runs out, it is not stored: the cache never fails. */
#ifndef CS_FACTOR_CACHE_H
#define CS_FACTOR_CACHE_H

#include "contactsolve.h"

typedef struct cs_cache_node {
    struct cs_cache_node *parent, *child, *sibling;
    /* Neighbours in the list by last use; ancestors are newer than descendants. */
    struct cs_cache_node *newer, *older;
    int64_t row, used, bytes; /* the removed row; cs_cache.now at the last use; bytes of the node */
    double *value;            /* columns from `row` on */
} cs_cache_node;

typedef struct cs_cache {
    cs_cache_node root;
    cs_cache_node *newest, *oldest;
    int64_t limit, now; /* limit of bytes; number of searches so far */
    cs_cache_counts counts;
} cs_cache;

/* path <- the nodes of the longest stored prefix of the `count` ascending rows. Returns its length. */
int64_t cs_cache_find(cs_cache *cache, const int64_t *rows, int64_t count, cs_cache_node **path);

/* Stores a copy of a part of `numbers` doubles below `parent` (NULL: no row was removed before). `parent`
 * must have been found or added since the last cs_cache_find. Returns NULL if there is no room. */
cs_cache_node *cs_cache_add(cs_cache *cache, cs_cache_node *parent, int64_t row,
                            const double *value, int64_t numbers);

/* Releases all parts. */
void cs_cache_clear(cs_cache *cache);

#endif
