/* The counted allocator and the arena over it. */
#include "core/memory.h"

#include "core/error.h"
#include "testing.h"

#include <string.h>

/* A request that no machine can grant must return NULL; the sanitizer would stop the program. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static int is_aligned(const void *memory) { return (uintptr_t)memory % 64 == 0; }

static int is_zero(const unsigned char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (memory[i]) return 0;
    return 1;
}

static void blocks_are_aligned_zeroed_and_counted(void)
{
    int64_t start = cs_memory_live();
    int64_t counts[] = {0, 1, 7, 8, 63, 1000};
    void *memory[6];
    for (int i = 0; i < 6; i++) {
        memory[i] = cs_allocate(counts[i], sizeof(double));
        CHECK(memory[i] != NULL && is_aligned(memory[i]));
        CHECK(is_zero(memory[i], (size_t)counts[i] * sizeof(double)));
        memset(memory[i], 0xff, (size_t)counts[i] * sizeof(double));
        CHECK(cs_memory_live() == start + i + 1);
    }
    for (int i = 0; i < 6; i++) cs_release(memory[i]);
    CHECK(cs_memory_live() == start);
    cs_release(NULL);
    CHECK(cs_memory_live() == start);
}

static void impossible_requests_are_refused(void)
{
    int64_t start = cs_memory_live();
    cs_arena arena = {0};
    int64_t half = (int64_t)(SIZE_MAX / 2);
    CHECK(cs_allocate(-1, 8) == NULL);
    CHECK(cs_allocate(INT64_MAX, 16) == NULL);
    CHECK(cs_allocate(half / 4 + 2, 8) == NULL); /* the product wraps around to a small number */
    CHECK(cs_allocate(INT64_MAX - 4096, 1) == NULL);
    const struct {
        int64_t count;
        size_t size;
    } refused[] = {{-1, 8}, {INT64_MAX, 8}, {half / 4 + 2, 8}, {half, 1}, {half - 64, 1}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK(cs_arena_take(&arena, refused[i].count, refused[i].size) == NULL);
        CHECK(cs_arena_failed(&arena));
        CHECK(cs_memory_live() == start);
        CHECK(arena.bytes == 0);
        cs_arena_clear(&arena);
        CHECK(cs_arena_take(&arena, 1, 8) != NULL); /* works again */
        cs_arena_clear(&arena);
    }
    CHECK(cs_memory_live() == start);
}

static void injected_failure_hits_once(void)
{
    int64_t start = cs_memory_live();
    cs_memory_fail_after(2);
    void *first = cs_allocate(1, 1), *second = cs_allocate(1, 1), *third = cs_allocate(1, 1);
    void *fourth = cs_allocate(1, 1);
    CHECK(first && second && !third && fourth);
    CHECK(cs_memory_live() == start + 3);
    cs_release(first);
    cs_release(second);
    cs_release(fourth);
    cs_memory_fail_after(0);
    cs_memory_fail_after(-1);
    first = cs_allocate(1, 1);
    CHECK(first != NULL);
    cs_release(first);
    CHECK(cs_memory_live() == start);
}

/* Requests of all sizes: each is filled with its own byte, and read back after the last. */
static void arena_requests_do_not_overlap(void)
{
    enum { REQUESTS = 200 };
    int64_t start = cs_memory_live(), sizes[REQUESTS];
    unsigned char *memory[REQUESTS];
    uint64_t random = 1;
    size_t requested = 0;
    cs_arena arena = {0};
    for (int i = 0; i < REQUESTS; i++) {
        double u = test_random(&random);
        sizes[i] = i % 10 == 0 ? i % 20 : (int64_t)(5000 * u * u); /* some zero, some large */
        memory[i] = cs_arena_take(&arena, sizes[i], 1);
        CHECK(memory[i] != NULL && is_aligned(memory[i]));
        CHECK(is_zero(memory[i], (size_t)sizes[i]));
        memset(memory[i], i + 1, (size_t)sizes[i]);
        requested += (size_t)sizes[i];
        CHECK(arena.bytes > requested);
    }
    for (int i = 0; i < REQUESTS; i++)
        for (int64_t j = 0; j < sizes[i]; j++)
            if (memory[i][j] != (unsigned char)(i + 1)) {
                CHECK(!"overwritten");
                return;
            }
    CHECK(cs_memory_live() > start && cs_memory_live() - start < REQUESTS);
    cs_arena_clear(&arena);
    CHECK(cs_memory_live() == start);
    CHECK(arena.bytes == 0 && arena.last == NULL);
    cs_arena_clear(&arena);
}

static void arena_requests_of_nothing_are_valid_pointers(void)
{
    cs_arena arena = {0};
    char *first = cs_arena_take(&arena, 0, 8), *second = cs_arena_take(&arena, 0, 0);
    CHECK(first && second && first != second);
    *first = 1; /* tails may be read and written */
    cs_arena_clear(&arena);
}

static void failed_arena_serves_nothing_and_keeps_the_others(void)
{
    int64_t start = cs_memory_live();
    cs_arena arena = {0};
    double *kept = cs_arena_take(&arena, 4, sizeof(double));
    kept[3] = 7;
    CHECK(!cs_arena_failed(&arena));
    cs_memory_fail_after(0);
    CHECK(cs_arena_take(&arena, 100000, 1) == NULL);
    CHECK(cs_arena_failed(&arena));
    CHECK(cs_arena_take(&arena, 1, 1) == NULL); /* though its block has room */
    CHECK(cs_arena_take_unset(&arena, 100000, 1) == NULL);
    CHECK(kept[3] == 7 && cs_memory_live() == start + 1);
    cs_arena_clear(&arena);
    CHECK(!cs_arena_failed(&arena) && cs_memory_live() == start);
    CHECK(cs_arena_take(&arena, 100000, 1) != NULL);
    cs_arena_clear(&arena);
    CHECK(cs_memory_live() == start);
}

static void status_names_what_memory_was_for(void)
{
    cs_arena arena = {0};
    cs_error error = {.message = "untouched"};
    CHECK(cs_arena_status(&arena, &error, "A") == CS_OK);
    CHECK(error.status == CS_OK && strcmp(error.message, "untouched") == 0);
    cs_arena_take(&arena, -1, 1);
    CHECK(cs_arena_status(&arena, &error, "A of %d rows", 12) == CS_NO_MEMORY);
    CHECK(error.status == CS_NO_MEMORY);
    CHECK(strcmp(error.message, "out of memory for A of 12 rows") == 0);
    CHECK(cs_arena_status(&arena, NULL, "A") == CS_NO_MEMORY);
    CHECK(cs_no_memory(&error, "%s", "the order") == CS_NO_MEMORY);
    CHECK(strcmp(error.message, "out of memory for the order") == 0);
    CHECK(cs_no_memory(NULL, "the order") == CS_NO_MEMORY);
    char longer[sizeof error.message];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    cs_no_memory(&error, "%s", longer);
    CHECK(strlen(error.message) == sizeof error.message - 1);
}

/* Blocks of its own and shared ones, taken and given back until the arena is as it was. */
static void rewinding_gives_back_what_came_later(void)
{
    int64_t start = cs_memory_live();
    cs_arena arena = {0};
    cs_arena_mark empty = cs_arena_position(&arena);
    unsigned char *kept = cs_arena_take(&arena, 100, 1);
    memset(kept, 0xab, 100);
    cs_arena_mark mark = cs_arena_position(&arena);
    size_t bytes = arena.bytes;
    for (int round = 0; round < 3; round++) {
        unsigned char *small = cs_arena_take(&arena, 500, 1);
        CHECK(is_aligned(small) && is_zero(small, 500)); /* in each round anew */
        memset(small, 0xff, 500);
        memset(cs_arena_take(&arena, 100000, 1), 0xff, 100000);
        memset(cs_arena_take_unset(&arena, 10, 1), 0xff, 10);
        cs_arena_mark inner = cs_arena_position(&arena);
        CHECK(cs_arena_take(&arena, 50000, 1) != NULL);
        CHECK(cs_memory_live() == start + 4);
        cs_arena_rewind(&arena, inner);
        CHECK(cs_memory_live() == start + 3);
        cs_arena_rewind(&arena, mark);
        CHECK(arena.bytes == bytes && cs_memory_live() == start + 1);
        CHECK(kept[0] == 0xab && kept[99] == 0xab);
    }
    CHECK(cs_arena_take(&arena, 1, 1) == kept + 128);
    cs_arena_rewind(&arena, empty);
    CHECK(arena.bytes == 0 && arena.last == NULL && cs_memory_live() == start);
}

static void rewinding_forgets_a_failure_since(void)
{
    int64_t start = cs_memory_live();
    cs_arena arena = {0};
    cs_arena_take(&arena, 1, 1);
    cs_arena_mark before = cs_arena_position(&arena);
    cs_arena_take(&arena, -1, 1);
    cs_arena_mark after = cs_arena_position(&arena);
    cs_arena_rewind(&arena, after);
    CHECK(cs_arena_failed(&arena)); /* it had failed by then */
    cs_arena_rewind(&arena, before);
    CHECK(!cs_arena_failed(&arena) && cs_arena_take(&arena, 1, 1) != NULL);
    cs_arena_clear(&arena);
    CHECK(cs_memory_live() == start);
}

int main(void)
{
    blocks_are_aligned_zeroed_and_counted();
    impossible_requests_are_refused();
    injected_failure_hits_once();
    arena_requests_do_not_overlap();
    arena_requests_of_nothing_are_valid_pointers();
    failed_arena_serves_nothing_and_keeps_the_others();
    status_names_what_memory_was_for();
    rewinding_gives_back_what_came_later();
    rewinding_forgets_a_failure_since();
    return test_result();
}
