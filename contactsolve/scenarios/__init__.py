"""Contact problems to measure and to learn with, built from a few numbers.

A scenario is one file with a function marked ``@scenario``, and one import line below.
"""

from __future__ import annotations

from collections.abc import Callable

from contactsolve.problem import Problem
from contactsolve.scenarios._scene import REGISTRY as _REGISTRY
from contactsolve.scenarios.ball_grid import ball_grid as ball_grid
from contactsolve.scenarios.box_stack import box_stack as box_stack


def names() -> tuple[str, ...]:
    """The names of all scenarios, sorted.

    Examples
    --------
    >>> names()
    ('ball_grid', 'box_stack')
    """
    return tuple(sorted(_REGISTRY))


def get(name: str) -> Callable[..., Problem]:
    """The scenario function of that name.

    Parameters
    ----------
    name : str
        One of `names`.

    Raises
    ------
    ValueError
        An unknown name; the message lists the known ones.
    """
    try:
        return _REGISTRY[name]
    except KeyError:
        known = ", ".join(names())
        raise ValueError(f"unknown scenario {name!r}: expected one of {known}") from None
