"""Does a second level pay? `multilevel` against sweeps alone and Newton's method.

Stacks of growing height at rest, under a heavy box and with random velocities before the step, a
chain, a tower of logs, a planar pyramid, and grids and a pile of balls, where forces branch. Every
method starts from zero and runs until the natural map is below 1e-6 N s, or the scaled one below
1e-6 where a scene says so, judged every eight iterations within the timed part; it ends after 2 s.
Medians and quartiles of nine seeds, and the share solved; where a scene has none, of nine runs.
Scenes that are not measured keep their rows in the CSV.

    python benchmarks/methods/coarse_corrections.py [scene ...]
    python benchmarks/methods/coarse_corrections.py --table      # Markdown of what there is
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import SEEDS, crossed, judge, over_seeds, stored, told_over_seeds, write_csv
from common import hard_problems as hard

ABSOLUTE, SCALED = {"rtol": 0.0, "atol": 1e-6}, {"rtol": 1e-6, "atol": 0.0}


Make = Callable[[int], cs.Problem]


def stack(boxes: int, top_mass: float = 1.0) -> Make:
    """Return boxes at rest, the same for every seed."""
    return lambda _: cs.scenarios.box_stack(boxes, top_mass=top_mass)


def moving(boxes: int, top_mass: float = 1.0) -> Make:
    """Return boxes with random velocities before the step."""
    return lambda seed: hard.box_stack(top_mass, seed, boxes)


SCENES: dict[str, tuple[Make, dict[str, float]]] = {
    "10 boxes at rest": (stack(10), ABSOLUTE),
    "20 boxes at rest": (stack(20), ABSOLUTE),
    "50 boxes at rest": (stack(50), ABSOLUTE),
    "100 boxes at rest": (stack(100), ABSOLUTE),
    "200 boxes at rest": (stack(200), ABSOLUTE),
    "20 boxes, 1000 kg on top": (stack(20, 1000.0), ABSOLUTE),
    "50 boxes, 100 kg on top": (stack(50, 100.0), ABSOLUTE),
    "10 boxes, moving": (moving(10), ABSOLUTE),
    "10 boxes, moving, 1000 kg on top": (moving(10, 1000.0), ABSOLUTE),
    "50 boxes, moving": (moving(50), ABSOLUTE),
    "100 boxes, moving": (moving(100), ABSOLUTE),
    "chain": (lambda seed: cs.scenarios.chain(seed=seed), SCALED),
    "log tower": (lambda seed: cs.scenarios.log_tower(seed=seed), SCALED),
    "disc pyramid, 20 layers": (lambda _: cs.scenarios.disc_pyramid(20), SCALED),
    "ball grid 5^3": (lambda seed: hard.ball_grid(5, seed), ABSOLUTE),
    "ball grid 8^3": (lambda seed: hard.ball_grid(8, seed), ABSOLUTE),
    "loose pile": (lambda seed: hard.loose_pile(seed=seed), ABSOLUTE),
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


def is_right(problem: cs.Problem, result: cs.Result, rule: dict[str, float]) -> bool:
    """Return whether a result is what the rule asks for, judged outside of the method."""
    outside = judge(problem, result.impulses)
    reached = outside.natural_map_scaled if rule is SCALED else outside.natural_map
    return result.converged and reached <= 1e-6 * (1 + 1e-6)


def row(
    scene: str, label: str, problems: list[cs.Problem], rule: dict[str, float]
) -> dict[str, object]:
    """Return one line of the table: one method on one scene, over all seeds."""
    results, setup = [], []
    for problem in problems:
        solver = cs.Solver(problem, method=METHODS[label], **rule, **OPTIONS)
        result = solver.solve()
        results.append((result, is_right(problem, result, rule)))
        setup.append(1e3 * solver.info["setup_seconds"])
    return {
        "scene": scene,
        "contacts": problems[0].contacts,
        "rule": "scaled" if rule is SCALED else "absolute",
        "method": label,
        **over_seeds(results),
        "setup_ms": float(np.median(setup)),
        "natural_map": f"{np.median([result.natural_map for result, _ in results]):.1e}",
    }


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table: scenes down, methods across."""
    cells = {(row["scene"], row["method"]): row for row in rows}
    yield from crossed("scene", SCENES, {label: label for label in METHODS}, cells)


def main() -> None:
    """Measure and write the CSV, or print the table of what there is."""
    if sys.argv[1:] == ["--table"]:
        print(*table(stored("coarse_corrections")), sep="\n")
        return
    names = sys.argv[1:] or list(SCENES)
    rows: list = [row for row in stored("coarse_corrections") if row["scene"] not in names]
    place = {name: i for i, name in enumerate(SCENES)}
    for name in names:
        make, rule = SCENES[name]
        problems = [make(seed) for seed in SEEDS]
        for label in METHODS:
            rows.append(row(name, label, problems, rule))
            print(f"{name:32} {label:22} {told_over_seeds(rows[-1])}", flush=True)
        write_csv("coarse_corrections", sorted(rows, key=lambda row: place[row["scene"]]))


if __name__ == "__main__":
    main()
