"""A body that a dress can hang on: measurements, its surface, and a mesh of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._surfaces import Mesh, at_equal_distances, closed_tube, joined, limb, smoothed

__all__ = ["BODIES", "Profile", "body", "offset", "over_shoulder", "torso", "up_to"]

Floats = NDArray[np.float64]

# Rows and columns of the torso, of each leg and of each arm.
BODIES = {
    "1a": ((100, 130), (50, 100), (40, 50)),
    "1b": ((30, 34), (17, 17), (10, 10)),
}

# From the crotch to the top of the head: half the width, half the depth, how far forward the middle
# is, and the height [m].
_TORSO = np.array(
    [
        [0.020, 0.020, 0.000, 0.740],
        [0.130, 0.085, 0.000, 0.755],
        [0.182, 0.122, -0.005, 0.860],
        [0.180, 0.120, -0.005, 0.920],
        [0.136, 0.094, 0.000, 1.060],
        [0.132, 0.092, 0.005, 1.100],
        [0.150, 0.118, 0.012, 1.230],
        [0.162, 0.115, 0.008, 1.280],
        [0.178, 0.094, 0.000, 1.350],
        [0.174, 0.082, -0.005, 1.390],
        [0.150, 0.068, -0.005, 1.414],
        [0.075, 0.058, 0.000, 1.425],
        [0.050, 0.050, 0.004, 1.450],
        [0.050, 0.052, 0.008, 1.510],
        [0.072, 0.086, 0.018, 1.600],
        [0.070, 0.090, 0.018, 1.640],
        [0.045, 0.060, 0.012, 1.715],
        [0.012, 0.015, 0.008, 1.735],
    ]
)
# Points of an axis and radii: a leg and an arm of the left side, x > 0.
_LEG = np.array(
    [
        [0.092, 0.000, 0.035, 0.040],
        [0.092, 0.000, 0.100, 0.036],
        [0.092, 0.008, 0.330, 0.056],
        [0.092, 0.000, 0.470, 0.052],
        [0.088, -0.004, 0.700, 0.080],
        [0.084, 0.000, 0.830, 0.078],
    ]
)
_ARM = np.array(
    [
        [0.120, 0.000, 1.360, 0.036],
        [0.200, 0.000, 1.335, 0.043],
        [0.360, 0.000, 1.175, 0.036],
        [0.520, -0.010, 1.010, 0.027],
        [0.600, -0.015, 0.930, 0.022],
    ]
)


class Profile(NamedTuple):
    """Rings of a surface, from below: ellipses in horizontal planes, ``(rows,)`` each [m]."""

    width: Floats  # half of it, along x
    depth: Floats  # half of it, along y
    forward: Floats  # −y of the centre
    height: Floats

    def rings(self, angle: Floats) -> Floats:
        """Return points at angles from the x axis to the y axis, ``(rows, len(angle), 3)``."""
        x = self.width[:, None] * np.cos(angle)
        y = self.depth[:, None] * np.sin(angle) - self.forward[:, None]
        return np.stack([x, y, np.broadcast_to(self.height[:, None], x.shape)], -1)


def torso(rows: int) -> Profile:
    """Return rings of torso, neck and head at equal distances along the surface."""
    return Profile(*smoothed(_TORSO, 0.06, rows).T)


def offset(profile: Profile, distance: float) -> Profile:
    """Return rings about `distance` outside of those of a profile."""
    # Outward: a quarter turn from where the outline goes, of width and depth alike.
    along = np.gradient(np.stack([(profile.width + profile.depth) / 2, profile.height], -1), axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    out, up = distance * along[:, 1], -distance * along[:, 0]
    return Profile(profile.width + out, profile.depth + out, profile.forward, profile.height + up)


def body(version: str) -> Mesh:
    """Return torso with neck and head, legs and arms: closed surfaces that overlap."""
    (rows, columns), leg, arm = BODIES[version]
    rings = torso(rows).rings(2 * np.pi * np.arange(columns) / columns)
    low, high, end = rings[0].mean(axis=0), rings[-1].mean(axis=0), np.array([0, 0, 0.004])
    trunk = closed_tube(rings, low - end, high + end)
    left = [limb(_LEG, *leg), limb(_ARM, *arm)]
    return joined([trunk, *left, *(_mirrored(mesh) for mesh in left)])


def _mirrored(mesh: Mesh) -> Mesh:
    """Return what stands on the other side of the plane x = 0, outward as well."""
    return mesh[0] * [-1.0, 1.0, 1.0], mesh[1][:, ::-1].copy()


def up_to(profile: Profile, x: float, heights: Floats, *, is_front: bool) -> Floats:
    """Return points in a plane x, in front or behind, ``(len(heights), 3)``."""
    width, depth, forward = (np.interp(heights, profile.height, sizes) for sizes in profile[:3])
    reach = depth * np.sqrt(np.maximum(1 - (x / width) ** 2, 0.0))
    y = -forward - reach if is_front else reach - forward
    return np.stack([np.full(len(heights), x), y, heights], -1)


def over_shoulder(profile: Profile, x: float, from_height: float, count: int) -> Floats:
    """Return points of a line in a plane x, over the shoulder from front to back.

    Parameters
    ----------
    profile
        Rings up to where they are narrower than `x`, above the shoulder.
    from_height
        Where the line begins and ends [m].

    Returns
    -------
    ndarray, shape (count, 3)
        At equal distances; the first and the last have that height.
    """
    # The part of the profile from the height to where the plane leaves it.
    begin = int(np.searchsorted(profile.height, from_height))
    end = begin + int(np.argmax(profile.width[begin:] <= abs(x)))
    rows = np.arange(begin, end)
    fine = np.linspace(begin, end, 40 * len(rows))
    width, depth, forward, height = (np.interp(fine, np.arange(len(p)), p) for p in profile)
    reach = depth * np.sqrt(np.maximum(1 - (x / width) ** 2, 0.0))
    last = int(np.argmax(width <= abs(x))) or len(fine)

    # Up the front, down the back.
    front = np.stack([np.full(last, x), -forward[:last] - reach[:last], height[:last]], -1)
    back = np.stack([np.full(last, x), -forward[:last] + reach[:last], height[:last]], -1)
    return at_equal_distances(np.concatenate([front, back[::-1]]), count)
