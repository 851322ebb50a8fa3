"""Steps of cloth in contact that cannot be made, and what stays as it was."""

import numpy as np
import pytest

import contactsolve as cs

TRIANGLE = np.array([[-3.0, -3.0, 0.0], [3.0, -3.0, 0.0], [0.0, 6.0, 0.0]])


def floor(motion=None):
    return cs.cloth.Obstacle(TRIANGLE, [[0, 1, 2]], motion=motion)


def raised(height):
    return TRIANGLE + np.array([0, 0, height])


def sheet(height=0.01, side=5, collisions=None, **options):
    """A sheet of one metre above the floor."""
    vertices, faces = cs.cloth.sheet(side, side, 1.0)
    vertices[:, 2] = height
    given = {"density": 0.2, "young": 500.0, "damping": 0.01, "threads": 1}
    collisions = collisions or cs.cloth.Collisions(5e-3, mu=0.3)
    return cs.cloth.Cloth(vertices, faces, collisions=collisions, **given | options)


# ---- primitives that are told how to move --------------------------------------------------------


def test_an_attached_vertex_cannot_pass_an_obstacle():
    cloth = sheet(attach=([12], lambda t: [[0.5, 0.5, 0.015 - t]]), obstacles=[floor()])
    cloth.step(0.01)
    before = cloth.positions, cloth.velocities
    message = r"attach: vertex 12 of the cloth meets the face .* of obstacles\[0\] at t = 0.01[45]"
    with pytest.raises(ValueError, match=message):
        cloth.step(0.01)
    assert np.array_equal(cloth.positions, before[0])
    assert np.array_equal(cloth.velocities, before[1])
    assert cloth.time == 0.01


def test_an_obstacle_cannot_pass_an_attached_vertex():
    rising = floor(lambda t: raised(2 * t))
    cloth = sheet(attach=[12], obstacles=[rising])
    with pytest.raises(ValueError, match=r"attach: vertex 12 .* of obstacles\[0\] at t = 0.00[45]"):
        cloth.step(0.01)
    assert cloth.time == 0


def test_attached_edges_cannot_pass_each_other():
    vertices, faces = cs.cloth.sheet(2, 2, 1.0)
    other = vertices @ [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] + [1.5, 0.5, 0.1]
    x, both = np.concatenate([vertices, other]), np.concatenate([faces, faces + 4])
    down = (np.arange(8), lambda t: x - [0, 0, t] * (np.arange(8) >= 4)[:, None])
    given = {"density": 1, "young": 1, "attach": down}
    cloth = cs.cloth.Cloth(x, both, collisions=cs.cloth.Collisions(1e-3), **given)
    cloth.step(0.05)
    with pytest.raises(ValueError, match=r"attach: .* of the cloth meets .* of the cloth at t = 0"):
        cloth.step(0.1)


def test_told_motions_may_pass_if_allowed():
    collisions = cs.cloth.Collisions(5e-3, allow=True)
    going = ([12], lambda t: [[0.5, 0.5, 0.01 - t]])
    cloth = sheet(attach=going, collisions=collisions, obstacles=[floor()])
    for _ in range(3):
        cloth.step(0.01)
    assert cloth.positions[12, 2] == pytest.approx(-0.02)


# ---- motions that were abandoned -----------------------------------------------------------------


def test_abandoned_motions_of_obstacles_are_forgotten():
    cloth = sheet(obstacles=[floor(lambda t: raised(10 * t))])
    cloth.contact_problem(0.01)
    cloth.positions = cloth.positions
    assert np.array_equal(cloth._core.obstacle(0), TRIANGLE)
    cloth.positions = cloth.positions + np.array([0, 0, 0.1])


def test_positions_can_be_assigned_after_a_failed_step():
    closing = floor(lambda t: raised(0.0104 - t))
    collisions = cs.cloth.Collisions(5e-3)
    cloth = sheet(4e-3, side=3, collisions=collisions, obstacles=[floor(), closing])
    cloth._colliding.has_warned = True
    with pytest.raises(ValueError, match="no step from"):
        cloth.run(0.02, 5e-3)
    cloth.positions = cloth.positions


# ---- reports -------------------------------------------------------------------------------------


def told(cloth):
    """Everything that a cloth tells of its last step, without times and counts of failures."""
    leave = ("_seconds", "steps_refused")
    info = {name: value for name, value in cloth.info.items() if not name.endswith(leave)}
    return [*info.items(), *cloth.contacts._asdict().items()]


def assert_same(one, other):
    assert len(one) == len(other)
    for (name, value), (_, expected) in zip(one, other, strict=True):
        assert np.array_equal(value, expected), name


@pytest.mark.parametrize("response", ["impulses", "problem"])
def test_reports_are_those_of_the_last_step_made(response):
    def forces(cloth):
        return np.full((9, 3), 1e308 if cloth.time > 0.025 else 0.0)

    collisions = cs.cloth.Collisions(5e-3, mu=0.3, response=response)
    cloth = sheet(4e-3, side=3, collisions=collisions, obstacles=[floor()], forces=forces)
    for _ in range(3):
        cloth.step(0.01)
    expected = told(cloth)
    assert cloth.info["free"]
    assert cloth.info["obstacle_impulses"][0, 2] > 0
    assert len(cloth.contacts.gaps) == cloth.info["contacts"] > 0

    cloth.positions = cloth.positions
    assert_same(told(cloth), expected)
    with pytest.raises(ValueError, match=r"out of all numbers|is too large"):
        cloth.step(1.0)
    assert_same(told(cloth), expected)
    cloth._forces = None
    assert cloth.contact_problem(0.02).contacts > 0
    assert_same(told(cloth), expected)


# ---- other threads and times ---------------------------------------------------------------------


def test_a_step_between_the_parts_of_another_is_refused():
    """What another thread would do while the contacts of a step are solved."""
    collisions = cs.cloth.Collisions(5e-3, mu=0.3, response="problem")
    cloth, other = (sheet(4e-3, 3, collisions, obstacles=[floor()]) for _ in range(2))
    solve, tried = cloth._colliding.solve, []

    def interrupted(inverse_masses):
        for attempt in (
            lambda: cloth.step(0.01),
            lambda: cloth.contact_problem(0.01),
            lambda: cloth.system(0.01),
            lambda: setattr(cloth, "positions", cloth.positions),
            lambda: setattr(cloth, "velocities", cloth.velocities),
            lambda: setattr(cloth, "time", 0.0),
        ):
            with pytest.raises(RuntimeError, match="this Cloth is in the middle of a step"):
                attempt()
            tried.append(attempt)
        return solve(inverse_masses)

    cloth._colliding.solve = interrupted
    cloth.step(0.01)
    assert len(tried) == 6
    cloth._colliding.solve = solve
    cloth.step(0.01)
    for _ in range(2):
        other.step(0.01)
    assert np.array_equal(cloth.positions, other.positions)
    assert cloth.time == other.time == 0.02


def test_forces_may_assign_the_state():
    def forces(cloth):
        cloth.velocities = np.zeros((9, 3))
        return np.zeros((9, 3))

    cloth = sheet(1.0, 3, forces=forces, obstacles=[floor(lambda t: raised(0.1 * t))])
    for _ in range(3):
        cloth.step(0.01)
    assert cloth.velocities[:, 2] == pytest.approx(-9.81 * 0.01, rel=1e-3)
    assert cloth._core.obstacle(0)[0, 2] == pytest.approx(3e-3)


def test_a_time_without_places_changes_nothing():
    gone = floor(lambda t: raised(-0.1 * t) if t < 1 else np.full((3, 3), np.nan))
    cloth = sheet(obstacles=[floor(lambda t: raised(-0.1 * t)), gone])
    cloth.step(0.01)
    with pytest.raises(ValueError, match=r"obstacles\[1\] at t = 2 s: .* nan"):
        cloth.time = 2.0
    assert cloth.time == 0.01
    for n in range(2):
        assert cloth._core.obstacle(n) == pytest.approx(raised(-1e-3))
    cloth.step(0.01)


@pytest.mark.parametrize("h", [0.0, -1.0, np.nan, np.inf])
def test_problems_of_no_step(h):
    moving = floor(lambda t: raised(t))
    with pytest.raises(ValueError, match=r"h is .*: a positive number of seconds"):
        sheet(obstacles=[moving]).contact_problem(h)
