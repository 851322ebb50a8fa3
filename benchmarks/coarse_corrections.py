"""Does a second level pay? `multilevel` against sweeps alone and Newton's method.

Stacks of growing height at rest, under a heavy box and with random velocities before the step, a
chain, a tower of logs, a planar pyramid, and grids and a pile of balls, where forces branch. Every
method starts from zero and runs until the natural map is below 1e-6 N s, or the scaled one below
1e-6 where a scene says so, judged every eight iterations within the timed part; it ends after 2 s.
Of three runs the shortest counts. Scenes that are not measured keep their rows in the CSV.

    python benchmarks/coarse_corrections.py [scene ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import hard_problems as hard
from common import stored, write_csv

import contactsolve as cs

ABSOLUTE, SCALED = {"rtol": 0.0, "atol": 1e-6}, {"rtol": 1e-6, "atol": 0.0}


def stack(boxes: int, top_mass: float = 1.0) -> Callable[[], cs.Problem]:
    return lambda: cs.scenarios.box_stack(boxes, top_mass=top_mass)


SCENES: dict[str, tuple[Callable[[], cs.Problem], dict[str, float]]] = {
    "10 boxes at rest": (stack(10), ABSOLUTE),
    "20 boxes at rest": (stack(20), ABSOLUTE),
    "50 boxes at rest": (stack(50), ABSOLUTE),
    "100 boxes at rest": (stack(100), ABSOLUTE),
    "200 boxes at rest": (stack(200), ABSOLUTE),
    "20 boxes, 1000 kg on top": (stack(20, 1000.0), ABSOLUTE),
    "50 boxes, 100 kg on top": (stack(50, 100.0), ABSOLUTE),
    "10 boxes, moving": (hard.box_stack, ABSOLUTE),
    "10 boxes, moving, 1000 kg on top": (lambda: hard.box_stack(1000.0), ABSOLUTE),
    "50 boxes, moving": (lambda: hard.moved(cs.scenarios.box_stack(50)), ABSOLUTE),
    "100 boxes, moving": (lambda: hard.moved(cs.scenarios.box_stack(100)), ABSOLUTE),
    "chain": (cs.scenarios.chain, SCALED),
    "log tower": (cs.scenarios.log_tower, SCALED),
    "disc pyramid, 20 layers": (lambda: cs.scenarios.disc_pyramid(20), SCALED),
    "ball grid 5^3": (lambda: hard.ball_grid(5), ABSOLUTE),
    "ball grid 8^3": (lambda: hard.ball_grid(8), ABSOLUTE),
    "loose pile": (hard.loose_pile, ABSOLUTE),
}
METHODS = {
    "gauss_seidel": "gauss_seidel",
    "nesterov": "nesterov",
    "nncg": "nncg",
    "newton": "newton",
    "multilevel": "multilevel",
    "multilevel, rounds 2": cs.methods.multilevel(rounds=2),
    "multilevel, size 8": cs.methods.multilevel(size=8),
}
OPTIONS = {"check_every": 8, "record_every": 10**9, "max_iterations": 10**6, "max_seconds": 2.0}
RUNS = 3


def row(scene: str, label: str, problem: cs.Problem, rule: dict[str, float]) -> dict[str, object]:
    solver = cs.Solver(problem, method=METHODS[label], **rule, **OPTIONS)
    results = [solver.solve()]
    while results[-1].converged and results[-1].time < 1.0 and len(results) < RUNS:
        results.append(solver.solve())
    best = min(results, key=lambda result: result.time)
    return {
        "scene": scene,
        "contacts": problem.contacts,
        "rule": "scaled" if rule is SCALED else "absolute",
        "method": label,
        "status": best.status,
        "iterations": best.iterations,
        "ms": round(1e3 * best.time, 3),
        "setup_ms": round(1e3 * solver.info["setup_seconds"], 3),
        "natural_map": f"{best.natural_map:.1e}",
    }


def main() -> None:
    names = sys.argv[1:] or list(SCENES)
    rows: list = [row for row in stored("coarse_corrections") if row["scene"] not in names]
    for name in names:
        make, rule = SCENES[name]
        problem = make()
        for label in METHODS:
            rows.append(row(name, label, problem, rule))
            print("{scene:32} {method:20} {status:15} {iterations:6} {ms:10}".format(**rows[-1]))
    place = {name: i for i, name in enumerate(SCENES)}
    print(write_csv("coarse_corrections", sorted(rows, key=lambda row: place[row["scene"]])))


if __name__ == "__main__":
    main()
