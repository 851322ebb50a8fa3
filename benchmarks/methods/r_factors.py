"""Strategies for R compared: sweeps to a scaled natural map of 1e-6, and who gets there at all.

S1 section 3.5 weighs the global against the local strategy and asks for factors computed on the
fly; `balanced` is that. The relaxed ones are SOR and JOR, as good as the choice of their number.

    python benchmarks/methods/r_factors.py [folder of FCLIB files]
"""

import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import write_csv
from common.problems import FOLDERS
from rollback import problems

STRATEGIES = {
    "local": {},
    "local, relaxed 1.3": {"relaxation": 1.3},
    "local, relaxed 1.5": {"relaxation": 1.5},
    "block": {"r_factor": "block"},
    "global": {"r_factor": "global"},
    "balanced": {"r_factor": "balanced"},
}
SWEEPS = 3000


def main():
    rows = []
    folders = [Path(folder) for folder in sys.argv[1:]] or list(FOLDERS)
    for name, problem in problems(folders):
        for method in ("gauss_seidel", "jacobi"):
            for strategy, options in STRATEGIES.items():
                result = cs.solve(
                    problem,
                    method=method,
                    order="natural",
                    max_iterations=SWEEPS,
                    record=(),
                    **options,
                )
                rows.append(
                    {
                        "problem": name,
                        "contacts": problem.contacts,
                        "method": method,
                        "r_factor": strategy,
                        "status": result.status,
                        "iterations": result.iterations,
                        "natural_map_scaled": result.natural_map_scaled,
                        "rollbacks": result.info["rollbacks"],
                        "ms": 1e3 * result.time,
                    }
                )
    print(f"{'':13} {'R':20} solved of {len(rows) // (2 * len(STRATEGIES))}, mean sweeps")
    for method in ("gauss_seidel", "jacobi"):
        for strategy in STRATEGIES:
            mine = [r for r in rows if r["method"] == method and r["r_factor"] == strategy]
            solved = [r["status"] == "converged" for r in mine]
            sweeps = [r["iterations"] if ok else SWEEPS for r, ok in zip(mine, solved, strict=True)]
            mean = np.exp(np.mean(np.log(np.maximum(sweeps, 1))))
            print(f"{method:13} {strategy:20} {sum(solved):6} {mean:16.0f}")
    print("mean: the geometric one; a problem that was not solved counts with all its sweeps")
    print(write_csv("r_factors", rows))


if __name__ == "__main__":
    main()
