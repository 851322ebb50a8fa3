"""Matrices of an implicit Euler step of cloth, M + h² K, of a stretched sheet: in NumPy."""

import numpy as np

DENSITY = 0.2  # kg/m²
YOUNG, POISSON = 1000.0, 0.3  # N/m, of the membrane
BENDING = 1e-4  # N m
STRETCH = 1.05


def sheet(rows, columns, size=1.0):
    """Vertices (n, 3) and triangles (m, 3) of a flat square sheet, diagonals all one way."""
    y, x = np.meshgrid(np.linspace(0, size, rows), np.linspace(0, size, columns), indexing="ij")
    vertices = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    number = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (
        n.ravel() for n in (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1])
    )
    return vertices, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def cloth_matrix(rows, columns, h=1 / 30, seed=None, bending=BENDING):
    """Return M + h² K as blocks of SciPy's format ``bsr``, and the positions (n, 3).

    K holds constant-strain triangles in plane stress, the geometric stiffness of the tension of an
    isotropic stretch, and quadratic bending (Bergou 2006). `seed` shuffles the vertices.
    """
    vertices, triangles = sheet(rows, columns)
    count = len(vertices)
    if seed is not None:
        place = np.random.default_rng(seed).permutation(count)
        shuffled = np.empty_like(vertices)
        shuffled[place] = vertices
        vertices, triangles = shuffled, place[triangles]
    gradients, area = _gradients(vertices, triangles)
    corners, hinge = _hinges(vertices, triangles, area)
    pattern = _Pattern(count, triangles, corners)

    # Membrane and tension.
    tension = YOUNG * (STRETCH - 1) / (1 - POISSON)
    strain = area[:, None, None, None, None] * _plane_stress(gradients)
    pattern.add(triangles, h**2 * strain)
    along = np.einsum("mik,mjk->mij", gradients, gradients) * area[:, None, None]
    pattern.add_multiples(triangles, h**2 * tension * along)

    # Bending and mass.
    pattern.add_multiples(corners, h**2 * bending * hinge)
    mass = DENSITY / 3 * np.bincount(triangles.ravel(), np.repeat(area, 3), count)
    pattern.add_multiples(np.arange(count)[:, None], mass[:, None, None])
    return pattern.matrix(), vertices


class _Pattern:
    """Blocks of all pairs of vertices of an element, by row and column."""

    def __init__(self, count, *elements):
        self.count = count
        pairs = [(e[:, :, None] * count + e[:, None, :]).ravel() for e in elements]
        self.key = np.unique(np.concatenate(pairs))
        self.values = np.zeros((len(self.key), 9))

    def _place(self, elements):
        return np.searchsorted(
            self.key, elements[:, :, None] * self.count + elements[:, None, :]
        ).ravel()

    def add(self, elements, blocks):
        place, numbers = self._place(elements), blocks.reshape(-1, 9)
        for k in range(9):
            self.values[:, k] += np.bincount(place, numbers[:, k], len(self.key))

    def add_multiples(self, elements, factors):
        """Add factors of the identity."""
        total = np.bincount(self._place(elements), factors.ravel(), len(self.key))
        self.values[:, [0, 4, 8]] += total[:, None]

    def matrix(self):
        from scipy.sparse import bsr_array

        starts = np.searchsorted(self.key, self.count * np.arange(self.count + 1))
        blocks = self.values.reshape(-1, 3, 3)
        size = 3 * self.count
        return bsr_array((blocks, self.key % self.count, starts), shape=(size, size))


def _gradients(vertices, triangles):
    """Gradients (m, 3, 2) of the corners' shape functions in the plane, and areas."""
    a, b, c = (vertices[triangles[:, k], :2] for k in range(3))
    edges = np.stack([c - b, a - c, b - a], axis=1)
    double = edges[:, 2, 0] * -edges[:, 1, 1] + edges[:, 2, 1] * edges[:, 1, 0]
    turned = np.stack([-edges[:, :, 1], edges[:, :, 0]], axis=2)
    return turned / double[:, None, None], double / 2


def _plane_stress(gradients):
    """Blocks (m, 3, 3, 3, 3) of a triangle of area one, z among the components."""
    m = (
        YOUNG
        / (1 - POISSON**2)
        * np.array([[1, POISSON, 0], [POISSON, 1, 0], [0, 0, (1 - POISSON) / 2]])
    )
    strain = np.zeros((len(gradients), 3, 3, 3))  # triangle, corner, strain, component
    strain[:, :, 0, 0] = strain[:, :, 2, 1] = gradients[:, :, 0]
    strain[:, :, 1, 1] = strain[:, :, 2, 0] = gradients[:, :, 1]
    return np.einsum("miac,ab,mjbd->mijcd", strain, m, strain, optimize=True)


def _hinges(vertices, triangles, area):
    """Corners (e, 4) of the pairs of triangles at an edge, and their matrices (e, 4, 4)."""
    ends = np.concatenate([triangles[:, [1, 2]], triangles[:, [2, 0]], triangles[:, [0, 1]]])
    apex, owner = triangles.T.ravel(), np.tile(np.arange(len(triangles)), 3)
    order = np.lexsort((*np.sort(ends, axis=1).T,))
    ends, apex, owner = np.sort(ends, axis=1)[order], apex[order], owner[order]
    first = np.flatnonzero(np.all(ends[1:] == ends[:-1], axis=1))
    corners = np.column_stack([ends[first], apex[first], apex[first + 1]])
    x = vertices[corners]
    c01, c02 = _cotangent(x, 0, 1, 2), _cotangent(x, 0, 1, 3)
    c03, c04 = _cotangent(x, 1, 0, 2), _cotangent(x, 1, 0, 3)
    k = np.stack([c03 + c04, c01 + c02, -c01 - c03, -c02 - c04], axis=1)
    scale = 3 / (area[owner[first]] + area[owner[first + 1]])
    return corners, scale[:, None, None] * k[:, :, None] * k[:, None, :]


def _cotangent(x, corner, first, second):
    """Of the angle at a corner of each hinge."""
    u, v = x[:, first] - x[:, corner], x[:, second] - x[:, corner]
    return np.sum(u * v, axis=1) / np.linalg.norm(np.cross(u, v), axis=1)
