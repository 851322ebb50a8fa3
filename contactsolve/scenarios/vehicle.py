"""S3's vehicle parkour: eight driven wheels over bumps."""

from __future__ import annotations

import numpy as np

from contactsolve.scenarios._mechanism import GROUND, UP, Mechanism, Vector, mechanism, turned

_RADIUS, _SPEED = 0.55, 2.5  # of the wheels [m], of the vehicle [m/s]
_AXLES, _TRACK = (-2.1, -0.7, 0.7, 2.1), 1.2  # along and across [m]
_Y = np.array([0.0, 1.0, 0.0])
_X = np.array([1.0, 0.0, 0.0])
_GEAR = 4.0  # propeller shaft to axle


@mechanism(compliance=1e-8, motion="the vehicle rolls 8.3 m")
def vehicle(m: Mechanism, t: float) -> None:
    """A vehicle of 13 t drives over bumps, its power train in full: an analogue of S3's parkour.

    Eight wheels on sliders, four differentials with spider gears of 0.55 kg, shafts, a
    propeller shaft, a clutch and an engine: everything turns everything else. Mass ratio 20,000
    : 1, about 260 rows.

    Notes
    -----
    S3 section 2.3.1.3, Table 2.2. Motion and dimensions are ours. Springs are rows that may
    only push.
    """
    x, spin = _SPEED * t, _SPEED / _RADIUS
    turn = turned(_Y, spin * t)
    heights = [_RADIUS + _ground(x + axle) for axle in _AXLES]
    middle = np.array([x, 0.0, float(np.mean(heights))])
    chassis = m.box(11_000.0, (6.0, 2.2, 1.2), middle + 0.9 * UP)
    shaft = m.cylinder(60.0, 0.05, 4.5, middle + 0.2 * UP, _X, turned(_X, _GEAR * spin * t))
    m.hinge(chassis, shaft, middle + 0.2 * UP, _X)
    engine = m.cylinder(120.0, 0.2, 0.6, middle + 0.5 * UP, _X, turned(_X, _GEAR * spin * t))
    m.hinge(chassis, engine, middle + 0.5 * UP, _X)
    m.motor(chassis, engine, _X, _GEAR * spin, 800.0)
    m.motor(engine, shaft, _X, 0.0, 1_500.0)  # the clutch: it slips above that
    for axle, height in zip(_AXLES, heights, strict=True):
        here = np.array([x + axle, 0.0, height])
        _axle(m, chassis, shaft, middle + axle * _X + 0.2 * UP, here, turn)


def _axle(
    m: Mechanism, chassis: int, shaft: int, centre: Vector, wheels: Vector, turn: Vector
) -> None:
    """A differential at `centre`, two half shafts and two wheels on their suspension."""
    spoke = turn @ UP
    cage = m.cylinder(25.0, 0.12, 0.2, centre, _Y, turn)
    m.hinge(chassis, cage, centre, _Y)
    m.gear(shaft, cage, (_X, _Y), 1.0 / _GEAR)
    spider = m.cylinder(0.55, 0.05, 0.04, centre + 0.06 * spoke, UP, turn)
    m.hinge(cage, spider, centre + 0.06 * spoke, spoke)
    for side in (-1.0, 1.0):
        half = m.cylinder(9.0, 0.03, 0.9, centre + 0.6 * side * _Y, _Y, turn)
        m.hinge(chassis, half, centre + 0.6 * side * _Y, _Y)
        m.mesh(spider, half, centre + 0.06 * spoke + 0.05 * side * _Y, turn @ _X)
        _wheel(m, chassis, half, wheels + _TRACK * side * _Y, turn)


def _wheel(m: Mechanism, chassis: int, half: int, centre: Vector, turn: Vector) -> None:
    """A hub on its slider and spring, and a tyre that touches the ground."""
    hub = m.box(60.0, (0.3, 0.2, 0.3), centre - np.sign(centre[1]) * 0.2 * _Y)
    m.slider(chassis, hub, m.position(hub), UP)
    m.actuator(hub, chassis, m.position(hub), UP, 0.0, (0.0, 60_000.0))
    wheel = m.cylinder(200.0, _RADIUS, 0.35, centre, _Y, turn)
    m.hinge(hub, wheel, centre, _Y)
    m.gear(half, wheel, (_Y, _Y), 1.0)
    slope = (_ground(centre[0] + 1e-4) - _ground(centre[0] - 1e-4)) / 2e-4
    normals = [np.array([-slope, 0.0, 1.0])]
    if slope:  # on a bump a tyre rests on its two sides
        normals.append(np.array([0.0, 0.0, 1.0]))
    for normal in normals:
        down = _RADIUS * normal / np.linalg.norm(normal)
        for aside in (-0.15, 0.15):
            m.contact(GROUND, wheel, centre - down + aside * _Y, normal)


def _ground(x: float) -> float:
    """Bumps of 12 cm, one every 3 m from 2.5 m on."""
    place = (x - 2.5) % 3.0
    return 0.12 * np.sin(np.pi * place / 0.8) ** 2 if x > 2.5 and place < 0.8 else 0.0
