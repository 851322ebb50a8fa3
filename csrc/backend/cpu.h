/* The backend that runs on the processor: it packs with the schemes of scheme/ and sweeps with sweep/. */
#ifndef CS_CPU_H
#define CS_CPU_H

#include "backend/backend.h"

extern const cs_backend cs_backend_cpu;

/* The packed data, for tests. */
cs_packed *cs_cpu_packed(const cs_packing *packing);

/* For methods without sweeps: packs nothing. Points are arrays (rows) in the user's order and in double precision,
 * which the method may read and write; cs_backend.here returns the caller's `impulses` (rows). */
cs_status cs_cpu_hold(cs_packing *packing, double *impulses, int64_t rows, cs_arena *arena,
                      cs_error *error);

#endif
