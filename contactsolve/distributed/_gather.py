"""The whole problem, or values of all of its contacts, on one rank or on all."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactsolve._layout import join
from contactsolve.distributed._collective import Communicator
from contactsolve.distributed._given import BodyRows, ContactRows, local_problem
from contactsolve.distributed._ranges import ranges_of, spread_rows
from contactsolve.distributed._share import Share
from contactsolve.problem import Problem

__all__ = ["gathered_labels", "gathered_problem", "gathered_rows"]


def _everything(comm: Communicator, root: int | None, own: Any) -> list[Any] | None:
    """Return what all ranks have, on one rank or on all; None on the others."""
    if root is None:
        return comm.allgather(own)
    came = comm.alltoall([own if rank == root else None for rank in range(comm.size)])
    return list(came) if comm.rank == root else None


def _joined(kind: type, ranges: tuple[Any, ...]) -> Any:
    """Return the rows of a group from the ranges of all ranks."""
    return kind(*(np.concatenate(arrays) for arrays in zip(*ranges, strict=True)))


def gathered_problem(share: Share, root: int | None, name: str) -> Problem | None:
    """Return the whole problem; see `Problem.gather`."""
    own = ranges_of(share)
    every = _everything(share.comm, root, (own.contacts, own.bodies))
    if every is None:
        return None
    contacts = [_joined(ContactRows, rows) for rows in zip(*(c for c, _ in every), strict=True)]
    bodies = [_joined(BodyRows, rows) for rows in zip(*(b for _, b in every), strict=True)]
    return local_problem(share.structure, contacts, [rows.inverse_mass for rows in bodies], name)


def gathered_labels(share: Share, root: int | None) -> np.ndarray | None:
    """Return the labels of all bodies; see `Problem.gather_labels`."""
    moves = share.owns_body
    every = _everything(share.comm, root, (share.body[moves], share.label[moves]))
    if every is None:
        return None
    labels = np.zeros(share.all_bodies, np.int64)
    for numbers, label in every:
        labels[numbers] = label
    return labels


def gathered_rows(share: Share, values: Any, root: int | None) -> Any:
    """Return rows of all contacts; see `Problem.gather_rows`."""
    problem = share.problem
    own = spread_rows(share, problem_rows(problem, values))
    every = _everything(share.comm, root, own)
    if every is None:
        return None
    found = [np.concatenate(ranges) for ranges in zip(*every, strict=True)]
    return found if problem.grouped else found[0]


def problem_rows(problem: Problem, values: Any) -> list[np.ndarray]:
    """Return values of the rows of a problem as one array ``(K, m)`` for each group."""
    flat = join(problem._groups, problem.grouped, "values", values)
    sizes = [layout.contacts * layout.rows for layout in problem._groups]
    parts = np.split(flat, np.cumsum(sizes)[:-1]) if sizes else []
    return [part.reshape(x.shape) for part, x in zip(parts, problem._groups, strict=True)]
