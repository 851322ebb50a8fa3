"""Ranks that are processes under MPI, through mpi4py."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import sys
from time import monotonic, sleep
from types import TracebackType
from typing import Any

from .. import _core
from .._optional import optional
from ._comm import TIMEOUT, Communicator, check_timeout, current, described

__all__ = ["communicator"]

# Seconds in which other ranks have to end once messages have failed, before MPI ends them.
_GRACE = 2.0
# Seconds in which the launcher forwards what a rank has written; an abort may end it at once.
_FORWARDING = 1.0
# Of messages that say that a rank aborts; exchanges have the others.
_ALARM_TAG = 0


class _Bridge:
    """Makes and frees persistent requests, for the C library (``csrc/python/transport_mpi.c``)."""

    def __init__(self, mpi: Any, comm: Any) -> None:
        self.mpi, self.comm = mpi, comm
        self.request_bytes = mpi._sizeof(mpi.Request)
        self.status_bytes = mpi._sizeof(mpi.Status)
        self.tags = comm.Get_attr(mpi.TAG_UB) or 32767

    def connect(
        self, number: int, neighbours: list[tuple[int, int, int, int, int]]
    ) -> tuple[Any, int, bytes]:
        """Make the requests of an exchange: receives first."""
        tag = _ALARM_TAG + 1 + number % self.tags
        receives = [
            self._request(self.comm.Recv_init, place, size, rank, tag)
            for rank, _, _, place, size in neighbours
            if size
        ]
        sends = [
            self._request(self.comm.Send_init, place, size, rank, tag)
            for rank, place, size, _, _ in neighbours
            if size
        ]
        return self._packed(receives, sends)

    def connect_alarm(self, send: int, receive: int, size: int) -> tuple[Any, int, bytes]:
        """Make one request that hears any rank, and one for each other rank."""
        hears = self._request(self.comm.Recv_init, receive, size, self.mpi.ANY_SOURCE, _ALARM_TAG)
        tells = [
            self._request(self.comm.Send_init, send, size, rank, _ALARM_TAG)
            for rank in range(self.comm.size)
            if rank != self.comm.rank
        ]
        return self._packed([hears], tells)

    def disconnect(self, handle: tuple[list[Any], list[Any]], running: int) -> None:
        """Free requests; receives that may be under way are cancelled."""
        if self.mpi.Is_finalized():
            return
        receives, sends = handle
        for request in receives if running else ():
            try:
                request.Cancel()
                request.Wait()
            except self.mpi.Exception:
                pass  # it was not under way
        for request in (*receives, *sends):
            request.Free()

    def _request(self, make: Any, place: int, size: int, rank: int, tag: int) -> Any:
        memory = self.mpi.buffer.fromaddress(place, size)
        return make([memory, self.mpi.BYTE], rank, tag)

    def _packed(self, receives: list[Any], sends: list[Any]) -> tuple[Any, int, bytes]:
        requests = [*receives, *sends]
        handles = b"".join(
            ctypes.string_at(self.mpi._addressof(request), self.request_bytes)
            for request in requests
        )
        return (receives, sends), len(requests), handles


def _addresses(mpi: Any) -> tuple[int, int]:
    """Return the addresses of MPI_Startall and MPI_Testall in the library that mpi4py uses."""
    library = ctypes.CDLL(mpi.__file__)
    both = (library.MPI_Startall, library.MPI_Testall)
    first, second = (ctypes.cast(function, ctypes.c_void_p).value for function in both)
    assert first is not None
    assert second is not None
    return first, second


# ---- the end of a job ---------------------------------------------------------------------------

_made: list[tuple[Communicator, Any]] = []


def _end() -> None:
    """End the job if messages have failed, and ranks do not come to an end by themselves.

    MPI_Finalize waits for all ranks, so that one that hangs would keep the others for ever.
    """
    broken = [comm for communicator, comm in _made if communicator.broken]
    for each, _ in _made:
        with contextlib.suppress(RuntimeError):  # another thread still uses it
            each.transport.leave()
    if not broken:
        return
    mpi = optional("mpi4py.MPI", "this needs")
    all_ended = broken[0].Ibarrier()
    deadline = monotonic() + _GRACE
    while not all_ended.Test():
        if monotonic() > deadline:
            sys.stderr.flush()
            mpi.COMM_WORLD.Abort(1)
        sleep(0.01)


def _tell_others(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Tell other ranks of an exception that ends this process."""
    for each, _ in _made:
        if not each.broken:
            each.abort(described(error))
    _earlier_hook(kind, error, trace)


_earlier_hook = sys.excepthook


def _watch_the_end() -> None:
    global _earlier_hook
    _earlier_hook = sys.excepthook
    sys.excepthook = _tell_others
    atexit.register(_end)


# ---- communicators ------------------------------------------------------------------------------


def _duplicate(mpi: Any, comm: Any, timeout: float) -> Any:
    """Return a communicator of the same ranks, whose messages meet no others."""
    own, request = comm.Idup()
    deadline = monotonic() + timeout
    while not request.Test():
        if monotonic() > deadline:
            sys.stderr.write(
                f"rank {comm.rank} has waited {timeout:g} s for the other ranks to make a "
                "communicator of contactsolve\n"
            )
            sys.stderr.flush()
            sleep(_FORWARDING)
            comm.Abort(1)
        sleep(0.001)
    own.Set_errhandler(mpi.ERRORS_RETURN)
    return own


def communicator(comm: Any = None, timeout: float | None = None) -> Communicator:
    """Return the communicator of this rank. Collective at the first call for `comm`.

    Parameters
    ----------
    comm : None, Communicator or mpi4py.MPI.Comm
        None: the one of the rank that runs on this thread, within `run`; elsewhere all processes
        that MPI has started. One of mpi4py is duplicated, so that messages of others do not
        interfere.
    timeout : float, optional
        Seconds after which a rank that waits for a message in vain gives up. Default: as it was,
        600 at first.

    Returns
    -------
    Communicator

    Raises
    ------
    ImportError
        If mpi4py is needed and cannot be imported.
    TypeError
        If `comm` is none of these, or `timeout` is no number.
    ValueError
        If `comm` has no ranks that send to each other, or `timeout` is not above zero.

    Notes
    -----
    An exception that ends one process ends the job: the others raise a `RankError` that names it,
    or MPI ends them if they have not ended after 2 s. A process that ends without one, as by
    ``sys.exit``, while others need its messages, is noticed as one that does not come: after
    `timeout` seconds.
    """
    if timeout is not None:
        check_timeout(timeout)
    found = comm if isinstance(comm, Communicator) else current() if comm is None else None
    if found is None:
        found = _of_mpi(comm, TIMEOUT if timeout is None else timeout)
    if timeout is not None:
        found.timeout = timeout
    return found


def _of_mpi(comm: Any, timeout: float) -> Communicator:
    mpi = optional("mpi4py.MPI", "ranks that are processes need")
    given = mpi.COMM_WORLD if comm is None else comm
    if not isinstance(given, mpi.Comm):
        raise TypeError(f"comm: a communicator is needed, not {type(given).__name__}")
    if given == mpi.COMM_NULL or not isinstance(given, mpi.Intracomm):
        raise ValueError("comm: its ranks do not send messages to each other")
    for made, own in _made:
        if mpi.Comm.Compare(own, given) in (mpi.IDENT, mpi.CONGRUENT) and not made.broken:
            return made
    own = _duplicate(mpi, given, timeout)
    bridge = _Bridge(mpi, own)
    transport = _core.transport_mpi(
        bridge,
        own.rank,
        own.size,
        *_addresses(mpi),
        bridge.request_bytes,
        bridge.status_bytes,
        timeout,
    )
    made = Communicator(transport)
    made._share_cores()
    if not _made:
        _watch_the_end()
    _made.append((made, own))
    return made
