"""Shared code of the scenes: their list, and options that a caller may replace."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from ..cloth import Cloth
from ..collisions import Collisions

Scene = TypeVar("Scene", bound=Callable[..., Cloth])

REGISTRY: dict[str, Callable[..., Cloth]] = {}
TIMES: dict[str, Times] = {}


class Times(NamedTuple):
    """How long a scene runs, and its steps.

    Attributes
    ----------
    seconds
        Time to go [s].
    h
        Length of a step [s].
    """

    seconds: float
    h: float


def scene(seconds: float, h: float) -> Callable[[Scene], Scene]:
    """Add a scene to the list, under its own name, with what its runs take."""

    def add(function: Scene) -> Scene:
        @functools.wraps(function)
        def checked(*args: Any, **options: Any) -> Cloth:
            if options.get("collisions", ...) is None:
                del options["collisions"]  # the scene has its own
            _refuse_twice(function, args, options)
            return function(*args, **options)

        made = cast("Scene", checked)
        REGISTRY[function.__name__] = made
        TIMES[function.__name__] = Times(seconds, h)
        return made

    return add


def _refuse_twice(function: Callable[..., Cloth], args: Any, options: dict[str, Any]) -> None:
    """Refuse what a scene's collisions are made of beside the collisions themselves."""
    if "collisions" not in options:
        return
    given = inspect.signature(function).bind(*args, **options).arguments
    for name in ("thickness", "mu"):
        if name in given:
            raise TypeError(f"{name} is given, and collisions, which has its own {name}")


def cloth_of(mesh: Any, options: dict[str, Any], **defaults: Any) -> Cloth:
    """Return a cloth with a scene's defaults, in whose place given options take effect."""
    return Cloth(*mesh, **{**defaults, **options})


def collisions(thickness: float, mu: float, options: dict[str, Any]) -> Collisions:
    """Return a scene's collisions, unless the caller's options have others."""
    given = options.get("collisions")
    if given is None:
        return Collisions(thickness, mu=mu)
    if not isinstance(given, Collisions):
        raise TypeError(f"collisions is {given!r}: a Collisions is needed")
    return given
