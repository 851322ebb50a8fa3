"""Real contact problems that come with the package, for demonstrations and first trials.

They are FCLIB files; ``README.md`` beside them says where they come from.

Examples
--------
>>> import contactsolve as cs
>>> problem = cs.io.read_fclib(cs.data.path("Box_Stacks-i0122-82-5.reduced_local"))
>>> problem.contacts
82
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["names", "path"]

_FOLDER = Path(__file__).parent
_SUFFIX = ".hdf5"


def names() -> tuple[str, ...]:
    """The names of the shipped problems, sorted."""
    return tuple(sorted(file.name.removesuffix(_SUFFIX) for file in _FOLDER.glob(f"*{_SUFFIX}")))


def path(name: str) -> Path:
    """The file of a shipped problem.

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
