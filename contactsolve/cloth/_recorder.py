"""Writing of recordings: frames of a cloth in a VTKHDF file that is readable at all times.

A frame counts once the attribute NSteps, which is written last, counts it: for other programs and
for `Recording`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..io._growing import GrowingFile, Table, Taken
from ..io._json import to_json
from ..io._problems import write_text
from ..io.saved import write_header
from ._layout import (
    CELLS,
    CLOTH,
    DIGEST,
    FRAMES,
    NEED,
    POINTS,
    POLYGONS,
    SOLVERS,
    STEPS,
    VALUES,
    VELOCITIES,
    VTK,
    VTK_VERSION,
    Numbers,
    PathLike,
    cloth_digest,
    solver_digest,
    state_digest,
)
from ._recorded_contacts import arrays_of, options_of, rows_of, tables_of

if TYPE_CHECKING:
    from .cloth import Cloth

__all__ = ["Recorder"]


# Kinds of preconditioners that depend on the first matrix; for others, no solver is recorded.
_KEEPING = ("auto", "multigrid")


class _Last(NamedTuple):
    """What was written last."""

    step: int = -1
    time: float = 0.0
    solver: int = 0  # its number, of all that the cloth has made
    digest: bytes = bytes(DIGEST)


class Recorder(GrowingFile):
    """Writes the frames of a run; the file is there once the first frame is written."""

    def __init__(self, path: PathLike, cloth: Cloth, *, overwrite: bool) -> None:
        tables = _tables(cloth)
        super().__init__(Path(path), NEED, tables, VALUES, overwrite=overwrite)
        self._taken = self._taken._replace(own=_Last())
        self._counted = 0
        arrays = [cloth.faces, cloth.faces, *(array for _, array in _arrays(cloth))]
        room = sum(array.nbytes for array in arrays)
        self._open(lambda file: _begin(file, cloth), lambda: self.note(cloth), room)

    def note(self, cloth: Cloth) -> None:
        """Add the cloth as it is, unless this is the last frame, or the file cannot be written."""
        positions, velocities, time = cloth._core.state()
        told, last = cloth._core.report(), self._taken.own
        if self._broken or (last.step, last.time) == (told["steps"], time):
            return

        # The solver, where it is another one.
        taken, number = self._with_solver(cloth)
        numbers = Numbers(told["steps"], told["steps_not_converged"], cloth.newton, number)

        # The state; where it is; at last its hash and its time.
        digest = state_digest(numbers, time, positions, velocities)
        digest += bytes(DIGEST) if number < 0 else taken.own.digest
        rows = [
            (POINTS, positions),
            (VELOCITIES, velocities),
            *_offsets(taken.counts[POINTS]),
            *rows_of(cloth),
            (f"{FRAMES}/numbers", np.array([numbers], np.int64)),
            (f"{FRAMES}/hash", np.frombuffer(digest, np.uint8)[None]),
            (VALUES, np.array([time])),
        ]
        own = taken.own._replace(step=told["steps"], time=time)
        self._take(taken.plus(rows)._replace(own=own))

    def _with_solver(self, cloth: Cloth) -> tuple[Taken, int]:
        """Return what was taken, with the solver of the cloth, and the row of it; −1: none."""
        taken, number = self._taken, cloth._core.solver()
        if not number or cloth._options["M"] not in _KEEPING:
            return taken, -1
        if number != taken.own.solver:
            h, positions, velocities = cloth._core.solver_origin()
            rows = [
                (f"{SOLVERS}/positions", positions),
                (f"{SOLVERS}/velocities", velocities),
                (f"{SOLVERS}/h", np.array([h])),
            ]
            digest = solver_digest(h, positions, velocities)
            own = taken.own._replace(solver=number, digest=digest)
            taken = taken.plus(rows)._replace(own=own)
        return taken, taken.counts[f"{SOLVERS}/h"] - 1

    def _count(self, frames: int) -> None:
        """Write the number of steps."""
        self._file[STEPS].attrs.modify("NSteps", np.int64(frames))
        self._file.flush()
        self._counted = frames

    def close(self) -> None:
        """Write what waits, and close the file."""
        # VTK crashes if there are more times than steps, as after an error between the two.
        if self._broken and self._counted:
            with suppress(OSError, RuntimeError):
                self._tables[VALUES].cut(self._counted)
        super().close()


def _tables(cloth: Cloth) -> list[Table]:
    """Return the tables in the order in which they are written."""
    vertices = len(cloth.masses)
    return [
        Table(POINTS, np.empty((0, 3)), vertices),
        Table(VELOCITIES, np.empty((0, 3)), vertices),
        *(Table(name, rows[:0]) for name, rows in _offsets(0)),
        Table(f"{SOLVERS}/positions", np.empty((0, 3))),
        Table(f"{SOLVERS}/velocities", np.empty((0, 3))),
        Table(f"{SOLVERS}/h", np.empty(0)),
        *tables_of(cloth),
        Table(f"{FRAMES}/numbers", np.empty((0, len(Numbers._fields)), np.int64)),
        Table(f"{FRAMES}/hash", np.empty((0, 2 * DIGEST), np.uint8)),
        Table(VALUES, np.empty(0)),
    ]


def _offsets(first: int) -> list[tuple[str, np.ndarray]]:
    """Return where VTK finds a step: points from the row `first` on, and always the same cells."""
    at, none = np.array([first], np.int64), np.zeros((1, len(CELLS)), np.int64)
    return [
        (f"{STEPS}/PartOffsets", np.zeros(1, np.int64)),
        (f"{STEPS}/NumberOfParts", np.ones(1, np.int64)),
        (f"{STEPS}/PointOffsets", at),
        (f"{STEPS}/CellOffsets", none),
        (f"{STEPS}/ConnectivityIdOffsets", none),
        (f"{STEPS}/PointDataOffsets/velocity", at),
    ]


# ---- what does not change ------------------------------------------------------------------------


def _begin(file: Any, cloth: Cloth) -> None:
    """Write what does not change."""
    write_header(file, "cloth")
    _write_mesh(file, cloth)

    # What the cloth was made of, and its hash.
    text, _ = to_json(
        "the cloth",
        {
            "options": {**cloth._options, **options_of(cloth)},
            "functions": list(_functions(cloth)),
        },
    )
    group, arrays = file.create_group(CLOTH), dict(_arrays(cloth))
    write_text(group, "options", text)
    for name, array in arrays.items():
        group[name] = array
    digest = cloth_digest(text, [(POLYGONS, cloth.faces.ravel()), *arrays.items()])
    group["hash"] = np.frombuffer(digest, np.uint8)


def _write_mesh(file: Any, cloth: Cloth) -> None:
    """Write the mesh, of which other programs know that it has steps."""
    root = file.create_group(VTK)
    root.attrs["Version"] = np.array(VTK_VERSION, np.int64)
    root.attrs["Type"] = np.bytes_("PolyData")
    root["NumberOfPoints"] = np.array([len(cloth.masses)], np.int64)
    for name in CELLS:
        faces = cloth.faces if name == "Polygons" else np.empty((0, 3), np.int64)
        group = root.create_group(name)
        group["NumberOfCells"] = np.array([len(faces)], np.int64)
        group["NumberOfConnectivityIds"] = np.array([faces.size], np.int64)
        group["Offsets"] = 3 * np.arange(len(faces) + 1, dtype=np.int64)
        group["Connectivity"] = faces.ravel()
    file.create_group(STEPS).attrs["NSteps"] = np.int64(0)


def _functions(cloth: Cloth) -> Iterator[str]:
    """Yield the arguments that are functions, which a file cannot hold."""
    if cloth._attachment.motion is not None:
        yield "attach"
    if callable(cloth._forces):
        yield "forces"
    if cloth._colliding is not None and any(o.motion for o in cloth._colliding.obstacles):
        yield "obstacles"


def _arrays(cloth: Cloth) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays that the cloth was made of; the faces are in the mesh."""
    yield "vertices", cloth._vertices
    if cloth._rest is not None:
        yield "rest", cloth._rest
    yield "attach", cloth.attached
    if isinstance(cloth._forces, np.ndarray):
        yield "forces", cloth._forces
    if cloth._partition is not None:
        yield "partition", cloth._partition
    yield from arrays_of(cloth)
