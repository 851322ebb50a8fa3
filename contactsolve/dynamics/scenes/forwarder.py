"""S3's forwarder in motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from contactsolve.dynamics.joints import Motor
from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._mechanism import (
    Drive,
    Shapes,
    mechanism_world,
    oriented,
    own_shape,
    placed,
    with_pivots,
)
from contactsolve.dynamics.scenes._scene import scene
from contactsolve.dynamics.shapes import Box
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import require_not_negative, require_positive

_FRAME, _PILLAR, _LOG, _CLAWS = 0, 9, 21, (22, 23)
_BOGIES, _BUNK = range(1, 5), range(5, 9)
_LIFT = (11, 12)  # barrel and rod of the ram that lifts the inner boom
_SPEED, _STROKE = 0.05, 0.4  # of this ram [m/s], [m]
_SLEW, _ANGLE = 0.1, 0.8  # of the pillar [rad/s], [rad]
_RADIUS = 0.25  # of logs [m]
_TOUCH = (-0.35, 0.75)  # where a claw touches the log, from the horizontal down [rad]
_PLATE = (0.05, 0.25, 0.15)  # half of the thickness, width and height of a claw's plates [m]


@scene
def forwarder(*, mu: float = 1.0, compliance: float = 1e-8, **options: Any) -> World:
    """A forwarder grasps a log of 400 kg with two claws, lifts it and swings it around.

    Body 0 is the frame, on which four logs lie between stakes, bodies 22 and 23 are the claws, of
    two plates each, and body 21 is the log that they hold by friction. Mass ratio 6,500 : 1.

    Parameters
    ----------
    mu : float, default 1.0
        Friction coefficient of all contacts, in each of two directions.
    compliance : float, default 1e-8
        Of joints and contacts, as in `contactsolve.scenarios.forwarder`, where the motion begins,
        but at rest.
    **options
        Of `contactsolve.dynamics.World`; defaults ``time_step=1/60``,
        ``stepper="semi_implicit_euler"``, ``tension="implicit"``, ``activation=0.01``,
        ``friction="box"``, ``method="bpp"``, and the compliance of contacts.

    Returns
    -------
    World

    Notes
    -----
    S3 section 2.3.1.5, Tables 2.1 and 2.2.
    """
    require_not_negative(mu=mu)
    require_positive(compliance=compliance)
    made = placed("forwarder", compliance)
    log = made.position(_LOG)
    return mechanism_world(
        made,
        with_pivots(options, compliance),
        lambda number, part: _shapes(number, part, log - part.position),
        Material(mu),
        drive=_drive,
    )


def _shapes(number: int, part: Any, log: Any) -> Shapes | None:
    """Return the shapes of a body; `log`: where the log is from it."""
    if number == _FRAME:
        stake = Box([0.05, 0.05, 0.4])
        places = [[x, y, 0.7] for x in (-2.5, 0.5) for y in (-1.05, 1.05)]
        return [*own_shape(part), *((stake, place, None) for place in places)]
    if number in _BOGIES:
        return [(Box([0.8, 0.25, 0.5]), None, None)]  # with its wheels
    if number in _CLAWS:
        return [_plate(log, angle) for angle in _TOUCH]
    return own_shape(part) if number in (*_BUNK, _LOG) else None


def _plate(log: Any, angle: float) -> tuple[Box, Any, Any]:
    """Return a plate of a claw, which touches the log at an angle below the horizontal."""
    out = np.array([-np.sign(log[0]), 0.0, 0.0])  # from the log to the claw
    away = np.cos(angle) * out - np.sin(angle) * np.array([0.0, 0.0, 1.0])
    thickness, width, height = _PLATE
    plate = Box([height, width, thickness])  # its own z axis is the one that is turned outwards
    return plate, log + (_RADIUS + thickness) * away, oriented(away)


def _drive(kind: str, joint: Any) -> Drive | None:
    if kind == "actuator" and joint.bodies == _LIFT:
        return Drive(Motor(_SPEED, joint.bound), (-0.01, _STROKE))
    if kind == "motor" and joint.bodies == (_FRAME, _PILLAR):
        return Drive(Motor(_SLEW, joint.bound[1]), (-0.1, _ANGLE))
    return None
