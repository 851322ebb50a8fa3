"""S4's pyramid of discs in the plane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactsolve.problem import Problem
from contactsolve.scenarios._scene import (
    SceneArrays,
    integer,
    planar_jacobian,
    relative_velocity,
    require_count,
    require_positive,
    scenario,
)

_GROUND = -1
# From a disc to its neighbours at the right, below left and below right.
_DIRECTIONS = np.array([[1.0, 0.0], [-0.5, -np.sqrt(0.75)], [0.5, -np.sqrt(0.75)]])


@scenario
def disc_pyramid(
    layers: int = 4,
    *,
    ground: bool = False,
    disc: int = 0,
    impulse: Sequence[float] = (0.0, -1.0),
    mass: float = 1.0,
    radius: float = 1.0,
    mu: ArrayLike = 0.3,
    gravity: float = 0.0,
    time_step: float = 0.01,
) -> Problem:
    """Equal discs in a triangle, one of them pushed (S4).

    Discs are numbered from the top, layer by layer and from left to right: 0; 1, 2; 3, 4, 5; ...
    Contacts have two rows and bodies three degrees of freedom: x, y (upwards) and the angle.

    Parameters
    ----------
    layers : int, default 4
        Number n of layers, of 1 to n discs.
    ground : bool, default False
        Let the lowest layer rest on the fixed ground: n more contacts, after the others.
    disc : int, default 0
        Number of the disc that is pushed.
    impulse : two floats, default (0.0, -1.0)
        External impulse on that disc [N s].
    mass : float, default 1.0
        Mass of one disc [kg].
    radius : float, default 1.0
        Radius of one disc [m]; the moment of inertia is 1/2 mass radius^2.
    mu : float or array_like, shape (K,), default 0.3
        Friction coefficients.
    gravity : float, default 0.0
        Gravitational acceleration along -y [m/s^2]. Without ground all discs fall alike.
    time_step : float, default 0.01
        Time during which gravity acts [s].

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        A number of layers or a quantity out of its range, or no disc of that number.

    Notes
    -----
    There are n (n + 1) / 2 discs and 3 n (n - 1) / 2 contacts between them, sorted by their first
    and then by their second disc; a contact has at most 10 neighbours.
    """
    require_count(layers=layers)
    arrays = disc_pyramid_arrays(
        integer("layers", layers),
        ground=ground,
        disc=disc,
        impulse=impulse,
        mass=mass,
        radius=radius,
        gravity=gravity,
        time_step=time_step,
    )
    return arrays.problem(f"disc_pyramid {layers}", mu)


def disc_pyramid_arrays(
    layers: int,
    *,
    ground: bool,
    disc: int,
    impulse: Sequence[float],
    mass: float,
    radius: float,
    gravity: float,
    time_step: float,
) -> SceneArrays:
    """Return the arrays of `disc_pyramid`, for its parameters."""
    require_positive(mass=mass, radius=radius, time_step=time_step)
    discs = layers * (layers + 1) // 2
    if not 0 <= integer("disc", disc) < discs:
        raise ValueError(f"disc is {disc}: expected a number from 0 to {discs - 1}")
    push = np.asarray(impulse, dtype=np.float64)
    if push.shape != (2,):
        raise ValueError(f"impulse is {impulse!r}: expected two components")

    # The contacts between discs come first, then those with the ground.
    pairs, normals = _touching(layers)
    if ground:
        lowest = np.arange(discs - layers, discs)
        pairs = np.concatenate((pairs, np.stack((np.full_like(lowest, _GROUND), lowest), axis=1)))
        normals = np.concatenate((normals, np.tile([0.0, 1.0], (layers, 1))))
    arms = radius * np.stack((normals, -normals), axis=1)
    J = planar_jacobian(normals, arms, pairs)

    # Velocities without contact impulses: gravity, and the push of one disc.
    Minv = np.tile([1.0 / mass, 1.0 / mass, 2.0 / (mass * radius**2)], (discs, 1))
    velocities = np.zeros((discs, 3))
    velocities[:, 1] = -gravity * time_step
    velocities[disc, :2] += push / mass
    # b = J M^-1 h_ext: the right side of S4 with its sign turned.
    return SceneArrays(J, Minv, relative_velocity(J, pairs, velocities), pairs)


def _touching(layers: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs of touching discs and their normals, sorted by the pairs."""
    layer = np.repeat(np.arange(layers), np.arange(1, layers + 1))
    disc = np.arange(len(layer))
    place = disc - layer * (layer + 1) // 2
    # The neighbours of a disc: to its right, below left and below right.
    others = np.stack((disc + 1, disc + layer + 1, disc + layer + 2), axis=1)
    not_lowest = layer < layers - 1
    present = np.stack((place < layer, not_lowest, not_lowest), axis=1)
    pairs = np.stack((np.repeat(disc, 3).reshape(-1, 3)[present], others[present]), axis=1)
    return pairs, np.broadcast_to(_DIRECTIONS, (len(disc), 3, 2))[present]
