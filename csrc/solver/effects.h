/* Options of every solver that other options may leave without effect. */
#ifndef CS_EFFECTS_H
#define CS_EFFECTS_H

#include <stddef.h>

/* Each of these returns 0 where its options have an effect, otherwise 1 with the reason in `why`. `context` is a
 * cs_solver whose names have been looked up (cs_member in core/member.h). */
int cs_relaxation_is_idle(const void *context, char *why, size_t size);
int cs_factor_is_idle(const void *context, char *why, size_t size);
int cs_stop_is_idle(const void *context, char *why, size_t size);

#endif
