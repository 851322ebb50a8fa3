"""S3's vehicle parkour in motion."""

from __future__ import annotations

from typing import Any

import numpy as np

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
from contactsolve.dynamics.shapes import Hull
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import require_not_negative, require_positive

_CHASSIS, _SHAFT, _ENGINE = range(3)
_WHEELS = tuple(3 + 8 * axle + own for axle in range(4) for own in (4, 7))
_MOMENT, _CLUTCH = 6_000.0, 5_000.0  # of the engine and the clutch, at the shaft [N m]
_STIFFNESS, _DAMPING = 1.2e5, 1.2e4  # of a wheel's suspension [N/m], [N s/m]
_TRAVEL = (-0.25, 0.15)  # of a wheel from where it is placed, to its stops: down, up [m]

# The course: profiles as height over length, from their beginnings on [m].
_BUMP = ((0.0, 0.0), (0.25, 0.12), (0.55, 0.12), (0.8, 0.0))
_HILL = ((0.0, 0.0), (4.0, 0.5), (6.0, 0.5), (10.0, 0.0))
_BUMPS, _STAIRS, _HILLS = (2.6, 5.6, 8.6, 11.6), 16.0, (26.0, 38.0)
_RISE, _TREAD, _STEPS = 0.12, 0.6, 3
_WIDE = 2.0  # half of the course


@scene
def vehicle(*, mu: float = 1.0, compliance: float = 1e-8, **options: Any) -> World:
    """A vehicle of 13 t drives over bumps, stairs and hills, its power train in full.

    Body 0 is the chassis. An engine drives eight wheels through a clutch, a propeller shaft and
    four differentials, whose spider gears of 0.55 kg mesh with the half shafts. Mass ratio
    20,000 : 1.

    Parameters
    ----------
    mu : float, default 1.0
        Friction coefficient of all contacts, in each of two directions.
    compliance : float, default 1e-8
        Of joints and contacts, as in `contactsolve.scenarios.vehicle`, where the motion begins, but
        at rest, with springs, and with an engine that is strong enough for slopes.
    **options
        Of `contactsolve.dynamics.World`; defaults ``time_step=1/60``,
        ``stepper="semi_implicit_euler"``, ``tension="implicit"``, ``activation=0.01``,
        ``friction="box"``, ``method="bpp"``, and the compliance of contacts.

    Returns
    -------
    World

    Notes
    -----
    S3 section 2.3.1.3, Tables 2.1 and 2.2.
    """
    require_not_negative(mu=mu)
    require_positive(compliance=compliance)
    made, material = placed("vehicle", compliance), Material(mu)
    sprung = sum(part.mass for number, part in enumerate(made.parts) if not _is_unsprung(number))
    load = 9.81 * sprung / len(_WHEELS)
    world = mechanism_world(
        made,
        with_pivots(options, compliance),
        _shapes,
        material,
        drive=lambda kind, joint: _drive(kind, joint, load),
    )
    _add_course(world, material)
    return world


def _is_unsprung(number: int) -> bool:
    """Whether a body is a wheel or its hub."""
    return number in _WHEELS or number + 1 in _WHEELS


def _shapes(number: int, part: Any) -> Shapes | None:
    return own_shape(part) if number in _WHEELS else None


def _drive(kind: str, joint: Any, load: float) -> Drive | None:
    """What drives a joint; `load`: what a wheel carries at rest [N]."""
    if kind == "actuator":
        spring = Motor(
            bound=joint.bound, stiffness=_STIFFNESS, damping=_DAMPING, target=load / _STIFFNESS
        )
        return Drive(spring, (-_TRAVEL[1], -_TRAVEL[0]))
    if kind == "motor" and joint.bodies == (_CHASSIS, _ENGINE):
        return Drive(Motor(joint.speed, _MOMENT))
    if kind == "motor" and joint.bodies == (_ENGINE, _SHAFT):
        return Drive(Motor(joint.speed, _CLUTCH))
    return None


def _add_course(world: World, material: Material) -> None:
    """Bumps, stairs up and down, and hills."""
    for start in _BUMPS:
        _add_profile(world, start, _BUMP, material)
    for k in range(_STEPS):
        length = _TREAD * 2.0 * (_STEPS - k)
        _add_profile(
            world,
            _STAIRS + k * _TREAD,
            [(x, k * _RISE + z) for x in (0.0, length) for z in (0.0, _RISE)],
            material,
        )
    for start in _HILLS:
        _add_profile(world, start, _HILL, material)


def _add_profile(world: World, start: float, profile: Any, material: Material) -> None:
    """Add a prism across the course."""
    corners = [(start + x, y, z) for x, z in profile for y in (-_WIDE, _WIDE)]
    middle = np.mean(corners, axis=0)
    world.add_fixed(Hull(np.array(corners) - middle), middle, material=material)
