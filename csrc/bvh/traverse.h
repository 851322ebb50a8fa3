/* Depth-first traversal of the pairs of nodes of two trees, for one worker. */
#ifndef CS_TRAVERSE_H
#define CS_TRAVERSE_H

#include "bvh/query.h"
#include "bvh/tree_kernels.h"
#include "core/pool.h"

#include <stdatomic.h>

typedef struct cs_found {
    uint32_t first, second;
} cs_found;

/* The tests below one pair of nodes, and the record of a pair above that one, or -1. Those of tasks that were forked are added
 * at the end of a query. */
typedef struct cs_record {
    uint64_t pair;
    int64_t tests, parent;
} cs_record;

/* A record of any worker. */
static inline int64_t cs_record_id(int thread, int64_t n) { return (int64_t)thread << 48 | n; }

/* What a thread writes; the end keeps neighbours out of its cache line. */
struct cs_query_worker {
    cs_buffer found, record, task; /* of cs_found, cs_record, cs_task_record */
    int64_t pairs, stored, records, tasks, tests;
    int is_out_of_memory;
    char end[64];
};

typedef struct cs_traversal {
    const cs_hierarchy *a, *b;
    cs_tree_overlap overlap;
    size_t bytes;            /* of a node */
    int shift;               /* log2 of the arity */
    int is_symmetric;        /* a and b are the same: each pair once, the lower index first */
    cs_tree_sharing sharing; /* what is left out; NULL: nothing */
    int counts_only;         /* a first pass */
    int64_t most_stored;     /* pairs of a worker */
    const cs_counts *counts; /* of the rule; NULL: leaves below */
    const cs_split_rule *rule;
    uint64_t seed;
    int64_t task_work; /* a pair with so many tests becomes a task */
    int has_clock;
    cs_pool *pool; /* NULL: no tasks */
    cs_query_worker *worker;
    cs_cancellation *cancellation;
    atomic_int stop;
} cs_traversal;

/* Pairs of nodes with fewer tests below are not recorded. */
enum { CS_WORTH_A_RECORD = 128 };

/* What the rule knows of the tests below a pair. */
int64_t cs_traversal_work(const cs_traversal *t, int64_t a, int64_t b);

/* Goes through all below a pair, and forks tasks; parent: record of the pair that has found it, or -1. */
void cs_traverse(cs_traversal *t, int thread, uint64_t pair, int64_t parent, int64_t work);

/* The same for a task: input[0] is a pair, input[1] its parent; result: what the rule knew of its work. */
void cs_traverse_task(void *context, cs_pool *pool, int thread, cs_task *task);

#endif
