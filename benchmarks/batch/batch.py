"""Many small problems: `cs.solve_batch` against a loop of solves, a Numba loop and a GPU.

Problems as a robot or a controller has them: five bodies, 10 to 20 contacts at random places, a
sixth of them with the ground; 50 Gauss-Seidel sweeps each. `ms` is the median of runs in turn,
set-up included, from arrays (in "solves" and "objects" from problems) to impulses; `cpu_ms` is what
the process took of its processors, which other processes disturb less; `rate` is millions of
contact iterations (contacts times sweeps) a millisecond of `ms`.

    python benchmarks/batch/batch.py
    python benchmarks/batch/batch.py --most 65536

The Numba loop makes the same visits over J and M⁻¹Jᵀ, which NumPy multiplies before; it needs
Numba. Columns of a GPU need one, and are left out elsewhere.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, write_csv

BODIES, LEAST, MOST, SWEEPS, MU = 5, 10, 20, 50, 0.5
SIZES = (1, 16, 256, 4096, 65536)
OPTIONS = {"rtol": None, "atol": None, "max_iterations": SWEEPS}
ALONE = {"method": "gauss_seidel", "order": "natural", "scheme": "factorized", "record": ()}


def problems(count, seed=0):
    """Stacked arrays of so many problems: J, Minv, b, bodies and contacts."""
    rng = np.random.default_rng(seed)
    contacts = rng.integers(LEAST, MOST + 1, count)
    first = rng.integers(0, BODIES, (count, MOST))
    second = rng.integers(-1, BODIES, (count, MOST))
    second[second == first] = -1

    # Contact frames, and lever arms of both bodies.
    normal = rng.normal(size=(count, MOST, 3))
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    tangent = np.cross(normal, np.roll(normal, 1, axis=-1))
    tangent /= np.linalg.norm(tangent, axis=-1, keepdims=True)
    frame = np.stack([normal, tangent, np.cross(normal, tangent)], axis=2)
    arms = rng.uniform(-0.5, 0.5, (2, count, MOST, 1, 3))
    J = np.empty((count, MOST, 2, 3, 6))
    for side, sign in enumerate((-1.0, 1.0)):
        J[:, :, side, :, :3] = sign * frame
        J[:, :, side, :, 3:] = sign * np.cross(arms[side], frame)
    Minv = np.tile([1.0] * 3 + [10.0] * 3, (count, BODIES, 1))
    b = rng.uniform(-0.2, 0.0, (count, MOST, 3))
    b[..., 1:] += 0.1
    return J, Minv, b, np.stack([first, second], axis=-1), contacts


def objects(J, Minv, b, bodies, contacts):
    return [
        cs.Problem(J[i, :k], Minv[i], b[i, :k], MU, bodies=bodies[i, :k])
        for i, k in enumerate(contacts)
    ]


def by_solves(listed):
    for one in listed:
        cs.solve(one, **ALONE, **OPTIONS)


def by_batch(arrays, **options):
    J, Minv, b, bodies, contacts = arrays
    cs.solve_batch(J, Minv, b, MU, bodies=bodies, contacts=contacts, **OPTIONS, **options)


def by_objects(listed, **options):
    cs.solve_batch(listed, **OPTIONS, **options)


def numba_loop(parallel):
    """A function of the arrays as one writes it with Numba; None without Numba."""
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(parallel=parallel, error_model="numpy")
    def sweep(J, W, r, b, bodies, contacts, sweeps, mu, lam):
        for p in numba.prange(len(J)):
            u = np.zeros((BODIES + 1, 6))
            for _ in range(sweeps):
                for k in range(contacts[p]):
                    i, j = bodies[p, k, 0], bodies[p, k, 1]
                    z = np.empty(3)
                    for a in range(3):
                        xi = b[p, k, a]
                        for c in range(6):
                            xi += J[p, k, 0, a, c] * u[i, c] + J[p, k, 1, a, c] * u[j, c]
                        z[a] = lam[p, k, a] - r[p, k, a] * xi
                    z[0] = max(z[0], 0.0)
                    size, bound = np.sqrt(z[1] ** 2 + z[2] ** 2), mu * z[0]
                    if size > bound:
                        z[1] *= bound / size
                        z[2] *= bound / size
                    for a in range(3):
                        change = z[a] - lam[p, k, a]
                        lam[p, k, a] = z[a]
                        for c in range(6):
                            u[i, c] += W[p, k, 0, a, c] * change
                            if j >= 0:
                                u[j, c] += W[p, k, 1, a, c] * change

    def run(arrays):
        J, Minv, b, bodies, contacts = arrays
        J = J.copy()
        J[..., 1, :, :][bodies[..., 1] < 0] = 0
        own = np.take_along_axis(Minv[:, None], np.maximum(bodies, 0)[..., None], axis=2)
        W = J * own[:, :, :, None]
        diagonal = np.einsum("pksac,pksac->pka", J, W)
        diagonal[..., 1:] = diagonal[..., 1:].max(axis=-1, keepdims=True)
        lam = np.zeros_like(b)
        sweep(J, W, 1 / diagonal, b, bodies, contacts, SWEEPS, MU, lam)

    return run


def tasks_of(arrays, listed):
    """Each way to solve them, by name."""
    found = {
        "solves": partial(by_solves, listed),
        "batch, objects": partial(by_objects, listed, threads=1),
        "batch": partial(by_batch, arrays, threads=1),
        "batch, threads": partial(by_batch, arrays),
        "batch, float32": partial(by_batch, arrays, threads=1, dtype="float32"),
    }
    for name, parallel in (("numba", False), ("numba, threads", True)):
        run = numba_loop(parallel)
        if run:
            found[name] = partial(run, arrays)
    if cs.cuda.available():
        for dtype in ("float32", "float64"):
            for per in ("thread", "half_warp", "warp"):
                options = {"device": "cuda", "per": per, "dtype": dtype}
                found[f"cuda, {per}, {dtype}"] = partial(by_batch, arrays, **options)
    return found


def rows_of(count, repeats):
    arrays = problems(count)
    visits = int(arrays[-1].sum()) * SWEEPS
    tasks = tasks_of(arrays, objects(*arrays))
    processor = {name: [] for name in tasks}

    def timed(name):
        before, start = time.process_time(), time.perf_counter()
        tasks[name]()
        seconds = time.perf_counter() - start
        processor[name].append(time.process_time() - before)
        return seconds

    timed_tasks = {name: partial(timed, name) for name in tasks}
    for name, seconds in interleaved(timed_tasks, repeats=repeats).items():
        middle = float(np.median(seconds))
        yield {
            "problems": count,
            "way": name,
            "ms": 1e3 * middle,
            "cpu_ms": 1e3 * float(np.median(processor[name])),
            "rate": visits / middle / 1e9,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=4096, help="most problems at once")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    rows = []
    for count in SIZES:
        if count > given.most:
            continue
        for row in rows_of(count, given.repeats):
            rows.append(row)
            print(
                f"{row['problems']:6} {row['way']:24} {row['ms']:10.3f} ms, "
                f"{row['cpu_ms']:10.3f} of processors, {row['rate']:.4f} M contact iterations a ms",
                flush=True,
            )
    print(write_csv("batch", rows))


if __name__ == "__main__":
    main()
