"""Ranks that are threads of this process, for tests of what ranks do together at set-up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

SECONDS = 30  # after which a test gives up


class Ranks:
    """What the communicators of one run share: a place for the message of each pair of ranks."""

    def __init__(self, size: int) -> None:
        self.size, self.barrier = size, threading.Barrier(size)
        self.box: list[list[Any]] = [[None] * size for _ in range(size)]


class Rank:
    """The communicator of one rank."""

    def __init__(self, shared: Ranks, rank: int) -> None:
        self.shared, self.rank, self.size = shared, rank, shared.size
        self.calls: list[str] = []

    def alltoall(self, values: list[Any], /) -> list[Any]:
        """Send ``values[r]`` to rank r."""
        self.calls.append("alltoall")
        return self._exchanged(values)

    def allgather(self, value: Any, /) -> list[Any]:
        """Send a value to all ranks."""
        self.calls.append("allgather")
        return self._exchanged([value] * self.size)

    def _exchanged(self, values: list[Any]) -> list[Any]:
        assert len(values) == self.size
        self.shared.box[self.rank] = list(values)
        self.shared.barrier.wait(SECONDS)
        came = [row[self.rank] for row in self.shared.box]
        self.shared.barrier.wait(SECONDS)
        return came


def on_ranks(size: int, function: Callable[..., Any], *args: Any) -> list[Any]:
    """Return what a function of a communicator returns on each rank.

    If ranks raise, all have to, and the list of errors is raised as `RanksError`.
    """
    shared = Ranks(size)
    comms = [Rank(shared, rank) for rank in range(size)]
    results: list[Any] = [None] * size
    errors: list[BaseException | None] = [None] * size

    def work(rank: int) -> None:
        try:
            results[rank] = function(comms[rank], *args)
        except BaseException as error:
            errors[rank] = error
            shared.barrier.abort() if isinstance(error, AssertionError) else None

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if any(errors):
        raise RanksError(errors)
    # Ranks made the same collective calls.
    assert len({tuple(comm.calls) for comm in comms}) == 1
    return results


class RanksError(Exception):
    """The errors of all ranks, None for those without."""

    def __init__(self, errors: list[BaseException | None]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{type(one).__name__}: {one}" for one in errors if one))


def refused(size: int, function: Callable[..., Any], *args: Any) -> Exception:
    """Return the error that all ranks raise, which is the same on each."""
    with pytest.raises(RanksError) as caught:
        on_ranks(size, function, *args)
    errors = caught.value.errors
    texts = {(type(one), str(one)) for one in errors}
    assert len(texts) == 1, texts
    assert isinstance(errors[0], Exception), errors
    return errors[0]
