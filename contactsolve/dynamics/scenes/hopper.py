"""A hopper that empties through its orifice."""

from __future__ import annotations

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
    up,
    with_sweeps,
    world_of,
)
from contactsolve.dynamics.shapes import Disc, HalfSpace, Hull, Polygon, Shape, Sphere
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import (
    Seed,
    integer,
    require_choice,
    require_count,
    require_positive,
)

_SIDES = 24  # of the polygon that is the hole in space


@scene
def hopper(
    count: int = 1000,
    *,
    dimension: int = 2,
    orifice: float = 1.0,
    width: float | None = None,
    radius: float = 0.05,
    spread: float = 0.2,
    clearance: float | None = 2.0,
    density: float = 1000.0,
    mu: float = 0.5,
    restitution: float = 0.0,
    rng: Seed = 0,
    **options: Any,
) -> World:
    """Grains that flow out of a container with a flat floor, through a hole in its middle.

    Grains are poured, and come to rest, before the orifice is open and the world is returned. The
    floor's upper side is at height 0. `discharged` counts the grains that have left.

    Parameters
    ----------
    count : int, default 1000
        Number of grains.
    dimension : {2, 3}
        2: discs and a gap in the floor. 3: spheres and a round hole.
    orifice : float, default 1.0
        D: width of the gap, or diameter of the hole [m].
    width : float or None, default None
        Inner width of the container [m]. None: 2.5 times the orifice.
    radius : float, default 0.05
        Mean radius of the grains [m].
    spread : float, default 0.2
        Radii are uniform in radius (1 - spread) to radius (1 + spread).
    clearance : float or None, default 2.0
        Height of the orifice above the ground [m]. None: there is no ground, and what leaves falls
        on.
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
    By Beverloo et al. (1961) the flow does not depend on the height of the filling, and grows as
    (D - k d)^(5/2), in the plane as (D - k d)^(3/2), with the diameter d of the grains and k about
    1.4; ``benchmarks/dynamics/granular.py`` shows how near these grains come to that.
    """
    require_choice("dimension", dimension, (2, 3))
    require_count(count=count)
    require_positive(orifice=orifice)
    if clearance is not None:
        require_positive(clearance=clearance)
    options = {"time_step": 5e-4, **with_sweeps(options)}
    generator = np.random.default_rng(rng)
    radii = random_radii(integer("count", count), radius, spread, generator)
    if width is None:
        width = 2.5 * orifice
    require_positive(width=width)
    if width <= orifice:
        raise ValueError(f"width is {width}: expected more than the orifice, {orifice:g}")

    # Pour the grains into the closed container.
    material = Material(mu, restitution)
    grain = Disc if dimension == 2 else Sphere
    shapes: list[Shape] = [grain(size) for size in radii]
    deposit = world_of(dimension, options)
    add_ground(deposit, material)
    add_walls(deposit, width, material)
    places = scattered(count, float(radii.max()), width, dimension, generator, spacing=0.05)
    deposit.add_bodies(shapes, places, density=density, material=material)
    settle(deposit, radius)

    # Open it.
    world = world_of(dimension, options, allow_overlap=True)
    if clearance is not None:
        world.add_fixed(HalfSpace(up(dimension), -clearance), material=material)
    add_walls(world, width, material)
    floor = _plane_floor if dimension == 2 else _pierced_floor
    for corners in floor(orifice, width, 2 * radius):
        world.add_fixed((Polygon if dimension == 2 else Hull)(corners), material=material)
    add_settled(world, deposit, shapes, density, material)
    return world


def discharged(world: World) -> int:
    """Return how many grains of a `hopper` have left it: those whose centres are below its floor.

    Examples
    --------
    >>> from contactsolve.dynamics import scenes
    >>> discharged(scenes.hopper(100))
    0
    """
    return int(np.count_nonzero(world.positions[:, -1] < 0.0))


def _plane_floor(orifice: float, width: float, thickness: float) -> list[np.ndarray]:
    """Return the corners of both pieces of the floor."""
    right = np.array(
        [
            [orifice / 2, -thickness],
            [width, -thickness],
            [width, 0.0],
            [orifice / 2, 0.0],
        ]
    )
    return [right, right * [-1.0, 1.0]]


def _pierced_floor(orifice: float, width: float, thickness: float) -> list[np.ndarray]:
    """Return the corners of prisms around a polygon of the area of the round hole."""
    step = 2 * np.pi / _SIDES
    angle = step * np.arange(_SIDES + 1)
    direction = np.column_stack([np.cos(angle), np.sin(angle)])
    inner = orifice / 2 * np.sqrt(step / np.sin(step)) * direction
    outer = 1.5 * width * direction
    pieces = []
    for k in range(_SIDES):
        outline = np.array([inner[k], outer[k], outer[k + 1], inner[k + 1]])
        pieces.append(
            np.vstack([np.column_stack([outline, np.full(4, z)]) for z in (-thickness, 0.0)])
        )
    return pieces
