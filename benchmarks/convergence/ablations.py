"""What each mechanism of method="auto" is worth: the chain without it, beside the whole chain.

Every variant is a build of the last commit with some lines of csrc/methods/chain replaced, so that
one mechanism is off. The chain looks at no clock: where a variant goes through the same links with
the same iterations, it costs the same, and is not timed. Elsewhere both builds solve the problem in
turn, and the shortest processor time of each counts. A solve that does not reach the tolerance
within the budget counts as twice the budget.

`gain` is the geometric mean, over all problems and tolerances, of the time without the mechanism
over the time with it; `low` and `high` bound it by a bootstrap over problems (95 %). A mechanism
pays beyond luck where `low` is above 1. `seen` are the problems that convergence.py lists, `unseen`
the same kinds of scenes from other seeds; the largest problems are left out.

    python benchmarks/convergence/ablations.py                  all variants: an hour
    python benchmarks/convergence/ablations.py --variants pace  one of them
    python benchmarks/convergence/ablations.py --table          the table in Markdown
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np

TOLERANCES = (1e-3, 1e-6, 1e-8)
BUDGET, SLACK = 1.0, 2.0  # processor seconds of a solve; wall seconds over them
REPEATS, BRIEF = 5, 0.2  # times that a solve of less than so many seconds is timed
SAMPLES = 2000  # of the bootstrap
SEEDS = {"seen": 0, "unseen": 1000}  # the first seed of the scenes
LARGE = ("ball_grid_24", "random_3000", "loose_pile_3000", "ball_grid_16")  # left out
CHAIN = "csrc/methods/chain/"
DRIVER = "csrc/solver/driver.c"
COLUMNS = ("variant", "problem", "set", "tolerance", "with", "without", "links", "links_without")

# Each mechanism: file, lines of it, what stands there without the mechanism.
Edit = tuple[str, str, str]
VARIANTS: dict[str, tuple[str, tuple[Edit, ...]]] = {
    "first factor": (
        "one cheap factor of the direct method before all sweeps",
        (
            (
                CHAIN + "auto.c",
                "else if (cs_chain_is_brief(s)) *status = try_directly(s, NO_PIVOTS, 1);\n",
                "\n",
            ),
        ),
    ),
    "direct from the start": (
        "after sweeps the direct method first tries two steps from the start",
        (
            (
                CHAIN + "auto.c",
                "if (!status && !tried) status = try_directly(s, BRIEF_PIVOTS, CS_DIRECT_SOLVES);",
                "",
            ),
            (
                CHAIN + "auto.c",
                "if (status || s->ended || !(tried || s->too_long)) return status;",
                "if (status || s->ended) return status;",
            ),
        ),
    ),
    "near bounds only": (
        "the direct method takes friction bounds from sweeps only where these are near",
        (
            (
                CHAIN + "auto.c",
                "near ? s->chain->best : s->chain->start, CS_DIRECT_SOLVES",
                "s->chain->best, CS_DIRECT_SOLVES",
            ),
            (
                CHAIN + "auto.c",
                "    int near = s->result->natural_map_scaled <= NEAR;\n",
                "",
            ),
        ),
    ),
    "loose tolerance": (
        "sweeps alone where the tolerance is above 1e-4",
        (
            (
                CHAIN + "auto.c",
                "options->atol / s->start) > LOOSE;",
                "options->atol / s->start) > 1e300;",
            ),
        ),
    ),
    "sweeps before direct": (
        "with friction, sweeps come before the direct method",
        ((CHAIN + "auto.c", "    status = sweep_first(s);\n", "    (void)sweep_first;\n"),),
    ),
    "Newton sooner": (
        "Newton's method may take over before sweeps stagnate",
        (
            (
                CHAIN + "sweeps.c",
                "s->follows != CS_NO_ALTERNATIVE &&",
                "s->follows == CS_DIRECT_FOLLOWS &&",
            ),
        ),
    ),
    "pace": (
        "Newton's method takes over only where sweeps at their pace would take longer",
        (
            (
                DRIVER,
                "if ((double)number < share * run->alternative || !(left > run->alternative))",
                "(void)left;\n    if ((double)number < share * run->alternative)",
            ),
        ),
    ),
    "small first": (
        "Newton's method takes over late while the natural map is above 1e-2",
        (
            (
                DRIVER,
                "scaled <= SMALL ? PACE_SHARE : CS_LATE_SHARE;",
                "scaled <= INFINITY ? PACE_SHARE : CS_LATE_SHARE;",
            ),
        ),
    ),
    "early share": (
        "Newton's method takes over early once the natural map is below 1e-2",
        (
            (
                DRIVER,
                "scaled <= SMALL ? PACE_SHARE : CS_LATE_SHARE;",
                "scaled <= 0 ? PACE_SHARE : CS_LATE_SHARE;",
            ),
        ),
    ),
    "dear waits": (
        "a dear Newton step never takes over before sweeps stagnate",
        ((CHAIN + "costs.c", "s->chain->newton_step > CS_CHEAP_STEP ? INFINITY :", ""),),
    ),
    "worth": (
        "Newton's method waits until sweeps have cost as much as it will",
        ((CHAIN + "factors.c", "#define STEPS_WORTH 1.5", "#define STEPS_WORTH 1e300"),),
    ),
    "far": (
        "dear Newton steps far from a solution wait four times longer, and are at most 60",
        ((CHAIN + "factors.c", "s->far = s->best > CS_CLOSE * s->start && ", "s->far = 0 && "),),
    ),
    "in vain": (
        "after steps of Newton's method that brought little, it does not take over early",
        ((CHAIN + "factors.c", "s->in_vain = due && ", "s->in_vain = 0 && "),),
    ),
    "tried": (
        "Newton's method starts from the last sweeps where the best iterate has led nowhere",
        ((CHAIN + "factors.c", "if (best >= s->tried) from = NULL;", ""),),
    ),
    "sooner patience": (
        "more patience for Newton's method that takes over before sweeps stagnate",
        (
            (
                CHAIN + "factors.c",
                "s->sooner ? SOONER_PATIENCE : NEWTON_PATIENCE",
                "NEWTON_PATIENCE",
            ),
        ),
    ),
    "dear patience": (
        "a limit to the patience for dear Newton steps",
        (
            (
                CHAIN + "factors.c",
                ".number = fmin(steps, most_steps)",
                ".number = fmin(steps, fmax(steps, most_steps))",
            ),
        ),
    ),
    "leader": (
        "half the patience for sweeps that have not found the best iterate",
        ((CHAIN + "sweeps.c", "? s->patience : s->patience / 2;", "? s->patience : s->patience;"),),
    ),
    "turning aside": (
        "sweeps first try from the best iterate where that is far better than their own",
        ((CHAIN + "sweeps.c", "return better && ", "return 0 && better && "),),
    ),
    "start again": (
        "links begin at the start where the best iterate is hardly better",
        (
            (
                CHAIN + "links.c",
                "return s->best > CS_HARDLY * s->start ?",
                "return s->best > 1e300 * s->start ?",
            ),
        ),
    ),
    "checkpoints": (
        "sweeps resume where they were left, not from the best iterate",
        (
            (
                CHAIN + "sweeps.c",
                "    const double *from = where_to_go_on(s, kind);",
                (
                    "    s->chain->checkpoint[kind].made = 0;\n"
                    "    const double *from = where_to_go_on(s, kind);"
                ),
            ),
        ),
    ),
    "conjugate gradients": (
        "a second kind of sweeps, nonlinear conjugate gradients",
        (
            (
                CHAIN + "auto.c",
                "if (!status) status = cs_chain_run_sweeps(s, CS_WITH_DIRECTIONS, s->most);",
                "",
            ),
        ),
    ),
    "relaxation": (
        "relaxation 1.3 for conjugate gradients",
        (
            (
                CHAIN + "sweeps.c",
                "#define CONJUGATE_RELAXATION 1.3",
                "#define CONJUGATE_RELAXATION 1.0",
            ),
        ),
    ),
    "direct at the end": (
        "the direct method as the last link of every round",
        (
            (
                CHAIN + "auto.c",
                "if (!status && s->solver->problem->rows <= CS_DIRECT_ROWS)",
                "if (0)",
            ),
        ),
    ),
}


# ---- builds -------------------------------------------------------------------------------------


def build(folder: Path, edits: Iterable[Edit], repository: Path) -> Path:
    """Build the last commit with these edits in a folder of its own."""
    folder.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "-C", str(repository), "archive", "HEAD"], check=True, stdout=subprocess.PIPE
    )
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    for name, old, new in edits:
        path = folder / name
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise SystemExit(f"{name} has these lines {text.count(old)} times, not once:\n{old}")
        path.write_text(text.replace(old, new), encoding="utf-8")
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


class Worker:
    """A process that solves with one build."""

    def __init__(self, folder: Path) -> None:
        paths = os.pathsep.join([str(folder), str(folder / "benchmarks")])
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def solve(self, problem: Path, tolerance: float) -> dict:
        """Seconds of processor time, whether it is solved, and the links."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(problem), tolerance]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def work() -> None:
    """Solve what standard input names, line by line, and print what came out."""
    import time

    from common import judge

    import contactsolve as cs

    problem, read = None, None
    for line in sys.stdin:
        path, tolerance = json.loads(line)
        if path != read:
            problem, read = pickle.loads(Path(path).read_bytes()), path
        solver = cs.Solver(
            problem, method="auto", rtol=tolerance, max_iterations=10**8,
            max_seconds=SLACK * BUDGET, threads=1, islands=False, check_every=20,
        )  # fmt: skip
        start = time.thread_time()
        result = solver.solve()
        seconds = time.thread_time() - start
        reached = float(judge(problem, result.impulses).natural_map_scaled)
        links = [(link["method"], link["iterations"]) for link in result.info["links"]]
        solved = reached <= 1.01 * tolerance and seconds <= BUDGET
        print(json.dumps({"seconds": seconds, "solved": solved, "links": links}), flush=True)


# ---- comparison ---------------------------------------------------------------------------------


def problems(folder: Path, files: Iterable[Path]) -> dict[str, list[Path]]:
    """Write all problems, and return their files by set."""
    from common.problems import FOLDERS, listed, problem_of

    folder.mkdir()
    found: dict[str, list[Path]] = {}
    for name, seed in SEEDS.items():
        found[name] = []
        for entry in listed((*files, *FOLDERS), seed):
            path = folder / f"{entry.name}.pickle"
            problem = None if entry.name.startswith(LARGE) else problem_of(entry)
            if problem is not None:
                path.write_bytes(pickle.dumps(problem))
                found[name].append(path)
    return found


def cost(outcome: Mapping) -> float:
    """Processor seconds; of what is not solved, twice the budget."""
    return outcome["seconds"] if outcome["solved"] else 2 * BUDGET


def spelled(outcome: Mapping) -> str:
    return " ".join(f"{method}:{iterations}" for method, iterations in outcome["links"])


def compared(
    whole: Worker, without: Worker, first: Mapping, path: Path, tolerance: float
) -> tuple[float, float, str]:
    """Costs of the whole chain and of the variant, and the links of the variant."""
    other = without.solve(path, tolerance)
    if other["links"] == first["links"] or not (first["solved"] or other["solved"]):
        return cost(first), cost(first), spelled(other)
    costs = [[cost(first)], [cost(other)]]
    for _ in range(REPEATS - 1 if max(costs)[0] < BRIEF else 1):
        costs[0].append(cost(whole.solve(path, tolerance)))
        costs[1].append(cost(without.solve(path, tolerance)))
    return min(costs[0]), min(costs[1]), spelled(other)


def measured(
    names: Iterable[str], folder: Path, repository: Path, only: str, fclib: Iterable[Path]
) -> Iterator[list[dict[str, object]]]:
    """Rows of one variant after the other."""
    whole = Worker(build(folder / "whole", (), repository))
    builds = {
        name: build(folder / name.replace(" ", "_"), VARIANTS[name][1], repository)
        for name in names
    }
    made = problems(folder / "problems", fclib)
    files = {name: [p for p in paths if only in p.stem] for name, paths in made.items()}
    first = {
        (path, tolerance): whole.solve(path, tolerance)
        for paths in files.values()
        for path in paths
        for tolerance in TOLERANCES
    }
    for name, build_of in builds.items():
        worker = Worker(build_of)
        rows = []
        for which, paths in files.items():
            for path, tolerance in ((p, t) for p in paths for t in TOLERANCES):
                here = first[path, tolerance]
                there = compared(whole, worker, here, path, tolerance)
                values = (
                    name, path.stem, which, f"{tolerance:.0e}",
                    f"{there[0]:.4g}", f"{there[1]:.4g}", spelled(here), there[2],
                )  # fmt: skip
                rows.append(dict(zip(COLUMNS, values, strict=True)))
        worker.close()
        yield rows


def summary(rows: list[Mapping[str, str]]) -> dict[str, object]:
    """What these rows of one variant say: gain, its bounds, differences and solves lost."""
    logs: dict[str, list[float]] = {}
    for row in rows:
        ratio = float(row["without"]) / float(row["with"])
        logs.setdefault(row["problem"], []).append(np.log(ratio))
    means = np.array([np.mean(values) for values in logs.values()])
    drawn = np.random.default_rng(0).choice(means, (SAMPLES, len(means))).mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    unsolved = [[float(row[c]) >= 2 * BUDGET for row in rows] for c in ("with", "without")]
    return {
        "problems": len(means),
        "differ": int(sum(np.any(np.abs(values) > 0) for values in logs.values())),
        "gain": f"{np.exp(means.mean()):.3f}",
        "low": f"{np.exp(low):.3f}",
        "high": f"{np.exp(high):.3f}",
        "unsolved": sum(unsolved[0]),
        "unsolved_without": sum(unsolved[1]),
    }


def table(rows: list[Mapping[str, str]]) -> str:
    """Return the table of what was measured, in Markdown."""
    lines = [
        "| Mechanism | gain, seen | gain, unseen | differ | unsolved with / without |",
        "|:--|:--|:--|--:|--:|",
    ]
    for name in dict.fromkeys(row["variant"] for row in rows):
        of = [row for row in rows if row["variant"] == name]
        parts = {which: summary([r for r in of if r["set"] == which]) for which in SEEDS}
        gains = [f"{p['gain']} ({p['low']} to {p['high']})" for p in parts.values()]
        counts = [sum(int(p[key]) for p in parts.values())
                  for key in ("differ", "problems", "unsolved", "unsolved_without")]  # fmt: skip
        about = VARIANTS[name][0] if name in VARIANTS else name
        lines.append(
            f"| {about} | {gains[0]} | {gains[1]} | {counts[0]} of {counts[1]} | "
            f"{counts[2]} / {counts[3]} |"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", nargs="*", choices=list(VARIANTS), help="all by default")
    parser.add_argument("--fclib", nargs="*", type=Path, default=(), help="folders with more files")
    parser.add_argument("--problems", default="", help="only problems with this in their names")
    parser.add_argument("--table", action="store_true", help="only the table, in Markdown")
    parser.add_argument("--again", action="store_true", help="measure what is there already")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.worker:
        work()
        return

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from common import ROOT, stored, write_csv

    rows = stored("ablations")
    if chosen.table:
        print(table(rows))
        return
    there = set() if chosen.again else {row["variant"] for row in rows}
    todo = [name for name in chosen.variants or VARIANTS if name not in there]
    with tempfile.TemporaryDirectory() as folder:
        for found in measured(todo, Path(folder), ROOT, chosen.problems, chosen.fclib):
            name = found[0]["variant"]
            rows = [row for row in rows if row["variant"] != name] + found
            write_csv("ablations", rows)
            print(f"{name}: {summary(found)}", flush=True)


if __name__ == "__main__":
    main()
