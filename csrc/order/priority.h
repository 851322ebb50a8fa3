/* Priorities of contacts in a greedy colouring: their numbers, or hashes of these.
 *
 * A hash spreads neighbours over the whole sequence. Chains of contacts that wait for each other are then short, of the
 * order of log(contacts), so that ranks which share a problem colour it in few rounds (order/shared_coloring.h). In the
 * sequence of the numbers a chain may reach through the whole problem. */
#ifndef CS_PRIORITY_H
#define CS_PRIORITY_H

#include "contactsolve.h"
#include "core/memory.h"

/* By what a colouring takes its contacts; in the sequence of the words of the option `priority`. */
typedef enum cs_priority { CS_PRIORITY_NATURAL, CS_PRIORITY_HASH } cs_priority;

/* The words of that option, with a NULL at the end. */
extern const char *const cs_priority_words[];

/* The hash of a contact's number: that of core/splitmix.h. Different numbers have different hashes. */
uint64_t cs_contact_hash(int64_t number);

/* sequence (count) <- the indices 0 ... count - 1 by ascending hash of number[i]; `number` NULL: of i itself.
 * Takes memory from `scratch`, and fails only if there is none. */
cs_status cs_sort_by_hash(const int64_t *number, int64_t count, int64_t *sequence,
                          cs_arena *scratch, cs_error *error);

#endif
