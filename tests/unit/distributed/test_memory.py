"""A rank's arrays have the size of its share."""

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core, distributed
from distributed_solves import CHECKERBOARD, CONCURRENT

pytestmark = [
    pytest.mark.threads,
    pytest.mark.skipif(
        _core.build()["threading"] == "serial", reason="ranks as threads need a build with threads"
    ),
]

RANKS = 4
MOST = 0.35  # of the bytes of one rank: a quarter, and what ghosts and their contacts take


def bytes_of_share(share):
    """The arrays of a share and of its problem."""
    problem = share.problem
    arrays = [problem.J, problem.Minv, problem.b, problem.mu, problem.bodies]
    arrays += [value for value in vars(share).values() if isinstance(value, np.ndarray)]
    return sum(array.nbytes for array in arrays)


def held(comm, shape, order, method):
    """Bytes of the rank's share, and of what its solver has packed, with lists and buffers."""
    problem = distributed.scenario(
        "ball_grid", shape=shape, mu=0.1, velocity=0.5, parts=RANKS, labels="bisection", comm=comm
    )
    solver = distributed.Solver(problem, order=order, method=method, threads=1)
    return bytes_of_share(problem.share), solver.info["bytes"]


def require_small(shape, order, method="gauss_seidel"):
    given = (shape, order, method)
    ((whole_share, whole_solver),) = distributed.run(held, 1, *given, timeout=120)
    for share, solver in distributed.run(held, RANKS, *given, timeout=120):
        assert share <= MOST * whole_share
        assert solver <= MOST * whole_solver


def test_arrays_are_divided():
    require_small(10, "partition")


@pytest.mark.slow
@pytest.mark.parametrize("order", ["partition", "colored", CHECKERBOARD, CONCURRENT])
def test_arrays_of_a_large_grid_are_divided(order):
    require_small(24, order)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["jacobi", "nesterov"])
def test_arrays_of_other_methods_are_divided(method):
    require_small(24, "partition", method)


def test_lists_and_buffers_count():
    """Ranks pack the same contacts more often than one process, and have buffers beside them."""

    def bytes_on(ranks):
        return sum(solver for _, solver in distributed.run(held, ranks, 6, "partition", "jacobi"))

    problem = cs.scenarios.ball_grid(6, mu=0.1, velocity=0.5)
    alone = cs.Solver(problem, method="jacobi", scheme="factorized", islands=False, threads=1)
    assert bytes_on(1) > alone.info["bytes"]
    assert bytes_on(RANKS) > bytes_on(1)
