"""Matrices and preconditioners that more than one thread, or a callback of a solve, has in use."""

import threading

import numpy as np
import pytest

import contactsolve as cs
from cloth_matrices import cloth_matrix

CLOTH, POSITIONS = cloth_matrix(14, 15, seed=1)
X = np.random.default_rng(4).normal(size=CLOTH.shape[0])


def in_threads(work, count=2, times=200):
    """Call `work` many times in each of some threads; return the errors."""
    errors = []

    def run():
        try:
            for _ in range(times):
                work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_callback_multiplies(dtype):
    """With the matrix of the solve, which is in use meanwhile."""
    A = cs.sparse.SymmetricBlocks(CLOTH, dtype=dtype)
    residuals = []
    result = cs.sparse.cg(
        A, X, M="jacobi", callback=lambda x: residuals.append(np.linalg.norm(X - A @ x))
    )
    assert result.status == "converged"
    assert len(residuals) == result.iterations
    assert residuals[-1] < residuals[0]


def test_a_callback_may_not_update():
    A = cs.sparse.SymmetricBlocks(CLOTH)
    with pytest.raises(RuntimeError, match="the values are being read"):
        cs.sparse.cg(A, X, callback=lambda x: A.update(CLOTH))
    M = cs.sparse.Preconditioner(A, "jacobi")
    with pytest.raises(RuntimeError, match="this preconditioner is in use"):
        cs.sparse.cg(A, X, M=M, callback=lambda x: M @ x)
    A.update(CLOTH)
    assert np.array_equal(M @ X, cs.sparse.Preconditioner(A, "jacobi") @ X)


@pytest.mark.threads
def test_products_in_threads():
    A = cs.sparse.SymmetricBlocks(CLOTH)
    wanted = A @ X

    def multiply():
        assert np.array_equal(A @ X, wanted)

    assert not in_threads(multiply, count=4)


@pytest.mark.threads
def test_preconditioners_in_threads():
    """Each thread has its own, of the same matrix."""
    A = cs.sparse.SymmetricBlocks(CLOTH)
    wanted = cs.sparse.Preconditioner(A, "ssor", dtype="float32") @ X

    def apply():
        assert np.array_equal(cs.sparse.Preconditioner(A, "ssor", dtype="float32") @ X, wanted)

    assert not in_threads(apply, times=50)


@pytest.mark.parametrize("kind", ["block_ssor", "ssor"])
def test_values_that_come_during_an_update(kind):
    """They are read when the preconditioner is next used."""
    A = cs.sparse.SymmetricBlocks(CLOTH)
    M = cs.sparse.Preconditioner(A, kind, dtype="float32")
    systems = M._systems

    def late():
        found = systems()
        A.update(2 * A.to_scipy().data)
        return found

    M._systems = late
    M.update()
    M._systems = systems
    fresh = cs.sparse.Preconditioner(A, kind, dtype="float32")
    assert np.array_equal(M @ X, fresh @ X)


@pytest.mark.threads
def test_an_update_while_another_thread_applies():
    """A float32 preconditioner reads both precisions: never while one is being replaced."""
    matrix = cloth_matrix(40, 41, seed=1)[0]
    A = cs.sparse.SymmetricBlocks(matrix)
    M = cs.sparse.Preconditioner(A, "block_ssor", dtype="float32")
    x = np.ones(A.shape[0])
    done, said = threading.Event(), []

    def change():
        for n in range(100):
            try:
                A.update((1 + n % 2) * matrix.data)
            except RuntimeError as error:
                said.append(str(error))
        done.set()

    thread = threading.Thread(target=change)
    thread.start()
    while not done.is_set():
        try:
            M @ x
        except RuntimeError as error:
            said.append(str(error))
    thread.join()
    known = ("the values are being read", "the matrix is being updated")
    assert all(message.startswith(known) for message in said)
    A.update(3 * matrix.data)
    wanted = cs.sparse.Preconditioner(A, "block_ssor", dtype="float32") @ x
    assert np.array_equal(M @ x, wanted)
