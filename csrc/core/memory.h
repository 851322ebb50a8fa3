/* Memory: one counted allocator and arenas over it.
 *
 * A problem and a solver each own an arena. Everything that they keep is taken from it and given
 * back in one call, so no error path can leak a part. Blocks are aligned to 64 bytes (a cache line,
 * the widest vector). The counter of live blocks and the injected failure exist for the tests that
 * hold this. */
#ifndef CS_MEMORY_H
#define CS_MEMORY_H

#include "contactsolve.h"

#include <stddef.h>
#include <stdint.h>

/* `count` zeroed elements of `size` bytes, or NULL when memory (or size_t) does not reach. */
void *cs_allocate(int64_t count, size_t size);
void cs_release(void *memory);

typedef struct cs_arena {
    struct cs_arena_block *last; /* chain of blocks, newest first */
    size_t bytes;                /* handed out so far */
} cs_arena;

/* Zeroed memory that lives as long as the arena; a count of zero still yields a valid pointer. */
void *cs_arena_take(cs_arena *arena, int64_t count, size_t size);

/* The same for arrays that are written from end to end before they are read: what is in them is not
 * set, which saves a pass over large ones. */
void *cs_arena_take_unset(cs_arena *arena, int64_t count, size_t size);
void cs_arena_clear(cs_arena *arena);

#endif
