"""Meshes for trees of boxes, and their pairs by brute force."""

import numpy as np

import contactsolve as cs

KINDS = {
    "faces": ("faces", "faces"),
    "vertex_face": ("vertices", "faces"),
    "edge_edge": ("edges", "edges"),
}


def soup(faces=90, seed=0, shared=0.5):
    """Random triangles, of which some share vertices, in every way that they can."""
    rng = np.random.default_rng(seed)
    centers = rng.random((faces, 1, 3)) * 1.2 * faces ** (1 / 3)
    vertices = (centers + rng.standard_normal((faces, 3, 3)) * 0.4).reshape(-1, 3)
    triangles = np.arange(3 * faces).reshape(-1, 3)
    for t in np.flatnonzero(rng.random(faces) < shared):
        other = triangles[rng.integers(faces)]
        taken = [v for v in rng.permutation(other)[: rng.integers(1, 3)] if v not in triangles[t]]
        triangles[t, : len(taken)] = taken
    return vertices, triangles


def sheet(rows=9, columns=8):
    """A sheet in a plane that is parallel to no axis."""
    vertices, faces = cs.cloth.sheet(rows, columns, ((columns - 1) * 1.0, (rows - 1) * 1.0))
    return vertices @ rotation(3).T, faces


def rotation(seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]


def fold(rows=49, columns=5, layers=16, gap=0.4):
    """A strip of edges of length 1 along y, folded to so many layers so far apart.

    The last row of a layer turns over by half a circle; lengths along it do not stay quite the same
    where a layer is no multiple of a cell.
    """
    vertices, faces = cs.cloth.sheet(rows, columns, ((columns - 1) * 1.0, (rows - 1) * 1.0))
    length = (rows - 1) / layers
    flat = length - np.pi * gap / 2
    layer = np.minimum(vertices[:, 1] // length, layers - 1)
    along = vertices[:, 1] - layer * length
    turn = np.maximum(along - flat, 0) / (gap / 2) * (layer < layers - 1)
    y = np.where(turn > 0, flat + gap / 2 * np.sin(turn), along)
    vertices[:, 1] = np.where(layer % 2 == 0, y, flat - y)
    vertices[:, 2] = gap * layer + gap / 2 * (1 - np.cos(turn))
    return vertices, faces


def corners_of(tree, faces, kind):
    """The vertices of each primitive, as columns."""
    vertices = np.arange(len(tree.boxes("vertices")[0]))[:, None]
    return {"vertices": vertices, "edges": tree.edges, "faces": np.asarray(faces)}[kind]


def overlapping(lower, upper, other_lower, other_upper):
    """Whether boxes overlap or touch in all directions: (count, other count)."""
    both = np.ones((len(lower), len(other_lower)), bool)
    for d in range(lower.shape[1]):
        both &= lower[:, d, None] <= other_upper[None, :, d]
        both &= other_lower[None, :, d] <= upper[:, d, None]
    return both


def self_pairs(tree, faces, kind):
    """The pairs of a mesh with itself, from the boxes of all primitives."""
    one, other = KINDS[kind]
    found = overlapping(*tree.boxes(one), *tree.boxes(other))
    v, w = corners_of(tree, faces, one), corners_of(tree, faces, other)
    found &= ~(v[:, None, :, None] == w[None, :, None, :]).any(axis=(2, 3))
    return np.argwhere(np.triu(found, 1) if one == other else found)


def external_pairs(tree, second, kind):
    """The pairs of two meshes."""
    one, other = KINDS[kind]
    return np.argwhere(overlapping(*tree.boxes(one), *second.boxes(other)))
