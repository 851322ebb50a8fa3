"""A solve as a guest in Python: threads, Ctrl-C, callbacks, memory, forks, copies.

What could take the interpreter down with it, or wait for ever, runs in a process of its own.
"""

import copy
import gc
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs
from contactsolve import _core

METHODS = ["jacobi", "gauss_seidel", "symmetric_gauss_seidel"]
SCHEMES = ["matrix", "factorized", "iteration_matrix", "half_sweep"]
COLUMNS = ("iteration", "time", "residual", "natural_map")


def random_arrays(contacts=40, bodies=15, seed=3):
    random = np.random.default_rng(seed)
    half = random.normal(size=(bodies, 6, 6))
    return {
        "J": random.normal(size=(contacts, 2, 3, 6)),
        "Minv": half @ half.transpose(0, 2, 1) / 6 + np.eye(6),
        "b": random.normal(size=(contacts, 3)) - [2.0, 0.0, 0.0],
        "mu": random.uniform(0.1, 0.9, contacts),
        "bodies": random.integers(-1, bodies, (contacts, 2)),
    }


def random_problem(**changes):
    values = random_arrays() | changes
    return cs.Problem(values.pop("J"), values.pop("Minv"), values.pop("b"), **values)


def sweeps(problem, count, **options):
    """A solver of exactly `count` sweeps."""
    return cs.Solver(problem, rtol=None, atol=None, max_iterations=count, **options)


def half_a_second(problem, **options):
    """A solver of as many sweeps as take about so long here."""
    solver = sweeps(problem, 50, **options)
    solver.solve()
    return sweeps(problem, int(50 * 0.5 / solver.solve().time), **options)


@pytest.fixture(scope="module")
def grid():
    return cs.scenarios.ball_grid((12, 12, 12))


@pytest.fixture(scope="module")
def problem():
    return random_problem()


@pytest.fixture(autouse=True)
def balanced():
    """Nothing of the C library is left behind by a test, nor a planned failure."""
    gc.collect()
    before = _core.memory_live()
    yield
    _core.memory_fail_after(-1)
    gc.collect()
    assert _core.memory_live() <= before  # less: the traceback of a failed test is gone


# ---- other threads ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_other_threads_advance_during_a_solve(grid, method):
    solver = half_a_second(grid, method=method, threads=1)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    solver.solve()
    end = time.perf_counter()
    done.set()
    thread.join()
    within = [tick for tick in ticks if start < tick < end]
    assert end - start > 0.1
    # A solver that kept the GIL, and let go of it at its polls only, would allow 200 a second.
    assert len(within) > 300 * (end - start)


def test_a_busy_solver_refuses_a_second_thread(problem):
    solver = sweeps(problem, 5)
    expected = solver.solve().impulses
    entered, go_on, answers = threading.Event(), threading.Event(), []

    def wait(state):
        entered.set()
        assert go_on.wait(30)

    thread = threading.Thread(target=lambda: answers.append(solver.solve(callback=wait)))
    thread.start()
    assert entered.wait(30)
    try:
        with pytest.raises(RuntimeError, match=r"^this Solver is already solving"):
            solver.solve()
    finally:
        go_on.set()
        thread.join()
    np.testing.assert_array_equal(answers[0].impulses, expected)
    np.testing.assert_array_equal(solver.solve().impulses, expected)


def test_a_busy_solver_refuses_its_own_callback(problem):
    solver = sweeps(problem, 5)
    expected = solver.solve().impulses
    with pytest.raises(RuntimeError, match=r"^this Solver is already solving"):
        solver.solve(callback=lambda state: solver.solve())
    np.testing.assert_array_equal(solver.solve().impulses, expected)


def test_a_callback_may_use_another_solver(problem):
    outer, inner, answers = sweeps(problem, 3), sweeps(problem, 2), []
    outer.solve(callback=lambda state: answers.append(inner.solve().impulses))
    assert len(answers) == 3
    np.testing.assert_array_equal(answers[2], sweeps(problem, 2).solve().impulses)


@pytest.mark.parametrize("method", METHODS)
def test_solvers_in_two_threads_are_independent(grid, method):
    starts = [None, np.full((grid.contacts, 3), 0.1)]
    options = {"method": method, "threads": 2, "exact_threads": True}
    serial = [sweeps(grid, 20, **options).solve(initial=start) for start in starts]
    answers = [[], []]

    def run(which):
        solver = sweeps(grid, 20, **options)
        answers[which].extend(solver.solve(initial=starts[which]) for _ in range(5))

    threads = [threading.Thread(target=run, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for expected, found in zip(serial, answers, strict=True):
        assert len(found) == 5
        for result in found:
            np.testing.assert_array_equal(result.impulses, expected.impulses)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_jacobi_does_not_depend_on_threads(grid, scheme, dtype):
    def solve(threads):
        solver = sweeps(
            grid,
            10,
            method="jacobi",
            scheme=scheme,
            dtype=dtype,
            threads=threads,
            exact_threads=True,
        )
        assert solver.info["threads"] == threads
        return solver.solve()

    expected = solve(1)
    assert expected.impulses.any()
    for threads in (2, 3, 4):
        result = solve(threads)
        np.testing.assert_array_equal(result.impulses, expected.impulses)
        for name in ("residual", "natural_map"):
            np.testing.assert_array_equal(result.history[name], expected.history[name])


# ---- Ctrl-C -------------------------------------------------------------------------------------

INTERRUPTED = """
import json, signal, sys, time
import numpy as np, contactsolve as cs
from contactsolve import _core

options = json.loads(sys.argv[1])
signal.alarm(60)
problem = cs.scenarios.ball_grid((12, 12, 12))
endless = cs.Solver(problem, rtol=None, atol=None, max_iterations=2**40, record_every=2**30,
                    **options)

def ten(state):
    if state.iteration == 10:
        raise StopIteration

expected = endless.solve(callback=ten).impulses
before = _core.memory_live()
print("ready", flush=True)
try:
    endless.solve()
except KeyboardInterrupt:
    caught = time.monotonic()
again = endless.solve(callback=ten).impulses
print(json.dumps({"caught": caught, "same": bool(np.array_equal(expected, again)),
                  "leaked": _core.memory_live() - before}))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
@pytest.mark.parametrize(
    "options",
    [
        {"method": "gauss_seidel", "scheme": "matrix"},
        {"method": "gauss_seidel", "scheme": "factorized", "dtype": "float32"},
        {"method": "jacobi", "scheme": "factorized", "threads": 2, "exact_threads": True},
    ],
    ids=lambda options: f"{options['method']}-{options['scheme']}",
)
def test_ctrl_c_ends_a_solve_at_once(options):
    command = [sys.executable, "-P", "-c", INTERRUPTED, json.dumps(options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        assert process.poll() is None
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    answer = json.loads(output)
    assert 0 <= answer["caught"] - sent < 0.5
    assert answer["same"]
    assert answer["leaked"] == 0


HUB = """
import json, signal, sys, time
import numpy as np, contactsolve as cs
from contactsolve import _core

signal.alarm(60)
count = 20_000
J = np.zeros((count, 2, 1, 3))
J[:, 1, 0, 1] = 1.0
bodies = np.column_stack([np.full(count, -1), np.zeros(count, int)])
problem = cs.Problem(J, np.ones((1, 3)), np.full(count, -1.0), bodies=bodies)
before = _core.memory_live()
print("ready", flush=True)
try:
    cs.Solver(problem, scheme="matrix")
except KeyboardInterrupt:
    caught = time.monotonic()
print(json.dumps({"caught": caught, "leaked": _core.memory_live() - before}))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_ends_the_building_of_a_dense_matrix():
    command = [sys.executable, "-P", "-c", HUB]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        assert process.poll() is None
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    answer = json.loads(output)
    assert 0 <= answer["caught"] - sent < 0.5
    assert answer["leaked"] == 0


def test_the_scheme_is_chosen_without_counting_a_dense_matrix():
    count = 300_000  # on one body: A would have 9e10 blocks, minutes of counting
    J = np.zeros((count, 2, 1, 3))
    J[:, 1, 0, 1] = 1.0
    bodies = np.column_stack([np.full(count, -1), np.zeros(count, int)])
    problem = cs.Problem(J, np.ones((1, 3)), np.full(count, -1.0), bodies=bodies)
    info = cs.Solver(problem).info
    assert info["scheme"] == "factorized"
    assert info["setup_seconds"] < 5


# ---- callbacks ----------------------------------------------------------------------------------


class CallbackError(Exception):
    pass


@pytest.mark.parametrize("kind", [CallbackError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("at", [1, 4])
def test_exceptions_of_a_callback_pass_through(problem, kind, at):
    solver = sweeps(problem, 6)
    expected = solver.solve().impulses
    raised = kind("from the callback")

    def fail(state):
        if state.iteration == at:
            raise raised

    before = _core.memory_live()
    with pytest.raises(kind) as caught:
        solver.solve(callback=fail)
    assert caught.value is raised
    assert _core.memory_live() == before
    np.testing.assert_array_equal(solver.solve().impulses, expected)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("method", METHODS)
def test_stop_iteration_stops_with_the_current_iterate(problem, method, scheme):
    def stop(state):
        if state.iteration == 3:
            raise StopIteration

    result = cs.solve(problem, method=method, scheme=scheme, callback=stop)
    expected = sweeps(problem, 3, method=method, scheme=scheme).solve()
    assert result.status == "stopped"
    assert not result.converged
    assert result.iterations == 3
    assert result.message.startswith("stopped by the callback after 3 iterations: ")
    np.testing.assert_array_equal(result.impulses, expected.impulses)
    np.testing.assert_array_equal(result.residual_velocities, expected.residual_velocities)
    np.testing.assert_array_equal(result.history["iteration"], [0, 1, 2, 3])
    assert result.natural_map == expected.natural_map


@pytest.mark.parametrize("order", ["natural", "reverse", "random", "given"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_callback_sees_the_impulses_in_the_users_order(problem, scheme, order):
    options = {"scheme": scheme, "order": order} | ({"rng": 7} if order == "random" else {})
    if order == "given":
        options["order"] = np.random.default_rng(5).permutation(problem.contacts)
    seen = []
    result = sweeps(problem, 4, **options).solve(callback=seen.append)
    assert [state.iteration for state in seen] == [1, 2, 3, 4]
    for state in seen:
        expected = sweeps(problem, state.iteration, **options).solve().impulses
        np.testing.assert_array_equal(state.impulses, expected)
        row = {name: result.history[name][state.iteration] for name in COLUMNS}
        assert state.measures == {name: v for name, v in row.items() if not np.isnan(v)}


def test_what_a_callback_sees_is_read_only_and_stays(problem):
    seen = []

    def look(state):
        seen.append(state.impulses)
        with pytest.raises(ValueError, match="read-only"):
            state.impulses[0, 0] = 1.0
        with pytest.raises(ValueError, match="WRITEABLE"):
            state.impulses.flags.writeable = True

    result = sweeps(problem, 3).solve(callback=look)
    assert len(seen) == 3
    assert seen[0].shape == (problem.contacts, 3)
    assert not np.array_equal(seen[0], seen[2])
    np.testing.assert_array_equal(seen[2], result.impulses)


@pytest.mark.parametrize("stop_at", [6, 7, 10])
def test_the_history_ends_with_the_iterate_returned(problem, stop_at):
    def stop(state):
        if state.iteration == stop_at:
            raise StopIteration

    result = sweeps(problem, 50, record_every=7).solve(callback=stop)
    assert result.status == "stopped"
    assert result.history["iteration"].tolist() == sorted({0, stop_at, *range(0, stop_at, 7)})
    assert result.history["natural_map"][-1] == result.natural_map
    complete = sweeps(problem, stop_at).solve().history
    assert result.history["residual"][-1] == complete["residual"][-1]


def test_the_history_of_a_diverging_solve_ends_with_its_last_sweep(problem):
    options = {"relaxation": 20, "rollback": 1}
    every = sweeps(problem, 1000, **options).solve()
    result = sweeps(problem, 1000, record_every=1000, **options).solve()
    assert result.status == every.status == "diverging"
    assert result.history["iteration"].tolist() == [0, result.iterations]
    # A sweep that was taken back has no residual; the natural map is that of what is returned.
    assert np.isnan(result.history["residual"][-1])
    assert result.history["natural_map"][-1] == every.history["natural_map"][-1]
    assert result.history["natural_map"][-1] == result.natural_map


def test_what_a_callback_returns_is_ignored(problem):
    assert sweeps(problem, 3).solve(callback=lambda state: True).iterations == 3


# ---- progress bar -------------------------------------------------------------------------------


def test_the_progress_bar_tells_iterations_and_measures(grid, capsys):
    pytest.importorskip("tqdm")
    solver = half_a_second(grid)
    expected = solver.solve().impulses
    assert capsys.readouterr() == ("", "")
    result = solver.solve(progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "contactsolve: " in shown.err
    assert "sweep" in shown.err
    assert "residual=" in shown.err
    np.testing.assert_array_equal(result.impulses, expected)


def test_without_tqdm_the_error_says_what_to_install(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    solver = sweeps(problem, 3)
    with pytest.raises(ImportError, match=r"pip install 'contactsolve\[notebook\]'"):
        solver.solve(progress=True)
    assert solver.solve().iterations == 3


# ---- inputs -------------------------------------------------------------------------------------


def test_read_only_inputs_are_taken_and_left_alone():
    values, kept = random_arrays(), random_arrays()
    initial = np.full((40, 3), 0.2)
    order = np.arange(40)[::-1].copy()
    for array in [*values.values(), initial, order]:
        array.flags.writeable = False
    made = random_problem(**values)
    solver = sweeps(made, 3, order=order)
    solver.solve(b=values["b"], mu=values["mu"], initial=initial)
    for name, array in values.items():
        np.testing.assert_array_equal(array, kept[name])
    np.testing.assert_array_equal(initial, 0.2)
    np.testing.assert_array_equal(order, np.arange(40)[::-1])


def parts(A):
    """The arrays that hold a matrix."""
    if isinstance(A, np.ndarray):
        return (A,)
    return A if isinstance(A, tuple) else (A.data, A.indices, A.indptr)


@pytest.mark.parametrize("form", ["dense", "csr", "bsr", "triple"])
def test_a_given_matrix_is_left_alone(problem, form):
    dense = problem.delassus().toarray()
    csr = scipy.sparse.csr_array(dense)
    forms = {
        "dense": dense,
        "csr": csr,
        "bsr": scipy.sparse.bsr_array(dense, blocksize=(3, 3)),
        "triple": (csr.data, csr.indices, csr.indptr),
    }
    A = forms[form]
    kept = copy.deepcopy(A)
    for array in parts(A):
        array.flags.writeable = False
    result = sweeps(cs.Problem.from_delassus(A, problem.b, problem.mu), 3).solve()
    for array, other in zip(parts(A), parts(kept), strict=True):
        np.testing.assert_array_equal(array, other)
    expected = sweeps(problem, 3, scheme="matrix", order="natural").solve()
    np.testing.assert_allclose(result.impulses, expected.impulses, rtol=1e-12, atol=1e-12)


FRICTION_OR_BOUNDS = [
    {},
    {"mu": None, "lo": np.full((40, 3), -0.5), "hi": np.full((40, 3), 1.5)},
]


@pytest.mark.parametrize("changes", FRICTION_OR_BOUNDS, ids=["mu", "lo and hi"])
def test_a_problem_keeps_copies(changes):
    values = random_arrays() | copy.deepcopy(changes)
    made = random_problem(**values)
    kept = {name: getattr(made, name) for name in ("J", "Minv", "b", "mu", "bodies")}
    kept = copy.deepcopy(kept)
    expected = sweeps(made, 3).solve().impulses
    for array in values.values():
        if array is not None:
            array[...] = 0
    np.testing.assert_array_equal(sweeps(made, 3).solve().impulses, expected)
    for name, array in kept.items():
        assert same(getattr(made, name), array), name
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(sweeps(again, 3).solve().impulses, expected)


@pytest.mark.parametrize("name", ["J", "Minv", "b", "mu", "bodies"])
def test_what_a_problem_gives_back_is_read_only(problem, name):
    array = getattr(problem, name)
    np.testing.assert_array_equal(array, random_arrays()[name])
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0


def test_any_layout_and_precision_is_taken():
    values = {name: array.copy() for name, array in random_arrays().items()}
    for name in ("J", "Minv", "b", "mu"):
        values[name] = values[name].astype(np.float32).astype(np.float64)
    expected = sweeps(random_problem(**values), 3).solve().impulses
    strange = {
        "J": np.asfortranarray(values["J"]),
        "Minv": np.repeat(values["Minv"], 2, axis=0)[::2],
        "b": values["b"].astype(np.float32)[:, ::-1][:, ::-1],
        "mu": values["mu"].tolist(),
        "bodies": values["bodies"].astype(np.int16)[::-1][::-1],
    }
    found = sweeps(random_problem(**strange), 3).solve().impulses
    np.testing.assert_array_equal(found, expected)


# ---- copies -------------------------------------------------------------------------------------

PROBLEMS = {
    "disc": lambda: random_problem(name="discs"),
    "half_line": lambda: random_problem(mu=None),
    "box": lambda: random_problem(mu=None, lo=-0.5, hi=[1.0, 2.0, np.inf]),
    "free": lambda: random_problem(mu=None, sets=cs.sets.free()),
    "diagonal": lambda: random_problem(Minv=np.ones((15, 6))),
    "given": lambda: cs.Problem.from_delassus(
        random_problem().delassus(), random_arrays()["b"], 0.5, name="A itself"
    ),
    "empty": lambda: cs.Problem(
        np.zeros((0, 2, 3, 6)), np.ones((2, 6)), [], bodies=np.zeros((0, 2), int)
    ),
}


def same(one, other):
    if one is None:
        return other is None
    return one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize(
    "copied", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy, copy.copy]
)
@pytest.mark.parametrize("which", PROBLEMS)
def test_problems_and_results_can_be_copied(which, copied):
    original = PROBLEMS[which]()
    made = copied(original)
    assert repr(made) == repr(original)
    assert made.info == original.info
    for name in ("J", "Minv", "b", "mu", "bodies"):
        assert same(getattr(original, name), getattr(made, name)), name
    for one, other in zip(original.delassus_csr(), made.delassus_csr(), strict=True):
        assert same(one, other)

    result = sweeps(original, 3, record=("residual", "quality")).solve()
    again = sweeps(made, 3, record=("residual", "quality")).solve()
    assert same(result.impulses, again.impulses)
    found = copied(result)
    assert found.history == result.history
    assert repr(found) == repr(result)
    for name, value in result.to_dict().items():
        if name == "history":
            continue
        other = getattr(found, name)
        equal = same(value, other) if isinstance(value, np.ndarray) else value == other
        assert equal, name
    warm = sweeps(found.problem, 3).solve(initial=found).impulses
    assert same(warm, sweeps(original, 3).solve(initial=result).impulses)


# ---- forks --------------------------------------------------------------------------------------

FORK = """
import os, signal, sys, threading, warnings
import multiprocessing
import numpy as np, contactsolve as cs

warnings.simplefilter("ignore", DeprecationWarning)  # other libraries may have threads
problem = cs.scenarios.ball_grid((12, 12, 12))

def solve():
    options = dict(method="jacobi", threads=2, exact_threads=True, rtol=None, atol=None)
    return cs.solve(problem, max_iterations=5, **options).impulses

expected = solve()

def compare():
    sys.exit(0 if np.array_equal(solve(), expected) else 3)

def by_fork():
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os._exit(0 if np.array_equal(solve(), expected) else 3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def by_multiprocessing():
    process = multiprocessing.get_context("fork").Process(target=compare)
    process.start()
    process.join(10)
    if process.is_alive():
        process.kill()
        return "hangs"
    return process.exitcode

def in_a_thread():
    codes = []
    def work():
        solve()
        codes.append(by_fork())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return codes[0]

def in_a_callback():
    codes = []
    def fork(state):
        codes.append(by_fork())
        raise StopIteration
    cs.solve(problem, method="jacobi", threads=2, exact_threads=True, callback=fork)
    return codes[0]

print({"fork": by_fork, "multiprocessing": by_multiprocessing, "thread": in_a_thread,
       "callback": in_a_callback}[sys.argv[1]]())
sys.exit(0 if np.array_equal(solve(), expected) else 4)  # the parent, too, goes on
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("way", ["fork", "multiprocessing", "thread", "callback"])
def test_a_forked_process_can_solve(way):
    done = subprocess.run(
        [sys.executable, "-P", "-c", FORK, way], capture_output=True, text=True, timeout=90
    )
    assert (done.stdout.strip(), done.returncode) == ("0", 0), done.stderr


# ---- memory -------------------------------------------------------------------------------------


def test_ten_thousand_solves_leave_nothing_behind(problem):
    import resource

    small = cs.scenarios.ball_grid((1, 1, 2))
    solver = cs.Solver(small, max_iterations=5)
    start = solver.solve()
    data = {"b": small.b, "mu": small.mu, "initial": start}

    def stop(state):
        raise StopIteration

    def refuse():
        with pytest.raises(ValueError):
            solver.solve(mu=-1.0)
        with pytest.raises(ValueError):
            cs.Solver(small, method="none")
        with pytest.raises(ValueError):
            cs.solve(random_arrays()["J"], np.ones((15, 6)), [np.nan] * 120, bodies=problem.bodies)

    def work(count):
        for i in range(count):
            solver.solve(**data)
            if i % 10 == 0:
                solver.solve(callback=stop)
                cs.solve(problem, max_iterations=1, order="random")
                cs.solve(
                    cs.Problem.from_delassus((np.ones(3), np.arange(3), np.arange(4)), np.ones(3))
                )
            if i % 100 == 0:
                refuse()
        gc.collect()

    work(1000)
    live, peak = _core.memory_live(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(9000)
    assert _core.memory_live() == live
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    assert grown * (1 if sys.platform == "darwin" else 1024) < 2**20

    tracemalloc.start()
    try:
        work(100)
        grown = []
        for _ in range(3):  # what others let go of late comes once, a leak every time
            traced = tracemalloc.get_traced_memory()[0]
            work(1000)
            grown.append(tracemalloc.get_traced_memory()[0] - traced)
        assert min(grown) < 8000  # 8 bytes a solve
    finally:
        tracemalloc.stop()


def pending(successes):
    """Whether the planned failure still lies ahead; it is called off."""
    try:
        for _ in range(successes + 1):
            _core.Problem((), (), None)
    except MemoryError:
        return True
    finally:
        _core.memory_fail_after(-1)
    return False


ACTIONS = {
    "matrix": lambda: cs.solve(random_problem(), scheme="matrix", max_iterations=3),
    "factorized": lambda: cs.solve(random_problem(), scheme="factorized", max_iterations=3),
    "auto": lambda: cs.solve(random_problem(), max_iterations=3),
    "float32": lambda: cs.solve(
        random_problem(), method="jacobi", scheme="matrix", dtype="float32", order="random"
    ),
    "free": lambda: cs.solve(random_problem(mu=None, sets=cs.sets.free()), max_iterations=3),
    "given": lambda: cs.solve(PROBLEMS["given"](), max_iterations=3),
    "large": lambda: cs.solve(cs.scenarios.ball_grid((6, 6, 6)), scheme="matrix", max_iterations=3),
    "count": lambda: random_problem().count_blocks(fixed_as_body=True),
    "assemble": lambda: random_problem().delassus_csr(),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_every_allocation_may_fail(action):
    act = ACTIONS[action]
    act()
    before = _core.memory_live()
    for successes in range(200):
        said = None
        _core.memory_fail_after(successes)
        try:
            act()
        except MemoryError as error:
            said = str(error)
        ahead = pending(successes)
        assert _core.memory_live() == before
        if ahead:
            assert successes > 3
            assert said is None
            return
        assert said is not None, f"allocation {successes} failed, and nobody said so"
        assert said == "" or said.startswith("out of memory")
    pytest.fail("more than 200 allocations")


# ---- the floating-point mode --------------------------------------------------------------------

SMALL = float("1e-310")


def keeps_denormals():
    return SMALL * float("1") != 0 and (np.array([SMALL]) * 1.0)[0] != 0


@pytest.mark.parametrize(
    "options", [{}, {"method": "jacobi", "threads": 2, "exact_threads": True}], ids=str
)
def test_denormal_numbers_are_back_after_a_solve(grid, options):
    assert keeps_denormals()
    solver = sweeps(grid, 3, **options)
    solver.solve()
    assert keeps_denormals()

    def fail(state):
        raise CallbackError

    with pytest.raises(CallbackError):
        solver.solve(callback=fail)
    assert keeps_denormals()


def test_a_callback_computes_with_denormal_numbers(problem):
    seen = []
    sweeps(problem, 3).solve(callback=lambda state: seen.append(keeps_denormals()))
    assert seen == [True] * 3


def test_a_state_prints_in_one_line_and_has_what_was_evaluated():
    states = []
    problem = cs.scenarios.box_stack(3)
    cs.solve(problem, method="gauss_seidel", callback=states.append, max_iterations=12)
    assert len(states) >= 10
    for state in states:
        assert "\n" not in repr(state)
        assert repr(state).startswith(f"State(iteration {state.iteration}, ")
        assert ("natural_map" in state.measures) == (state.iteration in (10, 12))
        assert not any(np.isnan(value) for value in state.measures.values())
    assert re.search(r"natural_map \d\.\d\de-\d\d", repr(states[9]))


def test_arrays_and_files_are_told_where_they_go():
    problem = cs.scenarios.box_stack(2)
    with pytest.raises(
        TypeError, match=r"contactsolve\.Problem\(J, Minv, b, mu, bodies=\.\.\.\) makes"
    ):
        cs.Solver(problem.J, problem.Minv, problem.b)
    with pytest.raises(TypeError, match=r"Solver takes one Problem"):
        cs.Solver(problem, problem.Minv)
    for path in ("file.hdf5", Path("file.hdf5")):
        with pytest.raises(TypeError, match=r"\.load_problem\(path\) .*\.io\.read_fclib\(path\)"):
            cs.solve(path)


@pytest.mark.parametrize("method", cs.methods.names())
@pytest.mark.parametrize("limit", [4, 1000])
def test_every_iteration_is_shown_to_a_callback(method, limit):
    """The last one, too, whether it converges or not; what is recorded makes no difference."""
    friction = cs.scenarios.box_stack(3)
    frictionless = cs.Problem(
        friction.J[:, :, :1],
        friction.Minv,
        friction.b[:, :1],
        bodies=friction.bodies,
        compliance=1e-6,
    )
    slow = ("jacobi", "mass_splitting", "interior_point")
    plain = ("apgd", "spectral_gradient", "bpp", "murty", "lemke", "keller", "dantzig")
    seen = []
    result = cs.solve(
        frictionless if method in plain else friction,
        method=method,
        max_iterations=limit,
        record_every=3,
        callback=lambda state: seen.append(state.iteration),
    )
    assert seen == list(range(1, result.iterations + 1))
    assert limit == 4 or result.converged or method in slow


@pytest.mark.parametrize("name", ["box_stack", "forklift", "winch", "stack_of_boxes"])
def test_a_callback_stops_auto_wherever_a_link_ends(name):
    """In the last iteration of each link, and in those of Newton's method that are taken back."""
    problem = {
        "box_stack": lambda: cs.scenarios.box_stack(12),
        "forklift": cs.scenarios.forklift,
        "winch": cs.scenarios.winch,
        "stack_of_boxes": cs.scenarios.stack_of_boxes,
    }[name]()
    seen = []
    whole = cs.solve(problem, callback=lambda state: seen.append(state.iteration))
    assert seen == list(range(1, whole.iterations + 1))
    ends = np.cumsum([link["iterations"] for link in whole.info["links"]])[:-1].tolist()
    assert ends
    for end in ends:
        calls = []

        def stop(state, end=end, calls=calls):
            calls.append(state.iteration)
            if state.iteration == end:
                raise StopIteration

        stopped = cs.solve(problem, callback=stop)
        assert (stopped.status, stopped.iterations, calls[-1]) == ("stopped", end, end)


@pytest.mark.parametrize(
    "method", [cs.methods.nesterov(patience=20), cs.methods.newton(patience=5), "jacobi"]
)
def test_a_callback_stops_a_solve_that_would_end_there(method):
    problem = cs.scenarios.box_stack(12)
    options = {"method": method, "rtol": 1e-14, "max_iterations": 300, "check_every": 1}
    last = cs.solve(problem, **options).iterations

    def stop(state):
        if state.iteration == last:
            raise StopIteration

    assert cs.solve(problem, callback=stop, **options).status == "stopped"


def test_a_state_tells_of_which_iteration_its_measures_are(problem):
    states = []
    cs.solve(problem, method="jacobi", max_iterations=8, record_every=7, callback=states.append)
    assert "State(iteration 6, at iteration 0: " in repr(states[5])
    assert states[5].measures["iteration"] == 0
    assert "State(iteration 7, " in repr(states[6])
    assert "at iteration" not in repr(states[6])


def test_a_chain_that_found_no_memory_solves_later():
    problem = cs.scenarios.box_stack(40)
    expected = cs.Solver(problem, method="auto", max_seconds=None).solve()
    assert "newton" in {link["method"] for link in expected.info["links"]}
    failures = 0
    for successes in range(200):
        solver = cs.Solver(problem, method="auto", max_seconds=None)
        _core.memory_fail_after(successes)
        try:
            solver._core.solve(None, None, None, None, None, None, None)
            break
        except MemoryError:
            failures += 1
        finally:
            _core.memory_fail_after(-1)
        result = solver.solve()
        assert np.array_equal(result.impulses, expected.impulses), successes
    assert failures > 10
