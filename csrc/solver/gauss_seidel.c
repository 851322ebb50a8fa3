#include "solver/method.h"

const cs_method cs_method_gauss_seidel = {
    .name = "gauss_seidel",
    .summary =
        "every contact sees the impulses just computed; SOR with relaxation (S1 section 3.4)",
    .stage = CS_SEQUENTIAL,
    .solve = cs_fixed_point,
};
