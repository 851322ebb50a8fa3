"""Problems out of simulators in joint coordinates, and velocities back.

A simulator has one Jacobian over all degrees of freedom, and one mass matrix that is block diagonal
over the kinematic trees. Here each tree is a body in generalised coordinates, so that contacts of
different trees do not couple. Trees that one block of rows couples, if they are more than two, are
joined into one body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from contactsolve._arrays import read_only
from contactsolve.groups import Group
from contactsolve.io._trees import Entries, Partners
from contactsolve.problem import Problem
from contactsolve.result import Result
from contactsolve.sets import Set

__all__ = ["Blocks", "Origin", "SimulatorProblem", "assembled", "check_stabilization"]


class Origin(NamedTuple):
    """Where the blocks of one group of a problem come from.

    Attributes
    ----------
    kind
        Kind of the constraints, as the function that made the problem lists them.
    ids
        ``(K,)``: the number of each constraint in the simulator.
    rows
        ``(K, e)``: the simulator's rows that make a block, which may be more than it has here.
    """

    kind: str
    ids: np.ndarray
    rows: np.ndarray


@dataclass(eq=False)
class Blocks:
    """Constraints of one kind: what a `Group` has, before it is known which bodies they are of.

    Attributes
    ----------
    origin
        Where they come from.
    b
        ``(K, m)`` [m/s].
    set
        Its parameters are numbers, or have one value for each block.
    compliance
        ``(K, m)`` [m/(N s)], or None.
    transform
        ``(K, m, e)``, the rows of the problem as combinations of the simulator's; None for these.
    """

    origin: Origin
    b: np.ndarray
    set: Set
    compliance: np.ndarray | None = None
    transform: np.ndarray | None = None

    def chosen(self, which: np.ndarray) -> Blocks:
        """Return some of the blocks."""
        if which.all():
            return self
        kind, ids, rows = self.origin
        return Blocks(
            Origin(kind, ids[which], rows[which]),
            self.b[which],
            _chosen_set(self.set, which),
            None if self.compliance is None else self.compliance[which],
            None if self.transform is None else self.transform[which],
        )


def _chosen_set(feasible: Set, which: np.ndarray) -> Set:
    """Return the set with the parameters of some blocks."""
    values = []
    for one in feasible.values:
        has_one_each = one.value.ndim > len(one.shape) and (not one.of_rows or one.value.ndim == 2)
        values.append(replace(one, value=one.value[which]) if has_one_each else one)
    return replace(feasible, values=tuple(values))


class SimulatorProblem(Problem):
    """A problem out of a simulator; its kinematic trees are the bodies.

    It can be pickled; `save` keeps the problem alone.

    Attributes
    ----------
    time_step
        Duration h of the step [s].
    free_velocity
        Velocities at the end of the step without constraints, in the simulator's order, ``(nv,)``.
    origins
        An `Origin` for each group.
    """

    __slots__ = ("_dofs", "_rows", "free_velocity", "origins", "time_step")

    time_step: float
    free_velocity: np.ndarray
    origins: tuple[Origin, ...]
    _dofs: tuple[np.ndarray, ...]  # the simulator's degrees of freedom of each group of bodies
    _rows: int  # of the simulator

    def velocity(self, result: Result) -> np.ndarray:
        """Return the velocities at the end of the step, in the simulator's order.

        Parameters
        ----------
        result
            A result of this problem.

        Returns
        -------
        ndarray, shape (nv,)
            ``free_velocity`` + M⁻¹ Jᵀ λ [m/s, rad/s].

        Raises
        ------
        ValueError
            The result is that of a problem with other bodies.
        """
        changes = result.body_velocity_change
        wanted = [dofs.shape for dofs in self._dofs]
        if not isinstance(changes, list) or [one.shape for one in changes] != wanted:
            raise ValueError("result is that of a problem with other bodies")
        velocity = self.free_velocity.copy()
        for dofs, change in zip(self._dofs, changes, strict=True):
            velocity[dofs] += change
        return velocity

    def forces(self, result: Result) -> np.ndarray:
        """Return constraint forces λ/h in the order of the simulator's rows.

        Parameters
        ----------
        result
            A result of this problem.

        Returns
        -------
        ndarray, shape (rows,)
            [N] or [N m]; rows that the problem leaves out have none.

        Raises
        ------
        ValueError
            The result is that of a problem with other groups.
        """
        impulses, wanted = result.impulses, [b.shape for b in self.b]
        if not isinstance(impulses, list) or [one.shape for one in impulses] != wanted:
            raise ValueError("result is that of a problem with other groups")
        force = np.zeros(self._rows)
        for group, origin in enumerate(self.origins):
            force[origin.rows] = self._in_rows(group, impulses[group]) / self.time_step
        return force

    def _in_rows(self, group: int, impulses: np.ndarray) -> np.ndarray:  # noqa: ARG002 (as below)
        """Return the impulses of a group ``(K, m)`` on the simulator's rows ``(K, e)``."""
        return impulses

    def __reduce__(self) -> tuple:
        classes = [one for one in type(self).__mro__ if issubclass(one, SimulatorProblem)]
        own = {name: getattr(self, name) for one in classes for name in one.__slots__}
        return _restored, (type(self), self.__getstate__(), own)


def _restored(kind: type[SimulatorProblem], state: tuple, own: dict[str, Any]) -> SimulatorProblem:
    """Return a problem from its pickle."""
    problem: Any = kind.__new__(kind)
    problem.__setstate__(state)
    for name, value in own.items():
        setattr(problem, name, value)
    return problem


def assembled(
    kind: type[SimulatorProblem],
    blocks: Sequence[Blocks],
    jacobian: Entries,
    mass: Entries,
    tree: np.ndarray,
    **own: Any,
) -> tuple[Any, list[int]]:
    """Return a problem of constraints in joint coordinates.

    Parameters
    ----------
    kind
        The class of the problem.
    blocks
        All constraints.
    jacobian
        Entries of the simulator's Jacobian.
    mass
        Entries of the mass matrix, of both triangles or of one.
    tree
        ``(nv,)``: the number of the kinematic tree of each degree of freedom, from 0.
    **own
        The problem's `time_step`, `free_velocity`, `name`, and number of the simulator's `rows`.

    Returns
    -------
    problem, list of int
        The problem, and which of `blocks` each of its groups is made of.
    """
    partners = Partners([one.origin.rows for one in blocks], jacobian, tree)
    groups: list[Group] = []
    origins, sources = [], []
    for number, one in enumerate(blocks):
        for which, J, pairs in partners.parts(number):
            part = one.chosen(which)
            groups.append(_group(part, J, pairs))
            origins.append(Origin(*map(_kept, part.origin)))
            sources.append(number)

    # The class is that of the simulator; its own attributes follow.
    bodies = partners.layout.bodies(mass)
    problem = kind(groups=groups, bodies=bodies, name=own["name"])
    problem.time_step, problem.free_velocity = own["time_step"], read_only(own["free_velocity"])
    problem.origins, problem._dofs = tuple(origins), tuple(partners.layout.dofs)
    problem._rows = own["rows"]
    return problem, sources


def _kept(value: Any) -> Any:
    return read_only(value.copy()) if isinstance(value, np.ndarray) else value


def _group(part: Blocks, J: tuple[np.ndarray, np.ndarray], bodies: np.ndarray) -> Group:
    """Return the group of some blocks with the Jacobians of both partners, ``(K, e, d)``."""
    first, second = J
    if part.transform is not None:
        first, second = part.transform @ first, part.transform @ second
    same = first.shape[2] == second.shape[2]
    both: Any = np.stack((first, second), axis=1) if same else (first, second)
    return Group(both, bodies, part.b, sets=part.set, compliance=part.compliance)


def check_stabilization(value: float) -> None:
    """Raise ValueError unless the part of an error that a step corrects is between 0 and 1."""
    if not 0 <= value <= 1:
        raise ValueError(f"stabilization is {value}: it lies between 0 and 1")
