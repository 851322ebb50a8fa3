/* Parts of factors, kept by the rows that were taken out of them.  S3 section 3.1
 *
 *     nothing out ─┬─ 3 ─┬─ 7       A set of rows is a path, ascending: {3, 9} is 3, then 9. Its node
 *                  │     └─ 9       keeps the columns from 9 on of the factor without 3 and 9; those
 *                  └─ 5             before are its ancestors', for taking a row out changes none.
 *
 * The path is the key: no two sets have the same one. Where the bound on bytes is met, the part that
 * has not been used for the longest time goes, and always after those that build on it. A part that
 * finds no room, or no memory, is not kept: the cache may forget, but never fails. */
#ifndef CS_CACHE_H
#define CS_CACHE_H

#include "contactsolve.h"

typedef struct cs_cache_node {
    struct cs_cache_node *parent, *child, *sibling;
    struct cs_cache_node *newer, *older; /* by their last use, ancestors newer than descendants */
    int64_t row, used, bytes;
    double *value; /* columns from `row` on */
} cs_cache_node;

typedef struct cs_cache {
    cs_cache_node root;
    cs_cache_node *newest, *oldest;
    int64_t limit, now;
    cs_cache_counts counts;
} cs_cache;

/* Follows the `count` rows, ascending, as far as parts are kept; path[..] <- their nodes. Returns how
 * many. */
int64_t cs_cache_find(cs_cache *cache, const int64_t *rows, int64_t count, cs_cache_node **path);

/* Keeps a copy of `numbers` of a part below `parent` (NULL: nothing out before), which must have been
 * found or added since the last cs_cache_find. NULL where there is no room. */
cs_cache_node *cs_cache_add(cs_cache *cache, cs_cache_node *parent, int64_t row,
                            const double *value, int64_t numbers);

/* Releases all parts. */
void cs_cache_clear(cs_cache *cache);

#endif
