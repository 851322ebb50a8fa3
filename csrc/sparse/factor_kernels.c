#include "sparse/factor_kernels.h"

#include "core/instructions.h"

#define CS_INSTRUCTIONS(name, summary) extern const cs_factor_kernels cs_factor_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_factor_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_factor_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

const cs_factor_kernels *cs_factor_kernels_here(void) { return builds[cs_instructions_widest()]; }
