"""Set-up: what making a problem and a solver costs, in sweeps, and Python's share of small solves.

Ball grids of a given number of contacts (disc friction, fixed ground), scheme `factorized`, on
each number of threads. `problem` is `Problem` from
arrays (checks, copies); `order` is what an order makes of a problem without a solver; `solver` is
all that a solver prepares: the order again, factors R, packing; `python` is what `Solver` adds to
that. `sweep` is measured in the same run on one thread, and the least of several interleaved runs
counts. For small problems the seconds of a solve of 50 sweeps are split into those inside the
iteration, those of the compiled module around it (arrays in and out), and Python's.

    python benchmarks/sweeps/setup.py [contacts, e.g. 100 10000 1000000: the latter takes minutes]
        [--threads 1,2,4]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, on_threads, sweeping, teams, write_csv

CONTACTS = (100, 1_000, 10_000, 100_000)
ORDERS = ("natural", "colored", "cache")
SWEEPS = 50  # of a small solve


def grid_of(contacts):
    """Return the smallest ball grid that has at least so many contacts."""
    size = 2
    while 3 * size**3 - 2 * size**2 < contacts:
        size += 1
    return cs.scenarios.ball_grid(size)


def seconds_of(task):
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def tasks_of(problem, order, dtype, threads, sweeps):
    """Name → a task that returns its seconds; the solver's own clock splits `outer`."""
    arrays = problem.J, problem.Minv, problem.b, problem.mu
    bodies, inside = problem.bodies, []
    solver = sweeping(problem, sweeps, order=order, dtype=dtype)

    def make():
        options = {"order": order, "dtype": dtype, "threads": threads}
        seconds = seconds_of(lambda: inside.append(sweeping(problem, sweeps, **options)))
        inside[-1] = inside[-1].info["setup_seconds"]
        return seconds

    return inside, {
        "problem": lambda: seconds_of(lambda: cs.Problem(*arrays, bodies=bodies)),
        "order": lambda: cs.orders.describe(problem, order, **on_threads(threads)).seconds,
        "outer": make,
        "sweep": lambda: solver.solve().sweep_time / sweeps,
    }


def set_up(contacts, order, dtype, threads):
    problem = grid_of(contacts)
    sweeps = max(2, min(200, 400_000 // problem.contacts))
    inside, tasks = tasks_of(problem, order, dtype, threads, sweeps)
    seconds = interleaved(tasks, 3 if contacts > 300_000 else 7)
    least = {name: float(values.min()) for name, values in seconds.items()}
    least["solver"] = min(inside)
    least["python"] = max(0.0, least.pop("outer") - least["solver"])
    total = least["problem"] + least["solver"] + least["python"]
    per = 1e9 / problem.contacts
    row = {
        "case": "set-up",
        "contacts": problem.contacts,
        "order": order,
        "dtype": dtype,
        "threads": threads,
        "kernel": sweeping(problem, 1, order=order, dtype=dtype).info["kernel"],
        **{f"{name}_ns": value * per for name, value in least.items()},
        "solver_sweeps": least["solver"] / least["sweep"],
        "all_sweeps": total / least["sweep"],
        "module_us": np.nan,
        "python_us": np.nan,
    }
    print(
        f"{row['contacts']:8} {order:8} {dtype}: problem {row['problem_ns']:6.0f}, order "
        f"{row['order_ns']:6.0f}, solver {row['solver_ns']:6.0f}, sweep {row['sweep_ns']:5.1f} ns "
        f"a contact; {row['solver_sweeps']:.1f} sweeps, {row['all_sweeps']:.1f} with the problem",
        file=sys.stderr,
    )
    return row


def small_solves():
    """Rows of a solve with 100 contacts: seconds inside, of the module and of Python."""
    problem = cs.scenarios.box_stack(25)
    solver = sweeping(problem, SWEEPS, order="natural")
    b, start = problem.b, solver.solve()
    cases = {
        "solve()": ((), {}),
        "solve(b)": ((b,), {}),
        "solve(initial)": ((), {"initial": start}),
    }
    core = solver._core
    for name, (values, options) in cases.items():
        flat = None if not values else problem.join("b", b)
        initial = problem.join("initial", start.impulses) if options else None
        tasks = {
            "all": lambda v=values, o=options: seconds_of(lambda: solver.solve(*v, **o)),
            "inside": lambda v=values, o=options: solver.solve(*v, **o).sweep_time,
            "core": lambda i=initial, f=flat: seconds_of(
                lambda: core.solve(i, None, f, None, None, None)
            ),
        }
        least = {n: float(np.median(v)) * 1e6 for n, v in interleaved(tasks, 500).items()}
        row = {
            "case": name,
            "contacts": problem.contacts,
            "order": "natural",
            "dtype": "float64",
            "threads": 1,
            "kernel": solver.info["kernel"],
            "sweep_ns": least["inside"] / SWEEPS / problem.contacts * 1e3,
            "module_us": least["core"] - least["inside"],
            "python_us": least["all"] - least["core"],
        }
        print(
            f"{name:15} of {problem.contacts} contacts, {SWEEPS} sweeps: {least['inside']:.0f} us "
            f"inside, {row['module_us']:.1f} of the module, {row['python_us']:.1f} of Python"
        )
        yield row


def rows_of(sizes, threads):
    """Rows on so many threads, measured in a process that has no more: `Problem` takes all."""
    command = [sys.executable, __file__, *map(str, sizes), "--child", str(threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def measure(sizes, threads):
    """The same in this process."""
    return [
        set_up(contacts, order, dtype, threads)
        for contacts in sizes
        for order in ORDERS
        for dtype in ("float64", "float32")
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("contacts", type=int, nargs="*", default=CONTACTS)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    teams.add_options(parser)
    given = parser.parse_args()
    if given.child:
        json.dump(measure(given.contacts, given.child), sys.stdout)
        return
    rows = []
    for threads in teams.chosen(parser, given):
        print(teams.counted(threads), flush=True)
        rows += rows_of(given.contacts, threads)
    rows += small_solves()
    print(write_csv("setup", rows))


if __name__ == "__main__":
    main()
