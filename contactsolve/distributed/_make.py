"""Distributed problems from a problem on one rank, from a file, and from a scenario."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from contactsolve import scenarios
from contactsolve._arrays import finite_array, index_array
from contactsolve.distributed._collective import (
    Communicator,
    FoundError,
    require_alike,
    require_equal,
    together,
)
from contactsolve.distributed._communicators import communicator
from contactsolve.distributed._files import read_given
from contactsolve.distributed._given import NOTHING, Given, given_of
from contactsolve.distributed._pieces import PIECES
from contactsolve.distributed.problem import Problem
from contactsolve.problem import Problem as LocalProblem

__all__ = ["read", "scatter", "scenario"]


def scatter(
    problem: LocalProblem | None,
    *,
    labels: Any = None,
    positions: Any = None,
    parts: int | None = None,
    comm: Communicator | None = None,
    root: int = 0,
) -> Problem:
    """Return a problem of one rank as one of all ranks; all ranks call this together.

    Parameters
    ----------
    problem
        The problem, on the rank `root`; what other ranks give is not looked at.
    labels, positions
        As for `contactsolve.distributed.Problem`, for all bodies, on the rank `root`. A problem has
        no positions of its own: ``labels="bisection"`` always needs `positions`.
    parts, comm
        As for `contactsolve.distributed.Problem`.
    root
        The rank that has the problem.

    Returns
    -------
    Problem
        Its state, if it was made of one, is not kept.

    Raises
    ------
    TypeError, ValueError, ImportError
        As `contactsolve.distributed.Problem`; and if `problem` is no `contactsolve.Problem`.

    Examples
    --------
    >>> import contactsolve as cs
    >>> problem = cs.distributed.scatter(cs.scenarios.ball_grid(3), parts=4)
    >>> problem.all_contacts
    63
    """
    comm = communicator(comm)
    require_equal(comm, {"root": root})
    if not 0 <= root < comm.size:
        raise ValueError(f"root is {root}: there are {comm.size} ranks, numbered from 0")

    def given() -> Given:
        if comm.rank != root:
            return NOTHING
        if not isinstance(problem, LocalProblem):
            raise TypeError(f"problem is {type(problem).__name__}: a Problem is needed")
        return given_of(problem, None, None, None if isinstance(labels, str) else labels, positions)

    found = together(comm, given)
    name = comm.allgather(problem.name if comm.rank == root and problem else "")[root]
    strategy = labels if comm.rank == root else None
    return Problem._of(comm, found, strategy, parts, name)


def read(
    path: str | PathLike[str],
    *,
    labels: Any = None,
    positions: Any = None,
    parts: int | None = None,
    comm: Communicator | None = None,
) -> Problem:
    """Read a problem of which each rank reads a range; all ranks call this together.

    Parameters
    ----------
    path
        A file of `contactsolve.distributed.Problem.save`, of `contactsolve.Problem.save` or of
        `contactsolve.Result.save`.
    labels, positions
        As for `contactsolve.distributed.Problem`, but for all bodies, on every rank. Default:
        the labels of the file, or ``"natural"`` if it has none.
    parts, comm
        As for `contactsolve.distributed.Problem`; by default the parts of the file. Another number
        of parts than that of the file needs `labels` or `positions`, too.

    Returns
    -------
    Problem

    Raises
    ------
    FileNotFoundError, ValueError, ImportError
        On all ranks, as for `contactsolve.load_problem` and `contactsolve.distributed.Problem`; if
        ranks give different arguments.
    """
    comm = communicator(comm)
    where = together(comm, lambda: str(Path(path)))
    require_alike(comm, {"path": where, "parts": parts, "labels": labels, "positions": positions})

    def given() -> tuple[Given, str, int | None]:
        found, name, of_file = read_given(path, comm.rank, comm.size)
        changed = _relabelled(found, labels, positions)
        if labels is not None or positions is not None:
            of_file = None
        if of_file is not None:
            _require_parts_of(of_file, parts, comm.size)
        return changed, name, of_file

    found, name, of_file = together(comm, given)
    return Problem._of(comm, found, labels, of_file if parts is None else parts, name)


def _require_parts_of(of_file: int, parts: int | None, ranks: int) -> None:
    """Raise if the labels of a file are of another number of parts than wanted, or of too few."""
    if parts is not None and parts != of_file:
        raise FoundError(
            f"parts is {parts!r}, but the labels of the file are of {of_file} parts: give labels= "
            f"as well, as labels='natural'"
        )
    if of_file < ranks:
        raise FoundError(
            f"the labels of the file are of {of_file} parts, but there are {ranks} ranks, each of "
            f"which needs a part: give parts={ranks} or more, and labels= as well, as "
            f"labels='natural'. Results depend on parts, not on ranks"
        )


def _relabelled(given: Given, labels: Any, positions: Any) -> Given:
    """Return a range of a problem with the caller's labels and positions of all bodies."""
    bodies = list(given.bodies)
    if labels is not None and not isinstance(labels, str):
        label = index_array("labels", labels)
        for g, (rows, own) in enumerate(zip(bodies, _ranges(given, "labels", label), strict=True)):
            bodies[g] = rows._replace(label=np.where(rows.moves, own, 0))
        given = given._replace(has_labels=True)
    elif labels is not None or positions is not None:
        given = given._replace(has_labels=False)
    if positions is not None:
        position = finite_array("positions", positions)
        if position.ndim != 2 or position.shape[1] not in (2, 3):
            raise ValueError(f"positions has shape {position.shape}: (n, 2) or (n, 3) is needed")
        for g, own in enumerate(_ranges(given, "positions", position)):
            bodies[g] = bodies[g]._replace(position=own)
        given = given._replace(has_positions=True)
    return given._replace(bodies=tuple(bodies))


def _ranges(given: Given, name: str, values: np.ndarray) -> list[np.ndarray]:
    """Return the values of the bodies of each group of a range."""
    if len(values) != sum(given.totals):
        raise ValueError(f"{name} has {len(values)} entries: there are {sum(given.totals)} bodies")
    firsts = np.cumsum([0, *given.totals[:-1]])
    return [values[first + rows.ids] for first, rows in zip(firsts, given.bodies, strict=True)]


def scenario(
    name: str,
    *,
    labels: Any = None,
    parts: int | None = None,
    comm: Communicator | None = None,
    **parameters: Any,
) -> Problem:
    """Return a scenario of `contactsolve.scenarios` on all ranks, with the same bits.

    Each rank makes its own piece of ``"ball_grid"``, whose random numbers belong to the ids of its
    bodies; rank 0 makes the whole of others.

    Parameters
    ----------
    name
        Name of the scenario.
    labels
        ``"bisection"``, which only the ball grid has positions for and where it is the default;
        ``"natural"``, the default of others; one of METIS; or, for others than the ball grid, the
        part of each body, on rank 0.
    parts, comm
        As for `contactsolve.distributed.Problem`.
    **parameters
        Parameters of the scenario, the same on all ranks.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError, TypeError
        On all ranks, as for the scenario and for `contactsolve.distributed.Problem`; if ranks give
        different arguments.

    Examples
    --------
    >>> import contactsolve as cs
    >>> cs.distributed.scenario("ball_grid", shape=3, parts=4).all_contacts
    63
    """
    comm = communicator(comm)
    alike = {"parts": parts} | ({"labels": labels} if isinstance(labels, str) else {})
    require_alike(comm, {"name": name, **alike, **parameters})
    if name in PIECES:
        given, title = PIECES[name](comm, **parameters)
        if labels is not None and not isinstance(labels, str):
            raise TypeError(f"labels of the scenario {name!r} are a name: an array is given")
        return Problem._of(comm, given, labels, parts, title)

    def whole() -> LocalProblem | None:
        make = scenarios.get(name)
        return make(**parameters) if comm.rank == 0 else None

    return scatter(together(comm, whole), labels=labels, parts=parts, comm=comm)
