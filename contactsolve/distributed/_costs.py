"""What messages cost: the parameters of LogGP, measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from .._arrays import index
from ._comm import Communicator

__all__ = ["MessageCosts", "message_costs"]

# A pause in which messages arrive, in times of an exchange; runs of each kind, in turns.
_PAUSE, _RUNS = 20.0, 5


@dataclass(frozen=True)
class MessageCosts:
    """What messages cost, by the model LogGP.

    Attributes
    ----------
    overhead : float
        o: time that a rank works for a message that it sends and one that it receives [s].
    latency : float
        L: time from the end of that work to the arrival [s].
    gap : float
        G: time of each byte of a long message [s].
    """

    overhead: float
    latency: float
    gap: float

    def seconds(self, neighbours: float, largest: float) -> float:
        """Predict the time of an exchange.

        Parameters
        ----------
        neighbours : float
            Messages that a rank sends, and receives as many.
        largest : float
            Bytes of all that a rank sends.

        Returns
        -------
        float
            ``o neighbours + L + G largest`` [s]; 0 without neighbours.
        """
        if neighbours <= 0:
            return 0.0
        return neighbours * self.overhead + self.latency + largest * self.gap


def message_costs(comm: Communicator, count: int = 1000, large: int = 2**18) -> MessageCosts:
    """Measure what messages between pairs of ranks cost. Collective.

    Parameters
    ----------
    comm : Communicator
        Of two ranks at least; of an odd number the last one only watches.
    count : int, default 1000
        Exchanges of a run. There are five runs of each kind in turns; the least times count.
    large : int, default 2**18
        Bytes of a long message. A short one has 8.

    Returns
    -------
    MessageCosts
        Of the slowest rank, the same on all ranks.

    Raises
    ------
    ValueError
        If there is one rank only, or `count` or `large` is too small.
    TypeError
        If they are no integers.

    Notes
    -----
    Alexandrov, Ionescu, Schauser and Scheiman, "LogGP: incorporating long messages into the LogP
    model for parallel computation", J. Parallel Distrib. Comput. 44 (1997). An exchange without a
    pause takes o + L + G bytes; after a pause in which the messages arrive, o alone remains.
    """
    count, large = index("count", count), index("large", large)
    if comm.size < 2:
        raise ValueError("comm has one rank: messages need two at least")
    for name, value, least in (("count", count, 1), ("large", large, 1024)):
        if value < least:
            raise ValueError(f"{name} is {value}, but at least {least} is needed")
    short = 8
    cost = _core.exchange_cost
    quick = max(comm.allgather(cost(comm.transport, short, count)))
    runs = [
        (
            cost(comm.transport, short, count, _PAUSE * quick),
            cost(comm.transport, short, count),
            cost(comm.transport, large, max(1, count // 10)),
        )
        for _ in range(_RUNS)
    ]
    of_ranks = comm.allgather(np.min(runs, axis=0))
    alone, both, long = np.max(of_ranks, axis=0)
    return MessageCosts(
        overhead=float(alone),
        latency=float(max(0.0, both - alone)),
        gap=float(max(0.0, long - both) / (large - short)),
    )
