"""Outer fixed points against sweeps: de_saxce and tresca with several inner methods, and peers.

Every method starts from zero and runs until the scaled natural map is below 1e-6, sweeps 30,000
times at most, outer fixed points 100 times, and 2 s. Inner iterations are those of all inner
solves. Medians and quartiles of nine seeds of the scenes, and the share solved; real problems have
no seed and are solved nine times. Clarabel and SCS take part where they are installed (extra
``peers``) and contacts are few, and ``admm`` where its factor is small.

    python benchmarks/methods/outer.py [problem ...]   # problems not measured keep their rows
    python benchmarks/methods/outer.py --table         # Markdown of what there is
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT, SEEDS, crossed, judge, over_seeds, stored, told_over_seeds, write_csv
from common import hard_problems as hard

FILES = ROOT / "tests" / "reference" / "fclib"
RTOL = 1e-6
Make = Callable[[int], cs.Problem]


def fclib(name: str) -> Make:
    return lambda _: cs.io.read_fclib(FILES / f"{name}.hdf5")


PROBLEMS: dict[str, Make] = {
    "box_stack": lambda seed: hard.box_stack(seed=seed),
    "box_stack_1000kg": lambda seed: hard.box_stack(1000.0, seed),
    "ball_grid_8": lambda seed: hard.ball_grid(8, seed),
    "Box_Stacks-i0122": fclib("Box_Stacks-i0122-82-5.reduced_local"),
    "LMGC_GFC3D-i00501": fclib("LMGC_GFC3D-i00501-4-00000.reduced_local"),
    "OneObject-i100000": fclib("OneObject-i100000-499"),
}
MOST_SECONDS = 2.0
SWEEPS = {"max_iterations": 30000, "check_every": 20}
OUTER = {"max_iterations": 100}
MANY = {"admm": 1000, "peers": 100}  # contacts from which on these are left out
LAWS = ("de_saxce", "tresca")
METHODS = {
    "gauss_seidel": ("gauss_seidel", SWEEPS),
    "nesterov": ("nesterov", SWEEPS),
    "nncg": ("nncg", SWEEPS),
    **{
        f"{name}, {inner}": (getattr(cs.methods, name)(inner=inner), OUTER)
        for name in LAWS
        for inner in ("nesterov", "apgd", "newton", "admm")
    },
}
PEERS = [name for name in ("clarabel", "scs") if importlib.util.find_spec(name)]


def own(method: Any, options: dict[str, Any]) -> Callable[[cs.Problem], cs.Result]:
    """Return what solves a problem by a method of the library."""
    limits = {"rtol": RTOL, "record_every": 10**9, "max_seconds": MOST_SECONDS}
    return lambda problem: cs.Solver(problem, method=method, **limits, **options).solve()


def peer(law: str, name: str) -> Callable[[cs.Problem], cs.Result]:
    """Return what solves a problem by outer fixed points in Python, and a peer inside."""
    inner = getattr(cs.fixed_points, name)()
    return lambda problem: cs.fixed_points.solve(problem, inner, law=law, rtol=RTOL)


def solvers(contacts: int) -> dict[str, Callable[[cs.Problem], cs.Result]]:
    """Return what is compared on a problem of so many contacts."""
    found = {
        label: own(method, options)
        for label, (method, options) in METHODS.items()
        if not (label.endswith("admm") and contacts >= MANY["admm"])
    }
    peers = PEERS if contacts < MANY["peers"] else []
    return found | {f"{law}, {name}": peer(law, name) for law in LAWS for name in peers}


def row(name: str, label: str, problems: list[cs.Problem], solve: Any) -> dict[str, object]:
    """Return one line of the table: one method on one problem, over all seeds."""
    results = [(problem, solve(problem)) for problem in problems]
    judged = [
        (result, result.converged and reached(problem, result) <= RTOL * (1 + 1e-6))
        for problem, result in results
    ]
    inner = [result.info.get("inner_iterations", np.nan) for result, _ in judged]
    return {
        "problem": name,
        "contacts": problems[0].contacts,
        "method": label,
        **over_seeds(judged),
        "inner_iterations": "" if np.isnan(inner).all() else np.median(inner),
        "natural_map_scaled": f"{np.median([r.natural_map_scaled for r, _ in judged]):.2e}",
    }


def reached(problem: cs.Problem, result: cs.Result) -> float:
    """Return the scaled natural map, judged outside of the method."""
    return judge(problem, result.impulses).natural_map_scaled


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table: methods down, problems across."""
    cells = {(row["method"], row["problem"]): row for row in rows}
    labels = dict.fromkeys(row["method"] for row in rows)
    yield from crossed("method", labels, {name: name for name in PROBLEMS}, cells, told)


def told(row: Mapping[str, Any]) -> str:
    """Return a cell, the inner iterations of outer fixed points in it."""
    text, inner = told_over_seeds(row), row["inner_iterations"]
    count, comma, rest = text.partition(", ")
    return f"{count} ({float(inner):,.0f}), {rest}" if inner and comma and count[0] != "–" else text


def main() -> None:
    """Measure and write the CSV, or print the table of what there is."""
    if sys.argv[1:] == ["--table"]:
        print(*table(stored("outer")), sep="\n")
        return
    names = sys.argv[1:] or list(PROBLEMS)
    rows: list = [row for row in stored("outer") if row["problem"] not in names]
    for name in names:
        problems = [PROBLEMS[name](seed) for seed in SEEDS]
        for label, solve in solvers(problems[0].contacts).items():
            rows.append(row(name, label, problems, solve))
            print(f"{name:18} {label:24} {told(rows[-1])}", flush=True)
        write_csv("outer", rows)


if __name__ == "__main__":
    main()
