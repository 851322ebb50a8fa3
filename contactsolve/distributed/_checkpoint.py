"""Checkpoints of a distributed solve: what it needs to go on with the same bits.

A checkpoint holds values of contacts, of bodies and of parts by their numbers in the whole problem,
so that any number of ranks can go on from it.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from contactsolve.distributed._collective import Spread, fetch, range_of, together
from contactsolve.distributed._files import Piece, write_pieces
from contactsolve.distributed._ranges import rows_by_group, spread_rows, spread_velocities, spreads
from contactsolve.distributed._share import Share, ids_by_group
from contactsolve.io._hdf5 import Hdf5Reader
from contactsolve.io._problems import NEED, write_text
from contactsolve.io.saved import check_header

__all__ = ["Checkpoint", "mark_of", "read_checkpoint", "write_checkpoint"]


class Checkpoint(NamedTuple):
    """The state of a solve on one rank.

    Attributes
    ----------
    rows
        Vectors over the rows of the contacts of the share, flat, by name: impulses.
    velocities
        Vectors over the bodies of the share, flat, by name: u. They are stored with their bits,
        because a sum in another order would have others.
    contacts
        Numbers of each contact, ``(k,)`` or ``(k, ...)``, by name. Solves write none.
    parts
        Numbers of each part of the rank, ``(parts of the rank, ...)``, by name. Solves write none.
    numbers
        Numbers, texts and lists that are the same on all ranks, by name.
    """

    rows: dict[str, np.ndarray]
    velocities: dict[str, np.ndarray]
    contacts: dict[str, np.ndarray]
    parts: dict[str, np.ndarray]
    numbers: dict[str, Any]


def write_checkpoint(
    share: Share, path: str | PathLike[str], state: Checkpoint, mark: int | None = None
) -> None:
    """Write a checkpoint, which replaces an older one when all files of it are complete.

    Parameters
    ----------
    share
        The rank's share; all ranks call this together.
    path
        The file of virtual datasets; those of the ranks lie beside it.
    state
        With the same names and types of arrays on all ranks.
    mark
        Of `mark_of`; by default that of the problem with its own values.

    Raises
    ------
    FileNotFoundError, OSError, ImportError
        On all ranks; the older checkpoint is then as it was.
    TypeError
        `numbers` holds something that JSON cannot.
    """
    problem, comm, pieces = share.problem, share.comm, []
    mark = mark_of(share) if mark is None else mark
    if state.rows:
        each = _together(state.rows, [layout.shape for layout in problem._groups])
        pieces += _named(share, "rows", state.rows, spread_rows(share, each), "contact")
    for name, value in state.contacts.items():
        each = np.split(value, np.cumsum([layout.contacts for layout in problem._groups])[:-1])
        pieces += _of_groups(
            share, f"checkpoint/contacts/{name}", spread_rows(share, each), "contact"
        )
    if state.velocities:
        each = _together(state.velocities, [shape[:2] for shape in problem._bodies])
        moved = spread_velocities(share, each)
        pieces += _named(share, "velocities", state.velocities, moved, "body")
    spread = Spread(comm, share.parts)  # parts are spread as ranks own them
    pieces += [
        Piece(f"checkpoint/parts/{name}", value, spread) for name, value in state.parts.items()
    ]
    text = together(comm, json.dumps, state.numbers, allow_nan=True)

    def finish(file: Any) -> None:
        group = file.require_group("checkpoint")
        write_text(group, "numbers", text)
        group["mark"], group["of_parts"] = np.uint64(mark), np.int64(share.parts)

    write_pieces(comm, path, "checkpoint", pieces, finish, overwrite=True)


def _together(vectors: dict[str, np.ndarray], shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Return flat vectors as one array ``(n, vectors, m)`` for each group."""
    every = [rows_by_group(value, shapes) for value in vectors.values()]
    return [np.stack(of_group, axis=1) for of_group in zip(*every, strict=True)]


def _named(
    share: Share, kind: str, vectors: dict[str, np.ndarray], values: list[np.ndarray], what: str
) -> list[Piece]:
    """Return the pieces of vectors whose values are ``(n, vectors, m)`` for each group."""
    pieces = []
    for i, name in enumerate(vectors):
        own = [value[:, i] for value in values]
        pieces += _of_groups(share, f"checkpoint/{kind}/{name}", own, what)
    return pieces


def _of_groups(share: Share, name: str, values: list[np.ndarray], kind: str) -> list[Piece]:
    firsts = share.contact_first if kind == "contact" else share.body_first
    return [
        Piece(f"{name}/{g}", value, spread)
        for g, (value, spread) in enumerate(zip(values, spreads(share, firsts), strict=True))
    ]


def read_checkpoint(share: Share, path: str | PathLike[str], mark: int | None = None) -> Checkpoint:
    """Read a checkpoint of the same problem and parts, of any number of ranks.

    Parameters
    ----------
    share
        The rank's share; all ranks call this together.
    path
        A file of `write_checkpoint`.
    mark
        As for `write_checkpoint`.

    Returns
    -------
    Checkpoint
        Values of all contacts and bodies of the share, ghosts included.

    Raises
    ------
    FileNotFoundError, ValueError, ImportError
        On all ranks: no such file, a damaged one, one of another problem or of other parts.
    """
    comm = share.comm
    mark = mark_of(share) if mark is None else mark
    pieces, numbers = together(comm, _read_own, share, path, mark)
    found: dict[str, dict[str, np.ndarray]] = {}
    for kind, names in pieces.items():
        if kind == "parts" or not names:
            found[kind] = {name: ranges[0] for name, ranges in names.items()}
            continue
        own, firsts = (
            (share.body, share.body_first)
            if kind == "velocities"
            else (share.contact, share.contact_first)
        )

        # All vectors of a group travel together.
        groups = zip(
            spreads(share, firsts),
            zip(*names.values(), strict=True),
            ids_by_group(own, firsts),
            strict=True,
        )
        each = [fetch(comm, spread, values, ids) for spread, values, ids in groups]
        flat = kind != "contacts"
        found[kind] = {
            name: np.concatenate([one.ravel() if flat else one for one in of_groups])
            for name, of_groups in zip(names, zip(*each, strict=True), strict=True)
        }
    return Checkpoint(
        found["rows"], found["velocities"], found["contacts"], found["parts"], numbers
    )


def _read_own(
    share: Share, path: str | PathLike[str], mark: int
) -> tuple[dict[str, dict[str, list[np.ndarray]]], dict[str, Any]]:
    """Return this rank's ranges of all datasets by kind and name, and the numbers."""
    comm = share.comm
    with Hdf5Reader(Path(path), NEED) as reader:
        kind = check_header(reader, "a distributed solver")
        if kind != "checkpoint":
            raise reader.error(f"this file holds a {kind}, not a checkpoint")
        parts = reader.integer("checkpoint/of_parts")
        if parts != share.parts:
            raise reader.error(
                f"the checkpoint has {parts} parts and the problem {share.parts}: they must agree"
            )
        if reader.array("checkpoint/mark", "u", "an unsigned integer", ()) != mark:
            raise reader.error(
                "the checkpoint is one of another problem, or of other labels, b or mu"
            )
        numbers = json.loads(reader.fixed_text("checkpoint/numbers"))
        found: dict[str, dict[str, list[np.ndarray]]] = {}
        for kind in ("rows", "velocities", "contacts", "parts"):
            found[kind] = {}
            names = reader.names(f"checkpoint/{kind}") if reader.has(f"checkpoint/{kind}") else []
            for name in names:
                at = f"checkpoint/{kind}/{name}"
                if kind == "parts":
                    first, end = range_of(comm.rank, parts, comm.size)
                    found[kind][name] = [reader.part_of(at, "fiu", first, end)]
                    continue
                firsts = share.body_first if kind == "velocities" else share.contact_first
                groups, datasets, ranges = spreads(share, firsts), reader.numbered(at), []
                if len(datasets) != len(groups):
                    raise reader.error(
                        f"/{at} has {len(datasets)} groups, and the problem {len(groups)}"
                    )
                for dataset, spread in zip(datasets, groups, strict=True):
                    count = reader.length(dataset)
                    if count != spread.count:
                        raise reader.error(f"/{dataset} has {count} rows, not those of the problem")
                    ranges.append(reader.part_of(dataset, "fiu", spread.begin, spread.end))
                found[kind][name] = ranges
        return found, numbers


# ---- the mark of a problem ----------------------------------------------------------------------

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIXER = np.uint64(0xBF58476D1CE4E5B9)


def mark_of(share: Share, b: np.ndarray | None = None, parameters: np.ndarray | None = None) -> int:
    """Return a number by which a problem and its labels are known, whatever the ranks. Collective.

    The sum of a hash of each contact and each movable body, modulo 2^64.

    Parameters
    ----------
    share
        The rank's share.
    b, parameters
        Those of a solve in place of the problem's own, flat over all groups, or None.
    """
    problem, total, begin, row, first = share.problem, 0, 0, 0, 0
    owned, number = share.owns_contact, np.append(share.body, -1)
    for g, layout in enumerate(problem._groups):
        count, rows = layout.shape
        mine = slice(begin, begin + count)
        begin = mine.stop
        own = layout.set.parameters(count, rows)
        width = own.shape[1]
        sigma = problem._core.compliance(g)
        arrays = [
            problem._core.jacobian(g).reshape(count, rows * sum(layout.dofs)),
            number[problem._core.bodies(g)].reshape(count, len(layout.dofs)).astype(np.float64),
            (problem._core.b(g) if b is None else b[row : row + count * rows]),
            (own if parameters is None else parameters[first : first + count * width]),
            (np.zeros((count, rows)) if sigma is None else sigma),
        ]
        row, first = row + count * rows, first + count * width
        widths = (None, None, rows, width, rows)
        shaped = [
            array if wide is None else np.reshape(array, (count, wide))
            for array, wide in zip(arrays, widths, strict=True)
        ]
        total += _sum_of_hashes(share.contact[mine], shaped, owned[mine])
    begin = 0
    for g, shape in enumerate(problem._bodies):
        mine = slice(begin, begin + shape[0])
        begin = mine.stop
        inverse = problem._core.inverse_mass(g).reshape(shape[0], int(np.prod(shape[1:])))
        label = share.label[mine].astype(np.float64)[:, None]
        total += _sum_of_hashes(share.body[mine], [inverse, label], share.owns_body[mine])
    return sum(share.comm.allgather(total)) % 2**64


def _sum_of_hashes(number: np.ndarray, arrays: list[np.ndarray], own: np.ndarray) -> int:
    """Return the sum of the hashes of rows, each of which depends on its number."""
    with np.errstate(over="ignore"):
        mixed = (number[own].astype(np.uint64) + np.uint64(1)) * _MULTIPLIER
        for array in arrays:
            for column in np.ascontiguousarray(array[own].T).view(np.uint64):
                mixed = (mixed ^ column) * _MIXER
                mixed ^= mixed >> np.uint64(29)
        return int(mixed.sum(dtype=np.uint64))
