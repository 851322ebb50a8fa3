"""What a solve costs beside its sweeps, in sweeps: of one sweep, with measures, in motion, small.

Ball grids with a fixed ground (disc friction), Gauss-Seidel, factorized, in the order "auto". The
cost of a sweep is the slope from a solve of one sweep to one of 51, whose clock is outside of the
call. All runs of one size are interleaved, and medians count.

    one sweep   a solve of one sweep, as the caller's clock sees it
    measured    what to record the natural map each tenth sweep adds to 50 sweeps, over their time
    motion      `update` with a new J and b, a solve of 50 sweeps, and the bodies' velocity change:
                steps per second
    small       `cs.solve` of up to five contacts from a Problem and from arrays, and `Solver.solve`

    python benchmarks/sweeps/solve_overhead.py [--sizes 30 40] [--threads 1 2] [--only small ...]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, sweeping, write_csv

SIZES = (30,)
MORE = 50  # sweeps, beyond the first
DTYPES = ("float64", "float32")
CASES = ("one sweep", "measured", "motion", "small")
REPEATS = 15
SMALL_REPEATS = 2000


def seconds_of(task):
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def of_core(solver):
    """Return a task: one solve by the compiled module alone, without Python's share."""
    return lambda: seconds_of(lambda: solver._core.solve(None, None, None, None, None, None))


def in_sweeps(size, dtype, threads, cases):
    """Rows of one size and precision: a solve of one sweep and measures, in sweeps."""
    problem = cs.scenarios.ball_grid(size)
    options = {"dtype": dtype, "threads": threads}
    solvers = {
        "one": sweeping(problem, 1, **options),
        "all": sweeping(problem, 1 + MORE, **options),
        "silent": sweeping(problem, MORE, **options),
        "measured": sweeping(
            problem, MORE, record=("natural_map",), **{**options, "record_every": 10}
        ),
    }
    seconds = interleaved({name: of_core(solver) for name, solver in solvers.items()}, REPEATS)
    median = {name: float(np.median(values)) for name, values in seconds.items()}
    sweep = (median["all"] - median["one"]) / MORE
    ns = 1e9 / problem.contacts
    row = {
        "case": "one sweep",
        "contacts": problem.contacts,
        "dtype": dtype,
        "threads": threads,
        "sweep_ns": sweep * ns,
        "ns": median["one"] * ns,
        "sweeps": median["one"] / sweep,
    }
    print(
        f"{problem.contacts:8,} contacts {dtype} {threads} threads: sweep {row['sweep_ns']:5.2f} ns"
        f" a contact, solve of one sweep {row['ns']:6.1f} ns = {row['sweeps']:.1f} sweeps",
        flush=True,
    )
    if "one sweep" in cases:
        yield row
    share = (median["measured"] - median["silent"]) / (MORE * sweep)
    print(
        f"{'':17} natural map each tenth of {MORE} sweeps: + {100 * share:.0f} % of the sweeps",
        flush=True,
    )
    if "measured" in cases:
        yield {**row, "case": "measured", "ns": np.nan, "sweeps": np.nan, "share": share}


def in_motion(size, dtype, threads):
    """Steps per second of a scene whose contacts stay: new J and b, and 50 sweeps."""
    problem = cs.scenarios.ball_grid(size)
    solver = sweeping(problem, MORE, dtype=dtype, threads=threads)
    J, b = problem.J.copy(), problem.b.copy()

    def step():
        problem.update(J=J, b=b)
        return solver.solve().body_velocity_change

    seconds = interleaved({"step": lambda: seconds_of(step)}, REPEATS)["step"]
    rate = 1 / float(np.median(seconds))
    print(f"{problem.contacts:8,} contacts {dtype} {threads} threads: {rate:.1f} steps/s")
    return {
        "case": "motion",
        "contacts": problem.contacts,
        "dtype": dtype,
        "threads": threads,
        "steps_per_second": rate,
    }


def small_problems():
    """Problems of one, four and five contacts: a ball, a box, and five balls on one another."""
    return tower(1), cs.scenarios.box_stack(1), tower(5)


def tower(balls):
    """Balls of 1 kg and of radius 1 on one another, which slide and fall together."""
    bodies = [[k - 1, k] for k in range(balls)]
    J = cs.contact_jacobian(
        [[0, 0, 2 * k] for k in range(balls)],
        [[0, 0, 1]] * balls,
        bodies,
        [[0, 0, 2 * k + 1] for k in range(balls)],
    )
    velocity = np.array([1, 0, -0.1, 0, 0, 0])
    b = J[:, 1] @ velocity
    b[1:] += J[1:, 0] @ velocity
    return cs.Problem(J, [[1, 1, 1, 2.5, 2.5, 2.5]] * balls, b, 0.5, bodies=bodies)


def small_tasks():
    """Name and contacts → a task that solves a small problem once."""
    for problem in small_problems():
        arrays, bodies = (problem.J, problem.Minv, problem.b, problem.mu), problem.bodies
        count, solver = problem.contacts, cs.Solver(problem)
        yield ("solve(problem)", count), lambda p=problem: seconds_of(lambda: cs.solve(p))
        yield (
            ("solve(arrays)", count),
            lambda a=arrays, b=bodies: seconds_of(lambda: cs.solve(*a, bodies=b)),
        )
        yield ("Solver.solve()", count), lambda s=solver: seconds_of(s.solve)


def small():
    tasks = dict(small_tasks())
    for (name, contacts), seconds in interleaved(tasks, SMALL_REPEATS).items():
        median, least = 1e6 * float(np.median(seconds)), 1e6 * min(seconds)
        print(f"{name:16} of {contacts} contacts: {median:6.1f} us, at least {least:.1f}")
        yield {"case": name, "contacts": contacts, "dtype": "float64", "us": median, "least": least}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--threads", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--only", nargs="+", choices=CASES, default=CASES)
    given = parser.parse_args()
    cases, rows = set(given.only), []
    for size in given.sizes:
        for dtype in DTYPES:
            for threads in given.threads:
                if cases & {"one sweep", "measured"}:
                    rows += in_sweeps(size, dtype, threads, cases)
                if "motion" in cases:
                    rows.append(in_motion(size, dtype, threads))
    if "small" in cases:
        rows += small()
    if cases == set(CASES):
        print(write_csv("solve_overhead", rows))


if __name__ == "__main__":
    main()
