/* The options of mixed LCPs, each declared once for the tables of MLCP solvers and of methods that pivot. */
#ifndef CS_MLCP_OPTIONS_H
#define CS_MLCP_OPTIONS_H

#include "core/option.h"

#include <math.h>

#define CS_MLCP_TOLERANCE_OPTION                                                            \
    {                                                                                       \
        .name = "tolerance", .summary = "scaled residual at which one solve has converged", \
        .kind = CS_NUMBER, .usual = 1e-9, .above = 1, .most = HUGE_VAL                      \
    }
#define CS_MLCP_MAX_PIVOTS_OPTION                                                            \
    {                                                                                        \
        .name = "max_pivots", .summary = "maximum pivots per island; None: 100 + 20 × rows", \
        .kind = CS_COUNT, .optional = 1, .least = 1, .most = 2e9                             \
    }
#define CS_MLCP_ENGINE_LINE "how A_FF is factored; auto: the engine with the fewest operations"
#define CS_MLCP_REFINEMENTS_OPTION \
    CS_COUNT_OPTION("refinements", 2, 0, "maximum steps of iterative refinement per linear system")
#define CS_MLCP_CACHE_BYTES_OPTION                                                     \
    {                                                                                  \
        .name = "cache_bytes", .summary = "memory limit of the engine cached [bytes]", \
        .kind = CS_COUNT, .usual = 64 << 20, .most = 9e18                              \
    }
#define CS_MLCP_REUSE_OPTION                                                                       \
    CS_COUNT_OPTION("reuse", 0, 0,                                                                 \
                    "maximum steps of conjugate gradients per linear system, preconditioned by a " \
                    "factor from before an update; after them a new factor is made. 0: factors "   \
                    "are not reused")
#define CS_MLCP_BLOCK_STEPS_OPTION                                                        \
    CS_COUNT_OPTION("block_steps", 35, 0,                                                 \
                    "maximum block steps, which change many rows at once, before single " \
                    "pivots")
#define CS_MLCP_STALL_STEPS_OPTION        \
    CS_COUNT_OPTION("stall_steps", 10, 0, \
                    "block steps without improvement before switching to single pivots")
#define CS_MLCP_INTERIOR_OPTION   \
    CS_FLAG_OPTION("interior", 1, \
                   "predict the index set by interior-point steps where block steps are slow")

/* Checks each option, and that it has an effect beside the others. */
cs_status cs_mlcp_options_check(const cs_mlcp_options *options, cs_error *error);

#endif
