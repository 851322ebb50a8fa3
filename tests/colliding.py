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


# ---- shapes by their support functions, in plain NumPy -------------------------------------------


def support(shape, directions):
    """The largest ``direction · x`` over a shape in its own frame, for each direction (k, n)."""
    d = np.asarray(directions, dtype=float)
    lengths = np.linalg.norm(d, axis=1)
    match shape.kind:
        case "sphere" | "disc":
            return shape.radius * lengths
        case "capsule":
            return shape.half_length * np.abs(d[:, 2]) + shape.radius * lengths
        case "segment":
            return shape.half_length * np.abs(d[:, 0]) + shape.radius * lengths
        case "cylinder":
            across = np.hypot(d[:, 0], d[:, 1])
            return shape.half_length * np.abs(d[:, 2]) + shape.radius * across
        case "box":
            return np.abs(d) @ np.array(shape.half_extents)
        case "hull" | "polygon" | "triangle":
            return (d @ shape.vertices.T).max(axis=1)
    raise ValueError(shape.kind)


def separations(shapes, position, orientation, directions):
    """How far two shapes are apart along each unit direction from the first to the second."""
    d = np.asarray(directions, dtype=float)
    total = np.zeros(len(d))
    for shape, x, q, sign in zip(shapes, position, orientation, (1.0, -1.0), strict=True):
        if shape.kind == "half_space":
            normal = rotation(q) @ np.array(shape.normal) / np.linalg.norm(shape.normal)
            reach = shape.offset / np.linalg.norm(shape.normal) + normal @ x
            total += np.where(np.abs(sign * d - normal).max(axis=1) < 1e-12, reach, np.inf)
        else:
            total += support(shape, sign * d @ rotation(q)) + sign * d @ x
    return -total


def unit_vectors(rng, count, dimension):
    d = rng.normal(size=(count, dimension))
    return d / np.linalg.norm(d, axis=1, keepdims=True)


def beyond(shape, x, q, points, directions):
    """A lower bound of the distances of points from a shape: over many directions."""
    local = (points - x) @ rotation(q)
    if shape.kind == "half_space":
        normal = np.array(shape.normal) / np.linalg.norm(shape.normal)
        return local @ normal - shape.offset / np.linalg.norm(shape.normal)
    return (local @ directions.T - support(shape, directions)).max(axis=1)
