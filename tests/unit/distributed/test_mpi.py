"""Ranks that are processes under MPI: messages, failures, and the end of a job."""

import sys

import pytest

import contactsolve as cs
from mpi_jobs import run_job, with_each_library

HEAD = """
import os, signal, sys, time
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import _core

comm = cs.distributed.communicator(timeout={timeout})
rank, size = comm.rank, comm.size
Path(f"begun{{rank}}").touch()


def write(text):
    # Renamed into place: a file is complete once it is there.
    Path(f"{{rank}}.new").write_text(str(text))
    Path(f"{{rank}}.new").rename(str(rank))

"""


def script(body, timeout=30):
    return HEAD.format(timeout=timeout) + body


def test_without_mpi4py_the_error_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "mpi4py"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ImportError, match=r"processes need mpi4py.*'contactsolve\[mpi\]'"):
        cs.distributed.communicator()


@with_each_library
def test_messages_arrive(tmp_path, library):
    """Collective calls, exchanges of arrays, and what is counted of them."""
    job = run_job(
        tmp_path,
        3,
        script("""
assert comm.allgather(rank) == [0, 1, 2]
assert comm.transport.name == "mpi"
assert comm.bcast("x" * (rank + 1), root=2) == "xxx"
large = [np.full(100_000 * (other + 1), rank) for other in range(size)]
for source, array in enumerate(comm.alltoall(large)):
    assert array.shape == (100_000 * (rank + 1),) and (array == source).all()
assert comm.alltoall([None] * size) == [None] * size
comm.barrier()

# The same communicator for the same ranks, and another one for others.
from mpi4py import MPI

assert cs.distributed.communicator(MPI.COMM_WORLD) is comm
pair = MPI.COMM_WORLD.Split(rank == 2)
other = cs.distributed.communicator(pair)
assert other.size == (1 if rank == 2 else 2) and other is not comm
assert other.allgather(rank) == ([2] if rank == 2 else [0, 1])
for wrong, error in ((1, TypeError), (MPI.COMM_NULL, ValueError)):
    try:
        cs.distributed.communicator(wrong)
    except error:
        continue
    raise AssertionError(wrong)

# Exchanges that overlap, in a ring; one message of them is large.
before = comm.traffic()
exchanges = []
for bytes_ in (8, 80, 8_000_000):
    send, receive = np.zeros(bytes_ // 8), np.zeros(bytes_ // 8)
    ring = [((rank + 1) % size, send, None), ((rank - 1) % size, None, receive)]
    exchanges.append((_core.Exchange(comm.transport, "ring", ring), send, receive))
for k in range(20):
    for exchange, send, _ in exchanges:
        send[:] = 10 * k + rank
        exchange.begin()
    for exchange, _, receive in reversed(exchanges):
        exchange.end()
        assert (receive == 10 * k + (rank - 1) % size).all()
sent = {name: value - before[name] for name, value in comm.traffic().items()}
assert (sent["exchanges"], sent["messages"]) == (60, 60)
assert sent["bytes"] == 20 * (8 + 80 + 8_000_000)

# An agreement, after which everything goes on.
try:
    comm.transport.agree("b[2] is nan" if rank else None)
    raise AssertionError
except ValueError as error:
    assert str(error) == "rank 1: b[2] is nan"
comm.transport.agree(None)
assert _core.exchange_cost(comm.transport, 64, 100) > 0
write(MPI.Get_library_version())
"""),
        library=library,
    )
    assert job.code == 0, job.output
    assert set(job.written) == {0, 1, 2}, job.output
    assert len(set(job.written.values())) == 1
    if library == "openmpi":
        assert "Open MPI" in job.written[0]
    assert "WARN" not in job.output  # of requests that were not freed


CATCH = """
try:
    comm.barrier()
except (cs.distributed.RankError, TimeoutError) as error:
    write(f"{type(error).__name__}: {error}")
    raise
"""


# Until every rank has its communicator, making it may end with the error of another rank.
FAIL = """
if rank == 1:
    while not all(Path(f"begun{other}").exists() for other in range(size)):
        time.sleep(0.01)
    raise ValueError("b[3] is nan")
"""


@with_each_library
def test_an_error_of_one_rank_ends_the_job(tmp_path, library):
    body = script(FAIL + CATCH)
    job = run_job(tmp_path, 3, body, library=library)
    assert job.code != 0
    assert "ValueError: b[3] is nan" in job.output
    text = "RankError: rank 1: ValueError: b[3] is nan"
    assert job.written == {0: text, 2: text}, job.output


@pytest.mark.slow
def test_a_rank_that_never_comes_ends_the_job(tmp_path):
    job = run_job(
        tmp_path, 3, script("if rank == 1:\n    write(''); time.sleep(50)\n" + CATCH, timeout=1)
    )
    assert job.code != 0
    assert "has waited 1 s for a message of rank" in job.written[0] + job.written[2]
    assert job.seconds < 1 + 5, job.output


@pytest.mark.slow
def test_a_rank_that_ends_without_a_word_ends_the_job(tmp_path):
    job = run_job(tmp_path, 2, script("if rank == 1:\n    sys.exit()\n" + CATCH, timeout=1))
    assert job.code != 0
    assert job.written[0].startswith("TimeoutError: rank 0 has waited 1 s for a message of rank 1")


@pytest.mark.slow
def test_a_killed_rank_ends_the_job(tmp_path):
    job = run_job(
        tmp_path,
        3,
        script("if rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\n" + CATCH, timeout=5),
    )
    assert job.code != 0
    assert job.seconds < 5 + 5, job.output


@pytest.mark.slow
def test_ctrl_c_ends_the_job(tmp_path):
    """One rank waits in C for another one, which works in Python."""
    body = """
write("")
if rank == 0:
    while True:
        time.sleep(0.01)
comm.barrier()
"""
    job = run_job(tmp_path, 2, script(body), interrupt_when="1")
    assert job.code != 0
    assert job.seconds < 5, job.output


@pytest.mark.slow
def test_ranks_that_hang_in_their_own_work_are_ended(tmp_path):
    """The rank that fails ends the job, although the other one never asks."""
    job = run_job(tmp_path, 2, script("if rank == 0:\n    raise ValueError('bad')\ntime.sleep(50)"))
    assert job.code != 0
    assert "ValueError: bad" in job.output
    assert job.seconds < 10


@pytest.mark.slow
def test_a_rank_that_makes_no_communicator_ends_the_job(tmp_path):
    job = run_job(
        tmp_path,
        2,
        """
import time
from pathlib import Path

from mpi4py import MPI

import contactsolve as cs

rank = MPI.COMM_WORLD.rank
Path(f"begun{rank}").touch()
if rank == 1:
    time.sleep(50)
cs.distributed.communicator(timeout=1)
""",
    )
    assert job.code != 0
    assert "rank 0 has waited 1 s for the other ranks to make a communicator" in job.output
    assert job.seconds < 1 + 5
