"""When is a growing residual divergence? S1's rollback, against more patient rules.

S1 (section 3.5) rolls back as soon as the residual grows. Frictional solves that converge have
passing rises, and lose their step to that rule; Jacobi's cycles, on the other hand, grow little.
Here each problem is solved with growth factors of 1 (S1), 3, 10, 100 and without rollback.

    python benchmarks/rollback.py [folder of FCLIB files]
"""

import sys
from pathlib import Path

from common import write_csv

import contactsolve as cs

FILES = Path(__file__).parents[1] / "tests" / "reference" / "fclib"
RULES = {"off": {"rollback": 0}, **{f"{g:g}": {"rollback_growth": g} for g in (1.0, 3, 10, 100)}}
SWEEPS = 3000


def problems(folders):
    seen = set()
    for folder in folders:
        for path in sorted(Path(folder).glob("*.hdf5")):
            problem = cs.io.read_fclib(path)
            if problem.contacts <= 1000 and path.name not in seen:
                seen.add(path.name)
                yield path.name.removesuffix(".hdf5"), problem
    yield "box_stack 10", cs.scenarios.box_stack(10)
    yield "box_stack 10, top 1000 kg", cs.scenarios.box_stack(10, top_mass=1000.0)
    yield "ball_grid 8^3", cs.scenarios.ball_grid(8)


def main():
    rows, converged = [], {}
    folders = sys.argv[1:] or [FILES, Path(cs.data.__file__).parent]
    for name, problem in problems(folders):
        for method in ("gauss_seidel", "jacobi"):
            for rule, options in RULES.items():
                result = cs.solve(
                    problem, method=method, order="natural", max_iterations=SWEEPS, **options
                )
                converged[method, rule] = converged.get((method, rule), 0) + result.converged
                rows.append(
                    {
                        "problem": name,
                        "contacts": problem.contacts,
                        "method": method,
                        "growth": rule,
                        "status": result.status,
                        "iterations": result.iterations,
                        "natural_map_scaled": result.natural_map_scaled,
                        "rollbacks": result.info["rollbacks"],
                    }
                )
    count = len(rows) // (2 * len(RULES))
    for (method, rule), solved in converged.items():
        print(f"{method:13} growth {rule:4} solves {solved:2} of {count} to rtol 1e-6")
    print(write_csv("rollback", rows))


if __name__ == "__main__":
    main()
