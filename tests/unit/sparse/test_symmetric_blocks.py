"""Symmetric matrices of blocks: products against dense ones, parts, other values, wrong input."""

import copy
import pickle

import numpy as np
import pytest

import contactsolve as cs

scipy_sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")

TOLERANCE = {"float64": 1e-14, "float32": 1e-5}


def mesh(rows=7, columns=9, seed=0):
    """A matrix of a triangulated grid, as SciPy's blocks: diagonally dominant."""
    rng = np.random.default_rng(seed)
    number = rng.permutation(rows * columns).reshape(rows, columns)
    pairs = [
        (number[:-1], number[1:]),
        (number[:, :-1], number[:, 1:]),
        (number[:-1, :-1], number[1:, 1:]),
    ]
    i = np.concatenate([a.ravel() for a, _ in pairs])
    j = np.concatenate([b.ravel() for _, b in pairs])
    beside = rng.uniform(-1, 1, (len(i), 3, 3))
    whole = rng.uniform(-1, 1, (number.size, 3, 3))
    diagonal = whole + whole.transpose(0, 2, 1) + 25 * np.eye(3)
    row = np.concatenate([i, j, np.arange(number.size)])
    column = np.concatenate([j, i, np.arange(number.size)])
    data = np.concatenate([beside, beside.transpose(0, 2, 1), diagonal])
    order = np.lexsort((column, row))
    starts = np.searchsorted(row[order], np.arange(number.size + 1))
    size = 3 * number.size
    return scipy_sparse.bsr_array((data[order], column[order], starts), shape=(size, size))


MESH = mesh()
DENSE = MESH.toarray()
X = np.random.default_rng(1).normal(size=len(DENSE))


def forms():
    csr = MESH.tocsr()
    return {
        "bsr": MESH,
        "csr": csr,
        "coo": MESH.tocoo(),
        "triple": (csr.data, csr.indices, csr.indptr),
        "dense": DENSE,
    }


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("parts", [1, 2, 3, 8, 62, 63, 64, 500])
def test_products(parts, dtype):
    """Also more parts than vertices."""
    A = cs.sparse.SymmetricBlocks(MESH, parts=parts, dtype=dtype)
    y = A @ X
    assert (A.shape, A.dtype, y.dtype) == (DENSE.shape, np.dtype(dtype), np.dtype(dtype))
    assert np.abs(y - DENSE @ X).max() <= TOLERANCE[dtype] * np.abs(DENSE).sum(axis=1).max()


@pytest.mark.parametrize("form", forms())
def test_forms(form):
    A = cs.sparse.SymmetricBlocks(forms()[form], parts=3)
    assert np.array_equal(A @ X, cs.sparse.SymmetricBlocks(MESH, parts=3) @ X)
    assert np.array_equal(A.to_scipy().toarray(), DENSE)


def test_shapes_of_vectors():
    A = cs.sparse.SymmetricBlocks(MESH)
    y = A @ X
    assert np.array_equal(A.matvec(X[:, None]), y[:, None])
    assert np.array_equal(A @ X.reshape(-1, 3), y.reshape(-1, 3))
    several = np.stack([X, 2 * X, -X], axis=1)
    assert np.array_equal(A @ several, np.stack([y, 2 * y, -y], axis=1))
    assert (A @ np.zeros((len(X), 0))).shape == (len(X), 0)


def test_parts_of_unequal_size():
    """Labels in any order; one part is empty, one has a single vertex."""
    labels = np.random.default_rng(2).choice([0, 2, 3], 63, p=[0.7, 0.2, 0.1])
    labels[17] = 4
    A = cs.sparse.SymmetricBlocks(MESH, parts=5, partition=labels)
    assert np.abs(A @ X - DENSE @ X).max() < 1e-12
    first, order = A.info["first"], A.info["order"]
    assert np.array_equal(np.diff(first), np.bincount(labels, minlength=5))
    assert np.array_equal(labels[order], np.repeat(np.arange(5), np.diff(first)))


def coupled_with(vertex):
    return MESH.indices[MESH.indptr[vertex] : MESH.indptr[vertex + 1]]


@pytest.mark.parametrize("parts", [1, 4, 9])
def test_interior_vertices_come_first(parts):
    """And info tells of the vertices of other parts, each once."""
    info = cs.sparse.SymmetricBlocks(MESH, parts=parts).info
    first, order = info["first"], info["order"]
    assert sorted(order) == list(range(63))
    for p in range(parts):
        own = order[first[p] : first[p + 1]]
        outside = [set(coupled_with(v)) - set(own) for v in own]
        inside = info["boundary"][p] - first[p]
        assert not any(outside[:inside])
        assert all(outside[inside:])
        assert info["external"][p] == len(set().union(*outside))
    diagonal_and_above = (info["local_blocks"] * 2 - 63) + info["external_blocks"]
    assert diagonal_and_above == len(MESH.indices)


def test_slices_have_few_neighbours():
    """Cuthill and McKee's order goes along a strip: a slice meets those before and after it."""
    strip = mesh(4, 100)
    info = cs.sparse.SymmetricBlocks(strip, parts=10).info
    assert np.all(np.diff(info["first"]) == 40)
    assert info["external"].max() <= 2 * 6


def test_metis():
    pytest.importorskip("pymetis")
    A = cs.sparse.SymmetricBlocks(MESH, parts=4, partition="metis")
    assert np.abs(A @ X - DENSE @ X).max() < 1e-12
    assert np.diff(A.info["first"]).min() > 5
    assert cs.sparse.SymmetricBlocks(MESH, parts=1, partition="metis").info["external"] == 0


@pytest.mark.threads
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_bits_do_not_depend_on_threads(dtype):
    """A mesh that is large enough for several."""
    large = mesh(70, 80)
    x = np.random.default_rng(3).normal(size=large.shape[0])
    A = cs.sparse.SymmetricBlocks(large, parts=8, dtype=dtype)
    wanted = A.matvec(x, threads=1)
    for threads in (*range(2, 9), None):
        assert np.array_equal(A.matvec(x, threads=threads), wanted)


def test_scipy_takes_it():
    A = cs.sparse.SymmetricBlocks(MESH)
    x, info = linalg.cg(A, DENSE @ X, rtol=1e-10)
    assert info == 0
    assert np.abs(x - X).max() < 1e-8
    values = linalg.eigsh(A, k=3, return_eigenvectors=False)
    assert np.allclose(np.sort(values), np.linalg.eigvalsh(DENSE)[-3:])


def test_other_values():
    A = cs.sparse.SymmetricBlocks(MESH, parts=3)
    before = MESH.data.copy()
    A.update(2 * A.to_scipy().data)
    assert np.array_equal(A @ X, 2 * (cs.sparse.SymmetricBlocks(MESH, parts=3) @ X))
    A.update(MESH.tocsr())
    assert np.array_equal(A.to_scipy().toarray(), DENSE)
    A.update(np.diag(np.arange(189.0)))  # blocks that are not given are zero
    assert np.abs(A @ X - np.arange(189) * X).max() < 1e-12
    assert np.array_equal(MESH.data, before)


def test_nothing_is_written_to_inputs():
    data, indices, indptr = MESH.data.copy(), MESH.indices.copy(), MESH.indptr.copy()
    given = scipy_sparse.bsr_array((data, indices, indptr), shape=MESH.shape)
    for array in (data, indices, indptr):
        array.flags.writeable = False
    A = cs.sparse.SymmetricBlocks(given)
    x = X.copy()
    x.flags.writeable = False
    A @ x
    A.update(data)
    assert np.array_equal(data, MESH.data)


def test_a_vertex_without_blocks():
    """Rows of zeros, whose diagonal block is not given."""
    A = np.zeros((9, 9))
    A[3:6, 3:6] = 2 * np.eye(3)
    assert np.array_equal(cs.sparse.SymmetricBlocks(A) @ np.ones(9), A.sum(axis=1))


def test_nothing():
    A = cs.sparse.SymmetricBlocks(np.zeros((0, 0)))
    assert (A @ np.zeros(0)).shape == (0,)
    assert A.to_scipy().shape == (0, 0)


def changed(row, column, value):
    A = DENSE.copy()
    A[row, column] = value
    return A


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"A": np.eye(4)}, ValueError, "A has 4 rows: a multiple of 3 is needed"),
        ({"A": np.ones((3, 6))}, ValueError, r"A has shape \(3, 6\): a square matrix is needed"),
        ({"A": changed(4, 4, np.nan)}, ValueError, r"A\[4, 4\] is nan: every entry must be finite"),
        (
            {"A": scipy_sparse.bsr_array(changed(7, 8, np.inf), blocksize=(3, 3))},
            ValueError,
            r"A\[7, 8\] is inf: every entry must be finite",
        ),
        (
            {"A": changed(0, 1, 7.5)},
            ValueError,
            r"A is not symmetric: A\[(0, 1|1, 0)\] is .*, A\[(0, 1|1, 0)\] is ",
        ),
        (
            {"A": np.kron(np.array([[1.0, 2.0], [0.0, 1.0]]), np.eye(3))},
            ValueError,
            r"A is not symmetric: block \(0, 1\) is stored, block \(1, 0\) is not",
        ),
        ({"A": DENSE, "parts": 0}, ValueError, "parts is 0: it must be at least 1"),
        ({"A": DENSE, "parts": 1.5}, TypeError, "parts is 1.5: an integer is needed"),
        ({"A": DENSE, "partition": "rows"}, ValueError, "'rows' is unknown; known: slices, metis"),
        (
            {"A": DENSE, "partition": np.zeros(62, int)},
            ValueError,
            r"partition has shape \(62,\): \(63,\) is needed",
        ),
        (
            {"A": DENSE, "parts": 2, "partition": np.arange(63) % 3},
            ValueError,
            r"partition\[2\] is 2: 0 to 1 is needed",
        ),
        ({"A": DENSE, "parts": 1025}, ValueError, "parts is 1025: it must be at most 1024"),
        (
            {"A": np.diag([1e300] * 3), "dtype": "float32"},
            ValueError,
            r"A\[0, 0\] is 1e\+300: float32 cannot hold it",
        ),
        (
            {"A": np.diag([1.0, 2, 3, 4, 1e-39, 5]), "dtype": "float32"},
            ValueError,
            r"A\[4, 4\] is 1e-39: float32 cannot hold it",
        ),
        (
            {"A": np.diag([1e-50] * 3), "dtype": "float32"},
            ValueError,
            r"A\[0, 0\] is 1e-50: float32 cannot hold it",
        ),
        ({"A": DENSE, "dtype": "float16"}, ValueError, "dtype is 'float16': float64 or float32"),
        ({"A": DENSE, "dtype": "x"}, ValueError, "dtype is 'x': float64 or float32 is needed"),
    ],
)
def test_wrong_input(arguments, error, text):
    with pytest.raises(error, match=text):
        cs.sparse.SymmetricBlocks(**arguments)


def test_each_block_is_compared_with_its_own_vertices():
    """Large entries elsewhere do not hide a difference, nor do rounding errors count."""
    A = np.diag([1e12, 1e12, 1e12, 1.0, 1.0, 1.0])
    A[3, 4] = 0.5
    text = r"A is not symmetric: A\[3, 4\] is 0.5, A\[4, 3\] is 0"
    with pytest.raises(ValueError, match=text):
        cs.sparse.SymmetricBlocks(A)
    A = np.diag([1e12, 1e12, 1e12, 1.0, 1.0, 1.0])
    A[0, 3], A[3, 0] = 1 + 1e-5, 1
    assert cs.sparse.SymmetricBlocks(A).shape == (6, 6)
    A[0, 3] = 1 + 1e-3
    with pytest.raises(ValueError, match="A is not symmetric"):
        cs.sparse.SymmetricBlocks(A)


def test_an_off_diagonal_block_without_diagonal_ones():
    A = np.zeros((6, 6))
    A[0, 3], A[3, 0] = 1 + 1e-12, 1
    assert cs.sparse.SymmetricBlocks(A).shape == (6, 6)
    A[0, 3] = 1 + 1e-9
    with pytest.raises(ValueError, match="A is not symmetric"):
        cs.sparse.SymmetricBlocks(A)


def test_a_zero_that_is_stored_on_one_side():
    """Its mirror image is added; a number needs one."""
    data, indices, indptr = [1.0, 0, 1, 1, 2, 2, 2], [0, 4, 1, 2, 3, 4, 5], [0, 2, 3, 4, 5, 6, 7]
    given = scipy_sparse.csr_array((data, indices, indptr), shape=(6, 6))
    A = cs.sparse.SymmetricBlocks(given)
    assert A.indices.tolist() == [0, 1, 0, 1]
    assert np.array_equal(A @ np.ones(6), [1, 1, 1, 2, 2, 2])
    A.update(given)
    given.data[1] = 1e-300
    with pytest.raises(ValueError, match=r"block \(0, 1\) is stored, block \(1, 0\) is not"):
        cs.sparse.SymmetricBlocks(given)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("parts", [{"parts": 3}, {"parts": 7, "partition": np.arange(63) % 7}])
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda A: pickle.loads(pickle.dumps(A))]
)
def test_copies(copied, parts, dtype):
    """Equal, and independent of the matrix: of its present values."""
    A = cs.sparse.SymmetricBlocks(5 * MESH, dtype=dtype, **parts)
    A.update(MESH.data)
    other = copied(A)
    wanted = A @ X
    assert np.array_equal(other @ X, wanted)
    assert np.array_equal(other.to_scipy().toarray(), A.to_scipy().toarray())
    assert (other.dtype, other.shape) == (A.dtype, A.shape)
    for name, value in A.info.items():
        assert np.array_equal(other.info[name], value)
    other.update(3 * MESH.data)
    assert np.array_equal(A @ X, wanted)
    A.update(2 * MESH.data)
    assert np.array_equal(cs.sparse.SymmetricBlocks(3 * MESH, dtype=dtype, **parts) @ X, other @ X)


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float64"), "float32"])
def test_dtype_as_numpy_has_it(dtype):
    A = cs.sparse.SymmetricBlocks(MESH, dtype=dtype)
    assert A.dtype == np.dtype(dtype)
    assert cs.sparse.Preconditioner(A, "jacobi", dtype=dtype).dtype == np.dtype(dtype)


def test_from_the_left():
    """x @ A, rows of a matrix, and other names of products."""
    A = cs.sparse.SymmetricBlocks(MESH)
    M = cs.sparse.Preconditioner(A, "block_ssor")
    rows = np.stack([X, 2 * X])
    for one in (A, M):
        assert np.array_equal(X @ one, one @ X)
        assert np.array_equal(rows @ one, (one @ rows.T).T)
        assert np.array_equal(one.dot(X), one @ X)
        assert one.T is one
        with pytest.raises(ValueError, match=r"x has shape \(5,\): \(189,\) is needed"):
            np.ones(5) @ one


def test_diagonal():
    assert np.array_equal(cs.sparse.SymmetricBlocks(MESH).diagonal(), np.diagonal(DENSE))
    A = np.zeros((9, 9))
    A[3:6, 3:6] = np.diag([1.0, 2, 3])
    found = cs.sparse.SymmetricBlocks(A, dtype="float32").diagonal()
    assert found.dtype == np.float32
    assert np.array_equal(found, np.diagonal(A))


def test_what_is_told_cannot_be_written():
    A = cs.sparse.SymmetricBlocks(MESH)
    with pytest.raises(AttributeError):
        A.dtype = np.dtype("float32")
    for array in (A.indices, A.indptr, *A.info.values()):
        if isinstance(array, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_a_damaged_matrix_of_scipy():
    damaged = MESH.copy()
    damaged.indices[5] = 63
    with pytest.raises(ValueError, match=r"A.indices\[5\] is 63: 0 to 62 is needed"):
        cs.sparse.SymmetricBlocks(damaged)
    damaged = MESH.copy()
    damaged.indptr[3] = 99
    with pytest.raises(ValueError, match=r"A.indptr does not fit A: .* falls after entry 3"):
        cs.sparse.SymmetricBlocks(damaged)


def test_wrong_vectors_and_values():
    A = cs.sparse.SymmetricBlocks(MESH)
    with pytest.raises(ValueError, match=r"x has shape \(5,\): \(189,\) is needed"):
        A @ np.ones(5)
    with pytest.raises(TypeError, match="x has dtype complex128"):
        A @ (1j * X)
    with pytest.raises(ValueError, match="threads is 0: it must be at least 1"):
        A.matvec(X, threads=0)
    with pytest.raises(ValueError, match="it must be at most 2147483647"):
        A.matvec(X, threads=2**31)
    with pytest.raises(ValueError, match=r"values has shape \(2, 3, 3\)"):
        A.update(np.zeros((2, 3, 3)))
    with pytest.raises(ValueError, match=r"A has 3 rows: 189 are needed, as before"):
        A.update(np.eye(3))
    far = DENSE.copy()
    row, column = np.argwhere(DENSE == 0)[0]
    far[row, column] = far[column, row] = 1.0
    text = f"A has a block in row {row // 3}, column {column // 3}: it had none before"
    with pytest.raises(ValueError, match=text):
        A.update(far)
    wrong = np.array(A.to_scipy().data)
    wrong[0, 0, 1] += 1
    with pytest.raises(ValueError, match="A is not symmetric"):
        A.update(wrong)
    assert np.abs(A @ X - DENSE @ X).max() < 1e-12
