"""What S4 says of its pyramids, checked on ours: contacts, neighbours, and the need of 1/adjacent.

Writes claims.csv: for each pyramid its contacts, the most neighbours of one, and the sum of the
impulses after 10 ... 1000 iterations of Jacobi without 1/adjacent and with it.

    python benchmarks/s4/claims.py [--quick]
"""

import numpy as np
from output import pages, publish, styles
from protocol import JACOBI, METHODS, PLAIN, arguments, contacts, discs, pyramid, sum_of

import contactsolve as cs

AFTER = (10, 100, 1000)
# S4 solves the equation of a contact with its constraints: here the exact solution of its block.
EXACT = {"method": "jacobi", "local": "block", "rtol": None, "atol": None, **PLAIN}


def most_neighbours(problem):
    """The largest number of other contacts that share a disc with one."""
    of_disc = np.bincount(problem.bodies.ravel())
    # Two discs have one contact at most, so that none is counted twice.
    return int((of_disc[problem.bodies] - 1).sum(axis=1).max())


def sums(problem, averaging):
    """The sum of impulses after so many iterations; the limit of a float's range ends it."""
    found = {}
    for count in AFTER:
        result = cs.solve(problem, averaging=averaging, max_iterations=count, **EXACT)
        # A solve that leaves the range of its numbers ends as diverging, with an older iterate.
        grown = np.inf if result.status == "diverging" else sum_of(result.impulses)
        found[count] = grown
    return found


def rows_of(layers):
    """A row for each pyramid."""
    for count in layers:
        problem = pyramid(count)
        plain, averaged = sums(problem, None), sums(problem, METHODS[JACOBI]["averaging"])
        yield {
            "layers": count,
            "discs": discs(count),
            "contacts": problem.contacts,
            "formula": contacts(count),
            "most_neighbours": most_neighbours(problem),
            **{f"plain_{k}": value for k, value in plain.items()},
            **{f"averaged_{k}": value for k, value in averaged.items()},
            **(impulses_of_three(problem) if count == 2 else {}),
        }


def impulses_of_three(problem):
    """Impulses at S4's contacts a, b and c of two layers, and the sum without a push."""
    pushed = cs.solve(problem, method="gauss_seidel").impulses
    still = cs.solve(pyramid(2, impulse=(0.0, 0.0)), method="gauss_seidel").impulses
    lengths = np.linalg.norm(pushed, axis=1)
    return {**dict(zip("abc", lengths.tolist(), strict=True)), "still": sum_of(still)}


# ---- the picture ---------------------------------------------------------------------------------


def places(layers):
    """Centres of the discs, radius 1, from the top."""
    return np.array(
        [(2 * i - layer, -np.sqrt(3) * layer) for layer in range(layers) for i in range(layer + 1)]
    )


def draw_pyramid(ax, layers):
    """The discs, their numbers, and between them lines as thick as the impulses."""
    from matplotlib.patches import Circle

    problem, place = pyramid(layers), places(layers)
    impulses = cs.solve(problem, method="gauss_seidel", rtol=1e-8).impulses
    for number, (x, y) in enumerate(place):
        ax.add_patch(Circle((x, y), 1, facecolor="#e6edf5", edgecolor="0.4"))
        ax.annotate(number, (x, y), ha="center", va="center", fontsize=9, zorder=4)
    for pair, impulse in zip(problem.bodies, impulses, strict=True):
        width = 16 * float(np.hypot(*impulse))
        ax.plot(*place[pair].T, color="#c8501e", linewidth=width, alpha=0.6, zorder=3)
    ax.annotate("", place[0] + [0, 1.05], place[0] + [0, 2.6], arrowprops={"arrowstyle": "->"})
    ax.set_xlim(-layers - 0.5, layers + 0.5)
    ax.set_ylim(place[:, 1].min() - 1.5, 3)
    ax.set_aspect("equal")
    ax.set_axis_off()


def draw(rows):
    """A pyramid with its impulses; how their sum grows without 1/adjacent."""
    titles = ("impulses in four layers", "sum of impulses [N s], by iterations")
    figure, axes = pages.panels(titles, width=5.2, height=4.0)
    draw_pyramid(axes[0], 4)
    for label, style in styles([str(row["layers"]) for row in rows]).items():
        row = next(row for row in rows if str(row["layers"]) == label)
        look = {"color": style.color, "marker": style.marker, "markersize": 4}
        grown = [row[f"plain_{k}"] for k in AFTER]
        finite = [(k, value) for k, value in zip(AFTER, grown, strict=True) if np.isfinite(value)]
        axes[1].plot(*zip(*finite, strict=True), label=f"{label} layers", **look)
        axes[1].plot(AFTER, [row[f"averaged_{k}"] for k in AFTER], linestyle=":", **look)
    axes[1].set_xscale("log")
    axes[1].set_yscale("log")
    axes[1].set_ylim(0.5, 1e6)  # what grows goes on, beyond 1e100
    axes[1].set_xlabel("iterations; dotted: with 1/adjacent")
    axes[1].legend(fontsize=8)
    return figure


def main(run):
    publish(run, "claims", list(rows_of(run.claimed)), draw)


if __name__ == "__main__":
    main(arguments(__doc__))
