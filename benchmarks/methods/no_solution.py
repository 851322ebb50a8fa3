"""Problems without a solution: how many are found, how soon; and feasible ones beside them.

Each kind is drawn at random, once without a solution and once with one. A claim counts where
the certificate holds by plain NumPy; a claim on a feasible problem is a false one.

    python benchmarks/methods/no_solution.py [--problems 100]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import write_csv

METHODS = ("auto", "gauss_seidel", "jacobi", "nesterov", "newton", "admm", "interior_point")
# These take no friction in discs; an A that they find singular, and say so, counts as not found.
DIRECT = ("bpp", "lemke")
EPSILON = np.finfo(float).eps


def balanced_walls(rng: np.random.Generator, closing: bool, mu: float | None) -> cs.Problem:
    """Return walls around one body, whose normals balance each other; they close, or some open."""
    count, rows = int(rng.integers(2, 9)), 1 if mu is None else 3
    normals = rng.normal(size=(count - 1, 3))
    normals = np.vstack([normals, -normals.sum(axis=0)])
    normals /= np.linalg.norm(normals[-1])
    J = np.zeros((count, 2, rows, 3))
    for k, normal in enumerate(normals):
        J[k, 1, 0] = normal
        if rows == 3:
            J[k, 1, 1:] = np.linalg.svd(normal[None])[2][1:]
    b = J[:, 1] @ rng.normal(size=3)
    if closing:
        b[:, 0] = -rng.uniform(0.1, 1.0, count) * np.linalg.norm(normals, axis=1)
    mass = 10.0 ** rng.uniform(-2, 2)
    return cs.Problem(J, [[1 / mass] * 3], b, mu, bodies=[[-1, 0]] * count)


def squeezed_row(rng: np.random.Generator, closing: bool, mu: float | None) -> cs.Problem:
    """Return bodies in a row between two walls that close, or one of which stays behind."""
    count, rows = int(rng.integers(2, 12)), 1 if mu is None else 3
    J = np.zeros((count + 1, 2, rows, 3))
    J[:, 0], J[:, 1] = -np.eye(3)[:rows], np.eye(3)[:rows]
    bodies = np.array([[k - 1, k] for k in range(count)] + [[count - 1, -1]])
    u = np.vstack([np.zeros(3), rng.normal(size=(count, 3)), np.zeros(3)])[:, :rows]
    b = np.diff(u, axis=0)
    b[:, 0] += (-0.3 if closing else 0.3) / (count + 1)  # of the walls
    mass = 10.0 ** rng.uniform(0, 3, count)
    return cs.Problem(J, np.repeat(1 / mass[:, None], 3, axis=1), b, mu, bodies=bodies)


def repeated_joints(rng: np.random.Generator, closing: bool, _mu: float | None) -> cs.Problem:
    """Return joints between random bodies, some twice, which contradict each other or agree."""
    joints, bodies = int(rng.integers(2, 10)), 4
    pairs = np.stack([rng.permutation(bodies)[:2] for _ in range(joints)])
    J = rng.normal(size=(joints, 2, 2, 6))
    u = rng.normal(size=(bodies, 6))
    J[-1], pairs[-1] = J[0], pairs[0]
    b = np.einsum("ksmd,ksd->km", J, u[pairs])
    if closing:
        b[-1] += rng.normal(size=2)
    mass = 10.0 ** rng.uniform(-1, 1, (bodies, 1))
    return cs.Problem(J, np.repeat(1 / mass, 6, axis=1), b, bodies=pairs, sets=cs.sets.free())


KINDS = {
    "walls": (balanced_walls, None),
    "walls, friction": (balanced_walls, 0.4),
    "row": (squeezed_row, None),
    "row, friction": (squeezed_row, 0.4),
    "joints": (repeated_joints, None),
}


def is_proven(problem: cs.Problem, result: cs.Result) -> bool:
    """Return whether the certificate shows that there is no solution (docs/methods.md)."""
    A, b = problem.delassus().toarray(), np.ravel(problem.b)
    d = np.ravel(result.info["certificate"])
    seen = np.abs(A.T @ d) + 4 * EPSILON * np.abs(A.T) @ np.abs(d)
    return bool(seen.sum() * 1e3 < -b @ d)


def solve(problem: cs.Problem, method: str) -> cs.Result | None:
    """Return the result, or None where a direct method refuses a singular A."""
    try:
        return cs.solve(problem, method=method)
    except ValueError:
        if method not in DIRECT:
            raise
        return None


def row_of(kind: str, method: str, problems: int) -> dict[str, object]:
    """Return one line of the table."""
    make, mu = KINDS[kind]
    found, wrong, false, others, iterations = 0, 0, 0, 0, []
    for seed in range(problems):
        beside = solve(make(np.random.default_rng(seed), False, mu), method)
        false += beside is not None and beside.status in ("infeasible", "unbounded")
        problem = make(np.random.default_rng(seed), True, mu)
        result = solve(problem, method)
        if result is None:
            continue
        proven = result.status == "infeasible" and is_proven(problem, result)
        found += proven
        wrong += result.converged
        others += result.status == "unbounded"
        if proven:
            iterations.append(result.iterations)
    low, middle, high = np.percentile(iterations, [0, 50, 90]) if iterations else [np.nan] * 3
    return {
        "kind": kind,
        "method": method,
        "problems": problems,
        "found": found,
        "called converged": wrong,
        "unbounded": others,
        "false claims": false,
        "iterations, least": low,
        "median": middle,
        "90 %": high,
    }


def taken(kind: str) -> tuple[str, ...]:
    """Return the methods that take problems of that kind."""
    return METHODS if KINDS[kind][1] else METHODS + DIRECT


def main() -> None:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=100, help="other numbers write no CSV")
    number = parser.parse_args().problems
    rows = [row_of(kind, method, number) for kind in KINDS for method in taken(kind)]
    for row in rows:
        print("  ".join(str(value) for value in row.values()))
    if number == parser.get_default("problems"):
        print(write_csv("no_solution", rows))


if __name__ == "__main__":
    main()
