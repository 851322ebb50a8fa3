/* Ranks that are processes under MPI, without a header of MPI: its handles differ from library to library. Python's
 * mpi4py makes a persistent request for each message of an exchange (MPI standard, section "Persistent
 * communication requests"), and this file starts and tests them by the addresses of two functions:
 *
 *     cs_exchange_make  ──► connect: MPI_Send_init, MPI_Recv_init in Python ──► requests, as bytes
 *     cs_exchange_begin ──► MPI_Startall        cs_exchange_end ──► MPI_Testall until all are complete
 *
 * A rank that aborts sends each of the others a message, for which each has started a request. */
#ifndef CS_TRANSPORT_MPI_H
#define CS_TRANSPORT_MPI_H

#include "transport/transport.h"

/* Persistent requests: receives first, then sends, without gaps. */
typedef struct cs_mpi_requests {
    int count;
    void *request; /* (count) handles of cs_mpi.request_bytes each */
    void *handle;  /* of the bridge */
} cs_mpi_requests;

/* Whoever knows MPI. */
typedef struct cs_mpi {
    int (*startall)(int count, void *requests);
    int (*testall)(int count, void *requests, int *flag, void *statuses);
    int64_t request_bytes, status_bytes; /* of MPI_Request and MPI_Status */

    /* Makes the requests of an exchange, one for each message that has bytes; `number` tells exchanges apart. */
    cs_status (*connect)(void *context, int64_t number, const cs_neighbour *neighbour,
                         int64_t count, cs_mpi_requests *requests, cs_error *error);
    /* Makes those of aborts: one that receives `bytes` from any rank, then one to each other rank. */
    cs_status (*connect_alarm)(void *context, const void *send, void *receive, int64_t bytes,
                               cs_mpi_requests *requests, cs_error *error);
    /* Frees requests. running: they may be under way; then the receives are cancelled, so that nothing is written
     * later. */
    void (*disconnect)(void *context, cs_mpi_requests *requests, int running);
    void *context;
} cs_mpi;

/* Makes the transport of this process; mpi is copied. timeout [s]. */
cs_status cs_mpi_make(cs_transport **transport, const cs_mpi *mpi, int rank, int ranks,
                      double timeout, cs_error *error);

#endif
