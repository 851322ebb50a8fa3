"""One sweep: nanoseconds per contact of ours, of Numba, of S1, and what limits it.

Factorized Gauss-Seidel over ball grids with a fixed ground, 3-row contacts, one thread unless said:
scalar in natural order; in batches over colours, with any J and compressed, for each instruction
set of the machine; and S1's algorithm (w = M^-1 J^T lambda, J and M^-1 J^T stored) as one writes it
with Numba, if that is installed. All runs are short and interleaved and the least of each counts:
other work on the machine slows some of them. Beside the times stand what a core reads from memory
in the same run (STREAM, a sum over 256 MB) and which share of it the sweep makes of the bytes that
it must move.

    python benchmarks/sweep.py [sizes, e.g. 8 24 40 64]
"""

import sys
import time

import numpy as np
from common import interleaved, quartiles, write_csv

import contactsolve as cs
from contactsolve import _core

SIZES = (8, 24, 40)
BODIES_ORDER = "colored"
# S1 section 3.8: sequential Gauss-Seidel, one core of an AMD64, 4-row blocks, ground as a body.
S1 = {8: 1491.0, 24: 1607.0, 40: 1388.0}
STREAM_BYTES = 256 << 20


def sweeps_for(contacts):
    return max(2, 200_000 // contacts)


def solver_of(problem, sweeps, dtype, **options):
    return cs.Solver(
        problem,
        method="gauss_seidel",
        scheme="factorized",
        dtype=dtype,
        rtol=None,
        atol=None,
        max_iterations=sweeps,
        record=(),
        record_every=sweeps,
        check_every=sweeps,
        **{"threads": 1, **options},
    )


def variants(problem, sweeps, dtype):
    """Name → solver."""
    solvers = {"scalar": solver_of(problem, sweeps, dtype, instructions="scalar")}
    for name, runs in cs.info()["instructions"].items():
        if not runs:
            continue
        for compressed in (False, True):
            label = f"{name}, {'compressed' if compressed else 'any J'}"
            solvers[label] = solver_of(
                problem,
                sweeps,
                dtype,
                instructions=name,
                compressed=compressed,
                order=BODIES_ORDER,
            )
    solvers["auto, 2 threads"] = solver_of(problem, sweeps, dtype, order=BODIES_ORDER, threads=2)
    return solvers


def bytes_of(problem, label, dtype):
    """What a sweep must move for a contact: numbers read, lambda and bodies read and written."""
    real = 4 if dtype == "float32" else 8
    factors = 12 if "any J" not in label and label != "scalar" else 36
    bodies = 8 * problem.bodies_count / problem.contacts
    return real * (factors + 3 + 3 + 1 + 2 * 3 + 2 * bodies) + 8


def numba_sweep(problem, sweeps, dtype):
    """S1 Fig. 3.6 as one writes it with Numba, or None without Numba."""
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(fastmath=False)
    def run(J, columns, bodies, b, r, mu, w, lam, sweeps):
        for _ in range(sweeps):
            for k in range(len(b)):
                i, j = bodies[k, 0], bodies[k, 1]
                z0, z1, z2 = b[k, 0], b[k, 1], b[k, 2]
                for c in range(6):
                    z0 += J[k, 0, 0, c] * w[i, c] + J[k, 1, 0, c] * w[j, c]
                    z1 += J[k, 0, 1, c] * w[i, c] + J[k, 1, 1, c] * w[j, c]
                    z2 += J[k, 0, 2, c] * w[i, c] + J[k, 1, 2, c] * w[j, c]
                z0 = max(lam[k, 0] - r[k, 0] * z0, 0)
                z1, z2 = lam[k, 1] - r[k, 1] * z1, lam[k, 2] - r[k, 2] * z2
                bound, length = mu[k] * z0, np.sqrt(z1 * z1 + z2 * z2)
                if length > bound:
                    z1, z2 = z1 * bound / length, z2 * bound / length
                d0, d1, d2 = z0 - lam[k, 0], z1 - lam[k, 1], z2 - lam[k, 2]
                lam[k, 0], lam[k, 1], lam[k, 2] = z0, z1, z2
                for c in range(6):
                    w[i, c] += (
                        columns[k, 0, 0, c] * d0
                        + columns[k, 0, 1, c] * d1
                        + columns[k, 0, 2, c] * d2
                    )
                    w[j, c] += (
                        columns[k, 1, 0, c] * d0
                        + columns[k, 1, 1, c] * d1
                        + columns[k, 1, 2, c] * d2
                    )

    J = problem.J.astype(dtype)
    masses = np.concatenate([problem.Minv, np.zeros((1, *problem.Minv.shape[1:]))])
    if masses.ndim == 2:
        masses = masses[:, :, None] * np.eye(6)
    bodies = np.where(problem.bodies < 0, problem.bodies_count, problem.bodies)
    columns = np.einsum("kscd,ksmd->ksmc", masses[bodies], problem.J).astype(dtype)
    diagonal = np.einsum("ksmc,ksmc->km", J, columns)
    tangential = diagonal[:, 1:].max(axis=1)
    r = (1.0 / np.stack([diagonal[:, 0], tangential, tangential], axis=1)).astype(dtype)
    b, mu = problem.b.astype(dtype), np.broadcast_to(problem.mu, len(J)).astype(dtype)
    w, lam = np.zeros((problem.bodies_count + 1, 6), dtype), np.zeros_like(b)

    def task():
        w[:], lam[:] = 0, 0
        start = time.perf_counter()
        run(J, columns, bodies, b, r, mu, w, lam, sweeps)
        return time.perf_counter() - start

    return task


def measure(size, dtype):
    problem = cs.scenarios.ball_grid(size)
    sweeps = sweeps_for(problem.contacts)
    solvers = variants(problem, sweeps, dtype)
    tasks = {name: lambda s=s: s.solve().time for name, s in solvers.items()}
    numba = numba_sweep(problem, sweeps, dtype)
    if numba:
        tasks["numba"] = numba
    tasks["stream"] = lambda: _core.stream(STREAM_BYTES)
    seconds = interleaved(tasks, 25 if size < 64 else 9)
    bandwidth = STREAM_BYTES / seconds.pop("stream").min()
    per = 1e9 / problem.contacts / sweeps
    for name, values in seconds.items():
        best = values.min() * per
        moved = bytes_of(problem, name, dtype)
        row = {
            "case": f"ball_grid {size}^3",
            "contacts": problem.contacts,
            "dtype": dtype,
            "sweep": name,
            "kernel": solvers[name].info["kernel"] if name in solvers else "numba",
            "ns_least": best,
            **{f"ns_{k}": v * per for k, v in quartiles(values).items()},
            "of_scalar": float(seconds["scalar"].min() / values.min()),
            "of_numba": float(seconds["numba"].min() / values.min()) if numba else np.nan,
            "of_s1": S1.get(size, np.nan) / best,
            "bytes": moved if name in solvers else np.nan,
            "stream_gbs": bandwidth / 1e9,
            "share_of_stream": moved / best * 1e9 / bandwidth if name in solvers else np.nan,
            "setup_sweeps": (
                solvers[name].info["setup_seconds"] / values.min() * sweeps
                if name in solvers
                else np.nan
            ),
        }
        print(
            f"{row['case']:15} {dtype} {name:22} {best:6.1f} ns, {row['of_scalar']:.2f} x scalar, "
            f"{row['of_numba']:.2f} x numba, {row['of_s1']:.0f} x S1, "
            f"{row['share_of_stream']:.0%} of {row['stream_gbs']:.0f} GB/s, "
            f"set-up {row['setup_sweeps']:.0f} sweeps"
        )
        yield row


def main():
    sizes = [int(word) for word in sys.argv[1:]] or SIZES
    rows = [
        row for size in sizes for dtype in ("float64", "float32") for row in measure(size, dtype)
    ]
    print(write_csv("sweep", rows))


if __name__ == "__main__":
    main()
