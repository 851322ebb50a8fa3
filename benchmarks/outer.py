"""Outer fixed points against sweeps: de_saxce and tresca with several inner methods, and peers.

Every method starts from zero and runs until the scaled natural map is below 1e-6, sweeps 30,000
times at most, outer fixed points 100 times. Inner iterations are those of all inner solves. Of
several runs the shortest counts. Clarabel and SCS take part where they are installed (extra
``peers``) and contacts are few, and ``admm`` where its factor is small.

    python benchmarks/outer.py [problem ...]   # problems not measured keep their rows
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import hard_problems as hard
from common import stored, write_csv

import contactsolve as cs

FILES = Path(__file__).parents[1] / "tests" / "reference" / "fclib"
RTOL = 1e-6
RUNS = 3
LONG = 0.5  # seconds after which a run is not repeated


def fclib(name: str) -> Callable[[], cs.Problem]:
    return lambda: cs.io.read_fclib(FILES / f"{name}.hdf5")


PROBLEMS: dict[str, Callable[[], cs.Problem]] = {
    "box_stack": hard.box_stack,
    "box_stack_1000kg": lambda: hard.box_stack(1000.0),
    "ball_grid_8": lambda: hard.ball_grid(8),
    "Box_Stacks-i0122": fclib("Box_Stacks-i0122-82-5.reduced_local"),
    "LMGC_GFC3D-i00501": fclib("LMGC_GFC3D-i00501-4-00000.reduced_local"),
    "OneObject-i100000": fclib("OneObject-i100000-499"),
}
SWEEPS = {"max_iterations": 30000, "check_every": 20}
OUTER = {"max_iterations": 100}
MANY = {"admm": 1000, "peers": 100}  # contacts from which on these are left out
METHODS = {
    "gauss_seidel": ("gauss_seidel", SWEEPS),
    "nesterov": ("nesterov", SWEEPS),
    "nncg": ("nncg", SWEEPS),
    **{
        f"{name}, {inner}": (getattr(cs.methods, name)(inner=inner), OUTER)
        for name in ("de_saxce", "tresca")
        for inner in ("nesterov", "apgd", "newton", "admm")
    },
}
PEERS = [name for name in ("clarabel", "scs") if importlib.util.find_spec(name)]


def best_of(solve: Callable[[], cs.Result]) -> cs.Result:
    results = [solve()]
    while results[-1].converged and results[-1].time < LONG and len(results) < RUNS:
        results.append(solve())
    return min(results, key=lambda result: result.time)


def row(name: str, label: str, problem: cs.Problem, result: cs.Result) -> dict[str, object]:
    return {
        "problem": name,
        "contacts": problem.contacts,
        "method": label,
        "status": result.status,
        "iterations": result.iterations,
        "inner_iterations": result.info.get("inner_iterations", ""),
        "ms": round(1e3 * result.time, 3),
        "natural_map_scaled": f"{result.natural_map_scaled:.2e}",
    }


def main() -> None:
    names = sys.argv[1:] or list(PROBLEMS)
    rows = [row for row in stored("outer") if row["problem"] not in names]

    def add(*told: object) -> None:
        rows.append(row(*told))  # type: ignore[arg-type]
        line = "{problem:18} {method:20} {status:15} {iterations:6} {inner_iterations!s:8} {ms:10}"
        print(line.format(**rows[-1]), flush=True)

    for name in names:
        problem = PROBLEMS[name]()
        for label, (method, options) in METHODS.items():
            if label.endswith("admm") and problem.contacts >= MANY["admm"]:
                continue
            solver = cs.Solver(problem, method=method, rtol=RTOL, record_every=10**9, **options)
            add(name, label, problem, best_of(solver.solve))
        for law in ("de_saxce", "tresca"):
            for peer in PEERS if problem.contacts < MANY["peers"] else ():
                inner = getattr(cs.fixed_points, peer)()
                result = cs.fixed_points.solve(problem, inner, law=law, rtol=RTOL)
                add(name, f"{law}, {peer}", problem, result)
    print(write_csv("outer", rows))


if __name__ == "__main__":
    main()
