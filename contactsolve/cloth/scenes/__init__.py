"""Cloths in contact for tests, benchmarks and examples, built from a few parameters, ready to run.

A scene is one file with a function marked ``@scene``, and one import line below. Each can be called
without arguments; heights are along z. Options that a scene does not name are those of
`contactsolve.cloth.Cloth`. `times` tells how long a scene runs and in which steps.

>>> import contactsolve as cs
>>> cloth = cs.cloth.scenes.sheet(15)
>>> cloth.run(0.05, 5e-3)
>>> cloth.info["status"]
'converged'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contactsolve._suggestions import listed as _listed
from contactsolve._suggestions import missing as _missing
from contactsolve.cloth.cloth import Cloth
from contactsolve.cloth.scenes._scene import REGISTRY as _REGISTRY
from contactsolve.cloth.scenes._scene import TIMES as _TIMES
from contactsolve.cloth.scenes._scene import Times as Times
from contactsolve.cloth.scenes.capstan import capstan as capstan
from contactsolve.cloth.scenes.dress import dress as dress
from contactsolve.cloth.scenes.ribbon import ribbon as ribbon
from contactsolve.cloth.scenes.sheet import sheet as sheet
from contactsolve.cloth.scenes.stack import stack as stack


def names() -> tuple[str, ...]:
    """Return the names of all scenes, sorted.

    Examples
    --------
    >>> "ribbon" in names()
    True
    """
    return tuple(sorted(_REGISTRY))


def get(name: str) -> Callable[..., Cloth]:
    """Return the scene of that name, a function.

    Parameters
    ----------
    name : str
        One of `names`.

    Raises
    ------
    ValueError
        An unknown name; the message lists the known ones and suggests the most similar.
    """
    return _listed("scene", _REGISTRY, name)


def times(name: str) -> Times:
    """Return how long a scene runs, and the length of its steps [s].

    Parameters
    ----------
    name : str
        One of `names`.

    Raises
    ------
    ValueError
        An unknown name.

    Examples
    --------
    >>> times("dress")
    Times(seconds=1.0, h=0.005)
    """
    return _listed("scene", _TIMES, name)


def __getattr__(name: str) -> Any:
    """Raise AttributeError, with a suggestion."""
    raise _missing(__name__, name, (*names(), "Times", "get", "names", "times"))
