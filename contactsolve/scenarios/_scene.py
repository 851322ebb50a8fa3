"""What every scenario shares: the list of scenarios, gravity, argument checks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from contactsolve.problem import Problem

Scenario = TypeVar("Scenario", bound=Callable[..., Problem])

REGISTRY: dict[str, Callable[..., Problem]] = {}


def scenario(function: Scenario) -> Scenario:
    """Enter a scenario function into the list, under its own name."""
    REGISTRY[function.__name__] = function
    return function


class SceneArrays(NamedTuple):
    """The arrays of a scene, in the order in which `Problem` takes them.

    Attributes
    ----------
    J : ndarray, shape (K, 2, m, 6)
    Minv : ndarray, shape (n, 6)
        Diagonals: 1/mass [1/kg], then 1/moment of inertia [1/(kg m^2)].
    b : ndarray, shape (K, m)
        Constraint velocity without contact impulses [m/s].
    bodies : ndarray of int, shape (K, 2)
    """

    J: NDArray[np.float64]
    Minv: NDArray[np.float64]
    b: NDArray[np.float64]
    bodies: NDArray[np.int64]


def gravity_bias(
    J: NDArray[np.float64],
    Minv: NDArray[np.float64],
    bodies: NDArray[np.int64],
    gravity: float,
    time_step: float,
) -> NDArray[np.float64]:
    """b = J M^-1 h_ext for bodies at rest under one step of gravity (S1 eq. 2.69).

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
    # The extra last row is the fixed world, which index -1 picks.
    fall = np.zeros((len(Minv) + 1, 6))
    fall[:-1, 2] = np.where(Minv[:, 2] > 0.0, -gravity * time_step, 0.0)
    return np.einsum("ksmd,ksd->km", J, fall[bodies])


def require_positive(**values: Any) -> None:
    """Refuse quantities that are not finite and above zero, by name."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} is {value}: expected a finite number above zero")


def require_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse a value that is not among the choices, and list them."""
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} is {value!r}: expected one of {known}")
