"""S3's mobile crane: a concrete pipe on a hook and two falls of a light cable."""

from __future__ import annotations

import numpy as np

from contactsolve.scenarios._mechanism import (
    GROUND,
    UP,
    Mechanism,
    Vector,
    mechanism,
    smooth,
    turned,
)

_SEGMENTS, _FALL = 22, 14.0  # of each fall of the cable, and its length [m]
_PIPE = (0.7, 0.6, 2.5)  # outer and inner radius, length [m]
_LEG = 1.02  # half of a sling's leg [m]
_FEET = np.array([[-2.5, -3.0, 0.0], [2.5, -3.0, 0.0], [2.5, 3.0, 0.0], [-2.5, 3.0, 0.0]])
_ELEVATION = np.array([np.cos(np.radians(62.0)), 0.0, np.sin(np.radians(62.0))])
_PIVOT = np.array([-0.8, 0.0, 2.9])  # of the boom, on the superstructure [m]
_RADIUS = 8.0  # of the hook from the slewing axis [m]


@mechanism(compliance=1e-8, motion="the hook rises after 1 s, the pipe after 2 s")
def crane(m: Mechanism, t: float) -> None:
    """A mobile crane of 30 t lifts a pipe of 2 t: an analogue of S3's mobile crane.

    The crane stands on four outriggers and telescopes; hook and cable weigh 70 kg each, a
    segment of the cable 1.6 kg. The hook lies on the pipe, rises until the slings are nearly taut,
    lifts the pipe and slews. Mass ratio 6,300 : 1, up to 430 rows.

    Notes
    -----
    S3 section 2.3.1.2, Table 2.2. Motion and dimensions are ours. Joints of the cable are
    hinges about it, whose bending has a compliance of 1e-6.
    """
    slew = turned(UP, 0.25 * smooth(t, 2.2, 4.0))
    chassis = m.box(10_000.0, (7.0, 2.5, 1.0), (0.0, 0.0, 1.3))
    _stand(m, chassis)
    house = m.box(8_000.0, (3.0, 2.5, 1.2), slew @ (-0.5, 0.0, 2.4), slew)
    m.hinge(chassis, house, (0.0, 0.0, 1.8), UP)
    m.motor(chassis, house, UP, 0.3 if t > 2.2 else 0.0, 80_000.0)  # all it has, to gather speed
    weight = m.box(5_000.0, (0.8, 2.5, 1.0), slew @ (-2.6, 0.0, 2.4), slew)
    m.fixed(house, weight, slew @ (-2.2, 0.0, 2.4))
    tip = _boom(m, house, slew)

    lifted, gap = _lifted(t), _gap(t)
    speed = (_lifted(t + 1e-5) + _gap(t + 1e-5) - _lifted(t - 1e-5) - _gap(t - 1e-5)) / 2e-5
    centre = slew @ (_RADIUS, 0.0, _PIPE[0] + lifted)
    pipe = m.cylinder(2_000.0, _PIPE[0], _PIPE[2], centre, slew @ (0.0, 1.0, 0.0), bore=_PIPE[1])
    hook = m.box(70.0, (0.3, 0.4, 0.2), centre + (_PIPE[0] + 0.1 + gap) * UP, slew)
    _sling(m, hook, pipe, slew)
    for side in (-0.2, 0.2):
        _fall(m, tip, hook, slew @ (0.0, side, 0.0), speed)
    if gap == 0.0:
        for y in (-0.2, 0.2):
            for lean in (-0.15, 0.15):
                out = slew @ (np.sin(lean), 0.0, np.cos(lean))
                m.contact(pipe, hook, centre + _PIPE[0] * out + slew @ (0.0, y, 0.0), out)
    if lifted == 0.0:
        for y in np.linspace(-1.2, 1.2, 9):
            m.contact(GROUND, pipe, centre + slew @ (0.0, y, -_PIPE[0]))


def _stand(m: Mechanism, chassis: int) -> None:
    """Four outriggers, their feet on the ground."""
    for foot in _FEET:
        leg = m.box(150.0, (0.6, 0.6, 1.2), foot + 0.6 * UP)
        m.slider(chassis, leg, foot + UP, UP)
        m.actuator(chassis, leg, foot + UP, UP, 0.0, (-300_000.0, 300_000.0))
        for corner in ((-0.3, -0.3, 0.0), (0.3, -0.3, 0.0), (0.3, 0.3, 0.0), (-0.3, 0.3, 0.0)):
            m.contact(GROUND, leg, foot + corner)


def _boom(m: Mechanism, house: int, slew: Vector) -> int:
    """The boom on its ram and two sections that telescope; the last one."""
    frame = slew @ turned((0.0, 1.0, 0.0), -np.arctan2(_ELEVATION[2], _ELEVATION[0]))
    boom = m.box(4_000.0, (9.0, 0.8, 0.9), slew @ (_PIVOT + 4.5 * _ELEVATION), frame)
    m.hinge(house, boom, slew @ _PIVOT, slew @ (0.0, 1.0, 0.0))
    pins = slew @ (0.8, 0.0, 2.6), slew @ (_PIVOT + 4.0 * _ELEVATION)
    m.ram(house, boom, pins, 150.0, 0.0, 2e6)
    last = boom
    for mass, middle in ((1_400.0, 11.0), (900.0, 15.5)):
        section = m.box(mass, (6.0, 0.5, 0.6), slew @ (_PIVOT + middle * _ELEVATION), frame)
        joint = slew @ (_PIVOT + (middle - 2.5) * _ELEVATION)
        m.slider(last, section, joint, slew @ _ELEVATION)
        m.actuator(last, section, joint, slew @ _ELEVATION, 0.0, (-4e5, 4e5))
        last = section
    return last


def _lifted(t: float) -> float:
    """How high the pipe hangs [m]."""
    return 0.5 * smooth(t, 2.0, 4.0)


def _gap(t: float) -> float:
    """How far the hook is above the pipe [m]."""
    return 0.9 * smooth(t, 1.0, 2.0)


def _fall(m: Mechanism, tip: int, hook: int, aside: Vector, speed: float) -> None:
    """A fall of the cable, on a sheave that the winch moves up."""
    low = m.position(hook) + aside + 0.1 * UP
    last = m.box(40.0, (0.2, 0.1, 0.2), low + _FALL * UP)
    m.slider(tip, last, low + _FALL * UP, UP)
    m.actuator(tip, last, low + _FALL * UP, UP, speed, (-60_000.0, 60_000.0))
    for k in range(_SEGMENTS):
        top = low + _FALL * (1.0 - k / _SEGMENTS) * UP
        segment = m.capsule(35.0 / _SEGMENTS, 0.02, top, top - _FALL / _SEGMENTS * UP)
        m.hinge(last, segment, top, UP, _bending(m))
        last = segment
    m.hinge(last, hook, low, UP, _bending(m))


def _bending(m: Mechanism) -> list[float]:
    return [m.compliance] * 3 + [1e-6] * 2


def _sling(m: Mechanism, hook: int, pipe: int, slew: Vector) -> None:
    """Four legs of two links, slack as long as the hook is low."""
    start = m.position(hook)
    for x in (-0.8, 0.8):
        for y in (-1.3, 1.3):
            end = m.position(pipe) + slew @ (x, y, 0.4)
            reach = float(np.linalg.norm(end - start))
            slack = np.sqrt(max(_LEG**2 - reach**2 / 4.0, 0.0))
            knee = (start + end) / 2.0 + slack * (slew @ (np.sign(x), 0.0, 0.0))
            upper, lower = m.capsule(3.0, 0.03, start, knee), m.capsule(3.0, 0.03, knee, end)
            m.ball(hook, upper, start)
            m.ball(upper, lower, knee)
            m.ball(lower, pipe, end)
