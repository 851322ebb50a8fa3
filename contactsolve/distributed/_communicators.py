"""The communicator that the argument `comm` of a problem stands for."""

from __future__ import annotations

import os
import sys
from typing import Any

from contactsolve import _core
from contactsolve.distributed._collective import Communicator
from contactsolve.distributed._comm import TIMEOUT, current
from contactsolve.distributed._comm import Communicator as OwnCommunicator
from contactsolve.distributed._mpi import communicator as of_mpi

__all__ = ["alone", "communicator"]

# What programs that start the processes of MPI leave in the environment of each.
_STARTED = (
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "PMIX_RANK",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_SIZE",
)


def communicator(comm: Any = None) -> Communicator:
    """Return the communicator of an argument.

    Parameters
    ----------
    comm
        None: the one of the rank that runs on this thread, within `contactsolve.distributed.run`;
        all processes, where MPI has started them; and this process alone elsewhere. Others as for
        `contactsolve.distributed.communicator`, or an object with `rank`, `size`, `allgather` and
        `alltoall`.

    Raises
    ------
    ImportError
        MPI has started this process, and mpi4py is not installed.
    TypeError
        It has not what a communicator needs.
    """
    if comm is None:
        here = current()
        if here is not None:
            return here
        if "mpi4py.MPI" in sys.modules or any(name in os.environ for name in _STARTED):
            return of_mpi()
        return alone()
    if type(comm).__module__.partition(".")[0] == "mpi4py":
        return of_mpi(comm)
    for name in ("rank", "size", "allgather", "alltoall"):
        if not hasattr(comm, name):
            raise TypeError(
                f"comm is {comm!r}, which has no {name}: a communicator of mpi4py or of "
                f"contactsolve.distributed.run is needed"
            )
    return comm


def alone() -> OwnCommunicator:
    """Return the communicator of one rank that is this process."""
    _, (transport,) = _core.transport_team(1, TIMEOUT)
    return OwnCommunicator(transport)
