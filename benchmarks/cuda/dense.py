"""Full matrices on a device: JOR and full SOR by every way of launching them, against the goals.

For each number of rows n: microseconds of an iteration by a launch for each step, by a graph, and
with T on the chip; of full SOR, per contact as well; and of S2's JOR by cuBLAS and a kernel for the
prox. A solve makes so many of them that its calls, which the driver makes longer and longer, and
the wait for the end of each are a few hundredths of what one takes. Bytes of T a second are
compared with the device's copies (read and write) of the same run. Each goal is printed, with
whether it is reached. Writes cuda_dense.csv.

    python benchmarks/cuda/dense.py [--rows 300,1200,3000,6000,13200] [--repeats 7] [--seconds 110]

Only what a goal or a table needs is measured (CASES). A size that would take longer than what is
left of the seconds, by the time of the one before it, is left out, and its goals are told as not
measured. Without a GPU it says so; ``--device cuda-emulated`` runs the kernels on the processor,
for tests: its times say nothing.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from common import devices, interleaved, on_a_line, sweeping, write_csv
from goals import Goal, copy_rate, told

ROWS = (300, 1200, 3000, 6000, 13200)
SEED, MU = 5, 0.5
WAYS = ("launches", "graph", "on_chip")
# Of an H100, measured by hand: a node of a graph, with a block for each multiprocessor, and a
# barrier of all of them.
NODE_US, BARRIER_US = 0.92, 1.04


def cases_of(rows):
    """What is measured in each precision."""
    everything = (*WAYS, "cublas", "full_sor")
    if rows <= 6000:
        return {"float32": everything, "float64": everything}
    return {"float32": ("graph", "full_sor"), "float64": ("graph",)}


def iterations_of(rows, name, most):
    """Of a solve that takes some 50 ms."""
    long = {300: 16384, 1200: 16384, 3000: 8192, 6000: 1024, 13200: 256}
    own = next((count for size, count in long.items() if rows <= size), 64)
    return min(max(own // 16, 32) if name == "full_sor" else own, most)


def goal(rows, dtype, key, limit, *, at_least=False):
    return Goal({"rows": rows, "dtype": dtype}, key, limit, at_least)


GOALS = (
    goal(300, "float32", "graph_us", 1.6 * NODE_US),
    goal(1200, "float32", "on_chip_us", 2 * BARRIER_US),
    goal(6000, "float32", "graph_share", 0.95, at_least=True),
    goal(6000, "float64", "graph_share", 0.95, at_least=True),
    goal(13200, "float32", "graph_share", 0.95, at_least=True),
    goal(13200, "float64", "graph_share", 0.95, at_least=True),
    goal(6000, "float32", "cublas_over_graph", 1.08, at_least=True),
    goal(3000, "float32", "graph_over_on_chip", 2.0, at_least=True),
    goal(6000, "float32", "on_chip_share", 1.15, at_least=True),
    goal(13200, "float32", "full_sor_ns_per_contact", 250.0),
)


def random_problem(rows):
    """A is random and symmetric, and larger on the diagonal than in the rest of the row."""
    rng = np.random.default_rng((SEED, rows))
    A = rng.uniform(-1, 1, (rows, rows))
    A = (A + A.T) / 2
    np.fill_diagonal(A, 0)
    np.fill_diagonal(A, np.abs(A).sum(axis=1) + 1)
    return A, rng.uniform(-1, 1, (rows // 3, 3))


def by_cublas(A, c, dtype, device, iterations):
    """Seconds of the iterations of S2's kernels, T and d being those of the solvers."""
    diagonal = A.diagonal().reshape(-1, 3).copy()
    diagonal[:, 1:] = diagonal[:, 1:].max(axis=1, keepdims=True)  # S2 eqs. 4.42, 4.43
    factor = 1 / diagonal.reshape(-1, 1)
    T = (np.eye(len(A)) - factor * A).astype(dtype)
    d = (-factor[:, 0] * c.ravel()).astype(dtype)

    def seconds():
        done = cs.cuda.iterate_dense(
            T, d, MU, kernel="gemv+prox", iterations=iterations, device=device
        )
        return done.seconds["iteration"]

    return seconds


def by_solver(problem, name, dtype, device, iterations):
    """The same of a solver's sweeps."""
    options = {"scheme": "dense", "r_factor": "diagonal", "dtype": dtype, "device": device}
    if name == "full_sor":
        solver = sweeping(problem, iterations, order="natural", **options)
    else:
        solver = sweeping(problem, iterations, method="jacobi", device_sweeps=name, **options)
    return lambda: solver.solve().sweep_time


def row_of(problem, A, c, dtype, given, copy):
    """Figures of one size and precision; None: not measured."""
    rows, device, most = len(A), given.device, given.iterations
    counts = {name: iterations_of(rows, name, most) for name in cases_of(rows)[dtype]}
    tasks = {
        name: by_cublas(A, c, dtype, device, count)
        if name == "cublas"
        else by_solver(problem, name, dtype, device, count)
        for name, count in counts.items()
    }
    times = interleaved(tasks, given.repeats)
    seconds = {name: float(np.median(each)) / counts[name] for name, each in times.items()}

    def over(name, other):
        return seconds[name] / seconds[other] if {name, other} <= seconds.keys() else None

    megabytes = rows * rows * np.dtype(dtype).itemsize / 1e6
    jor = (*WAYS, "cublas")
    sor = seconds.get("full_sor")
    return {
        "rows": rows,
        "dtype": dtype,
        "device": devices.named(device),
        "megabytes": megabytes,
        "copy_gbs": copy,
        **{
            f"{name}_us": 1e6 * seconds[name] if name in seconds else None
            for name in (*WAYS, "full_sor", "cublas")
        },
        **{
            f"{name}_share": megabytes / seconds[name] / 1e3 / copy if name in seconds else None
            for name in jor
        },
        "cublas_over_graph": over("cublas", "graph"),
        "graph_over_on_chip": over("graph", "on_chip"),
        "full_sor_ns_per_contact": 3e9 * sor / rows if sor else None,
    }


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=lambda text: tuple(map(int, text.split(","))), default=ROWS, help="of T"
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=16384, help="at most, of a solve")
    parser.add_argument("--seconds", type=float, default=110.0, help="for all sizes")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    devices.add_option(parser)
    given = parser.parse_args(argv)
    if given.device is None:
        parser.exit(message=f"no GPU: {cs.cuda.why_not()}\n")
    copy, rows = copy_rate(given.device), []
    end, spent, before = time.monotonic() + given.seconds, 0.0, 0
    for size in given.rows:
        # Time grows with the square of n, but for launches.
        start = time.monotonic()
        if before and start + spent * (size / before) ** 2 > end:
            print(f"{size} rows are left out: too little time")
            continue
        A, c = random_problem(size)
        problem = cs.Problem.from_delassus(A, c, MU)
        for dtype in cases_of(size):
            rows.append(row_of(problem, A, c, dtype, given, copy))
            print(on_a_line(rows[-1]), flush=True)
        spent, before = time.monotonic() - start, size
    print(*told(GOALS, rows), sep="\n")
    print(write_csv("cuda_dense", rows, given.results))


if __name__ == "__main__":
    main()
