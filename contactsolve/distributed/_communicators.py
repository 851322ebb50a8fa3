"""The communicator of a process by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contactsolve.distributed._collective import Communicator

__all__ = ["Alone", "communicator"]


class Alone:
    """One rank."""

    rank, size = 0, 1

    def allgather(self, value: Any, /) -> list[Any]:
        """Return the value in a list."""
        return [value]

    def alltoall(self, values: Sequence[Any], /) -> list[Any]:
        """Return the value for this rank in a list."""
        return list(values)


def communicator(comm: Communicator | None) -> Communicator:
    """Return the communicator of an argument; None is this process alone.

    Raises
    ------
    TypeError
        It has not what a communicator needs.
    """
    if comm is None:
        return Alone()
    for name in ("rank", "size", "allgather", "alltoall"):
        if not hasattr(comm, name):
            raise TypeError(
                f"comm is {comm!r}, which has no {name}: a communicator of mpi4py or of "
                f"contactsolve.distributed.run is needed"
            )
    return comm
