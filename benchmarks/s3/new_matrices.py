"""Envelope and Schur complements with a new A, with one that stays, and in a frame's outer loop.

    python benchmarks/s3/new_matrices.py [--scene NAME] [--quick]

`frames.py` times each engine several times with one solver. The engine `schur` then keeps the
factor of A and the columns of its inverse from the first of these solves. In a motion A is new in
every step; in the outer loop, whose mixed LCPs differ only in their friction bounds, it stays.
"""

import numpy as np
from output import panels, publish
from protocol import TOLERANCE, arguments, common, frame

import contactsolve as cs

ENGINES = ("envelope", "schur")
EVERY = 16  # steps
SETTINGS = ("kept", "new", "loop")


def tasks_of(found, answers):
    """One function for each engine and setting; each returns the seconds of its solve."""

    def a_solve(engine, renewed):
        solver = cs.MlcpSolver(found.A, engine=engine, interior=False)

        def task():
            if renewed:
                solver.update(found.A)
            answers[engine, renewed] = solver.solve(found.b, found.lo, found.hi)
            return answers[engine, renewed].time

        return task

    def a_loop(engine):
        solver = cs.Solver(
            found.problem, method=cs.methods.bpp(engine=engine, interior=False), rtol=TOLERANCE,
            averaging=found.averaging, max_iterations=5000,
        )  # fmt: skip

        def task():
            found.problem.update(Minv=found.problem.Minv)  # so that A is new at the first solve
            return solver.solve().time

        return task

    return {
        (engine, setting): a_loop(engine)
        if setting == "loop"
        else a_solve(engine, setting == "new")
        for engine in ENGINES
        for setting in SETTINGS
    }


def row_of(name, step, run):
    """One frame: seconds of each engine in each setting."""
    found = frame(name, step)
    answers = {}
    seconds = common.interleaved(tasks_of(found, answers), 3 * run.repeats)
    last = answers["envelope", True]
    return {
        "scene": name,
        "step": step,
        "pivots": last.pivots,
        "tight": float(np.mean(last.index_set != 0)),
        **{f"s_{e}_{s}": float(np.median(seconds[e, s])) for e in ENGINES for s in SETTINGS},
    }


def summary(name, rows):
    """Means over the frames, and the ratio of the engines."""
    own = [row for row in rows if row["scene"] == name]
    mean = {key: float(np.mean([row[key] for row in own])) for key in own[0] if key != "scene"}
    ratios = {f"ratio_{s}": mean[f"s_schur_{s}"] / mean[f"s_envelope_{s}"] for s in SETTINGS}
    return {"scene": name, "frames": len(own)} | mean | ratios


def draw(rows):
    """Time of Schur complements over that of the envelope, scene by scene."""
    figure, (axes,) = panels([""], width=7.0, height=3.2)
    place = np.arange(len(rows))
    labels = {"kept": "A stays", "new": "A is new", "loop": "outer loop"}
    for i, setting in enumerate(SETTINGS):
        ratios = [row[f"ratio_{setting}"] for row in rows]
        axes.bar(place + 0.27 * (i - 1), ratios, 0.25, label=labels[setting])
    axes.axhline(1.0, color="k", linewidth=0.8)
    axes.set_xticks(
        place, [row["scene"].replace("_", " ") for row in rows], rotation=20, ha="right"
    )
    axes.set_ylabel("time of schur / envelope")
    axes.legend(fontsize=7)
    return figure


def main(run):
    rows = [
        row_of(name, step, run)
        for name in run.scenes
        for step in run.steps(name)
        if run.quick or step % EVERY == 0
    ]
    common.write_csv("new_matrices", rows, run.results / "frames")
    means = [summary(name, rows) for name in run.scenes]
    publish(run, "new_matrices", means, lambda _: draw(means))


if __name__ == "__main__":
    main(arguments(__doc__))
