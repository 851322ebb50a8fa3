/* The sweep: runs a scheme over all stages of a schedule. */
#ifndef CS_SWEEP_H
#define CS_SWEEP_H

#include "scheme/scheme.h"

/* Makes one sweep over all stages, from the last to the first if packed->backwards. stats <- the residual and the
 * merit. If packed->kept is not NULL, the lambda from before the sweep is stored there, and `kept` becomes NULL. The
 * caller flushes denormals. */
void cs_sweep(cs_packed *packed, cs_sweep_stats *stats);

/* stats <- those of all parts of the last sweep, added in the order of the parts. */
void cs_sweep_combine(cs_packed *packed, cs_sweep_stats *stats);

#endif
