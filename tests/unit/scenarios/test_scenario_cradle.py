"""Newton's cradle: momentum passes through, by the closed form of the chain."""

import numpy as np
import pytest

import contactsolve as cs


def after(problem, velocities, **options):
    result = cs.solve(problem, method="gauss_seidel", rtol=1e-13, max_iterations=20000)
    assert result.converged
    return result, velocities + result.body_velocity_change[:, 0]


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_one_ball_strikes_equal_ones(count, restitution, rows):
    problem = cs.scenarios.newton_cradle(
        count, restitution=restitution, mass=0.2, velocity=3.0, rows=rows
    )
    start = np.zeros(count)
    start[0] = 3.0
    result, velocities = after(problem, start)
    k = np.arange(count - 1)
    expected = (1 + restitution) * 0.2 * 3.0 * (count - 1 - k) / count
    np.testing.assert_allclose(result.impulses[:, 0], expected, rtol=1e-9)
    np.testing.assert_allclose(velocities[1:], (1 + restitution) * 3.0 / count, rtol=1e-9)
    assert velocities.sum() == pytest.approx(3.0, rel=1e-12)


def test_two_equal_balls_exchange_their_velocities():
    _, velocities = after(cs.scenarios.newton_cradle(2), np.array([1.0, 0.0]))
    np.testing.assert_allclose(velocities, [0.0, 1.0], atol=1e-15)


@pytest.mark.parametrize("moving", [1, 2, 3])
def test_elastic_balls_keep_momentum_and_energy(moving):
    masses = np.array([1.0, 2.0, 0.5, 1.5])
    problem = cs.scenarios.newton_cradle(4, moving=moving, mass=masses)
    start = np.where(np.arange(4) < moving, 1.0, 0.0)
    _, velocities = after(problem, start)
    assert velocities[-1] > 0.1, "momentum passes through to the last ball"
    assert masses @ velocities == pytest.approx(masses @ start, rel=1e-12)
    assert masses @ velocities**2 == pytest.approx(masses @ start**2, rel=1e-10)


def test_all_balls_moving_alike_do_not_strike():
    problem = cs.scenarios.newton_cradle(5, moving=5)
    np.testing.assert_array_equal(problem.b, 0.0)


def test_friction_has_nothing_to_do_in_a_central_impact():
    problem = cs.scenarios.newton_cradle(4, rows=3, mu=0.8)
    result, _ = after(problem, np.array([1.0, 0.0, 0.0, 0.0]))
    np.testing.assert_array_equal(result.impulses[:, 1:], 0.0)
