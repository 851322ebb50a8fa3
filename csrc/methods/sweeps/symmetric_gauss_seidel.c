/* Symmetric Gauss-Seidel: every second sweep visits the blocks in the opposite order. */
#include "solver/method.h"

const cs_method cs_method_symmetric_gauss_seidel = {
    .name = "symmetric_gauss_seidel",
    .summary = "alternating forward and backward sweeps; SSOR with relaxation",
    .paper = "S1 section 3.4; SOR of S2 section 4.6",
    .solves = CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) |
              CS_BIT(CS_SOLVES_ASSOCIATED) | CS_BIT(CS_SOLVES_BOX) | CS_BIT(CS_SOLVES_COULOMB) |
              CS_BIT(CS_SOLVES_REDUNDANT) | CS_BIT(CS_SOLVES_UNSYMMETRIC),
    .stage = CS_SEQUENTIAL,
    .symmetric = 1,
    .solve = cs_fixed_point,
};
