#ifndef CS_COMMON_H
#define CS_COMMON_H

#include "contactsolve.h"

/* Checks each of the options that every solver has by itself, and replaces the caller's words by those
 * of the library of the same letters. */
cs_status cs_options_check_each(cs_options *options, cs_error *error);

#endif
