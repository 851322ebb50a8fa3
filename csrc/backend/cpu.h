/* The backend of this machine's processor: schemes (scheme/) and their sweeps (sweep/). */
#ifndef CS_CPU_H
#define CS_CPU_H

#include "backend/backend.h"

extern const cs_backend cs_backend_cpu;

/* What it has packed, for tests of it. */
cs_packed *cs_cpu_packed(const cs_packing *packing);

/* For methods without sweeps: nothing is packed, and points are those of `impulses` (rows), the caller's, in
 * its order. They may be looked into. */
cs_status cs_cpu_hold(cs_packing *packing, double *impulses, int64_t rows, cs_arena *arena,
                      cs_error *error);

#endif
