/* How long a device takes for memory: to take it, to copy to it, within it and from it.  S2 section 6.1, eq. 6.1 */
#include "cuda/device.h"

#include <chrono>
#include <cstdio>
#include <new>
#include <vector>

static double seconds_since(std::chrono::steady_clock::time_point begun)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/* Copies within the device between two waits: a wait costs as much as a small copy. */
enum { COPIES = 20 };

/* Times of a queue, whose `memory` is two arrays of so many bytes. */
static cs_status copy_times(cs_queue *queue, void *const memory[2], std::vector<char> *host,
                            cs_memory_times *times, cs_error *error)
{
    const cs_device *device = cs_device_table();
    const size_t bytes = host->size();

    auto begun = std::chrono::steady_clock::now();
    device->upload(queue, memory[0], host->data(), bytes);
    cs_status status = device->wait(queue, error);
    times->to_device = seconds_since(begun);
    if (status) return status;

    begun = std::chrono::steady_clock::now();
    for (int i = 0; i < COPIES; i++) device->copy(queue, memory[(i + 1) % 2], memory[i % 2], bytes);
    status = device->wait(queue, error);
    times->within = seconds_since(begun) / COPIES;
    if (status) return status;

    begun = std::chrono::steady_clock::now();
    device->download(queue, host->data(), memory[1], bytes);
    status = device->wait(queue, error);
    times->from_device = seconds_since(begun);
    return status;
}

cs_status cs_device_memory_times(size_t bytes, cs_memory_times *times, cs_error *error)
try {
    const cs_device *device = cs_device_table();
    std::vector<char> host(bytes, 1);
    cs_queue *queue = NULL;
    cs_status status = device->open(&queue, error);
    if (status) return status;

    // Two arrays: the first use of the pool is not that of later ones, so the second is timed.
    void *memory[2] = {NULL, NULL};
    status = device->take(queue, &memory[0], bytes, error);
    if (!status) status = device->wait(queue, error);
    auto begun = std::chrono::steady_clock::now();
    if (!status) status = device->take(queue, &memory[1], bytes, error);
    if (!status) status = device->wait(queue, error);
    times->take = seconds_since(begun);

    if (!status) status = copy_times(queue, memory, &host, times, error);
    begun = std::chrono::steady_clock::now();
    device->close(queue);
    times->give_back = seconds_since(begun);
    return status;
} catch (const std::bad_alloc &) {
    if (error) {
        error->status = CS_NO_MEMORY;
        std::snprintf(error->message, sizeof error->message, "out of memory: %zu bytes", bytes);
    }
    return CS_NO_MEMORY;
}
