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
    python benchmarks/convergence/ablations.py --before COMMIT  that commit, and the last one
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
SLACK = 2.0  # wall seconds of a solve over its budget, which is processor time
REPEATS, BRIEF = 5, 0.2  # times that a solve of less than so many seconds is timed
SAMPLES = 2000  # of the bootstrap
MOST_LINKS = 6  # that are stored
SEEDS = {"seen": 0, "unseen": 1000}  # the first seed of the scenes
LARGE = ("ball_grid_24", "random_3000", "ball_grid_16")  # left out
CHAIN = "csrc/methods/chain/"
COLUMNS = (
    "variant", "problem", "set", "tolerance", "budget", "with", "without", "links", "links_without",
)  # fmt: skip

# Each mechanism: what it is, and edits (file, lines of it, what stands there without it).
Edit = tuple[str, str, str]
VARIANTS: dict[str, tuple[str, tuple[Edit, ...]]] = {
    "direct from the start": (
        "after sweeps the direct method first tries two steps from the start",
        (
            (
                CHAIN + "auto.c",
                (
                    "    if (!status && !warm) status = try_directly(s);\n"
                    "    if (status || s->ended || !(warm || s->direct_is_cut)) return status;"
                ),
                "    if (status || s->ended) return status;",
            ),
        ),
    ),
    "loose tolerance": (
        "sweeps alone where the tolerance is above 1e-4",
        (
            (
                CHAIN + "auto.c",
                "options->atol / s->start) > CS_LOOSE;",
                "options->atol / s->start) > 1e300;",
            ),
        ),
    ),
    "sweeps before direct": (
        "with friction, sweeps come before the direct method",
        (
            (
                CHAIN + "auto.c",
                "    if (!status && !s->ended && !s->chain->no_direct) status = sweep_first(s);\n",
                "    (void)sweep_first;\n",
            ),
        ),
    ),
    "Newton sooner": (
        "Newton's method may take over before sweeps stagnate",
        (
            (
                CHAIN + "sweeps.c",
                "s->alternative != CS_NO_ALTERNATIVE &&",
                "s->alternative == CS_DIRECT_FOLLOWS &&",
            ),
        ),
    ),
    "small first": (
        "Newton's method takes over late while the natural map is above 1e-2",
        ((CHAIN + "policy.h", "#define CS_SMALL 1e-2", "#define CS_SMALL 1e300"),),
    ),
    "early share": (
        "Newton's method takes over early once the natural map is below 1e-2",
        ((CHAIN + "policy.h", "#define CS_SMALL 1e-2", "#define CS_SMALL 0.0"),),
    ),
    "worth": (
        "Newton's method waits until sweeps have cost two thirds of what it will",
        ((CHAIN + "policy.h", "#define CS_STEPS_WORTH 1.5", "#define CS_STEPS_WORTH 1e300"),),
    ),
    "far": (
        "dear Newton steps far from a solution wait six times longer, and are at most 60",
        ((CHAIN + "factors.c", "s->far = s->best > CS_NEAR * s->start &&", "s->far = 0 &&"),),
    ),
    "sooner patience": (
        "more patience for Newton's method that takes over before sweeps stagnate",
        (
            (
                CHAIN + "factors.c",
                "s->newton_takes_over ? CS_SOONER_PATIENCE : CS_NEWTON_PATIENCE",
                "CS_NEWTON_PATIENCE",
            ),
        ),
    ),
    "conjugate gradients": (
        "a second kind of sweeps, nonlinear conjugate gradients",
        (
            (
                CHAIN + "auto.c",
                (
                    "        if (!status) "
                    "status = cs_chain_run_sweeps(s, &cs_method_nncg, s->max_iterations);\n"
                ),
                "",
            ),
        ),
    ),
}

# What is measured on files (--files), not on the list: few of the list reach it.
OF_FILES: dict[str, tuple[str, tuple[Edit, ...]]] = {
    "interior points": (
        "interior-point steps after a round that has not halved the natural map",
        (
            (
                CHAIN + "auto.c",
                "        if (!status && stuck) status = cs_chain_run_interior(s, last);\n",
                "        (void)stuck, (void)last;\n",
            ),
        ),
    )
}

# Mechanisms that did not pay beyond luck, and are gone: what the stored rows are of.
REMOVED = {
    "first factor": "one cheap factor of the direct method before all sweeps",
    "near bounds only": "friction bounds of the direct method come from sweeps only where near",
    "pace": "Newton's method takes over only where sweeps at their pace take longer",
    "dear waits": "a dear Newton step never takes over before sweeps stagnate",
    "in vain": "Newton's method does not take over early after steps that brought little",
    "tried": "Newton's method starts from the last sweeps where the best has led nowhere",
    "dear patience": "a limit to the patience for dear Newton steps",
    "leader": "half the patience for sweeps that have not found the best iterate",
    "turning aside": "sweeps first try from the best iterate where that is far better",
    "start again": "links begin at the start where the best iterate is hardly better",
    "checkpoints": "sweeps resume where they were left, not from the best iterate",
    "relaxation": "relaxation 1.3 for conjugate gradients",
    "direct at the end": "the direct method as the last link of every round",
}


# ---- builds -------------------------------------------------------------------------------------


def build(folder: Path, edits: Iterable[Edit], repository: Path, commit: str = "HEAD") -> Path:
    """Build a commit with these edits in a folder of its own."""
    folder.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "-C", str(repository), "archive", commit], check=True, stdout=subprocess.PIPE
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

    def __init__(self, folder: Path, budget: float) -> None:
        paths = os.pathsep.join([str(folder), str(folder / "benchmarks")])
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", "--seconds", str(budget)],
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


def work(budget: float) -> None:
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
            max_seconds=SLACK * budget, threads=1, islands=False, check_every=20,
        )  # fmt: skip
        start = time.thread_time()
        result = solver.solve()
        seconds = time.thread_time() - start
        reached = float(judge(problem, result.impulses).natural_map_scaled)
        links = [(link["method"], link["iterations"]) for link in result.info["links"]]
        solved = reached <= 1.01 * tolerance and seconds <= budget
        cost = seconds if solved else 2 * budget
        print(json.dumps({"cost": cost, "solved": solved, "links": links}), flush=True)


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


def from_files(folder: Path, files: Iterable[Path]) -> dict[str, list[Path]]:
    """The same for problems of files, FCLIB's or ours."""
    import contactsolve as cs

    folder.mkdir()
    found = []
    for file in files:
        read = cs.load_problem if file.suffix == ".h5" else cs.io.read_fclib
        found.append(folder / f"{file.stem}.pickle")
        found[-1].write_bytes(pickle.dumps(read(file)))
    return {"files": found}


def spelled(outcome: Mapping) -> str:
    """Return the first links with their iterations."""
    links = outcome["links"]
    text = " ".join(f"{method}:{iterations}" for method, iterations in links[:MOST_LINKS])
    return text if len(links) <= MOST_LINKS else f"{text} ..."


def compared(
    whole: Worker, without: Worker, first: Mapping, path: Path, tolerance: float
) -> tuple[float, float, str]:
    """Costs of the whole chain and of the variant, and the links of the variant."""
    other = without.solve(path, tolerance)
    if other["links"] == first["links"] or not (first["solved"] or other["solved"]):
        return first["cost"], first["cost"], spelled(other)
    costs = [[first["cost"]], [other["cost"]]]
    for _ in range(REPEATS - 1 if max(costs)[0] < BRIEF else 1):
        costs[0].append(whole.solve(path, tolerance)["cost"])
        costs[1].append(without.solve(path, tolerance)["cost"])
    return min(costs[0]), min(costs[1]), spelled(other)


def measured(
    builds: Mapping[str, Path], whole: Worker, files: Mapping[str, list[Path]], budget: float
) -> Iterator[list[dict[str, object]]]:
    """Rows of one variant after the other."""
    cases = [(w, path, t) for w, paths in files.items() for path in paths for t in TOLERANCES]
    first = {(path, t): whole.solve(path, t) for _, path, t in cases}
    for name, folder in builds.items():
        worker = Worker(folder, budget)
        rows = []
        for which, path, tolerance in cases:
            here = first[path, tolerance]
            there = compared(whole, worker, here, path, tolerance)
            links = (spelled(here), there[2])
            links = ("", "") if links[0] == links[1] else links
            values = (
                name, path.stem, which, f"{tolerance:.0e}", f"{budget:g}",
                f"{there[0]:.4g}", f"{there[1]:.4g}", *links,
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
    unsolved = [
        [float(row[c]) >= 2 * float(row["budget"]) for row in rows] for c in ("with", "without")
    ]
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
        about = VARIANTS[name][0] if name in VARIANTS else REMOVED.get(name, name)
        about += " (removed)" if name in REMOVED else ""
        lines.append(
            f"| {about} | {gains[0]} | {gains[1]} | {counts[0]} of {counts[1]} | "
            f"{counts[2]} / {counts[3]} |"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", nargs="*", choices=[*VARIANTS, *OF_FILES])
    parser.add_argument(
        "--before", metavar="COMMIT", help="that commit beside the last one instead"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="of a solve, at most")
    parser.add_argument("--fclib", nargs="*", type=Path, default=(), help="folders with more files")
    parser.add_argument(
        "--files", nargs="*", type=Path, default=(), help="problems of these instead of the list"
    )
    parser.add_argument("--problems", nargs="*", default=[""], help="parts of names")
    parser.add_argument("--name", default="ablations", help="of the CSV file")
    parser.add_argument("--table", action="store_true", help="only the table, in Markdown")
    parser.add_argument("--again", action="store_true", help="measure what is there already")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.worker:
        work(chosen.seconds)
        return

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from common import ROOT, stored, write_csv

    rows = stored(chosen.name)
    if chosen.table:
        print(table(rows))
        return
    there = set() if chosen.again else {row["variant"] for row in rows}
    todo = [name for name in chosen.variants or VARIANTS if name not in there]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        last = build(folder / "last", (), ROOT)
        if chosen.before:
            builds = {f"since {chosen.before}": last}
            last = build(folder / "before", (), ROOT, chosen.before)
        else:
            builds = {
                name: build(
                    folder / name.replace(" ", "_"), {**VARIANTS, **OF_FILES}[name][1], ROOT
                )
                for name in todo
            }
        files = {
            which: [path for path in paths if any(part in path.stem for part in chosen.problems)]
            for which, paths in (
                from_files(folder / "problems", chosen.files)
                if chosen.files
                else problems(folder / "problems", chosen.fclib)
            ).items()
        }
        for found in measured(builds, Worker(last, chosen.seconds), files, chosen.seconds):
            name = found[0]["variant"]
            rows = [row for row in rows if row["variant"] != name] + found
            write_csv(chosen.name, rows)
            print(f"{name}: {summary(found)}", flush=True)


if __name__ == "__main__":
    main()
