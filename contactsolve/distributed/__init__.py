"""One problem on many ranks: threads of this process, or processes under MPI."""

from ._comm import Communicator, RankError, run
from ._costs import MessageCosts, message_costs
from ._mpi import communicator

__all__ = ["Communicator", "MessageCosts", "RankError", "communicator", "message_costs", "run"]
