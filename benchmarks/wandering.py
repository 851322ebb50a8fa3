"""Grids of balls on which nothing converges: where they are, what happens there, what helps.

*map*: over grid size, friction coefficient, initial velocity and tangential compliance, from zero:
the natural map [N s] that a long run reaches (judged from outside, with the compliance and without
it), the band of the natural map over the second half of the run, the contacts that change between
open, sticking and sliding in the last sweeps, and how far the velocities are from those of a run
that began with random impulses within the sets, over the largest |b|.

*continuation*: a tangential compliance first, which is then shrunk step by step to nothing, each
step from the impulses of the one before. A step ends at a natural map in proportion to its
compliance, or after its most sweeps, and the next one goes on with its best iterate.

*damping*: Newton's method alone, with Levenberg's damping, from the best iterate of the long run.

*drift*: plain Gauss-Seidel from that iterate, looked at from time to time: how far the impulses
have moved, how straight on (cosine with the move before), how many contacts changed state.

*starts*: what the others are compared with, plain long runs from more random impulses.

    python benchmarks/wandering.py                      what docs/methods.md tells, 3 minutes
    python benchmarks/wandering.py --quick              small grids, seconds
    python benchmarks/wandering.py --full               the whole map, a day or more
    python benchmarks/wandering.py --methods nncg       for the map, others than the default's
    python benchmarks/wandering.py --plot               only the picture

Rows are written case by case; what is there already is not run again, so that a run may be ended
and taken up (--piece: after so many seconds).
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import common
import hard_problems as hard
import numpy as np
from common import machine, stored, write_csv

import contactsolve as cs

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "wandering.png"
TOLERANCE = 1e-8  # of the natural map [N s]
SOLVED = 1e-6
CHECK_EVERY = 20
SETTLING = 2000  # sweeps on from the best iterate, before those in which changes count
WATCHED = 200
WINDOWS = 24  # of a run's band, of equal length in the logarithm of the sweeps
SECONDS_A_SWEEP = 2e-3  # at most: Newton's steps, in a chain, take longer
DAMPINGS = (0.0, 1e-2, 1.0, 100.0)
NEWTON_STEPS, NEWTON_SECONDS = 30, 6.0
STARTS = 3
LOOKS, LOOK_SWEEPS = 40, 1000
LARGEST_TRIED = 10  # unless sizes are asked for
SHORT_SWEEPS, LONG_SWEEPS = 10000, 100000


@dataclass(frozen=True)
class Case:
    """A grid, and the method and sweeps of the long run on it."""

    size: int
    mu: float
    speed: float
    compliance: float
    method: str
    sweeps: int

    def problem(self, compliance: float | None = None) -> cs.Problem:
        sigma = self.compliance if compliance is None else compliance
        along = [0.0, sigma, sigma] if sigma else None
        return hard.ball_grid(self.size, mu=self.mu, speed=self.speed, compliance=along)


@dataclass(frozen=True)
class Descent:
    """How a compliance is shrunk to nothing."""

    factor: float
    most_sweeps: int  # of a step
    first: float = 0.1
    least: float = 1e-5
    share: float = 0.01  # times the compliance [m/(N s)] is a step's tolerance [N s]

    def compliances(self) -> Iterator[float]:
        sigma = self.first
        while sigma >= self.least:
            yield sigma
            sigma *= self.factor
        yield 0.0


DESCENTS = (Descent(0.5, 1000), Descent(0.7, 1000), Descent(0.5, 3000))


# ---- what is run ---------------------------------------------------------------------------------


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
    """Size against friction; then velocity and compliance where they decide."""
    first, *others = methods
    cases = plane((5, 6, 7, 8, 10, 13, 16), (0.1, 0.3, 0.5, 0.8, 1.2), [first], SHORT_SWEEPS)
    cases += plane((7, 10), (0.5, 0.8), [first], SHORT_SWEEPS, (0.0, 0.0125, 0.2))
    cases += plane((7, 10), (0.8,), [first], SHORT_SWEEPS, sigmas=(0.003, 0.01, 0.03, 0.1))
    return cases + plane((5, 6, 7, 8), (0.5, 0.8, 1.2), others, SHORT_SWEEPS)


def quick_cases(methods: list[str]) -> list[Case]:
    cases = plane((5, 6, 7), (0.5, 0.8), methods[:1], 1000)
    cases += plane((7,), (0.8,), methods[:1], 1000, (0.0,))
    return cases + plane((7,), (0.8,), methods[:1], 1000, sigmas=(0.1,))


def full_cases(methods: list[str]) -> list[Case]:
    return plane(
        (5, 6, 7, 8, 10, 12, 13, 16, 20, 24), (0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.2),
        methods, LONG_SWEEPS, (0.0, 0.0125, hard.SPEED, 0.2), (0.0, 0.003, 0.01, 0.03, 0.1),
    )  # fmt: skip


def solver_of(problem: cs.Problem, method: Any, sweeps: int, **options: Any) -> cs.Solver:
    """Return a solver to an absolute tolerance that is judged every so many sweeps."""
    usual = {"rtol": 0.0, "atol": TOLERANCE, "check_every": CHECK_EVERY, "record": ()}
    usual["max_seconds"] = SECONDS_A_SWEEP * sweeps
    return cs.Solver(problem, method=method, max_iterations=sweeps, **{**usual, **options})


def judge(problem: cs.Problem, impulses: np.ndarray) -> float:
    """Return the natural map of impulses [N s], from outside of any method."""
    looker = cs.Solver(problem, method="gauss_seidel", max_iterations=0)
    return float(looker.solve(initial=impulses).natural_map)


def long_run(problem: cs.Problem, case: Case, start: np.ndarray | None = None) -> cs.Result:
    recording = {"record": ("natural_map",), "record_every": CHECK_EVERY}
    return solver_of(problem, case.method, case.sweeps, **recording).solve(initial=start)


def trace(result: cs.Result) -> tuple[np.ndarray, np.ndarray]:
    """Return the iterations at which the natural map was looked at, and its values."""
    history = result.history
    known = ~np.isnan(history["natural_map"])
    return history["iteration"][known], history["natural_map"][known]


def band(values: np.ndarray) -> dict[str, float]:
    return {"least": values.min(), "median": float(np.median(values)), "most": values.max()}


def states(impulses: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return what impulses say of each contact: 0 open, 1 sticking, 2 sliding (on its bound)."""
    normal, bound = impulses[:, 0], mu * impulses[:, 0]
    sliding = np.hypot(impulses[:, 1], impulses[:, 2]) >= (1 - 1e-9) * bound
    return np.where(normal <= 0.0, 0, np.where(sliding, 2, 1))


def changes(problem: cs.Problem, method: str, start: np.ndarray) -> dict[str, float]:
    """Sweep on without a tolerance; return how many contacts change state in the last sweeps."""
    mu = np.broadcast_to(problem.mu, problem.contacts)
    seen: list[np.ndarray] = []

    def look(state: cs.State) -> None:
        if state.iteration >= SETTLING:
            seen.append(states(state.impulses, mu))

    options = {"rtol": None, "atol": None, "max_seconds": None}
    solver = solver_of(problem, method, SETTLING + WATCHED, **options)
    solver.solve(initial=start, callback=look)
    changed = np.diff(np.array(seen), axis=0) != 0
    count = np.bincount(seen[-1], minlength=3)
    named = {"open": count[0], "sticking": count[1], "sliding": count[2]}
    return {
        **named, "changing": int(changed.any(0).sum()), "changes_a_sweep": changed.sum(1).mean()
    }  # fmt: skip


def random_start(problem: cs.Problem, largest: float, seed: int = 0) -> np.ndarray:
    """Return impulses within the friction discs, normal ones up to the largest."""
    rng = np.random.default_rng(seed)
    normal = rng.uniform(0.0, largest, problem.contacts)
    radius = problem.mu * normal * np.sqrt(rng.uniform(size=problem.contacts))
    angle = rng.uniform(0.0, 2.0 * np.pi, problem.contacts)
    return np.column_stack([normal, radius * np.cos(angle), radius * np.sin(angle)])


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


# ---- what has not been tried ---------------------------------------------------------------------


def continuation_rows(case: Case, descent: Descent) -> Iterator[dict[str, Any]]:
    """Yield one row for each compliance on the way to none."""
    rigid, impulses, spent = case.problem(0.0), None, 0
    for sigma in descent.compliances():
        problem = case.problem(sigma) if sigma else rigid
        tolerance = max(TOLERANCE, descent.share * sigma)
        most = descent.most_sweeps if sigma else case.sweeps
        result = solver_of(problem, case.method, most, atol=tolerance).solve(initial=impulses)
        impulses, spent = result.impulses, spent + result.iterations
        yield {
            **asdict(case), "compliance": sigma, "experiment": "continuation",
            "factor": descent.factor, "step_sweeps": descent.most_sweeps,
            "iterations": result.iterations, "iterations_so_far": spent,
            "status": result.status, "reached": judge(problem, impulses),
            "reached_rigid": judge(rigid, impulses),
        }  # fmt: skip


def damping_rows(case: Case) -> Iterator[dict[str, Any]]:
    """Yield one row for each damping of Newton's method."""
    problem = case.problem()
    best = long_run(problem, case)
    for damping in DAMPINGS:
        newton = cs.methods.newton(levenberg=damping, start=0)
        solver = solver_of(problem, newton, NEWTON_STEPS, max_seconds=NEWTON_SECONDS)
        result = solver.solve(initial=best.impulses)
        yield {
            **asdict(case), "experiment": "damping", "damping": damping,
            "iterations": result.iterations, "seconds": result.time, "status": result.status,
            "began": judge(problem, best.impulses), "reached": judge(problem, result.impulses),
        }  # fmt: skip


def drift_rows(case: Case) -> Iterator[dict[str, Any]]:
    """Yield one row for each look at plain Gauss-Seidel."""
    problem = case.problem()
    mu = np.broadcast_to(problem.mu, problem.contacts)
    solver = solver_of(problem, "gauss_seidel", LOOK_SWEEPS, rtol=None, atol=None)
    before, last = long_run(problem, case).impulses, None
    for look in range(1, LOOKS + 1):
        result = solver.solve(initial=before)
        move = (result.impulses - before).ravel()
        length = np.linalg.norm(move)
        cosine = np.nan if last is None else move @ last / (length * np.linalg.norm(last) + 1e-300)
        yield {
            **asdict(case), "experiment": "drift", "iterations": look * LOOK_SWEEPS,
            "reached": result.natural_map, "moved": length, "cosine": cosine,
            "changed": int((states(result.impulses, mu) != states(before, mu)).sum()),
        }  # fmt: skip
        before, last = result.impulses, move


def start_rows(case: Case) -> Iterator[dict[str, Any]]:
    """Yield one row for each further random start of a plain run."""
    problem = case.problem()
    largest = long_run(problem, case).impulses[:, 0].max()
    for seed in range(1, STARTS + 1):
        result = long_run(problem, case, random_start(problem, largest, seed))
        yield {
            **asdict(case), "experiment": "starts", "seed": seed, "status": result.status,
            "iterations": result.iterations, "reached": judge(problem, result.impulses),
        }  # fmt: skip


def tries(case: Case) -> list[dict[str, Any]]:
    rows = [*start_rows(case), *drift_rows(case), *damping_rows(case)]
    for descent in DESCENTS:
        rows += continuation_rows(case, descent)
    return rows


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

    def has(self, part: str, case: Case) -> bool:
        # Rows of a continuation have a compliance of their own on the way.
        return any(key(row) == key(asdict(case)) for row in self.rows[part])

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
    for case in cases:
        if store.has("_tries", case):
            continue
        if time.monotonic() > end:
            return
        rows = tries(case)
        store.add("_tries", rows)
        for row in rows:
            if row["compliance"] != 0.0 or "cosine" in row:
                continue
            how = [
                f"{k} {row[k]:g}" for k in ("seed", "damping", "factor", "step_sweeps") if k in row
            ]
            print(
                f"{case.size:2} mu {case.mu:<4g} speed {case.speed:<6g} {case.method}, "
                f"{row['experiment']}, {', '.join(how)}: {row['reached']:.1e} after "
                f"{row.get('iterations_so_far', row['iterations'])}", flush=True,
            )  # fmt: skip


# ---- the picture ---------------------------------------------------------------------------------


def of(rows: list[dict[str, str]], **values: object) -> list[dict[str, str]]:
    """Return the rows with these values."""
    wanted = {k: f"{v:.4g}" if isinstance(v, float) else str(v) for k, v in values.items()}
    return [row for row in rows if all(row[k] == v for k, v in wanted.items())]


def draw_map(ax: Any, store: Store, method: str) -> Any:
    """Draw the least residual of size against mu; a ring where continuation solved it."""
    rows = of(store.rows[""], speed=hard.SPEED, compliance=0.0, method=method)
    sizes = sorted({int(row["size"]) for row in rows})
    mus = sorted({float(row["mu"]) for row in rows})
    table = np.full((len(mus), len(sizes)), np.nan)
    for row in rows:
        at = mus.index(float(row["mu"])), sizes.index(int(row["size"]))
        table[at] = np.nanmin([table[at], np.log10(float(row["reached"]))])
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="viridis", vmin=-8, vmax=-2)
    for i, j in np.argwhere(~np.isnan(table)):
        ax.text(j, i, f"{table[i, j]:.1f}", ha="center", va="center", fontsize=9,
                color="black" if table[i, j] > -4 else "white")  # fmt: skip
    ends = of(store.rows["_tries"], speed=hard.SPEED, compliance=0.0, method=method,
              experiment="continuation")  # fmt: skip
    for row in ends:
        if float(row["reached"]) <= SOLVED:
            ax.plot(sizes.index(int(row["size"])), mus.index(float(row["mu"])), "o", ms=30,
                    mfc="none", mec="tab:red", mew=2)  # fmt: skip
    ax.set_xticks(range(len(sizes)), [f"{n}³" for n in sizes])
    ax.set_yticks(range(len(mus)), [f"{mu:g}" for mu in mus])
    ax.set(xlabel="balls", ylabel="friction coefficient",
           title="log₁₀ of the natural map [N s]; ring: ≤ 10⁻⁶ by continuation")  # fmt: skip
    return image


def draw_bands(ax: Any, store: Store, method: str) -> None:
    rows = of(store.rows["_bands"], speed=hard.SPEED, compliance=0.0, method=method)
    cases = sorted({(int(row["size"]), float(row["mu"])) for row in rows})
    shown = [one for one in ((16, 0.1), (16, 0.5), (7, 0.5), (7, 0.8)) if one in cases] or cases[:4]
    for (size, mu), color in zip(shown, ("tab:blue", "tab:red", "tab:green", "tab:orange")):  # noqa: B905
        mine = of(rows, size=size, mu=mu)
        at, low, middle, high = (
            np.array([float(row[name]) for row in mine])
            for name in ("up_to", "least", "median", "most")
        )
        ax.fill_between(at, low, high, color=color, alpha=0.25, lw=0)
        ax.plot(at, middle, color=color, label=f"{size}³, μ = {mu:g}")
    ax.set(xscale="log", yscale="log", xlabel="sweeps", ylabel="natural map [N s]",
           title=f"bands over a run: {method}")  # fmt: skip
    ax.legend()


def draw_descents(ax: Any, store: Store, method: str) -> None:
    """Draw the natural map without compliance on the way to none."""
    rows = of(store.rows["_tries"], experiment="continuation", method=method, speed=hard.SPEED)
    cases = sorted({(int(row["size"]), float(row["mu"])) for row in rows})
    for i, (size, mu) in enumerate(cases):
        mine = of(rows, size=size, mu=mu, factor=DESCENTS[0].factor,
                  step_sweeps=DESCENTS[0].most_sweeps)  # fmt: skip
        sigma = [max(float(row["compliance"]), DESCENTS[0].least / 4) for row in mine]
        reached = [float(row["reached_rigid"]) for row in mine]
        ax.plot(sigma, reached, "o-", ms=3, color=f"C{i % 10}", label=f"{size}³, μ = {mu:g}")
    ax.set(xscale="log", yscale="log", xlabel="tangential compliance [m/(N s)], right end: none",
           ylabel="natural map without compliance [N s]", title="continuation")  # fmt: skip
    if cases:
        ax.invert_xaxis()
        ax.legend(fontsize=8, ncols=2)


def draw_drift(ax: Any, store: Store, method: str) -> None:
    rows = of(store.rows["_tries"], experiment="drift", method=method, speed=hard.SPEED)
    cases = sorted({(int(row["size"]), float(row["mu"])) for row in rows})
    for i, (size, mu) in enumerate(cases):
        mine = of(rows, size=size, mu=mu)
        sweeps = [int(row["iterations"]) for row in mine]
        reached = [float(row["reached"]) for row in mine]
        ax.plot(sweeps, reached, "-", color=f"C{i % 10}", label=f"{size}³, μ = {mu:g}")
    ax.set(yscale="log", xlabel="sweeps", ylabel="natural map [N s]", ylim=(1e-11, None),
           title="Gauss-Seidel from the best iterate")  # fmt: skip
    if cases:
        ax.legend(fontsize=8, ncols=2, loc="lower center")


def draw(store: Store, method: str, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(13, 9), layout="constrained")
    axes = axes.ravel()
    image = draw_map(axes[0], store, method)
    figure.colorbar(image, ax=axes[0], extend="both")
    draw_bands(axes[1], store, method)
    draw_descents(axes[2], store, method)
    draw_drift(axes[3], store, method)
    for ax in axes[1:]:
        ax.grid(which="major", linewidth=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    print(path)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small grids, seconds")
    parser.add_argument("--full", action="store_true", help="the whole map, a day or more")
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
        own = [c for c in cases if c.method == chosen.methods[0] and c.size <= largest]
        run_tries(unsolved(store, own), store, end)
    path = PICTURE
    if chosen.quick:
        path = common.RESULTS / machine() / "wandering_quick.png"
    if store.rows[""]:
        draw(Store(name), chosen.methods[0], path)


if __name__ == "__main__":
    main()
