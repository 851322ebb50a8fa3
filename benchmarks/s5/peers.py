"""Products beside the memory that limits them and SciPy's; solves by other preconditioners.

s5_bandwidth.csv  bytes of a product over its time, what loops read and write in as many bytes, and
                  SciPy's product of the same blocks (bsr, both triangles, one thread)
s5_peers.csv      solves to a true residual of 1e-6: each preconditioner of the library; if they are
                  installed, pyamg's smoothed aggregation with the six rigid modes, and PETSc's
                  preconditioners on as many ranks as there are cores

All times are means of three runs in turns; those of the loops are the least ones.

    python benchmarks/s5/peers.py [--quick] [s5_bandwidth s5_peers]
"""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from output import publish
from protocol import (
    MIXED,
    MOST,
    PARTS_OF_THREADS,
    PRECISIONS,
    RTOL,
    SEED,
    SINGLE,
    application,
    arguments,
    in_turns,
    interleaved,
    meshes,
    operators,
    petsc,
    system_of,
    true_residual,
)

import contactsolve as cs
from contactsolve import _core

TABLES = ("s5_bandwidth", "s5_peers")
PASSES = 10  # of a loop
OPERATIONS = 18  # of a block times a vector


# ---- the memory ----------------------------------------------------------------------------------


def adding(size, threads):
    """A task: seconds in which threads add two arrays into a third one, `size` bytes in all.

    The traffic of STREAM's triad, whose loop NumPy lacks. Bytes are counted as STREAM does: without
    what a processor reads before it writes.
    """
    count = max(1, size // (3 * 8 * threads))
    arrays = [tuple(np.ones(count) for _ in range(3)) for _ in range(threads)]
    pool = ThreadPoolExecutor(threads)

    def add(own):
        for _ in range(PASSES):
            np.add(own[0], own[1], out=own[2])

    def task():
        begun = time.perf_counter()
        list(pool.map(add, arrays))
        return (time.perf_counter() - begun) / PASSES

    return task


def rows_of_bandwidth(run, system):
    """A row for each precision and number of threads: one, and all cores."""
    for dtype in PRECISIONS:
        own, theirs = operators(system, PARTS_OF_THREADS, dtype), system.matrix.astype(dtype)
        vector = np.ones(theirs.shape[0], dtype)
        size, numbers = own.A.info["bytes"], sorted({1, run.cores})
        tasks = {("scipy", 1): lambda theirs=theirs, vector=vector: timed(theirs, vector, run)}
        for n in numbers:
            tasks["spmv", n] = application(own.A, run, n)
            tasks["pc", n] = application(own.M, run, n)
            tasks["read", n] = lambda n=n, size=size: _core.stream(size, n)
            tasks["add", n] = adding(size, n)
        seconds = interleaved(tasks, run.runs)
        for n in numbers:
            spmv, pc = (float(seconds[name, n].mean()) for name in ("spmv", "pc"))
            read, add = (float(seconds[name, n].min()) for name in ("read", "add"))
            rate = OPERATIONS * theirs.indices.size / spmv
            yield {
                "dtype": dtype,
                "parts": PARTS_OF_THREADS,
                "threads": n,
                "kernel": own.A.info["kernel"],
                "megabytes": size / 1e6,
                "spmv_s": spmv,
                "spmv_gbs": size / spmv / 1e9,
                "pc_s": pc,
                "pc_gbs": own.M.info["bytes"] / pc / 1e9,
                "read_gbs": size / read / 1e9,
                "add_gbs": size / add / 1e9,
                "read_share": read / spmv,
                "add_share": add / spmv,
                # The peak of a vector of floats is twice that of one of doubles.
                "peak_share": rate / (n * _core.multiply() * (2 if dtype == SINGLE else 1)),
                "scipy_s": float(seconds["scipy", 1].mean()) if n == 1 else None,
            }


def timed(matrix, vector, run):
    """Seconds of a product by SciPy, one of many."""
    count = max(1, run.applications // 10)
    begun = time.perf_counter()
    for _ in range(count):
        matrix.dot(vector)
    return (time.perf_counter() - begun) / count


# ---- other preconditioners -----------------------------------------------------------------------


def by_kind(system, A, kind, run):
    """A task: set-up and solve by a preconditioner of the library, in single precision."""

    def task():
        begun = time.perf_counter()
        M = cs.sparse.Preconditioner(A, kind, dtype=SINGLE, positions=system.positions)
        ready = time.perf_counter()
        result = cs.sparse.cg(
            A, system.right, rtol=RTOL, M=M, dtype=MIXED, maxiter=MOST, threads=run.cores
        )
        return {
            "name": kind,
            "dtype": MIXED,
            "threads": run.cores,
            "status": result.status,
            "iterations": result.iterations,
            "set_up_s": ready - begun,
            "solve_s": result.seconds,
            "residual": true_residual(system, result.x),
        }

    return task


def by_pyamg(system):
    """A task: conjugate gradients by pyamg's smoothed aggregation, with block Gauss-Seidel."""
    import pyamg  # noqa: F401 (missing: before anything is timed)

    def task():
        begun = time.perf_counter()
        levels = meshes.smoothed_aggregation(system.matrix, system.positions)
        ready = time.perf_counter()
        history = []
        x, info = levels.solve(
            system.right, tol=RTOL, maxiter=MOST, accel="cg", residuals=history, return_info=True
        )
        return {
            "name": "pyamg, smoothed aggregation",
            "dtype": "float64",
            "threads": 1,
            "status": "max_iterations" if info else "converged",
            "iterations": len(history) - 1,
            "set_up_s": ready - begun,
            "solve_s": time.perf_counter() - ready,
            "residual": true_residual(system, x),
            "complexity": float(levels.operator_complexity()),
        }

    return task


def rows_of_petsc(run, system, noise):
    """A row for each of PETSc's preconditioners: means of runs, each with all of them."""
    ranks = run.cores
    runs = [
        petsc.solves(system.matrix, system.right, system.positions, RTOL, ranks)
        for _ in range(run.runs)
    ]
    others = petsc.solves(system.matrix, noise, system.positions, RTOL, ranks)["solves"]
    for n, first in enumerate(runs[0]["solves"]):
        set_up, solve = (
            float(np.mean([told["solves"][n][key] for told in runs]))
            for key in ("set_up_s", "solve_s")
        )
        yield {
            **first,
            "name": f"PETSc, {first['name']}",
            "dtype": "float64",
            "threads": ranks,
            "set_up_s": set_up,
            "solve_s": solve,
            "both_s": set_up + solve,
            "product_s": float(np.mean([told["product_s"] for told in runs])),
            "iterations_random": others[n]["iterations"],
        }


def rows_of_peers(run, system):
    """A row for each preconditioner: ours, pyamg's, PETSc's."""
    A = cs.sparse.SymmetricBlocks(system.matrix, PARTS_OF_THREADS)
    noise = np.random.default_rng(SEED).standard_normal(A.shape[0])
    tasks, others = (
        {kind: by_kind(given, A, kind, run) for kind in sorted(cs.sparse.preconditioners())}
        for given in (system, system._replace(right=noise))
    )
    try:
        tasks["pyamg"] = by_pyamg(system)
        others["pyamg"] = by_pyamg(system._replace(right=noise))
    except ImportError:
        print("pyamg is not installed: its row is left out")
    for key, row in in_turns(tasks, run).items():
        count = others[key]()["iterations"]
        yield {**row, "both_s": row["set_up_s"] + row["solve_s"], "iterations_random": count}
    missing = petsc.why_not()
    if missing:
        print(f"PETSc is not measured: {missing}")
    else:
        yield from rows_of_petsc(run, system, noise)


def main(run):
    system = system_of(run)
    if run.makes("s5_bandwidth"):
        publish(run, "s5_bandwidth", list(rows_of_bandwidth(run, system)))
    if run.makes("s5_peers"):
        publish(run, "s5_peers", list(rows_of_peers(run, system)))


if __name__ == "__main__":
    main(arguments(__doc__, TABLES))
