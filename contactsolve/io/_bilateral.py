"""Global FCLIB problems of bodies, with bilateral constraints.

M v = H r + G l + f, u = H^T v + w, G^T v + b = 0. The format has no bodies: they are read from M,
in blocks of 6 or 3 on its diagonal, as long as no contact and no constraint has more than four
partners. Otherwise all degrees of freedom are one body, if they are at most 64. Contacts are the
first group of the problem; constraints that follow each other and have the same partners are a
block of up to six rows. Groups keep the order of the file, so that their numbers, one after the
other, are those of the file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from contactsolve import sets
from contactsolve._optional import optional
from contactsolve._sparse import Csr
from contactsolve.groups import MAX_PARTNERS, Bodies, Group
from contactsolve.problem import Problem

Matrix = tuple[Csr, tuple[int, int]]

_BODY_SIZES = (6, 3)  # degrees of freedom of bodies that are looked for in M
_MAX_ROWS = 6  # of a block of constraints
_MAX_DOF = 64  # of a body: CS_MAX_DOF of the C library
_MAX_GROUPS = 16  # of blocks; beyond, every constraint is a block of its own
_NEED = "global FCLIB problems need"


# ---- reading ------------------------------------------------------------------------------------


class System(NamedTuple):
    """The matrices and vectors of a global problem with bilateral constraints."""

    M: Any
    H: Any
    G: Any
    f: NDArray[np.float64]
    w: NDArray[np.float64]
    b: NDArray[np.float64]
    rows: int


class Places(NamedTuple):
    """Where the numbers of the groups of a problem stand in a file.

    Attributes
    ----------
    contacts
        Groups of contacts.
    constraints
        For each group, the rows of its constraints in the file, ``(K, m)``; None for contacts.
    """

    contacts: tuple[int, ...]
    constraints: tuple[NDArray[np.int64] | None, ...]


def problem_of(system: System, friction: Any, name: str) -> tuple[Problem, Places]:
    """Return the problem of bodies, and where its numbers stand.

    Raises
    ------
    ValueError
        M is not positive definite, is not one of bodies, or a vector does not fit.
    """
    sparse = optional("scipy.sparse", _NEED)
    H, G = sparse.csc_array(system.H), sparse.csc_array(system.G)
    size = _body_size(system, H, G)
    if size > _MAX_DOF:
        raise ValueError(
            f"M of {size} degrees of freedom has no blocks of 6 or 3 on its diagonal that are "
            f"bodies with at most {MAX_PARTNERS} for each contact and constraint, and one body has "
            f"at most {_MAX_DOF}"
        )
    masses = _diagonal_blocks(system.M, size)
    bodies = Bodies(mass=masses)

    # Velocities without impulses, of contacts and of constraints.
    free = np.einsum("nij,nj->ni", bodies.inverse_mass, system.f.reshape(-1, size)).ravel()
    b = (H.T @ free + system.w).reshape(-1, system.rows)

    groups: list[Group] = []
    places: list[NDArray[np.int64] | None] = []
    contacts = np.arange(H.shape[1]).reshape(-1, system.rows)
    if len(contacts):
        groups.append(Group(*_jacobian(H, contacts, size), b, sets=friction))
        places.append(None)
    for block in _blocks_of_constraints(G, size):
        values = (G.T @ free + system.b)[block]
        groups.append(Group(*_jacobian(G, block, size), values, sets=sets.free()))
        places.append(block)
    problem = Problem(groups=groups, bodies=[bodies], name=name)
    return problem, Places(tuple(range(min(len(contacts), 1))), tuple(places))


def _body_size(system: System, H: Any, G: Any) -> int:
    """Return the degrees of freedom of a body: 6, 3, or all."""
    sparse = optional("scipy.sparse", _NEED)
    M = sparse.coo_array(system.M)
    dof = M.shape[0]
    for size in _BODY_SIZES:
        if dof % size or np.any(M.row // size != M.col // size):
            continue
        most = max(
            (len(found) for matrix, rows in ((H, system.rows), (G, 1))
             for found in _partners(matrix, np.arange(matrix.shape[1]).reshape(-1, rows), size)),
            default=0,
        )  # fmt: skip
        if most <= MAX_PARTNERS:
            return size
    return dof


def _diagonal_blocks(M: Any, size: int) -> NDArray[np.float64]:
    """Return the blocks on the diagonal, ``(n, size, size)``."""
    sparse = optional("scipy.sparse", _NEED)
    entries = sparse.coo_array(M)
    blocks = np.zeros((M.shape[0] // size, size, size))
    blocks[entries.row // size, entries.row % size, entries.col % size] = entries.data
    return blocks


def _partners(matrix: Any, columns: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """Return the bodies that each block of columns of H or G acts on, ascending."""
    indptr, bodies = matrix.indptr, matrix.indices // size
    return [
        np.unique(np.concatenate([bodies[indptr[c] : indptr[c + 1]] for c in block]))
        for block in columns
    ]


def _jacobian(
    matrix: Any, columns: NDArray[np.int64], size: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return J ``(K, p, m, d)`` and the bodies ``(K, p)`` of blocks of columns."""
    found = _partners(matrix, columns, size)
    partners = max(2 if size < matrix.shape[0] else 1, max(map(len, found)))
    bodies = np.full((len(columns), partners), -1)
    J = np.zeros((len(columns), partners, columns.shape[1], size))
    for k, (block, own) in enumerate(zip(columns, found, strict=True)):
        # A contact with the world has it as its first partner, as others do.
        first = partners - len(own)
        bodies[k, first:] = own
        for row, column in enumerate(block):
            at = slice(matrix.indptr[column], matrix.indptr[column + 1])
            body, dof = np.divmod(matrix.indices[at], size)
            J[k, first + np.searchsorted(own, body), row, dof] = matrix.data[at]
    return J, bodies


def _blocks_of_constraints(G: Any, size: int) -> list[NDArray[np.int64]]:
    """Return the columns of G as blocks ``(K, m)`` of constraints with the same partners."""
    partners = _partners(G, np.arange(G.shape[1])[:, None], size)
    blocks: list[list[int]] = []
    for row, own in enumerate(partners):
        last = blocks[-1] if blocks else []
        same = bool(last) and len(last) < _MAX_ROWS and np.array_equal(own, partners[last[0]])
        if same:
            last.append(row)
        else:
            blocks.append([row])

    # Blocks that follow each other and have as many rows are a group, in the order of the file.
    groups: list[list[list[int]]] = []
    for block in blocks:
        if groups and len(groups[-1][0]) == len(block):
            groups[-1].append(block)
        else:
            groups.append([block])
    if len(groups) > _MAX_GROUPS:
        return list(np.arange(len(partners))[None, :, None])
    return [np.array(group) for group in groups]


def to_groups(
    places: Places, contacts: NDArray[np.float64], constraints: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return numbers of contacts ``(K, m)`` and of constraints ``(rows,)`` for each group."""
    return [contacts if block is None else constraints[block] for block in places.constraints]


# ---- writing ------------------------------------------------------------------------------------


def is_bilateral(problem: Problem) -> bool:
    """Whether the problem has groups, and joints among them."""
    return problem.grouped and any(one.set.is_bilateral for one in problem._groups)


def split_rows(problem: Problem, values: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return numbers of each group as those of all contacts, and of all constraints, flat."""
    parts: tuple[list[Any], list[Any]] = ([np.zeros(0)], [np.zeros(0)])
    each = values if problem.grouped else [values]
    for group, own in zip(problem._groups, each, strict=True):
        parts[group.set.is_bilateral].append(np.reshape(own, -1))
    return np.concatenate(parts[0]), np.concatenate(parts[1])


def matrices_of(problem: Problem) -> dict[str, Any]:
    """Return M, H and G of a problem of bodies, sparse; f = 0, and w and b are its b.

    Raises
    ------
    ValueError
        Rows have compliance, or a body has no finite mass: the format holds neither.
    """
    sparse = optional("scipy.sparse", _NEED)
    for g, _ in enumerate(problem._groups):
        compliance = problem._core.compliance(g)
        if compliance is not None and np.any(compliance):
            raise ValueError(f"problem has compliance in group {g}: FCLIB holds rigid rows only")

    # M, from its blocks, which are inverted in the same way everywhere.
    blocks: list[Any] = []
    first: list[int] = []
    start = 0
    for group in problem._inverse_masses():
        full = group if group.ndim == 3 else group[:, :, None] * np.eye(group.shape[1])
        blocks += list(inverse_blocks(full, len(first)))
        for _ in full:
            first.append(start)
            start += full.shape[1]
    M = sparse.block_diag(blocks, format="csr") if blocks else sparse.csr_array((0, 0))
    M.eliminate_zeros()

    # Columns of H and G, in the order of the groups.
    columns: tuple[list[Any], list[Any]] = ([], [])
    for g, layout in enumerate(problem._groups):
        columns[layout.set.is_bilateral].append(_rows_of_group(problem, g, first, start))
    H, G = (
        sparse.csr_array(sparse.vstack(part).T) if part else sparse.csr_array((start, 0))
        for part in columns
    )
    return {"M": sparse.csr_array(M), "H": H, "G": G}


def _rows_of_group(problem: Problem, g: int, first: list[int], dof: int) -> Any:
    """Return J of a group as a sparse matrix ``(K m, dof)``."""
    sparse = optional("scipy.sparse", _NEED)
    J, bodies = problem._jacobian(g), problem._core.bodies(g)
    parts = list(J) if isinstance(J, tuple) else list(np.moveaxis(np.asarray(J), 1, 0))
    count, rows = parts[0].shape[:2]
    starts = np.array([*first, 0])  # the last: of the world, whose entries are left out
    row, column, data = [], [], []
    for part, body in zip(parts, bodies.T, strict=True):
        at = np.broadcast_to(np.arange(count * rows).reshape(count, rows, 1), part.shape)
        dofs = np.broadcast_to(starts[body][:, None, None] + np.arange(part.shape[2]), part.shape)
        keep = (part != 0) & (body >= 0)[:, None, None]
        row.append(at[keep])
        column.append(dofs[keep])
        data.append(part[keep])
    entries = (np.concatenate(data), (np.concatenate(row), np.concatenate(column)))
    return sparse.csr_array(sparse.coo_array(entries, shape=(count * rows, dof)))


def inverse_blocks(blocks: NDArray[np.float64], first: int = 0) -> NDArray[np.float64]:
    """Return the inverses of symmetric positive definite blocks ``(n, d, d)``.

    By Gauss-Jordan elimination without pivots, in sums and products of single numbers only: the
    bits are the same with every library of linear algebra.

    Raises
    ------
    ValueError
        A block has a pivot that is not positive: a body is immovable in some direction. `first` is
        the number of the first body.
    """
    a, d = np.array(blocks, np.float64), blocks.shape[-1]
    out = np.broadcast_to(np.eye(d), a.shape).copy()
    for k in range(d):
        pivot = a[:, k, k].copy()
        if np.any(~(pivot > 0)):
            body = first + int(np.argmax(~(pivot > 0)))
            raise ValueError(f"body {body} has no finite mass: FCLIB holds finite masses only")
        a[:, k] /= pivot[:, None]
        out[:, k] /= pivot[:, None]
        for i in range(d):
            if i != k:
                factor = a[:, i, k].copy()[:, None]
                a[:, i] -= factor * a[:, k]
                out[:, i] -= factor * out[:, k]
    return (out + out.transpose(0, 2, 1)) / 2
