#include "solver/method.h"

const cs_method cs_method_symmetric_gauss_seidel = {
    .name = "symmetric_gauss_seidel",
    .summary = "sweeps forwards and backwards in turn; SSOR with relaxation",
    .stage = CS_SEQUENTIAL,
    .symmetric = 1,
    .solve = cs_fixed_point,
};
