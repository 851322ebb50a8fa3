"""Positions for the vertices of a graph in the plane, with NumPy alone.

Each connected part is placed such that distances on paper are like distances in the graph, by
classical scaling on a few pivots (Brandes and Pich, "Eigensolver methods for progressive
multidimensional scaling of large data", 2007), then a few steps of stress majorization over
neighbours and pivots (Ortmann, Klimenta, Brandes, "A sparse stress model", 2016).
"""

from __future__ import annotations

import numpy as np

_PIVOTS = 60  # in a graph with no more vertices than this, all of them are pivots
_STEPS = 60
# View of a three-dimensional lattice from a corner: along an axis its layers would coincide.
_VIEW = np.array([[1.0, 0.0], [0.0, 1.0], [0.45, 0.3]])
# Maximum number of vertices in a part, and the least distance between two of them in lengths of an
# edge: vertices of small parts have numbers and need room; larger parts have too many pairs.
_NEAREST = ((40, 0.75), (300, 0.4))
_APART = 1.5  # between two parts, in lengths of an edge


def layout(count: int, edges: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """Return positions ``(count, 2)`` with edges of about length 1 and `ground` vertices below.

    Parameters
    ----------
    count
        Number of vertices.
    edges
        ``(E, 2)`` pairs of vertices, each pair once and none with itself.
    ground
        ``(count,)`` of bool: vertices that touch the ground.
    """
    places = np.zeros((count, 2))
    members, local_edges = _parts(count, edges)
    for vertices, inside in zip(members, local_edges, strict=True):
        # Two vertices need no layout; sparse scenes have thousands of such parts.
        if len(vertices) == 2:
            upright = ground[vertices[0]] != ground[vertices[1]]
            places[vertices[1]] = np.where(
                upright, [0.0, 1.0 - 2.0 * ground[vertices[1]]], [1.0, 0.0]
            )
        elif len(vertices) > 2:
            placed = _connected(len(vertices), inside)
            places[vertices] = _upright(placed, ground[vertices])
    return _packed(places, members)


def _parts(count: int, edges: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the connected parts, largest first: their vertices, and edges in local numbers."""
    # Labels fall to the lowest number that a part can reach.
    label = np.arange(count)
    while True:
        lowest = np.minimum(label[edges[:, 0]], label[edges[:, 1]])
        new = label.copy()
        np.minimum.at(new, edges[:, 0], lowest)
        np.minimum.at(new, edges[:, 1], lowest)
        new = new[new]
        if np.array_equal(new, label):
            break
        label = new

    # Number the vertices within their part.
    _, part, sizes = np.unique(label, return_inverse=True, return_counts=True)
    by_part = np.argsort(part, kind="stable")
    number = np.empty(count, dtype=np.int64)
    number[by_part] = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)

    # Sort the edges by their part.
    edge_part = part[edges[:, 0]] if len(edges) else np.zeros(0, dtype=np.int64)
    by_edge_part = np.argsort(edge_part, kind="stable")
    ends = np.cumsum(np.bincount(edge_part, minlength=len(sizes)))
    vertices = np.split(by_part, np.cumsum(sizes)[:-1])
    inside = np.split(number[edges[by_edge_part]], ends[:-1])
    order = np.argsort(-sizes, kind="stable")
    return [vertices[i] for i in order], [inside[i] for i in order]


def _connected(count: int, edges: np.ndarray) -> np.ndarray:
    """Return positions for a connected graph."""
    pivots = np.unique(np.linspace(0, count - 1, min(count, _PIVOTS)).astype(np.int64))
    start, target = _both_ways(edges)
    steps = _steps_between(count, start, target, pivots)
    places = _scaled(steps)
    # Vertices with equal distances to all pivots start in one place and need a disturbance.
    places += np.random.default_rng(0).normal(scale=0.05, size=places.shape)
    return _pushed_apart(_relaxed(places, start, target, pivots, steps))


def _both_ways(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return every edge from both of its ends, sorted; each vertex begins at least one."""
    start, target = np.concatenate([edges, edges[:, ::-1]]).T
    order = np.lexsort((target, start))
    return start[order], target[order]


def _steps_between(
    count: int, start: np.ndarray, target: np.ndarray, pivots: np.ndarray
) -> np.ndarray:
    """Return the length of the shortest path from each vertex to each pivot, in edges."""
    first = np.searchsorted(start, np.arange(count))
    steps = np.full((count, len(pivots)), float(count))
    steps[pivots, np.arange(len(pivots))] = 0.0
    while True:
        nearer = np.minimum(steps, np.minimum.reduceat(steps[target], first, axis=0) + 1.0)
        if np.array_equal(nearer, steps):
            return steps
        steps = nearer


def _scaled(steps: np.ndarray) -> np.ndarray:
    """Classical scaling by distances to pivots, in three dimensions, seen from a corner."""
    # The leading eigenvectors of the centred squares of the distances span the space.
    centred = steps**2
    centred = centred - centred.mean(axis=0) - centred.mean(axis=1)[:, None] + centred.mean()
    _, axes = np.linalg.eigh(centred.T @ centred)
    spread = centred @ axes[:, ::-1][:, :3]

    # Fix the signs, project to the plane, and scale to about the length of the paths.
    spread *= np.sign(spread[np.abs(spread).argmax(axis=0), range(spread.shape[1])] + 0.5)
    places = spread @ _VIEW[: spread.shape[1]]
    size = np.abs(places - places.mean(axis=0)).max()
    return places * (0.5 * steps.max() / size if size > 0 else 0.0)


def _relaxed(
    places: np.ndarray,
    start: np.ndarray,
    target: np.ndarray,
    pivots: np.ndarray,
    steps: np.ndarray,
) -> np.ndarray:
    """Stress majorization: move every vertex to the mean of what neighbours and pivots ask for."""
    # A pivot at distance d has the weight 1/d², an edge has the weight 1.
    first = np.searchsorted(start, np.arange(len(places)))
    near = steps.copy()
    near[pivots, np.arange(len(pivots))] = np.inf  # a pivot does not pull itself
    weight = near**-2.0
    total = weight.sum(axis=1) + np.add.reduceat(np.ones(len(start)), first)

    for _ in range(_STEPS):
        # Positions at the right distance from each pivot, then from each neighbour.
        offset = places[:, None, :] - places[None, pivots, :]
        length = np.maximum(np.linalg.norm(offset, axis=2), 1e-9)
        wanted = places[None, pivots, :] + offset * (steps / length)[:, :, None]
        edge = places[start] - places[target]
        unit = edge / np.maximum(np.linalg.norm(edge, axis=1), 1e-9)[:, None]
        pulled = np.add.reduceat(places[target] + unit, first, axis=0)
        places = (np.einsum("vp,vpc->vc", weight, wanted) + pulled) / total[:, None]
    return places


def _pushed_apart(places: np.ndarray) -> np.ndarray:
    """Move vertices apart that nearly coincide, so that their marks and numbers do not overlap."""
    nearest = next((distance for count, distance in _NEAREST if len(places) <= count), 0.0)
    for _ in range(5 * _STEPS if nearest else 0):
        offset = places[:, None] - places[None]
        length = np.maximum(np.linalg.norm(offset, axis=2), 1e-9)
        np.fill_diagonal(length, np.inf)
        lacking = np.maximum(nearest - length, 0.0)
        if lacking.max() < 0.02:
            break
        places = places + 0.35 * np.sum((lacking / length)[:, :, None] * offset, axis=1)
    return places


def _upright(places: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """Rotate such that the ground is below, or the long side is level if no ground is known."""
    centred = places - places.mean(axis=0)
    up = centred[~ground].mean(axis=0) - centred[ground].mean(axis=0) if _has_both(ground) else None
    if up is None or np.linalg.norm(up) < 0.1:
        values, vectors = np.linalg.eigh(centred.T @ centred)
        # A symmetric graph has no long side: rounding must not choose one.
        up = vectors[:, 0] if values[1] > 1.01 * values[0] else np.array([0.0, 1.0])
    up = up / np.linalg.norm(up)
    turned = centred @ np.array([[up[1], up[0]], [-up[0], up[1]]])
    # Of two mirror images, take the one whose numbers increase from left to right.
    return turned * [-1.0 if turned[0, 0] > turned[-1, 0] + 1e-9 else 1.0, 1.0]


def _has_both(ground: np.ndarray) -> bool:
    """Whether some vertices touch the ground and some do not."""
    return bool(ground.any() and not ground.all())


def _packed(places: np.ndarray, members: list[np.ndarray]) -> np.ndarray:
    """Put the parts side by side, in rows that form about a square."""
    low = [places[vertices].min(axis=0) for vertices in members]
    sizes = [
        places[vertices].max(axis=0) - a + _APART for vertices, a in zip(members, low, strict=True)
    ]
    if not sizes:
        return places

    # Fill rows from the left; the next row begins below the highest part of this one.
    width = max(max(size[0] for size in sizes), 1.3 * np.sqrt(sum(np.prod(size) for size in sizes)))
    corner, height = np.zeros(2), 0.0
    for vertices, a, size in zip(members, low, sizes, strict=True):
        if corner[0] > 0 and corner[0] + size[0] > width + 1e-9:
            corner, height = np.array([0.0, corner[1] - height]), 0.0
        places[vertices] += corner - a - np.array([0.0, size[1]])
        corner = corner + np.array([size[0], 0.0])
        height = max(height, size[1])
    return places
