"""Shaded polygons of solids, and of the planes around them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contactsolve.plots._camera import Camera
from contactsolve.plots._meshes import Mesh, around
from contactsolve.plots._visibility import Solid

__all__ = [
    "Polygons",
    "clipped",
    "facing_faces",
    "light_on",
    "plane_axes",
    "shaded",
    "sphere_rings",
]

_AMBIENT = 0.58  # brightness of faces that no light falls on


class Polygons(NamedTuple):
    """Polygons of a picture, in the order in which they are drawn."""

    corners: list[np.ndarray]
    colors: list[np.ndarray]  # (3,)
    edges: list[np.ndarray]  # (3,)
    widths: list[float]


def shaded(color: np.ndarray, light: np.ndarray | float) -> np.ndarray:
    """Return a colour where light falls by a cosine, ``(..., 3)``."""
    bright = _AMBIENT + (1.08 - _AMBIENT) * np.maximum(np.asarray(light), 0.0)[..., None]
    return np.clip(color * bright, 0.0, 1.0)


# ---- spheres ------------------------------------------------------------------------------------


class Rings(NamedTuple):
    """The lit areas of a unit sphere, each within the one before."""

    corners: np.ndarray  # (R, n, 2): of each area, about the picture of the centre
    light: np.ndarray  # (R,): the cosine of the light's angle in each area


def sphere_rings(camera: Camera, levels: int, sides: int) -> Rings:
    """Return the picture of a unit sphere under the camera's light.

    Where light falls on a sphere by more than some cosine is a cap about the light's direction; its
    picture is an ellipse, which the outline of the sphere cuts off.
    """
    light = camera.axes @ camera.light
    across = np.cross(light, [0.0, 0.0, 1.0])
    across /= max(np.linalg.norm(across), 1e-12)
    basis = np.array([across, np.cross(light, across)])
    # The first area is the whole disc; the border of each further one is brighter.
    borders = np.linspace(0.0, 1.0, levels + 1)[:-1]
    angle = np.arccos(borders)
    circle = around(sides) @ basis
    caps = np.cos(angle)[:, None, None] * light + np.sin(angle)[:, None, None] * circle
    flat = caps[..., :2].copy()
    hidden = caps[..., 2] < 0
    flat[hidden] /= np.linalg.norm(flat[hidden], axis=-1, keepdims=True)
    corners = np.concatenate([around(sides)[None], flat])
    return Rings(corners, np.concatenate([[0.0], borders + 0.5 / levels]))


# ---- faces --------------------------------------------------------------------------------------


def facing_faces(
    camera: Camera, mesh: Mesh, points: np.ndarray, normals: np.ndarray, color: np.ndarray
) -> Polygons:
    """Return the faces that the camera sees, of a mesh whose points and normals are turned."""
    first = points[[face[0] for face in mesh.faces]]
    seen = np.flatnonzero(np.einsum("ij,ij->i", camera.towards(first), normals) > 0)
    flat = camera.project(points)
    colors = shaded(color, light_on(camera, normals[seen]))
    # Faces of a curved surface have edges of their own colour, which close the joints.
    edges = np.where(mesh.rounded[seen, None], colors, 0.62 * colors)
    widths = np.where(mesh.rounded[seen], 0.3, 0.5)
    corners = [flat[mesh.faces[k]] for k in seen]
    return Polygons(corners, list(colors), list(edges), widths.tolist())


def light_on(camera: Camera, normals: np.ndarray) -> np.ndarray:
    """Return the light on faces: the camera's, and a little from its own direction."""
    return 0.85 * np.maximum(normals @ camera.light, 0.0) + 0.15 * (normals @ camera.axes[2])


def solid_of(
    mesh: Mesh, points: np.ndarray, normals: np.ndarray, core: np.ndarray, axes: np.ndarray
) -> Solid:
    """Return what the painter's order needs of a mesh in the world frame."""
    center = (points.min(axis=0) + points.max(axis=0)) / 2
    reach = float(np.linalg.norm(points - center, axis=1).max())
    flat = normals[~mesh.rounded]
    return Solid(core, mesh.radius, np.concatenate([flat, axes]), center, reach)


# ---- planes -------------------------------------------------------------------------------------


def plane_axes(normal: np.ndarray) -> np.ndarray:
    """Return two unit vectors within a plane, along coordinate axes where it can be."""
    first = np.eye(3)[np.argmin(abs(normal))]
    first = first - normal * (first @ normal)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])


def clipped(polygon: np.ndarray, normals: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the part of a convex polygon in space where normals · x <= offsets."""
    for normal, offset in zip(normals, offsets, strict=True):
        height = polygon @ normal - offset
        inside = height <= 0
        if inside.all():
            continue
        kept = []
        for k in range(len(polygon)):
            j = (k + 1) % len(polygon)
            if inside[k]:
                kept.append(polygon[k])
            if inside[k] != inside[j]:
                part = height[k] / (height[k] - height[j])
                kept.append(polygon[k] + part * (polygon[j] - polygon[k]))
        polygon = np.array(kept).reshape(-1, polygon.shape[1])
        if not len(polygon):
            break
    return polygon
