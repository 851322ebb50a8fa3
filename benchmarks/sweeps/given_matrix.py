"""Sweeps over a given A: nanoseconds per contact of ours and of Numba.

A is given by rows of blocks: problems of FCLIB, and what ball grids and piles assemble to. Ours
visits them in their natural order on one thread, by the scalar loop and in vectors of each
instruction set of the machine. Numba's is the same sweep over SciPy's BSR matrix as one writes it
(blocks row by row, columns in 32 bits), if Numba is installed.

All run interleaved and the least of each counts. Beside the times stand the bytes that a sweep must
read and what that makes a second. Problems that are not measured keep their rows in the CSV, so
that a long measurement can be made piece by piece.

    python benchmarks/sweeps/given_matrix.py [folder or file of FCLIB ...]  # else the shipped ones
    python benchmarks/sweeps/given_matrix.py --scenes                       # grids, pile, pyramid
"""

import argparse
import functools
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, stored, sweeping, write_csv

FOLDERS = (Path(cs.data.__file__).parent,)
SMALLEST = 50  # contacts; below, the time is that of calls
VISITS = 200_000
GOAL = 45.0  # ns per contact at four to five blocks a row


def given(problem):
    """The same problem with its A given, and that A in blocks."""
    A = problem.delassus()
    rows = problem.b.shape[1]
    mu = np.broadcast_to(problem.mu, problem.contacts)
    return cs.Problem.from_delassus(A, problem.b, mu, rows=rows), A, mu


def problems(sources):
    paths = [path for one in sources for path in (sorted(one.glob("*")) if one.is_dir() else [one])]
    for path in paths:
        if path.suffix != ".hdf5":
            continue
        try:
            problem = cs.io.read_fclib(path)
            if problem.contacts >= SMALLEST:
                yield path.stem, *given(problem)
        except (ValueError, NotImplementedError, AttributeError) as error:
            print(f"{path.stem}: left out, {error}")


def scenes():
    for size in (8, 16, 24):
        yield f"ball_grid {size}^3", *given(cs.scenarios.ball_grid(size))
    yield "ball_pile 24^3", *given(cs.scenarios.ball_pile((24, 24, 24)))
    yield "disc_pyramid 60", *given(cs.scenarios.disc_pyramid(60))


@functools.cache
def numba_loop():
    """Gauss-Seidel over a BSR matrix as one writes it with Numba, or None without Numba."""
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(fastmath=False)
    def run(values, columns, starts, b, r, mu, lam, sweeps):
        m = b.shape[1]
        z = np.empty(m, lam.dtype)
        for _ in range(sweeps):
            for k in range(len(b)):
                for i in range(m):
                    z[i] = b[k, i]
                for e in range(starts[k], starts[k + 1]):
                    other = columns[e]
                    for i in range(m):
                        for j in range(m):
                            z[i] += values[e, i, j] * lam[other, j]
                for i in range(m):
                    z[i] = lam[k, i] - r[k, i] * z[i]
                z[0] = max(z[0], 0)
                square = z[1] * z[1]
                if m == 3:
                    square += z[2] * z[2]
                bound = mu[k] * z[0]
                scale = bound / np.sqrt(square) if square > bound * bound else lam.dtype.type(1)
                lam[k, 0] = z[0]
                for i in range(1, m):
                    lam[k, i] = z[i] * scale

    return run


def numba_task(A, b, mu, r, dtype, sweeps):
    """A run of that loop, or None without Numba."""
    run = numba_loop()
    if run is None:
        return None
    values = [part.astype(dtype) for part in (A.data, b, r, mu)]
    columns, starts = A.indices.astype(np.int32), A.indptr.astype(np.int32)
    lam = np.zeros_like(values[1])

    def task():
        lam[:] = 0
        start = time.perf_counter()
        run(values[0], columns, starts, *values[1:], lam, sweeps)
        return time.perf_counter() - start

    return task


def diagonal_steps(A, m):
    """1 / A_ii, the larger of the tangential ones for both."""
    diagonal = A.diagonal().reshape(-1, m).copy()
    diagonal[:, 1:] = diagonal[:, 1:].max(axis=1, keepdims=True)
    return 1.0 / np.where(diagonal > 0, diagonal, np.inf)


def seconds_of(solver, sweeps):
    """Seconds of so many sweeps: a solve ends earlier where impulses are no numbers any more."""
    found = solver.solve()
    return found.sweep_time * sweeps / found.iterations


def bytes_of(problem, blocks, dtype):
    """What a sweep reads for a contact: its row of A, columns, b, r, mu, lambda."""
    m, real = problem.b.shape[1], 4 if dtype == "float32" else 8
    bulk = 8 if dtype == "float64" else 4
    return blocks * (m * m * bulk + 4) + m * bulk + (2 * m + 1) * real + 16


def measure(name, problem, A, mu):
    sweeps, blocks = max(2, VISITS // problem.contacts), len(A.indices) / problem.contacts
    per = 1e9 / problem.contacts / sweeps
    kernels = ["scalar", *(name for name, runs in cs.info()["instructions"].items() if runs)]
    for method in ("gauss_seidel", "jacobi"):
        for dtype in ("float64", "float32", "mixed"):
            own = {"method": method, "scheme": "matrix", "dtype": dtype, "rollback": 0}
            solvers = {k: sweeping(problem, sweeps, instructions=k, **own) for k in kernels}
            tasks = {k: functools.partial(seconds_of, s, sweeps) for k, s in solvers.items()}
            steps = diagonal_steps(A, problem.b.shape[1])
            if method == "gauss_seidel" and dtype != "mixed":
                numba = numba_task(A, problem.b, mu, steps, dtype, sweeps)
                tasks |= {"numba": numba} if numba else {}
            least = {k: v.min() * per for k, v in interleaved(tasks, 9).items()}
            best = least[kernels[-1]]
            moved = bytes_of(problem, blocks, dtype)
            row = {
                "case": name,
                "contacts": problem.contacts,
                "rows": problem.b.shape[1],
                "blocks_a_row": blocks,
                "method": method,
                "dtype": dtype,
                **{f"ns_{k}": least.get(k, np.nan) for k in (*kernels, "numba")},
                "ns_best": best,
                "of_scalar": least["scalar"] / best,
                "of_numba": least.get("numba", np.nan) / best,
                "bytes": moved,
                "gbs": moved / best,
                "setup_sweeps": solvers[kernels[-1]].info["setup_seconds"] * 1e9
                / problem.contacts / best,
            }  # fmt: skip
            times = " ".join(f"{k} {v:5.1f}" for k, v in least.items())
            print(
                f"{name:48} {blocks:5.1f} blocks {method:12} {dtype}: {times} ns, "
                f"{row['gbs']:.1f} GB/s, set-up {row['setup_sweeps']:.0f} sweeps",
                flush=True,
            )
            yield row


def store(rows):
    """Write these rows and, of the CSV, those of other problems."""
    kept = stored("given_matrix")
    measured = {row["case"] for row in rows}
    rows = sorted(
        [row for row in kept if row["case"] not in measured] + rows, key=lambda row: row["case"]
    )
    write_csv("given_matrix", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", type=Path, help="folders or files of FCLIB")
    parser.add_argument("--scenes", action="store_true", help="scenes, assembled, instead")
    arguments = parser.parse_args()
    cases = scenes() if arguments.scenes else problems(arguments.sources or FOLDERS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about matrices as stored
        for case in cases:
            rows = list(measure(*case))
            store(rows)
            if 4 <= rows[0]["blocks_a_row"] <= 5:
                slowest = max(row["ns_best"] for row in rows)
                print(f"at 4 to 5 blocks a row: {slowest:.1f} ns, the goal is {GOAL:.0f}")


if __name__ == "__main__":
    main()
