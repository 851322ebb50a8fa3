"""The state that a problem was built from: velocities, external impulses, driven partners."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["InitialState"]


class InitialState(NamedTuple):
    """What `Problem.from_state` keeps.

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


def restitution_rows(value: Any, contacts: int, rows: int) -> np.ndarray:
    """Return ε on every row ``(K, m)``: a number or ``(K,)`` holds for the normal rows only."""
    array = np.asarray(value, dtype=np.float64)
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
    bad = np.argwhere(~((full >= 0) & (full <= 1)))
    if len(bad):
        contact, row = bad[0]
        raise ValueError(
            f"restitution[{contact}, {row}] is {full[contact, row]:g}: it lies between 0 and 1"
        )
    return full
