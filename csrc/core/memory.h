/* Memory: one counted allocator, and arenas on top of it.
 *
 * A problem and a solver each own an arena. They take all their memory from it and release it in one
 * call, so that no error path can leak a part. Blocks are aligned to 64 bytes (a cache line, the widest
 * vector). Tests of leaks and of failed allocations use the counter of live blocks and the injected
 * failure.
 *
 * An arena that could not serve a request has failed: every later request returns NULL as well, until
 * the arena is cleared or rewound. A function that sets something up takes all of its arrays and asks
 * once, before it writes to any of them:
 *
 *     s->start = cs_arena_take(arena, rows + 1, sizeof(int64_t));
 *     s->value = cs_arena_take(arena, entries, sizeof(double));
 *     return cs_arena_status(arena, error, "the entries of %lld rows", (long long)rows);
 */
#ifndef CS_MEMORY_H
#define CS_MEMORY_H

#include "contactsolve.h"
#include "core/compiler.h"

#include <stddef.h>
#include <stdint.h>

/* `count` zeroed elements of `size` bytes, or NULL if memory (or the range of size_t) is too small. */
void *cs_allocate(int64_t count, size_t size);
void cs_release(void *memory);

typedef struct cs_arena {
    struct cs_arena_block *last; /* chain of blocks, newest first */
    size_t bytes;                /* handed out so far */
    int failed;                  /* a request failed, and all later ones fail, too */
} cs_arena;

/* Zeroed memory that lives as long as the arena; a count of zero still yields a valid pointer. NULL
 * if memory (or the range of size_t) is too small, and from an arena that has failed. */
void *cs_arena_take(cs_arena *arena, int64_t count, size_t size);

/* The same without initialisation, for arrays that the caller writes completely before it reads them:
 * saves a pass over large arrays. */
void *cs_arena_take_unset(cs_arena *arena, int64_t count, size_t size);

/* Whether a request was not served. */
static inline int cs_arena_failed(const cs_arena *arena) { return arena->failed; }

/* CS_OK, or CS_NO_MEMORY and "out of memory for <what>" of an arena that has failed. `what` is a
 * printf format. */
cs_status cs_arena_status(const cs_arena *arena, cs_error *error, const char *what, ...)
    CS_PRINTF(3, 4);

/* Releases everything. The arena is empty and usable again. */
void cs_arena_clear(cs_arena *arena);

/* What an arena holds at some time. */
typedef struct cs_arena_mark {
    struct cs_arena_block *last;
    size_t used, bytes;
    int failed;
} cs_arena_mark;

cs_arena_mark cs_arena_position(const cs_arena *arena);

/* Releases all that was taken after the mark, and forgets a failure after it. Rewind to the newest mark
 * first. */
void cs_arena_rewind(cs_arena *arena, cs_arena_mark mark);

#endif
