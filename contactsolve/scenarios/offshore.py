"""S3's offshore crane: a ship of 5,500 t, and a cable whose segments weigh a kilogram."""

from __future__ import annotations

import numpy as np

from contactsolve.scenarios._mechanism import (
    GROUND,
    UP,
    Mechanism,
    Vector,
    mechanism,
    turned,
    vector,
)

_SEGMENTS, _CABLE = 41, 15.0  # and length [m]
_SIDE, _DECK = -10.0, 8.0  # of the hull's side, and of the deck [m]
_BASE = np.array([20.0, -6.0, _DECK])
_Y = np.array([0.0, 1.0, 0.0])


@mechanism(compliance=1e-8, motion="the module rises by 2 m")
def offshore(m: Mechanism, t: float) -> None:
    """A crane on a ship lowers a module along the hull: an analogue of S3's offshore crane.

    Ship of 5,500 t, knuckle-boom crane of 50 t, module of 15 t, segments of cable of 1.25 kg.
    The module and the lower part of the cable rub against the hull. Mass ratio 4,400,000 : 1,
    about 350 rows.

    Notes
    -----
    S3 section 2.3.1.4, Table 2.2. Motion and dimensions are ours; the sea is a soft joint
    between the ship and the world. Joints of the cable are hinges about it, whose bending has a
    compliance of 1e-6.
    """
    heave = 0.4 * np.sin(0.7 * t) * UP
    ship = m.box(5.5e6, (100.0, 20.0, 8.0), heave + vector(0.0, 0.0, 4.0))
    m.fixed(GROUND, ship, heave + vector(0.0, 0.0, 4.0), [1e-8] * 3 + [1e-10] * 3)
    tip = _crane(m, ship, heave)
    low = np.array([20.0, _SIDE - 0.3, 1.2 + 0.6 * t]) + heave  # the hook
    hook = m.box(60.0, (0.3, 0.3, 0.4), low)
    _cable(m, ship, tip, hook, _DECK + heave[2])
    _module(m, ship, hook, low - vector(0.0, 1.2, 3.0))


def _crane(m: Mechanism, ship: int, heave: Vector) -> int:
    """Base, king post, boom and jib with their rams; the jib."""
    base = m.cylinder(22_000.0, 1.2, 3.0, heave + _BASE + 1.5 * UP, UP)
    m.fixed(ship, base, heave + _BASE)
    post = m.box(12_000.0, (2.0, 2.0, 4.0), heave + _BASE + 5.0 * UP)
    m.hinge(base, post, heave + _BASE + 3.0 * UP, UP)
    m.motor(base, post, UP, 0.0, 3e5)
    shoulder, elbow, end = (heave + _BASE + p for p in ((0, 0, 7), (0, -1.0, 14), (0, -4.3, 12.0)))
    axis = turned(UP, -np.pi / 2.0) @ _Y  # along the ship
    boom = m.capsule(10_000.0, 0.6, shoulder, elbow)
    m.hinge(post, boom, shoulder, axis)
    for side in (-0.5, 0.5):
        pins = (
            heave + _BASE + vector(side, -1.0, 4.5),
            0.5 * (shoulder + elbow) + vector(side, 0.0, 0.0),
        )
        m.ram(post, boom, pins, 300.0, 0.0, 4e6)
    jib = m.capsule(5_000.0, 0.4, elbow, end)
    m.hinge(boom, jib, elbow, axis)
    pins = 0.3 * shoulder + 0.7 * elbow, 0.5 * elbow + 0.5 * end
    m.ram(boom, jib, pins, 200.0, 0.0, 4e6)
    return jib


def _cable(m: Mechanism, ship: int, tip: int, hook: int, deck: float) -> None:
    """The cable, on a sheave that the winch moves; what is below the deck leans on the hull."""
    low = m.position(hook) + 0.2 * UP
    last = m.box(60.0, (0.4, 0.1, 0.4), low + _CABLE * UP)
    m.slider(tip, last, low + _CABLE * UP, UP)
    m.actuator(tip, last, low + _CABLE * UP, UP, 0.6, (-3e5, 3e5))
    length = _CABLE / _SEGMENTS
    soft = [m.compliance] * 3 + [1e-6] * 2
    for k in range(_SEGMENTS):
        top = low + (_CABLE - k * length) * UP
        segment = m.capsule(1.25, 0.03, top, top - length * UP)
        m.hinge(last, segment, top, UP, soft)
        last = segment
        if k % 2 == 0 and top[2] - length / 2.0 < deck:
            m.contact(ship, segment, m.position(segment) + 0.03 * _Y, -_Y)
    m.hinge(last, hook, low, UP, soft)


def _module(m: Mechanism, ship: int, hook: int, centre: Vector) -> None:
    """A module on four slings, one side against the hull."""
    module = m.box(15_000.0, (3.0, 3.0, 3.0), centre)
    for x in (-1.4, 1.4):
        for y in (-1.4, 1.4):
            corner = centre + vector(x, y, 1.5)
            sling = m.capsule(20.0, 0.04, m.position(hook), corner)
            m.ball(hook, sling, m.position(hook))
            m.ball(sling, module, corner)
        for z in (-1.5, 0.0, 1.5):
            m.contact(ship, module, centre + vector(x, 1.5, z), -_Y)
