"""Collective work: errors that all ranks raise, rows that travel, tables spread over ranks.

All ranks call each function here, in the same order.
"""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

__all__ = [
    "Communicator",
    "FoundError",
    "Spread",
    "deliver",
    "fetch",
    "owner_of_part",
    "range_of",
    "require_alike",
    "require_equal",
    "together",
    "together_alike",
    "widened",
]

P = ParamSpec("P")
T = TypeVar("T")


class Communicator(Protocol):
    """What the set-up of a distributed problem needs of a communicator; mpi4py's have it, too."""

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""

    @property
    def size(self) -> int:
        """The number of ranks."""

    def allgather(self, value: Any, /) -> list[Any]:
        """Return the values of all ranks, by rank."""

    def alltoall(self, values: Sequence[Any], /) -> Sequence[Any]:
        """Send ``values[r]`` to rank r; return what each rank has sent to this one."""


# ---- errors -------------------------------------------------------------------------------------


class FoundError(ValueError):
    """Wrong input of other ranks, which this one has found; the message names them."""


def together(
    comm: Communicator, function: Callable[P, T], *args: P.args, **keywords: P.kwargs
) -> T:
    """Return the result of a function of this rank's data; an error of any rank is one of all.

    Parameters
    ----------
    comm
        Communicator.
    function
        Must not communicate.
    *args, **keywords
        Its arguments.

    Raises
    ------
    Exception
        On all ranks, of the lowest rank that failed: of its type if that is a built-in one, or
        else RuntimeError. The message begins with the rank, and is the original one of a
        `FoundError`, which becomes a ValueError.
    """
    result, _ = _together(comm, None, function, *args, **keywords)
    return result


def together_alike(
    comm: Communicator,
    what: dict[str, Any],
    function: Callable[P, T],
    *args: P.args,
    **keywords: P.kwargs,
) -> T:
    """Do what `together` and then `require_equal` do, in one message.

    Parameters
    ----------
    comm, function, *args, **keywords
        As for `together`.
    what
        As for `require_equal`.

    Raises
    ------
    Exception
        As for `together`.
    ValueError
        As for `require_equal`.
    """
    result, every = _together(comm, what, function, *args, **keywords)
    _require_equal(every)
    return result


def _together(
    comm: Communicator, value: Any, function: Callable[P, T], *args: P.args, **keywords: P.kwargs
) -> tuple[T, list[Any]]:
    """Do what `together` does; also return the values of all ranks."""
    failure: Exception | None = None
    try:
        result = function(*args, **keywords)
    except Exception as error:
        failure = error
    told = None if failure is None else (type(failure).__name__, str(failure))
    every = comm.allgather((told, value))
    for rank, (found, _) in enumerate(every):
        if found is not None:
            raise _error(rank, *found) from failure
    return result, [other for _, other in every]


def _error(rank: int, name: str, message: str) -> Exception:
    """Return the error of a rank, as all ranks raise it."""
    if name == FoundError.__name__:
        return ValueError(message)
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind, message = RuntimeError, f"{name}: {message}"
    try:
        return kind(f"rank {rank}: {message}")
    except TypeError:  # of an error that takes other arguments, as UnicodeDecodeError
        return RuntimeError(f"rank {rank}: {name}: {message}")


def require_equal(comm: Communicator, what: dict[str, Any]) -> None:
    """Raise ValueError on all ranks if a value differs between ranks.

    Parameters
    ----------
    comm
        Communicator.
    what
        Values by name; each is compared with that of rank 0. Messages show strings as they are, and
        others by `repr`.
    """
    _require_equal(comm.allgather(what))


def _require_equal(every: list[dict[str, Any]]) -> None:
    """Do what `require_equal` does with the values of all ranks."""
    for rank, other in enumerate(every):
        _require_names(rank, other, every[0])
        for name, value in every[0].items():
            if other[name] != value:
                raise ValueError(
                    f"{name} is {_shown(other[name])} on rank {rank} and {_shown(value)} on rank "
                    f"0: all ranks need the same"
                )


def _require_names(rank: int, names: dict[str, Any], first: dict[str, Any]) -> None:
    """Raise if a rank compares other values than rank 0."""
    differ = sorted(names.keys() ^ first.keys())
    if differ and names.keys() & first.keys():
        has, has_not = (rank, 0) if differ[0] in names else (0, rank)
        raise ValueError(
            f"{differ[0]} is given on rank {has} and not on rank {has_not}: all ranks need the same"
        )
    if differ:
        raise ValueError(
            f"rank {rank} makes another call than rank 0: it compares {', '.join(names)}, "
            f"rank 0 {', '.join(first)}"
        )


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def require_alike(comm: Communicator, arguments: dict[str, Any]) -> None:
    """Raise ValueError on all ranks if an argument of a call differs between ranks.

    Parameters
    ----------
    comm
        Communicator.
    arguments
        Arguments as the caller gave them, by name. Numbers, strings and arrays are compared by
        their values, other objects by their types.
    """
    # Arrays of one shape are described by a digest, and looked at only where it differs.
    described = {name: _described(value) for name, value in arguments.items()}
    every = comm.allgather(described)
    for name, ours in every[0].items():
        theirs = [other.get(name) for other in every]
        is_array = all(isinstance(one, tuple) and one[0] == ours[0] for one in theirs)
        if is_array and any(one != ours for one in theirs):
            _require_entries(comm, name, np.asarray(arguments[name]))
    require_equal(
        comm,
        {name: one[0] if isinstance(one, tuple) else one for name, one in described.items()},
    )


def _described(value: Any) -> str | tuple[str, str]:
    """Return a text of an argument, with a digest if it is an array."""
    if isinstance(value, (list, tuple, np.ndarray)):
        try:
            array = np.asarray(value)
        except ValueError:  # of lists of different lengths
            return repr(value)
        if array.dtype.kind in "biuf":
            digest = hashlib.sha256(array.astype(np.float64).tobytes()).hexdigest()
            return f"an array of shape {array.shape}", digest
        return repr(value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return f"an object of type {type(value).__name__}"


def _require_entries(comm: Communicator, name: str, array: np.ndarray) -> None:
    """Raise on all ranks for the first entry that differs from that of rank 0."""
    every = comm.allgather(array)
    for rank, other in enumerate(every):
        differ = np.argwhere((other != every[0]) & ~(np.isnan(other) & np.isnan(every[0])))
        if len(differ):
            at = tuple(differ[0])
            raise ValueError(
                f"{name}[{', '.join(map(str, at))}] is {other[at]} on rank {rank} and "
                f"{every[0][at]} on rank 0: all ranks need the same"
            )


# ---- rows that travel ---------------------------------------------------------------------------


def deliver(
    comm: Communicator, to: np.ndarray, arrays: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], np.ndarray]:
    """Send rows of arrays to ranks.

    Parameters
    ----------
    comm
        Communicator.
    to
        The rank to which each row goes, ``(n,)``.
    arrays
        ``(n, ...)`` each, with the same types and shapes of rows on all ranks.

    Returns
    -------
    list of np.ndarray
        The rows that came, by the rank that sent them, in its sequence.
    np.ndarray
        The rank that sent each row.
    """
    order = np.argsort(to, kind="stable")
    cuts = np.searchsorted(to[order], np.arange(comm.size + 1))
    pieces = [order[cuts[r] : cuts[r + 1]] for r in range(comm.size)]
    came = comm.alltoall([tuple(array[piece] for array in arrays) for piece in pieces])
    source = np.repeat(np.arange(comm.size), [len(rows[0]) for rows in came])
    return [np.concatenate(rows) for rows in zip(*came, strict=True)], source


class Spread:
    """Rows numbered from 0 that ranks hold in ranges: rank r those from ``n r / ranks`` on.

    Parameters
    ----------
    comm
        Communicator.
    count
        n, the number of rows on all ranks.
    """

    __slots__ = ("begin", "count", "end", "ranks")

    def __init__(self, comm: Communicator, count: int) -> None:
        self.count, self.ranks = count, comm.size
        self.begin, self.end = range_of(comm.rank, count, comm.size)

    def holder(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rank that holds each row."""
        return owner_of_part(numbers, max(self.count, 1), self.ranks)

    def ends(self) -> list[int]:
        """Return where the range of each rank ends."""
        return [range_of(r, self.count, self.ranks)[1] for r in range(self.ranks)]


def fetch(
    comm: Communicator, spread: Spread, arrays: Sequence[np.ndarray], numbers: np.ndarray
) -> list[np.ndarray]:
    """Return rows of a table that is spread over ranks.

    Parameters
    ----------
    comm
        Communicator.
    spread
        How the rows are spread.
    arrays
        This rank's rows of the table, ``(end - begin, ...)`` each.
    numbers
        Numbers of the rows that this rank wants, ``(n,)``, within the table.

    Returns
    -------
    list of np.ndarray
        These rows of each array, ``(n, ...)``.
    """
    # Questions go to the ranks that hold the rows, and answers back.
    holder = spread.holder(numbers)
    order = np.argsort(holder, kind="stable")
    cuts = np.searchsorted(holder[order], np.arange(comm.size + 1))
    asked = comm.alltoall([numbers[order[cuts[r] : cuts[r + 1]]] for r in range(comm.size)])
    answers = comm.alltoall(
        [tuple(array[rows - spread.begin] for array in arrays) for rows in asked]
    )

    # Each answer goes to the place of its question.
    found = []
    for came in zip(*answers, strict=True):
        joined = np.concatenate(came)
        placed = np.empty_like(joined)
        placed[order] = joined
        found.append(placed)
    return found


def widened(comm: Communicator, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return arrays of the width that each has on any rank, of zeros where this rank has none.

    Parameters
    ----------
    comm
        Communicator.
    arrays
        ``(n, width)`` or ``(n, 0)`` each, with the same widths on all ranks that have some.
    """
    every = comm.allgather([array.shape[1] for array in arrays])
    widths = [max(column) for column in zip(*every, strict=True)]
    return [
        array if array.shape[1] == width else np.zeros((len(array), width))
        for array, width in zip(arrays, widths, strict=True)
    ]


# ---- parts and ranks ----------------------------------------------------------------------------


def owner_of_part(part: Any, parts: int, ranks: int) -> Any:
    """Return the rank that owns a part, or those of several parts: the inverse of `range_of`."""
    return ((part + 1) * ranks - 1) // parts


def range_of(rank: int, count: int, ranks: int) -> tuple[int, int]:
    """Return the first of so many parts or rows that a rank has, and the one after its last."""
    return count * rank // ranks, count * (rank + 1) // ranks
