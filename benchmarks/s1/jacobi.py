"""S1 Tables 6.1-6.3, Figs 6.2 and 6.4-6.8: what parallel Jacobi gains, variant by variant.

Each variant makes the same sweeps of all five demos on one and two threads, in turns. On four and
eight threads, more than there may be cores, it has to give the same bits; that is not timed.

    python benchmarks/s1/jacobi.py [--quick]
"""

import numpy as np
import published
from output import panels, publish, styles
from protocol import arguments, equal_bits, one_and_two, scene, timed

import contactsolve as cs

CONTACT_SWEEPS = 2_000_000  # per timed run, 10 to 300 sweeps
SEQUENTIAL = "factorized"


def variants():
    """Jacobi's variants by their names, and S1's tables for them."""
    updated = {
        "factorized, w updated": ("add", "Table 6.1"),
        "factorized, w accumulated": ("accumulate", None),
    }
    yield cs.Method("jacobi", scheme="factorized", label=SEQUENTIAL), "Table 6.3, factorized"
    yield (
        cs.Method("jacobi", scheme="factorized", instructions="auto", label="factorized, vectors"),
        None,
    )
    for label, (velocities, table) in updated.items():
        scheme = cs.schemes.factorized(velocities=velocities)
        yield cs.Method("jacobi", scheme=scheme, label=label), table
    yield (
        cs.Method(
            "jacobi", scheme="factorized", order=cs.orders.extreme(), label="one contact a task"
        ),
        "Fig 6.2",
    )
    yield cs.Method("jacobi", scheme="iteration_matrix", label="T"), "Table 6.3, T"
    # S1 deals out blocks of T, not contacts, to its workers (section 6.3).
    dealt = cs.orders.subtasks(count=1, weighted=True)
    yield (
        cs.Method("jacobi", scheme="iteration_matrix", order=dealt, label="T, one task a part"),
        "Table 6.2",
    )
    yield (
        cs.Method("jacobi", scheme="iteration_matrix", dtype="float32", label="T, f32"),
        "section 6.3, f32",
    )


def rows_of(name, run):
    problem = scene(name, run)
    tables = {method.label: (method, table) for method, table in variants()}
    sweeps = int(np.clip(CONTACT_SWEEPS // problem.contacts, 10, 300)) // (10 if run.quick else 1)
    methods = [method for method, _ in tables.values()]
    timings = timed(problem, methods, sweeps, run, rollback=0)
    base = timings[SEQUENTIAL, 1].seconds
    for label, (method, table) in tables.items():
        one, two = one_and_two(timings, label)
        key = published.SPEEDUPS.get(table, {})
        s1 = published.of(key, name, None, run.size(name)) or (None,) * 3
        yield {
            "scene": name,
            "contacts": problem.contacts,
            "method": label,
            "sweeps": sweeps,
            "sweep_1_s": float(np.median(one.seconds)) / sweeps,
            "sweep_2_s": float(np.median(two.seconds)) / sweeps if two else None,
            "sigma_1_s": float(np.std(one.seconds)) / sweeps,
            "sigma_2_s": float(np.std(two.seconds)) / sweeps if two else None,
            "speedup_one": float(np.median(one.seconds / two.seconds)) if two else None,
            "speedup_sequential": float(np.median(base / (two or one).seconds)),
            "setup_s": one.setup,
            "equal_bits": equal_bits(problem, method, sweeps, one, two, rollback=0),
            "s1_table": table,
            **dict(zip(("s1_one", "s1_sequential", "s1_cores"), s1, strict=True)),
        }


def draw(rows):
    """Time of a sweep on one and two threads, a panel for each demo."""
    names = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = panels(names, width=5.2, height=3.6)
    look = styles(row["method"] for row in rows)
    for ax, name in zip(axes, names, strict=True):
        own = [row for row in rows if row["scene"] == name]
        for i, row in enumerate(own):
            color = look[row["method"]].color
            for team, shift, alpha in ((1, -0.2, 0.45), (2, 0.2, 1.0)):
                if row[f"sweep_{team}_s"] is None:
                    continue
                time = row[f"sweep_{team}_s"] * 1e3
                ax.barh(i + shift, time, 0.38, color=color, alpha=alpha)
                ax.text(time, i + shift, f" {time:.3g}", va="center", fontsize=8)
        ax.set_yticks(range(len(own)), [row["method"] for row in own])
        ax.invert_yaxis()
        ax.margins(x=0.15)
        ax.set_xlabel("ms a sweep; pale: 1 thread, full: 2 threads")
    return figure


def main(run):
    rows = [row for name in (*published.GRIDS, *published.PILES) for row in rows_of(name, run)]
    publish(run, "jacobi", rows, draw)


if __name__ == "__main__":
    main(arguments(__doc__))
