"""r_factor="balanced": factors that follow the residuals of each coupled set."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    DTYPES,
    EXACTLY,
    SCHEMES,
    SOLVERS,
    TOLERANCE,
    amplification,
    assert_close,
    flat,
    generator,
    package_set,
)
from reference_numpy import ReferenceProblem, balanced_run, random_problem

SETS = {"free": 2, "box": 2, "half_line": 3, "disc": 3, "box_friction": 2, "rolling": 5}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("set_name", SETS)
def test_as_in_the_reference(set_name, scheme, solver, dtype):
    arrays = random_problem(generator("balance", set_name), 8, 5, SETS[set_name], 6, set_name)
    problem = cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )
    reference = ReferenceProblem.from_arrays(arrays)
    wanted = balanced_run(reference, 5, solver=solver, scheme=scheme, relaxation=0.6)
    result = cs.solve(
        problem,
        method=solver,
        scheme=scheme,
        dtype=dtype,
        r_factor="balanced",
        relaxation=0.6,
        max_iterations=5,
        **EXACTLY,
    )
    # A ratio of two changes that nearly cancel carries their rounding into the factor.
    tolerance = 50 * TOLERANCE[dtype] * amplification(reference)
    assert_close(flat(result.impulses), wanted[-1], tolerance, "impulses")
    if set_name != "free":
        plain = cs.solve(
            problem, method=solver, scheme=scheme, relaxation=0.6, max_iterations=5, **EXACTLY
        )
        assert np.abs(flat(plain.impulses) - wanted[-1]).max() > 1e-4


def coupled(count: int = 8) -> cs.Problem:
    """Frictionless contacts that push on each other: local Jacobi steps overshoot by far."""
    A = np.full((count, count), 0.9) + 0.1 * np.eye(count)
    return cs.Problem.from_delassus(A, -np.linspace(1.0, 2.0, count), rows=1)


@pytest.mark.parametrize(("dtype", "noise"), [("float64", 3e-16), ("float32", 2e-7)])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_rounding_does_not_decide_of_a_factor(dtype, noise, sign):
    """The first row is at rest until the second one has moved: its first change is rounding."""
    A = np.array([[1.0, -0.5], [-0.5, 1.0]])
    problem = cs.Problem.from_delassus(A, [-1.0, -3.0], rows=1)
    options = {"r_factor": "balanced", "dtype": dtype, "max_iterations": 4, **EXACTLY}
    quiet = cs.solve(problem, initial=np.array([1.0, 0.0]), **options).impulses
    shaken = cs.solve(problem, initial=np.array([1.0 + sign * noise, 0.0]), **options).impulses
    np.testing.assert_allclose(shaken, quiet, rtol=0, atol=20 * noise)


def test_jacobi_overshoots_without_and_converges_with_it():
    options = {"method": "jacobi", "rollback": 0, "rtol": 1e-9, "max_iterations": 3000}
    assert not cs.solve(coupled(), **options).converged
    result = cs.solve(coupled(), r_factor="balanced", **options)
    assert result.converged
    assert np.linalg.norm(np.minimum(result.impulses, result.residual_velocities)) < 1e-7


@pytest.mark.parametrize("method", SOLVERS)
def test_every_solve_begins_with_the_factors_as_computed(method):
    problem = cs.scenarios.ball_grid(4)
    solver = cs.Solver(problem, method=method, r_factor="balanced", max_iterations=7, **EXACTLY)
    first, second = solver.solve(), solver.solve()
    np.testing.assert_array_equal(first.impulses, second.impulses)
    problem.update(b=2.0 * np.asarray(problem.b))
    third = solver.solve()
    fresh = cs.solve(problem, method=method, r_factor="balanced", max_iterations=7, **EXACTLY)
    np.testing.assert_array_equal(third.impulses, fresh.impulses)


@pytest.mark.parametrize("relaxation", [2.0, 4.0])
def test_with_rollbacks(relaxation):
    options = {"method": "jacobi", "r_factor": "balanced", "relaxation": relaxation}
    result = cs.solve(cs.scenarios.ball_grid(4), **options)
    assert result.converged
    assert result.info["rollbacks"] > 0


def test_the_same_bits_from_any_number_of_threads():
    problem = cs.scenarios.ball_grid(6)
    options = {"r_factor": "balanced", "max_iterations": 10, **EXACTLY}
    wanted = None
    for threads in (1, 2, 3, 8):
        got = cs.solve(
            problem, method="jacobi", threads=threads, exact_threads=True, **options
        ).impulses
        wanted = got if wanted is None else wanted
        np.testing.assert_array_equal(got, wanted)


def test_where_nothing_can_be_balanced():
    empty = cs.Problem(
        np.zeros((0, 2, 3, 6)), np.ones((1, 6)), np.zeros((0, 3)), 0.5, bodies=np.zeros((0, 2), int)
    )
    assert cs.solve(empty, r_factor="balanced").converged
    J = np.ones((1, 2, 3, 6))
    immovable = cs.Problem(J, np.zeros((1, 6)), np.ones((1, 3)), 0.5, bodies=[[-1, 0]])
    assert not cs.solve(immovable, r_factor="balanced").impulses.any()
    with pytest.raises(ValueError, match="solves blocks without R"):
        cs.solve(cs.scenarios.box_stack(2), r_factor="balanced", local="block")
