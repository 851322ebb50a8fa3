"""Ranks find the proofs of one process that a problem has no solution, at the same iteration."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core, distributed
from distributed_solves import CHECKERBOARD, CONCURRENT, bits_of, labels_of, spread
from unsolvable import pressed


def rows_of_balls(lengths, closing, mu=0.5):
    """Rows of balls, each between two walls, which approach each other if the row is `closing`."""
    total = sum(lengths)
    J, b, pairs = [], [], []
    first = 0
    for length, closes in zip(lengths, closing, strict=True):
        for k in range(length + 1):
            pairs.append(
                [first + k - 1 if k > 0 else -1, first + k if k < length else -1],
            )
            J.append(np.stack([-np.eye(3, 6), np.eye(3, 6)]))
            wall = k in (0, length)
            speed = (-1.0 - 0.1 * k if closes else 0.1 * length) if wall else -0.1
            b.append([speed, 0.05, 0.0])
        first += length
    rng = np.random.default_rng(5)
    mass = np.repeat(rng.uniform(0.5, 2, (total, 1)), 6, axis=1)
    return cs.Problem(np.array(J), mass, np.array(b), mu, bodies=np.array(pairs))


def contradicting_joints():
    """Bodies in a row whose joints ask for a velocity that they contradict around a loop."""
    count = 12
    pairs = [[k, (k + 1) % count] for k in range(count)]
    J = np.zeros((count, 2, 1, 3))
    J[:, 0, 0, 0], J[:, 1, 0, 0] = -1, 1
    return cs.Problem(
        J, np.ones((count, 3)), -np.ones((count, 1)), bodies=pairs, sets=cs.sets.free()
    )


def wedge(chain):
    """A ball in a wedge whose friction holds it at any impulse, beside a row of balls."""
    row = rows_of_balls([chain], [False], mu=20.0)
    J = np.zeros((2, 2, 3, 6))
    c, s = np.cos(1.5), np.sin(1.5)
    J[0, 1, :, :3] = [[c, s, 0], [-s, c, 0], [0, 0, 1]]
    J[1, 1, :, :3] = [[-c, s, 0], [s, c, 0], [0, 0, 1]]
    b = np.zeros((2, 3))
    b[:, 0] = -1
    return cs.Problem(
        np.concatenate([row.J, J]),
        np.concatenate([np.ones((chain, 6)), np.ones((1, 6))]),
        np.concatenate([row.b, b]),
        20.0,
        bodies=np.concatenate([row.bodies, [[-1, chain]] * 2]),
    )


def immovable_row():
    """A row of balls, and a contact between bodies that do not move, which closes."""
    row = rows_of_balls([9], [False])
    J = np.concatenate([row.J, np.stack([-np.eye(3, 6), np.eye(3, 6)])[None]])
    mass = np.concatenate([np.ones((9, 6)), np.zeros((1, 6))])
    b = np.concatenate([row.b, [[-1.0, 0, 0]]])
    return cs.Problem(J, mass, b, 0.5, bodies=np.concatenate([row.bodies, [[-1, 9]]]))


PROBLEMS = {
    "rows that close": lambda: rows_of_balls([7, 11, 6], [True, True, True]),
    "one row of three": lambda: rows_of_balls([7, 11, 6], [False, True, False]),
    "the last row": lambda: rows_of_balls([20, 9, 3], [False, False, True]),
    "joints": contradicting_joints,
    "pressed grid": partial(pressed, 4, 1),
    "immovable row": immovable_row,
}
REFERENCES = {}


def reference_of(name, problem, labels, order, **options):
    """The answer of one process with the same parts, computed once."""
    key = (name, order, *sorted(options.items()))
    if key not in REFERENCES:
        order = replace(cs.orders.chosen(order), labels=labels)
        REFERENCES[key] = cs.solve(
            problem, order=order, islands=False, scheme="factorized", **options
        )
    return REFERENCES[key]


def certificate_of(pieces, contacts):
    """The certificate of all ranks, by the numbers of contacts."""
    ids = np.concatenate([ids for ids, _ in pieces])
    assert sorted(ids) == list(range(contacts))
    rows = np.concatenate([rows for _, rows in pieces])
    return rows[np.argsort(ids)]


def require_equal(name, problem, ranks, order="partition", status="infeasible", **options):
    """Solve on ranks and on one process; compare verdicts, bits and certificates."""
    labels = labels_of(problem)

    def work(comm):
        found = distributed.solve(spread(problem, comm, labels), order=order, **options)
        return bits_of(found.gather()), found

    reference = reference_of(name, problem, labels, order, **options)
    assert reference.status == status, reference.message
    answers = distributed.run(work, ranks, timeout=60)
    for bits, found in answers:
        assert (found.status, found.iterations) == (reference.status, reference.iterations)
        assert bits == bits_of(reference.impulses)
        assert found.natural_map_scaled == reference.natural_map_scaled
        for column in set(reference.history.columns) - {"time"}:
            ours, theirs = found.history[column], reference.history[column]
            assert np.array_equal(ours, theirs, equal_nan=True)
        for figure in ("certified_impulse", "best_iteration", "floor"):
            assert found.info.get(figure) == reference.info.get(figure)
        assert found.message == answers[0][1].message
    if "certificate" not in reference.info:
        assert not any("certificate" in found.info for _, found in answers)
        return
    pieces = [(found.contact_ids, found.info["certificate"]) for _, found in answers]
    certificate = certificate_of(pieces, len(problem.b))
    assert certificate.tobytes() == reference.info["certificate"].tobytes()


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_proof_of_one_process(name, ranks):
    require_equal(name, PROBLEMS[name](), ranks, method="gauss_seidel")


@pytest.mark.parametrize(
    ("order", "options"),
    [
        ("colored", {"method": "gauss_seidel"}),
        (CHECKERBOARD, {"method": "gauss_seidel"}),
        (CONCURRENT, {"method": "symmetric_gauss_seidel"}),
        ("partition", {"method": "jacobi"}),
        ("partition", {"method": "nesterov"}),
        ("colored", {"method": "anderson"}),
        ("colored", {"method": "gauss_seidel", "dtype": "float32"}),
        ("colored", {"method": "gauss_seidel", "threads": 2, "exact_threads": True}),
    ],
)
@pytest.mark.parametrize("name", ["rows that close", "the last row"])
def test_the_proof_of_every_order_and_method(name, order, options):
    require_equal(name, PROBLEMS[name](), 3, order, **options)


@pytest.mark.parametrize("iterations", [5, 9, 25, 39])
def test_proofs_at_the_end_of_a_solve(iterations):
    """Limits that come before the growth of impulses is tested: directions of b may prove it."""
    problem = PROBLEMS["rows that close"]()
    options = {"method": "gauss_seidel", "max_iterations": iterations}
    labels = labels_of(problem)
    status = reference_of("end", problem, labels, "partition", **options).status
    require_equal("end", problem, 3, status=status, **options)


def test_friction_that_may_hold_any_impulse_is_called_unbounded():
    problem = wedge(15)
    for ranks in (1, 3):
        options = {"method": "gauss_seidel", "max_iterations": 300}
        require_equal("wedge", problem, ranks, status="unbounded", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "gauss_seidel"},
        {"method": "gauss_seidel", "max_iterations": 15},
        {"method": "nesterov", "max_iterations": 7},
    ],
)
@pytest.mark.parametrize("ranks", [3, 8])
def test_ranks_without_contacts_find_the_proof_of_others(ranks, options):
    problem = PROBLEMS["rows that close"]()
    labels = np.where(labels_of(problem) < 4, 0, 5)
    order = replace(cs.orders.chosen("partition"), labels=labels)
    reference = cs.solve(problem, order=order, islands=False, scheme="factorized", **options)

    def work(comm):
        return distributed.solve(spread(problem, comm, labels), **options)

    for found in distributed.run(work, ranks, timeout=60):
        assert (found.status, found.iterations) == (reference.status, reference.iterations)
        assert found.natural_map == reference.natural_map
        assert found.info.get("certified_impulse") == reference.info.get("certified_impulse")


def test_the_message_is_that_of_one_process_without_contacts():
    """Which contacts matter is known to one rank alone, and so is advice."""
    problem, options = PROBLEMS["the last row"](), {"method": "gauss_seidel"}
    labels = labels_of(problem)
    order = cs.orders.partition(labels)
    alone = cs.solve(problem, order=order, islands=False, scheme="factorized", **options)
    assert alone.status == "infeasible"
    words = re.sub(r" at contacts? [\d, …]*[\d…]", "", alone.message).partition(". Try")[0]
    assert words != alone.message

    def work(comm):
        return distributed.solve(spread(problem, comm, labels), **options).message

    assert distributed.run(work, 3, timeout=60) == [words] * 3


@pytest.mark.parametrize("ranks", [2, 5])
def test_problems_with_a_solution_have_none(ranks):
    problem = rows_of_balls([7, 11, 6], [False, False, False])
    options = {"method": "gauss_seidel", "rtol": 1e-10}
    require_equal("solvable", problem, ranks, status="converged", **options)


def test_the_proof_holds_and_names_the_contacts():
    """The inequality of its definition, computed here."""
    problem, epsilon = PROBLEMS["the last row"](), np.finfo(float).eps
    labels = labels_of(problem)

    def work(comm):
        return distributed.solve(spread(problem, comm, labels))

    answers = distributed.run(work, 3, timeout=60)
    pieces = [(found.contact_ids, found.info["certificate"]) for found in answers]
    d = certificate_of(pieces, len(problem.b)).ravel()
    A, b = problem.delassus().toarray(), np.ravel(problem.b)
    assert np.abs(d).max() == 1
    left = (np.abs(A @ d) + 4 * epsilon * np.abs(A) @ np.abs(d)).sum()
    assert left * 1e3 < -b @ d - 4 * epsilon * np.abs(b) @ np.abs(d)

    # The contacts of the row that closes belong to the last rank, and to no other.
    named = [set(found.info["certificate_contacts"]) for found in answers]
    assert named == [set(), set(), set(range(31, 35))]
    assert {found.message for found in answers} == {answers[0].message}
    assert "no solution" in answers[0].message


def test_a_solve_goes_on_to_the_same_proof(tmp_path):
    """A checkpoint has the impulses with which the next test of their growth compares."""
    pytest.importorskip("h5py")
    problem = PROBLEMS["rows that close"]()
    labels, path = labels_of(problem), tmp_path / "state.hdf5"
    options = {"method": "gauss_seidel", "rtol": 1e-12}
    reference = reference_of("goes on", problem, labels, "partition", **options)
    assert reference.status == "infeasible"
    assert reference.iterations > 14

    def begin(comm):
        shared = spread(problem, comm, labels)
        distributed.solve(
            shared, checkpoint=path, checkpoint_every=14, max_iterations=15, **options
        )

    def go_on(comm):
        found = distributed.solve(spread(problem, comm, labels), resume=path, **options)
        return bits_of(found.gather()), found

    distributed.run(begin, 3, timeout=60)
    for bits, found in distributed.run(go_on, 2, timeout=60):
        assert (found.status, found.iterations) == (reference.status, reference.iterations)
        assert bits == bits_of(reference.impulses)
        assert found.info["certified_impulse"] == reference.info["certified_impulse"]


def test_memory_that_runs_out_in_a_proof_ends_all_ranks():
    """Each of the last allocations of a solve fails once, on whichever rank makes it."""
    problem = PROBLEMS["rows that close"]()
    labels, failures = labels_of(problem), 0
    for successes in range(0, 24, 3):

        def work(comm, successes=successes):
            solver = distributed.Solver(spread(problem, comm, labels))
            comm.barrier()
            if comm.rank == 0:
                _core.memory_fail_after(successes)
            return solver.solve().status

        try:
            distributed.run(work, 2, timeout=20)
        except MemoryError:
            failures += 1
        finally:
            _core.memory_fail_after(-1)
    assert failures > 2
