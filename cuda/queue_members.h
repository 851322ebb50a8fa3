/* What a queue consists of: for the files that keep its memory and its work. Others launch kernels (cuda/queue.h). */
#ifndef CS_CUDA_QUEUE_MEMBERS_H
#define CS_CUDA_QUEUE_MEMBERS_H

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
    int changes; /* whether it measures them */
    cs_graph graph;
};

/* Several sweeps over whole rows of T: what their launches go by, and these, once they have been captured. */
struct cs_captured_flow {
    int64_t sweeps, recorded;
    int backwards, alternates;
    double damping;
    int changes; /* whether it measures them */
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

/* A queue: work that is done in its order, and the memory that belongs to it. */
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
#endif

#endif
