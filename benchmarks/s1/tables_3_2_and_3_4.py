"""S1 Tables 3.2 and 3.4: bodies, contacts and blocks of the demos; the colours of section 7.3.

python benchmarks/s1/tables_3_2_and_3_4.py [--quick]
"""

from collections import Counter

import published
from output import panels, publish
from protocol import arguments, scene

import contactsolve as cs


def color_sizes(problem, strategy):
    """Contacts in each colour, largest first, the ground counted as a body.

    A solver tells how many stages it has, and with `relaxed(n)` all colours of fewer than n
    contacts are one: where the number of stages falls, there a size is. The smallest colour, which
    makes a stage merged or not, has what is left.
    """

    def stages(limit):
        order = cs.orders.relaxed(limit, strategy, fixed_as_body=True)
        return cs.Solver(problem, method="gauss_seidel", scheme="factorized", order=order).info[
            "stages"
        ]

    def falls(low, high, above, below):
        if above == below:
            return
        if high - low == 1:
            yield low, above - below
            return
        middle = (low + high) // 2
        between = stages(middle)
        yield from falls(low, middle, above, between)
        yield from falls(middle, high, between, below)

    largest = problem.contacts + 1
    found = Counter(dict(falls(1, largest, stages(1), stages(largest))))
    found[problem.contacts - sum(size * count for size, count in found.items())] += 1
    return sorted(found.items(), reverse=True)


def as_words(sizes):
    """Sizes of colours: "10, 9, 8 × 1"."""
    return ", ".join(f"{count} × {size}" if count > 3 else ", ".join([str(size)] * count)
                     for size, count in sizes)  # fmt: skip


def row_of(name, run):
    """Counts of one demo; its colours where S1 has them, in the order of contacts behind them."""
    grid = name.endswith("grid")
    problem = scene(name, run, **({"contact_order": "forward"} if grid else {}))
    size = run.size(name)
    s1_counts = published.of(published.COUNTS, name, None, size) or (None,) * 3
    colors = {
        strategy: as_words(color_sizes(problem, strategy))
        if (name, strategy) in published.COLORS
        else None
        for strategy in ("greedy", "balanced")
    }
    return {
        "scene": name,
        "shape": f"{size}^3",
        "bodies": problem.bodies_count,
        "s1_bodies": s1_counts[0],
        "contacts": problem.contacts,
        "s1_contacts": s1_counts[1],
        "blocks": problem.count_blocks(fixed_as_body=True),
        "s1_blocks": s1_counts[2],
        "blocks_fixed": problem.count_blocks(),
        **colors,
        **{
            f"s1_{strategy}": published.of(published.COLORS, (name, strategy), None, size)
            for strategy in colors
        },
    }


def cannonball_rows(run):
    """S1's second layout, for which it prints no figures."""
    for name in published.GRIDS:
        problem = scene(name, run, layout="cannonball")
        row = dict.fromkeys(
            ("s1_bodies", "s1_contacts", "s1_blocks", "greedy", "balanced", "s1_greedy",
             "s1_balanced")
        )  # fmt: skip
        yield row | {
            "scene": name.replace("ball grid", "cannonball grid"),
            "shape": f"{run.size(name)}^3",
            "bodies": problem.bodies_count,
            "contacts": problem.contacts,
            "blocks": problem.count_blocks(fixed_as_body=True),
            "blocks_fixed": problem.count_blocks(),
        }


def draw(rows):
    """Ours as bars, S1's as marks."""
    figure, axes = panels(["bodies", "contacts", "blocks of T"], width=4.2, height=4.0)
    names = [row["scene"] for row in rows]
    for ax, key in zip(axes, ("bodies", "contacts", "blocks"), strict=True):
        ax.barh(names, [row[key] for row in rows], color="#9db8d9", label="ours")
        known = [row for row in rows if row[f"s1_{key}"]]
        marks = [row[f"s1_{key}"] for row in known], [row["scene"] for row in known]
        ax.plot(*marks, "d", color="#c8501e", label="S1")
        ax.set_xscale("log")
        ax.set_xlim(left=10)
        ax.minorticks_off()
        ax.invert_yaxis()
    for ax in axes[1:]:
        ax.tick_params(labelleft=False)
    axes[0].legend(loc="upper right")
    return figure


def main(run):
    rows = [row_of(name, run) for name in (*published.GRIDS, *published.PILES)]
    rows += cannonball_rows(run)
    publish(run, "tables_3_2_and_3_4", rows, draw)


if __name__ == "__main__":
    main(arguments(__doc__))
