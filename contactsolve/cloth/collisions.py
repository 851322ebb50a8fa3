"""How a cloth responds to collisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._options import count, flag, number, one_of, word
from ..bvh.tree import rules

__all__ = ["Collisions"]

_RESPONSES = ("impulses", "problem")


class Collisions:
    """How a cloth responds to collisions with itself and with obstacles.

    Parameters
    ----------
    thickness
        [m]: nearer primitives repel each other. Of two layers of cloth, or of cloth and obstacle,
        this is the distance at which they rest.
    mu
        Coefficient of friction.
    response
        ``"impulses"``: repulsion, then stopping impulses (S5, 3.4; Bridson 2002). ``"problem"``:
        the contacts of a step are one problem that `contactsolve.solve` solves; stopping impulses
        do what is left.
    push
        Part of an overlap that repulsion undoes in a step, 0 to 1.
    stop_after
        The most sweeps of repulsion before stopping impulses act, and between two searches for
        impacts.
    iterations
        The most passes of stopping impulses; then regions that still meet become rigid impact
        zones.
    zones
        The most passes in which zones grow; then the step is undone, and one of half the length
        takes its place.
    allow
        Whether a state may intersect itself or obstacles from the beginning.
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
        self.thickness = number("thickness", thickness)
        self.mu = number("mu", mu)
        self.response = one_of("response", response, _RESPONSES)
        self.push = number("push", push)
        self.stop_after = count("stop_after", stop_after, least=1)
        self.iterations = count("iterations", iterations)
        self.zones = count("zones", zones)
        self.allow = flag("allow", allow)
        self.k = count("k", k)
        self.rule = one_of("rule", word("rule", rule), tuple(rules()))
        self.method = word("method", method)
        self.options = dict(options or {})
        self._check()

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
