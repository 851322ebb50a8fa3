"""Schemes: how Aλ + b is computed.

A scheme is given to a solver by its name, or with options as an object of this module:

>>> import contactsolve as cs
>>> problem = cs.scenarios.ball_grid(4)
>>> result = cs.solve(problem, method="jacobi", scheme=cs.schemes.factorized(velocities="add"))
>>> result.info["scheme"]
'factorized'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _core

__all__ = ["Scheme", "describe", "factorized", "names"]


@dataclass(frozen=True)
class Scheme:
    """A scheme with its options; made by the functions of this module."""

    name: str
    velocities: str = "auto"

    def __repr__(self) -> str:
        return f"{self.name}({self.velocities})" if self.velocities != "auto" else self.name


def factorized(*, velocities: str = "auto") -> Scheme:
    """A never formed: u = Gᵀλ is kept instead, G = J L with M⁻¹ = L Lᵀ (S1 section 3.4.2).

    Parameters
    ----------
    velocities
        How u follows a sweep, or a stage of one, whose contacts do not see each other, such as
        Jacobi's. ``"recompute"``: from all contacts, body by body (S1 section 6.4 finds it faster);
        ``"add"``: the changes are added contact by contact (S1 eq. 3.19); ``"accumulate"``: every
        part sums its changes by itself, and the sums are added in order (S1 section 6.2);
        ``"auto"``: recomputed after large stages, added to after small ones. The results differ
        by rounding only.
    """
    known = ("auto", "recompute", "add", "accumulate")
    if velocities not in known:
        raise ValueError(f"velocities: {velocities!r} is unknown; known: {', '.join(known)}")
    return Scheme("factorized", velocities)


def chosen(scheme: Any) -> Scheme:
    """Return the scheme that a solver's option stands for: a name or an object."""
    if isinstance(scheme, Scheme):
        return scheme
    if not isinstance(scheme, str):
        raise TypeError(f"scheme is {scheme!r}: a name is needed")
    return Scheme(scheme)


def names() -> list[str]:
    """Return the names of all schemes."""
    return [name for name, _ in _core.schemes()]


def describe() -> dict[str, str]:
    """Return one line on each, by name."""
    return dict(_core.schemes())


def __dir__() -> list[str]:
    return sorted(__all__)
