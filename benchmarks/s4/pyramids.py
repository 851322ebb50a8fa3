"""S4's comparison: pyramids of 2 ... 800 layers, by Jacobi with 1/adjacent and by Gauss-Seidel.

sweeps.csv    the time of an iteration: on one thread, on all cores, and on a device if there is one
solves.csv    iterations and times until the scaled natural map is 1e-3
accurate.csv  the iterations to 1e-6, of small pyramids

Times are those of the clock, medians of runs in turns; the processor's own time on one thread
stands beside them, because other work on the machine lengthens the former alone. A solve
whose iterations are expected to take longer than 60 s is left out; a solve that takes more than 2 s
is timed once, others three times, of which the median counts.

    python benchmarks/s4/pyramids.py [--quick] [--device cuda]
"""

import os
import time

import numpy as np
from output import pages, publish, styles
from protocol import (
    CHECK,
    METHODS,
    PLAIN,
    arguments,
    clocks,
    devices,
    interleaved,
    pyramid,
    sum_of,
    sweeping,
)

import contactsolve as cs

ROUGH, FINE = 1e-3, 1e-6
SHORT = 2.0  # solves that take less [s] are timed three times
PLACES = ("sequential", "threaded", "device")


# ---- one iteration -------------------------------------------------------------------------------


def sweep_task(problem, run, options, cpu):
    """A task of `interleaved`: some sweeps; returns the seconds of one, adds the processor's."""
    count = max(run.sweeps, run.visits // problem.contacts)
    solver = sweeping(problem, count, **{**PLAIN, **options})

    def task():
        clock, own = clocks.of_sweep(solver, count)
        cpu.append(own)
        return clock

    return task


def rows_of_sweeps(run):
    """A row for each pyramid and method; all places take turns."""
    for layers in run.layers:
        problem, cpu = pyramid(layers), {}
        tasks = {
            (method, place): sweep_task(
                problem, run, {**options, **where}, cpu.setdefault((method, place), [])
            )
            for method, options in METHODS.items()
            for place, where in run.places(method).items()
        }
        seconds = interleaved(tasks, run.repeats)
        for method in METHODS:
            medians = {
                place: float(np.median(seconds[method, place]))
                for place in PLACES
                if (method, place) in seconds
            }
            spent = float(np.median(cpu[method, "sequential"]))
            yield {
                **row_of(run, problem, layers, method, medians, spent),
                "ns_per_contact": 1e9 * spent / problem.contacts,
            }


def row_of(run, problem, layers, method, times, cpu):
    """What all rows have: the pyramid, the method, its places and their times."""
    return {
        "layers": layers,
        "contacts": problem.contacts,
        "method": method,
        "threads": run.threads,
        "device": devices.named(run.device),
        **{f"{place}_s": times.get(place) for place in PLACES},
        **{
            f"{place}_speedup": times["sequential"] / times[place] if place in times else None
            for place in PLACES[1:]
        },
        "cpu_s": cpu,
        "load": os.getloadavg()[0],
    }


# ---- solves --------------------------------------------------------------------------------------


def solved(problem, rtol, most, **options):
    """A result, the median of its times, and that of the processor's time with the checks."""
    solver = cs.Solver(
        problem, rtol=rtol, check_every=CHECK, max_iterations=most, **{**PLAIN, **options}
    )
    times, cpu = [], []
    while not times or (times[0] < SHORT and len(times) < 3):
        begun = time.process_time()
        result = solver.solve()
        cpu.append(time.process_time() - begun)
        times.append(result.time)
    return result, float(np.median(times)), float(np.median(cpu))


def rows_of_solves(run, sweeps):
    """A row for each pyramid and method, with the iterations of the sequential solve."""
    expected = {}
    for layers in run.layers:
        problem = pyramid(layers)
        for method, options in METHODS.items():
            own = next(r for r in sweeps if (r["layers"], r["method"]) == (layers, method))
            # Iterations are those of the pyramid before, or more.
            if expected.get(method, 0) * own["cpu_s"] > run.budget:
                continue
            times = {}
            for place, where in run.places(method).items():
                result, times[place], cpu = solved(problem, ROUGH, run.most, **options, **where)
                if place == "sequential":
                    first, first_cpu = result, cpu
            expected[method] = first.iterations
            yield {
                **row_of(run, problem, layers, method, times, first_cpu),
                "status": first.status,
                "iterations": first.iterations,
                "sum": sum_of(first.impulses),
            }
            print(layers, method, first.iterations, first_cpu, times, flush=True)


def rows_of_accurate(run):
    """Iterations to a thousandth of that error, in a row for each pyramid."""
    for layers in run.accurate:
        problem = pyramid(layers)
        row = {"layers": layers, "contacts": problem.contacts}
        for number, (method, options) in enumerate(METHODS.items()):
            result = cs.solve(
                problem, rtol=FINE, check_every=CHECK, max_iterations=run.most, **PLAIN, **options
            )
            met = result.status == "converged"
            row |= {
                f"method_{number}": method,
                f"iterations_{number}": result.iterations if met else None,
                f"sum_{number}": sum_of(result.impulses),
            }
        if row["iterations_0"] and row["iterations_1"]:
            row["ratio"] = row["iterations_0"] / row["iterations_1"]
        yield {"ratio": None, **row}


# ---- pictures ------------------------------------------------------------------------------------


def lines(ax, rows, key, style, label=None, **look):
    """One method's figures over its contacts."""
    known = [row for row in rows if row[key] is not None]
    if known:
        ax.plot(
            [row["contacts"] for row in known], [row[key] for row in known],
            color=style.color, marker=style.marker, markersize=4, label=label, **look,
        )  # fmt: skip


# One core: the processor's own time.
DASHES = {
    "cpu_s": ("-", "one core"),
    "threaded_s": ("--", "all cores"),
    "device_s": (":", "device"),
}


def draw_sweeps(rows):
    figure, (times, per_contact) = pages.panels(
        ("seconds of an iteration", "ns per contact, one core"), width=5.2
    )
    for method, style in styles(METHODS).items():
        own = [row for row in rows if row["method"] == method]
        for key, (dash, place) in DASHES.items():
            lines(times, own, key, style, f"{method}, {place}", linestyle=dash)
        lines(per_contact, own, "ns_per_contact", style)
    finish((times, per_contact))
    return figure


def draw_solves(rows):
    figure, (counts, times) = pages.panels(("iterations", "seconds of a solve"), width=5.2)
    for method, style in styles(METHODS).items():
        own = [row for row in rows if row["method"] == method and row["status"] == "converged"]
        lines(counts, own, "iterations", style, method)
        for key, (dash, _) in DASHES.items():
            lines(times, own, key, style, linestyle=dash)
    finish((counts, times))
    times.set_xlabel("contacts; dashed: on all cores, dotted: on the device")
    return figure


def draw_accurate(rows):
    figure, (ax,) = pages.panels(("iterations to 1e-6, by contacts",), width=5.2)
    for number, (method, style) in enumerate(styles(METHODS).items()):
        lines(ax, rows, f"iterations_{number}", style, method)
    finish((ax,))
    return figure


def finish(axes):
    for ax in axes:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("contacts")
    axes[0].legend(fontsize=8)


def main(run):
    sweeps = list(rows_of_sweeps(run))
    publish(run, "sweeps", sweeps, draw_sweeps)
    publish(run, "accurate", list(rows_of_accurate(run)), draw_accurate)
    publish(run, "solves", list(rows_of_solves(run, sweeps)), draw_solves)


if __name__ == "__main__":
    main(arguments(__doc__))
