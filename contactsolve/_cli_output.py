"""Output of the command: files, pictures, text, JSON, and the progress line."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve import plots
from contactsolve._optional import optional
from contactsolve.compare import Table
from contactsolve.io import write_fclib
from contactsolve.problem import Problem
from contactsolve.result import Result, format_seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "STANDARD_OUTPUT",
    "Picture",
    "progress_options",
    "require_folder",
    "require_one_output",
    "require_writable",
    "result_json",
    "size",
    "summary",
    "table_json",
    "written_files",
]

STANDARD_OUTPUT = Path("-")  # as a path on the command line

_SECONDS_BEFORE_PROGRESS = 1.0

# Attributes of a result with an entry for every contact, body or iteration; --save and --csv write
# them.
_ARRAYS = ("impulses", "residual_velocities", "body_velocity_change", "history")


# ---- files --------------------------------------------------------------------------------------


def require_folder(path: Path) -> None:
    """Refuse a path whose folder does not exist."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist")


def require_writable(overwrite: bool, *paths: Path | None) -> None:
    """Refuse outputs that cannot be written, before any work is done."""
    files = [path for path in paths if path is not None and path != STANDARD_OUTPUT]
    for i, path in enumerate(files):
        if path.absolute() in [other.absolute() for other in files[:i]]:
            raise ValueError(f"{path} is given for two outputs")
        require_folder(path)
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder: the name of a file is needed")
        if path.exists() and not overwrite:
            raise FileExistsError(f"{path} exists: pass --overwrite to replace it")


def require_one_output(chosen: argparse.Namespace) -> None:
    """Refuse two documents on standard output."""
    if chosen.json and chosen.csv == STANDARD_OUTPUT:
        raise ValueError("--json and --csv - both write to standard output: give one of them")


class Picture:
    """A figure without a window, bound to a file that is checked before any work is done."""

    def __init__(self, path: Path, columns: int = 1, share: bool = True) -> None:
        figure_type: type[Figure] = optional("matplotlib.figure", "pictures need").Figure
        require_folder(path)
        self.path = path if path.suffix else path.with_suffix(".png")
        size = (6.0, 4.0) if columns == 1 else (9.6, 4.4)
        self.figure: Figure = figure_type(figsize=size, layout="constrained")
        known = self.figure.canvas.get_supported_filetypes()
        if self.path.suffix[1:].lower() not in known:
            raise ValueError(
                f"{self.path} ends in {self.path.suffix!r}: expected one of {', '.join(known)}"
            )
        self.axes = list(self.figure.subplots(1, columns, sharey=share, squeeze=False)[0])

    def save(self) -> Path:
        """Write the figure and return its path."""
        self.figure.savefig(self.path, dpi=150)
        return self.path.resolve()


def written_files(
    chosen: argparse.Namespace, result: Result, picture: Picture | None
) -> Iterator[tuple[str, Path]]:
    """Write the requested files; yield the content of each, in a word, and its path."""
    if chosen.output is not None:
        write_fclib(chosen.output, result.problem, result, overwrite=chosen.overwrite)
        yield "solution", chosen.output.resolve()
    if chosen.save is not None:
        result.save(chosen.save, overwrite=chosen.overwrite)
        yield "result", chosen.save.resolve()
    if chosen.csv not in (None, STANDARD_OUTPUT):
        result.history.to_csv(chosen.csv)
        yield "history", chosen.csv.resolve()
    if picture is not None:
        label = f"{result.info['method']}, {result.info['dtype']}"
        plots.convergence(result, ax=picture.axes[0], labels=label)
        picture.axes[0].set_title(result.problem.name)
        yield "picture", picture.save()


# ---- text ---------------------------------------------------------------------------------------


def summary(problem: Problem, result: Result) -> str:
    """Return the outcome of a solve in a few lines."""
    info = result.info
    parts = result.impulses if problem.grouped else [result.impulses]
    largest = max((abs(part).max(initial=0.0) for part in parts), default=0.0)
    lines = [
        ("problem", f"{problem.name}, {size(problem)}"),
        ("method", f"{info['method']}, scheme {info['scheme']}, {info['dtype']}"),
        ("result", result.message),
        ("time", _times(result)),
        ("largest impulse", f"{largest:.6g} N s"),
        *(("note", text) for text in info["warnings"]),
    ]
    return "\n".join(f"{name + ':':<17}{text}" for name, text in lines)


def _times(result: Result) -> str:
    """Return what a solve took: the solve, of it the sweeps, the set-up, and the whole call."""
    solve, sweeps = format_seconds(result.time), format_seconds(result.sweep_time)
    setup = format_seconds(result.info["setup_seconds"])
    call = format_seconds(result.wall_time)
    return f"solve {solve} (sweeps {sweeps}), set-up {setup}, whole call {call}"


def size(problem: Problem) -> str:
    """Return the numbers of contacts and of their rows, as text."""
    rows = sorted(set(problem.rows)) if problem.grouped else [problem.rows]
    contacts = f"{problem.contacts} contact{'' if problem.contacts == 1 else 's'}"
    return f"{contacts} of {', '.join(map(str, rows))} row{'' if rows == [1] else 's'}"


# ---- JSON ---------------------------------------------------------------------------------------


def result_json(name: str, result: Result, files: Mapping[str, Path]) -> str:
    """Return a result as a JSON document: everything but arrays and the history."""
    document: dict[str, Any] = {"problem": name, "contacts": result.problem.contacts}
    document |= {key: value for key, value in result.to_dict().items() if key not in _ARRAYS}
    document["files"] = {key: str(path) for key, path in files.items()}
    return _json(document)


def table_json(table: Table) -> str:
    """Return the rows of a table as a JSON list of objects."""
    return _json([dataclasses.asdict(row) for row in table])


def _json(value: Any) -> str:
    return json.dumps(_plain(value), allow_nan=False, ensure_ascii=False, indent=2)


def _plain(value: Any) -> Any:
    """Return a value without arrays; numbers that JSON does not have are None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items() if not _has_array(item)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def _has_array(value: Any) -> bool:
    """Whether a value is an array, or a list with one in it."""
    listed = isinstance(value, (list, tuple))
    return isinstance(value, np.ndarray) or (listed and any(map(_has_array, value)))


# ---- progress -----------------------------------------------------------------------------------


def progress_options(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return ``progress=`` if standard error is a terminal that may show it; nothing otherwise."""
    if chosen.quiet or not sys.stderr.isatty():
        return {}
    try:
        optional("tqdm.auto", "progress needs")
    except ImportError:
        return {}
    return {"progress": _SECONDS_BEFORE_PROGRESS}
