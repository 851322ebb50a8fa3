"""Blocks on a slope, whose motion is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactsolve.geometry import contact_jacobian
from contactsolve.problem import Problem
from contactsolve.scenarios._scene import (
    SceneArrays,
    integer,
    relative_velocity,
    require_between,
    require_count,
    require_positive,
    scenario,
)

_CORNERS = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


@scenario
def incline(
    count: int = 1,
    *,
    angle: float = 20.0,
    mu: ArrayLike = 0.5,
    size: Sequence[float] = (1.0, 1.0, 0.5),
    mass: float = 1.0,
    velocity: float = 0.0,
    gravity: float = 9.81,
    time_step: float = 0.01,
) -> Problem:
    """A block on a slope, or several one behind the other.

    The frame is the slope's: x points down the slope, z away from it, and gravity is tilted.
    Blocks are numbered uphill to downhill. Each stands on its four lower corners; neighbours touch
    at the four corners of their faces, without friction.

    Parameters
    ----------
    count : int, default 1
        Number of blocks.
    angle : float, default 20.0
        Angle between the slope and the horizontal, 0 to 89 [degrees].
    mu : float or array_like, shape (count,), default 0.5
        Friction coefficient between each block and the slope.
    size : three floats, default (1.0, 1.0, 0.5)
        Edge lengths of a block along x, y and z [m].
    mass : float, default 1.0
        Mass of one block [kg].
    velocity : float, default 0.0
        Velocity of all blocks, down the slope [m/s].
    gravity : float, default 9.81
        Gravitational acceleration [m/s^2].
    time_step : float, default 0.01
        Length of the time step [s].

    Returns
    -------
    Problem
        The contacts with the slope, four for each block, precede those between blocks, four for
        each pair.

    Raises
    ------
    ValueError
        A count or quantity out of its range.

    Notes
    -----
    A single block, with g = gravity * time_step: the normal impulses add up to
    m g cos(angle). It comes to rest in the step if velocity + g (sin(angle) - mu cos(angle)) <= 0,
    and otherwise has this velocity after it, with friction mu times normal impulse at each corner.
    A train of blocks that push each other moves as one block with the mean of their coefficients.
    All this holds while no block tips: as long as
    height * min(mu, tan(angle) + velocity / (g cos(angle))) <= length.
    """
    require_count(count=count)
    arrays = incline_arrays(
        integer("count", count),
        angle=angle,
        size=size,
        mass=mass,
        velocity=velocity,
        gravity=gravity,
        time_step=time_step,
    )
    coefficients = np.asarray(mu, dtype=np.float64)
    if coefficients.shape not in ((), (count,)):
        raise ValueError(f"mu has shape {coefficients.shape}: expected a number or ({count},)")
    friction = np.zeros(len(arrays.bodies))
    friction[: 4 * count] = np.repeat(np.broadcast_to(coefficients, (count,)), 4)
    name = f"incline {count} at {angle:g} degrees"
    return arrays.problem(name, friction)


def incline_arrays(
    count: int,
    *,
    angle: float,
    size: Sequence[float],
    mass: float,
    velocity: float,
    gravity: float,
    time_step: float,
) -> SceneArrays:
    """Return the arrays of `incline`, for its parameters."""
    require_between(0.0, 89.0, angle=angle)
    require_positive(mass=mass, time_step=time_step)
    edges = np.asarray(size, dtype=np.float64)
    if edges.shape != (3,):
        raise ValueError(f"size is {size!r}: expected three edge lengths")
    for axis, edge in enumerate(edges):
        require_positive(**{f"size[{axis}]": edge})

    # Contacts of each block with the slope, then with the block before it.
    centres = np.zeros((count, 3))
    centres[:, 0] = np.arange(count) * edges[0]
    centres[:, 2] = 0.5 * edges[2]
    below = _corners(centres, edges, normal=2)
    behind = _corners(centres[1:], edges, normal=0)
    block = np.arange(count)
    pairs = np.concatenate(
        (
            np.stack((np.full(4 * count, -1), np.repeat(block, 4)), axis=1),
            np.stack((np.repeat(block[:-1], 4), np.repeat(block[1:], 4)), axis=1),
        )
    )
    normals = np.repeat(np.eye(3)[[2, 0]], (len(below), len(behind)), axis=0)
    J = contact_jacobian(np.concatenate((below, behind)), normals, pairs, centres)

    # Velocities without contact impulses, in the tilted frame.
    squares = edges**2
    inertia = mass * (squares.sum() - squares) / 12.0
    Minv = np.tile(np.concatenate((np.full(3, 1.0 / mass), 1.0 / inertia)), (count, 1))
    fall, tilt = gravity * time_step, math.radians(angle)
    velocities = np.zeros((count, 6))
    velocities[:, 0] = velocity + fall * math.sin(tilt)
    velocities[:, 2] = -fall * math.cos(tilt)
    return SceneArrays(J, Minv, relative_velocity(J, pairs, velocities), pairs)


def _corners(
    centres: NDArray[np.float64], edges: NDArray[np.float64], normal: int
) -> NDArray[np.float64]:
    """The four corners of the face at the low end of axis `normal`, block by block."""
    offsets = np.insert(_CORNERS, normal, -0.5, axis=1) * edges
    return (centres[:, None] + offsets).reshape(-1, 3)
