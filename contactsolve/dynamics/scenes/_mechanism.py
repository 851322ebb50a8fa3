"""Mechanisms of `contactsolve.scenarios` as worlds: they begin as at t = 0, and move freely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The scenarios are imported for their places.
from contactsolve import scenarios as _scenarios  # noqa: F401
from contactsolve.dynamics.joints import Motor
from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import add_ground, space_world
from contactsolve.dynamics.shapes import Box, Capsule, Cylinder, Shape
from contactsolve.dynamics.world import World
from contactsolve.scenarios._mechanism import PLACES, TIME_STEP, Mechanism, along

__all__ = ["mechanism_world", "oriented", "with_many_sweeps"]

# From the z axis, along which round shapes lie, to the x axis of the bodies of a mechanism.
_LYING = np.array([np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])


def mechanism_world(
    name: str,
    options: dict[str, Any],
    touches: Callable[[str, int], bool],
    *,
    mu: float,
    compliance: float,
) -> World:
    """Return the world of a mechanism at t = 0, on the ground.

    Parameters
    ----------
    name
        Of a scenario.
    touches
        Whether a body has its shape, from the kind of the shape and its number: others have none,
        so that nothing touches them.
    compliance
        Of joints, as `Mechanism` has it: added to the diagonal of A at a step of 1/60 s.
    """
    made = Mechanism(compliance)
    PLACES[name](made, 0.0)
    usual = {"stepper": "semi_implicit_euler", "gyroscopic": "implicit", "tension": "implicit"}
    world = space_world(with_many_sweeps(options), time_step=TIME_STEP, **usual)
    material = Material(mu)
    add_ground(world, material)
    for number, part in enumerate(made.parts):
        shapes = []
        if part.shape is not None and touches(part.shape[0], number):
            shape = _shape(*part.shape)
            turn = None if isinstance(shape, Box) else _LYING
            shapes = [(shape, None, turn)]
        world.add_body(
            shapes or None,
            part.position,
            orientation=quaternion(part.turn),
            mass=part.mass,
            inertia=part.inertia,
            material=material,
        )
    for kind, several in made.joined.items():
        for joint in several:
            _join(world, kind, joint)
    return world


def with_many_sweeps(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a world of joints: a fixed number of sweeps, unless a method is given."""
    sweeps = {"method": "gauss_seidel", "max_iterations": 500, "rtol": None, "atol": None}
    return options if "method" in options else {**sweeps, **options}


def _shape(kind: str, sizes: tuple[float, ...]) -> Shape:
    if kind == "box":
        return Box([size / 2.0 for size in sizes])
    radius, length = sizes
    return Cylinder(radius, length / 2.0) if kind == "cylinder" else Capsule(radius, length / 2.0)


def _join(world: World, kind: str, joint: Any) -> int:
    """Add a joint of a mechanism."""
    first, second = joint.bodies
    add = world.joints
    soft: dict[str, Any] = {"compliance": np.asarray(joint.compliance) * TIME_STEP**2}
    if kind in ("motor", "actuator"):
        motor = Motor(joint.speed, joint.bound)
        if kind == "motor":
            return add.angular(first, second, joint.axis, motor=motor)
        return add.linear(first, second, joint.point, joint.axis, motor=motor)
    if kind in ("hinge", "slider"):
        return getattr(add, kind)(first, second, joint.point, joint.axis, **soft)
    if kind == "distance":
        return add.distance(first, second, joint.point, joint.other, **soft)
    if kind == "gear":
        return add.gear(first, second, joint.axis, joint.other, joint.ratio, **soft)
    return getattr(add, kind)(first, second, joint.point, **soft)


# ---- rotations ----------------------------------------------------------------------------------


def quaternion(turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit quaternion w, x, y, z of a rotation ``(3, 3)``."""
    # 4 q q^T is linear in the rotation: its largest row is q, but for scale.
    a = np.asarray(turn, float)
    outer = np.empty((4, 4))
    outer[0, 0] = 1.0 + np.trace(a)
    outer[0, 1:] = outer[1:, 0] = a[2, 1] - a[1, 2], a[0, 2] - a[2, 0], a[1, 0] - a[0, 1]
    outer[1:, 1:] = a + a.T + (1.0 - np.trace(a)) * np.eye(3)
    row = outer[np.argmax(np.diag(outer))]
    return np.asarray(row / np.linalg.norm(row))


def oriented(direction: Any) -> NDArray[np.float64]:
    """Return a quaternion that turns the z axis, along which round shapes lie, to a direction."""
    x_axis = along(direction)
    lying = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    return quaternion(x_axis @ lying)
