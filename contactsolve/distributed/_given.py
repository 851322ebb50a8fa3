"""What one rank gives: rows of contacts and bodies with their ids, and what all ranks share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from contactsolve._arrays import finite_array, index_array
from contactsolve._layout import Layout
from contactsolve._partition import _movable
from contactsolve.groups import Group, packed_bodies
from contactsolve.problem import Problem
from contactsolve.sets import Parameter, Set

__all__ = [
    "BlockKind",
    "BodyKind",
    "BodyRows",
    "ContactRows",
    "Given",
    "Structure",
    "given_of",
    "local_problem",
    "values_of",
]


class BlockKind(NamedTuple):
    """What all contacts of a group have in common."""

    rows: int
    dofs: tuple[int, ...]
    set: str
    parameters: tuple[tuple[str, bool, tuple[int, ...]], ...]  # name, of rows, shape

    @property
    def widths(self) -> list[int]:
        """How many numbers of each contact each parameter is."""
        return [
            self.rows if of_rows else int(np.prod(shape, dtype=np.int64))
            for _, of_rows, shape in self.parameters
        ]

    def __repr__(self) -> str:
        taken = ", ".join(name for name, *_ in self.parameters)
        return f"{self.rows} rows on bodies of {self.dofs} in the set {self.set}({taken})"


class BodyKind(NamedTuple):
    """What all bodies of a group have in common."""

    dof: int
    diagonal: bool

    def __repr__(self) -> str:
        return f"{'diagonals' if self.diagonal else 'blocks'} of {self.dof} degrees of freedom"


class Structure(NamedTuple):
    """The groups of a problem, without their values."""

    blocks: tuple[BlockKind, ...]
    bodies: tuple[BodyKind, ...]
    grouped: bool


class ContactRows(NamedTuple):
    """Contacts of one group.

    Attributes
    ----------
    ids
        Numbers within the group, ``(n,)``.
    J
        ``(n, m (d_0 + ... + d_(p-1)))``.
    bodies
        Numbers of bodies, counted through all groups, ``(n, p)``; −1 for the fixed world.
    b
        ``(n, m)`` [m/s].
    parameters
        Of the set, ``(n, q)``.
    compliance
        ``(n, m)``, or ``(n, 0)`` if no rank has any.
    """

    ids: np.ndarray
    J: np.ndarray
    bodies: np.ndarray
    b: np.ndarray
    parameters: np.ndarray
    compliance: np.ndarray


class BodyRows(NamedTuple):
    """Bodies of one group.

    Attributes
    ----------
    ids
        Numbers within the group, ``(n,)``.
    inverse_mass
        ``(n, d)`` or ``(n, d, d)``.
    label
        Part of each body, ``(n,)``; 0 for immovable ones.
    position
        ``(n, 2)`` or ``(n, 3)`` [m], ``(n, 0)`` without positions.
    """

    ids: np.ndarray
    inverse_mass: np.ndarray
    label: np.ndarray
    position: np.ndarray

    @property
    def moves(self) -> np.ndarray:
        """Which of the bodies can move, ``(n,)``."""
        inverse: Any = self.inverse_mass
        return inverse.any(axis=tuple(range(1, inverse.ndim)))


class Given(NamedTuple):
    """What one rank gives.

    Attributes
    ----------
    structure
        None for a rank that gives nothing.
    contacts, bodies
        Rows of each group.
    has_labels, has_positions
        Whether bodies have them.
    is_numbered
        Whether contacts have numbers of bodies in the whole problem; otherwise they have the places
        of the rank's own bodies.
    totals
        Bodies of each group on all ranks, if contacts have their numbers.
    has_contact_ids, has_body_ids
        Whether the ids are given, rather than 0, 1, 2, ... by default.
    """

    structure: Structure | None
    contacts: tuple[ContactRows, ...]
    bodies: tuple[BodyRows, ...]
    has_labels: bool
    has_positions: bool
    is_numbered: bool = False
    totals: tuple[int, ...] = ()
    has_contact_ids: bool = True
    has_body_ids: bool = True


NOTHING = Given(None, (), (), False, False)


def given_of(
    problem: Problem | None,
    contact_ids: Any,
    body_ids: Any,
    labels: Any,
    positions: Any,
) -> Given:
    """Return what a rank gives, checked as far as it can be checked by itself.

    Parameters
    ----------
    problem
        The rank's contacts and bodies; None for a rank that gives nothing.
    contact_ids, body_ids
        Ids within the groups, ``(n,)`` or a list of one array for each group; None: 0, 1, 2, ...
    labels, positions
        Of the bodies, in the same form or as one array over all groups; None without.

    Raises
    ------
    TypeError, ValueError
        The message names the argument, the index and the value.
    """
    if problem is None:
        for name, value in {"contact_ids": contact_ids, "body_ids": body_ids}.items():
            if value is not None and np.size(value):
                raise ValueError(f"{name} has {np.size(value)} entries, but J is missing")
        return NOTHING
    if problem._matrix is not None:
        raise TypeError(
            "problem is made of a given matrix: distributed problems need J with bodies"
        )

    # Contacts.
    contacts, blocks, core = [], [], problem._core
    ids = _each("contact_ids", contact_ids, problem, len(problem._groups))
    for g, layout in enumerate(problem._groups):
        _refuse_function(layout.set)
        count, rows = layout.shape
        compliance = core.compliance(g)
        blocks.append(_kind_of(layout))
        contacts.append(
            ContactRows(
                _ids(_at("contact_ids", g, problem), ids[g], count),
                core.jacobian(g).reshape(count, rows * sum(layout.dofs)),
                core.bodies(g).reshape(count, len(layout.dofs)),
                core.b(g).reshape(count, rows),
                np.ascontiguousarray(layout.set.parameters(count, rows)),
                np.zeros((count, 0)) if compliance is None else compliance.reshape(count, rows),
            )
        )

    # Bodies.
    inverses = problem._inverse_masses()
    moves, bodies, first = _movable(problem), [], 0
    ids = _each("body_ids", body_ids, problem, len(inverses))
    label = _each("labels", _by_group(labels, problem), problem, len(inverses))
    position = _each("positions", _by_group(positions, problem), problem, len(inverses))
    for g, inverse in enumerate(inverses):
        count = len(inverse)
        bodies.append(
            BodyRows(
                _ids(_at("body_ids", g, problem), ids[g], count),
                inverse,
                _labels(_at("labels", g, problem), label[g], moves[first : first + count]),
                _positions(_at("positions", g, problem), position[g], count),
            )
        )
        first += count
    kinds = tuple(BodyKind(one.shape[1], one.ndim == 2) for one in inverses)
    structure = Structure(tuple(blocks), kinds, problem.grouped)
    return Given(
        structure,
        tuple(contacts),
        tuple(bodies),
        labels is not None,
        positions is not None,
        has_contact_ids=contact_ids is not None,
        has_body_ids=body_ids is not None,
    )


def _kind_of(layout: Layout) -> BlockKind:
    parameters = tuple((one.name, one.of_rows, tuple(one.shape)) for one in layout.set.values)
    return BlockKind(layout.rows, tuple(layout.dofs), layout.set.name, parameters)


def _refuse_function(feasible: Set) -> None:
    if feasible.function is not None:
        raise TypeError(
            f"sets is {feasible!r}: its function belongs to one process, and cannot go to others"
        )


def _at(name: str, group: int, problem: Problem) -> str:
    return f"{name}[{group}]" if problem.grouped else name


def _each(name: str, value: Any, problem: Problem, groups: int) -> list[Any]:
    """Return one value for each group."""
    if value is None:
        return [None] * groups
    if not problem.grouped:
        return [value]
    if not isinstance(value, (list, tuple)) or len(value) != groups:
        raise ValueError(f"{name} needs a list with one array for each group ({groups})")
    return list(value)


def _by_group(values: Any, problem: Problem) -> Any:
    """Return values of all bodies of a grouped problem by group; others as they are."""
    if not problem.grouped or not isinstance(values, np.ndarray):
        return values
    if len(values) != problem.bodies_count:
        return values
    return np.split(values, np.cumsum([shape[0] for shape in problem._bodies])[:-1])


def _ids(name: str, value: Any, count: int) -> np.ndarray:
    """Return ids, each of which occurs once."""
    if value is None:
        return np.arange(count)
    ids = index_array(name, value)
    if ids.shape != (count,):
        raise ValueError(f"{name} has shape {ids.shape}: ({count},) is needed")
    negative = np.flatnonzero(ids < 0)
    if len(negative):
        raise ValueError(f"{name}[{negative[0]}] is {ids[negative[0]]}: ids begin at 0")
    order = np.argsort(ids, kind="stable")
    again = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    if len(again):
        first, second = order[again[0]], order[again[0] + 1]
        raise ValueError(
            f"{name}[{second}] is {ids[second]}, as {name}[{first}]: an id occurs once on a rank"
        )
    return ids


def _labels(name: str, value: Any, moves: np.ndarray) -> np.ndarray:
    """Return labels, 0 for immovable bodies and without labels."""
    if value is None:
        return np.zeros(len(moves), np.int64)
    label = index_array(name, value)
    if label.shape != moves.shape:
        raise ValueError(f"{name} has shape {label.shape}: ({len(moves)},) is needed")
    return np.where(moves, label, 0)


def _positions(name: str, value: Any, count: int) -> np.ndarray:
    if value is None:
        return np.zeros((count, 0))
    position = finite_array(name, value)
    if position.ndim != 2 or len(position) != count or position.shape[1] not in (2, 3):
        raise ValueError(f"{name} has shape {position.shape}: ({count}, 2) or ({count}, 3) needed")
    return position


# ---- back to a problem --------------------------------------------------------------------------


def local_problem(
    structure: Structure,
    contacts: Sequence[ContactRows],
    bodies: Sequence[np.ndarray],
    name: str,
) -> Problem:
    """Return the problem of rows of contacts and bodies.

    Parameters
    ----------
    structure
        Its groups.
    contacts
        Contacts of each group; their `bodies` are places among all `bodies`.
    bodies
        Inverse masses of each group.
    name
        Name of the problem.
    """
    groups = []
    for kind, rows in zip(structure.blocks, contacts, strict=True):
        # The arrays are as the C library takes them.
        group = Group.__new__(Group)
        group.J, group.bodies, group.b = rows.J, rows.bodies, rows.b
        group.dofs, group.shape = kind.dofs, (len(rows.ids), kind.rows)
        group.set = _set_of(kind, rows.parameters)
        group.compliance = rows.compliance if rows.compliance.shape[1] else None
        groups.append(group)
    problem = Problem.__new__(Problem)
    problem.name, problem.grouped = name, structure.grouped
    problem._pack(tuple(packed_bodies(inverse) for inverse in bodies), tuple(groups))
    return problem


def _set_of(kind: BlockKind, parameters: np.ndarray) -> Set:
    """Return a set with one value of each parameter for each contact."""
    values = zip(kind.parameters, values_of(kind, parameters), strict=True)
    return Set(
        kind.set,
        tuple(Parameter(name, value, of_rows, shape) for (name, of_rows, shape), value in values),
    )


def values_of(kind: BlockKind, parameters: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the value of each parameter, with one for each contact.

    Parameters
    ----------
    kind
        The group.
    parameters
        Of its set, ``(n, q)``.

    Yields
    ------
    np.ndarray
        ``(n, m)`` for a parameter of rows, ``(n, ...)`` for others.
    """
    at = 0
    for (_, of_rows, shape), width in zip(kind.parameters, kind.widths, strict=True):
        value = np.ascontiguousarray(parameters[:, at : at + width])
        if shape:
            value = value.reshape(len(value), *shape)
        elif not of_rows:
            value = value[:, 0]
        yield value
        at += width
