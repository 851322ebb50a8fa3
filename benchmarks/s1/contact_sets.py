"""S1 section 8.3: contact sets as atoms, against contact points, on boxes and bricks.

A contact set is what touches between one pair of bodies. Its points can be swept one after another
or all at once; sets can be coloured in place of points.

    python benchmarks/s1/contact_sets.py [--quick]
"""

import numpy as np
from bricks import brick_pyramid
from output import panels, publish, styles
from protocol import OWN_RULES, arguments, timed, to_equal_quality

import contactsolve as cs


def scenes(run):
    if run.quick:
        return [cs.scenarios.box_stack(3), brick_pyramid(4)]
    return [cs.scenarios.box_stack(10), brick_pyramid(10), brick_pyramid(40)]


def methods():
    orders = cs.orders

    def of(label, method="gauss_seidel", **options):
        return cs.Method(method, label=label, scheme="factorized", **options)

    yield of("points, Gauss-Seidel")
    yield of("points, Jacobi", method="jacobi")
    yield of("points, greedy colours", order=orders.colored())
    for inside in ("sequential", "simultaneous"):
        yield of(f"sets, {inside}", order=orders.contact_sets(inside))
        yield of(f"sets, {inside}, coloured", order=orders.contact_sets(inside, colored=True))


def corner_spread(problem, impulses):
    """Range over mean of the four normal impulses under the first body on the ground."""
    on_ground = np.flatnonzero(problem.bodies[:, 0] < 0)
    first = on_ground[problem.bodies[on_ground, 1] == problem.bodies[on_ground[0], 1]]
    normal = impulses[first, 0]
    return float(np.ptp(normal) / normal.mean())


def rows_of(problem, run):
    chosen = list(methods())
    until = cs.quality_of(cs.Method("gauss_seidel", scheme="factorized"))
    table = to_equal_quality(problem, chosen, until, **OWN_RULES)
    sweeps = {row.method: row.iterations for row in table}
    timings = timed(problem, chosen, sweeps, run, threads=(1,), **OWN_RULES)
    for entry in table:
        result = table.results[entry.method]
        yield {
            "scene": f"{problem.name}, {problem.contacts} contacts",
            "contacts": problem.contacts,
            "method": entry.method,
            "stages": result.info["stages"],
            "sweeps": entry.iterations,
            "quality": entry.quality,
            "natural_map": entry.natural_map,
            **timings[entry.method, 1].figures(),
            "spread": corner_spread(problem, result.impulses),
            "status": entry.status,
        }


def resting_box():
    """S1 Fig. 3.1: what a resting box's four corners carry, sweep by sweep, as a spread."""
    problem = cs.scenarios.box_stack(1)
    curves = {}
    for method in methods():
        spreads = []
        cs.solve(
            problem, method=method.method, **{**OWN_RULES, **method.options},
            max_iterations=25, rtol=None, atol=None,
            callback=lambda state, kept=spreads: kept.append(
                corner_spread(problem, state.impulses)
            ),
        )  # fmt: skip
        curves[method.label] = spreads
    return curves


def draw(rows):
    """Sweeps to equal γ as bars, and the resting box."""
    names = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = panels(
        [*names, "one resting box (S1 Fig. 3.1)"], width=5.6, height=3.8, columns=2
    )
    look = styles(row["method"] for row in rows)
    for ax, name in zip(axes, names, strict=False):
        own = [row for row in rows if row["scene"] == name]
        labels = [row["method"] for row in own]
        colors = [look[label].color for label in labels]
        bars = ax.barh(labels, [row["sweeps"] for row in own], color=colors)
        notes = [
            f"{row['sweeps']}, {row['stages']} stage{'s' if row['stages'] > 1 else ''}"
            + ("" if row["status"] in ("reached", "reference") else f", {row['status']}")
            for row in own
        ]
        ax.bar_label(bars, notes, padding=3, fontsize=8)
        ax.invert_yaxis()
        ax.margins(x=0.75)
        ax.set_xlabel("sweeps to equal γ")
    sizes = iter((10, 10, 5, 5))  # curves coincide: one mark inside another
    for label, spreads in resting_box().items():
        if "colour" not in label:
            sweeps = range(1, len(spreads) + 1)
            axes[-1].plot(
                sweeps, spreads, look[label].marker, color=look[label].color, label=label,
                markersize=next(sizes), fillstyle="none", linestyle="-", linewidth=0.7,
            )  # fmt: skip
    axes[-1].set(xlabel="sweeps", ylabel="range of corner impulses over mean")
    axes[-1].legend(fontsize=8, loc="center right")
    return figure


def main(run):
    rows = [row for problem in scenes(run) for row in rows_of(problem, run)]
    publish(run, "contact_sets", rows, draw)


if __name__ == "__main__":
    main(arguments(__doc__))
