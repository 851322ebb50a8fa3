"""Distances of vertices from faces, and of edges from each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._options import most_threads
from ._stencils import indices_into, kind_number, positions

__all__ = ["Distances", "distance"]


class Distances(NamedTuple):
    """What `distance` returns.

    Attributes
    ----------
    distance
        ``(n,)``, in the unit of x.
    weights
        ``(n, 4)``, of the rows of a query: ``weights @ x`` is the separation. Those of a vertex
        and a face are ``(1, -w0, -w1, -w2)`` with the barycentric coordinates w of the nearest
        point of the face; those of two edges are ``(1 - s, s, -(1 - t), -t)``.
    separation
        ``(n, 3)``: the vector from the nearest point of the face to the vertex, or from that of the
        second edge to that of the first.
    """

    distance: np.ndarray
    weights: np.ndarray
    separation: np.ndarray


def distance(kind: str, x: Any, indices: Any = None, *, threads: int | None = None) -> Distances:
    """Return distances and nearest points of vertices and faces, or of pairs of edges.

    They are right to rounding, also for parallel edges, edges of zero length and faces without
    area: the error of a distance is some roundings of the largest difference of coordinates
    within the query.

    >>> import contactsolve as cs
    >>> found = cs.bvh.distance("edge_edge", [[[0, 0, 1], [2, 0, 1], [1, -1, 0], [1, 1, 0]]])
    >>> found.distance
    array([1.])
    >>> found.weights
    array([[ 0.5,  0.5, -0.5, -0.5]])

    Parameters
    ----------
    kind
        ``"vertex_face"``: the rows of a query are the vertex and the three of the face;
        ``"edge_edge"``: the two vertices of the first edge and those of the second.
    x
        Positions, ``(n, 4, 3)``; or ``(vertices, 3)`` with `indices`.
    indices
        The vertices of each query, ``(n, 4)``.
    threads
        The most threads; None: all that are available. They change no bit.

    Returns
    -------
    Distances

    Raises
    ------
    ValueError
        Of an unknown kind, a wrong shape, NaN or infinity, an index out of range. The message has
        index and value.
    """
    number, most = kind_number(kind), most_threads(threads)
    x = positions("x", x, indices is not None)
    if indices is not None:
        indices = indices_into(len(x), indices)
    return Distances(*_core.stencil_distances(number, x, indices, most))
