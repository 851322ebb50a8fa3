"""S3's forwarder: a crane of sixteen links grasps a log."""

from __future__ import annotations

import numpy as np

from contactsolve.scenarios._mechanism import (
    GROUND,
    UP,
    Mechanism,
    Vector,
    corners,
    mechanism,
    smooth,
    turned,
    vector,
)

_LOG, _LENGTH = 0.25, 4.0  # radius and length [m]
_X, _Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
_HEAD = np.array([5.2, 0.0, 0.75])  # of the gripper, before it is lifted [m]


@mechanism(compliance=1e-8, motion="the crane lifts and swings the log")
def forwarder(m: Mechanism, t: float) -> None:
    """A forwarder lifts a log of 400 kg in its claws: an analogue of S3's forwarder.

    Sixteen links of 1,900 kg: booms on rams, extensions, rotator, two claws that friction makes
    one with the log. On the frame lie four more logs between stakes. Mass ratio 6,500 : 1,
    about 250 rows.

    Notes
    -----
    S3 section 2.3.1.5, Table 2.2; there vehicle and hydraulics were solved apart. Motion and
    dimensions are ours.
    """
    frame = m.box(13_000.0, (6.0, 1.6, 0.6), (-2.0, 0.0, 1.3))
    _stand(m, frame)
    _bunk(m, frame)
    slew = turned(UP, 0.3 * smooth(t, 1.0, 4.0))
    lift = 0.8 * smooth(t, 0.2, 4.0)
    head = slew @ (_HEAD + lift * UP)
    tip = _booms(m, frame, slew, _HEAD + (lift + 0.9) * UP)
    link = m.box(38.0, (0.15, 0.15, 0.3), head + 0.75 * UP, slew)
    m.hinge(tip, link, head + 0.9 * UP, slew @ _Y)
    rotator = m.cylinder(60.0, 0.15, 0.3, head + 0.45 * UP, UP)
    m.hinge(link, rotator, head + 0.6 * UP, slew @ _X)
    _gripper(m, rotator, head, slew)


def _stand(m: Mechanism, frame: int) -> None:
    """Four bogies, each with four wheels' worth of contacts."""
    for x in (-4.0, 0.0):
        for y in (-1.0, 1.0):
            bogie = m.box(450.0, (1.6, 0.5, 0.8), (x, y, 0.5))
            m.hinge(frame, bogie, (x, 0.8 * y, 0.9), _Y)
            for point in corners((1.6, 0.5, 1.0), (x, y, 0.5)):
                m.contact(GROUND, bogie, point)


def _bunk(m: Mechanism, frame: int) -> None:
    """Four logs side by side on the frame."""
    last = frame
    for k in range(4):
        centre = np.array([-3.0, -0.75 + 0.5 * k, 1.6 + _LOG])
        log = m.cylinder(400.0, _LOG, _LENGTH, centre, _X)
        for x in (-1.5, 1.5):
            m.contact(frame, log, centre + vector(x, 0.0, -_LOG))
        m.contact(last, log, centre - _LOG * _Y, _Y)  # the first one leans on a stake
        last = log
    m.contact(last, frame, m.position(last) + _LOG * _Y, _Y)


def _booms(m: Mechanism, frame: int, slew: Vector, end: Vector) -> int:
    """Pillar, inner and outer boom, two extensions; the last of them, which ends at `end`."""
    foot, shoulder = np.array([0.0, 0.0, 1.6]), np.array([0.0, 0.0, 3.0])
    elbow = np.array([2.2, 0.0, 4.2])
    out = (end - elbow) / np.linalg.norm(end - elbow)
    axis = slew @ _Y
    pillar = m.box(400.0, (0.5, 0.5, 1.4), slew @ (foot + 0.7 * UP), slew)
    m.hinge(frame, pillar, foot, UP)
    m.motor(frame, pillar, UP, 0.1, 30_000.0)
    inner = m.capsule(450.0, 0.15, slew @ shoulder, slew @ elbow)
    m.hinge(pillar, inner, slew @ shoulder, axis)
    pins = slew @ (0.3, 0.0, 2.0), slew @ (0.5 * (shoulder + elbow) - 0.1 * UP)
    m.ram(pillar, inner, pins, 50.0, 0.0, 4e5)
    outer = m.capsule(280.0, 0.12, slew @ elbow, slew @ (elbow + 2.0 * out))
    m.hinge(inner, outer, slew @ elbow, axis)
    pins = slew @ (0.3 * shoulder + 0.7 * elbow + 0.3 * UP), slew @ (elbow + 0.8 * out + 0.2 * UP)
    m.ram(inner, outer, pins, 35.0, 0.0, 3e5)
    last = outer
    length = float(np.linalg.norm(end - elbow))
    for mass, start, stop in ((140.0, 0.4, 0.85), (85.0, 0.7, 1.0)):
        parts = [slew @ (elbow + s * length * out) for s in (start, stop)]
        extension = m.capsule(mass, 0.08, *parts)
        m.slider(last, extension, parts[0], slew @ out)
        m.actuator(last, extension, parts[0], slew @ out, 0.0, (-5e4, 5e4))
        last = extension
    return last


def _gripper(m: Mechanism, rotator: int, head: Vector, slew: Vector) -> None:
    """Body, two claws on a ram, and the log between them."""
    body = m.box(120.0, (0.5, 0.3, 0.3), head + 0.15 * UP, slew)
    m.hinge(rotator, body, head + 0.3 * UP, UP)
    m.motor(rotator, body, UP, 0.0, 2_000.0)
    centre = head - 0.35 * UP
    log = m.cylinder(400.0, _LOG, _LENGTH, centre, slew @ _Y)
    claws, pins = [], []
    for side in (-1.0, 1.0):
        out = slew @ (side * _X)
        claw = m.box(55.0, (0.1, 0.5, 0.8), centre + 0.32 * out, slew)
        m.hinge(body, claw, head + 0.2 * out, slew @ _Y)
        claws.append(claw)
        pins.append(head + 0.45 * out - 0.1 * UP)
        for angle in (-0.35, 0.75):  # the claw's inside, above and below the middle of the log
            inwards = -np.cos(angle) * out + np.sin(angle) * UP
            for y in (-0.3, -0.1, 0.1, 0.3):
                m.contact(claw, log, centre - _LOG * inwards + slew @ (0.0, y, 0.0), inwards)
    m.ram(claws[0], claws[1], (pins[0], pins[1]), 4.0, -0.05, 20_000.0)
    for y in (-0.1, 0.1):
        m.contact(body, log, centre + _LOG * UP + slew @ (0.0, y, 0.0), -UP)
