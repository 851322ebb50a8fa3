"""Animations of runs, of worlds and of cloths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from contactsolve._optional import optional
from contactsolve._options import number as number_of
from contactsolve.plots._axes import new_axes

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

__all__ = ["Frames", "animation_of", "require_speed"]


class Frames(Protocol):
    """Pictures of the times of a run."""

    times: np.ndarray  # (frames,) [s]

    def draw(self, ax: Axes, number: int, *, bars: bool = False) -> None:
        """Draw a picture, with its time as a title, and with `bars` its scales of colours."""


def require_speed(speed: Any) -> float:
    """Return seconds of a run in a second of a film, which are positive."""
    seconds = number_of("speed", speed)
    if not 0 < seconds < np.inf:
        raise ValueError(f"speed is {speed}: a positive number is needed")
    return seconds


def animation_of(make: Callable[[], Frames], speed: float, ax: Axes | None) -> FuncAnimation:
    """Return an animation of the frames that `make` returns."""
    speed = require_speed(speed)
    frames = make()
    target = new_axes() if ax is None else ax
    step = (frames.times[-1] - frames.times[0]) / max(1, len(frames.times) - 1)

    def draw(number: int) -> list[Any]:
        target.clear()
        frames.draw(target, number)
        return []

    animation = optional("matplotlib.animation", "plots need")
    return animation.FuncAnimation(
        target.figure,
        draw,
        frames=len(frames.times),
        interval=max(1.0, 1e3 * float(step) / speed),
        init_func=list,
        blit=False,
    )
