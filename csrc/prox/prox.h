/* Feasible sets and their proximal maps, prox_C(z) = argmin_{x in C} |x - z|^2  (S1 eq. 2.43).
 *
 * A set's file holds two parts: the body of its prox over `real`, compiled for both precisions and
 * melted into the kernels, those of a GPU too, and its description (a cs_set), compiled once in
 * prox/sets.c. */
#ifndef CS_PROX_H
#define CS_PROX_H

#include "core/compiler.h"
#include "core/set.h"
#include "prox/support_callback.h"
#include "prox/nearest.h"
#include "prox/shape.h"

#include <math.h>

/* Parameters of a block that lanes have room for. */
enum { CS_LANE_PARAMETERS = 2 * CS_MAX_ROWS };

typedef enum cs_set_kind {
#define CS_SET(name) CS_SET_##name,
#include "prox/sets.def"
#undef CS_SET
} cs_set_kind;

#define CS_TEMPLATE "prox/dispatch.inc"
#include "core/both.h"

/* The set of that name, or NULL. */
const cs_set *cs_set_find(const char *name);

#endif
