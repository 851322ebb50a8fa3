#ifndef CS_PYTHON_ANSWER_H
#define CS_PYTHON_ANSWER_H

#include "python/fields.h"

/* What a solve left in `result` and in the arrays. NULL with an error set. */
PyObject *new_answer(PyTypeObject *type, const cs_result *result, PyObject *impulses, PyObject *xi,
                     PyObject *velocity);

#endif
