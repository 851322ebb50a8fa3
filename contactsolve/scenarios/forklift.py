"""S3's forklift: a crate on two forks, around a cone."""

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
)

_LINKS, _RADIUS = 10, 0.3  # of each lifting chain, of the wheels [m]
_CURVE, _SPEED = 4.0, 2.5  # of the turn [m], [m/s]
_FRONT = 0.4  # the front axle, from the forklift's middle [m]
_X, _Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


class _Place:
    """Where the forklift is: its own coordinates in the world, which turn about the front axle."""

    def __init__(self, t: float) -> None:
        self.path = _path(t)
        self.speed = (_path(t + 1e-5) - _path(t - 1e-5)) / 2e-5
        self.turn = turned(UP, self.path / _CURVE)
        middle = np.array([_FRONT, _CURVE, 0.0])
        self.origin = middle - self.turn @ middle

    def __call__(self, *own: float) -> Vector:
        return np.asarray(self.origin + self.turn @ own)


def _path(t: float) -> float:
    """How far the middle of the front axle has come [m]."""
    return _SPEED * t * smooth(t, -1.0, 2.0)


@mechanism(compliance=1e-8, motion="it gathers speed and turns")
def forklift(m: Mechanism, t: float) -> None:
    """A forklift of 3 t carries a crate around a cone: an analogue of S3's forklift.

    Mast, carriage and forks on rams and two chains of links of 0.74 kg; friction alone holds
    the crate of 100 kg. Five cones stand by themselves, each an island. Mass ratio 2,700 : 1,
    about 300 rows.

    Notes
    -----
    S3 section 2.3.1.1, Table 2.2. Motion and dimensions are ours.
    """
    at = _Place(t)
    frame = m.box(2_000.0, (1.8, 1.0, 0.8), at(-0.3, 0.0, 0.7), at.turn)
    for mass, size, own in (
        (350.0, (0.5, 0.9, 0.6), (-1.1, 0.0, 0.8)),  # counterweight
        (120.0, (0.6, 0.5, 0.4), (-0.4, 0.0, 1.2)),  # engine, on soft mounts
        (60.0, (1.2, 1.0, 0.1), (-0.3, 0.0, 2.1)),  # roof
    ):
        part = m.box(mass, size, at(*own), at.turn)
        m.fixed(frame, part, at(own[0], own[1], own[2] - size[2] / 2.0), 1e-6)
    _wheels(m, frame, at)
    _mast(m, frame, at)
    for k in range(5):
        cone = m.cylinder(4.0, 0.2, 0.3, (1.5 * k - 2.0, _CURVE, 0.15), UP)
        for point in corners((0.4, 0.4, 0.3), m.position(cone)):
            m.contact(GROUND, cone, point)


def _wheels(m: Mechanism, frame: int, at: _Place) -> None:
    """Two driven wheels in front, two steered ones behind."""
    for side in (-0.5, 0.5):
        front = _wheel(m, frame, at, _FRONT, side)
        speed = at.speed * (1.0 - side / _CURVE) / _RADIUS
        m.motor(frame, front, at.turn @ _Y, speed, 700.0)
        knuckle = m.box(15.0, (0.15, 0.1, 0.3), at(-1.0, 0.8 * side, 0.4), at.turn)
        m.hinge(frame, knuckle, at(-1.0, 0.8 * side, 0.5), UP)
        m.motor(frame, knuckle, UP, 0.0, 2_000.0)
        _wheel(m, knuckle, at, -1.0, side)


def _wheel(m: Mechanism, frame: int, at: _Place, x: float, y: float) -> int:
    """A wheel that rolls in the direction in which its place moves."""
    ahead, aside = x - _FRONT, _CURVE - y  # from the middle of the turn
    heading = at.turn @ turned(UP, float(np.arctan2(ahead, aside)))
    rolled = at.path * float(np.hypot(ahead, aside)) / _CURVE / _RADIUS
    centre = at(x, y, _RADIUS)
    wheel = m.cylinder(30.0, _RADIUS, 0.2, centre, _Y, heading @ turned(_Y, rolled))
    m.hinge(frame, wheel, centre, heading @ _Y)
    for across in (-0.08, 0.08):
        m.contact(GROUND, wheel, centre + heading @ (0.0, across, -_RADIUS))
    return wheel


def _mast(m: Mechanism, frame: int, at: _Place) -> None:
    """Outer and inner mast, carriage with forks and crate, rams and chains."""
    outer = m.box(120.0, (0.1, 0.7, 2.0), at(0.75, 0.0, 1.2), at.turn)
    m.hinge(frame, outer, at(0.75, 0.0, 0.3), at.turn @ _Y)
    for side in (-0.3, 0.3):
        m.ram(frame, outer, (at(0.1, side, 0.9), at(0.7, side, 1.3)), 8.0, 0.0, 40_000.0)
    inner = m.box(80.0, (0.1, 0.6, 1.9), at(0.8, 0.0, 1.6), at.turn)
    m.slider(outer, inner, at(0.8, 0.0, 1.4), UP)
    m.ram(outer, inner, (at(0.8, 0.0, 0.4), at(0.8, 0.0, 2.2)), 20.0, 0.0, 60_000.0)
    carriage = m.box(60.0, (0.08, 0.8, 0.5), at(0.92, 0.0, 0.9), at.turn)
    m.slider(inner, carriage, at(0.9, 0.0, 0.9), UP)
    for side in (-0.2, 0.2):
        _chain(m, inner, carriage, at(0.9, side, 2.4), at(0.9, side, 1.1))
    crate = m.box(100.0, (0.8, 0.8, 0.8), at(1.4, 0.0, 1.13), at.turn)
    for side in (-0.3, 0.3):
        fork = m.box(25.0, (1.0, 0.12, 0.04), at(1.4, side, 0.71), at.turn)
        m.fixed(carriage, fork, at(0.92, side, 0.71))
        for x in (1.05, 1.25, 1.5, 1.75):
            m.contact(fork, crate, at(x, side, 0.73))
        m.contact(carriage, crate, at(0.98, side, 1.0), at.turn @ _X)


def _chain(m: Mechanism, inner: int, carriage: int, top: Vector, low: Vector) -> None:
    last = inner
    ends = np.linspace(top, low, _LINKS + 1)
    for k in range(_LINKS):
        link = m.capsule(0.74, 0.02, ends[k], ends[k + 1])
        m.ball(last, link, ends[k])
        last = link
    m.ball(last, carriage, low)
