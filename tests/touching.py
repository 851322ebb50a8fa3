"""Queries that touch at a known time, in numbers that doubles hold exactly.

Positions at the time of contact and velocities are small whole numbers times a power of two, and so
is the time: x0 = x - t v and x1 = x + (1 - t) v are exact, and at t the vertices are at x exactly.
"""

import numpy as np

STEPS = 1024  # times are multiples of 1 / STEPS
WEIGHT = 8  # barycentric coordinates are multiples of 1 / WEIGHT
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


def sides_of(kind):
    """Return the rows of the first primitive, and those of the second."""
    return ([0], [1, 2, 3]) if kind == "vertex_face" else ([0, 1], [2, 3])


def touching(kind, shape, count, rng):
    """Return positions x0 and x1, ``(count, 4, 3)``, and the time of a contact, ``(count,)``."""
    first, second = sides_of(kind)
    rows, velocity = moving_rows(kind, shape, count, rng)

    # The first primitive is moved, so that the points with these coordinates meet.
    mine, others = coordinates(kind, shape, count, rng)
    p = np.einsum("ni,nij->nj", mine, rows[:, first])
    q = np.einsum("ni,nij->nj", others, rows[:, second])
    rows = WEIGHT * rows
    rows[:, first] += (q - p)[:, None]

    # In other units, and half of them far from the origin.
    step = rng.integers(0, STEPS + 1, count)
    if shape == "at the ends of the time":
        step = STEPS * rng.integers(0, 2, count)
    unit = np.ldexp(1.0, rng.integers(-24, 25, count))[:, None, None]
    far = 2**24 * whole(rng, (count, 1, 3), 1) * rng.integers(0, 2, (count, 1, 1))
    x = far + rows * STEPS
    before, after = (n[:, None, None] * velocity for n in (step, STEPS - step))
    return unit * (x - before), unit * (x + after), step / STEPS


def moving_rows(kind, shape, count, rng):
    """Return positions, multiples of WEIGHT, and velocities; both may have special shapes."""
    first, second = sides_of(kind)
    rows, velocity = whole(rng, (count, 4, 3), 64), whole(rng, (count, 4, 3), 256)
    if shape == "in a plane":
        turn = whole(rng, (count, 2, 3), 4)
        rows, velocity = (np.einsum("nij,njk->nik", a[..., :2], turn) for a in (rows, velocity))
    if shape == "parallel":
        along = whole(rng, (count, 1, 3), 64)
        rows = rows[:, :1] + whole(rng, (count, 4, 1), 8) * along
        if kind == "edge_edge":
            velocity = np.repeat(velocity[:, [0, 2]], 2, axis=1)
    if shape == "collapsed":
        for a in (rows, velocity):
            a[:, second[-1]] = a[:, second[0]]
    if shape == "to a point":
        rows[:, second] = rows[:, second[:1]]
    if shape == "translating":
        velocity[:, second] = velocity[:, second[:1]]
        velocity[:, first] = velocity[:, first[:1]]
    if shape == "at rest":
        velocity[:] = velocity[:, :1] * rng.integers(0, 2, (count, 1, 1))
    return WEIGHT * rows, velocity


def coordinates(kind, shape, count, rng):
    """Return barycentric coordinates of the points that meet, times WEIGHT, of both primitives."""
    sizes = [len(side) for side in sides_of(kind)]
    if shape == "on a vertex":
        return [at_a_corner(rng, count, size) for size in sizes]
    mine, others = (shares(rng, count, size) for size in sizes)
    if shape == "on an edge" and kind == "vertex_face":
        on_edge = np.concatenate([shares(rng, count, 2), np.zeros((count, 1), int)], axis=1)
        others = rng.permuted(on_edge, axis=1)
    elif shape == "on an edge":
        others = at_a_corner(rng, count, 2)
    return mine, others


def whole(rng, size, most):
    return rng.integers(-most, most + 1, size)


def shares(rng, count, corners):
    """Return coordinates that are all positive."""
    cuts = rng.permuted(np.tile(np.arange(1, WEIGHT), (count, 1)), axis=1)[:, : corners - 1]
    ends = np.zeros((count, 1), int), np.full((count, 1), WEIGHT)
    return np.diff(np.concatenate([ends[0], np.sort(cuts, axis=1), ends[1]], axis=1), axis=1)


def at_a_corner(rng, count, corners):
    return rng.permuted(np.tile([WEIGHT] + [0] * (corners - 1), (count, 1)), axis=1)
