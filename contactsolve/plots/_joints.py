"""What pictures show of joints: their points, and the axes and rods between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contactsolve.dynamics import World
from contactsolve.plots._stage import Moment, Stage, reaches

__all__ = ["COLOR", "Marks", "marks_of"]

COLOR = "#1d1d24"

# Kinds without a point of their own, and those with an axis that is drawn.
_POINTLESS = ("gear", "mesh", "angular")
_WITH_AXIS = ("hinge", "slider", "linear")
_AXIS = 1.4  # half length of an axis, in sizes of the smaller body


class Marks(NamedTuple):
    """Points of joints, and lines: axes, rods and rams. Those that are absent are NaN.

    The number of both depends on the world alone.
    """

    points: np.ndarray  # (P, 3)
    lines: np.ndarray  # (L, 2, 3)


def marks_of(world: World, moment: Moment, stage: Stage) -> Marks:
    """Return the joints of a world where its bodies are.

    A joint is absent if it was removed from the world, or if one of its bodies is absent.
    """
    points, lines = [np.zeros((0, 3))], [np.zeros((0, 2, 3))]
    removed = world.joints.removed if len(world.joints) else ()
    sizes = _sizes(world, stage)
    for number, (kind, bodies, numbers, _) in enumerate(world.joints._given):
        gone = removed[number] or any(b >= 0 and moment.absent[b] for b in bodies)
        ends = np.full((2, 3), np.nan)
        axis = np.full(3, np.nan)
        if not gone:
            first, second = (_placed(stage, int(body)) for body in bodies)
            ends[0] = first[0] + first[1] @ numbers[0:3]
            ends[1] = second[0] + second[1] @ numbers[3:6]
            axis = first[1] @ numbers[6:9]
        if kind in _POINTLESS:
            continue
        points.append(ends)
        lines.append(ends[None])
        if kind in _WITH_AXIS:
            half = _AXIS * min(sizes[int(body)] for body in bodies)
            lines.append(np.array([[ends[1] - half * axis, ends[1] + half * axis]]))
    return Marks(np.concatenate(points), np.concatenate(lines))


def _placed(stage: Stage, body: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre of mass and the rotation of a body."""
    if body < 0:
        return np.zeros(3), np.eye(3)
    return stage.positions[body], stage.rotations[body]


def _sizes(world: World, stage: Stage) -> np.ndarray:
    """Return the size of each body, and of body −1: the thickness of its thickest shape."""
    sizes = np.zeros(world.bodies + 1)
    for one, reach in zip(stage.shapes, reaches(stage.shapes).tolist(), strict=True):
        thin = one.shape.numbers[0] if one.shape.kind in ("capsule", "cylinder") else reach
        if one.body >= 0:
            sizes[one.body] = max(sizes[one.body], thin)
    typical = float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1.0
    sizes[sizes == 0] = typical
    return sizes
