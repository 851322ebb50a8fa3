"""S1 Tables 6.1-6.3, Figs 6.2 and 6.4-6.8: what parallel Jacobi gains, variant by variant.

Each variant makes the same sweeps of all five demos on each number of threads, in turns. On four
and eight threads, also where there are not as many cores, it has to give the same bits.

    python benchmarks/s1/jacobi.py [--threads 1,2,4,8,16] [--quick]
"""

import numpy as np
import published
from output import draw_sweeps, publish, with_stored
from protocol import arguments, by_threads, equal_bits, scene, sweeps_of, timed

import contactsolve as cs

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
    sweeps = sweeps_of(problem, run)
    methods = [method for method, _ in tables.values()]
    timings = timed(problem, methods, sweeps, run, rollback=0)
    base = timings[SEQUENTIAL, 1]
    for label, (method, table) in tables.items():
        own = by_threads(timings, label)
        s1 = published.speedups(published.SPEEDUPS.get(table, {}), name, run.size(name))
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
                **s1,
            }


def draw(rows):
    figure, axes = draw_sweeps(rows, width=5.2, height=3.6)
    for ax in axes:
        ax.margins(x=0.15 * (1 + len({row["threads"] for row in rows})))
    return figure


def main(run):
    rows = [row for name in (*published.GRIDS, *published.PILES) for row in rows_of(name, run)]
    publish(run, "jacobi", with_stored(run, "jacobi", rows), draw)


if __name__ == "__main__":
    main(arguments(__doc__))
