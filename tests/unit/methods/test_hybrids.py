"""Methods that solve some rows directly and sweep over others: subspace, splitting."""

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from repository import BENCHMARKS

METHODS = ("subspace", "splitting")
EVERY = pytest.mark.parametrize("method", METHODS)

with importing_from(BENCHMARKS / "methods"):
    from hybrids import UPWARD, chain, lever


def outside(problem, result):
    """The scaled natural map at the impulses of a result, taken by another method's solver."""
    solver = cs.Solver(problem, method="gauss_seidel", max_iterations=0)
    return solver.solve(initial=result).natural_map_scaled


@pytest.mark.parametrize(("links", "seed", "speed"), [(8, 0, 0.3), (20, 0, 0.3), (20, 0, 0.1)])
def test_a_chain_with_a_heavy_load(links, seed, speed):
    """Mass ratio 10,000: Gauss-Seidel stalls at a map a hundred times the tolerance."""
    problem = chain(links, 1e4, seed, speed)
    sweeps = cs.solve(problem, method="gauss_seidel", rtol=1e-7, max_iterations=5000)
    assert sweeps.natural_map_scaled > 1e-5
    result = cs.solve(problem, method="subspace", rtol=1e-7, max_iterations=1000)
    assert result.converged, result.message
    assert outside(problem, result) < 1e-7
    if speed == 0.3:
        split = cs.solve(problem, method="splitting", rtol=1e-6, max_iterations=2000)
        assert split.converged, split.message
        assert outside(problem, split) < 1e-6


def test_splitting_solves_before_it_renews_bounds():
    """Friction and joints are strongly coupled: one pass an iteration crawls."""
    problem = chain(20, 1.0, 0, 0.1)
    passes = {1: 300, 100: 300}
    results = [
        cs.solve(problem, method=cs.methods.splitting(passes=count), rtol=1e-7, max_iterations=most)
        for count, most in passes.items()
    ]
    assert [result.converged for result in results] == [False, True]
    assert outside(problem, results[1]) < 1e-7


@EVERY
def test_a_heavy_box_on_light_ones(method):
    """Mass ratio 10,000, contacts that share their load in no unique way."""
    problem = cs.scenarios.box_stack(6, top_mass=1e4)
    result = cs.solve(problem, method=method, rtol=1e-8)
    assert result.converged
    assert result.iterations <= 5
    assert outside(problem, result) < 1e-8
    sweeps = cs.solve(problem, method="gauss_seidel", rtol=1e-8, max_iterations=2000)
    assert sweeps.natural_map_scaled > 1e-3


def with_sets(problem, sets):
    return cs.Problem(problem.J, problem.Minv, problem.b, bodies=problem.bodies, sets=sets)


@EVERY
@pytest.mark.parametrize(
    "sets",
    [
        cs.sets.disc(0.5),
        cs.sets.box_friction(0.5),
        cs.sets.ellipse(0.5, 0.2, 0.3),
        cs.sets.polygon(0.5, sides=6),
        cs.sets.half_line(),
        cs.sets.disc(0.0),
    ],
)
def test_sets_of_friction(method, sets):
    problem = with_sets(cs.scenarios.ball_grid(3, velocity=0.1), sets)
    result = cs.solve(problem, method=method, rtol=1e-7, max_iterations=500)
    assert result.converged, result.message
    assert outside(problem, result) < 1e-7
    assert (result.active != "open").any()


@EVERY
def test_planar_and_random_contacts(method):
    for problem in (
        cs.scenarios.disc_pyramid(5),
        cs.scenarios.random(contacts=40, bodies=12, rng=3),
        cs.scenarios.incline(),
    ):
        result = cs.solve(problem, method=method, rtol=1e-6, max_iterations=500)
        assert result.converged, result.message
        assert outside(problem, result) < 1e-6


@EVERY
def test_joints_boxes_and_contacts_in_one_problem(method):
    joint = np.hstack([np.eye(3), lever([0.3, 0, -0.5])])
    groups = [
        cs.Group(_one(joint), [[-1, 0]], [[0.1, 0.2, -1.0]], sets=cs.sets.free()),
        cs.Group(_one(np.eye(6)[5:]), [[-1, 0]], [[3.0]], lo=-0.05, hi=0.05),
        cs.Group(_one(np.hstack([UPWARD, UPWARD @ lever([0.4, 0.2, 0])])), [[-1, 0]],
                 [[-3, 0.3, 0.1]], mu=0.4),
    ]  # fmt: skip
    problem = cs.Problem(groups=groups, bodies=[cs.Bodies(np.array([[1, 1, 1, 5, 5, 5.0]]))])
    result = cs.solve(problem, method=method, rtol=1e-7, max_iterations=500)
    assert result.converged, result.message
    assert outside(problem, result) < 1e-7
    assert np.abs(result.residual_velocities[0]).max() < 1e-4
    assert result.impulses[1][0, 0] == pytest.approx(-0.05)


def _one(J):
    """The Jacobian of one block between the fixed world and a body."""
    return np.stack([np.zeros_like(J), J])[None]


@EVERY
def test_an_answer_is_kept_and_starts_the_next(method):
    problem = cs.scenarios.ball_grid(3, velocity=0.1)
    solver = cs.Solver(problem, method=method, rtol=1e-7, max_iterations=500)
    first = solver.solve()
    assert solver.solve(initial=first).iterations == 0
    again = solver.solve()
    np.testing.assert_array_equal(first.impulses, again.impulses)
    other = solver.solve(b=1.01 * problem.b, mu=0.4)
    changed = with_sets(problem, cs.sets.disc(0.4))
    changed.update(b=1.01 * problem.b)
    assert other.converged
    assert outside(changed, other) < 1e-7
    problem.update(Minv=2 * problem.Minv)
    assert solver.solve().converged


@EVERY
def test_a_given_matrix_and_immovable_bodies(method):
    scene = cs.scenarios.ball_grid(3, velocity=0.1)
    given = cs.Problem.from_delassus(scene.delassus(), scene.b, scene.mu, rows=3)
    assert cs.solve(given, method=method, rtol=1e-7, max_iterations=500).converged
    J = np.ones((2, 2, 1, 1))
    problem = cs.Problem(J, [[1.0], [0.0]], [-1.0, -1.0], bodies=[[-1, 0], [-1, 1]])
    result = cs.solve(problem, method=method, initial=[0.5, 0.25], rtol=1e-8)
    np.testing.assert_allclose(result.impulses.ravel(), [1.0, 0.25], rtol=1e-8)
    empty = cs.Problem(np.zeros((0, 2, 3, 6)), np.ones((1, 6)), [], bodies=np.zeros((0, 2), int))
    assert cs.solve(empty, method=method).converged


def test_options_count():
    problem = chain(8, 1e4, 0, 0.3)
    options = {"rtol": None, "atol": None, "max_iterations": 3}
    usual = cs.solve(problem, method="subspace", **options).impulses[1]
    for method in (
        cs.methods.subspace(sweeps=1),
        cs.methods.subspace(subspace_steps=1),
        cs.methods.splitting(),
        cs.methods.splitting(sweeps=1),
        cs.methods.splitting(passes=3),
    ):
        other = cs.solve(problem, method=method, **options).impulses[1]
        assert np.abs(other - usual).max() > 1e-9
        usual = other


@EVERY
def test_what_does_not_apply_is_refused(method):
    problem = with_sets(cs.scenarios.ball_grid(2), cs.sets.second_order_cone(0.5))
    with pytest.raises(
        ValueError, match=r"treats normal impulses and friction separately.*second_order_cone"
    ):
        cs.solve(problem, method=method)
    for options, message in (
        ({"order": "reverse"}, "order='reverse'"),
        ({"dtype": "float32"}, "dtype='float32'"),
        ({"scheme": "factorized"}, "scheme='factorized'"),
        ({"averaging": 0.5}, "averaging is 0.5"),
    ):
        with pytest.raises(ValueError, match=message):
            cs.solve(cs.scenarios.ball_grid(2), method=method, **options)
    with pytest.raises(ValueError, match="sweeps is -1"):
        cs.solve(cs.scenarios.ball_grid(2), method=cs.methods.splitting(sweeps=-1))
