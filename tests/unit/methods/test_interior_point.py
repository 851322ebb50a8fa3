"""Interior points: against the direct method on boxes, in either space, near singular, refusals."""

import numpy as np
import pytest

import contactsolve as cs
from interruption import ctrl_c_ends
from problems_of_classes import (
    associated,
    coulomb,
    frictionless,
    joints,
    moving_stack,
    residual,
)
from reference_numpy import BoxFriction, Disc, HalfLine
from repository import FCLIB

SPACES = pytest.mark.parametrize("space", ["constraints", "bodies"])
OPTIONS = {"rtol": 1e-6, "max_iterations": 100, "check_every": 1}


def solve(problem, space="auto", **options):
    method = cs.methods.interior_point(space=space)
    return cs.solve(problem, method=method, **{**OPTIONS, **options})


@SPACES
def test_boxes_against_block_pivoting(space):
    rng = np.random.default_rng(3)
    for _ in range(20):
        J = rng.normal(size=(9, 2, 2, 6))
        bodies = np.array([rng.choice(12, 2, replace=False) for _ in range(9)])
        sets = cs.sets.box(-rng.random((9, 2)), rng.random((9, 2)))
        problem = cs.Problem(
            J, np.ones((12, 6)), 3 * rng.normal(size=(9, 2)), bodies=bodies, sets=sets,
            compliance=1e-2,
        )  # fmt: skip
        result = solve(problem, space, rtol=1e-9)
        assert result.converged, result.message
        want = cs.solve(problem, method="bpp")
        assert want.converged
        # A is positive definite: there is one answer.
        np.testing.assert_allclose(result.impulses, want.impulses, rtol=0, atol=1e-6)
        assert result.iterations < 30


@SPACES
@pytest.mark.parametrize("make", [frictionless, associated])
def test_redundant_contacts_take_as_few_steps_as_others(space, make):
    for seed in range(5):
        for redundancy in (0.0, 0.6):
            problem, sets = make(seed, redundancy=redundancy)
            result = solve(problem, space)
            assert result.converged, result.message
            assert result.iterations <= 20
            assert residual(problem, sets, result.impulses) <= 1.01e-6


@SPACES
def test_duplicates_of_contacts_joints_and_compliance(space):
    scene, _ = associated(1)
    twice = np.concatenate([np.arange(scene.contacts)] * 2)
    for compliance in (None, 1e-3):
        problem = cs.Problem(
            scene.J[twice], scene.Minv, scene.b[twice], bodies=scene.bodies[twice],
            sets=cs.sets.second_order_cone(0.4), compliance=compliance,
        )  # fmt: skip
        result = solve(problem, space)
        assert result.converged, result.message
    problem, sets = joints(2, cs.sets.half_line(), HalfLine(3))
    result = solve(problem, space)
    assert result.converged, result.message
    assert residual(problem, sets, result.impulses) <= 1.01e-6


def test_the_shift_makes_the_cone_coulombs():
    problem, sets = coulomb(2)
    cones = cs.Problem(
        problem.J, problem.Minv, problem.b, bodies=problem.bodies,
        sets=cs.sets.second_order_cone(problem.mu),
    )  # fmt: skip
    plain = solve(cones)
    assert plain.converged
    assert residual(problem, sets, plain.impulses) > 1e-3
    assert residual(problem, sets, solve(problem).impulses) <= 1.01e-6


def test_friction_that_is_zero_and_a_heavy_body_on_light_ones():
    scene, _ = coulomb(4)
    mu = np.where(np.arange(scene.contacts) % 2, 0.3, 0.0)
    problem = cs.Problem(scene.J, scene.Minv, scene.b, mu, bodies=scene.bodies)
    result = solve(problem)
    assert result.converged, result.message
    assert residual(problem, [Disc(3, one) for one in mu], result.impulses) <= 1.01e-6
    heavy = moving_stack(6, top_mass=1e3)
    result = solve(heavy)
    assert result.converged, result.message
    swept = cs.solve(heavy, method="gauss_seidel", rtol=1e-6, max_iterations=2000)
    assert not swept.converged


@pytest.mark.parametrize("file", ["Rover1039", "Rover11035", "Confeti-ex13-4contact"])
def test_real_problems(file):
    problem = cs.io.read_fclib(FCLIB / f"{file}.hdf5")
    mu = np.broadcast_to(problem.mu, problem.contacts)
    sets = [Disc(problem.b.shape[1], float(value)) for value in mu]
    result = solve(problem)
    assert result.converged, result.message
    assert residual(problem, sets, result.impulses) <= 1.01e-6


def test_solvers_are_used_again_and_what_is_solved_stays():
    problem, _ = coulomb(3)
    solver = cs.Solver(problem, method="interior_point", **OPTIONS)
    first = solver.solve()
    assert solver.solve(initial=first).iterations == 0
    assert solver.solve().impulses.tobytes() == first.impulses.tobytes()
    problem.update(b=1.2 * problem.b)
    assert solver.solve().converged


def test_no_contacts_and_immovable_ones():
    nobody = np.zeros((0, 2), int)
    J, b = np.zeros((0, 2, 3, 6)), np.zeros((0, 3))
    assert solve(cs.Problem(J, np.ones((1, 6)), b, 0.5, bodies=nobody)).converged
    J = np.zeros((2, 2, 3, 6))
    J[:, 1, :, :3] = np.eye(3)
    Minv = np.array([[1.0] * 6, [0.0] * 6])
    stuck = cs.Problem(J, Minv, -np.ones((2, 3)), 0.5, bodies=[[-1, 0], [-1, 1]])
    result = solve(stuck, initial=np.array([[0.0, 0, 0], [2.0, 0.5, 0]]))
    assert result.status == "infeasible"  # nothing stops what approaches at contact 1
    assert result.info["certificate_contacts"] == [1]
    assert result.impulses[1].tolist() == [2.0, 0.5, 0.0]


@pytest.mark.parametrize("stop", [{}, {"stop": "residual", "rtol": 0, "atol": 1e-9}], ids=str)
def test_a_solve_that_has_no_further_step_ends_and_says_so(stop):
    """Four boxes at rest: the shift does not settle, and steps stop at the wall."""
    problem = cs.scenarios.box_stack(4)
    options = {"record": ("natural_map_scaled",), "max_iterations": 1000, "check_every": 10} | stop
    result = cs.solve(problem, method="interior_point", **options)
    assert result.status in ("stalled", "wandering"), result.message
    assert result.iterations < 500
    low, middle, high = result.info["band"]
    assert 0 < low <= middle <= high
    seen = result.history["natural_map_scaled"]
    assert result.natural_map_scaled <= np.nanmin(seen) * (1 + 1e-6)
    assert "Try method='auto'" in result.message
    asked = cs.solve(problem, method="interior_point", rtol=None, atol=None, max_iterations=300)
    assert (asked.status, asked.iterations) == ("max_iterations", 300)


def test_what_does_not_fit_is_refused():
    problem, _ = coulomb(0)
    with pytest.raises(ValueError, match="dtype='float32': method='interior_point' computes in"):
        cs.Solver(problem, method="interior_point", dtype="float32")
    with pytest.raises(ValueError, match="order='reverse' is for methods that sweep"):
        cs.Solver(problem, method="interior_point", order="reverse")
    with pytest.raises(ValueError, match=r"ahead is -1.*: it must be at least 0"):
        cs.Solver(problem, method=cs.methods.interior_point(ahead=-1))
    boxes, _ = joints(1, cs.sets.box_friction(0.3), BoxFriction(3, 0.3))
    with pytest.raises(ValueError, match="has blocks of set 'box_friction': use method='admm'"):
        cs.Solver(boxes, method="interior_point")
    given = cs.Problem.from_delassus(problem.delassus(), problem.b, problem.mu)
    with pytest.raises(ValueError, match="space='bodies' of method='interior_point' needs Jacob"):
        cs.Solver(given, method=cs.methods.interior_point(space="bodies"))


def test_an_interruption_is_heard_inside_a_factor():
    problem = cs.scenarios.ball_grid(11)
    solver = cs.Solver(problem, method="interior_point", **OPTIONS)
    ctrl_c_ends(solver.solve, after=0.2, within=2)
