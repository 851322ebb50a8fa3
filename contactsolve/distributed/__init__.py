"""One problem on many ranks: threads of this process, or processes under MPI.

>>> import contactsolve as cs
>>> problem = cs.distributed.scenario("ball_grid", shape=4, velocity=0.5, parts=8)
>>> problem.parts
8
"""

from ._comm import Communicator, RankError, run
from ._costs import MessageCosts, message_costs
from ._make import read, scatter, scenario
from ._mpi import communicator
from .problem import Problem
from .solver import Result, Solver, solve

__all__ = [
    "Communicator",
    "MessageCosts",
    "Problem",
    "RankError",
    "Result",
    "Solver",
    "communicator",
    "message_costs",
    "read",
    "run",
    "scatter",
    "scenario",
    "solve",
]
