"""S2 section 6.1, Figs 6.1 to 6.3: the time of an iteration with a full matrix G, JOR and SOR.

G is random and diagonally dominant, symmetric here, and c random: S2 measures nothing but the speed
of iterations. Each size has 5 random problems of a fixed seed, with 10 iterations each (S2, listing
6.1). Measured: the time of an iteration on one core, on all cores and on a device; what NumPy takes
for T λ + d (by OpenBLAS) and the prox; GFLOPS and the bytes of T a second; on a device the times of
allocation and copies, with the iterations that pay for them (eq. 6.1), and the speed-ups; the
cross-check of S2 section 3.7.1: how many floats lie between two results at most (ULP), and whether
all are finite. Writes dense.csv and dense.png; `report.py` renews docs/s2.md.

    OPENBLAS_NUM_THREADS=1 python benchmarks/s2/dense.py [100 400 4400] [--device cuda] [--quick]
    python benchmarks/s2/dense.py --draw DENSE.csv          # the picture alone

NumPy's time is that of the processor, on one core if OpenBLAS is told so.

The largest size, 4,400 contacts, needs about 10 GB: G is given by rows of blocks, too.
"""

import argparse
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
    """G, c and μ: the diagonal is larger than the sum of the absolute values beside it."""
    rng = np.random.default_rng((SEED, contacts, run))
    G = rng.uniform(-1, 1, (3 * contacts, 3 * contacts))
    G = (G + G.T) / 2
    np.fill_diagonal(G, 0)
    np.fill_diagonal(G, np.abs(G).sum(axis=1) + rng.uniform(0, 1, 3 * contacts))
    return G, rng.uniform(-1, 1, (contacts, 3))


def options_of(method):
    """The options of a method."""
    if method == JOR:
        return {"method": "jacobi", **ALL}
    order = cs.orders.panels(contacts=RELAXED[method]) if method in RELAXED else "natural"
    return {"method": "gauss_seidel", "order": order, **ALL}


# ---- the cross-check -----------------------------------------------------------------------------


def jor_by_numpy(G, c, dtype):
    """S2 algorithm 5.2.1 in NumPy: impulses, and the processor's seconds of an iteration."""
    rows = len(G)
    diagonal = G.diagonal().reshape(-1, 3).copy()
    diagonal[:, 1:] = diagonal[:, 1:].max(axis=1, keepdims=True)  # eqs. 4.42, 4.43
    factor = (1 / diagonal).reshape(-1, 1)
    T = (np.eye(rows) - factor * G).astype(dtype)
    d = (-factor[:, 0] * c.ravel()).astype(dtype)
    impulses = np.zeros(rows, dtype)
    begun = time.process_time()
    for _ in range(ITERATIONS):
        z = (T @ impulses + d).reshape(-1, 3)
        np.maximum(z[:, 0], 0, out=z[:, 0])
        length = np.hypot(z[:, 1], z[:, 2])
        most = dtype(MU) * z[:, 0]
        outside = length > most
        z[outside, 1:] *= (most[outside] / length[outside])[:, None]
        impulses = z.ravel()
    return impulses, (time.process_time() - begun) / ITERATIONS


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
    """Seconds of an iteration, by the clock and by the processor, and the impulses."""
    solver = sweeping(problem, ITERATIONS, dtype=dtype.__name__, **{**options, **where})
    clocks.of_sweep(solver, ITERATIONS)
    clock, own = clocks.of_sweep(solver, ITERATIONS)
    return clock, own, np.asarray(solver.solve().impulses)


def one_run(contacts, number, run):
    """Rows of one random problem: (method, precision) → figures."""
    G, c = random_problem(contacts, number)
    problem = cs.Problem.from_delassus(G, c, MU)
    for dtype in (np.float64, np.float32):
        by_numpy, numpy_s = jor_by_numpy(G, c, dtype)
        for method in (JOR, FULL, *RELAXED) if dtype is np.float64 else (JOR, FULL):
            options = options_of(method)
            clock, own, impulses = timed(problem, options, dtype)
            row = {"one_clock_s": clock, "one_s": own}
            other = by_numpy if method == JOR else None
            if method == JOR:
                row["numpy_s"] = numpy_s
            if run.threads > 1:
                row["threads_s"] = timed(problem, options, dtype, threads=run.threads)[0]
            if run.device:
                row["device_s"], _, other = timed(problem, options, dtype, device=run.device)
            checked = cross_check(impulses, other, dtype) if other is not None else {}
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
    """Speed-ups, and eq. 6.1 without allocation, as S2 counts, and with it."""
    found = {}
    if at["threads"]:
        found["threads_speedup"] = row["one_clock_s"] / at["threads"]
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


def rows_of(run):
    """A row for each size, method and precision."""
    for contacts in run.sizes:
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


# ---- the picture ---------------------------------------------------------------------------------


def draw(rows):
    """The time of an iteration (Fig. 6.1), speed-ups (Fig. 6.2), break-even (Fig. 6.3)."""
    titles = ("ms of an iteration, one core", "speed-up over one core", "iterations to break even")
    figure, axes = pages.panels(titles, width=4.8)
    labels = list(dict.fromkeys((row["method"], row["dtype"]) for row in rows))
    for label, style in pages.styles(labels).items():
        own = [row for row in rows if (row["method"], row["dtype"]) == label]
        look = {"color": style.color, "marker": style.marker, "markersize": 4, "linewidth": 0.9}
        line(axes[0], own, "one_s", 1e3, label=", ".join(label), **look)
        line(axes[0], own, "device_s", 1e3, linestyle=":", **look)
        line(axes[1], own, "device_speedup", linestyle=":", **look)
        line(axes[1], own, "threads_speedup", **look)
        line(axes[2], own, "break_even", **look)
    for ax, what in zip(axes, ("dotted: device", "dotted: device", "eq. 6.1"), strict=True):
        ax.set_xlabel(f"contacts; {what}")
        if not ax.lines:
            ax.text(0.5, 0.5, "not measured", transform=ax.transAxes, ha="center")
            ax.set(xticks=(), yticks=())
            continue
        pages.logarithmic(ax, "x")
        pages.logarithmic(ax, "y", (1, 2, 5) if ax is axes[0] else (1, 1.2, 1.5, 2, 3, 5, 8))
    axes[0].legend(fontsize=7)
    return figure


def line(ax, rows, key, scale=1.0, **look):
    known = [row for row in rows if row.get(key) not in (None, "")]
    if known:
        contacts = [int(row["contacts"]) for row in known]
        ax.plot(contacts, [scale * float(row[key]) for row in known], **look)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, metavar="contacts")
    parser.add_argument("--quick", action="store_true", help="small, to build/benchmarks")
    parser.add_argument("--draw", type=Path, metavar="CSV", help="draw what was measured before")
    devices.add_option(parser)
    given = parser.parse_args(argv)
    if given.draw:
        print(pages.picture(given.draw.with_suffix(".png"), draw, pages.read(given.draw)))
        return
    folder = ROOT / "build" / "benchmarks" if given.quick else common.RESULTS / common.machine()
    run = Run(folder / "s2", tuple(given.sizes), given.device, clocks.free_cores())
    measure(run._replace(sizes=(4, 10), runs=1) if given.quick else run)


def measure(run):
    rows = list(rows_of(run))
    path = common.write_csv("dense", rows, run.results)
    print(path)
    print(pages.picture(path.with_suffix(".png"), draw, rows))


if __name__ == "__main__":
    main()
