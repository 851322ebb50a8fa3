"""Cost of a sweep per contact, from 10² to 10⁶ contacts, on one thread and on two.

Factorized Gauss-Seidel over ball grids with a fixed ground in the order "auto", with any J and
compressed; beside it the loop that one writes with Numba, if that is installed, and what a core
reads from memory in the same run (STREAM). All runs of one size are interleaved and the least of
each counts. Set-up stands apart, in seconds and in sweeps. Sizes that are not measured keep their
rows in the CSV, so that a long measurement can be made piece by piece.

    python benchmarks/sweeps/scaling.py [sizes, e.g. 24 40]
    python benchmarks/sweeps/scaling.py --plot   # the picture of docs/performance.md, from the CSV
    python benchmarks/sweeps/scaling.py --busy   # beside processes that want the processors, too
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import _core

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT, interleaved, quartiles, stored, sweeping, write_csv
from sweep import STREAM_BYTES, bytes_of, numba_sweep

SIZES = (4, 6, 8, 12, 16, 24, 32, 40, 52, 70)
KINDS = {"any J": False, "compressed": True}
PICTURE = ROOT / "docs" / "images" / "scaling.png"
CONTACT_SWEEPS = 300_000  # of one run
BUSY_SIZE = 24
BUSY_SWEEPS = 60
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"  # ends with this one


def solvers_of(problem, sweeps, dtype):
    return {
        (kind, threads): sweeping(
            problem, sweeps, dtype=dtype, compressed=compressed, threads=threads
        )
        for kind, compressed in KINDS.items()
        for threads in (1, 2)
    }


def measure(size, dtype):
    problem = cs.scenarios.ball_grid(size)
    sweeps = max(2, CONTACT_SWEEPS // problem.contacts)
    solvers = solvers_of(problem, sweeps, dtype)
    tasks = {name: lambda s=s: s.solve().sweep_time for name, s in solvers.items()}
    numba = numba_sweep(problem, sweeps, dtype)
    if numba:
        tasks["numba", 1] = numba
    tasks["stream", 1] = lambda: _core.stream(STREAM_BYTES)
    seconds = interleaved(tasks, 21 if size < 50 else 9)
    bandwidth = STREAM_BYTES / seconds.pop(("stream", 1)).min()
    for (kind, threads), values in seconds.items():
        info = solvers[kind, threads].info if kind in KINDS else {}
        yield row_of(problem, dtype, kind, threads, values / sweeps, info, bandwidth)


def row_of(problem, dtype, kind, threads, seconds, info, bandwidth):
    best = seconds.min() / problem.contacts
    setup = info.get("setup_seconds", np.nan)
    row = {
        "case": problem.name,
        "contacts": problem.contacts,
        "dtype": dtype,
        "sweep": kind,
        "threads": threads,
        "order": info.get("order", "natural"),
        "kernel": info.get("kernel", "numba"),
        "ns_least": best * 1e9,
        **{f"ns_{k}": v * 1e9 / problem.contacts for k, v in quartiles(seconds).items()},
        "bytes": bytes_of(problem, kind, dtype) if info else np.nan,
        "stream_gbs": bandwidth / 1e9,
        "setup_seconds": setup,
        "setup_sweeps": setup / seconds.min(),
    }
    print(
        f"{row['contacts']:8,} contacts {dtype} {kind:10} {threads} thread"
        f"{'s' if threads > 1 else ' '} {row['ns_least']:6.1f} ns (median "
        f"{row['ns_median']:6.1f}), {row['order']}, set-up {row['setup_sweeps']:.0f} sweeps",
        flush=True,
    )
    return row


# ---- results ------------------------------------------------------------------------------------


def store(rows):
    measured = {str(row["contacts"]) for row in rows}
    kept = [row for row in stored("scaling") if row["contacts"] not in measured]
    ordered = sorted(kept + rows, key=lambda row: (int(row["contacts"]), row["dtype"]))
    print(write_csv("scaling", ordered))


def draw():
    import matplotlib.pyplot as plt

    rows = stored("scaling")
    fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
    colors = {"numba": "tab:gray", "any J": "tab:orange", "compressed": "tab:blue"}
    for ax, dtype in zip(axes, ("float64", "float32"), strict=True):
        for (kind, threads), label in {
            ("numba", 1): "Numba",
            ("any J", 1): "any J",
            ("any J", 2): "any J, 2 threads",
            ("compressed", 1): "compressed",
            ("compressed", 2): "compressed, 2 threads",
        }.items():
            mine = [
                row
                for row in rows
                if (row["dtype"], row["sweep"], row["threads"]) == (dtype, kind, str(threads))
            ]
            style = "o-" if threads == 1 else "s--"
            contacts, ns = ([float(row[name]) for row in mine] for name in ("contacts", "ns_least"))
            ax.plot(contacts, ns, style, color=colors[kind], label=label, markersize=4)
        for kind in KINDS:
            last = [r for r in rows if (r["dtype"], r["sweep"]) == (dtype, kind)][-1]
            bound = float(last["bytes"]) / float(last["stream_gbs"])
            ax.axhline(
                bound,
                color=colors[kind],
                linewidth=0.9,
                linestyle=":",
                label=f"bytes of {kind} as one core reads memory",
            )
        ax.set(xscale="log", yscale="log", xlabel="contacts", title=dtype)
        ax.grid(which="both", linewidth=0.3)
        ax.set_yticks([2, 5, 10, 20, 50, 100], labels=["2", "5", "10", "20", "50", "100"])
    axes[0].set_ylabel("ns per contact and sweep")
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].legend(handles[:-2], labels[:-2], fontsize=8)
    axes[1].legend(handles[-2:], labels[-2:], fontsize=8)
    PICTURE.parent.mkdir(exist_ok=True)
    fig.savefig(PICTURE, dpi=110)
    print(PICTURE)


# ---- a busy machine -----------------------------------------------------------------------------


def busy_rows():
    """Sweeps on one thread, on two, and as the library sees fit, beside competing processes."""
    problem = cs.scenarios.ball_grid(BUSY_SIZE)
    solvers = {
        name: sweeping(problem, BUSY_SWEEPS, threads=threads)
        for name, threads in (("one", 1), ("two", 2), ("as many as pay", None))
    }
    tasks = {name: lambda s=s: s.solve().sweep_time for name, s in solvers.items()}
    for others in (0, 1, 2):
        spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(others)]
        try:
            seconds = interleaved(tasks, 5)
        finally:
            for process in spinning:
                process.kill()
                process.wait()
        for name, values in seconds.items():
            ratio = float(values.sum() / seconds["one"].sum())
            per = 1e9 / problem.contacts / BUSY_SWEEPS
            print(
                f"{others} competing: {name:15} {np.mean(values) * per:7.1f} ns a contact and "
                f"sweep, {ratio:.2f} x one thread"
            )
            yield {
                "case": problem.name,
                "competing": others,
                "threads": name,
                "ns_mean": float(np.mean(values)) * per,
                **{f"ns_{k}": v * per for k, v in quartiles(values).items()},
                "of_one": ratio,
            }


def main():
    if "--busy" in sys.argv:
        print(write_csv("scaling_busy", busy_rows()))
    elif "--plot" in sys.argv:
        draw()
    else:
        sizes = [int(word) for word in sys.argv[1:]] or SIZES
        store([r for n in sizes for dtype in ("float64", "float32") for r in measure(n, dtype)])


if __name__ == "__main__":
    main()
