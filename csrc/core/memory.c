#include "core/memory.h"

#include "core/error.h"
#include "core/pages.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static atomic_llong live_blocks;
static atomic_llong fail_in = -1; /* allocations until one fails; negative: never */

int64_t cs_memory_live(void) { return atomic_load(&live_blocks); }

void cs_memory_fail_after(int64_t successes) { atomic_store(&fail_in, successes); }

static int injected_failure(void)
{
    if (atomic_load_explicit(&fail_in, memory_order_relaxed) < 0) return 0;
    return atomic_fetch_sub(&fail_in, 1) == 0;
}

/* *bytes, a multiple of the alignment, in large pages or not. *bytes <- what the block has. */
static void *allocate_counted(size_t *bytes, int from_pages)
{
    if (injected_failure()) return NULL;
    void *memory = from_pages ? cs_pages_take(bytes) : aligned_alloc(ALIGNMENT, *bytes);
    if (memory) atomic_fetch_add(&live_blocks, 1);
    return memory;
}

void *cs_allocate(int64_t count, size_t size)
{
    if (count < 0 || (uint64_t)count > (SIZE_MAX - ALIGNMENT) / (size ? size : 1)) return NULL;
    size_t bytes = (size_t)count * size;
    bytes = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    void *memory = allocate_counted(&bytes, 0);
    if (memory) memset(memory, 0, bytes);
    return memory;
}

void cs_release(void *memory)
{
    if (!memory) return;
    atomic_fetch_sub(&live_blocks, 1);
    free(memory);
}

/* Small requests share blocks of SHARED_BLOCK. Larger ones get a block of their own, until the arena holds SMALL_ARENA:
 * from then on, all requests share blocks of LARGE_BLOCK, or get one of their own if they do not fit in. */
enum { SHARED_BLOCK = 4096, SMALL_ARENA = 1 << 21, LARGE_BLOCK = 1 << 22 };

/* The sanitizer sees an access beyond an array only if nothing else is there. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

typedef struct cs_arena_block {
    struct cs_arena_block *previous;
    size_t used, capacity; /* bytes of payload */
    size_t pages;          /* bytes of the block if it is in large pages, otherwise 0 */
    char padding[ALIGNMENT - 4 * sizeof(size_t)];
} cs_arena_block;

/* A block for a request of so many bytes that the last one has no room for. */
static cs_arena_block *new_block(cs_arena *arena, size_t request)
{
    int large = !SANITIZED && arena->bytes + request >= SMALL_ARENA;
    size_t bytes = sizeof(cs_arena_block) + (request < SHARED_BLOCK ? SHARED_BLOCK : request);
    if (large && bytes < LARGE_BLOCK) bytes = LARGE_BLOCK;
    cs_arena_block *block = allocate_counted(&bytes, large);
    if (!block) return NULL;
    *block = (cs_arena_block){
        .previous = arena->last,
        .capacity = bytes - sizeof *block,
        .pages = large ? bytes : 0,
    };
    arena->last = block;
    return block;
}

static void release_block(cs_arena_block *block)
{
    if (block->pages) {
        atomic_fetch_sub(&live_blocks, 1);
        cs_pages_give(block, block->pages);
    } else cs_release(block);
}

static void *serve(cs_arena *arena, int64_t count, size_t size, int zeroed)
{
    if (count < 0 || (uint64_t)count > (SIZE_MAX / 2) / (size ? size : 1)) return NULL;
    size_t bytes = (size_t)count * size;
    bytes = (bytes / ALIGNMENT + 1) * ALIGNMENT; /* at least one spare byte: tails may be read */
    cs_arena_block *block = arena->last;
    if (!block || block->capacity - block->used < bytes) {
        block = new_block(arena, bytes);
        if (!block) return NULL;
    }
    void *memory = (char *)(block + 1) + block->used;
    if (zeroed) memset(memory, 0, bytes);
    block->used += bytes;
    arena->bytes += bytes;
    return memory;
}

static void *take(cs_arena *arena, int64_t count, size_t size, int zeroed)
{
    void *memory = arena->failed ? NULL : serve(arena, count, size, zeroed);
    if (!memory) arena->failed = 1;
    return memory;
}

void *cs_arena_take(cs_arena *arena, int64_t count, size_t size)
{
    return take(arena, count, size, 1);
}

void *cs_arena_take_unset(cs_arena *arena, int64_t count, size_t size)
{
    return take(arena, count, size, 0);
}

cs_status cs_arena_status(const cs_arena *arena, cs_error *error, const char *what, ...)
{
    if (!arena->failed) return CS_OK;
    va_list arguments;
    va_start(arguments, what);
    cs_status status = cs_no_memory_list(error, what, arguments);
    va_end(arguments);
    return status;
}

static void release_until(cs_arena *arena, const cs_arena_block *kept)
{
    for (cs_arena_block *block = arena->last, *previous; block != kept; block = previous) {
        previous = block->previous;
        release_block(block);
    }
}

void cs_arena_clear(cs_arena *arena)
{
    release_until(arena, NULL);
    *arena = (cs_arena){0};
}

cs_arena_mark cs_arena_position(const cs_arena *arena)
{
    size_t used = arena->last ? arena->last->used : 0;
    return (cs_arena_mark){arena->last, used, arena->bytes, arena->failed};
}

void cs_arena_rewind(cs_arena *arena, cs_arena_mark mark)
{
    release_until(arena, mark.last);
    if (mark.last) mark.last->used = mark.used;
    *arena = (cs_arena){mark.last, mark.bytes, mark.failed};
}
