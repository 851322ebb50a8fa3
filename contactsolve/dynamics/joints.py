"""Joints of a world: how they are added, driven and measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._joint_arguments import (
    Motor,
    axis_names,
    body_of,
    bounds_of,
    check_speed,
    check_target,
    compliances_of,
    cone_of,
    distance_of,
    integer_of,
    matrix_of,
    motor_numbers,
    number_of,
    pair_of,
    pitch_of,
    point_names,
    relative_turn,
    touch_of,
    vector_of,
)

if TYPE_CHECKING:
    from .world import World

__all__ = ["Control", "Joints", "Motor", "PlacedJoint"]

_AXIS = (1.0, 0.0, 0.0)
_UNBOUNDED = (-np.inf, np.inf)

# Columns of a drive.
_SPEED, _TARGET, _LOWER, _UPPER = range(4)


class PlacedJoint(NamedTuple):
    """A joint as it was added.

    Attributes
    ----------
    kind
        ``"ball"``, ``"hinge"``, ``"slider"``, ``"fixed"``, ``"distance"``, ``"gear"``,
        ``"mesh"``, ``"angular"``, ``"linear"`` or ``"ram"``.
    bodies
        The first and the second one; −1: the fixed world.
    limits
        Of its coordinate; infinite: none.
    driven
        Whether it has a motor.
    """

    kind: str
    bodies: tuple[int, int]
    limits: tuple[float, float]
    driven: bool


class Joints:
    """The joints of a world, `World.joints`: ``len(world.joints)`` is their number.

    Each is added by the function of its kind, which returns its number. Bodies are numbers, −1 the
    fixed world; points and axes are in the world frame, where the bodies are when the joint is
    added, and move with them. Rows are those of `contactsolve.joints`.

    A joint has a coordinate, if it leaves something free: the angle [rad] about the axis of a
    hinge, which counts full turns, or the travel [m] along that of a slider, of the second body
    against the first one, both zero at the beginning; the distance [m] between the points of a ram;
    of a ball the angle [rad] between an axis of each body. Limits bound it, and a motor drives it.

    Notes
    -----
    Shared parameters:

    limits
        ``(lower, upper)`` of the coordinate, or None for none. They hold like contacts: a limit
        pushes as soon as it would be passed within the step. Of both, that which the motion without
        joints and contacts comes nearer to is looked at. A body that is beyond a limit, because it
        was placed there, say, is moved back within a step by ``"semi_implicit_euler"``, and keeps
        that speed; by ``"moreau"`` it is kept from going further.
    motor
        A `Motor`, or None for none. `World.control` changes it between steps.
    compliance
        C of the rows that are held, a number or one for each of them [m/N, rad/(N m)]: they give
        way by C times their force.
    contacts
        Whether the two bodies can touch each other. Default, None: contacts of two bodies are left
        out; those of a body with the fixed world, the ground included, are not.

    Each step corrects the position error of the last one (S3 eq. 1.14, in full): it stays of the
    second order in the step, (ωh)² r/2 of a body that turns about a joint at a distance r.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._placed: list[PlacedJoint] = []
        # What the C library was given of each, for recordings.
        self._given: list[tuple[str, np.ndarray, np.ndarray, np.ndarray]] = []

    # ---- kinds -----------------------------------------------------------------------------------

    def ball(
        self,
        first: int,
        second: int,
        point: Any,
        *,
        axis: Any = None,
        cone: float = np.inf,
        compliance: Any = 0.0,
        contacts: bool | None = None,
    ) -> int:
        """Hold two bodies together at a point; return the number of the joint.

        Parameters
        ----------
        first, second
            Two bodies.
        point
            ``(3,)`` [m]
        axis, cone
            The second body's axis stays within this angle [rad] of where the first body has it;
            infinite: any.
        compliance, contacts
            See `Joints`.
        """
        limits = (-np.inf, cone_of(cone, axis))
        axes = (None, None) if axis is None else (axis, axis)
        return self._add(
            *("ball", first, second, (point, point), axes, limits, None, compliance, contacts)
        )

    def hinge(
        self,
        first: int,
        second: int,
        point: Any,
        axis: Any,
        *,
        limits: Any = None,
        motor: Motor | None = None,
        compliance: Any = 0.0,
        contacts: bool | None = None,
    ) -> int:
        """Let two bodies turn against each other about an axis; return the number of the joint.

        Parameters
        ----------
        point
            ``(3,)`` on the axis [m].
        axis
            ``(3,)`` of length 1.
        first, second, limits, motor, compliance, contacts
            See `Joints`.
        """
        points, axes = (point, point), (axis, axis)
        return self._add(
            *("hinge", first, second, points, axes, limits, motor, compliance, contacts)
        )

    def slider(
        self,
        first: int,
        second: int,
        point: Any,
        axis: Any,
        *,
        limits: Any = None,
        motor: Motor | None = None,
        compliance: Any = 0.0,
        contacts: bool | None = None,
    ) -> int:
        """Let two bodies slide along an axis; return the number of the joint.

        Parameters
        ----------
        point
            ``(3,)`` of the second body, which stays on a line [m].
        axis
            ``(3,)`` of length 1: of this line, which moves with the first body.
        first, second, limits, motor, compliance, contacts
            See `Joints`.
        """
        points, axes = (point, point), (axis, axis)
        return self._add(
            *("slider", first, second, points, axes, limits, motor, compliance, contacts)
        )

    def fixed(
        self,
        first: int,
        second: int,
        point: Any,
        *,
        compliance: Any = 0.0,
        contacts: bool | None = None,
    ) -> int:
        """Weld two bodies together at a point ``(3,)`` [m]; return the number of the joint."""
        points, axes = (point, point), (None, None)
        return self._add(*("fixed", first, second, points, axes, None, None, compliance, contacts))

    def distance(
        self,
        first: int,
        second: int,
        start: Any,
        end: Any,
        *,
        compliance: Any = 0.0,
        contacts: bool | None = None,
    ) -> int:
        """Keep the distance between two points; return the number of the joint.

        Parameters
        ----------
        start, end
            ``(3,)`` of the first and of the second body, apart from each other [m].
        first, second, compliance, contacts
            See `Joints`.
        """
        points, axes = (start, end), (None, None)
        return self._add(
            *("distance", first, second, points, axes, None, None, compliance, contacts)
        )

    def gear(
        self,
        first: int,
        second: int,
        first_axis: Any,
        second_axis: Any,
        ratio: float = 1.0,
        *,
        compliance: Any = 0.0,
        contacts: bool | None = None,
    ) -> int:
        """Couple the speeds of two shafts; return the number of the joint.

        Parameters
        ----------
        first_axis, second_axis
            ``(3,)`` of length 1, of each body.
        ratio
            The second body turns so many times as fast as the first one. Only speeds are coupled:
            what a solve leaves inexact adds up in the angles. The moments on both bodies are about
            their own axes: where these are not parallel, what holds the shafts has no part of the
            reaction. `mesh` has it.
        first, second, compliance, contacts
            See `Joints`.
        """
        axes = (first_axis, second_axis)
        none = (None, None)
        return self._add(
            *("gear", first, second, none, axes, None, None, compliance, contacts), ratio=ratio
        )

    def mesh(
        self,
        first: int,
        second: int,
        point: Any,
        axis: Any,
        *,
        compliance: Any = 0.0,
        contacts: bool | None = None,
    ) -> int:
        """Let two wheels roll on each other: spur and bevel gears; return the number of the joint.

        Parameters
        ----------
        first, second
            Two bodies, each of which turns about an axis through its centre of mass. Other joints
            hold the axes, which may move: those of a planet in its cage do.
        point
            ``(3,)`` Where their pitch circles touch: in the plane of the first axis and the centre
            of mass of the second body [m].
        axis
            ``(3,)`` of length 1: of the first body. The second body's centre is not on it.
        compliance, contacts
            See `Joints`.

        Notes
        -----
        The row is the relative velocity at the point along the teeth, across both directions. Only
        speeds are coupled, as by `gear`. Point and teeth follow the axes and do not turn with the
        wheels, and both bodies have the same force there, so that momentum is kept.
        """
        axes, none = (axis, axis), (None, None)
        self._require_space()
        bodies = (body_of("first", first), body_of("second", second))
        for name, body in zip(("first", "second"), bodies, strict=True):
            if body == -1:
                raise ValueError(f"{name} is -1: the fixed world has no wheel")
            if not 0 <= body < self._world.bodies:
                raise ValueError(f"{name} is {body}: the world has {self._world.bodies} bodies")
        if bodies[0] == bodies[1]:
            raise ValueError(f"second is {bodies[1]}: another body than the first one is needed")
        centers = [self._frame(body)[0] for body in bodies]
        pitch = pitch_of(vector_of("point", point), vector_of("axis", axis), centers)
        return self._add(
            *("mesh", first, second, none, axes, None, None, compliance, contacts), pitch=pitch
        )

    def angular(
        self,
        first: int,
        second: int,
        axis: Any,
        *,
        limits: Any = None,
        motor: Motor | None = None,
        contacts: bool = True,
    ) -> int:
        """Drive or limit the angle of two bodies that other joints hold; return its number.

        Parameters
        ----------
        axis
            ``(3,)`` of length 1, which moves with the first body.
        first, second, limits, motor, contacts
            See `Joints`; a motor or limits are needed.
        """
        return self._add(
            *("angular", first, second, (None, None), (axis, axis), limits, motor, 0.0, contacts)
        )

    def linear(
        self,
        first: int,
        second: int,
        point: Any,
        axis: Any,
        *,
        limits: Any = None,
        motor: Motor | None = None,
        contacts: bool = True,
    ) -> int:
        """Drive or limit the travel of two bodies that other joints hold; return its number.

        Parameters
        ----------
        point
            ``(3,)`` of the second body [m].
        axis
            ``(3,)`` of length 1, which moves with the first body.
        first, second, limits, motor, contacts
            See `Joints`; a motor or limits are needed.
        """
        points, axes = (point, point), (axis, axis)
        return self._add(*("linear", first, second, points, axes, limits, motor, 0.0, contacts))

    def ram(
        self,
        first: int,
        second: int,
        start: Any,
        end: Any,
        *,
        limits: Any = None,
        motor: Motor | None = None,
        contacts: bool = True,
    ) -> int:
        """Add a linear motor between two points; return the number of the joint.

        Parameters
        ----------
        start, end
            ``(3,)`` of the first and of the second body, apart from each other [m]. The coordinate
            is their distance.
        first, second, limits, motor, contacts
            See `Joints`; a motor or limits are needed.
        """
        return self._add(
            *("ram", first, second, (start, end), (None, None), limits, motor, 0.0, contacts)
        )

    def remove(self, joint: int) -> None:
        """Remove a joint. Others keep their numbers. It goes with each of its bodies, too."""
        self._world._core.remove_joint(joint)

    # ---- what there is ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._placed)

    def __getitem__(self, joint: int) -> PlacedJoint:
        return self._placed[joint]

    @property
    def coordinates(self) -> np.ndarray:
        """Angles, travels and distances at present, ``(n,)`` [rad, m]; 0 of joints without one."""
        return self._world._core.joints()["coordinate"]

    @property
    def rates(self) -> np.ndarray:
        """Rates of the coordinates, ``(n,)`` [rad/s, m/s]."""
        return self._world._core.joints()["rate"]

    @property
    def errors(self) -> np.ndarray:
        """How far points and axes are apart that joints hold together, ``(n, 2)`` [m, rad]."""
        return self._world._core.joints()["error"]

    @property
    def impulses(self) -> np.ndarray:
        """Impulses of the last step, ``(n, 8)`` [N s, N m s].

        Those of the rows that are held, at most six; that of the limit, above 0 if it pushes; that
        of the motor.
        """
        return self._world._core.joints()["impulse"]

    @property
    def removed(self) -> np.ndarray:
        """Whether each joint was removed, ``(n,)``; not those that went with their bodies."""
        return self._world._core.joints()["removed"]

    # ---- adding ----------------------------------------------------------------------------------

    def _add(
        self,
        kind: str,
        first: int,
        second: int,
        points: Sequence[Any],
        axes: Sequence[Any],
        limits: Any,
        motor: Motor | None,
        compliance: Any,
        contacts: bool | None,
        *,
        ratio: float = 1.0,
        pitch: tuple[float, float] | None = None,
    ) -> int:
        """Add a joint; return its number."""
        self._require_space()
        if kind in ("angular", "linear", "ram") and motor is None and limits is None:
            raise TypeError(f"motor and limits are None: a joint {kind!r} needs one of them")
        bodies = (body_of("first", first), body_of("second", second))
        frames = [self._frame(body) for body in bodies]
        low, high = _UNBOUNDED if limits is None else pair_of("limits", limits)
        where = [
            turn.T @ ((center if one is None else vector_of(name, one)) - center)
            for name, one, (center, turn) in zip(point_names(kind), points, frames, strict=True)
        ]
        along = [
            turn.T @ (np.array(_AXIS) if one is None else vector_of(name, one))
            for name, one, (_, turn) in zip(axis_names(kind), axes, frames, strict=True)
        ]
        numbers = np.concatenate(
            (
                *where,
                *along,
                relative_turn(self._turn(bodies[0]), self._turn(bodies[1])),
                pitch or (distance_of(kind, points), number_of("ratio", ratio)),
                (low, high),
                compliances_of(kind, compliance),
                motor_numbers(motor),
            )
        )
        flags = np.array([[motor is not None, touch_of(contacts, bodies)]], np.int64)
        return self._take(kind, np.array([bodies], np.int64), numbers[None], flags)

    def _take(self, kind: str, bodies: np.ndarray, numbers: np.ndarray, flags: np.ndarray) -> int:
        """Add a joint as the C library has it."""
        known = len(self._placed)
        first = self._world._core.add_joints(kind, bodies, numbers, flags)
        pair = bodies[0].tolist()
        limits = tuple(numbers[0, 18:20].tolist())
        placed = PlacedJoint(kind, (pair[0], pair[1]), limits, bool(flags[0, 0]))
        self._placed[known:] = [placed]
        self._given[known:] = [(kind, bodies[0], numbers[0], flags[0])]
        return first

    def _turn(self, body: int) -> np.ndarray:
        """Return the quaternion of a body."""
        known = 0 <= body < self._world.bodies
        return self._world.orientations[body] if known else np.array([1.0, 0.0, 0.0, 0.0])

    def _require_space(self) -> None:
        if self._world.dimension != 3:
            raise ValueError("joints need a world in space: dimension is 2")

    def _frame(self, body: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the centre of mass and the rotation matrix of a body.

        Numbers of bodies that there are not are refused by the C library.
        """
        known = 0 <= body < self._world.bodies
        center = self._world.positions[body] if known else np.zeros(3)
        return center, matrix_of(self._turn(body))


class Control:
    """What drives the joints of a world, `World.control`: it is set between steps.

    Attributes
    ----------
    speeds, targets, lower, upper
        Of each joint, ``(n,)``, writable: as in `Motor`. Those of joints without a motor have no
        effect. They are views of the joints that there are: after more are added, take them anew.

    Examples
    --------
    A wheel on a hinge, which a motor of at most 2 N m turns:

    >>> import contactsolve as cs
    >>> world = cs.dynamics.World(gravity=[0, 0, 0])
    >>> wheel = world.add_body(cs.dynamics.Cylinder(0.5, 0.1), mass=8.0)
    >>> motor = cs.dynamics.Motor(speed=0.0, bound=2.0)
    >>> axle = world.joints.hinge(-1, wheel, [0, 0, 0], [0, 0, 1], motor=motor)
    >>> world.control.drive(axle, 1.0)
    >>> record = world.run(400)
    >>> round(float(world.joints.rates[axle]), 3)
    0.8
    >>> record = world.run(200)
    >>> round(float(world.joints.rates[axle]), 3)
    1.0
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def drive(self, joint: int, speed: float, bound: Any = None) -> None:
        """Give a motor another speed [rad/s, m/s], and other bounds unless None, see `Motor`.

        After `push` bounds are needed: those that it has set leave nothing to the speed.
        """
        drive = self._of(joint)
        given = number_of("speed", speed)
        bounds = drive[_LOWER:].tolist() if bound is None else bounds_of(bound)
        check_speed(f"joint is {joint}: speed", given, *self._spring(joint))
        if bound is None and bounds[0] == bounds[1]:
            raise ValueError(
                f"joint is {joint}: both bounds are {bounds[0]:g}, which speed does not change: "
                f"give bound, too"
            )
        drive[_SPEED] = given
        drive[_LOWER:] = bounds

    def pull(self, joint: int, target: float) -> None:
        """Give the spring of a motor another target [rad, m]."""
        drive = self._of(joint)
        given = number_of("target", target)
        check_target(f"joint is {joint}: target", given, self._spring(joint)[0])
        drive[_TARGET] = given

    def push(self, joint: int, force: float) -> None:
        """Let a motor apply a moment or a force [N m, N], whatever the speed is."""
        drive = self._of(joint)
        drive[_LOWER:] = number_of("force", force)

    @property
    def speeds(self) -> np.ndarray:
        """Speeds of the motors [rad/s, m/s]."""
        return self._all()[:, _SPEED]

    @property
    def targets(self) -> np.ndarray:
        """Coordinates that springs pull to [rad, m]."""
        return self._all()[:, _TARGET]

    @property
    def lower(self) -> np.ndarray:
        """Lower bounds of the motors' moments and forces [N m, N]."""
        return self._all()[:, _LOWER]

    @property
    def upper(self) -> np.ndarray:
        """Upper bounds of the motors' moments and forces [N m, N]."""
        return self._all()[:, _UPPER]

    def _all(self) -> np.ndarray:
        return self._world._core.joints()["drive"]

    def _spring(self, joint: int) -> tuple[float, float]:
        """Return stiffness and damping of a motor."""
        stiffness, damping = self._world.joints._given[joint][2][26:28].tolist()
        return stiffness, damping

    def _of(self, joint: int) -> np.ndarray:
        """Return the drive of a joint that has a motor."""
        joints = self._world.joints
        number = integer_of("joint", joint, "the number of a joint")
        if not 0 <= number < len(joints):
            raise ValueError(f"joint is {joint}: the world has {len(joints)} joints")
        placed = joints[number]
        if not placed.driven:
            raise ValueError(f"joint is {joint}: this {placed.kind} has no motor")
        present = self._world._core.joints()
        gone = [body for body in placed.bodies if body >= 0 and self._world.removed[body]]
        if present["removed"][number] or gone:
            why = f" with body {gone[0]}" if gone else ""
            raise ValueError(f"joint is {joint}: this {placed.kind} was removed{why}")
        return present["drive"][number]
