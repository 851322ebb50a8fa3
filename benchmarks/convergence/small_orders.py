"""Natural or coloured: time to a solution of problems with few contacts.

A coloured order fills the lanes of vectors, and it may take more sweeps or fewer than the order
that contacts were given in: both count. Problems are those of `common/problems.py` with up to
2,000 contacts, and some at rest, in the order given ("natural") and in the one that `order="auto"`
makes where it is for speed ("colored"), on one thread, all islands together. Where that one has 8
lanes it runs with 4, too ("colored, avx2"). Times are of whole calls: `cs.Solver` and `solve` the
first time, and `solve` of that solver again. Orders take turns, and medians count. Whether a
tolerance was met is told by the scaled natural map from outside; runs that did not meet it are left
empty.

    python benchmarks/convergence/small_orders.py          all that is not in the CSV yet
    python benchmarks/convergence/small_orders.py --table  ratios by kinds of problems, in Markdown

Results are written problem by problem, so that a run may be ended and taken up (--piece: after so
many seconds).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, judge, stored, write_csv
from common.problems import FOLDERS, Entry, listed, problem_of

MOST_CONTACTS = 2000
METHODS = ("nesterov", "nncg", "gauss_seidel", "auto")
ORDERS = {
    "natural": {"order": "natural"},
    "colored": {"order": cs.orders.cache(), "parts": 1},
    "colored, avx2": {"order": cs.orders.cache(), "parts": 1, "instructions": "avx2"},
}
TOLERANCES = (1e-3, 1e-6)
BUDGET = 0.5  # seconds of a solve
RUNS, MORE_RUNS, SHORT = 5, 11, 0.02  # repeats, and those of runs of so many seconds at most
RESTING = {
    "1 box at rest": lambda: cs.scenarios.box_stack(1),
    "3 boxes at rest": lambda: cs.scenarios.box_stack(3),
    "10 boxes at rest": lambda: cs.scenarios.box_stack(10),
    "16 balls at rest": lambda: cs.scenarios.ball_grid((4, 4, 1)),
    "ball grid 5³ at rest": lambda: cs.scenarios.ball_grid(5),
    "disc pyramid 15 at rest": lambda: cs.scenarios.disc_pyramid(15),
}


def problems(folders: tuple[Path, ...]) -> Iterator[Entry]:
    yield from listed(folders)
    for name, make in RESTING.items():
        yield Entry(name, "scene", make, short=False, held=False)


def made(problem: cs.Problem, method: str, label: str, rtol: float) -> cs.Solver:
    return cs.Solver(
        problem, method=method, rtol=rtol, threads=1, islands=False, record=(),
        max_iterations=10**7, max_seconds=BUDGET, **ORDERS[label],
    )  # fmt: skip


def taken(problem: cs.Problem) -> str:
    """Return the order that "auto" takes."""
    return cs.Solver(problem, method="gauss_seidel", islands=False).info["order"]


def measured(problem: cs.Problem, method: str, rtol: float) -> Iterator[dict[str, object]]:
    """Yield a row for each order."""
    rows, solvers, seconds = {}, {}, 0.0
    for label in ORDERS:
        if label == "colored, avx2" and "8 lanes" not in rows["colored"]["kernel"]:
            continue
        solver = made(problem, method, label, rtol)
        result = solver.solve()
        reached = judge(problem, result.impulses).natural_map_scaled
        rows[label] = {
            "method": method, "tolerance": f"{rtol:.0e}", "order": label,
            "scheme": solver.info["scheme"], "kernel": solver.info["kernel"],
            "status": result.status, "iterations": result.iterations,
            "natural_map_scaled": reached,
        }  # fmt: skip
        if reached <= 1.01 * rtol:
            solvers[label] = solver
            seconds = max(seconds, result.time)
    tasks = {}
    for label, solver in solvers.items():
        tasks[label, "warm"] = lambda s=solver: s.solve() and None
        tasks[label, "one_shot"] = lambda o=label: made(problem, method, o, rtol).solve() and None
    times = interleaved(tasks, MORE_RUNS if seconds < SHORT else RUNS)
    for label, row in rows.items():
        for what in ("warm", "one_shot"):
            found = times.get((label, what))
            row[f"{what}_ms"] = "" if found is None else 1e3 * float(np.median(found))
        yield row


# ---- Markdown ------------------------------------------------------------------------------------


def kind_of(row: dict[str, str]) -> str:
    """Return the builder of a scene; one kind for all real problems, whose A was given."""
    if row["kind"] == "fclib":
        return "given A"
    return row["problem"].split(" #")[0].replace("_", " ")


def ratios(rows: list[dict[str, str]], against: str) -> dict[tuple[str, str], list[list[float]]]:
    """Return natural over `against`, (sweeps, warm, one-shot), by kind and method."""
    runs: dict = defaultdict(dict)
    for row in rows:
        runs[row["problem"], row["method"], row["tolerance"]][row["order"]] = row
    found: dict = defaultdict(list)
    for (_, method, _), pair in runs.items():
        base, other = pair["natural"], pair.get(against, pair["colored"])
        if base["warm_ms"] and other["warm_ms"]:
            columns = ("iterations", "warm_ms", "one_shot_ms")
            ratio = [float(base[c]) / float(other[c]) if float(other[c]) else 1.0 for c in columns]
            found[kind_of(base), method].append(ratio)
    return found


def told(values: list[list[float]]) -> str:
    """Return geometric means of the ratios."""
    if not values:
        return "–"
    return " / ".join(f"{mean:.2f}" for mean in np.exp(np.log(values).mean(axis=0)))


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    wide, narrow = ratios(rows, "colored"), ratios(rows, "colored, avx2")
    yield f"| problems, contacts | {' | '.join(METHODS)} | all, avx2 | auto is |"
    yield "| --- " * (len(METHODS) + 3) + "|"
    kinds = {kind_of(row): row for row in rows if row["order"] == "colored"}
    for kind, row in kinds.items():
        cells = [told(wide[kind, method]) for method in METHODS]
        cells.append(told([one for method in METHODS for one in narrow[kind, method]]))
        sizes = sorted({int(r["contacts"]) for r in rows if kind_of(r) == kind})
        size = "–".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
        yield f"| {kind}, {size} | {' | '.join(cells)} | {row['auto']} |"
    for method in METHODS:
        solved = {
            order: sum(
                bool(r["warm_ms"])
                for r in rows
                if (r["method"], r["order"], r["tolerance"]) == (method, order, "1e-06")
            )
            for order in ("natural", "colored")
        }
        yield f"\n{method}, 1e-6: solved {solved} of {len({r['problem'] for r in rows})}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="*", default=(), help="parts of names")
    parser.add_argument("--fclib", nargs="*", type=Path, default=(), help="folders with more files")
    parser.add_argument("--piece", type=float, default=np.inf, help="seconds, then end")
    parser.add_argument("--table", action="store_true", help="only print what there is")
    chosen = parser.parse_args(arguments)
    end = time.monotonic() + chosen.piece
    rows: list = stored("small_orders")
    if chosen.table:
        print(*table(rows), sep="\n")
        return
    there = {row["problem"] for row in rows}
    for entry in problems((*chosen.fclib, *FOLDERS)):
        wanted = not chosen.problems or any(part in entry.name for part in chosen.problems)
        if not wanted or entry.name in there or time.monotonic() > end:
            continue
        problem = problem_of(entry)
        if problem is None or problem.contacts > MOST_CONTACTS:
            continue
        about = {
            "problem": entry.name, "kind": entry.kind, "contacts": problem.contacts,
            "auto": taken(problem),
        }  # fmt: skip
        for method in METHODS:
            for rtol in TOLERANCES:
                rows += [about | row for row in measured(problem, method, rtol)]
        write_csv("small_orders", rows)
        print(f"{entry.name}: {end - time.monotonic():.0f} s left", flush=True)


if __name__ == "__main__":
    main()
