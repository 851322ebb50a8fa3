"""Reading of recordings: frames of a world in an HDF5 file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..io._frames import FrameReader
from ..io._hdf5 import Hdf5Reader
from ..io._json import from_json
from ..io.saved import READERS, check_header, problem_of_image
from ..problem import Problem
from ._layout import (
    ARRAYS,
    DIGEST,
    FRAMES,
    JOINTS_AT,
    NEED,
    NUMBERS,
    PROBLEMS,
    RECORD,
    STATE_OF_JOINTS,
    TABLES,
    WORLD,
    Numbers,
    PathLike,
    digest_of,
    empty_rows,
    state_digest,
    world_digest,
)
from .contacts import Contacts
from .record import Record, padded

__all__ = ["Frame", "Recording", "Tables"]

Tables = dict[str, np.ndarray]

# Which array of a state a column of a record is.
_COLUMNS = {"positions": "position", "orientations": "orientation", "velocities": "velocity"}


class Frame(NamedTuple):
    """A world at the end of a step.

    Attributes
    ----------
    step, time
        The steps made, and the time [s].
    positions, orientations, velocities, removed
        Of all bodies that had been added, as `World` has them.
    contacts
        The closed contacts of the step.
    """

    step: int
    time: float
    positions: np.ndarray
    orientations: np.ndarray
    velocities: np.ndarray
    removed: np.ndarray
    contacts: Contacts


class Recording(FrameReader[Frame]):
    """A file that `World.run` has written, or is writing; frames are read when they are asked for.

    ``len(recording)`` is the number of its whole frames when it was opened, ``recording[k]`` a
    `Frame`, and ``recording["time"]`` a column of what was recorded, a row for each frame.

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
    columns
        The names of the columns, with ``"positions"``, ``"orientations"`` and ``"velocities"``,
        which every file has.
    problems
        The number of contact problems in the file, and the steps that they belong to are
        `problem_steps`.

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
    >>> world = cs.dynamics.World(time_step=0.25, gravity=[0, 0, 0])
    >>> ball = world.add_body(
    ...     cs.dynamics.Sphere(0.1), density=1000.0, velocity=[1, 0, 0, 0, 0, 0]
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "ball.h5")
    ...     record = world.run(4, file=path)
    ...     with cs.dynamics.Recording(path) as recording:
    ...         print(recording.times, recording[-1].positions)
    ...     later = cs.dynamics.World.load(path, frame=2)
    [0.   0.25 0.5  0.75 1.  ] [[1. 0. 0.]]
    >>> later.time
    0.5
    """

    def __init__(self, path: PathLike) -> None:
        self._reader = Hdf5Reader(Path(path), NEED, grows=True)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        reader = self._reader
        kind = check_header(reader, "World.run")
        if kind != "recording":
            raise reader.error(f"this file holds no recording of a world: {READERS[kind]}")
        self._arrays = reader.fixed_texts(f"{WORLD}/arrays")
        self._recorded = [name for name in reader.fixed_texts(f"{WORLD}/record") if name]
        text = reader.fixed_text(f"{WORLD}/options")
        digest = reader.array(f"{WORLD}/hash", "u", "unsigned integers", (1,)).tobytes()
        if world_digest(text, self._arrays, self._recorded) != digest:
            raise reader.error(f"/{WORLD} is damaged: its hash is another one")
        self._options: dict[str, Any] = from_json(text, [])
        self._time_step = self._options["own"]["time_step"]

        # A frame counts once its hash is in the file.
        count = reader.length(f"{FRAMES}/hash")
        self._hash = reader.part_of(f"{FRAMES}/hash", "u", 0, count)
        self._numbers = reader.part_of(f"{FRAMES}/numbers", "i", 0, count)
        self._ends = reader.part_of(f"{FRAMES}/rows", "i", 0, count)
        self._has_joints = self._numbers.shape != (count, NUMBERS - 1)
        if not self._has_joints:
            self._numbers = np.insert(self._numbers, JOINTS_AT, 0, axis=1)
            self._options["own"].setdefault("tension", "explicit")
        widths = {"hash": 2 * DIGEST, "numbers": NUMBERS, "rows": len(self._arrays)}
        for name, width in widths.items():
            found = {"hash": self._hash, "numbers": self._numbers, "rows": self._ends}[name]
            if found.shape != (count, width):
                raise reader.error(
                    f"/{FRAMES}/{name} has shape {found.shape}: expected {(count, width)}"
                )
        kept = reader.length(f"{PROBLEMS}/hash")
        self._problem_hash = reader.part_of(f"{PROBLEMS}/hash", "u", 0, kept)
        self._problem_ends = reader.part_of(f"{PROBLEMS}/end", "i", 0, kept)

    # ---- frames ----------------------------------------------------------------------------------

    @property
    def times(self) -> np.ndarray:
        """The times [s], ``(frames,)``."""
        return self.steps * self._time_step

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*self._recorded, *Record.of_bodies)

    def __getitem__(self, key: int | str) -> Any:
        return self._column(key) if isinstance(key, str) else self._frame(self._number(key))

    def _frame(self, number: int) -> Frame:
        numbers, state = self._state(number)
        turns = state["orientation"]
        contact = {
            name: state[f"contact_{name}"] for name in ("body", "point", "normal", "gap", "impulse")
        }
        ids = np.column_stack([state["contact_shape"], state["contact_feature"]])
        return Frame(
            numbers.step,
            numbers.step * self._time_step,
            state["position"],
            turns[:, 0] if turns.shape[1] == 1 else turns,
            state["velocity"],
            state["removed"][:, 0] != 0,
            Contacts(
                ids,
                contact["body"],
                contact["point"],
                contact["normal"],
                contact["gap"][:, 0],
                contact["impulse"],
            ),
        )

    def _column(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise KeyError(f"no column {name!r}; recorded: {', '.join(self.columns)}")
        if name in self._recorded:
            return self._reader.part_of(f"{RECORD}/{name}", "biuf", 0, len(self))
        rows = [self._state(number)[1][_COLUMNS[name]] for number in range(len(self))]
        column = padded(rows)
        return column[..., 0] if column.shape[-1] == 1 else column

    # ---- problems --------------------------------------------------------------------------------

    @property
    def problems(self) -> int:
        """The number of contact problems in the file."""
        return len(self._problem_hash)

    @property
    def problem_steps(self) -> np.ndarray:
        """The steps that solved these problems."""
        return self._problem_ends[:, 0].copy()

    def problem(self, k: int) -> Problem:
        """Return the k-th contact problem that the run kept, bit for bit."""
        count = self.problems
        if not -count <= k < count:
            raise IndexError(f"{self._reader.path} has {count} problems: {k} is none of them")
        number = int(k) % count
        begin = 0 if number == 0 else int(self._problem_ends[number - 1, 1])
        end = int(self._problem_ends[number, 1])
        image = self._reader.part_of(f"{PROBLEMS}/bytes", "u", begin, end).tobytes()
        if digest_of([image]) != self._problem_hash[number].tobytes():
            raise self._reader.error(f"problem {number} is damaged: its hash is another one")
        return problem_of_image(self._reader.path, f"problem {number}", image)

    # ---- what worlds are made of -----------------------------------------------------------------

    def _state(self, number: int) -> tuple[Numbers, Tables]:
        """Return the numbers of a frame and the arrays of its state, of which the hash is right."""
        numbers = Numbers(*self._numbers[number].tolist())
        begins = self._ends[number - 1] if number else np.zeros_like(self._ends[0])
        state = {}
        for name, begin, end in zip(self._arrays, begins, self._ends[number], strict=True):
            state[name] = self._rows(number, f"{ARRAYS}/{name}", "fiu", int(begin), int(end))
        counted = [one for k, one in enumerate(numbers) if self._has_joints or k != JOINTS_AT]
        if state_digest(counted, state) != self._hash[number, :DIGEST].tobytes():
            raise self._damaged(number, "its hash is another one")
        return numbers, state if self._has_joints else {**state, **STATE_OF_JOINTS}

    def _tables(self, number: int, numbers: Numbers) -> Tables:
        """Return what had been added to the world at a frame."""
        tables = {
            name: self._rows(
                number, name, np.dtype(table.dtype).kind, 0, getattr(numbers, table.counted)
            )
            for name, table in TABLES.items()
            if self._has_joints or table.counted != "joints"
        }
        digests = [
            hashlib.blake2b(_little(rows).tobytes(), digest_size=DIGEST).digest()
            for rows in tables.values()
        ]
        if digest_of(digests) != self._hash[number, DIGEST:].tobytes():
            raise self._damaged(number, "the hash of its bodies and materials is another one")
        return {name: tables.get(name, empty_rows(table)) for name, table in TABLES.items()}

    def _rows(self, number: int, name: str, kinds: str, begin: int, end: int) -> np.ndarray:
        """Return rows of a dataset for a frame."""
        try:
            return self._reader.part_of(name, kinds, begin, end)
        except ValueError as error:
            raise self._damaged(number, f"/{name} cannot be read") from error

    def _damaged(self, number: int, why: str) -> ValueError:
        step = int(self._numbers[number, 0])
        return self._reader.error(f"frame {number} (step {step}) is damaged: {why}")


def _little(rows: np.ndarray) -> np.ndarray:
    """Return an array in the byte order of digests."""
    return np.ascontiguousarray(rows, rows.dtype.newbyteorder("<"))
