/* _core.Transport, _core.Exchange and _core.Team, for the files of their methods and for whoever solves on ranks. */
#ifndef CS_PYTHON_TRANSPORT_OBJECTS_H
#define CS_PYTHON_TRANSPORT_OBJECTS_H

#include "python/core.h"
#include "transport/mpi.h"
#include "transport/threads.h"

extern PyType_Spec transport_spec, exchange_spec, team_spec;

typedef struct transport_object {
    PyObject_HEAD
    cs_transport *transport;
    PyObject *bridge; /* to mpi4py; NULL: ranks are threads */
    atomic_flag busy; /* set while a thread uses it */
} transport_object;

typedef struct exchange_object {
    PyObject_HEAD
    transport_object *transport;
    cs_exchange *exchange;
    PyObject *what;
    Py_buffer *buffer; /* (buffers) */
    Py_ssize_t buffers;
} exchange_object;

typedef struct team_object {
    PyObject_HEAD
    cs_team *team;
} team_object;

/* Takes a transport for calls of this thread; -1 with an error set if another thread uses it. While the GIL is
 * released, a rank that waits asks for signals. */
int transport_begin(transport_object *self);
void transport_end(transport_object *self);

/* A new object that owns `transport`, or destroys it if there is no memory. bridge: see above. */
PyObject *new_transport(PyTypeObject *type, cs_transport *transport, PyObject *bridge);

/* transport_team(ranks, timeout) -> (Team, [Transport, ...]), ranks that are threads
 * transport_mpi(bridge, rank, ranks, MPI_Startall, MPI_Testall, request bytes, status bytes, timeout)
 *     -> Transport of this process (python/transport_mpi.c)
 * exchange_cost(transport, bytes, count, pause) -> mean seconds of an exchange of each rank with its partner
 * exchange_work(bytes, count) -> mean seconds that a rank works for an exchange between threads */
PyObject *core_transport_team(PyObject *module, PyObject *args);
PyObject *core_transport_mpi(PyObject *module, PyObject *args);
PyObject *core_exchange_cost(PyObject *module, PyObject *args);
PyObject *core_exchange_work(PyObject *module, PyObject *args);

#endif
