/* Pairs of primitives whose boxes overlap, by a traversal of two trees, or of one with itself (S5 section 5.1).
 *
 * The traversal is a tree of tests by itself: below a pair of nodes are the pairs of their children whose boxes overlap. A
 * worker goes through it depth first, with a stack; some of the pairs that it finds become tasks of a pool, which other
 * threads take (core/pool.h). A rule says which (rules.h). The pairs of primitives are sorted at the end: they depend neither
 * on the rule nor on the threads. */
#ifndef CS_QUERY_H
#define CS_QUERY_H

#include "bvh/counts.h"
#include "bvh/rules.h"
#include "bvh/tree.h"

typedef enum cs_pairs_kind {
    CS_PAIRS_FACES,
    CS_PAIRS_VERTEX_FACE,
    CS_PAIRS_EDGE_EDGE,
    CS_PAIRS_KINDS
} cs_pairs_kind;

typedef struct cs_query_options {
    cs_pairs_kind kind;
    const cs_split_rule *rule;
    uint64_t seed;     /* of the rule */
    int64_t max_pairs; /* more are an error; -1: no limit */
    int threads;       /* at most; 0: all that are available */
    int record;        /* keep what each task has done; tasks are then made for one thread, too */
    cs_cancellation *cancellation; /* asked on thread 0; or NULL */
} cs_query_options;

/* What one task has done, without those that it has forked. */
typedef struct cs_task_record {
    uint64_t pair;
    int64_t parent; /* record of the pair that has forked it; -1: the first task */
    int64_t work;   /* what the rule knew of its tests, with those that it would fork */
    int64_t tests;
    double seconds;
} cs_task_record;

typedef struct cs_query_report {
    int64_t pairs, tests; /* tests: of pairs of nodes, each of all children against all */
    int64_t tasks;        /* that were forked */
    int threads;
    double estimate_error; /* percent: see cs_query_run; NaN: nothing was estimated */
    double first_pass;     /* seconds of a rule's first pass; 0: it has none */
} cs_query_report;

typedef struct cs_query_worker cs_query_worker;

/* The trees of an earlier query, and what it has counted. */
typedef struct cs_query_memory {
    cs_pairs_kind kind;
    int64_t serial[2], builds[2];
    int64_t used; /* the number of the query that has used it last; 0: never */
    int64_t total;
    cs_counts counts;
} cs_query_memory;

enum { CS_QUERY_MEMORIES = 8 };

/* Memory that queries of one tree use again. All zeros: none yet. */
typedef struct cs_query {
    cs_query_worker *worker; /* (workers) */
    int workers;
    cs_arena arena;
    cs_query_memory memory[CS_QUERY_MEMORIES];
    cs_counts truth;
    int64_t queries;
    int64_t first_keys; /* the pairs that were found: their first indices are below this */
    cs_buffer place, second;
    cs_query_report report;
    cs_buffer task;     /* of cs_task_record: those of the last query that was recorded */
    int64_t tasks_kept; /* the first task, and those that were forked; 0: not recorded */
} cs_query;

/* Finds the pairs of `tree` with `other`, or with itself if `other` is NULL: then each pair once, without primitives that share a
 * vertex. Both need the same k, arity and precision. The first primitive is one of `tree`.
 *
 * report.estimate_error: over all pairs of nodes below which this query has made at least CS_WORTH_A_RECORD tests, the sum of
 * |tests estimated - tests made| over the sum of tests made (S5 fig. 5). */
cs_status cs_query_run(cs_query *query, cs_tree *tree, cs_tree *other,
                       const cs_query_options *options, cs_error *error);

/* pairs (report.pairs, 2) <- what was found, sorted. Once for each query: the memory may be given back. */
cs_status cs_query_write(cs_query *query, int64_t *pairs, cs_error *error);

void cs_query_clear(cs_query *query);

#endif
