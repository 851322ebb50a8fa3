"""S3's stack of boxes: boxes that land one on the other."""

from __future__ import annotations

import numpy as np

from contactsolve.scenarios._mechanism import GROUND, Mechanism, corners, mechanism

_BOXES, _AT_REST = 40, 16
_LANDING, _APART, _SPEED = 0.17, 0.1333, 1.5  # of the next one [s], between two [s], [m/s]


@mechanism(compliance=1e-8, motion="24 boxes land")
def stack_of_boxes(m: Mechanism, t: float) -> None:
    """Boxes of 100 to 300 kg that land one on the other: an analogue of S3's stack of boxes.

    Four contacts at each interface, one more than a rigid box needs. 16 boxes are at rest, 24
    land one after the other; 334 rows in the mean. See `box_stack` for a stack at rest.

    Notes
    -----
    S3 Table 3.1 gives the mean number of rows alone, 333.9; all else is ours.
    """
    last = GROUND
    for k in range(_BOXES):
        drop = max(_LANDING + _APART * (k - _AT_REST) - t, 0.0) if k >= _AT_REST else 0.0
        shift = 0.03 * np.sin(2.4 * k), 0.03 * np.cos(1.7 * k)
        sway = 0.001 * k * np.sin(4.0 * t)
        centre = (shift[0] + sway, shift[1], k + 0.5 + _SPEED * drop)
        box = m.box(100.0 * (1 + k % 3), (1.0, 1.0, 1.0), centre)
        if drop == 0.0:
            for point in corners((1.0, 1.0, 1.0), centre):
                m.contact(last, box, point)
        last = box
