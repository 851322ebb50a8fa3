"""Random problems have the properties that were asked for."""

import numpy as np
import pytest

import contactsolve as cs


def rank(problem):
    values = np.linalg.eigvalsh(problem.delassus().toarray())
    return int(np.sum(values > 1e-10 * values[-1]))


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("redundancy", [0.0, 0.3, 0.9])
def test_redundancy_is_the_loss_of_rank(rows, redundancy):
    problem = cs.scenarios.random(20, 60, rows=rows, redundancy=redundancy)
    assert (problem.contacts, problem.rows, problem.bodies_count) == (20, rows, 60)
    assert rank(problem) == rows * (20 - round(20 * redundancy))


@pytest.mark.parametrize("density", [0.1, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("fixed", [0.0, 0.4])
def test_density_is_met_on_average(density, fixed):
    def share(seed):
        problem = cs.scenarios.random(60, 80, density=density, fixed=fixed, rng=seed)
        return (problem.block_count - 60) / (60 * 59)

    # With few bodies their number is a coarse choice: 2 or 3 of them are 0.33 apart.
    allowed = 0.02 if density < 0.5 else 0.12
    assert np.mean([share(seed) for seed in range(20)]) == pytest.approx(density, abs=allowed)


def test_density_one_couples_everything():
    problem = cs.scenarios.random(10, 5, density=1.0, fixed=0.0)
    assert problem.block_count == 100


@pytest.mark.parametrize("rows", [2, 3])
def test_masses_and_condition(rows):
    problem = cs.scenarios.random(5, 30, rows=rows, mass_ratio=1e4, condition=50.0)
    values = np.linalg.eigvalsh(problem.Minv)
    np.testing.assert_allclose(values[:, -1] / values[:, 0], 50.0, rtol=1e-9)
    masses = np.sort(1 / values[:, -1])
    np.testing.assert_allclose(masses, np.geomspace(1.0, 1e4, 30), rtol=1e-9)
    np.testing.assert_array_equal(problem.Minv, problem.Minv.transpose(0, 2, 1))


def test_partners_are_different_bodies_and_a_share_is_the_world():
    problem = cs.scenarios.random(200, 7, fixed=0.25)
    assert np.all(problem.bodies[:, 0] != problem.bodies[:, 1])
    assert np.sum(problem.bodies[:, 0] == -1) == 50
    assert np.all(problem.bodies[:, 1] >= 0)
    np.testing.assert_array_equal(problem.J[problem.bodies < 0], 0.0)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_frames_are_orthonormal_and_opposite(rows):
    problem = cs.scenarios.random(50, 20, rows=rows, fixed=0.0)
    linear = 3 if rows != 2 else 2
    axes = problem.J[:, 1, :, :linear]
    np.testing.assert_array_equal(problem.J[:, 0, :, :linear], -axes)
    expected = np.broadcast_to(np.eye(rows), (50, rows, rows))
    np.testing.assert_allclose(axes @ axes.transpose(0, 2, 1), expected, atol=1e-14)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_stopping_all_bodies_is_feasible_and_a_solution_is_found(rows, seed):
    problem = cs.scenarios.random(25, 30, rows=rows, mu=0.4, redundancy=0.2, rng=seed)
    dof = problem.J.shape[-1]
    J = np.zeros((25 * rows, 30 * dof))
    for k, pair in enumerate(problem.bodies):
        for side, body in enumerate(pair):
            if body >= 0:
                J[rows * k : rows * (k + 1), dof * body : dof * (body + 1)] += problem.J[k, side]
    b = problem.b.ravel()
    u = np.linalg.lstsq(J, b)[0]
    np.testing.assert_allclose(J @ u, b, atol=1e-12)
    result = cs.solve(problem, method="gauss_seidel", rtol=1e-8, max_iterations=20000)
    assert result.converged
    assert result.residual_velocities[:, 0].min() > -1e-6
    assert abs(result.impulses).max() > 0.01
