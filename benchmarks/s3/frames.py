"""Every frame of every scene by every engine: what S3's tables and figures of chapter 2 rest on.

    python benchmarks/s3/frames.py [--scene NAME] [--quick]

Writes ``frames/<scene>.csv``, one row for each step; `scenes.py` makes the tables of them. One run
of all scenes takes minutes, one scene half a minute.
"""

import numpy as np
from protocol import ENGINES, arguments, common, frame

import contactsolve as cs


def row_of(found, step, run):
    """A frame: rows, tight rows, and for each engine time, pivots and residual."""
    answers, tasks = {}, {}
    for engine in ENGINES:
        solver = cs.MlcpSolver(found.A, engine=engine, interior=False)

        def task(engine=engine, solver=solver):
            answers[engine] = solver.solve(found.b, found.lo, found.hi)
            return answers[engine].time

        tasks[engine] = task
    seconds = common.interleaved(tasks, run.repeats)
    reference = answers["refactor"]
    return {
        "step": step,
        "rows": len(found.b),
        "contacts": len(found.problem.bodies[-1]),
        "islands": reference.info["islands"],
        "tight": float(np.mean(reference.index_set != 0)),
        "solves": found.solves,
        "averaging": found.averaging,
        "converged": int(found.converged),
        **{f"ms_{engine}": 1e3 * float(np.min(seconds[engine])) for engine in ENGINES},
        **{f"pivots_{engine}": answers[engine].pivots for engine in ENGINES},
        "residual": max(found.residual(answer.x) for answer in answers.values()),
        **{f"error_{engine}": error(found, engine) for engine in ("downdate", "skyline")},
    }


def error(found, engine):
    """The largest difference of x from a factor made anew, over the largest x; without refinement.

    None where rounding led to another index set.
    """
    options = {"refinements": 0, "tolerance": 1e-3}
    one, other = (
        cs.MlcpSolver(found.A, engine=name, interior=False, **options).solve(
            found.b, found.lo, found.hi
        )
        for name in (engine, "refactor")
    )
    if not np.array_equal(one.index_set, other.index_set):
        return None
    return float(np.abs(one.x - other.x).max() / np.abs(other.x).max())


def main(run):
    for name in run.scenes:
        rows = [row_of(frame(name, step), step, run) for step in run.steps(name)]
        print(common.write_csv(name, rows, run.results / "frames"))


if __name__ == "__main__":
    main(arguments(__doc__))
