"""Networks whose processes are on ranks that are processes under MPI."""

import pytest

from mpi_jobs import run_job

HEAD = """
import os, signal
from pathlib import Path

import numpy as np

import contactsolve as cs

comm = cs.distributed.communicator(timeout=20)
rank, size = comm.rank, comm.size
Path(f"begun{rank}").touch()
pile = cs.scenarios.random(200, bodies=80, mu=0.4, rng=3)
FIXED = {"rtol": None, "atol": None}


def write(text):
    Path(f"{rank}.new").write_text(str(text))
    Path(f"{rank}.new").rename(str(rank))


def solve(network="naive", **options):
    given = {"workers": 3, "max_iterations": 10**8, "record": (), "record_every": 10**8}
    try:
        cs.csp.solve(pile, network, comm=comm, **{**given, **FIXED, **options})
    except BaseException as error:
        write(f"{type(error).__name__}: {error}")
        raise

"""

COMPARE = """
from mpi4py import MPI

NETWORKS = [
    cs.csp.extreme(places=4),
    cs.csp.extreme(dispatcher="merged", ending="poison"),
    cs.csp.factorized(),
    cs.csp.factorized(copies=1, ending="poison"),
    cs.csp.factorized(ahead=0.3),
    cs.csp.naive(ending="poison"),
]
for network in NETWORKS:
    for dtype in ("float64", "float32"):
        given = {"workers": 3, "max_iterations": 30, "record_every": 10, "dtype": dtype, **FIXED}
        given["check_every"] = 10
        solver = cs.csp.Solver(pile, network, comm=MPI.COMM_WORLD, **given)
        before = comm.traffic()
        found = solver.solve()
        sent = comm.traffic()["bytes"] - before["bytes"]
        expected = cs.csp.solve(pile, network, **given)
        assert np.array_equal(found.impulses, expected.impulses), (network, dtype)
        assert (found.status, found.iterations) == (expected.status, expected.iterations)
        if "poison" not in str(network):
            # What differs is the set-up: comparisons of arguments are gathers.
            assert sum(comm.allgather(sent)) == solver.info["bytes_away"], network
write("equal")
"""


@pytest.mark.parametrize("ranks", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_bits_are_those_of_threads(tmp_path, ranks):
    job = run_job(tmp_path, ranks, HEAD + COMPARE)
    assert job.code == 0, job.output
    assert job.written == dict.fromkeys(range(ranks), "equal"), job.output


def test_networks_of_pointers_are_refused(tmp_path):
    body = """
try:
    cs.csp.solve(pile, "rigid", comm=comm)
except ValueError as error:
    write(error)
"""
    job = run_job(tmp_path, 2, HEAD + body)
    assert job.code == 0, job.output
    assert all("'rigid' cannot run on ranks" in job.written[r] for r in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("failing", [0, 1])
def test_a_rank_that_raises_ends_the_network(tmp_path, failing):
    body = f"""
def refuse(state):
    if state.iteration > 20:
        raise ValueError("enough")

solve(callback=refuse if rank == {failing} else None)
"""
    job = run_job(tmp_path, 3, HEAD + body)
    assert job.code != 0
    assert all("enough" in job.written[rank] for rank in range(3)), job.output
    assert job.seconds < 5 + 5


@pytest.mark.slow
@pytest.mark.parametrize(("network", "dying"), [("naive", 0), ("naive", 2), ("extreme", 1)])
def test_a_killed_rank_ends_the_network(tmp_path, network, dying):
    body = f"""
def die(state):
    if rank == {dying} and state.iteration > 20:
        os.kill(os.getpid(), signal.SIGKILL)

solve("{network}", callback=die)
"""
    job = run_job(tmp_path, 3, HEAD + body)
    assert job.code != 0
    assert job.seconds < 20 + 5


@pytest.mark.slow
def test_a_rank_that_hangs_ends_the_network_after_the_timeout(tmp_path):
    """Where MPI sees no process that has died."""
    body = """
comm.timeout = 4

def hang(state):
    if rank == 1 and state.iteration > 20:
        Path("begun.hang").touch()
        import time
        time.sleep(60)

solve(callback=hang)
"""
    job = run_job(tmp_path, 3, HEAD + body)
    assert job.code != 0
    assert job.seconds < 4 + 5
    assert "has waited 4 s for a message of rank" in job.written[0] + job.written[2], job.output


@pytest.mark.slow
@pytest.mark.parametrize(("network", "ranks"), [("naive", 1), ("naive", 3), ("extreme", 3)])
def test_ctrl_c_ends_the_network(tmp_path, network, ranks):
    body = f"""
def tell(state):
    if state.iteration > 20:
        Path("solving").touch()

solve("{network}", callback=tell)
"""
    job = run_job(tmp_path, ranks, HEAD + body, interrupt_when="solving")
    assert job.code != 0
    assert job.seconds < 5, job.output


@pytest.mark.slow
def test_ctrl_c_ends_a_network_in_a_long_run(tmp_path):
    """Nobody is asked between sweeps: ranks wait in messages."""
    body = """
import threading
threading.Timer(1.5, Path("solving").touch).start()
solve(check_every=10**8)
"""
    job = run_job(tmp_path, 3, HEAD + body, interrupt_when="solving")
    assert job.code != 0
    assert job.seconds < 5, job.output
