"""S2's spheres in a box."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import (
    add_ground,
    add_walls,
    random_radii,
    scattered,
    scene,
    with_sweeps,
    world_of,
)
from contactsolve.dynamics.shapes import Disc, Sphere
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import (
    Seed,
    integer,
    require_count,
    require_not_negative,
    require_positive,
)


@scene
def spheres_in_a_box(
    count: int = 1000,
    *,
    dimension: int = 3,
    radius: float = 0.05,
    spread: float = 0.2,
    width: float | None = None,
    spacing: float = 0.2,
    velocity: float = 0.5,
    density: float = 1000.0,
    mu: float = 0.3,
    restitution: float = 0.0,
    rng: Seed = 0,
    **options: Any,
) -> World:
    """Random spheres that fall into an open box and come to rest (S2 section 6.2).

    Few contacts at first, then many: S2 samples its test problems along this motion.

    Parameters
    ----------
    count : int, default 1000
        Number of spheres; S2 has 2,000 to 3,000.
    dimension : {3, 2}
        2: discs between two walls.
    radius : float, default 0.05
        Mean radius [m].
    spread : float, default 0.2
        Radii are uniform in radius (1 - spread) to radius (1 + spread).
    width : float or None, default None
        Inner width of the square box [m]. None: as many spheres side by side as on each other.
    spacing : float, default 0.2
        Height between layers at the beginning, in diameters.
    velocity : float, default 0.5
        Each linear component of each velocity is uniform in [-velocity, velocity] [m/s].
    density : float, default 1000.0
        [kg/m^3], in the plane [kg/m^2]
    mu, restitution : float, default 0.3 and 0.0
        Friction coefficient and restitution of all contacts.
    rng : int, numpy.random.Generator or None, default 0
        Seed or generator of places, radii and velocities.
    **options
        Of `contactsolve.dynamics.World`; default 50 sweeps of Gauss-Seidel in each step unless a
        method is given.

    Returns
    -------
    World

    Notes
    -----
    S2 does not print radius, box, friction and restitution: those of the defaults are ours.
    """
    require_count(count=count)
    require_not_negative(spacing=spacing, velocity=velocity)
    world = world_of(dimension, with_sweeps(options))
    generator = np.random.default_rng(rng)
    radii = random_radii(integer("count", count), radius, spread, generator)
    if width is None:
        width = 2 * (1 + spread) * radius * math.ceil(count ** (1 / dimension))
    require_positive(width=width)

    material = Material(mu, restitution)
    add_ground(world, material)
    add_walls(world, width, material)
    places = scattered(count, float(radii.max()), width, dimension, generator, spacing)
    velocities = np.zeros((count, 3 if dimension == 2 else 6))
    velocities[:, :dimension] = generator.uniform(-velocity, velocity, (count, dimension))
    ball = Disc if dimension == 2 else Sphere
    world.add_bodies(
        [ball(size) for size in radii],
        places,
        velocities=velocities,
        density=density,
        material=material,
    )
    return world
