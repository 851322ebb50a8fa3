"""S3's scenes: shapes, motions, figures of S3 Table 2.2, and that bpp solves them."""

import inspect

import numpy as np
import pytest

import contactsolve as cs
from contactsolve.scenarios import _mechanism as mechanism
from reference_mlcp import bounds_of, natural_residual

# S3 Tables 2.2 and 3.1: rows (the latter in the mean), mass ratio; None where S3 names none.
PUBLISHED = {
    "crane": (430, 6_300),
    "winch": (370, 400),
    "vehicle": (260, 20_000),
    "offshore": (350, 4_400_000),
    "forklift": (300, 2_700),
    "forwarder": (250, 6_500),
    "chain": (528.9, None),
    "log_tower": (829.9, None),
    "stack_of_boxes": (333.9, None),
}
EVERY = pytest.mark.parametrize("name", PUBLISHED)
SOME = (0, 101, 199)


def rows_of(problem):
    return sum(b.size for b in problem.b)


def flat(values):
    return np.concatenate([value.ravel() for value in values])


# ---- bodies -------------------------------------------------------------------------------------


def moments(inside, size, count=400_000):
    """Moments of inertia of 1 kg of a shape, from points strewn into a box of that size."""
    points = np.random.default_rng(1).uniform(-0.5, 0.5, (count, 3)) * size
    squares = points[inside(points)] ** 2
    return squares.mean(axis=0).sum() - squares.mean(axis=0)


def test_inertia_of_the_shapes():
    m = mechanism.Mechanism(1e-8)
    m.box(1.0, (0.3, 0.5, 0.9), np.zeros(3))
    m.cylinder(1.0, 0.4, 0.7, np.zeros(3), (1, 0, 0), bore=0.3)
    m.capsule(1.0, 0.3, (-0.25, 0, 0), (0.25, 0, 0))

    def pipe(p):
        radius = np.hypot(p[:, 1], p[:, 2])
        return (radius > 0.3) & (radius < 0.4)

    def capsule(p):
        return np.maximum(abs(p[:, 0]) - 0.25, 0) ** 2 + p[:, 1] ** 2 + p[:, 2] ** 2 < 0.09

    for part, inside, size in (
        (m.parts[0], lambda p: p[:, 0] < 1, (0.3, 0.5, 0.9)),
        (m.parts[1], pipe, (0.7, 0.8, 0.8)),
        (m.parts[2], capsule, (1.1, 0.6, 0.6)),
    ):
        np.testing.assert_allclose(part.inertia, moments(inside, np.array(size)), rtol=5e-3)


def test_inverse_masses_turn_with_the_body():
    m = mechanism.Mechanism(1e-8)
    m.cylinder(2.0, 0.1, 1.0, np.zeros(3), (0, 0, 1))
    inverse = m.inverse_masses()[0]
    across = 2.0 * (0.01 / 4 + 1 / 12)
    expected = [0.5, 0.5, 0.5, 1 / across, 1 / across, 1 / 0.01]
    np.testing.assert_allclose(inverse, np.diag(expected), atol=1e-13)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 2.5])
def test_velocities_are_those_of_the_motion(angle):
    axis = mechanism.unit((1.0, -2.0, 0.5))
    before, now = mechanism.Mechanism(1e-8), mechanism.Mechanism(1e-8)
    before.box(1.0, (1, 1, 1), (1, 2, 3), mechanism.turned((0, 0, 1), 0.4))
    turn = mechanism.turned(axis, angle) @ mechanism.turned((0, 0, 1), 0.4)
    now.box(1.0, (1, 1, 1), (1.5, 2, 2), turn)
    expected = [0.5, 0, -1, *(angle * axis)]
    np.testing.assert_allclose(mechanism._moved(before, now)[0], expected, atol=1e-14)


# ---- scenes -------------------------------------------------------------------------------------


@EVERY
def test_sizes_are_those_of_s3(name):
    rows, ratio = PUBLISHED[name]
    problems = [cs.scenarios.get(name)(step) for step in range(0, 200, 25)]
    counts = [rows_of(problem) for problem in problems]
    found = np.mean(counts) if ratio is None else np.max(counts)
    assert found == pytest.approx(rows, rel=0.08)
    if ratio is not None:
        inverse = problems[0].Minv[0][:, 0, 0]
        assert inverse.max() / inverse.min() == pytest.approx(ratio, rel=0.01)


@EVERY
def test_joints_follow_the_motion(name):
    """Without disturbances joints feel one step of gravity, and the motion's curvature."""
    for step in SOME:
        problem = cs.scenarios.get(name)(step, jitter=0.0)
        for group, b in zip(problem.sets, problem.b, strict=True):
            if group.name == "free":
                assert np.abs(b).max() < 9.81 / 60 + 0.25


@pytest.mark.parametrize("name", ["winch", "vehicle", "forklift", "chain"])
def test_drives_go_with_the_motion(name):
    """Motors and clutches ask for the speed that the motion has; springs and rams come last."""
    for step in SOME:
        problem = cs.scenarios.get(name)(step, jitter=0.0)
        motors = [
            b for group, b in zip(problem.sets, problem.b, strict=True) if group.name == "box"
        ]
        assert np.abs(motors[0]).max() < 0.2


def test_tyres_roll():
    """The points that touch the ground hardly move along it, in the turn too."""
    for step in SOME:
        problem = cs.scenarios.forklift(step, jitter=0.0)
        on_wheels = np.flatnonzero(problem.bodies[-1][:, 0] == -1)[:8]
        assert np.abs(problem.b[-1][on_wheels, 1:]).max() < 0.1


def test_the_ground_carries_what_lies_on_it():
    """Without friction, the weight of the boxes at rest; the others are in the air."""
    problem = cs.scenarios.stack_of_boxes(0, mu=0.0, compliance=1e-10, jitter=0.0)
    result = cs.solve(problem, method="bpp", rtol=1e-9)
    (contacts,), (pairs,) = result.impulses, problem.bodies
    mass = sum(100.0 * (1 + k % 3) for k in range(16))
    on_ground = pairs[:, 0] == -1
    assert contacts[on_ground, 0].sum() == pytest.approx(mass * 9.81 / 60, rel=1e-5)


@EVERY
def test_bpp_solves_it(name):
    for step in SOME:
        problem = cs.scenarios.get(name)(step)
        # With a compliance of 1e-10 normal impulses, and the bounds they give, are off by 1e-8 V.
        result = cs.solve(problem, method="bpp", averaging=0.5, max_iterations=2000)
        assert result.converged, (step, result.message)
        A, b, x = problem.delassus().toarray(), flat(problem.b), flat(result.impulses)
        lo, hi = bounds_of(problem, result.impulses)
        assert natural_residual(A, b, lo, hi, x) <= 1e-6


@EVERY
def test_a_step_is_the_same_at_every_call(name):
    function = cs.scenarios.get(name)
    one, same, other = function(5, seed=3), function(5, seed=3), function(5, seed=4)
    np.testing.assert_array_equal(flat(one.b), flat(same.b))
    assert not np.array_equal(flat(one.b), flat(other.b))
    np.testing.assert_array_equal(flat(one.J), flat(other.J))
    assert one.name == f"{name} 5"


def test_parameters_reach_the_problem():
    problem = cs.scenarios.winch(3, mu=0.4, compliance=1e-5)
    assert (problem.mu[-1] == 0.4).all()
    assert (problem.compliance[-1] == 1e-5).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"step": 200}, "step is 200: expected an integer from 0 to 199"),
        ({"step": -1}, "step is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"mu": -0.1}, r"mu is -0\.1"),
        ({"compliance": 0.0}, r"compliance is 0\.0"),
        ({"jitter": np.nan}, "jitter is nan"),
    ],
)
def test_bad_parameters_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        cs.scenarios.winch(**values)


@pytest.mark.parametrize("name", ["step", "seed"])
def test_what_is_no_integer_is_refused_by_name(name):
    with pytest.raises(TypeError, match=rf"{name} is 1\.5: an integer is needed"):
        cs.scenarios.winch(**{name: 1.5})


# ---- all steps ----------------------------------------------------------------------------------


def test_steps_keep_one_problem_for_one_set_of_contacts():
    seen = []
    for step, problem in enumerate(cs.scenarios.steps("stack_of_boxes", range(30), seed=2)):
        expected = cs.scenarios.stack_of_boxes(step, seed=2)
        assert problem.name == expected.name
        np.testing.assert_array_equal(flat(problem.b), flat(expected.b))
        np.testing.assert_array_equal(flat(problem.J), flat(expected.J))
        np.testing.assert_array_equal(problem.Minv[0], expected.Minv[0])
        if not seen or seen[-1][0] is not problem:
            seen.append((problem, problem.contacts))
    counts = [contacts for _, contacts in seen]
    assert len(counts) > 2
    assert counts == sorted(set(counts)), "a new problem only where boxes land"


def test_a_solver_goes_on_with_the_next_step():
    solver = problem = None
    for problem_now in cs.scenarios.steps("vehicle", range(3)):
        if problem_now is not problem:
            problem, solver = problem_now, cs.Solver(problem_now, method="bpp", rtol=1e-9)
        result = solver.solve()
        assert result.converged
        fresh = cs.solve(
            cs.scenarios.vehicle(int(problem.name.split()[1])), method="bpp", rtol=1e-9
        )
        np.testing.assert_allclose(flat(result.impulses), flat(fresh.impulses), atol=1e-5)


def test_scenes_without_steps_are_refused():
    with pytest.raises(ValueError, match=r"'incline' has no steps: expected one of chain, crane"):
        cs.scenarios.steps("incline")
    with_steps = {
        name
        for name in cs.scenarios.names()
        if "step" in inspect.signature(cs.scenarios.get(name)).parameters
    }
    assert with_steps == set(PUBLISHED)
