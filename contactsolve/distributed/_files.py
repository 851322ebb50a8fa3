"""Problems and checkpoints in HDF5 files: one of each rank, under a file of virtual datasets.

h5py works on each rank by itself: a rank writes its own file and reads ranges. Problems have the
schema of `Problem.save` (`docs/files.md`), so that one process can read them, too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from contactsolve._optional import optional
from contactsolve.distributed._collective import (
    Communicator,
    Spread,
    range_of,
    require_equal,
    together,
)
from contactsolve.distributed._gather import gathered_contacts, gathered_rows, problem_rows
from contactsolve.distributed._given import (
    BlockKind,
    BodyKind,
    BodyRows,
    ContactRows,
    Given,
    Structure,
    values_of,
)
from contactsolve.distributed._ranges import ranges_of, spread_rows, spread_velocities, spreads
from contactsolve.distributed._share import Share
from contactsolve.io._hdf5 import Hdf5Reader, new_file, refuse_existing
from contactsolve.io._problems import (
    NEED,
    PARTNERS,
    read_flag,
    read_numbers,
    read_set,
    write_text,
    write_texts,
)
from contactsolve.io._results import used_friction, write_figures, write_parts
from contactsolve.io.saved import check_header, write_header
from contactsolve.result import Result
from contactsolve.sets import Set

__all__ = ["Piece", "read_given", "save", "save_result", "write_pieces"]

_LONGEST = 4  # digits of the number of a rank in a file name, at least


class Piece(NamedTuple):
    """A rank's range of a dataset.

    Attributes
    ----------
    name
        Name of the dataset.
    values
        ``(end - begin, ...)``.
    spread
        How its rows are spread over ranks.
    """

    name: str
    values: np.ndarray
    spread: Spread


# ---- writing ------------------------------------------------------------------------------------


def write_pieces(
    comm: Communicator,
    path: str | PathLike[str],
    kind: str,
    pieces: Sequence[Piece],
    finish: Callable[[Any], None],
    *,
    overwrite: bool,
) -> None:
    """Write datasets of all ranks: each rank its file, then rank 0 the one of virtual datasets.

    Parameters
    ----------
    comm
        Communicator; all ranks call this together.
    path
        The file of virtual datasets, which takes its name once everything is complete.
    kind
        The root attribute `kind`.
    pieces
        This rank's range of each dataset, in the same sequence on all ranks.
    finish
        Called with the open file of virtual datasets, on rank 0: writes the rest.
    overwrite
        Replace an existing file, whose files of ranks are then removed.

    Raises
    ------
    ValueError
        On all ranks: the path or `overwrite` differs between ranks.
    FileExistsError, FileNotFoundError, ImportError, OSError
        On all ranks. No file of this call remains, and an existing one is as it was.
    """
    target = together(comm, Path, path)
    require_equal(comm, {"path": repr(str(target)), "overwrite": bool(overwrite)})
    together(comm, _check_target, target, overwrite)
    mark = comm.allgather(secrets.token_hex(4))[0]
    digits = max(_LONGEST, len(str(comm.size - 1)))
    names = [f"{target.stem}.{mark}.{rank:0{digits}d}{target.suffix}" for rank in range(comm.size)]
    own = target.with_name(names[comm.rank])
    try:
        together(comm, _write_own, own, kind, pieces)
        together(comm, _write_virtual, comm, target, kind, pieces, names, finish, overwrite)
    except BaseException:
        with suppress(OSError):
            own.unlink(missing_ok=True)
        raise


def _check_target(target: Path, overwrite: bool) -> None:
    optional("h5py", NEED)
    refuse_existing(target, overwrite)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {target} does not exist")


def _write_own(path: Path, kind: str, pieces: Sequence[Piece]) -> None:
    with optional("h5py", NEED).File(path, "x") as file:
        write_header(file, f"{kind} of a rank")
        for piece in pieces:
            file.create_dataset(piece.name, data=piece.values)


def _write_virtual(
    comm: Communicator,
    target: Path,
    kind: str,
    pieces: Sequence[Piece],
    names: list[str],
    finish: Callable[[Any], None],
    overwrite: bool,
) -> None:
    """Write the file of virtual datasets on rank 0, and remove what it replaces."""
    if comm.rank != 0:
        return
    h5py = optional("h5py", NEED)
    former = _files_of_ranks(target) if overwrite and target.exists() else []
    with new_file(target, NEED, overwrite=overwrite) as file:
        write_header(file, kind)
        for piece in pieces:
            rest, begin = piece.values.shape[1:], 0
            if not piece.spread.count:
                file.create_dataset(piece.name, data=piece.values)
                continue
            layout = h5py.VirtualLayout((piece.spread.count, *rest), piece.values.dtype)
            for name, end in zip(names, piece.spread.ends(), strict=True):
                if begin < end:
                    source = h5py.VirtualSource(name, piece.name, shape=(end - begin, *rest))
                    layout[begin:end] = source
                begin = end
            file.create_virtual_dataset(piece.name, layout)
        finish(file)
    for path in former:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _files_of_ranks(target: Path) -> list[Path]:
    """Return the files in the same folder to which a file of virtual datasets refers."""
    found: set[str] = set()

    def look(_: str, node: Any) -> None:
        if getattr(node, "is_virtual", False):
            found.update(str(source.file_name) for source in node.virtual_sources())

    try:
        with optional("h5py", NEED).File(target, "r") as file:
            file.visititems(look)
    except OSError:  # another file, which is replaced
        return []
    begins = f"{target.stem}."
    return [
        target.with_name(name)
        for name in sorted(found)
        if Path(name).name == name and name.startswith(begins)
    ]


def save(share: Share, path: str | PathLike[str], name: str, *, overwrite: bool) -> None:
    """Write a problem; see `contactsolve.distributed.Problem.save`."""
    pieces = _problem_pieces(share)

    def finish(file: Any) -> None:
        _finish_problem(share, file, name)

    write_pieces(share.comm, path, "problem", pieces, finish, overwrite=overwrite)


def save_result(
    share: Share,
    path: str | PathLike[str],
    name: str,
    local: Result,
    info: dict[str, Any],
    *,
    overwrite: bool,
) -> None:
    """Write a result with its problem; see `contactsolve.distributed.Result.write`.

    Parameters
    ----------
    share, path, name, overwrite
        As for `save`.
    local
        The result of the rank's share.
    info
        That of the whole; rank 0's is written.
    """
    pieces, problem = _problem_pieces(share), share.problem
    for one in ("impulses", "residual_velocities"):
        values = spread_rows(share, problem_rows(problem, getattr(local, one)))
        pieces += _of_result(share, one, values, share.contact_first)
    change = local.body_velocity_change
    values = spread_velocities(share, change if problem.grouped else [change])
    pieces += _of_result(share, "body_velocity_change", values, share.body_first)

    # b and friction that the solve had in place of those of the problem go to rank 0.
    b = None if local._b is None else gathered_rows(share, local._b, 0)
    mu = None
    if local._parameters is not None:
        used = used_friction(problem, local._parameters)
        mu = gathered_contacts(share, used if problem.grouped else [used], 0)

    def finish(file: Any) -> None:
        _finish_problem(share, file, name)
        group = file.require_group("result")
        write_figures(group, local, info)
        if b is not None:
            group["b"] = np.concatenate([np.ravel(one) for one in (b if problem.grouped else [b])])
        if mu is not None:
            write_parts(group, "mu", mu if problem.grouped else mu[0])

    write_pieces(share.comm, path, "result", pieces, finish, overwrite=overwrite)


def _of_result(
    share: Share, name: str, values: list[np.ndarray], firsts: tuple[int, ...]
) -> list[Piece]:
    """Return the pieces of a value of a result, one for each group."""
    return [
        Piece(
            f"result/{name}/{g}" if share.structure.grouped else f"result/{name}",
            value,
            spread,
        )
        for g, (value, spread) in enumerate(zip(values, spreads(share, firsts), strict=True))
    ]


def _problem_pieces(share: Share) -> list[Piece]:
    """Return this rank's ranges of the datasets of a problem."""
    ranges, pieces = ranges_of(share), []
    for g, (kind, rows) in enumerate(zip(share.structure.blocks, ranges.contacts, strict=True)):
        spread, at = ranges.contact_spread[g], f"problem/groups/{g}"
        arrays = {**_jacobians(kind, rows.J), "bodies": rows.bodies, "b": rows.b}
        if rows.compliance.shape[1]:
            arrays["compliance"] = rows.compliance
        values = zip(kind.parameters, values_of(kind, rows.parameters), strict=True)
        arrays |= {f"set/values/{parameter}": value for (parameter, *_), value in values}
        pieces += [Piece(f"{at}/{one}", array, spread) for one, array in arrays.items()]
    for g, of_group in enumerate(ranges.bodies):
        spread, at = ranges.body_spread[g], f"problem/bodies/{g}"
        pieces.append(Piece(f"{at}/inverse_mass", of_group.inverse_mass, spread))
        pieces.append(Piece(f"{at}/label", of_group.label, spread))
    return pieces


def _finish_problem(share: Share, file: Any, name: str) -> None:
    """Write what is the same on all ranks, with names, sets and parts."""
    group = file.require_group("problem")
    write_text(group, "name", name)
    group["grouped"], group["updates"] = np.uint8(share.structure.grouped), np.int64(0)
    group["parts"] = np.int64(share.parts)
    for part in ("groups", "bodies"):
        group.require_group(part)
    for g, kind in enumerate(share.structure.blocks):
        of_set = group.require_group(f"groups/{g}/set")
        of_set.require_group("values")
        write_text(of_set, "name", kind.set)
        write_texts(of_set, "parameters", [one for one, _, _ in kind.parameters])
        by_rows = [of_rows for _, of_rows, _ in kind.parameters]
        of_set["of_rows"] = np.array(by_rows, np.uint8)
        dimensions = [len(shape) for _, _, shape in kind.parameters]
        of_set["dimensions"] = np.array(dimensions, np.int64)


def _jacobians(kind: BlockKind, J: np.ndarray) -> dict[str, np.ndarray]:
    """Return the Jacobians by the names of their datasets."""
    count = len(J)
    if len(set(kind.dofs)) == 1:
        return {"J": J.reshape(count, len(kind.dofs), kind.rows, kind.dofs[0])}
    parts = np.split(J, kind.rows * np.cumsum(kind.dofs)[:-1], axis=1)
    return {
        name: part.reshape(count, kind.rows, dof)
        for name, part, dof in zip(PARTNERS, parts, kind.dofs, strict=False)
    }


# ---- reading ------------------------------------------------------------------------------------


def read_given(path: str | PathLike[str], rank: int, ranks: int) -> tuple[Given, str, int | None]:
    """Return a rank's range of the problem in a file, its name, and its parts if it has labels.

    Raises
    ------
    FileNotFoundError, ValueError, ImportError
        As for `contactsolve.load_problem`, and for a problem of a given matrix.
    """
    with Hdf5Reader(Path(path), NEED) as reader:
        kind = check_header(reader, "Problem.save")
        if kind not in ("problem", "result"):
            raise reader.error(f"this file holds a {kind}, not a problem")
        if reader.has("problem/A"):
            raise reader.error("the problem is made of a given matrix: J with bodies is needed")
        grouped = read_flag(reader, "problem/grouped")
        blocks = [
            _read_contacts(reader, name, rank, ranks) for name in reader.numbered("problem/groups")
        ]
        bodies = [
            _read_bodies(reader, name, rank, ranks) for name in reader.numbered("problem/bodies")
        ]
        total = sum(count for _, _, count in bodies)
        for g, (_, rows) in enumerate(blocks):
            wrong = np.argwhere((rows.bodies < -1) | (rows.bodies >= total))
            if len(wrong):
                row, side = wrong[0]
                raise reader.error(
                    f"/problem/groups/{g}/bodies[{rows.ids[row]}, {side}] is "
                    f"{rows.bodies[row, side]}: there are {total} bodies"
                )
        structure = Structure(
            tuple(one for one, _ in blocks), tuple(one for one, _, _ in bodies), grouped
        )
        parts = reader.integer("problem/parts") if reader.has("problem/parts") else None
        given = Given(
            structure,
            tuple(rows for _, rows in blocks),
            tuple(rows for _, rows, _ in bodies),
            parts is not None,
            False,
            is_numbered=True,
            totals=tuple(count for _, _, count in bodies),
        )
        return given, reader.fixed_text("problem/name"), parts


def _range_of(reader: Hdf5Reader, name: str, kinds: str, rank: int, ranks: int) -> np.ndarray:
    """Return a rank's range of the rows of a dataset."""
    return reader.part_of(name, kinds, *range_of(rank, reader.length(name), ranks))


def _numbers(reader: Hdf5Reader, name: str, rank: int, ranks: int, *axes: int) -> np.ndarray:
    """Return a rank's range of float64 numbers of so many dimensions."""
    values = _range_of(reader, name, "f", rank, ranks)
    if values.dtype != np.float64 or values.ndim not in axes:
        wanted = " or ".join(map(str, axes))
        raise reader.error(
            f"/{name} has dtype {values.dtype} and {values.ndim} dimensions: float64 and {wanted} "
            f"dimensions are expected"
        )
    return values


def _read_contacts(
    reader: Hdf5Reader, name: str, rank: int, ranks: int
) -> tuple[BlockKind, ContactRows]:
    """Return one group of contacts and a rank's range of them."""
    b = _numbers(reader, f"{name}/b", rank, ranks, 2)
    count = reader.length(f"{name}/b")
    begin, _ = range_of(rank, count, ranks)
    n, rows = b.shape

    # Jacobians, one array of all partners or one of each.
    if reader.has(f"{name}/J"):
        J = _numbers(reader, f"{name}/J", rank, ranks, 4)
        dofs: tuple[int, ...] = (J.shape[3],) * J.shape[1]
        parts = [J.reshape(len(J), -1 if len(J) else rows * sum(dofs))]
        heights = {J.shape[2]}
    else:
        given = [one for one in PARTNERS if reader.has(f"{name}/{one}")]
        each = [_numbers(reader, f"{name}/{one}", rank, ranks, 3) for one in given]
        dofs = tuple(one.shape[2] for one in each)
        parts = [one.reshape(len(one), rows * one.shape[2]) for one in each]
        heights = {one.shape[1] for one in each}
    bodies = _range_of(reader, f"{name}/bodies", "i", rank, ranks)
    if bodies.ndim != 2 or bodies.shape[1] != len(dofs) or heights != {rows}:
        raise reader.error(
            f"/{name} has bodies of shape {bodies.shape[1:]}, J of {len(dofs)} partners and "
            f"{sorted(heights)} rows, and b of {rows} rows: they do not fit"
        )
    if any(len(part) != n for part in [*parts, bodies]):
        raise reader.error(f"/{name} has arrays of different lengths")

    # The set, with the values of the range.
    feasible = _set_of_range(reader, f"{name}/set", (count, rows), begin, n)
    compliance = np.zeros((n, 0))
    if reader.has(f"{name}/compliance"):
        compliance = _numbers(reader, f"{name}/compliance", rank, ranks, 2)
    with reader.making(f"/{name}/set"):
        parameters = feasible.parameters(n, rows)
    kind = BlockKind(
        rows,
        dofs,
        feasible.name,
        tuple((one.name, one.of_rows, tuple(one.shape)) for one in feasible.values),
    )
    return kind, ContactRows(
        np.arange(begin, begin + n),
        np.concatenate(parts, axis=1),
        bodies.astype(np.int64),
        b,
        np.ascontiguousarray(parameters),
        compliance,
    )


def _set_of_range(reader: Hdf5Reader, name: str, shape: tuple[int, int], begin: int, n: int) -> Set:
    """Return a set with the values of n contacts; `shape` is that of b of all contacts."""

    def read(where: str, by_rows: bool, dimensions: int) -> np.ndarray:
        # Values of each contact are read in the range; others hold for all.
        axes = reader.dimensions(where)
        of_each = axes == (2 if by_rows else 1 + dimensions) and reader.length(where) == shape[0]
        first, end = (begin, begin + n) if of_each else (0, reader.length(where))
        values = reader.part_of(where, "f", first, end) if axes else read_numbers(reader, where)
        if values.dtype != np.float64:
            raise reader.error(f"/{where} has dtype {values.dtype}: expected float64")
        return values

    return read_set(reader, name, read)


def _read_bodies(
    reader: Hdf5Reader, name: str, rank: int, ranks: int
) -> tuple[BodyKind, BodyRows, int]:
    """Return one group of bodies, a rank's range of them, and their number on all ranks."""
    inverse = _numbers(reader, f"{name}/inverse_mass", rank, ranks, 2, 3)
    count = reader.length(f"{name}/inverse_mass")
    begin, n = range_of(rank, count, ranks)[0], len(inverse)
    label = np.zeros(n, np.int64)
    if reader.has(f"{name}/label"):
        label = _range_of(reader, f"{name}/label", "i", rank, ranks).astype(np.int64)
        if label.shape != (n,):
            raise reader.error(f"/{name}/label has {len(label)} entries: {n} are expected")
    rows = BodyRows(np.arange(begin, begin + n), inverse, label, np.zeros((n, 0)))
    rows = rows._replace(label=np.where(rows.moves, label, 0))
    return BodyKind(inverse.shape[1], inverse.ndim == 2), rows, count
