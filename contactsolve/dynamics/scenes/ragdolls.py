"""Ragdolls that fall on each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._mechanism import oriented, with_many_sweeps
from contactsolve.dynamics.scenes._scene import add_ground, scene, space_world
from contactsolve.dynamics.shapes import Box, Capsule, Sphere
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import integer, require_count, require_not_negative

_DENSITY = 1000.0  # [kg/m^3]
_DOWN, _ACROSS = np.array([0.0, 0.0, -1.0]), np.array([0.0, 1.0, 0.0])


@scene
def ragdolls(count: int = 3, *, mu: float = 0.6, seed: int = 0, **options: Any) -> World:
    """Ragdolls of eleven bodies and ten joints, which fall onto the ground one after another.

    Shoulders, hips, neck and waist are balls with cones, elbows and knees hinges with limits.

    Parameters
    ----------
    count : int, default 3
        Number of ragdolls, one above another.
    mu : float, default 0.6
        Friction coefficient of all contacts.
    seed : int, default 0
        Of their velocities at the beginning.
    **options
        Of `contactsolve.dynamics.World`; defaults ``time_step=1/240``,
        ``stepper="semi_implicit_euler"``, ``gyroscopic="implicit"``, and 500 sweeps a step.

    Returns
    -------
    World
    """
    require_count(count=count)
    require_not_negative(mu=mu)
    usual = {"stepper": "semi_implicit_euler", "gyroscopic": "implicit"}
    world = space_world(with_many_sweeps(options), time_step=1.0 / 240.0, **usual)
    material = Material(mu)
    add_ground(world, material)
    rng = np.random.default_rng(seed)
    for k in range(integer("count", count)):
        velocity = np.append(rng.normal(0.0, 0.3, 3), np.zeros(3))
        _ragdoll(world, np.array([0.0, 0.0, 1.2 + 2.1 * k]), velocity, material)
    return world


def _ragdoll(
    world: World, hips: NDArray[np.float64], velocity: NDArray[np.float64], material: Material
) -> None:
    """Add an upright ragdoll whose hips are at this place."""
    up = -_DOWN
    own: dict[str, Any] = {"density": _DENSITY, "velocity": velocity, "material": material}
    pelvis = world.add_body(Box([0.1, 0.16, 0.09]), hips, **own)
    chest = world.add_body(Box([0.11, 0.18, 0.2]), hips + 0.33 * up, **own)
    head = world.add_body(Sphere(0.11), hips + 0.7 * up, **own)
    world.joints.ball(pelvis, chest, hips + 0.11 * up, axis=up, cone=0.6)
    world.joints.ball(chest, head, hips + 0.56 * up, axis=up, cone=0.7)
    for side in (-1.0, 1.0):
        shoulder = hips + 0.24 * side * _ACROSS + 0.46 * up
        _limb(world, chest, shoulder, side * _ACROSS, (0.28, 0.26, 0.045), (1.5, -2.3, 0.0), own)
        hip = hips + 0.09 * side * _ACROSS + 0.12 * _DOWN
        _limb(world, pelvis, hip, _DOWN, (0.4, 0.4, 0.065), (1.1, 0.0, 2.3), own)


def _limb(
    world: World,
    body: int,
    start: NDArray[np.float64],
    along: NDArray[np.float64],
    sizes: tuple[float, float, float],
    bounds: tuple[float, float, float],
    own: dict[str, Any],
) -> None:
    """Add an arm or a leg: two capsules from a ball with a cone, and a hinge with limits."""
    upper, lower, radius = sizes
    cone, least, most = bounds
    hinge = _ACROSS if along[1] == 0.0 else -_DOWN * along[1]
    last, at = body, start
    for k, length in enumerate((upper, lower)):
        shape = Capsule(radius, length / 2.0 - radius)
        part = world.add_body(shape, at + 0.5 * length * along, orientation=oriented(along), **own)
        if k == 0:
            world.joints.ball(last, part, at, axis=along, cone=cone)
        else:
            world.joints.hinge(last, part, at, hinge, limits=(least, most))
        last, at = part, at + length * along
