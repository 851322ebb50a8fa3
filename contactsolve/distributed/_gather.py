"""The whole problem, or values of all of its contacts, on one rank or on all."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactsolve._arrays import real_array
from contactsolve._layout import join
from contactsolve.distributed._collective import Communicator, together
from contactsolve.distributed._given import BodyRows, ContactRows, local_problem
from contactsolve.distributed._ranges import ranges_of, rows_by_group, spread_rows
from contactsolve.distributed._share import Share, ids_by_group
from contactsolve.problem import Problem

__all__ = [
    "gathered_contacts",
    "gathered_labels",
    "gathered_problem",
    "gathered_rows",
    "problem_rows",
    "rows_of_share",
]


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
    own = spread_rows(share, together(share.comm, problem_rows, problem, values))
    every = _everything(share.comm, root, own)
    if every is None:
        return None
    found = [np.concatenate(ranges) for ranges in zip(*every, strict=True)]
    return found if problem.grouped else found[0]


def gathered_contacts(
    share: Share, values: list[np.ndarray], root: int | None
) -> list[np.ndarray] | None:
    """Return numbers of all contacts, ``(K,)`` for each group, from those of the share.

    A group without numbers, ``(0,)``, has none in the result.
    """
    sizes = [layout.contacts for layout in share.problem._groups]
    given = [len(value) > 0 or size == 0 for value, size in zip(values, sizes, strict=True)]
    filled = [
        value if len(value) else np.zeros(size) for value, size in zip(values, sizes, strict=True)
    ]
    every = _everything(share.comm, root, (given, spread_rows(share, filled)))
    if every is None:
        return None
    found = [np.concatenate(ranges) for ranges in zip(*(one for _, one in every), strict=True)]
    have = np.all([one for one, _ in every], axis=0)
    return [one if has else np.zeros(0) for one, has in zip(found, have, strict=True)]


def problem_rows(problem: Problem, values: Any) -> list[np.ndarray]:
    """Return values of the rows of a problem as one array ``(K, m)`` for each group."""
    flat = join(problem._groups, problem.grouped, "values", values)
    return rows_by_group(flat, [layout.shape for layout in problem._groups])


def rows_of_share(share: Share, values: Any) -> Any:
    """Return a share's rows of values of all contacts; see `Problem.share_rows`."""
    ids, grouped = ids_by_group(share.contact, share.contact_first), share.structure.grouped
    counts = np.diff(share.contact_first).tolist()
    if grouped and not (isinstance(values, (list, tuple)) and len(values) == len(counts)):
        raise ValueError(f"values needs a list with one array for each group ({len(counts)})")
    found = []
    for g, (value, own, count) in enumerate(
        zip(values if grouped else [values], ids, counts, strict=True)
    ):
        name = f"values[{g}]" if grouped else "values"
        array = real_array(name, value)
        if not array.ndim or len(array) != count:
            raise ValueError(
                f"{name} has shape {array.shape}: one row for each of all {count} contacts is "
                f"needed"
            )
        found.append(array[own])
    return found if grouped else found[0]
