"""Communicators: what one rank says to the others while a distributed problem is set up."""

from __future__ import annotations

import os
import pickle
import platform
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from .. import _core
from .._options import count, number

__all__ = ["TIMEOUT", "Communicator", "RankError", "current", "run"]

T = TypeVar("T")

#: Seconds after which a rank that waits in vain gives up.
TIMEOUT = 600.0
# Seconds in which ranks have to end once one of them has failed.
_GRACE = 5.0


class RankError(ConnectionError):
    """Another rank has failed; the message names it and its error."""


class Communicator:
    """The messages of one rank to the others.

    All ranks call the collective methods in the same order. Values travel as pickles, so that what
    a rank receives is its own. A rank that waits in vain for `timeout` seconds gets a TimeoutError,
    and the others a `RankError`: so do all if one of them fails.

    Parameters
    ----------
    transport : _core.Transport
        Of this rank.

    Attributes
    ----------
    rank, size : int
        The number of this rank, from 0, and the number of ranks.
    cores : int
        The rank's share of the cores of its machine: at least 1.
    """

    def __init__(self, transport: _core.Transport) -> None:
        self.transport = transport
        self.rank = transport.rank
        self.size = transport.ranks
        #: Whether messages have failed for good.
        self.broken = False
        self.cores = max(1, len(_cores()) // self.size)
        self._cause: Callable[[], BaseException | None] = lambda: None

    def __repr__(self) -> str:
        return f"<Communicator: rank {self.rank} of {self.size}, {self.transport.name}>"

    @property
    def timeout(self) -> float:
        """Seconds after which a rank that waits in vain gives up."""
        return self.transport.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self.transport.timeout = seconds

    def allgather(self, value: Any) -> list[Any]:
        """Return the values of all ranks, by rank. Collective.

        Parameters
        ----------
        value
            Any object that can be pickled.

        Raises
        ------
        TimeoutError
            If a rank does not come in time.
        RankError
            If another rank has failed.
        """
        data = pickle.dumps(value, protocol=5)
        sizes = self._gather(np.int64(len(data)).tobytes(), np.full(self.size, 8))
        counts = np.frombuffer(sizes, np.int64)
        pieces = memoryview(self._gather(data, counts))
        ends = np.cumsum(counts)
        return [
            value if rank == self.rank else pickle.loads(pieces[end - count : end])
            for rank, (end, count) in enumerate(zip(ends, counts, strict=True))
        ]

    def alltoall(self, values: Sequence[Any]) -> list[Any]:
        """Send a value to each rank. Collective.

        Parameters
        ----------
        values
            ``values[r]`` goes to rank r; one for each rank.

        Returns
        -------
        list
            What each rank has sent to this one, by rank.

        Raises
        ------
        ValueError
            If there is not one value for each rank.
        TimeoutError, RankError
            See `allgather`.
        """
        if len(values) != self.size:
            raise ValueError(f"values has {len(values)} entries, but there are {self.size} ranks")
        nothing = pickle.dumps(None, protocol=5)
        sent = [
            b"" if rank == self.rank else pickle.dumps(value, protocol=5)
            for rank, value in enumerate(values)
        ]
        # None is frequent between ranks that are not neighbours: it needs no message.
        sent = [b"" if data == nothing else data for data in sent]
        mine = np.array([len(data) for data in sent], np.int64)
        every = np.frombuffer(
            self._gather(mine.tobytes(), np.full(self.size, mine.nbytes)), np.int64
        ).reshape(self.size, self.size)
        received = [bytearray(int(count)) for count in every[:, self.rank]]
        neighbours = [
            (rank, sent[rank] or None, received[rank] or None)
            for rank in range(self.size)
            if sent[rank] or received[rank]
        ]
        exchange = self._made(neighbours)
        self._try(exchange.begin)
        self._try(exchange.end)
        return [
            values[rank] if rank == self.rank else pickle.loads(data) if data else None
            for rank, data in enumerate(received)
        ]

    def bcast(self, value: Any, root: int = 0) -> Any:
        """Return the value of rank `root`; what other ranks give is ignored. Collective.

        Raises
        ------
        ValueError
            If there is no such rank.
        TimeoutError, RankError
            See `allgather`.
        """
        if not 0 <= root < self.size:
            raise ValueError(f"root is {root}, but ranks are 0 to {self.size - 1}")
        return self.allgather(value if self.rank == root else None)[root]

    def barrier(self) -> None:
        """Wait until all ranks have come. Collective.

        Raises
        ------
        TimeoutError, RankError
            See `allgather`.
        """
        self._try(self.transport.agree, None)

    def check(self) -> None:
        """Raise a `RankError` if another rank has failed; does not wait."""
        self._try(self.transport.check)

    def abort(self, error: BaseException | str) -> None:
        """Break the messages of all ranks: they raise a `RankError` with this rank and `error`.

        Of several causes the first one counts.
        """
        self.broken = True
        self.transport.abort(error if isinstance(error, str) else described(error))

    def traffic(self) -> dict[str, Any]:
        """Return what this rank has sent so far, and how long it has waited.

        Returns
        -------
        dict
            ``exchanges``, ``messages`` and ``bytes`` between neighbours; ``gathers``,
            ``gather_messages`` and ``gather_bytes`` of what all ranks get; ``waiting`` [s].
        """
        return self.transport.traffic()

    def _share_cores(self) -> None:
        """Divide each core among the ranks that may run on it. Collective."""
        machine, mine = platform.node(), _cores()
        users = Counter(
            core
            for node, cores in self.allgather((machine, mine))
            if node == machine
            for core in cores
        )
        self.cores = max(1, int(sum(1 / users[core] for core in mine) + 1e-9))

    def _gather(self, data: bytes, sizes: np.ndarray) -> bytes:
        return self._try(self.transport.gather, data, sizes.astype(np.int64))

    def _made(self, neighbours: list[tuple[int, Any, Any]]) -> _core.Exchange:
        return self._try(_core.Exchange, self.transport, "data of the set-up", neighbours)

    def _try(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function of the transport; the failure of another rank becomes a `RankError`."""
        try:
            return function(*arguments)
        except ConnectionError as error:
            self.broken = True
            raise RankError(str(error)) from self._cause()
        except (TimeoutError, KeyboardInterrupt):
            self.broken = True
            raise


def _cores() -> list[int]:
    """Return the cores on which this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def check_timeout(timeout: float) -> None:
    """Raise unless a timeout is a number above zero."""
    if not number("timeout", timeout) > 0:
        raise ValueError(f"timeout is {timeout}, but a number above zero is needed")


def described(error: BaseException) -> str:
    """Return ``ValueError: text``."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


# ---- ranks that are threads ---------------------------------------------------------------------

_here = threading.local()


def current() -> Communicator | None:
    """Return the communicator of the rank that runs on this thread, or None outside of `run`."""
    return getattr(_here, "communicator", None)


class _Job:
    """Ranks that are threads, and what became of each."""

    def __init__(self, ranks: int, timeout: float) -> None:
        self.team, transports = _core.transport_team(ranks, timeout)
        self.communicators = [Communicator(transport) for transport in transports]
        for each in self.communicators:
            each._cause = lambda: self.first
        self.results: list[Any] = [None] * ranks
        self.errors: dict[int, BaseException] = {}
        self.first: BaseException | None = None
        self.failed, self.ended = threading.Event(), threading.Event()
        # The states of Python's threads are not to be trusted after a join was interrupted.
        self.running: set[int] = set()
        self._lock = threading.Lock()

    def work(self, rank: int, function: Callable[..., Any], arguments: Any, keywords: Any) -> None:
        """Run the function of one rank."""
        communicator = _here.communicator = self.communicators[rank]
        try:
            self.results[rank] = function(communicator, *arguments, **keywords)
        except BaseException as error:  # raised again by the caller's thread
            self.fail(rank, error)
        finally:
            _here.communicator = None
            communicator.transport.leave()
            self.running.discard(rank)
            self.ended.set()

    def start(self, function: Callable[..., Any], arguments: Any, keywords: Any) -> None:
        """Start the threads of all ranks."""
        for rank in range(len(self.results)):
            self.running.add(rank)
            try:
                threading.Thread(
                    target=self.work,
                    args=(rank, function, arguments, keywords),
                    name=f"rank {rank}",
                    daemon=True,  # one that does not end must not keep the process
                ).start()
            except RuntimeError:  # the system has no more threads
                self.running.discard(rank)
                raise

    def fail(self, rank: int, error: BaseException) -> None:
        """Note the error of one rank, and end the others."""
        with self._lock:
            self.errors[rank] = error
            if self.first is None:
                self.first = error
        self.team.abort(f"rank {rank}: {described(error)}")
        self.failed.set()

    def cause(self) -> BaseException:
        """Return the error of the lowest rank that failed by itself."""
        own = [rank for rank in sorted(self.errors) if not isinstance(self.errors[rank], RankError)]
        rank = own[0] if own else min(self.errors)
        error = self.errors[rank]
        error.add_note(f"on rank {rank} of {len(self.results)}")
        return error

    def wait(self) -> None:
        """Wait for all ranks; for `_GRACE` seconds only once one has failed."""
        deadline = None
        while True:
            self.ended.clear()
            if not self.running:
                return
            if self.failed.is_set():
                deadline = deadline or monotonic() + _GRACE
                if monotonic() > deadline:
                    return
            self.ended.wait(0.05)


def run(
    function: Callable[..., T],
    ranks: int,
    *arguments: Any,
    timeout: float = TIMEOUT,
    **keywords: Any,
) -> list[T]:
    """Run a function on ranks that are threads of this process.

    For tests, notebooks, and to see what a problem on many ranks would do. Ranks share the
    processors; each has messages, a problem and a solver of its own, as ranks under MPI have.

    Parameters
    ----------
    function : callable
        ``function(communicator, *arguments, **keywords)``. Within it, ``comm=None`` is this
        communicator.
    ranks : int
        How many, at least 1.
    *arguments, **keywords
        Passed to the function.
    timeout : float, default 600
        Seconds after which a rank that waits for a message in vain gives up.

    Returns
    -------
    list
        What the function has returned, by rank.

    Raises
    ------
    ValueError, TypeError
        If `ranks` or `timeout` is no such number, or this build has no threads.
    Exception
        The error of the lowest rank that fails by itself. The messages of all others then end with
        a `RankError`; a rank that does not end within 5 s is left alone.
    KeyboardInterrupt
        On Ctrl-C, likewise.

    Examples
    --------
    >>> import contactsolve as cs
    >>> cs.distributed.run(lambda comm: comm.allgather(comm.rank), 2)
    [[0, 1], [0, 1]]
    """
    check_timeout(timeout)
    job = _Job(count("ranks", ranks, 1, 65536), timeout)
    try:
        job.start(function, arguments, keywords)
        job.wait()
    except BaseException as error:
        job.team.abort(described(error))
        job.failed.set()
        job.wait()
        raise
    finally:
        for each in job.communicators:
            each._cause = lambda: None  # no cycle of references
    if job.errors:
        raise job.cause()
    return job.results
