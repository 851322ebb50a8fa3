"""Joint Jacobians: velocities of points and axes of rigid bodies, and what joints leave free."""

import numpy as np
import pytest

import contactsolve as cs

POSITIONS = np.array([[0.3, -0.2, 1.0], [1.1, 0.4, 0.7], [-0.6, 0.9, 0.2]])
PAIRS = np.array([[0, 1], [-1, 2], [2, -1], [1, 1]])
POINTS = np.array([[0.5, 0.1, 0.9], [0.0, 1.0, 0.0], [-1.0, 0.5, 0.5], [1.0, 0.2, 0.3]])
AXES = np.array([[1.0, 0, 0], [0, 0.6, 0.8], [0, 0, 1.0], [-0.48, 0.6, 0.64]])

JOINTS = {
    "ball": (3, lambda: cs.joints.ball(POINTS, PAIRS, POSITIONS)),
    "hinge": (5, lambda: cs.joints.hinge(POINTS, AXES, PAIRS, POSITIONS)),
    "slider": (5, lambda: cs.joints.slider(POINTS, AXES, PAIRS, POSITIONS)),
    "fixed": (6, lambda: cs.joints.fixed(POINTS, PAIRS, POSITIONS)),
    "distance": (1, lambda: cs.joints.distance(POINTS, POINTS + AXES, PAIRS, POSITIONS)),
    "linear": (1, lambda: cs.joints.linear(POINTS, AXES[:, None], PAIRS, POSITIONS)),
    "angular": (1, lambda: cs.joints.angular(AXES[:, None], PAIRS)),
}
EVERY = pytest.mark.parametrize("kind", JOINTS)


def velocities(seed=0):
    """Random ones of three bodies, and of the fixed world at the end."""
    return np.vstack([np.random.default_rng(seed).normal(size=(3, 6)), np.zeros(6)])


def relative(J, u):
    return np.einsum("ksmd,ksd->km", J, u[PAIRS])


def at(body, point, u):
    """The velocity of a body's point."""
    position = np.vstack([POSITIONS, np.zeros(3)])[body]
    return u[body, :3] + np.cross(u[body, 3:], point - position)


@EVERY
def test_shapes_and_the_fixed_world(kind):
    rows, make = JOINTS[kind]
    J = make()
    assert J.shape == (4, 2, rows, 6)
    assert (J[PAIRS < 0] == 0).all()
    assert not np.signbit(J[J == 0]).any()


@EVERY
def test_bodies_that_move_as_one_keep_every_joint(kind):
    """One rigid motion of everything: rows between moving bodies see nothing."""
    spin, drift = np.array([0.3, -0.7, 0.5]), np.array([1.0, 0.2, -0.4])
    u = np.vstack(
        [np.hstack([drift + np.cross(spin, POSITIONS), np.tile(spin, (3, 1))]), np.zeros(6)]
    )
    free = (PAIRS >= 0).all(axis=1)
    assert np.abs(relative(JOINTS[kind][1](), u)[free]).max() < 1e-15


def test_linear_and_angular_rows_are_relative_velocities():
    u = velocities()
    for k, (i, j) in enumerate(PAIRS):
        point = at(j, POINTS[k], u) - at(i, POINTS[k], u)
        turn = u[j, 3:] - u[i, 3:]
        row = relative(cs.joints.linear(POINTS, AXES[:, None], PAIRS, POSITIONS), u)[k, 0]
        assert row == pytest.approx(AXES[k] @ point, abs=1e-14)
        row = relative(cs.joints.angular(AXES[:, None], PAIRS), u)[k, 0]
        assert row == pytest.approx(AXES[k] @ turn, abs=1e-14)
        np.testing.assert_allclose(
            relative(JOINTS["fixed"][1](), u)[k], [*point, *turn], atol=1e-14
        )


@pytest.mark.parametrize(
    ("kind", "left"),
    [("ball", 3), ("hinge", 1), ("slider", 1), ("fixed", 0), ("distance", 5)],
)
def test_what_a_joint_leaves_free(kind, left):
    """The rank of the second body's block, and the motion that a hinge or a slider allows."""
    J = JOINTS[kind][1]()
    assert 6 - np.linalg.matrix_rank(J[0, 1]) == left
    allowed = {
        "hinge": np.hstack([np.cross(AXES[0], POSITIONS[1] - POINTS[0]), AXES[0]]),
        "slider": np.hstack([AXES[0], np.zeros(3)]),
    }
    if kind in allowed:
        assert np.abs(J[0, 1] @ allowed[kind]).max() < 1e-15


def test_distance_is_the_rate_of_the_length():
    u, other = velocities(3), POINTS + 0.7 * AXES
    rates = relative(cs.joints.distance(POINTS, other, PAIRS, POSITIONS), u)[:, 0]
    for k, (i, j) in enumerate(PAIRS):
        step = 1e-6
        ends = other[k] + step * at(j, other[k], u), POINTS[k] + step * at(i, POINTS[k], u)
        moved = np.linalg.norm(ends[0] - ends[1]) - np.linalg.norm(other[k] - POINTS[k])
        assert rates[k] == pytest.approx(moved / step, abs=1e-5)


def test_gears_couple_two_axes():
    u = velocities(1)
    J = cs.joints.gear(AXES, AXES[::-1], PAIRS, 2.5)
    expected = [
        AXES[::-1][k] @ u[j, 3:] - 2.5 * AXES[k] @ u[i, 3:] for k, (i, j) in enumerate(PAIRS)
    ]
    np.testing.assert_allclose(relative(J, u)[:, 0], expected, atol=1e-14)
    each = cs.joints.gear(AXES, AXES[::-1], PAIRS, [1, 2, 2.5, 4])
    np.testing.assert_array_equal(each[2], J[2])


def test_a_pendulum_hangs_on_its_hinge():
    """The hinge carries the weight, and no impulse about its axis."""
    J = cs.joints.hinge([[0, 0, 2.0]], [[0, 1.0, 0]], [[-1, 0]], [[0, 0, 1.0]])
    problem = cs.Problem(
        J, [[0.5, 0.5, 0.5, 3, 3, 3]], [[0, 0, -0.0981, 0, 0]], bodies=[[-1, 0]],
        sets=cs.sets.free(),
    )  # fmt: skip
    result = cs.solve(problem, method="bpp")
    np.testing.assert_allclose(result.impulses, [[0, 0, 0.1962, 0, 0]], atol=1e-15)


def test_no_joints():
    none = np.zeros((0, 3))
    assert cs.joints.hinge(none, none, [], POSITIONS).shape == (0, 2, 5, 6)
    assert cs.joints.gear(none, none, []).shape == (0, 2, 1, 6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cs.joints.ball(POINTS[:, :2], PAIRS, POSITIONS), r"points has shape \(4, 2\)"),
        (lambda: cs.joints.ball(POINTS, PAIRS + 2, POSITIONS), r"bodies\[0, 1\] is 3: expected -1"),
        (lambda: cs.joints.hinge(POINTS, 2 * AXES, PAIRS, POSITIONS), r"axes\[0\] has length 2"),
        (lambda: cs.joints.angular(AXES, PAIRS), r"directions has shape \(4, 3\)"),
        (lambda: cs.joints.angular(AXES[:, None], PAIRS - 1), r"bodies\[1, 0\] is -2: expected -1"),
        (
            lambda: cs.joints.distance(POINTS, POINTS, PAIRS, POSITIONS),
            r"second_points\[0\] is first_points\[0\]",
        ),
        (lambda: cs.joints.gear(AXES, AXES, PAIRS, np.nan), "ratio"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
