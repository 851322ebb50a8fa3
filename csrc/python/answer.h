#ifndef CS_PYTHON_ANSWER_H
#define CS_PYTHON_ANSWER_H

#include "python/deferred.h"
#include "python/fields.h"

/* What a solve computed: its figures, and its arrays. */
typedef struct answer_parts {
    const cs_result *result;
    int64_t rows, version; /* of the problem */
    PyObject *impulses, *xi,
        *velocity;   /* None or NULL: those that stay on a device, and what was not evaluated */
    deferred *later; /* evaluates what the result has not; NULL: nothing does */
} answer_parts;

/* A new _core.Answer, which copies the figures, and refers to the arrays or takes `later`. NULL with an error set. */
PyObject *new_answer(PyTypeObject *type, const answer_parts *parts);

#endif
