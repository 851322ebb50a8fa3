#ifndef CS_PYTHON_DESCRIPTION_H
#define CS_PYTHON_DESCRIPTION_H

#include "python/fields.h"

/* A new _core.Description of the solver as it is now. NULL with an error set. */
PyObject *new_description(PyTypeObject *type, const cs_solver *solver);

#endif
