"""Meshes of flat rectangular sheets."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import finite_array
from .._options import count

__all__ = ["sheet"]

_TOO_MANY = 2**31  # vertices
_DIAGONALS = ("alternating", "one")


def sheet(
    rows: int, columns: int, size: Any, diagonals: str = "alternating"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mesh of a rectangle in the plane z = 0, as a grid of vertices.

    Parameters
    ----------
    rows, columns
        Vertices along y and along x, at least 2 each; fewer than 2³¹ vertices.
    size
        Lengths along x and y [m]; one number for both.
    diagonals
        How the cells of the grid are cut in two: ``"alternating"``, so that diagonals of
        neighbours meet, or ``"one"``, all from the corner of least x and y to the opposite one.

    Returns
    -------
    vertices : (rows · columns, 3) ndarray
        The corner of least x and y is the origin; vertex ``columns · i + j`` is at the line i along
        y and j along x.
    faces : (2 (rows − 1) (columns − 1), 3) ndarray
        Counterclockwise as seen from above.

    Examples
    --------
    >>> import contactsolve as cs
    >>> vertices, faces = cs.cloth.sheet(2, 3, (2.0, 1.0))
    >>> vertices[-1].tolist(), len(faces)
    ([2.0, 1.0, 0.0], 4)
    """
    rows = count("rows", rows, least=2, most=2**31 - 1)
    columns = count("columns", columns, least=2, most=2**31 - 1)
    if rows * columns >= _TOO_MANY:
        raise ValueError(
            f"rows is {rows} and columns is {columns}: a sheet has fewer than 2^31 vertices"
        )
    lengths = finite_array("size", size)
    if lengths.shape not in ((), (1,), (2,)) or not (lengths > 0).all():
        raise ValueError(f"size is {size!r}: one or two positive lengths are needed")
    if diagonals not in _DIAGONALS:
        known = " and ".join(map(repr, _DIAGONALS))
        raise ValueError(f"diagonals is {diagonals!r}: {known} are known")
    width, height = np.broadcast_to(lengths, (2,))
    x, y = np.meshgrid(np.linspace(0.0, width, columns), np.linspace(0.0, height, rows))
    vertices = np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)])
    return vertices, _faces(rows, columns, alternating=diagonals == "alternating")


def _faces(rows: int, columns: int, *, alternating: bool) -> np.ndarray:
    """Return both triangles of each cell."""
    number = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]
    rising = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], -2)
    falling = np.stack([np.stack([a, b, d], -1), np.stack([b, c, d], -1)], -2)
    i, j = np.indices(a.shape)
    falls = alternating & ((i + j) % 2 == 1)
    return np.where(falls[..., None, None], falling, rising).reshape(-1, 3)
