"""Solves on ranks that are processes: the bits of one process, and how a solve ends early."""

import pytest

import contactsolve as cs
from mpi_jobs import run_job, with_each_library

HEAD = """
import os, signal, sys, time
from dataclasses import replace
from pathlib import Path

import numpy as np

import contactsolve as cs

comm = cs.distributed.communicator(timeout=30)
rank, size = comm.rank, comm.size
Path(f"begun{rank}").touch()
PARTS = 8
whole = cs.scenarios.ball_grid(5, mu=0.1, velocity=0.5)
labels = cs.orders.labels(whole, "natural", PARTS)


def write(text):
    Path(f"{rank}.new").write_text(str(text))
    Path(f"{rank}.new").rename(str(rank))


def spread():
    given = dict(comm=comm, parts=PARTS)
    if rank:
        return cs.distributed.Problem(labels=None, **given)
    arrays = (whole.J, whole.Minv, whole.b, whole.mu)
    return cs.distributed.Problem(*arrays, bodies=whole.bodies, labels=labels, **given)

"""

COMPARE = """
CASES = [
    ("partition", {"method": "jacobi"}),
    ("colored", {"method": "gauss_seidel"}),
    ("partition", {"method": "gauss_seidel", "dtype": "float32"}),
    (cs.orders.partition(border="checkerboard"), {"method": "gauss_seidel"}),
    (cs.orders.partition(border="concurrent"), {"method": "gauss_seidel", "threads": 2}),
    ("partition", {"method": "nesterov"}),
]
problem = spread()
for order, options in CASES:
    given = {"max_iterations": 40, **options}
    found = cs.distributed.solve(problem, order=order, **given)
    alone = cs.solve(
        whole,
        order=replace(cs.orders.chosen(order), labels=labels),
        islands=False,
        scheme="factorized",
        **given,
    )
    assert found.gather().tobytes() == alone.impulses.tobytes(), (order, options)
    assert (found.status, found.iterations) == (alone.status, alone.iterations)
write("equal")
"""


@pytest.mark.parametrize("ranks", [2, pytest.param(5, marks=pytest.mark.slow)])
@with_each_library
def test_bits_are_those_of_one_process(tmp_path, ranks, library):
    job = run_job(tmp_path, ranks, HEAD + COMPARE, library=library)
    assert job.code == 0, job.output
    assert job.written == dict.fromkeys(range(ranks), "equal"), job.output


# A solve that would take minutes.
LONG = """
def solve(**options):
    try:
        cs.distributed.solve(
            spread(), method="gauss_seidel", rtol=None, atol=None, max_iterations=10**8, **options
        )
    except BaseException as error:
        write(f"{type(error).__name__}: {error}")
        raise

"""


def test_a_callback_that_raises_ends_the_solve_on_all_ranks(tmp_path):
    body = """
def refuse(state):
    if rank == 1 and state.iteration > 20:
        raise ValueError("enough")

solve(callback=refuse)
"""
    job = run_job(tmp_path, 3, HEAD + LONG + body)
    assert job.code != 0
    assert all("enough" in job.written[rank] for rank in range(3)), job.output
    assert job.seconds < 5 + 5


@pytest.mark.slow
def test_a_killed_rank_ends_the_solve(tmp_path):
    body = """
def die(state):
    if rank == 1 and state.iteration > 20:
        os.kill(os.getpid(), signal.SIGKILL)

solve(callback=die)
"""
    job = run_job(tmp_path, 3, HEAD + LONG + body)
    assert job.code != 0
    assert job.seconds < 30 + 5


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 3])
def test_ctrl_c_ends_the_solve(tmp_path, ranks):
    body = """
def tell(state):
    if state.iteration > 20:
        Path("solving").touch()

solve(callback=tell)
"""
    job = run_job(tmp_path, ranks, HEAD + LONG + body, interrupt_when="solving")
    assert job.code != 0
    assert job.seconds < 5, job.output


def test_a_solve_goes_on_after_a_rank_was_killed(tmp_path):
    """Three processes, of which one is killed; two threads go on."""
    pytest.importorskip("h5py")
    body = """
def die(state):
    if rank == 1 and state.iteration == 33:
        os.kill(os.getpid(), signal.SIGKILL)

solve(callback=die, checkpoint="state.hdf5", checkpoint_every=10)
"""
    job = run_job(tmp_path, 3, HEAD + LONG + body)
    assert job.code != 0
    problem = cs.scenarios.ball_grid(5, mu=0.1, velocity=0.5)
    labels = cs.orders.labels(problem, "natural", 8)
    given = {"method": "gauss_seidel", "rtol": None, "atol": None, "max_iterations": 60}

    def work(comm, **more):
        mine = comm.rank == 0
        shared = cs.distributed.scatter(
            problem if mine else None, labels=labels if mine else None, parts=8, comm=comm
        )
        found = cs.distributed.solve(shared, **given, **more)
        return found.gather().tobytes(), found.history["iteration"].tolist()

    whole = cs.distributed.run(work, 1, timeout=60)[0]
    assert cs.distributed.run(work, 2, resume=tmp_path / "state.hdf5", timeout=60) == [whole] * 2
