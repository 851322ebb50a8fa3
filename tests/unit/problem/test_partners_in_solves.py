"""Contacts of one to four bodies in every method, form and file; what is refused."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY, assert_close, flat, generator
from partners import GROUPS, awkward_problem, mixed_case, package_problem
from reference_numpy import ReferenceProblem, natural_map_scaled, random_problem

# Methods for sets that do not depend on impulses, or are polyhedra.
FRICTIONLESS = ("apgd", "spectral_gradient", "bpp", "murty", "lemke", "keller", "dantzig")


def solvable(partners, *, frictionless=False):
    """Contacts with compliance, so that there is a solution."""
    rng = generator("solvable", partners, frictionless)
    name, rows = ("half_line", 1) if frictionless else ("disc", 3)
    arrays = random_problem(rng, 8, 20, rows, 3, name, awkward=False, partners=partners)
    if partners == 1:
        arrays.bodies[arrays.bodies < 0] = 0
    else:
        arrays.bodies[0, 0] = -1
    return replace(arrays, compliance=np.full(arrays.b.shape, 0.05))


# ---- methods ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", cs.methods.names())
def test_every_method_solves(method):
    for partners in (1, 3, 4):
        arrays = solvable(partners, frictionless=method in FRICTIONLESS)
        problem, reference = package_problem(arrays), ReferenceProblem.from_arrays(arrays)
        result = cs.solve(problem, method=method, max_iterations=20_000)
        assert result.converged, result.message
        assert natural_map_scaled(reference, flat(result.impulses)) <= 1.01e-6


@pytest.mark.parametrize("method", cs.methods.names())
def test_every_method_solves_groups_of_several_kinds(method):
    groups = GROUPS if method not in FRICTIONLESS else (GROUPS[2], GROUPS[5])
    if method in ("interior_point", "de_saxce"):
        groups = [one for one in GROUPS if one[1] != "rolling"]
    problem, reference, _ = mixed_case("methods", groups=groups, contacts=2)
    result = cs.solve(problem, method=method, rtol=1e-8, max_iterations=50_000)
    assert result.converged, result.message
    assert natural_map_scaled(reference, flat(result.impulses)) <= 1.01e-8


@pytest.mark.parametrize("over", (0.99, 1.01))
def test_a_contact_of_four_vertices_at_the_edge_of_its_cone(over):
    """It sticks where tan = 0.99 mu, and slides where tan = 1.01 mu."""
    mu, weights = 0.4, np.array([1.0, -0.5, -0.3, -0.2])
    J = weights[None, :, None, None] * np.eye(3)
    problem = cs.Problem(
        J, np.full((4, 3), 2.0), [[-1.0, over * mu, 0.0]], mu, bodies=[[0, 1, 2, 3]]
    )
    result = cs.solve(problem, rtol=1e-12)

    # A is a multiple of the identity: the normal velocity becomes zero, and sticking needs
    # lambda_t = over mu lambda_n.
    scale = 2.0 * np.sum(weights**2)
    sticks = over < 1
    assert result.active.tolist() == ["stick" if sticks else "slide"]
    wanted = [1 / scale, -min(over, 1.0) * mu / scale, 0.0]
    np.testing.assert_allclose(result.impulses, [wanted], rtol=1e-12, atol=1e-15)
    slip = result.residual_velocities[0, 1]
    assert slip == pytest.approx(0.0 if sticks else 0.01 * mu, abs=1e-13)


# ---- values and forms ---------------------------------------------------------------------------


@pytest.mark.parametrize("partners", (1, 3, 4))
def test_updates_and_pickles_keep_partners(partners):
    arrays = awkward_problem(partners=partners)
    problem = package_problem(arrays)
    options = {"method": "gauss_seidel", "scheme": "factorized", "order": "colored"} | EXACTLY
    solver = cs.Solver(problem, max_iterations=5, **options)
    before = solver.solve()
    problem.update(J=2 * arrays.J, b=-arrays.b)
    after = solver.solve()
    fresh = cs.Problem(
        2 * arrays.J, arrays.Minv, -arrays.b, bodies=arrays.bodies, sets=problem.sets
    )
    wanted = cs.solve(fresh, max_iterations=5, **options)
    np.testing.assert_array_equal(after.impulses, wanted.impulses)
    assert (before.impulses != after.impulses).any()

    copy = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(copy.J, problem.J)
    np.testing.assert_array_equal(copy.bodies, problem.bodies)
    with pytest.raises(ValueError, match="are kept"):
        problem.update(J=np.zeros((14, partners % 4 + 1, 3, 3)))


def test_updates_and_pickles_keep_groups_of_several_kinds():
    problem, reference, arrays = mixed_case("pickle")
    copy = pickle.loads(pickle.dumps(problem))
    assert_close(copy.delassus().toarray(), reference.A, 1e-14, "A")
    new = [
        tuple(2 * part for part in one.J) if isinstance(one.J, tuple) else 2 * one.J
        for one in arrays
    ]
    copy.update(J=new)
    sigma = np.diag(reference.compliance)
    assert_close(copy.delassus().toarray(), 4 * reference.A - 3 * sigma, 1e-14, "A")
    assert f"{copy.contacts} contacts" in repr(copy)


def test_files_keep_partners(tmp_path):
    pytest.importorskip("h5py")
    problem, _, arrays = mixed_case("files")
    problem.save(tmp_path / "mixed.hdf5")
    copy = cs.load_problem(tmp_path / "mixed.hdf5")
    for g, one in enumerate(arrays):
        np.testing.assert_array_equal(copy.bodies[g], one.bodies)
        for a, b in zip(copy.J[g], one.J, strict=True):
            np.testing.assert_array_equal(a, b)

    # FCLIB holds A.
    four = package_problem(solvable(4))
    cs.io.write_fclib(tmp_path / "four.hdf5", four)
    read = cs.io.read_fclib(tmp_path / "four.hdf5")
    assert_close(read.delassus().toarray(), four.delassus().toarray(), 1e-15, "W")


def test_problems_from_a_state():
    arrays = solvable(4)
    rng = generator("state")
    u, h = rng.normal(size=(2, 20, 3))
    inverse = np.ones((20, 3))
    problem = cs.Problem.from_state(
        arrays.J, Minv=inverse, velocity=u, impulse=h, mu=0.3, bodies=arrays.bodies
    )
    free = ReferenceProblem.from_arrays(arrays).jacobian @ (u + h).ravel()
    assert_close(flat(problem.b), free, 1e-14, "b")
    result = cs.solve(problem, rtol=1e-10)
    change = result.body_velocity_change
    wanted = problem.contact_velocity(u + h + change)
    assert_close(result.velocities, wanted, 1e-13, "velocities")


# ---- parts of problems --------------------------------------------------------------------------


def test_islands_are_joined_by_all_partners():
    bodies = np.array([[0, 1, 2, 3], [4, 5, 6, 4], [3, 7, -1, -1], [-1, 8, -1, -1], [-1] * 4])
    rng = generator("islands")
    J, b = rng.normal(size=(5, 4, 3, 3)), rng.normal(size=(5, 3))
    b[4] = 0.0
    problem = cs.Problem(J, np.ones((9, 3)), b, 0.5, bodies=bodies)
    np.testing.assert_array_equal(cs.islands(problem), [0, 1, 0, 2, -1])
    assert cs.solve(problem, rtol=1e-9).converged


def test_batches_take_problems_with_other_numbers_of_partners():
    problems = [package_problem(solvable(partners)) for partners in (4, 2, 1, 4, 3)]
    found = cs.solve_batch(problems, rtol=1e-9, max_iterations=10_000)
    assert found.converged.all()
    for one, problem in zip(found, problems, strict=True):
        alone = cs.solve(problem, method="gauss_seidel", rtol=1e-9, max_iterations=10_000)
        np.testing.assert_allclose(one.impulses, alone.impulses, rtol=0, atol=1e-7)


def test_batches_of_arrays():
    cases = [replace(solvable(4), compliance=None) for _ in range(2)]
    cases[1].b[:] *= -0.5
    J, Minv, b = (np.stack([getattr(one, name) for one in cases]) for name in ("J", "Minv", "b"))
    bodies, mu = (np.stack([getattr(one, name) for one in cases]) for name in ("bodies", "mu"))
    found = cs.solve_batch(J, Minv, b, mu, bodies=bodies, rtol=1e-9)
    assert found.converged.all()
    one = cs.solve(package_problem(cases[1]), method="gauss_seidel", rtol=1e-9)
    np.testing.assert_allclose(found.impulses[1], one.impulses, rtol=0, atol=1e-7)


@pytest.mark.parametrize("strategy", ("metis", "metis_volume", "slices"))
def test_partitions_by_bodies(strategy):
    if strategy.startswith("metis"):
        pytest.importorskip("pymetis")
    arrays = solvable(4)
    problem = package_problem(arrays)
    labels = cs.orders.labels(problem, strategy, 3)
    quality = cs.orders.partition_quality(problem, labels)
    parts = [{labels[body] for body in own if body >= 0} for own in arrays.bodies]
    assert quality.border == sum(len(one) > 1 for one in parts)
    assert quality.interiors.sum() == sum(len(one) == 1 for one in parts)
    result = cs.solve(problem, order=cs.orders.partition(strategy), parts=3, rtol=1e-9)
    assert result.converged


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_a_tuple_of_rows_is_a_matrix(rows):
    matrix = np.random.default_rng(rows).uniform(-1.0, 1.0, (rows, 3))
    b = np.full(rows, -1.0)
    expected = cs.solve(matrix, np.ones(3), b, rows=1).impulses
    for given in (tuple(map(tuple, matrix.tolist())), tuple(matrix), tuple(matrix.tolist())):
        assert cs.solve(given, np.ones(3), b, rows=1).impulses.tolist() == expected.tolist()


def test_partners_may_be_nested_lists():
    jacobians = (np.ones((2, 1, 3)), -np.ones((2, 1, 3)))
    bodies, b = [[0, 1], [1, -1]], np.zeros((2, 1))
    group = cs.Group(tuple(one.tolist() for one in jacobians), bodies, b)
    assert (group.J == cs.Group(jacobians, bodies, b).J).all()


def test_partners_are_checked():
    good = {"Minv": np.ones((4, 3)), "b": np.zeros((2, 3))}
    for count in (0, 5):
        with pytest.raises(ValueError, match=r"J has shape .*from 1 to 4 partners"):
            cs.Problem(np.zeros((2, count, 3, 3)), bodies=np.zeros((2, count), int), **good)
    with pytest.raises(ValueError, match=r"J is a tuple of 5 arrays: .*from 1 to 4 partners"):
        cs.Group((np.zeros((2, 3, 3)),) * 5, np.zeros((2, 5), int), good["b"])
    parts = (np.zeros((2, 3, 3)), np.zeros((2, 3, 6)), np.zeros((2, 2, 3)))
    with pytest.raises(ValueError, match=r"J is a tuple of .*same contacts and rows"):
        cs.Group(parts, np.zeros((2, 3), int), good["b"])
    with pytest.raises(ValueError, match=r"bodies has shape \(2, 2\).*\(2, 4\)"):
        cs.Problem(np.ones((2, 4, 3, 3)), bodies=np.zeros((2, 2), int), **good)
    bodies = np.array([[0, 1, 2, 3], [0, 1, 2, 4]])
    with pytest.raises(ValueError, match=r"bodies\[1, 3\] is 4: .* from -1 .* to 3"):
        cs.Problem(np.ones((2, 4, 3, 3)), bodies=bodies, **good)
    J = np.ones((2, 4, 3, 3))
    J[1, 2, 0, 1] = np.nan
    with pytest.raises(ValueError, match=r"J\[1, 2, 0, 1\] is nan"):
        cs.Problem(J, bodies=bodies % 4, **good)
    masses = [cs.Bodies(np.ones((1, 6))), cs.Bodies(np.ones((3, 3)), diagonal=True)]
    group = cs.Group(np.ones((1, 3, 3, 3)), [[1, 2, 0]], np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"bodies\[0, 2\] is 0, which has 6 .* J has 3 columns"):
        cs.Problem(groups=[group], bodies=masses)
