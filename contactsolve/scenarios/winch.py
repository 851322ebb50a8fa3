"""S3's winch: a chain of 50 links that a heavy drum draws over the ground."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from contactsolve.scenarios._mechanism import (
    GROUND,
    UP,
    Mechanism,
    Vector,
    mechanism,
    turned,
    unit,
    vector,
)

_LINKS, _PITCH, _THICK = 50, 0.2, 0.04  # of capsules of 1 kg [m]
_DRUM, _HEIGHT = 0.4, 1.2  # radius of the drum, its axis above the ground [m]
_SPEED = 1.0  # of the chain [m/s]
_REACH = _DRUM + _THICK  # from the drum's axis to that of a wound link
_SLOPE = np.radians(50.0)  # of the chain between drum and ground
_SIN, _COS = np.sin(_SLOPE), np.cos(_SLOPE)


@mechanism(compliance=2e-7, motion="3.3 m of the chain are wound")
def winch(m: Mechanism, t: float) -> None:
    """A drum of 400 kg winds a chain that lies on the ground: an analogue of S3's winch.

    50 capsules of 1 kg on ball joints; most of them lie on the ground and slide, some hang, the
    others are wound on the drum, which a motor turns. Mass ratio 400 : 1, about 370 rows.

    Notes
    -----
    S3 section 2.3.1.6, Table 2.2. Motion and dimensions are ours.
    """
    axis, centre = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, _HEIGHT])
    turn = -_SPEED * t / _REACH
    drum = m.cylinder(400.0, _DRUM, 1.0, centre, axis, turned(axis, turn))
    m.hinge(GROUND, drum, centre, axis)
    m.motor(GROUND, drum, axis, -_SPEED / _REACH, 20_000.0)
    last = drum
    ends = [_chain(_PITCH * k - _SPEED * t) for k in range(_LINKS + 1)]
    for start, end in pairwise(ends):
        link = m.capsule(1.0, _THICK, start, end)
        m.ball(last, link, start)
        _lay(m, drum, link, start, end)
        last = link


def _lay(m: Mechanism, drum: int, link: int, start: Vector, end: Vector) -> None:
    """Contacts of a link: with the ground near its ends, with the drum in its middle."""
    for point in (0.9 * start + 0.1 * end, 0.1 * start + 0.9 * end):
        if point[2] < 1.05 * _THICK:
            m.contact(GROUND, link, point - _THICK * UP)
    out = (m.position(link) - m.position(drum)) * vector(1.0, 0.0, 1.0)
    if np.linalg.norm(out) < _REACH:  # a wound link is a chord
        m.contact(drum, link, m.position(link) - _THICK * unit(out), out)


def _chain(s: float) -> Vector:
    """The chain at a length s from where it leaves the drum: wound, hanging, lying."""
    if s < 0.0:
        angle = _SLOPE + s / _REACH
        along_drum = -0.1 * s / (2.0 * np.pi * _REACH)
        return np.array([_REACH * np.sin(angle), along_drum, _HEIGHT + _REACH * np.cos(angle)])
    out, down = (np.array([x, 0.0, z]) for x, z in ((_SIN, _COS), (_COS, -_SIN)))
    straight = (_HEIGHT + _REACH * _COS - _THICK) / _SIN
    hanging = _HEIGHT * UP + _REACH * out + min(s, straight) * down
    lying = max(s - straight, 0.0)
    return hanging + vector(lying, 0.15 * np.sin(1.2 * lying), 0.0)
