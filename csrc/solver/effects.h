/* Tests whether an option has no effect because of other options (the members `idle` in solver/option_table.c). */
#ifndef CS_EFFECTS_H
#define CS_EFFECTS_H

#include <stddef.h>

/* Each function returns 0 if its option has an effect, otherwise 1 with the reason in `why` (size bytes). `context`
 * is a cs_solver whose names have been looked up (cs_member in core/member.h). */
int cs_relaxation_is_idle(const void *context, char *why, size_t size);
int cs_factor_is_idle(const void *context, char *why, size_t size);
int cs_exact_threads_is_idle(const void *context, char *why, size_t size);
int cs_device_sweeps_is_idle(const void *context, char *why, size_t size);
int cs_device_prox_is_idle(const void *context, char *why, size_t size);
int cs_stop_is_idle(const void *context, char *why, size_t size);

#endif
