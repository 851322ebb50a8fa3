#include "solver/method.h"

const cs_method cs_method_jacobi = {
    .name = "jacobi",
    .summary =
        "every contact sees the impulses of the last sweep; JOR with relaxation (S1 section 3.3)",
    .stage = CS_SIMULTANEOUS,
    .solve = cs_fixed_point,
};
