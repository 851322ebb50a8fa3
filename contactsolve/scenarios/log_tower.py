"""S3's log tower: crossed layers of logs, the last of them still falling."""

from __future__ import annotations

import numpy as np

from contactsolve.scenarios._mechanism import (
    GROUND,
    Mechanism,
    mechanism,
    vector,
)

_LAYERS, _ACROSS = 19, 4
_RADIUS, _LENGTH, _MASS = 0.15, 4.0, 200.0
_AT_REST = 15  # layers
_LANDING, _APART, _SPEED = 0.75, 0.6, 1.5  # of the next one [s], between two [s], [m/s]
_SLIDE = 0.15  # of a log along itself [m]


@mechanism(compliance=1e-8, motion="four layers land")
def log_tower(m: Mechanism, t: float) -> None:
    """Crossed layers of four logs, upon which more are let fall: an analogue of S3's log tower.

    Logs of 200 kg touch those of the layer below once each; all slide to and fro along
    themselves. 15 layers are at rest, four land one after the other; 830 rows in the mean.

    Notes
    -----
    S3 Table 3.1 gives the mean number of rows alone, 829.9; all else is ours.
    """
    below: list[tuple[int, float]] = []
    for layer in range(_LAYERS):
        drop = max(_LANDING + _APART * (layer - _AT_REST) - t, 0.0)
        fall = _SPEED * drop if layer >= _AT_REST else 0.0
        here = _layer(m, layer, fall, t)
        for log, offset in here:
            if layer == 0:
                for s in np.linspace(-1.8, 1.8, 5):
                    m.contact(GROUND, log, m.position(log) + vector(s, 0.0, -_RADIUS))
            elif fall < 1e-9:
                _cross(m, below, log, offset, layer)
        below = here


def _layer(m: Mechanism, layer: int, fall: float, t: float) -> list[tuple[int, float]]:
    """Logs of one layer, each sliding to and fro, and how far off the middle they lie."""
    found = []
    for k in range(_ACROSS):
        sway = _SLIDE * np.sin(5.0 * t + 2.4 * (layer + 5 * k))
        offset = (k - (_ACROSS - 1) / 2.0) + 0.05 * np.sin(2.4 * (4 * layer + k))
        height = (2 * layer + 1) * _RADIUS + fall
        along = layer % 2
        middle = (offset, sway, height) if along else (sway, offset, height)
        axis = (0.0, 1.0, 0.0) if along else (1.0, 0.0, 0.0)
        found.append((m.cylinder(_MASS, _RADIUS, _LENGTH, middle, axis), offset))
    return found


def _cross(
    m: Mechanism, below: list[tuple[int, float]], log: int, offset: float, layer: int
) -> None:
    """A log touches each one of the layer below where they cross."""
    for other, crossing in below:
        x, y = (offset, crossing) if layer % 2 else (crossing, offset)
        m.contact(other, log, (x, y, 2 * layer * _RADIUS))
