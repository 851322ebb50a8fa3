/* Beyond POSIX: madvise. */
#define _DEFAULT_SOURCE
#include "core/pages.h"

#include "contactsolve.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

enum { HUGE_PAGE = 1 << 21, MOST_BLOCKS = 64 };

/* Sweeps over such pages also miss the TLB less often. */
static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(HUGE_PAGE, bytes);
#if defined(MADV_HUGEPAGE)
    if (memory) madvise(memory, bytes, MADV_HUGEPAGE); /* a hint: failure is harmless */
#endif
    return memory;
}

typedef struct block {
    void *memory;
    size_t bytes;
} block;

/* The blocks that are kept, in the order in which they were given back. */
static block kept[MOST_BLOCKS];
static int kept_count;
static size_t kept_bytes;
static atomic_size_t reserved;
static atomic_flag in_use = ATOMIC_FLAG_INIT;

/* Nobody waits for the list: who finds it in use does without. In a child process whose parent was at it, it stays in
 * use for ever. */
static int try_begin(void)
{
    return !atomic_flag_test_and_set_explicit(&in_use, memory_order_acquire);
}

static void end(void) { atomic_flag_clear_explicit(&in_use, memory_order_release); }

/* Takes a block off the list. */
static block take_off(int i)
{
    block taken = kept[i];
    kept_bytes -= taken.bytes;
    kept_count--;
    memmove(kept + i, kept + i + 1, sizeof *kept * (size_t)(kept_count - i));
    return taken;
}

/* The smallest block that has so many bytes, but not twice as many; of several, the latest, which may still be in the
 * caches. -1: there is none. */
static int find_fitting(size_t bytes)
{
    int found = -1;
    for (int i = 0; i < kept_count; i++) {
        size_t has = kept[i].bytes;
        if (has >= bytes && has / 2 < bytes && (found < 0 || has <= kept[found].bytes)) found = i;
    }
    return found;
}

void cs_memory_trim(void)
{
    if (!try_begin()) return;
    while (kept_count) free(take_off(kept_count - 1).memory);
    end();
}

size_t cs_pages_kept(void)
{
    size_t bytes = 0;
    if (try_begin()) {
        bytes = kept_bytes;
        end();
    }
    return bytes;
}

void *cs_pages_take(size_t *bytes)
{
    if (*bytes > SIZE_MAX - HUGE_PAGE) return NULL;
    size_t whole = (*bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    block found = {NULL, whole};
    if (try_begin()) {
        int i = find_fitting(whole);
        if (i >= 0) found = take_off(i);
        end();
    }

    /* A new one. If there is no room for it, there may be without those that are kept. */
    if (!found.memory) found.memory = allocate(whole);
    if (!found.memory) {
        cs_memory_trim();
        found.memory = allocate(whole);
    }
    *bytes = found.bytes;
    return found.memory;
}

/* How many bytes may stay with the process. */
static size_t limit(void)
{
    return CS_PAGES_KEPT + atomic_load_explicit(&reserved, memory_order_relaxed);
}

/* released (MOST_BLOCKS) <- the blocks that were given back first, taken off the list until it has room for one more
 * block of so many bytes, or (0) is within its limit. Returns their number. */
static int make_room(size_t bytes, block *released)
{
    int count = 0;
    size_t most = limit();
    while ((bytes && kept_count == MOST_BLOCKS) || (kept_count && kept_bytes + bytes > most))
        released[count++] = take_off(0);
    return count;
}

void cs_pages_give(void *memory, size_t bytes)
{
    block released[MOST_BLOCKS];
    if (bytes > limit() || !try_begin()) {
        free(memory);
        return;
    }
    int count = make_room(bytes, released);
    kept[kept_count++] = (block){memory, bytes};
    kept_bytes += bytes;
    end();

    /* The system takes its time, in which the list is free. */
    for (int i = 0; i < count; i++) free(released[i].memory);
}

void cs_pages_reserve(size_t bytes) { atomic_fetch_add(&reserved, bytes); }

void cs_pages_unreserve(size_t bytes)
{
    /* If the list is in use, who gives a block back next keeps the limit. */
    block released[MOST_BLOCKS];
    atomic_fetch_sub(&reserved, bytes);
    if (!try_begin()) return;
    int count = make_room(0, released);
    end();
    for (int i = 0; i < count; i++) free(released[i].memory);
}
