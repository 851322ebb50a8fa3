"""What `wandering.py` runs: grids, long runs on them, and what is seen in impulses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import common
import numpy as np
from common import hard_problems as hard

import contactsolve as cs

TOLERANCE = 1e-8  # of the natural map [N s]
SOLVED = 1e-6
CHECK_EVERY = 20


@dataclass(frozen=True)
class Case:
    """A grid, and the method and sweeps of the long run on it."""

    size: int
    mu: float
    speed: float
    compliance: float
    method: str
    sweeps: int

    def problem(self, compliance: float | None = None) -> cs.Problem:
        sigma = self.compliance if compliance is None else compliance
        along = [0.0, sigma, sigma] if sigma else None
        return hard.ball_grid(self.size, mu=self.mu, speed=self.speed, compliance=along)


def solver_of(problem: cs.Problem, method: Any, sweeps: int, **options: Any) -> cs.Solver:
    """Return a solver to an absolute tolerance that is judged every so many sweeps.

    No time limit: what a run reaches does not depend on what else the machine does. Gauss-Seidel is
    without rollback (S1 section 3.5): rises of a solve that wanders would halve R for nothing.
    """
    usual = {"rtol": 0.0, "atol": TOLERANCE, "check_every": CHECK_EVERY, "record": (), "threads": 1}
    if method == "gauss_seidel":
        usual["rollback"] = 0
    return cs.Solver(problem, method=method, max_iterations=sweeps, **{**usual, **options})


def judge(problem: cs.Problem, impulses: np.ndarray) -> float:
    """Return the natural map of impulses [N s], from outside of any method."""
    return float(common.judge(problem, impulses).natural_map)


def long_run(problem: cs.Problem, case: Case, start: np.ndarray | None = None) -> cs.Result:
    recording = {"record": ("natural_map",), "record_every": CHECK_EVERY}
    return solver_of(problem, case.method, case.sweeps, **recording).solve(initial=start)


def trace(result: cs.Result) -> tuple[np.ndarray, np.ndarray]:
    """Return the iterations at which the natural map was looked at, and its values."""
    history = result.history
    known = ~np.isnan(history["natural_map"])
    return history["iteration"][known], history["natural_map"][known]


def states(impulses: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return what impulses say of each contact: 0 open, 1 sticking, 2 sliding (on its bound)."""
    normal, bound = impulses[:, 0], mu * impulses[:, 0]
    sliding = np.hypot(impulses[:, 1], impulses[:, 2]) >= (1 - 1e-9) * bound
    return np.where(normal <= 0.0, 0, np.where(sliding, 2, 1))


def random_start(problem: cs.Problem, largest: float, seed: int = 0) -> np.ndarray:
    """Return impulses within the friction discs, normal ones up to the largest."""
    rng = np.random.default_rng(seed)
    normal = rng.uniform(0.0, largest, problem.contacts)
    radius = problem.mu * normal * np.sqrt(rng.uniform(size=problem.contacts))
    angle = rng.uniform(0.0, 2.0 * np.pi, problem.contacts)
    return np.column_stack([normal, radius * np.cos(angle), radius * np.sin(angle)])
