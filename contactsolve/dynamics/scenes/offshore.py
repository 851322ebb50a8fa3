"""S3's offshore crane in motion."""

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
from contactsolve.dynamics.shapes import Box
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import require_not_negative, require_positive

_SHIP, _HOOK, _MODULE = 0, 11, 54
_CABLE = range(13, 54)
_SPEED, _HEIGHT = 0.6, 4.0  # of the hoist [m/s]; by which it lifts [m]
_DRAUGHT = 6.0  # of the hull, below height 0 [m]
_BENDING = 2e-3  # of steel cable between segments [rad/(N m)]


@scene
def offshore(*, mu: float = 1.0, compliance: float = 1e-8, **options: Any) -> World:
    """A crane on a ship of 5,500 t hoists a module of 15 t along the hull, by segments of 1.25 kg.

    Body 0 is the ship, body 54 the module, bodies 13 to 53 are the cable from above. The sheave,
    body 12, rises by 4 m, where its slider ends. Mass ratio 4,400,000 : 1.

    Parameters
    ----------
    mu : float, default 1.0
        Friction coefficient of all contacts, in each of two directions.
    compliance : float, default 1e-8
        Of joints and contacts, as in `contactsolve.scenarios.offshore`, where the motion begins,
        but at rest and with a cable that bends as steel.
    **options
        Of `contactsolve.dynamics.World`; defaults ``time_step=1/60``,
        ``stepper="semi_implicit_euler"``, ``tension="implicit"``, ``activation=0.01``,
        ``friction="box"``, ``method="bpp"``, and the compliance of contacts.

    Returns
    -------
    World

    Notes
    -----
    S3 section 2.3.1.4, Tables 2.1 and 2.2.
    """
    require_not_negative(mu=mu)
    require_positive(compliance=compliance)
    return mechanism_world(
        placed("offshore", compliance),
        with_pivots(options, compliance),
        _shapes,
        Material(mu),
        ground=False,
        drive=_drive,
        bending=_BENDING,
    )


def _shapes(number: int, part: Any) -> Shapes | None:
    if number == _SHIP:
        length, width, height = part.shape[1]
        hull = Box([length / 2.0, width / 2.0, (height + _DRAUGHT) / 2.0])
        return [(hull, [0.0, 0.0, -_DRAUGHT / 2.0], None)]
    return own_shape(part) if number in (_HOOK, _MODULE, *_CABLE) else None


def _drive(kind: str, joint: Any) -> Drive | None:
    hoists = kind == "actuator" and joint.speed > 0.0
    return Drive(Motor(_SPEED, joint.bound), (-1.0, _HEIGHT)) if hoists else None
