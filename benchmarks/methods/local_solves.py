"""Does it pay to solve each block's own problem exactly, and what does it cost?

*Scenes*: sweeps and time of the solve to a natural map of 1e-6 N s, and what a visit takes in
sweeps, with projected steps (`local="auto"`, in the kernel and scheme that fit best) and with
blocks solved outright. *Blocks*: random ones, each alone: what a visit takes, begun at zero, and
how many of 1,000 are given up.

    python benchmarks/methods/local_solves.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import hard_problems as hard
from common import write_csv

SCENES = {
    "box_stack": hard.box_stack,
    "box_stack_1000kg": lambda: hard.box_stack(1000.0),
    "ball_grid_8": lambda: hard.ball_grid(8),
}
METHODS = ("gauss_seidel", "nesterov")
WAYS = ("auto", "block", "newton", "quartic")
MOST_SWEEPS = 20000
BLOCKS = 2000
KINDS = {"plain": 0.8, "scaled": 0.8, "condition 1e10": 10.0}  # and the largest friction


def scene_rows(name: str, problem: cs.Problem):
    for method in METHODS:
        for way in WAYS:
            solver = cs.Solver(
                problem, method=method, local=way, rtol=0.0, atol=1e-6, check_every=20,
                record_every=10**9, max_iterations=MOST_SWEEPS,
            )  # fmt: skip
            result = min((solver.solve() for _ in range(2)), key=lambda r: r.time)
            yield {
                "problem": name,
                "contacts": problem.contacts,
                "method": method,
                "local": way,
                "status": result.status,
                "sweeps": result.iterations,
                "ms": round(1e3 * result.time, 2),
                "ns_per_visit": round(
                    1e9 * result.sweep_time / result.iterations / problem.contacts, 1
                ),
                "kernel": solver.info["kernel"],
            }


def random_matrices(rng: np.random.Generator, kind: str, rows: int) -> np.ndarray:
    G = rng.normal(size=(BLOCKS, rows, rows + 2))
    if kind == "scaled":
        G = 10 ** rng.uniform(-3, 3, (BLOCKS, rows, 1)) * G
    if kind == "condition 1e10":
        basis, _ = np.linalg.qr(rng.normal(size=(BLOCKS, rows, rows)))
        G = basis * 10 ** rng.uniform(-5, 0, (BLOCKS, 1, rows))
    return G @ np.swapaxes(G, 1, 2)


def block_rows(kind: str, friction: float):
    rng = np.random.default_rng(0)
    sets = {
        ("disc", 2): cs.sets.disc,
        ("disc", 3): cs.sets.disc,
        ("box_friction", 3): cs.sets.box_friction,
        ("contensou", 4): cs.sets.contensou,
        ("contensou_coupled", 4): cs.sets.contensou_coupled,
        ("rolling", 5): cs.sets.rolling,
    }
    for (name, rows), make in sets.items():
        blocks = random_matrices(rng, kind, rows)
        mu = rng.uniform(0, friction, (2, BLOCKS))
        J = np.zeros((BLOCKS, 2, rows, rows))
        J[:, 1] = np.linalg.cholesky(blocks + 1e-14 * np.eye(rows))
        bodies = np.column_stack([np.full(BLOCKS, -1), np.arange(BLOCKS)])
        own = make(*mu) if name in ("rolling", "contensou", "contensou_coupled") else make(mu[0])
        b = rng.normal(size=(BLOCKS, rows))
        problem = cs.Problem(J, np.ones((BLOCKS, rows)), b, bodies=bodies, sets=own)
        for way in WAYS[1:]:
            if way == "quartic" and name != "disc":
                continue
            solver = cs.Solver(
                problem, local=way, rtol=None, atol=None, rollback=0, max_iterations=1,
                record_every=10**9,
            )  # fmt: skip
            result = min((solver.solve() for _ in range(3)), key=lambda r: r.sweep_time)
            told = [line for line in result.info["warnings"] if "not solved to" in line]
            yield {
                "blocks": kind,
                "set": name,
                "rows": rows,
                "local": way,
                "us_per_block": round(1e6 * result.sweep_time / BLOCKS, 2),
                "given_up_of_1000": 1000 * int(told[0].split()[0]) / BLOCKS if told else 0.0,
            }


def main() -> None:
    rows = []
    for name, make in SCENES.items():
        for row in scene_rows(name, make()):
            rows.append(row)
            print("{problem:17} {method:13} {local:8} {status:15} {sweeps:6} sweeps {ms:9} ms "
                  "{ns_per_visit:7} ns".format(**row))  # fmt: skip
    print(write_csv("local_solves", rows))
    rows = []
    for kind, friction in KINDS.items():
        for row in block_rows(kind, friction):
            rows.append(row)
            print("{blocks:15} {set:18} {rows} {local:8} {us_per_block:8} us, given up "
                  "{given_up_of_1000} of 1000".format(**row))  # fmt: skip
    print(write_csv("local_blocks", rows))


if __name__ == "__main__":
    main()
