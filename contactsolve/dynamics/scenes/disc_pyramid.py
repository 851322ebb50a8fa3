"""S4's pyramid of discs in motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import add_ground, plane_world, scene
from contactsolve.dynamics.shapes import Disc
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import integer, require_count, require_positive


@scene
def disc_pyramid(
    layers: int = 10,
    *,
    ground: bool = True,
    disc: int = 0,
    impulse: Sequence[float] = (0.0, -1.0),
    mass: float = 1.0,
    radius: float = 1.0,
    mu: float = 0.3,
    restitution: float = 0.0,
    **options: Any,
) -> World:
    """Equal discs in a triangle, one of which is pushed (S4).

    A plane world. Discs are numbered from the top, layer by layer and from left to right, as in
    `contactsolve.scenarios.disc_pyramid`.

    Parameters
    ----------
    layers : int, default 10
        Number n of layers, of 1 to n discs.
    ground : bool, default True
        The lowest layer rests on the ground, and gravity acts. False: as in S4, neither.
    disc : int, default 0
        Number of the disc that is pushed.
    impulse : two floats, default (0.0, -1.0)
        Impulse that this disc has at the beginning [N s].
    mass, radius : float, default 1.0 and 1.0
        Of one disc [kg, m].
    mu, restitution : float, default 0.3 and 0.0
        Friction coefficient and restitution of all contacts.
    **options
        Of `contactsolve.dynamics.World`; defaults ``time_step=0.01`` and
        ``max_iterations=1000``.

    Returns
    -------
    World

    Notes
    -----
    There are n (n + 1) / 2 discs with 3 n (n - 1) / 2 contacts between them. The ground adds n.
    On the ground, two layers at rest stand if mu is at least tan(15°) = 0.268; high pyramids spread
    and collapse.
    """
    require_count(layers=layers)
    require_positive(mass=mass, radius=radius)
    count = layers * (layers + 1) // 2
    if not 0 <= integer("disc", disc) < count:
        raise ValueError(f"disc is {disc}: expected a number from 0 to {count - 1}")
    push = np.asarray(impulse, dtype=np.float64)
    if push.shape != (2,):
        raise ValueError(f"impulse is {impulse!r}: expected two components")
    still = {} if ground else {"gravity": (0.0, 0.0)}
    world = plane_world(options, time_step=0.01, max_iterations=1000, **still)
    material = Material(mu, restitution)
    if ground:
        add_ground(world, material)

    layer = np.repeat(np.arange(layers), np.arange(1, layers + 1))
    place = np.arange(count) - layer * (layer + 1) // 2
    centres = np.column_stack(
        [
            radius * (2.0 * place - layer),
            radius * (1.0 + np.sqrt(3.0) * (layers - 1 - layer)),
        ]
    )
    velocities = np.zeros((count, 3))
    velocities[disc, :2] = push / mass
    world.add_bodies(Disc(radius), centres, velocities=velocities, mass=mass, material=material)
    return world
