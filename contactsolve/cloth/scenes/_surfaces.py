"""Meshes of surfaces: tubes that are closed at their ends, spheres, rectangles; meshes together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..sheet import sheet

__all__ = [
    "Mesh",
    "closed_tube",
    "joined",
    "limb",
    "moved",
    "rectangle",
    "smoothed",
    "sphere",
    "tube_faces",
]

Floats = NDArray[np.float64]
Mesh = tuple[Floats, NDArray[np.int64]]


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Return several meshes as one, their vertices in turn."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in meshes)])
    faces = [own + start for (_, own), start in zip(meshes, starts, strict=False)]
    return np.concatenate([vertices for vertices, _ in meshes]), np.concatenate(faces)


def moved(mesh: Mesh, by: Sequence[float]) -> Mesh:
    """Return a mesh elsewhere."""
    return mesh[0] + np.asarray(by, float), mesh[1]


# ---- tubes ---------------------------------------------------------------------------------------


def tube_faces(rows: int, columns: int) -> NDArray[np.int64]:
    """Return the faces of a grid whose columns go round, outward if they go counter-clockwise.

    Vertex ``columns · i + j`` is in row i, from below. Diagonals alternate; with an odd number of
    columns two neighbours have the same one.
    """
    i, j = np.indices((rows - 1, columns))
    a, b = columns * i + j, columns * i + (j + 1) % columns
    c, d = b + columns, a + columns
    rising = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], -2)
    falling = np.stack([np.stack([a, b, d], -1), np.stack([b, c, d], -1)], -2)
    return np.where(((i + j) % 2 == 1)[..., None, None], falling, rising).reshape(-1, 3)


def closed_tube(rings: Floats, low: Floats, high: Floats) -> Mesh:
    """Return a tube of rings ``(rows, columns, 3)`` with a vertex at either end."""
    rows, columns, _ = rings.shape
    vertices = np.concatenate([rings.reshape(-1, 3), [low, high]])
    j = np.arange(columns)
    following, last = (j + 1) % columns, columns * (rows - 1)
    bottom, top = np.full(columns, rows * columns), np.full(columns, rows * columns + 1)
    ends = [np.stack([following, j, bottom], -1), np.stack([last + j, last + following, top], -1)]
    return vertices, np.concatenate([tube_faces(rows, columns), *ends])


def smoothed(points: Floats, width: float, count: int, fine: int = 2000) -> Floats:
    """Return points along a polygon whose corners are rounded, at equal distances.

    Parameters
    ----------
    points
        Corners ``(k, D)``.
    width
        Along the polygon, of the window over which it is averaged.
    count
        Points to return; the first and last are those of the polygon.
    """
    along = _lengths(points)
    s = np.linspace(0.0, along[-1], fine)
    line = np.stack([np.interp(s, along, x) for x in points.T], -1)
    half = max(1, round(width / along[-1] * fine / 2))
    window = np.hanning(2 * half + 3)[1:-1]
    padded = np.pad(line, ((half, half), (0, 0)), mode="reflect", reflect_type="odd")
    line = np.stack([np.convolve(x, window / window.sum(), "valid") for x in padded.T], -1)
    return at_equal_distances(line, count)


def at_equal_distances(line: Floats, count: int) -> Floats:
    """Return points of a polygon at equal distances along it."""
    along = _lengths(line)
    s = np.linspace(0.0, along[-1], count)
    return np.stack([np.interp(s, along, x) for x in line.T], -1)


def _lengths(line: Floats) -> Floats:
    """Return the distance of each point from the first one along a polygon."""
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])


def limb(stations: Floats, rows: int, columns: int) -> Mesh:
    """Return a closed tube about an axis.

    Parameters
    ----------
    stations
        Points of the axis and radii ``(k, 4)``, from below or from the inside.
    """
    # Rings in planes across the line between the ends.
    line = smoothed(stations, 0.3 * float(np.ptp(stations[:, :3], axis=0).max()), rows)
    axis = line[-1, :3] - line[0, :3]
    axis /= np.linalg.norm(axis)
    first = np.cross(axis, [0.0, 1.0, 0.0])
    first /= np.linalg.norm(first)
    angle = 2 * np.pi * np.arange(columns) / columns
    circle = np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * np.cross(axis, first)
    rings = line[:, None, :3] + line[:, None, 3:] * circle
    reach = 0.6 * line[[0, -1], 3:]
    return closed_tube(rings, line[0, :3] - reach[0] * axis, line[-1, :3] + reach[1] * axis)


# ---- others --------------------------------------------------------------------------------------


def sphere(radius: float, rows: int, columns: int) -> Mesh:
    """Return a sphere about the origin, of `rows` rings between its poles."""
    polar = np.pi * np.arange(1, rows + 1)[:, None] / (rows + 1)
    angle = 2 * np.pi * np.arange(columns) / columns
    flat = -np.cos(polar) + 0 * angle
    rings = np.stack([np.sin(polar) * np.cos(angle), np.sin(polar) * np.sin(angle), flat], -1)
    pole = np.array([0.0, 0.0, radius])
    return closed_tube(radius * rings, -pole, pole)


def rectangle(
    size: tuple[int, int], begin: tuple[float, float], end: tuple[float, float], width: float
) -> Mesh:
    """Return a plane between two lines along y, at (x, z) `begin` and `end`.

    Parameters
    ----------
    size
        Vertices from line to line, and along them.
    """
    vertices, faces = sheet(*size, 1.0)
    across, along = vertices[:, 0], vertices[:, 1]
    x, z = (begin[k] + along * (end[k] - begin[k]) for k in (0, 1))
    return np.stack([x, width * (across - 0.5), z], axis=-1), faces[:, ::-1].copy()
