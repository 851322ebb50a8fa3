"""Time to a solution of every method, and of peers, over a fixed list of problems.

One run for each method and problem notes when the scaled natural map first was below 1e-3, 1e-6
and 1e-8. It is looked at every 20 iterations, within the time; what a run returns in the end is
judged once more from outside, by the natural map, whatever the method says. Methods run in turn;
those that took less than a tenth of a second run several times in turn, and the shortest counts.
One thread, all islands together, packing apart. The profiles are those of Dolan and Moré 2002: the
share of problems that a method solved within so many times the time of the fastest.

    python benchmarks/convergence.py                    the subset
    python benchmarks/convergence.py --full             all problems, 10 s for each run
    python benchmarks/convergence.py --plot             report and picture of what there is

Results are written problem by problem; what is there already is not run again, so that a run may be
ended and taken up (--piece: after so many seconds).
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path

import convergence_peers as peers
import numpy as np
from common import RESULTS, machine, write_csv
from convergence_problems import FOLDERS, listed

import contactsolve as cs

TOLERANCES = (1e-3, 1e-6, 1e-8)
NEAR = 1.5  # times the best single method
CHECK_EVERY = 20
SHORT, RUNS = 0.1, 5
DIRECT_ROWS = 5000  # at which one step of a direct method may take longer than all of a budget
VARIANTS = {"nncg, relaxation 1.3": ("nncg", {"relaxation": 1.3})}
COLUMNS = (
    *("problem", "kind", "held_out", "contacts", "method", "status"),
    *(f"seconds_to_{tolerance:.0e}" for tolerance in TOLERANCES),
    *("reached", "iterations", "setup_seconds", "budget_seconds", "note"),
)


def judge(problem: cs.Problem, impulses: object) -> float:
    """Return the scaled natural map of impulses, from outside of any method."""
    looker = cs.Solver(problem, method="gauss_seidel", max_iterations=0)
    return float(looker.solve(initial=impulses).natural_map_scaled)


def crossings(values: np.ndarray, seconds: np.ndarray) -> list[float]:
    """Return the seconds at which values first were below each tolerance; inf for never."""
    found = [np.flatnonzero(values <= tolerance) for tolerance in TOLERANCES]
    return [float(seconds[at[0]]) if len(at) else np.inf for at in found]


class Own:
    """A method of this library on a problem."""

    def __init__(self, problem: cs.Problem, method: str, budget: float, **options: object) -> None:
        self.problem = problem
        self.solver = cs.Solver(
            problem, method=method, rtol=TOLERANCES[-1], check_every=CHECK_EVERY, threads=1,
            max_iterations=10**8, max_seconds=budget, record=("natural_map_scaled",),
            record_every=CHECK_EVERY // 2, islands=False, **options,
        )  # fmt: skip
        self.setup = self.solver.info["setup_seconds"]

    def run(self) -> dict[str, object]:
        result = self.solver.solve()
        history = result.history
        times = crossings(history["natural_map_scaled"], history["time"])
        reached = judge(self.problem, result.impulses)
        for i, tolerance in enumerate(TOLERANCES):
            assert (
                times[i] == np.inf
                or result.status != "converged"
                or reached <= 1.01 * max(tolerance, TOLERANCES[-1])
            )
        note = " ".join(
            f"{link['method']}:{link['iterations']}" for link in result.info.get("links", ())
        )
        return {"times": times, "seconds": result.time, "status": result.status,
                "reached": reached, "iterations": result.iterations, "note": note}  # fmt: skip


class Peer:
    """Another solver on a problem, run once: it hands out (seconds, impulses) on its way."""

    def __init__(self, problem: cs.Problem, way: Callable, budget: float) -> None:
        self.problem, self.way, self.budget, self.setup = problem, way, budget, 0.0

    def run(self) -> dict[str, object]:
        times, reached, steps, seconds = [np.inf] * len(TOLERANCES), np.inf, 0, 0.0
        for seconds, impulses in self.way(self.problem, self.budget):
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
                "iterations": steps, "note": ""}  # fmt: skip


def contestants(problem: cs.Problem, names: list[str], budget: float) -> dict[str, Own | Peer]:
    """Return what takes the problem, by name; a note in place of what does not."""
    made: dict[str, Own | Peer] = {}
    for name in names:
        try:
            if name in peers.WAYS:
                peers.check(name, problem)
                made[name] = Peer(problem, peers.WAYS[name], budget)
            else:
                method, options = VARIANTS.get(name, (name, {}))
                if cs.methods.describe()[method].direct and problem.rows > DIRECT_ROWS:
                    raise ValueError(f"not run: more than {DIRECT_ROWS} rows for a direct method")
                made[name] = Own(problem, method, budget, **options)
        except (ValueError, ImportError) as error:
            made[name] = error
    return made


def rows_of(problem: cs.Problem, names: list[str], budget: float) -> list[dict[str, object]]:
    """Run all methods on one problem, in turn."""
    made = contestants(problem, names, budget)
    best: dict[str, dict[str, object]] = {}
    for turn in range(RUNS):
        for name, one in made.items():
            if isinstance(one, Exception):
                best[name] = {"status": "refused", "note": str(one)[:120]}
                continue
            if turn and best[name].get("seconds", np.inf) > SHORT:
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
        for tolerance, seconds in zip(TOLERANCES, times, strict=True):
            row[f"seconds_to_{tolerance:.0e}"] = "" if seconds == np.inf else f"{seconds:.4g}"
        if not isinstance(made[name], Exception):
            row["setup_seconds"] = f"{made[name].setup:.3g}"
        rows.append(row)
    return rows


# ---- what came out -------------------------------------------------------------------------------


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{k: row.get(k, "") for k in COLUMNS} for row in csv.DictReader(file)]


def table(rows: list[dict[str, str]], tolerance: float) -> tuple[list[str], list[str], np.ndarray]:
    """Return problems, methods, and seconds of each; inf where it was not reached."""
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    seconds = np.full((len(problems), len(methods)), np.inf)
    for row in rows:
        value = row[f"seconds_to_{tolerance:.0e}"]
        if value:
            # A clock's resolution, so that nothing takes no time.
            seconds[problems.index(row["problem"]), methods.index(row["method"])] = max(
                float(value), 1e-6
            )
    return problems, methods, seconds


def report(rows: list[dict[str, str]]) -> None:
    """Print who solved what, and how `auto` compares with the best single method."""
    held = {row["problem"] for row in rows if row["held_out"] == "True"}
    for tolerance in TOLERANCES:
        problems, methods, seconds = table(rows, tolerance)
        solved = np.isfinite(seconds)
        print(f"\nto {tolerance:.0e}: {solved.any(1).sum()} of {len(problems)} problems solved")
        for i in np.argsort(-solved.sum(0), kind="stable")[:12]:
            print(f"  {methods[i]:32} {solved[:, i].sum():3}")
        if "auto" not in methods:
            continue
        own = [i for i, m in enumerate(methods) if m != "auto" and m not in peers.WAYS]
        auto = seconds[:, methods.index("auto")]
        single = seconds[:, own].min(1)
        for which, chosen in (
            ("all", np.isfinite(single)),
            ("tuned", np.isfinite(single) & ~np.isin(problems, list(held))),
            ("held out", np.isfinite(single) & np.isin(problems, list(held))),
        ):
            if not chosen.any():
                continue
            near = auto[chosen] <= NEAR * single[chosen]
            done = np.isfinite(auto[chosen])
            print(
                f"  auto, {which}: {near.sum()} of {len(near)} within {NEAR} of the best single "
                f"method ({near.mean():.0%}), {done.sum()} solved"
            )
        for i in np.flatnonzero(np.isfinite(single) & ~(auto <= NEAR * single)):
            fastest = methods[own[int(np.argmin(seconds[i, own]))]]
            print(f"    {problems[i][:34]:34} {auto[i]:.3g} s, {fastest} {single[i]:.3g} s")


def picture(rows: list[dict[str, str]], path: Path, shown: int = 10) -> None:
    """Draw the profiles, `auto` and the best others by name."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    ratios = np.geomspace(1, 1000, 400)
    figure, axes = pyplot.subplots(1, 3, figsize=(15, 5.5), sharey=True)
    profiles = []
    for tolerance in TOLERANCES:
        _, methods, seconds = table(rows, tolerance)
        seconds = seconds[np.isfinite(seconds).any(1)]
        over = seconds / seconds.min(1, keepdims=True)
        profiles.append({
            m: (over[:, [i]] <= ratios).mean(0) for i, m in enumerate(methods)
        })  # fmt: skip
    area = {m: sum(p[m].mean() for p in profiles) for m in profiles[0]}
    named = sorted(area, key=area.get, reverse=True)[:shown]
    named += [name for name in peers.WAYS if name in area and area[name] > 0 and name not in named]
    colors = dict(zip(named, [*pyplot.cm.tab20.colors], strict=False))
    for ax, profile, tolerance in zip(axes, profiles, TOLERANCES, strict=True):
        for name in named:
            style = "--" if name in peers.WAYS else "-"
            wide = 3.2 if name == "auto" else 1.6
            color = "black" if name == "auto" else colors[name]
            ax.plot(ratios, profile[name], style, lw=wide, color=color, label=name)
        ax.axvline(NEAR, color="0.8", lw=1, zorder=0)
        ax.set(xscale="log", xlim=(1, 1000), ylim=(0, 1.02), xlabel="time over the fastest's")
        ax.set_title(f"scaled natural map ≤ {tolerance:.0e}")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("share of the problems that any solved")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="center left", bbox_to_anchor=(0.83, 0.5),
        frameon=False, fontsize=10,
    )  # fmt: skip
    figure.subplots_adjust(left=0.05, right=0.825, bottom=0.11, top=0.92, wspace=0.06)
    figure.savefig(path, dpi=110)
    print(path)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all problems, 10 s for each run")
    parser.add_argument("--seconds", type=float, help="of each run, at most; 2 for the subset")
    parser.add_argument("--problems", nargs="*", default=(), help="parts of names")
    parser.add_argument("--methods", nargs="*", help="names; all by default")
    parser.add_argument("--fclib", nargs="*", type=Path, default=(), help="folders with more files")
    parser.add_argument("--again", action="store_true", help="run what is there already")
    parser.add_argument("--piece", type=float, default=np.inf, help="seconds, then end")
    parser.add_argument("--plot", action="store_true", help="only report and draw")
    parser.add_argument("--name", default="convergence", help="of the CSV file")
    chosen = parser.parse_args(arguments)
    budget = chosen.seconds or (10.0 if chosen.full else 2.0)
    path = RESULTS / machine() / f"{chosen.name}.csv"
    names = chosen.methods or [*cs.methods.names(), *VARIANTS, *peers.available()]
    rows = read(path)
    start = time.monotonic()
    for entry in listed((*chosen.fclib, *FOLDERS)):
        wanted = not chosen.problems or any(part in entry.name for part in chosen.problems)
        if chosen.plot or not wanted or not (entry.short or chosen.full):
            continue
        there = {row["method"] for row in rows if row["problem"] == entry.name}
        todo = [name for name in names if chosen.again or name not in there]
        if not todo or time.monotonic() - start > chosen.piece:
            continue
        try:
            problem = entry.make()
        except FileNotFoundError:
            print(f"{entry.name}: not in the folders")
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
