"""Time to a solution of hard problems with accelerated sweeps and second-order methods.

Every method starts from zero and runs until the natural map is below a tolerance [N s], as judged
every 20 sweeps, or after each step of the second-order methods, within the timed part; it ends
after 3 s. One seed is luck: each problem is solved for nine, and medians, quartiles and the share
solved are told; what is not solved counts as taking for ever. Solved is what the method says and
what a judge outside of it finds. As many threads as pay are used: two from 4,096 contacts on.

    python benchmarks/methods/accelerated.py [problem ...]            all methods, first ones first
    python benchmarks/methods/accelerated.py --methods nesterov nncg  these alone
    python benchmarks/methods/accelerated.py --again box_stack        what there is is measured anew
    python benchmarks/methods/accelerated.py --table                  Markdown of all, and the goals

Rows are written one by one, and what is there already is not measured again, so that a run may be
ended and taken up (--piece: after so many seconds).
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import SEEDS, crossed, judge, over_seeds, stored, told_over_seeds, write_csv
from common import hard_problems as hard

PROBLEMS: dict[str, tuple[Callable[[int], cs.Problem], float]] = {
    "box_stack": (lambda seed: hard.box_stack(seed=seed), 1e-6),
    "box_stack_1000kg": (lambda seed: hard.box_stack(1000.0, seed), 1e-6),
    "ball_grid_8": (lambda seed: hard.ball_grid(8, seed), 1e-6),
    "loose_pile": (lambda seed: hard.loose_pile(seed=seed), 1e-6),
    "ball_grid_12": (lambda seed: hard.ball_grid(12, seed), 1e-6),
    "ball_grid_13": (lambda seed: hard.ball_grid(13, seed), 1e-6),
    "ball_grid_16": (lambda seed: hard.ball_grid(16, seed), 1e-4),
    "ball_grid_24": (lambda seed: hard.ball_grid(24, seed), 1e-4),
}
GOALS = {  # seconds, set from prototypes
    "box_stack": 0.5e-3, "box_stack_1000kg": 2e-3, "ball_grid_8": 0.04, "loose_pile": 0.55,
    "ball_grid_12": 0.25, "ball_grid_13": 0.35, "ball_grid_16": 0.1, "ball_grid_24": 0.45,
}  # fmt: skip
STEPS = {"check_every": 1}
METHODS = {
    "nesterov": ("nesterov", {}),
    "nncg": ("nncg", {}),
    "nncg, relaxation 1.3": ("nncg", {"relaxation": 1.3}),
    "momentum, beta 0.5": (cs.methods.momentum(beta=0.5), {}),
    "momentum, beta 0.8": (cs.methods.momentum(beta=0.8), {}),
    "auto": ("auto", {}),
    "nesterov over jacobi": (cs.methods.nesterov(over="jacobi"), {}),
    "newton": ("newton", STEPS),
    "multilevel": ("multilevel", {}),
    "gauss_seidel": ("gauss_seidel", {}),
    "anderson": ("anderson", {}),
    "admm": ("admm", {}),
    "chebyshev": ("chebyshev", {}),
    "nncg over symmetric": (cs.methods.nncg(over="symmetric_gauss_seidel"), {}),
    "newton, de_saxce": (cs.methods.newton(kind="de_saxce"), STEPS),
    "newton, fischer_burmeister": (cs.methods.newton(kind="fischer_burmeister"), STEPS),
    "interior_point": ("interior_point", STEPS),
}
# Contacts beyond which methods are left out: one step takes a good part of the time there is, or
# they were far from the fastest on every problem of that size.
MOST_CONTACTS = {"newton": 7000, "multilevel": 7000, "anderson": 2000, "admm": 2000,
                 "chebyshev": 2000, "nncg over symmetric": 2000, "interior_point": 100,
                 "newton, de_saxce": 100, "newton, fischer_burmeister": 100}  # fmt: skip
MOST_SECONDS = 3.0


def row(name: str, label: str, problems: list[cs.Problem], tolerance: float) -> dict[str, object]:
    """Return one line of the table: one method on one problem, over all seeds."""
    method, options = METHODS[label]
    usual = {"rtol": 0.0, "atol": tolerance, "check_every": 20, "record_every": 10**9}
    limits = {"max_iterations": 10**6, "max_seconds": MOST_SECONDS}
    results = []
    for problem in problems:
        solver = cs.Solver(problem, method=method, **{**usual, **limits, **options})
        result = solver.solve()
        outside = judge(problem, result.impulses).natural_map
        results.append((result, result.converged and outside <= tolerance * (1 + 1e-6)))
    return {
        "problem": name,
        "contacts": int(np.median([problem.contacts for problem in problems])),
        "tolerance": tolerance,
        "method": label,
        **over_seeds(results),
        "natural_map": f"{np.median([result.natural_map for result, _ in results]):.2e}",
        "kernel": solver.info["kernel"],
        "threads": solver.info["threads"],
        "seconds_at_most": MOST_SECONDS,
    }


# ---- Markdown ------------------------------------------------------------------------------------


def short(number: str, digits: int = 0) -> str:
    return f"{float(number):.{digits}e}".replace("e-0", "e-")


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of a table: methods down, problems across, and last the goals."""
    cells = {(row["method"], row["problem"]): row for row in rows}
    across = [name for name in PROBLEMS if any(name == problem for _, problem in cells)]
    first = {row["problem"]: row for row in rows}
    heads = {
        name: f"{name}, {int(one['contacts']):,} contacts, {short(one['tolerance'])}"
        for name, one in ((name, first[name]) for name in across)
    }
    yield from crossed("method", METHODS, heads, cells)
    goals = [f"{1e3 * GOALS[name]:.3g} ms" for name in across]
    yield f"| goal | {' | '.join(goals)} |"


def goal_table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of a table: each problem's goal, its fastest method, and `auto`."""
    yield "| problem, tolerance [N s] | goal | fastest | | auto |"
    yield "| --- | --- | --- | --- | --- |"
    for name, goal in GOALS.items():
        own = [row for row in rows if row["problem"] == name]
        arrived = [row for row in own if np.isfinite(float(row["ms"]))]
        auto = next((told_over_seeds(row) for row in own if row["method"] == "auto"), "")
        if own and not arrived:
            head = f"{name}, {short(own[0]['tolerance'])} | {1e3 * goal:.3g} ms"
            yield f"| {head} | none in the median | missed | {auto} |"
        if not arrived:
            continue
        best = min(arrived, key=lambda row: float(row["ms"]))
        ratio = float(best["ms"]) / 1e3 / goal
        verdict = f"reached, {1 / ratio:.2g} ×" if ratio <= 1 else f"missed, {ratio:.2g} ×"
        head = f"{name}, {short(best['tolerance'])} | {1e3 * goal:.3g} ms"
        yield f"| {head} | {best['method']}: {told_over_seeds(best)} | {verdict} | {auto} |"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", metavar="problem", help=", ".join(PROBLEMS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--again", action="store_true", help="measure anew what there is")
    parser.add_argument("--piece", type=float, default=np.inf, help="seconds, then end")
    parser.add_argument("--table", action="store_true", help="only print what there is")
    chosen = parser.parse_args(arguments)
    end = time.monotonic() + chosen.piece
    rows: list = stored("accelerated")
    if chosen.table:
        print(*table(rows), "", *goal_table(rows), sep="\n")
        return
    names = chosen.problems or list(PROBLEMS)
    if chosen.again:
        rows = [
            row
            for row in rows
            if row["problem"] not in names or row["method"] not in chosen.methods
        ]
    places = {key: i for i, key in enumerate(itertools.product(PROBLEMS, METHODS))}
    for name in names:
        done = {row["method"] for row in rows if row["problem"] == name}
        make, tolerance = PROBLEMS[name]
        left = [label for label in chosen.methods if label not in done]
        problems = [make(seed) for seed in SEEDS] if left else []
        for label in left:
            if time.monotonic() > end:
                return
            if problems[0].contacts > MOST_CONTACTS.get(label, np.inf):
                continue
            rows.append(row(name, label, problems, tolerance))
            print(f"{name:18} {label:28} {told_over_seeds(rows[-1])}", flush=True)
            rows.sort(key=lambda row: places[row["problem"], row["method"]])
            write_csv("accelerated", rows)


if __name__ == "__main__":
    main()
