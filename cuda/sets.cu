/* The prox of every set, in single and in double precision: functions that all kernels call. They have few registers, so
 * that kernels which call them keep many threads at once (setup.py). */
#define CS_DEFINES_SETS
#include "cuda/kernels.h"

#define CS_TEMPLATE "cuda/sets.inc"
#include "core/each_precision.h"
