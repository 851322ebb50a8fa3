"""Continuous collision detection of vertices and faces, and of edges, that misses no contact."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._options import most_threads
from ._stencils import indices_into, kind_number, like, margin_of, positions

__all__ = ["Impacts", "ccd", "free_step"]


class Impacts(NamedTuple):
    """What `ccd` returns.

    Attributes
    ----------
    hit
        ``(n,)``: whether the two come as near as the margin. No contact is missed; where rounding
        does not let one be excluded, there is one.
    time
        ``(n,)``: a lower bound of the first such time, from 0 to 1; infinity where there is no hit.
        All earlier times are proven free.
    weights
        ``(n, 4)``: those of `Distances`, of the nearest points at that time; NaN without a hit.
    separation
        ``(n, 3)``: the vector between these points, to rounding; NaN without a hit.
    doubtful
        ``(n,)``: hits of which no contact is proven, because it is within rounding errors of a
        miss, or because the limit of steps was reached.
    """

    hit: np.ndarray
    time: np.ndarray
    weights: np.ndarray
    separation: np.ndarray
    doubtful: np.ndarray

    @property
    def doubts(self) -> int:
        """The number of doubtful hits."""
        return int(np.count_nonzero(self.doubtful))


def ccd(
    kind: str,
    x0: Any,
    x1: Any,
    margin: float = 0.0,
    indices: Any = None,
    *,
    threads: int | None = None,
) -> Impacts:
    """Return which vertices and faces, or pairs of edges, meet in motion, and when.

    Vertices move along straight lines from x0 to x1 over times from 0 to 1. Positions are exact as
    given: `float32` is converted to `float64`, and the straight lines are those of real numbers.

    Times are proven free by planes between the two: a fixed plane, or one that turns between two
    times, bounds the distance from below whatever the plane is, and rounding errors are added to
    the margin. What cannot be proven free is a hit: none is ever missed, also by edges that are
    parallel or move in one plane, edges of zero length and faces without area.

    >>> import contactsolve as cs
    >>> face = [[0, 0, 0], [4, 0, 0], [0, 4, 0]]
    >>> found = cs.bvh.ccd("vertex_face", [[[1, 1, 1], *face]], [[[1, 1, -1], *face]])
    >>> found.hit, found.time.round(12), found.doubts
    (array([ True]), array([0.5]), 0)

    Parameters
    ----------
    kind
        ``"vertex_face"``: the rows of a query are the vertex and the three of the face;
        ``"edge_edge"``: the two vertices of the first edge and those of the second.
    x0, x1
        Positions at t = 0 and 1, ``(n, 4, 3)``; or ``(vertices, 3)`` with `indices`.
    margin
        A distance at which two count as meeting, in the unit of x0.
    indices
        The vertices of each query, ``(n, 4)``.
    threads
        The most threads; None: all that are available. They change no bit.

    Returns
    -------
    Impacts

    Raises
    ------
    ValueError
        Of an unknown kind, a wrong shape, NaN or infinity, a negative margin, an index out of
        range. The message has index and value.
    """
    return Impacts(*_core.stencil_impacts(*_arguments(kind, x0, x1, margin, indices, threads)))


def free_step(
    kind: str,
    x0: Any,
    x1: Any,
    margin: float = 0.0,
    indices: Any = None,
    *,
    threads: int | None = None,
) -> float:
    """Return the largest time, at most 1, below which no query is known to have a hit.

    It is the least time of `ccd` over all queries, or 1, without the rest: a query is left as soon
    as it is known not to be the first.

    Parameters
    ----------
    kind, x0, x1, margin, indices, threads
        As of `ccd`.

    Returns
    -------
    float
    """
    return _core.stencil_free_step(*_arguments(kind, x0, x1, margin, indices, threads))


def _arguments(kind: Any, x0: Any, x1: Any, margin: Any, indices: Any, threads: Any) -> tuple:
    """Return the arguments as the C library takes them."""
    number, most = kind_number(kind), most_threads(threads)
    x0 = positions("x0", x0, indices is not None)
    x1 = like("x1", x1, x0, indices is not None)
    if indices is not None:
        indices = indices_into(len(x0), indices)
    return number, x0, x1, margin_of(margin), indices, most
