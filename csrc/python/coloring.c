/* _core.hash_sequence: contacts by the hash of their numbers; _core.color_shared: one round of a colouring that several
 * ranks find together. */
#include "order/priority.h"
#include "order/shared_coloring.h"
#include "python/core.h"

PyObject *core_hash_sequence(PyObject *module, PyObject *numbers)
{
    (void)module;
    PyArrayObject *number = int64_array(numbers, "numbers");
    if (!number) return NULL;
    npy_intp count = PyArray_SIZE(number);
    PyObject *sequence = PyArray_SimpleNew(1, &count, NPY_INT64);
    if (!sequence) goto out;

    /* Sort. */
    cs_arena scratch = {0};
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_sort_by_hash(PyArray_DATA(number), count, PyArray_DATA((PyArrayObject *)sequence),
                             &scratch, &error);
    cs_arena_clear(&scratch);
    Py_END_ALLOW_THREADS
    if (status) {
        raise_error(&error);
        Py_CLEAR(sequence);
    }
out:
    Py_DECREF(number);
    return sequence;
}

/* Whether an array is one of int64 (kind NPY_INT64) or of uint8 in a row, of this size and shape; else sets an error. */
static int is_plain(PyArrayObject *array, const char *name, int kind, int axes, npy_intp size)
{
    if (PyArray_TYPE(array) == kind && PyArray_NDIM(array) == axes && PyArray_SIZE(array) == size &&
        PyArray_IS_C_CONTIGUOUS(array))
        return 1;
    PyErr_Format(PyExc_ValueError, "%s has another type or shape than the colouring needs", name);
    return 0;
}

/* color_shared(sequence (n,), bodies (n, p), bodies_count, own (n,), colors (n,), by_palette): changes `colors`. */
PyObject *core_color_shared(PyObject *module, PyObject *args)
{
    (void)module;
    PyArrayObject *sequence, *bodies, *own, *colors;
    long long count;
    cs_shared_coloring c = {0};
    if (!PyArg_ParseTuple(args, "O!O!LO!O!p:color_shared", &PyArray_Type, &sequence, &PyArray_Type,
                          &bodies, &count, &PyArray_Type, &own, &PyArray_Type, &colors,
                          &c.by_palette))
        return NULL;

    /* Check the arrays. */
    npy_intp blocks = PyArray_SIZE(colors);
    if (PyArray_NDIM(bodies) != 2 || PyArray_DIM(bodies, 0) != blocks) {
        PyErr_SetString(PyExc_ValueError, "bodies (n, p) are needed");
        return NULL;
    }
    npy_intp partners = PyArray_DIM(bodies, 1);
    if (!is_plain(sequence, "sequence", NPY_INT64, 1, blocks) ||
        !is_plain(bodies, "bodies", NPY_INT64, 2, blocks * partners) ||
        !is_plain(own, "own", NPY_UINT8, 1, blocks) ||
        !is_plain(colors, "colors", NPY_INT64, 1, blocks))
        return NULL;
    if (PyArray_FailUnlessWriteable(colors, "colors") < 0) return NULL;

    /* Colour. */
    c.blocks = blocks;
    c.bodies = count > 0 ? count : 0;
    c.partners = partners < 1000 ? (int)partners : 1000; /* too many are refused */
    c.body = PyArray_DATA(bodies);
    c.sequence = PyArray_DATA(sequence);
    c.own = PyArray_DATA(own);
    c.color = PyArray_DATA(colors);
    int64_t changed = 0;
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_color_shared(&c, &changed, &error);
    Py_END_ALLOW_THREADS
    if (!status) return PyLong_FromLongLong(changed);
    raise_error(&error);
    return NULL;
}
