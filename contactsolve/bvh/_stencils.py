"""Arguments of queries about four vertices each: positions, and which of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import finite_array, index_array, shortest
from .._options import number, word
from .._suggestions import listed

_KINDS = {"vertex_face": 0, "edge_edge": 1}
_VERTICES = 4


def kind_number(kind: Any) -> int:
    """Return the C library's number of a kind."""
    return listed("kind", _KINDS, word("kind", kind))


def positions(name: str, x: Any, indexed: bool) -> np.ndarray:
    """Return positions, ``(n, 4, 3)`` or, with indices, ``(vertices, 3)``."""
    x = finite_array(name, x)
    wanted = "(vertices, 3)" if indexed else "(n, 4, 3)"
    if x.ndim != (2 if indexed else 3) or x.shape[-1] != 3 or not (indexed or x.shape[1] == 4):
        raise ValueError(f"{name} has shape {x.shape}: {wanted} is needed")
    return x


def like(name: str, x: Any, first: np.ndarray, indexed: bool) -> np.ndarray:
    """Return positions of as many vertices as at first."""
    x = positions(name, x, indexed)
    if x.shape != first.shape:
        raise ValueError(f"{name} has shape {x.shape}: {first.shape} is needed, as of x0")
    return x


def indices_into(vertices: int, indices: Any) -> np.ndarray:
    """Return the vertices of each query, ``(n, 4)``."""
    indices = index_array("indices", indices)
    if indices.ndim != 2 or indices.shape[1] != _VERTICES:
        raise ValueError(f"indices has shape {indices.shape}: (n, 4) is needed")
    if indices.size and not (indices.min() >= 0 and indices.max() < vertices):
        i, k = np.argwhere((indices < 0) | (indices >= vertices))[0]
        raise ValueError(
            f"indices[{i}, {k}] is {indices[i, k]}: "
            + (f"0 to {vertices - 1} is needed" if vertices else "there are no vertices")
        )
    return indices


def margin_of(value: Any) -> float:
    """Return a distance that is not negative."""
    margin = number("margin", value)
    if not 0 <= margin < np.inf:
        raise ValueError(
            f"margin is {shortest(margin)}: a finite number that is not negative is needed"
        )
    return margin
