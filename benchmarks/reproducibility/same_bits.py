"""Do two commits compute the same bits? Impulses, histories and statuses of every method.

Both commits are built in folders of their own, with the options of the environment. Each then
solves the same cases: every method with every order, scheme, precision, number of threads and kind
of kernels (scalar, or with vectors), on fifty problems. What is compared is a hash of the impulses,
of the history without its times, the status and the iterations; or the error that was raised. The
product has hundreds of thousands of cases; a part of it is drawn by a seed, in which every pair of
values of two options stands with every problem.

These solves are short, and have the methods' usual options. Beside them stand long ones, of
hundreds of iterations on small problems. Their options let Newton steps be made, iterations roll
back, solves end as stalled, chains go on to their next link, and inner methods and engines work.

    python benchmarks/reproducibility/same_bits.py HEAD~1            # the last commit; 20,000 cases
    python benchmarks/reproducibility/same_bits.py A B --cases 5000  # two commits
    python benchmarks/reproducibility/same_bits.py A B --cases 0     # long solves: two minutes
    python benchmarks/reproducibility/same_bits.py A B --all         # every case: an hour or more

Exit code 1: they differ. A change that is to change no bits passes before it is committed.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
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
LONG = 600  # iterations of each long one, at most
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


def islands() -> Any:
    """Return pairs of bodies, each with five contacts between them and one with the ground."""
    import contactsolve as cs

    rng = np.random.default_rng(5)
    pairs = [
        (2 * n + one, two) for n in range(100) for one, two in [(0, 2 * n + 1)] * 5 + [(0, -1)]
    ]
    J, Minv = rng.normal(size=(len(pairs), 2, 2, 6)), rng.uniform(0.5, 2.0, (200, 6))
    return cs.Problem(J, Minv, rng.normal(size=(len(pairs), 2)), 0.5, bodies=np.array(pairs))


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


# ---- long cases ---------------------------------------------------------------------------------

# Problems of them: some of the fifty, and one of many islands. A is given in those in GIVEN.
ISLANDS = "islands"
GIVEN = (
    "disc, 3 rows, A given", "disc, 2 rows, A given", "box_friction, 3 rows, A given",
    "box, 2 rows, A given", "free, 3 rows, A given", "second_order_cone, 3 rows, A given",
    "FrictionContactProblem00071.2d.hdf5", "Confeti-ex13-4contact.hdf5",
)  # fmt: skip
DISCS = (
    "box_stack", "box_stack, heavy", "newton_cradle", "redundant", "disc_pyramid", "disc, 3 rows",
    "disc, 2 rows", "Confeti-ex13-4contact.hdf5", *GIVEN[:2], ISLANDS,
)  # fmt: skip
ALL_SETS = (
    *DISCS, "stack_of_boxes", "rolling, 5 rows", "ellipse, 3 rows", "box_friction, 3 rows",
    "FrictionContactProblem00071.2d.hdf5",
)  # fmt: skip
PIVOTED = (
    "disc, 2 rows",
    "box, 2 rows",
    "box_friction, 3 rows",
    "stack_of_boxes",
    *GIVEN[1:3],
    ISLANDS,
)
FIXED_SETS = ("box, 2 rows", "free, 3 rows", "half_line, 3 rows", *GIVEN[3:6])
FREE = ("free, 3 rows", "free, 3 rows, A given")
EACH = 3  # problems drawn for each choice, beside one with a given A and the islands
LOCAL = ("projected", "exact", "block", "newton", "quartic")
PIVOTING = ("bpp", "murty", "keller", "dantzig", "lemke")


def choices() -> list[dict[str, Any]]:
    """Return the options of long cases: a method, its own options, and those of the solver.

    `again`: a second solve starts from the first result.
    """
    return [*choices_of_methods(), *choices_of_words(), *choices_of_solves()]


def choices_of_methods() -> Iterator[dict[str, Any]]:
    """Yield methods with options by which they come to do all that they can."""
    for kind, before in itertools.product(words("newton", "kind"), words("newton", "start_with")):
        yield {"method": ["newton", {"start": 5, "kind": kind, "start_with": before}]}
    yield {"method": ["newton", {"start": 5, "levenberg": 0.1}]}
    yield {"method": ["auto", {"patience": 20}]}
    yield {"method": ["chebyshev", {"rho": 0.98, "over": "jacobi", "restart": 1.0}]}
    yield {"method": ["multilevel", {"every": 2, "size": 2}]}
    yield {"method": ["subspace", {"sweeps": 1}]}
    for name in ("splitting", "admm", "interior_point", "spectral_gradient", *PIVOTING[1:]):
        yield {"method": [name, {}]}


def choices_of_words() -> Iterator[dict[str, Any]]:
    """Yield methods with every sweep, inner method and engine."""
    for name in ("anderson", "nncg", "momentum", "chebyshev", "multilevel"):
        for over in words(name, "over"):
            yield {"method": [name, {"over": over}]}
    for formula in words("nncg", "formula"):
        yield {"method": ["nncg", {"formula": formula}]}
    for name in ("tresca", "de_saxce"):
        for inner in words(name, "inner"):
            yield {"method": [name, {"inner": inner, "inner_iterations": 100}], "iterations": 20}
    for engine in words("bpp", "engine"):
        yield {"method": ["bpp", {"engine": engine}]}


def choices_of_solves() -> Iterator[dict[str, Any]]:
    """Yield options of the solver: rollbacks, stagnation, local problems, second solves."""
    sweeping = ("gauss_seidel", "symmetric_gauss_seidel", "jacobi", "nesterov", "anderson", "nncg")
    for name in sweeping:
        yield {"method": [name, {}], "relaxation": 1.9, "rollback_growth": 1}
    for name in (*sweeping[3:], "momentum", "chebyshev", "apgd", "newton", "admm", "tresca"):
        yield {"method": [name, {"patience": 50}], "rtol": 1e-15}
    for name, local in itertools.product(("gauss_seidel", "jacobi"), LOCAL):
        yield {"method": [name, {}], "local": local}
    for name in ("balanced", "block", "global"):
        yield {"method": ["gauss_seidel", {}], "r_factor": name}
    for name in (*sweeping, "bpp", "admm", "tresca"):
        yield {"method": [name, {}], "again": True}
    yield {"method": ["newton", {"start": 5}], "again": True}
    yield {"method": ["auto", {"patience": 20}], "again": True}


def fitting(choice: dict[str, Any]) -> list[str]:
    """Return the problems whose sets and matrices the methods of a choice take."""
    name, own = choice["method"]
    local = choice.get("local")
    needs_jacobian = {name, own.get("inner")} & {"multilevel", "mass_splitting"}
    problems: tuple[str, ...] = ALL_SETS
    if name in ("tresca", "de_saxce", "interior_point", "newton") or local == "quartic":
        problems = DISCS
    if own.get("inner", name) in PIVOTING:
        problems = PIVOTED
    if name in ("apgd", "spectral_gradient"):
        problems = FIXED_SETS
    if local == "exact":
        problems = FREE
    return [one for one in problems if not (needs_jacobian and one in GIVEN)]


def words(method: str, option: str) -> tuple[str, ...]:
    """Return the words that an option of a method takes."""
    import contactsolve as cs

    return cs.methods.describe()[method].options[option].words


def long_cases(seed: int) -> list[Case]:
    """Return some hundred long cases, problem by problem: each choice on a few problems."""
    rng = np.random.default_rng(seed)
    cases = set()
    for number, choice in enumerate(choices()):
        problems = fitting(choice)
        with_matrix = [name for name in problems if name in GIVEN]
        drawn = [str(name) for name in rng.permutation(problems)[:EACH]]
        drawn += with_matrix[number % len(with_matrix) :][:1] if with_matrix else []
        drawn += [ISLANDS] if ISLANDS in problems else []
        cases |= {(name, json.dumps(choice)) for name in drawn}
    return sorted(cases)


# ---- what comes out -----------------------------------------------------------------------------


def order_of(cs: Any, name: str, contacts: int) -> Any:
    """Return the order of a case."""
    made: dict[str, Callable[[], Any]] = {
        "relaxed": lambda: cs.orders.relaxed(5),
        "subtasks": lambda: cs.orders.subtasks("colored", 3),
        "permutation": lambda: np.random.default_rng(1).permutation(contacts),
    }
    return made[name]() if name in made else name


def options_of(cs: Any, case: Case, contacts: int) -> dict[str, Any]:
    """Return the options of a case: of a long one, or of one of the product."""
    if len(case) == 2:
        options = {"max_iterations": LONG, "check_every": 5, "rtol": 1e-12, **json.loads(case[1])}
        options["max_iterations"] = options.pop("iterations", LONG)
        name, own = options["method"]
        return {**options, "method": getattr(cs.methods, name)(**own)}
    _, method, order, scheme, dtype, threads, instructions = case
    exact = "exact_threads" in inspect.signature(cs.Solver).parameters  # earlier: every number is
    return {
        **({"exact_threads": True} if exact else {}),
        "method": method,
        "order": order_of(cs, order, contacts),
        "scheme": scheme,
        "dtype": dtype,
        "threads": int(threads),
        "instructions": instructions,
        "max_iterations": SWEEPS,
        "check_every": 4,
    }


def outcome(cs: Any, problem: Any, case: Case) -> list[Any]:
    """Return what is compared: hashes, status and iterations, or the error."""
    try:
        options = options_of(cs, case, problem.contacts)
        again = options.pop("again", False)
        common = {"rng": 1, "record": ("residual", "natural_map", "merit"), "max_seconds": None}
        result = cs.solve(problem, **common, **options)
        found = compared(result)
        if again:
            found += compared(cs.solve(problem, initial=result.impulses, **common, **options))
    except (ValueError, TypeError) as error:
        return [type(error).__name__, str(error)]
    return found


def compared(result: Any) -> list[Any]:
    """Return hashes of impulses and history, status and iterations."""
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

    made, name, problem = {**problems(), ISLANDS: islands}, None, None
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
        count = write_cases(cases, itertools.chain(drawn, long_cases(chosen.seed)))
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
    parser.add_argument(
        "--cases", type=int, default=20_000, help="about so many short ones are drawn"
    )
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
