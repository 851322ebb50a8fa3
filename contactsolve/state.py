"""The state of a problem: velocities, external impulses and driven partners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._arrays import finite_array, first_entry, read_only, real_array, shortest, spread

__all__ = ["InitialState"]


if TYPE_CHECKING:
    from .problem import Problem


class InitialState(NamedTuple):
    """The state that `Problem.from_state` stores.

    Attributes
    ----------
    velocity
        u before the step, in the shape given [m/s, rad/s].
    impulse
        h, external impulses in the shape of the velocities [N s].
    free_velocity
        u + M⁻¹ h, without contacts [m/s, rad/s].
    drive
        χ, velocity of driven partners, ``(K, m)`` [m/s].
    """

    velocity: np.ndarray
    impulse: np.ndarray
    free_velocity: np.ndarray
    drive: np.ndarray


def b_of_state(
    problem: Problem,
    velocity: Any,
    impulse: Any,
    drive: Any,
    restitution: Any,
    bias: Any,
) -> tuple[np.ndarray, InitialState]:
    """Return ``b = J (u + M⁻¹ h) + χ + ε (J u + χ) + bias``, ``(K, m)``, and the state."""
    # The arrays in the shapes of the problem.
    u, wanted = finite_array("velocity", velocity), problem.velocity_shape
    if u.shape != wanted:
        raise ValueError(f"velocity has shape {u.shape}: {wanted} is needed")
    h = spread("impulse", finite_array("impulse", impulse), wanted)
    rows = problem.b.shape
    chi = _of_rows("drive", drive, rows)
    extra = _of_rows("bias", bias, rows)
    epsilon = _restitution_rows(restitution, *rows)

    # Velocities of the contacts with the external impulses, and before them for restitution.
    free = u + problem.apply_inverse_mass(h)
    before = problem.contact_velocity(u) + chi
    b = problem.contact_velocity(free) + chi + epsilon * before + extra
    return b, InitialState(*(read_only(np.array(part)) for part in (u, h, free, chi)))


def _of_rows(name: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return a number or ``(K, m)`` as ``(K, m)``."""
    array = finite_array(name, value)
    if array.shape not in ((), shape):
        raise ValueError(f"{name} has shape {array.shape}: one number or shape {shape} is needed")
    return spread(name, array, shape)


def _restitution_rows(value: Any, contacts: int, rows: int) -> np.ndarray:
    """Return ε on every row ``(K, m)``: a number or ``(K,)`` holds for the normal rows only."""
    array = real_array("restitution", value)
    if array.shape == (contacts, rows):
        full = array.copy()
    elif array.shape in ((), (contacts,)):
        full = np.zeros((contacts, rows))
        full[:, 0] = array
    else:
        raise ValueError(
            f"restitution has shape {array.shape}: one number or ({contacts},) for the normals, or "
            f"({contacts}, {rows}) for every row, is needed"
        )
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        where = f"[{first_entry(bad)}]" if array.ndim else ""
        raise ValueError(
            f"restitution{where} is {shortest(array[bad][0])}: it lies between 0 and 1"
        )
    return full
