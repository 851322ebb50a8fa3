/* Large blocks of memory, in pages of 2 MB where the system has them.
 *
 * The system clears each page before a process may have it: half of the time of a set-up whose arrays are new. A block
 * that is given back therefore stays with the process, for the next request that it fits. At most CS_PAGES_KEPT bytes
 * do, and what owners of work that is repeated have reserved; beyond that, the blocks that were given back first go to
 * the system. (To let it take the others when it is short of
 * memory, by madvise, would interrupt all cores for each block: 3 % of a set-up on two threads.) */
#ifndef CS_PAGES_H
#define CS_PAGES_H

#include <stddef.h>

#define CS_PAGES_KEPT ((size_t)128 << 20)

/* A block of *bytes at least, whose contents are arbitrary. *bytes <- what it has. NULL if memory is too small. */
void *cs_pages_take(size_t *bytes);

/* Gives a block of so many bytes back. */
void cs_pages_give(void *memory, size_t bytes);

/* Lets as many bytes more stay with the process, or less again: for an owner who gives large blocks back and takes
 * others of their sizes. Less lets go what is beyond the new limit. */
void cs_pages_reserve(size_t bytes);
void cs_pages_unreserve(size_t bytes);

/* How many bytes stay with the process now. */
size_t cs_pages_kept(void);

#endif
