#ifndef CS_PYTHON_SOLVER_ARGUMENTS_H
#define CS_PYTHON_SOLVER_ARGUMENTS_H

#include "python/core.h"

/* The options of a solver, and the arrays to which they point. */
typedef struct solver_arguments {
    cs_options options;
    const char *record[CS_MAX_COLUMNS];
    cs_setting setting[CS_MAX_OWN_OPTIONS], scheme_setting[CS_MAX_OWN_OPTIONS];
    order_lists lists;
} solver_arguments;

/* Reads the arguments of _core.Solver. Without a problem (NULL), an order takes no lists. Returns -1 with an error set;
 * the caller clears the lists in either case. */
int read_solver_arguments(solver_arguments *r, const cs_problem *problem, PyObject *options,
                          PyObject *settings, PyObject *order, PyObject *scheme, PyObject *record);

#endif
