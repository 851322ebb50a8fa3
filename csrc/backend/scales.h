/* What the natural map over packed factors reads besides them: rho_s of each row and V of each block. */
#ifndef CS_SCALES_H
#define CS_SCALES_H

#include "backend/backend.h"

/* Packs rho where `request` has it. *measures <- whether every visit can be measured. */
cs_status cs_pack_scales(cs_packed *packed, const cs_pack_request *request, int *measures,
                         cs_arena *arena, cs_error *error);

/* Writes rho anew. Returns 0 if what is measured has changed, so that it has to be packed anew. */
int cs_refill_scales(cs_packed *packed, const cs_pack_request *request, int measures);

#endif
