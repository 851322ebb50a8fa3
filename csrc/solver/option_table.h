/* Checks of the options that every solver has (their table is in solver/option_table.c). */
#ifndef CS_OPTION_TABLE_H
#define CS_OPTION_TABLE_H

#include "contactsolve.h"

/* Checks each option for itself, and replaces the caller's words by the library's own strings, which outlive the
 * call. */
cs_status cs_options_check_each(cs_options *options, cs_error *error);

/* Refuses options that have no effect because of other options. All names must have been looked up before. */
cs_status cs_options_check_effects(const cs_solver *solver, cs_error *error);

#endif
