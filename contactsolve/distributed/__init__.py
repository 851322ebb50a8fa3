"""One problem on many ranks: threads of this process, or processes under MPI."""

from ._comm import Communicator, RankError, run
from ._mpi import communicator

__all__ = ["Communicator", "RankError", "communicator", "run"]
