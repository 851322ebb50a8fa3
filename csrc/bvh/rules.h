/* Rules of splitting a traversal (S5 section 5.2): with which of the pairs of nodes that it finds below a pair a worker goes on
 * itself, and which of the others become tasks. */
#ifndef CS_RULES_H
#define CS_RULES_H

#include <stdint.h>

/* The pairs below a pair of nodes, from left to right. */
typedef struct cs_split {
    int count;
    const int64_t *work; /* (count): what is known of the work of each, in tests */
    uint64_t seed;       /* of the query and the pair: the same on any thread */
} cs_split;

typedef struct cs_split_rule {
    const char *name, *summary;
    /* The number of the pair that the worker itself goes on with. */
    int (*choose)(const cs_split *split);
    /* Where `work` comes from: counts of earlier queries, or of a first pass of this one. Neither: the leaves below. */
    int is_counted, has_first_pass;
} cs_split_rule;

/* The n-th rule, or NULL. */
const cs_split_rule *cs_split_rule_at(int n);
const cs_split_rule *cs_split_rule_find(const char *name);

#endif
