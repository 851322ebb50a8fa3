#ifndef CS_PYTHON_ANSWER_H
#define CS_PYTHON_ANSWER_H

#include "python/fields.h"

/* A new _core.Answer, which copies `result` and refers to the arrays. NULL with an error set. */
PyObject *new_answer(PyTypeObject *type, const cs_result *result, PyObject *impulses, PyObject *xi,
                     PyObject *velocity);

#endif
