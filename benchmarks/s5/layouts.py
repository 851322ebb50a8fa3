"""How each table is laid out: the scripts print by it and `report.py` writes docs/s5.md by it."""

from protocol import pages

Column, Layout = pages.Column, pages.Layout

_PRECISION = Column("precision", "dtype", "text")

LAYOUTS = {
    "s5_numerics": Layout(
        "One application of the preconditioner (pc) and one product (spmv)",
        "numerics.py",
        (
            _PRECISION,
            Column("parts", "parts", "count"),
            Column("threads", "threads", "count"),
            Column("pc", "pc_s", "time"),
            Column("spmv", "spmv_s", "time"),
            Column("pc : spmv", "pc_over_spmv", ".2f"),
            Column("speed-up of pc", "pc_speedup", ".2f"),
            Column("of spmv", "spmv_speedup", ".2f"),
            Column("runs apart", "spread", ".0%"),
        ),
    ),
    "s5_solves": Layout(
        "The solve to 1e-6",
        "numerics.py",
        (
            _PRECISION,
            Column("parts", "parts", "count"),
            Column("threads", "threads", "count"),
            Column("S5's order: iterations", "plain_iterations", "count"),
            Column("S5's order: time", "plain_s", "time"),
            Column("in pc", "pc_share", ".0%"),
            Column("in spmv", "spmv_share", ".0%"),
            Column("S5's order: speed-up", "plain_speedup", ".2f"),
            Column("S5's order: true residual", "plain_residual", ".1e"),
            Column("`cg`: status", "status", "text"),
            Column("`cg`: iterations", "iterations", "count"),
            Column("(pc + spmv) × iterations", "separate_s", "time"),
            Column("`cg`: time", "cg_s", "time"),
            Column("`cg`: speed-up", "cg_speedup", ".2f"),
            Column("`cg`: true residual", "residual", ".1e"),
        ),
    ),
    "s5_threads": Layout(
        "Threads, at 8 parts",
        "numerics.py",
        (
            _PRECISION,
            Column("threads", "threads", "count"),
            Column("pc", "pc_s", "time"),
            Column("spmv", "spmv_s", "time"),
            Column("`cg`", "cg_s", "time"),
            Column("speed-up of pc", "pc_speedup", ".2f"),
            Column("of spmv", "spmv_speedup", ".2f"),
            Column("of `cg`", "cg_speedup", ".2f"),
            Column("measured", "measured", "text"),
        ),
    ),
    "s5_parts": Layout(
        "Parts, in single precision",
        "numerics.py",
        (
            Column("diagonals", "diagonals", "text"),
            Column("partition", "partition", "text"),
            Column("parts", "parts", "count"),
            Column("boundary vertices", "boundary_share", ".1%"),
            Column("iterations", "iterations", "count"),
            Column("pc", "pc_s", "time"),
            Column("spmv", "spmv_s", "time"),
            Column("`cg`", "cg_s", "time"),
        ),
    ),
    "s5_bandwidth": Layout(
        "Products and the memory",
        "peers.py",
        (
            _PRECISION,
            Column("threads", "threads", "count"),
            Column("MB a product", "megabytes", ".1f"),
            Column("spmv", "spmv_s", "time"),
            Column("GB/s", "spmv_gbs", ".1f"),
            Column("GB/s of pc", "pc_gbs", ".1f"),
            Column("reading, GB/s", "read_gbs", ".1f"),
            Column("a = b + c, GB/s", "add_gbs", ".1f"),
            Column("spmv : reading", "read_share", ".0%"),
            Column("spmv : a = b + c", "add_share", ".0%"),
            Column("share of the peak", "peak_share", ".0%"),
            Column("SciPy's bsr", "scipy_s", "time"),
        ),
    ),
    "s5_peers": Layout(
        "Solves to a true residual of 1e-6, by preconditioner",
        "peers.py",
        (
            Column("preconditioner", "name", "text"),
            _PRECISION,
            Column("threads", "threads", "count"),
            Column("status", "status", "text"),
            Column("iterations", "iterations", "count"),
            Column("of a random right-hand side", "iterations_random", "count"),
            Column("set-up", "set_up_s", "time"),
            Column("solve", "solve_s", "time"),
            Column("both", "both_s", "time"),
            Column("true residual", "residual", ".1e"),
        ),
    ),
}
