"""Feasible sets: what an impulse may be.

A set is given to `contactsolve.Problem` as ``sets=``. Without one, ``mu`` makes the contacts
`disc`, ``lo``/``hi`` make them `box`, and neither makes them `half_line`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._arrays import read_only, real_array, spread

__all__ = [
    "Parameter",
    "Set",
    "box",
    "box_friction",
    "describe",
    "disc",
    "free",
    "half_line",
    "names",
    "rolling",
]


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of a set: its value for every block, or for every row of every block."""

    name: str
    value: np.ndarray
    of_rows: bool = False

    def spread(self, contacts: int, rows: int) -> np.ndarray:
        """Return the value of each block, ``(contacts, 1)`` or ``(contacts, rows)``."""
        if self.of_rows:
            return spread(self.name, self.value, (contacts, rows))
        return spread(self.name, self.value, (contacts,)).reshape(contacts, 1)


@dataclass(frozen=True, eq=False)
class Set:
    """A feasible set with its parameters; made by the functions of this module.

    The parameters stand in the order in which the C library reads them.
    """

    name: str
    values: tuple[Parameter, ...] = ()

    def copied(self) -> Set:
        """Return the same set with parameters in memory of its own."""
        return Set(
            self.name, tuple(Parameter(p.name, p.value.copy(), p.of_rows) for p in self.values)
        )

    def parameters(self, contacts: int, rows: int) -> np.ndarray:
        """Return the parameters of each block, ``(contacts, p)``, as the C library reads them."""
        parts = [parameter.spread(contacts, rows) for parameter in self.values]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([np.zeros((contacts, 0)), *parts], axis=1)

    def parameter(self, name: str, contacts: int) -> np.ndarray | None:
        """Return the parameter of that name for each block, ``(contacts,)``; None without one."""
        for parameter in self.values:
            if parameter.name == name and not parameter.of_rows:
                return parameter.spread(contacts, 1)[:, 0]
        return None

    def with_parameter(self, name: str, value: Any) -> Set:
        """Return the same set with another value of one parameter.

        Raises
        ------
        ValueError
            Where the set has no parameter of that name.
        """
        if all(parameter.name != name for parameter in self.values):
            raise ValueError(f"{name} is given, but the set {self.name!r} takes none")
        array = real_array(name, value)
        changed = (Parameter(name, array, p.of_rows) if p.name == name else p for p in self.values)
        return Set(self.name, tuple(changed))

    @property
    def takes_mu(self) -> bool:
        """Whether the set has a friction coefficient."""
        return any(parameter.name == "mu" for parameter in self.values)

    def with_mu(self, mu: Any) -> Set:
        """Return the same set with another friction coefficient."""
        return self.with_parameter("mu", mu)

    def mu(self, contacts: int) -> np.ndarray | None:
        """Return the friction coefficients, ``(contacts,)``, read-only, or None."""
        mu = self.parameter("mu", contacts)
        return None if mu is None else read_only(mu)

    def __repr__(self) -> str:
        values = ", ".join(_short(parameter.value) for parameter in self.values)
        return f"sets.{self.name}({values})"


def _short(value: Any) -> str:
    array = np.asarray(value)
    return f"{array.item():g}" if array.size == 1 else f"<array {array.shape}>"


def _make(name: str, *, of_rows: bool = False, **values: Any) -> Set:
    parameters = (Parameter(key, real_array(key, value), of_rows) for key, value in values.items())
    return Set(name, tuple(parameters))


def free() -> Set:
    """Any impulse on every row: a bilateral constraint such as a joint."""
    return _make("free")


def box(lo: Any, hi: Any) -> Set:
    """``lo <= impulse <= hi`` on every row.

    Parameters
    ----------
    lo, hi
        Bounds [N s]: one number, ``(m,)`` for the rows of every block, or ``(K, m)``. Either may be
        infinite.
    """
    return _make("box", of_rows=True, lo=lo, hi=hi)


def half_line() -> Set:
    """A frictionless contact: normal impulse >= 0, none on other rows (S1 eq. 2.24)."""
    return _make("half_line")


def disc(mu: Any) -> Set:
    """Coulomb friction: normal impulse >= 0, ``|tangential| <= mu * normal`` (S1 eq. 2.27).

    Parameters
    ----------
    mu
        Friction coefficient: one number, or ``(K,)``.
    """
    return _make("disc", mu=mu)


def box_friction(mu: Any) -> Set:
    """Friction along each tangent by itself: ``|tangential_i| <= mu * normal`` (S3).

    The bound is a square around the disc of Coulomb friction: along its diagonal friction is
    stronger by a factor of √2, and the result depends on the choice of the tangents.

    Parameters
    ----------
    mu
        Friction coefficient: one number, or ``(K,)``. Blocks have 2 or 3 rows, the normal first.
    """
    return _make("box_friction", mu=mu)


def rolling(mu: Any, mu_r: Any) -> Set:
    """Coulomb friction and rolling resistance, each a disc.

    Blocks have 5 rows: normal, two tangents, and the rolling moments about the two tangents.

    Parameters
    ----------
    mu
        Friction coefficient, ``|tangential| <= mu * normal``: one number, or ``(K,)``.
    mu_r
        Coefficient of rolling resistance [m], ``|rolling moment| <= mu_r * normal``: one number,
        or ``(K,)``.
    """
    return _make("rolling", mu=mu, mu_r=mu_r)


def describe() -> dict[str, str]:
    """Return one line on each set, by name."""
    return dict(_core.sets())


def choose_set(mu: Any, sets: Set | None, lo: Any, hi: Any, rows: int) -> Set:
    """Return the set that a problem's arguments stand for, for blocks of that many rows."""
    bounded = lo is not None or hi is not None
    if sets is not None:
        if not isinstance(sets, Set):
            name = getattr(sets, "__name__", "")
            made = callable(sets) and name in names()
            advice = (
                f"call it, sets.{name}(...)" if made else "a set of contactsolve.sets is needed"
            )
            raise TypeError(f"sets is {sets!r}: {advice}")
        if mu is not None or bounded:
            raise ValueError(f"sets={sets!r} has its own parameters: leave out mu, lo and hi")
        return sets
    if mu is not None and bounded:
        raise ValueError("mu makes the contacts discs, lo and hi boxes: give one of them")
    if mu is not None:
        if _core.set_parameters("disc", rows) < 0:
            raise ValueError(
                f"mu makes the contacts discs, which take 2 or 3 rows, not {rows}: leave it out "
                f"or give sets"
            )
        return disc(mu)
    if bounded:
        return box(-np.inf if lo is None else lo, np.inf if hi is None else hi)
    return half_line()


def names() -> list[str]:
    """Return the names of all sets."""
    return [name for name, _ in _core.sets()]
