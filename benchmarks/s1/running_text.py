"""Figures in S1's running text, measured here: sections 3.8.2, 6.2.1, 7.1 and 7.6.

They are seconds and ratios that no table of S1's holds, each on as many threads as are timed.

    python benchmarks/s1/running_text.py [--threads 1,2,4,8,16] [--quick]
"""

import time
from itertools import pairwise

import numpy as np
import published
from colored import relaxed_order
from output import panels, publish, value_of
from protocol import SWEEPS, arguments, by_threads, common, scene, timed

import contactsolve as cs

SEQUENTIAL = cs.Method("jacobi", scheme="factorized", label="Jacobi")
WORKER = cs.Method("jacobi", scheme=cs.schemes.factorized(velocities="add"), label="w updated")
GAUSS_SEIDEL = cs.Method("gauss_seidel", scheme="factorized", threads=1, label="Gauss-Seidel")
NAIVE = cs.Method("gauss_seidel", scheme="factorized", order=cs.orders.ranges(), label="naive")


def setup(problem, run):
    """Seconds from arrays to a solver that can begin, the median."""
    arrays = problem.J, problem.Minv, problem.b
    seconds = []
    for _ in range(run.repeats):
        start = time.perf_counter()
        made = cs.Problem(*arrays, problem.mu, bodies=problem.bodies)
        cs.Solver(made, method="gauss_seidel", scheme="factorized", islands=False, threads=1)
        seconds.append(time.perf_counter() - start)
    yield "set-up", float(np.median(seconds)), None, "1"


def one_worker(problem, run):
    """Parallel Jacobi as S1's workers do it, on one thread, over the sequential one."""
    sweeps = published.SEQUENTIAL["large ball grid", "jacobi"][0]
    methods = [SEQUENTIAL, WORKER]
    timings = timed(problem, methods, sweeps, run, threads=(1,), rollback=0)
    plain, worker = (timings[method.label, 1] for method in methods)
    whole = (worker.setup + worker.seconds) / (plain.setup + plain.seconds)
    yield "one worker, set-up included", None, float(np.median(whole)), "1"
    yield "one worker, a sweep", None, float(np.median(worker.seconds / plain.seconds)), "1"


def naive(problem, run):
    """Naive ranges on each number of threads, over sequential Gauss-Seidel."""
    timings = timed(problem, [GAUSS_SEIDEL, NAIVE], SWEEPS, run)
    base = timings[GAUSS_SEIDEL.label, 1]
    for number, timing in by_threads(timings, NAIVE.label).items():
        seconds = float(np.median(timing.seconds))
        yield "naive ranges over Gauss-Seidel", seconds, timing.speedup(base), str(number)


def relaxed_transfer(problem, run):
    """The relaxed greedy T scheme on each number of threads, over the one before it."""
    method = cs.Method(
        "gauss_seidel", scheme="iteration_matrix", order=relaxed_order(problem), label="T"
    )
    own = by_threads(timed(problem, [method], SWEEPS, run), method.label)
    if len(own) == 1:
        yield "relaxed greedy T, more threads", None, None, "1"
    for fewer, more in pairwise(own):
        ratio = own[more].speedup(own[fewer])
        yield "relaxed greedy T, more threads", None, ratio, f"{fewer} → {more}"


FIGURES = ("seconds", "s1_seconds", "ratio", "s1_ratio")
MEASURED = {
    "large ball pile": (setup,),
    "large ball grid": (one_worker, naive),
    "small ball pile": (relaxed_transfer,),
}


def rows_of(run):
    for name, measures in MEASURED.items():
        problem = scene(name, run)
        for measure in measures:
            for what, seconds, ratio, threads in measure(problem, run):
                section, _, s1_seconds, s1_ratio, s1_cores = published.RUNNING_TEXT[what]
                yield {
                    "section": section,
                    "scene": name,
                    "what": what,
                    "seconds": seconds,
                    "s1_seconds": s1_seconds,
                    "ratio": ratio,
                    "s1_ratio": s1_ratio,
                    "threads": threads,
                    "s1_cores": s1_cores,
                }


def draw(rows):
    """Ratios as bars, S1's as marks."""
    figure, (ax,) = panels([""], width=8.0, height=3.0)
    known = [row for row in rows if row["ratio"] is not None]
    labels = [f"{row['what']}\n{row['threads']} here, {row['s1_cores']} in S1" for row in known]
    ax.barh(labels, [row["ratio"] for row in known], color="#9db8d9", label="ours")
    ax.plot([row["s1_ratio"] for row in known], labels, "d", color="#c8501e", label="S1")
    ax.invert_yaxis()
    ax.set_xlabel("ratio; threads and cores below each name")
    ax.legend(fontsize=8)
    return figure


def stored_before(run, rows):
    """Rows of an earlier run on other numbers of threads."""
    old = common.kept("running_text", rows, ("what", "threads"), run.results)
    return [
        row | {key: value_of(row[key]) for key in FIGURES}
        for row in old
        if row["what"] in published.RUNNING_TEXT
    ]


def place_of(row):
    """Where a row stands: by S1's section, by what it is and by threads."""
    whats = list(published.RUNNING_TEXT)
    return row["section"], whats.index(row["what"]), int(row["threads"].split()[-1])


def main(run):
    rows = list(rows_of(run))
    publish(run, "running_text", sorted(rows + stored_before(run, rows), key=place_of), draw)


if __name__ == "__main__":
    main(arguments(__doc__))
