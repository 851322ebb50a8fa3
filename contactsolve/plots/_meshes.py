"""Surfaces of convex shapes as flat faces, for pictures."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from contactsolve.dynamics.shapes import Hull, Polygon, Shape, Triangle

__all__ = ["Mesh", "around", "mesh", "outline"]


class Mesh(NamedTuple):
    """A convex surface in the frame of its shape.

    Attributes
    ----------
    points : (V, 3) ndarray
    faces : tuple of (k,) ndarrays
        Indices of points, counter-clockwise if seen from outside.
    normals : (F, 3) ndarray
        Outward, of unit length.
    rounded : bool ndarray, (F,)
        Whether the face is part of a curved surface, whose edges are not seen.
    core : (k, 3) ndarray
        The points within `radius` of the hull of these are the shape.
    radius : float
    """

    points: np.ndarray
    faces: tuple[np.ndarray, ...]
    normals: np.ndarray
    rounded: np.ndarray
    core: np.ndarray
    radius: float


def around(sides: int) -> np.ndarray:
    """Return points on the unit circle, ``(sides, 2)``, counter-clockwise."""
    angle = 2 * np.pi * np.arange(sides) / sides
    return np.column_stack([np.cos(angle), np.sin(angle)])


@lru_cache(maxsize=4096)
def mesh(shape: Shape, sides: int) -> Mesh:
    """Return the surface of a shape in space; `sides` of a curved one."""
    return _MAKERS[shape.kind](shape, sides)


@lru_cache(maxsize=4096)
def outline(shape: Shape, sides: int) -> np.ndarray:
    """Return the outline of a shape of the plane, ``(n, 2)``, counter-clockwise."""
    if shape.kind == "polygon":
        points = _vertices(shape)
        return points[_hull_of_plane(points)]
    circle = shape.numbers[0] * around(sides)
    if shape.kind == "segment":
        circle[:, 0] += np.where(circle[:, 0] >= 0, 1.0, -1.0) * shape.numbers[1]
    return circle


def _vertices(shape: Shape) -> np.ndarray:
    assert isinstance(shape, (Hull, Polygon, Triangle))
    return shape.vertices


# ---- shapes -------------------------------------------------------------------------------------


def _of_faces(
    points: np.ndarray,
    faces: list[Any],
    rounded: Any,
    core: np.ndarray | None = None,
    radius: float = 0.0,
) -> Mesh:
    """Return a surface with the normals of its faces."""
    loops = tuple(np.asarray(face) for face in faces)
    normals = np.array([_area_vector(points[loop]) for loop in loops])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    curved = np.broadcast_to(np.asarray(rounded, dtype=bool), (len(loops),))
    return Mesh(points, loops, normals, curved, points if core is None else core, radius)


def _area_vector(loop: np.ndarray) -> np.ndarray:
    from_first = loop[1:] - loop[0]
    return np.cross(from_first[:-1], from_first[1:]).sum(axis=0)


def _box(shape: Shape, _: int) -> Mesh:
    corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij")).reshape(3, 8).T
    faces = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return _of_faces(corners * np.array(shape.numbers), faces, False)


def _bands(rings: int, sides: int) -> list[np.ndarray]:
    """Return the faces between rings of points, each above the one before."""
    side = np.arange(sides)
    following = (side + 1) % sides
    return [
        np.array([i * sides + side[k], i * sides + following[k], (i + 1) * sides + following[k],
                  (i + 1) * sides + side[k]])
        for i in range(rings - 1)
        for k in range(sides)
    ]  # fmt: skip


def _rings(radii: np.ndarray, heights: np.ndarray, sides: int) -> np.ndarray:
    """Return the points of rings about z."""
    circle = around(sides)
    levels = [np.column_stack([r * circle, np.full(sides, z)]) for r, z in zip(radii, heights)]  # noqa: B905
    return np.concatenate(levels)


def _cylinder(shape: Shape, sides: int) -> Mesh:
    radius, half = shape.numbers
    points = _rings(np.array([radius, radius]), np.array([-half, half]), sides)
    ends = [np.arange(sides)[::-1], sides + np.arange(sides)]
    return _of_faces(points, [*_bands(2, sides), *ends], [True] * sides + [False] * 2)


def _capsule(shape: Shape, sides: int) -> Mesh:
    radius, half = shape.numbers
    angle = np.linspace(0.0, np.pi / 2, max(3, sides // 5) + 1)[:-1]
    radii = radius * np.concatenate([np.cos(angle[::-1]), np.cos(angle)])
    upper = half + radius * np.sin(angle)
    points = _rings(radii, np.concatenate([-upper[::-1], upper]), sides)
    ends = [np.arange(sides)[::-1], len(points) - sides + np.arange(sides)]
    core = np.array([[0, 0, -half], [0, 0, half]])
    return _of_faces(points, [*_bands(len(radii), sides), *ends], True, core, radius)


def _hull(shape: Shape, _: int) -> Mesh:
    points = _vertices(shape)
    return _of_faces(points, _hull_faces(points), False)


def _triangle(shape: Shape, _: int) -> Mesh:
    """Return both sides of a triangle."""
    return _of_faces(_vertices(shape), [np.array([0, 1, 2]), np.array([2, 1, 0])], False)


_MAKERS = {
    "box": _box,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "hull": _hull,
    "triangle": _triangle,
}


# ---- convex hulls -------------------------------------------------------------------------------


def _hull_faces(points: np.ndarray) -> list[np.ndarray]:
    """Return the faces of the hull of a few points: planes of three with all others below."""
    triples = np.array(list(combinations(range(len(points)), 3)))
    first, second, third = points[triples[:, 0]], points[triples[:, 1]], points[triples[:, 2]]
    normals = np.cross(second - first, third - first)
    lengths = np.linalg.norm(normals, axis=1)
    size = np.ptp(points, axis=0).max()
    kept = lengths > 1e-10 * size**2
    normals, first = normals[kept] / lengths[kept, None], first[kept]

    # Heights of all points above each plane; a plane with all of them on one side is a face's.
    heights = normals @ points.T - np.einsum("ij,ij->i", normals, first)[:, None]
    tolerance = 1e-9 * size
    faces: dict[tuple[int, ...], np.ndarray] = {}
    for sign in (1.0, -1.0):
        for k in np.flatnonzero((sign * heights <= tolerance).all(axis=1)):
            members = np.flatnonzero(abs(heights[k]) <= tolerance)
            if tuple(members) not in faces:
                flat = _in_plane(points[members], sign * normals[k])
                faces[tuple(members)] = members[_hull_of_plane(flat)]
    return list(faces.values())


def _in_plane(points: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return coordinates within a plane, counter-clockwise about its normal."""
    across = np.cross(np.eye(3)[np.argmin(abs(normal))], normal)
    return points @ np.column_stack([across, np.cross(normal, across)])


def _hull_of_plane(points: np.ndarray) -> np.ndarray:
    """Return the indices of the hull's corners, counter-clockwise (Andrew's monotone chain)."""
    order = np.lexsort(points.T[::-1])

    def chain(indices: np.ndarray) -> list[int]:
        found: list[int] = []
        for i in indices.tolist():
            while len(found) > 1 and not _turns_left(
                points[found[-2]], points[found[-1]], points[i]
            ):
                found.pop()
            found.append(i)
        return found[:-1]

    return np.array(chain(order) + chain(order[::-1]))


def _turns_left(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> bool:
    return bool((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0)
