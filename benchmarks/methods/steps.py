"""Steps that second-order methods take: the counts that docs/methods.md tells, and their scripts.

*shift*: ADMM in NumPy on a grid of 5³ balls, De Saxcé's shift made of the multipliers y, as the
library does, or of the velocities ξ of the same iterate; the penalty stays.

*penalty*: ADMM of the library on stacks with a heavy body on top, by the penalty it begins with.

*interior_point*: on the random problems of the tests, steps until the scaled natural map is below
a tolerance: the median and the most of those that arrive, and how many do not.

    python benchmarks/methods/steps.py [shift] [penalty] [interior_point]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT, judge, write_csv
from common import hard_problems as hard

sys.path.insert(0, str(ROOT / "tests"))
import problems_of_classes as random_problems

TOLERANCE = 1e-6
MOST_STEPS = 3000
SEEDS = 200


def run_admm(problem: cs.Problem, **options: Any) -> cs.Result:
    limits = {"rtol": 0.0, "atol": TOLERANCE, "check_every": 10, "max_iterations": MOST_STEPS}
    return cs.solve(problem, method=cs.methods.admm(**options), **limits)


# ---- ADMM: what the shift is made of -------------------------------------------------------------


def shift_of(velocities: np.ndarray, mu: float) -> np.ndarray:
    """Return De Saxcé's shift, (K, 3), of velocities or multipliers."""
    shift = np.zeros((velocities.size // 3, 3))
    shift[:, 0] = mu * np.linalg.norm(velocities.reshape(-1, 3)[:, 1:], axis=1)
    return shift


def onto_cones(points: np.ndarray, mu: float) -> np.ndarray:
    """Project points (K, 3) onto the second-order cones ‖z_t‖ ≤ μ z_n."""
    normal, size = points[:, 0], np.linalg.norm(points[:, 1:], axis=1)
    inside, polar = size <= mu * normal, mu * size <= -normal
    height = np.where(inside, normal, np.where(polar, 0.0, (normal + mu * size) / (1 + mu * mu)))
    radius = np.where(inside, size, mu * height)
    scale = np.divide(radius, size, out=np.zeros_like(size), where=size > 0)
    return np.column_stack([height, scale[:, None] * points[:, 1:]])


def plain_admm(problem: cs.Problem, made_of: str, over: float) -> tuple[int, float]:
    """Return the steps made, and the natural map [N s] at the end, from zero with p = 1."""
    A, b, mu = problem.delassus().toarray(), problem.b.ravel(), float(np.max(problem.mu))
    p = np.repeat(A.diagonal().reshape(-1, 3).max(1), 3)
    inverse = np.linalg.inv(A + np.diag(p))
    z, y = np.zeros_like(b), -b - shift_of(b, mu).ravel()
    for step in range(1, MOST_STEPS + 1):
        s = shift_of(y if made_of == "multipliers" else A @ z + b, mu).ravel()
        x = z - inverse @ (y + A @ z + b + s)
        h = over * x + (1 - over) * z
        z = onto_cones((h + y / p).reshape(-1, 3), mu).ravel()
        y = y + p * (h - z)
        if step % 10 == 0 and judge(problem, z.reshape(-1, 3)).natural_map <= TOLERANCE:
            break
    return step, judge(problem, z.reshape(-1, 3)).natural_map


def shift_rows() -> Iterator[dict[str, Any]]:
    problem = hard.ball_grid(5)
    for over in (1.0, 1.6):
        for made_of in ("multipliers", "velocities"):
            steps, reached = plain_admm(problem, made_of, over)
            yield {"experiment": "shift", "case": f"{made_of}, over-relaxation {over}",
                   "steps": steps, "reached": reached}  # fmt: skip
        result = run_admm(problem, penalty=1.0, rule="fixed", over_relaxation=over)
        yield {"experiment": "shift", "case": f"the library's, over-relaxation {over}",
               "steps": result.iterations, "reached": result.natural_map}  # fmt: skip


# ---- ADMM: the first penalty ---------------------------------------------------------------------


def penalty_rows() -> Iterator[dict[str, Any]]:
    for top_mass in (1.0, 100.0, 1000.0):
        problem = hard.box_stack(top_mass)
        for penalty in (1.0, 0.1, 0.01, 0.001):
            result = run_admm(problem, penalty=penalty)
            yield {"experiment": "penalty", "case": f"{top_mass:g} kg on top, penalty {penalty:g}",
                   "steps": result.iterations, "reached": result.natural_map}  # fmt: skip


# ---- interior points -----------------------------------------------------------------------------


def interior_point_rows() -> Iterator[dict[str, Any]]:
    for kind, tolerance in (
        ("frictionless", 1e-6), ("frictionless", 1e-8), ("associated", 1e-6),
        ("associated", 1e-8), ("coulomb", 1e-6),
    ):  # fmt: skip
        make = getattr(random_problems, kind)
        steps, lost = [], 0
        for seed in range(SEEDS):
            problem, _ = make(seed)
            result = cs.solve(
                problem, method="interior_point", rtol=tolerance, max_iterations=200, check_every=1
            )
            if result.converged:
                steps.append(result.iterations)
            else:
                lost += 1
        yield {"experiment": "interior_point", "case": f"{kind}, {tolerance:.0e}",
               "steps": int(np.median(steps)), "most": max(steps), "problems": SEEDS,
               "lost": lost}  # fmt: skip


EXPERIMENTS = {
    "shift": shift_rows, "penalty": penalty_rows, "interior_point": interior_point_rows
}  # fmt: skip


def main() -> None:
    rows = []
    for name in sys.argv[1:] or list(EXPERIMENTS):
        for row in EXPERIMENTS[name]():
            rows.append(row)
            told = [f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
                    for key, value in row.items() if key not in ("experiment", "case")]  # fmt: skip
            print(f"{name}, {row['case']}: {', '.join(told)}", flush=True)
    if not sys.argv[1:]:
        print(write_csv("steps", rows))


if __name__ == "__main__":
    main()
