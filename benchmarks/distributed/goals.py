"""Measured: one rank and two beside one process and two threads, and the time of a seam.

distributed_goals.csv  a row for each size of the grid, border and number of sweeps in a solve

One process, two threads, one rank and two ranks with a thread each sweep the same problem in the
same parts, in turns; all have the same bits. Times are of a solve without checks or records, the
slower rank's, divided by its sweeps: what a solve does once counts more in a short one. One rank is
compared with one process by their own time on the processor, medians of both, which other work on
the machine lengthens less. The prediction for two ranks is that of `model.py`, for the same parts,
with the o, L, G and the time of a visit measured in this run. The seam is the work of a small
exchange, without any waiting.

Ranks are threads of this process. Run it on a quiet machine with two cores at least. With --alone
it measures what needs one core: these own times, in the order whose border is in colours, and the
seam.

    python benchmarks/distributed/goals.py [sizes] [--alone] [--quick]
"""

import argparse
import itertools
import os
import sys
import time
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import _core

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import cores, interleaved, kept, on_a_line, sweeping, write_csv
from model import measured_costs
from scenes import BORDERS, labels_of, order_of
from traffic import check

SIZES = (12, 24, 40)
PARTS = 8
SWEEPS, REPEATS = (10, 100), 7
SEAM, SEAM_BYTES = 0.5, 64  # goal [us], size of the exchange
WAYS = ("one", "one_rank", "two_threads", "two_ranks")


def own_seconds(solver, sweeps):
    """Return seconds of a sweep by the processor, for a solver on the calling thread alone."""
    begun, start = time.thread_time(), time.perf_counter()
    result = solver.solve()
    own, passed = time.thread_time() - begun, time.perf_counter() - start
    return own * result.time / passed / sweeps


def measured(problem, labels, border, sweeps, repeats, *, one_core):
    """Return seconds of a sweep in each way, ``(repeats,)``, measured in turns."""
    order = order_of(labels, border)
    fixed = {"method": "gauss_seidel", "rtol": None, "atol": None, "record": ()}
    fixed |= {"max_iterations": sweeps, "record_every": sweeps, "check_every": sweeps}
    ranked = {**fixed, "order": order, "threads": 1}
    spread = cs.distributed.scatter(problem, labels=labels, parts=PARTS)
    alone = {
        "one": sweeping(problem, sweeps, 1, order=order, islands=False),
        "one_rank": cs.distributed.Solver(spread, **ranked),
    }
    tasks = {f"{way}_own": lambda s=one: own_seconds(s, sweeps) for way, one in alone.items()}
    own = interleaved(tasks, repeats)
    if one_core:
        return own
    alone["two_threads"] = sweeping(problem, sweeps, 2, order=order, islands=False)

    def of_rank(comm):
        first = comm.rank == 0
        shared = cs.distributed.scatter(
            problem if first else None, labels=labels if first else None, parts=PARTS, comm=comm
        )
        solver = cs.distributed.Solver(shared, **ranked)
        seconds = {way: [] for way in WAYS}
        for _ in range(repeats + 1):  # the first ones warm up
            # The other rank sleeps while the first one measures the ways of one process.
            if first:
                for way, one in alone.items():
                    seconds[way].append(one.solve().time / sweeps)
            comm.barrier()
            seconds["two_ranks"].append(solver.solve().time / sweeps)
            comm.barrier()
        return seconds

    both = cs.distributed.run(of_rank, 2)
    both[0]["two_ranks"] = np.maximum(both[0]["two_ranks"], both[1]["two_ranks"])
    return {**own, **{way: np.array(values[1:]) for way, values in both[0].items()}}


def row_of(size, border, sweeps, costs, quick):
    """Return the row of a grid and border; without `costs`, of what needs one core."""
    problem = cs.scenarios.ball_grid(size, mu=0.1, velocity=0.5)
    labels, strategy = labels_of(problem, PARTS)
    repeats = 1 if quick else REPEATS
    seconds = measured(problem, labels, border, sweeps, repeats, one_core=costs is None)
    least = {way: float(values.min()) for way, values in seconds.items()}
    row = {
        "scene": f"grid {size}³",
        "contacts": problem.contacts,
        "border": border,
        "sweeps": sweeps,
        "parts": PARTS,
        "labels": strategy,
        **{f"{way}_us": 1e6 * value for way, value in least.items()},
        **{f"{way}_median_us": 1e6 * float(np.median(each)) for way, each in seconds.items()},
        "cores": cores(),
        "load": os.getloadavg()[0],
    }
    if costs is None:
        return row
    traffic = check(problem, labels, PARTS, order_of(None, border), 2)
    work, messages = traffic.seconds(costs, least["one"] / problem.contacts)
    return {
        **row,
        "predicted_us": 1e6 * (work + messages),
        "o_us": 1e6 * costs.overhead,
        "L_us": 1e6 * costs.latency,
        "G_ns": 1e9 * costs.gap,
        "exchanges": len(traffic.exchanges),
        "bytes": int(traffic.bytes.max()),
    }


def goals_of(row):
    """Return each goal: what it compares, the value, its bound, and whether less is better."""
    ratio = float(row["one_rank_own_median_us"]) / float(row["one_own_median_us"])
    goals = [("one rank over cs.solve", ratio, 1.05, True)]
    if not row.get("two_ranks_us"):
        return goals
    rank, threads, ranks = (float(row[f"{way}_us"]) for way in WAYS[1:])
    if row["scene"] == f"grid {SIZES[-1]}³":
        goals.append(("two ranks, speed-up over one", rank / ranks, 1.7, False))
        goals.append(("two ranks, speed over two threads", threads / ranks, 0.9, False))
    goals.append(
        ("prediction at two ranks, error", abs(float(row["predicted_us"]) / ranks - 1), 0.15, True)
    )
    return goals


def seam(quick):
    """Return the median work of a small exchange [us]."""
    count = 1000 if quick else 100_000
    return 1e6 * float(np.median([_core.exchange_work(SEAM_BYTES, count) for _ in range(7)]))


def told(name, value, bound, less):
    """Return a goal as a sentence."""
    good = value <= bound if less else value >= bound
    sign = "<=" if less else ">="
    return f"{name} = {value:.3g}, goal {sign} {bound:g}: {'reached' if good else 'MISSED'}"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, metavar="size")
    parser.add_argument("--alone", action="store_true", help="what needs one core")
    parser.add_argument("--quick", action="store_true", help="a trial that writes nothing")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    given = parser.parse_args(argv)
    if min(given.sizes) < 3:
        parser.error(
            f"size {min(given.sizes)}: a grid of {PARTS} parts has 3 balls a side at least"
        )
    cost, rows = seam(given.quick), []
    print(told("work of an exchange [us]", cost, SEAM, less=True))
    borders = BORDERS[:1] if given.alone else BORDERS
    costs = None if given.alone else measured_costs(given.quick)
    for size in (4,) if given.quick else given.sizes:
        for border, sweeps in itertools.product(borders, (2, 4) if given.quick else SWEEPS):
            row = {**row_of(size, border, sweeps, costs, given.quick), "seam_us": cost}
            rows.append(row)
            print(on_a_line(row), flush=True)
            for goal in goals_of(row):
                print(f"{row['scene']}, {border}, {sweeps} sweeps: {told(*goal)}", flush=True)
    if not given.quick:
        old = kept("distributed_goals", rows, ("scene", "border", "sweeps"), given.results)
        every = sorted(old + rows, key=lambda row: int(row["contacts"]))
        print(write_csv("distributed_goals", every, given.results))
    return rows


if __name__ == "__main__":
    main()
