"""S1's ball pile: spheres scattered over planes, few of which touch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactsolve.geometry import contact_jacobian
from contactsolve.problem import Problem
from contactsolve.scenarios._scene import (
    SceneArrays,
    Seed,
    grid_shape,
    random_velocities,
    relative_velocity,
    require_between,
    require_choice,
    require_not_negative,
    require_positive,
    scenario,
    solid_spheres,
)

_X, _Y, _Z = 0, 1, 2

# In radii. Rows are so far apart that balls of two rows never touch, wherever they lie in them.
_ROW_PITCH = 3.0
_PLANE_PITCH = 3.0
_SIDEWAYS = 0.3
_WIDEST_GAP = 1.0


@scenario
def ball_pile(
    shape: int | Sequence[int] = 10,
    *,
    ground: str = "fixed",
    contact_chance: float = 0.25,
    approach: float | None = 0.17,
    velocity: float = 1.0,
    mass: float = 20.0,
    radius: float = 1.0,
    mu: ArrayLike = 0.5,
    rows: int = 3,
    rng: Seed = 0,
) -> Problem:
    """Spheres in evenly spaced planes, at random distances and velocities (S1 section 3.8.2).

    S1 calls it a pile. It is a large unstructured problem with many bodies and few contacts, nearly
    all of which are isolated or form short chains.

    Parameters
    ----------
    shape : int or three ints, default 10
        Numbers of balls in a row, of rows in a plane and of planes; one number n stands for n^3.
    ground : {"fixed", "body"}
        ``"body"`` adds the ground as body 0, with zero inverse mass, as S1 counts it. No ball
        touches it.
    contact_chance : float, default 0.25
        Probability that a ball touches the next one of its row.
    approach : float or None, default 0.17
        Touching balls form a contact if they approach faster than this times `velocity`. None: all
        touching balls do.
    velocity : float, default 1.0
        Each linear component of each ball's velocity is uniform in [-velocity, velocity] [m/s].
    mass : float, default 20.0
        Mass of one ball [kg].
    radius : float, default 1.0
        Radius of one ball [m]; the moment of inertia is 2/5 mass radius^2.
    mu : float or array_like, shape (K,), default 0.5
        Friction coefficients; unused with one row.
    rows : {3, 1}
        3: normal and two tangents with friction discs. 1: the normal alone, without friction.
    rng : int, numpy.random.Generator or None, default 0
        Seed or generator of distances and velocities. A number gives the same scene at every call,
        None a new one.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        A shape, option or quantity out of its range.

    Notes
    -----
    S1 does not print its test for approach. The default of `approach` is tuned to the counts of S1
    Table 3.4: 6,605 contacts and 7,415 blocks of A for 40^3 balls, 52,909 and 58,631 for 80^3.
    Twelve seeds of 40^3 stay within 2.5 % of the contacts and 4 % of the blocks, four of 80^3
    within 0.3 % and 1 %. One number fits both counts because the test compares velocities: of three
    touching balls both contacts are kept only if each ball is faster than the next one, which is
    less likely than two independent approaches.

    Gravity has no effect and is left out, because it accelerates all bodies alike.
    """
    size = grid_shape(shape)
    arrays = ball_pile_arrays(
        size,
        ground=ground,
        contact_chance=contact_chance,
        approach=approach,
        velocity=velocity,
        mass=mass,
        radius=radius,
        rows=rows,
        rng=rng,
    )
    return arrays.problem(f"ball_pile {size[_X]}x{size[_Y]}x{size[_Z]}", mu)


def ball_pile_arrays(
    shape: tuple[int, int, int],
    *,
    ground: str,
    contact_chance: float,
    approach: float | None,
    velocity: float,
    mass: float,
    radius: float,
    rows: int,
    rng: Seed,
) -> SceneArrays:
    """Return the arrays of `ball_pile`, for its parameters."""
    require_choice("ground", ground, ("fixed", "body"))
    require_choice("rows", rows, (3, 1))
    require_between(0.0, 1.0, contact_chance=contact_chance)
    require_positive(mass=mass, radius=radius)
    require_not_negative(velocity=velocity)
    if approach is not None:
        require_not_negative(approach=approach)

    # Neighbours in a row that touch, and approach fast enough, are in contact.
    generator = np.random.default_rng(rng)
    centres, touches = _scattered(shape, contact_chance, radius, generator)
    velocities = random_velocities(len(centres), velocity, generator)
    first = np.flatnonzero(touches)
    pairs = np.stack((first, first + 1), axis=1)
    normals = (centres[pairs[:, 1]] - centres[pairs[:, 0]]) / (2.0 * radius)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    if approach is not None:
        apart = (velocities[pairs[:, 1]] - velocities[pairs[:, 0]])[:, :3]
        kept = -np.sum(normals * apart, axis=1) > approach * velocity
        pairs, normals = pairs[kept], normals[kept]
    points = centres[pairs[:, 0]] + radius * normals

    # Body 0 is the ground where it counts as a body.
    Minv = solid_spheres(len(centres), mass, radius)
    if ground == "body":
        pairs = pairs + 1
        centres, velocities, Minv = (
            np.concatenate((np.zeros((1, array.shape[1])), array))
            for array in (centres, velocities, Minv)
        )
    J = contact_jacobian(points, normals, pairs, centres)[:, :, :rows]
    return SceneArrays(J, Minv, relative_velocity(J, pairs, velocities), pairs)


def _scattered(
    shape: tuple[int, int, int], contact_chance: float, radius: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the centres, row by row, and whether each ball touches the next one in its row."""
    count = shape[_X] * shape[_Y] * shape[_Z]
    in_row = (shape[_Z], shape[_Y], shape[_X])
    touches = rng.random(in_row) < contact_chance
    touches[..., -1] = False
    gaps = np.where(touches, 0.0, radius * _WIDEST_GAP * rng.random(in_row))
    sideways = radius * _SIDEWAYS * rng.uniform(-1.0, 1.0, in_row)

    # The distance of neighbours is the diameter plus the gap, whatever their sideways offsets.
    distance = (2.0 * radius + gaps)[..., :-1]
    along = np.sqrt(distance**2 - np.diff(sideways, axis=2) ** 2)
    centres = np.zeros((*in_row, 3))
    np.cumsum(along, axis=2, out=centres[..., 1:, _X])
    centres[..., _Y] = sideways + radius * _ROW_PITCH * np.arange(shape[_Y])[:, None]
    centres[..., _Z] = radius * (1.0 + _PLANE_PITCH * np.arange(1, shape[_Z] + 1))[:, None, None]
    return centres.reshape(count, 3), touches.reshape(count)
