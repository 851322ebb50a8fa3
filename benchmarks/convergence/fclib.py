"""What every method reaches on the FCLIB problems of a folder, within a stated budget.

Each problem is solved by each method until its FCLIB error is 1e-8, or until the budget of seconds
or sweeps is spent; where the method passed 1e-4 and 1e-8, how far it got and what was its best are
printed and written. Nothing is left out: a method that gives up, a problem on which all fail and a
file that cannot be read have their rows. Where the FCLIB error is not defined, the scaled natural
map takes its place, and the column `measure` says so.

The error is looked at every tenth sweep, so a count of sweeps is the next multiple of ten. Seconds
are those of sweeps and of these looks; packing is apart.

    python benchmarks/convergence/fclib.py [folder ...] [--seconds 2] [--sweeps 1000000]
                                           [--name fclib]
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import write_csv
from common.problems import FOLDERS

TARGETS = (1e-4, 1e-8)
CHECK_EVERY = 10
METHODS = (
    cs.Method("gauss_seidel"),
    cs.Method("gauss_seidel", rollback=0),
    cs.Method("gauss_seidel", relaxation=0.5),
    cs.Method("gauss_seidel", relaxation=1.5),
    cs.Method("gauss_seidel", r_factor="block"),
    cs.Method("gauss_seidel", r_factor="global"),
    cs.Method("jacobi"),
    cs.Method("jacobi", rollback=0),
    cs.Method("jacobi", relaxation=0.5),
    cs.Method("jacobi", relaxation=0.2),
    cs.Method("jacobi", r_factor="block"),
    cs.Method("jacobi", r_factor="global"),
    cs.Method("jacobi", local="block", averaging="adjacent"),
)


def known(methods):
    """The methods that this version has; the others are named, not dropped in silence."""
    probe = cs.Problem.from_delassus(np.eye(3), [[-1.0, 0.0, 0.0]], 0.5)
    for method in methods:
        try:
            cs.Solver(probe, method=method.method, **method.options)
        except (ValueError, TypeError) as error:
            print(f"not in this version: {method.label} ({error})")
        else:
            yield method


def problems(folders):
    """Name, problem and complaint of every file, each name once."""
    paths = {path.stem: path for folder in folders for path in sorted(Path(folder).glob("*.hdf5"))}
    for name, path in sorted(paths.items()):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about matrices as stored; `asymmetry` tells
                yield name, cs.io.read_fclib(path), ""
        except (ValueError, ImportError, NotImplementedError) as error:
            # The folder is the reader's own business and stays out of the results.
            yield (
                name,
                None,
                str(error).replace(f"{path}: ", "").replace(f"{path.parent}{os.sep}", ""),
            )


def stop_rule(problem):
    """Name of the measure that decides, and the options that stop on it."""
    try:
        cs.Solver(problem, stop="fclib_error", atol=TARGETS[-1], rtol=None)
    except ValueError:
        measure, options = "natural_map_scaled", {"rtol": TARGETS[-1], "atol": 0.0}
    else:
        measure = "fclib_error"
        options = {"stop": measure, "atol": TARGETS[-1], "rtol": None}
    return measure, options


def attempt(problem, method, seconds, sweeps):
    """One row: what the method reached on the problem."""
    measure, stop = stop_rule(problem)

    def within_budget(state):
        if state.measures["time"] > seconds:
            raise StopIteration

    solver = cs.Solver(
        problem,
        method=method.method,
        **method.options,
        **stop,
        record=(measure,),
        record_every=CHECK_EVERY,
        check_every=CHECK_EVERY,
        max_iterations=sweeps,
        threads=1,
    )
    result = solver.solve(callback=within_budget)
    errors, at, spent = (result.history[name] for name in (measure, "iteration", "time"))
    row = {
        "measure": measure,
        "outcome": outcome(result),
        "sweeps": result.iterations,
        "seconds": result.time,
        "setup_seconds": result.info["setup_seconds"],
        "rollbacks": result.info["rollbacks"],
    }
    for target in TARGETS:
        below = np.flatnonzero(errors <= target)
        first = below[0] if len(below) else None
        row[f"sweeps_to_{target:.0e}"] = "" if first is None else int(at[first])
        row[f"seconds_to_{target:.0e}"] = "" if first is None else float(spent[first])
    seen = errors[np.isfinite(errors)]
    row["last_error"] = float(seen[-1]) if len(seen) else float("nan")
    row["best_error"] = float(seen.min()) if len(seen) else float("nan")
    row["natural_map_scaled"] = float(result.natural_map_scaled)
    row["finite"] = bool(np.isfinite(result.impulses).all())
    return row


def outcome(result):
    """What ended the solve; the callback and the sweeps are the budget."""
    return "budget" if result.status in ("stopped", "max_iterations") else result.status


def refusal(problem, error):
    """The row of a method that does not take a problem."""
    return {"measure": stop_rule(problem)[0], "outcome": "refused", "note": str(error)}


def rows_of(name, problem, methods, seconds, sweeps):
    described = {"problem": name, "contacts": problem.contacts, "rows": problem.rows}
    described |= {"set": problem.info["set"], "asymmetry": problem.info.get("asymmetry", "")}
    for method in methods:
        try:
            found = attempt(problem, method, seconds, sweeps)
        except ValueError as error:
            found = refusal(problem, error)
        yield {**described, "method": method.label, **found}


def line(row):
    """A row for the eye."""
    if row["outcome"] in ("refused", "not read"):
        return f"  {row.get('method', ''):42} {row['outcome']}: {row['note']}"
    reached = [
        f"{row[f'sweeps_to_{target:.0e}']:>8} {milliseconds(row[f'seconds_to_{target:.0e}']):>9}"
        for target in TARGETS
    ]
    best = f"{row['last_error']:9.1e} {row['best_error']:9.1e}"
    return f"  {row['method']:42} {' '.join(reached)} {row['sweeps']:>8} {best}  {row['outcome']}"


def milliseconds(seconds):
    return "-" if seconds == "" else f"{1e3 * seconds:.2f}"


def summary(rows):
    """How many problems each method solved, and the problems that none did."""
    solved = {}
    for row in rows:
        if "method" in row:
            counts = solved.setdefault(row["method"], [0, 0, 0])
            counts[2] += 1
            for i, target in enumerate(TARGETS):
                counts[i] += row.get(f"sweeps_to_{target:.0e}", "") != ""
    for method, (rough, fine, tried) in solved.items():
        yield f"{method:42} {rough:3} to {TARGETS[0]:.0e}, {fine:3} to {TARGETS[1]:.0e}, of {tried}"
    names = {row["problem"]: row["outcome"] for row in rows}
    for target in TARGETS:
        done = {row["problem"] for row in rows if row.get(f"sweeps_to_{target:.0e}", "") != ""}
        missed = sorted(
            name for name, end in names.items() if name not in done and end != "not read"
        )
        yield f"no method to {target:.0e}: {', '.join(missed) or 'none'}"
    unread = sorted(name for name, end in names.items() if end == "not read")
    yield f"not read: {', '.join(unread) or 'none'}"


COLUMNS = (
    *("problem", "contacts", "rows", "set", "asymmetry", "method", "measure", "outcome", "sweeps"),
    *("seconds", "sweeps_to_1e-04", "seconds_to_1e-04", "sweeps_to_1e-08", "seconds_to_1e-08"),
    *("last_error", "best_error", "natural_map_scaled", "finite", "rollbacks", "setup_seconds"),
    *("budget_seconds", "budget_sweeps", "note"),
)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, default=FOLDERS)
    parser.add_argument("--seconds", type=float, default=2.0, help="per method and problem")
    parser.add_argument("--sweeps", type=int, default=1_000_000, help="per method and problem")
    parser.add_argument("--name", default="fclib", help="of the CSV file")
    chosen = parser.parse_args(arguments)

    methods = list(known(METHODS))
    rows = []
    print(f"budget: {chosen.seconds:g} s or {chosen.sweeps:,} sweeps per method and problem")
    heads = [f"to {target:.0e}" + " " * 8 + "ms" for target in TARGETS]
    print(f"  {'method':42}  {'  '.join(heads)}   sweeps      last      best  outcome")
    for name, problem, complaint in problems(chosen.folders):
        if problem is None:
            print(f"{name}\n  not read: {complaint}")
            rows.append({"problem": name, "outcome": "not read", "note": complaint})
            continue
        print(f"{name}, {problem.contacts} contacts of {problem.rows} rows")
        for row in rows_of(name, problem, methods, chosen.seconds, chosen.sweeps):
            print(line(row), flush=True)
            rows.append(row)
    if not rows:
        parser.error("the folders hold no .hdf5 file")
    print("\n" + "\n".join(summary(rows)))
    budget = {"budget_seconds": chosen.seconds, "budget_sweeps": chosen.sweeps}
    print(write_csv(chosen.name, [{**dict.fromkeys(COLUMNS, ""), **row, **budget} for row in rows]))


if __name__ == "__main__":
    main()
