"""Contact problems: Jacobian, inverse mass, b and friction; or the Delassus matrix itself."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arrays import read_only
from ._layout import Layout
from ._matrices import Operator, csr_of, flat_compliance
from ._problem_data import ProblemData
from ._sparse import Csr
from ._update import per_group, updated_bodies, updated_group
from .groups import (
    Bodies,
    Group,
    check_kinds,
    given_jacobian,
    inverse_masses,
    packed_blocks,
    packed_bodies,
    row_count,
    rows_per_contact,
    shaped_b,
)
from .sets import Set, choose_set
from .state import b_of_state

if TYPE_CHECKING:
    from .solver import Solver

__all__ = ["Problem"]


class Problem(ProblemData):
    r"""A contact problem in arrays.

    Find impulses λ with

    .. math:: ξ(λ) = A λ + b, \quad A = J M^{-1} J^T + Σ, \quad
              λ_k = \mathrm{prox}_{C_k}(λ_k - R_k ξ_k(λ))

    for K blocks of m rows (S1 eqs. 2.69, 2.74).

    Parameters
    ----------
    J
        Contact Jacobian, ``(K, 2, m, d)``: for each contact the ``(m, d)`` block of its first and
        of its second body; or a pair ``(J_i (K, m, d_i), J_j (K, m, d_j))``. The relative velocity
        is that of the second body minus that of the first; rows are normal, tangents. Contacts of
        p bodies, 1 to 4, have ``(K, p, m, d)`` or a tuple of p arrays ``(K, m, d_s)``: a vertex
        and a face of a cloth have four. Without `bodies`: one dense or SciPy sparse matrix
        ``(K m, dof)`` of any pattern, with `rows`.
    Minv
        Inverse masses: with `bodies`, blocks ``(n, d, d)`` (symmetric, positive semi-definite) or
        diagonals ``(n, d)``, zero for an immovable body; without, a flat diagonal ``(dof,)``,
        blocks, or a dense or sparse ``(dof, dof)`` matrix.
    b
        Relative velocities without contact impulses [m/s], ``(K, m)`` or flat.
    mu
        Friction coefficient, a number or ``(K,)``. Contacts are frictionless without it.
    bodies
        ``(K, 2)`` integers, or ``(K, p)``: the bodies of each contact, −1 for the fixed world;
        several may be the same body. With `groups`, a list of `Bodies`.
    mass
        Masses instead of inverse masses, in the same forms.
    rows
        m, for a J of any pattern (3 by default).
    sets
        The feasible set, from `contactsolve.sets`; by default a disc when `mu` is given, a box when
        `lo` or `hi` is, a half-line otherwise.
    lo, hi
        Bounds of a box [N s].
    compliance
        Diagonal of Σ: a number, ``(m,)``, ``(K, 1)`` or ``(K, m)`` [m/(N s)].
    groups
        Several groups of constraints in one problem (joints beside contacts, or bodies of different
        degrees of freedom): a list of `Group`, with ``bodies=[Bodies(...), ...]``. Results then
        hold one array per group.
    strict
        Raise an error for contacts between immovable bodies. Otherwise these keep their initial
        impulse, and ``result.info["warnings"]`` reports them.
    name
        Name of the problem in tables and plots.

    Raises
    ------
    ValueError, TypeError
        For input that is not finite, of a wrong shape or type, for a negative friction coefficient,
        a body number out of range, an inverse mass that is unsymmetric or indefinite, ``lo > hi``.
        The message names the argument, the index and the value.

    Warns
    -----
    UserWarning
        For a square symmetric `Minv` or `mass` of as many bodies as degrees of freedom where some
        bodies have no contacts: it is read as diagonals, and was probably meant as the matrix of
        one body, ``Minv[None]``.

    Notes
    -----
    The problem keeps copies; inputs are never written to. Arrays may be those of other packages, by
    ``__array__``, DLPack or ``__cuda_array_interface__``, also in the memory of a GPU, from which
    they are copied to that of the processor.

    Examples
    --------
    A ball of 1 kg falls onto the ground at 0.1 m/s:

    >>> import numpy as np, contactsolve as cs
    >>> J = np.zeros((1, 2, 1, 3)); J[0, 1, 0, 1] = 1.0   # normal: upwards, on the second body
    >>> problem = cs.Problem(J, np.ones((1, 3)), b=[-0.1], bodies=[[-1, 0]])
    >>> cs.solve(problem).impulses
    array([[0.1]])
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **keywords: Any) -> Problem:  # noqa: ARG004 (of __init__)
        """Make a problem without values, which __init__ or another constructor sets."""
        self = super().__new__(cls)
        self.name, self.state, self.updates = "", None, 0
        return self

    def __init__(
        self,
        J: Any = None,
        Minv: Any = None,
        b: Any = None,
        mu: Any = None,
        *,
        bodies: Any = None,
        mass: Any = None,
        rows: int | None = None,
        sets: Set | None = None,
        lo: Any = None,
        hi: Any = None,
        compliance: Any = None,
        groups: Sequence[Group] | None = None,
        strict: bool = False,
        name: str = "",
    ) -> None:
        self.name = str(name)
        if groups is not None:
            given = {"J": J, "Minv": Minv, "b": b, "mu": mu, "mass": mass, "rows": rows}
            given |= {"sets": sets, "lo": lo, "hi": hi, "compliance": compliance}
            _refuse(given, "groups have their own")
            self._from_groups(groups, bodies)
        elif bodies is None:
            self._from_matrices(J, Minv, mass, b, mu, rows, sets, lo, hi, compliance)
        else:
            if rows is not None:
                raise TypeError("rows is for a J of any pattern; J with bodies has its own rows")
            group = Group(J, bodies, b, mu, sets=sets, lo=lo, hi=hi, compliance=compliance)
            inverse = inverse_masses(Minv, mass, group)
            self.grouped = False
            self._pack((packed_bodies(inverse),), (group,))
        if strict:
            self.refuse_immovable()

    # ---- other constructors ---------------------------------------------------------------------

    @classmethod
    def from_delassus(
        cls,
        A: Any,
        b: Any,
        mu: Any = None,
        *,
        rows: int = 3,
        sets: Set | None = None,
        lo: Any = None,
        hi: Any = None,
        strict: bool = False,
        name: str = "",
    ) -> Problem:
        """Make a problem from the Delassus matrix A itself.

        Parameters
        ----------
        A
            ``(K m, K m)``: a SciPy sparse matrix, a dense array, or the CSR triple ``(data,
            indices, indptr)`` as a tuple of arrays. It may be slightly unsymmetric and is used
            unchanged; ``problem.info["asymmetry"]`` reports it.
        b
            Relative velocities without contact impulses [m/s], ``(K, m)`` or flat.
        mu, sets, lo, hi, strict, name
            As for `Problem`.
        rows
            m, the rows of each contact.

        Raises
        ------
        ValueError, TypeError
            As for `Problem`, and for an A that is not square or has no multiple of `rows` rows.
        """
        self = cls.__new__(cls)
        self.name, self._operator, self.dof = str(name), None, 0
        self._from_matrix(csr_of(A), b, mu, rows, sets, lo, hi)
        if strict:
            self.refuse_immovable()
        return self

    @classmethod
    def from_state(
        cls,
        J: Any,
        M: Any = None,
        *,
        velocity: Any,
        impulse: Any = 0.0,
        mu: Any = None,
        drive: Any = 0.0,
        restitution: Any = 0.0,
        bias: Any = 0.0,
        Minv: Any = None,
        bodies: Any = None,
        rows: int | None = None,
        sets: Set | None = None,
        lo: Any = None,
        hi: Any = None,
        compliance: Any = None,
        strict: bool = False,
        name: str = "",
    ) -> Problem:
        r"""Make a problem from velocities and external impulses, which determine b.

        .. math:: b = J (u + M^{-1} h) + χ + ε (J u + χ) + \text{bias}

        This is S2 section 4.4 with Newton's law of impact in every row that has a restitution.

        Parameters
        ----------
        J, bodies, rows
            As for `Problem`.
        M, Minv
            Mass or inverse mass: one of them, in the forms of `Problem`.
        velocity
            u before the step: ``(n, d)``, or ``(dof,)`` for a J of any pattern [m/s, rad/s].
        impulse
            External impulses h (gravity, gyroscopic), in the shape of `velocity` or a number [N s].
        drive
            χ, relative velocity that driven partners add, a number or ``(K, m)`` [m/s].
        restitution
            ε between 0 and 1: a number or ``(K,)`` for the normal rows, or ``(K, m)``.
        bias
            Stabilisation added to b, a number or ``(K, m)`` [m/s].
        mu, sets, lo, hi, compliance, strict, name
            As for `Problem`.

        Raises
        ------
        ValueError, TypeError
            As for `Problem`, and for a restitution outside of [0, 1].
        """
        if (M is None) == (Minv is None):
            raise TypeError("give either M or Minv")
        # The problem first, with b = 0; its products then give b.
        J = given_jacobian(J)
        self = cls(
            J,
            Minv,
            np.zeros(row_count(J)),
            mu,
            bodies=bodies,
            mass=M,
            rows=rows,
            sets=sets,
            lo=lo,
            hi=hi,
            compliance=compliance,
            strict=strict,
            name=name,
        )
        b, state = b_of_state(self, velocity, impulse, drive, restitution, bias)
        self.update(b=b)
        self.state = state
        return self

    # ---- packing --------------------------------------------------------------------------------

    def _from_groups(self, groups: Sequence[Group], bodies: Any) -> None:
        groups, bodies = tuple(groups), () if bodies is None else tuple(bodies)
        check_kinds("groups", groups, Group)
        check_kinds("bodies", bodies, Bodies)
        self.grouped = True
        self._pack(tuple(one.packed() for one in bodies), groups)

    def _pack(self, bodies: tuple, groups: tuple[Group, ...]) -> None:
        """Hand everything to the C library, which copies and checks it."""
        self._matrix = self._operator = None
        self._groups = tuple(
            Layout(*group.shape, group.dofs, group.set.copied()) for group in groups
        )
        self._bodies = tuple(one["inverse_mass"].shape for one in bodies)
        self.contacts = sum(group.contacts for group in self._groups)
        self.dof = sum(one["count"] * one["dof"] for one in bodies)
        self._core = _core.Problem(bodies, tuple(group.packed() for group in groups), None)

    def _from_matrices(
        self,
        J: Any,
        Minv: Any,
        mass: Any,
        b: Any,
        mu: Any,
        rows: int | None,
        sets: Set | None,
        lo: Any,
        hi: Any,
        compliance: Any,
    ) -> None:
        J = given_jacobian(J)
        if isinstance(J, tuple) or len(J.shape) != 2:
            raise TypeError("bodies is missing: a J of blocks needs the bodies of each contact")
        operator = Operator(J, Minv, mass)
        m = rows_per_contact(3 if rows is None else rows)
        if operator.rows % m:
            raise ValueError(f"J has {operator.rows} rows, which is no multiple of rows={m}")
        sigma = None if compliance is None else flat_compliance(compliance, operator.rows, m)
        self._operator = operator
        self.dof = operator.dof
        self._from_matrix(operator.delassus(sigma), b, mu, m, sets, lo, hi, sigma)

    def _from_matrix(
        self,
        csr: Csr,
        b: Any,
        mu: Any,
        rows: Any,
        sets: Set | None,
        lo: Any,
        hi: Any,
        sigma: np.ndarray | None = None,
    ) -> None:
        data, indices, indptr = csr
        m, total = rows_per_contact(rows), len(indptr) - 1
        if total % m:
            raise ValueError(f"A has {total} rows, which is no multiple of rows={m}")
        feasible = choose_set(mu, sets, lo, hi, m).copied()
        layout = Layout(total // m, m, (), feasible)
        b = shaped_b(b, *layout.shape)
        self.grouped = False
        self._groups, self._bodies = (layout,), ()
        self.contacts = layout.contacts
        self._matrix = (read_only(data), read_only(indices), read_only(indptr))
        self._sigma = sigma
        block = packed_blocks(layout.shape, (), feasible, b=b, compliance=sigma)
        matrix = {"indptr": indptr, "indices": indices, "data": data}
        self._core = _core.Problem((), (block,), matrix)

    def refuse_immovable(self) -> None:
        """Raise ValueError if a contact is between immovable bodies, as ``strict=True`` does."""
        contact = self._core.first_immovable()
        if contact >= 0:
            pair = ""
            if self._bodies and not self.grouped:
                pair = f" (bodies {self.bodies[contact].tolist()})"
            raise ValueError(
                f"contact {contact} is between immovable bodies{pair}: strict=True refuses it"
            )

    # ---- new values -----------------------------------------------------------------------------

    def update(
        self, *, J: Any = None, Minv: Any = None, b: Any = None, mu: Any = None, sets: Any = None
    ) -> None:
        """Change values, but not the structure; solvers of the problem use the new values.

        Parameters
        ----------
        J, Minv, b, mu
            New values in the shapes of the old ones; for grouped problems lists with one entry per
            group (of bodies, for `Minv`), None to keep one. A change of J or Minv does not change
            b. A problem built from a state loses the state unless only friction changes.
        sets
            The same kind of set with other parameters, in place of `mu`.

        Raises
        ------
        ValueError
            For values that a new problem would refuse, or of another structure. The problem remains
            unchanged.
        RuntimeError
            While a solver is using the problem.
        """
        if self._matrix is not None and (J is not None or Minv is not None):
            self._replace_matrix(J, Minv, b, mu, sets)
        else:
            self._replace_arrays(J, Minv, b, mu, sets)
        self.updates += 1
        if J is not None or Minv is not None or b is not None:
            self.state = None

    def _replace_arrays(self, J: Any, Minv: Any, b: Any, mu: Any, sets: Any) -> None:
        """Hand the C library what is given; it keeps the rest."""
        given = {"J": J, "b": b, "mu": mu, "sets": sets}
        values = [per_group(n, v, len(self._groups), self.grouped) for n, v in given.items()]
        inverses = per_group("Minv", Minv, len(self._bodies), self.grouped)
        groups = [
            updated_group(layout, *new) for layout, *new in zip(self._groups, *values, strict=True)
        ]
        layouts, *arrays = zip(*groups, strict=True) if groups else ((), (), (), ())
        self._core.update(updated_bodies(self._bodies, inverses), *arrays)
        self._groups = layouts

    def _replace_matrix(self, J: Any, Minv: Any, b: Any, mu: Any, sets: Any) -> None:
        """Exchange everything with a new problem, whose A has other entries."""
        layout, operator = self._groups[0], self._operator
        if operator is None:
            raise ValueError("this problem was made from A: it has no J or Minv to update")
        fresh = Problem.__new__(Problem)
        operator = fresh._operator = operator.updated(J, Minv)
        csr = operator.delassus(self._sigma)
        feasible = layout.set.changed(mu, sets)
        b = self.b if b is None else b
        fresh._from_matrix(csr, b, None, layout.rows, feasible, None, None, self._sigma)
        self._core.replace(fresh._core)
        self._groups, self._matrix, self._operator = fresh._groups, fresh._matrix, operator

    # ---- solvers -------------------------------------------------------------------------------

    def to(self, device: str = "cuda", **options: Any) -> Solver:
        """Return a solver that keeps this problem on a device across solves and updates.

        Repeated solves upload only what `update` has changed: b and the parameters of the sets, and
        with a new J or Minv the factors too (``scheme="factorized"``; others are packed anew).

        Parameters
        ----------
        device
            ``"cuda"``, ``"cuda-emulated"`` or ``"cpu"``, as for `Solver`.
        **options
            Method and options of `Solver`.

        Returns
        -------
        Solver
            Its `problem` is this one.

        Raises
        ------
        RuntimeError
            The device cannot be used here.
        MemoryError
            The problem is too large for it; the message names the bytes needed and free.
        ValueError, TypeError
            As for `Solver`.

        Examples
        --------
        >>> import contactsolve as cs
        >>> problem = cs.scenarios.box_stack(3)
        >>> solver = problem.to("cuda" if cs.cuda.available() else "cpu")
        >>> solver.solve().converged
        True
        >>> problem.update(mu=0.4)
        >>> solver.solve().converged
        True
        """
        from .solver import Solver

        return Solver(self, device=device, **options)

    # ---- files and pickles ----------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the problem to an HDF5 file, bit for bit; `contactsolve.load_problem` reads it.

        Parameters
        ----------
        path
            Path of the new file, which appears once it is complete.
        overwrite
            Replace an existing file.

        Raises
        ------
        FileExistsError
            The file exists and `overwrite` is False.
        FileNotFoundError
            The folder of the file does not exist.
        TypeError
            A set is defined by a Python function, which a file cannot contain.
        ValueError
            The name contains a null character.
        ImportError
            h5py is not installed.
        """
        from .io.saved import save_problem

        save_problem(path, self, overwrite=overwrite)

    def __getstate__(self) -> tuple:
        kept = (self.name, self.state, self.grouped, self.updates)
        if self._matrix is not None:
            layout = self._groups[0]
            given = (self._matrix, self._operator, self._sigma)
            return kept, given, (self.b, layout.rows, layout.set)
        core = self._core
        groups = [
            (self._jacobian(g), core.bodies(g), core.b(g), x.set, core.compliance(g))
            for g, x in enumerate(self._groups)
        ]
        return kept, None, (self._inverse_masses(), groups)

    def __setstate__(self, state: tuple) -> None:
        (self.name, self.state, self.grouped, self.updates), given, values = state
        if given is not None:
            b, rows, feasible = values
            csr, self._operator, sigma = given
            self.dof = 0 if self._operator is None else self._operator.dof
            self._from_matrix(csr, b, None, rows, feasible, None, None, sigma)
            return
        inverses, groups = values
        parts = tuple(Group(J, bodies, b, sets=x) for J, bodies, b, x, _ in groups)
        for part, (*_, sigma) in zip(parts, groups, strict=True):
            part.compliance = sigma
        self._pack(tuple(packed_bodies(inverse) for inverse in inverses), parts)


def _refuse(given: dict[str, Any], reason: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"{name} is given, but the {reason}")
