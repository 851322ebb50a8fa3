"""The option exact_threads: a number of threads is a most, or exactly that one."""

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY

pytestmark = pytest.mark.threads


@pytest.mark.parametrize("order", ["colored", "cache", "ranges"])
def test_exact_threads_run_however_short_the_work(order):
    problem = cs.scenarios.ball_grid(4)
    for threads in (1, 2, 3, 4):
        options = {"method": "gauss_seidel", "order": order, "threads": threads}
        options |= {"parts": 4} if order != "colored" else {}
        at_least = cs.Solver(problem, exact_threads=True, **options).info["threads"]
        assert at_least == (1 if order == "colored" else threads)
        assert cs.Solver(problem, **options).info["threads"] == 1


def test_a_number_is_no_more_than_there_are_processors():
    problem = cs.scenarios.ball_grid(12)
    for threads in (1, 2, 3, 1000):
        used = cs.Solver(problem, method="jacobi", threads=threads).info["threads"]
        assert 1 <= used <= min(threads, 10)
        assert used == cs.Solver(problem, method="jacobi", threads=used).info["threads"]


@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel"])
def test_bits_are_those_of_one_thread(method):
    problem = cs.scenarios.ball_grid(12)
    options = {"method": method, "order": "colored", "max_iterations": 20, **EXACTLY}
    one = cs.solve(problem, threads=1, **options)
    for how in ({"threads": 2}, {"threads": 2, "exact_threads": True}, {}):
        other = cs.solve(problem, **options, **how)
        np.testing.assert_array_equal(other.impulses, one.impulses)
        for name in ("residual", "natural_map"):
            np.testing.assert_array_equal(other.history[name], one.history[name])


def test_islands_and_mixed_problems():
    options = {"threads": 2, "exact_threads": True}
    A, b = np.eye(6), -np.ones(6)
    assert cs.solve_mlcp(A, b, **options).info["threads"] == 2
    assert cs.solve_mlcp(A, b, threads=2).info["threads"] == 1
    problem = cs.Problem.from_delassus(np.eye(1200), -np.ones(1200), rows=1)
    sweeps = {"method": "gauss_seidel", "order": "natural"}
    assert cs.Solver(problem, **sweeps, **options).info["threads"] == 2
    assert cs.Solver(problem, **sweeps, threads=2).info["threads"] == 1


def test_it_needs_a_number():
    problem = cs.scenarios.box_stack(2)
    with pytest.raises(ValueError, match="no number of threads is given; give threads"):
        cs.Solver(problem, exact_threads=True)
    with pytest.raises(ValueError, match="no number of threads is given; give threads"):
        cs.solve_mlcp(np.eye(2), np.ones(2), exact_threads=True)
    with pytest.raises(TypeError, match="exact_threads is 1: True or False is needed"):
        cs.Solver(problem, threads=2, exact_threads=1)
    with pytest.raises(TypeError, match="exact_threads is 'no': True or False is needed"):
        cs.orders.describe(problem, threads=2, exact_threads="no")


def test_methods_and_schedules_take_it():
    problem = cs.scenarios.ball_grid(6)
    order = cs.orders.colored(parallel=True)
    found = cs.orders.describe(problem, order, threads=2, exact_threads=True)
    np.testing.assert_array_equal(found.stage, cs.orders.describe(problem, order).stage)
    method = cs.Method("jacobi", threads=2, exact_threads=True, max_iterations=3)
    assert method.options["exact_threads"] is True
    table = cs.compare(problem, [method, cs.Method("jacobi", threads=1, label="one")])
    assert len(table) == 2
