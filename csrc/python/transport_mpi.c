/* The bridge between the transport of MPI and mpi4py: a Python object with the methods
 *
 *     connect(number, [(rank, send address, bytes, receive address, bytes), ...]) -> (handle, count, requests as bytes)
 *     connect_alarm(send address, receive address, bytes) -> the same
 *     disconnect(handle, running)
 *
 * Calls of the transport come with the GIL released. */
#include "python/transport_objects.h"

#include <string.h>

/* Turns the exception that is set into an error. */
static cs_status take_exception(cs_error *error)
{
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *message = text ? PyUnicode_AsUTF8(text) : NULL;
    cs_status status = kind && PyErr_GivenExceptionMatches(kind, PyExc_MemoryError)
                           ? CS_NO_MEMORY
                           : CS_RANK_FAILED;
    cs_fail(error, status, "MPI: %s", message ? message : "no request can be made");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(kind);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return status;
}

/* requests <- (handle, count, bytes), which is consumed; or the exception that has been set in its place. */
static cs_status keep_requests(PyObject *answer, cs_mpi_requests *requests, cs_error *error)
{
    PyObject *handle;
    const char *bytes;
    Py_ssize_t size;
    int count;
    *requests = (cs_mpi_requests){0};
    if (answer && PyArg_ParseTuple(answer, "Oiy#:requests", &handle, &count, &bytes, &size)) {
        requests->request = PyMem_RawMalloc((size_t)size + 1);
        if (!requests->request) PyErr_NoMemory();
        else {
            memcpy(requests->request, bytes, (size_t)size);
            requests->count = count;
            requests->handle = Py_NewRef(handle);
        }
    }
    Py_XDECREF(answer);
    return requests->request ? CS_OK : take_exception(error);
}

static PyObject *address(const void *place) { return PyLong_FromVoidPtr((void *)(uintptr_t)place); }

static PyObject *list_neighbours(const cs_neighbour *neighbour, int64_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (int64_t i = 0; list && i < count; i++) {
        const cs_neighbour *n = &neighbour[i];
        PyObject *each = Py_BuildValue("iNLNL", n->rank, address(n->send), (long long)n->send_bytes,
                                       address(n->receive), (long long)n->receive_bytes);
        if (each) PyList_SET_ITEM(list, (Py_ssize_t)i, each);
        else Py_CLEAR(list);
    }
    return list;
}

static cs_status connect_exchange(void *context, int64_t number, const cs_neighbour *neighbour,
                                  int64_t count, cs_mpi_requests *requests, cs_error *error)
{
    python_call call = python_call_begin();
    PyObject *list = list_neighbours(neighbour, count), *answer = NULL;
    if (list) answer = PyObject_CallMethod(context, "connect", "LO", (long long)number, list);
    cs_status status = keep_requests(answer, requests, error);
    Py_XDECREF(list);
    python_call_end(call);
    return status;
}

static cs_status connect_alarm(void *context, const void *send, void *receive, int64_t bytes,
                               cs_mpi_requests *requests, cs_error *error)
{
    python_call call = python_call_begin();
    PyObject *answer = PyObject_CallMethod(context, "connect_alarm", "NNL", address(send),
                                           address(receive), (long long)bytes);
    cs_status status = keep_requests(answer, requests, error);
    python_call_end(call);
    return status;
}

/* An exception has nobody to go to: it is printed. */
static void disconnect(void *context, cs_mpi_requests *requests, int running)
{
    python_call call = python_call_begin();
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    PyObject *answer =
        PyObject_CallMethod(context, "disconnect", "Oi", (PyObject *)requests->handle, running);
    if (!answer) PyErr_WriteUnraisable(context);
    Py_XDECREF(answer);
    Py_XDECREF((PyObject *)requests->handle);
    PyMem_RawFree(requests->request);
    *requests = (cs_mpi_requests){0};
    PyErr_Restore(kind, value, trace);
    python_call_end(call);
}

/* transport_mpi(bridge, rank, ranks, MPI_Startall, MPI_Testall, sizeof(MPI_Request), sizeof(MPI_Status), timeout) */
PyObject *core_transport_mpi(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *bridge;
    int rank, ranks;
    unsigned long long startall, testall;
    long long request_bytes, status_bytes;
    double timeout;
    if (!PyArg_ParseTuple(args, "OiiKKLLd:transport_mpi", &bridge, &rank, &ranks, &startall,
                          &testall, &request_bytes, &status_bytes, &timeout))
        return NULL;

    cs_mpi mpi = {
        .request_bytes = request_bytes,
        .status_bytes = status_bytes,
        .connect = connect_exchange,
        .connect_alarm = connect_alarm,
        .disconnect = disconnect,
        .context = bridge,
    };
    memcpy(&mpi.startall, &(uintptr_t){(uintptr_t)startall}, sizeof mpi.startall);
    memcpy(&mpi.testall, &(uintptr_t){(uintptr_t)testall}, sizeof mpi.testall);

    cs_transport *transport;
    cs_error error = {0};
    if (cs_mpi_make(&transport, &mpi, rank, ranks, timeout, &error)) {
        raise_error(&error);
        return NULL;
    }
    return new_transport(state->transport_type, transport, bridge);
}
