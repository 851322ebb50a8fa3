"""S2 section 6.1, Figs 6.1 to 6.3: the time of an iteration with a full matrix G, JOR and SOR.

G is random and diagonally dominant, symmetric here, and c random: S2 measures nothing but the speed
of iterations. Each size has 5 random problems of a fixed seed, with 10 iterations each (S2, listing
6.1). Measured: the time of an iteration on one core, on all cores and on a device; what NumPy takes
for T λ + d (by OpenBLAS) and the prox, on one core and on all, in processes of their own; speed-ups
over our iteration on one core by the clock, of our iteration on all cores, of NumPy's on all (S2's
variant 7) and of the device's; GFLOPS and the bytes of T a second; on a device the times of
allocation and copies, with the iterations that pay for them (eq. 6.1); the cross-check of S2
section 3.7.1: how many floats lie between two results at most (ULP), and whether all are finite.
Writes dense.csv, in which other sizes of the same device stay, and dense.png; `report.py` renews
docs/s2.md.

    python benchmarks/s2/dense.py [100 400 4400] [--device cuda] [--quick]
    python benchmarks/s2/dense.py --draw DENSE.csv          # the picture alone

Times on one core (one_s, numpy_s) are the CPU times of the thread; those that speed-ups and eq. 6.1
compare (one_clock_s, numpy_clock_s, threads_s, numpy_threads_s, device_s) are by the clock.

4,400 contacts take 5.7 GB: G, and what a problem keeps of a given matrix, three times as much; then
T in place of G.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import contactsolve as cs
from contactsolve import _devices

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import ROOT, clocks, devices, pages, sweeping

SIZES = (100, 200, 300, 400, 600, 800, 1200, 1600, 2200, 3000, 4400)
RUNS, ITERATIONS, SEED, MU = 5, 10, 5, 0.5  # S2 says 5, 10 and 5; μ is our choice
PRECISIONS = (np.float32, np.float64)
PIECE = 512  # rows of G that are worked on at a time, so that what is in between is small
ALL = {"scheme": "dense", "r_factor": "diagonal", "islands": False, "rollback": 0}
JOR, FULL = "JOR", "full SOR"
GATHERED = (2, 4, 16, 128)  # of S2's relaxed variants 1 to 4
RELAXED = {f"relaxed SOR of {count}": count for count in GATHERED}


class Run(NamedTuple):
    """How much is measured, from the command line."""

    results: Path
    sizes: tuple[int, ...] = SIZES
    device: str | None = None
    threads: int = 1  # 1: threads are not measured
    runs: int = RUNS


def random_problem(contacts, run):
    """G and c: the diagonal is larger than the sum of the absolute values beside it."""
    rng = np.random.default_rng((SEED, contacts, run))
    G = rng.uniform(-1, 1, (3 * contacts, 3 * contacts))
    make_symmetric(G)
    np.fill_diagonal(G, 0)
    sums = np.concatenate([np.abs(G[rows]).sum(axis=1) for rows in pieces(len(G))])
    np.fill_diagonal(G, sums + rng.uniform(0, 1, 3 * contacts))
    return G, rng.uniform(-1, 1, (contacts, 3))


def pieces(rows):
    """Slices of so many rows, one after another."""
    return [slice(first, min(first + PIECE, rows)) for first in range(0, rows, PIECE)]


def make_symmetric(G):
    """G becomes (G + Gᵀ) / 2."""
    for i, own in enumerate(pieces(len(G))):
        for other in pieces(len(G))[i:]:
            G[own, other] = (G[own, other] + G[other, own].T) / 2
            G[other, own] = G[own, other].T


def options_of(method):
    """The options of a method."""
    if method == JOR:
        return {"method": "jacobi", **ALL}
    order = cs.orders.panels(contacts=RELAXED[method]) if method in RELAXED else "natural"
    return {"method": "gauss_seidel", "order": order, **ALL}


# ---- the cross-check -----------------------------------------------------------------------------


def iteration_matrix(G, c, dtype, relaxation=1.0):
    """T = 1 - R G and d = -R c, with R by eqs. 4.41 to 4.43."""
    diagonal = G.diagonal().reshape(-1, 3).copy()
    diagonal[:, 1:] = diagonal[:, 1:].max(axis=1, keepdims=True)
    factor = (relaxation / diagonal).reshape(-1, 1)
    T = np.empty(G.shape, dtype)
    for rows in pieces(len(G)):
        T[rows] = -factor[rows] * G[rows]
    np.fill_diagonal(T, 1 - factor[:, 0] * G.diagonal())
    return T, (-factor[:, 0] * c.ravel()).astype(dtype)


def jor_by_numpy(G, c, dtype):
    """S2 algorithm 5.2.1 in NumPy: impulses, seconds of an iteration by the clock, CPU time."""
    T, d = iteration_matrix(G, c, dtype)
    impulses = np.zeros(len(d), dtype)
    begun, own = time.perf_counter(), time.process_time()
    for _ in range(ITERATIONS):
        z = (T @ impulses + d).reshape(-1, 3)
        np.maximum(z[:, 0], 0, out=z[:, 0])
        length = np.hypot(z[:, 1], z[:, 2])
        most = dtype(MU) * z[:, 0]
        outside = length > most
        z[outside, 1:] *= (most[outside] / length[outside])[:, None]
        impulses = z.ravel()
    clock, own = time.perf_counter() - begun, time.process_time() - own
    return impulses, clock / ITERATIONS, own / ITERATIONS


def numpy_on_threads(contacts, number, threads):
    """NumPy's seconds of an iteration on so many threads, by the clock and CPU time, by precision.

    BLAS takes the number of its threads from the environment when it is loaded: hence a process.
    """
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, __file__, str(contacts), "--by-numpy", str(number)],
        env={**os.environ, **dict.fromkeys(names, str(threads))},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def told_by_numpy(contacts, number):
    """The seconds of one random problem by precision, as text."""
    G, c = random_problem(contacts, number)
    return json.dumps({dtype.__name__: jor_by_numpy(G, c, dtype)[1:] for dtype in PRECISIONS})


def ulps(a, b, dtype):
    """How many floats lie between the numbers of two arrays.  S2 section 3.7.1"""
    whole = np.int32 if dtype is np.float32 else np.int64

    def places(x):
        bits = np.ascontiguousarray(x.ravel(), dtype).view(whole)
        # Numbers below zero count downwards from it.
        return np.where(bits < 0, np.iinfo(whole).min - bits, bits).astype(object)

    return np.abs(places(a) - places(b)).astype(float)


def cross_check(impulses, other, dtype):
    """S2's checks of an array against another: distances, and whether all is finite."""
    apart = ulps(impulses, other, dtype)
    largest = np.abs(other).max()
    return {
        "ulp_max": float(apart.max()),
        "ulp_mean": float(apart.mean()),
        "apart": float(np.abs(impulses.ravel() - other.ravel()).max() / (largest or 1.0)),
        "finite": int(np.isfinite(impulses).all() and np.isfinite(other).all()),
    }


# ---- measuring -----------------------------------------------------------------------------------


def timed(problem, options, dtype, **where):
    """Seconds of an iteration by the clock, CPU time, and the impulses."""
    solver = sweeping(problem, ITERATIONS, dtype=dtype.__name__, **{**options, **where})
    clocks.of_sweep(solver, ITERATIONS)
    clock, own = clocks.of_sweep(solver, ITERATIONS)
    return clock, own, np.asarray(solver.solve().impulses)


def one_run(contacts, number, run):
    """Rows of one random problem: (method, precision) → figures."""
    numpy_on = {count: numpy_on_threads(contacts, number, count) for count in {1, run.threads}}

    # G and T are large: what is not needed any more is given back before the next is made.
    G, c = random_problem(contacts, number)
    by_numpy = {dtype: jor_by_numpy(G, c, dtype)[0] for dtype in PRECISIONS}
    problem = cs.Problem.from_delassus(G, c, MU)
    del G
    for dtype in PRECISIONS:
        for method in (JOR, FULL, *RELAXED):
            options = options_of(method)
            clock, own, impulses = timed(problem, options, dtype)
            row, other = {"one_clock_s": clock, "one_s": own}, None
            if method == JOR:
                other = by_numpy[dtype]
                row["numpy_clock_s"], row["numpy_s"] = numpy_on[1][dtype.__name__]
                if run.threads > 1:
                    row["numpy_threads_s"] = numpy_on[run.threads][dtype.__name__][0]
            if run.threads > 1:
                row["threads_s"] = timed(problem, options, dtype, threads=run.threads)[0]
            if run.device:
                row["device_s"], _, other = timed(problem, options, dtype, device=run.device)
            checked = {"finite": int(np.isfinite(impulses).all())}
            if other is not None:
                checked = cross_check(impulses, other, dtype)
            yield (method, dtype), {**row, **checked}


def memory_of(run, size):
    """Medians of the device's times for T and three vectors; none without a device."""
    if not run.device:
        return {}
    module = _devices.module_of(run.device)
    times = [module.memory_times(size) for _ in range(run.runs)]
    return {f"{name}_s": float(np.median([t[name] for t in times])) for name in times[0]}


def row_of(run, contacts, method, dtype, found, memory):
    """Medians of all runs, and what follows from them."""
    n = 3 * contacts
    row = {key: float(np.median([each[key] for each in found])) for key in found[0]}
    for key in ("ulp_max", "apart"):
        if key in row:
            row[key] = max(each[key] for each in found)
    row["finite"] = min(each["finite"] for each in found)
    flops, size = 2 * n * n, dtype().nbytes * n * n  # S2 table 3.6: 2 n² − n, and n for d
    at = {place: row.get(f"{place}_s") for place in ("one", "threads", "device")}
    return {
        "contacts": contacts,
        "method": method,
        "dtype": dtype.__name__,
        "threads": run.threads,
        "device": devices.named(run.device),
        "cross_check": "device" if run.device else "NumPy" if method == JOR else "",
        **row,
        "megabytes": size / 1e6,
        "gflops": flops / row["one_s"] / 1e9,
        "gbs": size / row["one_s"] / 1e9,
        **memory,
        **over(row, at, memory, flops, size),
    }


def over(row, at, memory, flops, size):
    """Speed-ups by the clock, and eq. 6.1 without allocation, as S2 counts, and with it."""
    found = {}
    if at["threads"]:
        found["threads_speedup"] = row["one_clock_s"] / at["threads"]
    if "numpy_threads_s" in row:
        found["numpy_threads_speedup"] = row["one_clock_s"] / row["numpy_threads_s"]  # variant 7
        found["numpy_threads_over_numpy"] = row["numpy_clock_s"] / row["numpy_threads_s"]
    if at["device"]:
        gain = row["one_clock_s"] - at["device"]
        copies = memory["to_device_s"] + memory["from_device_s"]
        whole = copies + memory["take_s"] + memory["give_back_s"]
        found |= {
            "device_gflops": flops / at["device"] / 1e9,
            "device_gbs": size / at["device"] / 1e9,
            "device_share": size / at["device"] / (2 * size / memory["within_s"]),
            "device_speedup": row["one_clock_s"] / at["device"],
            "break_even": copies / gain if gain > 0 else None,
            "break_even_allocating": whole / gain if gain > 0 else None,
        }
        if at["threads"]:
            found["device_over_threads"] = at["threads"] / at["device"]
    return found


def rows_of(contacts, run):
    """A row for each method and precision of a size."""
    found = {}
    for number in range(run.runs):
        for key, row in one_run(contacts, number, run):
            found.setdefault(key, []).append(row)
    for (method, dtype), rows in found.items():
        size = dtype().nbytes * (3 * contacts) * (3 * contacts + 3)
        memory = memory_of(run, size)
        row = row_of(run, contacts, method, dtype, rows, memory)
        told = f"{1e6 * row['one_s']:.4g} us, {row['gbs']:.3g} GB/s"
        print(f"{contacts:5} {method:18} {dtype.__name__}  {told}", flush=True)
        yield row


def stored_with(name, rows, keys, results):
    """Write rows to a CSV, besides those of the same device that they do not measure again."""
    before = common.kept(name, rows, keys, results)
    before = [row for row in before if row.get("device") == rows[0]["device"]]
    ordered = sorted([*before, *rows], key=lambda row: int(row["contacts"]))
    return common.write_csv(name, ordered, results)


# ---- the picture ---------------------------------------------------------------------------------


class Line(NamedTuple):
    """What a panel shows of each method: a column, in which unit, how, and what that is."""

    key: str
    scale: float
    form: str
    what: str


PANELS = {
    "ms of an iteration": (
        Line("one_s", 1e3, "-", "one core, CPU time"),
        Line("device_s", 1e3, ":", "device"),
    ),
    "speed-up over one core": (
        Line("threads_speedup", 1, "-", "all cores"),
        Line("numpy_threads_speedup", 1, "--", "NumPy, all cores"),
        Line("device_speedup", 1, ":", "device"),
    ),
    "iterations to break even": (Line("break_even", 1, "-", "without allocation (eq. 6.1)"),),
}
FORMS = {"-": "solid", "--": "dashed", ":": "dotted"}


def draw(rows):
    """The time of an iteration (Fig. 6.1), speed-ups (Fig. 6.2), break-even (Fig. 6.3)."""
    precisions = sorted({row["dtype"] for row in rows}, reverse=True)
    titles = [f"{what}, {precision}" for precision in precisions for what in PANELS]
    figure, axes = pages.panels(titles, width=4.8)
    for i, precision in enumerate(precisions):
        own = [row for row in rows if row["dtype"] == precision]
        draw_precision(axes[len(PANELS) * i : len(PANELS) * (i + 1)], own)
    return figure


def draw_precision(axes, rows):
    """The panels of one precision."""
    nothing = "none" if any(row.get("device_s") for row in rows) else "not measured"
    for label, style in pages.styles(row["method"] for row in rows).items():
        own = [row for row in rows if row["method"] == label]
        look = {"color": style.color, "marker": style.marker, "markersize": 4, "linewidth": 0.9}
        for ax, lines in zip(axes, PANELS.values(), strict=True):
            for i, (key, scale, form, _) in enumerate(lines):
                line(ax, own, key, scale, linestyle=form, label="" if i else label, **look)
    for ax, lines in zip(axes, PANELS.values(), strict=True):
        # A line that no method has is not explained.
        forms = {drawn.get_linestyle() for drawn in ax.lines}
        told = [f"{FORMS[each.form]}: {each.what}" for each in lines if each.form in forms]
        ax.set_xlabel("; ".join(("contacts", *told)))
        if not ax.lines:
            ax.text(0.5, 0.5, nothing, transform=ax.transAxes, ha="center")
            ax.set(xticks=(), yticks=())
            continue
        pages.logarithmic(ax, "x")
        pages.logarithmic(ax, "y", (1, 2, 5) if ax is axes[0] else (1, 1.2, 1.5, 2, 3, 5, 8))
    axes[0].legend(fontsize=7)


def line(ax, rows, key, scale, **look):
    """A line over the contacts, where rows have values of the column."""
    known = [row for row in rows if row.get(key) not in (None, "")]
    if known:
        contacts = [int(row["contacts"]) for row in known]
        ax.plot(contacts, [scale * float(row[key]) for row in known], **look)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, metavar="contacts")
    parser.add_argument("--quick", action="store_true", help="small, to build/benchmarks")
    parser.add_argument("--draw", type=Path, metavar="CSV", help="draw what was measured before")
    parser.add_argument(
        "--by-numpy", type=int, metavar="RUN", help="print what NumPy takes for this run, as JSON"
    )
    devices.add_option(parser)
    given = parser.parse_args(argv)
    if given.by_numpy is not None:
        print(told_by_numpy(given.sizes[0], given.by_numpy))
        return
    if given.draw:
        print(pages.picture(given.draw.with_suffix(".png"), draw, pages.read(given.draw)))
        return
    folder = ROOT / "build" / "benchmarks" if given.quick else common.RESULTS / common.machine()
    run = Run(folder / "s2", tuple(given.sizes), given.device, clocks.free_cores())
    measure(run._replace(sizes=(4, 10), runs=1) if given.quick else run)


def measure(run):
    """Measure each size; the CSV has what is known so far after each."""
    for contacts in run.sizes:
        rows = list(rows_of(contacts, run))
        path = stored_with("dense", rows, ("contacts", "method", "dtype"), run.results)
    print(path)
    print(pages.picture(path.with_suffix(".png"), draw, pages.read(path)))


if __name__ == "__main__":
    main()
