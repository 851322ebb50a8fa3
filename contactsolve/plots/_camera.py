"""A camera that looks at a scene, and the light on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["VIEWS", "Camera", "camera_of"]

# Elevation and azimuth of the camera [degrees], and whether it has a perspective by default.
VIEWS = {
    "corner": (22.0, -55.0, True),
    "front": (0.0, -90.0, False),
    "side": (0.0, 0.0, False),
    "top": (90.0, -90.0, False),
}
_DISTANCE = 5.0  # of a camera with perspective, in radii of the scene


class Camera(NamedTuple):
    """A camera.

    Attributes
    ----------
    axes : (3, 3) ndarray
        Its directions to the right, up, and towards itself, as rows.
    center : (3,) ndarray
        Where it looks.
    distance : float
        Of the camera from there; infinite: an orthographic projection.
    light : (3,) ndarray
        The direction from which light comes, of unit length.
    """

    axes: np.ndarray
    center: np.ndarray
    distance: float
    light: np.ndarray

    def scale(self, points: np.ndarray) -> np.ndarray:
        """Return the magnification at points, ``(..., 3)``: 1 at the centre."""
        nearer = (points - self.center) @ self.axes[2]
        return 1.0 / np.maximum(1.0 - nearer / self.distance, 1e-3)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return the picture's coordinates of points, ``(..., 2)``."""
        flat = (points - self.center) @ self.axes[:2].T
        return flat * self.scale(points)[..., None]

    def towards(self, points: np.ndarray) -> np.ndarray:
        """Return vectors from points towards the camera, in proportion for the same distance."""
        return self.axes[2] + (self.center - points) / self.distance

    def remoteness(self, centers: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """Return by what spheres are to be ordered: the largest is the one behind all others.

        Of two spheres that do not overlap, one can only hide the other if the power of the camera
        with respect to it is less: the plane of equal powers lies between them.
        """
        relative = centers - self.center
        power = (np.einsum("...i,...i", relative, relative) - radii**2) / (2 * self.distance)
        return power - relative @ self.axes[2]


def camera_of(view: Any, perspective: bool | None, low: np.ndarray, high: np.ndarray) -> Camera:
    """Return a camera that looks at a box from `low` to `high`."""
    if isinstance(view, str):
        if view not in VIEWS:
            raise ValueError(
                f"view is {view!r}: one of {', '.join(VIEWS)}, or (elevation, azimuth) is needed"
            )
        *angles, deep = VIEWS[view]
    else:
        angles, deep = np.asarray(view, dtype=float).tolist(), True
        if np.shape(angles) != (2,) or not np.isfinite(angles).all():
            raise ValueError(f"view is {view!r}: (elevation, azimuth) in degrees is needed")
    elevation, azimuth = np.radians(angles)
    c, s = np.cos(azimuth), np.sin(azimuth)
    right = np.array([-s, c, 0.0])
    toward = np.array([np.cos(elevation) * c, np.cos(elevation) * s, np.sin(elevation)])
    axes = np.array([right, np.cross(toward, right), toward])
    # Light comes from above, from the left of the camera and a little from behind it.
    light = np.array([0.35 * c + 0.5 * s, 0.35 * s - 0.5 * c, 1.0])
    deep = deep if perspective is None else perspective
    radius = float(np.linalg.norm(high - low)) / 2
    distance = _DISTANCE * max(radius, 1e-12) if deep else np.inf
    return Camera(axes, (low + high) / 2, distance, light / np.linalg.norm(light))
