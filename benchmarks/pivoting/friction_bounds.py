"""How friction bounds of pivoting methods follow normal impulses: solves, time, who settles.

The bounds +-mu lambda_n of a mixed LCP are those of the solve before. "plain" takes these as they
are, "half" and "tenth" go so far towards them (`averaging`), "settle" is the default: it combines
the last solves where plain renewal leads nowhere (csrc/methods/pivoting/renewal.h). Problems are
every tenth step of the scenes that move, and stacks of boxes with random velocities. Solved is what
gets to a scaled natural map of 1e-9 in 600 solves, judged from outside.

    python benchmarks/pivoting/friction_bounds.py [--scene NAME]
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import write_csv

TOLERANCE, MOST = 1e-9, 600
WAYS = {"settle": None, "plain": 1.0, "half": 0.5, "tenth": 0.1}
MOVING = ("crane", "winch", "vehicle", "offshore", "forklift", "forwarder", "chain")


def boxes(step):
    """Six boxes on each other, a little faster at each step."""
    scene = cs.scenarios.box_stack(6)
    rng = np.random.default_rng(step)
    b = scene.b + 0.002 * step * rng.normal(size=scene.b.shape)
    sets = cs.sets.box_friction(0.5)
    return cs.Problem(scene.J, scene.Minv, b, bodies=scene.bodies, sets=sets, compliance=1e-6)


def problems(name):
    make = boxes if name == "boxes" else cs.scenarios.get(name)
    return [make(step) for step in range(0, 200, 10)]


def outside(problem, result):
    """The scaled natural map, from a solver that only measures."""
    judge = cs.Solver(problem, method="gauss_seidel", max_iterations=0)
    return judge.solve(initial=result).natural_map_scaled


def rows_of(name):
    found = {way: [] for way in WAYS}
    for problem in problems(name):
        for way, averaging in WAYS.items():
            result = cs.solve(
                problem, method="bpp", rtol=TOLERANCE, averaging=averaging, max_iterations=MOST
            )
            solved = result.converged and outside(problem, result) <= 2 * TOLERANCE
            found[way].append((solved, result.iterations, 1e3 * result.time))
    common = np.all([[solved for solved, *_ in runs] for runs in found.values()], axis=0)
    for way, runs in found.items():
        solved, solves, ms = np.array(runs).T
        yield {
            "scene": name,
            "way": way,
            "problems": len(runs),
            "solved": int(solved.sum()),
            "solves_median": float(np.median(solves)),
            "solves_all": int(solves.sum()),
            "ms_all": float(ms.sum()),
            "common": int(common.sum()),
            "solves_common": int(solves[common].sum()),
            "ms_common": float(ms[common].sum()),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scene", choices=[*MOVING, "boxes"], help="one alone, without a CSV")
    scene = parser.parse_args().scene
    rows = []
    for name in [scene] if scene else (*MOVING, "boxes"):
        for row in rows_of(name):
            rows.append(row)
            print("  ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))
    if not scene:
        print(write_csv("friction_bounds", rows))


if __name__ == "__main__":
    main()
