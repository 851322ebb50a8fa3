"""Rows of MuJoCo's constraints as blocks with sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from contactsolve import sets, shapes
from contactsolve.io._mujoco_data import Step
from contactsolve.io._simulators import Blocks, Origin
from contactsolve.sets import Set

# MuJoCo's types of rows (mjtConstraint), from and to, and of equalities (mjtEq) of several rows.
_EQUALITY, _FRICTION, _LIMIT, _LAST, _PYRAMIDAL = (0, 0), (1, 2), (3, 4), 7, 6
_ROWS_OF_EQUALITY = {0: 3, 1: 6}  # connect, weld

# Coefficients of a contact: sliding along t1 and t2, spin [m], rolling about t1 and t2 [m].
_SLIDE, _SPIN, _ROLL = slice(0, 2), 2, slice(3, 5)

# Blocks, and the coefficients of friction of contacts whose rows in MuJoCo are edges.
Found = list[tuple[Blocks, np.ndarray | None]]


def constraints(model: Any, data: Any, step: Step, law: str, elliptic: bool) -> Found:
    """Return all constraints, kind by kind, in the order of MuJoCo's rows."""
    types = data.efc_type
    unknown = (types < 0) | (types > _LAST)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(f"data.efc_type[{row}] is {types[row]}: no type of rows that is known")
    found: Found = [(blocks, None) for blocks in _equalities(model, data, step)]
    bound = step.h * data.efc_frictionloss
    rows = _rows_of(types, _FRICTION)
    found += _singles("friction", data, step, rows, sets.box(-bound[rows, None], bound[rows, None]))
    rows = _rows_of(types, _LIMIT)
    found += _singles("limit", data, step, rows, sets.half_line())
    contacts = _Contacts.of(data)
    if law == "associated":
        return found + contacts.associated(step)
    return found + contacts.coulomb(step, elliptic)


def _rows_of(types: np.ndarray, ends: tuple[int, int]) -> np.ndarray:
    """Return the rows whose type is between these."""
    return np.flatnonzero((types >= ends[0]) & (types <= ends[1]))


def _singles(kind: str, data: Any, step: Step, rows: np.ndarray, feasible: Set) -> Found:
    """Return blocks of one row each."""
    if not len(rows):
        return []
    return [(_as_they_are(kind, data.efc_id[rows], rows[:, None], step, feasible), None)]


def _as_they_are(kind: str, ids: np.ndarray, rows: np.ndarray, step: Step, feasible: Set) -> Blocks:
    """Return blocks of MuJoCo's own rows, ``(K, m)``."""
    compliance = None if step.compliance is None else step.compliance[rows]
    return Blocks(Origin(kind, ids, rows), step.b[rows], feasible, compliance)


# ---- equalities ----------------------------------------------------------------------------------


def _equalities(model: Any, data: Any, step: Step) -> Iterator[Blocks]:
    """Yield the equalities by their number of rows; those with other rows are single rows."""
    rows = _rows_of(data.efc_type, _EQUALITY)
    if not len(rows):
        return
    ids = data.efc_id[rows]
    first = np.flatnonzero(np.diff(ids, prepend=-1))
    length = np.diff(np.append(first, len(rows)))
    kind = model.eq_type[ids[first]]
    size = np.array([_ROWS_OF_EQUALITY.get(int(one), 1) for one in kind], np.int64)
    size[size != length] = 1
    for m in np.unique(size):
        of_size = np.repeat(size == m, length)
        blocks = rows[of_size].reshape(-1, m)
        ids_of = data.efc_id[blocks[:, 0]]
        yield _as_they_are("equality", ids_of, blocks, step, sets.free())


# ---- contacts ------------------------------------------------------------------------------------


class _Contacts(NamedTuple):
    """Contacts with rows: their number, first row, dimension, friction, and if they have edges."""

    ids: np.ndarray
    first: np.ndarray
    dim: np.ndarray
    friction: np.ndarray
    edges: np.ndarray

    @classmethod
    def of(cls, data: Any) -> _Contacts:
        contact = data.contact
        ids = np.flatnonzero(contact.efc_address >= 0)
        first = contact.efc_address[ids]
        edges = data.efc_type[first] == _PYRAMIDAL
        return cls(ids, first, contact.dim[ids], contact.friction[ids], edges)

    def where(self, which: np.ndarray) -> _Contacts:
        return _Contacts(*(part[which] for part in self))

    def by_dimension(self) -> Iterator[tuple[int, _Contacts]]:
        for dim in np.unique(self.dim):
            yield int(dim), self.where(self.dim == dim)

    def rows(self, count: int) -> np.ndarray:
        """Return MuJoCo's first rows of each contact, ``(K, count)``."""
        return self.first[:, None] + np.arange(count)

    def coulomb(self, step: Step, elliptic: bool) -> Found:
        """Return contacts with the sets of Coulomb's law."""
        found: Found = []
        for dim, of_dim in self.by_dimension():
            for feasible, which in _friction_sets(dim, of_dim.friction, elliptic):
                for has_edges in (False, True):
                    chosen = which & (of_dim.edges == has_edges)
                    if not chosen.any():
                        continue
                    part = of_dim.where(chosen)
                    one_each = feasible(part.friction)
                    found.append(
                        _from_edges(part, dim, step, one_each)
                        if has_edges
                        else (_from_rows(part, dim, step, one_each), None)
                    )
        return found

    def associated(self, step: Step) -> Found:
        """Return contacts with the sets of MuJoCo's convex problem."""
        found: Found = []
        for dim, of_dim in self.by_dimension():
            smooth, edged = of_dim.where(~of_dim.edges), of_dim.where(of_dim.edges)
            if len(smooth.ids):
                found.append((_from_rows(smooth, dim, step, _associated_set(dim, smooth)), None))
            if len(edged.ids):
                count = 2 * (dim - 1)
                rows = edged.rows(count).reshape(-1, 1)
                ids = np.repeat(edged.ids, count)
                found.append((_as_they_are("contact", ids, rows, step, sets.half_line()), None))
        return found


def _from_rows(part: _Contacts, dim: int, step: Step, feasible: Set) -> Blocks:
    """Return contacts with rows n, t1, ... in MuJoCo; of six rows the spin is left out."""
    rows = part.rows(dim)
    if dim == 6:
        rows = rows[:, [0, 1, 2, 4, 5]]
    return _as_they_are("contact", part.ids, rows, step, feasible)


def _from_edges(part: _Contacts, dim: int, step: Step, feasible: Set) -> tuple[Blocks, np.ndarray]:
    """Return contacts whose rows in MuJoCo are the edges n ± mu_j t_j of a pyramid."""
    tangents = dim - 1
    friction = part.friction[:, :tangents]
    rows = part.rows(2 * tangents)
    to_rows = np.zeros((len(rows), dim, 2 * tangents))
    to_rows[:, 0] = 0.5 / tangents
    for j in range(tangents):
        to_rows[:, 1 + j, 2 * j] = 0.5 / friction[:, j]
        to_rows[:, 1 + j, 2 * j + 1] = -0.5 / friction[:, j]

    # All edges have the same R. Forces of the edges that add up to n, t1, ... have the least sum of
    # R f² / 2 = R (n² / (2 tangents) + t1² / (2 mu1²) + ...) / 2, none negative if t is small.
    compliance = None
    if step.compliance is not None:
        of_edges = step.compliance[rows[:, :1]]
        share = np.full((len(rows), 1), tangents)
        compliance = of_edges / (2.0 * np.column_stack([share, friction**2]))
    b = (to_rows @ step.b[rows][:, :, None])[:, :, 0]

    if dim == 6:
        kept = [0, 1, 2, 4, 5]
        to_rows, b = to_rows[:, kept], b[:, kept]
        compliance = None if compliance is None else compliance[:, kept]
    origin = Origin("contact", part.ids, rows)
    return Blocks(origin, b, feasible, compliance, to_rows), friction


def edge_forces(impulses: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """Return impulses on the edges of pyramids that add up to those on n, t1, t2, ....

    Parameters
    ----------
    impulses
        ``(K, m)``; five rows are without the spin.
    friction
        Coefficients, ``(K, tangents)``.

    Returns
    -------
    ndarray, shape (K, 2 tangents)
        None is negative where the impulse lies in the pyramid.
    """
    tangents = friction.shape[1]
    t = impulses[:, 1:]
    if t.shape[1] < tangents:
        t = np.insert(t, _SPIN, 0.0, axis=1)
    scaled = t / friction
    slack = (impulses[:, 0] - np.abs(scaled).sum(axis=1)) / tangents
    pair = np.abs(scaled) + slack[:, None]
    return 0.5 * np.stack((pair + scaled, pair - scaled), axis=2).reshape(len(t), -1)


# ---- sets of contacts ----------------------------------------------------------------------------


def _friction_sets(dim: int, friction: np.ndarray, elliptic: bool) -> Iterator[tuple]:
    """Yield functions from coefficients to a set, and the contacts that they are for."""
    everywhere = np.ones(len(friction), bool)
    if dim == 1:
        yield (lambda _: sets.half_line()), everywhere
    elif dim == 6:
        yield _rolling, everywhere
    elif not elliptic:
        yield (_diamond if dim == 3 else _octahedron), everywhere
    else:
        even = friction[:, 0] == friction[:, 1]
        yield (_disc if dim == 3 else _spinning), even
        yield (_ellipse if dim == 3 else _ellipsoid), ~even


def _disc(friction: np.ndarray) -> Set:
    return sets.disc(friction[:, 0])


def _ellipse(friction: np.ndarray) -> Set:
    return sets.ellipse(friction[:, 0], friction[:, 1])


def _diamond(friction: np.ndarray) -> Set:
    """Return |t1|/mu1 + |t2|/mu2 <= n."""
    return sets.polygon(np.ones(len(friction)), vertices=_corners(friction[:, _SLIDE]))


def _octahedron(friction: np.ndarray) -> Set:
    """Return |t1|/mu1 + |t2|/mu2 + |spin|/mu3 <= n."""
    return sets.support(shapes.points(_corners(friction[:, : _SPIN + 1])), np.ones(len(friction)))


def _corners(semi_axes: np.ndarray) -> np.ndarray:
    """Return the ends of the axes of cross-polytopes, ``(K, 2 n, n)``, going round in the plane."""
    n = semi_axes.shape[1]
    ends = semi_axes[:, :, None] * np.eye(n)
    return np.concatenate((ends, -ends), axis=1)


def _spinning(friction: np.ndarray) -> Set:
    """Return the ellipsoid with semi-axes mu, mu and spin: its radius is 3/2 spin / mu."""
    return sets.contensou_coupled(friction[:, 0], 1.5 * friction[:, _SPIN] / friction[:, 0])


def _ellipsoid(friction: np.ndarray) -> Set:
    axes = (friction[:, 0], friction[:, 1], friction[:, _SPIN])
    return sets.support(shapes.ellipsoid(*axes), np.ones(len(friction)))


def _rolling(friction: np.ndarray) -> Set:
    return sets.rolling(friction[:, _SLIDE].min(axis=1), friction[:, _ROLL].min(axis=1))


def _associated_set(dim: int, part: _Contacts) -> Set:
    """Return the second-order cone of smooth contacts."""
    if dim == 1:
        return sets.half_line()
    uneven = part.friction[:, 0] != part.friction[:, 1]
    if dim > 3 or uneven.any():
        at = int(np.argmax(uneven)) if dim == 3 else 0
        coefficients = ", ".join(f"{one:g}" for one in part.friction[at, : dim - 1])
        raise ValueError(
            f"law is 'associated', but contact {part.ids[at]} has an elliptic cone of condim {dim} "
            f"with the coefficients {coefficients}: condim 3 with one coefficient is needed"
        )
    return sets.second_order_cone(part.friction[:, 0])
