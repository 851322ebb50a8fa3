"""S2 figure 6.4: the parts of an iteration of full SOR by S2's kernels (variant 1), on a GPU.

As S2 does: parts of kernel A are left out one after another, each besides those before it, and
what the time falls by is the time of the part: the propagation of new values, projections of
normal and of tangential impulses, what is written at the diagonal, the rest (launch, barriers,
loads and stores). What is left without kernel A is step B. Barriers are left out alone.
Each time is the median of 5 runs of 10 iterations, all in turn, less that of a run without
iterations, which has the first sums (S2 eq. 5.15) and the wait; times of kernels.py contain both.

T is that of kernels.py, the same in all runs. d is such that all contacts slide, whatever is left
out: else the root of the projection would be taken by other contacts, and its time would be told of
another part. The column `sliding` has their least share. Writes parts.csv, in which other sizes of
the same device stay, and parts.png; `report.py` renews docs/s2.md.

    python benchmarks/s2/parts.py [--contacts 100,400] [--runs 5]
    python benchmarks/s2/parts.py --quick --device cuda-emulated     # does it work?
"""

import itertools
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
import dense
import kernels
from common import devices, pages
from dense import ITERATIONS, MU, RUNS


class Part(NamedTuple):
    """A column of parts.csv, and how the picture shows it."""

    key: str
    label: str
    color: str


# In S2's order: what is left out besides all before, and the part that goes with it.
PARTS = {
    "propagation": Part("propagation_us", "propagation", "#1f5aa6"),
    "normal": Part("normal_us", "normal projection", "#c23b22"),
    "friction": Part("friction_us", "tangential projection", "#8fc1e8"),
    "writes": Part("writes_us", "diagonal writes", "#2b8a57"),
    "step_a": Part("rest_us", "rest", "#f2e6b8"),
}
STEP_B = Part("step_b_us", "step B", "0.75")
NOTHING, BARRIERS, START = "nothing", "barriers", "start"
SLIDING = (NOTHING, "propagation", "normal")  # what still projects tangential impulses
QUICK = (2, 34)
SHOWN = ("contacts", "_us", "_share")  # ends of the names of columns in the picture


def sliding_iteration(contacts, dtype):
    """T of kernels.py by columns, and d whose tangents are outside of the discs."""
    T, _ = dense.iteration_matrix(*dense.random_problem(contacts, 0), dtype)
    rng = np.random.default_rng(dense.SEED)
    tangents = rng.uniform(4, 5, (contacts, 2)) * rng.choice([-1, 1], (contacts, 2))
    d = np.column_stack([rng.uniform(1, 2, contacts), tangents]).ravel()
    return kernels.by_columns(T), d.astype(dtype)


def share_sliding(impulses):
    """The share of contacts whose friction is as large as it may be."""
    normal, *tangents = impulses.astype(np.float64).reshape(-1, 3).T
    most = MU * np.abs(normal)
    # The projection rounds twice.
    return float(np.mean(np.hypot(*tangents) >= most * (1 - 4 * np.finfo(impulses.dtype).eps)))


def measured(contacts, dtype, device, runs=RUNS):
    """The row of a size and precision."""
    T, d = sliding_iteration(contacts, dtype)
    done = {}

    def run(name):
        left_out = None if name in (NOTHING, START) else name
        done[name] = cs.cuda.iterate_dense(
            T,
            d,
            MU,
            kernel="full_sor_96",
            leave_out=left_out,
            iterations=0 if name == START else ITERATIONS,
            device=device,
        )
        return done[name].seconds["iteration"]

    names = (NOTHING, *PARTS, BARRIERS, START)
    seconds = common.interleaved({name: partial(run, name) for name in names}, runs)
    around = {name: common.quartiles(1e6 / ITERATIONS * each) for name, each in seconds.items()}
    start = around[START]["median"]
    without = {name: around[name]["median"] - start for name in names}

    pairs = itertools.pairwise((NOTHING, *PARTS))
    return {
        "device": devices.named(device),
        "contacts": contacts,
        "precision": str(T.dtype),
        "iteration_us": without[NOTHING],
        STEP_B.key: without["step_a"],
        **{PARTS[name].key: without[before] - without[name] for before, name in pairs},
        "barriers_us": without[NOTHING] - without[BARRIERS],
        "barriers_share": 1 - without[BARRIERS] / without[NOTHING],
        "spread_us": max(each["high"] - each["low"] for each in around.values()),
        "sliding": min(share_sliding(done[name].impulses) for name in SLIDING),
    }


# ---- the picture ---------------------------------------------------------------------------------


def draw(rows):
    """S2 figure 6.4: (a) times, (b) shares of an iteration; for each precision."""
    precisions = list(dict.fromkeys(row["precision"] for row in rows))
    titles = [
        f"{precision}: {what}"
        for precision in precisions
        for what in ("(a) µs of an iteration", "(b) share of an iteration in %")
    ]
    figure, axes = pages.panels(titles, width=5.2, columns=2)
    for i, precision in enumerate(precisions):
        own = [
            {key: float(value) for key, value in row.items() if key.endswith(SHOWN)}
            for row in rows
            if row["precision"] == precision
        ]
        stack(axes[2 * i], own, [1.0] * len(own))
        stack(axes[2 * i + 1], own, [100 / row["iteration_us"] for row in own])
        shares = [100 * row["barriers_share"] for row in own]
        look = {"color": "black", "linewidth": 1.6, "marker": ".", "label": "barriers of step A"}
        axes[2 * i + 1].plot([row["contacts"] for row in own], shares, **look)
    handles, labels = axes[1].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=4, fontsize=8)
    return figure


def stack(ax, rows, scales):
    """The parts on top of each other, over contacts; without those below zero, which are noise."""
    contacts, below = [row["contacts"] for row in rows], np.zeros(len(rows))
    for part in (STEP_B, *reversed(PARTS.values())):  # from below, as in S2's figure
        above = below + np.maximum([row[part.key] for row in rows], 0) * scales
        label = part.label if part == STEP_B else f"step A: {part.label}"
        ax.fill_between(contacts, below, above, color=part.color, linewidth=0, label=label)
        ax.plot(contacts, above, color="0.3", linewidth=0.5)
        below = above
    ax.set_xlabel("contacts")
    ax.set_xlim(contacts[0], contacts[-1])
    ax.set_ylim(bottom=0)


def main(argv=None):
    parser = kernels.parser_of(__doc__.split("\n")[0], "small, one run")
    given = parser.parse_args(argv)
    results = kernels.results_of(parser, given)
    sizes, runs = (QUICK, 1) if given.quick else (given.contacts, given.runs)
    measure(sizes, given.device, results, runs)


def measure(sizes, device, results, runs):
    """Measure each size; the CSV has what is known so far after each, and other sizes as before."""
    for contacts in sizes:
        rows = [measured(contacts, dtype, device, runs) for dtype in dense.PRECISIONS]
        for row in rows:
            print(common.on_a_line(row), flush=True)
        path = dense.stored_with("parts", rows, ("contacts", "precision"), results)
    print(path)
    print(pages.picture(path.with_suffix(".png"), draw, pages.read(path)))


if __name__ == "__main__":
    main()
