"""What an empty task costs in the pool, without locks and with mutexes, as S5's figure 7.

Latency: a thread forks a task and joins it, 1,000,000 times; another thread runs it. Throughput: it
forks 1,000,000 tasks at once, which the other threads run, and joins them. On one thread the caller
runs all. Times are means of three runs in turns, as S5 has them. More threads than cores are told,
and not measured. Writes s5_pool.csv and tells the goal.

    python benchmarks/s5/pool.py [--count 1000000] [--threads 1,2,4,8] [--quick]
"""

import argparse
import itertools
import os
import sys
from pathlib import Path

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import RESULTS, ROOT, cores, machine, on_a_line, write_csv

KINDS, PATTERNS = ("lock_free", "mutex"), ("latency", "throughput")
THREADS = (1, 2, 3, 4, 8, 16)
COUNT, QUICK, RUNS = 1_000_000, 1000, 3  # S5's number of tasks and of runs
GOAL = 0.5  # of the latency with mutexes


def overheads(pattern, threads, count):
    """Seconds of a task in each run, by kind; runs in turns."""
    runs = [
        {kind: cs.bvh.pool_overhead(kind, pattern, count, threads) for kind in KINDS}
        for _ in range(RUNS)
    ]
    return {kind: [run[kind] for run in runs] for kind in KINDS}


def row_of(pattern, threads, count, available):
    """A row; without figures where there are not so many cores."""
    is_known = threads <= available
    row = {
        "pattern": pattern,
        "threads": threads,
        "tasks": count,
        "measured": "yes" if is_known else f"no: {available} cores",
        **{f"{kind}_s": None for kind in KINDS},
        **{f"{kind}_least_s": None for kind in KINDS},
        "ratio": None,
        "least_ratio": None,
        "spread": None,
        "load": os.getloadavg()[0],
    }
    if not is_known:
        return row
    seconds = overheads(pattern, threads, count)
    mean = {kind: sum(values) / RUNS for kind, values in seconds.items()}
    least = {kind: min(values) for kind, values in seconds.items()}
    return {
        **row,
        **{f"{kind}_s": mean[kind] for kind in KINDS},
        **{f"{kind}_least_s": least[kind] for kind in KINDS},
        "ratio": mean["lock_free"] / mean["mutex"],
        "least_ratio": least["lock_free"] / least["mutex"],
        "spread": max((max(seconds[kind]) - least[kind]) / mean[kind] for kind in KINDS),
    }


def verdict(rows):
    """The sentence on the goal, from the latency between two threads."""
    row = next((r for r in rows if (r["pattern"], r["threads"]) == ("latency", 2)), None)
    if row is None or row["ratio"] is None:
        return "The latency between two threads was not measured: there is one core."
    told = "reached" if row["ratio"] <= GOAL else "MISSED"
    return f"latency without locks : with mutexes = {row['ratio']:.2f}, goal <= {GOAL}: {told}"


def numbers(text):
    return tuple(map(int, text.split(",")))


def main(argv=None, available=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--threads", type=numbers, default=THREADS)
    parser.add_argument("--quick", action="store_true", help="few tasks: does all work?")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>/s5)")
    given = parser.parse_args(argv)
    count = QUICK if given.quick else given.count
    folder = ROOT / "build" / "benchmarks" / "s5" if given.quick else RESULTS / machine() / "s5"
    rows = []
    for pattern, threads in itertools.product(PATTERNS, given.threads):
        rows.append(row_of(pattern, threads, count, available or cores()))
        print(on_a_line(rows[-1]), flush=True)
    print(verdict(rows))
    print(write_csv("s5_pool", rows, given.results or folder))


if __name__ == "__main__":
    main()
