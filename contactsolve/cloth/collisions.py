"""How a cloth responds to collisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import methods
from .._options import count, flag, number, one_of, word
from .._suggestions import refuse_unknown
from ..bvh.tree import rules
from ..solver import _OPTIONS as OPTION_NAMES

__all__ = ["Collisions"]

_RESPONSES = ("impulses", "problem")

# What `options` may have: arguments of `solve` beside the problem and the method.
_SOLVE = ("initial", "callback", "progress", *OPTION_NAMES)


class Collisions:
    """How a cloth responds to collisions with itself and with obstacles; it cannot be changed.

    Parameters
    ----------
    thickness
        [m]: nearer primitives repel each other. Of two layers of cloth, or of cloth and obstacle,
        this is the distance at which they rest. Places of one connected part of the cloth that are
        nearer in the rest shape repel each other below their distance there.
    mu
        Coefficient of friction.
    response
        ``"impulses"``: repulsion, then stopping impulses (S5, 3.4; Bridson 2002). ``"problem"``:
        the contacts of a step are one problem that `contactsolve.solve` solves; stopping impulses
        do what is left.
    push
        Part of an overlap that repulsion undoes in a step, 0 to 1.
    stop_after
        The most iterations of repulsion before stopping impulses act, each a sweep over the
        contacts forth and one back; also the most sweeps of the shift that undoes overlaps.
    iterations
        The most passes of stopping impulses; then regions that still meet become rigid impact
        zones.
    zones
        The most passes in which zones grow; then the step is undone, and one of half the length
        takes its place.
    allow
        Whether a state may intersect itself or obstacles from the beginning, and attached vertices
        and obstacles may pass through each other. Pairs that touch at first, and those that nothing
        but the caller moves, are then left out of the certificate.
    k
        Directions of the boxes: 6, 14, 18 or 26, as of `contactsolve.bvh.Tree`.
    rule
        How queries are split into tasks: a name of `contactsolve.bvh.rules`. It changes no bit.
    method, options
        Of ``"problem"``: the method, and a dict of other arguments of `contactsolve.solve`.
        Impulses of the step before are the initial ones, by their primitives.

    Raises
    ------
    ValueError
        thickness ≤ 0, mu < 0, push outside 0 … 1, or an unknown name.
    TypeError
        A value of another type; or `options` has an unknown name.
    AttributeError
        An attribute is assigned.

    Notes
    -----
    There is no restitution: what meets does not rebound, except for the membrane's own elasticity.

    Examples
    --------
    >>> import contactsolve as cs
    >>> vertices, faces = cs.cloth.sheet(9, 9, 1.0)
    >>> vertices[:, 2] = 0.01
    >>> floor = cs.cloth.Obstacle([[-3, -3, 0], [3, -3, 0], [0, 6, 0]], [[0, 1, 2]])
    >>> cloth = cs.cloth.Cloth(
    ...     vertices, faces, density=0.2, young=500.0, damping=0.01,
    ...     collisions=cs.cloth.Collisions(5e-3, mu=0.3), obstacles=[floor],
    ... )
    >>> cloth.run(0.5, 0.01)
    >>> bool(cloth.positions[:, 2].min() > 0), cloth.info["free"]
    (True, True)
    """

    thickness: float
    mu: float
    response: str
    push: float
    stop_after: int
    iterations: int
    zones: int
    allow: bool
    k: int
    rule: str
    method: str
    _options: dict[str, Any]

    def __init__(
        self,
        thickness: float,
        mu: float = 0.0,
        response: str = "impulses",
        *,
        push: float = 0.1,
        stop_after: int = 20,
        iterations: int = 20,
        zones: int = 50,
        allow: bool = False,
        k: int = 18,
        rule: str = "estimate",
        method: str = "gauss_seidel",
        options: dict[str, Any] | None = None,
    ) -> None:
        vars(self).update(
            thickness=number("thickness", thickness),
            mu=number("mu", mu),
            response=one_of("response", response, _RESPONSES),
            push=number("push", push),
            stop_after=count("stop_after", stop_after, least=1),
            iterations=count("iterations", iterations),
            zones=count("zones", zones),
            allow=flag("allow", allow),
            k=count("k", k),
            rule=one_of("rule", word("rule", rule), tuple(rules())),
            method=one_of("method", word("method", method), tuple(methods.names())),
            _options=_checked({} if options is None else options),
        )
        self._check()

    @property
    def options(self) -> dict[str, Any]:
        """Other arguments of `contactsolve.solve`, a copy."""
        return dict(self._options)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} cannot be assigned: make another Collisions")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} cannot be deleted: make another Collisions")

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments that make an equal one."""
        own = {name: value for name, value in vars(self).items() if name != "_options"}
        return {**own, "options": self.options}

    def _check(self) -> None:
        if not 0 < self.thickness < np.inf:
            raise ValueError(f"thickness is {self.thickness}: a positive number is needed")
        if not 0 <= self.mu < np.inf:
            raise ValueError(f"mu is {self.mu}: a number of at least 0 is needed")
        if not 0 <= self.push <= 1:
            raise ValueError(f"push is {self.push}: a number from 0 to 1 is needed")
        if self.k not in (6, 14, 18, 26):
            raise ValueError(f"k is {self.k}: 6, 14, 18 or 26 is needed")

    def __repr__(self) -> str:
        return (
            f"Collisions(thickness={self.thickness:g}, mu={self.mu:g}, response={self.response!r})"
        )


def _checked(options: Any) -> dict[str, Any]:
    """Return arguments of `solve` whose names are known."""
    if not isinstance(options, Mapping):
        raise TypeError(f"options is {options!r}: a dict of arguments of solve is needed")
    if "method" in options:
        raise TypeError("options has 'method': it is an argument of Collisions")
    refuse_unknown("options", options, _SOLVE)
    return dict(options)
