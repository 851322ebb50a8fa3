"""Whole rows of T on the emulated device: to rounding, because a row is summed by many threads."""

import numpy as np
import pytest

import contactsolve as cs
from agreement import package_set
from emulated import EMULATED, TURNS, on_both, turns
from reference_numpy import random_problem

SETS = (("free", 4), ("box", 2), ("half_line", 1), ("disc", 3), ("rolling", 5), ("contensou", 4))
ORDERS = {"natural": "natural", "panels": "panels", "pairs": cs.orders.panels(contacts=2)}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("set_name", "rows"), SETS)
def test_agrees_with_the_processor(set_name, rows, dtype):
    """Sums of n products in another order: n roundings of the largest term, in each sweep."""
    for method, order in (("jacobi", "natural"), *(("gauss_seidel", name) for name in ORDERS)):
        arrays = random_problem(np.random.default_rng(rows), 12, 9, rows, 6, set_name)
        problem = cs.Problem(
            arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
        )
        options = {"method": method, "order": ORDERS[order], "scheme": "dense", "dtype": dtype}
        here, there = on_both(problem, 3, **options)
        bound = 3 * 12 * rows * np.finfo(dtype).eps * max(1, np.abs(here.impulses).max())
        assert np.abs(here.impulses - there.impulses).max() <= 10 * bound


@pytest.mark.parametrize("sweeps", ["launches", "graph"])
@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel", "symmetric_gauss_seidel", "nesterov"])
def test_turns_of_threads_do_not_matter(method, sweeps):
    problem = cs.scenarios.box_stack(4)
    options = {"order": ORDERS["pairs"], "scheme": "dense", "device_sweeps": sweeps}
    results = []
    for turn in TURNS:
        with turns(turn, 5):
            solver = cs.Solver(
                problem, method=method, max_iterations=15, rtol=None, **options, **EMULATED
            )
            results.append(solver.solve().impulses)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_best_iterate_and_rollbacks():
    """Growth is undone as on the processor."""
    A = np.array([[2.0, 1.5], [1.5, 2.0]])
    problem = cs.Problem.from_delassus(A, [-1.0, -1.0], rows=1, sets=cs.sets.free())
    options = {"local": "projected", "r_factor": 1.0, "rollback_growth": 1.0, "rtol": None}
    for sweeps, wanted in enumerate([1.0, 1.0, -0.25, 0.6875], 1):
        result = cs.solve(
            problem, method="jacobi", scheme="dense", max_iterations=sweeps, **options, **EMULATED
        )
        np.testing.assert_array_equal(result.impulses, [[wanted], [wanted]])


@pytest.mark.parametrize("order", ["ranges", "partition"])
def test_parts_that_see_only_themselves_are_refused(order):
    with pytest.raises(ValueError, match=f"order='{order}'"):
        cs.Solver(
            cs.scenarios.ball_grid(4), order=order, parts=3, scheme="dense", **EMULATED
        ).solve()
