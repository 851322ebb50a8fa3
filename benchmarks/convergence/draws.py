"""How much of a time to a solution is luck: problems of convergence.py with b changed by a percent.

Where the natural map of sweeps wanders for long before it falls, the number of sweeps to a solution
is one draw of a wide distribution, and the shortest time of a dozen methods the least of a dozen
draws. Here each of some methods runs on the same few copies of a problem, whose b are those of the
problem + A y, y normal and a hundredth of max |b| in effect: bodies that move a little differently.
Methods are compared by their medians, as whoever has many such problems sees them.

The problems are those of convergence.csv, measured on this machine, on which `auto` is not within
1.5 times the best single method at some tolerance, or all of `--problems`, with the budgets of that
table; the methods, some that sweep, Newton's, and those that were the best there.

    python benchmarks/convergence/draws.py             those problems, 7 draws: half an hour
    python benchmarks/convergence/draws.py --table     the table in Markdown of what there is
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import RESULTS, judge, machine, stored, write_csv
from common.problems import FOLDERS, listed, problem_of
from convergence import Own, columns_of, contestants, runs_of
from report import NEAR, TOLERANCES, markdown, near_best, read

DRAWS, SPREAD = 7, 1e-2
METHODS = ("auto", "nesterov", "nncg", "nncg, relaxation 1.3", "momentum", "gauss_seidel", "newton")


def copies(problem: cs.Problem, draws: int) -> Iterator[object]:
    """Yield b of the problem, and then others, b + A y with y at random.

    Within the range of A, as other velocities of the bodies would have it: redundant contacts stay
    compatible.
    """
    rng = np.random.default_rng(0)
    several = isinstance(problem.b, list)
    groups = problem.b if several else [problem.b]
    size = max(np.abs(b).max() for b in groups)
    yield problem.b
    for _ in range(draws - 1):
        y = [rng.standard_normal(b.shape) for b in groups]
        there = judge(problem, y if several else y[0]).residual_velocities
        change = [w - b for w, b in zip(there if several else [there], groups, strict=True)]
        scale = SPREAD * size / max(np.abs(w).max() for w in change)
        changed = [b + scale * w for b, w in zip(groups, change, strict=True)]
        yield changed if several else changed[0]


def rows_of(problem: cs.Problem, names: list[str], budget: float) -> Iterator[dict[str, object]]:
    """Run all methods on all copies, in turn."""
    contenders = contestants(problem, names, budget)
    made = {name: one for name, one in contenders.items() if isinstance(one, Own)}
    for draw, b in enumerate(copies(problem, DRAWS)):
        for name, one in made.items():
            found = one.run(b)
            again = [one.run(b)["times"] for _ in range(1, runs_of(found["seconds"]))]
            found["times"] = np.min([found["times"], *again], axis=0)
            row = {"method": name, "draw": draw, "budget_seconds": budget}
            row |= columns_of(found["times"])
            yield row | {"status": found["status"], "reached": found["reached"]}


def fastest(rows: list[dict[str, str]]) -> dict[str, list[str]]:
    """Return the problems on which `auto` is far from the best single method at some tolerance.

    And for each of them the methods that were best at some.
    """
    found: dict[str, list[str]] = {}
    all_near = [near_best(rows, tolerance) for tolerance in TOLERANCES]
    for i, problem in enumerate(all_near[0]["problems"]):
        if any(near["any"][i] and not near["near"][i] for near in all_near):
            found[problem] = [near["fastest"][i] for near in all_near if near["any"][i]]
    return found


def seconds_of(rows: list[dict[str, str]], tolerance: float) -> dict[str, np.ndarray]:
    """Return the seconds of all draws of each method on one problem; inf for never."""
    found: dict[str, list[float]] = {}
    for row in rows:
        value = row[f"seconds_to_{tolerance:.0e}"]
        found.setdefault(row["method"], []).append(float(value) if value else np.inf)
    return {method: np.array(seconds) for method, seconds in found.items()}


def table(rows: list[dict[str, str]]) -> str:
    """Return a line where `auto` is far from the best, by medians or by first draws."""
    head = [
        "problem", "to", "best method by its median", "its draws [ms]", "of `auto` [ms]",
        "ratio of medians", "of the first draw to the best first draw",
    ]  # fmt: skip
    body: list[list[object]] = []
    counts = dict.fromkeys(TOLERANCES, np.zeros(3, dtype=int))
    for problem in dict.fromkeys(row["problem"] for row in rows):
        for tolerance in TOLERANCES:
            seconds = seconds_of([r for r in rows if r["problem"] == problem], tolerance)
            auto = seconds.pop("auto")
            best = min(seconds, key=lambda method: float(np.median(seconds[method])))
            median = float(np.median(seconds[best]))
            first = min(values[0] for values in seconds.values())
            if not np.isfinite([median, first]).any():
                continue
            near = [np.median(auto) <= NEAR * median, auto[0] <= NEAR * first]
            counts[tolerance] = counts[tolerance] + [1, *near]
            if not all(near):
                ratios = over(float(np.median(auto)), median), over(float(auto[0]), first)
                draws = spread(seconds[best]), spread(auto)
                body.append([problem, f"{tolerance:.0e}", f"`{best}`", *draws, *ratios])
    lines = [
        f"to {tolerance:.0e}: of {problems}, within {NEAR}: {by_median} by medians, "
        f"{by_first} by first draws"
        for tolerance, (problems, by_median, by_first) in counts.items()
    ]
    return "\n".join([markdown(head, body), "", *lines])


def shown(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}" if np.isfinite(seconds) else "–"


def spread(seconds: np.ndarray) -> str:
    """Return the least draw, the median and the largest."""
    return ", ".join(shown(float(x)) for x in (seconds.min(), np.median(seconds), seconds.max()))


def over(auto: float, best: float) -> str:
    if not np.isfinite(auto):
        return "–" if np.isfinite(best) else "both never"
    return f"{auto / best:.2f}" if np.isfinite(best) else "`auto` alone"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="*", default=(), help="parts of names")
    parser.add_argument("--fclib", nargs="*", type=Path, default=(), help="folders with more files")
    parser.add_argument("--first-seed", type=int, default=0, help="of the scenes, of each kind")
    parser.add_argument("--table", action="store_true", help="only the table, in Markdown")
    chosen = parser.parse_args(arguments)
    folder = RESULTS / machine()
    name = "convergence_draws" if chosen.first_seed == 0 else "convergence_draws_unseen"
    rows = stored(name)
    if chosen.table:
        print(table(rows))
        return
    before = read(folder / f"convergence{'_unseen' * (chosen.first_seed > 0)}.csv")
    budget = {row["problem"]: float(row["budget_seconds"]) for row in before}
    best = fastest(before)
    for entry in listed((*chosen.fclib, *FOLDERS), chosen.first_seed):
        asked = any(part in entry.name for part in chosen.problems)
        if entry.name not in budget or not (asked if chosen.problems else entry.name in best):
            continue
        problem = problem_of(entry)
        if problem is None:
            continue
        about = {"problem": entry.name, "contacts": problem.contacts}
        names = list(dict.fromkeys([*METHODS, *best.get(entry.name, [])]))
        found = [about | row for row in rows_of(problem, names, budget[entry.name])]
        rows = [row for row in rows if row["problem"] != entry.name] + found
        write_csv(name, rows)
        print(entry.name, flush=True)
    print(table(stored(name)))


if __name__ == "__main__":
    main()
