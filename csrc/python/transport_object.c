/* _core.Transport: messages of one rank, with the GIL released while it waits. _core.Exchange: one of its exchanges.
 * _core.Team: what ranks that are threads share. */
#include "python/transport_objects.h"
#include "transport/exchange_cost.h"

#include <math.h>
#include <string.h>

/* ---- use ------------------------------------------------------------------------------------------------ */

/* Signals reach the main thread of Python only; on others nothing is set. */
static int asks_to_stop(void *context)
{
    (void)context;
    python_call call = python_call_begin();
    int stops = PyErr_Occurred() || PyErr_CheckSignals() < 0;
    python_call_end(call);
    return stops;
}

int transport_begin(transport_object *self)
{
    if (!atomic_flag_test_and_set(&self->busy)) return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "another thread uses this transport: each rank has one of its own");
    return -1;
}

void transport_end(transport_object *self) { atomic_flag_clear(&self->busy); }

PyObject *new_transport(PyTypeObject *type, cs_transport *transport, PyObject *bridge)
{
    transport_object *self = (transport_object *)type->tp_alloc(type, 0);
    if (!self) {
        cs_transport_destroy(transport);
        return NULL;
    }
    self->transport = transport;
    self->bridge = Py_XNewRef(bridge);
    atomic_flag_clear(&self->busy);
    cs_transport_listen(transport, asks_to_stop, NULL);
    return (PyObject *)self;
}

static void transport_dealloc(transport_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_transport_destroy(self->transport);
    Py_XDECREF(self->bridge);
    type->tp_free(self);
    Py_DECREF(type);
}

/* None, or NULL with the exception of a status. */
static PyObject *none_or_error(cs_status status, const cs_error *error)
{
    if (!status) return Py_NewRef(Py_None);
    raise_error(error);
    return NULL;
}

/* ---- gathers and agreements ----------------------------------------------------------------------------- */

/* sizes (ranks) <- the first numbers of an array of int64. Returns NULL with an error set unless it has one for
 * each rank, and the own one is `bytes`. */
static PyArrayObject *read_sizes(const transport_object *self, PyObject *value, Py_ssize_t bytes,
                                 npy_intp *total)
{
    PyArrayObject *sizes = int64_array(value, "sizes");
    if (!sizes) return NULL;
    int rank = cs_transport_rank(self->transport), ranks = cs_transport_ranks(self->transport);
    const int64_t *size = PyArray_DATA(sizes);
    *total = 0;
    if (PyArray_SIZE(sizes) != ranks) {
        PyErr_Format(PyExc_ValueError, "sizes has %zd numbers, but there are %d ranks",
                     (Py_ssize_t)PyArray_SIZE(sizes), ranks);
        Py_CLEAR(sizes);
        return NULL;
    }
    for (int r = 0; r < ranks; r++) {
        if (size[r] >= 0 && (r != rank || size[r] == bytes)) {
            *total += (npy_intp)size[r];
            continue;
        }
        PyErr_Format(PyExc_ValueError, "sizes[%d] is %lld, but rank %d gives %zd bytes", r,
                     (long long)size[r], rank, bytes);
        Py_CLEAR(sizes);
        return NULL;
    }
    return sizes;
}

/* gather(data, sizes) -> bytes of all ranks, one after another */
static PyObject *transport_gather(transport_object *self, PyObject *args)
{
    Py_buffer data;
    PyObject *sizes_value, *all = NULL;
    if (!PyArg_ParseTuple(args, "y*O:gather", &data, &sizes_value)) return NULL;
    npy_intp total;
    PyArrayObject *sizes = read_sizes(self, sizes_value, data.len, &total);
    if (sizes) all = PyBytes_FromStringAndSize(NULL, total);
    if (!all || transport_begin(self) < 0) {
        Py_CLEAR(all);
        goto out;
    }

    cs_error error = {0};
    cs_status status;
    char *to = PyBytes_AS_STRING(all);
    const int64_t *size = PyArray_DATA(sizes);
    Py_BEGIN_ALLOW_THREADS
    status = cs_gather_once(self->transport, "data of all ranks", size, data.buf, to, &error);
    Py_END_ALLOW_THREADS
    transport_end(self);
    if (status) {
        raise_error(&error);
        Py_CLEAR(all);
    }
out:
    Py_XDECREF(sizes);
    PyBuffer_Release(&data);
    return all;
}

/* agree(message): ValueError with the message of the first rank that gives one */
static PyObject *transport_agree(transport_object *self, PyObject *args)
{
    const char *message;
    if (!PyArg_ParseTuple(args, "z:agree", &message)) return NULL;
    if (transport_begin(self) < 0) return NULL;
    cs_error error = {0};
    cs_status status = message ? cs_fail(&error, CS_INVALID, "%s", message) : CS_OK;
    Py_BEGIN_ALLOW_THREADS
    status = cs_transport_agree(self->transport, status, &error);
    Py_END_ALLOW_THREADS
    transport_end(self);
    return none_or_error(status, &error);
}

/* ---- failures ------------------------------------------------------------------------------------------- */

static PyObject *transport_abort(transport_object *self, PyObject *args)
{
    const char *message;
    if (!PyArg_ParseTuple(args, "s:abort", &message)) return NULL;
    if (transport_begin(self) < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    cs_transport_abort(self->transport, message);
    Py_END_ALLOW_THREADS
    transport_end(self);
    return Py_NewRef(Py_None);
}

static PyObject *transport_check(transport_object *self, PyObject *unused)
{
    (void)unused;
    if (transport_begin(self) < 0) return NULL;
    cs_error error = {0};
    cs_status status = cs_transport_check(self->transport, &error);
    transport_end(self);
    return none_or_error(status, &error);
}

static PyObject *transport_leave(transport_object *self, PyObject *unused)
{
    (void)unused;
    if (transport_begin(self) < 0) return NULL;
    cs_transport_leave(self->transport);
    transport_end(self);
    return Py_NewRef(Py_None);
}

/* ---- what it is ----------------------------------------------------------------------------------------- */

static PyObject *transport_traffic(transport_object *self, PyObject *unused)
{
    (void)unused;
    cs_traffic t = cs_transport_traffic(self->transport);
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:d}", "exchanges", (long long)t.exchanges,
                         "messages", (long long)t.messages, "bytes", (long long)t.bytes, "gathers",
                         (long long)t.gathers, "gather_messages", (long long)t.gather_messages,
                         "gather_bytes", (long long)t.gather_bytes, "waiting", t.waiting);
}

static PyObject *transport_rank(transport_object *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(cs_transport_rank(self->transport));
}

static PyObject *transport_ranks(transport_object *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(cs_transport_ranks(self->transport));
}

static PyObject *transport_name(transport_object *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(cs_transport_name(self->transport));
}

static PyObject *transport_timeout(transport_object *self, void *closure)
{
    (void)closure;
    return PyFloat_FromDouble(cs_transport_timeout(self->transport));
}

static int transport_set_timeout(transport_object *self, PyObject *value, void *closure)
{
    (void)closure;
    double seconds = value ? PyFloat_AsDouble(value) : 0;
    if (PyErr_Occurred()) return -1;
    if (!(seconds > 0)) {
        PyErr_Format(PyExc_ValueError, "timeout is %R, but a number above zero is needed", value);
        return -1;
    }
    cs_transport_set_timeout(self->transport, seconds);
    return 0;
}

/* ---- exchanges ------------------------------------------------------------------------------------------ */

/* Takes the buffer of one message; None has no bytes. Returns -1 with an error set. */
static int take_buffer(exchange_object *self, PyObject *value, int writable, void **data,
                       int64_t *bytes)
{
    *data = NULL;
    *bytes = 0;
    if (value == Py_None) return 0;
    Py_buffer *buffer = &self->buffer[self->buffers];
    int flags = writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO;
    if (PyObject_GetBuffer(value, buffer, flags) < 0) return -1;
    self->buffers++;
    *data = buffer->buf;
    *bytes = buffer->len;
    return 0;
}

/* neighbour (count) <- [(rank, send, receive), ...]. Returns -1 with an error set. */
static int read_neighbours(exchange_object *self, PyObject *list, cs_neighbour *neighbour)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *send, *receive;
        cs_neighbour *n = &neighbour[i];
        void *sent;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "iOO;a neighbour: rank, send, receive",
                              &n->rank, &send, &receive))
            return -1;
        if (take_buffer(self, send, 0, &sent, &n->send_bytes) < 0) return -1;
        n->send = sent;
        if (take_buffer(self, receive, 1, &n->receive, &n->receive_bytes) < 0) return -1;
    }
    return 0;
}

/* Exchange(transport, what, [(rank, send, receive), ...]) */
static PyObject *exchange_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "", "", NULL};
    PyObject *transport, *what, *list;
    core_state *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!UO!:Exchange", names, state->transport_type,
                                     &transport, &what, &PyList_Type, &list))
        return NULL;
    const char *text = text_of(what);
    exchange_object *self = text ? (exchange_object *)type->tp_alloc(type, 0) : NULL;
    if (!self) return NULL;
    self->transport = (transport_object *)Py_NewRef(transport);
    self->what = Py_NewRef(what);

    /* Make it from the buffers, which it keeps. */
    Py_ssize_t count = PyList_GET_SIZE(list);
    cs_neighbour *neighbour = PyMem_Calloc((size_t)count + 1, sizeof *neighbour);
    self->buffer = PyMem_Calloc(2 * (size_t)count + 1, sizeof *self->buffer);
    cs_error error = {0};
    if (!neighbour || !self->buffer) {
        PyErr_NoMemory();
    } else if (read_neighbours(self, list, neighbour) == 0 &&
               transport_begin(self->transport) == 0) {
        if (cs_exchange_make(&self->exchange, self->transport->transport, text, neighbour, count,
                             &error))
            raise_error(&error);
        transport_end(self->transport);
    }
    PyMem_Free(neighbour);
    if (!self->exchange) Py_CLEAR(self);
    return (PyObject *)self;
}

static void exchange_dealloc(exchange_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_exchange_free(self->exchange);
    for (Py_ssize_t i = 0; i < self->buffers; i++) PyBuffer_Release(&self->buffer[i]);
    PyMem_Free(self->buffer);
    Py_XDECREF(self->what);
    Py_XDECREF(self->transport);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Begins or ends an exchange. */
static PyObject *run(exchange_object *self, cs_status (*call)(cs_exchange *, cs_error *))
{
    if (transport_begin(self->transport) < 0) return NULL;
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = call(self->exchange, &error);
    Py_END_ALLOW_THREADS
    transport_end(self->transport);
    return none_or_error(status, &error);
}

static PyObject *exchange_begin(exchange_object *self, PyObject *unused)
{
    (void)unused;
    return run(self, cs_exchange_begin);
}

static PyObject *exchange_end(exchange_object *self, PyObject *unused)
{
    (void)unused;
    return run(self, cs_exchange_end);
}

/* ---- teams ---------------------------------------------------------------------------------------------- */

static PyObject *team_abort(team_object *self, PyObject *args)
{
    const char *message;
    if (!PyArg_ParseTuple(args, "s:abort", &message)) return NULL;
    cs_team_abort(self->team, message);
    return Py_NewRef(Py_None);
}

static void team_dealloc(team_object *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cs_team_release(self->team);
    type->tp_free(self);
    Py_DECREF(type);
}

/* [Transport, ...] of transports that the objects then own; those that are left without one are destroyed. */
static PyObject *list_transports(PyTypeObject *type, cs_transport **transport, int ranks)
{
    PyObject *list = PyList_New(ranks);
    for (int r = 0; r < ranks; r++) {
        if (!list) {
            cs_transport_destroy(transport[r]);
            continue;
        }
        PyObject *object = new_transport(type, transport[r], NULL);
        if (object) PyList_SET_ITEM(list, r, object);
        else Py_CLEAR(list);
    }
    return list;
}

PyObject *core_transport_team(PyObject *module, PyObject *args)
{
    enum { MOST_RANKS = 65536 };
    core_state *state = PyModule_GetState(module);
    int ranks;
    double timeout;
    if (!PyArg_ParseTuple(args, "id:transport_team", &ranks, &timeout)) return NULL;
    if (ranks < 1 || ranks > MOST_RANKS)
        return PyErr_Format(PyExc_ValueError, "ranks is %d, but 1 to %d threads are possible",
                            ranks, MOST_RANKS);
    cs_transport **transport = PyMem_Calloc((size_t)ranks, sizeof(cs_transport *));
    team_object *team = (team_object *)state->team_type->tp_alloc(state->team_type, 0);
    PyObject *list = NULL;
    cs_error error = {0};
    if (!transport || !team) PyErr_NoMemory();
    else if (cs_threads_make(&team->team, transport, ranks, timeout, &error)) raise_error(&error);
    else list = list_transports(state->transport_type, transport, ranks);
    PyMem_Free(transport);
    PyObject *both = list ? PyTuple_Pack(2, (PyObject *)team, list) : NULL;
    Py_XDECREF(team);
    Py_XDECREF(list);
    return both;
}

/* ---- costs ---------------------------------------------------------------------------------------------- */

static int check_cost(long long bytes, long long count)
{
    if (bytes >= 0 && count > 0) return 0;
    PyErr_Format(PyExc_ValueError,
                 "bytes is %lld and count is %lld, but at least 0 and 1 are needed", bytes, count);
    return -1;
}

PyObject *core_exchange_cost(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *object;
    long long bytes, count;
    double pause = 0;
    if (!PyArg_ParseTuple(args, "O!LL|d:exchange_cost", state->transport_type, &object, &bytes,
                          &count, &pause) ||
        check_cost(bytes, count) < 0)
        return NULL;
    transport_object *transport = (transport_object *)object;
    if (transport_begin(transport) < 0) return NULL;
    double seconds;
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_exchange_cost(transport->transport, bytes, count, pause, &seconds, &error);
    Py_END_ALLOW_THREADS
    transport_end(transport);
    if (!status) return PyFloat_FromDouble(seconds);
    raise_error(&error);
    return NULL;
}

PyObject *core_exchange_work(PyObject *module, PyObject *args)
{
    (void)module;
    long long bytes, count;
    if (!PyArg_ParseTuple(args, "LL:exchange_work", &bytes, &count) || check_cost(bytes, count) < 0)
        return NULL;
    double seconds;
    cs_error error = {0};
    cs_status status;
    Py_BEGIN_ALLOW_THREADS
    status = cs_exchange_work(bytes, count, &seconds, &error);
    Py_END_ALLOW_THREADS
    if (!status) return PyFloat_FromDouble(seconds);
    raise_error(&error);
    return NULL;
}

/* ---- types ---------------------------------------------------------------------------------------------- */

static PyMethodDef transport_methods[] = {
    {"gather", (PyCFunction)transport_gather, METH_VARARGS,
     "gather(data, sizes)\n--\n\nThe bytes of all ranks, one after another."},
    {"agree", (PyCFunction)transport_agree, METH_VARARGS,
     "agree(message)\n--\n\nRaises the message of the first rank that gives one, on all ranks."},
    {"abort", (PyCFunction)transport_abort, METH_VARARGS,
     "abort(message)\n--\n\nBreaks the transport on all ranks."},
    {"check", (PyCFunction)transport_check, METH_NOARGS,
     "check()\n--\n\nRaises if the transport is broken."},
    {"leave", (PyCFunction)transport_leave, METH_NOARGS,
     "leave()\n--\n\nThe rank takes part in nothing any more."},
    {"traffic", (PyCFunction)transport_traffic, METH_NOARGS,
     "traffic()\n--\n\nWhat the rank has sent, and how long it has waited, as a dict."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef transport_properties[] = {
    {"rank", (getter)transport_rank, NULL, "The number of the rank.", NULL},
    {"ranks", (getter)transport_ranks, NULL, "How many ranks there are.", NULL},
    {"name", (getter)transport_name, NULL, "threads or mpi.", NULL},
    {"timeout", (getter)transport_timeout, (setter)transport_set_timeout,
     "Seconds after which a rank that waits in vain gives up.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot transport_slots[] = {
    {Py_tp_dealloc, (void *)transport_dealloc},
    {Py_tp_methods, transport_methods},
    {Py_tp_getset, transport_properties},
    {0, NULL},
};

PyType_Spec transport_spec = {
    .name = "contactsolve._core.Transport",
    .basicsize = sizeof(transport_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = transport_slots,
};

static PyMethodDef exchange_methods[] = {
    {"begin", (PyCFunction)exchange_begin, METH_NOARGS, "begin()\n--\n\nSends."},
    {"end", (PyCFunction)exchange_end, METH_NOARGS,
     "end()\n--\n\nWaits until all messages have arrived."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot exchange_slots[] = {
    {Py_tp_new, (void *)exchange_new},
    {Py_tp_dealloc, (void *)exchange_dealloc},
    {Py_tp_methods, exchange_methods},
    {0, NULL},
};

PyType_Spec exchange_spec = {
    .name = "contactsolve._core.Exchange",
    .basicsize = sizeof(exchange_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = exchange_slots,
};

static PyMethodDef team_methods[] = {
    {"abort", (PyCFunction)team_abort, METH_VARARGS,
     "abort(message)\n--\n\nBreaks the transports of all ranks, from any thread."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot team_slots[] = {
    {Py_tp_dealloc, (void *)team_dealloc},
    {Py_tp_methods, team_methods},
    {0, NULL},
};

PyType_Spec team_spec = {
    .name = "contactsolve._core.Team",
    .basicsize = sizeof(team_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = team_slots,
};
