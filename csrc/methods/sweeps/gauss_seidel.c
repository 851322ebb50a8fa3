/* Gauss-Seidel: a sweep updates one block after another, each from the newest impulses of all others. */
#include "solver/method.h"

const cs_method cs_method_gauss_seidel = {
    .name = "gauss_seidel",
    .summary =
        "every contact sees the impulses just computed; SOR with relaxation (S1 section 3.4)",
    .paper = "S1 section 3.4; SOR of S2 section 4.6",
    .solves = CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) |
              CS_BIT(CS_SOLVES_ASSOCIATED) | CS_BIT(CS_SOLVES_BOX) | CS_BIT(CS_SOLVES_COULOMB) |
              CS_BIT(CS_SOLVES_REDUNDANT) | CS_BIT(CS_SOLVES_UNSYMMETRIC),
    .stage = CS_SEQUENTIAL,
    .solve = cs_fixed_point,
};
