"""Networks whose processes are on ranks: the bits of threads, their messages, and how they end."""

import threading
import time

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from interruption import ctrl_c_ends

pytestmark = [
    pytest.mark.threads,
    pytest.mark.skipif(
        cs.info()["threading"] == "serial", reason="ranks as threads need a build with threads"
    ),
]

FIXED = {"rtol": None, "atol": None}
# The networks whose messages hold data, with options.
NETWORKS = {
    "extreme": cs.csp.extreme(),
    "extreme, merged, one place": cs.csp.extreme(dispatcher="merged", places=1),
    "extreme, poison": cs.csp.extreme(places=3, ending="poison"),
    "factorized": cs.csp.factorized(),
    "factorized, one copy, poison": cs.csp.factorized(copies=1, ending="poison"),
    "naive": cs.csp.naive(),
    "naive, one copy": cs.csp.naive(copies=1),
    "naive, poison": cs.csp.naive(ending="poison"),
}


@pytest.fixture(scope="module")
def pile():
    """Contacts of many bodies that slide, and some on one body."""
    return cs.scenarios.random(200, bodies=80, mu=0.4, rng=3)


def on_ranks(ranks, problem, network, *, timeout=30, **options):
    """The results of all ranks."""

    def work(comm):
        return cs.csp.solve(problem, network, comm=comm, **options)

    return cs.distributed.run(work, ranks, timeout=timeout)


def assert_same(found, expected):
    for result in found:
        assert np.array_equal(result.impulses, expected.impulses)
        assert (result.status, result.iterations) == (expected.status, expected.iterations)
        for name in set(expected.history) - {"time"}:
            column = expected.history[name]
            assert np.array_equal(result.history[name], column, equal_nan=True), name


# ---- bits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("name", NETWORKS)
def test_same_bits_as_on_threads(pile, name, ranks):
    given = {"record": ("residual", "merit"), "record_every": 4, "max_iterations": 12, **FIXED}
    given["instructions"] = "scalar" if ranks == 3 else "auto"
    expected = cs.csp.solve(pile, NETWORKS[name], workers=3, **given)
    assert_same(on_ranks(ranks, pile, NETWORKS[name], workers=3, **given), expected)
    assert np.abs(expected.impulses).max() > 0


@pytest.mark.parametrize("name", ["extreme", "factorized", "naive"])
@pytest.mark.parametrize("workers", [1, 7])
def test_same_bits_for_other_numbers_of_workers(pile, name, workers):
    given = {"workers": workers, "max_iterations": 9, "record_every": 9, "check_every": 9, **FIXED}
    expected = cs.csp.solve(pile, name, **given)
    assert_same(on_ranks(3, pile, name, **given), expected)


@pytest.mark.parametrize("name", ["extreme", "factorized", "naive"])
@pytest.mark.parametrize("dtype", ["float32", "mixed"])
def test_same_bits_in_other_precisions(pile, name, dtype):
    given = {"workers": 3, "max_iterations": 40, "record_every": 20, "dtype": dtype, **FIXED}
    assert_same(on_ranks(2, pile, name, **given), cs.csp.solve(pile, name, **given))


@pytest.mark.parametrize("name", ["extreme", "factorized", "naive"])
def test_rollbacks_are_those_of_the_solver(name):
    """A step that is far too long: R is halved and the best iterate restored, on all ranks."""
    problem = cs.scenarios.ball_grid(4)
    given = {"r_factor": 40.0, "rollback": 8, "rollback_growth": 1.0, "max_iterations": 60}
    given |= {"workers": 2, "record_every": 10, "check_every": 10, **FIXED}
    expected = cs.csp.solve(problem, name, **given)
    found = on_ranks(3, problem, name, **given)
    assert_same(found, expected)
    assert {one.info["rollbacks"] for one in found} == {expected.info["rollbacks"]}
    assert expected.info["rollbacks"] > 0


@pytest.mark.parametrize("name", ["extreme", "factorized", "naive"])
def test_a_tolerance_and_a_start(name):
    pile = cs.scenarios.random(300, bodies=120, mu=0.4, rng=3)
    given = {"workers": 3, "rtol": 1e-6, "max_iterations": 20000, "record_every": 50}
    expected = cs.csp.solve(pile, name, **given)
    found = on_ranks(2, pile, name, **given)
    assert_same(found, expected)
    assert expected.converged
    again = on_ranks(2, pile, name, **{**given, "initial": found[0]})
    assert_same(again, cs.csp.solve(pile, name, **given, initial=expected))


def test_visits_ahead_have_the_bits_of_threads():
    problem = cs.scenarios.ball_grid(5, velocity=0.3)
    given = {"workers": 3, "page": 16, "max_iterations": 40, "record_every": 20, **FIXED}
    given["check_every"] = 20
    network = cs.csp.factorized(ahead=0.3)
    expected = cs.csp.solve(problem, network, **given)
    assert_same(on_ranks(3, problem, network, **given), expected)
    plain = cs.csp.solve(problem, "factorized", **given)
    assert not np.array_equal(plain.impulses, expected.impulses)


@pytest.mark.parametrize("name", ["extreme", "factorized", "naive"])
@pytest.mark.parametrize("contacts", [0, 2])
def test_fewer_contacts_than_workers(name, contacts):
    problem = cs.scenarios.random(max(contacts, 1), bodies=4, rng=1)
    if contacts == 0:
        nothing = {"bodies": np.zeros((0, 2), int)}
        problem = cs.Problem(
            np.zeros((0, 2, 3, 6)), [np.eye(6)] * 4, np.zeros((0, 3)), 0.5, **nothing
        )
    given = {"workers": 5, "max_iterations": 5}
    assert_same(on_ranks(3, problem, name, **given), cs.csp.solve(problem, name, **given))


def test_new_values_of_the_problem_keep_the_network(pile):
    def work(comm):
        problem = cs.scenarios.random(80, bodies=40, rng=5)
        given = {"comm": comm} if comm is not None else {}
        solver = cs.csp.Solver(problem, "naive", workers=3, max_iterations=9, **FIXED, **given)
        first = solver.solve().impulses
        problem.update(Minv=0.5 * problem.Minv)
        second = solver.solve().impulses
        third = solver.solve(b=2 * problem.b, mu=0.1).impulses
        return first, second, third

    expected = work(None)
    for found in cs.distributed.run(work, 3):
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


# ---- messages -----------------------------------------------------------------------------------


def counted(ranks, problem, network, workers, **options):
    """info of rank 0, and what the transport of each rank has sent in a solve."""

    def work(comm):
        solver = cs.csp.Solver(
            problem, network, workers=workers, comm=comm, max_iterations=5, record=(),
            record_every=5, check_every=5, **FIXED, **options,
        )  # fmt: skip
        before = comm.traffic()
        solver.solve()
        after = comm.traffic()
        return solver.info, {name: after[name] - before[name] for name in after}

    found = cs.distributed.run(work, ranks)
    for info, _ in found:
        assert all(info[name] == found[0][0][name] for name in ("messages", "bytes_away", "runs"))
    return found[0][0], [traffic for _, traffic in found]


MARK, STATS, WORD, NUMBER = 8, 24, 16, 8


def bodies_of(problem, contacts):
    """Movable bodies of these contacts."""
    found = {int(body) for body in problem.bodies[contacts].ravel() if body >= 0}
    return {body for body in found if np.any(problem.Minv[body])}


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_pages_and_words_are_those_of_the_design(pile, ranks):
    """S1 Fig. 6.3: after each page its changes of w, after each sweep w for each worker."""
    workers, page = 3, 50
    info, traffic = counted(ranks, pile, "factorized", workers, page=page)
    pages = [np.arange(first, first + page) for first in range(0, 200, page)]
    owner = [next(w for w in range(workers) if p < 4 * (w + 1) // workers) for p in range(4)]
    assert info["messages"] == 5 * (len(pages) + workers)
    of_page = [MARK + STATS + NUMBER * 6 * len(bodies_of(pile, p)) for p in pages]
    of_word = [
        MARK + WORD + NUMBER * 6 * len(bodies_of(pile, np.concatenate(mine)))
        for mine in [
            [p for p, w in zip(pages, owner, strict=True) if w == worker]
            for worker in range(workers)
        ]
    ]
    assert info["message_bytes"] == 5 * (sum(of_page) + sum(of_word))

    # Those between ranks are what the transport has sent.
    places = info["process_ranks"]
    assert places == [p * ranks // (workers + 1) for p in range(workers + 1)]
    away = [places[1 + w] != places[0] for w in range(workers)]
    pages_away = [size for size, w in zip(of_page, owner, strict=True) if away[w]]
    words_away = [size for size, far in zip(of_word, away, strict=True) if far]
    assert info["messages_away"] == 5 * (len(pages_away) + len(words_away))
    assert info["bytes_away"] == 5 * (sum(pages_away) + sum(words_away))
    assert sum(one["messages"] for one in traffic) == info["messages_away"]
    assert sum(one["bytes"] for one in traffic) == info["bytes_away"]


@pytest.mark.parametrize("ending", ["signal", "poison"])
def test_messages_are_as_many_as_on_threads(pile, ending):
    for make in (cs.csp.naive, cs.csp.factorized, cs.csp.extreme):
        network = make(ending=ending)
        info, traffic = counted(3, pile, network, 3)
        solver = cs.csp.Solver(
            pile, network, workers=3, max_iterations=5, record=(), record_every=5, check_every=5,
            **FIXED,
        )  # fmt: skip
        solver.solve()
        threads = solver.info
        # Both have runs of their own, whose lengths follow the clock: ends are counted by run.
        ends = {"extreme": 1 if ending == "signal" else 0}.get(make.__name__, 0)
        ends -= 1 if ending == "poison" and make is not cs.csp.extreme else 0
        base = threads["messages"] - 3 * ends * threads["runs"]
        assert info["messages"] == base + 3 * ends * info["runs"], make.__name__
        # Poison is a message of the transport, too, one to each worker that is elsewhere.
        far = sum(place != 0 for place in info["process_ranks"][-3:])
        poison = far * info["runs"] if ending == "poison" else 0
        if make is not cs.csp.extreme:
            sent = sum(one["messages"] for one in traffic)
            assert sent == info["messages_away"] + poison
        assert info["processes"] == threads["processes"]


def test_without_ranks_there_is_no_word_of_them(pile):
    info = cs.csp.Solver(pile, "naive", workers=2).info
    assert not {"ranks", "process_ranks", "messages_away", "bytes_away"} & set(info)


# ---- what is refused ----------------------------------------------------------------------------


ADVICE = ".*: leave out comm=, or use 'extreme', 'factorized' or 'naive'"


@pytest.mark.parametrize(
    ("network", "options", "error", "words"),
    [
        ("iteration_matrix", {}, ValueError, "'iteration_matrix'.*read the impulses of all others"),
        ("rigid", {}, ValueError, f"'rigid' cannot run on ranks, because .* write {ADVICE}"),
        ("relaxed", {}, ValueError, f"'relaxed' cannot run on ranks, because .* write {ADVICE}"),
        ("relaxed_iteration_matrix", {}, ValueError, f"cannot run on ranks, because .* {ADVICE}"),
        (
            cs.csp.extreme(messages="numbers"),
            {},
            ValueError,
            "'extreme' cannot run on ranks with messages='numbers', because .* messages='data'",
        ),
        (cs.csp.naive(channels="apart"), {}, ValueError, "channels is 'apart': no effect on ranks"),
        ("naive", {"workers": 0}, ValueError, "workers is 0"),
        ("naive", {"order": "colored"}, ValueError, "'ranges'"),
        ("naive", {"rtol": -1}, ValueError, "rtol"),
        ("naive", {"meaningless": 1}, TypeError, "meaningless"),
    ],
)
def test_bad_input_is_refused_on_all_ranks(pile, network, options, error, words):
    given = {"workers": 3, "unsafe_below": 24} if "relaxed" in str(network) else {"workers": 3}
    refused = []

    def work(comm):
        try:
            with pytest.raises(error, match=words):
                cs.csp.solve(pile, network, comm=comm, **{**given, **options})
            refused.append(comm.rank)
            # Messages between ranks go on.
            return cs.csp.solve(pile, "naive", workers=2, comm=comm, max_iterations=2).iterations
        except BaseException as caught:
            raise AssertionError(f"rank {comm.rank}: {caught}") from caught

    assert cs.distributed.run(work, 2, timeout=20) == [2, 2]
    assert sorted(refused) == [0, 1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"workers": 4}, "workers is 4 on rank 1 and 3 on rank 0"),
        ({"network": "factorized", "page": 16}, "network is factorized on rank 1 and naive on"),
        ({"max_iterations": 4}, "max_iterations is 4 on rank 1"),
        ({"relaxation": 0.5}, "relaxation is given on rank 1 and not on rank 0"),
        ({"network": cs.csp.naive(copies=1)}, "network is"),
        ({"problem": 0.5}, r"problem differs between rank 0 and rank 1 \(in mu\): all ranks need"),
        ({"initial": 0.25}, "initial differs between rank 0 and rank 1: all ranks need the same"),
    ],
)
def test_what_differs_between_ranks_is_refused(pile, change, words):
    def work(comm):
        given = {"problem": pile, "network": "naive", "workers": 3, "max_iterations": 3}
        if comm.rank == 1:
            given |= change
        if not isinstance(given["problem"], cs.Problem):
            given["problem"] = cs.scenarios.random(200, bodies=80, mu=0.5, rng=3)
        if "initial" in change:
            given["initial"] = np.full((200, 3), 0.5 if comm.rank else 0.25)
        with pytest.raises(ValueError, match=words):
            cs.csp.solve(comm=comm, **given)

    cs.distributed.run(work, 2, timeout=20)


@pytest.mark.parametrize(
    ("network", "name", "values"),
    [("factorized", "page", (16, 20)), ("relaxed", "unsafe_below", (8, 9))],
)
def test_the_argument_that_differs_is_named(pile, network, name, values):
    def work(comm):
        words = f"{name} is {values[1]} on rank 1 and {values[0]} on rank 0"
        with pytest.raises(ValueError, match=words):
            cs.csp.Solver(pile, network, workers=3, comm=comm, **{name: values[comm.rank]})

    cs.distributed.run(work, 2, timeout=20)


def test_values_that_differ_are_named(pile):
    given = cs.Problem.from_delassus(pile.delassus(), pile.b, pile.mu)
    groups = [cs.Group(pile.J, pile.bodies, pile.b, mu=pile.mu)] * 2
    b, bodies = pile.b + 1, [cs.Bodies(pile.Minv)]
    grouped = cs.Problem(groups=groups, bodies=bodies)
    others = [groups[0], cs.Group(pile.J, pile.bodies, b, mu=pile.mu)]
    changed = {
        "b": (pile, cs.Problem(pile.J, pile.Minv, b, pile.mu, bodies=pile.bodies)),
        "Minv, mu": (pile, cs.Problem(pile.J, 2 * pile.Minv, pile.b, 0.1, bodies=pile.bodies)),
        "A": (given, cs.Problem.from_delassus(2 * pile.delassus(), pile.b, pile.mu)),
        "Minv, J, bodies, b, A, rows": (pile, given),
        r"b\[1\]": (grouped, cs.Problem(groups=others, bodies=bodies)),
    }

    def work(comm):
        for names, problems in changed.items():
            words = rf"problem differs between rank 0 and rank 1 \(in {names}\): all ranks need"
            with pytest.raises(ValueError, match=words):
                cs.csp.Solver(problems[comm.rank], "naive", workers=2, comm=comm)

        # What is given for one solve stands by itself.
        solver = cs.csp.Solver(pile, "naive", workers=2, comm=comm, max_iterations=2)
        for name, values in {"b": (pile.b, b), "mu": (0.5, 0.25)}.items():
            with pytest.raises(ValueError, match=f"^{name} differs between rank 0 and rank 1: all"):
                solver.solve(**{name: values[comm.rank]})

        # What is given in another form does not differ.
        mu = 0.5 if comm.rank else np.full(pile.contacts, 0.5)
        equal = cs.Problem(pile.J, pile.Minv, pile.b, mu, bodies=pile.bodies)
        solver = cs.csp.Solver(equal, "naive", workers=2, comm=comm, max_iterations=2)
        return solver.solve(b=b).iterations

    assert cs.distributed.run(work, 2, timeout=20) == [2, 2]


def test_a_distributed_problem_is_told_what_to_do(pile):
    def work(comm):
        spread = cs.distributed.scatter(pile, comm=comm)
        with pytest.raises(TypeError, match=r"problem\.gather\(\).*distributed\.solve takes this"):
            cs.csp.solve(spread, "naive", comm=comm)
        return cs.csp.solve(spread.gather(), "naive", comm=comm, max_iterations=2).iterations

    assert cs.distributed.run(work, 2, timeout=20) == [2, 2]


# ---- how a solve ends early ---------------------------------------------------------------------


# A grid on which no network diverges or ends by itself.
@pytest.fixture(scope="module")
def grid():
    return cs.scenarios.ball_grid(5, velocity=0.3)


ENDLESS = {"workers": 3, "max_iterations": 10**8, "record": (), "record_every": 10**8, **FIXED}


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("name", ["naive", "extreme"])
def test_ctrl_c_ends_a_network(grid, name, ranks):
    before = threading.active_count()
    start = time.monotonic()
    ctrl_c_ends(lambda: on_ranks(ranks, grid, name, **ENDLESS), after=0.4, within=6)
    assert time.monotonic() - start < 6
    while threading.active_count() > before:  # the last ones are about to end
        assert time.monotonic() - start < 6
        time.sleep(0.01)


@pytest.mark.parametrize("failing", [0, 2])
def test_a_rank_that_fails_ends_all(grid, failing):
    ended = []

    def refuse(state):
        if state.iteration > 20:
            raise ValueError("enough")

    def work(comm):
        try:
            callback = refuse if comm.rank == failing else None
            cs.csp.solve(grid, "naive", comm=comm, **ENDLESS, callback=callback)
        except Exception as error:
            ended.append(f"{error}")
            raise

    start = time.monotonic()
    with pytest.raises(ValueError, match="enough"):
        cs.distributed.run(work, 3, timeout=30)
    assert time.monotonic() - start < 5
    assert len(ended) == 3
    assert all("enough" in text for text in ended)


def test_a_rank_that_leaves_ends_all(grid):
    """Rank 1 makes a solver, and does not solve."""

    def work(comm):
        solver = cs.csp.Solver(grid, "naive", comm=comm, **ENDLESS)
        if comm.rank != 1:
            solver.solve()

    with pytest.raises(cs.distributed.RankError, match="rank 1 has ended"):
        cs.distributed.run(work, 3, timeout=30)


def test_one_rank_may_stop_all(grid):
    def stop(state):
        if state.iteration >= 20:
            raise StopIteration

    def work(comm):
        callback = stop if comm.rank == 1 else None
        return cs.csp.solve(grid, "factorized", comm=comm, **ENDLESS, callback=callback)

    found = cs.distributed.run(work, 3)
    assert {result.status for result in found} == {"stopped"}
    assert {result.iterations for result in found} == {20}
    assert all(np.array_equal(found[0].impulses, one.impulses) for one in found)


def test_all_ranks_end_at_the_deadline(grid):
    found = on_ranks(3, grid, "naive", **ENDLESS, max_seconds=0.3)
    assert len({result.iterations for result in found}) == 1
    assert {result.status for result in found} == {found[0].status}
    assert all(np.array_equal(found[0].impulses, one.impulses) for one in found)


def test_one_rank_may_watch_after_an_update():
    def work(comm):
        problem = cs.scenarios.random(60, bodies=30, mu=0.4, rng=3)
        fixed = {"rtol": None, "atol": None, "max_iterations": 6}
        solver = cs.csp.Solver(problem, "naive", workers=2, comm=comm, **fixed)
        solver.solve()
        problem.update(b=problem.b * 1.5)
        watch = (lambda state: None) if comm.rank == 1 else None
        return solver.solve(callback=watch).impulses, solver.solve().impulses

    for found in cs.distributed.run(work, 2, timeout=20):
        assert np.array_equal(*found)


@pytest.mark.parametrize("name", ["factorized", "extreme"])
def test_a_rank_without_memory_ends_the_set_up_on_all_ranks(name):
    """Each of the first allocations of a solve fails once, on whichever rank makes it."""
    failures = 0
    problem = cs.scenarios.ball_grid(3, velocity=0.3)
    for successes in range(0, 260, 9):

        def work(comm, successes=successes):
            comm.barrier()
            if comm.rank == 0:
                _core.memory_fail_after(successes)
            return cs.csp.solve(problem, name, workers=2, comm=comm, max_iterations=2)

        try:
            cs.distributed.run(work, 2, timeout=20)
        except MemoryError:
            failures += 1
        finally:
            _core.memory_fail_after(-1)
    assert failures > 5
