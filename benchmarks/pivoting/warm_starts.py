"""What a pivoting method saves by beginning with the last step's answer: pivots, solves, time.

Each scene makes nine steps in turn, for nine seeds. "cold" begins every step with nothing,
"active" with what contacts did (`initial=result.active`: an index set without friction bounds),
"result" with the last result (`initial=result`: its impulses tell the friction bounds and the index
set). A step whose contacts are not those of the step before begins cold. Judged from outside at
1e-6.

    python benchmarks/pivoting/warm_starts.py [--scene NAME]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import judge, write_csv

SCENES = ("crane", "winch", "vehicle", "offshore", "forklift", "forwarder", "chain")
WAYS = ("cold", "active", "result")
STEPS, SEEDS, RTOL = range(9), range(9), 1e-6


def start_of(way: str, problem: cs.Problem, last: cs.Result | None) -> Any:
    """Return what a step begins with."""
    same = last is not None and last.problem.contacts == problem.contacts
    if way == "cold" or last is None or not same:
        return None
    return last.active if way == "active" else last


def run(name: str, way: str, seed: int) -> tuple[float, float, float, bool]:
    """Return pivots, solves and milliseconds of all steps, and whether each is solved."""
    last, pivots, solves, ms, solved = None, 0, 0, 0.0, True
    for step in STEPS:
        problem = cs.scenarios.get(name)(step, seed=seed)
        last = cs.solve(problem, method="bpp", initial=start_of(way, problem, last))
        pivots += last.info["pivots"]
        solves += last.iterations
        ms += 1e3 * last.time
        solved &= judge(problem, last.impulses).natural_map_scaled <= 2 * RTOL
    return pivots, solves, ms, solved


def rows_of(name: str) -> list[dict[str, object]]:
    """Return one line for each way: medians over the seeds, quartiles of the pivots."""
    found: dict[str, list[tuple[float, float, float, bool]]] = {way: [] for way in WAYS}
    for seed in SEEDS:
        for way in WAYS:
            found[way].append(run(name, way, seed))
    rows = []
    for way, runs in found.items():
        pivots, solves, ms, solved = np.array(runs).T
        low, middle, high = np.percentile(pivots, [25, 50, 75])
        rows.append(
            {
                "scene": name,
                "way": way,
                "solved": f"{int(solved.sum())} of {len(SEEDS)}",
                "pivots, lower quartile": low,
                "pivots, median": middle,
                "pivots, upper quartile": high,
                "solves, median": float(np.median(solves)),
                "ms, median": float(np.median(ms)),
            }
        )
    return rows


def main() -> None:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scene", choices=SCENES, help="one alone, without a CSV")
    scene = parser.parse_args().scene
    rows = []
    for name in [scene] if scene else SCENES:
        for row in rows_of(name):
            rows.append(row)
            print("  ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))
    if not scene:
        print(write_csv("warm_starts", rows))


if __name__ == "__main__":
    main()
