"""S3's chain: 88 links that are let down onto the ground."""

from __future__ import annotations

import numpy as np

from contactsolve.scenarios._mechanism import GROUND, UP, Mechanism, Vector, mechanism

_LINKS, _PITCH, _THICK = 88, 0.15, 0.03  # of capsules of 1 kg [m]
_LYING = 5.74  # on the ground at first [m]
_SPEED, _DRAG = 0.5, 0.4  # downwards, along the ground [m/s]


@mechanism(compliance=1e-6, motion="1.7 m come to lie")
def chain(m: Mechanism, t: float) -> None:
    """A hoist lets a chain down and drags it over the ground: an analogue of S3's chain.

    88 capsules of 1 kg on ball joints, half of them lying, two contacts each; 529 rows in the
    mean.

    Notes
    -----
    S3 Table 3.1 gives the mean number of rows alone, 528.9; all else is ours.
    """
    ends = [_point(_PITCH * k, t) for k in range(_LINKS + 1)]  # from the lying end on
    hoist = m.box(50.0, (0.3, 0.3, 0.2), ends[-1])
    later = _point(_PITCH * _LINKS, t + 1e-4)
    for axis, speed in zip(np.eye(3), (later - ends[-1]) / 1e-4, strict=True):
        m.actuator(GROUND, hoist, ends[-1], axis, speed, (-5_000.0, 5_000.0))
        m.motor(GROUND, hoist, axis, 0.0, 5_000.0)
    last = hoist
    for k in reversed(range(_LINKS)):
        start, end = ends[k + 1], ends[k]
        link = m.capsule(1.0, _THICK, start, end)
        m.ball(last, link, start)
        last = link
        for point in (0.9 * start + 0.1 * end, 0.1 * start + 0.9 * end):
            if point[2] < 1.05 * _THICK:
                m.contact(GROUND, link, point - _THICK * UP)


def _point(s: float, t: float) -> Vector:
    """The chain at a length s from its end: in waves on the ground, then straight up."""
    lying = _LYING + _SPEED * t
    path = min(s, lying) + _DRAG * t
    y = 0.3 * np.sin(1.5 * path)
    return np.array([0.9 * path, y, _THICK + max(s - lying, 0.0)])
