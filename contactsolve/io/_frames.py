"""Reading of recordings, of worlds and of cloths: frames by number in an open HDF5 file."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

import numpy as np

from .._arrays import index
from ._hdf5 import Hdf5Reader

__all__ = ["DIGEST", "FrameReader"]

DIGEST = 16  # bytes of a hash

FrameType = TypeVar("FrameType")


class FrameReader(Generic[FrameType]):
    """What recordings have in common; those that inherit it read `_frame` and set the rest."""

    _reader: Hdf5Reader
    _numbers: np.ndarray  # (frames, ...): the first column has the steps made
    _hash: np.ndarray  # (frames, ...): the first `DIGEST` bytes are the state's

    def _frame(self, number: int) -> FrameType:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what has been read of all frames, such as `times`, stays."""
        self._reader.file.close()

    def __len__(self) -> int:
        return len(self._hash)

    def __repr__(self) -> str:
        return f"Recording({str(self._reader.path)!r}, {len(self)} frames)"

    def __iter__(self) -> Iterator[FrameType]:
        return map(self._frame, range(len(self)))

    @property
    def steps(self) -> np.ndarray:
        """The steps made at each frame, ``(frames,)``."""
        return self._numbers[:, 0].copy()

    @property
    def hashes(self) -> list[str]:
        """The hashes of the states."""
        return [one[:DIGEST].tobytes().hex() for one in self._hash]

    def _number(self, frame: int) -> int:
        """Return the number of a frame, counted from the beginning."""
        frame, count = index("frame", frame), len(self)
        if not -count <= frame < count:
            raise IndexError(f"{self._reader.path} has {count} frames: {frame} is none of them")
        return frame % count
