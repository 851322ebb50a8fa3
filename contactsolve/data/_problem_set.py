"""The problem set: contact problems of bodies in motion, of known difficulty, with solutions."""

from __future__ import annotations

import csv
import hashlib
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from contactsolve.io._hdf5 import Hdf5Reader
from contactsolve.problem import Problem

__all__ = ["SetProblem", "checksum", "problem_set", "read_index"]

_SHIPPED = Path(__file__).parent / "problem_set"
INDEX = "index.csv"
_NEED = "FCLIB files need"


@dataclass(frozen=True)
class SetProblem:
    """A problem of the set: where it comes from, how hard it is, and its file.

    Attributes
    ----------
    name : str
        Scene, seed, step and number of contacts.
    origin : str
        The call that makes the world of which it is a step.
    seed, step : int
        Seed of the motion, and number of the step.
    time_step : float
        Δt [s].
    phase : str
        ``"impact"``, ``"flow"`` or ``"rest"``, by the velocities of the contacts without impulses.
    kind : str
        ``"local"`` or ``"global"``, the form of FCLIB.
    rows, contacts, constraints : int
        Rows of a contact, contacts, and rows of bilateral constraints.
    sweeps : int or None
        Sweeps of Gauss-Seidel to an FCLIB error of 1e-6; None: more than were made.
    method : str
        What found the reference solution.
    error : float
        FCLIB error of the reference solution; above 1e-10 where none of that accuracy was found.
    checksum : str
        SHA-256 of the problem's numbers, without the solution: `contactsolve.data.checksum`.
    shipped : bool
        Whether the file comes with the package.
    path : pathlib.Path
        Of the file.
    """

    name: str
    origin: str
    seed: int
    step: int
    time_step: float
    phase: str
    kind: str
    rows: int
    contacts: int
    constraints: int
    sweeps: int | None
    method: str
    error: float
    checksum: str
    shipped: bool
    path: Path

    def load(self) -> Problem:
        """Return the problem.

        Raises
        ------
        FileNotFoundError
            The file is not there: it does not come with the package, and was not generated.
        ImportError
            h5py is not installed, or SciPy for a global problem.
        """
        from contactsolve.io.fclib import read_fclib

        return read_fclib(self.path)

    def solution(self) -> Any:
        """Return the impulses of the reference solution, as `Result.impulses`.

        Raises
        ------
        FileNotFoundError, ImportError
            As for `load`.
        """
        from contactsolve.io.fclib import read_fclib

        found = read_fclib(self.path, details=True).solution
        assert found is not None  # every file of the set has one
        return found.impulses

    def verify(self) -> None:
        """Compare the file with its checksum.

        Raises
        ------
        ValueError
            The numbers of the problem are others.
        FileNotFoundError, ImportError
            As for `load`.
        """
        found = checksum(self.path)
        if found != self.checksum:
            raise ValueError(f"{self.path}: checksum {found}, expected {self.checksum}")


def problem_set(
    folder: str | os.PathLike[str] | None = None,
    *,
    scene: str | None = None,
    phase: str | None = None,
) -> tuple[SetProblem, ...]:
    """Return the problems of the set whose files are there, sorted by name.

    Parameters
    ----------
    folder : path-like, optional
        Where ``benchmarks/problem_set/problem_set.py`` has written its files. By default the
        smaller part of the set that comes with the package.
    scene : str, optional
        Only problems whose name begins so: ``"winch"``.
    phase : str, optional
        Only ``"impact"``, ``"flow"`` or ``"rest"``.

    Returns
    -------
    tuple of SetProblem

    Raises
    ------
    ValueError
        An unknown phase, a scene that no problem of the set comes from, or a folder without an
        index or with a damaged one; the message lists what is known.

    Notes
    -----
    docs/problem_set.md describes the set, and how long methods take for it.

    Examples
    --------
    >>> import contactsolve as cs
    >>> chains = cs.data.problem_set(scene="hoisted_chain")
    >>> problem = chains[0].load()
    >>> problem.name == chains[0].name
    True
    """
    place = _SHIPPED if folder is None else Path(folder)
    if not (place / INDEX).is_file():
        raise ValueError(f"folder {place} has no {INDEX}: it holds no problem set")
    every = read_index(place)
    phases = sorted({one.phase for one in every})
    if phase is not None and phase not in phases:
        raise ValueError(f"phase is {phase!r}: expected one of {', '.join(phases)}")
    known = sorted({one.name.rsplit("-", 3)[0] for one in every})
    if scene is not None and not any(name.startswith(scene) for name in known):
        raise ValueError(f"scene is {scene!r}: expected one of {', '.join(known)}")
    return tuple(
        one
        for one in every
        if one.path.is_file()
        and one.name.startswith(scene or "")
        and (phase is None or one.phase == phase)
    )


def read_index(folder: Path | None = None) -> tuple[SetProblem, ...]:
    """Return all problems of the set, sorted by name, also those whose files are not there."""
    place = _SHIPPED if folder is None else folder
    with (place / INDEX).open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        columns, rows = set(reader.fieldnames or ()), list(reader)
    missing = sorted({field.name for field in fields(SetProblem)} - {"path"} - columns)
    if missing:
        raise ValueError(f"{place / INDEX} has no column {missing[0]!r}")
    return tuple(sorted((_entry(row, place) for row in rows), key=lambda one: one.name))


def _entry(row: dict[str, str], place: Path) -> SetProblem:
    """Return a line of the index, whose texts become numbers by the types of the fields."""
    kinds: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": "True".__eq__}
    values: dict[str, Any] = {}
    for field in fields(SetProblem):
        if field.name == "path":
            values["path"] = place / f"{row['name']}.hdf5"
        elif field.name == "sweeps":
            values["sweeps"] = int(row["sweeps"]) if row["sweeps"] else None
        else:
            values[field.name] = kinds[str(field.type)](row[field.name])
    return SetProblem(**values)


def checksum(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of the numbers of an FCLIB problem, in hexadecimal digits.

    Names, shapes, types and little-endian bytes of the datasets count, sorted by name, except texts
    and the solution. The bytes of the file itself would also depend on the version of HDF5.

    Parameters
    ----------
    path : path-like
        An FCLIB file.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file is not HDF5, is damaged, or has no problem.
    ImportError
        h5py is not installed.
    """
    digest = hashlib.sha256()
    with Hdf5Reader(Path(path), _NEED) as reader:
        found: dict[str, Any] = {}

        def note(name: str, item: Any) -> None:
            is_problem = name.startswith("fclib_") and "/info/" not in name
            if is_problem and isinstance(item, reader.h5py.Dataset):
                found[name] = item[()]

        with reader.reading("this FCLIB problem"):
            reader.file.visititems(note)
        if not found:
            raise reader.error("there are no numbers of an FCLIB problem")
        for name in sorted(found):
            values = found[name]
            little = values.astype(values.dtype.newbyteorder("<"))
            digest.update(f"{name} {values.dtype.kind}{values.dtype.itemsize} ".encode())
            digest.update(f"{values.shape}\n".encode())
            digest.update(little.tobytes())
    return digest.hexdigest()
