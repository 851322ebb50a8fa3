"""Seconds by the clock and by the processor, which other work on the machine does not lengthen."""

import os
import time

import contactsolve as cs

from . import cores


def of_sweep(solver: cs.Solver, sweeps: int) -> tuple[float, float]:
    """Return seconds of one sweep of a solve of many, by the clock and by the calling thread's own.

    What surrounds the sweeps, in the solve and in the call, is left out of both: the thread's own
    time is that of the call, times the share that the sweeps have of the call by the clock. Threads
    of an earlier solve may still wait for work, which the time of the whole process would contain.
    """
    begun = time.thread_time()
    result = solver.solve()
    own = time.thread_time() - begun
    return result.sweep_time / sweeps, own * result.sweep_time / result.wall_time / sweeps


def free_cores() -> int:
    """Return all cores, or 1 where other work leaves no threads to measure: they wait in turns."""
    here = cores()
    return here if os.getloadavg()[0] <= here else 1
