"""Mixed LCPs by pivoting, against all index sets and from outside."""

import gc
import os
import re
import threading
import time

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from interruption import ctrl_c_ends
from reference_mlcp import EXACT_KINDS, KINDS, brute_force, natural_residual, random_mlcp

pytestmark = pytest.mark.threads

RULES, ENGINES = list(cs.mlcp.rules()), list(cs.mlcp.engines())
WAYS = [("bpp", engine) for engine in ENGINES]
WAYS += [(rule, "auto") for rule in RULES if rule != "bpp"]


def ways(function):
    return pytest.mark.parametrize(("method", "engine"), WAYS)(function)


@pytest.mark.sampled(3)
@ways
def test_small_problems_against_all_index_sets(method, engine):
    rng = np.random.default_rng(1)
    for trial in range(60):
        m = int(rng.integers(1, 7))
        A, b, lo, hi = random_mlcp(rng, m, EXACT_KINDS[trial % len(EXACT_KINDS)])
        result = cs.solve_mlcp(A, b, lo, hi, method=method, engine=engine)
        assert result.status == "converged", (trial, result.message)
        expected = brute_force(A, b, lo, hi)
        np.testing.assert_allclose(
            result.x, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max()
        )
        np.testing.assert_allclose(result.w, A @ result.x + b, atol=1e-9 * np.abs(b).max())


@ways
def test_symmetric_problems_against_a_quadratic_program(method, engine):
    """x of a symmetric A is the least of x A x / 2 + b x within the bounds (SciPy's BVLS)."""
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(7)
    for m in (3, 12, 30):
        G = rng.normal(size=(m, m))
        A, b = G @ G.T + 0.1 * np.eye(m), rng.normal(size=m)
        lo = np.where(rng.random(m) < 0.3, -np.inf, -0.3 * rng.random(m))
        hi = np.where(rng.random(m) < 0.3, np.inf, 0.3 * rng.random(m))
        root = np.linalg.cholesky(A)
        program = optimize.lsq_linear(
            root.T, -np.linalg.solve(root, b), (lo, hi), method="bvls", tol=1e-14
        )
        result = cs.solve_mlcp(A, b, lo, hi, method=method, engine=engine)
        assert program.success
        assert result.converged
        scale = np.abs(program.x).max() * np.linalg.cond(A)
        np.testing.assert_allclose(result.x, program.x, atol=1e-12 * scale)


def solved_or_refused(A, b, lo, hi, **options):
    """The result; None where A was refused as not positive definite."""
    try:
        return cs.solve_mlcp(A, b, lo, hi, **options)
    except ValueError as error:
        if "not positive definite" not in str(error):
            raise
        return None


@pytest.mark.sampled(4)
@ways
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_called_right_is_right(method, engine, kind):
    """Never a wrong answer called right; and right ones where A is not close to singular."""
    rng = np.random.default_rng(2)
    for _ in range(25):
        A, b, lo, hi = random_mlcp(rng, int(rng.integers(1, 60)), kind)
        result = solved_or_refused(A, b, lo, hi, method=method, engine=engine)
        if result is None:
            assert kind == "near_singular"
            continue
        outside = natural_residual(A, b, lo, hi, result.x)
        assert (lo <= result.x).all()
        assert (result.x <= hi).all()
        noise = rounding(A, b, result.x)
        assert result.residual_scaled == pytest.approx(outside, rel=1e-6, abs=noise)
        assert result.converged == (result.residual_scaled <= 1e-9)
        if kind not in ("near_singular", "redundant"):
            assert result.converged, result.message


def rounding(A, b, x):
    """What rounding of A x + b can make of the scaled residual."""
    rho = 1 / np.diag(A)
    scale = np.abs(x) + rho * np.abs(b).max(initial=1e-300)
    return 1e-15 + 1e-15 * np.max(rho * (np.abs(A) @ np.abs(x)) / scale, initial=0.0)


def problem(rng, m=40):
    return random_mlcp(rng, m, "sparse")


@pytest.mark.parametrize(("method", "engine"), [way for way in WAYS if way[0] != "lemke"])
def test_an_index_set_starts_where_it_ended(method, engine):
    rng = np.random.default_rng(3)
    A, b, lo, hi = problem(rng)
    solver = cs.MlcpSolver(A, method=method, engine=engine)
    first = solver.solve(b, lo, hi)
    again = solver.solve(b, lo, hi, initial=first)
    if method in ("bpp", "murty"):
        assert again.pivots == 0
    np.testing.assert_allclose(again.x, first.x, rtol=0, atol=1e-12)
    random_start = rng.integers(-1, 2, len(b))
    other = solver.solve(b, lo, hi, initial=random_start)
    assert other.converged
    np.testing.assert_allclose(other.x, first.x, rtol=0, atol=1e-9)


@ways
def test_one_solver_solves_one_problem_after_another(method, engine):
    rng = np.random.default_rng(4)
    A, b, lo, hi = problem(rng)
    solver = cs.MlcpSolver(A, method=method, engine=engine)
    for _ in range(4):
        b = b + rng.normal(size=len(b))
        result = solver.solve(b, lo, hi)
        fresh = cs.solve_mlcp(A, b, lo, hi, method=method, engine=engine)
        np.testing.assert_allclose(result.x, fresh.x, rtol=0, atol=1e-10)


@ways
def test_no_rows_and_one_row(method, engine):
    empty = cs.solve_mlcp(np.zeros((0, 0)), [], method=method, engine=engine)
    assert empty.converged
    assert empty.x.shape == (0,)
    assert empty.worst_row == -1
    for b, lo, hi, x in [(-3, 0, np.inf, 1.5), (3, 0, np.inf, 0), (3, -1, 1, -1)]:
        one = cs.solve_mlcp([[2.0]], [b], lo, hi, method=method, engine=engine)
        assert one.x[0] == pytest.approx(x, rel=1e-15)
        assert one.converged


@ways
def test_free_rows_alone_are_a_linear_system(method, engine):
    rng = np.random.default_rng(5)
    A, b, *_ = problem(rng)
    result = cs.solve_mlcp(A, b, -np.inf, np.inf, method=method, engine=engine)
    np.testing.assert_allclose(result.x, np.linalg.solve(A, -b), atol=1e-11)
    assert (result.index_set == 0).all()


@ways
def test_rows_without_play_stay(method, engine):
    rng = np.random.default_rng(6)
    A, b, *_ = problem(rng, 12)
    x = rng.normal(size=12)
    result = cs.solve_mlcp(A, b, x, x, method=method, engine=engine)
    assert result.x.tolist() == x.tolist()
    assert result.converged


@pytest.mark.parametrize("form", ["dense", "csr", "triple", "fortran", "repeated"])
def test_forms_of_the_matrix(form):
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(7)
    A, b, lo, hi = problem(rng)
    csr = sparse.csr_array(A)
    forms = {
        "dense": A,
        "csr": csr,
        "triple": (csr.data, csr.indices, csr.indptr),
        "fortran": np.asfortranarray(A),
        "repeated": (
            np.repeat(csr.data / 2, 2),
            np.repeat(csr.indices, 2),
            np.asarray(csr.indptr) * 2,
        ),
    }
    given = forms[form]
    kept = given.copy() if form != "triple" and form != "repeated" else None
    result = cs.solve_mlcp(given, b, lo, hi)
    expected = cs.solve_mlcp(A, b, lo, hi)
    np.testing.assert_allclose(result.x, expected.x, rtol=0, atol=1e-12)
    if form == "dense":
        assert (given == kept).all()


def test_islands_are_solved_apart():
    rng = np.random.default_rng(8)
    A, b, lo, hi = random_mlcp(rng, 16, "islands")
    whole = cs.solve_mlcp(A, b, lo, hi)
    assert whole.info["islands"] == 4
    assert whole.info["largest_island"] == 4
    from_parts = np.empty(16)
    reached = np.linalg.matrix_power((A != 0).astype(int), 16) > 0
    for row in range(16):
        part = np.flatnonzero(reached[row])
        inner = np.ix_(part, part)
        from_parts[part] = cs.solve_mlcp(A[inner], b[part], lo[part], hi[part]).x
    np.testing.assert_allclose(whole.x, from_parts, rtol=0, atol=1e-13)


def many_islands(rng, islands=60):
    """Islands of 1 to 40 rows side by side, their rows mixed."""
    parts = [random_mlcp(rng, int(rng.integers(1, 41)), "plain") for _ in range(islands)]
    sizes = [len(part[1]) for part in parts]
    A, start = np.zeros((sum(sizes), sum(sizes))), 0
    for part, size in zip(parts, sizes, strict=True):
        A[start : start + size, start : start + size] = part[0]
        start += size
    order = rng.permutation(len(A))
    b, lo, hi = (np.concatenate([part[i] for part in parts])[order] for i in (1, 2, 3))
    return A[np.ix_(order, order)], b, lo, hi


@pytest.mark.sampled(3)
@ways
def test_threads_change_nothing(method, engine):
    A, b, lo, hi = many_islands(np.random.default_rng(21))
    options = {"method": method, "engine": engine}
    one = cs.solve_mlcp(A, b, lo, hi, threads=1, **options)
    assert one.info["islands"] == 60
    most = min(60, 4 * len(os.sched_getaffinity(0)))
    for threads in (2, 3, 100):
        other = cs.solve_mlcp(A, b, lo, hi, threads=threads, exact_threads=True, **options)
        assert min(threads, 4) <= other.info["threads"] <= min(threads, most)
        assert other.history == one.history
        for name in ("x", "w", "index_set"):
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
        for name in ("pivots", "single_pivots", "factorizations", "refinements", "residual"):
            assert getattr(other, name) == getattr(one, name)


@ways
def test_all_islands_as_one(method, engine):
    A, b, lo, hi = many_islands(np.random.default_rng(22), 8)
    apart = cs.solve_mlcp(A, b, lo, hi, method=method, engine=engine)
    whole = cs.solve_mlcp(A, b, lo, hi, method=method, engine=engine, islands=False)
    assert apart.info["islands"] == 8
    assert whole.info["islands"] == 1
    assert whole.info["largest_island"] == len(A)
    np.testing.assert_allclose(whole.x, apart.x, rtol=0, atol=1e-9)


def test_the_first_bad_island_is_named_whoever_finds_it():
    A, b = np.eye(300), np.ones(300)
    A[200, 200], A[100, 100] = -1.0, -2.0
    for threads in (1, 2, 7):
        with pytest.raises(ValueError, match=r"A\[100, 100\] = -2"):
            cs.solve_mlcp(A, b, -np.inf, threads=threads, exact_threads=True)


def test_history_tells_of_each_pivot():
    rng = np.random.default_rng(9)
    A, b, lo, hi = random_mlcp(rng, 50, "plain")
    result = cs.solve_mlcp(A, b, lo, hi)
    history = result.history
    assert history.columns == ("step", "island", "infeasible", "tight", "changed")
    assert len(history) == result.pivots + 1
    assert history["step"].tolist() == list(range(result.pivots + 1))
    assert history["infeasible"][0] > 0
    assert history["infeasible"][-1] == 0
    assert history["tight"][-1] == np.count_nonzero(result.index_set)
    single = cs.solve_mlcp(A, b, lo, hi, method="murty")
    assert (single.history["changed"][:-1] == 1).all()
    assert single.pivots == single.single_pivots > result.pivots


def cycling_block_steps():
    """A problem on which steps of all rows go round in circles (Júdice and Pires)."""
    rng = np.random.default_rng(0)
    for _ in range(2000):
        m = int(rng.integers(3, 8))
        G = rng.normal(size=(m, m))
        A = G @ G.T + 1e-3 * np.eye(m)
        b = rng.normal(size=m)
        blocks = {"stall_steps": 10**6, "block_steps": 10**6, "interior": False}
        stubborn = cs.solve_mlcp(A, b, max_pivots=200, **blocks)
        if stubborn.status == "max_pivots":
            return A, b
    raise AssertionError("no block steps go round in circles")


def test_single_steps_end_what_block_steps_do_not():
    A, b = cycling_block_steps()
    result = cs.solve_mlcp(A, b, interior=False)
    assert result.converged
    assert result.single_pivots > 0
    by_blocks = cs.solve_mlcp(A, b, stall_steps=10**6, block_steps=35, interior=False)
    assert by_blocks.converged
    assert by_blocks.pivots > 35
    np.testing.assert_allclose(result.x, by_blocks.x, atol=1e-9)
    foreseen = cs.solve_mlcp(A, b)
    assert foreseen.converged
    assert foreseen.interior_steps > 0
    assert foreseen.single_pivots == 0
    np.testing.assert_allclose(foreseen.x, by_blocks.x, atol=1e-9)


def jumping(rng, links=40):
    """A chain of stiff joints that lies on many contacts: index sets jump about on it."""
    m = 9 * links
    J = np.zeros((m, 6 * links))
    for k in range(links):
        here = slice(6 * k, 6 * k + 6)
        J[9 * k : 9 * k + 3, here] = np.hstack([np.eye(3), 0.1 * rng.normal(size=(3, 3))])
        if k:
            J[9 * k : 9 * k + 3, 6 * k - 6 : 6 * k] = -J[9 * k : 9 * k + 3, here]
        J[9 * k + 3 : 9 * k + 9, here] = np.hstack([np.eye(3), rng.normal(size=(3, 3))]).repeat(
            2, 0
        )
        J[9 * k + 3 : 9 * k + 9, here] += 0.05 * rng.normal(size=(6, 6))
    A = J @ np.diag(np.tile([1.0, 1, 1, 300, 300, 1000], links)) @ J.T + 1e-6 * np.eye(m)
    b = J @ (0.2 * rng.normal(size=6 * links))
    lo, hi = np.full(m, -np.inf), np.full(m, np.inf)
    for k in range(links):
        contact = slice(9 * k + 3, 9 * k + 9)
        lo[contact], hi[contact] = -0.05, 0.05
        lo[9 * k + 3], hi[9 * k + 3] = 0.0, np.inf
    return A, b, lo, hi


def test_where_index_sets_jump_about_it_ends_all_the_same():
    """Murty's rule alone takes more than a thousand steps on one of these."""
    rng = np.random.default_rng(17)
    slow, stalled = 0, 0
    for _ in range(6):
        A, b, lo, hi = jumping(rng)
        result = cs.solve_mlcp(A, b, lo, hi, interior=False)
        assert result.converged, result.message
        assert result.pivots < 500
        stalled += result.single_pivots > 0
        foreseen = cs.solve_mlcp(A, b, lo, hi)
        assert foreseen.converged, foreseen.message
        assert foreseen.pivots < 15
        assert 0 < foreseen.interior_steps < 60
        assert foreseen.factorizations < result.pivots
        np.testing.assert_allclose(foreseen.x, result.x, atol=1e-7)
        slow += cs.solve_mlcp(A, b, lo, hi, method="murty", max_pivots=1000).status == "max_pivots"
    assert slow > 0
    assert stalled > 0


def test_a_limit_on_pivots_is_told():
    rng = np.random.default_rng(10)
    A, b, lo, hi = random_mlcp(rng, 50, "plain")
    result = cs.solve_mlcp(A, b, lo, hi, max_pivots=1)
    assert result.status == "max_pivots"
    assert not result.converged
    assert result.pivots == 1
    assert "max_pivots" in result.message
    assert result.residual_scaled > 1e-9


def test_unsymmetric_matrices_are_told_and_judged_as_given():
    rng = np.random.default_rng(11)
    A, b, lo, hi = problem(rng)
    skew = np.triu(1e-3 * A, 1)
    given = A + skew - skew.T
    result = cs.solve_mlcp(given, b, lo, hi)
    symmetric = cs.solve_mlcp(A, b, lo, hi)
    np.testing.assert_allclose(result.x, symmetric.x, rtol=0, atol=1e-12)
    outside = natural_residual(given, b, lo, hi, result.x)
    assert result.residual_scaled == pytest.approx(outside)
    assert not result.converged
    assert "unsymmetric" in result.info["warnings"][0]
    assert "A is unsymmetric, by" in result.message
    assert result.info["asymmetry"] == pytest.approx(
        np.abs(given - given.T).max() / np.abs(given).max()
    )


# ---- accuracy -----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_the_condition_is_estimated(engine):
    rng = np.random.default_rng(12)
    for exponent in (0, 3, 6, 9):
        Q = np.linalg.qr(rng.normal(size=(30, 30)))[0]
        A = (Q * np.logspace(0, -exponent, 30)) @ Q.T
        A = (A + A.T) / 2
        result = cs.solve_mlcp(A, rng.normal(size=30), -np.inf, engine=engine, condition=True)
        true = np.linalg.cond(A, 1)
        assert true / 3 <= result.condition <= 1.01 * true
    assert cs.solve_mlcp(np.eye(2), [1.0, 1.0]).condition is None


@pytest.mark.parametrize("engine", ENGINES)
def test_refinement_recovers_digits(engine):
    """Badly scaled systems: with refinement the residual of every free row is rounding."""
    rng = np.random.default_rng(13)
    Q = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    A = (Q * np.logspace(0, -9, 60)) @ Q.T
    A = (A + A.T) / 2
    b = rng.normal(size=60)
    result = cs.solve_mlcp(A, b, -np.inf, engine=engine, refinements=5)
    noise = np.abs(b) + np.abs(A) @ np.abs(result.x)
    assert np.max(np.abs(A @ result.x + b) / noise) < 1e-13


@pytest.mark.parametrize("engine", ENGINES)
def test_a_zero_on_the_diagonal_names_the_method_that_takes_it(engine):
    A, b = np.array([[0.0, 1.0], [1.0, 0.0]]), [-1.0, -1.0]
    with pytest.raises(ValueError, match="method='lemke' takes zeros on the diagonal"):
        cs.solve_mlcp(A, b, engine=engine)
    assert cs.solve_mlcp(A, b, method="lemke").converged


def cure_named(failure):
    return float(
        re.search(r"a compliance of (\S+) on every row would cure it", str(failure.value))[1]
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_singular_matrix_names_its_cure(engine):
    """Two equal rows: what the message says, added to the diagonal, makes it solvable."""
    rng = np.random.default_rng(14)
    J = rng.normal(size=(6, 10))
    J[4] = J[1]
    A, b = J @ J.T, rng.normal(size=6)
    with pytest.raises(
        ValueError, match=r"leaves \S+ of A\[[14], [14]\] = .*on every row"
    ) as failure:
        cs.solve_mlcp(A, b, -np.inf, engine=engine)
    cured = A + cure_named(failure) * np.eye(6)
    assert cs.solve_mlcp(cured, b, -np.inf, engine=engine, refinements=10).status in (
        "converged",
        "inaccurate",
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_an_indefinite_matrix_names_its_cure(engine):
    A = np.diag([1.0, 2.0, 3.0]) + np.eye(3, k=1) + np.eye(3, k=-1)
    A[1, 1] = -0.5
    with pytest.raises(ValueError, match=r"not positive definite.*compliance") as failure:
        cs.solve_mlcp(A, np.ones(3), -np.inf, engine=engine)
    A += cure_named(failure) * np.eye(3)
    assert cs.solve_mlcp(A, np.ones(3), -np.inf, engine=engine).converged


def test_a_light_body_beside_a_heavy_one_is_held():
    """Mass ratio 4e6: one scale for all rows would accept a penetrating light body."""
    A, b = np.diag([1.0, 1 / 4e6]), np.array([-1e-4, -10.0])
    result = cs.solve_mlcp(A, b)
    np.testing.assert_allclose(result.x, [1e-4, 4e7], rtol=1e-14)


@ways
@pytest.mark.parametrize("force", [0.0, 1e-9])
def test_bounds_far_away_cost_no_digits(method, engine, force):
    """Lemke's method counts from bounds: what it finds near zero would have theirs."""
    rng = np.random.default_rng(4)
    A = random_mlcp(rng, 6, "plain")[0]
    b = force * rng.normal(size=6)
    result = cs.solve_mlcp(A, b, -0.7, [0.3, 0.9, np.inf] * 2, method=method, engine=engine)
    assert result.converged, result.message
    np.testing.assert_allclose(result.x, np.linalg.solve(A, -b), rtol=1e-12)


# ---- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b": [1.0, np.nan]}, r"b\[1\] is nan"),
        ({"lo": [0.0, np.inf]}, r"lo\[1\] is inf"),
        ({"hi": [-np.inf, 1.0]}, r"hi\[0\] is -inf"),
        ({"lo": 2.0, "hi": 1.0}, r"lo\[0\] is 2, above hi\[0\] = 1"),
        ({"initial": [0, 2]}, r"initial\[1\] is 2"),
        ({"initial": [0, 0.5]}, r"initial\[1\] is 0.5"),
        ({"initial": [0, 0, 0]}, "initial has 3 entries; A has 2"),
        ({"b": [1.0, 2.0, 3.0]}, "b has 3 entries; A has 2"),
        ({"lo": [1.0, 2.0, 3.0]}, r"lo has shape \(3,\)"),
        ({"A": [[1.0, np.nan], [0.0, 1.0]]}, r"A\[0, 1\] is nan"),
        ({"A": [[1.0, 2.0]]}, r"A has shape \(1, 2\)"),
        ({"A": ([1.0, 1.0], [0, 2], [0, 1, 2])}, r"A.indices\[1\] is 2"),
        (
            {"A": ([1.0, 1.0], [0, 1], [0, 1, 3])},
            "A.indptr ends at 3, but A.indices has 2 entries and A.data 2",
        ),
        ({"A": ([1.0, 1.0], [0, 1], [0, 3, 2])}, r"A.indptr\[2\] is 2, below"),
        ({"A": ([1.0, 1.0], [0, 1], [1, 1, 2])}, r"A.indptr\[0\] is 1"),
        ({"A": ([1.0], [0, 1], [0, 1, 2])}, "A.indices has 2 entries and A.data 1"),
        ({"islands": True}, "islands is True: 'auto' or False"),
        ({"threads": 0}, "threads is 0"),
        ({"method": "simplex"}, "method: 'simplex' is unknown; known: bpp"),
        ({"engine": "steam"}, "engine: 'steam' is unknown; known: auto, refactor"),
        (
            {"method": "lemke", "engine": "envelope"},
            "engine is envelope: it is for methods",
        ),
        ({"method": "lemke", "initial": [0, 0]}, "initial: method='lemke' cannot begin"),
        ({"tolerance": 0.0}, "tolerance is 0"),
        ({"block_steps": -1}, "block_steps is -1"),
        ({"max_pivots": 0}, "max_pivots is 0"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"A": np.eye(2), "b": [1.0, 2.0]} | change
    with pytest.raises(ValueError, match=message):
        cs.solve_mlcp(**arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": 3}, "method is 3: a name"),
        ({"stall_steps": 1.5}, "stall_steps is 1.5: an integer"),
        ({"tolerance": "small"}, "tolerance is 'small': a number"),
        ({"b": [1j, 2]}, "b has dtype complex128"),
        ({"A": None}, "A is missing"),
        ({"condition": 2}, "condition is 2: True or False"),
        ({"interior": "no"}, "interior is 'no': True or False"),
    ],
)
def test_bad_types_are_named(change, message):
    arguments = {"A": np.eye(2), "b": [1.0, 2.0]} | change
    with pytest.raises(TypeError, match=message):
        cs.solve_mlcp(**arguments)


def test_out_of_memory_is_an_exception_and_leaves_nothing():
    rng = np.random.default_rng(15)
    A, b, lo, hi = problem(rng)
    gc.collect()
    live = _core.memory_live()
    failures = 0
    for successes in range(400):
        _core.memory_fail_after(successes)
        try:
            cs.solve_mlcp(A, b, lo, hi)
        except MemoryError:
            failures += 1
        else:
            break
        finally:
            _core.memory_fail_after(-1)
        gc.collect()
        assert _core.memory_live() == live
    assert failures > 3


def hard(m=1500):
    """A problem that takes Murty's rule a long time."""
    rng = np.random.default_rng(16)
    G = rng.normal(size=(m, m))
    return G @ G.T + 0.1 * np.eye(m), rng.normal(size=m)


def test_ctrl_c_ends_a_solve():
    solver = cs.MlcpSolver(hard()[0], method="murty", engine="refactor")
    b = hard()[1]
    ctrl_c_ends(lambda: solver.solve(b), after=0.3, within=10)


def test_a_solver_at_work_refuses():
    A, b = hard(600)
    solver = cs.MlcpSolver(A, method="murty", engine="refactor", max_pivots=40)
    refused, started = [], threading.Event()

    def solve():
        try:
            solver.solve(b)
        except RuntimeError as error:
            refused.append(str(error))

    def work():
        started.set()
        while not refused:
            solve()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    until = time.perf_counter() + 60
    while not refused and time.perf_counter() < until:
        solve()
    refused.append("")
    thread.join()
    assert "already" in refused[0]


def test_the_names_have_summaries():
    for names in (cs.mlcp.rules(), cs.mlcp.engines()):
        assert all(len(text) > 10 for text in names.values())
    assert "bpp" in cs.mlcp.rules()
    assert repr(cs.MlcpSolver(np.eye(2))) == "MlcpSolver(2 rows, bpp, envelope)"
    assert repr(cs.solve_mlcp(np.eye(2), [1, 1])).startswith("MlcpResult(converged after")
