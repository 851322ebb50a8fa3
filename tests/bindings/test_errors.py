"""Bad input: every error names the argument, the index and the value.

One table for each place where input arrives.  A row is what is wrong, the type of the error and its
whole message (or, as a compiled pattern, the part that is ours).  After every error the C library
holds as many blocks of memory as before.
"""

import gc
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs
from contactsolve import _core

CONTACTS, ROWS, DOF, BODIES = 3, 3, 6, 2
SHAPE = f"({CONTACTS}, 2, {ROWS}, {DOF})"
FINITE = "every entry must be finite"
REAL = "real numbers are needed"
MINV_SHAPES = "(bodies, 6) or (bodies, 6, 6)"
EIGENVALUE = "an inverse mass has no negative eigenvalue"
RANGE = "body numbers run from -1 (the fixed world) to 1"
NAN, INF = np.nan, np.inf


def check(call, kind, message):
    before = _core.memory_live()
    try:
        call()
    except Exception as error:
        found, text = type(error), str(error)
    else:
        pytest.fail(f"accepted; wanted was {kind.__name__}: {message}", pytrace=False)
    if isinstance(message, re.Pattern):
        assert message.search(text), text
    else:
        assert text == message
    assert found is kind
    if _core.memory_live() != before:  # the traceback of the error may have been in a cycle
        gc.collect()
    assert _core.memory_live() <= before  # less: the traceback of a failed test is gone


def arrays():
    random = np.random.default_rng(1)
    return {
        "J": random.normal(size=(CONTACTS, 2, ROWS, DOF)),
        "Minv": np.tile(np.eye(DOF), (BODIES, 1, 1)),
        "b": random.normal(size=(CONTACTS, ROWS)) - [3.0, 0.0, 0.0],
        "bodies": np.array([[-1, 0], [0, 1], [1, -1]]),
    }


def problem(**changes):
    values = arrays() | changes
    return cs.Problem(values.pop("J"), values.pop("Minv"), values.pop("b"), **values)


def entry(name, index, value, dtype=None):
    """One entry of one array is changed."""
    array = arrays()[name].astype(dtype) if dtype else arrays()[name]
    array[index] = value
    return {name: array}


def diagonals(index=(0, 0), value=1.0):
    array = np.ones((BODIES, DOF))
    array[index] = value
    return {"Minv": array}


def full(value, shape, index, other):
    array = np.full(shape, value)
    array[index] = other
    return array


def inertia(**entries):
    """The second body's inverse mass gets ``i_j = value`` entries."""
    array = arrays()["Minv"]
    for place, value in entries.items():
        array[(1, *map(int, place.removeprefix("at_").split("_")))] = value
    return {"Minv": array}


def named(rows):
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


# ---- Problem ------------------------------------------------------------------------------------

PROBLEM = [
    # J
    ("J nan", entry("J", (2, 0, 1, 2), NAN), ValueError, f"J[2, 0, 1, 2] is nan: {FINITE}"),
    ("J inf", entry("J", (1, 1, 2, 5), -INF), ValueError, f"J[1, 1, 2, 5] is -inf: {FINITE}"),
    ("J missing", {"J": None}, TypeError, "J is missing"),
    (
        "J of three dimensions",
        {"J": np.ones((3, 3, 6))},
        ValueError,
        "J has shape (3, 3, 6): (contacts, partners, rows, dof) is needed",
    ),
    (
        "J of one side",
        {"J": np.ones((3, 1, 3, 6))},
        ValueError,
        "bodies has shape (3, 2): J of 3 contacts needs (3, 1)",
    ),
    (
        "J with seven rows",
        {"J": np.ones((3, 2, 7, 6)), "b": np.ones(21)},
        ValueError,
        "J has shape (3, 2, 7, 6): contacts have from 1 to 6 rows",
    ),
    (
        "J without rows",
        {"J": np.ones((3, 2, 0, 6)), "b": []},
        ValueError,
        "J has shape (3, 2, 0, 6): contacts have from 1 to 6 rows",
    ),
    (
        "J ragged",
        {"J": [[1.0], [1.0, 2.0]]},
        ValueError,
        re.compile("^J is no array of one shape: "),
    ),
    # Minv
    ("Minv nan", inertia(at_2_3=NAN), ValueError, f"Minv[1, 2, 3] is nan: {FINITE}"),
    ("Minv diagonal inf", diagonals((1, 4), INF), ValueError, f"Minv[1, 4] is inf: {FINITE}"),
    ("Minv missing", {"Minv": None}, TypeError, "give either Minv or mass"),
    (
        "Minv of one dimension",
        {"Minv": np.ones(12)},
        ValueError,
        f"Minv has shape (12,): with J of shape {SHAPE} it must be {MINV_SHAPES}",
    ),
    (
        "Minv of another dof",
        {"Minv": np.ones((2, 5, 5))},
        ValueError,
        f"Minv has shape (2, 5, 5): with J of shape {SHAPE} it must be {MINV_SHAPES}",
    ),
    (
        "too many degrees of freedom",
        {"J": np.ones((3, 2, 3, 65)), "Minv": np.ones((2, 65))},
        ValueError,
        "Minv describes bodies with 65 degrees of freedom; 1 to 64 are allowed",
    ),
    (
        "no degrees of freedom",
        {"J": np.ones((3, 2, 3, 0)), "Minv": np.ones((2, 0))},
        ValueError,
        "Minv describes bodies with 0 degrees of freedom; 1 to 64 are allowed",
    ),
    (
        "Minv negative",
        diagonals((1, 4), -0.5),
        ValueError,
        "Minv[1, 4] is -0.5: an inverse mass is 0 (immovable) or more",
    ),
    (
        "Minv block with a negative diagonal",
        inertia(at_3_3=-0.5),
        ValueError,
        f"Minv[1] is indefinite, found at row 3 (Minv[1, 3, 3] is -0.5): {EIGENVALUE}",
    ),
    (
        "Minv indefinite",
        inertia(at_0_1=2.0, at_1_0=2.0),
        ValueError,
        f"Minv[1] is indefinite, found at row 1 (Minv[1, 1, 1] is 1): {EIGENVALUE}",
    ),
    (
        "Minv zero on the diagonal, not beside it",
        inertia(at_2_2=0.0, at_2_4=0.5, at_4_2=0.5),
        ValueError,
        f"Minv[1] is indefinite, found at row 4 (Minv[1, 4, 4] is 1): {EIGENVALUE}",
    ),
    (
        "Minv unsymmetric",
        inertia(at_0_1=0.2, at_1_0=0.3),
        ValueError,
        "Minv[1, 0, 1] is 0.2 but Minv[1, 1, 0] is 0.3: an inverse mass is symmetric",
    ),
    (
        "Minv unsymmetric in the seventh digit",
        inertia(at_0_1=0.5, at_1_0=0.5000014),
        ValueError,
        "Minv[1, 0, 1] is 0.5 but Minv[1, 1, 0] is 0.5000014: an inverse mass is symmetric",
    ),
    # b
    ("b nan", entry("b", (1, 2), NAN), ValueError, f"b[1, 2] is nan: {FINITE}"),
    ("b inf", {"b": full(0.0, 9, 4, INF)}, ValueError, f"b[1, 1] is inf: {FINITE}"),
    ("b missing", {"b": None}, TypeError, "b is missing"),
    (
        "b too short",
        {"b": np.zeros(8)},
        ValueError,
        "b has shape (8,): 3 contacts of 3 rows need (3, 3) or (9,)",
    ),
    (
        "b one number",
        {"b": 1.0},
        ValueError,
        "b has shape (): 3 contacts of 3 rows need (3, 3) or (9,)",
    ),
    # bodies
    (
        "bodies missing",
        {"bodies": None},
        TypeError,
        "bodies is missing: a J of blocks needs the bodies of each contact",
    ),
    ("body too large", entry("bodies", (2, 1), 57), ValueError, f"bodies[2, 1] is 57: {RANGE}"),
    ("body too small", entry("bodies", (0, 0), -2), ValueError, f"bodies[0, 0] is -2: {RANGE}"),
    (
        "body of 64 bits without sign",
        entry("bodies", (0, 0), 2**64 - 1, np.uint64),
        ValueError,
        re.compile("^bodies.*18446744073709551615"),
    ),
    (
        "bodies of another length",
        {"bodies": [[-1, 0], [0, 1]]},
        ValueError,
        "bodies has shape (2, 2): J of 3 contacts needs (3, 2)",
    ),
    (
        "bodies not whole",
        {"bodies": arrays()["bodies"] + 0.5},
        TypeError,
        "bodies has dtype float64: integers are needed",
    ),
    (
        "bodies true or false",
        {"bodies": arrays()["bodies"] > 0},
        TypeError,
        "bodies has dtype bool: integers are needed",
    ),
    (
        "bodies ragged",
        {"bodies": [[0], [1, 2], [0, 1]]},
        ValueError,
        re.compile("^bodies is no array of one shape: "),
    ),
    # mu
    (
        "mu negative",
        {"mu": [0.1, 0.2, -0.1]},
        ValueError,
        "mu[2] is -0.1: a friction coefficient is a number, 0 or more",
    ),
    (
        "mu nan",
        {"mu": NAN},
        ValueError,
        "mu[0] is nan: a friction coefficient is a number, 0 or more",
    ),
    (
        "mu infinite",
        {"mu": [0, INF, 0]},
        ValueError,
        "mu[1] is inf: a friction coefficient is at most 1e+06",
    ),
    (
        "mu beyond all materials",
        {"mu": [0, 0, 2e6]},
        ValueError,
        "mu[2] is 2e+06: a friction coefficient is at most 1e+06",
    ),
    (
        "mu of another length",
        {"mu": [0.1, 0.2]},
        ValueError,
        "mu has shape (2,): one number or shape (3,) is needed",
    ),
    # lo, hi
    (
        "lo above hi",
        {"lo": full(0.0, (3, 3), (2, 0), 1.0), "hi": 0.5},
        ValueError,
        "lo[2, 0] is 1, above hi[2, 0] = 0.5",
    ),
    (
        "lo above hi in the eighth digit",
        {"lo": 1.0000001, "hi": 1.0},
        ValueError,
        "lo[0, 0] is 1.0000001, above hi[0, 0] = 1",
    ),
    (
        "lo nan",
        {"lo": full(0.0, (3, 3), (1, 2), NAN)},
        ValueError,
        "lo[1, 2] is nan: a lower bound is a number or -inf",
    ),
    ("lo inf", {"lo": INF}, ValueError, "lo[0, 0] is inf: a lower bound is a number or -inf"),
    (
        "hi nan",
        {"hi": [0, 1, NAN]},
        ValueError,
        "hi[0, 2] is nan: an upper bound is a number or inf",
    ),
    ("hi -inf", {"hi": -INF}, ValueError, "hi[0, 0] is -inf: an upper bound is a number or inf"),
    (
        "lo of another length",
        {"lo": [0, 1]},
        ValueError,
        "lo has shape (2,): one number or shape (3, 3) is needed",
    ),
    # sets
    (
        "mu and hi",
        {"mu": 0.5, "hi": 1.0},
        ValueError,
        "mu makes the contacts discs, lo and hi boxes: give one of them",
    ),
    (
        "mu and sets",
        {"mu": 0.5, "sets": cs.sets.free()},
        ValueError,
        "sets=sets.free() has its own parameters: leave out mu, lo and hi",
    ),
    (
        "lo and sets",
        {"lo": 0.5, "sets": cs.sets.disc(0.25)},
        ValueError,
        "sets=sets.disc(0.25) has its own parameters: leave out mu, lo and hi",
    ),
    (
        "sets by name",
        {"sets": "disc"},
        TypeError,
        "sets is 'disc': use contactsolve.sets.disc(mu)",
    ),
    (
        "sets not called",
        {"sets": cs.sets.free},
        TypeError,
        re.compile(r"^sets is <function free .*: call it, sets\.free\(\.\.\.\)$"),
    ),
    (
        "discs on one row",
        {"J": np.ones((3, 2, 1, 6)), "b": np.ones(3), "mu": 0.5},
        ValueError,
        "mu makes the contacts discs, which take 2 or 3 rows, not 1: leave it out or give sets",
    ),
    (
        "box friction on one row",
        {"J": np.ones((3, 2, 1, 6)), "b": np.ones(3), "sets": cs.sets.box_friction(0.5)},
        ValueError,
        "sets: 'box_friction' does not take blocks of 1 row: it takes 2 or 3",
    ),
    (
        "rolling on three rows",
        {"sets": cs.sets.rolling(0.5, 0.1)},
        ValueError,
        "sets: 'rolling' does not take blocks of 3 rows: it takes 5",
    ),
    (
        "discs on four rows",
        {"J": np.ones((3, 2, 4, 6)), "b": np.ones(12), "sets": cs.sets.disc(0.5)},
        ValueError,
        "sets: 'disc' does not take blocks of 4 rows: it takes 2 or 3",
    ),
    (
        "immovable contact, strictly",
        {"bodies": [[-1, 0], [-1, -1], [1, 0]], "strict": True},
        ValueError,
        "contact 1 is between immovable bodies (bodies [-1, -1]): strict=True refuses it",
    ),
]


@pytest.mark.parametrize(("changes", "kind", "message"), named(PROBLEM))
def test_problem(changes, kind, message):
    check(lambda: problem(**changes), kind, message)


@pytest.mark.parametrize(("changes", "kind", "message"), named(PROBLEM))
def test_solve_with_arrays_refuses_the_same(changes, kind, message):
    values = arrays() | changes
    check(lambda: cs.solve(values.pop("J"), **values), kind, message)


@pytest.mark.parametrize("dtype", ["complex128", "<U3", "|S3", "object", "datetime64[s]"])
@pytest.mark.parametrize("name", ["J", "Minv", "b", "mu", "lo", "hi"])
def test_dtypes_that_are_no_real_numbers(name, dtype):
    value = np.zeros(arrays()[name].shape if name in arrays() else (), dtype)
    check(lambda: problem(**{name: value}), TypeError, f"{name} has dtype {value.dtype}: {REAL}")


def test_arrays_beside_a_problem():
    for name, value in {**arrays(), "mu": 0.5, "lo": 0.0, "hi": 1.0}.items():
        if name == "J":
            continue
        message = f"{name} is given, but the Problem has its own"
        made = problem()
        check(lambda n=name, v=value, p=made: cs.solve(p, **{n: v}), TypeError, message)


def test_strict_beside_a_problem_is_not_ignored():
    immovable = problem(bodies=[[-1, 0], [-1, -1], [1, 0]])
    message = "contact 1 is between immovable bodies (bodies [-1, -1]): strict=True refuses it"
    check(lambda: cs.solve(immovable, strict=True), ValueError, message)
    assert cs.solve(problem(), strict=True).converged


# ---- from_delassus ------------------------------------------------------------------------------


def dense(**entries):
    """A (6, 6) unit matrix with ``at_i_j = value``."""
    array = np.eye(6)
    for place, value in entries.items():
        array[tuple(map(int, place.removeprefix("at_").split("_")))] = value
    return array


def triple(data=(1.0,) * 6, indices=range(6), indptr=range(7)):
    return np.array(data), np.array(list(indices)), np.array(list(indptr))


DELASSUS = [
    ("A nan", dense(at_1_2=NAN), {}, ValueError, f"A[1, 2] is nan: {FINITE}"),
    (
        "A sparse inf",
        scipy.sparse.csr_array(dense(at_4_0=-INF)),
        {},
        ValueError,
        f"A[4, 0] is -inf: {FINITE}",
    ),
    ("A missing", None, {}, TypeError, "A is missing"),
    (
        "A not square",
        np.ones((6, 3)),
        {},
        ValueError,
        "A has shape (6, 3): a square matrix is needed",
    ),
    (
        "A sparse, not square",
        scipy.sparse.bsr_array(np.ones((6, 3))),
        {},
        ValueError,
        "A has shape (6, 3): a square matrix is needed",
    ),
    (
        "A of three dimensions",
        np.ones((2, 3, 3)),
        {},
        ValueError,
        "A has shape (2, 3, 3): a square matrix is needed",
    ),
    ("A complex", np.eye(6) * 1j, {}, TypeError, f"A has dtype complex128: {REAL}"),
    (
        "A sparse complex",
        scipy.sparse.csr_array(np.eye(6) * 1j),
        {},
        TypeError,
        f"A.data has dtype complex128: {REAL}",
    ),
    ("A ragged", [[1.0], [1.0, 2.0]], {}, ValueError, re.compile("^A is no array of one shape: ")),
    (
        "rows that do not divide",
        np.eye(7),
        {},
        ValueError,
        "A has 7 rows, which is no multiple of rows=3",
    ),
    ("no rows", np.eye(6), {"rows": 0}, ValueError, "rows is 0: an integer from 1 to 6 is needed"),
    (
        "seven rows",
        np.eye(7),
        {"rows": 7},
        ValueError,
        "rows is 7: an integer from 1 to 6 is needed",
    ),
    (
        "rows not whole",
        np.eye(6),
        {"rows": 3.0},
        ValueError,
        "rows is 3.0: an integer from 1 to 6 is needed",
    ),
    (
        "negative diagonal",
        dense(at_4_4=-1.0),
        {},
        ValueError,
        "A[4, 4] is -1: a Delassus matrix has no negative diagonal",
    ),
    (
        "b of another length",
        np.eye(6),
        {"b": np.zeros(3)},
        ValueError,
        "b has shape (3,): 2 contacts of 3 rows need (2, 3) or (6,)",
    ),
    (
        "mu negative",
        np.eye(6),
        {"mu": -0.1},
        ValueError,
        "mu[0] is -0.1: a friction coefficient is a number, 0 or more",
    ),
    (
        "immovable contact, strictly",
        np.diag([1.0, 1, 1, 0, 0, 0]),
        {"strict": True},
        ValueError,
        "contact 1 is between immovable bodies: strict=True refuses it",
    ),
    # three arrays that lie
    (
        "index too large",
        triple(indices=[0, 1, 2, 3, 6, 5]),
        {},
        ValueError,
        "A.indices[4] is 6: columns run from 0 to 5",
    ),
    (
        "index negative",
        triple(indices=[0, 1, -1, 3, 4, 5]),
        {},
        ValueError,
        "A.indices[2] is -1: columns run from 0 to 5",
    ),
    (
        "indptr does not begin at 0",
        triple(indptr=[1, 1, 2, 3, 4, 5, 6]),
        {},
        ValueError,
        "A.indptr[0] is 1: it must be 0",
    ),
    (
        "indptr decreases",
        triple(indptr=[0, 1, 2, 4, 3, 5, 6]),
        {},
        ValueError,
        "A.indptr[4] is 3, below A.indptr[3] = 4",
    ),
    (
        "indptr overshoots",
        triple(indptr=[0, 1, 2, 10**12, 3, 5, 6]),
        {},
        ValueError,
        "A.indptr[4] is 3, below A.indptr[3] = 1000000000000",
    ),
    (
        "indptr negative",
        triple(indptr=[0, -5, 2, 3, 4, 5, 6]),
        {},
        ValueError,
        "A.indptr[1] is -5, below A.indptr[0] = 0",
    ),
    (
        "indptr ends too late",
        triple(indptr=[0, 1, 2, 3, 4, 5, 7]),
        {},
        ValueError,
        "A.indptr ends at 7, but A.indices has 6 entries and A.data 6",
    ),
    (
        "data too short",
        triple(data=[1.0] * 5),
        {},
        ValueError,
        "A.indptr ends at 6, but A.indices has 6 entries and A.data 5",
    ),
    (
        "indices too short",
        triple(indices=range(5)),
        {},
        ValueError,
        "A.indptr ends at 6, but A.indices has 5 entries and A.data 6",
    ),
    ("indptr empty", triple([], [], []), {}, ValueError, re.compile("^A.indptr ")),
    (
        "a tuple of three rows, or a triple",
        ((2, 0, 0), (0, 2, 0), (0, 0, 2)),
        {},
        TypeError,
        "A is a tuple of three rows of three: give a matrix as an array, or these three as arrays",
    ),
    (
        "data of two dimensions",
        (np.ones((2, 3)), np.arange(6), np.arange(7)),
        {},
        ValueError,
        "A.data has shape (2, 3): one dimension is needed",
    ),
    (
        "indices not whole",
        (np.ones(6), np.arange(6.0), np.arange(7)),
        {},
        TypeError,
        "A.indices has dtype float64: integers are needed",
    ),
]


@pytest.mark.parametrize(("A", "changes", "kind", "message"), named(DELASSUS))
def test_from_delassus(A, changes, kind, message):
    values = {"b": np.zeros(6)} | changes
    check(lambda: cs.Problem.from_delassus(A, **values), kind, message)


# ---- options ------------------------------------------------------------------------------------


def known(option, given, names, *, auto=True, meant=""):
    told = f"{option}: {given!r} is unknown; known: {', '.join(['auto'] * auto + names)}"
    return f"{told}; did you mean {meant!r}?" if meant else told


EXACT = (
    "local='exact' solves free blocks only, and this problem has blocks of set 'disc': "
    "use local='auto', which solves the free ones exactly"
)
POSITIVE = "a finite number above 0 is needed"
OPTIONS = [
    # names
    (
        "method",
        {"method": "Newton"},
        ValueError,
        known("method", "Newton", cs.methods.names(), auto=False, meant="newton"),
    ),
    ("scheme", {"scheme": "whole"}, ValueError, known("scheme", "whole", cs.schemes.names())),
    ("order", {"order": "sorted"}, ValueError, known("order", "sorted", cs.orders.names())),
    (
        "stop",
        {"stop": "speed"},
        ValueError,
        known("stop", "speed", cs.measures.names(), auto=False),
    ),
    (
        "record",
        {"record": ("residual", "speed")},
        ValueError,
        known("record", "speed", cs.measures.names(), auto=False),
    ),
    (
        "local",
        {"local": "both"},
        ValueError,
        known("local", "both", ["projected", "exact", "block", "newton", "quartic"]),
    ),
    (
        "r_factor",
        {"r_factor": "best"},
        ValueError,
        known(
            "r_factor",
            "best",
            ["local", "diagonal", "block", "global", "balanced, or a number"],
            auto=False,
        ),
    ),
    (
        "bound",
        {"bound": "next"},
        ValueError,
        known("bound", "next", ["current", "previous"], auto=False),
    ),
    (
        "dtype by name",
        {"dtype": "int"},
        ValueError,
        known("dtype", "int", ["float64", "float32", "mixed"], auto=False),
    ),
    (
        "dtype",
        {"dtype": np.float16},
        ValueError,
        known("dtype", "float16", ["float64", "float32", "mixed"], auto=False, meant="float64"),
    ),
    (
        "a word for a truth value",
        {"compressed": "no"},
        TypeError,
        "compressed is 'no': True or False is needed",
    ),
    (
        "no truth value",
        {"compressed": None},
        TypeError,
        "compressed is None: True or False is needed",
    ),
    ("empty name", {"method": ""}, ValueError, known("method", "", cs.methods.names(), auto=False)),
    (
        "name longer than a message",
        {"method": "x" + "é" * 400},
        ValueError,
        known("method", "x" + "é" * 19 + "...", cs.methods.names(), auto=False),
    ),
    (
        "name with a zero inside",
        {"method": "jac\0obi"},
        ValueError,
        "method: 'jac\\x00obi' is no name",
    ),
    (
        "order with a zero inside",
        {"order": "natural\0"},
        ValueError,
        "order: 'natural\\x00' is no name",
    ),
    (
        "dtype with a zero inside",
        {"dtype": "float64\0"},
        ValueError,
        "dtype: 'float64\\x00' is no name",
    ),
    (
        "name of half a character",
        {"stop": "\ud800"},
        ValueError,
        "stop: '\\ud800' is no name",
    ),
    (
        "record of a name with a zero inside",
        {"record": ("merit\0",)},
        ValueError,
        "record holds 'merit\\x00', which is no name",
    ),
    ("unknown option", {"iterations": 5}, TypeError, re.compile("'iterations'")),
    # orders
    (
        "order repeats",
        {"order": [0, 1, 1]},
        ValueError,
        "order[2] is 1, as order[1] is: every contact is visited once",
    ),
    (
        "order too large",
        {"order": [0, 1, 3]},
        ValueError,
        "order[2] is 3: contacts run from 0 to 2",
    ),
    (
        "order negative",
        {"order": [0, -1, 2]},
        ValueError,
        "order[1] is -1: contacts run from 0 to 2",
    ),
    (
        "order too short",
        {"order": [0, 1]},
        ValueError,
        "order has 2 entries; the problem has 3 contacts",
    ),
    (
        "order of two dimensions",
        {"order": np.array([[0], [1], [2]])},
        ValueError,
        "order has shape (3, 1): a name, or a permutation of shape (3,), is needed",
    ),
    (
        "order one number",
        {"order": 2},
        TypeError,
        (
            "order is 2: a name, an object of contactsolve.orders or a permutation of the contacts "
            "is needed"
        ),
    ),
    (
        "order not whole",
        {"order": [0.0, 1.7, 2.0]},
        TypeError,
        "order has dtype float64: integers are needed",
    ),
    (
        "order as an array, not whole",
        {"order": np.array([0.0, 1.0, 2.0])},
        TypeError,
        "order has dtype float64: integers are needed",
    ),
    # numbers
    ("relaxation 0", {"relaxation": 0}, ValueError, f"relaxation is 0: {POSITIVE}"),
    ("relaxation negative", {"relaxation": -1.5}, ValueError, f"relaxation is -1.5: {POSITIVE}"),
    ("relaxation nan", {"relaxation": NAN}, ValueError, f"relaxation is nan: {POSITIVE}"),
    ("relaxation inf", {"relaxation": INF}, ValueError, f"relaxation is inf: {POSITIVE}"),
    ("averaging 0", {"averaging": 0.0}, ValueError, f"averaging is 0: {POSITIVE}"),
    (
        "averaging above 1",
        {"averaging": 1.5},
        ValueError,
        "averaging is 1.5: it must be at most 1",
    ),
    (
        "averaging above 1 in the eighth digit",
        {"averaging": 1.0000001},
        ValueError,
        "averaging is 1.0000001: it must be at most 1",
    ),
    ("r_factor 0", {"r_factor": 0}, ValueError, f"r_factor is 0: {POSITIVE}"),
    ("r_factor nan", {"r_factor": NAN}, ValueError, f"r_factor is nan: {POSITIVE}"),
    ("quality_r 0", {"quality_r": 0.0}, ValueError, f"quality_r is 0: {POSITIVE}"),
    ("rollback", {"rollback": -1}, ValueError, "rollback is -1: it must be at least 0"),
    (
        "rollback_growth 0",
        {"rollback_growth": 0},
        ValueError,
        "rollback_growth is 0: it must be at least 1",
    ),
    (
        "rollback_growth",
        {"rollback_growth": 0.5},
        ValueError,
        "rollback_growth is 0.5: it must be at least 1",
    ),
    ("rtol", {"rtol": -1e-3}, ValueError, "rtol is -0.001: it must be at least 0"),
    ("atol", {"atol": -1}, ValueError, "atol is -1: it must be at least 0"),
    ("rtol nan", {"rtol": NAN}, ValueError, "rtol is nan: it must be at least 0"),
    ("atol nan", {"atol": NAN}, ValueError, "atol is nan: it must be at least 0"),
    (
        "max_iterations",
        {"max_iterations": -1},
        ValueError,
        "max_iterations is -1: it must be at least 0",
    ),
    ("check_every", {"check_every": 0}, ValueError, "check_every is 0: it must be at least 1"),
    ("record_every", {"record_every": 0}, ValueError, "record_every is 0: it must be at least 1"),
    ("threads", {"threads": -1}, ValueError, "threads is -1: it must be at least 0"),
    (
        "too many measures",
        {"record": ("residual",) * 33},
        ValueError,
        "record names 33 measures; at most 32 are allowed",
    ),
    (
        "max_iterations beyond 64 bits",
        {"max_iterations": 2**70},
        ValueError,
        "max_iterations is 1180591620717411303424: that is too large",
    ),
    (
        "rollback beyond an int",
        {"rollback": 2**40},
        ValueError,
        "rollback is 1099511627776: that is too large",
    ),
    (
        "threads beyond an int",
        {"threads": 2**40},
        ValueError,
        "threads is 1099511627776: that is too large",
    ),
    ("rng", {"order": "random", "rng": -1}, ValueError, re.compile("^rng is -1: ")),
    ("rng a word", {"order": "random", "rng": "x"}, TypeError, re.compile("^rng is 'x': ")),
    # types
    ("method a number", {"method": 5}, TypeError, "method is 5: a name is needed"),
    ("method bytes", {"method": b"jacobi"}, TypeError, "method is b'jacobi': a name is needed"),
    ("scheme None", {"scheme": None}, TypeError, "scheme is None: a name is needed"),
    ("local a number", {"local": 1.0}, TypeError, "local is 1.0: a name is needed"),
    ("bound None", {"bound": None}, TypeError, "bound is None: a name is needed"),
    ("stop a tuple", {"stop": ("merit",)}, TypeError, "stop is ('merit',): a name is needed"),
    ("relaxation a word", {"relaxation": "1"}, TypeError, "relaxation is '1': a number is needed"),
    (
        "relaxation None",
        {"relaxation": None},
        TypeError,
        "relaxation is None: a number is needed",
    ),
    (
        "averaging a word",
        {"averaging": "x"},
        ValueError,
        "averaging: 'x' is unknown; known: adjacent, or a number",
    ),
    ("r_factor None", {"r_factor": None}, TypeError, "r_factor is None: a number is needed"),
    ("rtol a word", {"rtol": "1e-6"}, TypeError, "rtol is '1e-6': a number is needed"),
    ("rollback not whole", {"rollback": 2.5}, TypeError, "rollback is 2.5: an integer is needed"),
    (
        "max_iterations not whole",
        {"max_iterations": 10.0},
        TypeError,
        "max_iterations is 10.0: an integer is needed",
    ),
    ("threads a word", {"threads": "2"}, TypeError, "threads is '2': an integer is needed"),
    (
        "check_every None",
        {"check_every": None},
        TypeError,
        "check_every is None: an integer is needed",
    ),
    (
        "dtype a number",
        {"dtype": 5},
        TypeError,
        "dtype is 5: 'float64', 'float32' or 'mixed' is needed",
    ),
    (
        "record a word",
        {"record": "residual"},
        TypeError,
        "record is 'residual': a tuple of names is needed, such as ('residual',)",
    ),
    ("record a number", {"record": 5}, TypeError, "record is 5: a tuple of names is needed"),
    (
        "record of numbers",
        {"record": (1,)},
        TypeError,
        "record holds 1: names of measures are needed",
    ),
    # options that do not fit together
    ("exact discs", {"local": "exact"}, ValueError, EXACT),
    (
        "stop without atol",
        {"stop": "residual"},
        ValueError,
        "stop='residual' is compared with atol, which is 0: set atol above 0",
    ),
]


@pytest.mark.parametrize(("options", "kind", "message"), named(OPTIONS))
def test_options(options, kind, message):
    made = problem(mu=0.5)
    check(lambda: cs.Solver(made, **options), kind, message)


NO_CONTACT = (
    "it is defined for contacts with circular friction cones, or without friction, and for "
    "bilateral constraints"
)


@pytest.mark.parametrize("option", ["stop", "record"])
@pytest.mark.parametrize(
    "feasible", [cs.sets.box(0, 1), cs.sets.polygon(0.5)], ids=["box", "polygon"]
)
def test_fclib_error_needs_contacts(option, feasible):
    made = problem(sets=feasible)
    value = "fclib_error" if option == "stop" else ("residual", "fclib_error")
    message = f"{option}: 'fclib_error' does not fit this problem: {NO_CONTACT}"
    check(lambda: cs.Solver(made, **{option: value}), ValueError, message)


def test_factorized_needs_a_jacobian():
    made = cs.Problem.from_delassus(np.eye(6), np.zeros(6))
    message = (
        "scheme='factorized' needs a Jacobian, and this problem was given as a matrix: "
        "use scheme='matrix'"
    )
    check(lambda: cs.Solver(made, scheme="factorized"), ValueError, message)


def test_a_solver_needs_a_problem():
    with pytest.raises(TypeError, match="problem is ndarray: Solver takes one Problem, which"):
        cs.Solver(np.eye(3))


THREADS = """
import numpy as np, contactsolve as cs
problem = cs.Problem.from_delassus(np.eye(3), [-1.0, 0, 0])
try:
    print(cs.solve(problem, method="jacobi", threads=200_000).impulses[0, 0])
except ValueError as error:
    print(error)
"""


def test_more_threads_than_a_machine_has_do_not_end_the_process():
    done = subprocess.run(
        [sys.executable, "-P", "-c", THREADS], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stdout.strip() == "1.0" or done.stdout.startswith("threads is 200000: ")


# ---- numbers that no sweep can hold --------------------------------------------------------------

UNHELD = [
    ("overflow", 1e200, 1.0, "float64", r"is inf, too large for float64: use other units"),
    (
        "denormal",
        1.0,
        1e-320,
        "float64",
        r"is 9\.99\S*e-321, too small for float64: use other units",
    ),
    ("large", 1.0, 1e40, "float32", r"is \S+, too large for float32: use dtype='float64'"),
    ("small", 1.0, 1e-42, "float32", r"is \S+, too small for float32: use dtype='float64'"),
]


@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel"])
@pytest.mark.parametrize("feasible", [cs.sets.half_line(), cs.sets.free()], ids=lambda s: s.name)
@pytest.mark.parametrize(("jacobian", "inverse_mass", "dtype", "ending"), named(UNHELD))
def test_a_contact_that_moves_a_little_is_not_immovable(
    jacobian, inverse_mass, dtype, ending, feasible, method
):
    J = np.zeros((2, 2, 1, 1))
    J[0, 1], J[1, 1] = 1.0, jacobian
    bodies = [[-1, 0], [-1, 1]]
    made = cs.Problem(J, [[1.0], [inverse_mass]], [-1.0, -1.0], bodies=bodies, sets=feasible)
    message = re.compile(rf"^A\[1, 1\] of contact 1 {ending}$")
    check(lambda: cs.Solver(made, method=method, dtype=dtype), ValueError, message)
    if dtype == "float32":
        result = cs.solve(made, method=method)
        assert result.converged
        np.testing.assert_allclose(result.impulses[1, 0], 1 / inverse_mass, rtol=1e-6)


# ---- Solver.solve -------------------------------------------------------------------------------

SOLVE = [
    ("b nan", {"b": full(0.0, (3, 3), (1, 2), NAN)}, ValueError, f"b[1, 2] is nan: {FINITE}"),
    ("b inf", {"b": full(0.0, 9, 5, -INF)}, ValueError, f"b[1, 2] is -inf: {FINITE}"),
    (
        "b of another length",
        {"b": np.zeros((3, 2))},
        ValueError,
        "b has shape (3, 2): the problem needs (3, 3) or (9,)",
    ),
    ("b complex", {"b": np.zeros(9) * 1j}, TypeError, f"b has dtype complex128: {REAL}"),
    (
        "mu negative",
        {"mu": [0.1, -0.2, 0.3]},
        ValueError,
        "mu[1] is -0.2: a friction coefficient is a number, 0 or more",
    ),
    (
        "mu nan",
        {"mu": [0.1, 0.2, NAN]},
        ValueError,
        "mu[2] is nan: a friction coefficient is a number, 0 or more",
    ),
    (
        "mu of another length",
        {"mu": [0.1, 0.2]},
        ValueError,
        "mu has shape (2,): one number or shape (3,) is needed",
    ),
    ("mu a word", {"mu": "rough"}, TypeError, f"mu has dtype <U5: {REAL}"),
    (
        "initial nan",
        {"initial": full(0.0, (3, 3), (1, 2), NAN)},
        ValueError,
        f"initial[1, 2] is nan: {FINITE}",
    ),
    (
        "initial inf",
        {"initial": full(0.0, 9, 8, INF)},
        ValueError,
        f"initial[2, 2] is inf: {FINITE}",
    ),
    (
        "initial of another length",
        {"initial": np.zeros((2, 3))},
        ValueError,
        "initial has shape (2, 3): the problem needs (3, 3) or (9,)",
    ),
    (
        "initial words",
        {"initial": np.full(9, "open")},
        ValueError,
        "initial has shape (9,): (3,) is needed",
    ),
    (
        "initial unknown word",
        {"initial": np.array(["open", "x", "open"])},
        ValueError,
        "initial[1] is x: known are open, stick, slide",
    ),
    ("initial bytes", {"initial": np.full(9, b"x")}, TypeError, f"initial has dtype |S1: {REAL}"),
    (
        "callback a number",
        {"callback": 5},
        TypeError,
        "callback is 5: a function of a State is needed",
    ),
]


@pytest.mark.parametrize(("data", "kind", "message"), named(SOLVE))
def test_data_of_one_solve(data, kind, message):
    solver = cs.Solver(problem(mu=0.5))
    expected = solver.solve().impulses
    check(lambda: solver.solve(**data), kind, message)
    np.testing.assert_array_equal(solver.solve().impulses, expected)


@pytest.mark.parametrize(
    "feasible", [cs.sets.half_line(), cs.sets.box(0, 1), cs.sets.free()], ids=lambda s: s.name
)
def test_mu_for_sets_without_friction(feasible):
    solver = cs.Solver(problem(sets=feasible))
    message = f"mu is given, but the set {feasible.name!r} takes none"
    check(lambda: solver.solve(mu=0.5), ValueError, message)


def test_initial_from_a_result_of_another_problem():
    other = cs.solve(cs.Problem.from_delassus(np.eye(6), np.zeros(6)))
    message = "initial has shape (2, 3): the problem needs (3, 3) or (9,)"
    solver = cs.Solver(problem())
    check(lambda: solver.solve(initial=other), ValueError, message)


# ---- names of other things ----------------------------------------------------------------------


def test_history_column_that_was_not_recorded():
    history = cs.solve(problem()).history
    message = "no column 'merit'; recorded: iteration, time, residual, natural_map"
    check(lambda: history["merit"], KeyError, repr(message))
