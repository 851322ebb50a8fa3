/* The functions of cs_device (backend/device.h) that launch kernels. */
#ifndef CS_CUDA_DEVICE_H
#define CS_CUDA_DEVICE_H

#include "cuda/kernels.h"

/* The name of the device in Python. */
#if defined(__CUDACC__)
#define CS_DEVICE_NAME "cuda"
#define CS_MODULE_TEXT "_cuda"
#define CS_MODULE_INIT PyInit__cuda
#else
#define CS_DEVICE_NAME "cuda-emulated"
#define CS_MODULE_TEXT "_cuda_emulated"
#define CS_MODULE_INIT PyInit__cuda_emulated
#endif

/* Seconds for an array of some bytes: taken and zeroed, copied to the device, within it and from it, to memory of the
 * caller, which is not pinned (queue.h); and for two of them to be given back. */
typedef struct cs_memory_times {
    double take, to_device, within, from_device, give_back;
} cs_memory_times;

cs_status cs_device_memory_times(size_t bytes, cs_memory_times *times, cs_error *error);

const cs_device *cs_device_table(void);
/* Bytes moved since the process began: to devices, from devices, and within them. */
void cs_device_moved(long long moved[3]);
/* What has been asked of devices since the process began: launches of kernels, each replay of a graph being one; copies to
 * devices and from them; and how often the host has waited for one. */
void cs_device_asked(long long asked[4]);
/* How many pairs of buffers for copies have been made since the process began. */
long long cs_device_buffers(void);
/* The number of the device that queues made from now on use. */
int cs_device_number(void);
/* Whether an address is none of the device that queues use; then `what` says what it is. */
int cs_device_is_foreign(const void *data, char *what, size_t size);
/* Work of the queue from now on follows what is in a stream so far: 1 is the default stream, 2 that of the thread,
 * others are handles, as in __cuda_array_interface__; 0: nothing. */
void cs_device_after(cs_queue *queue, unsigned long long stream);
/* Waits for all work of the device, also that of other packages. */
void cs_device_settle(void);
cs_status cs_device_sweep_parts(cs_queue *queue, const cs_device_program *program,
                                cs_device_parts *parts, cs_error *error);
void cs_device_run_pass(cs_queue *queue, const cs_device_pass *pass);
void cs_device_unpack(cs_queue *queue, const cs_device_rows *rows);
void cs_device_pack(cs_queue *queue, const cs_device_rows *rows);
void cs_device_look_for_infinite(cs_queue *queue, int64_t count, const double *numbers, int *found);
void cs_device_move(cs_queue *queue, const cs_device_verdict *verdict);
void cs_device_judge(cs_queue *queue, const cs_device_verdict *verdict, int floor);
void cs_device_look_for_growth(cs_queue *queue, const cs_device_verdict *verdict, cs_ray_part what,
                               double least);
void cs_device_find_speeds(cs_queue *queue, const cs_device_verdict *verdict, cs_device_zero *zero);
void cs_device_measure_directions(cs_queue *queue, const cs_device_verdict *verdict, int sampled,
                                  const cs_ray_call *call);
void cs_device_measure_ray(cs_queue *queue, const cs_device_verdict *verdict,
                           const cs_ray_call *call);
void cs_device_join_maps(cs_queue *queue, int64_t count, const cs_device_map *map,
                         cs_device_map *all);
void cs_device_end_sweep(cs_queue *queue, const cs_device_program *program);
/* The change of the impulses in each of `sweeps` sweeps (cuda/changes.cu): `before` is lambda before the first one, `after` that
 * after it, followed by those after the others, `stride` numbers apart. */
void cs_device_measure_changes(cs_queue *queue, const cs_device_program *program,
                               const void *before, const void *after, int64_t stride,
                               int64_t sweeps);
/* program->changes.before <- lambda. */
void cs_device_keep_before(cs_queue *queue, const cs_device_program *program);
/* What the changes in the sweeps of a launch decide, which has ended without them. */
void cs_device_end_changes(cs_queue *queue, const cs_device_program *program);
/* The end of sweeps over whole rows of T, which keep an iterate for each of them. */
void cs_device_end_dense(cs_queue *queue, const cs_device_program *program,
                         const cs_device_flow *flow);

#endif
