"""S5's benchmark of its numerics: the sheet, and how kernels and solves are timed.

A flat sheet of 91,200 vertices is stretched by 1.05 in its plane and released without gravity; one
implicit Euler step of 1/30 s is solved until the residual is 1e-6 of what it was. S5 gives neither
the material nor the mesh nor the length of its steps: these are ours.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import published

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import ROOT, interleaved, meshes, pages, petsc  # noqa: F401 (for others)

# What S5 leaves open, our choice: the sheet of all benchmarks of cloth, in one step.
STEP = published.SECONDS
RTOL = published.TOLERANCES[0]

# S5's number of partitions, and that of our table of threads, the default of the library.
PARTS, PARTS_OF_THREADS = published.PARTITIONS, 8
SINGLE, DOUBLE, MIXED = "float32", "float64", "mixed"
PRECISIONS = (SINGLE, DOUBLE)
SSOR = "block_ssor"  # of a matrix in one part: the sequential SSOR
SEED = 0
MOST = 20_000  # iterations of a solve


class Run(NamedTuple):
    """How much a script does, from its command line."""

    results: Path
    sheet: tuple[int, int] = (300, 304)
    cores: int = common.cores()
    runs: int = 3  # of which S5 reports the mean
    applications: int = 100  # of one run
    threads: tuple[int, ...] = tuple(range(1, 9))
    parts: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    tables: tuple[str, ...] = ()  # of the script; none: all
    seconds: float | None = None  # of each simulated scene, at most; None: all
    scene: str | None = None  # measured alone; None: all

    @property
    def team(self) -> int:
        """Threads of the parallel case: no more than parts."""
        return min(self.cores, PARTS)

    def makes(self, *tables):
        """Whether one of these tables is asked for."""
        return not self.tables or bool(set(tables) & set(self.tables))


def quick_of(run, results):
    """The same in seconds: does all work?"""
    return run._replace(
        results=results, sheet=(20, 21), runs=1, applications=2, threads=(1, 2, 64), parts=(1, 4),
        seconds=0.012,
    )  # fmt: skip


def arguments(description, tables, argv=None, scenes=()):
    """Read the command line that all scripts share.

    `tables`: those that the script writes; `scenes`: those of which it can measure one alone.
    """
    parser = argparse.ArgumentParser(
        description=description.split("\n")[0],
        epilog=(
            "Results go to benchmarks/results/<machine>/s5, with --quick or --seconds to "
            "build/benchmarks."
        ),
    )
    known = ", ".join(tables)
    parser.add_argument("tables", nargs="*", metavar="table", help=f"of {known}; default: all")
    parser.add_argument("--quick", action="store_true", help="a small sheet: does all work?")
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="simulate only so much of each scene [s]"
    )
    parser.add_argument("--runs", type=int, metavar="N", help="runs that means are of (default: 3)")
    parser.set_defaults(scene=None)
    if scenes:
        parser.add_argument("--scene", choices=scenes, help="one scene alone; rows of others stay")
    given = parser.parse_args(argv)
    for name in given.tables:
        if name not in tables:
            parser.error(f"argument table: {name!r} is none of {known}")
    aside = ROOT / "build" / "benchmarks" / "s5"
    run = Run(
        common.RESULTS / common.machine() / "s5", tables=tuple(given.tables), scene=given.scene
    )
    run = quick_of(run, aside) if given.quick else run
    run = run if given.runs is None else run._replace(runs=given.runs)
    return run if given.seconds is None else run._replace(seconds=given.seconds, results=aside)


# ---- the system ----------------------------------------------------------------------------------


class System(NamedTuple):
    """A x = b of the step, in double precision, and where the vertices are."""

    matrix: Any
    right: np.ndarray
    positions: np.ndarray


def system_of(run, diagonals="alternating"):
    """The linear system of the step from the stretched sheet at rest."""
    cloth = meshes.stretched_sheet(*run.sheet, published.STRETCH, diagonals, parts=1)
    A, right = cloth.system(STEP)
    return System(A.to_scipy(), right, cloth.positions)


class Operators(NamedTuple):
    """The matrix in parts, and SSOR within them."""

    A: cs.sparse.SymmetricBlocks
    M: cs.sparse.Preconditioner
    given: cs.sparse.SymmetricBlocks  # A in double precision, that of true residuals


def operators(system, parts, dtype, partition="slices"):
    """All in a precision; mixed: the matrix in double, the preconditioner in single precision."""
    A = given = cs.sparse.SymmetricBlocks(system.matrix, parts, partition)
    if dtype == SINGLE:
        A = cs.sparse.SymmetricBlocks(system.matrix, parts, partition, SINGLE)
    M = cs.sparse.Preconditioner(given, SSOR, dtype=DOUBLE if dtype == DOUBLE else SINGLE)
    return Operators(A, M, given)


# ---- time ----------------------------------------------------------------------------------------


def application(operator, run, threads):
    """A task of `interleaved`: the seconds of an application, one of many."""
    vector = np.random.default_rng(SEED).standard_normal(operator.shape[0])
    vector = vector.astype(operator.dtype)

    def task():
        begun = time.perf_counter()
        for _ in range(run.applications):
            operator.matvec(vector, threads=threads)
        return (time.perf_counter() - begun) / run.applications

    return task


def means(tasks, run):
    """Mean seconds of each task, of runs in turns."""
    return {key: float(np.mean(t)) for key, t in interleaved(tasks, run.runs).items()}


def means_and_spreads(tasks, run):
    """The same, and how far runs are apart, over their mean."""
    seconds = interleaved(tasks, run.runs)
    return (
        {key: float(np.mean(t)) for key, t in seconds.items()},
        {key: float(np.ptp(t) / np.mean(t)) for key, t in seconds.items()},
    )


def in_turns(tasks, run):
    """Means of the figures that tasks return, of runs in turns; other values are the last ones."""
    made = {key: [] for key in tasks}
    for _ in range(run.runs):
        for key, task in tasks.items():
            made[key].append(task())
    return {key: mean_of(rows) for key, rows in made.items()}


def mean_of(rows):
    return {
        key: float(np.mean([row[key] for row in rows])) if isinstance(value, float) else value
        for key, value in rows[-1].items()
    }


# ---- solves --------------------------------------------------------------------------------------


def true_residual(system, x):
    """|b − A x| over |b|, in double precision."""
    left = system.matrix @ x.astype(np.float64).ravel()
    return meshes.norm(system.right - left) / meshes.norm(system.right)


def solve(system, own, dtype, threads):
    """The library's conjugate gradients: Eisenstat's product, stopped by the true residual."""
    result = cs.sparse.cg(
        own.given, system.right, rtol=RTOL, M=own.M, dtype=dtype, maxiter=MOST, threads=threads
    )
    return {
        "status": result.status,
        "iterations": result.iterations,
        "cg_s": result.seconds,
        "residual": true_residual(system, result.x),
    }


def plain_solve(system, own, threads):
    """S5's conjugate gradients: A and M one after another, stopped by the recurrence's residual.

    The vectors have the precision of A; all but A and M is NumPy's, on one thread.
    """
    spent = dict.fromkeys("AM", 0.0)

    def applied(name, vector):
        begun = time.perf_counter()
        result = getattr(own, name).matvec(vector, threads=threads)
        spent[name] += time.perf_counter() - begun
        return result.astype(vector.dtype, copy=False)

    begun = time.perf_counter()
    x, count = plain_iterations(applied, system.right.astype(own.A.dtype))
    seconds = time.perf_counter() - begun
    return {
        "plain_iterations": count,
        "plain_s": seconds,
        "pc_share": spent["M"] / seconds,
        "spmv_share": spent["A"] / seconds,
        "plain_residual": true_residual(system, x),
    }


def plain_iterations(applied, b):
    """Preconditioned conjugate gradients (S5 section 4); the solution and the iterations."""
    x, r, count = np.zeros_like(b), b.copy(), 0
    p = applied("M", r)
    rho, goal = dot(r, p), RTOL**2 * dot(b, b)
    while dot(r, r) > goal and count < MOST:
        q = applied("A", p)
        step = rho / dot(p, q)
        x += step * p
        r -= step * q
        z = applied("M", r)
        rho, old = dot(r, z), rho
        p *= rho / old
        p += z
        count += 1
    return x, count


def dot(u, v):
    """A dot product without the threads of a BLAS, which would wait beside those of A and M."""
    return float(np.einsum("i,i->", u, v))
