"""Conjugate gradients for block systems: residuals, precisions, threads, verdicts, errors."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import contactsolve as cs
from cloth_matrices import cloth_matrix

DTYPES = ("float64", "float32", "mixed")
KINDS = tuple(cs.sparse.preconditioners())


@pytest.fixture(scope="module")
def matrix():
    return cloth_matrix(20, 21, seed=0)[0]


@pytest.fixture(scope="module")
def system(matrix):
    return cs.sparse.SymmetricBlocks(matrix)


def right_side(system, seed=1):
    return np.random.default_rng(seed).normal(size=system.shape[0])


def true_residual(matrix, b, x):
    return np.linalg.norm(b - matrix.astype(np.longdouble).toarray() @ x.astype(np.longdouble))


# ---- what it solves ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_true_residual_is_below_the_tolerance(matrix, system, kind, dtype):
    b = right_side(system)
    result = cs.sparse.cg(system, b, M=kind, dtype=dtype, rtol=1e-8)
    x, info = result
    assert (info, result.status) == (0, "converged")
    residual = float(true_residual(matrix, b, x))
    assert residual <= 1e-8 * np.linalg.norm(b)
    rounding = 1e-14 * np.linalg.norm(b)
    np.testing.assert_allclose(result.residual, residual, rtol=1e-4, atol=rounding)
    assert result.claimed_residual <= 1e-8 * np.linalg.norm(b)
    # One application of a factor falls too far for the recurrence to know how far.
    if kind != "cholesky":
        np.testing.assert_allclose(result.claimed_residual, residual, rtol=0.05)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["jacobi", "ssor", "block_ssor"])
def test_an_unreachable_tolerance_ends_at_the_rounding_floor(matrix, system, kind, dtype):
    b = right_side(system)
    result = cs.sparse.cg(system, b, M=kind, dtype=dtype, rtol=1e-17)
    direct = np.linalg.solve(matrix.toarray(), b)
    assert result.status == "floor"
    assert result.info == result.iterations < 4000
    # As good as elimination in double precision, in any precision of the iteration.
    assert result.residual <= 4 * true_residual(matrix, b, direct)
    assert "rounding" in result.message


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_needs_few_more_iterations(kind):
    matrix, _ = cloth_matrix(40, 41)
    system, b = cs.sparse.SymmetricBlocks(matrix), right_side(matrix)
    made = {
        dtype: cs.sparse.cg(system, b, M=kind, dtype=dtype, rtol=1e-6).iterations
        for dtype in DTYPES
    }
    assert made["mixed"] <= 1.05 * made["float64"] + 2
    assert made["float32"] <= 1.5 * made["float64"] + 2


def test_translations_survive_rounding():
    """What float loses of the couplings goes to the diagonal: the iteration's matrix multiplies
    translations as A does, which decides how well a soft sheet is conditioned."""
    matrix, _ = cloth_matrix(100, 101, h=0.1)
    system, b = cs.sparse.SymmetricBlocks(matrix), right_side(matrix)
    made = [
        cs.sparse.cg(system, b, M="block_ssor", dtype=dtype, rtol=1e-6).iterations
        for dtype in ("float64", "mixed")
    ]
    assert made[1] <= 1.05 * made[0] + 2


def test_iterations_are_those_of_the_textbook(matrix, system):
    """Without a preconditioner, and with Jacobi's: those of plain loops in NumPy."""
    b = right_side(system)
    dense = matrix.toarray()
    blocks = np.linalg.inv(
        np.stack([dense[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] for i in range(len(dense) // 3)])
    )
    for kind in ("none", "jacobi"):
        x, r = np.zeros(len(b)), b.copy()
        p, product = 0, None
        norms = []
        for _ in range(20):
            z = r if kind == "none" else np.einsum("nij,nj->ni", blocks, r.reshape(-1, 3)).ravel()
            new = r @ z
            p = z if product is None else z + new / product * p
            product, q = new, dense @ p
            alpha = product / (p @ q)
            x, r = x + alpha * p, r - alpha * q
            norms.append(np.linalg.norm(r))
        result = cs.sparse.cg(system, b, M=kind, dtype="float64", maxiter=20)
        np.testing.assert_allclose(result.history["claimed_residual"][1:], norms, rtol=1e-9)
        np.testing.assert_allclose(result.x, x, rtol=1e-8, atol=1e-12 * np.abs(x).max())


@pytest.mark.parametrize("kind", ["ssor", "block_ssor"])
def test_eisenstats_product_is_that_of_a_and_m(matrix, kind):
    """The same iterates as with A and M one after another, which SciPy's cg is given."""
    sparse = pytest.importorskip("scipy.sparse.linalg")
    system = cs.sparse.SymmetricBlocks(matrix, parts=3)
    b = right_side(system)
    for relaxation in (1.0, 1.3):
        M = cs.sparse.Preconditioner(system, kind, relaxation=relaxation)
        for most in (1, 7, 30):
            wanted, _ = sparse.cg(matrix, b, M=M, maxiter=most, rtol=0)
            result = cs.sparse.cg(system, b, M=M, dtype="float64", maxiter=most, rtol=0)
            size = np.linalg.norm(wanted)
            assert np.linalg.norm(result.x - wanted) <= 1e-9 * size


def test_a_start_is_taken_and_left_as_it_is(matrix, system):
    b = right_side(system)
    start = np.linalg.solve(matrix.toarray(), b)
    given = start.copy()
    result = cs.sparse.cg(system, b, start, rtol=1e-9)
    assert result.iterations == 0
    np.testing.assert_array_equal(result.x, start)
    assert result.x is not start
    np.testing.assert_array_equal(start, given)
    begun = cs.sparse.cg(system, b, start + 1e-3, rtol=1e-9)
    assert true_residual(matrix, b, begun.x) <= 1e-9 * np.linalg.norm(b)


def test_atol_alone_and_zero():
    system = cs.sparse.SymmetricBlocks(np.diag([2.0, 2, 2, 4, 4, 4]))
    zero = cs.sparse.cg(system, np.zeros(6))
    assert (zero.status, zero.iterations, zero.info) == ("converged", 0, 0)
    assert not zero.x.any()
    loose = cs.sparse.cg(system, np.ones(6), rtol=0, atol=10)
    assert (loose.status, loose.iterations) == ("converged", 0)


@pytest.mark.parametrize("size", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", ["float32", "mixed"])
@pytest.mark.parametrize("kind", ["jacobi", "block_ssor"])
def test_sizes_that_float_has_no_room_for(system, kind, dtype, size):
    b = right_side(system)
    usual = cs.sparse.cg(system, b, M=kind, dtype=dtype, rtol=1e-9)
    other = cs.sparse.cg(system, size * b, M=kind, dtype=dtype, rtol=1e-9)
    assert other.status == "converged"
    assert abs(other.iterations - usual.iterations) <= 0.1 * usual.iterations + 2


def test_what_scipys_users_write(system):
    b = right_side(system)
    alone = cs.sparse.cg(system, b, M=None, dtype=np.float64)
    assert alone.preconditioner.kind == "none"
    np.testing.assert_array_equal(alone.x, cs.sparse.cg(system, b, M="none", dtype="float64").x)
    assert alone != cs.sparse.cg(system, b)


def test_shapes(matrix, system):
    b = right_side(system)
    flat = cs.sparse.cg(system, b)
    for shape in ((-1, 3), (-1, 1)):
        result = cs.sparse.cg(matrix, b.reshape(shape))
        assert result.x.shape == b.reshape(shape).shape
        np.testing.assert_array_equal(result.x.ravel(), flat.x)
    nothing, info = cs.sparse.cg(np.zeros((0, 0)), np.zeros(0))
    assert nothing.shape == (0,)
    assert info == 0


def test_a_preconditioner_serves_one_solve_after_another(matrix):
    system = cs.sparse.SymmetricBlocks(matrix)
    b = right_side(system)
    first = cs.sparse.cg(system, b, M="block_ssor", rtol=1e-8)
    again = cs.sparse.cg(system, b, M=first.preconditioner, rtol=1e-8)
    np.testing.assert_array_equal(again.x, first.x)
    assert again.preconditioner is first.preconditioner

    # After new values: those are read.
    system.update(4 * matrix)
    scaled = cs.sparse.cg(system, b, M=first.preconditioner, rtol=1e-8)
    assert scaled.iterations == first.iterations
    np.testing.assert_allclose(4 * scaled.x, first.x, rtol=1e-12)


# ---- rounding ------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["block_ssor", "jacobi", "cholesky", "multigrid"])
def test_no_tolerance_makes_the_result_worse(matrix, system, kind, dtype):
    """Below the floor the recurrence says nothing: the best iterate is returned."""
    b = right_side(system)
    direct = true_residual(matrix, b, np.linalg.solve(matrix.toarray(), b))
    for rtol in (1e-13, 3e-14, 1e-14, 1e-15, 0):
        result = cs.sparse.cg(system, b, M=kind, dtype=dtype, rtol=rtol)
        assert result.status in ("converged", "floor")
        assert true_residual(matrix, b, result.x) <= max(20 * direct, rtol * np.linalg.norm(b))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["jacobi", "cholesky", "multigrid", "block_ssor"])
def test_a_definite_matrix_is_never_called_indefinite(matrix, system, kind, dtype):
    b = right_side(system)
    solution = np.linalg.solve(matrix.toarray(), b)
    for rtol in (1e-12, 1e-14, 1e-16, 0):
        result = cs.sparse.cg(system, b, solution, M=kind, dtype=dtype, rtol=rtol)
        assert result.status in ("converged", "floor")
        assert result.residual <= 1.2 * true_residual(matrix, b, solution)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["jacobi", "block_ssor", "multigrid"])
def test_a_start_far_from_a_small_right_hand_side(kind, dtype):
    A = cs.sparse.SymmetricBlocks(np.diag([2.0, 2, 2, 4, 4, 4]))
    result = cs.sparse.cg(A, np.full(6, 1e-30), np.full(6, 1e10), M=kind, dtype=dtype, rtol=1e-6)
    assert result.status in ("converged", "floor")
    assert np.isfinite(result.x).all()
    assert result.residual <= 1e-25


@pytest.mark.parametrize("size", [1e-250, 1e-180, 1e180, 1e250])
def test_squares_that_overflow_or_vanish(system, size):
    b = right_side(system)
    usual = cs.sparse.cg(system, b, M="block_ssor", rtol=1e-9)
    other = cs.sparse.cg(system, size * b, M="block_ssor", rtol=1e-9)
    assert (other.status, other.iterations) == ("converged", usual.iterations)
    np.testing.assert_allclose(other.x / size, usual.x, rtol=1e-12)
    np.testing.assert_allclose(other.residual / size, usual.residual, rtol=1e-5)


def test_zero_is_the_solution_for_zero_from_any_start(system):
    for kind in ("cholesky", "block_ssor"):
        result = cs.sparse.cg(system, np.zeros(system.shape[0]), np.ones(system.shape[0]), M=kind)
        assert (result.status, result.iterations) == ("converged", 0)
        assert not result.x.any()


# ---- the same bits -------------------------------------------------------------------------------


@pytest.mark.threads
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(matrix, kind, dtype):
    system = cs.sparse.SymmetricBlocks(matrix, parts=8)
    b = right_side(system)
    alone = cs.sparse.cg(system, b, M=kind, dtype=dtype, rtol=1e-7, threads=1)
    M = alone.preconditioner
    product = M @ b
    for threads in range(2, 9):
        M.update(threads)
        np.testing.assert_array_equal(M.matvec(b, threads), product)
        other = cs.sparse.cg(system, b, M=M, dtype=dtype, rtol=1e-7, threads=threads)
        np.testing.assert_array_equal(other.x, alone.x)
        assert other.history.keys() == alone.history.keys()
        for name, column in alone.history.items():
            np.testing.assert_array_equal(other.history[name], column)


# ---- what it tells -------------------------------------------------------------------------------


def test_history(system):
    b = right_side(system)
    for kind in ("jacobi", "block_ssor"):
        result = cs.sparse.cg(system, b, M=kind, rtol=1e-8)
        history = result.history
        np.testing.assert_array_equal(history["iteration"], np.arange(result.iterations + 1))
        checked = ~np.isnan(history["residual"])
        assert checked[0]
        assert checked[-1]
        np.testing.assert_allclose(history["residual"][0], np.linalg.norm(b))
        assert history["residual"][-1] == result.residual
        assert np.isfinite(history["preconditioned_norm"]).all()
        claimed = np.isfinite(history["claimed_residual"][1:])
        assert claimed.all() == (kind == "jacobi")
        assert claimed[checked[1:]].all()
        assert result.bytes > result.iterations * system.info["bytes"] / 2
        assert result.seconds > 0


def test_the_most_iterations(system):
    b = right_side(system)
    for most in (0, 1, 17):
        result = cs.sparse.cg(system, b, maxiter=most, rtol=1e-12)
        assert (result.status, result.iterations) == ("max_iterations", most)
        assert result.info == max(most, 1)
        assert f"after {most} iterations" in result.message


def test_a_callback_sees_each_iterate(matrix, system):
    b, seen = right_side(system), []
    for kind in ("jacobi", "block_ssor"):
        seen.clear()
        result = cs.sparse.cg(system, b, M=kind, rtol=1e-8, callback=lambda x: seen.append(x))
        assert len(seen) == result.iterations
        np.testing.assert_allclose(seen[-1], result.x, rtol=1e-12)
        assert not np.array_equal(seen[-1], seen[-2])
        silent = cs.sparse.cg(system, b, M=kind, rtol=1e-8)
        np.testing.assert_array_equal(silent.x, result.x)


def test_an_error_of_the_callback_ends_the_solve(system):
    def fail(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        cs.sparse.cg(system, right_side(system), callback=fail)
    assert cs.sparse.cg(system, right_side(system)).status == "converged"


@pytest.mark.parametrize("kind", ["none", "jacobi"])
def test_an_indefinite_matrix_is_named_with_the_iteration(matrix, kind):
    shifted = matrix.toarray()
    shifted -= 0.02 * np.eye(len(shifted)) * np.median(np.diag(shifted))
    result = cs.sparse.cg(shifted, np.ones(len(shifted)), M=kind)
    assert (result.status, result.info) == ("indefinite", -1)
    assert f"found after {result.iterations} iterations" in result.message
    assert np.isfinite(result.x).all()


def test_a_diagonal_block_that_is_not_positive_is_named():
    A = np.diag([1.0, 1, 1, 1, -1, 1, 1, 1, 1])
    result = cs.sparse.cg(A, np.ones(9), M="block_ssor")
    assert (result.status, result.info, result.iterations) == ("indefinite", -1, 0)
    assert "vertex 1" in result.message
    with pytest.raises(np.linalg.LinAlgError, match="vertex 1"):
        cs.sparse.Preconditioner(cs.sparse.SymmetricBlocks(A), "ssor")


# ---- interruption and errors ---------------------------------------------------------------------


def solve_for(system, seconds, **options):
    begin, b = time.perf_counter(), right_side(system)
    while time.perf_counter() < begin + seconds:
        cs.sparse.cg(system, b, M="none", rtol=1e-12, dtype="float64", **options)


def test_ctrl_c_ends_a_solve():
    matrix, _ = cloth_matrix(60, 61, h=1.0)
    system = cs.sparse.SymmetricBlocks(matrix)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        solve_for(system, 30)
    assert time.perf_counter() < begin + 5
    timer.join()


def test_ctrl_c_ends_a_solve_with_a_callback(system):
    """The signal may come between two looks at an iterate."""
    for wait in (0.05, 0.1, 0.15, 0.2):
        timer = threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            solve_for(system, 30, callback=lambda x: None)
        timer.join()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtol": -1}, "rtol is -1"),
        ({"maxiter": 2**31 - 1}, "maxiter is 2147483647"),
        ({"atol": np.nan}, "atol is nan"),
        ({"dtype": "half"}, "dtype: 'half' is unknown; known: float64, float32, mixed"),
        ({"M": "best"}, "M: 'best' is unknown; known: auto"),
        ({"maxiter": -1}, "maxiter is -1"),
        ({"threads": 0}, "threads is 0"),
        ({"positions": np.ones(6)}, r"positions has shape \(6,\): \(2, 3\) is needed"),
        ({"x0": np.ones(3)}, r"x0 has shape \(3,\)"),
        ({"x0": np.full(6, np.nan)}, r"x0\[0\]"),
    ],
)
def test_arguments_out_of_range_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        cs.sparse.cg(np.eye(6), np.ones(6), **options)


def test_other_wrong_arguments():
    with pytest.raises(TypeError, match="M is int: a Preconditioner or a name is needed: auto, "):
        cs.sparse.cg(np.eye(6), np.ones(6), M=3)
    for name in ("rtol", "atol"):
        for value in ("a", None):
            with pytest.raises(TypeError, match=f"{name} is {value!r}"):
                cs.sparse.cg(np.eye(6), np.ones(6), **{name: value})
    with pytest.raises(TypeError, match="callback is int"):
        cs.sparse.cg(np.eye(6), np.ones(6), callback=3)
    with pytest.raises(ValueError, match=r"b\[2\]"):
        cs.sparse.cg(np.eye(3), [1, 1, np.inf])
    with pytest.raises(ValueError, match=r"b has shape \(4,\): \(6,\) is needed"):
        cs.sparse.cg(np.eye(6), np.ones(4))
    with pytest.raises(ValueError, match="not symmetric"):
        cs.sparse.cg(np.triu(np.ones((3, 3))), np.ones(3))
    other = cs.sparse.Preconditioner(cs.sparse.SymmetricBlocks(np.eye(6)))
    with pytest.raises(ValueError, match="another matrix"):
        cs.sparse.cg(cs.sparse.SymmetricBlocks(np.eye(6)), np.ones(6), M=other)


# ---- what `auto` takes ---------------------------------------------------------------------------


def chosen(matrix, positions, **options):
    result = cs.sparse.cg(matrix, np.ones(matrix.shape[0]), positions=positions, **options)
    assert result.status == "converged"
    return result.preconditioner.kind


def test_auto_takes_multigrid_where_block_ssor_would_need_many_iterations():
    hard, positions = cloth_matrix(67, 68, h=1 / 30)
    soft, _ = cloth_matrix(67, 68, h=1e-3)
    assert chosen(hard, positions, rtol=1e-6) == "multigrid"
    assert chosen(hard, positions, rtol=1e-2) == "block_ssor"
    assert chosen(soft, positions, rtol=1e-6) == "block_ssor"
    small, positions = cloth_matrix(20, 21, h=1 / 30)
    assert chosen(small, positions, rtol=1e-6) == "block_ssor"


def test_auto_counts_from_the_start_that_is_given(matrix):
    hard, positions = cloth_matrix(67, 68, h=1 / 30)
    b = right_side(hard)
    near = cs.sparse.cg(hard, b, positions=positions, rtol=1e-6).x
    result = cs.sparse.cg(hard, b, near + 1e-9, positions=positions, rtol=1e-6)
    assert result.preconditioner.kind == "block_ssor"


def test_auto_of_matrices_without_couplings():
    for matrix in (np.eye(6), np.zeros((0, 0))):
        assert cs.sparse.cg(matrix, np.ones(len(matrix))).preconditioner.kind == "block_ssor"
