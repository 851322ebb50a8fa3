/* The kernels of cuda/parts_lanes.inc, and the choice between them and those of cuda/parts_threads.inc. */
#include "cuda/device.h"

#include <cstdio>

#define CS_TEMPLATE "cuda/parts_lanes.inc"
#include "core/each_precision.h"

/* From so many parts on, a thread solves a part: before, there are too few threads for all processors of a device. */
enum { CS_MANY_PARTS = 4096 };

/* Fails because a thread cannot solve a part. */
static cs_status refuse_threads(const char *why, int64_t needed, int64_t most, cs_error *error)
{
    if (!error) return CS_UNSUPPORTED;
    error->status = CS_UNSUPPORTED;
    if (needed)
        std::snprintf(error->message, sizeof error->message,
                      "per='thread' needs %lld bytes of shared memory for 32 problems, and a block "
                      "has %lld: use per='half_warp'",
                      (long long)needed, (long long)most);
    else std::snprintf(error->message, sizeof error->message, "per='thread' is for %s", why);
    return CS_UNSUPPORTED;
}

cs_status cs_device_sweep_parts(cs_queue *queue, const cs_device_program *program,
                                cs_device_parts *parts, cs_error *error)
{
    /* Whether a thread can solve a part, and how much shared memory its block needs. */
    const cs_packed_group *group = program->group;
    int single = program->packed.dtype == CS_F32;
    const cs_thread_kernel *kernel = NULL;
    if (parts->alike && group->parameters <= CS_LANE_PARAMETERS)
        kernel = (single ? cs_parts_by_threads_f32 : cs_parts_by_threads_f64)(group);
    int64_t bytes = kernel ? kernel->bytes(group, parts) : 0, most = cs_most_shared(queue);
    int asked = parts->per == CS_PER_THREAD;
    if (asked && !kernel)
        return refuse_threads(
            "contacts of one shape and one set, of 1 or 3 rows in space or 1 or 2 "
            "in the plane, without compliance or free rows",
            0, 0, error);
    if (asked && bytes > most) return refuse_threads("", bytes, most, error);
    if (parts->per == CS_PER_AUTO)
        parts->per = kernel && bytes <= most && parts->count >= CS_MANY_PARTS ? CS_PER_THREAD
                                                                              : CS_PER_HALF_WARP;

    /* The launch. */
    if (parts->per == CS_PER_THREAD) kernel->launch(queue, program, parts, bytes);
    else (single ? cs_parts_by_lanes_f32 : cs_parts_by_lanes_f64)(queue, program, parts, bytes);
    return CS_OK;
}
