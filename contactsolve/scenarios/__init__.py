"""Contact problems for benchmarks, tests and examples, each built from a few parameters.

A scenario is one file with a function marked ``@scenario``, and one import line below. Each can be
called without arguments; CONTRIBUTING.md explains how to add one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from contactsolve._suggestions import listed as _listed
from contactsolve._suggestions import missing as _missing
from contactsolve.problem import Problem
from contactsolve.scenarios._mechanism import STEPS as _STEPS
from contactsolve.scenarios._mechanism import follow as _follow
from contactsolve.scenarios._scene import REGISTRY as _REGISTRY
from contactsolve.scenarios.ball_grid import ball_grid as ball_grid
from contactsolve.scenarios.ball_pile import ball_pile as ball_pile
from contactsolve.scenarios.box_stack import box_stack as box_stack
from contactsolve.scenarios.chain import chain as chain
from contactsolve.scenarios.crane import crane as crane
from contactsolve.scenarios.disc_pyramid import disc_pyramid as disc_pyramid
from contactsolve.scenarios.folded_cloth import folded_cloth as folded_cloth
from contactsolve.scenarios.forklift import forklift as forklift
from contactsolve.scenarios.forwarder import forwarder as forwarder
from contactsolve.scenarios.incline import incline as incline
from contactsolve.scenarios.log_tower import log_tower as log_tower
from contactsolve.scenarios.newton_cradle import newton_cradle as newton_cradle
from contactsolve.scenarios.offshore import offshore as offshore
from contactsolve.scenarios.random import random as random
from contactsolve.scenarios.stack_of_boxes import stack_of_boxes as stack_of_boxes
from contactsolve.scenarios.vehicle import vehicle as vehicle
from contactsolve.scenarios.winch import winch as winch


def names() -> tuple[str, ...]:
    """Return the names of all scenarios, sorted.

    Examples
    --------
    >>> names()[:3]
    ('ball_grid', 'ball_pile', 'box_stack')
    """
    return tuple(sorted(_REGISTRY))


def get(name: str) -> Callable[..., Problem]:
    """Return the scenario function of that name.

    Parameters
    ----------
    name : str
        One of `names`.

    Raises
    ------
    ValueError
        An unknown name; the message lists the known ones and suggests the most similar.
    """
    return _listed("scenario", _REGISTRY, name)


def steps(name: str, which: Iterable[int] = range(_STEPS), **parameters: Any) -> Iterator[Problem]:
    """Yield the problems of a scene in motion, step by step.

    As long as the same bodies touch, the problem is one object whose values change, and a `Solver`
    made for it keeps its structure. If contacts appear or vanish, a new problem begins.

    Parameters
    ----------
    name : str
        A scenario that has a parameter ``step``, such as ``"winch"``.
    which : iterable of int, default range(200)
        Numbers of the steps, in any order.
    **parameters
        Parameters of the scenario.

    Yields
    ------
    Problem
        Valid until the next one; ``problem.name`` contains the number of the step.

    Raises
    ------
    ValueError
        An unknown name, or a scenario without steps; the message lists those that have some.

    Examples
    --------
    >>> found = [problem.contacts for problem in steps("stack_of_boxes", range(0, 200, 50))]
    >>> found == sorted(found)
    True
    """
    function = get(name)
    if not _has_steps(function):
        known = ", ".join(one for one in names() if _has_steps(get(one)))
        raise ValueError(f"scenario {name!r} has no steps: expected one of {known}")
    return _follow(function(step=step, **parameters) for step in which)


def _has_steps(function: Callable[..., Problem]) -> bool:
    return "step" in inspect.signature(function).parameters


def __getattr__(name: str) -> Any:
    """Raise AttributeError, with a suggestion."""
    raise _missing(__name__, name, (*names(), "get", "names", "steps"))
