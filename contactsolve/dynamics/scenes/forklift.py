"""S3's forklift in motion."""

from __future__ import annotations

from typing import Any

from contactsolve.dynamics.joints import Motor
from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._mechanism import (
    Drive,
    Shapes,
    mechanism_world,
    own_shape,
    placed,
    with_pivots,
)
from contactsolve.dynamics.scenes._scene import scene
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import require_not_negative, require_positive

_WHEELS, _FRONT = (4, 6, 7, 9), (4, 7)
_CARRIAGE, _LOAD, _CONES = 18, (39, 40, 41), range(42, 47)  # the load is the crate and both forks
_LIFT = (16, 17)  # barrel and rod of the ram that lifts the inner mast
_CURVE, _RADIUS = 4.0, 0.3  # of the turn and of the wheels [m]
_SPEED, _TORQUE = 2.5, 700.0  # of the forklift [m/s], of a wheel's motor [N m]
_RISE, _HEIGHT = 0.1, 0.5  # of the mast [m/s], [m]


@scene
def forklift(*, mu: float = 1.0, compliance: float = 1e-8, **options: Any) -> World:
    """A forklift of 3 t lifts a crate of 100 kg, gathers speed and turns about a cone.

    Body 0 is the frame, body 39 the crate, which friction holds on two forks, body 46 the cone.
    Four more cones stand by. The mast rises by 0.5 m, where its slider ends; the chains, links of
    0.74 kg, draw the carriage after it. Mass ratio 2,700 : 1.

    Parameters
    ----------
    mu : float, default 1.0
        Friction coefficient of all contacts, in each of two directions.
    compliance : float, default 1e-8
        Of joints and contacts, as in `contactsolve.scenarios.forklift`, where the motion begins,
        but at rest and with the last cone in the middle of the turn.
    **options
        Of `contactsolve.dynamics.World`; defaults ``time_step=1/60``,
        ``stepper="semi_implicit_euler"``, ``tension="implicit"``, ``activation=0.01``,
        ``friction="box"``, ``method="bpp"``, and the compliance of contacts.

    Returns
    -------
    World

    Notes
    -----
    S3 section 2.3.1.1, Tables 2.1 and 2.2.
    """
    require_not_negative(mu=mu)
    require_positive(compliance=compliance)
    made = placed("forklift", compliance)
    cone = made.parts[_CONES[-1]]
    middle = cone.position * [0.0, 1.0, 1.0] + [0.4, 0.0, 0.0]
    made.parts[_CONES[-1]] = cone._replace(position=middle)
    return mechanism_world(
        made,
        with_pivots(options, compliance),
        _shapes,
        Material(mu),
        drive=lambda kind, joint: _drive(kind, joint, made.position(joint.bodies[1])[1]),
    )


def _shapes(number: int, part: Any) -> Shapes | None:
    touches = number in (*_WHEELS, _CARRIAGE, *_LOAD, *_CONES)
    return own_shape(part) if touches else None


def _drive(kind: str, joint: Any, aside: float) -> Drive | None:
    """What drives a joint; `aside`: where its second body is, to the left [m]."""
    if kind == "motor" and joint.bodies[1] in _FRONT:
        return Drive(Motor(_SPEED * (1.0 - aside / _CURVE) / _RADIUS, _TORQUE))
    if kind == "actuator" and joint.bodies == _LIFT:
        return Drive(Motor(_RISE, joint.bound), (-0.01, _HEIGHT))
    return None
