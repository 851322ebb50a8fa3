/* Jacobi: a sweep updates all blocks from the impulses of the sweep before. */
#include "solver/method.h"

const cs_method cs_method_jacobi = {
    .name = "jacobi",
    .summary =
        "every contact sees the impulses of the last sweep; JOR with relaxation (S1 section 3.3)",
    .about = "The method may cycle on Coulomb friction: the friction of all contacts of a body "
             "changes at once and overshoots, and halving R does not always help. `mass_splitting` "
             "and `nesterov(over='jacobi')` take shorter steps.",
    .paper = "S1 section 3.3; JOR of S2 section 4.6",
    .solves = CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) |
              CS_BIT(CS_SOLVES_ASSOCIATED) | CS_BIT(CS_SOLVES_BOX),
    .stage = CS_SIMULTANEOUS,
    .solve = cs_fixed_point,
};
