"""S1 Tables 6.1-6.3, Figs 6.2 and 6.4-6.8: what parallel Jacobi gains, variant by variant.

Each variant makes the same sweeps of all five demos on each number of threads, in turns. On four
and eight threads, also where there are not as many cores, it has to give the same bits.

    python benchmarks/s1/jacobi.py [--threads 1,2,4,8,16] [--quick]
"""

import numpy as np
import published
from output import bars, panels, publish, shades, styles, teams_of, with_stored
from protocol import arguments, by_threads, equal_bits, scene, timed

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
    base = timings[SEQUENTIAL, 1]
    for label, (method, table) in tables.items():
        own = by_threads(timings, label)
        key = published.SPEEDUPS.get(table, {})
        s1 = published.of(key, name, None, run.size(name)) or (None,) * 3
        bits = equal_bits(problem, method, sweeps, own, rollback=0)
        for number, timing in own.items():
            yield {
                "scene": name,
                "contacts": problem.contacts,
                "method": label,
                "sweeps": sweeps,
                "threads": number,
                "sweep_s": float(np.median(timing.seconds)) / sweeps,
                "sigma_s": float(np.std(timing.seconds)) / sweeps,
                "speedup_one": timing.speedup(own[1]) if number > 1 else None,
                "speedup_sequential": timing.speedup(base),
                "read_gbs": timing.read_gbs,
                "setup_s": timing.setup,
                "equal_bits": bits,
                "s1_table": table,
                **dict(zip(("s1_one", "s1_sequential", "s1_cores"), s1, strict=True)),
            }


def draw(rows):
    """Time of a sweep on each number of threads, a panel for each demo."""
    names = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = panels(names, width=5.2, height=3.6)
    look = styles(row["method"] for row in rows)
    for ax, name in zip(axes, names, strict=True):
        methods = teams_of(row for row in rows if row["scene"] == name)
        ends = bars(ax, methods, look, "sweep_s", 1e3)
        for i, (own, end) in enumerate(zip(methods.values(), ends, strict=True)):
            times = " / ".join(f"{own[number]['sweep_s'] * 1e3:.3g}" for number in sorted(own))
            ax.text(end, i, f" {times}", va="center", fontsize=8)
        ax.margins(x=0.15 * (1 + len({row["threads"] for row in rows})))
        ax.set_xlabel(f"ms a sweep; {shades(rows)}")
    return figure


def main(run):
    rows = [row for name in (*published.GRIDS, *published.PILES) for row in rows_of(name, run)]
    publish(run, "jacobi", with_stored(run, "jacobi", rows), draw)


if __name__ == "__main__":
    main(arguments(__doc__))
