"""What the widgets of worlds and of cloths share: objects of k3d that change with time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve._optional import optional
from contactsolve.plots._camera import Camera
from contactsolve.plots._stage import Scale

if TYPE_CHECKING:
    import k3d

__all__ = [
    "as_integers",
    "by_time",
    "look_from",
    "mapped",
    "new_plot",
    "single",
    "surface",
    "whole",
]

_COLORS = 33  # of a scale that k3d interpolates


def new_plot(height: int) -> k3d.Plot:
    """Return an empty plot, without the grid around it."""
    return optional("k3d", "widgets need").plot(height=height, grid_visible=False)


def single(array: np.ndarray) -> np.ndarray:
    """Return coordinates in space as k3d has them; those of the plane have z = 0."""
    if array.shape[-1] == 2:
        array = np.concatenate([array, np.zeros((*array.shape[:-1], 1))], axis=-1)
    return np.ascontiguousarray(array, dtype=np.float32)


def whole(array: np.ndarray) -> np.ndarray:
    """Return indices as k3d has them."""
    return np.ascontiguousarray(array, dtype=np.uint32)


def as_integers(colors: np.ndarray) -> np.ndarray:
    """Return colours as k3d has them, 0xRRGGBB."""
    red, green, blue = (255 * np.clip(colors, 0, 1)).round().astype(np.uint32).T
    return red << 16 | green << 8 | blue


def by_time(times: np.ndarray | None, values: Sequence[Any]) -> Any:
    """Return what changes with time as k3d has it, or the only value if nothing does."""
    if times is None:
        return values[0]
    return {f"{time:.9g}": value for time, value in zip(times.tolist(), values, strict=True)}


def surface(
    points: np.ndarray, faces: np.ndarray, colors: np.ndarray | None, **look: Any
) -> k3d.objects.Mesh:
    """Return a mesh of triangles that is seen from both sides.

    Parameters
    ----------
    points, faces
        ``(n, 3)`` and ``(m, 3)``.
    colors
        ``(n, 3)`` of numbers from 0 to 1, or None.
    **look
        Of ``k3d.mesh``.
    """
    given = {} if colors is None else {"colors": as_integers(colors)}
    return optional("k3d", "widgets need").mesh(
        single(points), whole(faces), side="double", **given, **look
    )


def mapped(scale: Scale) -> dict[str, Any]:
    """Return the options of an object whose attribute has a scale of colours."""
    at = np.linspace(0.0, 1.0, _COLORS)
    low, high = scale.colors.get_clim()
    colors = scale.colors.get_cmap()(at)[:, :3]
    return {
        "color": 0xFFFFFF,  # multiplies those of the scale
        "color_map": np.column_stack([at, colors]).astype(np.float32).ravel(),
        "color_range": [float(low), float(high)],
    }


def look_from(plot: k3d.Plot, camera: Camera, low: np.ndarray, high: np.ndarray) -> None:
    """Place the camera of a plot so that it sees a box."""
    radius = max(float(np.linalg.norm(high - low)) / 2, 1e-12)
    distance = camera.distance if np.isfinite(camera.distance) else 5.0 * radius
    eye = camera.center + distance * camera.axes[2]
    plot.camera_auto_fit = False
    plot.camera_fov = float(np.degrees(2 * np.arcsin(min(radius / distance, 0.9))))
    plot.camera = [*eye.tolist(), *camera.center.tolist(), *camera.axes[1].tolist()]
