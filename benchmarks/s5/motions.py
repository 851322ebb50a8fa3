"""Prescribed motions of the meshes of S5's scenes (appendix B), for its figures 5 and 6.

dress    a dress settles on a body that sways, within one second; 1a: body of 27,000 vertices,
         1b: of 1,800
ribbon   0.5 m × 20 m, 4,141 vertices, falls on two inclined planes, slides over them and piles up
         in folds on the floor, within 5.5 seconds; planes and floor have 13,600 vertices

S5 simulates these scenes, and its meshes are not public. Here the vertices are functions of time,
made to have what matters to a traversal: where the meshes are close, how much of them, and how fast
that changes. Nothing is solved.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import contactsolve as cs


class Motion(NamedTuple):
    """A cloth and an obstacle, each with vertices by time, ``t -> (n, 3)`` [m]."""

    seconds: float
    step: float  # of time [s]
    margin: float  # within which two meshes are close [m]
    cloth: Callable[[float], np.ndarray]
    cloth_faces: np.ndarray
    obstacle: Callable[[float], np.ndarray]
    obstacle_faces: np.ndarray


def smooth(x):
    """Return 0 below 0, 1 above 1, and a cubic between."""
    x = np.clip(x, 0, 1)
    return x * x * (3 - 2 * x)


# ---- scene 1: a dress ----------------------------------------------------------------------------

# Rows, columns of the tubes.
DRESS = (60, 75)
BODIES = {"1a": (150, 180), "1b": (36, 50)}
WAIST, HEM = 1.35, 0.35  # heights of the dress [m]
SETTLING = 0.1  # time constant [s]


def tube(rows, columns):
    """Faces of a grid whose columns go round."""
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns), indexing="ij")
    a, b = columns * i + j, columns * i + (j + 1) % columns
    lower, upper = (a, b, a + columns), (b, b + columns, a + columns)
    return np.concatenate([np.stack(f, axis=-1).reshape(-1, 3) for f in (lower, upper)])


def grid_of_tube(size, low, high):
    """Heights and angles of its vertices."""
    rows, columns = size
    height, angle = np.meshgrid(
        np.linspace(low, high, rows), 2 * np.pi * np.arange(columns) / columns, indexing="ij"
    )
    return height.ravel(), angle.ravel()


def body_radius(height, angle):
    """Hips, waist, chest and neck; wider than deep [m]."""
    radius = 0.09 + 0.09 * np.exp(-(((height - 0.85) / 0.16) ** 2))
    radius += 0.07 * np.exp(-(((height - 1.25) / 0.12) ** 2)) - 0.05 * smooth((height - 1.4) / 0.1)
    return radius * (1 + 0.18 * np.cos(2 * angle) + 0.02 * np.cos(7 * angle + 9 * height))


def sway(height, t):
    """Displacement of the body's axis, once to and fro in a second."""
    return 0.03 * np.sin(2 * np.pi * t) * smooth(height / 1.7)


def in_space(height, radius, angle, t):
    """Vertices about the moving axis."""
    return np.stack(
        [radius * np.cos(angle) + sway(height, t), radius * np.sin(angle), height], axis=-1
    )


def dress(version):
    """Scene 1a or 1b."""
    body = grid_of_tube(BODIES[version], 0.0, 1.7)
    height, angle = grid_of_tube(DRESS, HEM, WAIST)
    below = (WAIST - height) / (WAIST - HEM)

    def cloth_at(t):
        # The gap to the body closes; below the hips, folds form and swing.
        settled = 1 - np.exp(-t / SETTLING)
        fold = 0.06 * settled * smooth(1.6 * below - 0.6)
        swing = 0.4 * np.sin(2 * np.pi * t - 2 * below)
        ruffled = angle + 0.9 * fold * np.sin(24 * (angle + swing * fold))
        radius = body_radius(np.maximum(height, 0.8), angle) + 0.004 + 0.06 * (1 - settled)
        radius += fold * (1.2 + np.cos(12 * (angle + swing * fold)))
        return in_space(height - 0.02 * settled * below, radius, ruffled, t)

    def body_at(t):
        return in_space(body[0], body_radius(*body), body[1], t)

    bodies = tube(*BODIES[version])
    return Motion(1.0, 5e-3, 4e-3, cloth_at, tube(*DRESS), body_at, bodies)


# ---- scene 2: a ribbon ---------------------------------------------------------------------------

LENGTH, WIDTH = 20.0, 0.5
RIBBON = (101, 41)  # vertices along it and across
FASTEST = 6.0  # [m/s]
CORNERS = np.array(  # x, z of the path of the ribbon: planes at 0.02 below it, the floor at 0
    [[0.0, 60.0], [0.0, 2.92], [1.2, 2.44], [1.35, 1.52], [0.2, 1.06], [0.05, 0.35]]
)
PLANES = (((-0.3, 3.02), (1.2, 2.42)), ((1.6, 1.60), (0.2, 1.04)))  # ends x, z
FOLD, LAYER = 0.8, 1.2e-2  # length of a fold on the floor, rise of a layer [m]


def path():
    """Rounded corners: distance along the path from where the ribbon's end begins, x and z."""
    ends = np.linalg.norm(np.diff(CORNERS, axis=0), axis=1)
    along = np.concatenate([[0], np.cumsum(ends)])
    fine = np.arange(0, along[-1], 0.005)
    places = np.stack([np.interp(fine, along, CORNERS[:, k]) for k in (0, 1)], axis=-1)
    window = np.hanning(41) / np.hanning(41).sum()
    padded = np.pad(places, ((20, 20), (0, 0)), mode="reflect", reflect_type="odd")
    rounded = np.stack([np.convolve(padded[:, k], window, "valid") for k in (0, 1)], axis=-1)
    begin = along[1] - 1.0  # the lower end hangs one metre above the first plane
    return fine - begin, rounded


def fallen(t):
    """Distance that the ribbon has gone: free fall, then a steady speed."""
    until = FASTEST / 9.81
    return 0.5 * 9.81 * min(t, until) ** 2 + FASTEST * max(t - until, 0)


def rectangle(rows, columns, begin, end, width):
    """A plane between two lines across, at (x, z) `begin` and `end`."""
    vertices, faces = cs.cloth.sheet(rows, columns, 1.0)
    across, along = (vertices[:, k] for k in (0, 1))
    x, z = (begin[k] + along * (end[k] - begin[k]) for k in (0, 1))
    return np.stack([x, width * (across - 0.5), z], axis=-1), faces


def planes():
    """Two inclined planes and the floor: 13,600 vertices."""
    pieces = [rectangle(60, 40, *ends, 1.2) for ends in PLANES]
    pieces.append(rectangle(110, 80, (-1.5, 0.0), (2.5, 0.0), 3.0))
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in pieces)])
    faces = [own + start for (_, own), start in zip(pieces, starts, strict=False)]
    return np.concatenate([vertices for vertices, _ in pieces]), np.concatenate(faces)


def ribbon():
    """Scene 2."""
    vertices, faces = cs.cloth.sheet(*RIBBON, (1.0, LENGTH))
    across, along = WIDTH * (vertices[:, 0] - 0.5), vertices[:, 1]
    distance, places = path()
    obstacle, obstacle_faces = planes()
    landed_x = 0.05 + (0.5 * FOLD / 1.4) * np.arcsin(0.985 * np.sin(np.pi * along / FOLD))
    landed_z = 0.01 + LAYER * along / FOLD

    def cloth_at(t):
        # Along the path, with waves that run down the ribbon; from its end on into folds.
        gone = fallen(t) - along
        x, z = (np.interp(gone, distance, places[:, k]) for k in (0, 1))
        laid = smooth((gone - distance[-1]) / 0.4 + 1)
        wave = 8e-3 * np.sin(25 * along + 8 * t) + 4e-3 * np.sin(12 * across - 5 * t + along)
        quiet = 1 - 0.98 * laid
        x, z = x + (landed_x - x) * laid + quiet * wave, z + (landed_z - z) * laid
        z += np.where(z < 3, 0.5 * np.abs(quiet * wave), 0)
        return np.stack([x, across, z], axis=-1)

    return Motion(5.5, 5e-3, 4e-3, cloth_at, faces, lambda _: obstacle, obstacle_faces)


SCENES = {"1a": lambda: dress("1a"), "1b": lambda: dress("1b"), "2": ribbon}
