"""Contact problems to measure and to learn with, built from a few numbers.

A scenario is one file with a function marked ``@scenario``, and one import line below. Each can be
called without arguments; CONTRIBUTING.md tells how to add one.
"""

from __future__ import annotations

from collections.abc import Callable

from contactsolve.problem import Problem
from contactsolve.scenarios._scene import REGISTRY as _REGISTRY
from contactsolve.scenarios.ball_grid import ball_grid as ball_grid
from contactsolve.scenarios.ball_pile import ball_pile as ball_pile
from contactsolve.scenarios.box_stack import box_stack as box_stack
from contactsolve.scenarios.disc_pyramid import disc_pyramid as disc_pyramid
from contactsolve.scenarios.incline import incline as incline
from contactsolve.scenarios.newton_cradle import newton_cradle as newton_cradle
from contactsolve.scenarios.random import random as random


def names() -> tuple[str, ...]:
    """The names of all scenarios, sorted.

    Examples
    --------
    >>> names()[:3]
    ('ball_grid', 'ball_pile', 'box_stack')
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
