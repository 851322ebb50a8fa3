"""HDF5 files that may be truncated, damaged or made by others: read with errors that name the part.

h5py raises errors of many types for a damaged file, and allocates whatever size a dataset claims.
Here everything that h5py is asked for goes through `Hdf5Reader.reading`, and sizes are compared
with that of the file first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contactsolve._optional import optional

_EXPANSION = 1024  # a little less than this is what deflate, HDF5's usual filter, makes of zeros


def import_h5py() -> Any:
    """Return h5py, or raise an error that names the extra."""
    return optional("h5py", "FCLIB files need")


class Dataset(NamedTuple):
    """A dataset of plausible size whose values have not been read."""

    name: str
    node: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Hdf5Reader:
    """An open HDF5 file, whose errors name the file and the dataset."""

    def __init__(self, path: Path) -> None:
        self.h5py = import_h5py()
        self.path = path
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist")
        if not path.is_file():
            raise self.error("this is not an HDF5 file")
        with path.open("rb"):  # for what the system has to say, about permissions for example
            self.size = path.stat().st_size
        with self.reading("this HDF5 file"):
            known = self.h5py.is_hdf5(path)
            self.file: Any = self.h5py.File(path, "r") if known else None
        if not known:
            raise self.error("this is not an HDF5 file")

    def __exit__(self, *exception: object) -> None:
        with self.reading("this HDF5 file"):
            self.file.close()

    def error(self, message: str) -> ValueError:
        """Return an error that names the file, in one line whatever names the file holds."""
        return ValueError(f"{self.path}: {' '.join(message.split())}")

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Turn whatever h5py raises for a damaged file into an error that names the part."""
        try:
            yield
        except (PermissionError, BlockingIOError):
            raise  # the file may be sound
        except Exception as error:
            reason = error.args[0] if error.args else error
            raise self.error(f"{what} cannot be read: {reason}") from error

    # ---- groups and datasets --------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether there is a group or dataset of this name."""
        with self.reading(f"/{name}"):
            return name in self.file

    def names(self) -> list[str]:
        """Return the names at the root."""
        with self.reading("/"):
            return [_text(name) for name in self.file]

    def dataset(self, name: str, kinds: str, wanted: str) -> Dataset:
        """Return a dataset of at most one dimension, whose dtype is one of those kinds."""
        node = self._node(name)
        if not isinstance(node, self.h5py.Dataset):
            raise self.error(f"the dataset /{name} is missing")
        with self.reading(f"/{name}"):
            shape, dtype = node.shape, node.dtype
        if dtype.kind not in kinds:
            raise self.error(f"/{name} has dtype {dtype}: expected {wanted}")
        if shape is None or len(shape) > 1:
            raise self.error(f"/{name} has shape {shape}: expected one dimension")
        self._refuse_impossible(f"/{name}", shape, dtype)
        return Dataset(name, node, shape or (1,), dtype)

    def values(self, dataset: Dataset, count: int | None = None) -> NDArray[Any]:
        """Return the first `count` values of a dataset, all by default."""
        with self.reading(f"/{dataset.name}"):
            node = dataset.node
            return np.atleast_1d(node[()] if count is None or not node.shape else node[:count])

    def integers(self, dataset: Dataset, count: int | None = None) -> NDArray[np.int64]:
        """Return integers as int64."""
        values = self.values(dataset, count)
        large = np.flatnonzero(values > np.iinfo(np.int64).max)
        if len(large):
            at = large[0]
            raise self.error(f"/{dataset.name}[{at}] is {values[at]}: that is too large")
        return values.astype(np.int64)

    def reals(self, dataset: Dataset, count: int | None = None) -> NDArray[np.float64]:
        """Return finite numbers as float64."""
        with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinite
            values = self.values(dataset, count).astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            at = wrong[0]
            raise self.error(f"/{dataset.name}[{at}] is {values[at]:g}: expected a finite number")
        return values

    def text(self, name: str) -> str:
        """Return a text, or an empty one where there is none."""
        if not self.has(name):
            return ""
        text = self.values(self.dataset(name, "SO", "a text"))
        if len(text) != 1 or not isinstance(text[0], (bytes, str)):
            raise self.error(f"/{name} has {len(text)} entries: expected one text")
        return _text(text[0])

    def attributes(self, name: str) -> dict[str, Any]:
        """Return the attributes of a group or dataset; none where it is missing."""
        node = self._node(name)
        found: dict[str, Any] = {}
        if node is None:
            return found
        with self.reading(f"the attributes of /{name}"):
            names = list(node.attrs)
        for key in names:
            what = f"the attribute {key!r} of /{name}"
            with self.reading(what):
                attribute = node.attrs.get_id(key)
                shape, dtype = attribute.shape, attribute.dtype
            self._refuse_impossible(what, shape, dtype)
            with self.reading(what):
                found[_text(key)] = node.attrs[key]
        return found

    def _node(self, name: str) -> Any:
        if not self.has(name):
            return None
        with self.reading(f"/{name}"):
            return self.file[name]

    def _refuse_impossible(self, what: str, shape: Any, dtype: np.dtype[Any]) -> None:
        """Raise where a file of this size cannot hold what it claims, however compressed."""
        claimed = math.prod(shape or ()) * dtype.itemsize
        if claimed > _EXPANSION * self.size:
            raise self.error(
                f"{what} has shape {shape}: a file of {self.size} bytes cannot hold {claimed}"
            )


def _text(value: bytes | str) -> str:
    """Return a text of a file; bytes that are no UTF-8 are replaced."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
