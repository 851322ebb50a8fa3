/* Beyond POSIX: madvise. */
#define _DEFAULT_SOURCE
#include "core/memory.h"

#include "core/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

enum { ALIGNMENT = 64, HUGE_PAGE = 1 << 21 };

/* Asks for pages of 2 MB for large blocks: sweeps then miss the TLB less often, and set-up has one page
 * fault for 2 MB instead of one for 4 kB. */
static void *allocate(size_t bytes)
{
#if defined(MADV_HUGEPAGE)
    if (bytes >= HUGE_PAGE) {
        size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        void *memory = aligned_alloc(HUGE_PAGE, whole);
        if (memory) madvise(memory, whole, MADV_HUGEPAGE); /* a hint: failure is harmless */
        return memory;
    }
#endif
    return aligned_alloc(ALIGNMENT, bytes);
}

static atomic_llong live_blocks;
static atomic_llong fail_in = -1; /* allocations until one fails; negative: never */

int64_t cs_memory_live(void) { return atomic_load(&live_blocks); }

void cs_memory_fail_after(int64_t successes) { atomic_store(&fail_in, successes); }

static int injected_failure(void)
{
    if (atomic_load_explicit(&fail_in, memory_order_relaxed) < 0) return 0;
    return atomic_fetch_sub(&fail_in, 1) == 0;
}

static void *allocate_counted(int64_t count, size_t size, int zeroed)
{
    if (count < 0 || (uint64_t)count > (SIZE_MAX - ALIGNMENT) / (size ? size : 1)) return NULL;
    if (injected_failure()) return NULL;
    size_t bytes = (size_t)count * size;
    bytes = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    void *memory = allocate(bytes);
    if (!memory) return NULL;
    if (zeroed) memset(memory, 0, bytes);
    atomic_fetch_add(&live_blocks, 1);
    return memory;
}

void *cs_allocate(int64_t count, size_t size) { return allocate_counted(count, size, 1); }

void cs_release(void *memory)
{
    if (!memory) return;
    atomic_fetch_sub(&live_blocks, 1);
    free(memory);
}

/* Small requests share blocks of this size; larger ones get a block of their own. */
enum { SHARED_BLOCK = 4096 };

typedef struct cs_arena_block {
    struct cs_arena_block *previous;
    size_t used, capacity; /* bytes of payload */
    char padding[ALIGNMENT - 3 * sizeof(size_t)];
} cs_arena_block;

static cs_arena_block *new_block(cs_arena *arena, size_t capacity, int zeroed)
{
    cs_arena_block *block = allocate_counted((int64_t)(sizeof *block + capacity), 1, zeroed);
    if (!block) return NULL;
    *block = (cs_arena_block){.previous = arena->last, .capacity = capacity};
    arena->last = block;
    return block;
}

/* A block that is not zeroed serves only the one request that it was allocated for. */
static void *serve(cs_arena *arena, int64_t count, size_t size, int zeroed)
{
    if (count < 0 || (uint64_t)count > (SIZE_MAX / 2) / (size ? size : 1)) return NULL;
    size_t bytes = (size_t)count * size;
    bytes = (bytes / ALIGNMENT + 1) * ALIGNMENT; /* at least one spare byte: tails may be read */
    cs_arena_block *block = arena->last;
    if (!block || block->capacity - block->used < bytes) {
        int shared = bytes <= SHARED_BLOCK;
        block = new_block(arena, shared ? SHARED_BLOCK : bytes, shared || zeroed);
        if (!block) return NULL;
    }
    void *memory = (char *)(block + 1) + block->used;
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
        cs_release(block);
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
    /* What is taken next from the block that stays must be zero again. */
    if (mark.last) {
        memset((char *)(mark.last + 1) + mark.used, 0, mark.last->used - mark.used);
        mark.last->used = mark.used;
    }
    *arena = (cs_arena){mark.last, mark.bytes, mark.failed};
}
