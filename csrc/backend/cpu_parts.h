/* Parts that the processor solves one by one (backend/parts.h). */
#ifndef CS_CPU_PARTS_H
#define CS_CPU_PARTS_H

#include "backend/cpu_internal.h"
#include "backend/parts.h"

#include <stdatomic.h>

/* What all threads share. */
typedef struct cs_parts_on_cpu {
    cs_packed *packed;
    void *best; /* (impulses) */
    cs_parts_call *call;
    int64_t chunks; /* of parts, which a thread takes at a time */
    double last_poll;
    atomic_llong ended;
    atomic_int halt;
} cs_parts_on_cpu;

cs_status cs_cpu_solve_parts(void *state, cs_parts_call *call, cs_error *error);

#endif
