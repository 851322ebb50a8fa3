/* The pivoting rules as methods for contact problems. */
#include "solver/method.h"

#define PIVOTING(rule, text)             \
    const cs_method cs_method_##rule = { \
        .name = #rule,                   \
        .summary = text,                 \
        .stage = CS_SEQUENTIAL,          \
        .check = cs_pivoting_check,      \
        .prepare = cs_pivoting_prepare,  \
        .solve = cs_pivoting_solve,      \
    }

PIVOTING(bpp, "direct: block principal pivoting on box friction (S3)");
PIVOTING(murty, "direct: Murty's single pivots on box friction");
PIVOTING(lemke, "direct: Lemke's pivots on box friction");
PIVOTING(keller, "direct: Keller's pivots on box friction");
PIVOTING(dantzig, "direct: Cottle and Dantzig's pivots on box friction");
