"""Shared code of the scenes: their list, and options that a caller may replace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

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
        REGISTRY[function.__name__] = function
        TIMES[function.__name__] = Times(seconds, h)
        return function

    return add


def cloth_of(mesh: Any, options: dict[str, Any], **defaults: Any) -> Cloth:
    """Return a cloth with a scene's defaults, in whose place given options take effect."""
    return Cloth(*mesh, **{**defaults, **options})


def collisions(thickness: float, mu: float, options: dict[str, Any]) -> Collisions:
    """Return a scene's collisions, unless the caller's options have others."""
    return options.get("collisions") or Collisions(thickness, mu=mu)
