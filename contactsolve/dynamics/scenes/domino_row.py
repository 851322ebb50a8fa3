"""A row of dominoes."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import add_ground, scene, world_of
from contactsolve.dynamics.shapes import Box, Polygon, Shape
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import (
    integer,
    require_count,
    require_not_negative,
    require_positive,
)


@scene
def domino_row(
    count: int = 20,
    *,
    dimension: int = 3,
    height: float = 0.048,
    thickness: float = 0.0075,
    width: float = 0.024,
    spacing: float = 0.02,
    speed: float = 0.3,
    density: float = 1000.0,
    mu: float = 0.2,
    restitution: float = 0.0,
    **options: Any,
) -> World:
    """A row of dominoes along x, the first of which is pushed and topples the others.

    Parameters
    ----------
    count : int, default 20
        Number of dominoes.
    dimension : {3, 2}
        2: rectangles in the plane.
    height, thickness, width : float, default 0.048, 0.0075 and 0.024
        Of a domino, along z, x and y [m].
    spacing : float, default 0.02
        Gap between neighbours [m].
    speed : float, default 0.3
        Of the first domino's upper edge, which turns about its lower one [m/s].
    density : float, default 1000.0
        [kg/m^3], in the plane [kg/m^2]
    mu, restitution : float, default 0.2 and 0.0
        Friction coefficient and restitution of all contacts.
    **options
        Of `contactsolve.dynamics.World`; default ``max_iterations=1000``.

    Returns
    -------
    World

    Notes
    -----
    The first domino falls if its energy lifts its centre of mass over the edge, that is, if speed^2
    is above 3 g h^2 (d - h) / d^2 with the height h and the diagonal d.
    """
    require_count(count=count)
    require_positive(height=height, thickness=thickness, width=width, spacing=spacing)
    require_not_negative(speed=speed)
    world = world_of(dimension, options, max_iterations=1000)
    material = Material(mu, restitution)
    add_ground(world, material)

    centres = np.zeros((integer("count", count), dimension))
    centres[:, 0] = (thickness + spacing) * np.arange(count)
    centres[:, -1] = height / 2
    # Rotation about the edge (thickness/2, 0), clockwise as seen along y.
    rate = speed / height
    velocities = np.zeros((count, 3 if dimension == 2 else 6))
    velocities[0, 0] = rate * height / 2
    velocities[0, dimension - 1] = rate * thickness / 2
    velocities[0, 2 if dimension == 2 else 4] = -rate if dimension == 2 else rate
    world.add_bodies(
        _domino(dimension, height, thickness, width),
        centres,
        velocities=velocities,
        density=density,
        material=material,
    )
    return world


def _domino(dimension: int, height: float, thickness: float, width: float) -> Shape:
    x, z = thickness / 2, height / 2
    if dimension == 3:
        return Box([x, width / 2, z])
    return Polygon([[-x, -z], [x, -z], [x, z], [-x, z]])
