"""What threads and orders cost a sweep: nanoseconds per contact, beside sequential Gauss-Seidel.

Factorized sweeps of ball grids with a fixed ground; all runs interleaved. Run it on a quiet machine
and, for the second half of the truth, beside another busy process.

    python benchmarks/sweeps/threads.py
"""

import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, quartiles, sweeping, write_csv

SIZES = (8, 24, 40)
SWEEPS = 30
ORDERS = {
    "gauss_seidel": ("gauss_seidel", "natural"),
    "colored": ("gauss_seidel", cs.orders.colored()),
    "balanced": ("gauss_seidel", cs.orders.colored("balanced")),
    "ranges": ("gauss_seidel", cs.orders.ranges()),
    "jacobi": ("jacobi", "natural"),
    "jacobi, 800 subtasks": ("jacobi", cs.orders.subtasks(count=100)),  # S1 section 6.3
    "jacobi, extreme": ("jacobi", cs.orders.extreme()),  # section 6.1
}


def tasks_of(problem, dtype):
    tasks = {}
    for name, (method, order) in ORDERS.items():
        for threads in (1,) if name == "gauss_seidel" else (1, 2):
            solver = sweeping(
                problem, SWEEPS, method=method, order=order, dtype=dtype, threads=threads
            )
            tasks[name, threads] = lambda solver=solver: solver.solve().sweep_time
    return tasks


def main():
    rows = []
    for size in SIZES:
        problem = cs.scenarios.ball_grid(size)
        for dtype in ("float64", "float32"):
            seconds = interleaved(tasks_of(problem, dtype))
            for (name, threads), values in seconds.items():
                per = 1e9 / problem.contacts / SWEEPS
                row = {
                    "case": f"ball_grid {size}^3",
                    "dtype": dtype,
                    "order": name,
                    "threads": threads,
                    **{f"ns_{k}": v * per for k, v in quartiles(values).items()},
                    "speedup": float(np.median(seconds[name, 1] / values)),
                }
                rows.append(row)
                print(
                    f"{row['case']:16} {dtype:8} {name:20} {threads} thread"
                    f"{'s' if threads > 1 else ' '} {row['ns_median']:6.1f} ns, "
                    f"{row['speedup']:.2f} x one thread"
                )
    print(write_csv("threads", rows))


if __name__ == "__main__":
    main()
