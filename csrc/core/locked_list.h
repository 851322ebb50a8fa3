/* First-in, first-out lists of nodes behind a mutex each, on which threads wait for a node: what S5 section 5.3 compares
 * lists without locks (core/lock_free.h) with. A node is its index; next[i] is the node behind node i. */
#ifndef CS_LOCKED_LIST_H
#define CS_LOCKED_LIST_H

#include "core/lock_free.h"
#include "core/mutex.h"

typedef struct cs_locked_list {
    _Alignas(64) cs_mutex mutex;
    cs_condition filled;
    uint32_t first, last;    /* CS_NO_NODE: empty */
    int waiting;             /* threads that wait for a node */
    int closed;              /* nobody waits any more */
    _Atomic(uint32_t) count; /* of nodes; read without the mutex */
} cs_locked_list;

static inline void cs_locked_list_init(cs_locked_list *list)
{
    list->first = list->last = CS_NO_NODE;
    atomic_init(&list->count, 0);
}

/* Between these calls threads may use the list; what is in it stays. */
static inline void cs_locked_list_open(cs_locked_list *list)
{
    cs_mutex_init(&list->mutex);
    cs_condition_init(&list->filled);
    list->waiting = list->closed = 0;
}

static inline void cs_locked_list_end(cs_locked_list *list)
{
    cs_condition_destroy(&list->filled);
    cs_mutex_destroy(&list->mutex);
}

/* Only who has locked the mutex writes the count. */
static inline void cs_locked_list_count(cs_locked_list *list, uint32_t change)
{
    uint32_t count = atomic_load_explicit(&list->count, memory_order_relaxed);
    atomic_store_explicit(&list->count, count + change, memory_order_relaxed);
}

static inline void cs_locked_list_push(cs_locked_list *list, uint32_t *next, uint32_t node)
{
    cs_mutex_lock(&list->mutex);
    next[node] = CS_NO_NODE;
    if (list->first == CS_NO_NODE) list->first = node;
    else next[list->last] = node;
    list->last = node;
    cs_locked_list_count(list, 1);
    int wakes = list->waiting > 0;
    cs_mutex_unlock(&list->mutex);

    /* Who wakes up finds the mutex unlocked. */
    if (wakes) cs_condition_signal(&list->filled);
}

/* Takes the first node of a list whose mutex is locked. */
static inline uint32_t cs_locked_list_take(cs_locked_list *list, const uint32_t *next)
{
    uint32_t node = list->first;
    if (node == CS_NO_NODE) return CS_NO_NODE;
    list->first = next[node];
    cs_locked_list_count(list, UINT32_MAX); /* one less */
    return node;
}

/* The oldest node, or CS_NO_NODE. */
static inline uint32_t cs_locked_list_pop(cs_locked_list *list, const uint32_t *next)
{
    cs_mutex_lock(&list->mutex);
    uint32_t node = cs_locked_list_take(list, next);
    cs_mutex_unlock(&list->mutex);
    return node;
}

/* The same, but waits for a node until the list is closed. */
static inline uint32_t cs_locked_list_await(cs_locked_list *list, const uint32_t *next)
{
    cs_mutex_lock(&list->mutex);
    list->waiting++;
    while (list->first == CS_NO_NODE && !list->closed)
        cs_condition_wait(&list->filled, &list->mutex);
    list->waiting--;
    uint32_t node = cs_locked_list_take(list, next);
    cs_mutex_unlock(&list->mutex);
    return node;
}

/* The same, but waits some milliseconds at most. */
static inline uint32_t cs_locked_list_await_briefly(cs_locked_list *list, const uint32_t *next)
{
    cs_mutex_lock(&list->mutex);
    list->waiting++;
    if (list->first == CS_NO_NODE) cs_condition_wait_briefly(&list->filled, &list->mutex);
    list->waiting--;
    uint32_t node = cs_locked_list_take(list, next);
    cs_mutex_unlock(&list->mutex);
    return node;
}

/* Ends the waiting of all threads, also of those that are still to come. */
static inline void cs_locked_list_close(cs_locked_list *list)
{
    cs_mutex_lock(&list->mutex);
    list->closed = 1;
    cs_mutex_unlock(&list->mutex);
    cs_condition_broadcast(&list->filled);
}

#endif
