"""FCLIB files: the HDF5 format in which the field exchanges frictional-contact problems.

A local FCLIB problem is ours without bodies: u = W r + q with W = A, q = b, r the impulses and
u the residual velocities, per contact in the order normal, tangent 1, tangent 2.

    /fclib_local/spacedim                       2 or 3, the rows of a contact
    /fclib_local/W/{m, n, nz, nzmax, p, i, x}   nz: -2 rows (CSR), -1 columns (CSC), else triplets
    /fclib_local/vectors/{q, mu}
    /fclib_local/info/{title, description, math_info}
    /guesses/number_of_guesses, /guesses/1/{r, u}, ...
    /solution/{r, u}
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from contactsolve.problem import Problem

__all__ = ["FclibFile", "FclibPoint", "read_fclib", "write_fclib"]

PathLike = str | os.PathLike[str]

_CSR, _CSC = -2, -1
_INFO_TEXTS = ("title", "description", "math_info")


class Csr(NamedTuple):
    """A square matrix by rows, in the argument order of SciPy's constructor."""

    data: NDArray[np.float64]
    indices: NDArray[np.int64]
    indptr: NDArray[np.int64]


@dataclass(frozen=True, eq=False)  # arrays have no single truth value
class FclibPoint:
    """Impulses and velocities stored beside a problem, as a guess or as its solution.

    Attributes
    ----------
    impulses : ndarray, shape (K, m)
        FCLIB's r [N s].
    residual_velocities : ndarray, shape (K, m)
        FCLIB's u [m/s], as stored; some writers leave it inconsistent with r.
    """

    impulses: NDArray[np.float64]
    residual_velocities: NDArray[np.float64]


@dataclass(frozen=True, eq=False)  # arrays have no single truth value
class FclibFile:
    """All that `read_fclib` finds in a file.

    Attributes
    ----------
    problem : Problem
    title, description, math_info : str
        Empty where the file has none.
    guesses : tuple of FclibPoint
        Starting points, in the file's order.
    solution : FclibPoint or None
    attributes : dict
        HDF5 attributes of the matrix and of the info group, under ``"W"`` and ``"info"``.
    """

    problem: Problem
    title: str = ""
    description: str = ""
    math_info: str = ""
    guesses: tuple[FclibPoint, ...] = ()
    solution: FclibPoint | None = None
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)


class _Solution(Protocol):
    """What a solution to be written offers: a `Result`, or an `FclibPoint`."""

    @property
    def impulses(self) -> Any: ...

    @property
    def residual_velocities(self) -> Any: ...


@overload
def read_fclib(path: PathLike, *, details: Literal[False] = False) -> Problem: ...
@overload
def read_fclib(path: PathLike, *, details: Literal[True]) -> FclibFile: ...
def read_fclib(path: PathLike, *, details: bool = False) -> Problem | FclibFile:
    """Read a local FCLIB problem.

    Parameters
    ----------
    path : str or path-like
        An HDF5 file with an ``/fclib_local`` group, spacedim 2 or 3, its matrix by rows, by
        columns or as triplets.
    details : bool, default False
        Return everything the file holds, not the problem alone.

    Returns
    -------
    Problem or FclibFile
        The problem has ``A = W`` exactly as stored, also where it is singular or slightly
        unsymmetric, ``b = q`` and friction discs with the file's coefficients; its name is the
        file's. With `details`, an `FclibFile`.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file is not HDF5, holds another kind of problem (global, rolling friction, with
        bilateral constraints; the message says which), lacks a dataset or has one of a wrong
        shape, type or content.
    ImportError
        h5py is not installed.

    Notes
    -----
    Many published files carry a solution whose impulses are all zero: a placeholder. It is
    taken for a solution only where zero is one, that is where no contact is closing
    (all normal q >= 0).

    Triplets may repeat an entry; repeated values are added. In triplets ``i`` holds the rows and
    ``p`` the columns, contrary to the comment in FCLIB's header.

    Examples
    --------
    >>> import contactsolve as cs
    >>> problem = cs.io.read_fclib(cs.data.path("Capsules-i100-1090"))
    >>> problem.contacts
    276
    """
    path = Path(path)
    with _Reader(path) as reader:
        reader.check_kind()
        rows = reader.integer("fclib_local/spacedim")
        if rows not in (2, 3):
            raise reader.error(f"/fclib_local/spacedim is {rows}: expected 2 or 3")
        A, size = reader.matrix("fclib_local/W", rows)
        b = reader.vector("fclib_local/vectors/q", size, "the order of W")
        mu = reader.vector("fclib_local/vectors/mu", size // rows, "the number of contacts")
        problem = Problem.from_delassus(A, b, mu, rows=rows, name=path.stem)
        if not details:
            return problem
        return FclibFile(
            problem,
            **{name: reader.text(f"fclib_local/info/{name}") for name in _INFO_TEXTS},
            guesses=reader.guesses(size, rows),
            solution=reader.solution(b, rows),
            attributes={name: reader.attributes(f"fclib_local/{name}") for name in ("W", "info")},
        )


def write_fclib(
    path: PathLike,
    problem: Problem,
    result: _Solution | None = None,
    *,
    title: str = "",
    description: str = "",
    math_info: str = "",
    overwrite: bool = False,
) -> None:
    """Write a problem as a local FCLIB file.

    Values are written bit for bit, the matrix by rows. A problem of bodies is written through
    its Delassus matrix: bodies and Jacobians have no place in this format.

    Parameters
    ----------
    path : str or path-like
        The file to make.
    problem : Problem
        With friction, in two or three dimensions: rows 2 or 3.
    result : Result or FclibPoint, optional
        Written as the file's solution.
    title, description, math_info : str
        Texts for the reader of the file; the title defaults to the problem's name.
    overwrite : bool, default False
        Replace an existing file.

    Raises
    ------
    FileExistsError
        The file exists and `overwrite` is False.
    ValueError
        A problem the format cannot hold, a result of another problem, or a text with a null
        character.
    ImportError
        h5py is not installed.
    """
    h5py = _import_h5py()
    path = Path(path)
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists: pass overwrite=True to replace it")
    integers, floats = _datasets(problem, result)
    texts = {"title": title or problem.name, "description": description, "math_info": math_info}
    for name, text in texts.items():
        if "\0" in text:
            raise ValueError(f"{name} contains a null character, which FCLIB cannot store")

    with h5py.File(path, "w" if overwrite else "x") as file:
        for name, values in integers.items():
            file.create_dataset(name, data=values, dtype=np.int32)
        for name, values in floats.items():
            file.create_dataset(name, data=values, dtype=np.float64)
        for name, text in texts.items():
            _write_text(h5py, file, f"fclib_local/info/{name}", text)
        if problem.bodies is not None:
            # Siconos names the bodies that take part by this attribute.
            involved = np.unique(problem.bodies[problem.bodies >= 0])
            file["fclib_local/info"].attrs.create("numberOfInvolvedDS", [len(involved)], dtype="i4")


def _datasets(
    problem: Problem, result: _Solution | None
) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """The numbers of a file by path: what is stored as int32, and what as float64."""
    if problem.mu is None:
        raise ValueError("problem has no mu: FCLIB holds friction problems only")
    if problem.sets.name != "disc":
        raise ValueError(f"problem has the set {problem.sets.name!r}: FCLIB holds discs only")
    if problem.rows not in (2, 3):
        raise ValueError(f"problem has {problem.rows} rows a contact: FCLIB holds 2 or 3")
    data, indices, indptr = problem.delassus_csr()
    largest = np.iinfo(np.int32).max
    if len(data) > largest:
        raise ValueError(f"A has {len(data)} entries: FCLIB holds at most {largest}")
    size = problem.contacts * problem.rows
    integers = {
        "fclib_local/spacedim": [problem.rows],
        "fclib_local/W/m": [size],
        "fclib_local/W/n": [size],
        "fclib_local/W/nz": [_CSR],
        "fclib_local/W/nzmax": [len(data)],
        "fclib_local/W/p": indptr,
        "fclib_local/W/i": indices,
    }
    floats = {
        "fclib_local/W/x": data,
        "fclib_local/vectors/q": np.reshape(problem.b, -1),
        "fclib_local/vectors/mu": np.broadcast_to(problem.mu, (problem.contacts,)),
    }
    if result is not None:
        shape = (problem.contacts, problem.rows)
        for name, letter in (("impulses", "r"), ("residual_velocities", "u")):
            values = np.asarray(getattr(result, name), dtype=np.float64)
            if values.size != size:
                raise ValueError(
                    f"result.{name} has shape {values.shape}: expected {shape}, as the problem"
                )
            floats[f"solution/{letter}"] = values.reshape(-1)
    return integers, floats


def _write_text(h5py: Any, file: Any, name: str, text: str) -> None:
    """Store a text as FCLIB does: of fixed length, with the null that C readers rely on."""
    raw = text.encode() + b"\0"
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(len(raw))
    if not text.isascii():
        kind.set_cset(h5py.h5t.CSET_UTF8)
    group = file.require_group(os.path.dirname(name))
    space = h5py.h5s.create(h5py.h5s.SCALAR)
    dataset = h5py.h5d.create(group.id, os.path.basename(name).encode(), kind, space)
    dataset.write(space, space, np.array(raw, dtype=f"S{len(raw)}"), mtype=kind)


class _Reader:
    """An open FCLIB file, whose errors name the file and the dataset."""

    def __init__(self, path: Path) -> None:
        h5py = _import_h5py()
        self.path = path
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist")
        if not path.is_file() or not h5py.is_hdf5(path):
            raise self.error("this is not an HDF5 file")
        self.file = h5py.File(path, "r")
        self.dataset_type = h5py.Dataset

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.file.close()

    def error(self, message: str) -> ValueError:
        return ValueError(f"{self.path}: {message}")

    def check_kind(self) -> None:
        """Refuse every kind of file but a local problem, and say which kind it is."""
        if "fclib_local" in self.file:
            for name in ("V", "R"):
                if f"fclib_local/{name}" in self.file:
                    raise self.error(
                        f"this local problem has bilateral constraints (/fclib_local/{name}), "
                        "which are not supported yet"
                    )
            if "fclib_local/vectors/mu_r" in self.file:
                raise self.error("this is a rolling friction problem, not supported yet")
            return
        groups = [name for name in self.file if name.startswith("fclib_")]
        if not groups:
            raise self.error("there is no /fclib_local group: not an FCLIB problem")
        scope = "global" if "global" in groups[0] else "local"
        rolling = " with rolling friction" if "rolling" in groups[0] else ""
        raise self.error(
            f"this is a {scope} problem{rolling} (/{groups[0]}), not supported yet: "
            "expected a local problem (/fclib_local)"
        )

    def array(self, name: str, kinds: str, what: str) -> NDArray[Any]:
        """A numeric dataset, flat."""
        node = self.file.get(name)
        if not isinstance(node, self.dataset_type):
            raise self.error(f"the dataset /{name} is missing")
        if node.dtype.kind not in kinds:
            raise self.error(f"/{name} has dtype {node.dtype}: expected {what}")
        if node.ndim > 1:
            raise self.error(f"/{name} has shape {node.shape}: expected one dimension")
        return np.atleast_1d(node[()])

    def integers(self, name: str) -> NDArray[np.int64]:
        return self.array(name, "iu", "integers").astype(np.int64)

    def reals(self, name: str) -> NDArray[np.float64]:
        return self.array(name, "f", "floating-point numbers").astype(np.float64)

    def integer(self, name: str) -> int:
        values = self.integers(name)
        if values.shape != (1,):
            raise self.error(f"/{name} has shape {values.shape}: expected one number")
        return int(values[0])

    def vector(self, name: str, size: int, what: str) -> NDArray[np.float64]:
        values = self.reals(name)
        if values.shape != (size,):
            raise self.error(f"/{name} has shape {values.shape}: expected ({size},), {what}")
        return values

    def text(self, name: str) -> str:
        """A text, or an empty one where there is none."""
        node = self.file.get(name)
        if not isinstance(node, self.dataset_type):
            return ""
        value = node[()]
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

    def attributes(self, name: str) -> dict[str, Any]:
        node = self.file.get(name)
        return {} if node is None else dict(node.attrs)

    def matrix(self, name: str, rows: int) -> tuple[Csr, int]:
        """The square matrix under `name` by rows, and its order."""
        size = self.integer(f"{name}/m")
        width = self.integer(f"{name}/n")
        if width != size or size < 0 or size % rows != 0:
            raise self.error(
                f"/{name} is {size} x {width}: expected a square matrix whose order is a "
                f"multiple of the {rows} rows of a contact"
            )
        storage = self.integer(f"{name}/nz")
        if storage == _CSR:
            return self._compressed(name, size), size
        if storage == _CSC:
            data, row, pointers = self._compressed(name, size)
            column = np.repeat(np.arange(size), np.diff(pointers))
            return _by_rows(row, column, data, size), size
        if storage >= 0:
            return self._triplets(name, storage, size), size
        raise self.error(
            f"/{name}/nz is {storage}: expected -2 (by rows), -1 (by columns) or a count"
        )

    def _compressed(self, name: str, size: int) -> Csr:
        """The arrays of a compressed matrix as stored, without the unused room at the end."""
        pointers = self.integers(f"{name}/p")
        if pointers.shape != (size + 1,):
            raise self.error(f"/{name}/p has shape {pointers.shape}: expected ({size + 1},)")
        if pointers[0] != 0 or np.any(np.diff(pointers) < 0):
            raise self.error(f"/{name}/p does not ascend from 0")
        count = int(pointers[-1])
        return Csr(
            self._entries(f"{name}/x", self.reals(f"{name}/x"), count),
            self._indices(f"{name}/i", count, size),
            pointers,
        )

    def _triplets(self, name: str, count: int, size: int) -> Csr:
        row = self._indices(f"{name}/i", count, size)
        column = self._indices(f"{name}/p", count, size)
        values = self._entries(f"{name}/x", self.reals(f"{name}/x"), count)
        return _by_rows(row, column, values, size)

    def _indices(self, name: str, count: int, size: int) -> NDArray[np.int64]:
        values = self._entries(name, self.integers(name), count)
        wrong = np.flatnonzero((values < 0) | (values >= size))
        if len(wrong):
            at = wrong[0]
            raise self.error(f"/{name}[{at}] is {values[at]}: expected 0 to {size - 1}")
        return values

    def _entries(self, name: str, values: NDArray[Any], count: int) -> NDArray[Any]:
        # nzmax, the room, may exceed the entries in use.
        if len(values) < count:
            raise self.error(f"/{name} has shape {values.shape}: expected {count} entries")
        return values[:count]

    def guesses(self, size: int, rows: int) -> tuple[FclibPoint, ...]:
        if "guesses" not in self.file:
            return ()
        count = self.integer("guesses/number_of_guesses")
        return tuple(self.point(f"guesses/{k + 1}", size, rows) for k in range(count))

    def solution(self, b: NDArray[np.float64], rows: int) -> FclibPoint | None:
        """The stored solution, unless it is a placeholder of zeros."""
        if "solution" not in self.file:
            return None
        point = self.point("solution", len(b), rows)
        separating = bool(np.all(b[::rows] >= 0.0))
        return point if separating or point.impulses.any() else None

    def point(self, group: str, size: int, rows: int) -> FclibPoint:
        impulses, velocities = (
            self.vector(f"{group}/{letter}", size, "the order of W").reshape(-1, rows)
            for letter in ("r", "u")
        )
        return FclibPoint(impulses, velocities)


def _by_rows(
    row: NDArray[np.int64], column: NDArray[np.int64], values: NDArray[np.float64], size: int
) -> Csr:
    """Entries in any order to CSR with ascending columns; repeated ones are added."""
    order = np.lexsort((column, row))
    row, column, values = row[order], column[order], values[order]
    if len(values):
        fresh = np.concatenate(([True], (np.diff(row) != 0) | (np.diff(column) != 0)))
        row, column = row[fresh], column[fresh]
        if not fresh.all():
            values = np.add.reduceat(values, np.flatnonzero(fresh))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=size))))
    return Csr(values, column, indptr)


def _import_h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            "FCLIB files need h5py, which the extra 'io' brings: pip install 'contactsolve[io]'"
        ) from error
    return h5py
