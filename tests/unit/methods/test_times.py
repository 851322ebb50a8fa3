"""The times of a result: of its sweeps, of the solve, and of the whole call."""

import time

import numpy as np
import pytest

import contactsolve as cs
from problems_of_classes import associated, box_friction, coulomb, frictionless

PAUSE = 1e-3  # seconds
METHODS = cs.methods.names()
CLASSES = (coulomb, frictionless, associated, box_friction)


def assert_ordered(result):
    assert 0.0 <= result.sweep_time <= result.time <= result.wall_time
    assert result.info["solve_seconds"] == result.time
    times = result.history["time"]
    assert np.all(times >= 0.0)
    assert np.all(np.diff(times) >= 0.0)
    assert times[-1] <= result.time


def rows_of_boxes(columns=90):
    """Columns of four boxes that do not touch each other: islands."""
    one = cs.scenarios.box_stack(4)
    numbers = [np.where(one.bodies < 0, -1, one.bodies + 4 * k) for k in range(columns)]
    J, Minv, b = (np.concatenate([part] * columns) for part in (one.J, one.Minv, one.b))
    return cs.Problem(J, Minv, b, 0.5, bodies=np.concatenate(numbers))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rtol": None, "atol": None},
        {"rtol": 1e-3, "atol": 1e-3, "stop": "residual"},
        {"time_checks": False, "record": cs.measures.names(), "measure_every": 1},
    ],
    ids=("tolerance", "fixed", "residual", "recording"),
)
@pytest.mark.parametrize("method", METHODS)
def test_times_are_ordered(method, options):
    solved = 0
    for made in CLASSES:
        problem, _ = made(4)
        try:
            result = cs.solve(problem, method=method, max_iterations=12, max_seconds=5, **options)
        except ValueError:
            continue
        assert_ordered(result)
        assert result.sweep_time > 0.0 or not result.iterations
        solved += 1
    assert solved


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel", "auto", "nesterov", "newton"])
@pytest.mark.parametrize("checks", [True, False])
def test_times_over_islands_are_ordered(method, threads, checks):
    options = {"method": method, "threads": threads, "time_checks": checks, "max_iterations": 60}
    solver = cs.Solver(rows_of_boxes(), measure_every=1, record_every=3, **options)
    assert solver.info["clusters"] > 1
    for _ in range(3):
        result = solver.solve()
        assert_ordered(result)
        assert result.sweep_time > 0.0


@pytest.mark.parametrize("method", METHODS)
def test_without_iterations_there_is_no_time_of_sweeps(method):
    for made in CLASSES:
        problem, _ = made(5)
        try:
            result = cs.solve(problem, method=method, max_iterations=0)
        except ValueError:
            continue
        assert result.iterations == 0
        assert_ordered(result)
        assert result.sweep_time == 0.0


@pytest.mark.parametrize("method", ["gauss_seidel", "auto", "newton", "de_saxce"])
def test_times_of_a_solve_that_the_clock_ends(method):
    options = {"rtol": 1e-300, "max_iterations": 10**9, "max_seconds": 0.05}
    result = cs.solve(cs.scenarios.box_stack(12), method=method, **options)
    assert_ordered(result)
    if result.status == "max_seconds":
        assert result.wall_time >= 0.05


def test_problems_without_contacts_have_times():
    problem = cs.Problem(
        np.zeros((0, 2, 3, 6)), np.ones((2, 6)), np.zeros((0, 3)), bodies=np.zeros((0, 2), int)
    )
    assert_ordered(cs.solve(problem))


# ---- what is not counted ------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["gauss_seidel", "nesterov", "auto", "newton", "de_saxce"])
@pytest.mark.parametrize("make", [lambda: cs.scenarios.box_stack(4), rows_of_boxes])
def test_callbacks_count_for_the_whole_call_alone(make, method):
    calls = 0

    def slow(_state):
        nonlocal calls
        calls += 1
        time.sleep(PAUSE)

    problem = make()
    result = cs.solve(problem, method=method, max_iterations=7, rtol=1e-12, callback=slow)
    assert calls > 0
    assert_ordered(result)
    assert result.wall_time - result.time >= calls * PAUSE


def test_callbacks_count_for_the_limit():
    options = {"method": "gauss_seidel", "rtol": 1e-300, "max_seconds": 0.02}
    solver = cs.Solver(cs.scenarios.box_stack(4), **options)
    calls = []
    result = solver.solve(callback=lambda state: (calls.append(state), time.sleep(0.005)))
    assert result.status == "max_seconds"
    assert len(calls) <= 4
    assert result.wall_time >= 0.02


class SlowDisc:
    """The support function of a disc, which sleeps and counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, directions):
        self.calls += 1
        time.sleep(PAUSE)
        directions = np.asarray(directions)
        return 0.5 * directions / np.linalg.norm(directions, axis=-1, keepdims=True)


def solved_slowly(**options):
    """Three sweeps over two contacts that slide, and the calls of their support function."""
    disc = SlowDisc()
    A, b = np.eye(6) + 0.1, [[-1.0, 2.0, 1.0], [-2.0, 1.0, -3.0]]
    problem = cs.Problem.from_delassus(A, b, sets=cs.sets.support(disc))
    solver = cs.Solver(problem, method="jacobi", max_iterations=3, rollback=0, **options)
    before = disc.calls
    result = solver.solve()
    assert_ordered(result)
    return result, disc.calls - before


FIXED = {"rtol": None, "atol": None, "check_every": 100}


def test_recording_counts_for_the_whole_call_alone():
    plain, calls = solved_slowly(record=(), **FIXED)
    recorded, more = solved_slowly(record=("natural_map",), measure_every=1, **FIXED)
    assert more > calls
    assert recorded.wall_time - recorded.time >= (more - calls) * PAUSE
    assert plain.iterations == recorded.iterations == 3


def test_checks_count_for_the_solve_but_not_for_its_sweeps():
    _, calls = solved_slowly(record=(), **FIXED)
    checking = {"rtol": 1e-300, "check_every": 1, "record": ()}
    counted, more = solved_slowly(**checking)
    assert more > calls
    assert counted.time - counted.sweep_time >= (more - calls) * PAUSE
    left_out, same = solved_slowly(time_checks=False, **checking)
    assert same == more
    assert left_out.wall_time - left_out.time >= (more - calls) * PAUSE


def test_making_the_solver_counts_for_the_whole_call_alone():
    stack = cs.scenarios.box_stack(6)
    arrays = {"bodies": stack.bodies, "max_iterations": 5}
    result = cs.solve(stack.J, stack.Minv, stack.b, stack.mu, **arrays)
    assert_ordered(result)
    assert result.wall_time >= result.info["setup_seconds"] + result.time

    # A solver that packs new values of the problem does so within the call of solve.
    solver = cs.Solver(stack, max_iterations=5)
    stack.update(b=2.0 * stack.b, J=stack.J)
    again = solver.solve()
    assert_ordered(again)
    assert again.wall_time >= again.info["setup_seconds"] + again.time


def test_a_set_up_that_takes_too_long_is_within_the_call():
    result = cs.solve(cs.scenarios.ball_grid(12), method="newton", max_seconds=1e-9)
    assert result.status == "max_seconds"
    assert_ordered(result)


# ---- where they are told ------------------------------------------------------------------------


def test_passes_add_up():
    problem = cs.scenarios.box_stack(3)
    result = cs.solve_static_kinetic(problem, 0.5, 0.3, max_iterations=20)
    report = result.info["static_kinetic"]
    assert 0.0 < report["sweep_time"] <= report["time"]
    assert report["time"] >= result.time
    assert report["sweep_time"] >= result.sweep_time


def test_html_names_them():
    result = cs.solve(cs.scenarios.box_stack(3))
    text = result._repr_html_()
    for name in ("time of the solve", "of its sweeps", "of the whole call"):
        assert f"<td>{name}</td>" in text
    result.sweep_time = result.wall_time = float("nan")  # as of a file that has none
    text = result._repr_html_()
    assert "<td>time of the solve</td>" in text
    assert "of its sweeps" not in text
    assert "nan" not in text


def test_they_are_in_the_dictionary():
    result = cs.solve(cs.scenarios.box_stack(3))
    values = result.to_dict()
    for name in ("sweep_time", "time", "wall_time"):
        assert values[name] == getattr(result, name)
