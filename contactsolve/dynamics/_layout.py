"""The layout of recordings: what writers and readers of these files share.

`docs/files.md` lists the datasets. Arrays whose length differs from frame to frame are joined to
tables, which grow by rows; ``frames/rows`` has where each frame ends in each of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

__all__ = [
    "ARRAYS",
    "BODIES",
    "DIGEST",
    "FRAMES",
    "LAWS",
    "NEED",
    "NUMBERS",
    "PROBLEMS",
    "RECORD",
    "SHAPES",
    "WORLD",
    "Numbers",
    "digest_of",
    "state_digest",
    "world_digest",
]

NEED = "recordings need"

DIGEST = 16  # bytes

WORLD, FRAMES, RECORD, PROBLEMS = "world", "frames", "record", "problems"

# Groups with the arrays of a state, and with the tables of what is added to a world.
ARRAYS, LAWS, BODIES, SHAPES = "state", "laws", "bodies", "shapes"


class Numbers(NamedTuple):
    """The numbers of a frame.

    Attributes
    ----------
    step
        Steps made.
    laws, values, bodies, shapes, points
        Rows of the tables of laws, their parameters, bodies, shapes and their vertices.
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
    default: int
    unchecked: int
    missed: int


NUMBERS = len(Numbers._fields)


def digest_of(parts: list[bytes]) -> bytes:
    """Return a digest of several ones."""
    return hashlib.blake2b(b"".join(parts), digest_size=DIGEST).digest()


def world_digest(options: str, arrays: list[str], columns: list[str]) -> bytes:
    """Return the digest of what does not change in a recording."""
    return digest_of([text.encode() for text in (options, *arrays, "", *columns)])


def state_digest(numbers: Numbers, arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the digest of a state: of its numbers, and of names, shapes and bytes of its arrays.

    It does not depend on the byte order of the machine.
    """
    digest = hashlib.blake2b(np.array(numbers, "<i8").tobytes(), digest_size=DIGEST)
    for name, array in arrays.items():
        digest.update(f"{name} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).ravel().data)
    return digest.digest()
