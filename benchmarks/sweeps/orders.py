"""Orders: what a sweep costs in each, and how many sweeps they take to a tolerance.

Factorized Gauss-Seidel, contacts compressed, on each number of threads; the orders of a scene take
turns and the least time of each counts. `order="auto"` is one of them: the CSV shows how far it is
from the best. Scenes and numbers of threads that are not measured keep their rows, so that a long
measurement can be made piece by piece.

    python benchmarks/sweeps/orders.py [scenes, e.g. "ball_grid 24^3"] [--threads 1,2,4]  # a sweep
    python benchmarks/sweeps/orders.py --sweeps  # how many sweeps: order_sweeps.csv
"""

import argparse
import sys
from pathlib import Path

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, kept, sweeping, teams, write_csv

SCENES = {
    "ball_grid 8^3": lambda: cs.scenarios.ball_grid(8),
    "ball_grid 24^3": lambda: cs.scenarios.ball_grid(24),
    "ball_grid 40^3": lambda: cs.scenarios.ball_grid(40),
    "disc_pyramid 150": lambda: cs.scenarios.disc_pyramid(150),
    "ball_pile 14": lambda: cs.scenarios.ball_pile(14),
    "box_stack 1000": lambda: cs.scenarios.box_stack(1000),
}
ORDERS = {
    "auto": "auto",
    "natural": "natural",
    "partition": cs.orders.partition("slices"),
    "colored": "colored",
    "colored, balanced": cs.orders.colored(strategy="balanced"),
    "cache, chunks of 512": cs.orders.cache(chunk=512),
    "cache, chunks of 1024": cs.orders.cache(chunk=1024),
    "cache, chunks of 8192": cs.orders.cache(chunk=8192),
    "cache, without domains": cs.orders.cache(domains=False),
}
CONTACT_SWEEPS = 150_000  # of one run
# Scenes and relative tolerances of the second table; what does not converge in as many sweeps is
# left empty.
TOLERANCES = {
    "ball_grid 8^3": (cs.scenarios.ball_grid, 8, (1e-3, 1e-6)),
    "ball_grid 12^3": (cs.scenarios.ball_grid, 12, (1e-4,)),
    "disc_pyramid 60": (cs.scenarios.disc_pyramid, 60, (1e-3, 1e-4)),
    "box_stack 200": (cs.scenarios.box_stack, 200, (1e-2, 1e-3)),
}
SWEEP_ORDERS = ("natural", "reverse", "random", "colored", "cache")
MOST_SWEEPS = 10_000


def costs(name, threads, repeats):
    problem = SCENES[name]()
    sweeps = max(2, CONTACT_SWEEPS // problem.contacts)
    for dtype in ("float64", "float32"):
        solvers = {
            (label, number): sweeping(problem, sweeps, dtype=dtype, order=order, threads=number)
            for label, order in ORDERS.items()
            for number in threads
        }
        tasks = {key: lambda s=s: s.solve().sweep_time for key, s in solvers.items()}
        seconds = interleaved(tasks, repeats)
        best = {t: min(v.min() for (_, n), v in seconds.items() if n == t) for t in threads}
        for (label, number), values in seconds.items():
            info = solvers[label, number].info
            row = {
                "scene": name,
                "contacts": problem.contacts,
                "dtype": dtype,
                "order": label,
                "is": info["order"],
                "threads": number,
                "stages": info["stages"],
                "kernel": info["kernel"],
                "ns_least": values.min() / sweeps / problem.contacts * 1e9,
                "of_best": values.min() / best[number],
            }
            print(
                f"{name:16} {dtype} {label:22} {number} {row['ns_least']:6.1f} ns, "
                f"{row['of_best']:.2f} x the best, {row['stages']} stages",
                flush=True,
            )
            yield row


def sweeps_to_tolerances():
    for name, (make, size, tolerances) in TOLERANCES.items():
        problem = make(size)
        for tolerance in tolerances:
            row = {"scene": name, "contacts": problem.contacts, "rtol": tolerance}
            for order in SWEEP_ORDERS:
                result = cs.solve(
                    problem,
                    method="gauss_seidel",
                    scheme="factorized",
                    order=order,
                    rng=0 if order == "random" else None,
                    rtol=tolerance,
                    check_every=5,
                    max_iterations=MOST_SWEEPS,
                    record=(),
                )
                row[order] = result.iterations if result.converged else None
            print(row, flush=True)
            yield row


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scenes", nargs="*", default=list(SCENES), metavar="scene")
    teams.add_options(parser)
    parser.add_argument("--sweeps", action="store_true", help="how many sweeps each order takes")
    parser.add_argument("--repeats", type=int, default=9, help="runs of each")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    given = parser.parse_args(argv)
    threads = teams.chosen(parser, given)
    for name in set(given.scenes) - set(SCENES):
        parser.error(f"scene {name!r} is none of {', '.join(SCENES)}")
    if given.sweeps:
        print(write_csv("order_sweeps", sweeps_to_tolerances(), given.results))
        return
    rows = [row for name in given.scenes for row in costs(name, threads, given.repeats)]
    places = {key: i for i, key in enumerate((*SCENES, *ORDERS))}
    ordered = sorted(
        kept("orders", rows, ("scene", "threads"), given.results) + rows,
        key=lambda row: (
            places[row["scene"]],
            row["dtype"] == "float32",
            places.get(row["order"], len(places)),
            int(row["threads"]),
        ),
    )
    print(write_csv("orders", ordered, given.results))


if __name__ == "__main__":
    main()
