"""The layout of recordings of a cloth: what writers and readers of these files share.

The group VTKHDF has what other programs read: the format VTKHDF 2.2, PolyData with time steps
(https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format). Beside it stand what a cloth
was made of, and hashes. `docs/files.md` lists the datasets.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..io._frames import DIGEST

__all__ = [
    "CELLS",
    "CLOTH",
    "CONTACTS",
    "DIGEST",
    "FRAMES",
    "NEED",
    "POINTS",
    "POLYGONS",
    "SOLVERS",
    "STEPS",
    "VALUES",
    "VELOCITIES",
    "VTK",
    "VTK_VERSION",
    "Numbers",
    "PathLike",
    "cloth_digest",
    "contacts_digest",
    "solver_digest",
    "state_digest",
]

NEED = "recordings need"

VTK, CLOTH, SOLVERS, FRAMES = "VTKHDF", "cloth", "solvers", "frames"
CONTACTS = "contacts"  # of a cloth with collisions
VTK_VERSION = (2, 2)

POINTS, VELOCITIES, STEPS = f"{VTK}/Points", f"{VTK}/PointData/velocity", f"{VTK}/Steps"
VALUES = f"{STEPS}/Values"  # the times

# The kinds of cells that PolyData have, in the order of the columns of offsets.
CELLS = ("Vertices", "Lines", "Polygons", "Strips")
POLYGONS = f"{VTK}/Polygons/Connectivity"

PathLike = str | os.PathLike[str]


class Numbers(NamedTuple):
    """The numbers of a frame.

    Attributes
    ----------
    step
        Steps made.
    missed
        Steps whose solve missed its tolerance.
    newton
        Linear solves of a step.
    solver
        The row of the solver that is kept from step to step; −1: the next step makes one.
    """

    step: int
    missed: int
    newton: int
    solver: int


def cloth_digest(options: str, arrays: Iterable[tuple[str, np.ndarray]]) -> bytes:
    """Return the digest of what does not change in a recording: a text, and named arrays."""
    digest = hashlib.blake2b(options.encode(), digest_size=DIGEST)
    for name, array in arrays:
        digest.update(f"{name} {array.shape}".encode())
        _add(digest, array)
    return digest.digest()


def state_digest(
    numbers: Numbers, time: float, positions: np.ndarray, velocities: np.ndarray
) -> bytes:
    """Return the digest of a state, whatever its solver."""
    return _digest(np.array(numbers[:-1], np.int64), np.array(time), positions, velocities)


def solver_digest(h: float, positions: np.ndarray, velocities: np.ndarray) -> bytes:
    """Return the digest of the step that made a solver."""
    return _digest(np.array(h), positions, velocities)


def contacts_digest(
    obstacles: np.ndarray, keys: np.ndarray, forces: np.ndarray, counts: np.ndarray
) -> bytes:
    """Return the digest of what collisions keep: places of obstacles, and forces of contacts."""
    return _digest(obstacles, keys, forces, counts)


def _digest(*arrays: np.ndarray) -> bytes:
    """Return a digest of arrays, which does not depend on the byte order of the machine."""
    digest = hashlib.blake2b(digest_size=DIGEST)
    for array in arrays:
        _add(digest, array)
    return digest.digest()


def _add(digest: hashlib.blake2b, array: np.ndarray) -> None:
    """Add the bytes of an array."""
    digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).ravel().data)
