"""HDF5 files that a writer has not closed: it is writing, or was killed.

HDF5 marks them in the superblock, and opens them only in the mode for readers beside a writer. In
that mode it waits for damaged parts to become whole, for ever if the writer is gone. Here such a
file is read as if it had been closed as it is: through a view whose superblock says so. The parts
of a file of a single writer with many readers (SWMR) are in order at every moment.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

__all__ = ["HEAD", "Unclosed", "is_unclosed", "length_of", "mark_closed"]

HEAD = 44  # bytes of the superblock before its checksum

# The superblock: signature, version, sizes of offsets and lengths, flags, addresses of the base, of
# an extension, of the end of the file and of the root, and a checksum of what is before it.
_SUPERBLOCK = struct.Struct("<8s4B4Q")
_SIGNATURE, _VERSION = b"\x89HDF\r\n\x1a\n", 3


def _fields(head: bytes) -> list[Any] | None:
    """Return the fields of a superblock with flags; None for other beginnings of files."""
    if len(head) < _SUPERBLOCK.size:
        return None
    fields = list(_SUPERBLOCK.unpack(head[: _SUPERBLOCK.size]))
    return fields if fields[:4] == [_SIGNATURE, _VERSION, 8, 8] else None


def length_of(head: bytes) -> int | None:
    """Return the length of a file that was closed, from its first bytes; None for others."""
    fields = _fields(head)
    return None if fields is None or fields[4] != 0 else int(fields[7])


def is_unclosed(path: Path) -> bool:
    """Whether a file is marked as open for writing."""
    with path.open("rb") as file:
        fields = _fields(file.read(_SUPERBLOCK.size))
    return fields is not None and fields[4] != 0


def mark_closed(path: Path) -> None:
    """Mark a file whose writer is gone as closed, so that all programs open it."""
    if not is_unclosed(path):
        return
    with Unclosed(path) as view:
        view.seek(0)
        head = view.read(HEAD + 4)
    with path.open("r+b") as file:
        file.write(head)


class Unclosed(io.RawIOBase):
    """An unclosed file as h5py can read it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._size = self._file.seek(0, io.SEEK_END)
        self._file.seek(0)
        head = self._file.read(_SUPERBLOCK.size)
        fields = _fields(head)
        self._head = b""
        if fields is not None:
            fields[4], fields[7] = 0, self._size
            head = _SUPERBLOCK.pack(*fields)
            self._head = head + struct.pack("<I", lookup3(head))

    def readable(self) -> bool:
        """Whether the file can be read."""
        return True

    def seekable(self) -> bool:
        """Whether the place in the file can be chosen."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Choose the place in the file, whose end is that when it was opened."""
        if whence == io.SEEK_END:
            return self._file.seek(self._size + offset)
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        """Read bytes; those of the superblock are the changed ones."""
        target = memoryview(buffer).cast("B")
        begin, count = self._file.tell(), 0
        while count < len(target):
            read = self._file.readinto(target[count:])
            if not read:
                break
            count += read
        changed = self._head[begin : begin + count]
        target[: len(changed)] = changed
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def lookup3(data: bytes) -> int:
    """Return the checksum of HDF5's metadata: hashlittle of lookup3.c (Jenkins 2006)."""
    mask = 0xFFFFFFFF

    def rotated(value: int, by: int) -> int:
        return (value << by | value >> (32 - by)) & mask

    a = b = c = (0xDEADBEEF + len(data)) & mask
    whole = max(len(data) - 1, 0) // 12
    for i in range(whole + 1):
        words = struct.unpack("<3I", data[12 * i : 12 * i + 12].ljust(12, b"\0"))
        a, b, c = ((x + y) & mask for x, y in zip((a, b, c), words, strict=True))
        if i < whole:
            for by in (4, 6, 8, 16, 19, 4):
                a = ((a - c) & mask) ^ rotated(c, by)
                c = (c + b) & mask
                a, b, c = b, c, a
            continue
        for by in (14, 11, 25, 16, 4, 14, 24):
            c = ((c ^ b) - rotated(b, by)) & mask
            a, b, c = b, c, a
        # The last of seven turns ends with c.
        a, b, c = c, a, b
    return c if data else 0xDEADBEEF
