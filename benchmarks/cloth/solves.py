"""Conjugate gradients of a step of cloth: every preconditioner, size and time step (S5 4.3).

The system is that of a sheet of 1 m, stretched by 1.05 and released (S5 4.4: 300 × 304 vertices),
for time steps of 1/30, 1/100 and 1/1000 s, solved until the true residual is 1e-6 of |b|. For each
kind and precision: iterations; seconds of the iteration; of a new preconditioner, and of one that
keeps what depends on the pattern alone (aggregates, orders). `auto` is compared with the best of
them. SciPy's cg and, where it is installed, pyamg's smoothed aggregation solve the same system.
Medians of several solves in turns. Writes cloth_solves.csv, cloth_solve_peers.csv and tells the
goals.

    python benchmarks/cloth/solves.py [--sheets 67x68,150x152,300x304] [--repeats 3]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse.linalg

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import cores, on_a_line, write_csv
from common.meshes import norm, smoothed_aggregation, stretched_sheet

SHEETS = ((67, 68), (150, 152), (300, 304))
STEPS = (1 / 30, 1e-2, 1e-3)
STRETCH, RTOL, MOST = 1.05, 1e-6, 5000
DTYPES = ("float64", "mixed", "float32")
# Without these a solve of the largest sheet takes a minute, or its factor does.
LARGEST = {"none": 5000, "cholesky": 30000}
ITERATION_GOAL = 2.5  # products that an iteration of block_ssor takes, in float32
SOLVE_GOAL, KEPT_GOAL = 0.8, 0.35  # seconds for 91,200 vertices and 1/30 s
AUTO_GOAL = 1.3


def sheet_system(rows, columns, h):
    """The matrix of a step, its right-hand side, and the positions."""
    cloth = stretched_sheet(rows, columns, STRETCH)
    return (*cloth.system(h), cloth.positions)


def fresh(system, kind, dtype, positions):
    """A new preconditioner and its seconds."""
    begin = time.perf_counter()
    single = "float64" if dtype == "float64" else "float32"
    M = cs.sparse.Preconditioner(system, kind, dtype=single, positions=positions)
    return M, time.perf_counter() - begin


def timed_solve(system, b, positions, kind, dtype):
    """One row of times, of a solve with everything."""
    M, made = fresh(system, kind, dtype, positions)
    begin = time.perf_counter()
    M.update(cores())
    updated = time.perf_counter() - begin
    result = cs.sparse.cg(system, b, M=M, dtype=dtype, rtol=RTOL, maxiter=MOST, threads=cores())
    return result, made, updated


def rows_of_kinds(system, b, positions, h, repeats, only):
    """A row for each kind and precision; all of them take turns."""
    vertices, rows = system.shape[0] // 3, []
    kinds = [
        kind
        for kind in cs.sparse.preconditioners()
        if vertices <= LARGEST.get(kind, vertices) and kind in (only or (kind,))
    ]
    seen = {(kind, dtype): [] for kind in kinds for dtype in DTYPES}
    for _ in range(repeats):
        for (kind, dtype), times in seen.items():
            result, made, updated = timed_solve(system, b, positions, kind, dtype)
            times.append((result.seconds, made, updated))
            if len(times) == 1:
                seen_result = {"status": result.status, "iterations": result.iterations}
                rows.append(
                    {
                        "vertices": vertices,
                        "h_s": h,
                        "kind": kind,
                        "dtype": dtype,
                        "threads": cores(),
                        **seen_result,
                        "relative_residual": result.residual / norm(b),
                        "gigabytes": result.bytes / 1e9,
                    }
                )
    for row in rows:
        solve, made, updated = np.median(seen[row["kind"], row["dtype"]], axis=0)
        row |= {"solve_s": solve, "new_s": made, "update_s": updated}
        row |= {"with_new_s": solve + made, "with_update_s": solve + updated}
        print(on_a_line(row), flush=True)
    return rows


def row_of_auto(system, b, positions, h, rows, repeats):
    """What `auto` takes, its set-up included, beside the best kind in the same precision."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = cs.sparse.cg(
            system, b, rtol=RTOL, maxiter=MOST, positions=positions, threads=cores()
        )
        times.append(time.perf_counter() - begin)
    solved = [r for r in rows if r["dtype"] == "mixed" and r["status"] == "converged"]
    best = min(solved, key=lambda r: r["with_new_s"])
    row = {
        "vertices": system.shape[0] // 3,
        "h_s": h,
        "chosen": result.preconditioner.kind,
        "seconds": float(np.median(times)),
        "best": best["kind"],
        "best_s": best["with_new_s"],
    }
    row["over_best"] = row["seconds"] / row["best_s"]
    print(on_a_line(row), flush=True)
    return row


# ---- peers ---------------------------------------------------------------------------------------


def solve_by_scipy(matrix, b, _):
    made = []
    begin = time.perf_counter()
    # The inverses of the diagonal blocks are what SciPy's users would write themselves.
    index = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr)) == matrix.indices
    inverse = np.linalg.inv(matrix.data[index])
    M = scipy.sparse.linalg.LinearOperator(
        matrix.shape, lambda r: np.einsum("nij,nj->ni", inverse, r.reshape(-1, 3)).ravel()
    )
    set_up = time.perf_counter() - begin
    begin = time.perf_counter()
    x, _ = scipy.sparse.linalg.cg(matrix, b, rtol=RTOL, maxiter=MOST, M=M, callback=made.append)
    return x, len(made), set_up, time.perf_counter() - begin


def solve_by_pyamg(matrix, b, positions):
    made = []
    begin = time.perf_counter()
    levels = smoothed_aggregation(matrix, positions)
    set_up = time.perf_counter() - begin
    begin = time.perf_counter()
    x = levels.solve(b, tol=RTOL, accel="cg", maxiter=200, callback=made.append)
    return x, len(made), set_up, time.perf_counter() - begin


def rows_of_peers(system, b, positions, h, repeats):
    """SciPy with block Jacobi; pyamg, if it is installed."""
    matrix, rows = system.to_scipy(), []
    peers = {"scipy": solve_by_scipy}
    try:
        import pyamg  # noqa: F401

        peers["pyamg"] = solve_by_pyamg
    except ImportError:
        pass
    for name, solve in peers.items():
        times = []
        for _ in range(repeats):
            x, iterations, set_up, seconds = solve(matrix, b, positions)
            times.append((set_up, seconds))
        set_up, seconds = np.median(times, axis=0)
        rows.append(
            {
                "vertices": system.shape[0] // 3,
                "h_s": h,
                "peer": name,
                "iterations": iterations,
                "relative_residual": norm(b - matrix @ x) / norm(b),
                "new_s": set_up,
                "solve_s": seconds,
            }
        )
        print(on_a_line(rows[-1]), flush=True)
    return rows


# ---- goals ---------------------------------------------------------------------------------------


def products(system, repeats):
    """Seconds of a product of float32, one thread and all."""
    single = cs.sparse.SymmetricBlocks(system.to_scipy(), dtype="float32")
    x = np.ones(single.shape[0], np.float32)
    times = {1: [], cores(): []}
    for _ in range(10 * repeats):
        for threads, seconds in times.items():
            begin = time.perf_counter()
            single.matvec(x, threads)
            seconds.append(time.perf_counter() - begin)
    return float(np.median(times[cores()]))


def tell(name, value, goal):
    print(f"{name}: {value:.3g}, goal <= {goal}: {'reached' if value <= goal else 'MISSED'}")


def tell_goals(rows, autos, product):
    largest = max(row["vertices"] for row in rows)
    of_largest = [r for r in rows if r["vertices"] == largest and r["h_s"] == STEPS[0]]
    for row in of_largest:
        if (row["kind"], row["dtype"]) == ("block_ssor", "float32"):
            each = row["solve_s"] / max(row["iterations"], 1)
            tell(f"{largest} vertices, products an iteration", each / product, ITERATION_GOAL)
    solved = [r for r in of_largest if r["status"] == "converged"]
    for name, goal in (("with_new_s", SOLVE_GOAL), ("with_update_s", KEPT_GOAL)):
        best = min(solved, key=lambda r: r[name])
        tell(f"{largest} vertices, {best['kind']} {best['dtype']}, {name}", best[name], goal)
    tell("auto over the best", max(r["over_best"] for r in autos), AUTO_GOAL)


def sheets_of(text):
    return [tuple(map(int, each.split("x"))) for each in text.split(",")]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sheets", type=sheets_of, default=SHEETS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kinds", type=lambda text: text.split(","), help="these alone")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    given = parser.parse_args(argv)
    rows, autos, peers = [], [], []
    for sheet in given.sheets:
        for h in STEPS:
            system, b, positions = sheet_system(*sheet, h)
            if h == STEPS[0]:
                product = products(system, given.repeats)
            new = rows_of_kinds(system, b, positions, h, given.repeats, given.kinds)
            rows += new
            autos.append(row_of_auto(system, b, positions, h, new, given.repeats))
            if not given.no_peers:
                peers += rows_of_peers(system, b, positions, h, given.repeats)
            # What is measured is kept if a longer case is stopped.
            write_csv("cloth_solves", rows, given.results)
            write_csv("cloth_solve_auto", autos, given.results)
            if peers:
                print(write_csv("cloth_solve_peers", peers, given.results))
    tell_goals(rows, autos, product)


if __name__ == "__main__":
    main()
