"""What `wandering.py` tries on grids that its map leaves unsolved; each yields rows of a CSV."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import common
import numpy as np
from runs import (
    CHECK_EVERY,
    TOLERANCE,
    Case,
    judge,
    long_run,
    random_start,
    solver_of,
    states,
    trace,
)

import contactsolve as cs

STARTS = 3
LOOKS, LOOK_SWEEPS = 300, 1000
DAMPINGS = (0.0, 1e-2, 1.0, 100.0)
NEWTON_STEPS, FEW_NEWTON_STEPS, MANY_CONTACTS = 30, 10, 5000
AVERAGES, AVERAGED = 10, (200, 2000)
RELAXATIONS, RELAXED_SWEEPS = (1.3, 1.0, 0.5, 0.2), 20000
WINDOW, WINDOW_STEP, WINDOW_SWEEPS = 8, 4, 5000

LADDER_DAMPING, AFTERWARDS = 1e-2, 40000

Row = dict[str, Any]


@dataclass(frozen=True)
class Descent:
    """How a compliance is shrunk to nothing."""

    factor: float
    most_sweeps: int  # of a step
    inner: str = ""  # the case's own method
    first: float = 0.1
    least: float = 1e-5
    share: float = 0.01  # times the compliance [m/(N s)] is a step's tolerance [N s]

    def compliances(self) -> Iterator[float]:
        sigma = self.first
        while sigma >= self.least:
            yield sigma
            sigma *= self.factor
        yield 0.0

    def method(self, case: Case) -> tuple[Any, dict[str, Any]]:
        """Return the method of each step, and options of its solver."""
        return INNER[self.inner] if self.inner else (case.method, {})


INNER: dict[str, tuple[Any, dict[str, Any]]] = {
    "nncg 1.3": ("nncg", {"relaxation": 1.3}),
    "momentum 0.5": (cs.methods.momentum(beta=0.5), {}),
}
DESCENTS = (Descent(0.5, 1000), Descent(0.7, 1000), Descent(0.5, 3000))
LADDERS = tuple(Descent(0.7, 1000, inner) for inner in INNER)


def newton_steps(problem: cs.Problem) -> int:
    return NEWTON_STEPS if problem.contacts < MANY_CONTACTS else FEW_NEWTON_STEPS


# ---- from the best iterate of a long run ---------------------------------------------------------


def start_rows(case: Case) -> Iterator[Row]:
    """Yield one row for each further random start of a plain run."""
    problem = case.problem()
    largest = long_run(problem, case).impulses[:, 0].max()
    for seed in range(1, STARTS + 1):
        result = long_run(problem, case, random_start(problem, largest, seed))
        yield {
            "seed": seed, "status": result.status,
            "iterations": result.iterations, "reached": judge(problem, result.impulses),
        }  # fmt: skip


def drift_rows(case: Case) -> Iterator[Row]:
    """Yield one row for each look at plain Gauss-Seidel, until it is solved."""
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
            "iterations": look * LOOK_SWEEPS,
            "reached": result.natural_map, "moved": length, "cosine": cosine,
            "changed": int((states(result.impulses, mu) != states(before, mu)).sum()),
        }  # fmt: skip
        if result.natural_map <= TOLERANCE:
            return
        before, last = result.impulses, move


def damping_rows(case: Case) -> Iterator[Row]:
    """Yield one row for each damping of Newton's method."""
    problem = case.problem()
    best = long_run(problem, case)
    for damping in DAMPINGS:
        newton = cs.methods.newton(levenberg=damping, start=0)
        result = solver_of(problem, newton, newton_steps(problem)).solve(initial=best.impulses)
        yield {
            "damping": damping,
            "iterations": result.iterations, "seconds": result.time, "status": result.status,
            "began": judge(problem, best.impulses), "reached": judge(problem, result.impulses),
        }  # fmt: skip


def relaxation_rows(case: Case) -> Iterator[Row]:
    """Yield one row for each relaxation of plain Gauss-Seidel: its band, and where it ended."""
    problem = case.problem()
    best = long_run(problem, case)
    recording = {"record": ("natural_map",), "record_every": CHECK_EVERY}
    for relaxation in RELAXATIONS:
        solver = solver_of(
            problem, "gauss_seidel", RELAXED_SWEEPS, relaxation=relaxation, **recording
        )
        result = solver.solve(initial=best.impulses)
        values = trace(result)[1][-RELAXED_SWEEPS // CHECK_EVERY // 2 :]
        yield {
            "relaxation": relaxation, "status": result.status, "iterations": result.iterations,
            "began": judge(problem, best.impulses), "reached": judge(problem, result.impulses),
            "band_least": values.min(), "band_median": float(np.median(values)),
        }  # fmt: skip


def average_rows(case: Case) -> Iterator[Row]:
    """Yield one row for each average of Gauss-Seidel's iterates, from which the next ones begin."""
    problem = case.problem()
    best = long_run(problem, case).impulses
    for window in AVERAGED:
        solver, start = solver_of(problem, "gauss_seidel", window, rtol=None, atol=None), best
        for k in range(1, AVERAGES + 1):
            total = np.zeros_like(start)

            def add(state: cs.State, total: np.ndarray = total) -> None:
                total += state.impulses

            last = solver.solve(initial=start, callback=add).natural_map
            start = total / window
            yield {
                "window": window, "iterations": k * window,
                "began": last, "reached": judge(problem, start),
            }  # fmt: skip


def within(problem: cs.Problem, size: int, corner: np.ndarray) -> np.ndarray:
    """Return which contacts are among the balls of a cube, or between them and the floor."""
    bodies = problem.bodies
    place = np.stack([bodies % size, bodies // size % size, bodies // size**2], axis=-1) - corner
    return (((place >= 0) & (place < WINDOW)).all(-1) | (bodies < 0)).all(1)


def cube(problem: cs.Problem, size: int, impulses: np.ndarray, corner: np.ndarray) -> cs.Problem:
    """Return the contacts among the balls of a cube, under the impulses of those around it."""
    inside = within(problem, size, corner)
    around = common.judge(problem, np.where(inside[:, None], 0.0, impulses))
    moved, bodies = np.unique(problem.bodies[inside], return_inverse=True)
    fixed = int((moved < 0).sum())
    return cs.Problem(
        problem.J[inside], problem.Minv[moved[fixed:]], around.residual_velocities[inside],
        problem.mu[inside], bodies=bodies.reshape(-1, 2) - fixed, strict=False,
    )  # fmt: skip


def window_rows(case: Case) -> Iterator[Row]:
    """Yield one row: of all cubes of balls, how many are solved from the best iterate."""
    places = np.arange(0, case.size - WINDOW + 1, WINDOW_STEP)
    if len(places) < 2:
        return
    problem = case.problem()
    best = long_run(problem, case).impulses
    reached = []
    for corner in itertools.product(places, repeat=3):
        part = cube(problem, case.size, best, np.array(corner))
        solver = solver_of(part, case.method, WINDOW_SWEEPS)
        mine = within(problem, case.size, np.array(corner))
        reached.append(solver.solve(initial=best[mine]).natural_map)
    yield {
        "window": WINDOW, "iterations": WINDOW_SWEEPS, "cubes": len(reached),
        "solved": int((np.array(reached) <= TOLERANCE).sum()), "reached": max(reached),
    }  # fmt: skip


# ---- continuation --------------------------------------------------------------------------------


def descend(case: Case, descent: Descent) -> Iterator[tuple[Row, np.ndarray]]:
    """Yield a row and the impulses for each compliance on the way to none."""
    rigid, impulses, spent = case.problem(0.0), None, 0
    method, options = descent.method(case)
    for sigma in descent.compliances():
        problem = case.problem(sigma) if sigma else rigid
        most = descent.most_sweeps if sigma else case.sweeps
        options["atol"] = max(TOLERANCE, descent.share * sigma)
        result = solver_of(problem, method, most, **options).solve(initial=impulses)
        impulses, spent = result.impulses, spent + result.iterations
        row = {
            "compliance": sigma, "inner": descent.inner,
            "factor": descent.factor, "step_sweeps": descent.most_sweeps,
            "iterations": result.iterations, "iterations_so_far": spent,
            "status": result.status, "reached": judge(problem, impulses),
            "reached_rigid": judge(rigid, impulses),
        }  # fmt: skip
        yield row, impulses


def continuation_rows(case: Case) -> Iterator[Row]:
    """Yield one row for each compliance of each descent."""
    for descent in DESCENTS:
        yield from (row for row, _ in descend(case, descent))


def ladder_rows(case: Case) -> Iterator[Row]:
    """Yield the end of descents with other methods, then what goes on from their best iterate."""
    rigid = case.problem(0.0)
    for descent in LADDERS:
        path = list(descend(case, descent))
        row, best = min(path, key=lambda step: step[0]["reached_rigid"])
        began = row["reached_rigid"]
        yield {**path[-1][0], "then": "nothing"}
        newton = cs.methods.newton(levenberg=LADDER_DAMPING, start=0)
        for name, solver in {
            "newton": solver_of(rigid, newton, newton_steps(rigid)),
            "gauss_seidel": solver_of(rigid, "gauss_seidel", AFTERWARDS),
        }.items():
            result = solver.solve(initial=best)
            yield {
                **{key: row[key] for key in ("inner", "factor", "step_sweeps")},
                "then": name, "began": began, "iterations": result.iterations,
                "status": result.status, "reached": judge(rigid, result.impulses),
            }  # fmt: skip


EXPERIMENTS: dict[str, Callable[[Case], Iterator[Row]]] = {
    "starts": start_rows,
    "drift": drift_rows,
    "damping": damping_rows,
    "continuation": continuation_rows,
    "relaxation": relaxation_rows,
    "averages": average_rows,
    "windows": window_rows,
    "ladders": ladder_rows,
}


def tries(case: Case, experiment: str) -> Iterator[Row]:
    """Yield the rows of an experiment on a case."""
    for row in EXPERIMENTS[experiment](case):
        yield {**asdict(case), "experiment": experiment, **row}
