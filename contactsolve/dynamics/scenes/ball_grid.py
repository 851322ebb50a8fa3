"""S1's ball grid in motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import add_ground, scene, space_world, with_sweeps
from contactsolve.dynamics.shapes import Sphere
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import (
    Seed,
    grid_shape,
    random_velocities,
    require_not_negative,
    require_positive,
)
from contactsolve.scenarios.ball_grid import ball_centres


@scene
def ball_grid(
    shape: int | Sequence[int] = 8,
    *,
    spacing: float | Sequence[float] = 0.0,
    velocity: float = 0.5,
    mass: float = 20.0,
    radius: float = 1.0,
    mu: float = 0.5,
    restitution: float = 0.0,
    rng: Seed = 0,
    **options: Any,
) -> World:
    """Spheres on a cubic lattice on the ground, with random velocities (S1 section 3.8.1).

    With velocities of 0 this is `contactsolve.scenarios.ball_grid` in its first step: a lattice of
    columns in unstable balance. With others it collapses.

    Parameters
    ----------
    shape : int or three ints, default 8
        Numbers of spheres along x, y and z; one number n stands for n^3.
    spacing : float or three floats, default 0.0
        Gaps between neighbours along x, y and z [m].
    velocity : float, default 0.5
        Each linear component of each velocity is uniform in [-velocity, velocity] [m/s].
    mass, radius : float, default 20.0 and 1.0
        Of one sphere [kg, m].
    mu, restitution : float, default 0.5 and 0.0
        Friction coefficient and restitution of all contacts.
    rng : int, numpy.random.Generator or None, default 0
        Seed or generator of the velocities.
    **options
        Of `contactsolve.dynamics.World`; default ``time_step=0.01``, as in S1, and 50
        sweeps of Gauss-Seidel in each step unless a method is given.

    Returns
    -------
    World
    """
    return lattice(
        "cubic", shape, spacing, velocity, mass, radius, Material(mu, restitution), rng, options
    )


def lattice(
    layout: str,
    shape: int | Sequence[int],
    spacing: float | Sequence[float],
    velocity: float,
    mass: float,
    radius: float,
    material: Material,
    rng: Seed,
    options: dict[str, Any],
) -> World:
    """Return a world of spheres in a layout of `contactsolve.scenarios.ball_grid`."""
    require_positive(mass=mass, radius=radius)
    require_not_negative(velocity=velocity)
    world = space_world(with_sweeps(options), time_step=0.01)
    add_ground(world, material)
    places = ball_centres(grid_shape(shape), layout=layout, spacing=spacing, radius=radius)
    velocities = random_velocities(len(places), velocity, rng)
    world.add_bodies(Sphere(radius), places, velocities=velocities, mass=mass, material=material)
    return world
