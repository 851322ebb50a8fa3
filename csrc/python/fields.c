#include "python/fields.h"

#include <limits.h>
#include <string.h>

const char *text_of(PyObject *value)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (!text || strlen(text) == (size_t)size) return text;
    PyErr_SetString(PyExc_ValueError, "embedded null character");
    return NULL;
}

/* Reads an integer from `least` to `most`. Returns -1 with an error set. */
static int read_whole(PyObject *value, const char *name, long long least, long long most,
                      long long *number)
{
    PyObject *whole = PyNumber_Index(value);
    *number = whole ? PyLong_AsLongLong(whole) : -1;
    Py_XDECREF(whole);
    if (*number == -1 && PyErr_Occurred()) return -1;
    if (*number >= least && *number <= most) return 0;
    PyErr_Format(PyExc_OverflowError, "%s is %lld: that is too large", name, *number);
    return -1;
}

/* Reads one value into `place`. Returns -1 with an error set. */
static int read_field(PyObject *value, const field *f, void *place)
{
    long long number;
    switch (f->kind) {
    case FIELD_INT:
        if (read_whole(value, f->name, INT_MIN, INT_MAX, &number) < 0) return -1;
        *(int *)place = (int)number;
        return 0;
    case FIELD_FLAG: *(int *)place = PyObject_IsTrue(value); return *(int *)place < 0 ? -1 : 0;
    case FIELD_INT64:
        if (read_whole(value, f->name, INT64_MIN, INT64_MAX, &number) < 0) return -1;
        *(int64_t *)place = number;
        return 0;
    case FIELD_UINT64:
        *(uint64_t *)place = PyLong_AsUnsignedLongLong(value);
        return PyErr_Occurred() ? -1 : 0;
    case FIELD_DOUBLE: *(double *)place = PyFloat_AsDouble(value); return PyErr_Occurred() ? -1 : 0;
    case FIELD_TEXT:
        *(const char **)place = value == Py_None ? NULL : text_of(value);
        return PyErr_Occurred() ? -1 : 0;
    }
    return -1;
}

/* The field of that name, or NULL. */
static const field *find(PyObject *name, const field *fields, int count)
{
    for (int i = 0; i < count; i++)
        if (PyUnicode_CompareWithASCIIString(name, fields[i].name) == 0) return &fields[i];
    return NULL;
}

int read_fields(PyObject *dictionary, const field *fields, int count, void *target, int *others)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    if (others) *others = 0;
    while (PyDict_Next(dictionary, &at, &name, &value)) {
        const field *f = PyUnicode_Check(name) ? find(name, fields, count) : NULL;
        if (!f && !others) {
            PyErr_Format(PyExc_TypeError, "%R is not a field of the library", name);
            return -1;
        }
        if (!f) ++*others;
        else if (read_field(value, f, (char *)target + f->at) < 0) return -1;
    }
    return 0;
}

/* The value in `place` as a new Python object. */
static PyObject *value_of(const field *f, const void *place)
{
    switch (f->kind) {
    case FIELD_INT: return PyLong_FromLong(*(const int *)place);
    case FIELD_FLAG: return PyBool_FromLong(*(const int *)place);
    case FIELD_INT64: return PyLong_FromLongLong(*(const int64_t *)place);
    case FIELD_UINT64: return PyLong_FromUnsignedLongLong(*(const uint64_t *)place);
    case FIELD_DOUBLE: return PyFloat_FromDouble(*(const double *)place);
    case FIELD_TEXT:
        if (!*(const char *const *)place) Py_RETURN_NONE;
        return PyUnicode_FromString(*(const char *const *)place);
    }
    return NULL;
}

int add_item(PyObject *dictionary, const char *name, PyObject *value)
{
    int failed = !value || PyDict_SetItemString(dictionary, name, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

int write_fields(PyObject *dictionary, const field *fields, int count, const void *source)
{
    for (int i = 0; i < count; i++) {
        PyObject *value = value_of(&fields[i], (const char *)source + fields[i].at);
        if (add_item(dictionary, fields[i].name, value) < 0) return -1;
    }
    return 0;
}

PyObject *dictionary_of(const field *fields, int count, const void *source)
{
    PyObject *dictionary = PyDict_New();
    if (dictionary && write_fields(dictionary, fields, count, source) < 0) Py_CLEAR(dictionary);
    return dictionary;
}
