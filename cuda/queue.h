/* A queue: work that is done in its order, and the memory that belongs to it. */
#ifndef CS_CUDA_QUEUE_H
#define CS_CUDA_QUEUE_H

#include "cuda/gpu.h"

#include <cstddef>
#include <vector>

#if defined(__CUDACC__)
typedef cudaGraphExec_t cs_graph;
#else
typedef emulation::launches cs_graph;
#endif

/* The launches of a sweep, to be replayed. */
struct cs_captured_sweep {
    const void *step;
    double damping;
    cs_graph graph;
};

/* Several sweeps over whole rows of T: what their launches go by, and these, once they have been captured. */
struct cs_captured_flow {
    int64_t sweeps, recorded;
    int backwards, alternates;
    double damping;
    bool captured;
    cs_graph graph;
};

/* Memory of the host that a device reads and writes directly (pinned), through which all copies between the caller's
 * memory and the device go. The caller's own memory is never pinned. A copy takes a pair of buffers and gives it back, so
 * that there are as many pairs as copies at one time. */
struct cs_buffer {
    char *memory = nullptr;
#if defined(__CUDACC__)
    cudaEvent_t done = nullptr; /* the last copy from or into it */
#endif
};

enum { CS_BUFFERS = 2 };

struct cs_buffers {
    cs_buffer each[CS_BUFFERS];
    unsigned next = 0;
};

struct cs_queue {
#if defined(__CUDACC__)
    cudaStream_t stream = nullptr;
    cudaError_t failure = cudaSuccess; /* the first one */
    /* Of the device: multiprocessors, bytes that a block may share, and the major number of its compute capability. */
    int processors = 0, most_shared = 0, generation = 0;
    std::vector<const void *> allowed; /* kernels that may share as much as the device allows */
#else
    emulation::machine machine;
#endif
    std::vector<void *> memory;
    std::vector<cs_captured_sweep> captured;
    std::vector<cs_captured_flow> flows;
};

#if defined(__CUDACC__)
/* Keeps the first failure, and takes it out of cudaGetLastError, by which other packages check their own launches. */
inline void cs_check(cs_queue *queue, cudaError_t result)
{
    if (result != cudaSuccess) cudaGetLastError();
    if (queue->failure == cudaSuccess) queue->failure = result;
}

/* The multiprocessors of the device. */
inline int64_t cs_processors(const cs_queue *queue) { return queue->processors; }

/* The most memory that a block may share, in bytes. */
inline int64_t cs_most_shared(const cs_queue *queue) { return queue->most_shared; }

/* Lets blocks of a kernel share as much as the device allows, beside what the kernel itself declares. The limit belongs to the
 * kernel, not to a launch: it is always the same, so that threads of the caller cannot lower it for each other. `fills`:
 * as many blocks as possible are wanted, rather than a larger first-level cache. */
template <class... parameters>
cudaError_t cs_allow_shared(cs_queue *queue, void (*kernel)(parameters...), bool fills)
{
    const void *own = (const void *)kernel;
    for (const void *known : queue->allowed)
        if (known == own) return cudaSuccess;
    cudaFuncAttributes about = {};
    cudaError_t result = cudaFuncGetAttributes(&about, kernel);
    if (result == cudaSuccess && fills)
        result = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                      cudaSharedmemCarveoutMaxShared);
    if (result == cudaSuccess)
        result = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      queue->most_shared - (int)about.sharedSizeBytes);
    if (result == cudaSuccess) queue->allowed.push_back(own);
    return result;
}

/* How many blocks of a kernel that is launched together, each with so many bytes of shared memory, all multiprocessors hold at
 * once. */
template <class... parameters>
int64_t cs_resident_blocks(cs_queue *queue, void (*kernel)(parameters...), int threads,
                           int64_t bytes = 0)
{
    int each = 0;
    cudaError_t result = bytes ? cs_allow_shared(queue, kernel, false) : cudaSuccess;
    if (result == cudaSuccess)
        result =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, (size_t)bytes);
    cs_check(queue, result);
    return each * cs_processors(queue);
}

/* Launches a kernel whose blocks share so many bytes; nothing without blocks, which CUDA refuses. `together`: all blocks are
 * resident at once; there are some, or the multiprocessors hold none, which is a failure. */
template <class... parameters, class... arguments>
void cs_launch_shared(cs_queue *queue, bool together, int64_t blocks, int threads, int64_t bytes,
                      void (*kernel)(parameters...), const arguments &...given)
{
    if (!blocks && !together) return;
    cs_count_launch();
    cudaError_t result = bytes ? cs_allow_shared(queue, kernel, !together) : cudaSuccess;
    cudaLaunchAttribute cooperative = {};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)bytes;
    config.stream = queue->stream;
    config.attrs = &cooperative;
    config.numAttrs = together;
    if (result == cudaSuccess) result = cudaLaunchKernelEx(&config, kernel, given...);
    cs_check(queue, result);
}

/* Launches a kernel whose blocks share so many bytes; with `early`, on GPUs that can, they may start before the kernel before
 * it has ended (programmatic launch: compute capability 9.0). Code for older GPUs, which newer ones translate, does not
 * wait for that kernel. */
template <class... parameters, class... arguments>
void cs_launch_early(cs_queue *queue, bool early, int64_t blocks, int threads, int64_t bytes,
                     void (*kernel)(parameters...), const arguments &...given)
{
    if (!blocks) return;
    cs_count_launch();
    cudaError_t result = bytes ? cs_allow_shared(queue, kernel, true) : cudaSuccess;
    cudaLaunchAttribute programmatic = {};
    programmatic.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    programmatic.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)bytes;
    config.stream = queue->stream;
    config.attrs = &programmatic;
    cudaFuncAttributes about = {};
    if (early && result == cudaSuccess) result = cudaFuncGetAttributes(&about, kernel);
    config.numAttrs = early && queue->generation >= 9 && about.ptxVersion >= 90;
    if (result == cudaSuccess) result = cudaLaunchKernelEx(&config, kernel, given...);
    cs_check(queue, result);
}
#else
inline int64_t cs_most_shared(cs_queue *queue) { return queue->machine.shared; }

inline int64_t cs_processors(cs_queue *queue) { return queue->machine.resident; }

template <class kernel> int64_t cs_resident_blocks(cs_queue *queue, kernel *, int, int64_t = 0)
{
    return queue->machine.resident;
}
#endif

#endif
