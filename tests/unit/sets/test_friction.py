"""Static against kinetic friction: a block on an incline, whose answers can be written down."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs

GRAVITY, STEP, MASS = 9.81, 0.01, 5.0
STATIC, KINETIC = 0.6, 0.4
WEIGHT = MASS * GRAVITY * STEP
BELOW, BETWEEN, ABOVE = (
    np.arctan(KINETIC) - 0.05,
    0.5 * (np.arctan(KINETIC) + np.arctan(STATIC)),
    np.arctan(STATIC) + 0.05,
)


def inclines(angles, speed=0.0) -> cs.Problem:
    """One block on each incline, rows (normal, down the slope, across), sliding with `speed`."""
    angles = np.asarray(angles)
    count = len(angles)
    J = np.zeros((count, 2, 3, 3))
    J[:, 1] = np.eye(3)
    fall = GRAVITY * STEP
    b = np.stack([-fall * np.cos(angles), fall * np.sin(angles) + speed, 0 * angles], axis=1)
    bodies = np.column_stack([np.full(count, -1), np.arange(count)])
    return cs.Problem(J, np.full((count, 3), 1 / MASS), b, 0.0, bodies=bodies)


def test_a_block_at_rest_holds_up_to_the_static_angle():
    """Between the two angles it sticks; beyond the static one it slides, with kinetic friction."""
    result = cs.solve_static_kinetic(inclines([BELOW, BETWEEN, ABOVE]), STATIC, KINETIC, rtol=1e-12)
    assert result.active.tolist() == ["stick", "stick", "slide"]
    pull = [np.sin(BELOW), np.sin(BETWEEN), KINETIC * np.cos(ABOVE)]
    np.testing.assert_allclose(result.impulses[:, 1], -WEIGHT * np.array(pull), rtol=1e-12)
    told = result.info["static_kinetic"]
    assert (told["passes"], told["settled"], told["changed"]) == (2, True, 0)
    np.testing.assert_array_equal(told["mu"], [STATIC, STATIC, KINETIC])
    assert "pass 2 of at most 10: no contact changes" in result.message
    assert told["iterations"] >= result.iterations


def test_a_sliding_block_meets_kinetic_friction():
    """Chosen by its speed before the step: between the angles it slides on, slower or faster."""
    speed = 0.5
    problem = inclines([BELOW, BETWEEN], speed)
    mu = cs.choose_friction(STATIC, KINETIC, [[speed, 0.0], [speed, 0.0]], threshold=1e-3)
    result = cs.Solver(problem, rtol=1e-12).solve(mu=mu)
    angles = np.array([BELOW, BETWEEN])
    np.testing.assert_allclose(
        result.impulses[:, 1], -KINETIC * WEIGHT * np.cos(angles), rtol=1e-12
    )
    slower, faster = result.residual_velocities[:, 1] - speed
    assert slower < 0 < faster


def test_friction_is_chosen_by_speed():
    velocity = [[0.0, 0.0], [3e-3, 4e-3], [3.1e-3, 4e-3], [-1.0, 0.0]]
    mu = cs.choose_friction([0.5, 0.6, 0.7, 0.8], 0.3, velocity, threshold=5e-3)
    np.testing.assert_array_equal(mu, [0.5, 0.6, 0.3, 0.3])
    planar = cs.choose_friction(0.5, [0.3, 0.2], [0.1, -0.1], threshold=0.05)
    np.testing.assert_array_equal(planar, [0.3, 0.2])
    assert cs.choose_friction(0.5, 0.3, np.zeros((0, 2)), threshold=0.0).shape == (0,)


def test_passes_that_run_out_are_told():
    result = cs.solve_static_kinetic(inclines([ABOVE, BETWEEN]), STATIC, KINETIC, passes=1)
    told = result.info["static_kinetic"]
    assert (told["passes"], told["settled"], told["changed"]) == (1, False, 1)
    assert "1 contact still changes" in result.message
    # What is told are the coefficients of the pass, not those that would come next.
    np.testing.assert_array_equal(told["mu"], [STATIC, STATIC])


def test_later_passes_start_from_the_earlier_impulses():
    """The callback sees iteration 1 of each pass: there the sticking block stays as it is."""
    firsts = []

    def look(state):
        if state.iteration == 1:
            firsts.append(state.impulses.copy())

    problem = inclines([BETWEEN, ABOVE])
    options = {"relaxation": 0.5, "rtol": 1e-10, "callback": look}
    cs.solve_static_kinetic(problem, STATIC, KINETIC, **options)
    sticking = -WEIGHT * np.sin(BETWEEN)
    assert len(firsts) == 2
    assert abs(firsts[0][0, 1] - sticking) > 0.1 * WEIGHT
    np.testing.assert_allclose(firsts[1][0, 1], sticking, rtol=1e-9)


@pytest.mark.parametrize(
    ("static", "kinetic", "words"),
    (
        (0.5, 0.6, r"mu_static\[0\] is 0.5 and mu_kinetic\[0\] is 0.6"),
        ([0.5, 0.5], [0.4, -0.1], r"mu_kinetic\[1\] is -0.1"),
        (np.nan, 0.1, "mu_static"),
        ([0.5, 0.5, 0.5], 0.1, r"mu_static has shape \(3,\)"),
    ),
)
def test_coefficients_are_checked(static, kinetic, words):
    with pytest.raises(ValueError, match=words):
        cs.choose_friction(static, kinetic, np.zeros(2), threshold=1.0)
    with pytest.raises(ValueError, match=words):
        cs.solve_static_kinetic(inclines([0.1, 0.1]), static, kinetic)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="passes is 0"):
        cs.solve_static_kinetic(inclines([0.1]), 0.5, 0.4, passes=0)
    with pytest.raises(ValueError, match="threshold is -1"):
        cs.choose_friction(0.5, 0.4, [0.0], threshold=-1)
    with pytest.raises(ValueError, match="tangential_velocity has shape"):
        cs.choose_friction(0.5, 0.4, np.zeros((1, 2, 3)), threshold=0)
    joint = cs.Problem.from_delassus(np.eye(3), np.ones((1, 3)), sets=cs.sets.free())
    with pytest.raises(ValueError, match="the set 'free' takes none"):
        cs.solve_static_kinetic(joint, 0.5, 0.4)
