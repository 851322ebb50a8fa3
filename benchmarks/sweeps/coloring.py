"""What colouring costs: one range after another and ranges at once (S1 section 4.3), rounds told.

Ball grids with the ground fixed and with the ground as a body, which makes it a hub. Seconds of the
colouring alone, all runs interleaved.

    python benchmarks/sweeps/coloring.py
"""

import sys
from pathlib import Path

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, quartiles, write_csv

SIZES = (24, 40, 70)  # the last has about a million contacts
GROUNDS = ("fixed", "body")
STRATEGIES = ("greedy", "balanced")
RUNS = {"sequential": (False, 1), "parallel, 1 thread": (True, 1), "parallel, 2 threads": (True, 2)}


def tasks_of(problem, hub):
    def task(strategy, parallel, threads):
        order = cs.orders.colored(strategy, parallel=parallel, fixed_as_body=hub)
        team = {"threads": threads, "exact_threads": True}
        return lambda: cs.orders.describe(problem, order, **team).seconds

    return {(s, name): task(s, *how) for s in STRATEGIES for name, how in RUNS.items()}


def main():
    rows = []
    for size in SIZES:
        for ground in GROUNDS:
            problem = cs.scenarios.ball_grid(size, ground=ground, contact_order="forward")
            hub = ground == "body"
            for (strategy, name), seconds in interleaved(tasks_of(problem, hub), 5).items():
                order = cs.orders.colored(
                    strategy, parallel=name != "sequential", fixed_as_body=hub
                )
                found = cs.orders.describe(problem, order)
                row = {
                    "case": f"ball_grid {size}^3",
                    "ground": ground,
                    "contacts": problem.contacts,
                    "strategy": strategy,
                    "run": name,
                    "colors": found.colors,
                    "smallest": found.smallest,
                    "largest": found.largest,
                    "rounds": found.rounds,
                    **{f"ms_{k}": 1e3 * v for k, v in quartiles(seconds).items()},
                }
                rows.append(row)
                print(
                    f"{row['case']:15} ground {ground:5} {strategy:8} {name:19} "
                    f"{row['ms_median']:8.1f} ms, {found.colors} colours, {found.rounds} rounds"
                )
    print(write_csv("coloring", rows))


if __name__ == "__main__":
    main()
