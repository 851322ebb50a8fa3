/* What Eisenstat's product needs of the preconditioner block_ssor. */
#ifndef CS_BLOCK_SSOR_H
#define CS_BLOCK_SSOR_H

#include "sparse/block_kernels.h"
#include "sparse/preconditioner.h"

extern const cs_preconditioner_kind cs_preconditioner_block_ssor;

/* Its scaled blocks; NULL if p is of another kind. */
const cs_scaled_blocks *cs_preconditioner_scaled(const cs_preconditioner *p);

#endif
