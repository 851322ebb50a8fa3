"""Problems side by side in one problem of the C library, and where each of them is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._arrays import index_array, real_array
from .groups import MAX_PARTNERS
from .problem import Problem
from .sets import Set

_PART_BEGINS, _STAGE_BEGINS = 1, 2  # CS_PART_BEGINS, CS_STAGE_BEGINS

Shape = tuple[int, int]  # (K, m)


@dataclass(frozen=True, eq=False, slots=True)
class BatchForm:
    """The form in which values of a batch are handed out: numbers alone, which can be pickled.

    Attributes
    ----------
    offsets
        ``(p + 1,)``: where the rows of each problem begin, all problems in turn.
    shape
        ``(p, K, m)`` if all problems have one shape, otherwise None.
    shapes
        Without `shape`, that of each problem; for grouped ones a list of the shapes of the groups.
    bodies
        ``(p, 2)``: number and degrees of freedom of the bodies; None without one kind of bodies.
    """

    offsets: np.ndarray
    shape: tuple[int, int, int] | None
    shapes: Sequence[Shape | list[Shape]]
    bodies: np.ndarray | None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def split(self, flat: np.ndarray) -> Any:
        """Return ``(p, K, m)`` if all problems have one shape, otherwise a list."""
        if self.shape is not None:
            return flat.reshape(self.shape)
        return [self.of_problem(i, flat) for i in range(len(self))]

    def of_problem(self, i: int, flat: np.ndarray) -> Any:
        """Return what belongs to one problem, in its own form."""
        own = flat[self.offsets[i] : self.offsets[i + 1]]
        shape = self.shapes[i] if self.shape is None else self.shape[1:]
        if isinstance(shape, tuple):
            return own.reshape(shape)
        ends = np.cumsum([contacts * rows for contacts, rows in shape])
        parts = np.split(own, ends[:-1]) if shape else []
        return [part.reshape(one) for part, one in zip(parts, shape, strict=True)]

    def split_velocities(self, flat: np.ndarray) -> Any:
        """Return ``(p, n, d)``, or a list of ``(n, d)``; None without one kind of bodies."""
        if self.bodies is None:
            return None
        count, dof = self.bodies.T
        if len(self) and (self.bodies == self.bodies[0]).all():
            return flat.reshape(len(self), count[0], dof[0])
        parts = np.split(flat, np.cumsum(count * dof)[:-1]) if len(self) else []
        return [part.reshape(shape) for part, shape in zip(parts, self.bodies, strict=True)]


class BatchLayout:
    """All problems of a batch as one, and the places of each.

    Attributes
    ----------
    core
        The problem of all.
    problem
        Returns the problem of an index.
    form
        The form of all problems, and where the rows of each begin.
    row
        For each row of all problems in turn, its place in `core`.
    visits, begins
        The contacts of `core`, problem by problem, and whether a part begins with each.
    nonempty
        The problems that have contacts: the parts.
    """

    def __init__(
        self,
        core: _core.Problem,
        entry: np.ndarray,
        problem: Callable[[int], Problem],
        form: BatchForm,
    ) -> None:
        """Make the layout of groups `entry`: (problem, group of `core`, contacts, rows)."""
        self.core, self.problem, self.form = core, problem, form
        owner, group, count, rows = entry.T
        kinds = int(group.max(initial=-1)) + 1

        # Where the contacts and the rows of each entry begin in `core`.
        of_kind = np.bincount(group, count, kinds).astype(np.int64)
        rows_of_kind = np.zeros(kinds, np.int64)
        rows_of_kind[group] = rows
        first_block, first_row = _starts(of_kind), _starts(of_kind * rows_of_kind)
        before = np.zeros(len(entry), np.int64)
        for kind in range(kinds):
            own = group == kind
            before[own] = _starts(count[own])[:-1]
        self.visits = _runs(first_block[group] + before, count)
        self.row = _runs(first_row[group] + before * rows, count * rows)

        # A part for each problem that has contacts, all in one disjoint stage.
        contacts = np.bincount(owner, count, len(form)).astype(np.int64)
        self.nonempty = np.flatnonzero(contacts)
        self.begins = np.zeros(len(self.visits), np.int64)
        self.begins[_starts(contacts)[self.nonempty]] = _PART_BEGINS
        self.begins[:1] = _STAGE_BEGINS + _core.stage_kinds().index("disjoint")

    def __len__(self) -> int:
        return len(self.form)

    def shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes that arrays over all rows may have."""
        flat = (int(self.form.offsets[-1]),)
        return [flat] if self.form.shape is None else [self.form.shape, flat]

    def joined(self, flat: np.ndarray) -> np.ndarray:
        """Return values of all rows, problem by problem, in the sequence of `core`."""
        there = np.empty(len(flat))
        there[self.row] = flat
        return there

    def join_one(self, i: int, value: Any) -> np.ndarray:
        """Return initial impulses of one problem, flat."""
        try:
            return self.problem(i).join("initial", value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"problem {i}: {error}") from None


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _offsets(entry: np.ndarray, problems: int) -> np.ndarray:
    """Return where the rows of each problem begin."""
    owner, _, count, rows = entry.T
    return _starts(np.bincount(owner, count * rows, problems).astype(np.int64))


def _runs(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return first[0], first[0] + 1, ... first[0] + count[0] - 1, first[1], ..."""
    starts = _starts(count)
    return np.repeat(first - starts[:-1], count) + np.arange(starts[-1])


def layout_of_problems(problems: Any) -> BatchLayout:
    """Return the layout of objects, which may have groups of different kinds."""
    try:
        listed: list[Problem] = list(problems)
    except TypeError:
        name = type(problems).__name__
        raise TypeError(f"problems is {name}: a sequence of Problem is needed") from None
    for i, problem in enumerate(listed):
        if not isinstance(problem, Problem):
            raise TypeError(f"problems[{i}] is {type(problem).__name__}: a Problem is needed")
    core, kind = _core.side_by_side(tuple([problem._core for problem in listed]))
    entry = np.array(
        [
            (i, kind[i, g], group.contacts, group.rows)
            for i, problem in enumerate(listed)
            for g, group in enumerate(problem._groups)
        ],
        np.int64,
    ).reshape(-1, 4)

    # Arrays of one shape, where all problems have one.
    shapes: list[Shape | list[Shape]] = [
        [group.shape for group in one._groups] if one.grouped else one._groups[0].shape
        for one in listed
    ]
    first = shapes[0] if shapes else None
    common = None
    if isinstance(first, tuple) and all(shape == first for shape in shapes):
        common = (len(listed), *first)

    # Bodies of one kind.
    kinds = {(len(one._bodies), len(part), part[1:]) for one in listed for part in one._bodies}
    bodies = None
    if all(len(one._bodies) == 1 for one in listed) and len(kinds) == 1:
        bodies = np.array([one._bodies[0][:2] for one in listed], np.int64)
    form = BatchForm(_offsets(entry, len(listed)), common, [] if common else shapes, bodies)
    return BatchLayout(core, entry, listed.__getitem__, form)


def layout_of_stacks(
    J: Any, Minv: Any, b: Any, mu: Any, bodies: Any, contacts: Any, sets: Set | None
) -> BatchLayout:
    """Return the layout of problems of one shape, from stacked arrays."""
    J, inverse, b, pairs, counts = _stacks(J, Minv, b, bodies, contacts)
    count, most, _, rows, _ = J.shape
    size = inverse.shape[1]
    friction = None if mu is None else spread_friction(mu, count, most)

    def one(i: int) -> Problem:
        own = slice(0, counts[i])
        values = (J[i, own], inverse[i], b[i, own], None if friction is None else friction[i, own])
        chosen = None if sets is None else _sets_of(sets, counts, i)
        return Problem(*values, bodies=pairs[i, own], sets=chosen)

    # All contacts in turn; bodies are numbered through all problems.
    if (counts == most).all():
        pick: Any = slice(None)
        flat = [x.reshape(count * most, *x.shape[2:]) for x in (J, b, pairs)]
    else:
        pick = np.arange(most) < counts[:, None]
        flat = [x[pick] for x in (J, b, pairs)]
    owner = np.repeat(np.arange(count), counts)
    _refuse_outside(flat[2], owner, size, pairs, counts)
    numbered = np.where(flat[2] >= 0, flat[2] + owner[:, None] * size, -1)
    try:
        whole = Problem(
            flat[0],
            inverse.reshape(count * size, *inverse.shape[2:]),
            flat[1],
            None if friction is None else friction[pick].ravel(),
            bodies=numbered,
            sets=sets,
        )
    except ValueError as error:
        raise _first_error(one, count, error) from None
    entry = np.stack([np.arange(count), np.zeros(count, int), counts, np.full(count, rows)], 1)
    held = np.tile(inverse.shape[1:3], (count, 1))
    shape = (count, most, rows) if (counts == most).all() else None
    shapes = [] if shape else [(own, rows) for own in counts.tolist()]
    form = BatchForm(_offsets(entry, count), shape, shapes, held)
    return BatchLayout(whole._core, entry.astype(np.int64), one, form)


def _stacks(J: Any, Minv: Any, b: Any, bodies: Any, contacts: Any) -> tuple[np.ndarray, ...]:
    """Return the stacked arrays, with shapes that fit each other."""
    J, inverse = real_array("J", J), real_array("Minv", Minv)
    if J.ndim != 5 or not 1 <= J.shape[2] <= MAX_PARTNERS:
        raise ValueError(
            f"J has shape {J.shape}: (problems, contacts, partners, rows, dof) is needed, with "
            f"from 1 to {MAX_PARTNERS} partners"
        )
    count, most, partners, rows, dof = J.shape
    if inverse.ndim not in (3, 4) or inverse.shape[0] != count or set(inverse.shape[2:]) != {dof}:
        raise ValueError(
            f"Minv has shape {inverse.shape}: J of shape {J.shape} needs ({count}, bodies, {dof}) "
            f"or ({count}, bodies, {dof}, {dof})"
        )
    for name, value in (("b", b), ("bodies", bodies)):
        if value is None:
            raise TypeError(f"{name} is missing")
    b = real_array("b", b)
    if b.shape != (count, most, rows):
        raise ValueError(f"b has shape {b.shape}: J needs {(count, most, rows)}")
    pairs = index_array("bodies", bodies)
    if pairs.shape not in ((most, partners), (count, most, partners)):
        raise ValueError(f"bodies has shape {pairs.shape}: J needs {(count, most, partners)}")
    pairs = np.broadcast_to(pairs, (count, most, partners))
    counts = np.full(count, most) if contacts is None else index_array("contacts", contacts)
    if counts.shape != (count,):
        raise ValueError(f"contacts has shape {counts.shape}: J needs ({count},)")
    for i in np.flatnonzero((counts < 0) | (counts > most))[:1]:
        raise ValueError(f"contacts[{i}] is {counts[i]}: it must be from 0 to {most}")
    return J, inverse, b, pairs, counts


def spread_friction(mu: Any, count: int, most: int) -> np.ndarray:
    """Return friction coefficients ``(p, K)`` from a number, ``(p,)`` or ``(p, K)``."""
    value = real_array("mu", mu)
    if value.shape == (count,):
        value = value[:, None]
    elif value.shape not in ((), (count, most)):
        raise ValueError(
            f"mu has shape {value.shape}: a number, ({count},) or ({count}, {most}) is needed"
        )
    return np.broadcast_to(value, (count, most))


def _refuse_outside(
    flat: np.ndarray, owner: np.ndarray, size: int, pairs: np.ndarray, counts: np.ndarray
) -> None:
    """Raise for a body number that the problem does not have."""
    bad = (flat < -1) | (flat >= size)
    if not bad.any():
        return
    at = int(np.flatnonzero(bad.any(axis=1))[0])
    i = int(owner[at])
    contact = at - int(counts[:i].sum())
    side = int(np.flatnonzero(bad[at])[0])
    raise ValueError(
        f"problem {i}: bodies[{contact}, {side}] is {pairs[i, contact, side]}: bodies run from 0 "
        f"to {size - 1}, and -1 is the fixed world"
    )


def _sets_of(sets: Set, counts: np.ndarray, i: int) -> Set:
    """Return the set of one problem: parameters with a row for each contact are cut."""
    first, total = int(counts[:i].sum()), int(counts.sum())
    values = tuple(
        type(one)(one.name, one.value[first : first + counts[i]], one.of_rows, one.shape)
        if np.ndim(one.value) and len(one.value) == total
        else one
        for one in sets.values
    )
    return Set(sets.name, values, sets.function)


def _first_error(one: Callable[[int], Problem], count: int, error: ValueError) -> ValueError:
    """Return the error of the first problem that has one by itself."""
    for i in range(count):
        try:
            one(i)
        except ValueError as own:
            return ValueError(f"problem {i}: {own}")
    return error
