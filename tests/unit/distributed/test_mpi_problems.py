"""Problems on ranks that are processes: the same shares and bits; an error of one ends all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np

import contactsolve as cs
from distributed_problems import first_of, movable
from mpi_jobs import run_job

HEAD = """
import hashlib, json
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import distributed
from contactsolve.distributed import solver


def write(values):
    Path(f"{rank}.new").write_text(json.dumps(values))
    Path(f"{rank}.new").rename(str(rank))

comm = distributed.communicator(timeout=30)
rank = comm.rank
"""


def test_processes_have_the_shares_and_bits_of_one(tmp_path):
    script = """
problem = distributed.scenario("ball_grid", shape=5, velocity=0.5, mu=0.1, parts=6)
assert problem.comm is comm
whole = problem.gather(1)
labels = problem.gather_labels()
orders = [cs.orders.colored(priority="hash"), cs.orders.partition(border="checkerboard")]
hashes = []
for order in orders:
    result = solver.solve(problem, order=order, max_iterations=40)
    hashes.append(hashlib.sha256(result.gather().tobytes()).hexdigest())
share = problem.share
write([share.contact.tolist(), share.body.tolist(), labels.tolist(), hashes,
       whole and hashlib.sha256(whole.J.tobytes()).hexdigest()])
"""
    job = run_job(tmp_path, 3, HEAD + script)
    assert job.code == 0, job.output
    every = [json.loads(job.written[rank]) for rank in range(3)]
    grid = cs.scenarios.ball_grid(5, velocity=0.5, mu=0.1)
    labels = np.array(every[0][2])
    assert every[1][4] == hashlib.sha256(grid.J.tobytes()).hexdigest()
    hashes = []
    for options in ({"border": "checkerboard"}, {}):
        order = cs.orders.partition(labels, **options)
        if not options:
            order = _with_labels(cs.orders.colored(priority="hash"), labels)
        result = cs.solve(
            grid,
            method="gauss_seidel",
            scheme="factorized",
            order=order,
            islands=False,
            parts=6,
            max_iterations=40,
        )
        hashes.insert(0, hashlib.sha256(result.impulses.tobytes()).hexdigest())
    partners, moves = grid._partners(), movable(grid)
    assert first_of(grid)[0] == [0, grid.contacts]
    for rank, (contacts, bodies, theirs, found, _) in enumerate(every):
        assert theirs == labels.tolist()
        assert found == hashes
        mine = (labels[partners] // 2 == rank) & moves[partners]
        wanted = np.flatnonzero(mine.any(axis=1))
        assert contacts == wanted.tolist()
        used = set(partners[wanted].ravel().tolist()) - {-1}
        assert bodies == sorted(used | set(np.flatnonzero(labels // 2 == rank).tolist()))


def _with_labels(order: cs.orders.Order, labels: np.ndarray) -> cs.orders.Order:
    """Sums of a local solve are then taken by part."""
    return replace(order, labels=labels)


def test_bad_input_of_one_process_is_an_error_on_all(tmp_path):
    script = """
grid = cs.scenarios.ball_grid(3)
b = grid.b.copy()
if rank == 2:
    b[4, 1] = np.nan
try:
    distributed.Problem(grid.J, grid.Minv, b, grid.mu, bodies=grid.bodies, parts=4)
except ValueError as error:
    write(str(error))
"""
    job = run_job(tmp_path, 3, HEAD + script)
    assert job.code == 0, job.output
    texts = {json.loads(job.written[rank]) for rank in range(3)}
    assert len(texts) == 1
    assert texts.pop().startswith("rank 2: b[4, 1] is nan")
