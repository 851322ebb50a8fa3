"""Shared code of the scenarios: their list, relative velocities, checks of arguments."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactsolve.problem import Problem

# Type of `rng=`: a number gives the same scene at every call, None a new one. The annotation is a
# string because the name itself would load numpy.random at import.
Seed: TypeAlias = "int | np.random.Generator | None"

Scenario = TypeVar("Scenario", bound=Callable[..., Problem])

REGISTRY: dict[str, Callable[..., Problem]] = {}


def scenario(function: Scenario) -> Scenario:
    """Add a scenario function to the list, under its own name."""
    REGISTRY[function.__name__] = function
    return function


class SceneArrays(NamedTuple):
    """The arrays of a scene, in the order in which `Problem` takes them.

    Attributes
    ----------
    J : ndarray, shape (K, 2, m, d)
        d is 6, or 3 in the plane.
    Minv : ndarray, shape (n, d)
        Diagonals: 1/mass [1/kg], then 1/moment of inertia [1/(kg m^2)].
    b : ndarray, shape (K, m)
        Constraint velocity without contact impulses [m/s].
    bodies : ndarray of int, shape (K, 2)
    """

    J: NDArray[np.float64]
    Minv: NDArray[np.float64]
    b: NDArray[np.float64]
    bodies: NDArray[np.int64]

    def problem(self, name: str, mu: ArrayLike) -> Problem:
        """Return the problem of these arrays, with friction if contacts have tangents."""
        friction = mu if self.J.shape[2] > 1 else None
        return Problem(self.J, self.Minv, self.b, friction, bodies=self.bodies, name=name)


def gravity_bias(
    J: NDArray[np.float64],
    Minv: NDArray[np.float64],
    bodies: NDArray[np.int64],
    gravity: float,
    time_step: float,
) -> NDArray[np.float64]:
    """Return b = J M^-1 h_ext of bodies at rest after one step of gravity (S1 eq. 2.69).

    Parameters
    ----------
    J : ndarray, shape (K, 2, m, 6)
    Minv : ndarray, shape (n, 6)
        Diagonals; a body whose inverse mass is zero does not fall.
    bodies : ndarray of int, shape (K, 2)
    gravity : float
        Acceleration along -z [m/s^2].
    time_step : float
        [s]

    Returns
    -------
    ndarray, shape (K, m)
        [m/s]
    """
    fall = np.zeros((len(Minv), 6))
    fall[:, 2] = np.where(Minv[:, 2] > 0.0, -gravity * time_step, 0.0)
    return relative_velocity(J, bodies, fall)


def relative_velocity(
    J: NDArray[np.float64], bodies: NDArray[np.int64], velocities: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return J u for each contact (S1 eq. 2.55).

    Parameters
    ----------
    J : ndarray, shape (K, 2, m, d)
    bodies : ndarray of int, shape (K, 2)
    velocities : ndarray, shape (n, d)
        Velocities of the bodies [m/s, rad/s]; the fixed world is at rest.

    Returns
    -------
    ndarray, shape (K, m)
        [m/s]
    """
    # The extra last row is the fixed world, which index -1 picks.
    padded = np.concatenate((velocities, np.zeros((1, velocities.shape[1]))))
    return np.einsum("ksmd,ksd->km", J, padded[bodies])


def random_velocities(count: int, scale: float, rng: Seed) -> NDArray[np.float64]:
    """Return velocities of `count` bodies in space, uniform in [-scale, scale] per component.

    Returns
    -------
    ndarray, shape (count, 6)
        Linear [m/s] and angular velocities; the angular ones are zero.
    """
    velocities = np.zeros((count, 6))
    if scale > 0.0:
        velocities[:, :3] = np.random.default_rng(rng).uniform(-scale, scale, (count, 3))
    return velocities


def random_velocities_of(
    numbers: NDArray[np.int64], scale: float, rng: Seed
) -> NDArray[np.float64]:
    """Return the rows of `random_velocities` of some bodies, with the same bits.

    Parameters
    ----------
    numbers : ndarray of int, shape (n,)
        Numbers of the bodies, ascending.
    scale : float
        As for `random_velocities`.
    rng : int, numpy.random.Generator or None
        A number if bodies are left out: it stands for the same draws everywhere.

    Returns
    -------
    ndarray, shape (n, 6)

    Raises
    ------
    TypeError
        Bodies are left out, and `rng` is no number.
    """
    if scale == 0.0 or np.array_equal(numbers, np.arange(len(numbers))):
        return random_velocities(len(numbers), scale, rng)
    velocities = np.zeros((len(numbers), 6))

    # Each body draws three numbers: those of the bodies before a run of numbers are skipped.
    cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
    for run in np.split(np.arange(len(numbers)), cuts):
        bits = np.random.PCG64(integer("rng", rng))
        bits.advance(3 * int(numbers[run[0]]))
        draws = np.random.Generator(bits).uniform(-scale, scale, (len(run), 3))
        velocities[run, :3] = draws
    return velocities


def planar_jacobian(
    normals: NDArray[np.float64], arms: NDArray[np.float64], bodies: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return Jacobian blocks of contacts in the plane, with rows normal and tangent (S4).

    Parameters
    ----------
    normals : ndarray, shape (K, 2)
        Unit normals, from the first body to the second; the tangent is the normal turned by +90
        degrees.
    arms : ndarray, shape (K, 2, 2)
        Lever arms from the centre of each partner to the contact point [m].
    bodies : ndarray of int, shape (K, 2)
        -1 is the fixed world.

    Returns
    -------
    ndarray, shape (K, 2, 2, 3)
        Columns: two components of the velocity, then the angular velocity.
    """
    tangents = np.stack((-normals[:, 1], normals[:, 0]), axis=1)
    axes = np.stack((normals, tangents), axis=1)
    J = np.empty((len(normals), 2, 2, 3))
    J[..., :2] = axes[:, None]
    # r x e, about the axis out of the plane.
    J[..., 2] = (
        arms[:, :, None, 0] * axes[:, None, :, 1] - arms[:, :, None, 1] * axes[:, None, :, 0]
    )
    J[:, 0] *= -1.0
    J[bodies < 0] = 0.0
    J += 0.0  # turns -0.0 into 0.0, for printed blocks without stray signs
    return J


def grid_shape(shape: int | Sequence[int]) -> tuple[int, int, int]:
    """Return three counts, from three or from one that stands for all."""
    given: Any = shape
    sizes = tuple(given) if np.iterable(given) else (given,) * 3
    if len(sizes) != 3 or min(integer("shape", size) for size in sizes) < 1:
        raise ValueError(f"shape is {shape!r}: expected one or three integers above zero")
    return operator.index(sizes[0]), operator.index(sizes[1]), operator.index(sizes[2])


def solid_spheres(count: int, mass: float, radius: float) -> NDArray[np.float64]:
    """Return Minv of equal solid spheres, (count, 6); moment of inertia 2/5 mass radius^2."""
    inertia = 0.4 * mass * radius**2
    return np.tile([1.0 / mass] * 3 + [1.0 / inertia] * 3, (count, 1))


def integer(name: str, value: Any) -> int:
    """Return a value as an integer, or raise an error that names the argument."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}: an integer is needed") from None


def require_count(**values: Any) -> None:
    """Raise unless each value is an integer above zero; the error names the argument."""
    for name, value in values.items():
        if integer(name, value) < 1:
            raise ValueError(f"{name} is {value}: expected an integer above zero")


def require_between(low: float, high: float, **values: Any) -> None:
    """Raise unless each value is in [low, high]; the error names the argument."""
    for name, value in values.items():
        if not low <= value <= high:
            raise ValueError(f"{name} is {value}: expected a number from {low:g} to {high:g}")


def require_not_negative(**values: Any) -> None:
    """Raise unless each value is finite and 0 or more; the error names the argument."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"{name} is {value}: expected a finite number, zero or above")


def require_positive(**values: Any) -> None:
    """Raise unless each value is finite and above 0; the error names the argument."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} is {value}: expected a finite number above zero")


def require_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise unless the value is one of the choices; the error lists them."""
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} is {value!r}: expected one of {known}")
