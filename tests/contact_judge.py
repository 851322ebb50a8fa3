"""Contacts between two states of meshes, judged in whole numbers: of all pairs of primitives."""

import numpy as np

from exact_ccd import CORNERS, first_contact

ROUNDING = 1e-9  # of the plane that rules out a pair, in parts of its size


def edges_of(faces):
    """Return the edges of faces, each once, ``(m, 2)``."""
    ends = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return np.unique(ends, axis=0)


def merged(meshes):
    """Return one mesh of several: positions before and after, and faces."""
    x0 = np.concatenate([a for a, _, _ in meshes])
    x1 = np.concatenate([b for _, b, _ in meshes])
    first = np.cumsum([0, *(len(a) for a, _, _ in meshes)])
    return x0, x1, np.concatenate([f + n for (_, _, f), n in zip(meshes, first, strict=False)])


def overlapping(x0, x1, first, second):
    """Return pairs of primitives whose boxes overlap, as four vertices, without neighbours."""
    both = np.stack([x0, x1])
    low_a, high_a = both[:, first].min(axis=(0, 2)), both[:, first].max(axis=(0, 2))
    low_b, high_b = both[:, second].min(axis=(0, 2)), both[:, second].max(axis=(0, 2))
    found = []
    for i in range(len(first)):
        near = ((low_a[i] <= high_b) & (low_b <= high_a[i])).all(axis=1)
        near &= ~(second[:, :, None] == first[i]).any(axis=(1, 2))
        rows = second[near]
        found.append(np.concatenate([np.tile(first[i], (len(rows), 1)), rows], axis=1))
    return np.concatenate(found)


def are_apart(kind, x0, x1):
    """Whether the plane across the line between the means proves that each pair stays apart."""
    pairs = CORNERS[kind]
    d = np.stack([np.stack([x[:, a] - x[:, b] for a, b in pairs], axis=1) for x in (x0, x1)])
    n = d.mean(axis=(0, 2))
    height = np.einsum("pc,tpkc->ptk", n, d).min(axis=(1, 2))
    return height > ROUNDING * np.abs(d).max(axis=(0, 2, 3)) ** 2


def contacts_between(meshes, cloth):
    """Return pairs that meet on straight lines, each with a vertex below `cloth`.

    Parameters
    ----------
    meshes
        Positions before and after, and faces, of the cloth and of obstacles.
    cloth
        Vertices of the cloth.
    """
    x0, x1, faces = merged(meshes)
    vertices, edges = np.arange(len(x0))[:, None], edges_of(faces)
    found = []
    for kind, first, second in (
        ("vertex_face", vertices, faces),
        ("edge_edge", edges, edges),
    ):
        rows = overlapping(x0, x1, first, second)
        rows = rows[(rows < cloth).any(axis=1)]
        rows = rows[~are_apart(kind, x0[rows], x1[rows])]
        found += [(kind, *row) for row in rows if first_contact(kind, x0[row], x1[row]) is not None]
    return found
