"""Writing of recordings: frames of a world in an HDF5 file that is readable at all times.

A frame counts once its hash, which is written last, is in the file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..io._growing import GrowingFile, Table
from ..io._json import to_json
from ..io._problems import write_text, write_texts
from ..io.saved import problem_image, write_header
from ._layout import (
    ARRAYS,
    BODIES,
    DIGEST,
    FRAMES,
    JOINTS,
    LAWS,
    NEED,
    NUMBERS,
    PROBLEMS,
    RECORD,
    SHAPES,
    TABLES,
    WORLD,
    Numbers,
    PathLike,
    digest_of,
    state_digest,
    world_digest,
)
from .record import Record

if TYPE_CHECKING:
    from ..problem import Problem
    from .world import World

__all__ = ["Recorder"]

_HASH = f"{FRAMES}/hash"


class _Counts(NamedTuple):
    """What a world had at the last frame."""

    laws: int
    shapes: int
    step: int


class Recorder(GrowingFile):
    """Writes the frames of a run; the file is there once the first frame is written."""

    def __init__(
        self, path: PathLike, world: World, row: dict[str, Any], *, overwrite: bool
    ) -> None:
        super().__init__(Path(path), NEED, self._all_tables(world, row), _HASH, overwrite=overwrite)
        digests = {name: hashlib.blake2b(digest_size=DIGEST) for name in TABLES}
        self._taken = self._taken._replace(digests=digests, own=_Counts(0, 0, -1))
        self._open(lambda file: self._begin(file, world), lambda: self.frame(world, row))

    def _all_tables(self, world: World, row: dict[str, Any]) -> list[Table]:
        """Return the tables in the order in which they are written."""
        state = world._core.save()
        bodies = max(world.bodies, 1)

        # What is added to a world.
        tables = []
        for name, table in TABLES.items():
            columns = () if table.columns is None else (table.columns[world.dimension - 2],)
            tables.append(Table(name, np.empty((0, *columns), table.dtype)))

        # Problems, states, the rows of the record; at last what makes a frame whole.
        tables += [Table(f"{PROBLEMS}/bytes", np.empty(0, "u1"), 2**13)]
        tables += [Table(f"{PROBLEMS}/end", np.empty((0, 2), "i8"))]
        tables += [Table(f"{PROBLEMS}/hash", np.empty((0, DIGEST), "u1"))]
        state.pop("force")
        self._arrays = list(state)
        for name, array in state.items():
            tables.append(Table(f"{ARRAYS}/{name}", array, len(array) or 3 * bodies))
        self._columns = [name for name in row if name not in Record.of_bodies]
        tables += [Table(f"{RECORD}/{name}", np.array([row[name]])) for name in self._columns]
        return [
            *tables,
            Table(f"{FRAMES}/numbers", np.empty((0, NUMBERS), "i8")),
            Table(f"{FRAMES}/rows", np.empty((0, len(self._arrays)), "i8")),
            Table(_HASH, np.empty((0, 2 * DIGEST), "u1")),
        ]

    def _begin(self, file: Any, world: World) -> None:
        """Write what does not change."""
        write_header(file, "recording")
        given = {**world._given, "forces": world.forces is not None}
        text, arrays = to_json("the world", {**given, "allow_overlap": world._allow_overlap})
        if arrays:
            raise TypeError("the world has an option that is an array, which cannot be recorded")
        group = file.create_group(WORLD)
        write_text(group, "options", text)
        write_texts(group, "arrays", self._arrays)
        write_texts(group, "record", self._columns or [""])
        group["hash"] = np.frombuffer(world_digest(text, self._arrays, self._columns), np.uint8)

    # ---- frames ----------------------------------------------------------------------------------

    def waits_for(self, step: int) -> bool:
        """Whether there can be a frame of this step, and is none."""
        return not self._broken and bool(self._taken.own.step != step)

    def frame(self, world: World, row: dict[str, Any]) -> None:
        """Add the world as it is, and a row of its record."""
        taken = self._taken.plus(
            [
                *self._new_laws(world),
                *_new_bodies(world, self._taken.counts),
                *self._new_shapes(world),
                *_new_joints(world, self._taken.counts),
            ]
        )
        taken = taken._replace(own=_Counts(len(world._laws), len(world._shapes), world.steps))

        # The state, and the row of the record.
        state = world._core.save()
        arrays = {name: state[name] for name in self._arrays}
        rows = [(f"{ARRAYS}/{name}", array) for name, array in arrays.items()]
        rows += [(f"{RECORD}/{name}", np.array([row[name]])) for name in self._columns]
        taken = taken.plus(rows)

        # Where the frame ends in each table, and its hash.
        numbers = _numbers(world, taken.counts)
        ends = [taken.counts[f"{ARRAYS}/{name}"] for name in self._arrays]
        structure = digest_of([one.digest() for one in taken.digests.values()])
        digest = np.frombuffer(state_digest(numbers, arrays) + structure, np.uint8)
        self._take(
            taken.plus(
                [
                    (f"{FRAMES}/numbers", np.array([numbers])),
                    (f"{FRAMES}/rows", np.array([ends])),
                    (_HASH, digest[None]),
                ]
            )
        )

    def problem(self, problem: Problem, step: int) -> None:
        """Add a contact problem."""
        image = np.frombuffer(problem_image(problem), np.uint8)
        taken = self._taken.plus([(f"{PROBLEMS}/bytes", image)])
        end = taken.counts[f"{PROBLEMS}/bytes"]
        digest = np.frombuffer(digest_of([image.tobytes()]), np.uint8)
        self._take(
            taken.plus(
                [
                    (f"{PROBLEMS}/end", np.array([[step, end]])),
                    (f"{PROBLEMS}/hash", digest[None]),
                ]
            )
        )

    def _new_laws(self, world: World) -> list[tuple[str, np.ndarray]]:
        """Return the rows of materials, and of laws of pairs, since the last frame."""
        new = world._laws[self._taken.own.laws :]
        if not new:
            return []
        for _, (name, *_) in new:
            if name == "support_function":
                raise TypeError(
                    "a material has a set of a Python function, which belongs to this process: a "
                    "run with such a material cannot be recorded in a file"
                )
        values = [law[2] for _, law in new]
        return [
            (f"{LAWS}/pair", np.array([pair for pair, _ in new], np.int64)),
            (f"{LAWS}/set", np.array([law[0].encode() for _, law in new], "S32")),
            (f"{LAWS}/rows", np.array([law[1] for _, law in new], np.int64)),
            (f"{LAWS}/restitution", np.array([law[3:] for _, law in new])),
            (f"{LAWS}/parameters", np.array([len(one) for one in values], np.int64)),
            (f"{LAWS}/values", np.concatenate(values).astype(np.float64)),
        ]

    def _new_shapes(self, world: World) -> list[tuple[str, np.ndarray]]:
        new = world._shapes[self._taken.own.shapes :]
        if not new:
            return []
        shapes = [one.shape for one in new]
        numbers = np.zeros((len(new), 4))
        for line, shape in zip(numbers, shapes, strict=True):
            line[: len(shape.numbers)] = shape.numbers
        points = [one._vertices for one in shapes if one._vertices is not None]
        sizes = [
            (len(one.numbers), 0 if one._vertices is None else len(one._vertices)) for one in shapes
        ]
        rows = [
            (f"{SHAPES}/kind", np.array([one.kind.encode() for one in shapes], "S16")),
            (f"{SHAPES}/numbers", numbers),
            (f"{SHAPES}/size", np.array(sizes, np.int64)),
            (f"{SHAPES}/body", np.array([one.body for one in new], np.int64)),
            (f"{SHAPES}/position", np.array([one.position for one in new])),
            (f"{SHAPES}/orientation", np.array([one.orientation for one in new])),
            (
                f"{SHAPES}/material",
                np.array([world._number_of(one.material, one.material is None) for one in new]),
            ),
        ]
        if points:
            rows.append((f"{SHAPES}/points", np.concatenate(points)))
        return rows


def _new_bodies(world: World, counts: dict[str, int]) -> list[tuple[str, np.ndarray]]:
    """Return the rows of bodies since the last frame."""
    state, begin = world._state, counts[f"{BODIES}/mass"]
    if len(state["mass"]) == begin:
        return []
    return [
        (f"{BODIES}/mass", state["mass"][begin:].copy()),
        (f"{BODIES}/inertia", state["inertia"][begin:].copy()),
        (f"{BODIES}/driven", state["driven"][begin:].astype(np.uint8)),
    ]


def _new_joints(world: World, counts: dict[str, int]) -> list[tuple[str, np.ndarray]]:
    """Return the rows of joints since the last frame."""
    new = world.joints._given[counts[f"{JOINTS}/kind"] :]
    if not new:
        return []
    return [
        (f"{JOINTS}/kind", np.array([one[0].encode() for one in new], "S16")),
        (f"{JOINTS}/body", np.array([one[1] for one in new])),
        (f"{JOINTS}/numbers", np.array([one[2] for one in new])),
        (f"{JOINTS}/flags", np.array([one[3] for one in new])),
    ]


def _numbers(world: World, counts: dict[str, int]) -> Numbers:
    """Return the numbers of a frame."""
    tables = (
        f"{LAWS}/rows",
        f"{LAWS}/values",
        f"{BODIES}/mass",
        f"{SHAPES}/body",
        f"{SHAPES}/points",
        f"{JOINTS}/kind",
    )
    default = world._materials.get(id(world._default), -1)
    unchecked = -1 if world._unchecked is None else world._unchecked
    ends = [counts[name] for name in tables]
    return Numbers._make([world.steps, *ends, default, unchecked, world._summed().missed])
