"""Reading of recordings: frames of a cloth in a VTKHDF file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..io._frames import FrameReader
from ..io._hdf5 import Hdf5Reader
from ..io._json import from_json
from ..io._unclosed import mark_closed
from ..io.saved import READERS, check_header
from ._layout import (
    CLOTH,
    DIGEST,
    FRAMES,
    NEED,
    POINTS,
    POLYGONS,
    SOLVERS,
    STEPS,
    VALUES,
    VELOCITIES,
    Numbers,
    PathLike,
    cloth_digest,
    solver_digest,
    state_digest,
)

__all__ = ["Frame", "Recording"]

# Arrays that a cloth was made of: kinds of numbers and dimensions, and whether there always is one.
_ARRAYS = {
    "vertices": ("f", 2, True),
    "rest": ("f", 2, False),
    "attach": ("i", 1, True),
    "forces": ("f", 2, False),
    "partition": ("i", 1, False),
    "obstacle_vertices": ("f", 2, False),
    "obstacle_faces": ("i", 2, False),
}
# Tables with a row for each frame: kinds and columns.
_TABLES = {
    f"{FRAMES}/numbers": ("i", (len(Numbers._fields),)),
    f"{FRAMES}/hash": ("u", (2 * DIGEST,)),
    VALUES: ("f", ()),
    f"{STEPS}/PointOffsets": ("i", ()),
    f"{STEPS}/PointDataOffsets/velocity": ("i", ()),
}


class Frame(NamedTuple):
    """A cloth at the end of a step.

    Attributes
    ----------
    step, time
        The steps made, and the time [s].
    positions, velocities
        ``(n, 3)`` [m, m/s].
    """

    step: int
    time: float
    positions: np.ndarray
    velocities: np.ndarray


class Recording(FrameReader[Frame]):
    """A file that `Cloth.run` has written, or is writing; frames are read when they are asked for.

    ``len(recording)`` is the number of its whole frames when it was opened, and ``recording[k]`` a
    `Frame`.

    Parameters
    ----------
    path
        The file.

    Attributes
    ----------
    steps, times
        Of all frames, ``(frames,)``; times in seconds.
    hashes
        Of the states of all frames: texts, which are equal if the states have the same bits.
    faces
        ``(m, 3)``: numbers of vertices.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file is damaged, or has another format. If a frame is damaged, the message names it;
        others can be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import contactsolve as cs
    >>> vertices, faces = cs.cloth.sheet(3, 3, 1.0)
    >>> cloth = cs.cloth.Cloth(vertices, faces, density=0.2, young=100.0, attach=[0, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "sheet.vtkhdf")
    ...     cloth.run(0.5, 0.125, record=path)
    ...     with cs.cloth.Recording(path) as recording:
    ...         print(recording.times, recording[-1].positions.shape)
    ...     later = cs.cloth.Cloth.load(path, frame=2)
    [0.    0.125 0.25  0.375 0.5  ] (9, 3)
    >>> later.time
    0.25
    """

    def __init__(self, path: PathLike) -> None:
        self._reader = Hdf5Reader(Path(path), NEED, grows=True)
        try:
            self._check_kind()
            self._read_cloth()
            self._read_frames()
        except BaseException:
            self.close()
            raise

    def _check_kind(self) -> None:
        """Refuse files of other formats."""
        kind = check_header(self._reader, "Cloth.run")
        if kind != "cloth":
            raise self._reader.error(f"this file holds no recording of a cloth: {READERS[kind]}")

    def _read_cloth(self) -> None:
        """Read what does not change: options, arrays and faces."""
        reader, made = self._reader, {}
        for name, (kinds, dimensions, always) in _ARRAYS.items():
            if always or reader.has(f"{CLOTH}/{name}"):
                made[name] = reader.array(f"{CLOTH}/{name}", kinds, "numbers", (dimensions,))
        corners = reader.array(POLYGONS, "i", "integers", (1,))

        # Their hash.
        text = reader.fixed_text(f"{CLOTH}/options")
        wanted = reader.array(f"{CLOTH}/hash", "u", "unsigned integers", (1,)).tobytes()
        if cloth_digest(text, [(POLYGONS, corners), *made.items()]) != wanted:
            raise reader.error(
                f"/{CLOTH} or /{POLYGONS} is damaged: the hash of what the cloth was made of is "
                "another one"
            )
        with reader.making(f"/{CLOTH}/options"):
            self._made: dict[str, Any] = {**from_json(text, []), "arrays": made}
        self._faces = corners.reshape(-1, 3)

    def _read_frames(self) -> None:
        """Read what each frame has one row of."""
        reader = self._reader
        count = reader.mark("NSteps", STEPS)
        if not isinstance(count, int) or count < 0:
            raise reader.error(f"the attribute 'NSteps' of /{STEPS} is {count!r}: expected a count")
        self._count = count
        self._tables = {name: self._table(name, *of) for name, of in _TABLES.items()}
        self._numbers = self._tables[f"{FRAMES}/numbers"]
        self._hash = self._tables[f"{FRAMES}/hash"]

    def _table(self, name: str, kinds: str, columns: tuple[int, ...]) -> np.ndarray:
        """Return the rows of the frames that count."""
        rows = self._reader.part_of(name, kinds, 0, self._count)
        if rows.shape[1:] != columns:
            raise self._reader.error(
                f"/{name} has shape {rows.shape}: expected {(self._count, *columns)}"
            )
        return rows

    @classmethod
    def repair(cls, path: PathLike) -> None:
        """Close the file of a process that was killed, so that other programs open it, too.

        `Recording` and `Cloth.load` read such a file as it is. The process must have ended.

        Parameters
        ----------
        path
            The file. Its whole frames stay as they are.

        Raises
        ------
        FileNotFoundError
            There is no such file.
        ValueError
            The file is damaged, or has another format; it stays as it is.
        """
        with cls(path) as recording:
            count, h5py = len(recording), recording._reader.h5py
        mark_closed(Path(path))
        with h5py.File(path, "r+") as file:
            file[VALUES].resize(count, axis=0)  # there may be the time of another one

    # ---- frames ----------------------------------------------------------------------------------

    @property
    def faces(self) -> np.ndarray:
        """The faces, ``(m, 3)``."""
        return self._faces.copy()

    @property
    def times(self) -> np.ndarray:
        """The times [s], ``(frames,)``."""
        return self._tables[VALUES].copy()

    def __getitem__(self, frame: int) -> Frame:
        return self._frame(self._number(frame))

    def _frame(self, number: int) -> Frame:
        """Return a frame whose hash is right."""
        numbers = self._numbers_of(number)
        time = float(self._tables[VALUES][number])
        positions = self._vectors(number, POINTS, f"{STEPS}/PointOffsets")
        velocities = self._vectors(number, VELOCITIES, f"{STEPS}/PointDataOffsets/velocity")
        wanted = self._hash[number, :DIGEST].tobytes()
        if state_digest(numbers, time, positions, velocities) != wanted:
            raise self._damaged(number, "its hash is another one")
        return Frame(numbers.step, time, positions, velocities)

    def _numbers_of(self, number: int) -> Numbers:
        return Numbers(*self._numbers[number].tolist())

    def _vectors(self, number: int, name: str, offsets: str) -> np.ndarray:
        """Return a vector for each vertex, from where other programs also find them."""
        vertices = len(self._made["arrays"]["vertices"])
        begin, wanted = int(self._tables[offsets][number]), number * vertices
        if begin != wanted:
            raise self._damaged(number, f"/{offsets} is {begin}: expected {wanted}")
        return self._rows(number, name, begin, vertices)

    def _rows(self, number: int, name: str, begin: int, count: int) -> np.ndarray:
        """Return rows of a dataset for a frame."""
        if not self._reader.file:
            raise ValueError(f"{self._reader.path}: the recording is closed")
        try:
            return self._reader.part_of(name, "f", begin, begin + count)
        except ValueError as error:
            raise self._damaged(number, f"/{name} cannot be read") from error

    def _solver(self, number: int) -> tuple[float, np.ndarray, np.ndarray] | None:
        """Return the step that made the solver of a frame: its length, positions, velocities."""
        row, n = self._numbers_of(number).solver, len(self._made["arrays"]["vertices"])
        made, digest = None, bytes(DIGEST)
        if row >= 0:
            h = float(self._rows(number, f"{SOLVERS}/h", row, 1)[0])
            positions = self._rows(number, f"{SOLVERS}/positions", row * n, n)
            velocities = self._rows(number, f"{SOLVERS}/velocities", row * n, n)
            made, digest = (h, positions, velocities), solver_digest(h, positions, velocities)
        if digest != self._hash[number, DIGEST:].tobytes():
            raise self._damaged(number, "the hash of its solver is another one")
        return made

    def _damaged(self, number: int, why: str) -> ValueError:
        step = int(self._numbers[number, 0])
        return self._reader.error(f"frame {number} (step {step}) is damaged: {why}")
