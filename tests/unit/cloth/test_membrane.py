"""The membrane: patch test, Cook's membrane, rigid motions, derivatives, viscosity."""

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve
from scipy.spatial.transform import Rotation

import contactsolve as cs
from cloths import differences, equilibrium, forces_of, irregular, matrices

PLAIN = {"density": 0.3, "young": 50.0, "poisson": 0.3, "gravity": (0, 0, 0), "dtype": "float64"}


def test_patch():
    """A uniform strain of an irregular mesh: no force inside, and the solver finds it."""
    vertices, faces, inner = irregular()
    gradient = np.array([[1.2, 0.1], [-0.05, 1.1], [0.3, 0.2]])
    wanted = vertices[:, :2] @ gradient.T
    cloth = cs.cloth.Cloth(vertices, faces, **PLAIN, attach=np.flatnonzero(~inner))
    cloth.positions = wanted
    assert np.abs(forces_of(cloth)).max() <= 1e-12 * PLAIN["young"]

    moved = wanted.copy()
    moved[inner] += np.random.default_rng(1).uniform(-0.01, 0.01, (int(inner.sum()), 3))
    cloth.positions = moved
    equilibrium(cloth)
    assert np.abs(cloth.positions - wanted).max() <= 1e-12


def cook(cells, diagonals="alternating"):
    """The displacement of the right edge's middle along y, times E / F (Cook 1974)."""
    vertices, faces = cs.cloth.sheet(cells + 1, cells + 1, 1.0, diagonals)
    s, t = vertices[:, 0].copy(), vertices[:, 1].copy()
    vertices[:, 0], vertices[:, 1] = 48 * s, 44 * s * (1 - t) + (44 + 16 * s) * t
    right = np.flatnonzero(s > 1 - 1e-9)
    force, share = 1e-6, np.ones(cells + 1)
    share[[0, -1]] = 0.5
    load = np.zeros_like(vertices)
    load[right, 1] = force * share / cells
    given = {**PLAIN, "young": 1.0, "poisson": 1 / 3, "forces": load}
    cloth = cs.cloth.Cloth(vertices, faces, **given, attach=np.flatnonzero(s < 1e-9))
    h = 1e9
    A, b = cloth.system(h)
    change = h * spsolve(A.to_scipy().tocsc(), b).reshape(-1, 3)
    return change[right[cells // 2], 1] / force


def test_cooks_membrane():
    """23.96 F / E; triangles of constant strain miss it by 1 % on 32 cells, and less on more."""
    found = np.array([cook(cells) for cells in (8, 16, 32)])
    errors = 23.96 - found
    assert (errors > 0).all()
    assert (errors[1:] < 0.45 * errors[:-1]).all()
    assert errors[-1] < 0.01 * 23.96
    # Three meshes yield the limit, if the error falls by a constant factor.
    first, second = np.diff(found)
    assert found[-1] + second**2 / (first - second) == pytest.approx(23.96, rel=2e-3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [1e-7, 1.0, 10.0])
@pytest.mark.parametrize("model", ["hinge", "quadratic"])
def test_rigid_motion_has_no_force(size, dtype, model):
    """Forces of rounding only, in units of what a strain of 1 or an angle of 1 costs."""
    vertices, faces, _ = irregular(size=(1.4 * size, size))
    given = {**PLAIN, "dtype": dtype, "bending": 0.1 * size**2, "bending_model": model}
    cloth = cs.cloth.Cloth(vertices, faces, **given)
    for seed in range(5):
        R = Rotation.random(rng=seed).as_matrix()
        cloth.positions = vertices @ R.T + size * np.array([3.0, -2.0, 1.0])
        forces = forces_of(cloth)
        assert np.isfinite(forces).all()
        assert np.abs(forces).max() <= 1e-13 * PLAIN["young"] * size


def test_small_edges_far_from_the_origin():
    """Edges of 1e-8 at 10: the error is that of the positions, which double holds to 1e-15."""
    size = 1e-7
    vertices, faces, _ = irregular(size=(1.4 * size, size))
    cloth = cs.cloth.Cloth(vertices, faces, **{**PLAIN, "dtype": "float32"})
    cloth.positions = vertices + np.array([10.0, -10.0, 10.0])
    strain = 4 * np.spacing(10.0) / (size / 8)
    assert 0 < np.abs(forces_of(cloth)).max() <= 4 * strain * PLAIN["young"] * size


def state_of_tension(seed=2, **given):
    vertices, faces, _ = irregular(4, 5, (1.3, 1.0))
    rng = np.random.default_rng(seed)
    cloth = cs.cloth.Cloth(vertices, faces, **{**PLAIN, **given})
    x = 1.5 * vertices + 0.02 * rng.normal(size=vertices.shape)
    cloth.positions = x
    return cloth, x


def test_forces_are_those_of_the_energy():
    cloth, x = state_of_tension()

    def energy(y):
        cloth.positions = y
        return cloth.energy().membrane

    wanted = -differences(energy, x).reshape(x.shape)
    cloth.positions = x
    forces = forces_of(cloth)
    assert np.abs(forces - wanted).max() <= 1e-8 * np.abs(wanted).max()
    assert np.abs(forces.sum(axis=0)).max() <= 1e-14 * np.abs(forces).sum()
    assert np.abs(np.cross(x, forces).sum(axis=0)).max() <= 1e-14 * np.abs(forces).sum()


def test_stiffness_is_exact_under_tension():
    cloth, x = state_of_tension()

    def force(y):
        cloth.positions = y
        return forces_of(cloth).ravel()

    wanted = -differences(force, x)
    cloth.positions = x
    K = matrices(cloth)
    assert np.abs(K - wanted).max() <= 1e-8 * np.abs(wanted).max()
    assert np.array_equal(K, K.T)


@pytest.mark.parametrize("seed", range(5))
def test_stiffness_is_positive_semidefinite(seed):
    """Also of crumpled and collapsed states."""
    vertices, faces, _ = irregular(4, 5, (1.3, 1.0))
    rng = np.random.default_rng(seed)
    given = {**PLAIN, "bending": 0.1, "damping": 0.01}
    cloth = cs.cloth.Cloth(vertices, faces, **given)
    x = vertices * [0.5, 0.5, 0] + 0.3 * rng.normal(size=vertices.shape)
    if seed == 0:
        x[:, 1:] = 0  # all on a line
    cloth.positions = x
    K = matrices(cloth)
    assert np.isfinite(K).all()
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-12 * values[-1]


def test_viscosity_resists_no_rigid_motion():
    """Of a stretched and bent state, either."""
    cloth, x = state_of_tension(damping=0.1, bending=0.2)
    undamped, _ = state_of_tension(bending=0.2)
    undamped.positions = x
    viscosity = matrices(cloth) - matrices(undamped)
    motions = [np.tile(axis, (len(x), 1)) for axis in np.eye(3)]
    motions += [np.cross(axis, x) for axis in np.eye(3)]
    for motion in motions:
        assert np.abs(viscosity @ motion.ravel()).max() <= 1e-12 * np.abs(viscosity).max()
    assert np.linalg.eigvalsh(viscosity)[6] > 0


def test_viscosity_is_proportional_to_the_stiffness_at_rest():
    """Of the membrane, and of both models of bending across it."""
    vertices, faces, _ = irregular(4, 5, (1.3, 1.0))
    across = np.arange(2, 3 * len(vertices), 3)
    h, damping = 1e-3, 0.02
    for given, rows in (
        ({}, np.arange(3 * len(vertices))),
        ({"bending": 0.2}, np.arange(3 * len(vertices))),
        ({"bending": 0.2, "bending_model": "quadratic"}, across),
    ):
        given = {**PLAIN, **given}
        K = matrices(cs.cloth.Cloth(vertices, faces, **given), h)
        both = matrices(cs.cloth.Cloth(vertices, faces, **given, damping=damping), h)
        apart = (both - (1 + damping / h) * K)[np.ix_(rows, rows)]
        assert np.abs(apart).max() <= 1e-12 * np.abs(both).max()


def test_masses_are_thirds_of_faces():
    vertices, faces, _ = irregular()
    cloth = cs.cloth.Cloth(vertices, faces, **PLAIN)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    wanted = np.zeros(len(vertices))
    np.add.at(wanted, faces.ravel(), np.repeat(0.3 * area / 3, 3))
    assert np.abs(cloth.masses - wanted).max() <= 1e-16
