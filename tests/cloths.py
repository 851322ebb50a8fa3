"""Meshes and solves that tests of cloths share."""

import numpy as np
from scipy.sparse.linalg import spsolve

import contactsolve as cs


def irregular(rows=7, columns=8, size=(1.4, 1.0), shift=0.05, seed=0):
    """A sheet whose inner vertices are moved within its plane: vertices, faces, which are inner."""
    vertices, faces = cs.cloth.sheet(rows, columns, size)
    width, height = size
    inner = (vertices[:, 0] > 1e-9 * width) & (vertices[:, 0] < (1 - 1e-9) * width)
    inner &= (vertices[:, 1] > 1e-9 * height) & (vertices[:, 1] < (1 - 1e-9) * height)
    rng = np.random.default_rng(seed)
    vertices[inner, :2] += rng.uniform(-shift, shift, (int(inner.sum()), 2)) * min(size)
    return vertices, faces, inner


def slender(columns, rows=3):
    """A strip along x of length 1 from the middle of its first cell, whose cells are 4 : 1.

    Two attached columns clamp it in the middle of the cell between them. Cells that are long across
    the hinges that bend keep the plate stiffness of a cylinder, D = k / 4: otherwise vertices
    move apart from the cylinder, and the strip is softer.
    """
    cell = 1 / (columns - 1.5)
    size = ((columns - 1) * cell, (rows - 1) * cell / 4)
    vertices, faces = cs.cloth.sheet(rows, columns, size)
    vertices[:, 0] -= cell / 2
    return vertices, faces, cell


def stiffness_of(model, plate):
    """Options for the plate stiffness of a cylinder on a grid."""
    return {"bending_model": model, "bending": plate * (4 if model == "hinge" else 1)}


def settle(cloth, h, tolerance, most=300):
    """Steps, each from rest, until a step moves less than the tolerance."""
    for _ in range(most):
        before = cloth.positions
        cloth.velocities = np.zeros_like(before)
        cloth.step(h)
        if np.abs(cloth.positions - before).max() < tolerance:
            return
    raise AssertionError(f"not settled after {most} steps")


def equilibrium(cloth, h=1e6, most=15):
    """Newton's method with steps so long that masses do not count, solved directly."""
    for _ in range(most):
        cloth.velocities = np.zeros_like(cloth.positions)
        A, b = cloth.system(h)
        change = h * spsolve(A.to_scipy().tocsc(), b).reshape(-1, 3)
        cloth.positions = cloth.positions + change
        if np.abs(change).max() < 1e-13 * np.abs(cloth.positions).max():
            return
    raise AssertionError("Newton's method has not converged")


def forces_of(cloth, h=1e-3):
    """Forces on vertices at rest."""
    cloth.velocities = np.zeros_like(cloth.positions)
    return cloth.system(h)[1].reshape(-1, 3) / h


def matrices(cloth, h=1e-3):
    """(A − M) / h², dense; h² K + h D over h²."""
    A = cloth.system(h)[0].to_scipy().toarray()
    return (A - np.diag(np.repeat(cloth.masses, 3))) / h**2


def differences(function, x, step=1e-6):
    """The derivative of a function of positions, column by column."""
    columns = []
    for i in range(x.size):
        d = np.zeros(x.size)
        d[i] = step
        d = d.reshape(x.shape)
        columns.append((function(x + d) - function(x - d)) / (2 * step))
    return np.array(columns).T
