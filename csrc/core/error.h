/* Reporting failures: a status code, and a sentence that names the argument, the index and the
 * value. Every function that can fail returns a cs_status and takes a cs_error last; callers write
 *
 *     status = ...;
 *     if (status) goto out;
 */
#ifndef CS_ERROR_H
#define CS_ERROR_H

#include "contactsolve.h"
#include "core/compiler.h"

#include <stdarg.h>

/* Fills `error` (which may be NULL) with the code and a printf-formatted sentence; returns the
 * code, so that a check reads `return cs_fail(error, CS_INVALID, ...)`. */
cs_status cs_fail(cs_error *error, cs_status status, const char *format, ...) CS_PRINTF(3, 4);

/* CS_NO_MEMORY and "out of memory for <what>"; `what` is a printf format. */
cs_status cs_no_memory(cs_error *error, const char *what, ...) CS_PRINTF(2, 3);
cs_status cs_no_memory_list(cs_error *error, const char *what, va_list arguments) CS_PRINTF(2, 0);

typedef struct cs_text {
    char text[64];
} cs_text;

/* The shortest digits that name this number and no other: "0.1", "1.0000001", "inf". */
cs_text cs_number(double value);

/* A caller's word for a message, cut to 40 bytes if it is longer. */
cs_text cs_word(const char *word);

#endif
