"""Problems as groups of HDF5 files, from the same state as pickles.

`docs/files.md` lists the datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactsolve import sets
from contactsolve._arrays import first_entry, read_only
from contactsolve._matrices import Operator, Unsymmetric
from contactsolve._optional import optional
from contactsolve._sparse import Csr, checked_triple
from contactsolve.io._hdf5 import Hdf5Reader
from contactsolve.problem import Problem
from contactsolve.state import InitialState

__all__ = [
    "NEED",
    "PARTNERS",
    "read_flag",
    "read_numbers",
    "read_problem",
    "read_set",
    "write_arrays",
    "write_problem",
    "write_text",
    "write_texts",
]

NEED = "saved files need"

_SPARSE = "a problem with sparse matrices needs"

# The Jacobians of partners with different degrees of freedom.
PARTNERS = ("J_first", "J_second", "J_third", "J_fourth")


# ---- writing ------------------------------------------------------------------------------------


def write_problem(group: Any, problem: Problem) -> None:
    """Write a problem into an empty group of an open HDF5 file.

    Raises
    ------
    TypeError
        A set is defined by a Python function, which a file cannot contain.
    ValueError
        The name contains a null character.
    """
    kept, given, values = problem.__getstate__()
    name, state, grouped, updates = kept
    write_text(group, "name", name or "")
    group["grouped"], group["updates"] = np.uint8(grouped), np.int64(updates)
    if given is None:
        _write_bodies(group, *values)
    else:
        _write_matrices(group, *given, *values)
    if state is not None:
        write_arrays(group.create_group("state"), state._asdict())


def _write_bodies(group: Any, inverses: list, contacts: list) -> None:
    """Write groups of bodies, and groups of contacts between them."""
    # The HDF5 groups exist even if they have no members.
    bodies, parts = group.create_group("bodies"), group.create_group("groups")
    for g, inverse in enumerate(inverses):
        bodies[f"{g}/inverse_mass"] = inverse
    for g, (J, pairs, b, feasible, compliance) in enumerate(contacts):
        part = parts.create_group(str(g))
        each = dict(zip(PARTNERS, J, strict=False)) if isinstance(J, tuple) else {"J": J}
        rows = next(iter(each.values())).shape[-2]
        write_arrays(part, {**each, "bodies": pairs})
        _write_rows(part, b.reshape(-1, rows), compliance, feasible)


def _write_rows(group: Any, b: Any, compliance: Any, feasible: sets.Set) -> None:
    """Write the arrays that every group of contacts has."""
    group["b"] = b
    if compliance is not None:
        group["compliance"] = compliance.reshape(b.shape)
    _write_set(group.create_group("set"), feasible)


def _write_matrices(
    group: Any,
    csr: Csr,
    operator: Operator | None,
    sigma: NDArray[np.float64] | None,
    b: NDArray[np.float64],
    rows: int,  # noqa: ARG001 (those of b)
    feasible: sets.Set,
) -> None:
    """Write A, and the Jacobian of any pattern with its mass that A was made of."""
    _write_csr(group.create_group("A"), csr)
    _write_rows(group.create_group("groups/0"), b, sigma, feasible)
    if operator is not None:
        J, (inverse, mass) = operator.J, operator.inverse_or_mass()
        _write_matrix(group, "J", J)
        if mass is None:
            _write_matrix(group, "Minv", inverse)
        else:
            exactly = isinstance(mass, Unsymmetric)
            _write_matrix(group, "mass", mass.matrix if exactly else mass)
            group["mass_symmetric"] = np.uint8(not exactly)


def _write_matrix(group: Any, name: str, matrix: Any) -> None:
    """Write a dense matrix or a diagonal as a dataset, a sparse matrix as a group."""
    if isinstance(matrix, np.ndarray):
        group[name] = matrix
        return
    part = group.create_group(name)
    _write_csr(part, (matrix.data, matrix.indices, matrix.indptr))
    part["shape"] = np.array(matrix.shape, np.int64)


def _write_csr(group: Any, csr: Csr) -> None:
    data, indices, indptr = csr
    write_arrays(
        group,
        {"data": data, "indices": np.int64(indices), "indptr": np.int64(indptr)},
    )


def _write_set(group: Any, feasible: sets.Set) -> None:
    if feasible.function is not None:
        raise TypeError(
            f"{feasible!r} cannot be saved: its function belongs to this process. Save the "
            f"arrays of the problem, and make it again from them"
        )
    values = feasible.values
    write_text(group, "name", feasible.name)
    write_texts(group, "parameters", [one.name for one in values])
    group["of_rows"] = np.array([one.of_rows for one in values], np.uint8)
    group["dimensions"] = np.array([len(one.shape) for one in values], np.int64)
    write_arrays(group.create_group("values"), {one.name: one.value for one in values})


def write_arrays(group: Any, arrays: dict[str, Any]) -> None:
    """Write arrays by their names."""
    for name, array in arrays.items():
        group[name] = array


def write_text(group: Any, name: str, text: str) -> None:
    """Write a text.

    Raises
    ------
    ValueError
        The text contains a null character.
    """
    write_texts(group, name, text)


def write_texts(group: Any, name: str, texts: str | Sequence[str]) -> None:
    """Write a text, or several, of fixed length, which is safe to read from damaged files."""
    try:
        raw = np.char.encode(np.array(texts, np.str_), "utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} cannot be saved: it is not a Unicode text ({error})") from None
    for text in [texts] if isinstance(texts, str) else texts:
        if "\0" in text:
            raise ValueError(f"{name} contains a null character, which HDF5 texts cannot hold")
    kind = optional("h5py", NEED).string_dtype("utf-8", max(raw.dtype.itemsize, 1))
    group.create_dataset(name, data=raw.astype(kind), dtype=kind)


# ---- reading ------------------------------------------------------------------------------------


def read_problem(reader: Hdf5Reader, prefix: str) -> Problem:
    """Return the problem in a group of an open file.

    Raises
    ------
    ValueError
        The group is damaged. The message names the file and the dataset.
    ImportError
        The problem has sparse matrices, and SciPy is not installed.
    """
    name, updates = reader.fixed_text(f"{prefix}/name"), reader.integer(f"{prefix}/updates")
    grouped = read_flag(reader, f"{prefix}/grouped")
    given, values = _read_values(reader, prefix)
    if not grouped:
        _require_one_group(reader, prefix, ("groups", "bodies") if given is None else ("groups",))
    problem = Problem.__new__(Problem)
    with reader.making(f"/{prefix}"):
        problem.__setstate__(((name, None, grouped, updates), given, values))
    if reader.has(f"{prefix}/state"):
        problem.state = _read_state(reader, f"{prefix}/state", problem)
    return problem


def _require_one_group(reader: Hdf5Reader, prefix: str, parts: Sequence[str]) -> None:
    for part in parts:
        count = len(reader.names(f"{prefix}/{part}"))
        if count != 1:
            raise reader.error(
                f"/{prefix}/{part} has {count} members: a problem that is not grouped has one"
            )


def _read_values(reader: Hdf5Reader, prefix: str) -> tuple[Any, tuple]:
    """Return the matrices and values of a problem, as `Problem.__getstate__` returns them."""
    # Bodies and contacts between them.
    groups = reader.numbered(f"{prefix}/groups")
    if not reader.has(f"{prefix}/A"):
        bodies = reader.numbered(f"{prefix}/bodies")
        inverses = [read_numbers(reader, f"{name}/inverse_mass", 2, 3) for name in bodies]
        return None, (inverses, [_read_contacts(reader, name) for name in groups])

    # A given A has one group, and possibly the Jacobian and the mass that it was made of.
    part = f"{prefix}/groups/0"
    b = read_numbers(reader, f"{part}/b", 2)
    with reader.making(f"/{prefix}/A"):
        csr = checked_triple("A", *_read_csr(reader, f"{prefix}/A"))
    if len(csr[2]) != b.size + 1:
        raise reader.error(
            f"/{prefix}/A has {len(csr[2]) - 1} rows, but /{part}/b {b.size} entries"
        )
    given = csr, _read_operator(reader, prefix, b.size), _read_compliance(reader, part, b.shape)
    return given, (b, b.shape[1], read_set(reader, f"{part}/set"))


def _read_contacts(reader: Hdf5Reader, name: str) -> tuple:
    """Return one group of contacts between bodies."""
    if reader.has(f"{name}/J"):
        J: Any = read_numbers(reader, f"{name}/J", 4)
    else:
        given = [*PARTNERS[:2], *(part for part in PARTNERS[2:] if reader.has(f"{name}/{part}"))]
        J = tuple(read_numbers(reader, f"{name}/{part}", 3) for part in given)
    pairs = reader.array(f"{name}/bodies", "i", "integers", (2,))
    b = read_numbers(reader, f"{name}/b", 2)
    return J, pairs, b, read_set(reader, f"{name}/set"), _read_compliance(reader, name, b.shape)


def _read_compliance(
    reader: Hdf5Reader, group: str, shape: tuple[int, ...]
) -> NDArray[np.float64] | None:
    """Return the diagonal of Σ, flat; None without one."""
    name = f"{group}/compliance"
    if not reader.has(name):
        return None
    values = read_numbers(reader, name, 2)
    if values.shape != shape:
        raise reader.error(f"/{name} has shape {values.shape}: expected {shape}, as b")
    wrong = ~((values >= 0) & np.isfinite(values))
    if wrong.any():
        raise reader.error(
            f"/{name}[{first_entry(wrong)}] is {values[wrong][0]:g}: expected a finite number, 0 "
            f"or more"
        )
    return values.ravel()


def read_set(
    reader: Hdf5Reader,
    group: str,
    read: Callable[[str, bool, int], NDArray[np.float64]] | None = None,
) -> sets.Set:
    """Return a set of a file.

    Parameters
    ----------
    reader
        The open file.
    group
        Where the set is.
    read
        Returns the values of a parameter, from the name of their dataset, whether it has a value
        for each row of a block, and the dimensions of one block's value. Default: all values.
    """
    name = reader.fixed_text(f"{group}/name")
    if name not in sets.names():
        raise reader.error(f"/{group}/name is {name!r}: expected one of {', '.join(sets.names())}")

    # The description of each parameter, and its values.
    names = reader.fixed_texts(f"{group}/parameters")
    of_rows = reader.array(f"{group}/of_rows", "u", "unsigned integers", (1,))
    dimensions = reader.array(f"{group}/dimensions", "i", "integers", (1,))
    if not len(names) == len(of_rows) == len(dimensions):
        raise reader.error(
            f"/{group} has {len(names)} parameters, but {len(of_rows)} entries of of_rows and "
            f"{len(dimensions)} of dimensions"
        )
    parameters = []
    for one, by_rows, count in zip(names, of_rows, dimensions, strict=True):
        where = f"{group}/values/{one}"
        value = read(where, bool(by_rows), int(count)) if read else read_numbers(reader, where)
        if not 0 <= count <= value.ndim:
            raise reader.error(
                f"/{group}/dimensions is {count} for {one!r}: expected 0 to {value.ndim}"
            )
        shape = value.shape[value.ndim - count :]
        parameters.append(sets.Parameter(one, value, bool(by_rows), shape))
    return sets.Set(name, tuple(parameters))


def _read_operator(reader: Hdf5Reader, prefix: str, rows: int) -> Operator | None:
    """Return a Jacobian of any pattern with its mass; None if A itself was given."""
    if not reader.has(f"{prefix}/J"):
        return None
    J, inverse, mass = _read_matrix(reader, f"{prefix}/J"), None, None
    if J.shape[0] != rows:
        raise reader.error(f"/{prefix}/J has {J.shape[0]} rows, but b {rows} entries")
    if reader.has(f"{prefix}/mass"):
        mass = _read_matrix(reader, f"{prefix}/mass")
        if not read_flag(reader, f"{prefix}/mass_symmetric"):
            mass = Unsymmetric(mass)
    else:
        inverse = _read_matrix(reader, f"{prefix}/Minv")
    with reader.making(f"/{prefix}"):
        return Operator(J, inverse, mass)


def _read_matrix(reader: Hdf5Reader, name: str) -> Any:
    """Return a dense matrix, a diagonal or a sparse matrix."""
    if not reader.has(f"{name}/shape"):
        return read_numbers(reader, name, 1, 2)
    sparse = optional("scipy.sparse", _SPARSE)
    shape = reader.array(f"{name}/shape", "i", "integers", (1,))
    if shape.shape != (2,) or shape.min() < 0:
        raise reader.error(f"/{name}/shape is {shape.tolist()}: expected two sizes, 0 or more")
    with reader.making(f"/{name}"):
        return sparse.csr_array(_read_csr(reader, name), shape=tuple(shape.tolist()))


def _read_csr(reader: Hdf5Reader, name: str) -> Csr:
    data = read_numbers(reader, f"{name}/data", 1)
    indices, indptr = (
        reader.array(f"{name}/{part}", "i", "integers", (1,)) for part in ("indices", "indptr")
    )
    return data, indices, indptr


def _read_state(reader: Hdf5Reader, group: str, problem: Problem) -> InitialState:
    if problem.grouped:
        raise reader.error(f"/{group} is a state, which grouped problems do not have")
    shapes = dict.fromkeys(InitialState._fields, problem.velocity_shape) | {
        "drive": problem.b.shape
    }
    arrays = []
    for name, shape in shapes.items():
        values = read_numbers(reader, f"{group}/{name}", len(shape))
        if values.shape != shape:
            raise reader.error(f"/{group}/{name} has shape {values.shape}: expected {shape}")
        arrays.append(read_only(values))
    return InitialState(*arrays)


def read_numbers(reader: Hdf5Reader, name: str, *dimensions: int) -> NDArray[np.float64]:
    """Return a dataset of float64, bit for bit; `dimensions` are the accepted numbers of them."""
    values = reader.array(name, "f", "float64", dimensions)
    if values.dtype != np.float64:
        raise reader.error(f"/{name} has dtype {values.dtype}: expected float64")
    return values


def read_flag(reader: Hdf5Reader, name: str) -> bool:
    """Return a number that is 0 or 1 as a truth value."""
    value = reader.integer(name)
    if value not in (0, 1):
        raise reader.error(f"/{name} is {value}: expected 0 or 1")
    return bool(value)
