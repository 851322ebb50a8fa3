"""Problems from what ranks have: each rank's share is the one of the whole problem."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import contactsolve as cs
from distributed_problems import (
    PROBLEMS,
    SIZES,
    assert_shares,
    first_of,
    given_in_pieces,
    joined,
    movable,
    random_labels,
)
from ranks import on_ranks

distributed = cs.distributed


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_shares_are_those_of_the_whole_problem(name, size):
    problem, parts = PROBLEMS[name](), 7
    labels = random_labels(problem, parts)
    found = on_ranks(size, given_in_pieces, problem, labels, parts)
    assert_shares(problem, labels, parts, [one.share for one in found])
    assert [one.name for one in found] == [problem.name] * size


@pytest.mark.parametrize("name", PROBLEMS)
def test_ranks_of_the_library_have_the_same_shares(name):
    """With the messages of `distributed.run`, whose values are copies; the default communicator."""
    problem, parts = PROBLEMS[name](), 6
    labels = random_labels(problem, parts)
    found = distributed.run(given_in_pieces, 4, problem, labels, parts, timeout=60)
    assert_shares(problem, labels, parts, [one.share for one in found])

    def scattered(comm):
        own = distributed.scatter(problem, labels=labels, parts=parts)
        assert own.comm is comm
        return own.share

    assert_shares(problem, labels, parts, distributed.run(scattered, 3, timeout=60))


@pytest.mark.parametrize("name", PROBLEMS)
def test_scattered_problems_have_the_same_shares(name):
    problem, parts = PROBLEMS[name](), 5
    labels = random_labels(problem, parts)

    def scattered(comm):
        mine = problem if comm.rank == 1 else None
        return distributed.scatter(mine, labels=labels, parts=parts, comm=comm, root=1)

    found = on_ranks(3, scattered)
    assert_shares(problem, labels, parts, [one.share for one in found])


@pytest.mark.parametrize("size", SIZES)
def test_islands_have_one_number_on_all_ranks(size):
    """Two contacts are of one shared island exactly if they are of one island of the problem."""
    problem = cs.scenarios.random(80, 70, rng=2)
    labels, parts, island = random_labels(problem, 6), 6, cs.islands(problem)

    def scattered(comm):
        return distributed.scatter(problem, labels=labels, parts=parts, comm=comm).share

    shares, holders = on_ranks(size, scattered), {}
    for rank, share in enumerate(shares):
        for contact in share.contact:
            holders.setdefault(island[contact], set()).add(rank)
    names: dict[int, int] = {}
    for share in shares:
        for contact, number in zip(share.contact, share.island, strict=True):
            whole = island[contact]
            if whole < 0 or len(holders[whole]) == 1:
                assert number == -1
            else:
                assert names.setdefault(whole, number) == number
    assert sorted(names.values()) == list(range(len(names)))
    assert {share.shared_islands for share in shares} == {len(names)}
    assert size == 1 or names


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_whole_problem_comes_back(name):
    problem, parts = PROBLEMS[name](), 5
    labels = random_labels(problem, parts)

    def gathered(comm):
        found = given_in_pieces(comm, problem, labels, parts)
        rows = [np.arange(x.contacts * x.rows).reshape(x.shape) + 0.5 for x in problem._groups]
        share, firsts = found.share, first_of(problem)[0]
        own = [
            rows[g][share.contact[(share.contact >= a) & (share.contact < b)] - a]
            for g, (a, b) in enumerate(itertools.pairwise(firsts))
        ]
        own = own if problem.grouped else own[0]
        return (
            found.gather(),
            found.gather(1),
            found.gather_labels(),
            found.gather_rows(own, 0),
            rows,
        )

    for rank, (whole, on_one, label, rows, wanted) in enumerate(on_ranks(3, gathered)):
        assert whole.__getstate__()[0] == problem.__getstate__()[0]
        assert (on_one is None) == (rank != 1)
        for g, layout in enumerate(problem._groups):
            for read in ("jacobian", "b", "bodies"):
                ours, theirs = getattr(whole._core, read)(g), getattr(problem._core, read)(g)
                assert ours.tobytes() == theirs.tobytes()
            sets = whole._groups[g].set.parameters(*layout.shape)
            assert sets.tobytes() == layout.set.parameters(*layout.shape).tobytes()
        assert label.tolist() == np.where(movable(problem)[:-1], labels, 0).tolist()
        if rank == 0:
            rows = rows if problem.grouped else [rows]
            assert all((a == b).all() for a, b in zip(rows, wanted, strict=True))
        else:
            assert rows is None


def test_ids_of_a_ranks_own_contacts_are_everyones_once():
    problem = joined()
    labels = random_labels(problem, 4)

    def ids(comm):
        found = distributed.scatter(problem, labels=labels, parts=4, comm=comm)
        return found.contact_ids, found.body_ids

    found = on_ranks(4, ids)
    for g, layout in enumerate(problem._groups):
        each = np.concatenate([contacts[g] for contacts, _ in found])
        assert sorted(each.tolist()) == list(range(layout.contacts))
    for g, shape in enumerate(problem._bodies):
        each = np.concatenate([bodies[g] for _, bodies in found])
        assert sorted(each.tolist()) == list(range(shape[0]))


def test_ranks_without_anything():
    """Three ranks of four give nothing, and two own parts without bodies."""
    problem = cs.scenarios.box_stack(2)

    def scattered(comm):
        labels = [0, 3] if comm.rank == 0 else None
        whole = problem if comm.rank == 0 else None
        return distributed.scatter(whole, labels=labels, parts=4, comm=comm).share

    shares = on_ranks(4, scattered)
    assert_shares(problem, np.array([0, 3]), 4, shares)
    assert [len(share.contact) for share in shares] == [8, 0, 0, 4]


def test_one_process_needs_no_communicator():
    grid = cs.scenarios.ball_grid(2)
    problem = distributed.Problem(grid.J, grid.Minv, grid.b, grid.mu, bodies=grid.bodies)
    assert (problem.parts, problem.comm.size) == (8, 1)
    assert problem.share.contact.tolist() == list(range(grid.contacts))
    assert repr(problem) == (
        "distributed.Problem(16 contacts, 8 bodies in 8 parts, rank 0 of 1: 16 contacts)"
    )


# ---- scenarios ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"shape": 4, "velocity": 0.7, "rng": 3},
        {"shape": (5, 3, 2), "ground": "body", "velocity": 0.2, "contact_order": "backward"},
        {"shape": 3, "layout": "cannonball", "velocity": 0.1},
        {"shape": (3, 4, 2), "spacing": (0.1, 0, 0), "rows": 1},
        {"shape": (1, 1, 2)},
    ],
)
@pytest.mark.parametrize("size", [1, 3, 4])
def test_pieces_of_a_ball_grid_are_those_of_the_whole_one(parameters, size):
    whole = cs.scenarios.ball_grid(**parameters)

    def made(comm):
        found = distributed.scenario("ball_grid", parts=4, comm=comm, **parameters)
        return found.gather(), found.share, found.gather_labels()

    shares = []
    everything = on_ranks(size, made)
    labels = everything[0][2]
    for found, share, _ in everything:
        assert found.name == whole.name
        assert found.J.tobytes() == whole.J.tobytes()
        assert found.b.tobytes() == whole.b.tobytes()
        assert found.Minv.tobytes() == whole.Minv.tobytes()
        assert found.bodies.tolist() == whole.bodies.tolist()
        shares.append(share)
    assert_shares(whole, labels, 4, shares)


def test_other_scenarios_are_made_on_one_rank():
    def made(comm):
        return distributed.scenario("disc_pyramid", parts=3, comm=comm, layers=4).gather()

    whole = cs.scenarios.disc_pyramid(layers=4)
    for found in on_ranks(3, made):
        assert found.J.tobytes() == whole.J.tobytes()
