"""Networks of processes: the bits of the same sweeps without one, S1's figures, and bad input."""

import itertools
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import contactsolve as cs

NAMES = cs.csp.names()
S1_RULES = {"r_factor": 5.0, "rollback": 5, "rollback_growth": 1.0, "instructions": "scalar"}

pytestmark = [
    pytest.mark.threads,
    pytest.mark.skipif(
        cs.info()["threading"] == "serial", reason="needs a thread for each process"
    ),
]


@pytest.fixture(scope="module")
def pile():
    """Contacts of many bodies that slide, and some on one body."""
    return cs.scenarios.random(300, bodies=120, mu=0.4, rng=3)


def plain(solver):
    """A solver of the same options without a network."""
    return cs.Solver(solver.problem, **solver.asked)


def both(problem, network, **options):
    solver = cs.csp.Solver(problem, network, **options)
    return solver, plain(solver)


OPTIONS = {
    "extreme": [{}, {"messages": "numbers"}, {"dispatcher": "merged", "places": 1}],
    "factorized": [{}, {"channels": "apart", "copies": 1}, {"ending": "poison"}],
    "iteration_matrix": [{}, {"channels": "apart"}],
    "naive": [{}, {"channels": "apart", "copies": 1, "ending": "poison"}],
    "rigid": [{}, {"ending": "poison"}],
    "relaxed": [{}, {"ending": "poison"}],
    "relaxed_iteration_matrix": [{}, {"ending": "poison"}],
}
CASES = [(name, own) for name in NAMES for own in OPTIONS[name]]


@pytest.mark.parametrize(("name", "own"), CASES, ids=str)
@pytest.mark.parametrize("workers", [1, 3, 7])
def test_same_bits_as_without_a_network(pile, name, own, workers):
    network = getattr(cs.csp, name)(**own)
    solver, other = both(
        pile, network, workers=workers, rtol=None, atol=None, max_iterations=12,
        record=("residual", "merit"),
    )  # fmt: skip
    result, expected = solver.solve(), other.solve()
    assert np.array_equal(result.impulses, expected.impulses)
    for measure in ("residual", "merit"):
        own_values, values = result.history[measure], expected.history[measure]
        assert np.array_equal(own_values, values, equal_nan=True), measure
    assert np.abs(result.impulses).max() > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "mixed"])
def test_same_bits_in_other_precisions(pile, name, dtype):
    if dtype == "mixed" and name.endswith("iteration_matrix"):
        pytest.skip("the scheme has no sweeps in mixed precision")
    solver, other = both(
        pile, name, workers=3, rtol=None, atol=None, max_iterations=40, dtype=dtype
    )
    assert np.array_equal(solver.solve().impulses, other.solve().impulses)


@pytest.mark.parametrize(("name", "own"), CASES, ids=str)
@pytest.mark.parametrize("compressed", [False, True])
def test_same_bits_in_runs_of_many_sweeps(pile, name, own, compressed):
    """Both copies of w have the roots of masses that compressed contacts read."""
    solver, other = both(
        pile, getattr(cs.csp, name)(**own), workers=3, rtol=None, atol=None, max_iterations=20,
        record=(), record_every=20, check_every=20, compressed=compressed,
    )  # fmt: skip
    assert np.array_equal(solver.solve().impulses, other.solve().impulses)
    assert solver.info["runs"] < 20


@pytest.mark.parametrize("name", NAMES)
def test_problems_without_contacts(name):
    nothing = cs.Problem(
        np.zeros((0, 2, 3, 6)), [np.eye(6)] * 4, np.zeros((0, 3)), 0.5, bodies=np.zeros((0, 2), int)
    )
    result = cs.csp.solve(nothing, name, workers=2)
    assert (result.status, result.impulses.shape) == ("converged", (0, 3))


@pytest.mark.parametrize("name", NAMES)
def test_rollbacks_are_those_of_the_solver(name):
    """A step that is far too long: R is halved and the best iterate restored, again and again."""
    problem = cs.scenarios.ball_grid(4)
    options = {"r_factor": 40.0, "rollback": 8, "rollback_growth": 1.0, "max_iterations": 60}
    solver, other = both(problem, name, workers=2, rtol=None, atol=None, **options)
    result, expected = solver.solve(), other.solve()
    assert result.info["rollbacks"] == expected.info["rollbacks"] > 0
    assert np.array_equal(result.impulses, expected.impulses)


@pytest.mark.parametrize("record", [(), ("residual",)])
def test_runs_are_as_long_as_nothing_looks_at_iterates(pile, record):
    solver = cs.csp.Solver(
        pile, "naive", workers=2, rtol=None, atol=None, max_iterations=30, record=record,
        record_every=1 if record else 30, check_every=30,
    )  # fmt: skip
    solver.solve()
    info = solver.info
    assert info["sweeps"] == 30
    assert info["runs"] == 30 if record else info["runs"] <= 3 + 30 // 8
    assert (info["network"], info["workers"], info["processes"]) == ("naive", 2, 3)


def test_messages_are_those_of_the_design(pile):
    """Pages, and a word to each worker after each sweep (S1 Fig. 6.3)."""

    def messages(network, workers, **options):
        solver = cs.csp.Solver(
            pile, network, workers=workers, rtol=None, atol=None, max_iterations=5, record=(),
            record_every=5, check_every=5, **options,
        )  # fmt: skip
        solver.solve()
        return solver.info["messages"], solver.info["runs"]

    assert messages("naive", 4)[0] == 5 * (4 + 4)
    assert messages("factorized", 3, page=50)[0] == 5 * (6 + 3)
    count, runs = messages(cs.csp.factorized(ending="poison"), 3, page=50)
    assert count == 5 * (6 + 3) - 3 * runs
    assert messages("iteration_matrix", 3)[0] == 5 * (3 + 3)
    # A task and a result for each contact, a word to the dispatcher after each sweep, and the end.
    count, runs = messages("extreme", 3)
    assert count == 5 * (300 + 300 + 1) + 3 * runs


def test_converges_to_a_tolerance(pile):
    for name in NAMES:
        result = cs.csp.solve(pile, name, workers=3, rtol=1e-6, max_iterations=20000)
        assert result.converged, name


def test_starts_from_impulses(pile):
    first = cs.csp.solve(pile, "naive", workers=3, rtol=1e-8, max_iterations=20000)
    again = cs.csp.solve(pile, "naive", workers=3, rtol=1e-8, initial=first)
    assert again.iterations <= 2


def test_callback_is_asked_after_each_sweep(pile):
    seen = []
    cs.csp.solve(
        pile, "rigid", workers=2, rtol=None, atol=None, max_iterations=7,
        callback=lambda state: seen.append(state.iteration),
    )  # fmt: skip
    assert seen == list(range(1, 8))


def test_new_values_of_the_problem_keep_the_network():
    problem = cs.scenarios.random(80, bodies=40, rng=5)
    solver, other = both(problem, "naive", workers=3, rtol=None, atol=None, max_iterations=9)
    solver.solve()
    problem.update(Minv=0.5 * problem.Minv)
    result, expected = solver.solve(), other.solve()
    assert np.array_equal(result.impulses, expected.impulses)
    assert solver.info["sweeps"] > 0


def test_pages_do_not_change_bits_with_workers(pile):
    runs = [
        cs.csp.solve(pile, "factorized", workers=w, page=20, rtol=None, atol=None, max_iterations=9)
        for w in (1, 2, 5, 8)
    ]
    assert all(np.array_equal(runs[0].impulses, run.impulses) for run in runs)


def test_looking_ahead_repeats_its_bits_and_converges_more_slowly():
    """S1 section 6.2.1: with a share of 0.2, and with all contacts."""
    problem = cs.scenarios.ball_grid(8, ground="body", contact_order="backward")

    def solve(ahead):
        return cs.csp.solve(
            problem, cs.csp.factorized(ahead=ahead), workers=8, page=16, rtol=None, atol=None,
            max_iterations=50, record=("quality",), record_every=50, check_every=50, **S1_RULES,
        )  # fmt: skip

    quality = {ahead: solve(ahead).history["quality"][-1] for ahead in (0.0, 0.2, 1.0)}
    assert np.array_equal(solve(0.2).impulses, solve(0.2).impulses)
    assert quality[0.0] < quality[0.2] < quality[1.0] < 1e4


# ---- S1's figures -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "gamma"), [(8, 306), pytest.param(40, 7976, marks=pytest.mark.slow)]
)
def test_quality_of_the_naive_network_is_s1s(size, gamma):
    """S1 section 7.1: 50 sweeps of 8 workers."""
    problem = cs.scenarios.ball_grid(size, ground="body", contact_order="backward")
    result = cs.csp.solve(
        problem, "naive", workers=8, rtol=None, atol=None, max_iterations=50, check_every=50,
        record=("quality",), record_every=50, **S1_RULES,
    )  # fmt: skip
    assert round(result.history["quality"][-1]) == gamma


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "options", "error", "words"),
    [
        ("nave", {}, ValueError, "naive"),
        (cs.csp.naive, {}, TypeError, "call it, csp.naive"),
        ("naive", {"workers": 0}, ValueError, "workers is 0"),
        ("naive", {"workers": 101}, ValueError, "at most 100"),
        ("naive", {"workers": 1.5}, TypeError, "workers is 1.5"),
        ("naive", {"method": "jacobi"}, TypeError, "decides"),
        ("naive", {"islands": True}, TypeError, "decides"),
        ("naive", {"order": "colored"}, ValueError, "'ranges'"),
        ("naive", {"scheme": "matrix"}, ValueError, "scheme='factorized'"),
        ("naive", {"page": 64}, ValueError, "page is 64"),
        ("rigid", {"unsafe_below": 64}, ValueError, "unsafe_below is 64"),
        ("rigid", {"scheme": "matrix"}, ValueError, "iteration_matrix"),
        ("rigid", {"order": "ranges"}, ValueError, "no conflicts"),
        ("factorized", {"page": 0}, ValueError, "page is 0"),
        ("factorized", {"scheme": "factorized"}, ValueError, "accumulate"),
        ("extreme", {"order": "natural"}, ValueError, "a part for each contact"),
        ("naive", {"option_without_meaning": 1}, TypeError, "option_without_meaning"),
    ],
)
def test_bad_input_is_refused(pile, network, options, error, words):
    with pytest.raises(error, match=words):
        cs.csp.Solver(pile, network, **options)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: cs.csp.naive(channels="own"), ValueError, "shared"),
        (lambda: cs.csp.factorized(ahead=1.5), ValueError, "ahead"),
        (lambda: cs.csp.factorized(copies=3), ValueError, "copies"),
        (lambda: cs.csp.rigid(copies=1), TypeError, "copies"),
        (lambda: cs.csp.extreme(places=0), ValueError, "places"),
    ],
)
def test_bad_options_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_weights_and_split_masses_are_refused():
    problem = cs.scenarios.ball_grid(3, mu=0.1)
    labels = np.arange(problem.bodies_count)
    own = ({"weight": 0.5}, {"split_masses": True})
    for network, option in itertools.product(("naive", "relaxed"), own):
        order = cs.orders.partition(labels, border="concurrent", **option)
        with pytest.raises(ValueError, match="adds the changes of parts as they are"):
            cs.csp.Solver(problem, network, order=order)


def test_looking_ahead_needs_two_copies(pile):
    with pytest.raises(ValueError, match="copies=2"):
        cs.csp.Solver(pile, cs.csp.factorized(ahead=0.2, copies=1))


def test_sets_of_the_caller_are_refused():
    problem = cs.scenarios.random(10, rng=1)
    own = cs.sets.support(lambda direction: direction / np.linalg.norm(direction), 0.5)
    problem = cs.Problem(problem.J, problem.Minv, problem.b, bodies=problem.bodies, sets=own)
    with pytest.raises(ValueError, match="functions of the caller"):
        cs.csp.Solver(problem, "naive")


# ---- interruption and many at once --------------------------------------------------------------

ENDLESS = """
import sys
import contactsolve as cs
problem = cs.scenarios.ball_grid(8)
print("begun", flush=True)
try:
    cs.csp.solve(problem, sys.argv[1], workers=3, rtol=None, atol=None, max_iterations=10**8,
                 record=(), record_every=10**8)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["naive", "extreme", "relaxed"])
def test_ctrl_c_ends_a_network(tmp_path, name):
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, name], stdout=subprocess.PIPE, text=True, cwd=tmp_path,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "begun\n"
        threading.Event().wait(0.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    assert out == "interrupted\n"


def test_solvers_run_side_by_side(pile):
    expected = cs.csp.solve(pile, "naive", workers=3, rtol=None, atol=None, max_iterations=20)
    found = [None] * 4

    def run(i):
        found[i] = cs.csp.solve(
            pile, "naive", workers=3, rtol=None, atol=None, max_iterations=20
        ).impulses

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, expected.impulses) for one in found)


def test_names_options_and_lines():
    assert NAMES == list(cs.csp.describe()) == list(cs.csp.options())
    assert str(cs.csp.naive(channels="apart")) == "naive(channels=apart)"
    assert "Parameters" in cs.csp.factorized.__doc__
    with pytest.raises(AttributeError, match="naive"):
        cs.csp.naiv  # noqa: B018


def test_colours_that_are_all_unsafe_are_refused(pile):
    with pytest.raises(ValueError, match="unsafe_below is 800: no colour has so many contacts"):
        cs.csp.Solver(pile, "relaxed", workers=100)
