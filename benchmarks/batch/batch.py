"""Many small problems: `cs.solve_batch` against a loop of solves, a Numba loop and a GPU.

Problems as a robot or a controller has them: five bodies, 10 to 20 contacts at random places, a
sixth of them with the ground; 50 Gauss-Seidel sweeps each. `ms` is the median of runs in turn,
set-up included, from arrays (in "solves" and "objects" from problems) to impulses; `cpu_ms` is what
the process took of its processors, which other processes disturb less; `rate` is millions of
contact iterations (contacts times sweeps) a millisecond of `ms`, and `sweep_rate` of `sweep_ms`,
the sweeps alone. Ways of a device have figures where there is one (`--device`). Goals are those of
`sweep_rate`. Writes batch.csv.

    python benchmarks/batch/batch.py [--sizes 1,16,256,4096] [--repeats 5] [--device cuda]
    python benchmarks/batch/batch.py --sizes 4096,65536 --goals

``--goals`` measures only the ways with compressed contacts in single precision: one thread of the
processor, all of them, and a thread of the device for each problem. The Numba loop makes the same
visits over J and M⁻¹Jᵀ, which NumPy multiplies before; it needs Numba. ``--device cuda-emulated``
runs the kernels on the processor, for tests: its times say nothing.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "cuda"))
from common import devices, interleaved, write_csv
from goals import Goal, told

BODIES, LEAST, MOST, SWEEPS, MU = 5, 10, 20, 50, 0.5
SIZES = (1, 16, 256, 4096)
OPTIONS = {"rtol": None, "atol": None, "max_iterations": SWEEPS}
COMPRESSED = {"dtype": "float32", "compressed": True}
BY_THREAD = "device, thread, float32, compressed"
GOALS = tuple(
    Goal({"problems": count, "way": BY_THREAD}, "sweep_rate", least, at_least=True)
    for count, least in ((4096, 15.0), (65536, 40.0))
)
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
    return cs.solve_batch(J, Minv, b, MU, bodies=bodies, contacts=contacts, **OPTIONS, **options)


def by_objects(listed, **options):
    return cs.solve_batch(listed, **OPTIONS, **options)


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


def device_ways():
    """Options of each way of a device, by its name.

    In double precision, 32 problems of 20 contacts need more shared memory than a block has, unless
    the contacts are compressed.
    """
    return {
        f"device, {per}, {dtype}{', compressed' if compressed else ''}": {
            "per": per,
            "dtype": dtype,
            "compressed": compressed,
        }
        for dtype in ("float32", "float64")
        for compressed in (False, True)
        for per in ("thread", "half_warp", "warp")
        if compressed or dtype == "float32" or per != "thread"
    }


def tasks_of(arrays, device, goals):
    """Each way to solve them, by name; None where there is no device."""
    ways = device_ways()
    found = {
        "batch, float32, compressed": partial(by_batch, arrays, threads=1, **COMPRESSED),
        "batch, threads, float32, compressed": partial(by_batch, arrays, **COMPRESSED),
    }
    if goals:
        ways = {BY_THREAD: ways[BY_THREAD]}
    else:
        listed = objects(*arrays)
        found |= {
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
    for name, options in ways.items():
        found[name] = device and partial(by_batch, arrays, device=device, **options)
    return found


def timed(task, processor, sweeps):
    """A task of `interleaved`: appends the processor's seconds, and those of the sweeps alone."""

    def run():
        before, start = time.process_time(), time.perf_counter()
        result = task()
        seconds = time.perf_counter() - start
        processor.append(time.process_time() - before)
        if isinstance(result, cs.BatchResult):
            sweeps.append(result.info["sweep_seconds"])
        return seconds

    return run


def rows_of(count, repeats, device, goals):
    arrays = problems(count)
    visits = int(arrays[-1].sum()) * SWEEPS
    tasks = tasks_of(arrays, device, goals)
    processor, sweeps = ({name: [] for name in tasks} for _ in range(2))
    known = {
        name: timed(task, processor[name], sweeps[name]) for name, task in tasks.items() if task
    }
    measured = interleaved(known, repeats=repeats)
    for name in tasks:
        row = {"problems": count, "way": name, "device": ""}
        row |= dict.fromkeys(("ms", "cpu_ms", "rate", "sweep_ms", "sweep_rate"))
        if name.startswith("device"):
            row["device"] = devices.named(device)
        if name in measured:
            middle = float(np.median(measured[name]))
            row["ms"] = 1e3 * middle
            row["cpu_ms"] = 1e3 * float(np.median(processor[name][1:]))  # the first run warms up
            row["rate"] = visits / middle / 1e9
        if sweeps[name]:
            middle = float(np.median(sweeps[name][1:]))
            row["sweep_ms"], row["sweep_rate"] = 1e3 * middle, visits / middle / 1e9
        yield row


def sentence(row):
    """What is printed of a row."""
    begin = f"{row['problems']:6} {row['way']:36} "
    if row["ms"] is None:
        return begin + "not measured"
    sweeps = f", {row['sweep_rate']:.4g} of the sweeps alone" if row["sweep_rate"] else ""
    return begin + (
        f"{row['ms']:10.3f} ms, {row['cpu_ms']:10.3f} of processors, "
        f"{row['rate']:.4g} M contact iterations a ms{sweeps}"
    )


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", type=lambda text: tuple(map(int, text.split(","))), default=SIZES
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--goals", action="store_true", help="only what the goals need")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    devices.add_option(parser)
    given = parser.parse_args(argv)
    rows = []
    for count in given.sizes:
        for row in rows_of(count, given.repeats, given.device, given.goals):
            rows.append(row)
            print(sentence(row), flush=True)
    print(*told(GOALS, [row for row in rows if row["sweep_rate"]]), sep="\n")
    print(write_csv("batch", rows, given.results))


if __name__ == "__main__":
    main()
