"""Attached vertices: which they are, and where they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import finite_array, index_array, read_only

__all__ = ["Attachment"]


class Attachment:
    """Vertices that stay where they are, or follow a function of time."""

    def __init__(self, attach: Any) -> None:
        self.motion: Callable[[float], Any] | None = None
        if isinstance(attach, (tuple, list)) and len(attach) == 2 and callable(attach[1]):
            attach, self.motion = attach
        vertices = index_array("attach", [] if attach is None else attach)
        self.vertices = read_only(vertices.copy())
        if self.vertices.ndim != 1:
            raise ValueError(f"attach has shape {self.vertices.shape}: (k,) is needed")

    def targets(self, positions: np.ndarray, time: float) -> np.ndarray | None:
        """Return `positions` with those of attached vertices at a time; None: they stay."""
        if self.motion is None:
            return None
        at = finite_array("attach's positions", self.motion(time))
        wanted = (len(self.vertices), 3)
        if at.shape != wanted:
            raise ValueError(f"attach's positions have shape {at.shape}: {wanted} is needed")
        positions[self.vertices] = at
        return positions
