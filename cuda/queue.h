/* A queue: work that is done in its order, and the memory that belongs to it. */
#ifndef CS_CUDA_QUEUE_H
#define CS_CUDA_QUEUE_H

#include "cuda/gpu.h"

#include <cstddef>

#if defined(__CUDACC__)
struct cs_queue;

/* The multiprocessors of the device, and the most memory that a block may share, in bytes. */
int64_t cs_processors(const cs_queue *queue);
int64_t cs_most_shared(const cs_queue *queue);

/* How the blocks of a kernel are launched. Together: all are resident at once. Early: on GPUs that can, they may start before the
 * kernel before it has ended (programmatic launch: compute capability 9.0). Code for older GPUs, which newer ones translate, does
 * not wait for that kernel. */
typedef enum cs_launch_way { CS_BLOCKS_APART, CS_BLOCKS_TOGETHER, CS_BLOCKS_EARLY } cs_launch_way;

/* Launches a kernel whose blocks share so many bytes, with the addresses of its arguments; nothing without blocks, which CUDA
 * refuses. Of blocks together there are some, or the multiprocessors hold none, which is a failure. */
void cs_launch_kernel(cs_queue *queue, cs_launch_way way, int64_t blocks, int threads,
                      int64_t bytes, const void *kernel, void **arguments);
int64_t cs_resident_blocks_of(cs_queue *queue, const void *kernel, int threads, int64_t bytes);
int64_t cs_most_threads_of(cs_queue *queue, const void *kernel);

/* How many blocks of a kernel that is launched together, each with so many bytes of shared memory, all multiprocessors hold at
 * once. */
template <class... parameters>
int64_t cs_resident_blocks(cs_queue *queue, void (*kernel)(parameters...), int threads,
                           int64_t bytes = 0)
{
    return cs_resident_blocks_of(queue, (const void *)kernel, threads, bytes);
}

/* The most threads of a block of the kernel, for which its code on this device has registers. */
template <class... parameters>
int64_t cs_most_threads(cs_queue *queue, void (*kernel)(parameters...))
{
    return cs_most_threads_of(queue, (const void *)kernel);
}

/* The same launch, with arguments that become what the kernel takes. */
template <class... parameters, class... arguments>
void cs_launch(cs_queue *queue, cs_launch_way way, int64_t blocks, int threads, int64_t bytes,
               void (*kernel)(parameters...), const arguments &...given)
{
    auto launch = [&](parameters... own) {
        void *all[] = {(void *)&own...};
        cs_launch_kernel(queue, way, blocks, threads, bytes, (const void *)kernel, all);
    };
    launch(given...);
}
#else
#include "cuda/queue_members.h"

inline int64_t cs_most_shared(cs_queue *queue) { return queue->machine.shared; }

inline int64_t cs_processors(cs_queue *queue) { return queue->machine.resident; }

template <class kernel> int64_t cs_resident_blocks(cs_queue *queue, kernel *, int, int64_t = 0)
{
    return queue->machine.resident;
}

template <class kernel> int64_t cs_most_threads(cs_queue *queue, kernel *)
{
    return queue->machine.threads;
}
#endif

#endif
