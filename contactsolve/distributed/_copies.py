"""Copies of values of contacts that several ranks have: those of one contact are equal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from contactsolve._arrays import shortest
from contactsolve.distributed._collective import FoundError, deliver, together
from contactsolve.distributed._gather import problem_rows
from contactsolve.distributed._share import Share

__all__ = ["compare_copies", "require_equal_copies"]


def _copies(
    share: Share, visitor: np.ndarray, values: list[np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield, for each group, what other ranks have of this rank's contacts. All ranks call this.

    That is the contacts' numbers, the rows here, the rows there and the other ranks.
    """
    comm, first = share.comm, 0
    for rows in values:
        end = first + len(rows)
        number, owner = share.contact[first:end], visitor[first:end]
        copies = np.flatnonzero(owner != comm.rank)
        (numbers, theirs), senders = deliver(comm, owner[copies], [number[copies], rows[copies]])
        ours = rows[np.searchsorted(number, numbers)] if len(numbers) else theirs
        yield numbers, ours, theirs, senders
        first = end


def require_equal_copies(
    share: Share, visitor: np.ndarray, name: str, values: list[np.ndarray]
) -> None:
    """Raise on all ranks if ranks give different values of one contact. All ranks call this.

    Parameters
    ----------
    share
        The rank's share.
    visitor
        The rank to which each contact belongs, ``(K,)``.
    name
        What the values are, for the message.
    values
        ``(n, q)`` for each group, of the share's contacts. NaN are not compared.

    Raises
    ------
    ValueError
        On all ranks, with the contact and the two ranks.
    """
    comm, problem = share.comm, ""
    for numbers, ours, theirs, senders in _copies(share, visitor, values):
        differ = np.argwhere((ours != theirs) & ~np.isnan(ours) & ~np.isnan(theirs))
        if len(differ) and not problem:
            i, column = differ[0]
            problem = (
                f"{name}: entry {column} of contact {numbers[i]} is "
                f"{shortest(ours[i, column])} on rank {comm.rank} and "
                f"{shortest(theirs[i, column])} on rank {senders[i]}: all ranks that have the "
                f"contact need the same (problem.share_rows takes the rows of each)"
            )

    def report() -> None:
        if problem:
            raise FoundError(problem)

    together(comm, report)


def compare_copies(share: Share, visitor: np.ndarray, impulses: Any) -> None:
    """Compare all copies of impulses of contacts that several ranks have. All ranks call this.

    Parameters
    ----------
    share
        The rank's share.
    visitor
        The rank to which each contact belongs, ``(K,)``.
    impulses
        ``(K, m)`` of the share's contacts, or a list for each group.

    Raises
    ------
    ArithmeticError
        On all ranks: some copy has other bits. The message names the contact and the ranks.
    """
    different = None
    bits = [rows.view(np.int64) for rows in problem_rows(share.problem, impulses)]
    for numbers, ours, theirs, senders in _copies(share, visitor, bits):
        for i in np.flatnonzero((ours != theirs).any(axis=1))[:1]:
            values = [array[i].view(np.float64).tolist() for array in (ours, theirs)]
            different = different or (numbers[i], values[0], senders[i], values[1])

    def report() -> None:
        if different is not None:
            contact, mine, other, its = different
            raise ArithmeticError(
                f"contact {contact} has the impulses {mine} here, and {its} on rank {other}"
            )

    together(share.comm, report)
