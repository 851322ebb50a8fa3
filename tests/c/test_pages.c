/* Large blocks, and which of them stay with the process. */
#include "core/pages.h"

#include "core/memory.h"
#include "core/parallel.h"
#include "testing.h"

#include <string.h>

enum { PAGE = 1 << 21, MANY = 80 };

static void blocks_are_whole_pages_and_come_back(void)
{
    cs_memory_trim();
    size_t bytes = PAGE + 1;
    char *block = cs_pages_take(&bytes);
    CHECK(block && bytes == 2 * PAGE && (uintptr_t)block % PAGE == 0);
    memset(block, 1, bytes);
    CHECK(cs_pages_kept() == 0);
    cs_pages_give(block, bytes);
    CHECK(cs_pages_kept() == bytes);

    /* A request that it fits gets it; one that would leave half of it unused does not, nor does a larger one. */
    size_t small = PAGE, large = 3 * PAGE, same = 2 * PAGE - 5;
    char *less = cs_pages_take(&small), *more = cs_pages_take(&large),
         *again = cs_pages_take(&same);
    CHECK(less != block && small == PAGE && more != block && large == 3 * PAGE);
    CHECK(again == block && same == 2 * PAGE && cs_pages_kept() == 0);
    cs_pages_give(less, small);
    cs_pages_give(more, large);
    cs_pages_give(again, same);
    CHECK(cs_pages_kept() == 6 * (size_t)PAGE);
    cs_memory_trim();
    CHECK(cs_pages_kept() == 0);
}

static void the_smallest_and_latest_of_several_is_taken(void)
{
    size_t bytes[4] = {5 * PAGE, 3 * PAGE, 3 * PAGE, 4 * PAGE}, wanted = 3 * PAGE;
    char *block[4];
    for (int i = 0; i < 4; i++) block[i] = cs_pages_take(&bytes[i]);
    for (int i = 0; i < 4; i++) cs_pages_give(block[i], bytes[i]);
    char *taken = cs_pages_take(&wanted);
    CHECK(taken == block[2] && wanted == 3 * PAGE);
    cs_pages_give(taken, wanted);
    cs_memory_trim();
}

static void no_more_is_kept_than_the_bound(void)
{
    /* Many blocks: the oldest ones go. Not one page is touched. */
    static char *block[MANY];
    size_t bytes = CS_PAGES_KEPT / 8, large = CS_PAGES_KEPT + PAGE;
    for (int i = 0; i < 12; i++) CHECK((block[i] = cs_pages_take(&bytes)) != NULL);
    for (int i = 0; i < 12; i++) {
        cs_pages_give(block[i], bytes);
        CHECK(cs_pages_kept() == (size_t)(i < 8 ? i + 1 : 8) * bytes);
    }
    for (int i = 11; i > 3; i--) CHECK(cs_pages_take(&bytes) == block[i]);
    CHECK(cs_pages_kept() == 0);
    for (int i = 4; i < 12; i++) cs_pages_give(block[i], bytes);

    /* One that is larger than the bound leaves the others alone. */
    char *whole = cs_pages_take(&large);
    CHECK(whole && cs_pages_kept() == CS_PAGES_KEPT);
    cs_pages_give(whole, large);
    CHECK(cs_pages_kept() == CS_PAGES_KEPT);
    cs_memory_trim();

    /* Nor are there more blocks than the list has room for. */
    bytes = PAGE;
    for (int i = 0; i < MANY; i++) CHECK((block[i] = cs_pages_take(&bytes)) != NULL);
    for (int i = 0; i < MANY; i++) cs_pages_give(block[i], bytes);
    CHECK(cs_pages_kept() > 0 && cs_pages_kept() <= CS_PAGES_KEPT);
    cs_memory_trim();
}

static void reserved_bytes_stay_until_they_are_no_longer_reserved(void)
{
    /* Three blocks of half the bound each: all of them stay where one more is reserved. */
    static char *block[3];
    size_t bytes = CS_PAGES_KEPT / 2;
    cs_pages_reserve(bytes);
    for (int i = 0; i < 3; i++) CHECK((block[i] = cs_pages_take(&bytes)) != NULL);
    for (int i = 0; i < 3; i++) cs_pages_give(block[i], bytes);
    CHECK(cs_pages_kept() == 3 * bytes);

    /* Without, the one that was given back first goes. */
    cs_pages_unreserve(bytes);
    CHECK(cs_pages_kept() == 2 * bytes);
    for (int i = 2; i > 0; i--) CHECK(cs_pages_take(&bytes) == block[i]);
    CHECK(cs_pages_kept() == 0);
    for (int i = 1; i < 3; i++) cs_pages_give(block[i], bytes);
    cs_memory_trim();
}

static void a_request_beyond_memory_is_refused(void)
{
    size_t bytes = SIZE_MAX - 5;
    CHECK(cs_pages_take(&bytes) == NULL);
    CHECK(cs_pages_kept() == 0);
}

/* An arena that has become large serves small requests from one block, and zeroes what was used before. */
static void arenas_share_blocks_and_zero_what_they_hand_out(void)
{
    for (int round = 0; round < 2; round++) {
        cs_arena arena = {0};
        int64_t start = cs_memory_live();
        for (int i = 0; i < 40; i++) {
            unsigned char *memory = cs_arena_take(&arena, 40000, 1);
            int clean = 1;
            for (int j = 0; j < 40000; j++) clean &= memory[j] == 0;
            CHECK(clean);
            memset(memory, 0xff, 40000);
        }
        CHECK(arena.bytes >= 40 * 40000);
        CHECK(cs_memory_live() > start && cs_memory_live() <= start + 40);
        cs_arena_clear(&arena);
        CHECK(cs_memory_live() == start);
    }
    cs_memory_trim();
}

/* Threads take and give blocks back: nobody else writes to a block that a thread has. */
static void work(void *context, int thread)
{
    int *failures = (int *)context + thread;
    for (int i = 0; i < 100; i++) {
        size_t bytes = (size_t)(1 + (thread + i) % 3) * PAGE;
        unsigned char *block = cs_pages_take(&bytes), mark = (unsigned char)(thread + 1);
        if (!block) {
            *failures += 1;
            continue;
        }
        for (size_t at = 0; at < bytes; at += PAGE / 4) block[at] = mark;
        for (size_t at = 0; at < bytes; at += PAGE / 4) *failures += block[at] != mark;
        cs_pages_give(block, bytes);
    }
}

static void threads_have_different_blocks(void)
{
    enum { THREADS = 8 };
    int failures[THREADS] = {0};
    cs_parallel(THREADS, work, failures);
    for (int t = 0; t < THREADS; t++) CHECK(failures[t] == 0);
    cs_memory_trim();
    CHECK(cs_pages_kept() == 0);
}

int main(void)
{
    blocks_are_whole_pages_and_come_back();
    the_smallest_and_latest_of_several_is_taken();
    no_more_is_kept_than_the_bound();
    reserved_bytes_stay_until_they_are_no_longer_reserved();
    a_request_beyond_memory_is_refused();
    arenas_share_blocks_and_zero_what_they_hand_out();
    threads_have_different_blocks();
    return test_result();
}
