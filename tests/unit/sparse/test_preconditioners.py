"""Preconditioners as operators: against dense formulas, definite, the same bits on any threads."""

import copy
import pickle

import numpy as np
import pytest

import contactsolve as cs
from cloth_matrices import cloth_matrix
from contactsolve import _core

scipy_sparse = pytest.importorskip("scipy.sparse")

KINDS = sorted(cs.sparse.preconditioners())
DTYPES = ("float64", "float32")
CLOTH, POSITIONS = cloth_matrix(14, 15, seed=1)
DENSE = CLOTH.toarray()
VERTICES = len(POSITIONS)
UNEQUAL = np.random.default_rng(2).choice([0, 2, 3], VERTICES, p=[0.7, 0.2, 0.1])
PARTS = {
    "one": {"parts": 1},
    "three": {"parts": 3},
    "more than vertices": {"parts": VERTICES + 40},
    "unequal": {"parts": 5, "partition": UNEQUAL},
}


def operator(A, kind, dtype="float64", positions=POSITIONS, **options):
    return cs.sparse.Preconditioner(A, kind, dtype=dtype, positions=positions, **options)


def dense(M):
    """The columns of an operator, in double precision."""
    return np.stack([M @ column for column in np.eye(M.shape[0])], axis=1).astype(np.float64)


# ---- symmetric and positive definite ------------------------------------------------------------


CASES = [("one", "float64"), ("three", "float32"), ("unequal", "float64"), ("unequal", "float32")]
CASES += [("more than vertices", "float64"), ("more than vertices", "float32")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("parts", "dtype"), CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_symmetric_and_positive_definite(kind, parts, dtype):
    """Of a sheet whose multigrid has two levels."""
    M = dense(operator(cs.sparse.SymmetricBlocks(CLOTH, **PARTS[parts]), kind, dtype))
    rounding = {"float64": 1e-13, "float32": 1e-4}[dtype]
    assert np.abs(M - M.T).max() <= rounding * np.abs(M).max()
    assert np.linalg.eigvalsh((M + M.T) / 2)[0] > 0


@pytest.mark.parametrize("parts", PARTS)
def test_multigrid_never_exceeds_the_inverse(parts):
    """The eigenvalues of M A are at most one: a cycle with a convergent smoother reduces errors."""
    M = dense(operator(cs.sparse.SymmetricBlocks(CLOTH, **PARTS[parts]), "multigrid"))
    lower = np.linalg.cholesky(DENSE)
    values = np.linalg.eigvalsh(lower.T @ ((M + M.T) / 2) @ lower)
    assert values[-1] < 1 + 1e-9
    assert values[0] > 0.1


@pytest.mark.parametrize("positions", [POSITIONS, None], ids=["rotations", "translations"])
def test_multigrid_with_strong_couplings_between_parts(positions):
    """Each vertex in a part of its own: all couplings are between parts."""
    A = cs.sparse.SymmetricBlocks(CLOTH, parts=VERTICES, partition=np.arange(VERTICES))
    M = dense(operator(A, "multigrid", positions=positions))
    assert np.linalg.eigvalsh((M + M.T) / 2)[0] > 0


# ---- against dense formulas ----------------------------------------------------------------------


def in_parts(A, matrix):
    """The matrix in the new numbers, and without what couples parts."""
    info = A.info
    order = (3 * info["order"][:, None] + np.arange(3)).ravel()
    part = np.repeat(np.arange(len(info["first"]) - 1), 3 * np.diff(info["first"]))
    new = matrix[np.ix_(order, order)]
    return order, np.where(part[:, None] == part, new, 0)


def back(order, matrix):
    result = np.empty_like(matrix)
    result[np.ix_(order, order)] = matrix
    return result


def diagonal_blocks(matrix):
    vertex = np.arange(len(matrix)) // 3
    return np.where(vertex[:, None] == vertex, matrix, 0)


def dense_ssor(matrix, omega):
    """Of S5 section 4.3, up to a factor: (D/ω + L)⁻ᵀ D/ω (D/ω + L)⁻¹."""
    diagonal = diagonal_blocks(matrix) / omega
    vertex = np.arange(len(matrix)) // 3
    lower = diagonal + np.where(vertex[:, None] > vertex, matrix, 0)
    half = np.linalg.inv(lower)
    return half.T @ diagonal @ half


@pytest.mark.parametrize("omega", [1.0, 1.4])
@pytest.mark.parametrize("kind", ["ssor", "block_ssor"])
def test_ssor(kind, omega):
    A = cs.sparse.SymmetricBlocks(CLOTH, parts=4)
    whole = A if kind == "block_ssor" else cs.sparse.SymmetricBlocks(CLOTH, parts=1)
    order, local = in_parts(whole, DENSE)
    wanted = back(order, dense_ssor(local, omega))
    M = dense(operator(A, kind, relaxation=omega))
    assert np.abs(M - wanted).max() <= 1e-12 * np.abs(wanted).max()


def test_jacobi():
    M = dense(operator(cs.sparse.SymmetricBlocks(CLOTH, parts=4), "jacobi"))
    wanted = np.linalg.inv(diagonal_blocks(DENSE))
    assert np.abs(M - wanted).max() <= 1e-13 * np.abs(wanted).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("parts", PARTS)
def test_cholesky_is_the_inverse(parts, dtype):
    M = dense(operator(cs.sparse.SymmetricBlocks(CLOTH, **PARTS[parts]), "cholesky", dtype))
    wanted = np.linalg.inv(DENSE)
    tolerance = {"float64": 1e-12, "float32": 1e-4}[dtype]
    assert np.abs(M - wanted).max() <= tolerance * np.abs(wanted).max()


def incomplete(matrix, shift):
    """L Lᵀ ~ matrix without fill, block by block, and the shift that it takes."""
    vertices = len(matrix) // 3
    blocks = matrix.reshape(vertices, 3, vertices, 3).transpose(0, 2, 1, 3)
    pattern = np.abs(blocks).max(axis=(2, 3)) > 0
    blocks = blocks.copy()
    for i in range(vertices):
        blocks[i, i] *= 1 + shift
    for i in range(vertices):
        lower = np.linalg.cholesky(blocks[i, i])
        behind = [j for j in range(i + 1, vertices) if pattern[i, j]]
        for j in behind:
            blocks[i, j] = np.linalg.solve(lower, blocks[i, j])
        for j in behind:
            for k in behind:
                if pattern[j, k]:
                    blocks[j, k] -= blocks[i, j].T @ blocks[i, k]
        blocks[i, i] = lower.T
        blocks[i, :i] = 0
        blocks[i, ~pattern[i]] = 0
    upper = blocks.transpose(0, 2, 1, 3).reshape(matrix.shape)
    return np.linalg.inv(upper.T @ upper)


@pytest.mark.parametrize("parts", [1, 3])
def test_incomplete_cholesky(parts):
    A = cs.sparse.SymmetricBlocks(CLOTH, parts=parts)
    M = operator(A, "incomplete_cholesky")
    order, local = in_parts(A, DENSE)
    wanted = back(order, incomplete(local, M.info["shift"]))
    assert np.abs(dense(M) - wanted).max() <= 1e-11 * np.abs(wanted).max()


def tree(vertices=20, seed=0):
    """A matrix whose graph is a tree: a good order leaves no fill out."""
    rng = np.random.default_rng(seed)
    A = np.kron(np.eye(vertices), 12 * np.eye(3))
    for j in range(1, vertices):
        i, block = rng.integers(0, j), rng.uniform(-1, 1, (3, 3))
        A[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] = block
        A[3 * j : 3 * j + 3, 3 * i : 3 * i + 3] = block.T
    return A


def test_incomplete_cholesky_of_a_path_is_the_inverse():
    """Nothing is left out where vertices follow one another."""
    chain = np.kron(np.eye(12), 9 * np.eye(3))
    block = np.array([[1.0, 2, 0], [0, 1, 1], [1, 0, 2]])
    for i in range(11):
        chain[3 * i : 3 * i + 3, 3 * i + 3 : 3 * i + 6] = block
        chain[3 * i + 3 : 3 * i + 6, 3 * i : 3 * i + 3] = block.T
    M = cs.sparse.Preconditioner(cs.sparse.SymmetricBlocks(chain, parts=1), "incomplete_cholesky")
    assert M.info["shift"] == 0
    assert np.abs(dense(M) - np.linalg.inv(chain)).max() < 1e-14


def test_cholesky_of_a_tree():
    M = cs.sparse.Preconditioner(cs.sparse.SymmetricBlocks(tree(120)), "cholesky")
    x = np.random.default_rng(3).normal(size=360)
    assert np.abs(M @ (tree(120) @ x) - x).max() < 1e-12
    assert M.info["blocks"] == 2 * 120 - 1


def test_incomplete_cholesky_is_shifted_where_it_breaks_down():
    """Kershaw's matrix, positive definite, with a negative pivot."""
    kershaw = np.array([[3.0, -2, 0, 2], [-2, 3, -2, 0], [0, -2, 3, -2], [2, 0, -2, 3]])
    A = cs.sparse.SymmetricBlocks(np.kron(kershaw, np.eye(3)), parts=1)
    M = cs.sparse.Preconditioner(A, "incomplete_cholesky")
    assert 1e-3 <= M.info["shift"] < 1
    assert np.linalg.eigvalsh(dense(M))[0] > 0


# ---- iterations ----------------------------------------------------------------------------------


def iterations(A, M, b, rtol=1e-8):
    result = cs.sparse.cg(A, b, M=M, rtol=rtol, dtype=str(M.dtype))
    assert result.info == 0
    return result.iterations


def load(size):
    return np.random.default_rng(4).normal(size=size)


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("none", "jacobi")])
def test_fewer_iterations_than_jacobi(kind):
    """On a sheet of 30 × 31 vertices."""
    matrix, positions = cloth_matrix(30, 31)
    A = cs.sparse.SymmetricBlocks(matrix, parts=4)
    b = load(A.shape[0])
    needed = iterations(A, operator(A, kind, positions=positions), b)
    assert needed < 0.8 * iterations(A, operator(A, "jacobi", positions=positions), b)


def test_multigrid_takes_few_iterations_at_any_size():
    needed = []
    for rows in (20, 40, 80):
        matrix, positions = cloth_matrix(rows, rows + 1)
        A = cs.sparse.SymmetricBlocks(matrix)
        needed.append(
            iterations(A, operator(A, "multigrid", positions=positions), load(A.shape[0]))
        )
    assert max(needed) <= 22
    assert needed[2] <= 1.5 * needed[0] + 2


def test_rotations_help():
    """A sheet without them needs more iterations."""
    matrix, positions = cloth_matrix(40, 41, h=1.0)
    A = cs.sparse.SymmetricBlocks(matrix)
    b = load(A.shape[0])
    with_rotations = iterations(A, operator(A, "multigrid", positions=positions), b)
    assert with_rotations < 0.7 * iterations(A, operator(A, "multigrid", positions=None), b)


@pytest.mark.parametrize("parts", [1, 8, 40])
def test_multigrid_hardly_depends_on_parts(parts):
    matrix, positions = cloth_matrix(40, 41)
    A = cs.sparse.SymmetricBlocks(matrix, parts=parts)
    assert iterations(A, operator(A, "multigrid", positions=positions), load(A.shape[0])) <= 22


@pytest.mark.parametrize("kind", ["multigrid", "cholesky"])
def test_float_factors_are_of_the_matrix_as_it_is_given(kind):
    """In float a sheet is indefinite after a long step: its mass is lost in rounding."""
    matrix, positions = cloth_matrix(40, 41, h=10.0)
    A = cs.sparse.SymmetricBlocks(matrix)
    M = operator(A, kind, "float32", positions)
    result = cs.sparse.cg(A, load(A.shape[0]), M=M, rtol=1e-6, dtype="mixed")
    assert result.status == "converged"
    assert result.iterations <= {"multigrid": 20, "cholesky": 6}[kind]


# ---- threads and values --------------------------------------------------------------------------


@pytest.mark.threads
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_threads(kind, dtype):
    """Neither those of an update nor those of an application."""
    matrix, positions = cloth_matrix(40, 41, seed=5)
    A = cs.sparse.SymmetricBlocks(matrix, parts=6)
    x = load(A.shape[0])
    M = operator(A, kind, dtype, positions)
    wanted = M.matvec(x, threads=1)
    for threads in range(1, 9):
        M.update(threads=threads)
        assert np.array_equal(M.matvec(x, threads=threads), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_update_equals_a_new_one(kind, dtype):
    """Bit for bit; values of another step length, whose strong couplings are the same."""
    A = cs.sparse.SymmetricBlocks(cloth_matrix(30, 31, h=1e-2)[0])
    matrix, positions = cloth_matrix(30, 31)
    M = operator(A, kind, dtype, positions)
    before = M.info
    A.update(matrix.data)
    x = load(A.shape[0])
    fresh = operator(cs.sparse.SymmetricBlocks(matrix), kind, dtype, positions)
    assert np.array_equal(M @ x, fresh @ x)
    assert before == M.info == fresh.info


def test_multigrid_keeps_its_aggregates():
    """Over values that would give others: it still takes few iterations."""
    matrix, positions = cloth_matrix(40, 41, bending=0.0)
    A = cs.sparse.SymmetricBlocks(matrix)
    M = operator(A, "multigrid", positions=positions)
    before = M.info
    A.update(cloth_matrix(40, 41, h=1e-2)[0].data)
    needed = iterations(A, M, load(A.shape[0]))
    assert M.info == before
    fresh = operator(A, "multigrid", positions=positions)
    assert needed <= 1.5 * iterations(A, fresh, load(A.shape[0])) + 1


def test_zeros_in_the_pattern_make_no_aggregates():
    """Blocks of zeros between all vertices of a sheet, as of contacts that have opened."""
    matrix, positions = cloth_matrix(16, 17)
    vertices = len(positions)
    full = scipy_sparse.bsr_array(matrix.toarray(), blocksize=(3, 3))
    pattern = scipy_sparse.bsr_array(
        (
            np.zeros((vertices**2, 3, 3)),
            np.tile(np.arange(vertices), vertices),
            vertices * np.arange(vertices + 1),
        ),
        shape=matrix.shape,
    )
    A = cs.sparse.SymmetricBlocks(pattern)
    A.update(full)
    M = operator(A, "multigrid", positions=positions)
    assert M.info["levels"] == 2
    assert iterations(A, M, load(A.shape[0])) <= 20


# ---- wrong and special systems -------------------------------------------------------------------


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("none", "multigrid")])
def test_a_diagonal_block_that_is_not_positive_definite(kind):
    indefinite = DENSE.copy()
    indefinite[21:24, 21:24] *= -1
    A = cs.sparse.SymmetricBlocks(indefinite, parts=3)
    text = f"A is not positive definite: the preconditioner {kind} fails at vertex 7"
    with pytest.raises(np.linalg.LinAlgError, match=text):
        operator(A, kind)


@pytest.mark.parametrize("kind", ["multigrid", "cholesky"])
def test_an_indefinite_matrix(kind):
    """With positive definite diagonal blocks."""
    indefinite = DENSE - 1.01 * np.linalg.eigvalsh(DENSE)[0] * np.eye(len(DENSE))
    A = cs.sparse.SymmetricBlocks(indefinite, parts=3)
    with pytest.raises(ValueError, match=f"A is not positive definite: the preconditioner {kind}"):
        operator(A, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_after_a_failed_one(kind):
    A = cs.sparse.SymmetricBlocks(CLOTH, parts=3)
    x = load(A.shape[0])
    M = operator(A, kind)
    wanted = M @ x
    values = CLOTH.data.copy()
    values[CLOTH.indptr[7] : CLOTH.indptr[8]][
        CLOTH.indices[CLOTH.indptr[7] : CLOTH.indptr[8]] == 7
    ] *= 0
    A.update(values)
    if kind != "none":
        with pytest.raises(ValueError, match="A is not positive definite"):
            M @ x
    A.update(CLOTH.data)
    assert np.array_equal(M @ x, wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vertices", [0, 1, 700])
def test_without_couplings(vertices, kind):
    """The inverse, of a diagonal matrix in more than one part."""
    diagonal = np.arange(1.0, 3 * vertices + 1)
    A = cs.sparse.SymmetricBlocks(
        scipy_sparse.diags_array(diagonal).tocsr() if vertices else np.zeros((0, 0)), parts=3
    )
    M = cs.sparse.Preconditioner(A, kind, positions=np.zeros((vertices, 3)))
    x = np.ones(3 * vertices)
    assert np.allclose(M @ x, x if kind == "none" else x / np.maximum(diagonal, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_every_allocation_may_fail(kind):
    """A failure is told, nothing is left behind, and then it works."""
    A = cs.sparse.SymmetricBlocks(CLOTH, parts=3)
    x = load(A.shape[0])
    wanted = operator(A, kind) @ x
    live = _core.memory_live()
    failures = 0
    for successes in range(200):
        _core.memory_fail_after(successes)
        try:
            M = operator(A, kind)
        except MemoryError:
            failures += 1
        else:
            break
        finally:
            _core.memory_fail_after(-1)
        # A failed one is gone with its exception.
        assert _core.memory_live() == live
    assert 0 < failures < 200
    assert np.array_equal(M @ x, wanted)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"relaxation": "a"}, TypeError, "relaxation is 'a': a number is needed"),
        ({"relaxation": 2}, ValueError, "relaxation is 2.0: between 0 and 2 is needed"),
        ({"dtype": "x"}, ValueError, "dtype is 'x': float64 or float32 is needed"),
        ({"dtype": np.int32}, ValueError, "dtype is .*int32.*: float64 or float32 is needed"),
        ({"kind": ["a"]}, TypeError, r"kind is \['a'\]: a name is needed"),
        ({"kind": "a"}, ValueError, "kind: 'a' is unknown; known: "),
    ],
)
def test_wrong_arguments(arguments, error, text):
    with pytest.raises(error, match=text):
        cs.sparse.Preconditioner(cs.sparse.SymmetricBlocks(CLOTH), **arguments)


def test_repr():
    A = cs.sparse.SymmetricBlocks(CLOTH)
    M = operator(A, "ssor", np.float32, relaxation=1.25)
    assert repr(M) == "<Preconditioner ssor of 210 vertices, float32, relaxation 1.25>"
    assert repr(operator(A, "jacobi")) == "<Preconditioner jacobi of 210 vertices, float64>"
    with pytest.raises(AttributeError):
        M.dtype = np.dtype("float64")


@pytest.mark.parametrize("kind", ["multigrid", "ssor"])
def test_copies(kind):
    """Of matrix and options; a shallow one shares the matrix."""
    A = cs.sparse.SymmetricBlocks(CLOTH, parts=3)
    M = operator(A, kind, "float32", relaxation=1.1)
    x = load(A.shape[0])
    wanted = M @ x
    copies = [copy.copy(M), copy.deepcopy(M), pickle.loads(pickle.dumps(M))]
    assert all(np.array_equal(other @ x, wanted) for other in copies)
    assert all(repr(other) == repr(M) for other in copies)
    A.update(2 * CLOTH.data)
    changed = M @ x
    assert not np.array_equal(changed, wanted)
    assert np.array_equal(copies[0] @ x, changed)
    assert all(np.array_equal(other @ x, wanted) for other in copies[1:])


def test_float_needs_a_diagonal_that_it_can_hold():
    A = cs.sparse.SymmetricBlocks(np.diag([1.0, 1, 1, 1e-45, 1, 1]))
    assert (cs.sparse.Preconditioner(A, "jacobi") @ np.ones(6))[3] > 1e44
    with pytest.raises(ValueError, match=r"A\[3, 3\] is 1e-45: float32 cannot hold it"):
        cs.sparse.Preconditioner(A, "jacobi", dtype="float32")
