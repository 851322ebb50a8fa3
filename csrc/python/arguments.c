/* Conversion of arrays and errors between C and Python. */
#include "python/core.h"

#include <string.h>

void raise_error(const cs_error *error)
{
    switch (error->status) {
    case CS_OK:
    case CS_INTERRUPTED: return;
    case CS_NO_MEMORY: PyErr_SetString(PyExc_MemoryError, error->message); return;
    case CS_DEVICE_FAILED: PyErr_SetString(PyExc_RuntimeError, error->message); return;
    case CS_RANK_FAILED: PyErr_SetString(PyExc_ConnectionError, error->message); return;
    case CS_TIMED_OUT: PyErr_SetString(PyExc_TimeoutError, error->message); return;
    case CS_INVALID:
    case CS_UNKNOWN_NAME:
    case CS_INDEFINITE:
    case CS_UNSUPPORTED: break;
    }
    PyErr_SetString(PyExc_ValueError, error->message);
}

/* `value` as a contiguous array of that type; NULL with an error that says what is `wanted`. */
static PyArrayObject *converted(PyObject *value, const char *name, int type, const char *wanted)
{
    PyObject *array = PyArray_FROM_OTF(value, type, NPY_ARRAY_IN_ARRAY);
    if (!array && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s: an array of %s is needed, not %R", name, wanted,
                     (PyObject *)Py_TYPE(value));
    return (PyArrayObject *)array;
}

PyArrayObject *double_array(PyObject *value, const char *name)
{
    return converted(value, name, NPY_DOUBLE, "real numbers");
}

PyArrayObject *int64_array(PyObject *value, const char *name)
{
    return converted(value, name, NPY_INT64, "integers");
}

PyObject *copied_array(const void *data, int type, int64_t count, int columns, size_t size)
{
    npy_intp shape[2] = {(npy_intp)count, columns};
    PyObject *array = PyArray_SimpleNew(columns ? 2 : 1, shape, type);
    size_t bytes = (size_t)count * (size_t)(columns ? columns : 1) * size;
    if (array && data && bytes) memcpy(PyArray_DATA((PyArrayObject *)array), data, bytes);
    return array;
}

PyObject *new_integers(const int64_t *values, int64_t count)
{
    return copied_array(values, NPY_INT64, count, 0, sizeof(int64_t));
}

PyObject *new_doubles(const double *values, int64_t count)
{
    npy_intp length = (npy_intp)count;
    PyObject *array = PyArray_SimpleNew(1, &length, NPY_DOUBLE);
    if (array && values && count)
        memcpy(PyArray_DATA((PyArrayObject *)array), values, sizeof(double) * (size_t)count);
    return array;
}
