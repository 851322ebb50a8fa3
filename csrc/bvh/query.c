#include "bvh/query.h"

#include "bvh/traverse.h"
#include "core/error.h"
#include "core/parallel.h"

#include <math.h>
#include <string.h>

/* Tests that pay for a task, and parts of the whole that keep many threads busy. */
enum { WORTH_A_TASK = 256, MOST_PARTS = 512, POOL_TASKS = 4096 };

/* ---- what is known of earlier queries -------------------------------------------------------------------- */

/* One query: its two hierarchies, and what is kept of it. */
typedef struct asking {
    cs_query *query;
    const cs_query_options *options;
    cs_traversal traversal;
    cs_query_memory *memory;
    cs_query_memory now; /* the trees of this query, without counts */
    int threads;
} asking;

static int is_same(const cs_query_memory *m, const cs_query_memory *now)
{
    return m->used && m->kind == now->kind && !memcmp(m->serial, now->serial, sizeof m->serial) &&
           !memcmp(m->builds, now->builds, sizeof m->builds);
}

/* That of the same trees, or the one that has not been used for longest, emptied. */
static void find_memory(asking *c)
{
    cs_query_memory *found = c->query->memory;
    for (int n = 0; n < CS_QUERY_MEMORIES; n++) {
        cs_query_memory *m = &c->query->memory[n];
        if (is_same(m, &c->now)) {
            c->memory = m;
            return;
        }
        if (m->used < found->used) found = m;
    }
    found->kind = c->now.kind;
    memcpy(found->serial, c->now.serial, sizeof found->serial);
    memcpy(found->builds, c->now.builds, sizeof found->builds);
    found->total = found->counts.size = found->counts.used = 0;
    c->memory = found;
}

/* ---- tests after a traversal ------------------------------------------------------------------------------ */

static cs_record *record_of(const cs_query *query, int64_t id)
{
    cs_record *record = query->worker[id >> 48].record.data;
    return record + (id & ((INT64_C(1) << 48) - 1));
}

/* Adds the tests of each task to the pairs above it: back-propagation across tasks. */
static int64_t propagate(const cs_query *query)
{
    int64_t total = 0;
    for (int n = 0; n < query->workers; n++) {
        const cs_task_record *task = query->worker[n].task.data;
        for (int64_t i = 0; i < query->worker[n].tasks; i++) {
            total += task[i].tests;
            for (int64_t id = task[i].parent; id >= 0; id = record_of(query, id)->parent)
                record_of(query, id)->tests += task[i].tests;
        }
    }
    return total;
}

/* counts <- the tests below all pairs that were recorded. Returns -1 without memory. */
static int keep_counts(const cs_query *query, cs_counts *counts)
{
    int64_t most = 0;
    for (int n = 0; n < query->workers; n++) most += query->worker[n].records;
    if (cs_counts_reset(counts, most)) return -1;
    for (int n = 0; n < query->workers; n++) {
        const cs_record *record = query->worker[n].record.data;
        for (int64_t i = 0; i < query->worker[n].records; i++)
            if (record[i].tests >= CS_WORTH_A_RECORD)
                cs_counts_add(counts, record[i].pair, record[i].tests);
    }
    return 0;
}

/* S5 fig. 5 */
static double estimate_error(const cs_query *query, const cs_counts *estimate)
{
    double apart = 0, sum = 0;
    if (!estimate->size) return NAN;
    for (int n = 0; n < query->workers; n++) {
        const cs_record *record = query->worker[n].record.data;
        for (int64_t i = 0; i < query->worker[n].records; i++) {
            if (record[i].tests < CS_WORTH_A_RECORD) continue;
            int64_t estimated = cs_counts_find(estimate, record[i].pair);
            apart += fabs((double)(estimated - record[i].tests));
            sum += (double)record[i].tests;
        }
    }
    return sum > 0 ? 100 * apart / sum : 0;
}

/* ---- traversals ------------------------------------------------------------------------------------------ */

static void forget_found(cs_query *query)
{
    for (int n = 0; n < query->workers; n++) {
        cs_query_worker *w = &query->worker[n];
        w->pairs = w->stored = w->records = w->tasks = w->tests = w->is_out_of_memory = 0;
    }
}

static cs_status take_workers(cs_query *query, int threads, cs_error *error)
{
    if (threads <= query->workers) return CS_OK;
    cs_arena_mark before = cs_arena_position(&query->arena);
    cs_query_worker *worker = cs_arena_take(&query->arena, threads, sizeof *worker);
    if (!worker) {
        cs_arena_rewind(&query->arena, before);
        return cs_no_memory(error, "%d threads", threads);
    }
    if (query->workers) memcpy(worker, query->worker, sizeof *worker * (size_t)query->workers);
    query->worker = worker;
    query->workers = threads;
    return CS_OK;
}

/* Goes through the roots' pair, and waits for the tasks. */
static void run_root(void *context, cs_pool *pool)
{
    asking *c = context;
    cs_traversal *t = &c->traversal;
    int64_t a = t->a->nodes - 1, b = t->b->nodes - 1;
    cs_task done;
    cs_traverse(t, 0, cs_pair_of(a, b), -1, cs_traversal_work(t, a, b));
    while (pool && cs_pool_join(pool, 0, &done)) {
    }
}

static int is_stopped(void *context)
{
    cs_traversal *t = context;
    if (cs_is_cancelled(t->cancellation, 1e5)) atomic_store(&t->stop, 1);
    return atomic_load(&t->stop);
}

/* Traverses with these tasks, alone if there is no pool. */
static cs_status run(asking *c, int has_pool, cs_error *error)
{
    cs_arena scratch = {0};
    cs_traversal *t = &c->traversal;
    cs_status status = CS_OK;
    forget_found(c->query);
    atomic_store(&t->stop, 0);
    t->pool = NULL;
    if (has_pool)
        status = cs_pool_make(&t->pool, CS_POOL_LOCK_FREE, POOL_TASKS, cs_traverse_task, t,
                              &scratch, error);
    if (!status && has_pool) {
        cs_pool_ask(t->pool, is_stopped, t);
        cs_pool_run(t->pool, c->threads, run_root, c);
    } else if (!status) {
        run_root(c, NULL);
    }
    cs_arena_clear(&scratch);
    if (status) return status;
    for (int n = 0; n < c->query->workers; n++)
        if (c->query->worker[n].is_out_of_memory) return cs_no_memory(error, "pairs");
    if (atomic_load(&t->stop)) return cs_fail(error, CS_INTERRUPTED, "interrupted");
    return CS_OK;
}

/* Counts all tests in a first pass, which the second one takes as its estimate. */
static cs_status count_truth(asking *c, cs_error *error)
{
    c->traversal.counts_only = 1;
    cs_status status = run(c, 0, error);
    c->traversal.counts_only = 0;
    if (status) return status;
    propagate(c->query);
    return keep_counts(c->query, &c->query->truth) ? cs_no_memory(error, "counts of tests") : CS_OK;
}

/* ---- the query ------------------------------------------------------------------------------------------- */

static cs_status check_others(const cs_tree *tree, const cs_tree *other, cs_error *error)
{
    if (tree->k != other->k)
        return cs_fail(error, CS_INVALID, "other has k = %d, this tree %d: equal ones are needed",
                       other->k, tree->k);
    if (tree->arity != other->arity)
        return cs_fail(error, CS_INVALID,
                       "other has arity = %d, this tree %d: equal ones are needed", other->arity,
                       tree->arity);
    if (tree->single != other->single)
        return cs_fail(error, CS_INVALID, "other has dtype %s, this tree %s: equal ones are needed",
                       other->single ? "float32" : "float64", tree->single ? "float32" : "float64");
    return CS_OK;
}

/* Sets up the traversal of hierarchies a and b. */
static void set_up(asking *c, const cs_tree *tree, const cs_hierarchy *a, const cs_hierarchy *b,
                   int is_self)
{
    const cs_query_options *options = c->options;
    cs_traversal *t = &c->traversal;
    size_t number = tree->single ? sizeof(float) : sizeof(double);
    t->a = a;
    t->b = b;
    t->overlap = cs_tree_kernels_here()->overlap[tree->single](tree->k, tree->arity);
    t->bytes = number * (size_t)(tree->k * tree->arity);
    t->is_symmetric = a == b;
    t->sharing = is_self ? cs_tree_kernels_here()->sharing(a->corners, tree->arity) : NULL;
    t->shift = tree->arity / 2;
    t->most_stored = options->max_pairs < 0 ? INT64_MAX : options->max_pairs;
    t->rule = options->rule;
    t->seed = options->seed;
    t->has_clock = options->record;
    t->worker = c->query->worker;
    t->cancellation = options->cancellation;
}

/* What the rule knows, and from which work on there are tasks. */
static void use_counts(asking *c, const cs_counts *counts)
{
    cs_traversal *t = &c->traversal;
    t->counts = t->rule->is_counted && counts->size ? counts : NULL;
    int64_t total = cs_traversal_work(t, t->a->nodes - 1, t->b->nodes - 1);
    t->task_work = total / MOST_PARTS > WORTH_A_TASK ? total / MOST_PARTS : WORTH_A_TASK;
}

static cs_status keep_tasks(cs_query *query, cs_error *error)
{
    int64_t count = 0;
    for (int n = 0; n < query->workers; n++) count += query->worker[n].tasks;
    cs_task_record *task = cs_buffer_room(&query->task, count, sizeof *task);
    if (!task) return cs_no_memory(error, "%lld tasks", (long long)count);
    for (int n = 0; n < query->workers; n++) {
        const cs_query_worker *w = &query->worker[n];
        if (w->tasks) memcpy(task, w->task.data, sizeof *task * (size_t)w->tasks);
        task += w->tasks;
    }
    query->tasks_kept = count;
    return CS_OK;
}

/* The report, and the counts for the next query. */
static cs_status conclude(asking *c, cs_error *error)
{
    cs_query *query = c->query;
    cs_query_report *report = &query->report;
    const cs_query_options *options = c->options;
    *report = (cs_query_report){.tests = propagate(query), .threads = c->threads};
    for (int n = 0; n < query->workers; n++) {
        report->pairs += query->worker[n].pairs;
        report->tasks += query->worker[n].tasks;
    }
    report->tasks--;
    report->estimate_error =
        estimate_error(query, options->rule->has_first_pass ? &query->truth : &c->memory->counts);
    if (keep_counts(query, &c->memory->counts)) return cs_no_memory(error, "counts of tests");
    c->memory->total = report->tests;
    c->memory->used = ++query->queries;
    if (options->record && keep_tasks(query, error)) return CS_NO_MEMORY;
    if (options->max_pairs >= 0 && report->pairs > options->max_pairs)
        return cs_fail(error, CS_INVALID, "%lld pairs were found: max_pairs is %lld",
                       (long long)report->pairs, (long long)options->max_pairs);
    return CS_OK;
}

static cs_status ask(asking *c, const cs_tree *tree, const cs_tree *other, cs_primitive first,
                     cs_primitive second, cs_error *error)
{
    const cs_hierarchy *a = &tree->of[first], *b = &other->of[second];
    c->now = (cs_query_memory){
        c->options->kind, {tree->serial, other->serial}, {a->builds, b->builds}, 0, 0, {{0}, 0, 0}};
    find_memory(c);

    /* Threads pay by the tests of the last query; before the first one, as many are expected as there are nodes. */
    int64_t expected = c->memory->total ? c->memory->total : a->nodes + b->nodes;
    c->threads =
        cs_threads_for(c->options->threads, expected, CS_WORTH_THREADS_PAIRS, CS_POOL_MOST_THREADS);
    cs_status status = take_workers(c->query, c->threads, error);
    if (status) return status;
    set_up(c, tree, a, b, tree == other);
    if (c->options->rule->has_first_pass) status = count_truth(c, error);
    if (status) return status;
    use_counts(c, c->options->rule->has_first_pass ? &c->query->truth : &c->memory->counts);
    status = run(c, c->threads > 1 || c->options->record, error);
    return status ? status : conclude(c, error);
}

cs_status cs_query_run(cs_query *query, cs_tree *tree, cs_tree *other,
                       const cs_query_options *options, cs_error *error)
{
    static const cs_primitive first[] = {CS_FACES, CS_VERTICES, CS_EDGES};
    static const cs_primitive second[] = {CS_FACES, CS_FACES, CS_EDGES};
    asking c = {.query = query, .options = options};
    if (!other) other = tree;
    query->tasks_kept = 0;
    query->report = (cs_query_report){0};
    cs_status status = check_others(tree, other, error);
    if (!status) status = cs_tree_need(tree, first[options->kind], options->threads, error);
    if (!status) status = cs_tree_need(other, second[options->kind], options->threads, error);
    query->first_keys = cs_tree_count(tree, first[options->kind]);
    if (!status) status = ask(&c, tree, other, first[options->kind], second[options->kind], error);
    return status;
}

void cs_query_clear(cs_query *query)
{
    for (int n = 0; n < query->workers; n++) {
        cs_buffer_clear(&query->worker[n].found);
        cs_buffer_clear(&query->worker[n].record);
        cs_buffer_clear(&query->worker[n].task);
    }
    for (int n = 0; n < CS_QUERY_MEMORIES; n++) cs_counts_clear(&query->memory[n].counts);
    cs_counts_clear(&query->truth);
    cs_buffer_clear(&query->place);
    cs_buffer_clear(&query->second);
    cs_buffer_clear(&query->task);
    cs_arena_clear(&query->arena);
    *query = (cs_query){0};
}
