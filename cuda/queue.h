/* A queue: work that is done in its order, and the memory that belongs to it. */
#ifndef CS_CUDA_QUEUE_H
#define CS_CUDA_QUEUE_H

#include "cuda/gpu.h"

#include <vector>

struct cs_queue {
#if defined(__CUDACC__)
    cudaStream_t stream = nullptr;
    cudaError_t failure = cudaSuccess; /* the first one */
#else
    emulation::machine machine;
#endif
    std::vector<void *> memory;
};

#endif
