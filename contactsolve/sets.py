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

__all__ = ["Set", "box", "describe", "disc", "free", "half_line", "names"]


@dataclass(frozen=True, eq=False)
class Set:
    """A feasible set with its parameters; made by the functions of this module."""

    name: str
    values: tuple[Any, ...] = ()

    def parameters(self, contacts: int, rows: int) -> np.ndarray:
        """Return the parameters of each block, ``(contacts, p)``, as the C library reads them."""
        if self.name == "box":
            bounds = [
                spread(name, value, (contacts, rows))
                for name, value in zip(("lo", "hi"), self.values, strict=True)
            ]
            return np.concatenate(bounds, axis=1)
        if self.name == "disc":
            return spread("mu", self.values[0], (contacts,)).reshape(contacts, 1)
        return np.zeros((contacts, 0))

    @property
    def takes_mu(self) -> bool:
        """Whether the set has a friction coefficient."""
        return self.name == "disc"

    def with_mu(self, mu: Any) -> Set:
        """Return the same set with another friction coefficient."""
        if not self.takes_mu:
            raise ValueError(f"mu is given, but the set {self.name!r} takes none")
        return disc(mu)

    def mu(self, contacts: int) -> np.ndarray | None:
        """Return the friction coefficients, ``(contacts,)``, or None."""
        if not self.takes_mu:
            return None
        return read_only(spread("mu", self.values[0], (contacts,)))

    def __repr__(self) -> str:
        values = ", ".join(_short(value) for value in self.values)
        return f"sets.{self.name}({values})"


def _short(value: Any) -> str:
    array = np.asarray(value)
    return f"{array.item():g}" if array.size == 1 else f"<array {array.shape}>"


def free() -> Set:
    """Any impulse on every row: a bilateral constraint such as a joint."""
    return Set("free")


def box(lo: Any, hi: Any) -> Set:
    """``lo <= impulse <= hi`` on every row.

    Parameters
    ----------
    lo, hi
        Bounds [N s]: one number, ``(m,)`` for the rows of every block, or ``(K, m)``. Either may be
        infinite.
    """
    return Set("box", (real_array("lo", lo), real_array("hi", hi)))


def half_line() -> Set:
    """A frictionless contact: normal impulse >= 0, none on other rows (S1 eq. 2.24)."""
    return Set("half_line")


def disc(mu: Any) -> Set:
    """Coulomb friction: normal impulse >= 0, ``|tangential| <= mu * normal`` (S1 eq. 2.27).

    Parameters
    ----------
    mu
        Friction coefficient: one number, or ``(K,)``.
    """
    return Set("disc", (real_array("mu", mu),))


def describe() -> dict[str, str]:
    """Return one line on each set, by name."""
    return dict(_core.sets())


def choose_set(mu: Any, sets: Set | None, lo: Any, hi: Any) -> Set:
    """Return the set that a problem's arguments stand for."""
    bounded = lo is not None or hi is not None
    if sets is not None:
        if not isinstance(sets, Set):
            raise TypeError(f"sets is {sets!r}: a set of contactsolve.sets is needed")
        if mu is not None or bounded:
            raise ValueError(f"sets={sets!r} has its own parameters: leave out mu, lo and hi")
        return sets
    if mu is not None and bounded:
        raise ValueError("mu makes the contacts discs, lo and hi boxes: give one of them")
    if mu is not None:
        return disc(mu)
    if bounded:
        return box(-np.inf if lo is None else lo, np.inf if hi is None else hi)
    return half_line()


def names() -> list[str]:
    """Return the names of all sets."""
    return [name for name, _ in _core.sets()]
