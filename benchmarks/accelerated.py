"""Time to a solution of hard problems with accelerated sweeps and second-order methods.

Every method starts from zero and runs until the natural map is below a tolerance [N s], as judged
every 20 sweeps, or after each step of the second-order methods, within the timed part. Of several
runs the shortest counts; each ends after 5 s. The CSV has the iterations, the milliseconds and the
natural map that was reached. Problems that are not measured keep their rows in it.

    python benchmarks/accelerated.py [problem ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import hard_problems as hard
from common import stored, write_csv

import contactsolve as cs

PROBLEMS: dict[str, tuple[Callable[[], cs.Problem], float]] = {
    "box_stack": (hard.box_stack, 1e-6),
    "box_stack_1000kg": (lambda: hard.box_stack(1000.0), 1e-6),
    "ball_grid_8": (lambda: hard.ball_grid(8), 1e-6),
    "loose_pile": (hard.loose_pile, 1e-6),
    "ball_grid_12": (lambda: hard.ball_grid(12), 1e-6),
    "ball_grid_13": (lambda: hard.ball_grid(13), 1e-6),
    "ball_grid_16": (lambda: hard.ball_grid(16), 1e-4),
    "ball_grid_24": (lambda: hard.ball_grid(24), 1e-4),
}
STEPS = {"check_every": 1}
METHODS = {
    "gauss_seidel": ("gauss_seidel", {}),
    "nesterov": ("nesterov", {}),
    "nncg": ("nncg", {}),
    "nncg, relaxation 1.3": ("nncg", {"relaxation": 1.3}),
    "momentum": (cs.methods.momentum(beta=0.8), {}),
    "anderson": ("anderson", {}),
    "chebyshev": ("chebyshev", {}),
    "nesterov over jacobi": (cs.methods.nesterov(over="jacobi"), {}),
    "nncg over symmetric": (cs.methods.nncg(over="symmetric_gauss_seidel"), {}),
    "newton": ("newton", STEPS),
    "newton, de_saxce": (cs.methods.newton(kind="de_saxce"), STEPS),
    "newton, fischer_burmeister": (cs.methods.newton(kind="fischer_burmeister"), STEPS),
    "interior_point": ("interior_point", STEPS),
    "admm": ("admm", {}),
    "auto": ("auto", {}),
}
RUNS = 3
MOST_SECONDS = 5.0


def row(name: str, label: str, problem: cs.Problem, tolerance: float) -> dict[str, object]:
    method, options = METHODS[label]
    usual = {"rtol": 0.0, "atol": tolerance, "check_every": 20, "record_every": 10**9}
    limits = {"max_iterations": 10**6, "max_seconds": MOST_SECONDS}
    solver = cs.Solver(problem, method=method, **{**usual, **limits, **options})
    results = [solver.solve()]
    while results[-1].converged and results[-1].time < 1.0 and len(results) < RUNS:
        results.append(solver.solve())
    best = min(results, key=lambda result: result.time)
    return {
        "problem": name,
        "contacts": problem.contacts,
        "tolerance": tolerance,
        "method": label,
        "status": best.status,
        "iterations": best.iterations,
        "ms": round(1e3 * best.time, 3),
        "ns_per_contact_and_iteration": round(
            1e9 * best.time / best.iterations / problem.contacts, 1
        ),
        "natural_map": f"{best.natural_map:.2e}",
        "kernel": solver.info["kernel"],
        "threads": solver.info["threads"],
    }


def main() -> None:
    names = sys.argv[1:] or list(PROBLEMS)
    rows: list = [row for row in stored("accelerated") if row["problem"] not in names]
    for name in names:
        make, tolerance = PROBLEMS[name]
        problem = make()
        for label in METHODS:
            rows.append(row(name, label, problem, tolerance))
            print("{problem:18} {method:26} {status:15} {iterations:6} {ms:10}".format(**rows[-1]))
    order = {name: place for place, name in enumerate(PROBLEMS)}
    print(write_csv("accelerated", sorted(rows, key=lambda row: order[row["problem"]])))


if __name__ == "__main__":
    main()
