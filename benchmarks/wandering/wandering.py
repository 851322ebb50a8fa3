"""Grids of balls on which nothing converges: where they are, what happens there, what helps.

*map*: over grid size, friction coefficient, initial velocity and tangential compliance, from zero:
the natural map [N s] that a long run reaches (judged from outside, with the compliance and without
it), the band of the natural map over the second half of the run, the contacts that change between
open, sticking and sliding in the last sweeps, and how far the velocities are from those of a run
that began with random impulses within the sets, over the largest |b|.

What is tried on the grids that it leaves unsolved (`tries.py`):

*starts*: plain long runs from more random impulses.

*drift*: plain Gauss-Seidel without rollback from the best iterate of the long run, looked at from
time to time: how far the impulses have moved, how straight on (cosine with the move before), how
many contacts changed state.

*damping*: Newton's method alone, with Levenberg's damping, from that iterate.

*continuation*: a tangential compliance first, which is then shrunk step by step to nothing, each
step from the impulses of the one before. A step ends at a natural map in proportion to its
compliance, or after its most sweeps, and the next one goes on with its best iterate.

*relaxation*: plain Gauss-Seidel with more and less relaxation, from the best iterate.

*averages*: the mean of a window of Gauss-Seidel's iterates, from which the next window begins.

*windows*: cubes of 8 x 8 x 8 balls, the impulses around them as they are in the best iterate.

*ladders*: continuation with other methods, then Newton's method with damping, and Gauss-Seidel,
from the best iterate of the way.

    python benchmarks/wandering/wandering.py                 what docs/methods.md tells, 20 minutes
    python benchmarks/wandering/wandering.py --quick         small grids, seconds
    python benchmarks/wandering/wandering.py --full          the whole map, days
    python benchmarks/wandering/wandering.py --methods nncg  for the map, others than the default's
    python benchmarks/wandering/wandering.py --plot          only the picture

Rows are written experiment by experiment; what is there already is not run again, so that a run may
be ended and taken up (--piece: after so many seconds).
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import ROOT, machine, stored, write_csv
from common import hard_problems as hard
from picture import draw
from runs import (
    CHECK_EVERY,
    SOLVED,
    Case,
    judge,
    long_run,
    random_start,
    solver_of,
    states,
    trace,
)
from tries import EXPERIMENTS, tries

PICTURE = ROOT / "docs" / "images" / "wandering.png"
SETTLING = 2000  # sweeps on from the best iterate, before those in which changes count
WATCHED = 200
WINDOWS = 24  # of a run's band, of equal length in the logarithm of the sweeps
LARGEST_TRIED, ALSO_TRIED = 10, (16, 0.5)  # unless sizes are asked for
PATIENT_SIZES = (7, 8, 10, 12, 13, 14, 16)
SHORT_SWEEPS, LONG_SWEEPS, PATIENT_SWEEPS = 10000, 100000, 200000


def plane(
    sizes: Iterable[int],
    mus: Iterable[float],
    methods: Iterable[str],
    sweeps: int,
    speeds: Iterable[float] = (hard.SPEED,),
    sigmas: Iterable[float] = (0.0,),
) -> list[Case]:
    """Return the cases of all combinations."""
    return [Case(*one, sweeps) for one in itertools.product(sizes, mus, speeds, sigmas, methods)]


def usual_cases(methods: list[str]) -> list[Case]:
    """Size against friction; velocity and compliance where they decide; then with patience."""
    first, *others = methods
    cases = plane((5, 6, 7, 8, 10, 13, 16), (0.1, 0.3, 0.5, 0.8, 1.2), [first], SHORT_SWEEPS)
    cases += plane((7, 10), (0.5, 0.8), [first], SHORT_SWEEPS, (0.0, 0.0125, 0.2))
    cases += plane((7, 10), (0.8,), [first], SHORT_SWEEPS, sigmas=(0.003, 0.01, 0.03, 0.1))
    cases += plane((5, 6, 7, 8), (0.5, 0.8, 1.2), others, SHORT_SWEEPS)
    return cases + plane(PATIENT_SIZES, (0.5,), ["gauss_seidel"], PATIENT_SWEEPS)


def quick_cases(methods: list[str]) -> list[Case]:
    cases = plane((5, 6, 7), (0.5, 0.8), methods[:1], 1000)
    cases += plane((7,), (0.8,), methods[:1], 1000, (0.0,))
    return cases + plane((7,), (0.8,), methods[:1], 1000, sigmas=(0.1,))


def full_cases(methods: list[str]) -> list[Case]:
    return plane(
        (5, 6, 7, 8, 10, 12, 13, 16, 20, 24), (0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.2),
        methods, LONG_SWEEPS, (0.0, 0.0125, hard.SPEED, 0.2), (0.0, 0.003, 0.01, 0.03, 0.1),
    )  # fmt: skip


def band(values: np.ndarray) -> dict[str, float]:
    return {"least": values.min(), "median": float(np.median(values)), "most": values.max()}


def changes(problem: cs.Problem, method: str, start: np.ndarray) -> dict[str, float]:
    """Sweep on without a tolerance; return how many contacts change state in the last sweeps."""
    mu = np.broadcast_to(problem.mu, problem.contacts)
    seen: list[np.ndarray] = []

    def look(state: cs.State) -> None:
        if state.iteration >= SETTLING:
            seen.append(states(state.impulses, mu))

    solver = solver_of(problem, method, SETTLING + WATCHED, rtol=None, atol=None)
    solver.solve(initial=start, callback=look)
    changed = np.diff(np.array(seen), axis=0) != 0
    count = np.bincount(seen[-1], minlength=3)
    named = {"open": count[0], "sticking": count[1], "sliding": count[2]}
    return {
        **named, "changing": int(changed.any(0).sum()), "changes_a_sweep": changed.sum(1).mean()
    }  # fmt: skip


def map_row(case: Case) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what the map knows of a case, and the bands of its run."""
    problem, rigid = case.problem(), case.problem(0.0)
    first = long_run(problem, case)
    other = long_run(problem, case, random_start(problem, first.impulses[:, 0].max()))
    iteration, values = trace(first)
    apart = np.abs(first.residual_velocities - other.residual_velocities).max()
    row = {
        **asdict(case), "contacts": problem.contacts, "status": first.status,
        "iterations": first.iterations, "seconds": first.time,
        "reached": judge(problem, first.impulses), "reached_rigid": judge(rigid, first.impulses),
        **{f"band_{k}": v for k, v in band(values[len(values) // 2 :]).items()},
        **changes(problem, case.method, first.impulses),
        "reached_from_random": judge(problem, other.impulses),
        "velocity_apart": apart / np.abs(problem.b).max(),
    }  # fmt: skip
    return row, list(bands(case, iteration, values))


def bands(case: Case, iteration: np.ndarray, values: np.ndarray) -> Iterator[dict[str, Any]]:
    """Yield the band of each window of a run, for the picture."""
    edges = np.geomspace(CHECK_EVERY, iteration[-1] + 1, WINDOWS + 1)
    for low, high in itertools.pairwise(edges):
        inside = (iteration >= low) & (iteration < high)
        if inside.any():
            yield {**asdict(case), "up_to": int(high), **band(values[inside])}


# ---- case by case --------------------------------------------------------------------------------


def key(row: dict[str, Any]) -> tuple[str, ...]:
    """Return what tells a case from others, as it is in a CSV file."""
    numbers = (f"{float(row[name]):.4g}" for name in ("mu", "speed", "compliance"))
    return (str(row["size"]), *numbers, row["method"], str(row["sweeps"]))


class Store:
    """Rows of the three CSV files, written after every case."""

    def __init__(self, name: str) -> None:
        self.names = {part: f"{name}{part}" for part in ("", "_bands", "_tries")}
        self.rows = {part: list(stored(full)) for part, full in self.names.items()}

    def has(self, part: str, case: Case, experiment: str = "") -> bool:
        # Rows of a continuation have a compliance of their own on the way.
        return any(
            key(row) == key(asdict(case)) and row.get("experiment", "") == experiment
            for row in self.rows[part]
        )

    def add(self, part: str, rows: Iterable[dict[str, Any]]) -> Path:
        self.rows[part] += rows
        return write_csv(self.names[part], self.rows[part])


def run_map(cases: Iterable[Case], store: Store, end: float) -> None:
    for case in cases:
        if store.has("", case):
            continue
        if time.monotonic() > end:
            return
        row, windows = map_row(case)
        store.add("_bands", windows)
        store.add("", [row])
        print(
            "{size:2} mu {mu:<4g} speed {speed:<6g} compliance {compliance:<6g} {method:9} "
            "{status:14} {iterations:6} {reached:8.1e}  band {band_least:.1e} {band_median:.1e} "
            "{band_most:.1e}  changing {changing:4}  random {reached_from_random:8.1e}  apart "
            "{velocity_apart:.1e}".format(**row), flush=True,
        )  # fmt: skip


def unsolved(store: Store, wanted: Iterable[Case]) -> Iterator[Case]:
    """Yield the cases without compliance that the map tells to be unsolved, smallest first."""
    reached = {key(row): float(row["reached"]) for row in store.rows[""]}
    for case in sorted(wanted, key=lambda case: (case.size, case.mu, case.speed)):
        if case.compliance == 0.0 and reached.get(key(asdict(case)), 0.0) > SOLVED:
            yield case


def run_tries(cases: Iterable[Case], store: Store, end: float) -> None:
    for experiment, case in itertools.product(EXPERIMENTS, list(cases)):
        if store.has("_tries", case, experiment):
            continue
        if time.monotonic() > end:
            return
        rows = list(tries(case, experiment))
        store.add("_tries", rows)
        for row in rows[-1:] if experiment in ("drift", "averages") else rows:
            if row["compliance"] == 0.0:
                print(told(case, row), flush=True)


def told(case: Case, row: dict[str, Any]) -> str:
    """Return one try in a line."""
    choices = ("seed", "damping", "inner", "factor", "step_sweeps", "then", "relaxation", "window")
    how = ", ".join(f"{name} {row[name]}" for name in choices if row.get(name, "") != "")
    return (
        f"{case.size:2} mu {case.mu:<4g} speed {case.speed:<6g} {case.method}, "
        f"{row['experiment']}, {how}: {row['reached']:.1e} after "
        f"{row.get('iterations_so_far', row['iterations'])}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small grids, seconds")
    parser.add_argument("--full", action="store_true", help="the whole map, days")
    parser.add_argument("--methods", nargs="+", default=["nesterov", "auto"])
    parser.add_argument("--sizes", nargs="*", type=int, help="of these grids only")
    parser.add_argument("--piece", type=float, default=np.inf, help="seconds, then end")
    parser.add_argument("--plot", action="store_true", help="only draw")
    chosen = parser.parse_args(arguments)
    name = "wandering_quick" if chosen.quick else "wandering"
    store = Store(name)
    end = time.monotonic() + chosen.piece
    if not chosen.plot:
        make = quick_cases if chosen.quick else full_cases if chosen.full else usual_cases
        cases = [c for c in make(chosen.methods) if not chosen.sizes or c.size in chosen.sizes]
        run_map(cases, store, end)
        largest = np.inf if chosen.full or chosen.sizes else LARGEST_TRIED
        own = [
            case for case in cases if case.method == chosen.methods[0]
            and (case.size <= largest or (case.size, case.mu) == ALSO_TRIED)
        ]  # fmt: skip
        run_tries(unsolved(store, own), store, end)
    path = PICTURE
    if chosen.quick:
        path = common.RESULTS / machine() / "wandering_quick.png"
    if store.rows[""]:
        draw(Store(name).rows, chosen.methods[0], path)


if __name__ == "__main__":
    main()
