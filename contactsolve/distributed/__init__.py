"""One problem on many ranks, with the same bits from any number of them.

>>> import contactsolve as cs
>>> problem = cs.distributed.scenario("ball_grid", shape=4, velocity=0.5, parts=8)
>>> problem.parts
8
"""

from __future__ import annotations

from contactsolve.distributed._make import read, scatter, scenario
from contactsolve.distributed.problem import Problem

__all__ = ["Problem", "read", "scatter", "scenario"]
