"""Do two commits compute the same bits? Impulses, histories and statuses of every method.

Both commits are built in folders of their own, with the options of the environment. Each then
solves the same cases: every method with every order, scheme, precision, number of threads and kind
of kernels (scalar, or with vectors), on fifty problems. What is compared is a hash of the impulses,
of the history without its times, the status and the iterations; or the error that was raised. The
product has hundreds of thousands of cases; a part of it is drawn by a seed, in which every pair of
values of two options stands with every problem.

    python benchmarks/reproducibility/same_bits.py HEAD~1            # the last commit; 20,000 cases
    python benchmarks/reproducibility/same_bits.py A B --cases 5000  # two commits
    python benchmarks/reproducibility/same_bits.py A B --all         # every case: an hour or more

Exit code 1: they differ. A change that is to change no bits passes before it is committed.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = REPOSITORY / "tests" / "reference" / "fclib"
SWEEPS = 12  # of each solve, at most
Case = tuple[str, ...]


# ---- what is solved -----------------------------------------------------------------------------


def problems() -> dict[str, Callable[[], Any]]:
    """Return what makes each problem, by name."""
    import contactsolve as cs

    scenes = cs.scenarios
    made: dict[str, Callable[[], Any]] = {
        "ball_grid 5": lambda: scenes.ball_grid(5, velocity=0.05),
        "ball_grid 9": lambda: scenes.ball_grid(9, velocity=0.05, ground="body"),
        "cannonballs": lambda: scenes.ball_grid(4, layout="cannonball"),
        "ball_grid, one row": lambda: scenes.ball_grid(5, rows=1),
        "ball_grid 4, heavy": lambda: scenes.ball_grid(4, mass=500.0),
        "ball_pile": lambda: scenes.ball_pile(9),
        "box_stack": lambda: scenes.box_stack(6),
        "box_stack, heavy": lambda: scenes.box_stack(6, top_mass=1000.0),
        "disc_pyramid": lambda: scenes.disc_pyramid(8),
        "incline": lambda: scenes.incline(20),
        "newton_cradle": lambda: scenes.newton_cradle(7),
        "far apart": lambda: scenes.random(60, bodies=90),
        "redundant": lambda: scenes.random(40, bodies=9, redundancy=0.5),
    }
    mechanisms = ("chain", "crane", "forklift", "forwarder", "offshore", "vehicle", "winch")
    for name in (*mechanisms, "log_tower", "stack_of_boxes"):
        made[name] = lambda name=name: scenes.get(name)(3)
    for path in sorted(FILES.glob("*.hdf5"))[:6]:
        made[path.name] = lambda path=path: cs.io.read_fclib(path)
    for name, rows in SETS:
        made[f"{name}, {rows} rows"] = lambda name=name, rows=rows: of_set(name, rows)
        made[f"{name}, {rows} rows, A given"] = lambda name=name, rows=rows: given(name, rows)
    return made


SETS = (
    ("free", 3), ("box", 2), ("half_line", 3), ("disc", 2), ("disc", 3), ("box_friction", 3),
    ("rolling", 5), ("ellipse", 3), ("polygon", 3), ("contensou", 4), ("second_order_cone", 3),
)  # fmt: skip


def of_set(name: str, rows: int) -> Any:
    """Return random contacts of one set between random bodies."""
    import contactsolve as cs

    rng = np.random.default_rng(rows)
    count, bodies = 30, 12
    J = rng.normal(size=(count, 2, rows, 6))
    pairs = np.stack([rng.permutation(bodies)[:2] for _ in range(count)])
    Minv = rng.uniform(0.5, 2.0, (bodies, 6))
    b = rng.normal(size=(count, rows))
    return cs.Problem(J, Minv, b, bodies=pairs, sets=set_of(cs, name, count), compliance=1e-3)


def given(name: str, rows: int) -> Any:
    """Return the same with its matrix given."""
    import contactsolve as cs

    made = of_set(name, rows)
    sets = set_of(cs, name, made.contacts)
    return cs.Problem.from_delassus(made.delassus(), made.b, rows=rows, sets=sets)


def set_of(cs: Any, name: str, count: int) -> Any:
    """Return a set with parameters of usual sizes."""
    ways: dict[str, Callable[[], Any]] = {
        "free": cs.sets.free,
        "half_line": cs.sets.half_line,
        "box": lambda: cs.sets.box(-0.5, 0.5),
        "rolling": lambda: cs.sets.rolling(0.5, 0.1),
        "ellipse": lambda: cs.sets.ellipse(0.5, 0.3, 0.2),
        "polygon": lambda: cs.sets.polygon(0.5, sides=5),
        "contensou": lambda: cs.sets.contensou(0.5, 0.1),
    }
    other = getattr(cs.sets, name)
    return ways[name]() if name in ways else other(np.full(count, 0.5))


# ---- cases --------------------------------------------------------------------------------------


def axes() -> dict[str, list[str]]:
    """Return the values of each option, by its name."""
    import contactsolve as cs

    orders = [name for name in cs.orders.names() if name != "given"]
    return {
        "problem": list(problems()),
        "method": cs.methods.names(),
        "order": ["auto", *orders, "relaxed", "subtasks", "permutation"],
        "scheme": ["auto", *cs.schemes.names()],
        "dtype": ["float64", "float32", "mixed"],
        "threads": ["1", "2"],
        "instructions": ["auto", "scalar", "avx2", "baseline"],
    }


def all_cases(values: dict[str, list[str]]) -> Iterator[Case]:
    """Yield the whole product."""
    yield from itertools.product(*values.values())


def drawn_cases(values: dict[str, list[str]], count: int, seed: int) -> Iterator[Case]:
    """Yield about so many cases; every pair of values of two options stands with every problem."""
    rng = np.random.default_rng(seed)
    others = [name for name in values if name != "problem"]
    pairs = [
        {first: one, second: two}
        for first, second in itertools.combinations(others, 2)
        for one, two in itertools.product(values[first], values[second])
    ]
    times = max(1, round(count / (len(pairs) * len(values["problem"]))))
    part = min(1.0, count / (len(pairs) * len(values["problem"])))
    for problem in values["problem"]:
        for fixed in pairs * times:
            if rng.random() > part:
                continue
            drawn = {name: values[name][int(rng.integers(len(values[name])))] for name in others}
            yield (problem, *{**drawn, **fixed}.values())


def order_of(cs: Any, name: str, contacts: int) -> Any:
    """Return the order of a case."""
    made: dict[str, Callable[[], Any]] = {
        "relaxed": lambda: cs.orders.relaxed(5),
        "subtasks": lambda: cs.orders.subtasks("colored", 3),
        "permutation": lambda: np.random.default_rng(1).permutation(contacts),
    }
    return made[name]() if name in made else name


def outcome(cs: Any, problem: Any, case: Case) -> list[Any]:
    """Return what is compared: hashes, status and iterations, or the error."""
    _, method, order, scheme, dtype, threads, instructions = case
    try:
        result = cs.solve(
            problem,
            method=method,
            order=order_of(cs, order, problem.contacts),
            scheme=scheme,
            dtype=dtype,
            threads=int(threads),
            instructions=instructions,
            max_iterations=SWEEPS,
            max_seconds=None,
            check_every=4,
            **({"rng": 1} if order == "random" else {}),
            record=("residual", "natural_map", "merit"),
        )
    except (ValueError, TypeError) as error:
        return [type(error).__name__, str(error)]
    parts = result.impulses if isinstance(result.impulses, list) else [result.impulses]
    history = np.stack([result.history[name] for name in result.history if name != "time"])
    return [hashed(*parts), hashed(history), result.status, result.iterations]


def hashed(*arrays: np.ndarray) -> str:
    """Return a hash of the bits; of all NaN there is one."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.where(np.isnan(array), np.nan, array).tobytes())
    return digest.hexdigest()[:16]


def record(path: Path, cases_path: Path) -> None:
    """Solve the cases with the package that is imported, and write what came out, line by line."""
    import contactsolve as cs

    made, name, problem = problems(), None, None
    with path.open("w", encoding="utf-8") as file, cases_path.open(encoding="utf-8") as cases:
        for line in cases:
            case = tuple(json.loads(line))
            if case[0] != name:
                name, problem = case[0], made[case[0]]()
            json.dump(outcome(cs, problem, case), file)
            file.write("\n")


# ---- two commits --------------------------------------------------------------------------------


def build(commit: str, folder: Path) -> None:
    """Put a commit into a folder, and build its extension there."""
    archive = folder.with_suffix(".tar")
    command = ["git", "-C", str(REPOSITORY), "archive", "-o", str(archive), commit]
    subprocess.run(command, check=True)
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder, check=True
    )


def outcomes(folder: Path, cases: Path) -> subprocess.Popen[bytes]:
    """Begin to solve the cases with the package in a folder."""
    path = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "OMP_WAIT_POLICY": "passive"}
    script = [sys.executable, "-P", str(Path(__file__).resolve())]
    command = [*script, "--record", str(folder.with_suffix(".jsonl")), str(cases)]
    return subprocess.Popen(command, env=environment, cwd=folder.parent)


def write_cases(path: Path, cases: Iterator[Case]) -> int:
    """Write one case a line; return how many."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for case in cases:
            file.write(json.dumps(case) + "\n")
            count += 1
    return count


def differences(folder: Path, cases: Path) -> Iterator[tuple[Case, list, list]]:
    """Yield the cases that differ, with what came out of each commit."""
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    with cases.open() as told, first.open() as one, second.open() as two:
        for case, a, b in zip(told, one, two, strict=True):
            if a != b:
                yield tuple(json.loads(case)), json.loads(a), json.loads(b)


def compare(chosen: argparse.Namespace) -> int:
    """Build, solve and compare; return how many cases differ."""
    with tempfile.TemporaryDirectory() as name:
        folder, cases = Path(name), Path(name) / "cases"
        values = axes()
        drawn = all_cases(values) if chosen.all else drawn_cases(values, chosen.cases, chosen.seed)
        count = write_cases(cases, drawn)
        for place, commit in (("first", chosen.first), ("second", chosen.second)):
            (folder / place).mkdir()
            build(commit, folder / place)
        running = [outcomes(folder / place, cases) for place in ("first", "second")]
        codes = [one.wait() for one in running]
        if any(codes):
            raise SystemExit("a commit did not solve all cases")
        differing = 0
        for case, a, b in differences(folder, cases):
            differing += 1
            if differing <= chosen.shown:
                print(f"{', '.join(case)}\n    {chosen.first}: {a}\n    {chosen.second}: {b}")
        print(f"{count} cases, {differing} differ")
    return differing


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("first", help="a commit; with --record, the file to write")
    parser.add_argument("second", nargs="?", default="HEAD", help="another one (HEAD)")
    parser.add_argument("--cases", type=int, default=20_000, help="about so many are drawn")
    parser.add_argument("--seed", type=int, default=0, help="by which they are drawn")
    parser.add_argument("--all", action="store_true", help="every case")
    parser.add_argument("--shown", type=int, default=10, help="cases that are told, at most")
    parser.add_argument("--record", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.record:
        record(Path(chosen.first), Path(chosen.second))
        return 0
    return 1 if compare(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
