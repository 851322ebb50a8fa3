"""Triangle meshes: bodies of any form, as shapes without thickness.

>>> import contactsolve as cs
>>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
>>> mesh = cs.dynamics.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
>>> mesh.closed, round(6 * mesh.volume, 12)
(True, 1.0)
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

import numpy as np

from .shapes import Hull, MassProperties, Shape, Triangle, _points, _positive

__all__ = ["Mesh"]

_FLAT = 1e-9  # how far a neighbour may lie below the plane of a triangle, in parts of their sizes


class Mesh:
    """Triangles that share corners: the surface of a body, closed or open.

    Parameters
    ----------
    vertices
        ``(n, 3)`` [m].
    triangles
        ``(t, 3)``: numbers of vertices; seen from outside, they are counterclockwise.
    thickness
        How far each triangle reaches inwards [m]. With 0 it is a `Triangle`, a surface; otherwise
        a `Hull` of six points.

    Attributes
    ----------
    vertices : (n, 3) ndarray
    triangles : (t, 3) ndarray
    closed : bool
        Every edge has one triangle on each side: the mesh has an inside, and a volume.

    Raises
    ------
    ValueError
        A vertex that is not finite, a number of no vertex, corners on a line: the entry is named.

    Notes
    -----
    A world has one shape for each triangle, with contacts of its own: a mesh need not be convex. It
    has no inside for collisions: what is in a triangle by more than half of both thicknesses is
    pushed out on the other side. Two surfaces without thickness therefore hold each other only
    where edges cross: meshes that touch meshes need a thickness, of more than what bodies move in a
    few steps, and less than the mesh is thick anywhere. Where triangles meet, contacts of both may
    be closed; they are redundant, not wrong. Spheres, capsules, boxes and hulls roll and slide
    over inner edges of a mesh without thickness as over a plane.

    An open mesh has no volume: a body of it needs mass and inertia, or is driven, or fixed.
    """

    kind = "mesh"
    dimension = 3

    def __init__(self, vertices: Any, triangles: Any, thickness: float = 0.0) -> None:
        self.vertices = _points("vertices", vertices, 3)
        self.triangles = _indices(triangles, len(self.vertices))
        wrong = np.argwhere(~np.isfinite(self.vertices))
        if len(wrong):
            i, k = wrong[0]
            raise ValueError(
                f"vertices[{i}, {k}] is {self.vertices[i, k]}: a finite number is needed"
            )
        self.vertices.flags.writeable = self.triangles.flags.writeable = False
        self.thickness = _positive("thickness", thickness) if thickness else 0.0
        self.parts: list[Shape] = []
        inner = self._inner_edges()
        for t, corners in enumerate(self.triangles.tolist()):
            try:
                self.parts.append(_part(self.vertices[corners], inner[t], self.thickness))
            except ValueError as error:
                raise ValueError(f"triangles[{t}], of vertices {corners}: {error}") from None

    def __repr__(self) -> str:
        kind = "closed" if self.closed else "open"
        return f"Mesh({len(self.vertices)} vertices, {len(self.triangles)} triangles, {kind})"

    def _inner_edges(self) -> list[list[int]]:
        """Return the edges of each triangle where it and its neighbour are flat or hollow."""
        triangles = self.triangles.tolist()
        owner = {(c[k], c[(k + 1) % 3]): t for t, c in enumerate(triangles) for k in range(3)}
        corner = self.vertices[self.triangles]
        normals = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
        lengths = np.maximum(np.linalg.norm(normals, axis=1), np.finfo(float).tiny)
        sizes = np.ptp(corner, axis=1).max(axis=1)
        found: list[list[int]] = []
        for t, c in enumerate(triangles):
            found.append([])
            for k in range(3):
                other = owner.get((c[(k + 1) % 3], c[k]))
                if other is None:
                    continue
                apex = self.vertices[sum(triangles[other]) - c[k] - c[(k + 1) % 3]]
                height = (apex - self.vertices[c[k]]) @ normals[t] / lengths[t]
                if height >= -_FLAT * (sizes[t] + sizes[other]):
                    found[-1].append(k)
        return found

    @cached_property
    def closed(self) -> bool:
        """Whether every edge has one triangle on each side."""
        edges = Counter(
            (a, b) for t in self.triangles.tolist() for a, b in zip(t, t[1:] + t[:1], strict=True)
        )
        return all(count == 1 and edges[b, a] == 1 for (a, b), count in edges.items())

    @property
    def volume(self) -> float:
        """The volume [m³]; 0 of an open mesh."""
        return self.mass_properties(1.0).mass if self.closed else 0.0

    def mass_properties(self, density: float) -> MassProperties:
        """Return mass, centre of mass, and the inertia about it; see `Shape.mass_properties`.

        Raises
        ------
        ValueError
            The mesh is open, or its triangles are clockwise seen from outside.
        """
        density = _positive("density", density)
        if not self.closed:
            raise ValueError(f"{self!r} has no mass: give mass and inertia")
        volume, center, inertia = self._measured
        if volume <= 0:
            raise ValueError(f"{self!r} has the volume {volume}: turn its triangles round")
        return MassProperties(density * volume, center.copy(), density * inertia)

    @cached_property
    def _measured(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Volume, centre, inertia about it: sums over tetrahedra from the middle of all."""
        middle = self.vertices.mean(axis=0)
        corners = self.vertices[self.triangles] - middle
        volumes = np.linalg.det(corners) / 6
        volume = float(volumes.sum())
        if volume == 0:
            return 0.0, middle, np.zeros((3, 3))
        center = (volumes @ corners.sum(axis=1)) / (4 * volume)
        # The integral of x xᵀ over a tetrahedron with a corner at the origin.
        total = corners.sum(axis=1)
        second = np.einsum("t,ti,tj->ij", volumes, total, total)
        second += np.einsum("t,tki,tkj->ij", volumes, corners, corners)
        second = second / 20 - volume * np.outer(center, center)
        return volume, middle + center, np.trace(second) * np.eye(3) - second


def _part(corners: np.ndarray, inner: list[int], thickness: float) -> Shape:
    """Return the shape of one triangle."""
    surface = Triangle(corners, inner)
    if not thickness:
        return surface
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    inside = corners - thickness / np.linalg.norm(normal) * normal
    return Hull(np.concatenate([corners, inside]))


def _indices(value: Any, vertices: int) -> np.ndarray:
    """Return the triangles, each of three numbers of vertices."""
    array = np.array(value)
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise ValueError(f"triangles has shape {array.shape}: (t, 3) is needed")
    if array.dtype.kind not in "iu":
        raise TypeError(f"triangles has numbers of type {array.dtype}: integers are needed")
    wrong = np.argwhere((array < 0) | (array >= vertices))
    if len(wrong):
        t, k = wrong[0]
        raise ValueError(
            f"triangles[{t}, {k}] is {array[t, k]}: there are vertices 0 to {vertices - 1}"
        )
    return np.ascontiguousarray(array, dtype=np.int64)
