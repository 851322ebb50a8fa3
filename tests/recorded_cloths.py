"""Cloths whose runs tests record."""

import re

import numpy as np

from contactsolve.cloth import Cloth, sheet

H, STEPS = 1 / 60, 8
PATH = re.escape("run.vtkhdf")  # in messages


def hanging(rows=6, **options):
    """Return a sheet that hangs from two corners, and waves."""
    vertices, faces = sheet(rows, 7, (1.0, 0.8))
    wave = np.column_stack([0 * vertices[:, :2], 0.3 * np.sin(7 * vertices[:, 0])])
    given = {"density": 0.2, "young": 60.0, "bending": 1e-4, "damping": 0.01, "threads": 1}
    given |= {"attach": [0, 6], "velocities": wave}
    return Cloth(vertices, faces, **{**given, **options})


def all_arrays(**options):
    """Return a cloth that has every array that a file can hold."""
    vertices, _ = sheet(6, 7, (1.0, 0.8))
    labels = np.random.default_rng(2).integers(0, 8, len(vertices))
    return hanging(rest=0.9 * vertices, forces=0.01 * vertices, partition=labels, **options)


def state(cloth):
    return cloth.positions.tobytes(), cloth.velocities.tobytes(), cloth.time


def go_on(cloth, steps, h=H):
    for _ in range(steps):
        cloth.step(h)
    return state(cloth)
