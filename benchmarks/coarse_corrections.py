"""Would a second level help Gauss-Seidel with long force chains? An experiment in NumPy.

Sweeps move impulses by one contact; what is left after some is smooth along the chains. Tried here:

*twist*, *wrench*: bodies in aggregates of a few, contacts taken by that of their upper body.
Coarse unknowns are six numbers of an aggregate, by which impulses change like the point velocities
of one rigid motion (twist), or so that the same wrench goes through every interface (wrench, in
equilibrium inside). Open contacts stay open, sliding ones on their bound. Galerkin's equations
T^T A P f = -T^T (A lambda + b), T being P without the friction of sliding contacts, give the
correction, which is projected onto the sets; of the whole, a half, a quarter of it the first
counts after which one sweep has a natural map at most ten times as large (what the edges of
aggregates add is smoothed by the next sweeps), and none where there is no such.

*domains*: layers of bodies with an overlap, each solved for itself by Nesterov's method, up and
down.

Sweeps count as those of the whole problem, coarse solves as none. A way ends when it has solved
the problem, after its most sweeps, or after 8 s, which says nothing about a method in C.

    python benchmarks/coarse_corrections.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import hard_problems as hard
import numpy as np
import scipy.sparse as sp
from common import write_csv

import contactsolve as cs

SCENES: dict[str, Callable[[], cs.Problem]] = {
    "10 boxes, moving": hard.box_stack,
    "50 boxes, at rest": lambda: cs.scenarios.box_stack(50),
    "50 boxes, 100 kg on top": lambda: cs.scenarios.box_stack(50, top_mass=100.0),
    "50 boxes, moving": lambda: hard.moved(cs.scenarios.box_stack(50)),
    "ball grid 5^3": lambda: hard.ball_grid(5),
}
TOLERANCE = 1e-6
MOST_SWEEPS = 4000
SECONDS = 8.0
RISE = 10.0
EXACTLY = {"rtol": None, "atol": None, "record": (), "rollback": 0}


class Levels:
    """Bodies by their distance from the ground, and which end of a contact is the upper one."""

    def __init__(self, problem: cs.Problem, size: int) -> None:
        bodies, count = problem.bodies, len(problem.Minv)
        self.level = np.full(count, -1)
        self.level[bodies.max(1)[bodies.min(1) < 0]] = 0
        inner = bodies[bodies.min(1) >= 0]
        while np.any(self.level < 0):
            before = self.level.copy()
            for one, other in ((0, 1), (1, 0)):
                new = inner[(before[inner[:, one]] >= 0) & (before[inner[:, other]] < 0), other]
                self.level[new] = before.max() + 1
            if np.array_equal(before, self.level):
                break
        high = np.where(bodies >= 0, self.level[bodies], -1)
        self.of_contact = high.max(1)
        self.side = (high[:, 1] >= high[:, 0]).astype(int)
        self.upper = bodies[np.arange(len(bodies)), self.side]
        self.aggregate = self._grow(inner, size)[self.upper]

    def _grow(self, inner: np.ndarray, size: int) -> np.ndarray:
        neighbours: list[list[int]] = [[] for _ in self.level]
        for a, b in inner:
            neighbours[a].append(b)
            neighbours[b].append(a)
        aggregate, count = np.full(len(self.level), -1), 0
        for seed in np.argsort(self.level, kind="stable"):
            if aggregate[seed] >= 0:
                continue
            aggregate[seed], members = count, [seed]
            for body in members:
                for other in neighbours[body]:
                    if aggregate[other] < 0 and len(members) < size:
                        aggregate[other] = count
                        members.append(other)
            count += 1
        return aggregate


def centres(problem: cs.Problem, levels: Levels) -> np.ndarray:
    """Where the bodies are, from the lever arms: r = sum e_i x (r x e_i) / 2."""
    axes = problem.J[:, :, :, :3] * np.array([-1.0, 1.0])[None, :, None, None]
    turns = problem.J[:, :, :, 3:] * np.array([-1.0, 1.0])[None, :, None, None]
    arm = np.cross(axes, turns).sum(2) / 2
    place = np.zeros((len(problem.Minv), 3))
    for k in np.argsort(levels.of_contact, kind="stable"):
        upper, side = levels.upper[k], levels.side[k]
        lower = problem.bodies[k, 1 - side]
        if lower >= 0:
            place[upper] = place[lower] + arm[k, 1 - side] - arm[k, side]
    return place


def patterns(problem: cs.Problem, levels: Levels, kind: str) -> np.ndarray:
    """Impulses (K, m, 6) of each contact for the six unknowns of its aggregate."""
    J = problem.J[np.arange(problem.contacts), levels.side]
    if kind == "twist":
        return J
    place, pattern = centres(problem, levels), np.zeros_like(J)
    _, interface = np.unique(np.sort(problem.bodies, 1), axis=0, return_inverse=True)
    for i in range(interface.max() + 1):
        mine = np.flatnonzero(interface.ravel() == i)
        body = levels.upper[mine[0]]
        first = np.flatnonzero(levels.aggregate == levels.aggregate[mine[0]])[0]
        wrench, away = np.eye(6), place[body] - place[levels.upper[first]]
        wrench[3:, :3] = -np.cross(away, np.eye(3)).T
        stiffness = np.einsum("kmi,kmj->ij", J[mine], J[mine])
        pattern[mine] = J[mine] @ (np.linalg.pinv(stiffness, rcond=1e-9) @ wrench)
    return pattern


def projected(problem: cs.Problem, impulses: np.ndarray) -> np.ndarray:
    impulses[:, 0] = np.maximum(impulses[:, 0], 0)
    length = np.linalg.norm(impulses[:, 1:], axis=1)
    bound = problem.mu * impulses[:, 0]
    impulses[:, 1:] *= np.minimum(1, bound / np.maximum(length, 1e-300))[:, None]
    return impulses


def correction(problem, A, levels, pattern, impulses) -> np.ndarray:
    count, rows, unknowns = pattern.shape
    length = np.linalg.norm(impulses[:, 1:], axis=1)
    active = impulses[:, 0] > 0
    slides = active & (length >= problem.mu * impulses[:, 0] * (1 - 1e-9))
    prolong = pattern * active[:, None, None]
    share = impulses[slides, 1:] / impulses[slides, :1]
    prolong[slides, 1:] = prolong[slides, :1] * share[:, :, None]
    test = prolong.copy()
    test[slides, 1:] = 0
    row = np.repeat(np.arange(count * rows), unknowns)
    column = levels.aggregate[:, None, None] * unknowns + np.arange(unknowns)
    column = np.broadcast_to(column, prolong.shape).ravel()
    shape = (count * rows, unknowns * (levels.aggregate.max() + 1))
    prolong, test = (
        sp.csr_matrix((x.ravel(), (row, column)), shape=shape) for x in (prolong, test)
    )
    coarse = (test.T @ A @ prolong).toarray()
    right = -(test.T @ (A @ impulses.ravel() + problem.b.ravel()))
    return (prolong @ np.linalg.lstsq(coarse, right, rcond=1e-10)[0]).reshape(impulses.shape)


def two_levels(problem: cs.Problem, kind: str, size: int, base: str, every: int) -> dict:
    levels = Levels(problem, size)
    pattern, A = patterns(problem, levels, kind), sp.csr_matrix(problem.delassus().toarray())
    smooth = cs.Solver(problem, method=base, max_iterations=every, **EXACTLY)
    once = cs.Solver(problem, max_iterations=1, **EXACTLY)
    impulses, sweeps, taken, tried = np.zeros(problem.b.shape), 0, 0, 0
    start = time.perf_counter()
    while sweeps < MOST_SWEEPS and time.perf_counter() - start < SECONDS:
        result = smooth.solve(initial=impulses)
        impulses, sweeps = result.impulses.copy(), sweeps + every
        if result.natural_map < TOLERANCE:
            break
        step, tried = correction(problem, A, levels, pattern, impulses), tried + 1
        for weight in (1.0, 0.5, 0.25):
            trial = once.solve(initial=projected(problem, impulses + weight * step))
            sweeps += 1
            if trial.natural_map < RISE * result.natural_map:
                impulses, taken = trial.impulses.copy(), taken + 1
                break
    return {"sweeps": sweeps, "natural_map": result.natural_map, "taken": f"{taken} of {tried}"}


def domains(problem: cs.Problem, size: int, overlap: int) -> dict:
    levels, rows = Levels(problem, 1), problem.b.shape[1]
    A, own = sp.csr_matrix(problem.delassus().toarray()), []
    for first in range(0, levels.of_contact.max() + 1, size):
        inside = levels.of_contact >= first - overlap
        part = np.flatnonzero(inside & (levels.of_contact < first + size + overlap))
        local = cs.Problem(
            problem.J[part], problem.Minv, problem.b[part], problem.mu[part],
            bodies=problem.bodies[part], strict=False,
        )  # fmt: skip
        at = (part[:, None] * rows + np.arange(rows)).ravel()
        solver = cs.Solver(local, method="nesterov", rtol=1e-7, atol=0, max_iterations=2000)
        own.append((part, at, solver, A[at], A[at][:, at]))
    impulses, sweeps, seconds, b = np.zeros(problem.b.size), 0.0, 0.0, problem.b.ravel()
    judge = cs.Solver(problem, max_iterations=0, **EXACTLY)
    start, cycle, found = time.perf_counter(), 0, np.inf
    while sweeps < 10 * MOST_SWEEPS and time.perf_counter() - start < SECONDS and found > TOLERANCE:
        for part, at, solver, row, block in own[:: 1 if cycle % 2 == 0 else -1]:
            right = row @ impulses + b[at] - block @ impulses[at]
            result = solver.solve(b=right.reshape(-1, rows), initial=impulses[at].reshape(-1, rows))
            impulses[at] = result.impulses.ravel()
            sweeps += result.iterations * len(part) / problem.contacts
            seconds += result.time
        found, cycle = judge.solve(initial=impulses.reshape(-1, rows)).natural_map, cycle + 1
    return {"sweeps": round(sweeps), "natural_map": found, "taken": f"{cycle} cycles"}


def plain(problem: cs.Problem, method: str) -> dict:
    result = cs.solve(
        problem, method=method, rtol=0.0, atol=TOLERANCE, max_iterations=20000, check_every=20
    )
    return {"sweeps": result.iterations, "natural_map": result.natural_map, "taken": ""}


WAYS: dict[str, Callable[[cs.Problem], dict]] = {
    "gauss_seidel": lambda p: plain(p, "gauss_seidel"),
    "nesterov": lambda p: plain(p, "nesterov"),
    "nncg": lambda p: plain(p, "nncg"),
    "twist of 4, 8 sweeps": lambda p: two_levels(p, "twist", 4, "gauss_seidel", 8),
    "wrench of 4, 8 sweeps": lambda p: two_levels(p, "wrench", 4, "gauss_seidel", 8),
    "wrench of 2, 8 sweeps": lambda p: two_levels(p, "wrench", 2, "gauss_seidel", 8),
    "wrench of 4, 40 of nesterov": lambda p: two_levels(p, "wrench", 4, "nesterov", 40),
    "domains of 5 + 2": lambda p: domains(p, 5, 2),
}


def main() -> None:
    rows = []
    for name, make in SCENES.items():
        problem = make()
        for way, run in WAYS.items():
            got = run(problem)
            ended = "sweeps" if got["sweeps"] >= MOST_SWEEPS else "time"
            ended = "solved" if got["natural_map"] < TOLERANCE else ended
            row = {"scene": name, "contacts": problem.contacts, "way": way, "ended": ended}
            rows.append(row | got | {"natural_map": f"{got['natural_map']:.1e}"})
            line = "{scene:24} {way:28} {ended:7} {sweeps:6} {natural_map} {taken}"
            print(line.format(**rows[-1]))
    print(write_csv("coarse_corrections", rows))


if __name__ == "__main__":
    main()
