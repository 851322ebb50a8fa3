"""Sparse matrices whose structure is wrong are refused before anything follows their indices."""

import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs

SIZE = 6
FAR = 10**9


def dense():
    rng = np.random.default_rng(4)
    half = rng.normal(size=(SIZE, SIZE))
    return half @ half.T + SIZE * np.eye(SIZE)


def of(form):
    if form == "bsr":
        return scipy.sparse.bsr_array(dense(), blocksize=(3, 3))
    if form == "dia":
        return scipy.sparse.diags_array(
            [np.full(SIZE - 1, 0.5), np.full(SIZE, 4.0), np.full(SIZE - 1, 0.5)],
            offsets=[-1, 0, 1],
        )
    return getattr(scipy.sparse, f"{form}_array")(dense())


def entry(part, at, value):
    def change(matrix):
        array = np.array(getattr(matrix, part))
        array[at] = value
        setattr(matrix, part, array)

    return change


def in_place(part, at, value):
    return lambda matrix: getattr(matrix, part).__setitem__(at, value)


def without_last(part):
    return lambda matrix: setattr(matrix, part, getattr(matrix, part)[:-1])


def whole(part, value):
    return lambda matrix: setattr(matrix, part, value)


def fractions(part):
    return lambda matrix: setattr(matrix, part, getattr(matrix, part) + 0.5)


def coordinates(axis, value):
    def change(matrix):
        matrix.coords[axis][4] = value

    return change


def fractional_coordinates(matrix):
    matrix.coords = tuple(along + 0.5 for along in matrix.coords)


def key(matrix):
    matrix._dict[(2, FAR)] = 1.0


# What is wrong, and what the message says after the argument's name. `{0}` is that name.
COMPRESSED = [
    (entry("indptr", 0, 1), r"{0}.indptr\[0\] is 1: it must be 0"),
    (entry("indptr", 0, -1), r"{0}.indptr\[0\] is -1: it must be 0"),
    (entry("indptr", 1, 40), r"{0}.indptr\[2\] is \d+, below {0}.indptr\[1\] = 40"),
    (entry("indptr", 1, FAR), rf"{{0}}.indptr\[2\] is \d+, below {{0}}.indptr\[1\] = {FAR}"),
    (entry("indptr", 1, -5), r"{0}.indptr\[1\] is -5, below {0}.indptr\[0\] = 0"),
    (entry("indptr", -1, FAR), rf"{{0}}.indptr ends at {FAR}, but {{0}}.indices has \d+ entries"),
    (without_last("indptr"), r"{0}.indptr has \d entries: \d are needed, one more than "),
    (fractions("indptr"), "{0}.indptr has dtype float64: integers are needed"),
    (whole("indptr", None), "{0}.indptr is missing"),
    (in_place("indices", 2, FAR), rf"{{0}}.indices\[2\] is {FAR}: .* run from 0 to \d"),
    (in_place("indices", 2, -1), r"{0}.indices\[2\] is -1: .* run from 0 to \d"),
    (without_last("indices"), r"{0}.indptr ends at \d+, but {0}.indices has \d+ entries"),
    (fractions("indices"), "{0}.indices has dtype float64: integers are needed"),
    (whole("indices", np.zeros((2, 2), int)), r"{0}.indices has shape \(2, 2\): one dimension"),
    (without_last("data"), r"{0}.indptr ends at \d+, but .* and {0}.data \d+"),
    (whole("data", None), "{0}.data is missing"),
]
OTHERS = {
    "coo": [
        (coordinates(0, FAR), rf"{{0}}.row\[4\] is {FAR}: rows run from 0 to 5"),
        (coordinates(0, -1), r"{0}.row\[4\] is -1: rows run from 0 to 5"),
        (coordinates(1, FAR), rf"{{0}}.col\[4\] is {FAR}: columns run from 0 to 5"),
        (coordinates(1, -7), r"{0}.col\[4\] is -7: columns run from 0 to 5"),
        (without_last("data"), r"{0}.row has 36 entries, but {0}.data 35"),
        (without_last("col"), r"{0}.col has 35 entries, but {0}.data 36"),
        (fractional_coordinates, "{0}.row has dtype float64: integers are needed"),
    ],
    "dia": [
        (entry("offsets", 1, FAR), rf"{{0}}.offsets\[1\] is {FAR}: diagonals run from -6 to 6"),
        (entry("offsets", 0, -(2**31)), r"{0}.offsets\[0\] is -2147483648: diagonals run from"),
        (entry("offsets", 2, 0), r"{0}.offsets\[2\] is 0, as is {0}.offsets\[1\]"),
        (fractions("offsets"), "{0}.offsets has dtype float64: integers are needed"),
        (without_last("offsets"), r"{0}.data has shape \(3, 6\): 2 rows are needed"),
        (without_last("data"), r"{0}.data has shape \(2, 6\): 3 rows are needed"),
    ],
    "lil": [
        (lambda matrix: matrix.rows[2].__setitem__(1, FAR), rf"{{0}}.rows\[2\]\[1\] is {FAR}: col"),
        (lambda matrix: matrix.rows[2].__setitem__(1, -1), r"{0}.rows\[2\]\[1\] is -1: columns"),
        (lambda matrix: matrix.rows[2].pop(), r"{0}.rows\[2\] has 5 entries, but {0}.data\[2\] 6"),
        (lambda matrix: matrix.data[2].append(1.0), r"{0}.rows\[2\] has 6 entries, but .* 7"),
        (without_last("rows"), r"{0}.rows has shape \(5,\): \(6,\) is needed"),
        (entry("rows", 0, None), r"{0}.rows\[0\] is missing"),
    ],
    "dok": [(key, rf"{{0}} has the key \(2, {FAR}\): columns run from 0 to 5")],
    "bsr": [
        (whole("data", np.ones((4, 3, 4))), r"{0}.data has shape \(4, 3, 4\): \(blocks, rows,"),
        (whole("data", np.ones((4, 0, 3))), r"{0}.data has shape \(4, 0, 3\): \(blocks, rows,"),
    ],
}
CASES = [
    *((form, *case) for form in ("csr", "csc", "bsr") for case in COMPRESSED),
    *((form, *case) for form, cases in OTHERS.items() for case in cases),
]


def by_jacobian(J):
    return cs.Problem(J, np.ones(SIZE), np.zeros(SIZE), rows=3)


def update_jacobian(J):
    by_jacobian(dense()).update(J=J)


def update_inverse_mass(Minv):
    cs.Problem(dense(), np.ones(SIZE), np.zeros(SIZE), rows=3).update(Minv=Minv)


def state(mass):
    return cs.Problem.from_state(dense(), mass, velocity=np.zeros(SIZE), rows=3)


# Every argument that takes a sparse matrix, and its name in messages.
TAKERS = {
    "from_delassus": ("A", lambda A: cs.Problem.from_delassus(A, np.zeros(SIZE), 0.5)),
    "J": ("J", by_jacobian),
    "Minv": ("Minv", lambda M: cs.Problem(dense(), M, np.zeros(SIZE), rows=3)),
    "mass": ("mass", lambda M: cs.Problem(dense(), mass=M, b=np.zeros(SIZE), rows=3)),
    "from_state": ("mass", state),
    "update J": ("J", update_jacobian),
    "update Minv": ("Minv", update_inverse_mass),
    "solve_mlcp": ("A", lambda A: cs.solve_mlcp(A, -np.ones(SIZE))),
    "MlcpSolver": ("A", cs.MlcpSolver),
    "MlcpSolver.update": ("A", lambda A: cs.MlcpSolver(np.eye(SIZE)).update(A)),
    "fill_order": ("A", cs.mlcp.fill_order),
    "elimination_tree": ("A", cs.mlcp.elimination_tree),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(("form", "change", "message"), CASES)
def test_wrong_structures_are_named(taker, form, change, message):
    name, take = TAKERS[taker]
    matrix = of(form)
    take(matrix)
    change(matrix)
    with pytest.raises((ValueError, TypeError), match=message.format(name)):
        take(matrix)


@pytest.mark.parametrize("form", ("csr", "csc", "bsr", "coo", "lil", "dok", "dia"))
def test_every_form_is_read(form):
    matrix = of(form)
    problem = cs.Problem.from_delassus(matrix, np.zeros(SIZE), 0.5)
    np.testing.assert_array_equal(problem.delassus().toarray(), matrix.toarray())


def test_a_refused_update_changes_nothing():
    problem = by_jacobian(scipy.sparse.csr_array(dense()))
    before = problem.delassus().toarray()
    wrong = scipy.sparse.csr_array(2 * dense())
    wrong.indices[3] = FAR
    with pytest.raises(ValueError, match=rf"J.indices\[3\] is {FAR}"):
        problem.update(J=wrong)
    np.testing.assert_array_equal(problem.delassus().toarray(), before)


def test_matrices_of_one_dimension_are_refused():
    flat = scipy.sparse.coo_array(np.ones(SIZE))
    with pytest.raises(ValueError, match=r"Minv has shape \(6,\): a matrix of two dimensions"):
        cs.Problem(dense(), flat, np.zeros(SIZE), rows=3)


def test_the_mass_that_is_returned_is_not_the_problem_s_own():
    problem = state(scipy.sparse.csr_array(dense()))
    energy = problem.kinetic_energy(np.ones(SIZE))
    problem.mass_matrix.data[:] = np.nan
    assert problem.kinetic_energy(np.ones(SIZE)) == energy


class Other:
    """A sparse matrix of another library: it has no more than a shape and `tocsr`."""

    def __init__(self, csr):
        self.shape, self.csr = csr.shape, csr

    def tocsr(self):
        return self.csr


def test_matrices_of_other_libraries_are_checked_too():
    csr = of("csr")
    cs.solve_mlcp(Other(csr), -np.ones(SIZE))
    csr.indices[2] = FAR
    for name, take in (TAKERS["solve_mlcp"], TAKERS["J"]):
        with pytest.raises(ValueError, match=rf"{name}.indices\[2\] is {FAR}"):
            take(Other(csr))
