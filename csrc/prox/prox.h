/* Feasible sets and their proximal maps, prox_C(z) = argmin_{x in C} |x - z|^2  (S1 eq. 2.43).
 *
 * The file of a set has two main parts (prox/sets.def): the body of its prox over `real`, which is compiled for
 * both precisions and inlined into the kernels, also those of a GPU; and its description (a cs_set), which
 * prox/sets.c compiles once. */
#ifndef CS_PROX_H
#define CS_PROX_H

#include "core/compiler.h"
#include "core/set.h"
#include "prox/support_callback.h"
#include "prox/nearest.h"
#include "prox/shape.h"

#include <math.h>

/* The most parameters of a block that vector kernels accept. */
enum { CS_LANE_PARAMETERS = 2 * CS_MAX_ROWS };

typedef enum cs_set_kind {
#define CS_SET(name) CS_SET_##name,
#include "prox/sets.def"
#undef CS_SET
    CS_SINGLE_PROX = 256, /* added to a kind on a device: prox_f32 in single precision throughout */
} cs_set_kind;

/* Whether kernels of devices have the prox of a kind inlined, besides the one that they call: that of discs. */
static inline int cs_prox_is_short(cs_set_kind kind) { return kind == CS_SET_disc; }

/* The kind with CS_SINGLE_PROX, or as it is if its nearest point is searched, in double precision. */
cs_set_kind cs_kind_in_single(cs_set_kind kind);

#define CS_TEMPLATE "prox/dispatch.inc"
#include "core/each_precision.h"

/* The set with this name, or NULL. */
const cs_set *cs_set_find(const char *name);

/* Checks the parameters of `count` blocks, `each` numbers to a block. `first_block` numbers the message. */
cs_status cs_check_parameters(const cs_set *set, int64_t count, int rows, int each,
                              const double *parameters, int64_t first_block, cs_error *error);

#endif
