"""Random problems with friction in ellipses, polygons, support shapes and others, by each method.

Are there problems that `auto` does not solve, and another method does? J is random, over a few
bodies in the plane (3 degrees of freedom) or in space (6), a third of the contacts with the ground.
The velocities of half of the problems belong to motions of the bodies; those of the others are
random, so that some have no solution. Masses differ by up to 1e4. A problem counts as solved where
the scaled natural map, judged from outside, is at most rtol within the time. Printed: for each kind
how many problems each method solves, how many any of them does, and which ones of these `auto` does
not.

    python benchmarks/methods/general_friction.py                 all methods, 20 minutes
    python benchmarks/methods/general_friction.py --problems 10   fewer of each kind; writes no CSV
    python benchmarks/methods/general_friction.py --methods auto newton --kinds ellipse
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import contactsolve as cs
from contactsolve import sets, shapes

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import judge, write_csv

RTOL = 1e-6
PROBLEMS, SECONDS = 60, 0.5
FEW_CONTACTS, MOST_CONTACTS = 7, 25
ITERATIONS = 1_000_000  # more than any method makes in the time


# ---- sets ----------------------------------------------------------------------------------------


def friction(rng: np.random.Generator, contacts: int) -> np.ndarray:
    return rng.uniform(0.3, 2.0, contacts)


def ellipse(rng: np.random.Generator, contacts: int) -> sets.Set:
    """Return ellipses of which one semi-axis may be a hundredth of the other."""
    mu = friction(rng, contacts)
    return sets.ellipse(
        mu, mu * 10 ** rng.uniform(-2, 0, contacts), rng.uniform(0, np.pi, contacts)
    )


def round_corners(rng: np.random.Generator, sides: int) -> np.ndarray:
    """Return the vertices (sides, 2) of a polygon in the unit circle, the origin inside."""
    gaps = rng.uniform(0.8, 1.2, sides)
    angle = rng.uniform(0, 2 * np.pi) + 2 * np.pi * np.cumsum(gaps) / gaps.sum()
    return np.column_stack([np.cos(angle), np.sin(angle)])


def polygon(rng: np.random.Generator, contacts: int) -> sets.Set:
    """Return polygons of 3 to 12 sides."""
    sides = int(rng.integers(3, 13))
    vertices = np.stack([round_corners(rng, sides) for _ in range(contacts)])
    return sets.polygon(friction(rng, contacts), vertices=vertices)


def plane_shape(rng: np.random.Generator, contacts: int) -> shapes.Shape:
    """Return one of the shapes of the plane: smooth, with corners, with edges, or all of these."""
    one, other = rng.uniform(0.2, 1.0, (2, contacts))
    offset = rng.uniform(-0.15, 0.15, (contacts, 2))
    made: list[Callable[[], shapes.Shape]] = [
        lambda: shapes.ellipse(one, other).shifted(offset),
        lambda: shapes.superellipse(one, other, rng.choice([1.0, 1.5, 3.0, np.inf])),
        lambda: shapes.hull(
            shapes.disc(0.2).shifted(3 * offset), shapes.disc(0.2).shifted(-3 * offset)
        ),
        lambda: shapes.points(round_corners(rng, 5)) + shapes.ellipse(0.1 * one, 0.1 * other),
        lambda: shapes.points(round_corners(rng, int(rng.integers(3, 9)))),
    ]
    return made[int(rng.integers(len(made)))]().turned(rng.uniform(0, np.pi, contacts))


def spin_shape(rng: np.random.Generator, contacts: int) -> shapes.Shape:
    """Return one of the shapes of the space of tangents and spin."""
    one, other, spin = rng.uniform(0.2, 1.0, (3, contacts))
    corners = rng.standard_normal((6, 3))
    foot = rng.uniform(-0.3, 0.3, (4, 2))
    made: list[Callable[[], shapes.Shape]] = [
        lambda: shapes.ellipsoid(one, other, spin),
        lambda: shapes.superellipsoid(one, other, spin, rng.choice([1.5, 3.0])),
        lambda: shapes.patch(foot, np.full(4, 0.25)),
        lambda: shapes.ellipsoid(one, one, 0.0) + shapes.ellipsoid(0.0, 0.0, spin),
        lambda: shapes.points(np.vstack([corners, -corners])),
    ]
    return made[int(rng.integers(len(made)))]()


KINDS: dict[str, tuple[int, Callable[[np.random.Generator, int], sets.Set]]] = {
    "disc": (3, lambda rng, k: sets.disc(friction(rng, k))),
    "box_friction": (3, lambda rng, k: sets.box_friction(friction(rng, k))),
    "ellipse": (3, ellipse),
    "polygon": (3, polygon),
    "support": (3, lambda rng, k: sets.support(plane_shape(rng, k), friction(rng, k))),
    "support_spin": (4, lambda rng, k: sets.support(spin_shape(rng, k), friction(rng, k))),
    "contensou": (4, lambda rng, k: sets.contensou(friction(rng, k), rng.uniform(0.1, 1, k))),
    "contensou_coupled": (
        4, lambda rng, k: sets.contensou_coupled(friction(rng, k), rng.uniform(0.1, 1, k))
    ),
    "rolling": (5, lambda rng, k: sets.rolling(friction(rng, k), rng.uniform(0.05, 0.5, k))),
}  # fmt: skip


# ---- problems ------------------------------------------------------------------------------------


def random_pairs(rng: np.random.Generator, bodies: int, contacts: int) -> np.ndarray:
    """Return who touches whom, the ground being -1, and always first."""
    pairs = np.array([rng.permutation(bodies + 1)[:2] for _ in range(contacts)]) - 1
    grounded = pairs[:, 1] < 0
    pairs[grounded] = pairs[grounded, ::-1]
    pairs[rng.random(contacts) < 1 / 3, 0] = -1
    return pairs


def random_problem(kind: str, seed: int) -> cs.Problem:
    """Return the problem of that kind and number: the same on every machine.

    Every other one has few contacts, on one body or two.
    """
    rows, make = KINDS[kind]
    rng = np.random.default_rng([seed, *kind.encode()])
    most_bodies, most_contacts = (2, FEW_CONTACTS) if seed % 2 else (8, MOST_CONTACTS)
    bodies, dof = int(rng.integers(1, most_bodies + 1)), int(rng.choice([3, 6]))
    contacts = int(rng.integers(2, most_contacts + 1))
    pairs = random_pairs(rng, bodies, contacts)
    J = rng.standard_normal((contacts, 2, rows, dof))
    J[pairs < 0] = 0
    Minv = 10 ** rng.uniform(0, rng.choice([1.0, 4.0]), bodies)[:, None] * np.ones(dof)
    velocity = np.vstack([rng.standard_normal((bodies, dof)), np.zeros(dof)])
    b = np.einsum("ksmd,ksd->km", J, velocity[pairs])
    if rng.random() < 1 / 2:
        b = rng.standard_normal(b.shape)
    return cs.Problem(J, Minv, b, sets=make(rng, contacts), bodies=pairs, name=f"{kind} {seed}")


def tried(problem: cs.Problem, method: str, seconds: float) -> dict[str, Any]:
    """Return whether the method solves it, in what time, and what it reaches."""
    start = time.perf_counter()
    try:
        result = cs.solve(
            problem, method=method, rtol=RTOL, max_seconds=seconds, max_iterations=ITERATIONS,
            threads=1,
        )  # fmt: skip
    except ValueError:
        return {"refused": True, "solved": False, "seconds": np.nan, "reached": np.nan}
    spent = time.perf_counter() - start
    reached = judge(problem, result.impulses).natural_map_scaled
    return {
        "refused": False, "solved": reached <= RTOL * (1 + 1e-9), "seconds": spent,
        "reached": reached,
    }  # fmt: skip


# ---- table ---------------------------------------------------------------------------------------


def rows_of(kind: str, methods: Iterable[str], problems: int, seconds: float) -> list[dict]:
    """Return one row for each method of a kind, and one for any of them."""
    found: dict[str, list[dict]] = {method: [] for method in methods}
    for seed in range(problems):
        problem = random_problem(kind, seed)
        for method, outcomes in found.items():
            outcomes.append(tried(problem, method, seconds))
    solved = {method: np.array([o["solved"] for o in found[method]]) for method in found}
    any_of_them = np.any(list(solved.values()), axis=0)
    rows = []
    for method, outcomes in found.items():
        times = [o["seconds"] for o in outcomes if o["solved"]]
        missed = np.flatnonzero(any_of_them & ~solved[method])
        rows.append(
            {
                "kind": kind, "method": method, "problems": problems,
                "refused": sum(o["refused"] for o in outcomes),
                "solved": int(solved[method].sum()), "solved_by_any": int(any_of_them.sum()),
                "median_seconds": float(np.median(times)) if times else np.nan,
                "missed": " ".join(map(str, missed)) if method == "auto" else "",
            }
        )  # fmt: skip
    return rows


def show(rows: Iterable[dict]) -> None:
    for row in rows:
        if row["refused"] < row["problems"]:
            print(
                "{kind:18} {method:20} {solved:4} of {problems:4}, any {solved_by_any:4}   "
                "{median_seconds:8.2e} s  {missed}".format(**row), flush=True,
            )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=PROBLEMS, help="of each kind")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for one solve")
    parser.add_argument("--methods", nargs="+", default=cs.methods.names())
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    options = parser.parse_args()
    rows: list[dict] = []
    for kind in options.kinds:
        more = rows_of(kind, options.methods, options.problems, options.seconds)
        show(more)
        rows += more
    usual = all(getattr(options, key) == parser.get_default(key) for key in vars(options))
    if usual:
        print(write_csv("general_friction", rows))


if __name__ == "__main__":
    main()
