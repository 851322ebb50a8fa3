"""Materials: what holds where two shapes touch."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .. import _core
from .. import sets as feasible_sets
from .._arrays import read_only, real_array
from ..sets import Set

__all__ = ["Material"]


class Material:
    """What holds where two shapes of this material touch. It cannot be changed.

    Parameters
    ----------
    mu
        Friction coefficient of Coulomb's disc, in the plane of an interval; 0: no friction.
    restitution
        ε of Newton's impact law, v⁺ = −ε v⁻: one number for the normal, or one for the normal and
        one for the tangents. Impacts of a step are simultaneous: of balls that touch in a row, all
        move away; with gaps that a step cannot cross, the last one alone.
    sets
        Any contact set of `contactsolve.sets` in place of the disc, with one value of each
        parameter.
    rows
        Rows of a contact: 1 without friction, otherwise 3 in space and 2 in the plane; 4 with spin
        (`contactsolve.sets.contensou`), 5 with rolling. Default: the fewest that the set takes.

    Raises
    ------
    TypeError, ValueError
        Where both `mu` and `sets` are given, for restitution below 0 or above 1, and for `mu` below
        0 or not finite.

    Notes
    -----
    Between two different materials with the same set, parameters are geometric means and the
    restitution is the larger one; `World.set_pair` gives a pair a material of its own.
    """

    __slots__ = ("restitution", "rows", "sets")

    sets: Set
    rows: int | None
    restitution: tuple[float, float]

    def __init__(
        self,
        mu: float | None = None,
        restitution: Any = 0.0,
        *,
        sets: Set | None = None,
        rows: int | None = None,
    ) -> None:
        if mu is not None and sets is not None:
            raise TypeError("give either mu or sets")
        if sets is not None and not isinstance(sets, Set):
            raise TypeError(f"sets is {sets!r}: a set of contactsolve.sets is needed")
        if mu is not None and not np.ndim(mu) == 0:
            raise ValueError(f"mu has shape {np.shape(mu)}: a material has one number")
        if mu is not None and not (np.isfinite(mu) and mu >= 0):
            raise ValueError(f"mu is {mu!r}: a finite number of at least 0 is needed")
        frictionless = sets is None and not mu
        if sets is None:
            sets = feasible_sets.half_line() if frictionless else feasible_sets.disc(mu)
        epsilon = real_array("restitution", restitution).ravel()
        if len(epsilon) not in (1, 2):
            raise ValueError(
                f"restitution has {len(epsilon)} numbers: one for the normal, or also one for the "
                "tangents"
            )
        for i, one in enumerate(epsilon.tolist()):
            if not 0 <= one <= 1:
                raise ValueError(f"restitution[{i}] is {one:g}: 0 to 1 is needed")
        normal, tangential = (*epsilon.tolist(), 0.0)[:2]

        # The set is a copy, whose values cannot be changed either.
        sets = sets.copied()
        for one in sets.values:
            read_only(one.value)
        rows = 1 if frictionless and rows is None else rows
        values = {"sets": sets, "rows": rows, "restitution": (normal, tangential)}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Material cannot be changed: make a new one")

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.sets, self.rows, self.restitution)

    def law(self, dimension: int) -> tuple[str, int, np.ndarray, float, float]:
        """Return set, rows, parameters and restitution as the C library takes them."""
        usual = (1, 2) if dimension == 2 else (1, 3, 4, 5)
        name, rows = self.sets.name, self.rows
        if rows is None:
            rows = next((m for m in usual if _core.set_parameters(name, m) >= 0), usual[-1])
        return name, rows, self.sets.parameters(1, rows)[0], *self.restitution

    def __repr__(self) -> str:
        normal, tangential = self.restitution
        epsilon = f"({normal:g}, {tangential:g})" if tangential else f"{normal:g}"
        return f"Material(sets={self.sets!r}, restitution={epsilon})"


def _made(sets: Set, rows: int | None, restitution: tuple[float, float]) -> Material:
    """Return a material from its attributes."""
    return Material(restitution=restitution, sets=sets, rows=rows)
