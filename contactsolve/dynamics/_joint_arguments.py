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
    "compliances_of",
    "distance_of",
    "matrix_of",
    "motor_numbers",
    "pair_of",
    "point_names",
    "relative_turn",
    "vector_of",
]


class Motor(NamedTuple):
    """What drives a joint.

    Attributes
    ----------
    speed
        That it keeps, of the second body against the first one [rad/s, m/s].
    bound
        Of its moment or force [N m, N]: b for −b to b, or ``(lower, upper)``. Two equal ones are a
        force that is applied.
    stiffness, damping
        k [N m/rad, N/m] and c [N m s/rad, N s/m] of a spring, if one of them is above 0: the drive
        then is −k (x − target) − c (ẋ − speed) at the end of the step, within its bounds.
    target
        The coordinate x that the spring pulls to [rad, m].
    """

    speed: float = 0.0
    bound: float | tuple[float, float] = np.inf
    stiffness: float = 0.0
    damping: float = 0.0
    target: float = 0.0


def body_of(name: str, value: Any) -> int:
    if int(value) != value:
        raise TypeError(f"{name} is {value!r}: the number of a body, or -1, is needed")
    return int(value)


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


def compliances_of(name: str, value: Any) -> np.ndarray:
    """Return compliances of six rows, of which a joint may hold fewer."""
    given = real_array(name, value)
    if given.ndim > 1 or given.size > 6:
        raise ValueError(f"{name} has shape {given.shape}: a number, or one for each row")
    return np.full(6, given) if given.ndim == 0 else np.pad(given, (0, 6 - len(given)))


def motor_numbers(motor: Motor | None) -> list[float]:
    """Return stiffness, damping and drive."""
    if motor is None:
        return [0.0] * 6
    if not isinstance(motor, Motor):
        raise TypeError(f"motor is {motor!r}: a contactsolve.dynamics.Motor is needed")
    for name in ("speed", "stiffness", "damping", "target"):
        value = getattr(motor, name)
        if not np.isfinite(value) or (name in ("stiffness", "damping") and value < 0.0):
            raise ValueError(f"motor.{name} is {value}: a finite number, of at least 0 for springs")
    low, high = bounds_of(motor.bound)
    own = motor.stiffness, motor.damping, motor.speed, motor.target, low, high
    return [float(one) for one in own]


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
