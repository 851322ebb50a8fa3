"""The problem set: steps of bodies in motion as FCLIB files, with solutions and checksums.

    python benchmarks/problem_set/problem_set.py make FOLDER      # anew, with the index
    python benchmarks/problem_set/problem_set.py generate FOLDER  # what the index lists, checked
    python benchmarks/problem_set/problem_set.py ship FOLDER      # the small part, into the package

`make` runs the motions of motions.py, writes their steps, measures how hard they are, solves them,
and writes the index. `generate` does the same for the problems that the stored index lists, and
fails where the numbers of a problem are not those of the index. Kernels of this library and of
OpenBLAS are those of the oldest processors throughout, because sums of others are rounded
differently: bits are those of x86-64 with glibc.

A problem is local while W has at most 30,000 entries and there are no joints, otherwise global.
"""

import argparse
import csv
import os
import shutil
import sys
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

# Before NumPy is imported. A module that others import leaves their environment as it is.
if __name__ == "__main__":
    os.environ |= {"CONTACTSOLVE_INSTRUCTIONS": "baseline", "OPENBLAS_CORETYPE": "Prescott"}

import numpy as np

import contactsolve as cs
from contactsolve.data._problem_set import INDEX, SetProblem, read_index
from contactsolve.io._bilateral import split_rows
from contactsolve.io.fclib import FclibPoint

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT
from motions import MOTIONS, SWEEPS, phase_of, taken

PACKAGE = ROOT / "contactsolve" / "data" / "problem_set"
SHIPPED_BYTES = 2_600_000
LOCAL_ENTRIES = 30_000  # of W
HARD = 1000  # sweeps
ROUGH, MOST_SWEEPS = 1e-6, 10_000
ACCURATE = 1e-10

# What looks for a solution, one after the other, each from the best so far and from zero.
SEARCH = (
    cs.Method("auto", max_iterations=60_000),
    cs.Method("newton", max_iterations=300),
    cs.Method("interior_point", max_iterations=300),
    cs.Method("auto", max_iterations=400_000, patience=5000),
    cs.Method("admm", max_iterations=20_000),
)
SEARCH_SECONDS = 20.0  # of each: a limit that is not met on an idle machine


# ---- one problem ---------------------------------------------------------------------------------


def written(folder, motion, seed, step, problem, time_step):
    """Write a step's problem, and return its entry of the index, not solved yet."""
    contacts = sum(one.contacts for one in problem._groups if one.set.name != "free")
    joints = sum(one.contacts * one.rows for one in problem._groups if one.set.name == "free")
    rows = next(one.rows for one in problem._groups if one.set.name != "free")
    kind = kind_of(problem, joints)
    name = f"{motion.name}-s{seed}-i{step:05d}-{contacts}"
    entry = SetProblem(
        name=name, origin=motion.told(seed), seed=seed, step=step, time_step=time_step,
        phase=phase_of(problem, time_step), kind=kind, rows=rows, contacts=contacts,
        constraints=joints, sweeps=None, method="", error=np.inf, checksum="", shipped=False,
        path=folder / f"{name}.hdf5",
    )  # fmt: skip
    write(entry, problem)
    return replace(entry, checksum=cs.data.checksum(entry.path))


def kind_of(problem, joints):
    if joints:
        return "global"
    return "local" if len(problem.delassus_csr()[0]) <= LOCAL_ENTRIES else "global"


def write(entry, problem, solution=None, kind=None):
    """Write the file of an entry, with its origin in the texts."""
    cs.io.write_fclib(
        entry.path, problem, solution, kind=kind or entry.kind, overwrite=True, title=entry.name,
        description=(
            f"origin: {entry.origin}; seed: {entry.seed}; step: {entry.step}; "
            f"time step: {entry.time_step:.17g} s; phase: {entry.phase}; "
            f"{SWEEPS} sweeps of Gauss-Seidel in every step"
        ),
        math_info=(
            "impulses in N s, velocities in m/s; limits of joints are contacts with friction 0, "
            "motors bilateral constraints"
        ),
    )  # fmt: skip


def solved(entry, problem):
    """Measure the entry, and write its solution into its file; `problem` is what was written."""
    given = entry.load()
    sweeps = cs.solve(
        given, method="gauss_seidel", stop="fclib_error", atol=ROUGH, rtol=None,
        max_iterations=MOST_SWEEPS, threads=1, islands=False, record=(),
    )  # fmt: skip
    best, error, method = sought(given, sweeps.impulses)
    write(entry, problem, regrouped(problem, given, best))
    return replace(
        entry, sweeps=sweeps.iterations if sweeps.converged else None, method=method, error=error
    )


def regrouped(problem, given, result):
    """The solution of a file's problem in the groups of the one that was written."""
    if not given.grouped and not problem.grouped:
        return result
    parts = []
    for values in (result.impulses, result.residual_velocities):
        flat = dict(zip((False, True), split_rows(given, values), strict=True))
        own = []
        for group in problem._groups:
            size, joints = group.contacts * group.rows, group.set.name == "free"
            own.append(flat[joints][:size].reshape(group.contacts, group.rows))
            flat[joints] = flat[joints][size:]
        parts.append(own if problem.grouped else own[0])
    return FclibPoint(*parts)


def error_of(result):
    return float(result.history["fclib_error"][-1])


def sought(problem, start):
    """The most accurate solution that was found, its FCLIB error and the method."""
    found = None
    for method, is_cold in product(SEARCH, (False, True)):
        try:
            result = cs.solve(
                problem, method=method.method, **method.options,
                initial=None if is_cold else start, threads=1,
                stop="fclib_error", atol=ACCURATE / 2, rtol=None, record=("fclib_error",),
                max_seconds=SEARCH_SECONDS, islands=False,
            )  # fmt: skip
        except ValueError:  # a method that does not take the problem
            continue
        result = judged(problem, result.impulses)
        if found is None or error_of(result) < found[1]:
            found = (result, error_of(result), method.label)
            start = result.impulses
        if found[1] <= ACCURATE:
            break
    return found


def judged(problem, impulses):
    """The result of these impulses, with their FCLIB error."""
    return cs.solve(
        problem, method="gauss_seidel", max_iterations=0, initial=impulses, record=("fclib_error",)
    )


# ---- the set -------------------------------------------------------------------------------------


def entries(folder, wanted=None, motions=("",)):
    """Generate problems and yield their entries: of these motions, and if given of these names."""
    for motion in MOTIONS:
        if not motion.name.startswith(motions):
            continue
        for seed in motion.seeds:
            names = {name for name in wanted or () if name.startswith(f"{motion.name}-s{seed}-i")}
            if wanted is not None and not names:
                continue
            for step, problem, time_step in taken(motion, seed):
                entry = written(folder, motion, seed, step, problem, time_step)
                if wanted is not None and entry.name not in names:
                    entry.path.unlink()
                    continue
                yield entry, problem


def make(folder, names=()):
    """Generate all problems and the index anew, or those of motions whose names begin so."""
    old = read_index(folder) if (folder / INDEX).exists() and names else ()
    found = [one for one in old if not one.name.startswith(tuple(names))]
    for entry, problem in entries(folder, motions=tuple(names) or ("",)):
        found.append(solved(entry, problem))
        print(line(found[-1]), flush=True)
        write_index(folder, found)
    print(summary(found))


def generate(folder, names=()):
    """Generate the problems of the index; return the names of those with other bits."""
    index = {one.name: one for one in read_index()}
    chosen = {name for name in index if not names or name.startswith(tuple(names))}
    found, wrong = [], []
    for entry, problem in entries(folder, chosen):
        known = index[entry.name]
        if entry.checksum != known.checksum:
            wrong.append(entry.name)
        found.append(solved(entry, problem))
        chosen.discard(entry.name)
        print(line(found[-1]), "other bits" if entry.name in wrong else "same bits", flush=True)
        write_index(folder, found)
    return [*wrong, *sorted(chosen)]


def line(entry):
    sweeps = f"> {MOST_SWEEPS}" if entry.sweeps is None else entry.sweeps
    return (
        f"{entry.name:38} {entry.phase:6} {entry.kind:6} {sweeps!s:>7} sweeps, "
        f"error {entry.error:.1e} by {entry.method}"
    )


def is_hard(entry):
    return entry.sweeps is None or entry.sweeps > HARD


def summary(found):
    """What there is, in words."""
    hard = sum(map(is_hard, found))
    gaps = [one for one in found if one.error > ACCURATE]
    told = "; ".join(f"{one.name} {one.error:.1e}" for one in gaps) or "none"
    return (
        f"{len(found)} problems; {hard} need more than {HARD} sweeps to {ROUGH:.0e} "
        f"({100 * hard / max(len(found), 1):.0f} %); {len(gaps)} without a solution to "
        f"{ACCURATE:.0e}: {told}"
    )


def write_index(folder, found):
    """Write the index of a folder."""
    columns = [name for name in SetProblem.__dataclass_fields__ if name != "path"]
    with (folder / INDEX).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        for entry in sorted(found, key=lambda one: one.name):
            row = asdict(entry)
            row["sweeps"] = "" if entry.sweeps is None else entry.sweeps
            row["error"] = f"{entry.error:.2e}"
            writer.writerow(row)


# ---- the part in the package ---------------------------------------------------------------------


def chosen_to_ship(found):
    """Of each motion and phase in turn the smallest hard and easy ones, while they fit."""
    left, queue = SHIPPED_BYTES, {}
    for entry in sorted(found, key=lambda one: one.path.stat().st_size):
        kind = (entry.name.rsplit("-", 3)[0], entry.phase, is_hard(entry))
        queue.setdefault(kind, []).append(entry)
    while any(queue.values()):
        for own in queue.values():
            if not own:
                continue
            size = own[0].path.stat().st_size
            if size > left:
                own.clear()
                continue
            left -= size
            yield own.pop(0)


def ship(folder):
    """Copy the small part of a folder's set into the package, and the index."""
    found = read_index(folder)
    names = {
        entry.name for entry in chosen_to_ship([one for one in found if one.error <= ACCURATE])
    }
    PACKAGE.mkdir(exist_ok=True)
    for old in PACKAGE.glob("*.hdf5"):
        old.unlink()
    for entry in found:
        if entry.name in names:
            shutil.copyfile(entry.path, PACKAGE / entry.path.name)
    write_index(PACKAGE, [replace(one, shipped=one.name in names) for one in found])
    size = sum(path.stat().st_size for path in PACKAGE.iterdir())
    print(f"{len(names)} of {len(found)} problems, {size / 1e6:.2f} MB with the index")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("make", "generate", "ship"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="beginnings of names: all by default")
    chosen = parser.parse_args(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    if chosen.what == "generate":
        wrong = generate(chosen.folder, chosen.names)
        sys.exit(f"not the problems of the index: {', '.join(wrong)}" if wrong else 0)
    if chosen.what == "make":
        make(chosen.folder, chosen.names)
    else:
        ship(chosen.folder)


if __name__ == "__main__":
    main()
