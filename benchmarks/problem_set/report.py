"""Renew docs/problem_set.md and the picture of performance profiles from index and CSV.

python benchmarks/problem_set/report.py [--machine NAME] [--check]
"""

import os
import sys
from pathlib import Path
from statistics import median

import numpy as np

from contactsolve.data._problem_set import read_index

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import pages

PAGE = common.ROOT / "docs" / "problem_set.md"
NAME = "problem_set"
ACCURATE, HARD, ROUGH = 1e-10, 1000, "1e-6"
SOLVERS = {
    "auto": "`auto`",
    "nesterov": "`nesterov`",
    "interior_point": "`interior_point`",
    "newton": "`newton`",
    "admm": "`admm`",
    "gauss_seidel": "`gauss_seidel`",
    "Numba loop": "Gauss-Seidel loop in Numba",
    "Siconos NSGS": "Siconos, NSGS",
    "Siconos Newton": "Siconos, nonsmooth Newton (Alart–Curnier)",
}


# ---- the set -------------------------------------------------------------------------------------


def motion_of(entry):
    return entry.name.rsplit("-", 3)[0]


def is_hard(entry):
    return entry.sweeps is None or entry.sweeps > HARD


def span(values):
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def of_set():
    """What the set holds, as a table of its motions."""
    every = read_index()
    lines = [
        (
            "| motion | problems | rest, flow, impact | contacts | rows of constraints | form "
            f"| more than {HARD:,} sweeps | shipped |"
        ),
        "|:--|--:|--:|--:|--:|:--|--:|--:|",
    ]
    for motion in dict.fromkeys(map(motion_of, every)):
        own = [one for one in every if motion_of(one) == motion]
        phases = [sum(one.phase == p for one in own) for p in ("rest", "flow", "impact")]
        forms = ", ".join(sorted({one.kind for one in own}))
        lines.append(
            f"| {motion} | {len(own)} | {', '.join(map(str, phases))} "
            f"| {span([one.contacts for one in own])} | {span([one.constraints for one in own])} "
            f"| {forms} | {sum(map(is_hard, own))} | {sum(one.shipped for one in own)} |"
        )
    hard, shipped = sum(map(is_hard, every)), [one for one in every if one.shipped]
    size = sum(one.path.stat().st_size for one in shipped if one.path.is_file())
    lines += [
        "",
        (
            f"{len(every)} problems; {hard} of them ({100 * hard / len(every):.0f} %) need more "
            f"than {HARD:,} sweeps of Gauss–Seidel to an FCLIB error of {ROUGH}. The package holds "
            f"{len(shipped)}, {size / 1e6:.1f} MB."
        ),
    ]
    return "\n".join(lines)


def of_gaps():
    """Problems without an accurate solution, and what was reached."""
    gaps = [one for one in read_index() if one.error > ACCURATE]
    if not gaps:
        return "Every problem has one."
    rows = [f"| {one.name} | {one.error:.1e} | {one.method} |" for one in gaps]
    head = [
        f"{len(gaps)} problems have none:",
        "",
        "| problem | FCLIB error | by |",
        "|:--|--:|:--|",
    ]
    return "\n".join([*head, *rows])


# ---- solvers -------------------------------------------------------------------------------------


def seconds_of(rows):
    """Seconds of each solver and problem, inf where it was not solved: solver → (problems,)."""
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    at = {name: i for i, name in enumerate(problems)}
    found = {name: np.full(len(problems), np.inf) for name in SOLVERS
             if any(row["solver"] == name for row in rows)}  # fmt: skip
    for row in rows:
        if row["solved"] == "True":
            found[row["solver"]][at[row["problem"]]] = max(float(row["seconds"]), 1e-6)
    return found


def of_solvers(folder):
    """Table of the solvers, with the picture."""
    path = folder / f"{NAME}.csv"
    if not path.exists():
        return "Not measured yet: `python benchmarks/problem_set/profiles.py FOLDER`."
    rows = pages.read(path)
    seconds = seconds_of(rows)
    best = np.minimum.reduce(list(seconds.values()))
    counts = {name: {row["problem"]: row for row in rows if row["solver"] == name}
              for name in seconds}  # fmt: skip
    lines = [
        (
            "| solver | solved | fastest | median of those it solved | median ratio to the fastest "
            "| median iterations |"
        ),
        "|:--|--:|--:|--:|--:|--:|",
    ]
    for name, own in seconds.items():
        there = np.isfinite(own)
        iterations = [int(row["iterations"]) for row in counts[name].values()
                      if row["solved"] == "True" and row["iterations"]]  # fmt: skip
        lines.append(
            f"| {SOLVERS[name]} | {there.sum()} of {len(own)} | {(there & (own <= best)).sum()} "
            f"| {pages.cell('time', np.median(own[there]) if there.any() else None)} "
            f"| {np.median(own[there] / best[there]) if there.any() else np.nan:.3g} "
            f"| {pages.cell('count', median(iterations) if iterations else None)} |"
        )
    drawn = pages.picture(path.with_suffix(".png"), draw, rows)
    link = Path(os.path.relpath(drawn, PAGE.parent)).as_posix()
    budget = ", ".join(sorted({row["budget"] for row in rows}))
    lines += [
        "",
        f"Each had {budget} s of one thread for a problem.",
        "",
        f"![Performance profiles over the problem set]({link})",
    ]
    failed = sorted({row["problem"] for row in rows
                     if row["solver"] == "auto" and row["solved"] != "True"})  # fmt: skip
    lines += ["", f"`auto` did not solve {len(failed)}: {', '.join(failed) or 'none'}."]
    unsolved = sum(~np.isfinite(best))
    lines[-1] += f" {unsolved} problems were solved by none."
    return "\n".join(lines)


def draw(rows):
    """Performance profiles: the share of problems solved within a multiple of the best time."""
    seconds = seconds_of(rows)
    best = np.minimum.reduce(list(seconds.values()))
    solved = np.isfinite(best)
    styles = pages.styles(seconds)
    figure, (left, right) = pages.panels(
        ["all problems", f"those of more than {HARD:,} sweeps"], width=5.6, height=4.4, columns=2
    )
    names = list(dict.fromkeys(row["problem"] for row in rows))
    sweeps = {row["problem"]: row["sweeps"] for row in rows}
    hard = np.array([not sweeps[name] or int(sweeps[name]) > HARD for name in names])
    for ax, chosen in ((left, np.ones(len(names), bool)), (right, hard)):
        total = chosen.sum()
        for name, own in seconds.items():
            ratio = np.sort(own[chosen & solved] / best[chosen & solved])
            ratio = ratio[np.isfinite(ratio)]
            share = np.arange(1, len(ratio) + 1) / max(total, 1)
            ax.step(
                [1, *ratio, 1e4], [0, *share, share[-1] if len(share) else 0], where="post",
                color=styles[name].color, label=SOLVERS[name].strip("`"), linewidth=1.6,
                linestyle="-" if SOLVERS[name].startswith("`") else "--",
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xlim(1, 1e4)
        ax.set_ylim(0, 1.02)
        ax.set_xlabel("time / time of the fastest")
        ax.set_ylabel("share of problems")
    figure.legend(
        *right.get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=5
    )
    return figure


# ---- the page ------------------------------------------------------------------------------------


def filled(text, machine):
    folder = common.RESULTS / machine
    path = folder / f"{NAME}.csv"
    measured = (
        pages.measured_with(machine, pages.read(path)) if path.exists()
        else "Nothing has been measured yet."
    )  # fmt: skip
    return pages.replaced(
        PAGE, text,
        {"set": of_set, "gaps": of_gaps, "measured": lambda: measured,
         "solvers": lambda: of_solvers(folder)},
    )  # fmt: skip


if __name__ == "__main__":
    pages.write_filled(PAGE, filled, __doc__.splitlines()[0])
