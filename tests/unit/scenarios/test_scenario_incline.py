"""Blocks on a slope against Coulomb's closed form."""

import numpy as np
import pytest

import contactsolve as cs

FALL = 9.81 * 0.01


def solved(**options):
    problem = cs.scenarios.incline(**options)
    result = cs.solve(problem, method="gauss_seidel", rtol=1e-12, max_iterations=20000)
    assert result.converged
    return problem, result


def final_velocity(options, result):
    tilt = np.radians(options["angle"])
    free = options.get("velocity", 0.0) + FALL * np.sin(tilt)
    return free + result.body_velocity_change[:, 0]


@pytest.mark.parametrize("velocity", [0.0, 0.02])
@pytest.mark.parametrize("angle", [0.0, 10.0, 26.5, 26.6, 35.0, 60.0])
def test_a_block_sticks_or_slides(angle, velocity):
    """The border at atan(0.5) = 26.565 degrees lies between two of the angles."""
    options = {"angle": angle, "mu": 0.5, "mass": 3.0, "velocity": velocity}
    _, result = solved(**options)
    tilt = np.radians(angle)
    normal = 3.0 * FALL * np.cos(tilt)
    expected = max(0.0, velocity + FALL * (np.sin(tilt) - 0.5 * np.cos(tilt)))
    np.testing.assert_allclose(final_velocity(options, result), expected, rtol=0, atol=1e-11)
    assert result.impulses[:, 0].sum() == pytest.approx(normal, rel=1e-9)
    needed = 3.0 * (velocity + FALL * np.sin(tilt))
    friction = -min(needed, 0.5 * normal)
    assert result.impulses[:, 1].sum() == pytest.approx(friction, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(result.body_velocity_change[:, [1, 3, 4, 5]], 0.0, atol=1e-11)


def test_a_tall_block_tips():
    """Beyond the stated limit the rear corners leave the slope."""
    problem, result = solved(angle=40.0, mu=1.5, size=(1.0, 1.0, 2.0))
    turning = result.body_velocity_change[0, 4]
    assert turning > 1e-3
    uphill = problem.J[:, 1, 0, 4] > 0  # r x z is (r_y, -r_x, 0)
    np.testing.assert_array_equal(result.impulses[:, 0] > 0, ~uphill)


@pytest.mark.parametrize("count", [2, 5])
def test_equal_blocks_in_a_row_move_as_one(count):
    options = {"count": count, "angle": 40.0, "mu": 0.3}
    problem, result = solved(**options)
    assert problem.contacts == 4 * count + 4 * (count - 1)
    tilt = np.radians(40.0)
    expected = FALL * (np.sin(tilt) - 0.3 * np.cos(tilt))
    np.testing.assert_allclose(final_velocity(options, result), expected, rtol=1e-9)


def test_a_smooth_block_pushes_a_rough_one():
    options = {"count": 2, "angle": 40.0, "mu": (0.2, 0.6)}
    problem, result = solved(**options)
    tilt = np.radians(40.0)
    expected = FALL * (np.sin(tilt) - 0.4 * np.cos(tilt))
    np.testing.assert_allclose(final_velocity(options, result), expected, rtol=1e-9)
    between = result.impulses[8:]
    assert between[:, 0].sum() == pytest.approx(0.2 * FALL * np.cos(tilt), rel=1e-9)
    np.testing.assert_array_equal(between[:, 1:], 0.0)
    np.testing.assert_array_equal(problem.mu, [0.2] * 4 + [0.6] * 4 + [0.0] * 4)


def test_a_rough_block_stays_behind_a_smooth_one():
    options = {"count": 2, "angle": 20.0, "mu": (0.6, 0.1)}
    _, result = solved(**options)
    tilt = np.radians(20.0)
    expected = [0.0, FALL * (np.sin(tilt) - 0.1 * np.cos(tilt))]
    np.testing.assert_allclose(final_velocity(options, result), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result.impulses[8:, 0], 0.0)
