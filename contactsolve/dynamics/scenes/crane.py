"""S3's mobile crane in motion."""

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

_CHASSIS, _HOUSE = 0, 5
_LEGS, _PIPE, _HOOK = range(1, 5), 12, 13
_SHEAVES = (22, 45)
_SPEED, _HEIGHT = 0.4, 2.0  # of the hoist [m/s]; by which it lifts [m]
_SLEW = 0.01  # of the superstructure [rad/s]
_BENDING = 2e-3  # of steel cable between segments [rad/(N m)]


@scene
def crane(*, mu: float = 1.0, compliance: float = 1e-8, **options: Any) -> World:
    """A mobile crane of 30 t hoists a pipe of 2 t by two falls of cable, and slews.

    Body 12 is the pipe, body 13 the hook, which lies on it at first. The crane stands on four
    outriggers, bodies 1 to 4. The sheaves rise by 2 m, where their sliders end. Mass ratio
    6,300 : 1.

    Parameters
    ----------
    mu : float, default 1.0
        Friction coefficient of all contacts, in each of two directions.
    compliance : float, default 1e-8
        Of joints and contacts, as in `contactsolve.scenarios.crane`, where the motion begins, but
        at rest and with a cable that bends as steel.
    **options
        Of `contactsolve.dynamics.World`; defaults ``time_step=1/60``,
        ``stepper="semi_implicit_euler"``, ``tension="implicit"``, ``activation=0.01``,
        ``friction="box"``, ``method="bpp"``, and the compliance of contacts.

    Returns
    -------
    World

    Notes
    -----
    S3 section 2.3.1.2, Tables 2.1 and 2.2.
    """
    require_not_negative(mu=mu)
    require_positive(compliance=compliance)
    return mechanism_world(
        placed("crane", compliance),
        with_pivots(options, compliance),
        _shapes,
        Material(mu),
        drive=_drive,
        bending=_BENDING,
    )


def _shapes(number: int, part: Any) -> Shapes | None:
    return own_shape(part) if number in (*_LEGS, _PIPE, _HOOK) else None


def _drive(kind: str, joint: Any) -> Drive | None:
    if kind == "actuator" and joint.bodies[1] in _SHEAVES:
        return Drive(Motor(_SPEED, joint.bound), (-1.0, _HEIGHT))
    if kind == "motor" and joint.bodies == (_CHASSIS, _HOUSE):
        return Drive(Motor(_SLEW, joint.bound))
    return None
