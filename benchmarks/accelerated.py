"""Time to a solution of hard problems with accelerated sweeps and second-order methods.

Every method starts from zero and runs until the natural map is below a tolerance [N s], as judged
every 20 sweeps, or after each step of the second-order methods, within the timed part. Of several
runs the shortest counts; each ends after 5 s. The CSV has the iterations, the milliseconds and the
natural map of what was returned, judged from outside of the method. As many threads as pay are
used: two from 4,096 contacts on, and one where the name of a method says so.

    python benchmarks/accelerated.py [problem ...]            all methods, the first ones first
    python benchmarks/accelerated.py --methods nesterov nncg  these alone
    python benchmarks/accelerated.py --again box_stack        what there is is measured anew
    python benchmarks/accelerated.py --table                  Markdown of all, and the goals

Rows are written one by one, and what is there already is not measured again, so that a run may be
ended and taken up (--piece: after so many seconds).
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator

import hard_problems as hard
import numpy as np
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
GOALS = {  # seconds, set from prototypes
    "box_stack": 0.5e-3, "box_stack_1000kg": 2e-3, "ball_grid_8": 0.04, "loose_pile": 0.55,
    "ball_grid_12": 0.25, "ball_grid_13": 0.35, "ball_grid_16": 0.1, "ball_grid_24": 0.45,
}  # fmt: skip
STEPS = {"check_every": 1}
ONE = {"threads": 1}
METHODS = {
    "nesterov": ("nesterov", {}),
    "nncg": ("nncg", {}),
    "nncg, relaxation 1.3": ("nncg", {"relaxation": 1.3}),
    "momentum, beta 0.5": (cs.methods.momentum(beta=0.5), {}),
    "momentum, beta 0.8": (cs.methods.momentum(beta=0.8), {}),
    "auto": ("auto", {}),
    "anderson": ("anderson", {}),
    "admm": ("admm", {}),
    "newton": ("newton", STEPS),
    "gauss_seidel": ("gauss_seidel", {}),
    "nesterov, one thread": ("nesterov", ONE),
    "nncg, one thread": ("nncg", ONE),
    "nncg, relaxation 1.3, one thread": ("nncg", {"relaxation": 1.3, **ONE}),
    "auto, one thread": ("auto", ONE),
    "chebyshev": ("chebyshev", {}),
    "nesterov over jacobi": (cs.methods.nesterov(over="jacobi"), {}),
    "nncg over symmetric": (cs.methods.nncg(over="symmetric_gauss_seidel"), {}),
    "newton, de_saxce": (cs.methods.newton(kind="de_saxce"), STEPS),
    "newton, fischer_burmeister": (cs.methods.newton(kind="fischer_burmeister"), STEPS),
    "interior_point": ("interior_point", STEPS),
}
# Contacts beyond which methods are left out: one step takes a good part of the time there is.
MOST_CONTACTS = {"newton": 7000, "admm": 12000, "interior_point": 2000, "newton, de_saxce": 2000,
                 "newton, fischer_burmeister": 2000}  # fmt: skip
THREADED = 4096  # contacts: below, one thread is used anyway
RUNS = 3
MOST_SECONDS = 5.0


def wanted(label: str, problem: cs.Problem) -> bool:
    """Tell whether a method is measured on a problem of this size."""
    if label.endswith("one thread") and problem.contacts < THREADED:
        return False
    return problem.contacts <= MOST_CONTACTS.get(label, np.inf)


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


# ---- Markdown ------------------------------------------------------------------------------------


def short(number: str, digits: int = 0) -> str:
    return f"{float(number):.{digits}e}".replace("e-0", "e-")


def told(row: dict[str, str]) -> str:
    """Return iterations and time, or what was reached where that is not the tolerance."""
    if float(row["natural_map"]) > float(row["tolerance"]):
        return f"– ({short(row['natural_map'], 1)})"
    ms = float(row["ms"])
    time = f"{ms / 1e3:.3g} s" if ms >= 1e3 else f"{ms:.3g} ms"
    return f"{int(row['iterations']):,}, {time}"


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of a table: methods down, problems across, and last the goals."""
    cells = {(row["method"], row["problem"]): row for row in rows}
    across = [name for name in PROBLEMS if any(name == problem for _, problem in cells)]
    first = {row["problem"]: row for row in rows}
    heads = [
        f"{name}, {int(first[name]['contacts']):,} contacts, {short(first[name]['tolerance'])}"
        for name in across
    ]
    lines = [["method", *heads], ["---"] * (len(across) + 1)]
    for label in METHODS:
        found = [cells.get((label, name)) for name in across]
        if any(found):
            lines.append([label, *(told(one) if one else "" for one in found)])
    lines.append(["goal", *(f"{1e3 * GOALS[name]:.3g} ms" for name in across)])
    yield from (f"| {' | '.join(line)} |" for line in lines)


def goal_table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of a table: each problem's goal, its fastest method, and `auto`."""
    yield "| problem, tolerance [N s] | goal | fastest | | auto |"
    yield "| --- | --- | --- | --- | --- |"
    for name, goal in GOALS.items():
        own = [row for row in rows if row["problem"] == name]
        arrived = [row for row in own if not told(row).startswith("–")]
        if not arrived:
            continue
        best = min(arrived, key=lambda row: float(row["ms"]))
        ratio = float(best["ms"]) / 1e3 / goal
        verdict = f"reached, {1 / ratio:.2g} ×" if ratio <= 1 else f"missed, {ratio:.2g} ×"
        auto = next((told(row) for row in own if row["method"] == "auto"), "")
        head = f"{name}, {short(best['tolerance'])} | {1e3 * goal:.3g} ms"
        yield f"| {head} | {best['method']}: {told(best)} | {verdict} | {auto} |"


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
        problem = make() if left else None
        for label in left:
            if time.monotonic() > end:
                return
            if not wanted(label, problem):
                continue
            rows.append(row(name, label, problem, tolerance))
            print(
                "{problem:18} {method:32} {status:15} {iterations:6} {ms:10} {natural_map}".format(
                    **rows[-1]
                ),
                flush=True,
            )
            rows.sort(key=lambda row: places[row["problem"], row["method"]])
            write_csv("accelerated", rows)


if __name__ == "__main__":
    main()
