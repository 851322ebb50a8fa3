"""Bending: derivatives, the heavy strip, the clamped strip that buckles."""

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.optimize import brentq

import contactsolve as cs
from cloths import differences, forces_of, irregular, matrices, settle, slender, stiffness_of

MODELS = ("hinge", "quadratic")
# The membrane hardly counts.
PLAIN = {"density": 0.3, "young": 1e-9, "gravity": (0, 0, 0), "dtype": "float64", "bending": 2.0}


def bent(model, seed=0, rest=None):
    vertices, faces, _ = irregular(4, 5, (1.3, 1.0))
    rng = np.random.default_rng(seed)
    cloth = cs.cloth.Cloth(vertices, faces, **PLAIN, bending_model=model, rest=rest)
    x = vertices + 0.1 * rng.normal(size=vertices.shape)
    cloth.positions = x
    return cloth, x


@pytest.mark.parametrize("model", [*MODELS, "curved rest"])
def test_forces_are_those_of_the_energy(model):
    rest = None
    if model == "curved rest":
        model, (vertices, _, _) = "hinge", irregular(4, 5, (1.3, 1.0))
        rest = vertices + [0, 0, 1] * np.sin(2 * vertices[:, :1])
    cloth, x = bent(model, rest=rest)

    def energy(y):
        cloth.positions = y
        return cloth.energy().bending

    wanted = -differences(energy, x).reshape(x.shape)
    cloth.positions = x
    forces = forces_of(cloth)
    assert np.abs(forces - wanted).max() <= 1e-7 * np.abs(wanted).max()
    assert np.abs(forces.sum(axis=0)).max() <= 1e-14 * np.abs(forces).sum()
    assert np.abs(np.cross(x, forces).sum(axis=0)).max() <= 1e-13 * np.abs(forces).sum()


@pytest.mark.parametrize("model", MODELS)
def test_stiffness_against_differences(model):
    """Of the quadratic model anywhere; of hinges in the flat state, where nothing is left out."""
    cloth, x = bent(model)
    if model == "hinge":
        x = irregular(4, 5, (1.3, 1.0))[0]

    def force(y):
        cloth.positions = y
        return forces_of(cloth).ravel()

    wanted = -differences(force, x)
    cloth.positions = x
    K = matrices(cloth)
    assert np.abs(K - wanted).max() <= 1e-7 * np.abs(wanted).max()
    assert np.array_equal(K, K.T)


def test_models_agree_near_the_flat_state():
    """With k = 4 D."""
    vertices, faces, _ = irregular()
    K = [
        matrices(cs.cloth.Cloth(vertices, faces, **{**PLAIN, **stiffness_of(model, 0.5)}))
        for model in MODELS
    ]
    across = np.arange(2, 3 * len(vertices), 3)
    hinge, quadratic = (one[np.ix_(across, across)] for one in K)
    assert np.abs(hinge - quadratic).max() <= 1e-9 * np.abs(hinge).max()


def test_a_curved_rest_shape_is_an_equilibrium():
    vertices, faces, _ = irregular()
    vertices[:, 2] = 0.2 * np.sin(3 * vertices[:, 0]) * np.cos(2 * vertices[:, 1])
    cloth = cs.cloth.Cloth(vertices, faces, **PLAIN)
    assert np.abs(forces_of(cloth)).max() <= 1e-13 * PLAIN["bending"]
    assert cloth.energy().bending <= 1e-28


def heavy_strip(gamma):
    """H / W of a strip that is clamped horizontally at one end and hangs; Γ = w L³ / D."""

    def slope(s, y):
        return np.array([y[1], -gamma * (1 - s) * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])])

    s = np.linspace(0, 1, 200)
    start = np.zeros((4, 200))
    start[0] = 1.2 * np.minimum(1, 4 * s) if gamma > 5 else 0.1 * s
    start[2] = s
    found = solve_bvp(
        slope, lambda a, b: np.array([a[0], b[1], a[2], a[3]]), s, start, tol=1e-8, max_nodes=10**5
    )
    return found.y[3, -1] / found.y[2, -1]


def hanging(gamma, model, columns):
    """The same of a cloth."""
    vertices, faces, cell = slender(columns)
    weight, g = 1.0, 10.0
    cloth = cs.cloth.Cloth(
        vertices,
        faces,
        density=weight / g,
        young=1e4,
        poisson=0.0,
        gravity=(0, 0, -g),
        attach=np.flatnonzero(vertices[:, 0] < 0.6 * cell),
        **stiffness_of(model, weight / gamma),
    )
    settle(cloth, 0.3, 1e-5)
    tip = cloth.positions.reshape(-1, columns, 3)[:, -1].mean(axis=0)
    return -tip[2] / tip[0]


@pytest.mark.parametrize(("gamma", "wanted"), [(1, 0.12456), (10, 1.06680), (100, 5.88810)])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("ignore:step .* the solve ended")
def test_heavy_strip(gamma, wanted, model):
    assert heavy_strip(gamma) == pytest.approx(wanted, rel=1e-4)
    assert hanging(gamma, model, 41) == pytest.approx(wanted, rel=0.01)


@pytest.mark.parametrize("model", MODELS)
def test_chord_of_the_cantilever_test(model):
    """Peirce 1930, ASTM D1388: 41.5° where the bending length is half of the overhang."""
    assert np.degrees(np.arctan(heavy_strip(8.004))) == pytest.approx(41.5, abs=0.01)
    assert np.degrees(np.arctan(hanging(8.004, model, 41))) == pytest.approx(41.5, abs=0.2)


def least_stiffness(load, model, columns, plate=1.0, young=1e5):
    """The least eigenvalue across a strip that is clamped at both ends and compressed.

    From differences of forces: the matrix of a step leaves out what compression takes away.
    """
    cell = 1 / (columns - 2)
    vertices, faces = cs.cloth.sheet(3, columns, ((columns - 1) * cell, cell / 2))
    squeezed = vertices * [1 - load / young, 1, 1]
    given = {**PLAIN, "young": young, "poisson": 0.0, **stiffness_of(model, plate)}
    cloth = cs.cloth.Cloth(squeezed, faces, rest=vertices, **given)
    column = np.rint(vertices[:, 0] / cell).astype(int)
    free = np.arange(2, columns - 2)
    rows = []
    for j in free:
        cloth.positions = squeezed + 1e-7 * np.outer(column == j, [0, 0, 1])
        rows.append(-np.bincount(column, forces_of(cloth)[:, 2])[free])
    J = np.array(rows)
    return np.linalg.eigvalsh((J + J.T) / 2)[0]


@pytest.mark.parametrize("model", MODELS)
def test_clamped_strip_buckles(model):
    """At 4 π² D / L² (Euler)."""
    load = brentq(lambda p: least_stiffness(p, model, 32), 30.0, 50.0, xtol=1e-3)
    assert load == pytest.approx(4 * np.pi**2, rel=0.02)


def test_a_clamped_strip_buckles_in_motion():
    """Slightly above the critical load a disturbance grows; slightly below it does not."""
    vertices, faces, cell = slender(24)
    vertices[:, 0] += cell / 2
    attach = np.flatnonzero((vertices[:, 0] < 1.6 * cell) | (vertices[:, 0] > 21.4 * cell))
    length = 21 * cell
    critical, young = 4 * np.pi**2 / length**2, 1e4
    grown = []
    for share in (0.9, 1.1):
        x = vertices * [1 - share * critical / young, 1, 1]
        along = np.clip((vertices[:, 0] - 1.5 * cell) / (length - cell), 0, 1)
        x[:, 2] = 1e-6 * (1 - np.cos(2 * np.pi * along))
        cloth = cs.cloth.Cloth(
            x,
            faces,
            rest=vertices,
            density=1.0,
            young=young,
            poisson=0.0,
            gravity=(0, 0, 0),
            attach=attach,
            dtype="float64",
            **stiffness_of("hinge", 1.0),
        )
        cloth.run(1.0, 2e-3)
        grown.append(np.abs(cloth.positions[:, 2]).max() / 2e-6)
    assert grown[0] < 1
    assert grown[1] > 10
