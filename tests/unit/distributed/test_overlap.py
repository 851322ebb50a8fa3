"""Messages travel while visits away from the border are made."""

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core, distributed
from distributed_solves import CHECKERBOARD, CONCURRENT, PARTS, bits_of, grid, labels_of, spread

pytestmark = [
    pytest.mark.threads,
    pytest.mark.skipif(
        _core.build()["threading"] == "serial", reason="ranks as threads need a build with threads"
    ),
]

ORDERS = {
    "partition": "partition",
    "colored": "colored",
    "checkerboard": CHECKERBOARD,
    "concurrent": CONCURRENT,
}
NEARLY_ALL = 18  # of 20 sweeps: before an iterate is looked at, all messages arrive


def overlapped(comm, problem, labels, iterations, order, method):
    """How many exchanges of a solve have travelled while this rank visited contacts."""
    solver = distributed.Solver(
        spread(problem, comm, labels),
        method=method,
        order=order,
        rtol=None,
        atol=None,
        max_iterations=iterations,
        record=("residual",),
    )
    before = comm.traffic()["exchanges"]
    solver.solve()
    exchanges = comm.traffic()["exchanges"] - before
    return solver.info["ranks"]["overlapped_exchanges"], exchanges


@pytest.mark.parametrize("method", ["gauss_seidel", "symmetric_gauss_seidel", "jacobi"])
@pytest.mark.parametrize("order", ORDERS)
def test_exchanges_travel_during_visits(order, method):
    """In nearly every sweep, on every rank: interiors and inner borders need no message."""
    problem = grid()
    given = problem, labels_of(problem)
    few = distributed.run(overlapped, 2, *given, 5, ORDERS[order], method, timeout=60)
    many = distributed.run(overlapped, 2, *given, 25, ORDERS[order], method, timeout=60)
    for (less, _), (more, exchanges) in zip(few, many, strict=True):
        assert more - less >= NEARLY_ALL
        assert more <= exchanges


@pytest.mark.parametrize("order", ["checkerboard", "concurrent"])
def test_the_last_exchange_travels_during_the_next_interior(order):
    """With a part for each rank: velocities after the border, and the impulses of others."""
    problem = grid()
    labels = labels_of(problem) * 4 // PARTS

    def work(comm, iterations):
        shared = spread(problem, comm, labels, 4)
        solver = distributed.Solver(
            shared,
            method="gauss_seidel",
            order=ORDERS[order],
            rtol=None,
            max_iterations=iterations,
            record=("residual",),
        )
        solver.solve()
        return solver.info["ranks"]["overlapped_exchanges"]

    few = distributed.run(work, 4, 5, timeout=60)
    many = distributed.run(work, 4, 25, timeout=60)
    assert all(more - less >= NEARLY_ALL for less, more in zip(few, many, strict=True))


def test_one_rank_has_nothing_that_travels():
    problem = grid()
    found = distributed.run(overlapped, 1, problem, labels_of(problem), 5, "partition", "jacobi")
    assert found == [(0, 0)]


@pytest.mark.parametrize("order", ORDERS)
def test_a_solve_that_is_stopped_leaves_nothing_under_way(order):
    """The solver's next solve has the bits of its first."""
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        def stop(state):
            if state.iteration == 7:
                raise StopIteration

        solver = distributed.Solver(
            spread(problem, comm, labels), order=ORDERS[order], rtol=None, max_iterations=12
        )
        first = solver.solve().gather()
        stopped = solver.solve(callback=stop if comm.rank == 1 else None)
        assert stopped.iterations == 7
        comm.barrier()
        again = solver.solve().gather()
        return bits_of(first) == bits_of(again)

    assert distributed.run(work, 3, timeout=60) == [True] * 3


def test_a_failure_of_one_rank_ends_ranks_with_messages_under_way():
    problem = grid()
    labels = labels_of(problem)

    def work(comm):
        def fail(state):
            if state.iteration == 7:
                raise ArithmeticError("the callback fails")

        solver = distributed.Solver(
            spread(problem, comm, labels), order=CHECKERBOARD, rtol=None, max_iterations=10**6
        )
        solver.solve(callback=fail if comm.rank == 1 else None)

    with pytest.raises(ArithmeticError, match="the callback fails"):
        distributed.run(work, 3, timeout=60)


def test_solves_on_several_threads_of_each_rank():
    problem = grid()
    labels = labels_of(problem)
    reference = cs.solve(
        problem,
        method="gauss_seidel",
        order=cs.orders.partition(labels),
        islands=False,
        scheme="factorized",
        rtol=None,
        max_iterations=15,
    )

    def work(comm):
        found = distributed.solve(
            spread(problem, comm, labels),
            method="gauss_seidel",
            rtol=None,
            max_iterations=15,
            threads=2,
        )
        return bits_of(found.gather())

    expected = bits_of(np.asarray(reference.impulses))
    assert set(distributed.run(work, 2, timeout=60)) == {expected}
