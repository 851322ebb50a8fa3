"""Results as groups of HDF5 files; `docs/files.md` lists the datasets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactsolve._device_arrays import is_on_device, to_host
from contactsolve.io._hdf5 import Hdf5Reader
from contactsolve.io._json import from_json, to_json
from contactsolve.io._problems import read_flag, read_numbers, write_arrays, write_text, write_texts
from contactsolve.problem import Problem
from contactsolve.result import History, Result

__all__ = ["read_result", "used_friction", "write_figures", "write_parts", "write_result"]

_TEXTS = ("status", "message", "worst")
_INTEGERS = ("iterations", "worst_contact")
_NUMBERS = ("time", "natural_map", "natural_map_scaled")
_MORE_TIMES = ("sweep_time", "wall_time")  # files of contactsolve 0.1 have none
_VELOCITIES = ("impulses", "residual_velocities")


# ---- writing ------------------------------------------------------------------------------------


def write_result(group: Any, result: Result) -> None:
    """Write a result without its problem into an empty group of an open HDF5 file.

    Raises
    ------
    TypeError
        `info` contains a value that is neither plain nor an array of numbers.
    """
    # Plain values, then arrays.
    write_figures(group, result, result.info)
    for name in (*_VELOCITIES, "body_velocity_change"):
        write_parts(group, name, getattr(result, name))

    # b and friction that the solve had in place of those of the problem.
    if result._b is not None:
        b = result._b
        group["b"] = to_host("b", b).ravel() if is_on_device(b) else b
    if result._parameters is not None:
        write_parts(group, "mu", used_friction(result.problem, result._parameters))


def write_figures(group: Any, result: Result, info: dict[str, Any]) -> None:
    """Write the figures of a result, its history and `info`, without arrays of contacts.

    Raises
    ------
    TypeError
        `info` contains a value that is neither plain nor an array of numbers.
    """
    for name in _TEXTS:
        write_text(group, name, getattr(result, name))
    write_arrays(group, {name: np.int64(getattr(result, name)) for name in _INTEGERS})
    numbers = (*_NUMBERS, *_MORE_TIMES)
    write_arrays(group, {name: np.float64(getattr(result, name)) for name in numbers})
    group["converged"], group["updates"] = np.uint8(result.converged), np.int64(result._updates)
    _write_history(group.create_group("history"), result.history)
    _write_info(group, info)


def write_parts(group: Any, name: str, value: Any) -> None:
    """Write an array, or one for each group; nothing for None."""
    if isinstance(value, list):
        parts = group.create_group(name)
        write_arrays(parts, {str(g): part for g, part in enumerate(value)})
    elif value is not None:
        group[name] = value


def used_friction(problem: Problem, parameters: NDArray[np.float64]) -> Any:
    """Return the friction coefficients of a solve, from the parameters of its sets.

    A group whose set has no friction coefficient has an empty array.
    """
    found, end = [], 0
    for group in problem._groups:
        width = group.set.parameters(*group.shape).shape[1]
        start, end = end, end + width * group.contacts
        own = parameters[start:end].reshape(group.contacts, width)
        names = [one.name for one in group.set.values]
        found.append(own[:, names.index("mu")].copy() if "mu" in names else np.zeros(0))
    return found if problem.grouped else found[0]


def _write_history(group: Any, history: History) -> None:
    write_texts(group, "columns", history.columns)
    group["values"] = history._values


def _write_info(group: Any, info: dict[str, Any]) -> None:
    text, arrays = to_json("info", info)
    write_text(group, "info", text)
    parts = group.create_group("info_arrays")
    write_arrays(parts, {str(i): array for i, array in enumerate(arrays)})


# ---- reading ------------------------------------------------------------------------------------


def read_result(reader: Hdf5Reader, prefix: str, problem: Problem) -> Result:
    """Return the result in a group of an open file, for a problem that has been read.

    Raises
    ------
    ValueError
        The group is damaged, or does not fit the problem. The message names the file and the
        dataset.
    """
    values: dict[str, Any] = {name: reader.fixed_text(f"{prefix}/{name}") for name in _TEXTS}
    values |= {name: reader.integer(f"{prefix}/{name}") for name in _INTEGERS}
    values |= {name: float(read_numbers(reader, f"{prefix}/{name}", 0)) for name in _NUMBERS}
    for name in _MORE_TIMES:
        path = f"{prefix}/{name}"
        values[name] = float(read_numbers(reader, path, 0)) if reader.has(path) else math.nan
    shapes = [group.shape for group in problem._groups]
    for name in _VELOCITIES:
        values[name] = _read_parts(reader, f"{prefix}/{name}", shapes, problem.grouped)
    return Result(
        **values,
        body_velocity_change=_read_change(reader, f"{prefix}/body_velocity_change", problem),
        converged=read_flag(reader, f"{prefix}/converged"),
        history=_read_history(reader, f"{prefix}/history"),
        info=_read_info(reader, prefix),
        problem=problem,
        _b=_read_used_b(reader, f"{prefix}/b", problem),
        _parameters=_read_used_parameters(reader, f"{prefix}/mu", problem),
        _updates=reader.integer(f"{prefix}/updates"),
    )


def _read_parts(
    reader: Hdf5Reader, name: str, shapes: Sequence[tuple[int, ...]], grouped: bool
) -> Any:
    """Return an array, or for grouped problems one for each group, of these shapes."""
    if grouped:
        parts = reader.numbered(name)
        if len(parts) != len(shapes):
            raise reader.error(f"/{name} has {len(parts)} members: expected {len(shapes)}")
        return [_read_shaped(reader, *both) for both in zip(parts, shapes, strict=True)]
    return _read_shaped(reader, name, shapes[0])


def _read_shaped(reader: Hdf5Reader, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    values = read_numbers(reader, name, len(shape))
    if values.shape != shape:
        raise reader.error(f"/{name} has shape {values.shape}: expected {shape}, as the problem")
    return values


def _read_change(reader: Hdf5Reader, name: str, problem: Problem) -> Any:
    """Return the change of the velocities of the bodies; None if A was given."""
    if not reader.has(name):
        if problem.dof:
            raise reader.error(f"the dataset /{name} is missing")
        return None
    if problem.grouped:
        shapes = [shape[:2] for shape in problem._bodies]
        return _read_parts(reader, name, shapes, grouped=True)
    return _read_shaped(reader, name, problem.velocity_shape)


def _read_used_b(reader: Hdf5Reader, name: str, problem: Problem) -> NDArray[np.float64] | None:
    """Return the b of a solve that did not use that of the problem; None otherwise."""
    rows = sum(group.contacts * group.rows for group in problem._groups)
    return _read_shaped(reader, name, (rows,)) if reader.has(name) else None


def _read_used_parameters(
    reader: Hdf5Reader, name: str, problem: Problem
) -> NDArray[np.float64] | None:
    """Return the parameters of the sets of a solve with its own friction coefficients."""
    if not reader.has(name):
        return None
    shapes = [(group.contacts if group.set.takes_mu else 0,) for group in problem._groups]
    mu = _read_parts(reader, name, shapes, problem.grouped)
    for part in mu if problem.grouped else [mu]:
        wrong = np.flatnonzero(~((part >= 0) & np.isfinite(part)))
        if len(wrong):
            raise reader.error(
                f"/{name} has the entry {part[wrong[0]]:g}: expected finite numbers, 0 or more"
            )

    # Groups without friction coefficients keep their parameters.
    if problem.grouped:
        pairs = zip(mu, problem._groups, strict=True)
        mu = [part if group.set.takes_mu else None for part, group in pairs]
    with reader.making(f"/{name}"):
        return problem.parameters(mu)


def _read_history(reader: Hdf5Reader, group: str) -> History:
    columns, values = (
        reader.fixed_texts(f"{group}/columns"),
        read_numbers(reader, f"{group}/values", 2),
    )
    if values.shape[1] != len(columns) or len(set(columns)) != len(columns):
        raise reader.error(
            f"/{group}/values has {values.shape[1]} columns, and /{group}/columns the names "
            f"{', '.join(columns)}"
        )
    return History(tuple(columns), values)


def _read_info(reader: Hdf5Reader, prefix: str) -> dict[str, Any]:
    text = reader.fixed_text(f"{prefix}/info")
    names = reader.numbered(f"{prefix}/info_arrays")
    arrays = [reader.array(name, "biuf", "numbers", ()) for name in names]
    with reader.making(f"/{prefix}/info"):
        info = from_json(text, arrays)
        if not isinstance(info, dict):
            raise ValueError("the JSON text holds no object")
    return info
