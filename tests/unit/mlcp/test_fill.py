"""Orders that fill little, and elimination trees, against SciPy and definitions."""

import numpy as np
import pytest

import contactsolve as cs

ORDERS = ["natural", "reverse_cuthill_mckee", "minimum_degree"]


def random_pattern(rng, n, density):
    A = np.where(rng.random((n, n)) < density, rng.normal(size=(n, n)), 0.0)
    A = A + A.T
    return A + np.diag(np.abs(A).sum(axis=1) + 1.0)


def grid(rows, columns):
    """The five-point matrix, its nodes in random order."""
    n = rows * columns
    node = np.arange(n).reshape(rows, columns)
    A = 4.0 * np.eye(n)
    for a, b in [(node[:, 1:], node[:, :-1]), (node[1:], node[:-1])]:
        A[a.ravel(), b.ravel()] = A[b.ravel(), a.ravel()] = -1.0
    order = np.random.default_rng(0).permutation(n)
    return A[np.ix_(order, order)] + 0.1 * np.eye(n)


def filled(A, order):
    """Pattern of the factor, by symbolic elimination row by row."""
    pattern = (A != 0)[np.ix_(order, order)]
    for k in range(len(pattern)):
        below = np.flatnonzero(pattern[k + 1 :, k]) + k + 1
        pattern[np.ix_(below, below)] = True
    return np.tril(pattern)


def envelope(A, order):
    """Entries from the first of each row to the diagonal."""
    pattern = np.tril((A != 0)[np.ix_(order, order)])
    return int(np.sum(np.arange(len(A)) - pattern.argmax(axis=1)))


MATRICES = {
    "sparse": random_pattern(np.random.default_rng(1), 60, 0.02),
    "denser": random_pattern(np.random.default_rng(2), 40, 0.2),
    "grid": grid(9, 11),
    "diagonal": np.eye(7),
    "full": np.ones((6, 6)),
    "one": np.ones((1, 1)),
    "none": np.zeros((0, 0)),
}


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("name", ORDERS)
def test_orders_are_permutations(matrix, name):
    order = cs.mlcp.fill_order(MATRICES[matrix], name)
    assert sorted(order) == list(range(len(MATRICES[matrix])))


@pytest.mark.parametrize("matrix", ["sparse", "grid", "denser"])
def test_reverse_cuthill_mckee_is_about_as_narrow_as_scipys(matrix):
    csgraph = pytest.importorskip("scipy.sparse.csgraph")
    sparse = pytest.importorskip("scipy.sparse")
    A = MATRICES[matrix]
    theirs = csgraph.reverse_cuthill_mckee(sparse.csr_matrix(A), symmetric_mode=True)
    ours = cs.mlcp.fill_order(A)
    assert envelope(A, ours) <= 1.1 * envelope(A, theirs)
    assert envelope(A, ours) <= envelope(A, np.arange(len(A)))


def test_reverse_cuthill_mckee_finds_the_band_of_a_chain():
    order = np.random.default_rng(3).permutation(50)
    A = (2 * np.eye(50) + np.eye(50, k=1) + np.eye(50, k=-1))[np.ix_(order, order)]
    new = cs.mlcp.fill_order(A)
    assert envelope(A, new) == 49


def exact_minimum_degree(A):
    """Always the node of least degree in the graph that is left, its neighbours joined."""
    left, order = A != 0, []
    np.fill_diagonal(left, False)
    alive = np.ones(len(A), bool)
    for _ in range(len(A)):
        degrees = np.where(alive, left[:, alive].sum(axis=1), len(A))
        order.append(int(degrees.argmin()))
        around = np.flatnonzero(left[order[-1]] & alive)
        left[np.ix_(around, around)] = True
        np.fill_diagonal(left, False)
        alive[order[-1]] = False
    return order


@pytest.mark.parametrize("matrix", MATRICES)
def test_approximate_minimum_degree_fills_about_as_little_as_the_exact_one(matrix):
    A = MATRICES[matrix]
    ours = filled(A, cs.mlcp.fill_order(A, "minimum_degree")).sum()
    assert ours <= 1.1 * filled(A, exact_minimum_degree(A)).sum()


def test_a_tree_does_not_fill():
    rng = np.random.default_rng(4)
    A = 50.0 * np.eye(50)
    for k in range(1, 50):
        other = rng.integers(k)
        A[k, other] = A[other, k] = -1.0
    order = cs.mlcp.fill_order(A, "minimum_degree")
    assert filled(A, order).sum() == 99


def test_minimum_degree_fills_less_than_an_envelope():
    A = MATRICES["grid"]
    fill = {name: filled(A, cs.mlcp.fill_order(A, name)).sum() for name in ORDERS}
    assert fill["minimum_degree"] < fill["reverse_cuthill_mckee"] < fill["natural"]


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("name", ORDERS)
def test_elimination_trees_are_those_of_the_factor(matrix, name):
    """A row's parent is the first entry below the diagonal in its column of the factor."""
    A = MATRICES[matrix]
    order = cs.mlcp.fill_order(A, name)
    factor = filled(A, order)
    below = [np.flatnonzero(factor[k + 1 :, k]) + k + 1 for k in range(len(A))]
    expected = [int(rows[0]) if len(rows) else -1 for rows in below]
    assert cs.mlcp.elimination_tree(A, order).tolist() == expected


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="name: 'amd' is unknown"):
        cs.mlcp.fill_order(np.eye(2), "amd")
    with pytest.raises(ValueError, match="order is no permutation of 0 to 1"):
        cs.mlcp.elimination_tree(np.eye(2), [0, 0])
    with pytest.raises(ValueError, match=r"A has shape \(1, 2\)"):
        cs.mlcp.fill_order([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"A.indices\[1\] is 5"):
        cs.mlcp.fill_order(([1.0, 1.0], [0, 5], [0, 1, 2]))
