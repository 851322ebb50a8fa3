"""The parts of a problem: groups of bodies, and groups of contacts between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import finite_array, first_entry, index_array, is_sparse, real_array, shortest, spread
from ._warnings import warn
from .sets import Set, choose_set

__all__ = ["Bodies", "Group"]

MAX_PARTNERS = 4
_PARTNERS = f"contacts have from 1 to {MAX_PARTNERS} partners"


class Bodies:
    """Bodies with the same number d of degrees of freedom.

    Parameters
    ----------
    Minv
        Inverse masses: blocks ``(count, d, d)``, diagonals ``(count, d)``, or one ``(d, d)`` matrix
        for a single body in generalised coordinates (a robot).
    mass
        Masses in the same forms, instead of `Minv`; they are inverted. An infinite diagonal entry
        means immovable.
    diagonal
        Whether a square two-dimensional array holds the diagonals of several bodies, or the matrix
        of one. It is required for such arrays, because their shape fits both.

    Raises
    ------
    TypeError
        Neither or both of `Minv` and `mass` are given, or entries are not real numbers.
    ValueError
        A wrong shape, a missing `diagonal`, or masses that are not symmetric and positive definite.
    """

    __slots__ = ("count", "dof", "inverse_mass", "shape")

    def __init__(self, Minv: Any = None, *, mass: Any = None, diagonal: bool | None = None) -> None:
        name = "Minv" if mass is None else "mass"
        if (Minv is None) == (mass is None):
            raise TypeError("give either Minv or mass")
        array = real_array(name, Minv if mass is None else mass)
        self.shape = array.shape

        # A square matrix may be one body, or the diagonals of several.
        square = array.ndim > 1 and array.shape[-2] == array.shape[-1]
        if array.ndim == 2 and square and array.size > 1 and diagonal is None:
            raise ValueError(
                f"{name} of shape {array.shape} may be {len(array)} diagonals or one body: give "
                f"diagonal=True or diagonal=False"
            )
        has_diagonals = array.ndim == 2 and diagonal is not False
        has_blocks = array.ndim in (2, 3) and square and diagonal is not True
        if not has_diagonals and not has_blocks:
            wanted = {None: "(count, d, d), (count, d) or (d, d)", True: "(count, d)"}
            raise ValueError(
                f"{name} has shape {array.shape}: "
                f"{wanted.get(diagonal, '(count, d, d) or (d, d)')} is needed"
            )

        # One matrix is a single block.
        if not has_diagonals and array.ndim == 2:
            array = array[None]
        if mass is not None:
            array = inverted(array)
        self.inverse_mass = array
        self.count, self.dof = array.shape[:2]

    def packed(self) -> dict[str, Any]:
        """Return the bodies as the C library takes them, by name."""
        return packed_bodies(self.inverse_mass)

    def __repr__(self) -> str:
        return f"Bodies({self.count} of {self.dof} degrees of freedom)"


def packed_bodies(inverse_mass: np.ndarray) -> dict[str, Any]:
    """Return bodies of ``(n, d, d)`` or ``(n, d)`` as the C library takes them, by name."""
    count, dof = inverse_mass.shape[:2]
    diagonal = inverse_mass.ndim == 2
    return {"count": count, "dof": dof, "diagonal": diagonal, "inverse_mass": inverse_mass}


def inverted(mass: np.ndarray) -> np.ndarray:
    """Return the inverses of mass blocks ``(n, d, d)`` or diagonals of any other shape."""
    if mass.ndim != 3:
        bad = ~(mass > 0)
        if bad.any():
            value = mass[bad][0]
            raise ValueError(f"mass[{first_entry(bad)}] is {shortest(value)}: a mass is positive")
        return 1.0 / mass

    # Blocks must be symmetric, up to rounding, and positive definite.
    for body, block in enumerate(finite_array("mass", mass)):
        if not np.allclose(block, block.T, rtol=0, atol=1e-6 * np.abs(block).max(initial=0.0)):
            row, column = np.unravel_index(np.abs(block - block.T).argmax(), block.shape)
            raise ValueError(
                f"mass[{body}, {row}, {column}] is {shortest(block[row, column])} but "
                f"mass[{body}, {column}, {row}] is {shortest(block[column, row])}: a mass is "
                f"symmetric"
            )
        smallest = np.linalg.eigvalsh(block)[0] if len(block) else 1.0
        if smallest <= 0:
            raise ValueError(
                f"mass[{body}] has the eigenvalue {smallest:g}: a mass is positive definite"
            )

    # The inverse is made exactly symmetric.
    inverse = np.linalg.inv(mass)
    return (inverse + inverse.transpose(0, 2, 1)) / 2


class Group:
    """Contacts, or joints, with the same rows and the same kind of set.

    Parameters
    ----------
    J
        ``(K, p, m, d)`` for contacts of p bodies (partners), 1 to 4; or a tuple of p arrays
        ``(K, m, d_s)`` where the partners have different degrees of freedom.
    bodies
        ``(K, p)`` body numbers, counted through all groups of bodies; −1 for the fixed world.
        Several partners may be the same body.
    b, mu, sets, lo, hi
        As for `contactsolve.Problem`.
    compliance
        Diagonal of Σ, added to A: a number, ``(K, 1)``, ``(m,)`` or ``(K, m)``. A physical
        compliance c in m/N enters as c/h².

    Raises
    ------
    TypeError, ValueError
        Arrays of a wrong shape or type, or sets that do not fit the rows.
    """

    __slots__ = ("J", "b", "bodies", "compliance", "dofs", "set", "shape")

    def __init__(
        self,
        J: Any,
        bodies: Any,
        b: Any,
        mu: Any = None,
        *,
        sets: Set | None = None,
        lo: Any = None,
        hi: Any = None,
        compliance: Any = None,
    ) -> None:
        self.J, (contacts, rows, *dofs) = packed_jacobian(J)
        self.dofs = tuple(dofs)
        self.shape = (contacts, rows)
        self.bodies = index_array("bodies", bodies)
        if self.bodies.shape != (contacts, len(dofs)):
            raise ValueError(
                f"bodies has shape {self.bodies.shape}: J of {contacts} contacts needs "
                f"({contacts}, {len(dofs)})"
            )
        self.b = shaped_b(b, contacts, rows)
        self.set = choose_set(mu, sets, lo, hi, rows)
        self.compliance = None
        if compliance is not None:
            self.compliance = spread("compliance", real_array("compliance", compliance), self.shape)

    def packed(self) -> dict[str, Any]:
        """Return the group as the C library takes it, by name."""
        return packed_blocks(
            self.shape,
            self.dofs,
            self.set,
            b=self.b,
            jacobian=self.J,
            bodies=self.bodies,
            compliance=self.compliance,
        )

    def __repr__(self) -> str:
        contacts, rows = self.shape
        partners = "" if len(self.dofs) == 2 else f" on {len(self.dofs)} bodies"
        return f"Group({contacts} blocks of {rows} rows{partners}, set {self.set.name})"


def packed_blocks(
    shape: tuple[int, ...], dofs: tuple[int, ...], feasible: Set, **arrays: Any
) -> dict[str, Any]:
    """Return blocks as the C library takes them, by name; missing arrays are None."""
    names = ("jacobian", "bodies", "b", "compliance")
    return {
        "count": shape[0],
        "rows": shape[1],
        "dofs": dofs,
        "set": feasible.name,
        "parameters": feasible.parameters(shape[0], shape[1]),
        **{name: arrays.get(name) for name in names},
    }


def check_kinds(name: str, items: tuple[Any, ...], kind: type) -> None:
    """Raise unless every item is of that kind."""
    for i, item in enumerate(items):
        if not isinstance(item, kind):
            raise TypeError(f"{name}[{i}] is {item!r}: a {kind.__name__} is needed")


def given_jacobian(J: Any) -> Any:
    """Return J as a tuple of arrays, a sparse matrix as it is, or an array.

    A tuple is one of partners if it has blocks ``(contacts, rows, dof)``; another has the rows of a
    matrix.
    """
    if isinstance(J, tuple) and any(_dimension(part) == 3 for part in J):
        if len(J) > MAX_PARTNERS:
            raise ValueError(f"J is a tuple of {len(J)} arrays: {_PARTNERS}")
        return tuple(real_array(f"J[{s}]", part) for s, part in enumerate(J))
    return J if is_sparse(J) else real_array("J", J)


def _dimension(part: Any) -> int:
    """Return the number of axes of an array in any container, or of nested sequences."""
    axes = 0
    while isinstance(part, (tuple, list)) and part:
        part, axes = part[0], axes + 1
    if hasattr(part, "__array__") or hasattr(part, "__dlpack__"):
        axes += real_array("J", part).ndim
    return axes


def packed_jacobian(J: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return J as ``(K, m d_0 + ... + m d_(p-1))`` and ``(K, m, d_0, ..., d_(p-1))``."""
    J = given_jacobian(J)

    # A tuple of arrays: the partners have degrees of freedom of their own.
    if isinstance(J, tuple):
        shapes = " and ".join(str(part.shape) for part in J)
        what = f"J is a pair of shapes {shapes}" if len(J) == 2 else f"J is a tuple of {shapes}"
        if any(part.ndim != 3 or part.shape[:2] != J[0].shape[:2] for part in J):
            raise ValueError(
                f"{what}: (contacts, rows, dof) is needed for each, with the same contacts and rows"
            )
        contacts, rows, _ = J[0].shape
        _check_rows(what, rows)
        flat = [part.reshape(contacts, rows * part.shape[2]) for part in J]
        return np.concatenate(flat, axis=1), (contacts, rows, *(part.shape[2] for part in J))

    # One array of blocks.
    if is_sparse(J):
        raise TypeError(
            "J is a sparse matrix: with bodies, blocks (contacts, partners, rows, dof) are needed"
        )
    if J.ndim != 4:
        raise ValueError(f"J has shape {J.shape}: (contacts, partners, rows, dof) is needed")
    contacts, partners, rows, dof = J.shape
    if not 1 <= partners <= MAX_PARTNERS:
        raise ValueError(f"J has shape {J.shape}: {_PARTNERS}")
    _check_rows(f"J has shape {J.shape}", rows)
    return J.reshape(contacts, partners * rows * dof), (contacts, rows, *(dof,) * partners)


def _check_rows(what: str, rows: int) -> None:
    """Raise for a number of rows that no set takes; `what` begins the message."""
    if not 1 <= rows <= 6:
        raise ValueError(f"{what}: contacts have from 1 to 6 rows")


def shaped_b(b: Any, contacts: int, rows: int) -> np.ndarray:
    """Return b as ``(contacts, rows)``, from that shape or flat."""
    b = real_array("b", b)
    if b.shape not in ((contacts, rows), (contacts * rows,)):
        raise ValueError(
            f"b has shape {b.shape}: {contacts} contacts of {rows} rows need "
            f"({contacts}, {rows}) or ({contacts * rows},)"
        )
    return b.reshape(contacts, rows)


def row_count(J: Any) -> int:
    """Return the total number of rows of a J from `given_jacobian`; 0 for a wrong shape."""
    shape = J[0].shape if isinstance(J, tuple) else J.shape
    if len(shape) == 2:
        return int(shape[0])
    return int(shape[0] * shape[-2]) if len(shape) in (3, 4) else 0


def inverse_masses(Minv: Any, mass: Any, group: Group) -> np.ndarray:
    """Return ``(n, d, d)`` or ``(n, d)`` for bodies that all have the same d."""
    if (Minv is None) == (mass is None):
        raise TypeError("give either Minv or mass")
    name = "Minv" if mass is None else "mass"
    array = real_array(name, Minv if mass is None else mass)

    # The degrees of freedom are those of a side that has bodies, not only the fixed world.
    used = (group.bodies >= 0).any(axis=0)
    dof = group.dofs[int(used.argmax())]
    if array.ndim not in (2, 3) or array.shape[1:] != (dof,) * (array.ndim - 1):
        contacts, rows = group.shape
        raise ValueError(
            f"{name} has shape {array.shape}: with J of shape ({contacts}, {len(group.dofs)}, "
            f"{rows}, {dof}) it must be (bodies, {dof}) or (bodies, {dof}, {dof})"
        )
    _warn_of_one_matrix(name, array, group.bodies)
    return inverted(array) if mass is not None else array


def _warn_of_one_matrix(name: str, array: np.ndarray, bodies: np.ndarray) -> None:
    """Warn if the diagonals of several bodies are probably the matrix of one."""
    # Equal bodies whose inverse masses are all equal have a symmetric array, too.
    count = len(array)
    square = array.shape == (count, count)
    if not square or not np.array_equal(array, array.T) or not np.ptp(array) > 0:
        return
    used = len(np.unique(bodies[bodies >= 0]))
    if 0 < used < count:
        warn(
            f"{name} of shape {array.shape} is read as the diagonals of {count} bodies, of which "
            f"{count - used} {'has' if count - used == 1 else 'have'} no contacts: a matrix for "
            f"each body has shape (bodies, {count}, {count}), as {name}[None] for one body"
        )


def rows_per_contact(rows: Any) -> int:
    """Return the number of rows of a contact, checked."""
    if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or not 1 <= rows <= 6:
        raise ValueError(f"rows is {rows!r}: an integer from 1 to 6 is needed")
    return int(rows)
