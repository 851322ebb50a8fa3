"""A column of grains that collapses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import (
    add_ground,
    add_settled,
    add_walls,
    random_radii,
    scattered,
    scene,
    settle,
    with_sweeps,
    world_of,
)
from contactsolve.dynamics.shapes import Disc, Shape, Sphere
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import (
    Seed,
    integer,
    require_choice,
    require_count,
    require_positive,
)

_PACKED = {2: 0.8, 3: 0.6}  # share of space that grains fill


@scene
def column_collapse(
    count: int = 500,
    *,
    aspect: float = 2.0,
    dimension: int = 2,
    radius: float = 0.05,
    spread: float = 0.2,
    rough: bool = True,
    density: float = 1000.0,
    mu: float = 0.5,
    restitution: float = 0.0,
    rng: Seed = 0,
    **options: Any,
) -> World:
    """A column of grains whose walls are gone, and which spreads on the ground.

    Grains are poured between two walls, and come to rest there, before the world is returned.

    Parameters
    ----------
    count : int, default 500
        Number of grains.
    aspect : float, default 2.0
        a: height of the column over half its width.
    dimension : {2, 3}
        2: discs. 3: spheres on a square.
    radius : float, default 0.05
        Mean radius of the grains [m].
    spread : float, default 0.2
        Radii are uniform in radius (1 - spread) to radius (1 + spread).
    rough : bool, default True
        The ground is covered with fixed grains, on which others do not roll away.
    density : float, default 1000.0
        [kg/m^3], in the plane [kg/m^2]
    mu, restitution : float, default 0.5 and 0.0
        Friction coefficient and restitution of all contacts.
    rng : int, numpy.random.Generator or None, default 0
        Seed or generator of places and radii.
    **options
        Of `contactsolve.dynamics.World`; default ``time_step=5e-4``, and 50 sweeps of
        Gauss-Seidel in each step unless a method is given.

    Returns
    -------
    World

    Notes
    -----
    The runout, in half widths, grows as a in low columns, and as a^(2/3) or so in high ones
    (Staron & Hinch 2005).
    """
    require_choice("dimension", dimension, (2, 3))
    require_count(count=count)
    require_positive(aspect=aspect)
    options = {"time_step": 5e-4, **with_sweeps(options)}
    generator = np.random.default_rng(rng)
    radii = random_radii(integer("count", count), radius, spread, generator)
    grain = Disc if dimension == 2 else Sphere
    shapes: list[Shape] = [grain(size) for size in radii]
    material = Material(mu, restitution)

    # Pour the grains between walls without friction.
    half = _half_width(shapes, aspect, dimension)
    deposit, smooth = world_of(dimension, options), Material(0.0)
    _add_bottom(deposit, radius, half, material, rough=rough)
    add_walls(deposit, 2 * half, smooth)
    deposit.set_pair(material, smooth, smooth)
    places = scattered(count, float(radii.max()), 2 * half, dimension, generator, spacing=0.05)
    places[:, -1] += radius * rough
    deposit.add_bodies(shapes, places, density=density, material=material)
    settle(deposit, radius)

    # The column is the deposit without the walls.
    world = world_of(dimension, options, allow_overlap=True)
    reach = half * (1 + 6 * max(aspect, 1.0) ** 0.8)
    _add_bottom(world, radius, reach, material, rough=rough)
    add_settled(world, deposit, shapes, density, material)
    return world


def _half_width(shapes: list[Shape], aspect: float, dimension: int) -> float:
    """Return half the width of a column of that aspect ratio."""
    filled = sum(one.volume for one in shapes) / _PACKED[dimension]
    return float((filled / (2 ** (dimension - 1) * aspect)) ** (1 / dimension))


def _add_bottom(
    world: World, radius: float, reach: float, material: Material, *, rough: bool
) -> None:
    """Add the ground, and the fixed grains on it up to a distance of the origin."""
    add_ground(world, material)
    if not rough:
        return
    grain = Disc(radius) if world.dimension == 2 else Sphere(radius)
    beyond = math.ceil(reach / (2 * radius))
    side = 2 * radius * np.arange(-beyond, beyond + 1)
    axes = np.meshgrid(*[side] * (world.dimension - 1), indexing="ij")
    for place in np.stack([*axes, np.zeros_like(axes[0])], -1).reshape(-1, world.dimension):
        world.add_fixed(grain, place, material=material)
