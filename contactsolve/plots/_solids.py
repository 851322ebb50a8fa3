"""The shapes of a world as few meshes of triangles, whose corners move with the bodies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contactsolve.dynamics.shapes import Shape
from contactsolve.plots._meshes import mesh, outline
from contactsolve.plots._stage import Stage

__all__ = ["Group", "arrows", "groups_of", "outlines_of", "tube_faces", "tubes"]

_SIDES = ((300, 32), (1500, 16), (float("inf"), 10))  # of a round shape, for so many shapes
_ROUND = ("capsule", "disc", "segment")


class Group(NamedTuple):
    """Shapes that are drawn as one mesh.

    Attributes
    ----------
    shapes : (S,) ndarray
        Their indices in the world.
    corners : (V, D) ndarray
        In the frame of the shape that they are of.
    owners : (V,) ndarray
        The index in the world of this shape.
    faces : (F, 3) ndarray
    is_round : bool
        Whether the surface is smooth.
    """

    shapes: np.ndarray
    corners: np.ndarray
    owners: np.ndarray
    faces: np.ndarray
    is_round: bool

    def at(self, stage: Stage, which: np.ndarray, nowhere: np.ndarray) -> np.ndarray:
        """Return the corners in the world frame, ``(V, D)``; those of absent shapes are nowhere.

        `which` has the place of each shape of the world in the stage; −1: absent.
        """
        place = which[self.owners]
        found = np.einsum("vij,vj->vi", stage.turns[place], self.corners) + stage.centers[place]
        return np.where((place < 0)[:, None], nowhere, found)


def groups_of(shapes: list[Shape], chosen: np.ndarray) -> list[Group]:
    """Return the groups of the chosen shapes, without spheres and half-spaces."""
    sides = sides_of(len(chosen))
    parts: dict[bool, list[int]] = {}
    for k in chosen.tolist():
        if shapes[k].kind not in ("sphere", "half_space"):
            parts.setdefault(shapes[k].kind in _ROUND, []).append(k)
    return [_group(shapes, part, sides, is_round) for is_round, part in parts.items()]


def sides_of(count: int) -> int:
    """Return the sides of a round shape among so many ones."""
    return next(sides for most, sides in _SIDES if count <= most)


def _group(shapes: list[Shape], part: list[int], sides: int, is_round: bool) -> Group:
    corners, faces, owners, begin = [], [], [], 0
    for k in part:
        points, triangles = _triangles(shapes[k], sides)
        corners.append(points)
        faces.append(triangles + begin)
        owners.append(np.full(len(points), k))
        begin += len(points)
    return Group(
        np.array(part),
        np.concatenate(corners),
        np.concatenate(owners),
        np.concatenate(faces),
        is_round,
    )


def _triangles(shape: Shape, sides: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the surface of a shape: of one of the plane, its area."""
    if shape.dimension == 2:
        points = outline(shape, sides)
        return points, _fan(np.arange(len(points)))
    surface = mesh(shape, sides)
    return surface.points, np.concatenate([_fan(face) for face in surface.faces])


def _fan(loop: np.ndarray) -> np.ndarray:
    """Return the triangles of a convex polygon."""
    return np.column_stack([np.full(len(loop) - 2, loop[0]), loop[1:-1], loop[2:]])


def outlines_of(shapes: list[Shape], chosen: np.ndarray) -> Group:
    """Return outlines of shapes of the plane, with a spoke of discs; faces are pairs of ends."""
    sides = sides_of(len(chosen))
    corners, pairs, owners = [np.zeros((0, 2))], [np.zeros((0, 2), int)], [np.zeros(0, int)]
    begin = 0
    for k in chosen.tolist():
        if shapes[k].kind == "half_space":
            continue
        points = outline(shapes[k], sides)
        around = np.arange(len(points))
        lines = np.column_stack([around, np.roll(around, -1)])
        if shapes[k].kind == "disc":
            points = np.vstack([points, [0.0, 0.0]])
            lines = np.vstack([lines, [len(points) - 1, 0]])
        corners.append(points)
        pairs.append(lines + begin)
        owners.append(np.full(len(points), k))
        begin += len(points)
    joined = [np.concatenate(parts) for parts in (corners, owners, pairs)]
    return Group(chosen, joined[0], joined[1], joined[2], False)


# ---- lines with a thickness ----------------------------------------------------------------------


_AROUND = 6  # sides of a tube
_HEAD = 0.35  # of an arrow: length of its head
_WIDE, _THIN = 0.11, 0.04  # radius of its head, and of its shaft, over its length


def tubes(
    start: np.ndarray, end: np.ndarray, radii: np.ndarray, count: int, nowhere: np.ndarray
) -> np.ndarray:
    """Return the points of `count` tubes, ``(12 count, 3)``; those without a line are nowhere."""
    rings = [(0.0, radii), (1.0, radii)]
    return _rings(start, end, rings, count, nowhere)


def arrows(start: np.ndarray, end: np.ndarray, count: int, nowhere: np.ndarray) -> np.ndarray:
    """Return the points of `count` arrows, ``(24 count, 3)``; those without a line are nowhere."""
    length = np.linalg.norm(end - start, axis=1)
    neck = 1.0 - _HEAD
    rings = [(0.0, _THIN * length), (neck, _THIN * length), (neck, _WIDE * length)]
    return _rings(start, end, [*rings, (1.0, 0.0 * length)], count, nowhere)


def tube_faces(rings: int, count: int) -> np.ndarray:
    """Return the triangles of `count` tubes of so many rings, ``(F, 3)``."""
    side = np.arange(_AROUND)
    following = (side + 1) % _AROUND
    one = []
    for ring in range(rings - 1):
        low, high = ring * _AROUND, (ring + 1) * _AROUND
        one.append(np.column_stack([low + side, low + following, high + following]))
        one.append(np.column_stack([low + side, high + following, high + side]))
    faces = np.concatenate(one)
    starts = rings * _AROUND * np.arange(count)
    return (starts[:, None, None] + faces).reshape(-1, 3)


def _rings(
    start: np.ndarray,
    end: np.ndarray,
    rings: list[tuple[float, np.ndarray]],
    count: int,
    nowhere: np.ndarray,
) -> np.ndarray:
    """Return rings about lines, each at a part of the way and with a radius."""
    along = end - start
    length = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    first = np.cross(along / length, np.eye(3)[np.argmin(abs(along), axis=1)])
    first /= np.maximum(np.linalg.norm(first, axis=1, keepdims=True), 1e-300)
    second = np.cross(along / length, first)
    angle = 2 * np.pi * np.arange(_AROUND) / _AROUND
    turned = np.stack([np.cos(angle), np.sin(angle)])
    circle = np.einsum("ka,knj->naj", turned, np.stack([first, second]))
    points = np.tile(nowhere, (count, len(rings), _AROUND, 1))
    for number, (part, radius) in enumerate(rings):
        middle = start + part * along
        points[: len(start), number] = middle[:, None] + radius[:, None, None] * circle
    return points.reshape(-1, 3)
