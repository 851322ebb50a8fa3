#ifndef CS_PYTHON_SHAPE_ARGUMENTS_H
#define CS_PYTHON_SHAPE_ARGUMENTS_H

#include "python/core.h"

/* The numbers, and the vertices or NULL, of shapes of one kind. */
typedef struct shape_description {
    int kind;
    PyArrayObject *numbers, *vertices;
} shape_description;

/* Reads a description; the caller clears it in either case. Returns -1 with an error set. */
int read_shape_description(shape_description *d, const char *kind, PyObject *numbers,
                           PyObject *vertices, int dimension);
void shape_description_clear(shape_description *d);

/* The i-th shape that is described, without a place. */
cs_shape described_shape(const shape_description *d, int64_t i);

/* Shapes of one kind on bodies. */
typedef struct shape_arguments {
    shape_description described;
    PyArrayObject *place[3]; /* bodies, positions, orientations */
    cs_shape *shape;         /* (count) */
    int64_t count;
} shape_arguments;

/* Reads (kind, numbers, vertices, body, position, orientation); the caller clears it in either case. Returns -1 with an
 * error set. */
int read_shape_arguments(shape_arguments *s, PyObject *args, int dimension);
void shape_arguments_clear(shape_arguments *s);

/* Checks that an array is (count, columns). Returns -1 with an error set. */
int check_columns(PyArrayObject *array, const char *name, int64_t count, int64_t columns);

#endif
