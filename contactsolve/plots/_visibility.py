"""The painter's order of convex solids: each one is drawn after all that it may hide.

Of two convex solids there is a plane between them, and the one on the camera's side of it may hide
the other. For spheres the order by `Camera.remoteness` fulfils all of these conditions. Other
solids take that order of their bounding spheres where it fulfils the conditions of all pairs that
overlap in the picture, and are sorted topologically where it does not.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from contactsolve.plots._camera import Camera

__all__ = ["Solid", "back_to_front"]

_PAIRS_AT_ONCE = 2_000_000
_PENETRATION = 0.02  # in radii of the smaller solid
_DIRECTIONS = 8  # along which pictures are tested for overlap


class Solid(NamedTuple):
    """A convex solid in the world frame: all points within `radius` of the hull of `core`.

    Attributes
    ----------
    core : (k, 3) ndarray
    radius : float
    normals : (m, 3) ndarray
        Of its flat faces, and the directions of its axes.
    center : (3,) ndarray
    reach : float
        The radius of a sphere about the centre that holds the solid.
    """

    core: np.ndarray
    radius: float
    normals: np.ndarray
    center: np.ndarray
    reach: float


def back_to_front(camera: Camera, solids: list[Solid]) -> np.ndarray:
    """Return the indices of solids in the order in which they are drawn."""
    if not solids:
        return np.zeros(0, dtype=int)
    centers = np.array([solid.center for solid in solids])
    reaches = np.array([solid.reach for solid in solids])
    remote = camera.remoteness(centers, reaches)
    order = np.argsort(-remote, kind="stable")
    if all(len(solid.core) == 1 for solid in solids):
        return order

    # Conditions: the first of a pair is behind the second.
    behind: list[np.ndarray] = []
    for pairs in _overlapping(camera, solids):
        behind.append(_conditions(camera, solids, pairs, remote))
    return _sorted(order, np.concatenate(behind) if behind else np.zeros((0, 2), dtype=int))


def _overlapping(camera: Camera, solids: list[Solid]) -> Iterator[np.ndarray]:
    """Yield pairs of solids that overlap in the picture, ``(n, 2)``, or all but overlap."""
    low, high = _extents(camera, solids)
    order = np.argsort(low[:, 0])
    end = np.searchsorted(low[order, 0], high[order, 0], side="left")
    counts = end - np.arange(len(order)) - 1
    begin = 0
    while begin < len(order):
        stop = begin + max(1, int(np.searchsorted(np.cumsum(counts[begin:]), _PAIRS_AT_ONCE)))
        some = counts[begin:stop]
        first = np.repeat(np.arange(begin, begin + len(some)), some)
        offset = np.arange(len(first)) - np.repeat(np.cumsum(some) - some, some)
        one, other = order[first], order[first + 1 + offset]
        for k in range(1, _DIRECTIONS):
            kept = (low[one, k] < high[other, k]) & (low[other, k] < high[one, k])
            one, other = one[kept], other[kept]
        yield np.column_stack([one, other])
        begin = stop


def _extents(camera: Camera, solids: list[Solid]) -> tuple[np.ndarray, np.ndarray]:
    """Return the range of each solid's picture along directions of the picture, ``(n, k)`` each."""
    angle = np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    directions = np.array([np.cos(angle), np.sin(angle)])
    counts = np.array([len(solid.core) for solid in solids])
    points = np.concatenate([solid.core for solid in solids])
    radii = np.repeat([solid.radius for solid in solids], counts) * camera.scale(points)
    along, starts = camera.project(points) @ directions, np.cumsum(counts) - counts
    low = np.minimum.reduceat(along - radii[:, None], starts)
    return low, np.maximum.reduceat(along + radii[:, None], starts)


def _conditions(
    camera: Camera, solids: list[Solid], pairs: np.ndarray, remote: np.ndarray
) -> np.ndarray:
    """Return pairs in the order in which they are drawn, without those where it does not matter."""
    centers = np.array([solid.center for solid in solids])
    reaches = np.array([solid.reach for solid in solids])
    apart = np.linalg.norm(centers[pairs[:, 0]] - centers[pairs[:, 1]], axis=1)
    round_ = np.array([len(solid.core) == 1 for solid in solids])
    far = (apart >= reaches[pairs].sum(axis=1)) | round_[pairs].all(axis=1)

    # Bounding spheres that do not overlap tell the order; other pairs need a plane between them.
    known = pairs[far]
    swapped = remote[known[:, 0]] < remote[known[:, 1]]
    known[swapped] = known[swapped, ::-1]
    near = []
    for i, j in pairs[~far].tolist():
        side = _in_front(camera, solids[i], solids[j])
        if side:
            near.append((j, i) if side > 0 else (i, j))
    return np.concatenate([known, np.array(near, dtype=int).reshape(-1, 2)])


def _in_front(camera: Camera, a: Solid, b: Solid) -> int:
    """Return 1 if solid a may hide b, −1 if b may hide a, 0 if neither can."""
    between = a.center - b.center
    toward = camera.towards((a.center + b.center) / 2)
    axes = np.concatenate([a.normals, b.normals, [between, toward]])
    gap, side = _separation(camera, a, b, axes)
    if gap < 0 and len(a.normals) and len(b.normals):
        # No face lies between them: try the planes along one edge of each.
        edges = np.cross(a.normals[:6, None], b.normals[None, :6]).reshape(-1, 3)
        other, other_side = _separation(camera, a, b, edges)
        side = other_side if other > gap else side
    return side


def _separation(camera: Camera, a: Solid, b: Solid, axes: np.ndarray) -> tuple[float, int]:
    """Return the largest gap between two solids along axes, and which of them may hide the other.

    The solid on the camera's side of a plane between them is not hidden. With planes for both of
    them, neither is.
    """
    lengths = np.linalg.norm(axes, axis=1)
    kept = lengths > 1e-9 * lengths.max(initial=1e-300)
    if not kept.any():
        return -np.inf, 0
    axes = axes[kept] / lengths[kept, None]

    # The gap along each axis, turned so that a is above b.
    of_a, of_b = a.core @ axes.T, b.core @ axes.T
    a_above = of_a.min(axis=0) - of_b.max(axis=0)
    b_above = of_b.min(axis=0) - of_a.max(axis=0)
    sign = np.where(a_above >= b_above, 1.0, -1.0)
    lowest_of_a = np.where(sign > 0, of_a.min(axis=0), -of_a.max(axis=0)) - a.radius
    highest_of_b = np.where(sign > 0, of_b.max(axis=0), -of_b.min(axis=0)) + b.radius
    gaps = lowest_of_a - highest_of_b
    best = float(gaps.max())

    # Whether the camera is above the planes in the middle of the gaps. Bodies that rest on each
    # other penetrate a little, and what is so little is not seen.
    valid = gaps >= min(best, -_PENETRATION * min(a.reach, b.reach))
    up = (sign[:, None] * axes)[valid]
    points = up * ((lowest_of_a + highest_of_b)[valid, None] / 2)
    seen = np.einsum("ij,ij->i", camera.towards(points), up)
    over, under = bool((seen > 1e-9).any()), bool((seen < -1e-9).any())
    level = bool((abs(seen) <= 1e-9).any())
    return best, 0 if level else int(over) - int(under)


def _sorted(order: np.ndarray, behind: np.ndarray) -> np.ndarray:
    """Return an order that fulfils conditions, else as near as possible to the one given.

    Solids that hide each other in turn have no such order: the first of them is drawn first.
    """
    count = len(order)
    rank = np.empty(count, dtype=int)
    rank[order] = np.arange(count)
    waiting = np.bincount(behind[:, 1], minlength=count)
    behind = behind[np.argsort(behind[:, 0], kind="stable")]
    starts = np.searchsorted(behind[:, 0], np.arange(count + 1))
    after = behind[:, 1].tolist()
    ready = [(int(rank[i]), i) for i in np.flatnonzero(waiting == 0)]
    heapq.heapify(ready)
    drawn = np.zeros(count, dtype=bool)
    found: list[int] = []
    left = iter(order.tolist())
    while len(found) < count:
        i = heapq.heappop(ready)[1] if ready else next(k for k in left if not drawn[k])
        if drawn[i]:
            continue
        drawn[i] = True
        found.append(int(i))
        for j in after[starts[i] : starts[i + 1]]:
            waiting[j] -= 1
            if waiting[j] == 0 and not drawn[j]:
                heapq.heappush(ready, (int(rank[j]), j))
    return np.array(found)
