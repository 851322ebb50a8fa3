"""A solver's time limit: what it leaves, and that it is counted anew."""

import numpy as np
import pytest

import contactsolve as cs

METHODS = ["gauss_seidel", "nesterov", "momentum", "nncg", "anderson", "auto"]
ENDLESS = {"rtol": 0.0, "atol": 0.0, "max_iterations": 10**8, "check_every": 1}


@pytest.fixture(scope="module")
def stack():
    """Sixty boxes on each other: no sweeps are done with them in a fraction of a second."""
    return cs.scenarios.box_stack(60, top_mass=100.0)


@pytest.mark.parametrize("method", METHODS)
def test_no_time_is_no_iteration(stack, method):
    result = cs.solve(stack, method=method, max_seconds=0.0, **ENDLESS)
    assert result.status == "max_seconds"
    assert result.iterations <= 1
    assert not result.converged


@pytest.mark.parametrize("method", METHODS[1:-1])
def test_what_time_has_ended_is_the_best_that_was_judged(stack, method):
    record = {"record": ("natural_map",), "record_every": 1}
    result = cs.solve(stack, method=method, max_seconds=0.03, **record, **ENDLESS)
    assert result.status == "max_seconds"
    assert result.natural_map == pytest.approx(np.nanmin(result.history["natural_map"]))


def test_every_solve_has_the_time_anew(stack):
    solver = cs.Solver(stack, method="gauss_seidel", max_seconds=0.02, **ENDLESS)
    results = [solver.solve() for _ in range(3)]
    assert [result.status for result in results] == ["max_seconds"] * 3
    assert all(result.iterations > 1 for result in results)
