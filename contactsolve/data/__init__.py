"""Real contact problems that come with the package, for demonstrations and first trials.

They are FCLIB files; ``README.md`` in their folder gives their sources. `problem_set` lists steps
of bodies in motion, with their solutions.

Examples
--------
>>> import contactsolve as cs
>>> problem = cs.io.read_fclib(cs.data.path("Box_Stacks-i0122-82-5.reduced_local"))
>>> problem.contacts
82
"""

from __future__ import annotations

from pathlib import Path

from contactsolve.data._problem_set import SetProblem, checksum, problem_set

__all__ = ["SetProblem", "checksum", "names", "path", "problem_set"]

_FOLDER = Path(__file__).parent
_SUFFIX = ".hdf5"


def names() -> tuple[str, ...]:
    """Return the names of the problems that come with the package, sorted."""
    return tuple(sorted(file.name.removesuffix(_SUFFIX) for file in _FOLDER.glob(f"*{_SUFFIX}")))


def path(name: str) -> Path:
    """Return the path of the file of a problem that comes with the package.

    Parameters
    ----------
    name : str
        One of `names`; the suffix ``.hdf5`` may be given.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ValueError
        An unknown name; the message lists the known ones.
    """
    stem = name.removesuffix(_SUFFIX)
    if stem not in names():
        known = ", ".join(names())
        raise ValueError(f"unknown data file {name!r}: expected one of {known}")
    return _FOLDER / (stem + _SUFFIX)
