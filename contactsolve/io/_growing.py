"""HDF5 files that grow while a simulation runs, and are readable at all times.

Such a file is written in HDF5's mode for a single writer and many readers (SWMR): after a flush,
readers find a whole file even if the writer is killed. Its datasets are tables that grow by rows.
They are written in a fixed order, of which the last one tells what counts.
"""

from __future__ import annotations

import errno
import math
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from contactsolve._optional import optional
from contactsolve.io._hdf5 import FORMAT, refuse_existing
from contactsolve.io._unclosed import HEAD, length_of

__all__ = ["GrowingFile", "Table", "Taken"]

# HDF5 before 1.10 lacks SWMR; what later versions add, many programs cannot read yet.
_VERSIONS = ("v110", "v110")

# A chunk holds this many frames, within limits in bytes.
_FRAMES_OF_CHUNK = 8
_CHUNK = (2**13, 2**20)

# Room on the disk for HDF5's own structures, beyond that of a write.
_MARGIN = 2**20
# File systems that cannot reserve room say so.
_CANNOT_RESERVE = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)

# Rows are written at once, unless writing would take more than a tenth of the time.
_SHARE = 0.1
_MOST_WAITING = 2**22  # bytes

Rows = list[tuple[str, np.ndarray]]


class Table:
    """A dataset that grows by rows.

    Parameters
    ----------
    name
        Of the dataset.
    like
        An array whose rows have shape and type of those of the table; it may be empty.
    expected
        Rows of a frame, about.
    """

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

    def cut(self, end: int) -> None:
        """Remove the rows from `end` on."""
        self._node.resize(end, axis=0)

    def room(self, rows: list[np.ndarray]) -> int:
        """The most bytes that a write adds to the file."""
        return (sum(map(len, rows)) // self._chunk + 2) * self._chunk * self._row


class Taken(NamedTuple):
    """What a file has taken. It is replaced as a whole, so that Ctrl-C never leaves a part.

    Attributes
    ----------
    waiting
        Rows by table, not written yet.
    counts
        Rows of each table, with those.
    digests
        Of the rows of some tables.
    own
        What else the writer knows of them.
    """

    waiting: tuple[tuple[str, np.ndarray], ...]
    counts: dict[str, int]
    digests: dict[str, Any]
    own: Any

    def plus(self, rows: Rows) -> Taken:
        """Return this with more rows."""
        counts, digests = dict(self.counts), dict(self.digests)
        for name, added in rows:
            counts[name] += len(added)
            if name in digests:
                digests[name] = digests[name].copy()
                digests[name].update(np.ascontiguousarray(added).tobytes())
        return self._replace(waiting=(*self.waiting, *rows), counts=counts, digests=digests)


class GrowingFile:
    """A file that takes rows of tables, and writes them in time.

    Parameters
    ----------
    path
        The file. It has a temporary name in the same folder until its first rows are written.
    what
        Subject and verb of the error message if h5py is missing.
    tables
        In the order in which they are written.
    frames
        The name of the table that has a row for each frame, for errors.
    overwrite
        Whether the file may replace another one.
    """

    def __init__(
        self, path: Path, what: str, tables: Iterable[Table], frames: str, *, overwrite: bool
    ) -> None:
        self._h5py = optional("h5py", what)
        self._path, self._frames, self._overwrite = path, frames, overwrite
        self._tables = {one.name: one for one in tables}
        self._taken = Taken((), dict.fromkeys(self._tables, 0), {}, None)
        self._written, self._cost = -np.inf, 0.0
        self._broken = False
        self._file: Any = None
        self._descriptor = -1

    def _open(self, begin: Callable[[Any], None], first: Callable[[], None], room: int = 0) -> None:
        """Open the file: `begin` writes what does not change, `first` adds the first rows.

        `room`: bytes of large arrays that do not change.
        """
        refuse_existing(self._path, self._overwrite)
        target = Path(os.path.realpath(self._path))
        if not target.parent.is_dir():
            raise FileNotFoundError(f"the folder of {self._path} does not exist")
        temporary = target.with_name(f".{FORMAT}-{secrets.token_hex(8)}.tmp")
        try:
            self._file = self._h5py.File(temporary, "x", libver=_VERSIONS)
            self._descriptor = os.open(temporary, os.O_RDWR)
            with self._writing(0):
                self._reserve(room)
                begin(self._file)
                for table in self._tables.values():
                    table.make(self._file)
                self._file.swmr_mode = True
            first()
            refuse_existing(self._path, self._overwrite)
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

    # ---- rows ------------------------------------------------------------------------------------

    def _take(self, taken: Taken) -> None:
        """Take rows; write, unless little waits and writing has just taken its share of time."""
        self._taken = taken
        since = time.perf_counter() - self._written
        waiting = sum(rows.nbytes for _, rows in taken.waiting)
        if waiting > _MOST_WAITING or since * _SHARE > self._cost:
            self._write()

    def _write(self) -> None:
        """Write what waits; after an interruption the next call writes it again."""
        begun, taken = time.perf_counter(), self._taken
        waiting: dict[str, list[np.ndarray]] = {}
        for name, rows in taken.waiting:
            waiting.setdefault(name, []).append(rows)
        with self._writing(taken.counts[self._frames] - 1):
            self._reserve(sum(self._tables[name].room(rows) for name, rows in waiting.items()))
            for name, table in self._tables.items():
                if name in waiting:
                    table.write(waiting[name], taken.counts[name])
            self._count(taken.counts[self._frames])
        self._taken = taken._replace(waiting=())
        self._written = time.perf_counter()
        self._cost = self._written - begun

    @contextmanager
    def _writing(self, frame: int) -> Iterator[None]:
        """Name file and frame in an error of the disk, after which nothing more is written."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            self._broken = True
            number = getattr(error, "errno", None)
            reason = os.strerror(number) if number else " ".join(str(error).split())
            raise OSError(
                number or 0, f"{self._path}: frame {frame} cannot be written: {reason}"
            ) from error

    def _count(self, frames: int) -> None:
        """Write how many frames there are, where a format wants it beside the tables."""

    def _reserve(self, size: int) -> None:
        """Reserve room on the disk: HDF5 cannot go on after a write for which there is none."""
        if not hasattr(os, "posix_fallocate"):
            return
        try:
            os.posix_fallocate(self._descriptor, self._file.id.get_filesize(), size + _MARGIN)
        except OSError as error:
            if error.errno not in _CANNOT_RESERVE:
                raise

    # ---- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what waits, and close the file."""
        try:
            if self._descriptor >= 0 and self._taken.waiting and not self._broken:
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
