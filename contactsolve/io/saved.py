"""Problems and results in HDF5 files of the library's own format, bit for bit.

`contactsolve.Problem.save` and `contactsolve.Result.save` write them. They contain only numbers and
texts; `docs/files.md` documents them.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from contactsolve._optional import optional
from contactsolve._version import __version__
from contactsolve.io._hdf5 import FORMAT, Hdf5Reader, new_file
from contactsolve.io._problems import NEED, read_problem, write_problem
from contactsolve.io._results import read_result, write_result
from contactsolve.problem import Problem
from contactsolve.result import Result

__all__ = [
    "READERS",
    "check_header",
    "is_saved",
    "load_problem",
    "load_result",
    "problem_image",
    "problem_of_image",
    "save_problem",
    "save_result",
    "write_header",
]

PathLike = str | os.PathLike[str]

VERSION = 1  # of the schema

# What reads a file, by its kind.
READERS = {
    "problem": "contactsolve.load_problem reads it",
    "result": "contactsolve.load_result reads it",
    "recording": "contactsolve.dynamics.Recording and World.load read it",
    "cloth": "contactsolve.cloth.Recording and Cloth.load read it",
    "checkpoint": "the distributed solver of its problem goes on from it",
}


def save_problem(path: PathLike, problem: Problem, *, overwrite: bool) -> None:
    """Write a problem; see `Problem.save`."""
    with new_file(Path(path), NEED, overwrite=overwrite) as file:
        write_header(file, "problem")
        write_problem(file.create_group("problem"), problem)


def save_result(path: PathLike, result: Result, *, overwrite: bool) -> None:
    """Write a result with its problem; see `Result.save`."""
    with new_file(Path(path), NEED, overwrite=overwrite) as file:
        write_header(file, "result")
        write_problem(file.create_group("problem"), result.problem)
        write_result(file.create_group("result"), result)


def load_problem(path: PathLike) -> Problem:
    """Read a problem that `Problem.save` wrote, or the problem of a result.

    Parameters
    ----------
    path : str or path-like
        A file of `Problem.save` or `Result.save`.

    Returns
    -------
    Problem
        The saved problem, bit for bit.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file is truncated, damaged, of another format or of a newer version of this format. The
        message names the file and, if one is at fault, the dataset.
    ImportError
        h5py is not installed, or SciPy for a problem with sparse matrices.

    Examples
    --------
    >>> import os, tempfile
    >>> import contactsolve as cs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "stack.hdf5")
    ...     cs.scenarios.box_stack(3).save(path)
    ...     cs.load_problem(path)
    Problem('box_stack 3', 12 contacts (12 of 3 rows in disc), 3 bodies)
    """
    with Hdf5Reader(Path(path), NEED) as reader:
        _kind(reader)
        return read_problem(reader, "problem")


def load_result(path: PathLike) -> Result:
    """Read a result that `Result.save` wrote, with its problem.

    Parameters
    ----------
    path : str or path-like
        A file of `Result.save`.

    Returns
    -------
    Result
        The saved result, bit for bit. The arrays can be modified.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file contains only a problem, is truncated, damaged, of another format or of a newer
        version of this format. The message names the file and, if one is at fault, the dataset.
    ImportError
        h5py is not installed, or SciPy for a problem with sparse matrices.

    Examples
    --------
    >>> import os, tempfile
    >>> import contactsolve as cs
    >>> result = cs.solve(cs.scenarios.box_stack(3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "solved.hdf5")
    ...     result.save(path)
    ...     loaded = cs.load_result(path)
    >>> bool((loaded.impulses == result.impulses).all())
    True
    """
    with Hdf5Reader(Path(path), NEED) as reader:
        if _kind(reader) == "problem":
            raise reader.error(
                "this file holds a problem without a result: contactsolve.load_problem reads it"
            )
        return read_result(reader, "result", read_problem(reader, "problem"))


def is_saved(path: PathLike) -> bool:
    """Whether an HDF5 file has this format; errors are those of `load_problem`."""
    with Hdf5Reader(Path(path), "HDF5 files need") as reader:
        return reader.mark("format") == FORMAT


def problem_image(problem: Problem) -> bytes:
    """Return the bytes of a file that `save_problem` would write."""
    h5py = optional("h5py", NEED)
    image = io.BytesIO()
    with h5py.File(image, "w") as file:
        write_header(file, "problem")
        write_problem(file.create_group("problem"), problem)
    return image.getvalue()


def problem_of_image(path: Path, what: str, image: bytes) -> Problem:
    """Return the problem of such bytes, which are a part of the file `path`."""
    with Hdf5Reader(path, NEED, image=image, part=what) as reader:
        _kind(reader)
        return read_problem(reader, "problem")


def write_header(file: Any, kind: str) -> None:
    """Write what every file of this format begins with."""
    file.attrs["version"] = VERSION
    for name, text in {"format": FORMAT, "kind": kind, "library": __version__}.items():
        file.attrs[name] = np.bytes_(text)


def _kind(reader: Hdf5Reader) -> str:
    """Return the content of a file, ``"problem"`` or ``"result"``; refuse other formats."""
    kind = check_header(reader, "Problem.save or Result.save")
    if kind in ("recording", "cloth", "checkpoint"):
        what = "checkpoint" if kind == "checkpoint" else "recording"
        raise reader.error(f"this file holds a {what}: {READERS[kind]}")
    return kind


def check_header(reader: Hdf5Reader, writer: str) -> str:
    """Return the content of a file of this format, which `writer` would write; refuse others."""
    if reader.mark("format") != FORMAT:
        fclib = any(name.startswith("fclib_") for name in reader.names())
        raise reader.error(
            "this is an FCLIB file: contactsolve.io.read_fclib reads it"
            if fclib
            else f"{writer} did not write this file: it has no attribute format = {FORMAT!r}"
        )
    version, kind = reader.mark("version"), reader.mark("kind")
    if not isinstance(version, int) or version < 1:
        raise reader.error(f"the attribute 'version' of / is {version!r}: expected an integer")
    if version > VERSION:
        raise reader.error(
            f"the file has version {version} of the format, and this contactsolve ({__version__}) "
            f"reads versions up to {VERSION}: a newer release reads it"
        )
    if kind not in READERS:
        known = ", ".join(map(repr, READERS))
        raise reader.error(f"the attribute 'kind' of / is {kind!r}: expected one of {known}")
    return kind
