"""What tests of collision detection share: colliders of `contactsolve.dynamics` shapes."""

import numpy as np

from contactsolve import _core


def identity(count, dimension=3):
    """Orientations that turn nothing."""
    return np.tile([1.0, 0, 0, 0], (count, 1)) if dimension == 3 else np.zeros((count, 1))


def random_orientation(rng, count, dimension=3):
    if dimension == 2:
        return rng.uniform(-np.pi, np.pi, (count, 1))
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def rotation(q):
    """The matrix of a quaternion w, x, y, z, or of an angle."""
    if len(q) == 1:
        c, s = np.cos(q[0]), np.sin(q[0])
        return np.array([[c, -s], [s, c]])
    w, x, y, z = np.asarray(q) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def add(collider, shape, body, position=None, orientation=None):
    """Add one shape to a body; returns its id."""
    dimension = shape.dimension
    vertices = getattr(shape, "vertices", None)
    return collider.add(
        shape.kind,
        np.array([shape.numbers]).reshape(1, -1),
        vertices,
        np.array([body]),
        np.zeros((1, dimension)) if position is None else np.reshape(position, (1, -1)),
        identity(1, dimension) if orientation is None else np.reshape(orientation, (1, -1)),
    )


def collider_of(shapes):
    """A collider with one shape on each of the bodies 0, 1, ..."""
    collider = _core.Collider(shapes[0].dimension)
    for body, shape in enumerate(shapes):
        add(collider, shape, body)
    return collider


def spheres(radii, bodies=None, dimension=3):
    """A collider with one sphere, or disc, at the centre of each body."""
    radii = np.asarray(radii, dtype=float)
    count = len(radii)
    collider = _core.Collider(dimension)
    collider.add(
        "sphere" if dimension == 3 else "disc",
        radii[:, None],
        None,
        np.arange(count) if bodies is None else np.asarray(bodies),
        np.zeros((count, dimension)),
        identity(count, dimension),
    )
    return collider


def contacts_of(collider, position, orientation=None, movable=None, margin=0.0, threads=1):
    position = np.asarray(position, dtype=float)
    if orientation is None:
        orientation = identity(len(position), position.shape[1])
    return collider.find(position, orientation, movable, margin, threads)
