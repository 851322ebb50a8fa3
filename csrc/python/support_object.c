/* _core.Support: a Python function as the support function of a convex set (cs_support). */
#include "python/core.h"

#include <math.h>
#include <string.h>

typedef struct support_object {
    PyObject_HEAD
    PyObject *function;
    cs_support support;
    int handle; /* of cs_support_register */
} support_object;

/* The origin may lie outside of the set by this fraction of its reach, because of rounding. */
#define ORIGIN_TOLERANCE 1e-9

/* point (n) <- the coordinates that a function returned. Returns -1 with an error set if they are not
 * valid. */
static int read_point(PyObject *answer, int64_t block, int n, const double *direction,
                      double *point)
{
    PyArrayObject *array = NULL;
    double reach = 0, length = 0;

    /* Convert the answer; None would become a NaN. */
    if (answer != Py_None)
        array = (PyArrayObject *)PyArray_FROM_OTF(answer, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY);
    if (!array) {
        PyErr_Format(PyExc_TypeError,
                     "the support function of contact %lld returned %R: %d numbers are needed",
                     (long long)block, answer, n);
        return -1;
    }

    /* Copy the coordinates, if their number is right. */
    int fits = PyArray_NDIM(array) == 1 && PyArray_SIZE(array) == n;
    if (fits) memcpy(point, PyArray_DATA(array), sizeof(double) * (size_t)n);
    else
        PyErr_Format(PyExc_ValueError,
                     "the support function of contact %lld returned an array of %zd numbers in %d "
                     "dimensions: %d numbers in one are needed",
                     (long long)block, (Py_ssize_t)PyArray_SIZE(array), PyArray_NDIM(array), n);
    Py_DECREF(array);
    if (!fits) return -1;

    /* They must be finite. */
    for (int i = 0; i < n; i++) {
        reach += direction[i] * point[i];
        length = hypot(length, point[i]);
        if (isfinite(point[i])) continue;
        PyErr_Format(PyExc_ValueError,
                     "the support function of contact %lld returned %R: every "
                     "coordinate must be finite",
                     (long long)block, answer);
        return -1;
    }

    /* The support in this direction is negative only if the set excludes the origin. */
    if (reach >= -ORIGIN_TOLERANCE * length) return 0;
    PyErr_Format(PyExc_ValueError,
                 "the support function of contact %lld returned %R, which excludes the origin: the "
                 "set must contain it",
                 (long long)block, answer);
    return -1;
}

/* Calls the Python function, with the GIL held. If an earlier call has set an error, returns -1: the solve
 * ends with that error at its next poll. */
static int ask(support_object *self, int64_t block, int n, const double *direction, double *point)
{
    if (PyErr_Occurred()) return -1;
    PyObject *given = new_doubles(direction, n);
    if (!given) return -1;
    PyArray_CLEARFLAGS((PyArrayObject *)given, NPY_ARRAY_WRITEABLE);
    PyObject *answer = PyObject_CallOneArg(self->function, given);
    Py_DECREF(given);
    if (!answer) return -1;
    int failed = read_point(answer, block, n, direction, point);
    Py_DECREF(answer);
    return failed;
}

/* The callback of cs_support: called within a sweep, on the thread of the solve. */
static int point_of(void *context, int64_t block, int n, const double *direction, double *point)
{
    python_call call = python_call_begin();
    int failed = ask(context, block, n, direction, point);
    python_call_end(call);
    return failed;
}

/* Support(function) */
static PyObject *support_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"function", NULL};
    PyObject *function;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Support", names, &function)) return NULL;
    if (!PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "a function is needed, not %R", function);

    /* Register the callback; its handle refers to this object. */
    support_object *self = (support_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->function = Py_NewRef(function);
    self->support = (cs_support){point_of, self};
    self->handle = cs_support_register(&self->support);
    if (!self->handle) {
        PyErr_Format(PyExc_RuntimeError,
                     "%d support functions are in use already: keep fewer problems with functions",
                     CS_MAX_SUPPORTS);
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static int support_traverse(support_object *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->function);
    return 0;
}

static int support_clear(support_object *self)
{
    Py_CLEAR(self->function);
    return 0;
}

static void support_dealloc(support_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    cs_support_release(self->handle);
    support_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *support_handle(support_object *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(self->handle);
}

static PyGetSetDef support_attributes[] = {
    {"handle", (getter)support_handle, NULL,
     "The number that the parameters of its blocks refer to.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot support_slots[] = {
    {Py_tp_new, (void *)support_new},
    {Py_tp_dealloc, (void *)support_dealloc},
    {Py_tp_traverse, (void *)support_traverse},
    {Py_tp_clear, (void *)support_clear},
    {Py_tp_getset, support_attributes},
    {Py_tp_doc, "Support(function)\n--\n\nA Python function that describes a convex set."},
    {0, NULL},
};

PyType_Spec support_spec = {
    .name = "contactsolve._core.Support",
    .basicsize = sizeof(support_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = support_slots,
};
