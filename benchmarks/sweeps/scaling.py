"""Cost of a sweep and of a solve, from 10² to 10⁶ contacts, on each number of threads.

Factorized Gauss-Seidel over ball grids with a fixed ground in the order "auto", with any J and
compressed. All runs of one size are interleaved with readings of memory (STREAM) on each number of
threads.

    sweeps  a sweep, the least of all runs, beside the loop that one writes with Numba, if that is
            installed. Set-up stands apart, in seconds and in sweeps. Writes scaling.csv
    solves  a solve of 50 sweeps as the caller's clock sees it, the median of all runs, and its
            speed-up over one thread. Writes scaling_solves.csv

Sizes and numbers of threads that are not measured keep their rows in the CSV, so that a long
measurement can be made piece by piece.

    python benchmarks/sweeps/scaling.py [sizes, e.g. 24 40] [--threads 1,2,4] [--only solves]
    python benchmarks/sweeps/scaling.py --plot   # the picture of docs/performance.md, from the CSV
    python benchmarks/sweeps/scaling.py --busy   # beside processes that want the processors, too
    python benchmarks/sweeps/report.py           # the tables of docs/performance.md, from the CSVs
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT, interleaved, kept, quartiles, stored, sweeping, teams, write_csv
from sweep import STREAM_BYTES, bytes_of, numba_sweep

SIZES = (4, 6, 8, 12, 16, 24, 32, 40, 52, 70)
KINDS = {"any J": False, "compressed": True}
DTYPES = ("float64", "float32")
PICTURE = ROOT / "docs" / "images" / "scaling.png"
CONTACT_SWEEPS = 300_000  # of one run
SOLVE_SWEEPS = 50
MEASURED = ("contacts", "threads")  # rows of a CSV that a later run replaces
BUSY_METHODS = {8: "jacobi", 24: "gauss_seidel"}  # which have work for two
BUSY_CONTACT_SWEEPS = 1_200_000  # of one run
BUSY_RUNS = 5
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"  # ends with this one


def solvers_of(problem, sweeps, dtype, threads):
    return {
        (kind, number): sweeping(
            problem, sweeps, dtype=dtype, compressed=compressed, threads=number
        )
        for kind, compressed in KINDS.items()
        for number in threads
    }


def row_of(problem, dtype, kind, number, info, rates):
    """What rows of both tables have; `used` are the threads that the solver has work for."""
    return {
        "case": problem.name,
        "contacts": problem.contacts,
        "dtype": dtype,
        "sweep": kind,
        "threads": number,
        "used": info.get("threads", 1),
        "order": info.get("order", "natural"),
        "kernel": info.get("kernel", "numba"),
        "stream_gbs": rates[1],
        "read_gbs": rates[number],
        "setup_seconds": info.get("setup_seconds", np.nan),
    }


# ---- sweeps -------------------------------------------------------------------------------------


def sweep_rows(size, dtype, threads, repeats):
    """A sweep of each kind on each number of threads."""
    problem = cs.scenarios.ball_grid(size)
    sweeps = max(2, CONTACT_SWEEPS // problem.contacts)
    solvers = solvers_of(problem, sweeps, dtype, threads)
    tasks = {name: lambda s=s: s.solve().sweep_time for name, s in solvers.items()}
    numba = numba_sweep(problem, sweeps, dtype)
    if numba:
        tasks["numba", 1] = numba
    seconds = interleaved({**tasks, **teams.reading(threads, STREAM_BYTES)}, repeats)
    rates = teams.take_rates(seconds, STREAM_BYTES)
    for (kind, number), values in seconds.items():
        info = solvers[kind, number].info if kind in KINDS else {}
        row = row_of(problem, dtype, kind, number, info, rates)
        yield with_sweep(row, problem, values / sweeps)


def with_sweep(row, problem, seconds):
    ns = 1e9 / problem.contacts
    row |= {
        "ns_least": seconds.min() * ns,
        **{f"ns_{k}": v * ns for k, v in quartiles(seconds).items()},
        "bytes": bytes_of(problem, row["sweep"], row["dtype"]) if row["sweep"] in KINDS else np.nan,
        "setup_sweeps": row["setup_seconds"] / seconds.min(),
    }
    print(
        f"{row['contacts']:8,} contacts {row['dtype']} {row['sweep']:10} "
        f"{teams.counted(row['threads']):10} {row['ns_least']:6.1f} ns (median "
        f"{row['ns_median']:6.1f}), {row['order']}, set-up {row['setup_sweeps']:.0f} sweeps",
        flush=True,
    )
    return row


# ---- whole solves -------------------------------------------------------------------------------


def solve_rows(size, dtype, threads, repeats):
    """Solves of 50 sweeps of each kind on each number of threads, as the caller's clock sees it."""
    problem = cs.scenarios.ball_grid(size)
    solvers = solvers_of(problem, SOLVE_SWEEPS, dtype, threads)
    inside = {name: [] for name in solvers}

    def task(name):
        inside[name].append(solvers[name].solve().sweep_time)

    tasks = {name: lambda name=name: task(name) for name in solvers}
    seconds = interleaved({**tasks, **teams.reading(threads, STREAM_BYTES)}, repeats)
    rates = teams.take_rates(seconds, STREAM_BYTES)
    for (kind, number), values in seconds.items():
        row = row_of(problem, dtype, kind, number, solvers[kind, number].info, rates)
        row |= {
            "sweeps": SOLVE_SWEEPS,
            **{f"ms_{k}": 1e3 * v for k, v in quartiles(values).items()},
            "sweeps_ms": 1e3 * float(np.median(inside[kind, number][1:])),
            "speedup": float(np.median(seconds[kind, 1] / values)),
        }
        print(
            f"{row['contacts']:8,} contacts {dtype} {kind:10} {teams.counted(number):10} solve of "
            f"{SOLVE_SWEEPS} sweeps {row['ms_median']:8.2f} ms (sweeps {row['sweeps_ms']:8.2f}), "
            f"{row['speedup']:.2f} x one thread",
            flush=True,
        )
        yield row


# ---- results ------------------------------------------------------------------------------------

TABLES = {"sweeps": ("scaling", sweep_rows), "solves": ("scaling_solves", solve_rows)}


def measure(which, sizes, threads, folder=None, repeats=None):
    """Measure one of the tables, and write it with the stored rows that were not measured again."""
    name, rows_of = TABLES[which]
    rows = [
        row
        for size in sizes
        for dtype in DTYPES
        for row in rows_of(size, dtype, threads, repeats or (21 if size < 50 else 9))
    ]
    ordered = sorted(
        kept(name, rows, MEASURED, folder) + rows,
        key=lambda row: (int(row["contacts"]), row["dtype"], row["sweep"], int(row["threads"])),
    )
    print(write_csv(name, ordered, folder))


def draw():
    import matplotlib.pyplot as plt

    rows = stored("scaling")
    most = max(int(row["threads"]) for row in rows)
    curves = {("numba", 1): "Numba"}
    for kind in KINDS:
        curves |= {(kind, 1): kind, (kind, most): f"{kind}, {teams.counted(most)}"}
    fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
    colors = {"numba": "tab:gray", "any J": "tab:orange", "compressed": "tab:blue"}
    for ax, dtype in zip(axes, DTYPES, strict=True):
        for (kind, number), label in curves.items():
            mine = [
                row
                for row in rows
                if (row["dtype"], row["sweep"], row["threads"]) == (dtype, kind, str(number))
            ]
            style = "o-" if number == 1 else "s--"
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


def busy_ways(threads):
    """Each number of threads as it is and as a most, and what the library chooses."""
    for number in threads:
        yield str(number), {"threads": number}
        if number > 1:
            yield f"at most {number}", {"threads": number, "exact_threads": False}
    yield "as many as pay", {"threads": None}


def busy_rows(threads, size):
    """Sweeps in each of these ways, beside competing processes."""
    problem = cs.scenarios.ball_grid(size)
    sweeps = BUSY_CONTACT_SWEEPS // problem.contacts
    solvers = {
        name: sweeping(problem, sweeps, method=BUSY_METHODS[size], **options)
        for name, options in busy_ways(threads)
    }
    tasks = {name: lambda s=s: s.solve().sweep_time for name, s in solvers.items()}
    for others in (0, 1, 2):
        spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(others)]
        try:
            seconds = interleaved(tasks, BUSY_RUNS)
        finally:
            for process in spinning:
                process.kill()
                process.wait()
        for name, values in seconds.items():
            ratio = float(values.sum() / seconds["1"].sum())
            per = 1e9 / problem.contacts / sweeps
            print(
                f"{size}^3, {others} competing: {name:15} {np.mean(values) * per:7.1f} ns a contact"
                f" and sweep, {ratio:.2f} x one thread",
                flush=True,
            )
            yield {
                "case": problem.name,
                "method": BUSY_METHODS[size],
                "competing": others,
                "threads": name,
                "ns_mean": float(np.mean(values)) * per,
                **{f"ns_{k}": v * per for k, v in quartiles(values).items()},
                "of_one": ratio,
            }


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, metavar="size")
    teams.add_options(parser)
    parser.add_argument("--only", choices=TABLES, help="measure one of the two tables")
    parser.add_argument("--repeats", type=int, help="runs of each (default: 21, large sizes 9)")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    parser.add_argument("--plot", action="store_true", help="draw the picture, measure nothing")
    parser.add_argument("--busy", action="store_true", help="beside competing processes")
    given = parser.parse_args(argv)
    threads = teams.chosen(parser, given)
    if given.plot:
        draw()
    elif given.busy:
        rows = [row for size in BUSY_METHODS for row in busy_rows(threads, size)]
        print(write_csv("scaling_busy", rows, given.results))
    else:
        for which in [given.only] if given.only else TABLES:
            measure(which, given.sizes, threads, given.results, given.repeats)


if __name__ == "__main__":
    main()
