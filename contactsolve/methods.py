"""Methods: what is iterated.

A method is given to a solver by its name; methods that pivot take options of their own as an object
of this module:

>>> import contactsolve as cs
>>> problem = cs.scenarios.ball_grid(3, rows=1)
>>> result = cs.solve(problem, method=cs.methods.bpp(engine="skyline"))
>>> result.info["engine"]
'skyline'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _core
from ._options import count, number, word

__all__ = [
    "Pivoting",
    "bpp",
    "dantzig",
    "describe",
    "keller",
    "lemke",
    "murty",
    "names",
    "sweeping",
]


@dataclass(frozen=True)
class Pivoting:
    """A method that pivots, with its options; made by the functions of this module."""

    name: str
    engine: str = "auto"
    tolerance: float = 1e-9
    block_steps: int = 35
    stall_steps: int = 10
    max_pivots: int | None = None
    refinements: int = 2

    def options(self) -> tuple[Any, ...]:
        """What the C library takes, in its order."""
        limit = 0 if self.max_pivots is None else count("max_pivots", self.max_pivots, 1)
        return (
            word("engine", self.engine),
            number("tolerance", self.tolerance),
            count("block_steps", self.block_steps),
            count("stall_steps", self.stall_steps),
            limit,
            count("refinements", self.refinements),
        )

    def __str__(self) -> str:
        usual = Pivoting(self.name)
        own = [
            f"{option}={getattr(self, option)}"
            for option in self.__dataclass_fields__
            if getattr(self, option) != getattr(usual, option)
        ]
        return f"{self.name}({', '.join(own)})" if own else self.name

    __repr__ = __str__


def bpp(
    *,
    engine: str = "auto",
    tolerance: float = 1e-9,
    block_steps: int = 35,
    stall_steps: int = 10,
    max_pivots: int | None = None,
    refinements: int = 2,
) -> Pivoting:
    """Block principal pivoting (S3): joints, boxes and box friction, solved directly.

    The mixed LCP for the friction bounds at hand is solved outright; the next one has the bounds
    that its normal impulses give, and begins with its index set. These solves are the iterations of
    the method: `max_iterations` counts them, `averaging` averages the normal impulses that bound
    friction, and what stops is the measure of the whole problem. The first one leaves the tangents
    free, unless `initial` is given. A must be positive definite: contacts that share their load in
    no unique way need a `compliance`.

    Parameters
    ----------
    engine, tolerance, block_steps, stall_steps, max_pivots, refinements
        As for `contactsolve.MlcpSolver`.
    """
    return Pivoting("bpp", engine, tolerance, block_steps, stall_steps, max_pivots, refinements)


def murty(
    *,
    engine: str = "auto",
    tolerance: float = 1e-9,
    max_pivots: int | None = None,
    refinements: int = 2,
) -> Pivoting:
    """Murty's single pivots, otherwise as `bpp`."""
    return Pivoting("murty", engine, tolerance, max_pivots=max_pivots, refinements=refinements)


def keller(
    *,
    engine: str = "auto",
    tolerance: float = 1e-9,
    max_pivots: int | None = None,
    refinements: int = 2,
) -> Pivoting:
    """Keller's pivots, otherwise as `bpp`: impulses stay within their bounds, row after row."""
    return Pivoting("keller", engine, tolerance, max_pivots=max_pivots, refinements=refinements)


def dantzig(
    *,
    engine: str = "auto",
    tolerance: float = 1e-9,
    max_pivots: int | None = None,
    refinements: int = 2,
) -> Pivoting:
    """Cottle and Dantzig's pivots, otherwise as `bpp`: what is in its place is held there."""
    return Pivoting("dantzig", engine, tolerance, max_pivots=max_pivots, refinements=refinements)


def lemke(*, tolerance: float = 1e-9, max_pivots: int | None = None) -> Pivoting:
    """Lemke's method on a full dictionary, otherwise as `bpp`; A may be semidefinite.

    Every solve begins anew: there is no index set to begin with.
    """
    return Pivoting("lemke", tolerance=tolerance, max_pivots=max_pivots)


def chosen(method: Any) -> Pivoting:
    """Return the method that a solver's option stands for: a name or an object."""
    return method if isinstance(method, Pivoting) else Pivoting(method)


def names() -> list[str]:
    """Return the names of all methods."""
    return [name for name, _ in _core.methods()]


def sweeping() -> list[str]:
    """Return the names of the methods that sweep over contacts: they take every set."""
    direct = {name for name, _ in _core.rules()}
    return [name for name in names() if name not in direct]


def describe() -> dict[str, str]:
    """Return one line on each, by name."""
    return dict(_core.methods())
