/* Reading memory on several threads: each has a part of its own, and none is left. */
#include "core/memory.h"
#include "core/stream.h"
#include "testing.h"

static void all_threads_read_and_release(void)
{
    const int64_t sizes[] = {1, 8192, 1 << 20};
    for (int i = 0; i < 3; i++)
        for (int threads = 1; threads <= 8; threads++) {
            int64_t before = cs_memory_live();
            CHECK(cs_stream_read(sizes[i], threads) > 0);
            CHECK(cs_memory_live() == before);
        }
}

/* The array of parts, or any thread's part, has no memory. */
static void a_part_without_memory_is_told(void)
{
    for (int successes = 0; successes < 4; successes++) {
        int64_t before = cs_memory_live();
        cs_memory_fail_after(successes);
        CHECK(cs_stream_read(1 << 20, 3) < 0);
        cs_memory_fail_after(-1);
        CHECK(cs_memory_live() == before);
    }
}

int main(void)
{
    all_threads_read_and_release();
    a_part_without_memory_is_told();
    return test_result();
}
