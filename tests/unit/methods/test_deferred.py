"""Where nothing judges, a solve returns impulses; the rest is evaluated when it is read."""

import gc
import pickle
import signal
import sys
import threading

import numpy as np
import pytest

import contactsolve as cs
from interruption import alarm

EVALUATED = (
    "impulses",
    "residual_velocities",
    "body_velocity_change",
    "natural_map",
    "natural_map_scaled",
    "worst",
    "worst_contact",
)


def silent(problem, method="gauss_seidel", **options):
    """Return a solver of eleven iterations without a tolerance and without measures."""
    options = {"max_iterations": 11, "record": (), **options}
    return cs.Solver(problem, method=method, rtol=None, atol=None, **options)


def users_of(problem):
    """Return the number of references to the problem of the C library."""
    gc.collect()
    return sys.getrefcount(problem._core)


def values_of(result):
    return {name: getattr(result, name) for name in EVALUATED}


def assert_equal(found, wanted):
    for name in EVALUATED:
        assert np.array_equal(found[name], wanted[name]), name


@pytest.fixture
def problem():
    return cs.scenarios.ball_grid(4, velocity=0.2)


@pytest.mark.parametrize("islands", ["auto", False])
@pytest.mark.parametrize("method", cs.methods.names())
def test_results_do_not_depend_on_what_is_recorded(problem, method, islands):
    try:
        found = silent(problem, method, islands=islands).solve()
    except ValueError as refused:
        pytest.skip(str(refused))
    wanted = silent(problem, method, islands=islands, record=("natural_map",)).solve()
    assert_equal(values_of(found), values_of(wanted))


@pytest.mark.parametrize("iterations", [1, 10, 11])
@pytest.mark.parametrize("method", ["newton", "nesterov", "anderson"])
def test_the_best_iterate_does_not_depend_on_what_is_recorded(method, iterations):
    problem = cs.scenarios.box_stack(3)
    given = {"max_iterations": iterations, "check_every": 5}
    found = silent(problem, method, **given).solve()
    wanted = silent(problem, method, **given, record=("natural_map", "quality")).solve()
    assert_equal(values_of(found), values_of(wanted))


def test_changed_impulses_are_not_evaluated(problem):
    wanted = values_of(silent(problem).solve())
    result = silent(problem).solve()
    result.impulses[:] = 1
    found = {**values_of(result), "impulses": wanted["impulses"]}
    assert_equal(found, wanted)
    assert np.all(result.impulses == 1)


def test_a_velocity_change_that_was_read_stays(problem):
    wanted = values_of(silent(problem).solve())
    result = silent(problem).solve()
    change = result.body_velocity_change
    assert np.array_equal(change, wanted["body_velocity_change"])
    change[:] = 1
    assert result.natural_map == wanted["natural_map"]
    assert np.all(result.body_velocity_change == 1)


def test_an_update_evaluates_with_the_values_before_it(problem):
    wanted = values_of(silent(problem).solve())
    solver = silent(problem)
    results = [solver.solve() for _ in range(3)]
    problem.update(J=1.5 * problem.J, b=2 * problem.b)
    for result in results:
        assert_equal(values_of(result), wanted)
    assert solver.solve().natural_map != wanted["natural_map"]


def test_later_solves_do_not_change_an_earlier_result(problem):
    wanted = values_of(silent(problem).solve())
    solver = silent(problem)
    result = solver.solve()
    solver.solve(initial=result, b=-problem.b, mu=0.1)
    assert_equal(values_of(result), wanted)


def test_values_of_one_solve_are_those_at_its_call(problem):
    b, mu = 1.5 * problem.b, np.full(problem.contacts, 0.1)
    wanted = values_of(silent(problem, record=("natural_map",)).solve(b=b, mu=mu))
    result = silent(problem).solve(b=b, mu=mu)
    b[:] = mu[:] = 0
    assert_equal(values_of(result), wanted)


def test_a_result_outlives_its_solver(problem):
    wanted = values_of(silent(problem).solve())
    before = users_of(problem)
    solver = silent(problem)
    kept, dropped = [solver.solve() for _ in range(5)], solver.solve()
    del dropped, solver
    assert users_of(problem) == before  # the solver has gone, although nothing was read
    for result in kept:
        assert_equal(values_of(result), wanted)


def test_a_result_that_is_dropped_is_forgotten(problem):
    solver = silent(problem)
    before = users_of(problem)
    results = [solver.solve() for _ in range(9)]
    del results[::2]
    assert len({result.natural_map for result in results}) == 1
    results.clear()
    problem.update(b=2 * problem.b)
    assert users_of(problem) == before


def test_a_copy_is_whole(problem):
    wanted = values_of(silent(problem).solve())
    result = pickle.loads(pickle.dumps(silent(problem).solve()))
    assert_equal(values_of(result), wanted)


def test_a_callback_reads_earlier_results(problem):
    wanted = silent(problem).solve().natural_map
    solver, found = silent(problem), []
    earlier = solver.solve()
    solver.solve(callback=lambda state: found.append(earlier.natural_map))
    assert found
    assert found == [wanted] * len(found)


class EnoughError(Exception):
    """Ends a solve from a signal handler."""


def stop(state):
    """End a solve after its first sweep."""
    if state.iteration:
        raise StopIteration


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signals")
def test_a_signal_handler_inside_the_solve_is_told_to_wait(problem):
    solver, errors = silent(problem, max_iterations=10**8), []
    result = solver.solve(callback=stop)

    def read(*_):
        with pytest.raises(RuntimeError, match="read it after that") as caught:
            _ = result.natural_map
        errors.append(caught.value)
        raise EnoughError

    with alarm(read, after=0.05), pytest.raises(EnoughError):
        solver.solve()
    assert len(errors) == 1
    assert result.natural_map == silent(problem, max_iterations=1).solve().natural_map


def test_another_thread_waits_for_the_solve():
    problem = cs.scenarios.ball_grid(6)
    wanted = silent(problem).solve().natural_map
    solver = silent(problem)
    results = [solver.solve() for _ in range(20)]
    stop, found = threading.Event(), []

    def read():
        for result in results:
            found.append(result.natural_map)
        stop.set()

    reader = threading.Thread(target=read)
    reader.start()
    while not stop.is_set():
        assert solver.solve().iterations == 11
    reader.join()
    assert found == [wanted] * 20


def test_support_functions_are_called_inside_the_solve(problem):
    calls = []

    def disc(direction):
        calls.append(1)
        return direction

    sets = cs.sets.support(disc, 0.5)
    problem = cs.Problem(problem.J, problem.Minv, problem.b, bodies=problem.bodies, sets=sets)
    result = silent(problem, max_iterations=2).solve()
    made = len(calls)
    assert result.natural_map > 0
    assert len(calls) == made > 0
