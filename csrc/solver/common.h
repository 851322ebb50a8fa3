#ifndef CS_COMMON_H
#define CS_COMMON_H

#include "contactsolve.h"

/* Checks each of the options that every solver has by itself, and replaces the caller's words by those
 * of the library of the same letters. */
cs_status cs_options_check_each(cs_options *options, cs_error *error);

/* Refuses those of the solver's options that others leave without effect; when all names have been looked up. */
cs_status cs_options_check_effects(const cs_solver *solver, cs_error *error);

#endif
