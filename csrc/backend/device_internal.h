/* What the files of the device's backend share. */
#ifndef CS_DEVICE_INTERNAL_H
#define CS_DEVICE_INTERNAL_H

#include "backend/device.h"
#include "backend/device_flow.h"
#include "core/error.h"

/* The most sweeps of a launch that keeps an iterate for each of them. */
enum { CS_FLOW_SWEEPS = 8 };

/* The steps of a sweep, in both directions, or of a refresh. */
typedef struct cs_step_list {
    cs_device_step *step;
    int64_t count, blocks; /* blocks of threads that write statistics */
} cs_step_list;

/* The state of a packing. */
typedef struct cs_on_device {
    const cs_device *device;
    cs_queue *queue;
    cs_packed packed;          /* on the host */
    cs_device_program program; /* the same on the device */
    cs_packed_group *group;    /* (groups): program.group */
    cs_step_list sweep[2];     /* forwards, backwards */
    cs_step_list refresh, subtract;
    int measures;
    cs_device_map *map; /* (blocks of the largest group): on the host */
    cs_device_map *map_there;
    double *sums, *sums_there; /* (chunks) */
    cs_error failure;          /* the first one outside `sweep`, which reports it */
    cs_status failed;
    int64_t bytes; /* taken on the device */
    cs_device_sweeps sweeps;
    void *iterates; /* (CS_FLOW_SWEEPS, impulses): of launches of several sweeps */
    cs_flow_lists lists;
    cs_device_flow flow;
    cs_device_parts parts; /* without count until they are first solved */
} cs_on_device;

/* The device of a backend made by cs_device_backend. */
typedef struct cs_device_backed {
    cs_backend table;
    const cs_device *device;
} cs_device_backed;

/* The functions of every device's backend, without its name. */
extern const cs_backend cs_device_functions;

static inline int64_t cs_quotient(int64_t count, int64_t size) { return (count + size - 1) / size; }

static inline cs_status cs_no_workspace(cs_error *error)
{
    return cs_no_memory(error, "the workspace");
}

/* ---- device_copy.c ------------------------------------------------------------------------------- */

/* Memory on the device; NULL after a failure. */
void *cs_device_take(cs_on_device *d, size_t bytes);

/* Copies an array to the device; nothing if one of them is NULL. */
void cs_device_upload(const cs_on_device *d, void *to, const void *from, size_t bytes);

/* Write what depends on b and on the parameters of the sets of group g, and what depends on R. */
void cs_device_upload_data(cs_on_device *d, int g);
void cs_device_upload_steps(cs_on_device *d, int g);

/* Copies everything that is packed. */
cs_status cs_device_copy_all(cs_on_device *d, cs_error *error);

/* ---- device_parts.c ------------------------------------------------------------------------------ */

cs_status cs_device_solve_parts(void *state, cs_parts_call *call, cs_error *error);

/* ---- device_steps.c ------------------------------------------------------------------------------ */

/* Lists the steps of sweeps in both directions, of a refresh and of a subtraction. */
cs_status cs_device_list_steps(cs_on_device *d, cs_arena *arena, cs_error *error);

#endif
