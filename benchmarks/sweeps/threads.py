"""What threads and orders cost a sweep: nanoseconds per contact, beside sequential Gauss-Seidel.

Factorized sweeps of ball grids with a fixed ground; all runs interleaved. Run it on a quiet machine
and, for the second half of the truth, beside another busy process. Sizes and numbers of threads
that are not measured keep their rows.

    python benchmarks/sweeps/threads.py [sizes, e.g. 24 40] [--threads 1,2,4]
"""

import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, kept, quartiles, sweeping, teams, write_csv
from sweep import STREAM_BYTES

SIZES = (8, 24, 40)
SWEEPS = 30
SEQUENTIAL = "gauss_seidel"
ORDERS = {
    SEQUENTIAL: ("gauss_seidel", "natural"),
    "colored": ("gauss_seidel", cs.orders.colored()),
    "balanced": ("gauss_seidel", cs.orders.colored("balanced")),
    "ranges": ("gauss_seidel", cs.orders.ranges()),
    "jacobi": ("jacobi", "natural"),
    "jacobi, 800 subtasks": ("jacobi", cs.orders.subtasks(count=100)),  # S1 section 6.3
    "jacobi, extreme": ("jacobi", cs.orders.extreme()),  # section 6.1
}


def tasks_of(problem, dtype, threads):
    tasks = {}
    for name, (method, order) in ORDERS.items():
        for number in (1,) if name == SEQUENTIAL else threads:
            solver = sweeping(
                problem, SWEEPS, method=method, order=order, dtype=dtype, threads=number
            )
            tasks[name, number] = lambda solver=solver: solver.solve().sweep_time
    return tasks


def rows_of(size, dtype, threads, repeats):
    problem = cs.scenarios.ball_grid(size)
    reading = teams.reading(threads, STREAM_BYTES)
    seconds = interleaved({**tasks_of(problem, dtype, threads), **reading}, repeats)
    rates = teams.take_rates(seconds, STREAM_BYTES)
    for (name, number), values in seconds.items():
        per = 1e9 / problem.contacts / SWEEPS
        row = {
            "case": f"ball_grid {size}^3",
            "dtype": dtype,
            "order": name,
            "threads": number,
            **{f"ns_{k}": v * per for k, v in quartiles(values).items()},
            "speedup": float(np.median(seconds[name, 1] / values)),
            "read_gbs": rates[number],
        }
        print(
            f"{row['case']:16} {dtype:8} {name:20} {teams.counted(number):10} "
            f"{row['ns_median']:6.1f} ns, {row['speedup']:.2f} x one thread"
        )
        yield row


def main(argv=None):
    parser = teams.parser_of(__doc__, SIZES, repeats=7)
    given = parser.parse_args(argv)
    threads = teams.chosen(parser, given)
    rows = [
        row
        for size in given.sizes
        for dtype in ("float64", "float32")
        for row in rows_of(size, dtype, threads, given.repeats)
    ]
    places = {name: i for i, name in enumerate(ORDERS)}
    ordered = sorted(
        kept("threads", rows, ("case", "threads"), given.results) + rows,
        key=lambda row: (
            int(row["case"].split()[1].removesuffix("^3")),
            row["dtype"] == "float32",
            places.get(row["order"], len(places)),
            int(row["threads"]),
        ),
    )
    print(write_csv("threads", ordered, given.results))


if __name__ == "__main__":
    main()
