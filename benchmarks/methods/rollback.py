"""When is a growing residual divergence? S1's rollback, against more patient rules.

S1 (section 3.5) rolls back as soon as the residual grows. Frictional solves that converge have
passing rises, and lose their step to that rule; Jacobi's cycles, on the other hand, grow little.
Here each problem is solved with growth factors of 1 (S1) to 1,000 and without rollback: FCLIB's
files of 1,000 contacts at most, scenarios as they are built, and the scenes of
`common/problems.py` with up to 7,000 contacts, their first seeds. `rise` is what the residual
rose to over its least before, without rollback: of a solve that converges, it is what a rule must
not take for divergence.

    python benchmarks/methods/rollback.py [folders of FCLIB files]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import write_csv
from common.problems import FOLDERS, SCENES

GROWTHS = (1.0, 3, 10, 30, 100, 300, 1000)
RULES = {"off": {"rollback": 0}, **{f"{g:g}": {"rollback_growth": g} for g in GROWTHS}}
METHODS = ("gauss_seidel", "jacobi")
SWEEPS = 15_000
MOST_FILED, MOST_CONTACTS = 1000, 7000


def problems(folders: list[Path]) -> Iterator[tuple[str, cs.Problem]]:
    """Names and problems; a file in several folders counts once."""
    seen = set()
    for folder in folders:
        for path in sorted(folder.glob("*.hdf5")):
            if path.name in seen:
                continue
            seen.add(path.name)
            problem = cs.io.read_fclib(path)
            if problem.contacts <= MOST_FILED:
                yield path.name.removesuffix(".hdf5"), problem
    yield "box_stack 10", cs.scenarios.box_stack(10)
    yield "box_stack 10, top 1000 kg", cs.scenarios.box_stack(10, top_mass=1000.0)
    yield "ball_grid 8^3", cs.scenarios.ball_grid(8)
    for name, make, _, _ in SCENES:
        problem = make(0)
        if problem.contacts <= MOST_CONTACTS:
            yield f"{name} #0", problem


def largest_rise(residual: np.ndarray) -> float:
    """Return the largest of finite residuals over their least before."""
    residual = residual[np.isfinite(residual) & (residual > 0)]
    if len(residual) < 2:
        return 1.0
    return float(np.max(residual[1:] / np.minimum.accumulate(residual)[:-1]))


def rows_of(name: str, problem: cs.Problem) -> Iterator[dict[str, object]]:
    for method in METHODS:
        for rule, options in RULES.items():
            told = {"record": ("residual",), "record_every": 1} if rule == "off" else {"record": ()}
            result = cs.solve(
                problem, method=method, order="natural", threads=1, islands=False,
                max_iterations=SWEEPS, **told, **options,
            )  # fmt: skip
            yield {
                "problem": name,
                "contacts": problem.contacts,
                "method": method,
                "growth": rule,
                "status": result.status,
                "iterations": result.iterations,
                "natural_map_scaled": result.natural_map_scaled,
                "rollbacks": result.info["rollbacks"],
                "rise": largest_rise(result.history["residual"][1:]) if rule == "off" else "",
            }


def main() -> None:
    rows: list[dict[str, object]] = []
    for name, problem in problems([Path(folder) for folder in sys.argv[1:]] or list(FOLDERS)):
        rows += rows_of(name, problem)
        write_csv("rollback", rows)
        print(name, flush=True)
    solved = Counter((r["method"], r["growth"]) for r in rows if r["status"] == "converged")
    lost = Counter((r["method"], r["growth"]) for r in rows if r["status"] == "diverging")
    count = len({row["problem"] for row in rows})
    for method in METHODS:
        for rule in RULES:
            key = method, rule
            print(f"{method:13} growth {rule:4} solves {solved[key]:2} of {count}, "
                  f"{lost[key]:2} end as diverging")  # fmt: skip


if __name__ == "__main__":
    main()
