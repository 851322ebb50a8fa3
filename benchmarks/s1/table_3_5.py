"""S1 Table 3.5: sequential Jacobi and Gauss-Seidel on ball piles, to equal γ.

python benchmarks/s1/table_3_5.py [--quick]
"""

import numpy as np
import published
from output import publish
from protocol import OWN_RULES, REFERENCE, RULES, arguments, scene
from sequential import draw, rows_and_curves

import contactsolve as cs

SEEDS = (1, 2, 3, 4)


def qualities_of_other_seeds(name, run):
    """γ of Gauss-Seidel's 50 sweeps on other draws of the same pile, as text."""
    found = []
    for seed in SEEDS:
        result = cs.solve(
            scene(name, run, rng=seed), method="gauss_seidel", scheme="factorized", **RULES,
            max_iterations=REFERENCE.iterations, check_every=REFERENCE.iterations,
            record=("quality",), rtol=None, atol=None,
        )  # fmt: skip
        found.append(result.history["quality"][-1])
    return f"{np.min(found):.2g} … {np.max(found):.2g}"


def main(run):
    rows, curves = [], {}
    for name in published.PILES:
        problem = scene(name, run)
        new, curves[name] = rows_and_curves(name, problem, run)
        for line in new:
            reference = line["method"] == "gauss_seidel"
            line["other_seeds"] = qualities_of_other_seeds(name, run) if reference else None
        normals, _ = rows_and_curves(name, scene(name, run, rows=1), run, ", normals alone")
        local, _ = rows_and_curves(name, problem, run, ", local r", False, **OWN_RULES)
        rows += new + [line | {"other_seeds": None} for line in (*normals, *local)]
    publish(run, "table_3_5", rows, lambda rows: draw(rows, curves))


if __name__ == "__main__":
    main(arguments(__doc__))
