"""Full matrices on a device: JOR and full SOR by every way of launching them, against the goals.

For each number of rows n and precision: microseconds of an iteration by a launch for each step, by
a graph, and with T on the chip; of full SOR, per contact as well; and of S2's JOR by cuBLAS and a
kernel for the prox. Bytes of T a second are compared with the device's copies (read and write) of
the same run. Each goal is printed, with whether it is reached. Writes cuda_dense.csv.

    python benchmarks/cuda/dense.py [--rows 300,1200,3000,6000,13200] [--repeats 20]

Without a GPU it says so; ``--device cuda-emulated`` runs the kernels on the processor, for tests:
its times say nothing.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from common import devices, interleaved, on_a_line, sweeping, write_csv
from goals import Goal, copy_rate, told

ROWS = (300, 1200, 3000, 6000, 13200)
SEED, MU, ITERATIONS = 5, 0.5, 50
WAYS = ("launches", "graph", "on_chip")


def goal(rows, dtype, key, limit, *, at_least=False):
    return Goal({"rows": rows, "dtype": dtype}, key, limit, at_least)


GOALS = (
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


def by_cublas(A, c, dtype, device):
    """Seconds of one iteration of S2's kernels, T and d being those of the solvers."""
    diagonal = A.diagonal().reshape(-1, 3).copy()
    diagonal[:, 1:] = diagonal[:, 1:].max(axis=1, keepdims=True)  # S2 eqs. 4.42, 4.43
    factor = 1 / diagonal.reshape(-1, 1)
    T = (np.eye(len(A)) - factor * A).astype(dtype)
    d = (-factor[:, 0] * c.ravel()).astype(dtype)

    def seconds():
        done = cs.cuda.iterate_dense(
            T, d, MU, kernel="gemv+prox", iterations=ITERATIONS, device=device
        )
        return done.seconds["iteration"]

    return seconds


def row_of(rows, dtype, device, copy, repeats):
    """Figures of one size and precision."""
    A, c = random_problem(rows)
    problem = cs.Problem.from_delassus(A, c, MU)
    options = {"scheme": "dense", "r_factor": "diagonal", "dtype": dtype, "device": device}
    solvers = {
        way: sweeping(problem, ITERATIONS, method="jacobi", device_sweeps=way, **options)
        for way in WAYS
    }
    solvers["full_sor"] = sweeping(problem, ITERATIONS, order="natural", **options)
    tasks = {name: lambda s=own: s.solve().sweep_time for name, own in solvers.items()}
    tasks["cublas"] = by_cublas(A, c, dtype, device)
    times = interleaved(tasks, repeats)
    seconds = {name: float(np.median(each)) / ITERATIONS for name, each in times.items()}

    megabytes = rows * rows * np.dtype(dtype).itemsize / 1e6
    shares = {
        f"{name}_share": megabytes / each / 1e3 / copy
        for name, each in seconds.items()
        if name != "full_sor"
    }
    return {
        "rows": rows,
        "dtype": dtype,
        "device": devices.named(device),
        "megabytes": megabytes,
        "copy_gbs": copy,
        **{f"{name}_us": 1e6 * each for name, each in seconds.items()},
        **shares,
        "cublas_over_graph": seconds["cublas"] / seconds["graph"],
        "graph_over_on_chip": seconds["graph"] / seconds["on_chip"],
        "full_sor_ns_per_contact": 3e9 * seconds["full_sor"] / rows,
    }


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=lambda text: tuple(map(int, text.split(","))), default=ROWS, help="of T"
    )
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    devices.add_option(parser)
    given = parser.parse_args(argv)
    if given.device is None:
        parser.exit(message=f"no GPU: {cs.cuda.why_not()}\n")
    copy, rows = copy_rate(given.device), []
    for size in given.rows:
        for dtype in ("float32", "float64"):
            rows.append(row_of(size, dtype, given.device, copy, given.repeats))
            print(on_a_line(rows[-1]), flush=True)
    print(*told(GOALS, rows), sep="\n")
    print(write_csv("cuda_dense", rows, given.results))


if __name__ == "__main__":
    main()
