"""S1 section 7.1: the γ that naive parallel Gauss-Seidel loses, range by range.

python benchmarks/s1/naive.py [--quick]
"""

import published
from output import panels, publish, styles
from protocol import RULES, SWEEPS, arguments, scene

import contactsolve as cs

PARTS = (1, 2, 4, 8, 16, 32)


def quality_after(problem, method, **options):
    """γ after 50 sweeps."""
    result = cs.solve(
        problem, method=method, scheme="factorized", **{**RULES, **options}, max_iterations=SWEEPS,
        check_every=SWEEPS, record=("quality",), rtol=None, atol=None, threads=1,
    )  # fmt: skip
    return float(result.history["quality"][-1])


def rows_of(name, run):
    problem = scene(name, run)
    jacobi = quality_after(problem, "jacobi")
    found = {
        parts: quality_after(problem, "gauss_seidel", order=cs.orders.ranges(), parts=parts)
        for parts in PARTS
    }
    for parts, quality in found.items():
        yield {
            "scene": name,
            "contacts": problem.contacts,
            "parts": parts,
            "quality": quality,
            "s1_quality": published.of(
                published.NAIVE_QUALITY, (name, parts), None, run.size(name)
            ),
            "ratio": quality / found[1],
            "jacobi": jacobi,
            "share": (quality - found[1]) / (jacobi - found[1]),
        }


def draw(rows):
    """γ over that of one range, against the number of ranges; grids and piles apart."""
    figure, axes = panels(["ball grids", "ball piles"], width=5.6, height=4.2)
    for name, style in styles(row["scene"] for row in rows).items():
        ax = axes[name.endswith("pile")]
        own = [row for row in rows if row["scene"] == name]
        ax.plot(
            [row["parts"] for row in own], [row["ratio"] for row in own],
            color=style.color, marker=style.marker, label=name,
        )  # fmt: skip
        known = {row["parts"]: row["s1_quality"] for row in own if row["s1_quality"]}
        if known:
            ax.plot(
                list(known), [quality / known[1] for quality in known.values()], "*",
                color=style.color, markersize=15, fillstyle="none", label=f"S1, {name}",
            )  # fmt: skip
    axes[1].set_yscale("log")
    for ax in axes:
        ax.set_xscale("log", base=2)
        ax.set_xticks(PARTS, [str(parts) for parts in PARTS])
        ax.set(xlabel="ranges", ylabel="γ after 50 sweeps, over that of one range")
        ax.legend()
    return figure


def main(run):
    rows = [row for name in (*published.GRIDS, *published.PILES) for row in rows_of(name, run)]
    publish(run, "naive", rows, draw)


if __name__ == "__main__":
    main(arguments(__doc__))
