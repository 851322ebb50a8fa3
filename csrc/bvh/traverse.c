#include "bvh/traverse.h"

#include "core/clock.h"
#include "core/compiler.h"

/* A pair on the stack; work of -1 marks the end of what is below a pair. */
typedef struct item {
    int32_t a, b;
    int64_t work;
} item;

/* A pair of which the pairs below are on the stack: its number, the tests before it, its record or -1. */
typedef struct frame {
    uint64_t pair;
    int64_t before, record;
} frame;

/* With four children, two branches have up to 16 pairs below, on at most 15 levels; a branch and a leaf up to 4. With two
 * children it is 4 and 2, on at most 30 levels. */
enum { MOST_ITEMS = 640, MOST_FRAMES = 2 * CS_MOST_LEVELS + 2, MOST_BELOW = 16, ASK_EVERY = 1024 };

typedef struct walk {
    cs_traversal *t;
    cs_query_worker *worker;
    int thread;
    int64_t parent; /* of the first frame */
    int64_t tests, forked;
    int items, frames;
    item item[MOST_ITEMS];
    frame frame[MOST_FRAMES];
} walk;

/* ---- pairs of primitives ----------------------------------------------------------------------------- */

/* Keeps the pair at places i and j of leaves. */
CS_INLINE void keep_pair(walk *w, int64_t i, int64_t j)
{
    const cs_traversal *t = w->t;
    cs_query_worker *worker = w->worker;
    if (worker->pairs++ >= t->most_stored || t->counts_only) return;
    if (worker->stored >= worker->found.capacity &&
        !cs_buffer_grown(&worker->found, worker->stored + 1, worker->stored, sizeof(cs_found))) {
        worker->is_out_of_memory = 1;
        return;
    }
    uint32_t first = (uint32_t)t->a->primitive[i], second = (uint32_t)t->b->primitive[j];
    int turned = t->is_symmetric && first > second;
    ((cs_found *)worker->found.data)[worker->stored++] =
        turned ? (cs_found){second, first} : (cs_found){first, second};
}

/* Keeps those of two leaves whose bits are set, but for neighbours. */
CS_INLINE void keep_pairs(walk *w, int64_t a, int64_t b, unsigned found)
{
    const cs_traversal *t = w->t;
    int shift = t->shift, last = (1 << shift) - 1;
    if (t->sharing)
        found &= ~t->sharing(t->a->vertex + (a * t->a->corners << shift),
                             t->b->vertex + (b * t->b->corners << shift));
    for (; found; found &= found - 1) {
        int bit = __builtin_ctz(found);
        keep_pair(w, (a << shift) + (bit >> shift), (b << shift) + (bit & last));
    }
}

/* ---- records ------------------------------------------------------------------------------------------- */

/* A new record; -1 without memory. */
static int64_t add_record(walk *w, uint64_t pair, int64_t tests, int64_t parent)
{
    cs_query_worker *worker = w->worker;
    cs_record *record =
        cs_buffer_grown(&worker->record, worker->records + 1, worker->records, sizeof(cs_record));
    if (!record) {
        worker->is_out_of_memory = 1;
        return -1;
    }
    record[worker->records] = (cs_record){pair, tests, parent};
    return worker->records++;
}

/* The id of a record of the last frame, and records of all above it: tests of a task are to be added to them. */
static int64_t record_frames(walk *w)
{
    int64_t parent = w->parent;
    for (int n = 0; n < w->frames; n++) {
        frame *f = &w->frame[n];
        if (f->record < 0) f->record = add_record(w, f->pair, 0, parent);
        if (f->record < 0) return -1;
        parent = cs_record_id(w->thread, f->record);
    }
    return parent;
}

/* All below the last frame is done: back-propagation. */
static void end_frame(walk *w)
{
    const frame *f = &w->frame[--w->frames];
    int64_t tests = w->tests - f->before;
    if (f->record >= 0) ((cs_record *)w->worker->record.data)[f->record].tests += tests;
    else if (tests >= CS_WORTH_A_RECORD) add_record(w, f->pair, tests, -1);
}

/* ---- pairs of nodes ------------------------------------------------------------------------------------ */

int64_t cs_traversal_work(const cs_traversal *t, int64_t a, int64_t b)
{
    return t->counts ? cs_counts_find(t->counts, cs_pair_of(a, b)) : t->a->size[a] + t->b->size[b];
}

/* The pairs below a pair whose children are compared in `found`. Returns their number; pairs of primitives are kept. */
CS_INLINE int list_below(walk *w, item at, unsigned found, item *below)
{
    const cs_hierarchy *a = w->t->a, *b = w->t->b;
    int shift = w->t->shift, arity = 1 << shift, count = 0;
    const int32_t *child_a = at.a < a->leaves ? NULL : a->child + ((at.a - a->leaves) << shift);
    const int32_t *child_b = at.b < b->leaves ? NULL : b->child + ((at.b - b->leaves) << shift);
    if (!child_a && !child_b) {
        keep_pairs(w, at.a, at.b, found);
    } else if (child_a && child_b) {
        for (; found; found &= found - 1) {
            int bit = __builtin_ctz(found);
            below[count++] = (item){child_a[bit >> shift], child_b[bit & (arity - 1)], 0};
        }
    } else if (child_a) {
        unsigned row = (1u << arity) - 1;
        for (int i = 0; i < arity; i++)
            if (found >> (i << shift) & row) below[count++] = (item){child_a[i], at.b, 0};
    } else {
        unsigned column = arity == 4 ? 0x1111 : 0x5;
        for (int j = 0; j < arity; j++)
            if (found >> j & column) below[count++] = (item){at.a, child_b[j], 0};
    }
    return count;
}

/* Which children of a node to compare with each other: each pair of two once; each with itself if it is a node. */
CS_INLINE unsigned pairs_within(const cs_hierarchy *h, int64_t node)
{
    unsigned mask = h->arity == 4 ? 0x08ce : 0x2;
    if (node < h->leaves) return mask;
    return mask | (h->arity == 4 ? 0x8421 : 0x9);
}

/* Begins to load the boxes that the next test on the stack reads: the first lines, those of the axes. */
CS_INLINE void prefetch_next(const walk *w)
{
    const cs_traversal *t = w->t;
    if (!w->items || w->item[w->items - 1].work < 0) return;
    const item *next = &w->item[w->items - 1];
    const char *a = (const char *)t->a->box + t->bytes * (size_t)next->a;
    const char *b = (const char *)t->b->box + t->bytes * (size_t)next->b;
    for (size_t at = 0; at < t->bytes; at += 64) {
        __builtin_prefetch(a + at);
        __builtin_prefetch(b + at);
    }
}

/* Tests a pair of nodes. Returns the number of pairs below. */
CS_INLINE int test_pair(walk *w, item at, item *below)
{
    const cs_traversal *t = w->t;
    const char *box_a = t->a->box, *box_b = t->b->box;
    unsigned found = t->overlap(box_a + t->bytes * (size_t)at.a, box_b + t->bytes * (size_t)at.b);
    if (t->is_symmetric && at.a == at.b) found &= pairs_within(t->a, at.a);
    w->tests++;
    return found ? list_below(w, at, found, below) : 0;
}

/* Forks a pair below the last frame. Returns 0 if the pool has no room. */
static int fork(walk *w, const item *below)
{
    int64_t parent = record_frames(w);
    cs_task task = {{(int64_t)cs_pair_of(below->a, below->b), parent}, below->work};
    if (parent < 0 || !cs_pool_fork(w->t->pool, w->thread, &task)) return 0;
    w->forked++;
    return 1;
}

/* Pushes the pairs below; those that are worth a task are forked, all but the one that the rule chooses. */
static void split(walk *w, uint64_t pair, item *below, int count)
{
    const cs_traversal *t = w->t;
    int64_t work[MOST_BELOW];
    for (int n = 0; n < count; n++)
        work[n] = below[n].work = cs_traversal_work(t, below[n].a, below[n].b);
    int own = t->rule->choose(&(cs_split){count, work, t->seed ^ pair});
    for (int n = count - 1; n >= 0; n--) {
        if (n == own || (work[n] >= t->task_work && fork(w, &below[n]))) continue;
        w->item[w->items++] = below[n];
    }
    w->item[w->items++] = below[own];
}

static void push(walk *w, item at, item *below, int count)
{
    uint64_t pair = cs_pair_of(at.a, at.b);
    w->frame[w->frames++] = (frame){pair, w->tests - 1, -1};
    w->item[w->items++] = (item){.work = -1};
    if (w->t->pool && at.work >= w->t->task_work) {
        split(w, pair, below, count);
        return;
    }
    for (int n = count - 1; n >= 0; n--) w->item[w->items++] = below[n];
}

/* Whether to leave off: the caller is asked on thread 0. */
static int is_stopped(walk *w)
{
    cs_traversal *t = w->t;
    if (w->worker->is_out_of_memory) atomic_store(&t->stop, 1);
    if (w->thread == 0 && cs_is_cancelled(t->cancellation, 100.0 * ASK_EVERY))
        atomic_store(&t->stop, 1);
    return atomic_load_explicit(&t->stop, memory_order_relaxed);
}

static void keep_task(walk *w, uint64_t pair, int64_t work, double seconds)
{
    cs_query_worker *worker = w->worker;
    cs_task_record *task =
        cs_buffer_grown(&worker->task, worker->tasks + 1, worker->tasks, sizeof(cs_task_record));
    if (!task) worker->is_out_of_memory = 1;
    else task[worker->tasks++] = (cs_task_record){pair, w->parent, work, w->tests, seconds};
}

void cs_traverse(cs_traversal *t, int thread, uint64_t pair, int64_t parent, int64_t work)
{
    walk w;
    w.t = t;
    w.worker = &t->worker[thread];
    w.thread = thread;
    w.parent = parent;
    w.tests = w.forked = w.items = w.frames = 0;
    w.item[w.items++] = (item){(int32_t)(pair >> 32), (int32_t)(pair & UINT32_MAX), work};
    double start = t->has_clock ? cs_clock() : 0;

    while (w.items) {
        item below[MOST_BELOW], at = w.item[--w.items];
        if (at.work < 0) {
            end_frame(&w);
            continue;
        }
        prefetch_next(&w);
        int count = test_pair(&w, at, below);
        if (count) push(&w, at, below, count);
        if (w.tests % ASK_EVERY == 0 && is_stopped(&w)) break;
    }

    w.worker->tests += w.tests;
    keep_task(&w, pair, work, t->has_clock ? cs_clock() - start : 0);
}

void cs_traverse_task(void *context, cs_pool *pool, int thread, cs_task *task)
{
    cs_traversal *t = context;
    (void)pool;
    if (!atomic_load_explicit(&t->stop, memory_order_relaxed))
        cs_traverse(t, thread, (uint64_t)task->input[0], task->input[1], task->result);
}
