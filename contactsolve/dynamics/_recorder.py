"""Writing of recordings: frames of a world in an HDF5 file that is readable at all times.

The file is written in HDF5's mode for a single writer and many readers (SWMR): after a flush,
readers find a whole file even if the writer is killed. A frame counts once its hash, which is
written last, is in the file.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import secrets
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from .._optional import optional
from ..io._hdf5 import FORMAT, refuse_existing
from ..io._json import to_json
from ..io._problems import write_text, write_texts
from ..io._unclosed import HEAD, length_of
from ..io.saved import problem_image, write_header
from ._layout import (
    ARRAYS,
    BODIES,
    DIGEST,
    FRAMES,
    LAWS,
    NEED,
    NUMBERS,
    PROBLEMS,
    RECORD,
    SHAPES,
    TABLES,
    WORLD,
    Numbers,
    PathLike,
    digest_of,
    state_digest,
    world_digest,
)
from .record import Record

if TYPE_CHECKING:
    from ..problem import Problem
    from .world import World

__all__ = ["Recorder"]

_HASH = f"{FRAMES}/hash"

# A chunk holds this many frames, within limits in bytes.
_FRAMES_OF_CHUNK = 8
_CHUNK = (2**13, 2**20)

# Room on the disk for HDF5's own structures, beyond that of a write.
_MARGIN = 2**20
# File systems that cannot reserve room say so.
_CANNOT_RESERVE = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)

# Frames are written at once, unless writing would take more than a tenth of the time.
_SHARE = 0.1
_MOST_WAITING = 2**22  # bytes


class _Table:
    """A dataset that grows by rows."""

    def __init__(self, name: str, like: np.ndarray, expected: int = 1) -> None:
        row = max(like[:1].nbytes, like.dtype.itemsize * math.prod(like.shape[1:]), 1)
        least, most = (max(1, size // row) for size in _CHUNK)
        self.name, self._like, self._row = name, like, row
        self._chunk = min(max(expected * _FRAMES_OF_CHUNK, least), most)
        self._node: Any = None

    def make(self, file: Any) -> None:
        """Make the dataset."""
        each = self._like.shape[1:]
        self._node = file.create_dataset(
            self.name,
            shape=(0, *each),
            maxshape=(None, *each),
            chunks=(self._chunk, *each),
            dtype=self._like.dtype,
        )

    def write(self, rows: list[np.ndarray], end: int) -> None:
        """Write the rows before `end`, whatever there is already."""
        joined = rows[0] if len(rows) == 1 else np.concatenate(rows)
        self._node.resize(end, axis=0)
        if len(joined):
            self._node[end - len(joined) :] = joined
        self._node.flush()

    def room(self, rows: list[np.ndarray]) -> int:
        """The most bytes that a write adds to the file."""
        return (sum(map(len, rows)) // self._chunk + 2) * self._chunk * self._row


class _Kept(NamedTuple):
    """What a recorder has taken. It is replaced as a whole, so that Ctrl-C never leaves a part."""

    waiting: tuple[tuple[str, np.ndarray], ...]  # rows by table, not written yet
    counts: dict[str, int]  # rows of each table, with those
    digests: dict[str, Any]  # of the tables of what is added to a world
    laws: int
    shapes: int
    step: int  # of the last frame

    def plus(self, rows: list[tuple[str, np.ndarray]]) -> _Kept:
        """Return this with more rows."""
        counts, digests = dict(self.counts), dict(self.digests)
        for name, added in rows:
            counts[name] += len(added)
            if name in digests:
                digests[name] = digests[name].copy()
                digests[name].update(np.ascontiguousarray(added).tobytes())
        return self._replace(waiting=(*self.waiting, *rows), counts=counts, digests=digests)


class Recorder:
    """Writes the frames of a run.

    The file has a temporary name in the same folder until its first frame is written.
    """

    def __init__(
        self, path: PathLike, world: World, row: dict[str, Any], *, overwrite: bool
    ) -> None:
        h5py = optional("h5py", NEED)
        self._path = Path(path)
        refuse_existing(self._path, overwrite)
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise FileNotFoundError(f"the folder of {path} does not exist")
        temporary = target.with_name(f".{FORMAT}-{secrets.token_hex(8)}.tmp")

        self._written, self._cost = -np.inf, 0.0
        self._broken = False
        self._tables = self._all_tables(world, row)
        self._file: Any = None
        self._descriptor = -1
        try:
            self._file = h5py.File(temporary, "x", libver="latest")
            self._descriptor = os.open(temporary, os.O_RDWR)
            self._begin(world)
            self.frame(world, row)
            refuse_existing(self._path, overwrite)
            os.replace(temporary, target)
        except BaseException:
            self.close()
            raise
        finally:
            temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---- the file --------------------------------------------------------------------------------

    def _all_tables(self, world: World, row: dict[str, Any]) -> dict[str, _Table]:
        """Return the tables by name, in the order in which they are written."""
        state = world._core.save()
        bodies = max(world.bodies, 1)

        # What is added to a world.
        tables = []
        for name, table in TABLES.items():
            columns = () if table.columns is None else (table.columns[world.dimension - 2],)
            tables.append(_Table(name, np.empty((0, *columns), table.dtype)))
        digests = {one.name: hashlib.blake2b(digest_size=DIGEST) for one in tables}

        # Problems, states, the rows of the record; at last what makes a frame whole.
        tables += [_Table(f"{PROBLEMS}/bytes", np.empty(0, "u1"), 2**13)]
        tables += [_Table(f"{PROBLEMS}/end", np.empty((0, 2), "i8"))]
        tables += [_Table(f"{PROBLEMS}/hash", np.empty((0, DIGEST), "u1"))]
        state.pop("force")
        self._arrays = list(state)
        for name, array in state.items():
            tables.append(_Table(f"{ARRAYS}/{name}", array, len(array) or 3 * bodies))
        self._columns = [name for name in row if name not in Record.of_bodies]
        tables += [_Table(f"{RECORD}/{name}", np.array([row[name]])) for name in self._columns]
        tables += [
            _Table(f"{FRAMES}/numbers", np.empty((0, NUMBERS), "i8")),
            _Table(f"{FRAMES}/rows", np.empty((0, len(self._arrays)), "i8")),
            _Table(_HASH, np.empty((0, 2 * DIGEST), "u1")),
        ]
        self._kept = _Kept((), dict.fromkeys((one.name for one in tables), 0), digests, 0, 0, -1)
        return {one.name: one for one in tables}

    def _begin(self, world: World) -> None:
        """Write what does not change, and turn to the mode of a single writer."""
        write_header(self._file, "recording")
        given = {**world._given, "forces": world.forces is not None}
        text, arrays = to_json("the world", {**given, "allow_overlap": world._allow_overlap})
        if arrays:
            raise TypeError("the world has an option that is an array, which cannot be recorded")
        group = self._file.create_group(WORLD)
        write_text(group, "options", text)
        write_texts(group, "arrays", self._arrays)
        write_texts(group, "record", self._columns or [""])
        group["hash"] = np.frombuffer(world_digest(text, self._arrays, self._columns), np.uint8)
        for table in self._tables.values():
            table.make(self._file)
        self._file.swmr_mode = True

    def _write(self) -> None:
        """Write what waits; after an interruption the next call writes it again."""
        begun, kept = time.perf_counter(), self._kept
        waiting: dict[str, list[np.ndarray]] = {}
        for name, rows in kept.waiting:
            waiting.setdefault(name, []).append(rows)
        try:
            self._reserve(sum(self._tables[name].room(rows) for name, rows in waiting.items()))
            for name, table in self._tables.items():
                if name in waiting:
                    table.write(waiting[name], kept.counts[name])
        except (OSError, RuntimeError) as error:
            self._broken = True
            number = getattr(error, "errno", None)
            reason = os.strerror(number) if number else " ".join(str(error).split())
            last = kept.counts[_HASH] - 1
            raise OSError(
                number or 0, f"{self._path}: frame {last} cannot be written: {reason}"
            ) from error
        self._kept = kept._replace(waiting=())
        self._written = time.perf_counter()
        self._cost = self._written - begun

    def _reserve(self, size: int) -> None:
        """Reserve room on the disk: HDF5 cannot go on after a write for which there is none."""
        if not hasattr(os, "posix_fallocate"):
            return
        try:
            os.posix_fallocate(self._descriptor, self._file.id.get_filesize(), size + _MARGIN)
        except OSError as error:
            if error.errno not in _CANNOT_RESERVE:
                raise

    def close(self) -> None:
        """Write what waits, and close the file."""
        try:
            if self._descriptor >= 0 and self._kept.waiting and not self._broken:
                self._write_all()
        finally:
            try:
                if self._file is not None:
                    self._file.close()
                if self._descriptor >= 0:
                    self._cut_off()
            finally:
                if self._descriptor >= 0:
                    os.close(self._descriptor)

    def _write_all(self) -> None:
        """Write what waits, also where Ctrl-C interrupts it."""
        try:
            self._write()
        except KeyboardInterrupt:
            self._write()
            raise

    def _cut_off(self) -> None:
        """Cut off the room that was reserved and not needed."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        length = length_of(os.read(self._descriptor, HEAD))
        if length is not None and length < os.fstat(self._descriptor).st_size:
            os.ftruncate(self._descriptor, length)

    # ---- frames ----------------------------------------------------------------------------------

    def waits_for(self, step: int) -> bool:
        """Whether there can be a frame of this step, and is none."""
        return self._kept.step != step and not self._broken

    def frame(self, world: World, row: dict[str, Any]) -> None:
        """Add the world as it is, and a row of its record."""
        kept = self._kept.plus(
            [
                *self._new_laws(world),
                *_new_bodies(world, self._kept.counts),
                *self._new_shapes(world),
            ]
        )
        kept = kept._replace(laws=len(world._laws), shapes=len(world._shapes), step=world.steps)

        # The state, and the row of the record.
        state = world._core.save()
        arrays = {name: state[name] for name in self._arrays}
        rows = [(f"{ARRAYS}/{name}", array) for name, array in arrays.items()]
        rows += [(f"{RECORD}/{name}", np.array([row[name]])) for name in self._columns]
        kept = kept.plus(rows)

        # Where the frame ends in each table, and its hash.
        numbers = _numbers(world, kept.counts)
        ends = [kept.counts[f"{ARRAYS}/{name}"] for name in self._arrays]
        structure = digest_of([one.digest() for one in kept.digests.values()])
        digest = np.frombuffer(state_digest(numbers, arrays) + structure, np.uint8)
        self._kept = kept.plus(
            [
                (f"{FRAMES}/numbers", np.array([numbers])),
                (f"{FRAMES}/rows", np.array([ends])),
                (_HASH, digest[None]),
            ]
        )
        self._write_in_time()

    def problem(self, problem: Problem, step: int) -> None:
        """Add a contact problem."""
        image = np.frombuffer(problem_image(problem), np.uint8)
        kept = self._kept.plus([(f"{PROBLEMS}/bytes", image)])
        end = kept.counts[f"{PROBLEMS}/bytes"]
        digest = np.frombuffer(digest_of([image.tobytes()]), np.uint8)
        self._kept = kept.plus(
            [
                (f"{PROBLEMS}/end", np.array([[step, end]])),
                (f"{PROBLEMS}/hash", digest[None]),
            ]
        )
        self._write_in_time()

    def _write_in_time(self) -> None:
        """Write, unless little waits and writing has just taken its share of the time."""
        since = time.perf_counter() - self._written
        waiting = sum(rows.nbytes for _, rows in self._kept.waiting)
        if waiting > _MOST_WAITING or since * _SHARE > self._cost:
            self._write()

    def _new_laws(self, world: World) -> list[tuple[str, np.ndarray]]:
        """Return the rows of materials, and of laws of pairs, since the last frame."""
        new = world._laws[self._kept.laws :]
        if not new:
            return []
        for _, (name, *_) in new:
            if name == "support_function":
                raise TypeError(
                    "a material has a set of a Python function, which belongs to this process: a "
                    "run with such a material cannot be recorded in a file"
                )
        values = [law[2] for _, law in new]
        return [
            (f"{LAWS}/pair", np.array([pair for pair, _ in new], np.int64)),
            (f"{LAWS}/set", np.array([law[0].encode() for _, law in new], "S32")),
            (f"{LAWS}/rows", np.array([law[1] for _, law in new], np.int64)),
            (f"{LAWS}/restitution", np.array([law[3:] for _, law in new])),
            (f"{LAWS}/parameters", np.array([len(one) for one in values], np.int64)),
            (f"{LAWS}/values", np.concatenate(values).astype(np.float64)),
        ]

    def _new_shapes(self, world: World) -> list[tuple[str, np.ndarray]]:
        new = world._shapes[self._kept.shapes :]
        if not new:
            return []
        shapes = [one.shape for one in new]
        numbers = np.zeros((len(new), 4))
        for line, shape in zip(numbers, shapes, strict=True):
            line[: len(shape.numbers)] = shape.numbers
        points = [one._vertices for one in shapes if one._vertices is not None]
        sizes = [
            (len(one.numbers), 0 if one._vertices is None else len(one._vertices)) for one in shapes
        ]
        rows = [
            (f"{SHAPES}/kind", np.array([one.kind.encode() for one in shapes], "S16")),
            (f"{SHAPES}/numbers", numbers),
            (f"{SHAPES}/size", np.array(sizes, np.int64)),
            (f"{SHAPES}/body", np.array([one.body for one in new], np.int64)),
            (f"{SHAPES}/position", np.array([one.position for one in new])),
            (f"{SHAPES}/orientation", np.array([one.orientation for one in new])),
            (
                f"{SHAPES}/material",
                np.array([world._number(one.material) for one in new], np.int64),
            ),
        ]
        if points:
            rows.append((f"{SHAPES}/points", np.concatenate(points)))
        return rows


def _new_bodies(world: World, counts: dict[str, int]) -> list[tuple[str, np.ndarray]]:
    """Return the rows of bodies since the last frame."""
    state, begin = world._state, counts[f"{BODIES}/mass"]
    if len(state["mass"]) == begin:
        return []
    return [
        (f"{BODIES}/mass", state["mass"][begin:].copy()),
        (f"{BODIES}/inertia", state["inertia"][begin:].copy()),
        (f"{BODIES}/driven", state["driven"][begin:].astype(np.uint8)),
    ]


def _numbers(world: World, counts: dict[str, int]) -> Numbers:
    """Return the numbers of a frame."""
    tables = (
        f"{LAWS}/rows",
        f"{LAWS}/values",
        f"{BODIES}/mass",
        f"{SHAPES}/body",
        f"{SHAPES}/points",
    )
    default = world._materials.get(id(world._default), -1)
    unchecked = -1 if world._unchecked is None else world._unchecked
    ends = [counts[name] for name in tables]
    return Numbers._make([world.steps, *ends, default, unchecked, world._summed().missed])
