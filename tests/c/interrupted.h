/* The lists without locks of core/lock_free.h, interrupted between reading a link and replacing it: another actor then
 * takes nodes and puts one back, so that the link names the same node again although the list is another (ABA). It does
 * so in the same thread: the test is the same each time. CS_TAG_MASK is the program's. */
#ifndef INTERRUPTED_H
#define INTERRUPTED_H

#include "testing.h"

/* What happens in the next interruption, once. */
static void (*interruption)(void);
static inline void interrupt(void)
{
    void (*now)(void) = interruption;
    interruption = NULL;
    if (now) now();
}
#define CS_BEFORE_REPLACING() interrupt()
#include "core/lock_free.h"

enum { DUMMY = 3, NODES };
enum { OLDEST = 10, SECOND, LATER };

static cs_node node[NODES];
static cs_free_queue queue;
static cs_free_stack stack;

static inline void add(uint32_t index, uint32_t item)
{
    cs_item_set(&node[index], item);
    cs_free_queue_push(&queue, node, index);
}

/* Takes the oldest node of the queue, which has to be this one with this item. */
static inline void expect(uint32_t index, uint32_t item)
{
    uint32_t taken = cs_free_queue_pop(&queue, node);
    CHECK(taken == index);
    CHECK(taken != CS_NO_NODE && cs_item_of(&node[taken]) == item);
}

/* ---- taking from the queue ------------------------------------------------------------------------- */

/* Takes both items, and sends the node that was the dummy through the queue until it is the dummy again. */
static void take_and_make_the_same_dummy(void)
{
    expect(DUMMY, OLDEST);
    expect(0, SECOND);
    add(DUMMY, LATER);
    expect(1, LATER);
}

/* The item that an interrupted pop delivers although another actor has emptied the queue; 0: none. */
static inline uint32_t item_of_interrupted_pop(void)
{
    cs_free_queue_init(&queue, node, DUMMY);
    add(0, OLDEST);
    add(1, SECOND);
    interruption = take_and_make_the_same_dummy;
    uint32_t taken = cs_free_queue_pop(&queue, node);
    CHECK(!interruption);
    return taken == CS_NO_NODE ? 0 : cs_item_of(&node[taken]);
}

/* ---- adding to the queue --------------------------------------------------------------------------- */

/* Adds and takes one, whose dummy goes to the stack: nothing is behind it, as when it was the last of the queue. */
static void take_and_free_the_last(void)
{
    add(1, SECOND);
    expect(DUMMY, SECOND);
    cs_free_stack_push(&stack, node, DUMMY);
}

/* How many nodes are free, and whether the queue has the item, after an interrupted push. */
static inline void interrupted_push(int *free_nodes, int *queued)
{
    cs_free_queue_init(&queue, node, DUMMY);
    cs_free_stack_init(&stack);
    interruption = take_and_free_the_last;
    add(0, OLDEST);
    CHECK(!interruption);
    for (*free_nodes = 0; cs_free_stack_pop(&stack, node) != CS_NO_NODE; ++*free_nodes) continue;
    *queued = cs_free_queue_pop(&queue, node) != CS_NO_NODE;
}

/* ---- taking from the stack ------------------------------------------------------------------------- */

/* Takes two nodes, keeps the second and puts the first back. */
static void take_two_and_free_the_first(void)
{
    CHECK(cs_free_stack_pop(&stack, node) == 0);
    CHECK(cs_free_stack_pop(&stack, node) == 1);
    cs_free_stack_push(&stack, node, 0);
}

/* The node that follows an interrupted pop; 1 is in the hands of another actor, and 2 is free. */
static inline uint32_t node_after_interrupted_pop(void)
{
    cs_free_stack_init(&stack);
    for (uint32_t i = 3; i-- > 0;) cs_free_stack_push(&stack, node, i);
    interruption = take_two_and_free_the_first;
    CHECK(cs_free_stack_pop(&stack, node) == 0);
    CHECK(!interruption);
    return cs_free_stack_pop(&stack, node);
}

#endif
