"""Queries that touch at a known time, in numbers that doubles hold exactly.

Positions at the time of contact and velocities are small whole numbers times a power of two, and so is
the time: x0 = x - t v and x1 = x + (1 - t) v are exact, and at t the vertices are at x exactly.
"""

import numpy as np

STEPS = 1024  # times are multiples of 1 / STEPS
WEIGHT = 8  # barycentric coordinates of 1 / WEIGHT
KINDS = ("vertex_face", "edge_edge")
SHAPES = (
    "general",
    "translating",
    "on an edge",
    "on a vertex",
    "in a plane",
    "parallel",
    "collapsed",
    "to a point",
    "at the ends of the time",
    "at rest",
)


def whole(rng, size, most=64):
    return rng.integers(-most, most + 1, size)


def shares(rng, count, corners):
    """Return barycentric coordinates times WEIGHT, all of them positive."""
    cuts = np.sort(rng.permuted(np.tile(np.arange(1, WEIGHT), (count, 1)), axis=1)[:, : corners - 1])
    edges = np.concatenate([np.zeros((count, 1), int), cuts, np.full((count, 1), WEIGHT)], axis=1)
    return np.diff(edges, axis=1)


def touching(kind, shape, count, rng):
    """Return positions x0 and x1, ``(count, 4, 3)``, and the time of a contact, ``(count,)``."""
    rows = WEIGHT * whole(rng, (count, 4, 3))
    velocity = whole(rng, (count, 4, 3), 256)
    first, second = ([0], [1, 2, 3]) if kind == "vertex_face" else ([0, 1], [2, 3])
    mine, others = shares(rng, count, len(first)), shares(rng, count, len(second))

    # What is special: fewer corners touch, or positions and velocities have fewer dimensions.
    if shape == "on an edge":
        others = np.concatenate([shares(rng, count, 2), np.zeros((count, 3), int)], axis=1)
        others = rng.permuted(others[:, : len(second)], axis=1)
        if kind == "edge_edge":
            others[:] = rng.permuted(np.tile([WEIGHT, 0], (count, 1)), axis=1)
    if shape == "on a vertex":
        mine, others = (
            rng.permuted(np.tile([WEIGHT] + [0] * (side.shape[1] - 1), (count, 1)), axis=1)
            for side in (mine, others)
        )
    if shape == "in a plane":
        turn = whole(rng, (count, 2, 3), 4)
        rows, velocity = (np.einsum("nij,njk->nik", a[..., :2], turn) for a in (rows, velocity))
    if shape == "parallel":
        along = whole(rng, (count, 1, 3))
        rows = rows[:, :1] + WEIGHT * whole(rng, (count, 4, 1), 8) * along
        if kind == "edge_edge":
            # Edges that stay parallel, moved aside in all but one direction.
            velocity = np.repeat(velocity[:, [0, 2]], 2, axis=1)
    if shape == "collapsed":
        rows[:, second[-1]] = rows[:, second[0]]
        velocity[:, second[-1]] = velocity[:, second[0]]
    if shape == "to a point":
        rows[:, second] = rows[:, second[:1]]
    if shape == "translating":
        velocity[:, second] = velocity[:, second[:1]]
        velocity[:, first] = velocity[:, first[:1]]

    # The first primitive is moved, so that the points with these coordinates meet.
    p = np.einsum("ni,nij->nj", mine, rows[:, first])
    q = np.einsum("ni,nij->nj", others, rows[:, second])
    rows = WEIGHT * rows
    rows[:, first] += (q - p)[:, None]

    step = rng.integers(0, STEPS + 1, count)
    if shape == "at the ends of the time":
        step = STEPS * rng.integers(0, 2, count)
    if shape == "at rest":
        velocity[:] = velocity[:, :1] * rng.integers(0, 2, (count, 1, 1))
    unit = np.ldexp(1.0, rng.integers(-24, 25, count))
    far = np.ldexp(whole(rng, (count, 1, 3), 2**20).astype(float), 4) * rng.integers(0, 2, (count, 1, 1))
    x0 = unit[:, None, None] * (far + rows * STEPS - step[:, None, None] * velocity)
    x1 = unit[:, None, None] * (far + rows * STEPS + (STEPS - step)[:, None, None] * velocity)
    return x0, x1, step / STEPS
