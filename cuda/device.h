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

const cs_device *cs_device_table(void);
cs_status cs_device_sweep_parts(cs_queue *queue, const cs_device_program *program,
                                cs_device_parts *parts, cs_error *error);
void cs_device_run_pass(cs_queue *queue, const cs_device_pass *pass);
void cs_device_end_sweep(cs_queue *queue, const cs_device_program *program);
void cs_device_end_flow(cs_queue *queue, const cs_device_program *program,
                        const cs_device_flow *flow);

#endif
