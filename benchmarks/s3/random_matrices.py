"""S3's Figure 2.4: when taking tight rows out of a factor is faster than a new factor.

    python benchmarks/s3/random_matrices.py [--quick]

Random positive definite matrices, full; a share of the rows is tight in the solution, and solving
begins with these very rows: one change of the factor, one solve, one check.
"""

from itertools import pairwise

import numpy as np
import published
from output import panels, publish, styles
from protocol import arguments, common

import contactsolve as cs

SIZES = (50, 100, 200, 300, 400, 500)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
ENGINES = ("refactor", "downdate", "incremental", "schur")


def problem(m, share, rng):
    """A, b and the index set of the solution."""
    G = rng.normal(size=(m, m))
    A = G @ G.T / m + 0.1 * np.eye(m)
    tight = rng.permutation(m) < max(round(share * m), 1)
    w = np.where(tight, rng.uniform(0.1, 1.0, m), 0.0)
    return A, w - A @ np.where(tight, 0.0, rng.uniform(0.1, 1.0, m)), -tight.astype(int)


def row_of(m, share, run, rng):
    A, b, index_set = problem(m, share, rng)
    tasks = {}
    for engine in ENGINES:
        solver = cs.MlcpSolver(A, engine=engine)

        def task(solver=solver):
            solver.solve(b, lo=-np.inf)  # the factor of A is there, as S3 has it
            return solver.solve(b, initial=index_set).time

        tasks[engine] = task
    timed = common.interleaved(tasks, 3 * run.repeats)
    seconds = {engine: float(np.min(timed[engine])) for engine in ENGINES}
    return {
        "rows": m,
        "tight": share,
        "s_refactor": seconds["refactor"],
        **{f"speedup_{engine}": seconds["refactor"] / seconds[engine] for engine in ENGINES[1:]},
        **dict.fromkeys(("crossing_downdate", "crossing_schur", "s3_crossing")),
    }


def crossing(rows, key):
    """The share at which the speed-up falls to 1, between two that were measured; None if never."""
    for one, other in pairwise(rows):
        if one[key] >= 1.0 > other[key]:
            part = (one[key] - 1.0) / (one[key] - other[key])
            return one["tight"] + part * (other["tight"] - one["tight"])
    return None


def draw(rows):
    """Speed-up against size for each share, and against the share for each size."""
    figure, axes = panels(["by size, a curve a share", "by share, a curve a size"], width=5.4)
    for ax, key, other in zip(axes, ("rows", "tight"), ("tight", "rows"), strict=True):
        groups = dict.fromkeys(row[other] for row in rows)
        for value, look in styles(groups).items():
            own = [row for row in rows if row[other] == value]
            label = f"{value:.0%}" if other == "tight" else f"{value} rows"
            x = [row[key] for row in own]
            ax.plot(x, [row["speedup_downdate"] for row in own], color=look.color,
                    marker=look.marker, markersize=4, label=label)  # fmt: skip
        ax.axhline(1.0, color="k", linewidth=0.8)
        ax.legend(fontsize=8)
        ax.set_ylabel("downdating's speed-up")
    axes[0].set_xlabel("rows")
    axes[0].set_xlim(right=1.25 * max(row["rows"] for row in rows))  # the legend's place
    axes[1].axvline(published.CROSSING, color="#c8501e", linestyle="--", linewidth=0.8)
    axes[1].set_xlabel("share of tight rows; dashed: S3's 15 %")
    axes[1].set_xscale("log")
    return figure


def main(run):
    rng, rows = np.random.default_rng(0), []
    sizes, shares = ((50, 100), (0.02, 0.5)) if run.quick else (SIZES, SHARES)
    for m in sizes:
        own = [row_of(m, share, run, rng) for share in shares]
        own[0]["crossing_downdate"] = crossing(own, "speedup_downdate")
        own[0]["crossing_schur"] = crossing(own, "speedup_schur")
        own[0]["s3_crossing"] = published.CROSSING
        rows += own
    publish(run, "figure_2_4", rows, draw)


if __name__ == "__main__":
    main(arguments(__doc__))
