"""S1 Table 3.3: sequential Jacobi and Gauss-Seidel on ball grids, to equal γ.

python benchmarks/s1/table_3_3.py [--quick]
"""

import published
from output import publish
from protocol import OWN_RULES, R_FACTOR, arguments, scene, with_spin
from sequential import draw, row, rows_and_curves

import contactsolve as cs

# S1's sweeps of Jacobi on the larger grids, and the sweep from which its R was halved. S1 does not
# print that sweep: it is the one with which γ and residual come out as printed.
HALVED_FROM = {"medium ball grid": (66, 60), "large ball grid": (65, 57)}


def before_the_last(name, problem, run):
    """Jacobi for exactly as many sweeps as S1 made, with γ of the iterate before the last."""
    sweeps = published.SEQUENTIAL[name, "jacobi"][0]
    sweeps, halved = HALVED_FROM.get(name, (sweeps, sweeps + 1))
    exactly = {
        "method": "jacobi", "scheme": "factorized", "rollback": 0, "rtol": None, "atol": None,
        "check_every": 1, "record": ("residual", "quality"), "threads": 1, "islands": False,
    }  # fmt: skip
    result = cs.solve(problem, r_factor=R_FACTOR, max_iterations=halved - 1, **exactly)
    label = "jacobi, before the last"
    if halved <= sweeps:
        rest = sweeps - (halved - 1)
        result = cs.solve(
            problem, r_factor=R_FACTOR / 2, max_iterations=rest, initial=result, **exactly
        )
        label = f"jacobi, R halved from sweep {halved}"
    quality, residual = result.history["quality"][-2], result.history["residual"][-1]
    return row(name, label, run, sweeps, quality, residual, like="jacobi")


def main(run):
    rows, curves = [], {}
    for name in published.GRIDS:
        problem = scene(name, run)
        new, curves[name] = rows_and_curves(name, problem, run)
        rows += [*new, before_the_last(name, problem, run)]
        rows += rows_and_curves(name, with_spin(problem), run, ", 4 rows")[0]
    for name in published.GRIDS[: 1 if run.quick else 2]:
        problem = scene(name, run, layout="cannonball")
        other = name.replace("ball grid", "cannonball grid")
        rows += rows_and_curves(other, problem, run)[0]
        for r_factor in ("local", "balanced"):
            own = {**OWN_RULES, "r_factor": r_factor}
            rows += rows_and_curves(other, problem, run, f", {r_factor} r", False, **own)[0]
    publish(run, "table_3_3", rows, lambda rows: draw(rows, curves))


if __name__ == "__main__":
    main(arguments(__doc__))
