"""The arrays of a contact problem, and products with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._arrays import is_sparse, read_only
from ._layout import Layout, join, parameters, split
from ._matrices import Operator, scalar_rows
from ._optional import optional
from ._sparse import Csr
from .state import InitialState

__all__ = ["ProblemData"]


class ProblemData:
    """The arrays of a problem; nothing here changes them.

    They are stored in the C library. If matrices were given, Python keeps these too: A, and the
    Jacobian of any pattern with its mass from which A was computed. `contactsolve.Problem` sets and
    updates them.
    """

    __slots__ = (
        "_bodies",
        "_core",
        "_groups",
        "_matrix",
        "_operator",
        "_sigma",
        "contacts",
        "dof",
        "grouped",
        "name",
        "state",
        "updates",
    )

    _core: _core.Problem
    _groups: tuple[Layout, ...]
    _bodies: tuple[tuple[int, ...], ...]  # shape of each group's inverse mass
    _matrix: Csr | None
    _operator: Operator | None
    _sigma: np.ndarray | None  # compliance of a J of any pattern
    contacts: int
    dof: int
    grouped: bool
    name: str
    state: InitialState | None
    updates: int  # number of updates so far

    # ---- reading back ---------------------------------------------------------------------------

    def _each(self, values: list) -> Any:
        """Return one value per group, or that of the only group of an ungrouped problem."""
        return values if self.grouped else values[0]

    def _inverse_masses(self) -> list[np.ndarray]:
        """Return copies of the inverse masses of each group, ``(n, d)`` or ``(n, d, d)``."""
        return [self._core.inverse_mass(g).reshape(shape) for g, shape in enumerate(self._bodies)]

    def _partners(self) -> np.ndarray:
        """Return the bodies of all contacts in the order of the groups.

        ``(K, p)``, where p is the most partners of a contact, and at least 2. Contacts with fewer
        partners have −1 in place of the others.
        """
        groups = [self._core.bodies(g) for g in range(len(self._groups))]
        most = max((group.shape[1] for group in groups), default=2)
        padded = [
            np.pad(group, ((0, 0), (0, max(most, 2) - group.shape[1])), constant_values=-1)
            for group in groups
        ]
        return np.concatenate([np.zeros((0, max(most, 2)), np.int64), *padded])

    def _body_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of partners of all contacts, ``(n, 2)``, and the contact of each.

        A contact of p bodies has p (p − 1) / 2 pairs; one of a single body has a pair with −1.
        """
        pairs, contacts, first = [np.zeros((0, 2), np.int64)], [np.zeros(0, np.int64)], 0
        for g, group in enumerate(self._groups):
            bodies = self._core.bodies(g)
            if bodies.shape[1] == 1:
                bodies = np.pad(bodies, ((0, 0), (0, 1)), constant_values=-1)
            low, high = np.triu_indices(bodies.shape[1], 1)
            pairs.append(np.stack((bodies[:, low], bodies[:, high]), axis=2).reshape(-1, 2))
            contacts.append(np.repeat(first + np.arange(len(bodies)), len(low)))
            first += group.contacts
        return np.concatenate(pairs), np.concatenate(contacts)

    @property
    def rows(self) -> Any:
        """The number of rows of a contact, m; a list for grouped problems."""
        return self._each([group.rows for group in self._groups])

    @property
    def J(self) -> Any:
        """The Jacobian in the form given, a read-only copy; None if A was given.

        ``(K, p, m, d)``, a tuple of p arrays ``(K, m, d_s)`` if the partners have different degrees
        of freedom, a matrix if one was given; a list for grouped problems.
        """
        if self._operator is not None:
            J = self._operator.J
            return J.copy() if is_sparse(J) else J
        if self._matrix is not None:
            return None
        return self._each([self._jacobian(g) for g in range(len(self._groups))])

    def _jacobian(self, g: int) -> Any:
        contacts, rows, dofs, _ = self._groups[g]
        flat = self._core.jacobian(g)
        if len(set(dofs)) == 1:
            return read_only(flat.reshape(contacts, len(dofs), rows, dofs[0]))
        flat = flat.reshape(contacts, rows * sum(dofs))
        parts = np.split(flat, rows * np.cumsum(dofs)[:-1], axis=1)
        return tuple(
            read_only(part.reshape(contacts, rows, dof))
            for part, dof in zip(parts, dofs, strict=True)
        )

    @property
    def Minv(self) -> Any:
        """The inverse masses, a read-only copy; None if A or a mass matrix was given."""
        if self._operator is not None:
            return self._operator.Minv
        if self._matrix is not None:
            return None
        return self._each([read_only(inverse) for inverse in self._inverse_masses()])

    @property
    def mass_matrix(self) -> Any:
        """A copy of the mass matrix of a problem with a J of any pattern; None for others."""
        operator = self._operator
        if operator is None or not operator._is_mass:
            return None
        mass = operator._matrix
        if is_sparse(mass):
            return mass.copy()
        return mass if mass.ndim == 2 else np.diag(mass)

    @property
    def b(self) -> Any:
        """b, ``(K, m)``, a read-only copy [m/s]; a list for grouped problems."""
        groups = enumerate(self._groups)
        return self._each([read_only(self._core.b(g).reshape(x.shape)) for g, x in groups])

    @property
    def mu(self) -> Any:
        """Friction coefficients, ``(K,)``, None for sets without them; a list if grouped."""
        return self._each([group.set.mu(group.contacts) for group in self._groups])

    @property
    def bodies(self) -> Any:
        """The bodies, ``(K, p)``, a read-only copy; None without bodies; a list if grouped."""
        if self._matrix is not None:
            return None
        return self._each([read_only(self._core.bodies(g)) for g in range(len(self._groups))])

    @property
    def compliance(self) -> Any:
        """The diagonal of Σ, ``(K, m)`` [m/(N s)], or None; a list for grouped problems."""
        if self._matrix is not None:
            sigma, shape = self._sigma, self._groups[0].shape
            return None if sigma is None else read_only(sigma.reshape(shape).copy())
        values = [self._core.compliance(g) for g in range(len(self._groups))]
        pairs = zip(values, self._groups, strict=True)
        return self._each([None if v is None else read_only(v.reshape(x.shape)) for v, x in pairs])

    @property
    def sets(self) -> Any:
        """The feasible set of the contacts; a list for grouped problems."""
        return self._each([group.set for group in self._groups])

    @property
    def bodies_count(self) -> int:
        """The number of bodies; 0 if a matrix was given."""
        return sum(shape[0] for shape in self._bodies)

    @property
    def block_count(self) -> int:
        """The number of non-zero blocks of A, without building it (S1 Corollary 3.2)."""
        return self.count_blocks()

    def count_blocks(self, *, fixed_as_body: bool = False) -> int:
        """Count the non-zero blocks of A without building it (S1 Corollary 3.2).

        Parameters
        ----------
        fixed_as_body
            Let bodies with zero inverse mass couple their contacts, as S1 does for the ground.
        """
        return self._core.count_blocks(fixed_as_body)

    @property
    def info(self) -> dict[str, Any]:
        """Figures of the problem: contacts, rows, bodies, sets, blocks and asymmetry of A."""
        info: dict[str, Any] = {
            "name": self.name,
            "contacts": self.contacts,
            "rows": self.rows,
            "bodies": self.bodies_count,
            "set": self._each([group.set.name for group in self._groups]),
            "blocks": self.block_count,
        }
        if self._matrix is not None:
            info["asymmetry"] = self._core.asymmetry
        return info

    # ---- products -------------------------------------------------------------------------------

    @property
    def velocity_shape(self) -> tuple[int, ...]:
        """The shape of the bodies' velocities, for ungrouped problems: ``(n, d)`` or ``(dof,)``."""
        if self._operator is not None:
            return (self.dof,)
        return self._bodies[0][:2]

    def apply_inverse_mass(self, impulse: np.ndarray) -> np.ndarray:
        """Return M⁻¹ h for generalised impulses in the shape of the velocities."""
        if self._operator is not None:
            return self._operator.apply_inverse_mass(impulse)
        inverse = self.Minv
        if inverse.ndim == 2:
            return inverse * impulse
        return np.einsum("nij,nj->ni", inverse, impulse)

    def kinetic_energy(self, velocity: np.ndarray) -> float:
        """Return ½ uᵀ M u of the bodies that can move [J], for ungrouped problems."""
        if self._operator is not None:
            return self._operator.kinetic_energy(velocity)
        inverse = self.Minv
        if inverse.ndim == 2:
            moving = inverse > 0
            return 0.5 * float(np.sum(velocity[moving] ** 2 / inverse[moving]))
        momentum = np.einsum("nij,nj->ni", np.linalg.pinv(inverse, hermitian=True), velocity)
        return 0.5 * float(np.sum(momentum * velocity))

    def contact_velocity(self, velocity: np.ndarray) -> np.ndarray:
        """Return J u, ``(K, m)`` [m/s], immovable bodies included, for ungrouped problems."""
        shape = self._groups[0].shape
        if self._operator is not None:
            return np.asarray(self._operator.J @ velocity).reshape(shape)
        # Body −1, the last row, is the fixed world at rest.
        padded = np.vstack([velocity, np.zeros((1, velocity.shape[1]))])
        J, bodies, v = self.J, self.bodies, np.zeros(shape)
        for partner in range(bodies.shape[1]):
            block = J[partner] if isinstance(J, tuple) else J[:, partner]
            if block.shape[2] == velocity.shape[1]:  # otherwise the partner is the fixed world
                v += np.einsum("kmd,kd->km", block, padded[bodies[:, partner]])
        return v

    def split(self, flat: np.ndarray) -> Any:
        """Return a vector over all rows as ``(K, m)``, or as one such array per group."""
        return split(self._groups, self.grouped, flat)

    def join(self, name: str, value: Any) -> np.ndarray:
        """Return ``(K, m)``, its flat form, or one such array per group, as one flat vector."""
        return join(self._groups, self.grouped, name, value)

    def parameters(self, mu: Any) -> np.ndarray:
        """Return the parameters of all sets with these friction coefficients, for one solve."""
        return parameters(self._groups, self.grouped, mu)

    def velocity_change(self, flat: np.ndarray, impulses: np.ndarray) -> Any:
        """Return M⁻¹Jᵀλ in the shape of the bodies; `flat` is that of the C library."""
        if self._operator is not None:
            return self._operator.velocity_change(impulses)
        if self._matrix is not None:
            return None
        if not self.grouped:
            return flat.reshape(self._bodies[0][:2])
        sizes = [shape[0] * shape[1] for shape in self._bodies]
        parts = np.split(flat, np.cumsum(sizes)[:-1]) if sizes else []
        return [part.reshape(shape[:2]) for part, shape in zip(parts, self._bodies, strict=True)]

    def delassus(self) -> Any:
        """Return A as a SciPy sparse array: BSR with ``(m, m)`` blocks, or CSR if m varies."""
        sparse = optional("scipy.sparse", "delassus() needs")
        sizes = {group.rows for group in self._groups}
        if len(sizes) != 1:
            data, indices, indptr = self.delassus_csr()
            return sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1,) * 2)
        m = sizes.pop()
        values, columns, starts = self._core.assemble()
        blocks = values.reshape(-1, m, m)
        return sparse.bsr_array((blocks, columns, starts), shape=(self.contacts * m,) * 2)

    def delassus_csr(self) -> Csr:
        """Return A in compressed sparse rows, ``(data, indices, indptr)``.

        A given A is returned entry for entry; otherwise A is assembled.
        """
        if self._matrix is not None:
            return self._matrix
        values, columns, starts = self._core.assemble()
        sizes = np.array([x.shape for x in self._groups], np.int64).reshape(-1, 2)
        rows = np.repeat(sizes[:, 1], sizes[:, 0])
        first_row = np.concatenate([[0], np.cumsum(rows)])
        return scalar_rows(values, columns, starts, rows, first_row)

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        if self._operator is not None:
            origin = f"{self.dof} degrees of freedom"
        elif self._matrix is not None:
            origin = "given matrix"
        else:
            count = self.bodies_count
            origin = f"{count} {'body' if count == 1 else 'bodies'}"
        kinds = ", ".join(f"{x.contacts} of {_rows(x.rows)} in {x.set.name}" for x in self._groups)
        contacts = f"{self.contacts} contact{'' if self.contacts == 1 else 's'}"
        return f"Problem({name}{contacts} ({kinds}), {origin})"


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
