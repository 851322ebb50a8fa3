/* Lists without locks: a stack of free nodes (Treiber 1986) and a first-in, first-out queue (Michael and Scott, Simple,
 * fast, and practical non-blocking and blocking concurrent queue algorithms, PODC 1996, figure 1).
 *
 * Nodes lie in an array and are named by their index. A link is one 64-bit word: the index of a node, and a tag that grows
 * each time the link changes. A thread reads a link, computes what it shall become, and replaces it if it is still the
 * same (compare and swap). With the index alone, a node that was taken and put back in between would look the same,
 * although what follows it is another: the ABA problem. The tag then differs. It returns to a value after 2^32 changes,
 * of which a thread would have to miss exactly that many between its reading and its replacing.
 *
 *     stack:  top ──► node ──► node
 *     queue:  head ──► dummy ──► oldest ──► ... ──► newest ◄── tail
 *
 * A queue has one node more than it holds items: its first node is a dummy, whose item was taken before. Who takes the
 * oldest item gets the dummy with it, and the node of that item is the next dummy. Nodes so belong to no queue, and are
 * never released: a thread may read a node that others have taken, and then fails to replace a link.
 *
 * Two words of eight bytes in place of pointers of eight and a tag: GCC calls a function of libatomic, which may lock, to
 * replace sixteen bytes. */
#ifndef CS_LOCK_FREE_H
#define CS_LOCK_FREE_H

#include <stdatomic.h>
#include <stdint.h>

/* The bits of a tag that count. Tests leave none, and find that the lists break. */
#ifndef CS_TAG_MASK
#define CS_TAG_MASK UINT32_MAX
#endif

/* What a test does between reading a link and replacing it. */
#ifndef CS_BEFORE_REPLACING
#define CS_BEFORE_REPLACING() ((void)0)
#endif

#define CS_NO_NODE UINT32_MAX

/* A tag in the high half, an index in the low half. */
typedef uint64_t cs_tagged;

typedef struct cs_node {
    _Atomic(cs_tagged) next;
    _Atomic(uint32_t) item; /* written by the owner of the node */
} cs_node;

/* Each end on a cache line of its own, as different threads write them. */
typedef struct cs_free_stack {
    _Alignas(64) _Atomic(cs_tagged) top;
} cs_free_stack;

typedef struct cs_free_queue {
    _Alignas(64) _Atomic(cs_tagged) head;
    _Alignas(64) _Atomic(cs_tagged) tail;
} cs_free_queue;

static inline uint32_t cs_index_of(cs_tagged link) { return (uint32_t)link; }
static inline uint32_t cs_tag_of(cs_tagged link) { return (uint32_t)(link >> 32); }

/* A link to the node `index` that takes the place of `before`. */
static inline cs_tagged cs_tagged_after(cs_tagged before, uint32_t index)
{
    return (uint64_t)((cs_tag_of(before) + 1) & CS_TAG_MASK) << 32 | index;
}

/* What acquires a link sees what was written before the link. */
static inline cs_tagged cs_tagged_read(const _Atomic(cs_tagged) *link)
{
    return atomic_load_explicit(link, memory_order_acquire);
}

/* Replaces a link by one to the node `index` unless it has changed since it was `seen`; returns whether it did so. */
static inline int cs_tagged_replace(_Atomic(cs_tagged) *link, cs_tagged seen, uint32_t index)
{
    cs_tagged next = cs_tagged_after(seen, index);
    CS_BEFORE_REPLACING();
    return atomic_compare_exchange_strong_explicit(link, &seen, next, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* What follows a node that the caller owns. Who reads the link although the node was taken also sees that it was. */
static inline void cs_next_set(cs_node *node, uint32_t index)
{
    cs_tagged before = atomic_load_explicit(&node->next, memory_order_relaxed);
    atomic_store_explicit(&node->next, cs_tagged_after(before, index), memory_order_release);
}

static inline uint32_t cs_item_of(const cs_node *node)
{
    return atomic_load_explicit(&node->item, memory_order_relaxed);
}

static inline void cs_item_set(cs_node *node, uint32_t item)
{
    atomic_store_explicit(&node->item, item, memory_order_relaxed);
}

/* ---- stack --------------------------------------------------------------------------------------- */

static inline void cs_free_stack_init(cs_free_stack *stack)
{
    atomic_init(&stack->top, CS_NO_NODE);
}

static inline void cs_free_stack_push(cs_free_stack *stack, cs_node *node, uint32_t index)
{
    cs_tagged top;
    do {
        top = cs_tagged_read(&stack->top);
        cs_next_set(&node[index], cs_index_of(top));
    } while (!cs_tagged_replace(&stack->top, top, index));
}

/* The node pushed last, or CS_NO_NODE. */
static inline uint32_t cs_free_stack_pop(cs_free_stack *stack, cs_node *node)
{
    for (;;) {
        cs_tagged top = cs_tagged_read(&stack->top);
        uint32_t index = cs_index_of(top);
        if (index == CS_NO_NODE) return CS_NO_NODE;
        cs_tagged next = cs_tagged_read(&node[index].next);
        if (cs_tagged_replace(&stack->top, top, cs_index_of(next))) return index;
    }
}

/* ---- queue --------------------------------------------------------------------------------------- */

/* An empty queue with the node `dummy`. */
static inline void cs_free_queue_init(cs_free_queue *queue, cs_node *node, uint32_t dummy)
{
    atomic_init(&node[dummy].next, CS_NO_NODE);
    atomic_init(&queue->head, dummy);
    atomic_init(&queue->tail, dummy);
}

/* Adds the node `index`, with its item. */
static inline void cs_free_queue_push(cs_free_queue *queue, cs_node *node, uint32_t index)
{
    /* Link the node behind the last one. If the tail lags behind that, move it first, for whoever has not yet done so. */
    cs_next_set(&node[index], CS_NO_NODE);
    cs_tagged tail;
    for (;;) {
        tail = cs_tagged_read(&queue->tail);
        cs_tagged next = cs_tagged_read(&node[cs_index_of(tail)].next);
        if (tail != cs_tagged_read(&queue->tail)) continue;
        if (cs_index_of(next) != CS_NO_NODE)
            cs_tagged_replace(&queue->tail, tail, cs_index_of(next));
        else if (cs_tagged_replace(&node[cs_index_of(tail)].next, next, index)) break;
    }
    cs_tagged_replace(&queue->tail, tail, index);
}

/* A node with the oldest item, or CS_NO_NODE if the queue is empty. */
static inline uint32_t cs_free_queue_pop(cs_free_queue *queue, cs_node *node)
{
    for (;;) {
        cs_tagged head = cs_tagged_read(&queue->head), tail = cs_tagged_read(&queue->tail);
        uint32_t dummy = cs_index_of(head), last = cs_index_of(tail);
        uint32_t next = cs_index_of(cs_tagged_read(&node[dummy].next));
        if (head != cs_tagged_read(&queue->head)) continue;

        /* Empty, or the tail lags behind: the head must not overtake it. */
        if (dummy == last) {
            if (next == CS_NO_NODE) return CS_NO_NODE;
            cs_tagged_replace(&queue->tail, tail, next);
            continue;
        }

        /* Read the item before others can take its node as the dummy. */
        uint32_t item = cs_item_of(&node[next]);
        if (cs_tagged_replace(&queue->head, head, next)) {
            cs_item_set(&node[dummy], item);
            return dummy;
        }
    }
}

/* How many items a queue had a moment ago: its ends have moved once for each that came and went. */
static inline uint32_t cs_free_queue_count(const cs_free_queue *queue)
{
    cs_tagged head = cs_tagged_read(&queue->head), tail = cs_tagged_read(&queue->tail);
    return cs_tag_of(tail) - cs_tag_of(head);
}

#endif
