"""Messages and bytes of a solve: those that the cut predicts, exactly."""

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core

pytestmark = [
    pytest.mark.threads,
    pytest.mark.skipif(
        _core.build()["threading"] == "serial", reason="ranks as threads need a build with threads"
    ),
]

PARTS = 8
ORDERS = {
    "partition": "partition",
    "colored": "colored",
    "checkerboard": cs.orders.partition(border="checkerboard"),
    "concurrent": cs.orders.partition(border="concurrent"),
}


@pytest.fixture(scope="module")
def whole():
    return cs.scenarios.ball_grid(5, mu=0.1, velocity=0.5)


@pytest.fixture(scope="module")
def labels(whole):
    return cs.orders.labels(whole, "natural", PARTS)


def traffic_of(comm, whole, labels, iterations, **options):
    """What a rank sends in a solve of so many iterations, and in a sweep as it predicts."""
    given = {"comm": comm, "parts": PARTS}
    if comm.rank:
        problem = cs.distributed.Problem(labels=None, **given)
    else:
        arrays = (whole.J, whole.Minv, whole.b, whole.mu)
        problem = cs.distributed.Problem(*arrays, bodies=whole.bodies, labels=labels, **given)
    solver = cs.distributed.Solver(
        problem, rtol=None, atol=None, max_iterations=iterations, record=("residual",), **options
    )
    before = comm.traffic()
    solver.solve()
    after = comm.traffic()
    return {name: after[name] - before[name] for name in after}, solver.info["ranks"]


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("order", ORDERS)
def test_each_sweep_sends_what_the_solver_predicts(whole, labels, order, ranks):
    given = {"method": "gauss_seidel", "order": ORDERS[order]}
    few = cs.distributed.run(traffic_of, ranks, whole, labels, 5, **given)
    many = cs.distributed.run(traffic_of, ranks, whole, labels, 25, **given)
    for (less, predicted), (more, _) in zip(few, many, strict=True):
        assert more["messages"] - less["messages"] == 20 * predicted["messages"]
        assert more["bytes"] - less["bytes"] == 20 * predicted["bytes"]
        # One gather of the decisions of each sweep, of log2(ranks) messages.
        assert more["gathers"] - less["gathers"] == 20
        rounds = int(np.ceil(np.log2(ranks)))
        assert more["gather_messages"] - less["gather_messages"] == 20 * rounds
    assert (few[0][1]["messages"] > 0) == (ranks > 1)


def ghosts_of(bodies, owner, rank):
    """Bodies of other ranks in contacts of the bodies of one rank; a fixed body has no owner."""
    owners = np.where(bodies >= 0, owner[bodies], -1)
    touched = bodies[(owners == rank).any(axis=1)]
    touched = np.unique(touched[touched >= 0])
    return touched[(owner[touched] != rank) & (owner[touched] >= 0)]


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_jacobi_sends_the_velocities_of_ghost_bodies(whole, labels, ranks):
    """From the labels alone: each body goes once to each rank whose contacts it touches."""
    of_part = np.repeat(
        np.arange(ranks), np.diff([PARTS * rank // ranks for rank in range(ranks + 1)])
    )
    movable = np.array([np.any(inverse) for inverse in np.asarray(whole.Minv)])
    owner = np.where(movable, of_part[labels], -1)
    sent = np.zeros((ranks, ranks), int)
    for to in range(ranks):
        ghosts = ghosts_of(np.asarray(whole.bodies), owner, to)
        sent[:, to] = np.bincount(owner[ghosts], minlength=ranks)
    found = cs.distributed.run(
        traffic_of, ranks, whole, labels, 5, method="jacobi", order="partition"
    )
    for rank, (_, predicted) in enumerate(found):
        assert predicted["messages"] == np.count_nonzero(sent[rank])
        assert predicted["bytes"] == sent[rank].sum() * whole.Minv.shape[-1] * 8
        assert predicted["ghost_bodies"] == sent[:, rank].sum()
