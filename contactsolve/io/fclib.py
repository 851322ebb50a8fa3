"""FCLIB files: the HDF5 format of the collection of frictional-contact problems FCLIB.

A local FCLIB problem is a problem without bodies: u = W r + q with W = A, q = b, impulses r and
residual velocities u, for each contact in the order normal, tangent 1, tangent 2. A global one is a
problem in generalised coordinates, built from a state at rest: M v = H r + f and u = H^T v + w, so
that J = H^T, h = f, and w is the velocity of driven partners.

    /fclib_local/spacedim                       2 or 3, the rows of a contact
    /fclib_local/W/{m, n, nz, nzmax, p, i, x}   nz: -2 rows (CSR), -1 columns (CSC), else triplets
    /fclib_local/vectors/{q, mu}
    /fclib_local/info/{title, description, math_info}
    /fclib_global/spacedim, /fclib_global/{M, H}, /fclib_global/vectors/{f, w, mu}
    /fclib_global/G, /fclib_global/vectors/b    bilateral constraints G^T v + b = 0 (optional)
    /fclib_global_rolling/...                   the same with spacedim 5 and vectors/mu_r
    /guesses/number_of_guesses, /guesses/1/{r, u}, ...
    /solution/{r, u}, and l, the multipliers of bilateral constraints

With bilateral constraints, M v = H r + G l + f, and the problem is one of bodies and groups.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from contactsolve import _core, sets
from contactsolve._matrices import Unsymmetric
from contactsolve._optional import optional
from contactsolve.io import _bilateral as bilateral
from contactsolve.io._hdf5 import FORMAT, Dataset, Hdf5Reader, new_file, refuse_existing
from contactsolve.problem import Problem

__all__ = ["FclibFile", "FclibPoint", "read_fclib", "write_fclib"]

PathLike = str | os.PathLike[str]

_NEED = "FCLIB files need"

_CSR, _CSC = -2, -1
# The supported kinds, each with the matrices of bilateral constraints that are not supported.
_UNSUPPORTED = {"local": ("V", "R"), "global": (), "global_rolling": ("G",)}
_INFO_TEXTS = ("title", "description", "math_info")


class Csr(NamedTuple):
    """A square matrix by rows, in the argument order of SciPy's constructor."""

    data: NDArray[np.float64]
    indices: NDArray[np.int64]
    indptr: NDArray[np.int64]


@dataclass(frozen=True, eq=False)  # arrays have no single truth value
class FclibPoint:
    """Impulses and velocities in the file of a problem, as a guess or as its solution.

    Attributes
    ----------
    impulses : ndarray, shape (K, m)
        FCLIB's r [N s]. With bilateral constraints a list with an array for each group of the
        problem: r, then the multipliers l.
    residual_velocities : ndarray, shape (K, m)
        FCLIB's u [m/s], as stored; some writers leave it inconsistent with r. With bilateral
        constraints a list; the format has no velocities of these, which are zero.
    """

    impulses: Any
    residual_velocities: Any


@dataclass(frozen=True, eq=False)  # arrays have no single truth value
class FclibFile:
    """The content of an FCLIB file.

    Attributes
    ----------
    problem : Problem
        The problem, as `read_fclib` returns it without `details`.
    title, description, math_info : str
        Texts of the file; empty if it has none.
    guesses : tuple of FclibPoint
        Starting points, in the file's order.
    solution : FclibPoint or None
        The stored solution; None if there is none, or only a placeholder of zeros.
    kind : str
        ``"local"``, ``"global"`` or ``"global_rolling"``.
    attributes : dict
        HDF5 attributes of the matrix (``"W"``, ``"M"``) and of the info group (``"info"``).
    """

    problem: Problem
    title: str = ""
    description: str = ""
    math_info: str = ""
    guesses: tuple[FclibPoint, ...] = ()
    solution: FclibPoint | None = None
    kind: str = "local"
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)


class _Solution(Protocol):
    """A solution to be written: a `Result`, or an `FclibPoint`."""

    @property
    def impulses(self) -> Any: ...

    @property
    def residual_velocities(self) -> Any: ...


@overload
def read_fclib(path: PathLike, *, details: Literal[False] = False) -> Problem: ...
@overload
def read_fclib(path: PathLike, *, details: Literal[True]) -> FclibFile: ...
def read_fclib(path: PathLike, *, details: bool = False) -> Problem | FclibFile:
    """Read an FCLIB problem: local, global, or global with rolling friction.

    Parameters
    ----------
    path : str or path-like
        An HDF5 file with an ``/fclib_local``, ``/fclib_global`` or ``/fclib_global_rolling`` group,
        with matrices by rows, by columns or as triplets. Global problems need SciPy.
    details : bool, default False
        Return the whole content of the file, not only the problem.

    Returns
    -------
    Problem or FclibFile
        A local problem has ``A = W`` exactly as stored, even if it is singular or slightly
        unsymmetric, ``b = q`` and friction discs with the file's coefficients. A global one has
        ``J = H^T``, the mass M and a state (at rest, impulse f, drive w), so that
        ``result.velocities`` is FCLIB's u. One with bilateral constraints (a matrix G) has groups:
        the contacts, then the constraints as joints (the set `free`), between bodies that are the
        blocks of 6 or 3 on the diagonal of M, or one body of at most 64 degrees of freedom if there
        are none. The problem is named after the file. With `details`, an `FclibFile`.

    Warns
    -----
    UserWarning
        One triangle of M is stored, and its mirror image was added.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file is not HDF5, is truncated or damaged, contains a problem that is not supported
        (a local one with bilateral constraints, one of bodies that are too large), lacks a dataset
        or has one of a wrong shape, type or content. The message names the file and, if one is at
        fault, the dataset.
    ImportError
        h5py is not installed, or SciPy for a global problem.

    Notes
    -----
    Many published files contain a solution whose impulses are all zero: a placeholder. It counts as
    a solution only if zero solves the problem, that is if no contact is closing (all normal
    q >= 0) and no bilateral constraint has a velocity to undo.

    Triplets may repeat an entry; repeated values are added. In triplets ``i`` are the rows and
    ``p`` the columns, unlike the comment in FCLIB's header says.

    Examples
    --------
    >>> import contactsolve as cs
    >>> problem = cs.io.read_fclib(cs.data.path("Capsules-i100-1090"))
    >>> problem.contacts
    276
    """
    path = Path(path)
    with _Reader(path, _NEED) as reader:
        kind = reader.kind()
        problem = reader.local(path.stem) if kind == "local" else reader.at_large(kind, path.stem)
        if not details:
            return problem
        root, matrix = f"fclib_{kind}", "W" if kind == "local" else "M"
        b, rows = reader.contact_velocities(problem), reader.rows(kind)
        return FclibFile(
            problem,
            **{name: reader.text(f"{root}/info/{name}") for name in _INFO_TEXTS},
            guesses=reader.guesses(b.size, rows),
            solution=reader.solution(problem, b.ravel(), rows),
            kind=kind,
            attributes={name: reader.attributes(f"{root}/{name}") for name in (matrix, "info")},
        )


def write_fclib(
    path: PathLike,
    problem: Problem,
    result: _Solution | None = None,
    *,
    kind: str = "auto",
    title: str = "",
    description: str = "",
    math_info: str = "",
    overwrite: bool = False,
) -> None:
    """Write a problem as an FCLIB file.

    Values are written bit for bit, matrices by rows. A problem of bodies is written as a local one,
    with its Delassus matrix, or as a global one: the format has no bodies and no Jacobians of
    blocks. Joints beside contacts are bilateral constraints of a global problem.

    Parameters
    ----------
    path : str or path-like
        Path of the new file.
    problem : Problem
        A problem with Coulomb friction and 2 or 3 rows, or with rolling friction and 5 rows. In a
        problem of groups, contacts have as many rows, and others have the set `free`.
    result : Result or FclibPoint, optional
        Solution to be written.
    kind : {"auto", "local", "global"}
        A global file holds J, the mass and the state of a problem that was built by
        `Problem.from_state` from a J of any pattern and a mass at rest, as global files are read. A
        problem of bodies without compliance may be global, too: its M are the inverted inverse
        masses, f is zero, and w is b, so that v is the change of velocity by the impulses.
        ``"auto"`` writes the former and problems with joints as global ones, all others as local
        ones.
    title, description, math_info : str
        Texts about the problem; the title defaults to the problem's name.
    overwrite : bool, default False
        Replace an existing file.

    Raises
    ------
    FileExistsError
        The file exists and `overwrite` is False.
    ValueError
        A problem that the format does not support, a result of another problem, or a text with a
        null character.
    ImportError
        h5py is not installed.
    """
    # Everything that can be wrong is checked before the file is made.
    h5py = optional("h5py", _NEED)
    path = Path(path)
    refuse_existing(path, overwrite)
    root = f"fclib_{kind_to_write(problem, kind)}"
    integers, floats = _datasets(problem, root)
    floats |= _solution_datasets(problem, result)
    texts = {"title": title or problem.name, "description": description, "math_info": math_info}
    for name, text in texts.items():
        if "\0" in text:
            raise ValueError(f"{name} contains a null character, which FCLIB cannot store")

    with new_file(path, _NEED, overwrite=overwrite) as file:
        for name, values in integers.items():
            file.create_dataset(name, data=values, dtype=np.int32)
        for name, values in floats.items():
            file.create_dataset(name, data=values, dtype=np.float64)
        for name, text in texts.items():
            _write_text(h5py, file, f"{root}/info/{name}", text)
        if problem.bodies is not None:
            # Siconos stores the number of bodies with contacts in this attribute.
            partners = problem._partners()
            involved = np.unique(partners[partners >= 0])
            file[f"{root}/info"].attrs.create("numberOfInvolvedDS", [len(involved)], dtype="i4")


def kind_to_write(problem: Problem, kind: str) -> str:
    """Return ``local``, ``global`` or ``global_rolling``; raise if the format cannot hold it."""
    if kind not in ("auto", "local", "global"):
        raise ValueError(f"kind: {kind!r} is unknown; known: auto, local, global")
    contacts = [group for group in problem._groups if not group.set.is_bilateral]
    rows = {group.rows for group in contacts}
    if not rows:
        raise ValueError("problem has no contacts with friction: FCLIB holds none without")
    if len(rows) > 1:
        raise ValueError(
            f"problem has groups of {' and '.join(map(str, sorted(rows)))} rows: FCLIB holds "
            "contacts of one kind"
        )
    for group in contacts:
        described = _core.describe_set(group.set.name, group.rows)
        if not (described["frictional"] and described["circular"]):
            raise ValueError(
                f"problem has the set {group.set.name!r}: FCLIB holds Coulomb and rolling "
                "friction only"
            )
    if problem._matrix is None and (problem.grouped or kind == "global"):
        return _kind_of_bodies(problem, kind, contacts)

    # Global files hold a state at rest with its mass; rolling friction has no local form.
    rolling = problem.rows > 3
    state, mass = problem.state, problem.mass_matrix
    whole = mass is not None and state is not None and not np.any(state.velocity)
    if kind == "global" and not whole:
        raise ValueError(
            "kind='global' needs bodies, or a problem built by Problem.from_state from a J of any "
            "pattern, a mass, and a velocity of zero"
        )
    if kind == "local" or not whole:
        if rolling:
            raise ValueError("FCLIB holds rolling friction in global problems only")
        return "local"
    return "global_rolling" if rolling else "global"


def _kind_of_bodies(problem: Problem, kind: str, contacts: list[Any]) -> str:
    """Return the kind of a problem of bodies that has groups, or is to be a global one."""
    joints = len(contacts) < len(problem._groups)
    if contacts[0].rows > 3:
        raise ValueError("problem has rolling friction of bodies: FCLIB holds it without bodies")
    if kind == "local" and joints:
        raise ValueError("kind='local' holds no joints: kind='global' does")
    return "global" if joints or kind == "global" else "local"


def _datasets(problem: Problem, root: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays of a file by path: those of int32, and those of float64."""
    contacts = [group for group in problem._groups if not group.set.is_bilateral]
    rows = contacts[0].rows
    integers: dict[str, Any] = {f"{root}/spacedim": [rows]}
    floats: dict[str, Any] = {}
    matrices: dict[str, Any] = {}
    if root == "fclib_local":
        size = sum(group.contacts for group in contacts) * rows
        matrices = {"W": (problem.delassus_csr(), (size, size))}
        floats[f"{root}/vectors/q"] = bilateral.split_rows(problem, problem.b)[0]
    elif problem._matrix is None:
        for name, csr in bilateral.matrices_of(problem).items():
            if name != "G" or csr.shape[1]:
                matrices[name] = ((csr.data, csr.indices, csr.indptr), csr.shape)
        floats[f"{root}/vectors/f"] = np.zeros(problem.dof)
        floats[f"{root}/vectors/w"], b = bilateral.split_rows(problem, problem.b)
        if len(b):
            floats[f"{root}/vectors/b"] = b
    else:
        sparse, state = optional("scipy.sparse", "global FCLIB problems need"), problem.state
        assert state is not None
        for name, matrix in (("M", problem.mass_matrix), ("H", problem.J.T)):
            csr = sparse.csr_array(matrix)
            matrices[name] = ((csr.data, csr.indices, csr.indptr), csr.shape)
        floats[f"{root}/vectors/f"] = state.impulse
        floats[f"{root}/vectors/w"] = state.drive.reshape(-1)
    for name, (csr, shape) in matrices.items():
        _add_matrix(f"{root}/{name}", csr, shape, integers, floats)
    parameters = np.concatenate([group.set.parameters(group.contacts, rows) for group in contacts])
    for name, column in zip(("mu", "mu_r"), parameters.T, strict=False):
        floats[f"{root}/vectors/{name}"] = column
    return integers, floats


def _add_matrix(
    name: str,
    csr: tuple[Any, Any, Any],
    shape: tuple[int, int],
    integers: dict[str, Any],
    floats: dict[str, Any],
) -> None:
    data, indices, indptr = csr
    largest = np.iinfo(np.int32).max
    if len(data) > largest:
        raise ValueError(f"/{name} has {len(data)} entries: FCLIB holds at most {largest}")
    counts = {"m": shape[0], "n": shape[1], "nz": _CSR, "nzmax": len(data)}
    integers.update({f"{name}/{key}": [value] for key, value in counts.items()})
    integers[f"{name}/p"], integers[f"{name}/i"] = indptr, indices
    floats[f"{name}/x"] = data


def _solution_datasets(problem: Problem, result: _Solution | None) -> dict[str, Any]:
    if result is None:
        return {}
    floats = {}
    for name, letter in (("impulses", "r"), ("residual_velocities", "u")):
        given = getattr(result, name)
        each = [np.asarray(values, dtype=np.float64) for values in
                (given if problem.grouped else [given])]  # fmt: skip
        if len(each) != len(problem._groups):
            raise ValueError(
                f"result.{name} has {len(each)} arrays: expected {len(problem._groups)}, one for "
                "each group"
            )
        for group, values in zip(problem._groups, each, strict=True):
            shape = (group.contacts, group.rows)
            if values.size != shape[0] * shape[1]:
                raise ValueError(
                    f"result.{name} has shape {values.shape}: expected {shape}, as the problem"
                )
        floats[f"solution/{letter}"], constraints = bilateral.split_rows(
            problem, each if problem.grouped else each[0]
        )
        if letter == "r" and bilateral.is_bilateral(problem):
            floats["solution/l"] = constraints
    return floats


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


class _Reader(Hdf5Reader):
    """An open FCLIB file."""

    places: bilateral.Places | None = None  # of a problem with bilateral constraints

    def contact_velocities(self, problem: Problem) -> NDArray[np.float64]:
        """Return b of the contacts, ``(K, m)``."""
        if self.places is None:
            return np.asarray(problem.b)
        return np.concatenate([np.zeros(0), *(problem.b[g].ravel() for g in self.places.contacts)])

    def kind(self) -> str:
        """Return the kind of the problem; raise for unsupported kinds."""
        if self.mark("format") == FORMAT:
            raise self.error(
                "Problem.save or Result.save wrote this file: contactsolve.load_problem reads it"
            )
        for kind, unsupported in _UNSUPPORTED.items():
            if not self.has(f"fclib_{kind}"):
                continue
            for name in unsupported:
                if self.has(f"fclib_{kind}/{name}"):
                    raise self.error(
                        f"this {kind} problem has bilateral constraints (/fclib_{kind}/{name}), "
                        "which are not supported"
                    )
            if kind == "local" and self.has("fclib_local/vectors/mu_r"):
                raise self.error("this is a local rolling friction problem, not supported")
            return kind
        found = [name for name in self.names() if name.startswith("fclib_")]
        if found:
            raise self.error(f"/{found[0]} is a kind of problem that is not supported")
        raise self.error("there is no /fclib_local or /fclib_global group: not an FCLIB problem")

    def rows(self, kind: str) -> int:
        """Return the rows of a contact."""
        rows = self.integer(f"fclib_{kind}/spacedim")
        expected = (5,) if kind.endswith("rolling") else (2, 3)
        if rows not in expected:
            wanted = " or ".join(map(str, expected))
            raise self.error(f"/fclib_{kind}/spacedim is {rows}: expected {wanted}")
        return rows

    def local(self, name: str) -> Problem:
        """Return the problem u = W r + q."""
        rows = self.rows("local")
        size, _ = self.sizes("fclib_local/W", square=True)
        if size % rows:
            raise self.error(
                f"/fclib_local/W is {size} x {size}: expected a multiple of the {rows} rows of a "
                "contact"
            )

        # The vectors are read first: they confirm the sizes before the matrix is allocated.
        b = self.vector("fclib_local/vectors/q", size, "the order of W")
        mu = self.vector("fclib_local/vectors/mu", size // rows, "the number of contacts")
        A = self.matrix("fclib_local/W", size, size)
        with self.making("/fclib_local (A = W, b = q)"):
            return Problem.from_delassus(A, b, mu, rows=rows, name=name)

    def at_large(self, kind: str, name: str) -> Problem:
        """Return the problem M v = H r + f, u = H^T v + w."""
        # Sizes, which the vectors confirm before the matrices are allocated.
        sparse = optional("scipy.sparse", "global FCLIB problems need")
        root, rows = f"fclib_{kind}", self.rows(kind)
        dof, _ = self.sizes(f"{root}/M", square=True)
        height, width = self.sizes(f"{root}/H")
        if height != dof or width % rows:
            raise self.error(
                f"/{root}/H is {height} x {width}: expected {dof} rows, as M, and a multiple of "
                f"the {rows} rows of a contact as columns"
            )
        contacts = width // rows
        f = self.vector(f"{root}/vectors/f", dof, "the order of M")
        w = self.vector(f"{root}/vectors/w", width, "the columns of H")
        mu = self.vector(f"{root}/vectors/mu", contacts, "the number of contacts")
        mu_r = None
        if kind.endswith("rolling"):
            mu_r = self.vector(f"{root}/vectors/mu_r", contacts, "the number of contacts")

        # Matrices; some files store one triangle of M.
        M = sparse.csr_array(self.matrix(f"{root}/M", dof, dof), shape=(dof, dof))
        H = sparse.csr_array(self.matrix(f"{root}/H", height, width), shape=(height, width))
        whole = _whole(M)
        if whole is not M:
            warnings.warn(
                f"{self.path}: one triangle of M is stored; its mirror image was added",
                stacklevel=3,
            )
        if self.has(f"{root}/G"):
            return self.constrained(bilateral.System(whole, H, None, f, w, f, rows), mu, name)
        with self.making(f"/{root} (J = H^T, mass = M, impulse = f, drive = w)"):
            friction = {"mu": mu} if mu_r is None else {"sets": sets.rolling(mu, mu_r)}
            return Problem.from_state(
                sparse.csr_array(H.T),
                Unsymmetric(whole),
                velocity=np.zeros(dof),
                impulse=f,
                drive=w.reshape(contacts, rows),
                rows=rows,
                name=name,
                **friction,
            )

    def constrained(self, system: bilateral.System, mu: Any, name: str) -> Problem:
        """Return the problem with bilateral constraints, whose G and b are read here."""
        sparse = optional("scipy.sparse", "global FCLIB problems need")
        root, dof = "fclib_global", system.M.shape[0]
        height, count = self.sizes(f"{root}/G")
        if height != dof:
            raise self.error(f"/{root}/G is {height} x {count}: expected {dof} rows, as M")
        b = self.vector(f"{root}/vectors/b", count, "the columns of G")
        G = sparse.csr_array(self.matrix(f"{root}/G", height, count), shape=(height, count))
        with self.making(f"/{root} (J = H^T and G^T, mass = M)"):
            problem, self.places = bilateral.problem_of(
                system._replace(G=G, b=b), sets.disc(mu), name
            )
        return problem

    def vector(self, name: str, size: int, what: str) -> NDArray[np.float64]:
        dataset = self.dataset(name, "f", "floating-point numbers")
        if dataset.shape != (size,):
            raise self.error(f"/{name} has shape {dataset.shape}: expected ({size},), {what}")
        return self.reals(dataset)

    def sizes(self, name: str, *, square: bool = False) -> tuple[int, int]:
        """Return the height and width of the matrix `name`."""
        height, width = self.integer(f"{name}/m"), self.integer(f"{name}/n")
        if height < 0 or width < 0 or (square and height != width):
            wanted = "a square matrix" if square else "two sizes, 0 or more"
            raise self.error(f"/{name} is {height} x {width}: expected {wanted}")
        return height, width

    def matrix(self, name: str, height: int, width: int) -> Csr:
        """Return the matrix `name` by rows."""
        storage = self.integer(f"{name}/nz")
        if storage == _CSR:
            return self._compressed(name, height, width)
        if storage == _CSC:
            data, row, pointers = self._compressed(name, width, height)
            column = np.repeat(np.arange(width), np.diff(pointers))
            return _by_rows(row, column, data, height)
        if storage >= 0:
            return self._triplets(name, storage, height, width)
        raise self.error(
            f"/{name}/nz is {storage}: expected -2 (by rows), -1 (by columns) or a count"
        )

    def _compressed(self, name: str, lines: int, length: int) -> Csr:
        """Return the arrays of a compressed matrix, without unused entries at the end."""
        starts = self.dataset(f"{name}/p", "iu", "integers")
        if starts.shape != (lines + 1,):
            raise self.error(f"/{name}/p has shape {starts.shape}: expected ({lines + 1},)")
        pointers = self.integers(starts)
        if pointers[0] != 0 or np.any(pointers[1:] < pointers[:-1]):
            raise self.error(f"/{name}/p does not ascend from 0")
        count = int(pointers[-1])
        return Csr(
            self._entries(f"{name}/x", count), self._indices(f"{name}/i", count, length), pointers
        )

    def _triplets(self, name: str, count: int, height: int, width: int) -> Csr:
        row = self._indices(f"{name}/i", count, height)
        column = self._indices(f"{name}/p", count, width)
        return _by_rows(row, column, self._entries(f"{name}/x", count), height)

    def _indices(self, name: str, count: int, size: int) -> NDArray[np.int64]:
        dataset = self.dataset(name, "iu", "integers")
        self._require_entries(dataset, count)
        values = self.integers(dataset, count)
        wrong = np.flatnonzero((values < 0) | (values >= size))
        if len(wrong):
            at = wrong[0]
            raise self.error(f"/{name}[{at}] is {values[at]}: expected 0 to {size - 1}")
        return values

    def _entries(self, name: str, count: int) -> NDArray[np.float64]:
        dataset = self.dataset(name, "f", "floating-point numbers")
        self._require_entries(dataset, count)
        return self.reals(dataset, count)

    def _require_entries(self, dataset: Dataset, count: int) -> None:
        # The allocated size, nzmax, may exceed the number of entries.
        if dataset.shape[0] < count:
            raise self.error(f"/{dataset.name} has shape {dataset.shape}: expected {count} entries")

    def guesses(self, size: int, rows: int) -> tuple[FclibPoint, ...]:
        if not self.has("guesses"):
            return ()
        count = self.integer("guesses/number_of_guesses")
        if count < 0:
            raise self.error(f"/guesses/number_of_guesses is {count}: expected 0 or more")
        return tuple(self.point(f"guesses/{k + 1}", size, rows) for k in range(count))

    def solution(self, problem: Problem, b: NDArray[np.float64], rows: int) -> FclibPoint | None:
        """Return the stored solution, unless it is a placeholder of zeros."""
        if not self.has("solution"):
            return None
        point = self.point("solution", len(b), rows)
        separating = bool(np.all(b[::rows] >= 0.0))
        if self.places is not None:
            # Without impulses, constraints are kept only if their b is zero.
            separating &= not np.any(bilateral.split_rows(problem, problem.b)[1])
        each = point.impulses if self.places is not None else [point.impulses]
        return point if separating or any(part.any() for part in each) else None

    def point(self, group: str, size: int, rows: int) -> FclibPoint:
        impulses, velocities = (
            self.vector(f"{group}/{letter}", size, "the order of W").reshape(-1, rows)
            for letter in ("r", "u")
        )
        if self.places is None:
            return FclibPoint(impulses, velocities)
        count, _ = self.sizes("fclib_global/G")[::-1]
        multipliers = np.zeros(count)
        if self.has(f"{group}/l"):
            multipliers = self.vector(f"{group}/l", count, "the columns of G")
        return FclibPoint(
            bilateral.to_groups(self.places, impulses, multipliers),
            bilateral.to_groups(self.places, velocities, np.zeros(count)),
        )


def _by_rows(
    row: NDArray[np.int64], column: NDArray[np.int64], values: NDArray[np.float64], size: int
) -> Csr:
    """Return entries in any order as CSR with ascending columns; repeated entries are added."""
    order = np.lexsort((column, row))
    row, column, values = row[order], column[order], values[order]
    if len(values):
        fresh = np.concatenate(([True], (np.diff(row) != 0) | (np.diff(column) != 0)))
        row, column = row[fresh], column[fresh]
        if not fresh.all():
            with np.errstate(over="ignore"):  # an infinite sum is refused with its place
                values = np.add.reduceat(values, np.flatnonzero(fresh))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=size))))
    return Csr(values, column, indptr)


def _whole(M: Any) -> Any:
    """Return M, with its mirror image added if only one triangle is stored."""
    sparse = optional("scipy.sparse", "global FCLIB problems need")

    above, below = sparse.triu(M, 1), sparse.tril(M, -1)
    if (above.nnz == 0) == (below.nnz == 0):
        return M
    return sparse.csr_array(M + (above + below).T)
