/* The check of a solver's options. */
#ifndef CS_OPTIONS_H
#define CS_OPTIONS_H

#include "solver/solver.h"

/* Checks solver->options against the solver's problem, and looks up the names in them: the method, the order, the
 * measures, and the scheme unless it is "auto" and will be chosen later. */
cs_status cs_options_check(cs_solver *solver, cs_error *error);

/* Fails if the scheme does not support the problem, the method, the precision or the local solves. */
cs_status cs_options_check_scheme(const cs_solver *solver, cs_error *error);

/* The precision that the option `dtype` names. */
cs_dtype cs_dtype_of(const cs_options *options);

#endif
