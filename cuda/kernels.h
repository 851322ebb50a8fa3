/* The kernels of one precision, and what all of them share. A launch gets the packed problem and one of its groups by
 * value: threads then read their members as constants. */
#ifndef CS_CUDA_KERNELS_H
#define CS_CUDA_KERNELS_H

#include "cuda/queue.h"

#include <string.h>

extern "C" {
#include "backend/device.h"
}

/* z <- prox_C(z) of the contact in the own lane of a batch, for any set (cuda/sets.inc); cs_prox is that of a block. */
CS_DISPATCH void cs_prox_of_lane_f32(cs_set_kind set, int rows, int count, int used, float *z,
                                     const float *parameters, const float *previous);
CS_DISPATCH void cs_prox_of_lane_f64(cs_set_kind set, int rows, int count, int used, double *z,
                                     const double *parameters, const double *previous);

/* A kernel's argument whose address it takes without a copy of its own. */
#if defined(__CUDACC__)
#define CS_PARAMETER const __grid_constant__
#else
#define CS_PARAMETER const
#endif

/* Each runs the step of a program; `measure` is NULL but in double precision. */
typedef void cs_step_launch(cs_queue *queue, const cs_device_program *program,
                            const cs_device_step *step);

typedef struct cs_batch_kernels {
    cs_step_launch *visit, *add, *subtract;
    void (*measure)(cs_queue *queue, const cs_device_program *program, int group,
                    const cs_device_map *bounds, cs_device_map *map);
} cs_batch_kernels;

typedef struct cs_visit_kernels {
    cs_step_launch *visit, *parts, *gather, *keep, *subtract;
} cs_visit_kernels;

/* Makes flow->sweeps sweeps, and ends them. */
typedef void cs_flow_launch(cs_queue *queue, const cs_device_program *program,
                            const cs_device_flow *flow);

/* Lays out a launch by dataflow (cs_device.plan), and the launch. */
typedef struct cs_flow_kernels {
    void (*plan)(cs_queue *queue, const cs_packed_group *group, int set, int several,
                 cs_flow_plan *plan);
    cs_flow_launch *launch;
} cs_flow_kernels;
/* Steps of sweeps in place; sweeps from iterate to iterate, and the end of these alone. */
typedef struct cs_dense_launches {
    cs_step_launch *visit, *part, *take;
    cs_flow_launch *sweeps, *end;
} cs_dense_launches;

/* How many blocks of this kernel are resident with so many bytes shared, and the launch. */
typedef struct cs_region_kernels {
    int64_t (*resident)(cs_queue *queue, const cs_packed_group *group, int set, int64_t bytes);
    cs_flow_launch *launch;
} cs_region_kernels;

/* Sweeps of parts, by lanes of a warp (parts->per), or by a thread each with `bytes` of shared memory for its block. */
typedef void cs_parts_launch(cs_queue *queue, const cs_device_program *program,
                             const cs_device_parts *parts, int64_t bytes);

/* A kernel of which a thread solves a part: the bytes that its blocks share, and the launch. */
typedef struct cs_thread_kernel {
    int64_t (*bytes)(const cs_packed_group *group, const cs_device_parts *parts);
    cs_parts_launch *launch;
} cs_thread_kernel;

/* The one for a group; NULL if there is none. */
typedef const cs_thread_kernel *cs_thread_kernel_of(const cs_packed_group *group);

extern cs_parts_launch *const cs_parts_by_lanes_f32, *const cs_parts_by_lanes_f64;
extern cs_thread_kernel_of *const cs_parts_by_threads_f32, *const cs_parts_by_threads_f64;
extern const cs_batch_kernels cs_batch_kernels_f32, cs_batch_kernels_f64, cs_batch_kernels_mixed;
extern const cs_flow_kernels cs_flow_f32, cs_flow_f64, cs_flow_mixed;
extern const cs_dense_launches cs_dense_launches_f32, cs_dense_launches_f64;
extern cs_flow_launch *const cs_counter_f32, *const cs_counter_f64, *const cs_counter_mixed;
extern cs_flow_launch *const cs_on_chip_f32, *const cs_on_chip_f64;
int cs_chip_pieces(cs_queue *queue); /* CS_CHIP_PIECES or CS_CHIP_FEW_PIECES */
extern const cs_region_kernels cs_regions_f32, cs_regions_f64, cs_regions_mixed;
extern const cs_visit_kernels cs_visit_kernels_f32, cs_visit_kernels_f64, cs_visit_kernels_mixed;

static inline int64_t cs_blocks_of(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

/* Of the pairs of two neighbouring lanes, the even lane gets both first numbers, the odd one both second ones; doing it again undoes it.
 * Every lane calls it. */
CS_GPU void cs_transpose_pairs(uint32_t *first, uint32_t *second)
{
    bool odd = cs_lane() % 2;
    uint32_t other = __shfl_xor_sync(CS_ALL_LANES, odd ? *first : *second, 1);
    *first = odd ? other : *first;
    *second = odd ? *second : other;
}

/* The maximum over the lanes of a warp; NaN does not count. */
template <class number> CS_GPU number cs_warp_maximum(number value)
{
    for (int l = CS_WARP / 2; l; l /= 2) {
        number other = __shfl_xor_sync(CS_ALL_LANES, value, l);
        if (other > value) value = other;
    }
    return value;
}

/* The sum over the lanes of a warp, in an order that does not change. */
CS_GPU double cs_warp_sum(double value)
{
    for (int l = CS_WARP / 2; l; l /= 2) value += __shfl_xor_sync(CS_ALL_LANES, value, l);
    return value;
}

/* stats <- the statistics of all threads of a block. Every thread calls it. */
CS_GPU void cs_put_block_stats(double residual, double merit, double unfinished,
                               cs_sweep_stats *stats)
{
    CS_SHARED(double, own, 3 * CS_DEVICE_BATCHES);
    residual = cs_warp_maximum(residual);
    merit = cs_warp_sum(merit);
    unfinished = cs_warp_sum(unfinished);
    int warp = (int)threadIdx.x / CS_WARP;
    if (cs_lane() == 0)
        own[3 * warp] = residual, own[3 * warp + 1] = merit, own[3 * warp + 2] = unfinished;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int w = 1; w < CS_DEVICE_BATCHES; w++) {
        if (own[3 * w] > own[0]) own[0] = own[3 * w];
        own[1] += own[3 * w + 1];
        own[2] += own[3 * w + 2];
    }
    stats->residual = own[0];
    stats->merit = own[1];
    stats->unfinished = (int64_t)own[2];
}

/* Whether this sweep copies the impulses from before it: they are the best iterate. */
CS_GPU int cs_keeps(const cs_device_state *state)
{
    return state->keeps_best && state->best.best_is_current;
}

#endif
