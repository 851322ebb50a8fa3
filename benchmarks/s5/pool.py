"""S5's figure 7: what an empty task costs in the pool, without locks and with mutexes.

s5_pool.csv  latency: a thread forks a task and joins it, 1,000,000 times, and another thread runs
             it; throughput: a thread forks 1,000,000 tasks at once, which the others run, and joins
             them

On one thread the caller runs all. Times are means of three runs in turns, as S5's.

    python benchmarks/s5/pool.py [--quick]
"""

import itertools
import os

import numpy as np
from output import panels, publish, styles
from protocol import arguments

import contactsolve as cs

TABLES = ("s5_pool",)
KINDS, PATTERNS = ("lock_free", "mutex"), ("latency", "throughput")
COUNT, QUICK = 1_000_000, 1000  # S5's number of tasks, and that of a trial
GOAL = 0.5  # of the latency with mutexes


def overheads(pattern, threads, run):
    """Seconds of a task in each run, by kind; runs in turns."""
    count = QUICK if run.runs == 1 else COUNT
    runs = [
        {kind: cs.bvh.pool_overhead(kind, pattern, count, threads) for kind in KINDS}
        for _ in range(run.runs)
    ]
    return {kind: [each[kind] for each in runs] for kind in KINDS}


def row_of(pattern, threads, run):
    """A row; without figures where there are not so many cores."""
    is_known = threads <= run.cores
    row = {
        "pattern": pattern,
        "threads": threads,
        "measured": "yes" if is_known else f"no: {run.cores} cores",
        **{f"{kind}_s": None for kind in KINDS},
        **{f"{kind}_least_s": None for kind in KINDS},
        "ratio": None,
        "least_ratio": None,
        "spread": None,
        "load": os.getloadavg()[0],
    }
    if not is_known:
        return row
    seconds = overheads(pattern, threads, run)
    mean = {kind: float(np.mean(values)) for kind, values in seconds.items()}
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
    return f"latency without locks : with mutexes = {row['ratio']:.3f}, goal <= {GOAL}: {told}"


def draw(rows):
    """As S5's figure 7: overhead by threads, one panel for each pattern."""
    figure, axes = panels(PATTERNS, width=4.5, columns=2)
    labels = {"lock_free": "without locks", "mutex": "with mutexes"}
    for ax, pattern in zip(axes, PATTERNS, strict=True):
        own = [row for row in rows if row["pattern"] == pattern and row["ratio"]]
        for place, (kind, style) in enumerate(styles(KINDS).items()):
            at = np.arange(len(own)) + 0.4 * (place - 0.5)
            heights = [1e6 * float(row[f"{kind}_s"]) for row in own]
            drawn = ax.bar(at, heights, 0.36, color=style.color, label=labels[kind])
            ax.bar_label(drawn, fmt="%.2g", fontsize=8)
        ax.set_xticks(range(len(own)), [f"threads: {row['threads']}" for row in own])
        ax.set_yscale("log")
        ax.margins(y=0.2)
        ax.set_ylabel("time of a task [µs]")
        ax.legend(fontsize=8)
    return figure


def main(run):
    cases = itertools.product(PATTERNS, run.threads)
    rows = [row_of(pattern, threads, run) for pattern, threads in cases]
    publish(run, "s5_pool", rows, draw)
    print(verdict(rows))


if __name__ == "__main__":
    main(arguments(__doc__, TABLES))
