"""The engine `cached`: S3's cache of factors, with its skyline."""

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from reference_mlcp import KINDS, random_mlcp

COUNTS = {"hits", "misses", "evictions", "entries", "bytes", "most_bytes"}


def chain(m=12):
    """A tridiagonal matrix, and its rows in the order in which they are factored."""
    A = 2.5 * np.eye(m) - np.eye(m, k=1) - np.eye(m, k=-1)
    return A, cs.mlcp.fill_order(A)


def at_once(solver, A, tight):
    """Solve the problem whose index set is given: rows `tight` at 0, the others free."""
    m = len(A)
    x, w = np.ones(m), np.zeros(m)
    x[tight], w[tight] = 0.0, 1.0
    index_set = np.zeros(m)
    index_set[tight] = -1
    result = solver.solve(w - A @ x, initial=index_set)
    assert result.pivots == 0
    np.testing.assert_allclose(result.x, x, atol=1e-12)
    return result


def test_the_example_of_the_source():
    """S3 sections 3.1 and 3.2: after {1, 2, 5} the set {1, 2, 6, 7} begins with {1, 2}."""
    A, order = chain()
    solver = cs.MlcpSolver(A, engine="cached")
    seen = []
    for rows in ([1, 2, 5], [1, 2, 6, 7], [2, 6, 7], [1, 2, 6], [1, 2, 5]):
        cache = at_once(solver, A, order[rows]).info["cache"]
        assert set(cache) == COUNTS
        seen.append((cache["hits"], cache["misses"], cache["entries"]))
    assert seen == [(0, 3, 3), (2, 2, 5), (0, 3, 8), (3, 0, 8), (3, 0, 8)]


def solved_or_refused(solver, b, lo, hi, initial):
    """Return the result, or the words with which A was refused."""
    try:
        return solver.solve(b, lo, hi, initial=initial)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("cache_bytes", [0, 3000, 20_000, 1 << 26])
def test_the_numbers_are_those_of_skyline(cache_bytes):
    """Bit by bit, whatever is kept: no part is ever taken for that of another set."""
    rng = np.random.default_rng(1)
    hits = evictions = 0
    for trial in range(21):
        A, b, lo, hi = random_mlcp(rng, int(rng.integers(1, 30)), KINDS[trial % len(KINDS)])
        cached = cs.MlcpSolver(A, engine="cached", cache_bytes=cache_bytes)
        skyline = cs.MlcpSolver(A, engine="skyline")
        for _ in range(6):
            initial = rng.integers(-1, 2, len(b))
            expected, result = (
                solved_or_refused(one, b, lo, hi, initial) for one in (skyline, cached)
            )
            if isinstance(expected, str):
                assert result == expected
                assert "not positive definite" in expected
                continue
            assert (result.x == expected.x).all()
            assert result.history["tight"].tolist() == expected.history["tight"].tolist()
            cache = result.info["cache"]
            assert cache["bytes"] <= cache["most_bytes"] <= cache_bytes
            assert (cache["entries"] > 0) == (cache["bytes"] > 0)
            hits += cache["hits"]
            evictions += cache["evictions"]
            b = b + 0.3 * rng.normal(size=len(b))
    assert (hits > 0) == (cache_bytes > 0)
    assert (evictions > 0) == (0 < cache_bytes < 1 << 26)


def test_parts_outlive_a_solve():
    A, b, lo, hi = random_mlcp(np.random.default_rng(2), 60, "sparse")
    solver = cs.MlcpSolver(A, engine="cached")
    first = solver.solve(b, lo, hi).info["cache"]
    again = solver.solve(b, lo, hi).info["cache"]
    assert first["misses"] > 0
    assert again["misses"] == 0
    assert again["hits"] == first["hits"] + first["misses"]
    assert again["bytes"] == first["bytes"] == first["most_bytes"]


def test_what_was_used_last_stays():
    """Room for the parts of two sets: the third drives out the one used least lately."""
    A, order = chain(40)
    rows = [order[[k]] for k in (3, 5, 7)]
    whole = cs.MlcpSolver(A, engine="cached")
    sizes = [at_once(whole, A, row).info["cache"]["bytes"] for row in rows]
    room = cs.MlcpSolver(A, engine="cached", cache_bytes=sizes[1])
    for row in (rows[0], rows[1], rows[0]):
        at_once(room, A, row)
    assert at_once(room, A, rows[2]).info["cache"]["evictions"] == 1
    assert at_once(room, A, rows[0]).info["cache"]["hits"] == 1
    assert at_once(room, A, rows[1]).info["cache"]["misses"] == 1


def test_a_contact_problem_tells_of_its_cache():
    scene = cs.scenarios.ball_grid(3, velocity=0.1)
    boxes = cs.sets.box_friction(scene.mu)
    problem = cs.Problem(
        scene.J, scene.Minv, scene.b, bodies=scene.bodies, sets=boxes, compliance=1e-6
    )
    options = {"rtol": 1e-9, "max_iterations": 300}
    method = cs.methods.bpp(engine="cached", cache_bytes=1 << 20)
    solver = cs.Solver(problem, method=method, **options)
    result = solver.solve()
    expected = cs.solve(problem, method=cs.methods.bpp(engine="skyline"), **options)
    assert (result.impulses == expected.impulses).all()
    cache = result.info["cache"]
    assert cache["hits"] > 0
    assert 0 < cache["bytes"] <= cache["most_bytes"] <= 1 << 20
    assert "cache" not in expected.info
    problem.update(Minv=2 * problem.Minv)
    renewed = solver.solve()
    fresh = cs.solve(problem, method=method, **options)
    assert (renewed.impulses == fresh.impulses).all()
    assert renewed.info["cache"] == fresh.info["cache"]


def test_without_memory_the_cache_keeps_less():
    A, b, lo, hi = random_mlcp(np.random.default_rng(3), 30, "plain")
    expected = cs.MlcpSolver(A, engine="skyline").solve(b, lo, hi)
    entries, failed = [], 0
    for successes in range(200):
        solver = cs.MlcpSolver(A, engine="cached")
        solver.solve(b, -np.inf, np.inf)  # the history has its room
        _core.memory_fail_after(successes)
        try:
            result = solver.solve(b, lo, hi)
        except MemoryError:
            failed += 1
            continue
        finally:
            _core.memory_fail_after(-1)
        assert (result.x == expected.x).all()
        entries.append(result.info["cache"]["entries"])
    assert failed == 0
    assert min(entries) < max(entries)
    assert result.info["cache"]["entries"] == max(entries)


def test_the_largest_bound_of_the_table_is_taken():
    most = int(cs.methods.describe("bpp").options["cache_bytes"].most)
    problem = cs.scenarios.ball_grid(2, rows=1)
    for cache_bytes in (2**31, most):
        cached = cs.MlcpSolver(np.eye(2), engine="cached", cache_bytes=cache_bytes)
        assert cached.solve([-1.0, 1.0]).x.tolist() == [1.0, 0.0]
        method = cs.methods.bpp(engine="cached", cache_bytes=cache_bytes)
        assert cs.solve(problem, method=method).converged


@pytest.mark.parametrize(
    ("cache_bytes", "error", "message"),
    [
        (-1, ValueError, "cache_bytes is -1: it must be at least 0"),
        (1.5, TypeError, "cache_bytes is 1.5: an integer"),
        (10**19, ValueError, r"cache_bytes is 10{19}: it must be at most 9e\+18"),
    ],
)
def test_a_bound_that_is_none_is_named(cache_bytes, error, message):
    with pytest.raises(error, match=message):
        cs.MlcpSolver(np.eye(2), engine="cached", cache_bytes=cache_bytes)
    with pytest.raises(error, match=message):
        cs.Solver(cs.scenarios.ball_grid(2, rows=1), method=cs.methods.bpp(cache_bytes=cache_bytes))
