"""Bodies of a world in space: shaded polygons, back to front."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contactsolve._optional import optional
from contactsolve.plots._camera import Camera
from contactsolve.plots._meshes import Mesh, around, mesh
from contactsolve.plots._stage import Stage
from contactsolve.plots._surfaces import (
    Polygons,
    clipped,
    facing_faces,
    plane_axes,
    shaded,
    solid_of,
    sphere_rings,
)
from contactsolve.plots._visibility import Solid, back_to_front

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GROUND", "Bodies", "Plane", "draw_in_space", "grid_of", "planes_of"]

# Spheres up to which each level of detail holds: lit areas, corners of an area, sides of a mesh.
_DETAIL = ((300, 12, 60, 36), (2000, 7, 32, 24), (float("inf"), 4, 20, 14))
GROUND = np.array([0.945, 0.938, 0.925])


def draw_in_space(
    ax: Axes,
    stage: Stage,
    colors: np.ndarray,
    camera: Camera,
    box: tuple[np.ndarray, np.ndarray],
    fixed: bool,
) -> Callable[[np.ndarray], np.ndarray]:
    """Draw shapes within a box; return the map from points of the world to those of the picture.

    `fixed`: the box alone tells what the picture shows, not the bodies.
    """
    collections = optional("matplotlib.collections", "plots need")
    low, high = box
    detail = next(rest for most, *rest in _DETAIL if len(stage.shapes) <= most)
    bodies = Bodies(stage, camera, detail)

    planes = planes_of(stage, low, high)
    corners = [_draw_plane(ax, camera, plane, bodies, high - low) for plane in planes]
    drawn, owners = bodies.polygons(colors)
    ax.add_collection(
        collections.PolyCollection(
            drawn.corners,
            facecolors=np.reshape(drawn.colors, (-1, 3)),
            edgecolors=np.reshape(drawn.edges, (-1, 3)),
            linewidths=drawn.widths,
            zorder=2,
        ),
        autolim=False,
    )
    shown = [one for one in corners if one is not None]
    if fixed:
        _set_limits(ax, [*shown, camera.project(corners_of(low, high))], [])
    else:
        free = stage.bodies[owners] >= 0
        free = free if free.any() else ~free
        sides = [[drawn.corners[k] for k in np.flatnonzero(some)] for some in (free, ~free)]
        _set_limits(ax, [*shown, *sides[0]], sides[1])
    return camera.project


def corners_of(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the corners of a box, ``(8, 3)``."""
    return np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, 8).T


def _set_limits(ax: Axes, corners: list[np.ndarray], others: list[np.ndarray]) -> None:
    """Show all corners, and others as far as they are near."""
    points = np.concatenate(corners)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.2 * (high - low).max()
    if others:
        points = np.concatenate(others)
        low = np.minimum(low, np.maximum(points.min(axis=0), low - margin))
        high = np.maximum(high, np.minimum(points.max(axis=0), high + margin))
    margin = 0.02 * (high - low).max()
    ax.set_xlim(low[0] - margin, high[0] + margin)
    ax.set_ylim(low[1] - margin, high[1] + margin)


# ---- bodies -------------------------------------------------------------------------------------


class Bodies:
    """The shapes of bodies in the world frame, for a camera."""

    def __init__(self, stage: Stage, camera: Camera, detail: list[Any]) -> None:
        self.camera, self._levels, self._sides, self._mesh_sides = camera, *detail
        shapes = [one.shape for one in stage.shapes]
        self.spheres = np.array([k for k, one in enumerate(shapes) if one.kind == "sphere"], int)
        self.radii = np.array([shapes[k].numbers[0] for k in self.spheres])
        self.centers = stage.centers[self.spheres]
        others = [k for k, one in enumerate(shapes) if one.kind not in ("sphere", "half_space")]
        self.meshes = {
            k: _turned(mesh(shapes[k], self._mesh_sides), stage.centers[k], stage.turns[k])
            for k in others
        }

    def polygons(self, colors: np.ndarray) -> tuple[Polygons, np.ndarray]:
        """Return all polygons in the order in which they are drawn, and the shape of each."""
        solids, parts, shapes = self.parts(colors)
        order = back_to_front(self.camera, solids).tolist()
        fields = ([item for i in order for item in parts[i][field]] for field in range(4))
        counts = [len(parts[i].corners) for i in order]
        return Polygons(*fields), np.repeat(np.array(shapes, dtype=int)[order], counts)

    def parts(self, colors: np.ndarray) -> tuple[list[Solid], list[Polygons], list[int]]:
        """Return solids, their polygons, and the indices of their shapes."""
        none = np.zeros((0, 3))
        solids = [
            Solid(center[None], radius, none, center, radius)
            for center, radius in zip(self.centers, self.radii.tolist(), strict=True)
        ]
        solids += [one.solid for one in self.meshes.values()]
        parts = self._of_spheres(colors) + [
            facing_faces(self.camera, one.mesh, one.points, one.normals, colors[k])
            for k, one in self.meshes.items()
        ]
        return solids, parts, [*self.spheres.tolist(), *self.meshes]

    def _of_spheres(self, colors: np.ndarray) -> list[Polygons]:
        """Return the lit areas of each sphere."""
        rings = sphere_rings(self.camera, self._levels, self._sides)
        places = self.camera.project(self.centers)
        sizes = self.radii * self.camera.scale(self.centers)
        base = colors[self.spheres]
        flat = places[:, None, None] + sizes[:, None, None, None] * rings.corners
        lit = shaded(base[:, None], np.broadcast_to(rings.light, (len(base), len(rings.light))))
        # The outline sets a sphere off from others of its colour.
        edges = lit.copy()
        edges[:, 0] = 0.62 * base
        widths = [0.6, *[0.2] * (len(rings.light) - 1)]
        return [
            Polygons(list(f), list(c), list(e), widths)
            for f, c, e in zip(flat, lit, edges, strict=True)
        ]

    def shadows(self, normal: np.ndarray, offset: float) -> list[np.ndarray]:
        """Return polygons on a plane that cover the bodies' shadows, all turned the same way."""
        light = self.camera.light

        def cast(points: np.ndarray) -> np.ndarray:
            return points - ((points @ normal - offset) / (normal @ light))[..., None] * light

        across = np.cross(light, np.eye(3)[np.argmin(abs(light))])
        across /= np.linalg.norm(across)
        circle = around(24) @ np.array([across, np.cross(light, across)])
        found = list(cast(self.centers[:, None] + self.radii[:, None, None] * circle))
        for one in self.meshes.values():
            lit = np.flatnonzero(one.normals @ light > 0)
            found += [cast(one.points[one.mesh.faces[k]]) for k in lit]
        return found


class _TurnedMesh(NamedTuple):
    """A mesh with its points and normals in the world frame."""

    mesh: Mesh
    points: np.ndarray
    normals: np.ndarray
    solid: Solid


def _turned(own: Mesh, center: np.ndarray, turn: np.ndarray) -> _TurnedMesh:
    points, normals = own.points @ turn.T + center, own.normals @ turn.T
    core = own.core @ turn.T + center
    return _TurnedMesh(own, points, normals, solid_of(own, points, normals, core, turn.T))


# ---- planes -------------------------------------------------------------------------------------


class Plane(NamedTuple):
    normal: np.ndarray
    offset: float
    corners: np.ndarray  # of the part that is drawn
    axes: np.ndarray  # within the plane


def planes_of(stage: Stage, low: np.ndarray, high: np.ndarray) -> list[Plane]:
    """Return the surfaces of half-spaces, as far as bodies are near, without what others cover."""
    which = [k for k, one in enumerate(stage.shapes) if one.shape.kind == "half_space"]
    numbers = np.array([stage.shapes[k].shape.numbers for k in which]).reshape(-1, 4)
    lengths = np.linalg.norm(numbers[:, :3], axis=1)
    normals = np.einsum("kij,kj->ki", stage.turns[which], numbers[:, :3]) / lengths[:, None]
    offsets = numbers[:, 3] / lengths + np.einsum("ki,ki->k", normals, stage.centers[which])
    box = corners_of(low, high)
    margin = 0.05 * (high - low).max()
    planes = []
    for k, (normal, offset) in enumerate(zip(normals, offsets, strict=True)):
        axes = plane_axes(normal)
        ranges = [(lower - margin, upper + margin) for lower, upper in _ranges(box, axes)]
        (a, b), (c, d) = ranges
        flat = np.array([[a, c], [b, c], [b, d], [a, d]])
        others = np.arange(len(which)) != k
        corners = clipped(flat @ axes + offset * normal, -normals[others], -offsets[others])
        if len(corners) > 2:
            planes.append(Plane(normal, float(offset), corners, axes))
    return planes


def _ranges(box: np.ndarray, axes: np.ndarray) -> list[tuple[float, float]]:
    return [(float((box @ axis).min()), float((box @ axis).max())) for axis in axes]


def _draw_plane(
    ax: Axes, camera: Camera, plane: Plane, bodies: Bodies, size: np.ndarray
) -> np.ndarray | None:
    """Draw a plane that faces the camera, with grid and shadows; return its corners."""
    patches = optional("matplotlib.patches", "plots need")
    collections = optional("matplotlib.collections", "plots need")
    if float(camera.towards(plane.corners[0]) @ plane.normal) <= 1e-6:
        return None
    flat = camera.project(plane.corners)
    light = float(plane.normal @ camera.light)
    color = np.clip(GROUND * (0.93 + 0.09 * max(light, 0.0)), 0.0, 1.0)
    area = patches.Polygon(flat, facecolor=color, edgecolor=0.85 * color, linewidth=0.8, zorder=0)
    ax.add_patch(area)
    lines = [camera.project(line) for line in grid_of(plane, size)]
    ax.add_collection(
        collections.LineCollection(lines, colors=[0.87 * color], linewidths=0.6, zorder=0.5),
        autolim=False,
    )

    # Shadows that overlap are one area: all polygons turn the same way, and the rule is nonzero.
    polygons = bodies.shadows(plane.normal, plane.offset) if light > 0.3 else []
    if polygons:
        path = optional("matplotlib.path", "plots need").Path
        loops = [path(camera.project(np.vstack([one, one[:1]])), closed=True) for one in polygons]
        shadow = patches.PathPatch(
            path.make_compound_path(*loops), facecolor="#3b3530", alpha=0.16, linewidth=0, zorder=1
        )
        ax.add_artist(shadow)  # the limits of the axes are set later
        shadow.set_clip_path(area)
    return flat


def _nice(length: float) -> float:
    """Return the number 1, 2 or 5 times a power of ten that is next below a length."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(one for one in (1.0, 2.0, 5.0) if one * power <= length * (1 + 1e-9)))


def grid_of(plane: Plane, size: np.ndarray) -> list[np.ndarray]:
    """Return the lines of a grid within a plane, for a box of this size, ``(2, 3)`` each."""
    spacing = _nice(float(size.max()) / 8)
    flat = plane.corners @ plane.axes.T
    lines = []
    for axis in (0, 1):
        first, last = flat[:, axis].min(), flat[:, axis].max()
        for at in spacing * np.arange(np.ceil(first / spacing), np.floor(last / spacing) + 1):
            crossing = _crossing(flat, axis, float(at))
            if len(crossing) == 2:
                lines.append(crossing @ plane.axes + plane.offset * plane.normal)
    return lines


def _crossing(polygon: np.ndarray, axis: int, at: float) -> np.ndarray:
    """Return the two points where a line across an axis meets a convex polygon's border."""
    height = polygon[:, axis] - at
    following = np.roll(height, -1)
    cut = np.flatnonzero((height <= 0) != (following <= 0))
    part = (height[cut] / (height[cut] - following[cut]))[:, None]
    return polygon[cut] + part * (np.roll(polygon, -1, axis=0)[cut] - polygon[cut])
