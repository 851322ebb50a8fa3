/* How a failure travels: a status code, and a sentence that names the argument, the index and the
 * value. Every function that can fail returns a cs_status and takes a cs_error last; callers write
 *
 *     status = ...;
 *     if (status) goto out;
 */
#ifndef CS_ERROR_H
#define CS_ERROR_H

#include "contactsolve.h"
#include "core/compiler.h"

/* Fills `error` (which may be NULL) with the code and a printf-formatted sentence; returns the
 * code, so that a check reads `return cs_fail(error, CS_INVALID, ...)`. */
cs_status cs_fail(cs_error *error, cs_status status, const char *format, ...) CS_PRINTF(3, 4);

#endif
