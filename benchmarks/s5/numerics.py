"""S5's figures 3 and 4: preconditioner, product and solve of the sheet, by precision and threads.

s5_numerics.csv  seconds of an application of the preconditioner and of a product: sequential,
                 in S5's four parts on one thread, and on as many threads as there are cores
s5_solves.csv    the solve to 1e-6, in S5's order of operations and by `cs.sparse.cg`
s5_threads.csv   1 ... 8 threads at 8 parts; more threads than cores are told as not measured
s5_parts.csv     1 ... 64 parts: boundary, iterations and times

All times are means of three runs in turns, as S5's; a run of the first table is 100 applications.

    python benchmarks/s5/numerics.py [--quick] [s5_numerics s5_threads ...]
"""

import itertools
import os

import numpy as np
import published
from output import panels, publish, styles
from protocol import (
    DOUBLE,
    MIXED,
    PARTS,
    PARTS_OF_THREADS,
    PRECISIONS,
    SINGLE,
    application,
    arguments,
    in_turns,
    means,
    means_and_spreads,
    operators,
    plain_solve,
    solve,
    system_of,
)

KERNELS = ("pc", "spmv")
TABLES = ("s5_numerics", "s5_solves", "s5_threads", "s5_parts")


def kernels(own, run, threads):
    """Tasks of both kernels."""
    return {
        "pc": application(own.M, run, threads),
        "spmv": application(own.A, run, threads),
    }


# ---- figure 3 ------------------------------------------------------------------------------------


def rows_of_kernels(run, system):
    """A row for each precision and case; speed-ups are over the sequential case."""
    tasks = {}
    for dtype in PRECISIONS:
        whole, cut = operators(system, 1, dtype), operators(system, PARTS, dtype)
        for parts, threads, own in ((1, 1, whole), (PARTS, 1, cut), (PARTS, run.team, cut)):
            for name, task in kernels(own, run, threads).items():
                tasks[dtype, parts, threads, name] = task
    load = os.getloadavg()[0]
    seconds, spread = means_and_spreads(tasks, run)
    for dtype, parts, threads in dict.fromkeys(key[:3] for key in tasks):
        pc, spmv = (seconds[dtype, parts, threads, name] for name in KERNELS)
        yield {
            "dtype": dtype,
            "parts": parts,
            "threads": threads,
            "vertices": system.matrix.shape[0] // 3,
            "pc_s": pc,
            "spmv_s": spmv,
            "pc_over_spmv": pc / spmv,
            "load": load,
            "spread": max(spread[dtype, parts, threads, name] for name in KERNELS),
            "pc_speedup": seconds[dtype, 1, 1, "pc"] / pc,
            "spmv_speedup": seconds[dtype, 1, 1, "spmv"] / spmv,
        }


def rows_of_solves(run, system, measured):
    """A row for each precision, sequential and parallel; `measured`: the rows of the kernels."""
    of_kernels = {(row["dtype"], row["parts"], row["threads"]): row for row in measured}
    tasks = {}
    for dtype in (*PRECISIONS, MIXED):
        for parts, threads in ((1, 1), (PARTS, run.team)):
            own = operators(system, parts, dtype)
            tasks[dtype, parts, threads] = lambda own=own, dtype=dtype, threads=threads: {
                **solve(system, own, dtype, threads),
                **plain_solve(system, own, threads),
            }
    found = in_turns(tasks, run)
    for (dtype, parts, threads), row in found.items():
        pc = of_kernels[SINGLE if dtype == MIXED else dtype, parts, threads]["pc_s"]
        spmv = of_kernels[DOUBLE if dtype == MIXED else dtype, parts, threads]["spmv_s"]
        sequential = found[dtype, 1, 1]
        yield {
            "dtype": dtype,
            "parts": parts,
            "threads": threads,
            **row,
            "separate_s": row["iterations"] * (pc + spmv),
            "cg_speedup": sequential["cg_s"] / row["cg_s"],
            "plain_speedup": sequential["plain_s"] / row["plain_s"],
        }


def draw_kernels(rows):
    """As S5's figure 3: sequential, parallel, speed-up."""
    threads = max(int(row["threads"]) for row in rows)
    titles = ("sequential, 1 part", f"{PARTS} parts, threads: {threads}", "speed-up")
    figure, axes = panels(titles, height=3.6)
    cases = [
        [row for row in rows if (row["parts"], row["threads"]) == case]
        for case in ((1, 1), (PARTS, threads))
    ]
    for ax, case in zip(axes, (cases[0], cases[1]), strict=False):
        bars(ax, case, "{}_s", 1e3)
        ax.set_ylabel("ms")
    bars(axes[2], cases[1], "{}_speedup", 1)
    for place, name in enumerate(KERNELS):
        low, high = published.SPEEDUPS[name]
        axes[2].fill_between(
            [place - 0.45, place + 0.45], low, high, color="0.75", zorder=0,
            label=None if place else f"S5: single, {published.THREADS} cores",
        )  # fmt: skip
    axes[2].set_ylim(0, 5)
    axes[2].legend(fontsize=8, loc="upper left", ncols=3)
    return figure


def bars(ax, rows, key, scale):
    """A bar for each kernel and precision."""
    for place, (row, style) in enumerate(zip(rows, styles(PRECISIONS).values(), strict=True)):
        heights = [scale * float(row[key.format(name)]) for name in KERNELS]
        at = np.arange(len(KERNELS)) + 0.4 * (place - 0.5)
        drawn = ax.bar(at, heights, 0.36, color=style.color, label=row["dtype"])
        ax.bar_label(drawn, fmt="%.2f", fontsize=8)
    ax.set_xticks(range(len(KERNELS)), ["pc", "spmv"])
    ax.margins(y=0.15)
    ax.legend(fontsize=8)


# ---- figure 4 ------------------------------------------------------------------------------------


def rows_of_threads(run, system):
    """A row for each precision and number of threads; none is measured with more than cores."""
    own = {dtype: operators(system, PARTS_OF_THREADS, dtype) for dtype in PRECISIONS}
    cases = [(d, n) for d, n in itertools.product(PRECISIONS, run.threads) if n <= run.cores]
    seconds = means(
        {(*c, name): task for c in cases for name, task in kernels(own[c[0]], run, c[1]).items()},
        run,
    )
    solves = in_turns({(d, n): lambda d=d, n=n: solve(system, own[d], d, n) for d, n in cases}, run)
    for dtype, number in itertools.product(PRECISIONS, run.threads):
        times = {
            n: {
                **{f"{name}_s": seconds.get((dtype, n, name)) for name in KERNELS},
                "cg_s": solves.get((dtype, n), {}).get("cg_s"),
            }
            for n in (1, number)
        }
        is_known = (dtype, number) in solves
        ratios = {
            key.replace("_s", "_speedup"): times[1][key] / seconds if is_known else None
            for key, seconds in times[number].items()
        }
        yield {
            "dtype": dtype,
            "parts": PARTS_OF_THREADS,
            "threads": number,
            **times[number],
            **ratios,
            "measured": "yes" if is_known else f"no: {run.cores} cores",
        }


def draw_threads(rows):
    """As S5's figure 4: speed-ups by the number of threads."""
    figure, axes = panels(PRECISIONS, width=4.8, columns=2)
    numbers = [int(row["threads"]) for row in rows]
    known = [row for row in rows if row["pc_s"]]
    most = max(int(row["threads"]) for row in known)
    fastest = max(float(row[f"{name}_speedup"]) for row in known for name in ("pc", "spmv", "cg"))
    labels = {"pc": "pc", "spmv": "spmv", "cg": "cg, the whole solve"}
    for ax, dtype in zip(axes, PRECISIONS, strict=True):
        own = [row for row in known if row["dtype"] == dtype]
        for (name, label), style in zip(labels.items(), styles(labels).values(), strict=True):
            ax.plot(
                [int(row["threads"]) for row in own],
                [float(row[f"{name}_speedup"]) for row in own],
                label=label, color=style.color, marker=style.marker,
            )  # fmt: skip
        if max(numbers) > most:
            ax.axvspan(most + 0.5, max(numbers) + 0.5, color="0.92")
            middle = (most + max(numbers) + 1) / 2
            ax.text(middle, 1, f"not measured:\nmore threads than {most} cores", ha="center")
        ax.plot([1, most], [1, most], color="0.6", linestyle=":", label="ideal")
        ax.set_xlim(0.5, max(numbers) + 0.5)
        ax.set_ylim(0, max(most, fastest) + 0.5)
        ax.set_xlabel("threads")
        ax.set_ylabel("speed-up over one thread")
        ax.legend(fontsize=8)
    return figure


# ---- parts ---------------------------------------------------------------------------------------


def kinds():
    """Diagonals, partition: the cases of the table of parts. METIS is optional."""
    try:
        import pymetis  # noqa: F401

        cut = (("alternating", "metis"),)
    except ImportError:
        cut = ()
    return (("alternating", "slices"), *cut, ("one", "slices"))


def rows_of_parts(run, system):
    """A row for each mesh, partition and number of parts, in single precision on all cores."""
    for diagonals, partition in kinds():
        given = system if diagonals == "alternating" else system_of(run, diagonals)
        own = {parts: operators(given, parts, SINGLE, partition) for parts in run.parts}
        tasks = {p: kernels(each, run, run.cores) for p, each in own.items()}
        seconds = means({(p, name): task for p in own for name, task in tasks[p].items()}, run)
        solves = in_turns({p: mixed_solve(given, each, run) for p, each in own.items()}, run)
        for parts, each in own.items():
            yield {
                "diagonals": diagonals,
                "partition": partition,
                "parts": parts,
                "threads": run.cores,
                **coupling(each.A),
                **{f"{name}_s": seconds[parts, name] for name in KERNELS},
                **solves[parts],
            }


def mixed_solve(system, own, run):
    """A task of `in_turns`."""
    return lambda: solve(system, own, MIXED, run.cores)


def coupling(A):
    """The share of vertices on the boundary of their part, and that of blocks between parts."""
    told = A.info
    boundary = int(np.sum(told["first"][1:] - told["boundary"]))
    return {
        "boundary_share": 3 * boundary / A.shape[0],
        "external_share": told["external_blocks"] / len(A.indices),
    }


def draw_parts(rows):
    """Iterations, boundary and times by the number of parts."""
    titles = ("iterations to 1e-6", "boundary vertices [%]", "time of an application [ms]")
    figure, axes = panels(titles)
    labels = list(dict.fromkeys((row["diagonals"], row["partition"]) for row in rows))
    ways = {"alternating": "alternating diagonals", "one": "diagonals one way"}
    names = {key: f"{key[1]}, {ways[key[0]]}" for key in labels}
    for (key, name), style in zip(names.items(), styles(names).values(), strict=True):
        own = [row for row in rows if (row["diagonals"], row["partition"]) == key]
        parts = [int(row["parts"]) for row in own]
        look = {"color": style.color, "marker": style.marker, "markersize": 4}
        axes[0].plot(parts, [int(row["iterations"]) for row in own], label=name, **look)
        axes[1].plot(parts, [100 * float(row["boundary_share"]) for row in own], **look)
        axes[2].plot(parts, [1e3 * float(row["pc_s"]) for row in own], label="pc", **look)
        look["linestyle"] = ":"
        axes[2].plot(parts, [1e3 * float(row["spmv_s"]) for row in own], label="spmv", **look)
    ticks = sorted({int(row["parts"]) for row in rows})
    for ax in axes:
        ax.set_xscale("log", base=2)
        ax.set_xticks(ticks, ticks)
        ax.set_xlabel("parts")
        ax.set_ylim(bottom=0)
    axes[2].set_xlabel("parts; lines: pc, dotted: spmv")
    axes[0].legend(fontsize=8)
    return figure


def main(run):
    system = system_of(run)
    if run.makes("s5_numerics", "s5_solves"):
        measured = list(rows_of_kernels(run, system))
        publish(run, "s5_numerics", measured, draw_kernels)
    if run.makes("s5_solves"):
        publish(run, "s5_solves", list(rows_of_solves(run, system, measured)))
    if run.makes("s5_threads"):
        publish(run, "s5_threads", list(rows_of_threads(run, system)), draw_threads)
    if run.makes("s5_parts"):
        publish(run, "s5_parts", list(rows_of_parts(run, system)), draw_parts)


if __name__ == "__main__":
    main(arguments(__doc__, TABLES))
