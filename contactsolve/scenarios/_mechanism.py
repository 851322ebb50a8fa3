"""Mechanisms: bodies with real shapes, joints, drives and contacts, added one by one.

A scene is a function that places all of them at a time t, marked with `mechanism`. It is called
twice, one step apart, and the velocities follow from the differences:

    place(m, t - h), place(m, t)  ->  u = (x(t) - x(t - h)) / h + random disturbances
    b = J (u + h g) - drive       ->  a Problem of one step (S3 eq. 1.18)

Joints then have velocities as in the middle of a motion, contacts slide where the motion slides,
and the impulses support the weights.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactsolve import joints, sets
from contactsolve.geometry import contact_jacobian
from contactsolve.groups import Bodies, Group
from contactsolve.problem import Problem
from contactsolve.scenarios._scene import (
    integer,
    require_not_negative,
    require_positive,
    scenario,
)

Vector: TypeAlias = NDArray[np.float64]

GROUND = -1
STEPS = 200  # the snapshots of a scene
TIME_STEP = 1.0 / 60.0  # S3 Table 2.1, as are the next two
GRAVITY = 9.81
MU = 1.0
_LIGHT = 100.0  # [kg]: heavier bodies are disturbed less

UP = np.array([0.0, 0.0, 1.0])
_AXES = np.eye(3)


class _Body(NamedTuple):
    mass: float
    inertia: Vector  # (3,) about its own axes
    position: Vector
    turn: Vector  # (3, 3) rotation: the columns are its own axes in the world frame
    shape: tuple[str, tuple[float, ...]] | None = None  # its kind and sizes; round ones lie along x


class _Joint(NamedTuple):
    """A block of rows: its point, axis and compliance, and for drives its speed and bounds."""

    bodies: tuple[int, int]
    point: Vector
    axis: Vector
    compliance: Any
    speed: float = 0.0
    bound: tuple[float, float] = (-np.inf, np.inf)
    other: Vector = UP  # second point of a distance, second axis of a gear
    ratio: float = 1.0


class Mechanism:
    """Bodies and constraints of one configuration.

    Parameters
    ----------
    compliance
        Compliance of contacts, and of joints without one of their own; it is added to the diagonal
        of A [m/(N s)].
    """

    def __init__(self, compliance: float) -> None:
        self.compliance = compliance
        self.parts: list[_Body] = []
        self.joined: dict[str, list[_Joint]] = {kind: [] for kind in _KINDS}
        self.touching: list[tuple[tuple[int, int], Vector, Vector]] = []

    # ---- bodies -----------------------------------------------------------------------------

    def body(
        self,
        mass: float,
        inertia: ArrayLike,
        position: ArrayLike,
        turn: ArrayLike = _AXES,
        shape: tuple[str, tuple[float, ...]] | None = None,
    ) -> int:
        """Add a body; return its number."""
        own = np.asarray(inertia, float), np.asarray(position, float), np.asarray(turn, float)
        self.parts.append(_Body(float(mass), *own, shape))
        return len(self.parts) - 1

    def box(
        self, mass: float, size: Sequence[float], position: ArrayLike, turn: ArrayLike = _AXES
    ) -> int:
        """Add a solid box with these edges along its own axes."""
        squares = np.asarray(size, float) ** 2
        inertia = mass / 12.0 * (squares.sum() - squares)
        return self.body(mass, inertia, position, turn, ("box", tuple(size)))

    def cylinder(
        self,
        mass: float,
        radius: float,
        length: float,
        position: ArrayLike,
        axis: ArrayLike,
        turn: ArrayLike = _AXES,
        *,
        bore: float = 0.0,
    ) -> int:
        """Add a cylinder about `axis`, rotated by `turn`; a pipe if its `bore` has a radius."""
        squares = radius**2 + bore**2
        across = mass * (squares / 4.0 + length**2 / 12.0)
        inertia = [mass * squares / 2.0, across, across]
        rotation = np.asarray(turn, float) @ along(axis)
        return self.body(mass, inertia, position, rotation, ("cylinder", (radius, length)))

    def capsule(self, mass: float, radius: float, start: ArrayLike, end: ArrayLike) -> int:
        """Add a cylinder between two points with a half ball at each of them."""
        start, end = np.asarray(start, float), np.asarray(end, float)
        length = float(np.linalg.norm(end - start))
        inertia = capsule_inertia(mass, radius, length)
        shape = "capsule", (radius, length)
        return self.body(mass, inertia, (start + end) / 2.0, along(end - start), shape)

    def position(self, body: int) -> Vector:
        """Return the centre of mass of a body [m]."""
        return self.parts[body].position

    # ---- joints -----------------------------------------------------------------------------

    def _join(self, kind: str, bodies: tuple[int, int], point: Any, axis: Any, **own: Any) -> None:
        own_compliance = own.pop("compliance", None)
        compliance = self.compliance if own_compliance is None else own_compliance
        where = np.asarray(point, float), unit(axis)
        self.joined[kind].append(_Joint(bodies, *where, compliance, **own))

    def ball(self, first: int, second: int, point: ArrayLike, compliance: Any = None) -> None:
        """Hold two bodies together at a point."""
        self._join("ball", (first, second), point, UP, compliance=compliance)

    def hinge(
        self, first: int, second: int, point: ArrayLike, axis: ArrayLike, compliance: Any = None
    ) -> None:
        """Let two bodies rotate against each other about an axis."""
        self._join("hinge", (first, second), point, axis, compliance=compliance)

    def slider(
        self, first: int, second: int, point: ArrayLike, axis: ArrayLike, compliance: Any = None
    ) -> None:
        """Let two bodies slide along an axis."""
        self._join("slider", (first, second), point, axis, compliance=compliance)

    def fixed(self, first: int, second: int, point: ArrayLike, compliance: Any = None) -> None:
        """Weld two bodies together; six compliances make the joint a segment of a cable."""
        self._join("fixed", (first, second), point, UP, compliance=compliance)

    def distance(
        self, first: int, second: int, start: ArrayLike, end: ArrayLike, compliance: Any = None
    ) -> None:
        """Keep the distance between a point of each body."""
        other = np.asarray(end, float)
        self._join("distance", (first, second), start, UP, other=other, compliance=compliance)

    def gear(
        self, first: int, second: int, axes: tuple[ArrayLike, ArrayLike], ratio: float
    ) -> None:
        """Couple the speeds of two shafts: the second turns `ratio` times as fast as the first."""
        self._join("gear", (first, second), UP, axes[0], other=unit(axes[1]), ratio=ratio)

    def mesh(self, first: int, second: int, point: ArrayLike, direction: ArrayLike) -> None:
        """Let two wheels roll on each other, with equal velocities at a point in a direction."""
        self._join("mesh", (first, second), point, direction)

    def motor(self, first: int, second: int, axis: ArrayLike, speed: float, torque: float) -> None:
        """Turn the second body at a speed [rad/s], with a bounded torque [N m]."""
        self._join("motor", (first, second), UP, axis, speed=speed, bound=(-torque, torque))

    def actuator(
        self,
        first: int,
        second: int,
        point: ArrayLike,
        axis: ArrayLike,
        speed: float,
        force: tuple[float, float],
    ) -> None:
        """Move the second body along an axis at a speed [m/s], with a force within bounds [N]."""
        self._join("actuator", (first, second), point, axis, speed=speed, bound=force)

    def ram(
        self,
        first: int,
        second: int,
        ends: tuple[ArrayLike, ArrayLike],
        mass: float,
        speed: float,
        force: float,
    ) -> None:
        """Add a hydraulic cylinder between two bodies: barrel, rod, two pins, a driven slider.

        Parameters
        ----------
        ends
            Pins on the first and on the second body [m].
        mass
            Mass of the barrel; the rod has half of it [kg].
        speed
            Rate at which the cylinder extends [m/s].
        force
            Maximum force, in both directions [N].
        """
        start, end = (np.asarray(pin, float) for pin in ends)
        half = start + 0.5 * (end - start)
        barrel = self.capsule(mass, 0.06, start, half)
        rod = self.capsule(0.5 * mass, 0.04, half, end)
        self.ball(first, barrel, start)
        self.ball(rod, second, end)
        self.slider(barrel, rod, half, end - start)
        self.actuator(barrel, rod, half, end - start, speed, (-force, force))

    # ---- contacts ---------------------------------------------------------------------------

    def contact(self, first: int, second: int, point: ArrayLike, normal: ArrayLike = UP) -> None:
        """Let two bodies touch; the normal points from the first to the second."""
        self.touching.append(((first, second), np.asarray(point, float), unit(normal)))

    # ---- arrays -----------------------------------------------------------------------------

    def positions(self) -> Vector:
        """Return the centres of mass, ``(n, 3)`` [m]."""
        return np.array([part.position for part in self.parts]).reshape(-1, 3)

    def turns(self) -> Vector:
        """Return the rotations, ``(n, 3, 3)``."""
        return np.array([part.turn for part in self.parts]).reshape(-1, 3, 3)

    def inverse_masses(self) -> Vector:
        """Return the inverse mass matrices in the world frame, ``(n, 6, 6)``."""
        inverse = np.zeros((len(self.parts), 6, 6))
        turns = self.turns()
        masses = np.array([part.mass for part in self.parts])
        moments = np.array([part.inertia for part in self.parts])
        inverse[:, [0, 1, 2], [0, 1, 2]] = 1.0 / masses[:, None]
        rotated = np.einsum("nij,nj,nkj->nik", turns, 1.0 / moments, turns)
        inverse[:, 3:, 3:] = (rotated + rotated.transpose(0, 2, 1)) / 2.0
        return inverse

    def groups(self, velocities: Vector, mu: float, time_step: float) -> list[Group]:
        """Return one group for each kind of joint present, then one for the contacts."""
        found = [
            _KINDS[kind](several, self.positions(), velocities, time_step)
            for kind, several in self.joined.items()
            if several
        ]
        if self.touching:
            pairs, points, normals = (np.array(x) for x in zip(*self.touching, strict=True))
            J = contact_jacobian(points, normals, pairs, self.positions())
            b, sigma = relative(J, pairs, velocities), self.compliance
            found.append(Group(J, pairs, b, sets=sets.box_friction(mu), compliance=sigma))
        return found


# ---- groups of joints ---------------------------------------------------------------------------

_Maker: TypeAlias = Callable[[list[_Joint], Vector, Vector, float], Group]


def relative(J: Vector, pairs: NDArray[np.int64], velocities: Vector) -> Vector:
    """Return J u for each block; the fixed world is at rest."""
    padded = np.concatenate((velocities, np.zeros((1, 6))))
    return np.einsum("ksmd,ksd->km", J, padded[pairs])


def _group(
    jacobian: Callable[[list[_Joint], NDArray[np.int64], Vector], Vector], *, driven: bool = False
) -> _Maker:
    """Return the function that makes a group of joints of one kind, from its Jacobian function."""

    def make(several: list[_Joint], positions: Vector, velocities: Vector, step: float) -> Group:
        pairs = np.array([joint.bodies for joint in several])
        J = jacobian(several, pairs, positions)
        b = relative(J, pairs, velocities)
        sigma = np.array([np.broadcast_to(joint.compliance, b.shape[1:]) for joint in several])
        if not driven:
            return Group(J, pairs, b, sets=sets.free(), compliance=sigma)

        # A drive has a speed, and bounds on its impulse in a step.
        b -= np.array([[joint.speed] for joint in several])
        low, high = step * np.array([joint.bound for joint in several]).T
        return Group(J, pairs, b, lo=low[:, None], hi=high[:, None], compliance=sigma)

    return make


def _of(several: list[_Joint], field: str) -> NDArray:
    return np.array([getattr(joint, field) for joint in several])


_KINDS: dict[str, _Maker] = {
    "ball": _group(lambda own, pairs, x: joints.ball(_of(own, "point"), pairs, x)),
    "hinge": _group(
        lambda own, pairs, x: joints.hinge(_of(own, "point"), _of(own, "axis"), pairs, x)
    ),
    "slider": _group(
        lambda own, pairs, x: joints.slider(_of(own, "point"), _of(own, "axis"), pairs, x)
    ),
    "fixed": _group(lambda own, pairs, x: joints.fixed(_of(own, "point"), pairs, x)),
    "distance": _group(
        lambda own, pairs, x: joints.distance(_of(own, "point"), _of(own, "other"), pairs, x)
    ),
    "gear": _group(
        lambda own, pairs, _: joints.gear(
            _of(own, "axis"), _of(own, "other"), pairs, _of(own, "ratio")
        )
    ),
    "mesh": _group(
        lambda own, pairs, x: joints.linear(_of(own, "point"), _of(own, "axis")[:, None], pairs, x)
    ),
    "motor": _group(
        lambda own, pairs, _: joints.angular(_of(own, "axis")[:, None], pairs), driven=True
    ),
    "actuator": _group(
        lambda own, pairs, x: joints.linear(_of(own, "point"), _of(own, "axis")[:, None], pairs, x),
        driven=True,
    ),
}


# ---- a step of a scene --------------------------------------------------------------------------


_SHARED = """
Parameters
----------
step : int, default 0
{steps}
seed : int, default 0
    Seed of the random disturbances of the velocities.
mu : float, default 1.0
    Friction coefficient of all contacts.
compliance : float, default {compliance:g}
    Compliance of contacts, and of joints without one of their own; it is added to the diagonal of
    A [m/(N s)].
jitter : float, default 0.02
    Standard deviation of the disturbances [m/s, rad/s]; for bodies above 100 kg it falls with the
    root of the mass, so that their energy is that of a body of 100 kg.

Returns
-------
Problem

Raises
------
ValueError
    A step, seed or quantity out of its range.

"""


class Scene(Protocol):
    """A scenario made of a mechanism in motion."""

    def __call__(
        self,
        step: int = 0,
        *,
        seed: int = 0,
        mu: float = MU,
        compliance: float = ...,
        jitter: float = 0.02,
    ) -> Problem: ...


# The functions that place the bodies of each scene.
PLACES: dict[str, Callable[[Mechanism, float], None]] = {}


def mechanism(
    *, compliance: float, motion: str
) -> Callable[[Callable[[Mechanism, float], None]], Scene]:
    """Make a scenario of a function that places bodies, joints and contacts at a time t >= 0.

    Parameters
    ----------
    compliance
        Default compliance of the scene.
    motion
        What happens in the steps: a clause that ends a sentence of the scenario's docstring. Text
        that all such scenes share is added to the docstring of the function.
    """

    def decorate(place: Callable[[Mechanism, float], None]) -> Scene:
        name, default = place.__name__, compliance
        PLACES[name] = place

        def scene(
            step: int = 0,
            *,
            seed: int = 0,
            mu: float = MU,
            compliance: float = default,
            jitter: float = 0.02,
        ) -> Problem:
            own = {"mu": mu, "compliance": compliance, "jitter": jitter}
            return snapshot(name, place, step, seed=seed, **own)

        scene.__module__, scene.__name__, scene.__qualname__ = place.__module__, name, name
        scene.__doc__ = _described(inspect.getdoc(place) or "", compliance, motion)
        return scenario(scene)

    return decorate


def _described(own: str, compliance: float, motion: str) -> str:
    """Return the docstring of a scene, with the shared text before its notes."""
    text, title, notes = own.partition("Notes\n-----")
    steps = f"Number of the time step, from 0 to {STEPS - 1}, of 1/60 s each; in these {motion}."
    wrapped = textwrap.fill(steps, 96, initial_indent="    ", subsequent_indent="    ")
    return (
        text.rstrip() + "\n" + _SHARED.format(steps=wrapped, compliance=compliance) + title + notes
    )


def snapshot(
    name: str,
    place: Callable[[Mechanism, float], None],
    step: int,
    *,
    seed: int,
    mu: float,
    compliance: float,
    jitter: float,
) -> Problem:
    """Return the problem of one step of a scene.

    Parameters
    ----------
    place
        Adds the bodies, joints and contacts of the scene at a time t >= 0 to a mechanism.
    step
        Number of the step, from 0 to 199.
    seed
        Seed of the disturbances of the velocities; a step has the same ones at every call.
    jitter
        Their standard deviation for bodies of up to 100 kg [m/s, rad/s]; heavier bodies get the
        energy of one of 100 kg.
    """
    if not 0 <= integer("step", step) < STEPS:
        raise ValueError(f"step is {step}: expected an integer from 0 to {STEPS - 1}")
    if integer("seed", seed) < 0:
        raise ValueError(f"seed is {seed}: expected an integer, zero or above")
    require_not_negative(mu=mu, jitter=jitter)
    require_positive(compliance=compliance)

    # Two placements, one step apart, give the velocities.
    before, now = Mechanism(compliance), Mechanism(compliance)
    place(before, step * TIME_STEP)
    place(now, (step + 1) * TIME_STEP)
    velocities = _moved(before, now) / TIME_STEP

    # Disturb the velocities, and add one step of gravity.
    rng = np.random.default_rng((seed, step))
    masses = np.array([part.mass for part in now.parts])
    heavy = np.sqrt(np.minimum(_LIGHT / masses, 1.0))
    velocities += jitter * heavy[:, None] * rng.normal(size=velocities.shape)
    velocities[:, 2] -= GRAVITY * TIME_STEP
    groups = now.groups(velocities, mu, TIME_STEP)
    return Problem(groups=groups, bodies=[Bodies(now.inverse_masses())], name=f"{name} {step}")


def _moved(before: Mechanism, now: Mechanism) -> Vector:
    """Return displacements and rotation vectors of all bodies, ``(n, 6)``."""
    # The skew part of a rotation is its axis times the sine of its angle, and the trace gives the
    # cosine.
    rotation = np.einsum("nij,nkj->nik", now.turns(), before.turns())
    skew = (rotation - rotation.transpose(0, 2, 1)) / 2.0
    vector = np.stack((skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]), axis=1)
    sine = np.linalg.norm(vector, axis=1, keepdims=True)
    cosine = (np.trace(rotation, axis1=1, axis2=2)[:, None] - 1.0) / 2.0
    angle = np.arctan2(sine, cosine)
    scale = np.divide(angle, sine, out=np.ones_like(sine), where=sine > 1e-12)
    return np.concatenate((now.positions() - before.positions(), scale * vector), axis=1)


# ---- shapes and directions ----------------------------------------------------------------------


def vector(x: float, y: float, z: float) -> Vector:
    """Return three numbers as a vector."""
    return np.array([x, y, z], float)


def unit(direction: ArrayLike) -> Vector:
    """Return the unit vector of a direction."""
    given = np.asarray(direction, float)
    return np.asarray(given / np.linalg.norm(given))


def along(direction: ArrayLike, up: ArrayLike = UP) -> Vector:
    """Return a rotation whose x axis has that direction and whose z axis is nearest to `up`."""
    x = unit(direction)
    side = np.cross(np.asarray(up, float), x)
    if np.linalg.norm(side) < 1e-6:
        side = np.cross(_AXES[0], x)
    y = unit(side)
    return np.stack((x, y, np.cross(x, y)), axis=1)


def turned(axis: ArrayLike, angle: float) -> Vector:
    """Return the rotation about an axis by an angle [rad] (Rodrigues' formula)."""
    x, y, z = unit(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def capsule_inertia(mass: float, radius: float, length: float) -> Vector:
    """Return the moments of inertia of a solid capsule about its axis and across it, ``(3,)``.

    Parameters
    ----------
    length
        Length of the cylinder between the two half balls [m].
    """
    volume = length + 4.0 / 3.0 * radius  # over pi radius^2
    cylinder, balls = mass * length / volume, mass * 4.0 / 3.0 * radius / volume
    around = cylinder * radius**2 / 2.0 + balls * 0.4 * radius**2
    across = cylinder * (radius**2 / 4.0 + length**2 / 12.0)
    across += balls * (0.4 * radius**2 + length**2 / 4.0 + 0.375 * length * radius)
    return np.array([around, across, across])


def corners(size: Sequence[float], position: ArrayLike, turn: ArrayLike = _AXES) -> Vector:
    """Return the four lower corners of a box, ``(4, 3)``, in order around its face."""
    signs = np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1]])
    return np.asarray(position) + signs * np.asarray(size, float) / 2.0 @ np.asarray(turn).T


def smooth(t: float, start: float, end: float) -> float:
    """Return a smooth step in time, from 0 at `start` to 1 at `end`, with zero slope at both."""
    s = min(max((t - start) / (end - start), 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


# ---- all steps ----------------------------------------------------------------------------------


def follow(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems in turn: one object while bodies, joints and contacts stay the same."""
    kept: Problem | None = None
    for problem in problems:
        if kept is not None and _structure(kept) == _structure(problem):
            kept.update(J=problem.J, Minv=problem.Minv, b=problem.b, sets=problem.sets)
            kept.name = problem.name
        else:
            kept = problem
        yield kept


def _structure(problem: Problem) -> list[Any]:
    pairs = [pairs.tobytes() for pairs in problem.bodies]
    return [problem.bodies_count, problem.rows, *pairs, *(one.name for one in problem.sets)]
