"""What colouring costs: one range after another and ranges at once (S1 section 4.3), rounds told.

Ball grids with the ground fixed and with the ground as a body, which makes it a hub. Seconds of the
colouring alone, all runs interleaved. Sizes and numbers of threads that are not measured keep their
rows.

    python benchmarks/sweeps/coloring.py [sizes, e.g. 24 40] [--threads 1,2,4]
"""

import sys
from pathlib import Path

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, kept, on_threads, quartiles, teams, write_csv

SIZES = (24, 40, 70)  # the last has about a million contacts
GROUNDS = ("fixed", "body")
STRATEGIES = ("greedy", "balanced")
RUNS = {"sequential": False, "parallel": True}


def order_of(strategy, run, ground):
    hub = ground == "body"
    return cs.orders.colored(strategy, parallel=RUNS[run], fixed_as_body=hub)


def tasks_of(problem, ground, threads):
    """Strategy, run and threads → a task."""

    def task(order, number):
        return lambda: cs.orders.describe(problem, order, **on_threads(number)).seconds

    return {
        (strategy, run, number): task(order_of(strategy, run, ground), number)
        for strategy in STRATEGIES
        for run, parallel in RUNS.items()
        for number in (threads if parallel else (1,))
    }


def rows_of(size, ground, threads, repeats):
    problem = cs.scenarios.ball_grid(size, ground=ground, contact_order="forward")
    measured = interleaved(tasks_of(problem, ground, threads), repeats)
    for (strategy, run, number), seconds in measured.items():
        found = cs.orders.describe(problem, order_of(strategy, run, ground))
        row = {
            "case": f"ball_grid {size}^3",
            "ground": ground,
            "contacts": problem.contacts,
            "strategy": strategy,
            "run": run,
            "threads": number,
            "colors": found.colors,
            "smallest": found.smallest,
            "largest": found.largest,
            "rounds": found.rounds,
            **{f"ms_{k}": 1e3 * v for k, v in quartiles(seconds).items()},
        }
        print(
            f"{row['case']:15} ground {ground:5} {strategy:8} {run:10} {teams.counted(number):10} "
            f"{row['ms_median']:8.1f} ms, {found.colors} colours, {found.rounds} rounds"
        )
        yield row


def main(argv=None):
    parser = teams.parser_of(__doc__, SIZES, repeats=5)
    given = parser.parse_args(argv)
    threads = teams.chosen(parser, given)
    rows = [
        row
        for size in given.sizes
        for ground in GROUNDS
        for row in rows_of(size, ground, threads, given.repeats)
    ]
    ordered = sorted(
        kept("coloring", rows, ("contacts", "threads"), given.results) + rows,
        key=lambda row: (
            int(row["contacts"]),
            GROUNDS.index(row["ground"]),
            STRATEGIES.index(row["strategy"]),
            row["run"] != "sequential",
            int(row["threads"]),
        ),
    )
    print(write_csv("coloring", ordered, given.results))


if __name__ == "__main__":
    main()
