"""Islands solved by themselves against all contacts swept as one.

Scenes: a thousand stacks of two to five boxes, which share nothing but the ground, to a scaled
natural map of 1e-6 with Gauss-Seidel and Jacobi; and S1's small ball pile, which falls into parts
while it falls, to 1e-4. `ms` is the time of the solve, `setup_ms` the least time of making the
solver.

    python benchmarks/methods/islands.py
    python benchmarks/methods/islands.py --least    how many contacts a cluster should have

Islands that are small are put together to clusters, largest first, until there are enough contacts
to fill vectors. --least makes such clusters here, of at least so many contacts, each a problem of
its own that is solved as one: `ms` is the sum of their solves on one thread, the median of runs in
turn. What more set-up costs is not in it.
"""

import argparse
import sys
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, quartiles, write_csv

STACKS, LEAST, MOST = 1000, 2, 5


def side_by_side(parts):
    """Scenes that share no body, as one problem."""
    bodies, first = [], 0
    for part in parts:
        bodies.append(np.where(part.bodies >= 0, part.bodies + first, -1))
        first += len(part.Minv)
    return cs.Problem(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("J", "Minv", "b")),
        parts[0].mu[0],
        bodies=np.concatenate(bodies),
    )


def stacks(count=STACKS):
    """Boxes on boxes, each stack from two to five high in turn."""
    heights = (LEAST + k % (MOST - LEAST + 1) for k in range(count))
    return side_by_side([cs.scenarios.box_stack(height) for height in heights])


def pile():
    return cs.scenarios.ball_pile(10, ground="body", velocity=0.5)


SCENES = {"stacks": (stacks, 1e-6), "small ball pile": (pile, 1e-4)}


def pyramids():
    """Pyramids of three to eight layers of discs, gravity and somewhat more."""
    made = []
    for k in range(150):
        part = cs.scenarios.disc_pyramid(3 + k % 6, ground=True, gravity=9.81)
        kicks = np.random.default_rng(k).normal(size=part.b.shape) * np.abs(part.b).max()
        made.append(cs.Problem(part.J, part.Minv, part.b + 0.1 * kicks, 0.3, bodies=part.bodies))
    return side_by_side(made)


def grids():
    return side_by_side([cs.scenarios.ball_grid(3, velocity=0.1, rng=k) for k in range(60)])


def broken_grid():
    """A grid of balls that lost five contacts of six: islands of all sizes."""
    grid = cs.scenarios.ball_grid(16, velocity=0.1, rng=1)
    kept = np.random.default_rng(2).random(grid.contacts) < 0.15
    return part_of(grid, kept)


def part_of(problem, kept):
    """The contacts that are kept, and their bodies."""
    bodies, place = np.unique(problem.bodies[kept], return_inverse=True)
    fixed = int(bodies[0] < 0)
    return cs.Problem(
        problem.J[kept],
        problem.Minv[bodies[fixed:]],
        problem.b[kept],
        problem.mu[kept],
        bodies=place.reshape(-1, 2) - fixed,
    )


def ways(problem, rtol):
    """Solvers by method, islands and threads, and how long each takes to make."""
    found, setup = {}, {}
    for method in ("gauss_seidel", "jacobi"):
        for islands in ("auto", False):
            for threads in (1, 2):
                way = method, islands, threads
                setup[way] = np.inf
                for _ in range(5):
                    begin = time.perf_counter()
                    found[way] = cs.Solver(
                        problem, method=method, islands=islands, threads=threads, rtol=rtol,
                        exact_threads=True, max_iterations=20000, record=(),
                    )  # fmt: skip
                    setup[way] = min(setup[way], 1e3 * (time.perf_counter() - begin))
    return found, setup


def rows_of(name):
    make, rtol = SCENES[name]
    problem = make()
    solvers, setup = ways(problem, rtol)
    answers = {}

    def task(way):
        answers[way] = solvers[way].solve()
        return answers[way].time

    tasks = {way: lambda way=way: task(way) for way in solvers}
    for (method, islands, threads), seconds in interleaved(tasks, repeats=5).items():
        answer = answers[method, islands, threads]
        yield {
            "scene": name,
            "contacts": problem.contacts,
            "islands": answer.info.get("islands", 1),
            "method": method,
            "apart": int(islands == "auto"),
            "threads": threads,
            **{f"ms_{key}": 1e3 * value for key, value in quartiles(seconds).items()},
            "setup_ms": setup[method, islands, threads],
            "iterations": answer.iterations,
            "converged": int(answer.converged),
            "natural_map_scaled": answer.natural_map_scaled,
        }


# ---- how large a cluster should be ---------------------------------------------------------------

LEASTS = (64, 128, 256, 512, 1024)
METHODS = ("gauss_seidel", "jacobi", "nesterov", "nncg", "auto")
TOLERANCES = (1e-3, 1e-6)
LOOSE = {
    "300 stacks": partial(stacks, 300),
    "150 pyramids": pyramids,
    "60 ball grids": grids,
    "broken ball grid": broken_grid,
    "loose ball pile": partial(cs.scenarios.ball_pile, 40),
}


def clusters(problem, least):
    """Problems of islands, largest first, together until they have so many contacts."""
    label = cs.islands(problem)
    sizes = np.bincount(label)
    number, contacts, cluster = 0, 0, np.empty(len(sizes), int)
    for island in np.argsort(-sizes, kind="stable"):
        cluster[island] = number
        contacts += sizes[island]
        if contacts >= least:
            number, contacts = number + 1, 0
    return [part_of(problem, cluster[label] == c) for c in range(cluster.max() + 1)]


def solvers_of(parts, method, rtol):
    options = {"islands": False, "threads": 1, "record": (), "max_iterations": 3000}
    return [cs.Solver(part, method=method, rtol=rtol, **options) for part in parts]


def leasts_of(name, problem):
    parts = {least: clusters(problem, least) for least in LEASTS}
    for method, rtol in product(METHODS, TOLERANCES):
        solvers = {least: solvers_of(some, method, rtol) for least, some in parts.items()}
        results = {}

        def seconds_of(least, solvers=solvers, results=results):
            results[least] = [solver.solve() for solver in solvers[least]]
            return sum(result.time for result in results[least])

        times = interleaved({least: partial(seconds_of, least) for least in LEASTS}, repeats=5)
        for least, seconds in times.items():
            yield {
                "scene": name,
                "contacts": problem.contacts,
                "method": method,
                "tolerance": rtol,
                "least": least,
                "clusters": len(parts[least]),
                "ms": 1e3 * float(np.median(seconds)),
                "converged": int(all(result.converged for result in results[least])),
            }


def gain(rows, name, least):
    """How many times as fast as with the largest clusters, where both met the tolerance."""
    found = {}
    for row in rows:
        if row["scene"] == name and row["converged"]:
            found[row["method"], row["tolerance"], row["least"]] = row["ms"]
    ratios = [
        found[method, rtol, LEASTS[-1]] / found[method, rtol, least]
        for method, rtol in product(METHODS, TOLERANCES)
        if {(method, rtol, LEASTS[-1]), (method, rtol, least)} <= found.keys()
    ]
    return np.exp(np.log(ratios).mean())


def compare_leasts():
    rows = []
    for name, make in LOOSE.items():
        for row in leasts_of(name, make()):
            rows.append(row)
            print(*row.values(), flush=True)
        write_csv("islands_least", rows)
        gains = ", ".join(f"{least}: {gain(rows, name, least):.2f}" for least in LEASTS)
        print(f"{name}, times as fast as with {LEASTS[-1]} contacts: {gains}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", action="store_true", help="contacts that a cluster should have")
    if parser.parse_args().least:
        compare_leasts()
        return
    rows = []
    for name in SCENES:
        for row in rows_of(name):
            rows.append(row)
            print(
                f"{name:16} {row['method']:13} {'apart' if row['apart'] else 'as one':7} "
                f"{row['threads']} threads {row['ms_median']:9.3f} ms, set-up "
                f"{row['setup_ms']:7.2f} ms, {row['iterations']:5} iterations"
            )
    print(write_csv("islands", rows))


if __name__ == "__main__":
    main()
