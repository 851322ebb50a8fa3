"""Time of `auto` to the default tolerance on hard problems, over nine seeds of velocities each.

One seed is luck: medians, quartiles and the share solved within the budget are told. The time is
that of the solve, set-up apart; the scaled natural map of the impulses returned is the judge.

    python benchmarks/convergence/hard_times.py [--seconds 4]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import hard_problems as hard
from common import write_csv

SEEDS = range(9)
RTOL = 1e-6
SCENES: dict[str, Callable[[int], cs.Problem]] = {
    "box_stack": lambda seed: hard.moved(cs.scenarios.box_stack(10), seed),
    "box_stack_1000kg": lambda seed: hard.moved(cs.scenarios.box_stack(10, top_mass=1000.0), seed),
    "ball_grid_8": lambda seed: hard.ball_grid(8, seed),
    "ball_grid_12": lambda seed: hard.ball_grid(12, seed),
    "ball_grid_13": lambda seed: hard.ball_grid(13, seed),
}


def row_of(name: str, seconds: float) -> dict[str, object]:
    """Return one line of the table: milliseconds over all seeds, infinite for unsolved ones."""
    times, sweeps = [], []
    for seed in SEEDS:
        problem = SCENES[name](seed)
        options = {"rtol": RTOL, "max_iterations": 10**7, "max_seconds": seconds}
        result = cs.Solver(problem, threads=1, **options).solve()
        right = common.judge(problem, result.impulses).natural_map_scaled <= RTOL * (1 + 1e-6)
        times.append(1e3 * result.time if result.converged and right else np.inf)
        sweeps.append(result.iterations if result.converged else np.inf)
    low, middle, high = np.percentile(times, [25, 50, 75], method="nearest")
    solved = int(np.isfinite(times).sum())
    return {
        "problem": name,
        "solved": f"{solved} of {len(SEEDS)}",
        "lower quartile [ms]": f"{low:.3g}",
        "median [ms]": f"{middle:.3g}",
        "upper quartile [ms]": f"{high:.3g}",
        "iterations, median": f"{np.percentile(sweeps, 50, method='nearest'):.0f}",
        "budget [s]": seconds,
    }


def main() -> None:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=4.0, help="of each solve, at most")
    seconds = parser.parse_args().seconds
    rows = []
    for name in SCENES:
        rows.append(row_of(name, seconds))
        print("  ".join(str(value) for value in rows[-1].values()), flush=True)
    print(write_csv("hard_times", rows))


if __name__ == "__main__":
    main()
