"""Mechanisms of `contactsolve.scenarios` as worlds: they begin as at t = 0, and move freely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

# The scenarios are imported for their places.
from contactsolve import scenarios as _scenarios  # noqa: F401
from contactsolve.dynamics._mass import Part, solid_of
from contactsolve.dynamics.joints import Motor
from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import add_ground, space_world
from contactsolve.dynamics.shapes import Box, Capsule, Cylinder, Shape
from contactsolve.dynamics.world import World
from contactsolve.scenarios._mechanism import PLACES, TIME_STEP, Mechanism, along, unit

__all__ = [
    "Drive",
    "Shapes",
    "mechanism_world",
    "oriented",
    "own_shape",
    "placed",
    "with_many_sweeps",
    "with_pivots",
]

# From the z axis, along which round shapes lie, to the x axis of the bodies of a mechanism.
_LYING = np.array([np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])
_NEAR = 0.01  # up to which gaps are closed [m]

# What a body touches others with: shapes in its frame, as `World.add_body` takes them.
Shapes: TypeAlias = Sequence[tuple[Shape, Any, Any]]


class Drive(NamedTuple):
    """What drives a joint in place of the speed and the bounds that it was placed with.

    Attributes
    ----------
    motor
        The motor.
    limits
        Of the coordinate, which is zero at the beginning; None: none.
    """

    motor: Motor
    limits: tuple[float, float] | None = None


def placed(name: str, compliance: float) -> Mechanism:
    """Return the mechanism of a scenario at t = 0.

    Parameters
    ----------
    compliance
        Of contacts and joints, as `Mechanism` has it: added to the diagonal of A at a step of
        1/60 s.
    """
    made = Mechanism(compliance)
    PLACES[name](made, 0.0)
    return made


def own_shape(part: Any) -> Shapes:
    """Return the shape of a body of a mechanism."""
    kind, sizes = part.shape
    shape = _shape(kind, sizes)
    return [(shape, None, None if isinstance(shape, Box) else _LYING)]


def mechanism_world(
    made: Mechanism,
    options: dict[str, Any],
    shapes: Callable[[int, Any], Shapes | None],
    material: Material,
    *,
    ground: bool = True,
    drive: Callable[[str, Any], Drive | None] | None = None,
    bending: float | None = None,
) -> World:
    """Return the world of a mechanism, at rest.

    Parameters
    ----------
    made
        The mechanism; see `placed`.
    options
        Of the world.
    shapes
        The shapes of a body, from its number and the body; None: nothing touches it, and its own
        shape is seen. If they are placed in it, they give it their centre of mass and inertia.
    material
        Of all shapes.
    ground
        Whether there is a ground at height 0.
    drive
        What drives a joint, from its kind and the joint; None: as it was placed. With this function
        drives have the compliance of joints.
    bending
        Compliance of cables, hinges with a compliance for each row, against bending [rad/(N m)];
        None: as they were placed.
    """
    usual = {"stepper": "semi_implicit_euler", "gyroscopic": "implicit", "tension": "implicit"}
    world = space_world(options, time_step=TIME_STEP, **usual)
    if ground:
        add_ground(world, material)
    for number, part in enumerate(made.parts):
        _add_part(world, part, shapes(number, part), material)
    for kind, several in made.joined.items():
        for joint in several:
            _join(world, made, kind, joint, drive, bending)
    return world


def _add_part(world: World, part: Any, shapes: Shapes | None, material: Material) -> int:
    """Add a body of a mechanism. Shapes of its own give it their centre of mass and inertia."""
    position, inertia = part.position, part.inertia
    if shapes is not None and any(place is not None for _, place, _ in shapes):
        solid = solid_of([Part(*one) for one in shapes], 3)
        position, inertia = position + part.turn @ solid.center, None
    own = {"orientation": quaternion(part.turn), "mass": part.mass, "inertia": inertia}
    if shapes is None and part.shape is not None:
        return world.add_body(own_shape(part), position, visual=True, **own)
    return world.add_body(shapes, position, material=material, **own)


def with_many_sweeps(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a world of joints: a fixed number of sweeps, unless a method is given."""
    sweeps = {"method": "gauss_seidel", "max_iterations": 500, "rtol": None, "atol": None}
    return options if "method" in options else {**sweeps, **options}


def with_pivots(options: dict[str, Any], compliance: float) -> dict[str, Any]:
    """Return options of a world of S3: block principal pivoting on box friction, unless given.

    Contacts are closed before they touch: they stop bodies that grip or roll at the surface, while
    they would throw them back one step later.

    Parameters
    ----------
    compliance
        Of contacts, as `placed` has it.
    """
    pivots = {"method": "bpp", "friction": "box", "activation": _NEAR}
    return {**pivots, "contact_compliance": compliance * TIME_STEP**2, **options}


def _shape(kind: str, sizes: tuple[float, ...]) -> Shape:
    if kind == "box":
        return Box([size / 2.0 for size in sizes])
    radius, length = sizes
    return Cylinder(radius, length / 2.0) if kind == "cylinder" else Capsule(radius, length / 2.0)


def _join(
    world: World,
    made: Mechanism,
    kind: str,
    joint: Any,
    drive: Callable[[str, Any], Drive | None] | None,
    bending: float | None,
) -> int:
    """Add a joint of a mechanism."""
    first, second = joint.bodies
    add = world.joints
    given = np.asarray(joint.compliance) * TIME_STEP**2
    if kind == "hinge" and given.ndim and bending is not None:
        given[3:] = bending
    soft: dict[str, Any] = {"compliance": given}
    if kind in ("motor", "actuator"):
        return _add_drive(world, kind, joint, drive)
    if kind in ("hinge", "slider"):
        return getattr(add, kind)(first, second, joint.point, joint.axis, **soft)
    if kind == "distance":
        return add.distance(first, second, joint.point, joint.other, **soft)
    if kind == "mesh":
        # The direction of the teeth is across the axis, and across that to the point.
        axis = unit(np.cross(joint.point - made.position(first), joint.axis))
        return add.mesh(first, second, joint.point, axis, **soft)
    if kind == "gear" and abs(joint.axis @ joint.other) > 1.0 - 1e-9:
        return add.gear(first, second, joint.axis, joint.other, joint.ratio, **soft)
    if kind == "gear":
        return _bevel(world, made, joint, soft)
    return getattr(add, kind)(first, second, joint.point, **soft)


def _add_drive(
    world: World, kind: str, joint: Any, drive: Callable[[str, Any], Drive | None] | None
) -> int:
    """Add a motor or an actuator of a mechanism."""
    own = drive(kind, joint) if drive else None
    motor, limits = own or Drive(Motor(joint.speed, joint.bound))
    if drive and motor.stiffness == 0.0:
        motor = _softened(motor, kind, float(joint.compliance))
    (first, second), add = joint.bodies, world.joints
    if kind == "motor":
        return add.angular(first, second, joint.axis, motor=motor, limits=limits)
    return add.linear(first, second, joint.point, joint.axis, motor=motor, limits=limits)


def _softened(motor: Motor, kind: str, compliance: float) -> Motor:
    """Return a motor whose row has a compliance, so that two rams may hold one boom.

    A damper is one of a speed, and a spring one of a place: a ram at rest keeps its length.
    """
    damping = 1.0 / (compliance * TIME_STEP)
    if kind == "actuator" and motor.speed == 0.0:
        return motor._replace(stiffness=damping / TIME_STEP)
    return motor._replace(damping=damping)


def _bevel(world: World, made: Mechanism, joint: Any, soft: dict[str, Any]) -> int:
    """Add a gear between axes that are not parallel, as wheels: the housing has the reaction.

    The pinion is the first body. The wheel, the second one, has its shape's radius; the moments on
    both are the same for any.
    """
    pinion, wheel = joint.bodies
    shape = made.parts[wheel].shape
    radius = shape[1][0] if shape else 1.0
    point = radius * (joint.ratio * joint.other - joint.axis)
    if (made.position(pinion) - made.position(wheel)) @ joint.axis > 0.0:
        point = radius * (joint.axis - joint.ratio * joint.other)
    return world.joints.mesh(wheel, pinion, made.position(wheel) + point, joint.other, **soft)


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
