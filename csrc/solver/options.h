#ifndef CS_OPTIONS_H
#define CS_OPTIONS_H

#include "solver/solver.h"

/* Checks solver->options against its problem and looks up what they name: method, order, measures, and
 * the scheme, unless it is chosen later. */
cs_status cs_options_check(cs_solver *solver, cs_error *error);

/* What the scheme asks of the problem, of the method and of local solves. */
cs_status cs_options_check_scheme(const cs_solver *solver, cs_error *error);

cs_dtype cs_dtype_of(const cs_options *options);

#endif
