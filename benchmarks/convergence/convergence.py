"""Time to a solution of every method, and of peers, over a fixed list of problems.

One run for each method and problem notes when the scaled natural map first was below 1e-3, 1e-6
and 1e-8. It is recorded every ten iterations, within the time, and after each where one is worth
many sweeps; what a run returns in the end is judged once more from outside, by the natural map,
whatever the method says, and so is whatever a peer hands out. `auto` is also run with each of
the first two tolerances, which it looks at when it chooses. Methods run in turn;
those that took less than a tenth of a second run five times in turn, those that took less than
5 ms 25 times, and the shortest counts.
One thread, all islands together, packing apart. The profiles are those of Dolan and Moré 2002: the
share of problems that a method solved within so many times the time of the fastest.

    python benchmarks/convergence/convergence.py           the subset, 1 s for each run: 20 minutes
    python benchmarks/convergence/convergence.py --full    all problems, 10 s for each run
    python benchmarks/convergence/convergence.py --plot    report and picture of what there is
    python benchmarks/convergence/convergence.py --tables  tables of it, in Markdown
    python benchmarks/convergence/convergence.py --full --first-seed 1000 --name convergence_unseen
                                                           scenes that no rule has seen

Results are written problem by problem; what is there already is not run again, so that a run may be
ended and taken up (--piece: after so many seconds).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
import peers
from common import RESULTS, machine, write_csv
from common.problems import FOLDERS, listed, problem_of
from report import ASKED, COLUMNS, TOLERANCES, picture, read, report, tables

CHECK_EVERY = 20
RUNS = ((0.005, 25), (0.1, 5))  # of what takes less than so many seconds
DIRECT_ROWS = 5000  # at which one step of a direct method may take longer than all of a budget
OVER_SWEEPS = ("de_saxce", "tresca")
VARIANTS = {
    "nncg, relaxation 1.3": ("nncg", {"relaxation": 1.3}),
    "newton, de_saxce": (cs.methods.newton(kind="de_saxce"), {}),
    "newton, fischer_burmeister": (cs.methods.newton(kind="fischer_burmeister"), {}),
    "de_saxce, newton": (cs.methods.de_saxce(inner="newton"), {}),
    "tresca, newton": (cs.methods.tresca(inner="newton"), {}),
    "tresca, admm": (cs.methods.tresca(inner="admm"), {}),
    **{name: ("auto", {"rtol": tolerance}) for name, tolerance in ASKED.items()},
}
# Iterations between two looks, where one of them is worth many sweeps: (stop rule, record).
EVERY = {"interior_point": (1, 1), "de_saxce": (CHECK_EVERY, 1), "tresca": (CHECK_EVERY, 1)}


def judge(problem: cs.Problem, impulses: object, b: object = None) -> float:
    """Return the scaled natural map of impulses, from outside of any method."""
    return float(common.judge(problem, impulses, b).natural_map_scaled)


def runs_of(seconds: float) -> int:
    """Return how often a run of so many seconds is repeated, for its shortest time."""
    return next((runs for most, runs in RUNS if seconds < most), 1)


def crossings(values: np.ndarray, seconds: np.ndarray) -> list[float]:
    """Return the seconds at which values first were below each tolerance; inf for never."""
    found = [np.flatnonzero(values <= tolerance) for tolerance in TOLERANCES]
    return [float(seconds[at[0]]) if len(at) else np.inf for at in found]


def columns_of(times: Sequence[float]) -> dict[str, str]:
    """Return such seconds as the table has them, empty for never."""
    return {
        f"seconds_to_{tolerance:.0e}": "" if seconds == np.inf else f"{seconds:.4g}"
        for tolerance, seconds in zip(TOLERANCES, times, strict=True)
    }


class Own:
    """A method of this library on a problem."""

    def __init__(
        self, problem: cs.Problem, method: str | cs.methods.Choice, budget: float, **options: object
    ) -> None:
        self.problem = problem
        usual = (CHECK_EVERY, CHECK_EVERY // 2)
        check, record = EVERY.get(cs.methods.chosen(method).name, usual)
        options = {"rtol": TOLERANCES[-1]} | options
        self.aim = options["rtol"]
        self.solver = cs.Solver(
            problem, method=method, check_every=check, threads=1,
            max_iterations=10**8, max_seconds=budget, record=("natural_map_scaled",),
            record_every=record, islands=False, **options,
        )  # fmt: skip
        self.setup = self.solver.info["setup_seconds"]

    def run(self, b: object = None) -> dict[str, object]:
        result = self.solver.solve(b)
        history = result.history
        times = crossings(history["natural_map_scaled"], history["time"])
        reached = judge(self.problem, result.impulses, b)
        for i, tolerance in enumerate(TOLERANCES):
            assert (
                times[i] == np.inf
                or result.status != "converged"
                or reached <= 1.01 * max(tolerance, self.aim)
            )
        note = " ".join(
            f"{link['method']}:{link['iterations']}" for link in result.info.get("links", ())
        )
        return {"times": times, "seconds": result.time, "status": result.status,
                "reached": reached, "iterations": result.iterations, "note": note}  # fmt: skip


class Peer:
    """Another solver on a problem, run once: it hands out (seconds, impulses) on its way."""

    def __init__(self, problem: cs.Problem, name: str, budget: float) -> None:
        self.problem, self.name, self.budget, self.setup = problem, name, budget, 0.0

    def run(self) -> dict[str, object]:
        times, reached, steps, seconds = [np.inf] * len(TOLERANCES), np.inf, 0, 0.0
        for seconds, impulses in peers.WAYS[self.name](self.problem, self.budget):
            steps += 1
            if not np.isfinite(impulses).all():
                break
            here = judge(self.problem, impulses)
            reached = min(reached, here)
            for i, tolerance in enumerate(TOLERANCES):
                if here <= tolerance:
                    times[i] = min(times[i], seconds)
            if reached <= TOLERANCES[-1]:
                break
        status = "converged" if reached <= TOLERANCES[-1] else "budget"
        return {"times": times, "seconds": seconds, "status": status, "reached": reached,
                "iterations": steps, "note": peers.version(self.name)}  # fmt: skip


def contestants(problem: cs.Problem, names: list[str], budget: float) -> dict[str, Own | Peer]:
    """Return what takes the problem, by name; a note in place of what does not."""
    made: dict[str, Own | Peer] = {}
    rows = sum(b.size for b in (problem.b if isinstance(problem.b, list) else [problem.b]))
    for name in names:
        try:
            if name in peers.WAYS:
                peers.check(name, problem)
                made[name] = Peer(problem, name, budget)
            else:
                method, options = VARIANTS.get(name, (name, {}))
                about = cs.methods.describe()[cs.methods.chosen(method).name]
                if about.direct and method not in OVER_SWEEPS and rows > DIRECT_ROWS:
                    raise ValueError(f"not run: more than {DIRECT_ROWS} rows for a direct method")
                made[name] = Own(problem, method, budget, **options)
        except (ValueError, ImportError) as error:
            made[name] = error
    return made


def rows_of(problem: cs.Problem, names: list[str], budget: float) -> list[dict[str, object]]:
    """Run all methods on one problem, in turn."""
    made = contestants(problem, names, budget)
    best: dict[str, dict[str, object]] = {}
    for turn in range(RUNS[0][1]):
        for name, one in made.items():
            if isinstance(one, Exception):
                best[name] = {"status": "refused", "note": str(one)[:120]}
                continue
            if turn and (
                turn >= runs_of(best[name]["seconds"]) or np.isinf(best[name]["times"][0])
            ):
                continue
            try:
                found = one.run()
            except ValueError as error:
                made[name] = error
                continue
            if turn:
                times = [
                    min(a, b) for a, b in zip(best[name]["times"], found["times"], strict=True)
                ]
                best[name]["times"] = times
            else:
                best[name] = found
    rows = []
    for name, found in best.items():
        times = found.pop("times", [np.inf] * len(TOLERANCES))
        row = dict.fromkeys(COLUMNS, "") | {"method": name, "budget_seconds": budget}
        row |= {k: v for k, v in found.items() if k in COLUMNS}
        row |= columns_of(times)
        if not isinstance(made[name], Exception):
            row["setup_seconds"] = f"{made[name].setup:.3g}"
        rows.append(row)
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all problems, 10 s for each run")
    parser.add_argument("--seconds", type=float, help="of each run, at most; 1 for the subset")
    parser.add_argument("--problems", nargs="*", default=(), help="parts of names")
    parser.add_argument("--methods", nargs="*", help="names; all by default")
    parser.add_argument("--fclib", nargs="*", type=Path, default=(), help="folders with more files")
    parser.add_argument("--again", action="store_true", help="run what is there already")
    parser.add_argument("--piece", type=float, default=np.inf, help="seconds, then end")
    parser.add_argument("--plot", action="store_true", help="only report and draw")
    parser.add_argument("--tables", action="store_true", help="only tables, in Markdown")
    parser.add_argument("--name", default="convergence", help="of the CSV file")
    parser.add_argument("--first-seed", type=int, default=0, help="of the scenes, of each kind")
    chosen = parser.parse_args(arguments)
    budget = chosen.seconds or (10.0 if chosen.full else 1.0)
    path = RESULTS / machine() / f"{chosen.name}.csv"
    if chosen.tables:
        print(tables(read(path)))
        return
    names = chosen.methods or [*cs.methods.names(), *VARIANTS, *peers.available()]
    rows = read(path)
    start = time.monotonic()
    for entry in listed((*chosen.fclib, *FOLDERS), chosen.first_seed):
        wanted = not chosen.problems or any(part in entry.name for part in chosen.problems)
        if chosen.plot or not wanted or not (entry.short or chosen.full):
            continue
        there = {row["method"] for row in rows if row["problem"] == entry.name}
        todo = [name for name in names if chosen.again or name not in there]
        if not todo or time.monotonic() - start > chosen.piece:
            continue
        problem = problem_of(entry)
        if problem is None:
            continue
        found = rows_of(problem, todo, budget)
        about = {"problem": entry.name, "kind": entry.kind, "held_out": entry.held}
        about["contacts"] = problem.contacts
        rows = [r for r in rows if r["problem"] != entry.name or r["method"] not in todo]
        rows += [{**row, **about} for row in found]
        write_csv(chosen.name, rows)
        print(f"{entry.name}: {time.monotonic() - start:.0f} s", flush=True)
    rows = read(path)
    report(rows)
    picture(rows, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
