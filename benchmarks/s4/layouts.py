"""How each table is laid out: the scripts print by it and `report.py` writes docs/s4.md by it."""

from protocol import pages

Column, Layout = pages.Column, pages.Layout

_PYRAMID = (Column("layers", "layers", "count"), Column("contacts", "contacts", "count"))
_TIMES = (
    Column("one core", "cpu_s", "time"),
    Column("all cores", "threaded_s", "time"),
    Column("speed-up", "threaded_speedup", ".2f"),
    Column("device", "device_s", "time"),
    Column("speed-up", "device_speedup", ".2g"),
)

LAYOUTS = {
    "claims": Layout(
        "Pyramids, and the sum of their impulses by iterations of Jacobi",
        "claims.py",
        (
            Column("layers", "layers", "count"),
            Column("discs", "discs", "count"),
            Column("contacts", "contacts", "count"),
            Column("S4: 3n/2 (n − 1)", "formula", "count"),
            Column("most neighbours", "most_neighbours", "count"),
            Column("sum after 10", "plain_10", ".3g"),
            Column("100", "plain_100", ".3g"),
            Column("1,000", "plain_1000", ".3g"),
            Column("1/adjacent: after 10", "averaged_10", ".3g"),
            Column("100", "averaged_100", ".3g"),
            Column("1,000", "averaged_1000", ".3g"),
        ),
    ),
    "sweeps": Layout(
        "The time of an iteration",
        "pyramids.py",
        (
            *_PYRAMID,
            Column("method", "method", "text"),
            *_TIMES,
            Column("ns per contact, one core", "ns_per_contact", ".3g"),
        ),
    ),
    "solves": Layout(
        "Solves to 1e-3",
        "pyramids.py",
        (
            *_PYRAMID,
            Column("method", "method", "text"),
            Column("status", "status", "text"),
            Column("iterations", "iterations", "count"),
            *_TIMES,
            Column("sum of impulses [N s]", "sum", ".4g"),
        ),
    ),
    "accurate": Layout(
        "Iterations to 1e-6",
        "pyramids.py",
        (
            *_PYRAMID,
            Column("Jacobi, 1/adjacent", "iterations_0", "count"),
            Column("Gauss-Seidel", "iterations_1", "count"),
            Column("Gauss-Seidel, coloured", "iterations_2", "count"),
            Column("Jacobi : Gauss-Seidel", "ratio", ".1f"),
            Column("sum, Jacobi [N s]", "sum_0", ".5g"),
            Column("sum, Gauss-Seidel", "sum_1", ".5g"),
        ),
    ),
}
