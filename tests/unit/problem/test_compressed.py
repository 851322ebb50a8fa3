"""Contacts of rigid bodies kept as frames and lever arms: found by what J is, the same impulses."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import DTYPES, EXACTLY, SOLVERS, assert_close, flat, generator

INSTRUCTIONS = tuple(name for name, runs in cs.info()["instructions"].items() if runs)
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}
INERTIA = ("spheres", "diagonal", "full", "some spheres")
BODIES, CONTACTS = 13, 37


def unit_vectors(rng, *shape):
    vectors = rng.normal(size=(*shape, 3))
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def inverse_mass(rng, inertia: str) -> np.ndarray:
    """(n, 6, 6), or (n, 6) for "diagonal"; the third body cannot move."""
    linear, angular = rng.uniform(0.5, 2.0, (2, BODIES))
    if inertia == "diagonal":
        Minv = np.concatenate(
            [np.repeat(linear[:, None], 3, axis=1), rng.uniform(0.5, 2.0, (BODIES, 3))], axis=1
        )
    else:
        Minv = np.zeros((BODIES, 6, 6))
        root = rng.normal(size=(BODIES, 3, 3))
        solid = root @ root.transpose(0, 2, 1) + 0.1 * np.eye(3)
        round_ones = {"spheres": BODIES, "full": 0, "some spheres": BODIES // 2}[inertia]
        for k in range(BODIES):
            Minv[k, :3, :3] = linear[k] * np.eye(3)
            Minv[k, 3:, 3:] = angular[k] * np.eye(3) if k < round_ones else solid[k]
    Minv[2] = 0.0
    return Minv


def spatial_arrays(rng, *, spin: bool = False, left: bool = False):
    """Contacts of all kinds: repeated, on the world, on the immovable body."""
    first = rng.integers(0, BODIES, CONTACTS)
    bodies = np.stack([first, (first + rng.integers(1, BODIES, CONTACTS)) % BODIES], axis=1)
    bodies[0], bodies[1], bodies[2] = (-1, 4), (5, -1), (2, 6)
    bodies[3], bodies[4], bodies[5] = (-1, -1), (2, -1), bodies[10]
    points, positions = rng.normal(size=(CONTACTS, 3)), rng.normal(size=(BODIES, 3))
    normals = unit_vectors(rng, CONTACTS)
    J = cs.contact_jacobian(points, normals, bodies, positions, spin=spin)
    if left:
        J[:, :, 2] *= -1.0
    return J, bodies, rng.normal(size=(CONTACTS, J.shape[2]))


def set_of(rng, rows: int):
    if rows < 4:
        return cs.sets.disc(rng.uniform(0.1, 0.8, CONTACTS))
    bound = rng.uniform(0.1, 1.0, (CONTACTS, rows))
    return cs.sets.box(-bound, bound)


def spatial_problem(rng, inertia: str, **kind) -> cs.Problem:
    J, bodies, b = spatial_arrays(rng, **kind)
    Minv = inverse_mass(rng, inertia)
    return cs.Problem(J, Minv, b, bodies=bodies, sets=set_of(rng, J.shape[2]))


def planar_arrays(rng, *, left: bool = False):
    bodies = rng.integers(0, BODIES, (CONTACTS, 2))
    bodies[0], bodies[1], bodies[2], bodies[3] = (-1, 4), (5, -1), (2, 6), (7, 7)
    angle = rng.uniform(0.0, 2.0 * np.pi, CONTACTS)
    n = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    t = np.stack([-n[:, 1], n[:, 0]], axis=1) * (-1.0 if left else 1.0)
    frame = np.stack([n, t], axis=1)
    J = np.zeros((CONTACTS, 2, 2, 3))
    J[:, 0, :, :2], J[:, 1, :, :2] = -frame, frame
    J[..., 2] = rng.normal(size=(CONTACTS, 2, 2))
    return J, bodies, rng.normal(size=(CONTACTS, 2))


def planar_problem(rng, **kind) -> cs.Problem:
    J, bodies, b = planar_arrays(rng, **kind)
    linear, angular = rng.uniform(0.5, 2.0, (2, BODIES))
    Minv = np.stack([linear, linear, angular], axis=1)
    Minv[2] = 0.0
    return cs.Problem(J, Minv, b, bodies=bodies, sets=set_of(rng, 2))


PROBLEMS = {
    **{inertia: lambda rng, i=inertia: spatial_problem(rng, i) for inertia in INERTIA},
    "spin, spheres": lambda rng: spatial_problem(rng, "spheres", spin=True),
    "spin, full": lambda rng: spatial_problem(rng, "full", spin=True),
    "left, spheres": lambda rng: spatial_problem(rng, "spheres", left=True),
    "left, full": lambda rng: spatial_problem(rng, "full", left=True, spin=True),
    "planar": planar_problem,
    "planar, left": lambda rng: planar_problem(rng, left=True),
}


def sweeps(problem: cs.Problem, *, count: int = 3, **options) -> cs.Result:
    options = {**EXACTLY, "scheme": "factorized", "max_iterations": count, **options}
    return cs.solve(problem, **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("order", ("natural", "colored", "ranges"))
@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_same_sweeps_as_with_any_jacobian(kind, order, instructions, dtype):
    problem = PROBLEMS[kind](generator("compressed", kind))
    for method in SOLVERS:
        options = {"order": order, "method": method, "dtype": dtype}
        small = sweeps(problem, instructions=instructions, **options)
        large = sweeps(problem, instructions=instructions, compressed=False, **options)
        scalar = sweeps(problem, instructions="scalar", **options)
        assert small.info["kernel"] == f"{large.info['kernel']}, compressed"
        units = 400 * EPSILON[dtype]
        assert_close(flat(small.impulses), flat(scalar.impulses), units, f"{kind}, {method}")
        assert_close(flat(large.impulses), flat(scalar.impulses), units, f"{kind}, {method}")


def test_two_thirds_of_the_factors_are_saved():
    grid = cs.scenarios.ball_grid((8, 8, 8))
    options = {"scheme": "factorized", "order": "colored", "instructions": "baseline"}
    small, large = (cs.Solver(grid, compressed=c, **options).info["bytes"] for c in (True, False))
    saved = (36 - 12) * 8 * grid.contacts
    assert large - small == pytest.approx(saved, rel=0.01)


def kernel_of(J, bodies, b, Minv, **options) -> str:
    problem = cs.Problem(J, Minv, b, bodies=bodies, sets=set_of(generator("set"), J.shape[2]))
    options = {"scheme": "factorized", "instructions": "baseline", **options}
    return cs.Solver(problem, **options).info["kernel"]


def test_what_is_no_frame_with_arms_is_kept_as_it_is():
    """One contact that is off by more than rounding makes the whole group general."""
    rng = generator("no frame")
    J, bodies, b = spatial_arrays(rng, spin=True)
    Minv = inverse_mass(rng, "full")
    assert kernel_of(J, bodies, b, Minv).endswith("compressed")
    for row, column in ((0, 0), (1, 2), (2, 1), (3, 0), (0, 4), (2, 5), (3, 3)):
        for side in (0, 1):
            other = J.copy()
            other[20, side, row, column] += 1e-12
            assert kernel_of(other, bodies, b, Minv).endswith("lanes"), (row, column)
            assert kernel_of(other, bodies, b, Minv, dtype="float32").endswith("compressed")
    for changed in (2.0 * J, J * [[[1.0], [1.0], [1.1], [1.0]]]):
        assert kernel_of(changed, bodies, b, Minv).endswith("lanes")
    mixed = J.copy()
    mixed[21, :, 2] *= -1.0
    assert kernel_of(mixed, bodies, b, Minv).endswith("lanes")
    assert kernel_of(J[:, ::-1], bodies[:, ::-1], b, Minv).endswith("compressed")


def test_bodies_that_are_not_rigid_are_kept_as_they_are():
    rng = generator("not rigid")
    J, bodies, b = spatial_arrays(rng)
    Minv = inverse_mass(rng, "full")
    assert kernel_of(J, bodies, b, Minv).endswith("compressed")
    unequal, coupled = Minv.copy(), Minv.copy()
    unequal[8, 1, 1] *= 1.001
    coupled[8, 0, 4] = coupled[8, 4, 0] = 1e-3
    assert kernel_of(J, bodies, b, unequal).endswith("lanes")
    assert kernel_of(J, bodies, b, coupled).endswith("lanes")
    J, bodies, b = planar_arrays(rng)
    flat_mass = rng.uniform(0.5, 2.0, (BODIES, 3))
    assert kernel_of(J, bodies, b, flat_mass).endswith("lanes")
    flat_mass[:, 1] = flat_mass[:, 0]
    assert kernel_of(J, bodies, b, flat_mass).endswith("compressed")


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_joints_on_the_same_bodies(instructions):
    """Compressed contacts, contacts with any J and joints share one velocity of each body."""
    rng = generator("joints")
    J, bodies, b = spatial_arrays(rng)
    Minv = inverse_mass(rng, "full")
    other, joint = rng.normal(size=(9, 2, 3, 6)), rng.normal(size=(4, 2, 5, 6))
    pairs = rng.integers(0, BODIES, (13, 2))
    problem = cs.Problem(
        groups=[
            cs.Group(joint, pairs[:4], rng.normal(size=(4, 5)), sets=cs.sets.free()),
            cs.Group(J, bodies, b, sets=set_of(rng, 3)),
            cs.Group(other, pairs[4:], rng.normal(size=(9, 3)), sets=cs.sets.disc(0.5)),
        ],
        bodies=[cs.Bodies(Minv)],
    )
    for method in SOLVERS:
        small = sweeps(problem, instructions=instructions, method=method)
        scalar = sweeps(problem, instructions="scalar", method=method)
        assert small.info["kernel"].endswith("in 2 of 3 groups, some compressed")
        assert_close(flat(small.impulses), flat(scalar.impulses), 1e-10, method)


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("kind", ("spheres", "full", "planar"))
def test_new_masses_and_frames_are_packed_again(kind, instructions):
    """The second time nothing is compressed, the third time other values are."""
    problem, last = (PROBLEMS[kind](generator("update", n)) for n in range(2))
    options = {"scheme": "factorized", "instructions": instructions, "max_iterations": 2}
    solver = cs.Solver(problem, **options, **EXACTLY)
    solver.solve()
    for rigid in (False, True):
        problem.update(J=last.J if rigid else 2.0 * last.J + 0.1, Minv=last.Minv, b=last.b)
        found = solver.solve()
        assert found.info["kernel"].endswith("compressed") == rigid
        wanted = sweeps(problem, instructions="scalar", count=2)
        assert_close(found.impulses, wanted.impulses, 1e-12, kind)
