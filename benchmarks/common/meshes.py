"""Sheets of cloth that benchmarks share, and how pyamg solves their systems."""

import numpy as np

import contactsolve as cs

# A light fabric: S5 does not give its own.
MATERIAL = {"density": 0.2, "young": 1000.0, "poisson": 0.3, "bending": 1e-4}


def stretched_sheet(rows, columns, stretch, diagonals="alternating", **options):
    """Return a cloth of square cells, 1 m high, stretched and at rest, without gravity."""
    size = ((columns - 1) / (rows - 1), 1.0)
    rest, faces = cs.cloth.sheet(rows, columns, size, diagonals)
    given = {"gravity": (0, 0, 0), **MATERIAL, **options}
    return cs.cloth.Cloth(stretch * rest, faces, rest=rest, **given)


def norm(x):
    """Return the norm without BLAS, whose threads would spin beside those of the next solve."""
    return float(np.sqrt(np.square(x).sum()))


def rigid_modes(positions):
    """Return three translations and three rotations of the vertices, ``(3 n, 6)``."""
    x = positions - positions.mean(axis=0)
    modes = np.zeros((len(x), 3, 6))
    modes[:, range(3), range(3)] = 1
    for axis in range(3):
        modes[:, :, 3 + axis] = np.cross(np.eye(3)[axis], x)
    return modes.reshape(-1, 6)


def smoothed_aggregation(matrix, positions):
    """Return pyamg's multigrid with rigid modes and block Gauss-Seidel."""
    from pyamg import smoothed_aggregation_solver
    from scipy.sparse import bsr_matrix

    smoother = ("block_gauss_seidel", {"sweep": "symmetric"})
    return smoothed_aggregation_solver(
        bsr_matrix(matrix), B=rigid_modes(positions), presmoother=smoother, postsmoother=smoother
    )
