/* Disjoint sets of numbers, as a forest in an array: parent[i] == i for the root of a set, its least number.  Tarjan 1975;
 * paths are halved on the way (van Leeuwen and van der Weide 1977). */
#ifndef CS_DISJOINT_SETS_H
#define CS_DISJOINT_SETS_H

#include <stdint.h>

/* The root of the set of i. */
static inline int64_t cs_disjoint_root(int64_t *parent, int64_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

/* Unites the sets of a and b; returns whether they were two. */
static inline int cs_disjoint_unite(int64_t *parent, int64_t a, int64_t b)
{
    a = cs_disjoint_root(parent, a);
    b = cs_disjoint_root(parent, b);
    if (a < b) parent[b] = a;
    else parent[a] = b;
    return a != b;
}

#endif
