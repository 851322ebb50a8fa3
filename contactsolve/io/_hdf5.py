"""HDF5 files: written atomically, and read with errors that name the part.

A file may be truncated, damaged or made by other programs. h5py raises errors of many types for a
damaged file, and allocates whatever size a dataset claims. All calls of h5py for reading therefore
go through `Hdf5Reader.reading`, and sizes are first compared with that of the file.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from contactsolve._optional import optional
from contactsolve.io._replacement import replacement
from contactsolve.io._unclosed import Unclosed, is_unclosed

FORMAT = "contactsolve"  # the root attribute `format` of the files of `io.saved`

_EXPANSION = 1024  # above the best compression ratio of deflate, the usual filter of HDF5


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Raise if the file exists and may not be replaced."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists: pass overwrite=True to replace it")


@contextmanager
def new_file(path: Path, what: str, *, overwrite: bool) -> Iterator[Any]:
    """Open a new HDF5 file, which takes its name once it is complete.

    The file has a temporary name in the same folder until then. An interrupted or failed write
    leaves an existing file unchanged and removes the temporary one.
    """
    h5py = optional("h5py", what)
    refuse_existing(path, overwrite)
    with replacement(path) as temporary:
        with h5py.File(temporary, "x") as file:
            yield file
        refuse_existing(path, overwrite)


class Dataset(NamedTuple):
    """A dataset of a plausible size, whose values are not read yet."""

    name: str
    node: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Hdf5Reader:
    """An open HDF5 file, whose errors name the file and the dataset.

    Parameters
    ----------
    path
        The file.
    what
        Subject and verb of the error message if h5py is missing, as in "FCLIB files need".
    image, part
        The bytes of a file that is a part of this one, and the name of the part.
    grows
        Whether a writer may be adding to the file, or was killed while it did.
    """

    def __init__(
        self,
        path: Path,
        what: str,
        *,
        image: bytes | None = None,
        part: str = "",
        grows: bool = False,
    ) -> None:
        self.h5py = optional("h5py", what)
        self.path, self.part = path, part
        self._sources: set[tuple[str, str]] = set()  # of virtual datasets that were looked at
        if image is not None:
            self.size = len(image)
            with self.reading("this HDF5 file"):
                self.file: Any = self.h5py.File(io.BytesIO(image), "r")
            return
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist")
        if not path.is_file():
            raise self.error("this is not an HDF5 file")
        with path.open("rb"):  # raises errors of the system, such as missing permissions
            self.size = path.stat().st_size
        with self.reading("this HDF5 file"):
            known = self.h5py.is_hdf5(path)
            source = Unclosed(path) if grows and is_unclosed(path) else path
            self.file = self.h5py.File(source, "r") if known else None
        if not known:
            raise self.error("this is not an HDF5 file")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with self.reading("this HDF5 file"):
            self.file.close()

    def error(self, message: str) -> ValueError:
        """Return an error that names the file, in one line."""
        part = f"{self.part}: " if self.part else ""
        return ValueError(f"{self.path}: {part}{' '.join(message.split())}")

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Replace errors of h5py by one that names the part of the file."""
        try:
            yield
        except (PermissionError, BlockingIOError):
            raise  # the file may be intact
        except Exception as error:
            reason = error.args[0] if error.args else error
            raise self.error(f"{what} cannot be read: {reason}") from error

    @contextmanager
    def making(self, what: str) -> Iterator[None]:
        """Add the name of the file to errors about its values."""
        try:
            yield
        except (ValueError, TypeError, OverflowError) as error:
            raise self.error(f"{what}: {error}") from error

    # ---- groups and datasets --------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether there is a group or dataset of this name."""
        with self.reading(f"/{name}"):
            return name in self.file

    def names(self, group: str = "/") -> list[str]:
        """Return the names in a group, the root by default."""
        with self.reading(f"/{group.strip('/')}"):
            return [_text(name) for name in self.file[group]]

    def numbered(self, group: str) -> list[str]:
        """Return the members 0, 1, 2, ... of a group by their full names."""
        found = self.names(group)
        wanted = [str(i) for i in range(len(found))]
        if set(found) != set(wanted):
            raise self.error(f"/{group} has the members {', '.join(found)}: expected 0, 1, 2, ...")
        return [f"{group}/{name}" for name in wanted]

    def array(self, name: str, kinds: str, wanted: str, dimensions: Sequence[int]) -> NDArray[Any]:
        """Return a dataset as it is stored, in the byte order of this machine.

        Parameters
        ----------
        name
            Name of the dataset.
        kinds
            Accepted kinds of dtypes.
        wanted
            These kinds in words, for the error.
        dimensions
            Accepted numbers of dimensions; empty for any.
        """
        shape, dtype, node = self._looked_at(name)
        if dtype.kind not in kinds:
            raise self.error(f"/{name} has dtype {dtype}: expected {wanted}")
        if shape is None or (dimensions and len(shape) not in dimensions):
            expected = " or ".join(map(str, dimensions))
            raise self.error(f"/{name} has shape {shape}: expected {expected} dimensions")
        self._refuse_impossible(f"/{name}", shape, dtype)
        with self.reading(f"/{name}"):
            return np.array(node[()], dtype=dtype.newbyteorder("="), order="C")

    def dataset(self, name: str, kinds: str, wanted: str) -> Dataset:
        """Return a dataset of at most one dimension and of an accepted kind of dtype."""
        shape, dtype, node = self._looked_at(name)
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

    def length(self, name: str) -> int:
        """Return the rows of a dataset that can be read by parts; 0 if there is none."""
        if not self.has(name):
            return 0
        shape, dtype, _ = self._looked_at(name)
        self._refuse_impossible(f"/{name}", shape, dtype)
        return shape[0] if shape else 0

    def dimensions(self, name: str) -> int:
        """Return the number of dimensions of a dataset."""
        return len(self._looked_at(name)[0] or ())

    def part_of(self, name: str, kinds: str, begin: int, end: int) -> NDArray[Any]:
        """Return the rows from `begin` to before `end` of a dataset."""
        shape, dtype, node = self._looked_at(name)
        if dtype.kind not in kinds or not shape or not 0 <= begin <= end <= shape[0]:
            raise self.error(
                f"/{name} has dtype {dtype} and shape {shape}: no rows {begin} to {end}"
            )
        self._refuse_impossible(f"/{name}", shape, dtype)
        with self.reading(f"/{name}"):
            return np.array(node[begin:end], dtype=dtype.newbyteorder("="), order="C")

    def integer(self, name: str) -> int:
        """Return one integer."""
        dataset = self.dataset(name, "iu", "integers")
        if dataset.shape != (1,):
            raise self.error(f"/{name} has shape {dataset.shape}: expected one number")
        return int(self.integers(dataset)[0])

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
        with np.errstate(over="ignore"):  # numbers that are too large become infinite
            values = self.values(dataset, count).astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            at = wrong[0]
            raise self.error(f"/{dataset.name}[{at}] is {values[at]:g}: expected a finite number")
        return values

    def text(self, name: str) -> str:
        """Return a text; an empty one if the dataset does not exist."""
        if not self.has(name):
            return ""
        text = self.values(self.dataset(name, "SO", "a text"))
        if len(text) != 1 or not isinstance(text[0], (bytes, str)):
            raise self.error(f"/{name} has {len(text)} entries: expected one text")
        return _text(text[0])

    def fixed_text(self, name: str) -> str:
        """Return one text of fixed length."""
        texts = self.fixed_texts(name)
        if len(texts) != 1:
            raise self.error(f"/{name} has {len(texts)} entries: expected one text")
        return texts[0]

    def fixed_texts(self, name: str) -> list[str]:
        """Return texts of fixed length.

        Texts of variable length are refused: in a damaged file their pointers can crash h5py.
        """
        return [_text(one) for one in self.values(self.dataset(name, "S", "texts of fixed length"))]

    def mark(self, name: str, group: str = "") -> Any:
        """Return an attribute that is an integer or a text of fixed length; None otherwise.

        It is one of the root, or of a group.
        """
        what = f"the attribute {name!r} of /{group}"
        node = self._node(group) if group else self.file
        with self.reading(what):
            if node is None or name not in node.attrs:
                return None
            attribute = node.attrs.get_id(name)
            shape, dtype = attribute.shape, attribute.dtype
        if shape != () or dtype.kind not in "Siu":
            return None
        self._refuse_impossible(what, shape, dtype)
        with self.reading(what):
            value = node.attrs[name]
        return _text(value) if dtype.kind == "S" else int(value)

    def attributes(self, name: str) -> dict[str, Any]:
        """Return the attributes of a group or dataset; none if it does not exist."""
        # The names first; then each attribute, after a check of its size.
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

    def _looked_at(self, name: str) -> tuple[tuple[int, ...] | None, np.dtype[Any], Any]:
        """Return shape, dtype and node of a dataset."""
        node = self._node(name)
        if not isinstance(node, self.h5py.Dataset):
            raise self.error(f"the dataset /{name} is missing")
        with self.reading(f"/{name}"):
            shape, dtype, virtual = node.shape, node.dtype, node.is_virtual
        if virtual:
            self._look_at_sources(name, node)
        return shape, dtype, node

    def _look_at_sources(self, name: str, node: Any) -> None:
        """Raise unless all datasets that a virtual one is made of are there; add their sizes.

        HDF5 itself would read what is missing as zeros.
        """
        with self.reading(f"/{name}"):
            sources = [
                (str(one.file_name), str(one.dset_name), *one.vspace.get_select_bounds())
                for one in node.virtual_sources()
            ]
        for file_name, source, first, last in sources:
            shape = tuple(int(end) - int(begin) + 1 for begin, end in zip(first, last, strict=True))
            if (file_name, source) in self._sources:
                continue
            if Path(file_name).name != file_name:
                raise self.error(
                    f"/{name} refers to the file {file_name}: only files in the same folder are "
                    f"read"
                )
            path = self.path.parent / file_name
            if not path.is_file():
                raise self.error(f"/{name} needs the file {file_name}, which does not exist")
            with self.reading(f"/{name} in {file_name}"), self.h5py.File(path, "r") as file:
                found = file[source].shape
            if found != shape:
                raise self.error(
                    f"/{name} needs {shape} of {source} in {file_name}, which has {found}"
                )
            if not any(file_name == known for known, _ in self._sources):
                self.size += path.stat().st_size
            self._sources.add((file_name, source))

    def _refuse_impossible(self, what: str, shape: Any, dtype: np.dtype[Any]) -> None:
        """Raise if a file of this size cannot contain the data that it claims, even compressed."""
        claimed = math.prod(shape or ()) * dtype.itemsize
        if claimed > _EXPANSION * self.size:
            raise self.error(
                f"{what} has shape {shape}: a file of {self.size} bytes cannot hold {claimed}"
            )


def _text(value: bytes | str) -> str:
    """Return a text of a file; bytes that are not UTF-8 are replaced."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value
