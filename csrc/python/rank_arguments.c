#include "python/rank_arguments.h"

#include "python/fields.h"
#include "python/transport_objects.h"

#include <string.h>

static transport_object *transport_of(const rank_arguments *rank)
{
    return (transport_object *)rank->transport;
}

struct cs_transport *rank_transport(const rank_arguments *rank)
{
    return transport_of(rank)->transport;
}

int rank_begin(rank_arguments *rank)
{
    return rank->transport ? transport_begin(transport_of(rank)) : 0;
}

void rank_end(rank_arguments *rank)
{
    if (rank->transport) transport_end(transport_of(rank));
}

int rank_check(const rank_arguments *rank)
{
    cs_error error = {0};
    if (!rank || !rank->transport) return 0;
    if (!cs_transport_check(rank_transport(rank), &error)) return 0;
    raise_error(&error);
    return -1;
}

/* text <- "ValueError: what is wrong" of the Python error that is set, which remains. */
static void describe_error(char *text, size_t size)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *words = value ? PyObject_Str(value) : NULL;
    const char *told = words ? PyUnicode_AsUTF8(words) : NULL;
    PyErr_Clear();
    PyOS_snprintf(text, size, "%.60s: %.400s", ((PyTypeObject *)type)->tp_name, told ? told : "");
    Py_XDECREF(words);
    PyErr_Restore(type, value, trace);
}

void rank_abort(rank_arguments *rank, const cs_error *error)
{
    char text[sizeof error->message] = "the solve was interrupted";
    if (PyErr_Occurred()) describe_error(text, sizeof text);
    else if (error->message[0]) memcpy(text, error->message, sizeof text);
    Py_BEGIN_ALLOW_THREADS
    cs_transport_abort(rank_transport(rank), text);
    Py_END_ALLOW_THREADS
}

static const field share_fields[] = {
    FIELD(cs_share, parts, INT64),        FIELD(cs_share, all_bodies, INT64),
    FIELD(cs_share, all_contacts, INT64), FIELD(cs_share, shared_islands, INT64),
    FIELD(cs_share, stages, INT64),       FIELD(cs_share, colors, INT64),
    FIELD(cs_share, weight, DOUBLE),      FIELD(cs_share, splits_masses, FLAG),
};
enum { SHARE_FIELDS = sizeof share_fields / sizeof *share_fields };

/* The arrays of a share, and the order's name. */
enum {
    BODY,
    CONTACT,
    LABEL,
    PART,
    ISLAND,
    KIND,
    START,
    BLOCK,
    ARRAYS,
    CUT = ARRAYS,
    ORDER,
    OTHERS
};
static const char *const names[OTHERS] = {"body", "contact", "label", "part", "island",
                                          "kind", "start",   "block", "cut",  "order"};

/* Reads one array, of a type and a length, and keeps it in the tuple. Returns its data; NULL with an error set. */
static const void *read_array(rank_arguments *rank, PyObject *share, int i, int type,
                              int64_t length)
{
    PyObject *value = PyDict_GetItemString(share, names[i]);
    if (!value) {
        PyErr_Format(PyExc_TypeError, "share: %s is missing", names[i]);
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_OTF(value, type, NPY_ARRAY_IN_ARRAY);
    if (!array) return NULL;
    PyTuple_SET_ITEM(rank->arrays, i, (PyObject *)array);
    if ((int64_t)PyArray_SIZE(array) == length) return PyArray_DATA(array);
    PyErr_Format(PyExc_ValueError, "share: %s has %zd entries; %lld are needed", names[i],
                 (Py_ssize_t)PyArray_SIZE(array), (long long)length);
    return NULL;
}

/* Reads the arrays and the name of the order. Returns -1 with an error set. */
static int read_arrays(rank_arguments *rank, const cs_problem *problem, PyObject *dictionary)
{
    cs_share *share = &rank->share;
    const int64_t bodies = problem->bodies, blocks = problem->blocks;
    const int64_t length[ARRAYS] = {[BODY] = bodies,
                                    [CONTACT] = blocks,
                                    [LABEL] = bodies,
                                    [PART] = blocks,
                                    [ISLAND] = blocks,
                                    [KIND] = share->stages,
                                    [START] = share->stages + 1,
                                    [BLOCK] = blocks};
    const int64_t **to[ARRAYS] = {&share->body,   &share->contact, &share->label, &share->part,
                                  &share->island, &share->kind,    &share->start, &share->block};
    for (int i = 0; i < ARRAYS; i++) {
        *to[i] = read_array(rank, dictionary, i, NPY_INT64, length[i]);
        if (!*to[i]) return -1;
    }
    share->cut = read_array(rank, dictionary, CUT, NPY_UINT8, blocks);
    if (!share->cut) return -1;

    /* The name, which the tuple keeps. */
    PyObject *order = PyDict_GetItemString(dictionary, names[ORDER]);
    share->order = order && PyUnicode_Check(order) ? text_of(order) : NULL;
    if (share->order) PyTuple_SET_ITEM(rank->arrays, ORDER, Py_NewRef(order));
    else if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "share: order is no text");
    return share->order ? 0 : -1;
}

int read_rank_arguments(rank_arguments *rank, const cs_problem *problem, PyObject *share,
                        PyObject *transport, PyTypeObject *transport_type)
{
    int others;
    if (share == Py_None && transport == Py_None) return 0;
    if (!PyDict_Check(share) || !PyObject_TypeCheck(transport, transport_type)) {
        PyErr_SetString(PyExc_TypeError, "share and transport: a dict and a Transport are needed");
        return -1;
    }
    rank->transport = Py_NewRef(transport);
    rank->arrays = PyTuple_New(OTHERS);
    if (!rank->arrays) return -1;
    if (read_fields(share, share_fields, SHARE_FIELDS, &rank->share, &others) < 0) return -1;
    if (others != OTHERS || rank->share.stages < 0) {
        PyErr_SetString(PyExc_TypeError, "share: it is incomplete, or has unknown entries");
        return -1;
    }
    return read_arrays(rank, problem, share);
}
