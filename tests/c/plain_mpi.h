/* Persistent requests as those of MPI, between threads of one process: what csrc/transport/mpi.c needs, without MPI.
 *
 * A message that is sent is copied into a list; a test takes the oldest one that fits. */
#ifndef PLAIN_MPI_H
#define PLAIN_MPI_H

#include "transport/mpi.h"

/* Begins a job of so many ranks, and ends it; what was sent and never received is dropped. */
void plain_mpi_begin(int ranks);
void plain_mpi_end(void);

/* The transport of one rank of the job. */
cs_status plain_mpi_make(cs_transport **transport, int rank, double timeout, cs_error *error);

/* The call of MPI_Startall after so many others fails; -1: none. */
void plain_mpi_fail_after(int calls);

#endif
