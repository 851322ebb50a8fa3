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
    for pairs in _overlapping(camera, centers, reaches):
        behind.append(_conditions(camera, solids, pairs, remote))
    return _sorted(order, np.concatenate(behind) if behind else np.zeros((0, 2), dtype=int))


def _overlapping(camera: Camera, centers: np.ndarray, reaches: np.ndarray) -> Iterator[np.ndarray]:
    """Yield pairs of solids whose bounding spheres may overlap in the picture, ``(n, 2)``."""
    places = camera.project(centers)
    # A sphere's picture is a little larger than its section through the centre.
    nearer = camera.scale(centers + reaches[:, None] * camera.axes[2])
    sizes = reaches * nearer
    left = places[:, 0] - sizes
    order = np.argsort(left)
    end = np.searchsorted(left[order], (places[:, 0] + sizes)[order], side="right")
    counts = end - np.arange(len(order)) - 1
    begin = 0
    while begin < len(order):
        stop = begin + max(1, int(np.searchsorted(np.cumsum(counts[begin:]), _PAIRS_AT_ONCE)))
        some = counts[begin:stop]
        first = np.repeat(np.arange(begin, begin + len(some)), some)
        offset = np.arange(len(first)) - np.repeat(np.cumsum(some) - some, some)
        pairs = np.column_stack([order[first], order[first + 1 + offset]])
        apart = abs(places[pairs[:, 0], 1] - places[pairs[:, 1], 1])
        yield pairs[apart < sizes[pairs].sum(axis=1)]
        begin = stop


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
    """Return 1 if solid a may hide b, −1 if b may hide a, 0 if neither is known to."""
    between = a.center - b.center
    middle = (a.center + b.center) / 2
    toward = camera.towards(middle)
    axes = np.concatenate([a.normals, b.normals, [between, toward]])
    gap, side = _separation(camera, a, b, axes)
    if gap < 0 and len(a.normals) and len(b.normals):
        # No face lies between them: try the planes along one edge of each.
        edges = np.cross(a.normals[:6, None], b.normals[None, :6]).reshape(-1, 3)
        other, other_side = _separation(camera, a, b, edges)
        side = other_side if other > gap else side
    return side


def _separation(camera: Camera, a: Solid, b: Solid, axes: np.ndarray) -> tuple[float, int]:
    """Return the largest gap between two solids along axes, and on which side the camera is."""
    lengths = np.linalg.norm(axes, axis=1)
    axes = axes[lengths > 1e-9 * lengths.max(initial=1e-300)]
    axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    of_a, of_b = a.core @ axes.T, b.core @ axes.T
    radii = a.radius + b.radius
    above = of_a.min(axis=0) - of_b.max(axis=0) - radii  # a is above b along the axis
    below = of_b.min(axis=0) - of_a.max(axis=0) - radii
    gaps = np.maximum(above, below)
    if not len(gaps):
        return -np.inf, 0
    k = int(np.argmax(gaps))
    if above[k] >= below[k]:
        height = (of_a[:, k].min() - a.radius + of_b[:, k].max() + b.radius) / 2
        sign = 1
    else:
        height = (of_b[:, k].min() - b.radius + of_a[:, k].max() + a.radius) / 2
        sign = -1
    # The camera is above the plane if a vector from it towards the camera is.
    point = axes[k] * height
    seen = float(camera.towards(point) @ axes[k])
    return float(gaps[k]), sign * (1 if seen > 0 else -1) if abs(seen) > 1e-9 else 0


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
