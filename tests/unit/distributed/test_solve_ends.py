"""How a solve on ranks that are threads ends early: interruption, callback, memory."""

import threading
import time

import pytest

import contactsolve as cs
from contactsolve import _core
from interruption import ctrl_c_ends

pytestmark = [
    pytest.mark.threads,
    pytest.mark.skipif(
        _core.build()["threading"] == "serial", reason="ranks as threads need a build with threads"
    ),
]

LONG = {"method": "gauss_seidel", "rtol": None, "atol": None, "max_iterations": 10**8}


def solve(comm, **options):
    problem = cs.distributed.scenario("ball_grid", shape=5, velocity=0.5, parts=8, comm=comm)
    return cs.distributed.solve(problem, **options)


@pytest.mark.parametrize("ranks", [1, 3])
def test_ctrl_c_ends_a_solve(ranks):
    before = threading.active_count()
    start = time.monotonic()
    ctrl_c_ends(lambda: cs.distributed.run(solve, ranks, **LONG), after=0.5, within=6)
    assert time.monotonic() - start < 5
    while threading.active_count() > before:  # the last ones are about to end
        assert time.monotonic() - start < 5
        time.sleep(0.01)


def test_a_callback_that_raises_ends_the_solve_on_all_ranks():
    ended = []

    def refuse(state):
        if state.iteration > 20:
            raise ValueError("enough")

    def work(comm):
        try:
            solve(comm, **LONG, callback=refuse if comm.rank == 1 else None)
        except Exception as error:
            ended.append(f"{error}")
            raise

    with pytest.raises(ValueError, match="enough"):
        cs.distributed.run(work, 3)
    assert len(ended) == 3
    assert all("enough" in text for text in ended)


def test_one_rank_may_stop_all():
    def stop(state):
        if state.iteration >= 20:
            raise StopIteration

    def work(comm):
        return solve(comm, **LONG, callback=stop if comm.rank == 1 else None)

    found = cs.distributed.run(work, 3)
    assert {result.status for result in found} == {"stopped"}
    assert len({result.iterations for result in found}) == 1


def test_a_rank_without_memory_ends_the_set_up_on_all_ranks():
    """Each of the first allocations of a solve fails once, on whichever rank makes it."""
    failures = 0
    for successes in range(0, 300, 7):

        def work(comm, successes=successes):
            problem = cs.distributed.scenario(
                "ball_grid", shape=3, velocity=0.5, parts=4, comm=comm
            )
            comm.barrier()
            if comm.rank == 0:
                _core.memory_fail_after(successes)
            return cs.distributed.solve(problem, max_iterations=2)

        try:
            cs.distributed.run(work, 2, timeout=20)
        except MemoryError:
            failures += 1
        finally:
            _core.memory_fail_after(-1)
    assert failures > 5
