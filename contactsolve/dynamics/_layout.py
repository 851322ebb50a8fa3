"""The layout of recordings: what writers and readers of these files share.

`docs/files.md` lists the datasets. Arrays whose length differs from frame to frame are joined to
tables, which grow by rows; ``frames/rows`` has where each frame ends in each of them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..io._frames import DIGEST

__all__ = [
    "ARRAYS",
    "BODIES",
    "DIGEST",
    "FRAMES",
    "JOINTS",
    "JOINTS_AT",
    "LAWS",
    "NEED",
    "NUMBERS",
    "PROBLEMS",
    "RECORD",
    "SHAPES",
    "STATE_OF_JOINTS",
    "TABLES",
    "WORLD",
    "Numbers",
    "PathLike",
    "digest_of",
    "empty_rows",
    "state_digest",
    "world_digest",
]

NEED = "recordings need"

WORLD, FRAMES, RECORD, PROBLEMS = "world", "frames", "record", "problems"

# Groups with the arrays of a state, and with the tables of what is added to a world.
ARRAYS, LAWS, BODIES, SHAPES, JOINTS = "state", "laws", "bodies", "shapes", "joints"


PathLike = str | os.PathLike[str]


class Table(NamedTuple):
    """A table of what is added to a world.

    Attributes
    ----------
    dtype
        Of its numbers.
    columns
        In the plane and in space; None: a row is one number.
    counted
        The number of a frame that counts its rows, a name of `Numbers`.
    """

    dtype: str
    columns: tuple[int, int] | None
    counted: str


# In the order in which they are written, and in which digests of them are joined.
TABLES = {
    f"{LAWS}/pair": Table("i8", (2, 2), "laws"),
    f"{LAWS}/set": Table("S32", None, "laws"),
    f"{LAWS}/rows": Table("i8", None, "laws"),
    f"{LAWS}/restitution": Table("f8", (2, 2), "laws"),
    f"{LAWS}/parameters": Table("i8", None, "laws"),
    f"{LAWS}/values": Table("f8", None, "values"),
    f"{BODIES}/mass": Table("f8", None, "bodies"),
    f"{BODIES}/inertia": Table("f8", (1, 9), "bodies"),
    f"{BODIES}/driven": Table("u1", None, "bodies"),
    f"{SHAPES}/kind": Table("S16", None, "shapes"),
    f"{SHAPES}/numbers": Table("f8", (4, 4), "shapes"),
    f"{SHAPES}/size": Table("i8", (2, 2), "shapes"),
    f"{SHAPES}/points": Table("f8", (2, 3), "points"),
    f"{SHAPES}/body": Table("i8", None, "shapes"),
    f"{SHAPES}/position": Table("f8", (2, 3), "shapes"),
    f"{SHAPES}/orientation": Table("f8", (1, 4), "shapes"),
    f"{SHAPES}/material": Table("i8", None, "shapes"),
    f"{JOINTS}/kind": Table("S16", None, "joints"),
    f"{JOINTS}/body": Table("i8", (2, 2), "joints"),
    f"{JOINTS}/numbers": Table("f8", (32, 32), "joints"),
    f"{JOINTS}/flags": Table("i8", (2, 2), "joints"),
}


class Numbers(NamedTuple):
    """The numbers of a frame.

    Attributes
    ----------
    step
        Steps made.
    laws, values, bodies, shapes, points, joints
        Rows of the tables of laws, their parameters, bodies, shapes, their vertices, and joints.
    default, unchecked
        The default material, and the first shape whose overlaps were not tested; −1: none.
    missed
        Steps whose solve missed its tolerance.
    """

    step: int
    laws: int
    values: int
    bodies: int
    shapes: int
    points: int
    joints: int
    default: int
    unchecked: int
    missed: int


NUMBERS = len(Numbers._fields)

# Where joints are counted. Recordings from before there were joints have neither this number nor
# their tables, nor these arrays of a state, of which there are no rows then.
JOINTS_AT = Numbers._fields.index("joints")
STATE_OF_JOINTS: dict[str, np.ndarray] = {
    "joint_removed": np.empty((0, 1), np.uint8),
    "joint_drive": np.empty((0, 4)),
    "joint_coordinate": np.empty((0, 1)),
    "joint_impulse": np.empty((0, 8)),
}


def digest_of(parts: list[bytes]) -> bytes:
    """Return a digest of several ones."""
    return hashlib.blake2b(b"".join(parts), digest_size=DIGEST).digest()


def world_digest(options: str, arrays: list[str], columns: list[str]) -> bytes:
    """Return the digest of what does not change in a recording."""
    return digest_of([text.encode() for text in (options, *arrays, "", *columns)])


def empty_rows(table: Table) -> np.ndarray:
    """Return no rows of a table of a world in space."""
    return np.empty((0,) if table.columns is None else (0, table.columns[1]), table.dtype)


def state_digest(numbers: Sequence[int], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the digest of a state: of its numbers, and of names, shapes and bytes of its arrays.

    It does not depend on the byte order of the machine.
    """
    digest = hashlib.blake2b(np.array(numbers, "<i8").tobytes(), digest_size=DIGEST)
    for name, array in arrays.items():
        digest.update(f"{name} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).ravel().data)
    return digest.digest()
