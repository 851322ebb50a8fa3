"""Impulses so large that their squares overflow are no solution by any measure."""

import numpy as np
import pytest

import contactsolve as cs

HUGE = 1e200  # its square is no floating-point number

SCALED = ("natural_map_scaled", "fclib_error", "delta_norm")


@pytest.fixture(scope="module")
def problem():
    return cs.scenarios.box_stack(2)


@pytest.fixture(scope="module")
def start():
    return np.tile([3 * HUGE, HUGE, HUGE], (8, 1))


def test_a_huge_start_is_not_converged(problem, start):
    result = cs.solve(problem, method="jacobi", initial=start, rollback=0, max_iterations=3)
    assert not result.converged
    assert not result.natural_map_scaled <= 1e-6


@pytest.mark.parametrize("measure", SCALED)
def test_measures_over_a_norm_do_not_take_a_huge_iterate_for_a_solution(problem, start, measure):
    options = {"method": "jacobi", "rollback": 0, "max_iterations": 3, "check_every": 1}
    tolerance = {"rtol": 1e-6} if measure == "delta_norm" else {"rtol": None, "atol": 1e-6}
    result = cs.solve(problem, initial=start, stop=measure, **tolerance, **options)
    assert not result.converged


@pytest.mark.parametrize(
    ("measure", "scale", "impulse", "r_factor", "tolerance"),
    [
        ("fclib_error", 1e6, 1e150, 1e-6, {"rtol": None, "atol": 1e-6}),
        ("delta_norm", 1e-6, 1e160, 1e-4, {"rtol": 1e-6}),
    ],
)
def test_a_distance_that_is_a_number_over_a_norm_that_is_none(
    measure, scale, impulse, r_factor, tolerance
):
    problem = cs.Problem.from_delassus(scale * np.eye(3), [[-1.0, 0.0, 0.0]], 0.5)
    result = cs.solve(
        problem,
        method="jacobi",
        r_factor=r_factor,
        rollback=0,
        stop=measure,
        check_every=1,
        max_iterations=1,
        initial=[[impulse, 0.0, 0.0]],
        **tolerance,
    )
    assert not result.converged


@pytest.mark.parametrize("method", ["auto", "bpp", "gauss_seidel", "nesterov", "tresca"])
def test_a_scale_that_is_no_number_accepts_nothing(method):
    """The impulse that would hold a contact by itself is infinite, and so is every distance."""
    A, b = 1e-200 * np.eye(2), -1e150 * np.ones((2, 1))
    problem = cs.Problem.from_delassus(A, b, sets=cs.sets.half_line(), rows=1)
    result = cs.solve(problem, method=method, max_iterations=20)
    assert not result.converged
    assert np.isnan(result.natural_map_scaled)
    assert np.isnan(result.check(2).natural_map_scaled).all()
