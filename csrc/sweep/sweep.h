/* Runs a scheme over a schedule. */
#ifndef CS_SWEEP_H
#define CS_SWEEP_H

#include "scheme/scheme.h"

/* One sweep: every stage once, in order or, where packed->backwards says so, from the last to the
 * first. Where packed->kept is given, lambda from before the sweep goes there, once. The caller flushes
 * denormals. */
void cs_sweep(cs_packed *packed, cs_sweep_stats *stats);

#endif
