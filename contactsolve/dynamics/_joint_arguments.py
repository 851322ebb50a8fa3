"""Arguments of joints, as the C library takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._arrays import real_array

__all__ = [
    "Motor",
    "axis_names",
    "body_of",
    "bounds_of",
    "check_speed",
    "check_target",
    "compliances_of",
    "cone_of",
    "distance_of",
    "integer_of",
    "matrix_of",
    "motor_numbers",
    "number_of",
    "pair_of",
    "pitch_of",
    "point_names",
    "relative_turn",
    "touch_of",
    "vector_of",
]


class Motor(NamedTuple):
    """What drives a joint.

    Attributes
    ----------
    speed
        That it keeps, of the second body against the first one [rad/s, m/s]. A spring without
        damping has none.
    bound
        Of its moment or force [N m, N]: b for −b to b, or ``(lower, upper)``. Two equal ones are a
        force that is applied.
    stiffness, damping
        k [N m/rad, N/m] and c [N m s/rad, N s/m] of a spring, if one of them is above 0: the drive
        then is −k (x − target) − c (ẋ − speed) at the end of the step, within its bounds.
    target
        The coordinate x that the spring pulls to [rad, m]. It needs a stiffness.
    """

    speed: float = 0.0
    bound: float | tuple[float, float] = np.inf
    stiffness: float = 0.0
    damping: float = 0.0
    target: float = 0.0


def body_of(name: str, value: Any) -> int:
    return integer_of(name, value, "the number of a body, or -1,")


def integer_of(name: str, value: Any, what: str) -> int:
    """Return a number that counts something."""
    try:
        given = int(value)
    except (TypeError, ValueError, OverflowError):
        given = None
    if given is None or given != value:
        raise TypeError(f"{name} is {value!r}: {what} is needed")
    return given


def number_of(name: str, value: Any, least: float = -np.inf) -> float:
    """Return a finite number of at least so much."""
    given = real_array(name, value)
    if given.shape != ():
        raise TypeError(f"{name} has shape {given.shape}: a number is needed")
    if not (np.isfinite(given) and given >= least):
        wanted = "a finite number" if least == -np.inf else f"a finite number of at least {least:g}"
        raise ValueError(f"{name} is {given}: {wanted} is needed")
    return float(given)


def touch_of(contacts: Any, bodies: Sequence[int]) -> bool:
    """Return whether two bodies of a joint can touch each other."""
    if contacts is None:
        return -1 in bodies
    if not isinstance(contacts, (bool, np.bool_)):
        raise TypeError(f"contacts is {contacts!r}: True, False or None is needed")
    return bool(contacts)


def cone_of(cone: Any, axis: Any) -> float:
    """Return the angle of a cone; infinite: none."""
    given = real_array("cone", cone)
    if given.shape != ():
        raise TypeError(f"cone has shape {given.shape}: a number is needed")
    if not given > 0.0:
        raise ValueError(f"cone is {given}: an angle above 0 is needed")
    if axis is None and given < np.inf:
        raise TypeError(f"cone is {given}, but axis is None: give the axis that it is about")
    return float(given)


def vector_of(name: str, value: Any) -> np.ndarray:
    given = real_array(name, value)
    if given.shape != (3,):
        raise ValueError(f"{name} has shape {given.shape}: (3,) is needed")
    if not np.isfinite(given).all():
        index = int(np.argmin(np.isfinite(given)))
        raise ValueError(f"{name}[{index}] is {given[index]}: a finite number is needed")
    if name.endswith("axis") and abs(np.linalg.norm(given) - 1.0) > 1e-6:
        raise ValueError(f"{name} has the length {np.linalg.norm(given):g}: 1 is needed")
    return given


def pair_of(name: str, value: Any) -> tuple[float, float]:
    given = real_array(name, value)
    if given.shape != (2,):
        raise ValueError(f"{name} has shape {given.shape}: (lower, upper) is needed")
    low, high = given.tolist()
    if not low < high:
        raise ValueError(f"{name} is ({low:g}, {high:g}): the upper one has to be above the lower")
    return low, high


def bounds_of(bound: Any) -> tuple[float, float]:
    """Return the lower and the upper bound of a motor."""
    given = real_array("bound", bound)
    if given.shape not in ((), (2,)):
        raise ValueError(f"bound has shape {given.shape}: a number or (lower, upper) is needed")
    if given.shape == () and not given >= 0.0:
        raise ValueError(f"bound is {given}: a number of at least 0 is needed")
    low, high = (-float(given), float(given)) if given.shape == () else given.tolist()
    if not low <= high:
        raise ValueError(f"bound is ({low:g}, {high:g}): the upper one is below the lower")
    return low, high


# Rows that kinds hold.
_HELD = {"ball": 3, "hinge": 5, "slider": 5, "fixed": 6, "distance": 1, "gear": 1, "mesh": 1}


def compliances_of(kind: str, value: Any) -> np.ndarray:
    """Return compliances of six rows, of which a joint may hold fewer."""
    given, held = real_array("compliance", value), _HELD.get(kind, 0)
    if given.shape not in ((), (held,)):
        raise ValueError(
            f"compliance has shape {given.shape}: a number, or ({held},) of a joint {kind!r}"
        )
    return np.full(6, given) if given.ndim == 0 else np.pad(given, (0, 6 - len(given)))


def motor_numbers(motor: Motor | None) -> list[float]:
    """Return stiffness, damping and drive."""
    if motor is None:
        return [0.0] * 6
    if not isinstance(motor, Motor):
        raise TypeError(f"motor is {motor!r}: a contactsolve.dynamics.Motor is needed")
    stiffness = number_of("motor.stiffness", motor.stiffness, 0.0)
    damping = number_of("motor.damping", motor.damping, 0.0)
    speed = number_of("motor.speed", motor.speed)
    target = number_of("motor.target", motor.target)
    check_speed("motor.speed", speed, stiffness, damping)
    if target != 0.0:
        check_target("motor.target", target, stiffness)
    return [stiffness, damping, speed, target, *bounds_of(motor.bound)]


def check_speed(name: str, speed: float, stiffness: float, damping: float) -> None:
    """Raise for a speed that has no effect."""
    if speed != 0.0 and stiffness > 0.0 and damping == 0.0:
        raise ValueError(f"{name} is {speed:g}: it has no effect on a spring without damping")


def check_target(name: str, target: float, stiffness: float) -> None:
    """Raise for a target that has no effect."""
    if stiffness == 0.0:
        raise ValueError(f"{name} is {target:g}: it has no effect on a motor without stiffness")


def point_names(kind: str) -> tuple[str, str]:
    return ("start", "end") if kind in ("distance", "ram") else ("point", "point")


def axis_names(kind: str) -> tuple[str, str]:
    return ("first_axis", "second_axis") if kind == "gear" else ("axis", "axis")


def distance_of(kind: str, points: Sequence[Any]) -> float:
    """Return the distance between the points of a joint that has two."""
    if kind not in ("distance", "ram"):
        return 1.0
    length = float(np.linalg.norm(vector_of("end", points[1]) - vector_of("start", points[0])))
    if length == 0.0:
        raise ValueError(f"end is {points[1]!r}, as is start: they must be apart")
    return length


def pitch_of(
    point: np.ndarray, axis: np.ndarray, centers: Sequence[np.ndarray]
) -> tuple[float, float]:
    """Return where two wheels mesh: along the axis of the first one, and away from it [m]."""
    apart = centers[1] - centers[0]
    out = apart - (apart @ axis) * axis
    if not np.linalg.norm(out) > 1e-9 * np.linalg.norm(apart):
        raise ValueError("axis goes through the centre of mass of the second body: name it first")
    out /= np.linalg.norm(out)
    arm = point - centers[0]
    along, away = float(arm @ axis), float(arm @ out)
    aside = float(arm @ np.cross(axis, out))
    if not abs(aside) <= 1e-6 * float(np.linalg.norm(arm)):
        raise ValueError(
            f"point is {abs(aside):g} m off the plane through the axis and the centre of mass of "
            "the second body"
        )
    if not away > 0.0:
        raise ValueError("point is on the axis, or beyond it as seen from the second body")
    return along, away


# ---- rotations ----------------------------------------------------------------------------------


def matrix_of(q: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion."""
    w, v = q[0], q[1:]
    cross = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return np.eye(3) + 2.0 * (w * cross + cross @ cross)


def relative_turn(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return conj(first) second, quaternions."""
    w, v = first[0], -first[1:]
    u = second[1:]
    return np.concatenate(([w * second[0] - v @ u], w * u + second[0] * v + np.cross(v, u)))
