/* The share and the transport of a _core.Solver that is one of several ranks. */
#ifndef CS_PYTHON_RANK_ARGUMENTS_H
#define CS_PYTHON_RANK_ARGUMENTS_H

#include "python/deferred.h"

struct cs_transport;

/* Reads a dict by the names of cs_share, with arrays of int64 of the right lengths, and a _core.Transport; None for both: the
 * problem is on one rank. Returns -1 with an error set; the caller releases the references in either case. */
int read_rank_arguments(rank_arguments *rank, const cs_problem *problem, PyObject *share,
                        PyObject *transport, PyTypeObject *transport_type);

struct cs_transport *rank_transport(const rank_arguments *rank);

/* Takes the transport for calls of this thread, if there is one; -1 with an error set if another thread uses it. */
int rank_begin(rank_arguments *rank);
void rank_end(rank_arguments *rank);

/* -1 with an error set if the messages between ranks are broken: another rank has failed. Does not wait. With the GIL. */
int rank_check(const rank_arguments *rank);

/* Tells the other ranks of a failure that they do not know: the Python error that is set, or else `error`. With the GIL. */
void rank_abort(rank_arguments *rank, const cs_error *error);

#endif
