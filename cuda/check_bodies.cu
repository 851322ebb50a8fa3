/* Compiles the bodies that devices share with the host, for both, as C++: every set's prox and the
 * visits of the schemes, over float, double and both mixed. Nothing here is ever launched; .ci/run
 * compiles it with nvcc and, as plain C++, with g++, all warnings being errors. */
#include "scheme/packed.h"

#if defined(__CUDACC__)
#define CS_KERNEL __global__
#else
#define CS_KERNEL extern "C"
#endif

#define CS_TEMPLATE "cuda/check_bodies.inc"
#define CS_MIXED_TOO
#include "core/each_precision.h"
