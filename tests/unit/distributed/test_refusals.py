"""Bad input of one rank: the same error on all ranks, with the rank, argument, index and value."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import contactsolve as cs
from contactsolve.distributed._collective import together
from ranks import refused

distributed = cs.distributed

# A chain of six bodies on the ground, of which each of three ranks gives two and their neighbour.
PAIRS = np.array([[-1, 0], [0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])


def chain(comm, changed: dict[int, dict], **options):
    """A problem of three ranks; `changed` arguments of some of them are others."""
    rank = comm.rank
    contacts = np.array([2 * rank, 2 * rank + 1])
    bodies = np.arange(max(2 * rank - 1, 0), 2 * rank + 2)
    pairs = PAIRS[contacts]
    place = np.where(pairs < 0, -1, pairs - bodies[0])
    arguments = {
        "J": np.ones((2, 2, 2, 3)),
        "Minv": np.ones((len(bodies), 3)) + bodies[:, None],
        "b": np.ones((2, 2)) + contacts[:, None],
        "mu": 0.5,
        "bodies": place,
        "contact_ids": contacts,
        "body_ids": bodies,
        "labels": bodies // 2,
        "parts": 3,
        **options,
    }
    for name, change in changed.get(rank, {}).items():
        arguments[name] = change(arguments[name].copy()) if callable(change) else change
    return distributed.Problem(comm=comm, **arguments)


def put(*index: int, value):
    """A change of one entry."""

    def change(array):
        array[index] = value
        return array

    return change


CASES = {
    "nan": ({1: {"b": put(1, 0, value=np.nan)}}, r"rank 1: b\[1, 0\] is nan"),
    "mass": (
        {2: {"Minv": put(0, 1, value=-1.0)}},
        r"rank 2: (Minv|inverse)",
    ),
    "own number": ({0: {"bodies": put(1, 1, value=7)}}, r"rank 0: bodies\[1, 1\] is 7"),
    "negative id": ({1: {"contact_ids": put(0, value=-3)}}, r"rank 1: contact_ids\[0\] is -3"),
    "far id": (
        {2: {"contact_ids": put(1, value=10**15)}},
        (
            r"rank 2: contact_ids\[1\] is 1000000000000000: all ranks give 6 contacts, whose ids "
            r"are 0 to 5"
        ),
    ),
    "far body": (
        {1: {"body_ids": put(2, value=12)}},
        r"rank 1: body_ids\[2\] is 12: all ranks give 8 bodies, whose ids are 0 to 7",
    ),
    "twice on a rank": (
        {1: {"contact_ids": put(1, value=2)}},
        r"rank 1: contact_ids\[1\] is 2, as contact_ids\[0\]",
    ),
    "a contact of nobody": (
        {
            0: {
                "J": np.ones((1, 2, 2, 3)),
                "b": np.ones((1, 2)),
                "bodies": np.array([[-1, 0]]),
                "contact_ids": np.array([0]),
            }
        },
        r"rank 2: contact_ids\[1\] is 5: all ranks give 5 contacts",
    ),
    "two owners": (
        {1: {"labels": put(0, value=2)}},
        (
            r"labels: the label of body 1 is 0 on rank 0 \(body_ids\[1\]\) and 2 on rank 1 "
            r"\(body_ids\[0\]\): one rank owns a body"
        ),
    ),
    "other mass": (
        {2: {"Minv": put(0, 1, value=9.5)}},
        (
            r"Minv: entry 1 of body 3 is 4 on rank 1 \(body_ids\[2\]\) and 9.5 on rank 2 "
            r"\(body_ids\[0\]\): all ranks that give it need the same"
        ),
    ),
    "label": (
        {2: {"labels": put(1, value=3)}},
        r"rank 2: labels\[1\] is 3: there are 3 parts, numbered from 0 to 2",
    ),
    "negative label": (
        {0: {"labels": put(0, value=-1)}},
        r"rank 0: labels\[0\] is -1: there are 3",
    ),
    "shape of labels": ({0: {"labels": [0, 0, 0, 0]}}, r"rank 0: labels has shape \(4,\): \(2,\)"),
    "unequal parts": ({1: {"parts": 4}}, "parts is 4 on rank 1 and 3 on rank 0: all ranks need"),
    "unequal labels": (
        {1: {"labels": "natural"}},
        "labels are 'natural' on rank 1 and arrays on rank 0",
    ),
    "unknown labels": ({1: {"labels": "best"}}, "rank 1: labels is 'best': an array is needed, or"),
    "other rows": (
        {1: {"J": np.ones((2, 2, 3, 3)), "b": np.ones((2, 3))}},
        "contacts have another structure on rank 1 than on rank 0: 3 rows",
    ),
    "other masses": (
        {2: {"Minv": np.array([np.eye(3)] * 3)}},
        "bodies have another structure on rank 2 than on rank 0: blocks of 3 degrees",
    ),
    "other set": (
        {2: {"mu": None}},
        "contacts have another structure on rank 2 than on rank 0: 2 rows on bodies",
    ),
    "positions": (
        {1: {"positions": np.zeros((1, 3))}},
        r"rank 1: positions has shape \(1, 3\): \(3, 2\) or \(3, 3\) needed",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_all_ranks_raise_the_error_of_one(case):
    changed, message = CASES[case]
    error = refused(3, chain, changed)
    assert isinstance(error, (ValueError, TypeError))
    assert re.search(message, str(error)), str(error)


def test_a_contact_or_body_of_nobody_is_named():
    def without(comm):
        # Contact 3 is missing; contact 5 is on two ranks, so that the ids are still in range.
        extra = {
            "J": np.ones((2, 2, 2, 3)),
            "Minv": np.arange(1, 7)[:, None] * np.ones((6, 3)),
            "b": np.array([[3.0, 3.0], [6.0, 6.0]]),
            "bodies": PAIRS[[2, 5]],
            "contact_ids": np.array([2, 5]),
            "body_ids": np.arange(6),
            "labels": np.arange(6) // 2,
        }
        return chain(comm, {1: extra})

    message = "contact_ids: contact 3 is given by no rank, but contact 5 is"
    assert str(refused(3, without)) == message

    def gap(comm):
        ids = np.where(np.arange(2) == 1, 2, 0)
        own = cs.Problem(np.ones((1, 2, 1, 3)), np.ones((2, 3)), [0.0], bodies=[[0, 1]])
        return distributed.Problem(
            own.J,
            own.Minv,
            own.b,
            bodies=own.bodies,
            body_ids=ids,
            contact_ids=[comm.rank],
            labels=[0, 0],
            parts=2,
            comm=comm,
        )

    assert str(refused(2, gap)) == "body_ids: body 1 is given by no rank, but body 2 is"


def test_too_many_ranks_learn_how_many_parts_they_need():
    error = refused(
        4, lambda comm: distributed.scatter(cs.scenarios.box_stack(2), parts=3, comm=comm)
    )
    assert str(error) == (
        "parts is 3, but there are 4 ranks, each of which needs a part: give parts=4 or more. "
        "Results depend on parts, not on ranks"
    )


def test_versions_have_to_agree():
    def told(comm):
        gather = comm.allgather

        def changed(value):
            if comm.rank == 1 and isinstance(value, tuple) and cs.__version__ in value:
                value = tuple("9.9" if one == cs.__version__ else one for one in value)
            return gather(value)

        comm.allgather = changed
        return distributed.scatter(cs.scenarios.box_stack(2), parts=3, comm=comm)

    assert str(refused(2, told)).startswith("rank 1 runs contactsolve 9.9 and rank 0 ")


@pytest.mark.parametrize("parts", [0, -1, 2.5, True, "all"])
def test_parts_are_a_number(parts):
    with pytest.raises((ValueError, TypeError), match="parts is"):
        distributed.scatter(cs.scenarios.box_stack(1), parts=parts)


def test_what_cannot_be_distributed_is_refused():
    matrix = cs.Problem.from_delassus(np.eye(3), -np.ones(3))
    with pytest.raises(TypeError, match="made of a given matrix"):
        distributed.scatter(matrix)
    function = cs.sets.support(lambda direction: np.abs(direction).sum(), 0.5)
    stack = cs.scenarios.box_stack(1)
    own = cs.Problem(stack.J, stack.Minv, stack.b, bodies=stack.bodies, sets=function)
    with pytest.raises(TypeError, match="its function belongs to one process"):
        distributed.scatter(own)
    with pytest.raises(TypeError, match="problem is NoneType: a Problem is needed"):
        distributed.scatter(None)
    with pytest.raises(ValueError, match="root is 1: there are 1 ranks"):
        distributed.scatter(stack, root=1)
    with pytest.raises(ValueError, match="J is missing: no rank gives any"):
        distributed.Problem()
    with pytest.raises(ValueError, match="contact_ids has 2 entries, but J is missing"):
        distributed.Problem(contact_ids=[0, 1])
    with pytest.raises(ValueError, match="labels='bisection' needs positions"):
        distributed.scatter(stack, labels="bisection")
    with pytest.raises(TypeError, match="which has no rank"):
        distributed.scatter(stack, comm=3)
    with pytest.raises(ValueError, match="scenario"):
        distributed.scenario("ball_grit")
    with pytest.raises(TypeError, match="rng is None: an integer is needed"):
        distributed.scenario("ball_grid", shape=2, velocity=1.0, rng=None)
    with pytest.raises(ValueError, match="root is 4"):
        distributed.scatter(stack).gather(4)


def test_processes_of_mpi_need_mpi4py(monkeypatch):
    """Each of them would otherwise solve a problem of its own."""
    for name in [name for name in sys.modules if name.split(".")[0] == "mpi4py"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert distributed.scatter(cs.scenarios.box_stack(1)).comm.size == 1
    monkeypatch.setenv("PMI_SIZE", "2")
    with pytest.raises(ImportError, match="mpi4py"):
        distributed.scatter(cs.scenarios.box_stack(1))


def test_errors_of_all_kinds_reach_all_ranks():
    def fails(comm, error):
        def work():
            if comm.rank == 1:
                raise error

        together(comm, work)

    for error, kind, message in [
        (MemoryError("of 8 bytes"), MemoryError, "rank 1: of 8 bytes"),
        (
            UnicodeDecodeError("utf-8", b"a", 0, 1, "x"),
            RuntimeError,
            "rank 1: UnicodeDecodeError: ",
        ),
        (np.linalg.LinAlgError("singular"), RuntimeError, "rank 1: LinAlgError: singular"),
    ]:
        found = refused(3, fails, error)
        assert type(found) is kind
        assert str(found).startswith(message)
