"""The parts of a problem: groups of bodies, and groups of contacts between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._arrays import index_array, real_array, spread
from .sets import Set, choose_set

__all__ = ["Bodies", "Group"]


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
        Whether a square two-dimensional array holds diagonals. It has to be said when the shape
        alone leaves it open: six bodies of six degrees of freedom, or one robot?
    """

    __slots__ = ("count", "dof", "inverse_mass", "shape")

    def __init__(self, Minv: Any = None, *, mass: Any = None, diagonal: bool | None = None) -> None:
        name = "Minv" if mass is None else "mass"
        if (Minv is None) == (mass is None):
            raise TypeError("give either Minv or mass")
        array = real_array(name, Minv if mass is None else mass)
        self.shape = array.shape
        if array.ndim == 2 and array.shape[0] == array.shape[1] and diagonal is None:
            raise ValueError(
                f"{name} of shape {array.shape} may be {len(array)} diagonals or one body: say "
                f"diagonal=True or diagonal=False"
            )
        if array.ndim == 2 and not (diagonal if diagonal is not None else True):
            array = array[None]
        if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[1] != array.shape[2]):
            raise ValueError(
                f"{name} has shape {array.shape}: (count, d, d), (count, d) or (d, d) is needed"
            )
        if mass is not None:
            array = inverted(array)
        self.inverse_mass = array
        self.count, self.dof = array.shape[:2]

    def __repr__(self) -> str:
        return f"Bodies({self.count} of {self.dof} degrees of freedom)"


def inverted(mass: np.ndarray) -> np.ndarray:
    """Return the inverses of mass blocks ``(n, d, d)`` or diagonals ``(n, d)``, checked."""
    if mass.ndim == 2:
        bad = np.argwhere(~(mass > 0))
        if len(bad):
            body, row = bad[0]
            raise ValueError(f"mass[{body}, {row}] is {mass[body, row]:g}: a mass is positive")
        return 1.0 / mass
    for body, block in enumerate(mass):
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            value = block[row, column]
            raise ValueError(f"mass[{body}, {row}, {column}] is {value:g}: it must be finite")
        if not np.allclose(block, block.T, rtol=0, atol=1e-6 * np.abs(block).max(initial=0.0)):
            row, column = np.unravel_index(np.abs(block - block.T).argmax(), block.shape)
            raise ValueError(
                f"mass[{body}, {row}, {column}] is {block[row, column]:g} but "
                f"mass[{body}, {column}, {row}] is {block[column, row]:g}: a mass is symmetric"
            )
        smallest = np.linalg.eigvalsh(block)[0] if len(block) else 1.0
        if smallest <= 0:
            raise ValueError(
                f"mass[{body}] has the eigenvalue {smallest:g}: a mass is positive definite"
            )
    inverse = np.linalg.inv(mass)
    return (inverse + inverse.transpose(0, 2, 1)) / 2


class Group:
    """Contacts, or joints, with the same rows and the same kind of set.

    Parameters
    ----------
    J
        ``(K, 2, m, d)``, or a pair ``(J_i (K, m, d_i), J_j (K, m, d_j))`` where the partners have
        different degrees of freedom.
    bodies
        ``(K, 2)`` body numbers through all groups of bodies in turn; −1 for the fixed world. Both
        partners may be the same body.
    b, mu, sets, lo, hi
        As for `contactsolve.Problem`.
    compliance
        Diagonal of Σ, added to A: a number, ``(K, 1)``, ``(m,)`` or ``(K, m)``. A physical
        compliance c in m/N enters as c/h².
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
        if self.bodies.shape != (contacts, 2):
            raise ValueError(
                f"bodies has shape {self.bodies.shape}: J of {contacts} contacts needs "
                f"({contacts}, 2)"
            )
        self.b = shaped_b(b, contacts, rows)
        self.set = choose_set(mu, sets, lo, hi)
        self.compliance = None
        if compliance is not None:
            self.compliance = spread("compliance", real_array("compliance", compliance), self.shape)

    def __repr__(self) -> str:
        contacts, rows = self.shape
        return f"Group({contacts} blocks of {rows} rows, set {self.set.name})"


class Layout(NamedTuple):
    """The shape of one group inside a problem."""

    contacts: int
    rows: int
    dofs: tuple[int, ...]
    set: Set

    @property
    def shape(self) -> tuple[int, int]:
        """``(K, m)``."""
        return self.contacts, self.rows


def packed_jacobian(J: Any) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Return J as ``(K, m d_i + m d_j)`` and ``(K, m, d_i, d_j)``."""
    if isinstance(J, tuple) and len(J) == 2:
        first, second = real_array("J[0]", J[0]), real_array("J[1]", J[1])
        if first.ndim != 3 or second.ndim != 3 or first.shape[:2] != second.shape[:2]:
            raise ValueError(
                f"J is a pair of shapes {first.shape} and {second.shape}: (contacts, rows, dof) "
                f"is needed for each, with the same contacts and rows"
            )
        contacts, rows, dof = first.shape
        flat = [half.reshape(contacts, rows * half.shape[2]) for half in (first, second)]
        return np.concatenate(flat, axis=1), (contacts, rows, dof, second.shape[2])
    J = real_array("J", J)
    if J.ndim != 4 or J.shape[1] != 2:
        raise ValueError(f"J has shape {J.shape}: (contacts, 2, rows, dof) is needed")
    contacts, _, rows, dof = J.shape
    return J.reshape(contacts, 2 * rows * dof), (contacts, rows, dof, dof)


def shaped_b(b: Any, contacts: int, rows: int) -> np.ndarray:
    """Return b as ``(contacts, rows)``, from that shape or flat."""
    b = real_array("b", b)
    if b.shape not in ((contacts, rows), (contacts * rows,)):
        raise ValueError(
            f"b has shape {b.shape}: {contacts} contacts of {rows} rows need "
            f"({contacts}, {rows}) or ({contacts * rows},)"
        )
    return b.reshape(contacts, rows)
