"""Bad input in every form of a problem: errors name the argument, the index and the value.

A row is what is wrong, a call, the type of the error and its whole message. After every error the C
library holds as many blocks of memory as before.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs
from contactsolve import _core

NAN, INF = np.nan, np.inf
SPARSE = scipy.sparse.csr_array


def check(call, kind, message):
    gc.collect()
    before = _core.memory_live()
    with pytest.raises(kind) as caught:
        call()
    assert (type(caught.value), str(caught.value)) == (kind, message)
    del caught
    gc.collect()
    assert _core.memory_live() == before


def with_entry(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


def blocks(count=2, dof=6):
    return np.tile(np.eye(dof), (count, 1, 1))


# ---- groups -------------------------------------------------------------------------------------

J6, ZEROS = np.ones((3, 2, 3, 6)), np.zeros((3, 3))
PAIR = np.ones((2, 1, 6)), np.ones((2, 1, 4))


def group(J=J6, bodies=((-1, 0), (0, 1), (1, -1)), b=ZEROS, mu=None, **options):
    return cs.Group(J, bodies, b, mu, **options)


def joint(J=PAIR, bodies=((0, 2), (1, 2)), b=(0.0, 0.0), **options):
    return cs.Group(J, bodies, b, **({"sets": cs.sets.free()} | options))


def grouped(*groups, boxes=None, robot=None):
    bodies = [
        cs.Bodies(blocks() if boxes is None else boxes),
        cs.Bodies(np.ones((1, 4)) if robot is None else robot),
    ]
    return cs.Problem(groups=list(groups), bodies=bodies)


GROUPS = [
    ("J missing", lambda: group(None), TypeError, "J is missing"),
    (
        "J of three dimensions",
        lambda: group(np.ones((3, 3, 6))),
        ValueError,
        "J has shape (3, 3, 6): (contacts, partners, rows, dof) is needed",
    ),
    (
        "J of three partners",
        lambda: group(np.ones((3, 3, 3, 6))),
        ValueError,
        "bodies has shape (3, 2): J of 3 contacts needs (3, 3)",
    ),
    (
        "J sparse",
        lambda: group(SPARSE(np.eye(6))),
        TypeError,
        "J is a sparse matrix: with bodies, blocks (contacts, partners, rows, dof) are needed",
    ),
    (
        "J complex",
        lambda: group(J6 + 0j),
        TypeError,
        "J has dtype complex128: real numbers are needed",
    ),
    (
        "half of a pair complex",
        lambda: joint((PAIR[0], PAIR[1] * 1j)),
        TypeError,
        "J[1] has dtype complex128: real numbers are needed",
    ),
    (
        "pair of other contacts",
        lambda: joint((PAIR[0], np.ones((3, 1, 4)))),
        ValueError,
        (
            "J is a pair of shapes (2, 1, 6) and (3, 1, 4): (contacts, rows, dof) is needed for "
            "each, with the same contacts and rows"
        ),
    ),
    (
        "bodies of another shape",
        lambda: group(bodies=[0, 1, 0]),
        ValueError,
        "bodies has shape (3,): J of 3 contacts needs (3, 2)",
    ),
    (
        "bodies real",
        lambda: group(bodies=np.zeros((3, 2))),
        TypeError,
        "bodies has dtype float64: integers are needed",
    ),
    (
        "bodies beyond int64",
        lambda: group(bodies=np.full((3, 2), 2**64 - 1, np.uint64)),
        ValueError,
        "bodies[0, 0] is 18446744073709551615: that is too large",
    ),
    (
        "b short",
        lambda: group(b=np.zeros(8)),
        ValueError,
        "b has shape (8,): 3 contacts of 3 rows need (3, 3) or (9,)",
    ),
    (
        "b sparse",
        lambda: group(b=SPARSE(np.eye(3))),
        TypeError,
        "b is a sparse matrix: an array is needed",
    ),
    (
        "b masked",
        lambda: group(b=np.ma.masked_less(np.arange(9.0), 1)),
        TypeError,
        "b has a mask: an array without one is needed",
    ),
    (
        "compliance short",
        lambda: group(compliance=np.ones((2, 3))),
        ValueError,
        "compliance has shape (2, 3): one number or shape (3, 3) is needed",
    ),
    (
        "mu beside a set",
        lambda: joint(mu=0.5),
        ValueError,
        "sets=sets.free() has its own parameters: leave out mu, lo and hi",
    ),
    (
        "mu and lo",
        lambda: group(mu=0.5, lo=0.0),
        ValueError,
        "mu makes the contacts discs, lo and hi boxes: give one of them",
    ),
    (
        "J nan in the second group",
        lambda: grouped(group(), joint((PAIR[0], with_entry(PAIR[1], (1, 0, 2), NAN)))),
        ValueError,
        "J[4, 1, 0, 2] is nan: every entry must be finite",
    ),
    (
        "b inf in the second group",
        lambda: grouped(group(), joint(b=[0.0, INF])),
        ValueError,
        "b[4, 0] is inf: every entry must be finite",
    ),
    (
        "compliance negative",
        lambda: grouped(group(), joint(compliance=[[0.0], [-0.5]])),
        ValueError,
        "compliance[4, 0] is -0.5: a finite number, 0 or more, is needed",
    ),
    (
        "compliance nan",
        lambda: grouped(group(compliance=[0.0, NAN, 0.0])),
        ValueError,
        "compliance[0, 1] is nan: a finite number, 0 or more, is needed",
    ),
    (
        "body of another width",
        lambda: grouped(group(), joint(bodies=[[0, 2], [1, 0]])),
        ValueError,
        "bodies[4, 1] is 0, which has 6 degrees of freedom, but J has 4 columns for it",
    ),
    (
        "body out of range",
        lambda: grouped(group(), joint(bodies=[[0, 2], [3, 2]])),
        ValueError,
        "bodies[4, 0] is 3: body numbers run from -1 (the fixed world) to 2",
    ),
    (
        "J of the world too wide",
        lambda: grouped(group((np.ones((3, 3, 65)), np.ones((3, 3, 6))), [[-1, 0]] * 3)),
        ValueError,
        "J has 65 columns for bodies[:, 0]; at most 64 are allowed",
    ),
    (
        "mu negative",
        lambda: grouped(joint(), group(mu=[0.1, 0.1, -0.1])),
        ValueError,
        "mu[4] is -0.1: a friction coefficient is a number, 0 or more",
    ),
    (
        "disc of four rows",
        lambda: grouped(group(np.ones((1, 2, 4, 6)), [[0, 1]], np.zeros(4), 0.1)),
        ValueError,
        "mu makes the contacts discs, which take 2 or 3 rows, not 4: leave it out or give sets",
    ),
    (
        "seven rows",
        lambda: grouped(group(np.ones((1, 2, 7, 6)), [[0, 1]], np.zeros(7))),
        ValueError,
        "J has shape (1, 2, 7, 6): contacts have from 1 to 6 rows",
    ),
    (
        "no Group",
        lambda: cs.Problem(groups=[group(), J6], bodies=[cs.Bodies(blocks())]),
        TypeError,
        f"groups[1] is {J6!r}: a Group is needed",
    ),
    (
        "no Bodies",
        lambda: cs.Problem(groups=[group()], bodies=[3]),
        TypeError,
        "bodies[0] is 3: a Bodies is needed",
    ),
    (
        "mu beside groups",
        lambda: cs.Problem(groups=[group()], bodies=[cs.Bodies(blocks())], mu=0.5),
        TypeError,
        "mu is given, but the groups have their own",
    ),
    (
        "65 groups",
        lambda: cs.Problem(groups=[group()] * 65, bodies=[cs.Bodies(blocks())]),
        ValueError,
        "a problem takes at most 64 groups of blocks",
    ),
    (
        "strict",
        lambda: cs.Problem(
            groups=[joint(), group()],
            bodies=[cs.Bodies(0 * blocks()), cs.Bodies(np.ones((1, 4)))],
            strict=True,
        ),
        ValueError,
        "contact 2 is between immovable bodies: strict=True refuses it",
    ),
]

BODIES = [
    ("neither", lambda: cs.Bodies(), TypeError, "give either Minv or mass"),
    ("both", lambda: cs.Bodies(np.ones((1, 3)), mass=1), TypeError, "give either Minv or mass"),
    (
        "square",
        lambda: cs.Bodies(np.eye(3)),
        ValueError,
        "Minv of shape (3, 3) may be 3 diagonals or one body: give diagonal=True or diagonal=False",
    ),
    (
        "flat",
        lambda: cs.Bodies(mass=np.ones(3)),
        ValueError,
        "mass has shape (3,): (count, d, d), (count, d) or (d, d) is needed",
    ),
    (
        "blocks not square",
        lambda: cs.Bodies(np.ones((2, 3, 4))),
        ValueError,
        "Minv has shape (2, 3, 4): (count, d, d), (count, d) or (d, d) is needed",
    ),
    (
        "one body not square",
        lambda: cs.Bodies(np.ones((2, 3)), diagonal=False),
        ValueError,
        "Minv has shape (2, 3): (count, d, d) or (d, d) is needed",
    ),
    (
        "blocks are no diagonals",
        lambda: cs.Bodies(blocks(), diagonal=True),
        ValueError,
        "Minv has shape (2, 6, 6): (count, d) is needed",
    ),
    (
        "mass zero",
        lambda: cs.Bodies(mass=[[1.0, 2.0, 0.0]]),
        ValueError,
        "mass[0, 2] is 0: a mass is positive",
    ),
    (
        "mass nan",
        lambda: cs.Bodies(mass=[[1.0, NAN, 0.0]]),
        ValueError,
        "mass[0, 1] is nan: a mass is positive",
    ),
    (
        "mass block infinite",
        lambda: cs.Bodies(mass=with_entry(blocks(), (1, 2, 2), INF)),
        ValueError,
        "mass[1, 2, 2] is inf: every entry must be finite",
    ),
    (
        "mass unsymmetric",
        lambda: cs.Bodies(mass=with_entry(blocks(), (1, 2, 4), 0.5)),
        ValueError,
        "mass[1, 2, 4] is 0.5 but mass[1, 4, 2] is 0: a mass is symmetric",
    ),
    (
        "mass indefinite",
        lambda: cs.Bodies(mass=with_entry(blocks(), (1, 2, 2), -0.5)),
        ValueError,
        "mass[1] has the eigenvalue -0.5: a mass is positive definite",
    ),
    (
        "Minv nan in the second group",
        lambda: grouped(joint(), robot=[[1.0, NAN, 1.0, 1.0]]),
        ValueError,
        "Minv[2, 1] is nan: every entry must be finite",
    ),
    (
        "65 degrees of freedom",
        lambda: grouped(joint(), robot=np.ones((1, 65))),
        ValueError,
        "Minv describes bodies with 65 degrees of freedom; 1 to 64 are allowed",
    ),
]

# ---- matrices -----------------------------------------------------------------------------------

J_MATRIX = np.ones((6, 4))


def matrices(J=J_MATRIX, Minv=None, b=ZEROS[:2], **options):
    if Minv is None and "mass" not in options:
        Minv = np.ones(4)
    return cs.Problem(J, Minv, b, **options)


MATRICES = [
    ("J missing", lambda: matrices(None), TypeError, "J is missing"),
    (
        "no bodies",
        lambda: matrices(J6),
        TypeError,
        "bodies is missing: a J of blocks needs the bodies of each contact",
    ),
    (
        "no bodies for a pair",
        lambda: matrices(PAIR),
        TypeError,
        "bodies is missing: a J of blocks needs the bodies of each contact",
    ),
    (
        "rows beside bodies",
        lambda: cs.Problem(J6, blocks(), np.zeros(9), bodies=[[0, 1]] * 3, rows=3),
        TypeError,
        "rows is for a J of any pattern; J with bodies has its own rows",
    ),
    (
        "rows do not divide",
        lambda: matrices(rows=4),
        ValueError,
        "J has 6 rows, which is no multiple of rows=4",
    ),
    (
        "rows zero",
        lambda: matrices(rows=0),
        ValueError,
        "rows is 0: an integer from 1 to 6 is needed",
    ),
    (
        "rows real",
        lambda: matrices(rows=3.0),
        ValueError,
        "rows is 3.0: an integer from 1 to 6 is needed",
    ),
    (
        "J nan",
        lambda: matrices(with_entry(J_MATRIX, (4, 1), NAN)),
        ValueError,
        "J[4, 1] is nan: every entry must be finite",
    ),
    (
        "sparse J inf",
        lambda: matrices(SPARSE(with_entry(0 * J_MATRIX, (4, 1), -INF))),
        ValueError,
        "J[4, 1] is -inf: every entry must be finite",
    ),
    (
        "sparse J complex",
        lambda: matrices(SPARSE(1j * J_MATRIX)),
        TypeError,
        "J.data has dtype complex128: real numbers are needed",
    ),
    (
        "Minv of another size",
        lambda: matrices(Minv=np.ones(5)),
        ValueError,
        (
            "Minv has shape (5,): J has 4 columns, so (4,), (4, 4) or blocks (n, d, d) with "
            "n d = 4 are needed"
        ),
    ),
    (
        "sparse mass of another size",
        lambda: matrices(mass=SPARSE(np.eye(3))),
        ValueError,
        (
            "mass has shape (3, 3): J has 4 columns, so (4,), (4, 4) or blocks (n, d, d) with "
            "n d = 4 are needed"
        ),
    ),
    ("both", lambda: matrices(Minv=1, mass=1), TypeError, "give either Minv or mass"),
    (
        "Minv flat negative",
        lambda: matrices(Minv=[1, 1, -2, 1]),
        ValueError,
        "Minv[2] is -2: an inverse mass is 0 (immovable) or more",
    ),
    (
        "Minv flat inf",
        lambda: matrices(Minv=[1, 1, INF, 1]),
        ValueError,
        "Minv[2] is inf: every entry must be finite",
    ),
    (
        "Minv unsymmetric",
        lambda: matrices(Minv=with_entry(np.eye(4), (1, 3), 0.25)),
        ValueError,
        "Minv[1, 3] is 0.25 but Minv[3, 1] is 0: it must be symmetric",
    ),
    (
        "sparse Minv unsymmetric",
        lambda: matrices(Minv=SPARSE(with_entry(np.eye(4), (1, 3), 0.25))),
        ValueError,
        "Minv[1, 3] is 0.25 but Minv[3, 1] is 0: it must be symmetric",
    ),
    (
        "Minv with a negative diagonal",
        lambda: matrices(Minv=np.diag([1, 1, -2.0, 1])),
        ValueError,
        "Minv[2, 2] is -2: an inverse mass is 0 (immovable) or more",
    ),
    *(
        (
            f"Minv indefinite: {name}",
            lambda form=form: matrices(Minv=form(np.eye(4) + 2 * np.eye(4)[::-1])),
            ValueError,
            "Minv is indefinite: an inverse mass has no negative eigenvalue",
        )
        for name, form in {"dense": np.array, "sparse": SPARSE, "block": lambda M: M[None]}.items()
    ),
    (
        "Minv indefinite: zero beside another entry",
        lambda: matrices(Minv=SPARSE([[0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])),
        ValueError,
        "Minv is indefinite: an inverse mass has no negative eigenvalue",
    ),
    (
        "mass flat zero",
        lambda: matrices(mass=[1, 0.0, 1, 1]),
        ValueError,
        "mass[1] is 0: a mass is positive",
    ),
    (
        "mass dense singular",
        lambda: matrices(mass=np.diag([1.0, 1, 0, 1])),
        ValueError,
        "mass has the eigenvalue 0: a mass is positive definite",
    ),
    (
        "mass sparse indefinite",
        lambda: matrices(mass=SPARSE(np.diag([1.0, 1, -3, 1]))),
        ValueError,
        "mass has the pivot -3 when factored: a mass is positive definite",
    ),
    (
        "mass sparse singular",
        lambda: matrices(mass=SPARSE(np.ones((4, 4)))),
        ValueError,
        "mass is singular: a mass is positive definite",
    ),
    (
        "mass block indefinite",
        lambda: matrices(mass=np.stack([np.eye(2), -np.eye(2)])),
        ValueError,
        "mass[1] has the eigenvalue -1: a mass is positive definite",
    ),
    (
        "compliance negative",
        lambda: matrices(compliance=[0.0, 0.0, -1.0]),
        ValueError,
        "compliance[2] is -1: a finite number, 0 or more, is needed",
    ),
    (
        "compliance infinite",
        lambda: matrices(compliance=INF),
        ValueError,
        "compliance is inf: a finite number, 0 or more, is needed",
    ),
    (
        "compliance short",
        lambda: matrices(compliance=np.ones(6)),
        ValueError,
        "compliance has shape (6,): one number or shape (2, 3) is needed",
    ),
    (
        "b short",
        lambda: matrices(b=np.ones(5)),
        ValueError,
        "b has shape (5,): 2 contacts of 3 rows need (2, 3) or (6,)",
    ),
    ("b missing", lambda: matrices(b=None), TypeError, "b is missing"),
]

# ---- states -------------------------------------------------------------------------------------


def state(**changes):
    given = {"J": J6, "Minv": blocks(), "velocity": np.zeros((2, 6)), "bodies": [[0, 1]] * 3}
    return cs.Problem.from_state(**(given | changes))


STATES = [
    ("no mass", lambda: state(Minv=None), TypeError, "give either M or Minv"),
    ("both", lambda: state(M=blocks()), TypeError, "give either M or Minv"),
    ("J missing", lambda: state(J=None), TypeError, "J is missing"),
    ("velocity missing", lambda: state(velocity=None), TypeError, "velocity is missing"),
    (
        "J of one dimension",
        lambda: state(J=np.ones(3)),
        ValueError,
        "J has shape (3,): (contacts, partners, rows, dof) is needed",
    ),
    (
        "velocity flat",
        lambda: state(velocity=np.zeros(12)),
        ValueError,
        "velocity has shape (12,): (2, 6) is needed",
    ),
    (
        "velocity nan",
        lambda: state(velocity=with_entry(np.zeros((2, 6)), (1, 4), NAN)),
        ValueError,
        "velocity[1, 4] is nan: every entry must be finite",
    ),
    (
        "impulse short",
        lambda: state(impulse=np.ones((3, 6))),
        ValueError,
        "impulse has shape (3, 6): one number or shape (2, 6) is needed",
    ),
    (
        "impulse inf",
        lambda: state(impulse=INF),
        ValueError,
        "impulse is inf: every entry must be finite",
    ),
    (
        "drive short",
        lambda: state(drive=np.ones((2, 3))),
        ValueError,
        "drive has shape (2, 3): one number or shape (3, 3) is needed",
    ),
    ("drive nan", lambda: state(drive=NAN), ValueError, "drive is nan: every entry must be finite"),
    (
        "bias inf",
        lambda: state(bias=[0.0, INF, 0.0]),
        ValueError,
        "bias[1] is inf: every entry must be finite",
    ),
    (
        "restitution above one",
        lambda: state(restitution=[0.0, 0.5, 1.5]),
        ValueError,
        "restitution[2] is 1.5: it lies between 0 and 1",
    ),
    (
        "restitution of a row negative",
        lambda: state(restitution=with_entry(np.zeros((3, 3)), (1, 2), -0.1)),
        ValueError,
        "restitution[1, 2] is -0.1: it lies between 0 and 1",
    ),
    (
        "restitution nan",
        lambda: state(restitution=NAN),
        ValueError,
        "restitution is nan: it lies between 0 and 1",
    ),
    (
        "restitution of another shape",
        lambda: state(restitution=np.zeros(2)),
        ValueError,
        (
            "restitution has shape (2,): one number or (3,) for the normals, or (3, 3) for every "
            "row, is needed"
        ),
    ),
    (
        "restitution complex",
        lambda: state(restitution=0.5j),
        TypeError,
        "restitution has dtype complex128: real numbers are needed",
    ),
    (
        "strict",
        lambda: state(Minv=0 * blocks(), strict=True),
        ValueError,
        "contact 0 is between immovable bodies (bodies [0, 1]): strict=True refuses it",
    ),
]

# ---- updates ------------------------------------------------------------------------------------


def update(**new):
    cs.Problem(J6, blocks(), np.zeros(9), 0.5, bodies=[[0, 1]] * 3).update(**new)


def update_groups(**new):
    grouped(group(), joint()).update(**new)


UPDATES = [
    (
        "J of other contacts",
        lambda: update(J=np.ones((2, 2, 3, 6))),
        ValueError,
        "J has 2 contacts of 3 rows on (6, 6) degrees of freedom: 3 of 3 on (6, 6) are kept",
    ),
    (
        "J nan",
        lambda: update(J=with_entry(J6, (2, 1, 0, 5), NAN)),
        ValueError,
        "J[2, 1, 0, 5] is nan: every entry must be finite",
    ),
    (
        "Minv of other bodies",
        lambda: update(Minv=blocks(3)),
        ValueError,
        "Minv has shape (3, 6, 6): (2, 6, 6) is kept",
    ),
    (
        "Minv negative",
        lambda: update(Minv=with_entry(blocks(), (1, 0, 0), -1.0)),
        ValueError,
        (
            "Minv[1] is indefinite, found at row 0 (Minv[1, 0, 0] is -1): an inverse mass has no "
            "negative eigenvalue"
        ),
    ),
    (
        "b nan",
        lambda: update(b=with_entry(np.zeros(9), 4, NAN)),
        ValueError,
        "b[1, 1] is nan: every entry must be finite",
    ),
    (
        "mu negative",
        lambda: update(mu=[0.1, -0.5, 0.1]),
        ValueError,
        "mu[1] is -0.5: a friction coefficient is a number, 0 or more",
    ),
    (
        "mu short",
        lambda: update(mu=[0.1, 0.5]),
        ValueError,
        "mu has shape (2,): one number or shape (3,) is needed",
    ),
    (
        "no list",
        lambda: update_groups(J=J6),
        ValueError,
        "J must be a list with one entry per group (2)",
    ),
    (
        "short list",
        lambda: update_groups(b=[np.zeros(9)]),
        ValueError,
        "b must be a list with one entry per group (2)",
    ),
    (
        "b of the second group",
        lambda: update_groups(b=[None, [0.0, INF]]),
        ValueError,
        "b[4, 0] is inf: every entry must be finite",
    ),
    (
        "mu of a joint",
        lambda: update_groups(mu=[None, 0.5]),
        ValueError,
        "mu is given, but the set 'free' takes none",
    ),
    (
        "J of another width",
        lambda: matrices().update(J=np.ones((6, 3)), Minv=np.ones(3)),
        ValueError,
        "J has shape (6, 3): (6, 4) is kept",
    ),
    (
        "J of a given A",
        lambda: cs.Problem.from_delassus(np.eye(3), np.zeros(3)).update(J=np.eye(3)),
        ValueError,
        "this problem was made from A: it has no J or Minv to update",
    ),
]

# ---- values at a solve --------------------------------------------------------------------------


def solve_groups(**given):
    cs.Solver(grouped(group(mu=0.5), joint())).solve(**given)


SOLVES = [
    (
        "b of one group",
        lambda: solve_groups(b=np.zeros((3, 3))),
        ValueError,
        "b has shape (3, 3): the problem needs (11,), or a list with one array per group (2)",
    ),
    (
        "b of the second group transposed",
        lambda: solve_groups(b=[np.zeros(9), np.zeros((1, 2))]),
        ValueError,
        "b[1] has shape (1, 2): the problem needs (2, 1) or (2,)",
    ),
    (
        "initial nan",
        lambda: solve_groups(initial=with_entry(np.zeros(11), 9, NAN)),
        ValueError,
        "initial[3, 0] is nan: every entry must be finite",
    ),
    (
        "mu of three groups",
        lambda: solve_groups(mu=[0.1, None, None]),
        ValueError,
        "mu has 3 entries: one per group (2) is needed",
    ),
    (
        "mu of a joint",
        lambda: solve_groups(mu=[0.1, 0.1]),
        ValueError,
        "mu is given, but the set 'free' takes none",
    ),
]

TABLE = {
    "groups": GROUPS,
    "bodies": BODIES,
    "matrices": MATRICES,
    "states": STATES,
    "updates": UPDATES,
    "solves": SOLVES,
}
ROWS = [
    pytest.param(*row[1:], id=f"{where}: {row[0]}") for where, rows in TABLE.items() for row in rows
]


@pytest.mark.parametrize(("call", "kind", "message"), ROWS)
def test_message(call, kind, message):
    check(call, kind, message)


class Unreadable:
    """An array of another package that is not handed out, on a device of DLPack."""

    def __init__(self, device):
        self._device = device

    def __dlpack__(self, **options):
        raise BufferError("unsupported device")

    def __dlpack_device__(self):
        return self._device, 0


def test_arrays_that_cannot_be_read():
    with pytest.raises(TypeError, match=r"^b cannot be read through __dlpack__: "):
        matrices(b=Unreadable(1))
    not_here = r"^b (cannot be read through __dlpack__|is in the memory of a GPU that cannot be us)"
    with pytest.raises((TypeError, RuntimeError), match=not_here):
        matrices(b=Unreadable(2))
    with pytest.raises(ValueError, match=r"^b is no array of one shape: "):
        matrices(b=[[1.0, 2.0], [3.0]])
    with pytest.raises(TypeError, match=r"^b has dtype <U3: real numbers are needed$"):
        matrices(b=["one"] * 6)
