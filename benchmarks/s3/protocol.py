"""S3's protocol (section 2.3), and the frames of its scenes as mixed LCPs.

A frame is one step of a scene. Its friction bounds are those of the solution: the whole problem is
solved first, which finds them, and what is timed is the mixed LCP that they leave, all rows free at
the start, as S3 starts. Setting a solver up (order, pattern) is apart; engines take turns.
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import ROOT, pages  # noqa: F401 (for the other modules)
from published import PILES, SCENES

ENGINES = ("refactor", "downdate", "skyline", "envelope", "incremental", "schur", "sparse", "auto")
TOLERANCE = 1e-6  # of the outer loops, over the speed at which the island falls apart
SLOW = (*PILES, "forklift")  # many rows, or friction bounds that take long to settle
# Averaging of the normal impulses that bound friction: the first one with which a frame converges.
AVERAGING = {1.0: 100, 0.5: 600, 0.1: 5000}


class Run(NamedTuple):
    """How much a script does, from its command line."""

    quick: bool
    results: Path
    repeats: int
    scenes: tuple[str, ...] = (*SCENES, *PILES)

    def steps(self, name):
        """All of them, but every fourth one where a frame takes long."""
        if self.quick:
            return (20, 199)
        return range(0, 200, 4) if name in SLOW else range(200)


def arguments(description):
    """Read the command line that all scripts share."""
    parser = argparse.ArgumentParser(
        description=description.split("\n")[0],
        epilog="Results go to benchmarks/results/<machine>/s3, with --quick to build/benchmarks.",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few steps and one timed run: does all work?"
    )
    parser.add_argument("--scene", help="one scene alone, where frames are measured")
    given = parser.parse_args()
    run = run_of(given.quick)
    return run._replace(scenes=(given.scene,)) if given.scene else run


def run_of(quick):
    folder = ROOT / "build" / "benchmarks" if quick else common.RESULTS
    return Run(quick, folder / common.machine() / "s3", 1 if quick else 3)


def flat(values):
    return np.concatenate([np.asarray(value).ravel() for value in values])


class Frame(NamedTuple):
    """A step as a mixed LCP, and how it was found."""

    problem: cs.Problem
    A: object
    b: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    solves: int
    averaging: float
    converged: bool

    def residual(self, x):
        """The largest natural residual over |x_i| + rho_i max|b|, from outside."""
        rho = 1.0 / self.A.diagonal()
        defect = np.abs(x - np.clip(x - rho * (self.A @ x + self.b), self.lo, self.hi))
        return float(np.max(defect / (np.abs(x) + rho * np.abs(self.b).max())))


def frame(name, step, **options):
    """One step of a scene, its friction bounds found by an outer loop."""
    return frame_of(cs.scenarios.get(name)(step, **options))


def frame_of(problem):
    """A problem as a mixed LCP, its friction bounds found by an outer loop."""
    solves = 0
    for averaging, limit in AVERAGING.items():
        result = cs.solve(
            problem, method="bpp", rtol=TOLERANCE, averaging=averaging, max_iterations=limit
        )
        solves += result.iterations
        if result.converged:
            break
    data, indices, indptr = problem.delassus_csr()
    from scipy.sparse import csr_array

    A = csr_array((data, indices, indptr), shape=(len(indptr) - 1,) * 2)
    lo, hi = bounds(problem, result.impulses)
    return Frame(problem, A, flat(problem.b), lo, hi, solves, averaging, result.converged)


def bounds(problem, impulses):
    """Lower and upper bounds of every row, friction's by the normal impulses."""
    low, high = [], []
    # A problem of contacts alone has no list of groups.
    groups, values = problem.sets, impulses
    if isinstance(groups, cs.sets.Set):
        groups, values = [groups], [impulses]
    for group, own in zip(groups, values, strict=True):
        lo, hi = np.full(own.shape, -np.inf), np.full(own.shape, np.inf)
        if group.name == "box":
            lo[:], hi[:] = (parameter.value for parameter in group.values)
        elif group.name == "box_friction":
            hi[:, 1:] = group.mu(len(own))[:, None] * np.maximum(own[:, :1], 0.0)
            lo[:, 0], lo[:, 1:] = 0.0, -hi[:, 1:]
        low.append(lo)
        high.append(hi)
    return flat(low), flat(high)


def mass_ratio(problem):
    """The largest mass over the smallest."""
    inverse = problem.Minv[0][:, 0, 0]
    return float(inverse.max() / inverse.min())
