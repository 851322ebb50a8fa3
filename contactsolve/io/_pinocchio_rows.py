"""Rows of Pinocchio's constraints as blocks with sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from contactsolve import sets
from contactsolve.io._simulators import Blocks, Origin
from contactsolve.sets import Set

__all__ = ["Rows", "coefficients", "extracted", "trees"]

_NORMAL_FIRST = [2, 0, 1]  # Pinocchio's rows are t1, t2, n

# Where the data of a constraint has its position error; rigid ones are not asked.
_ERRORS = {
    "PointAnchorConstraintModel": "constraint_position_error",
    "FrameAnchorConstraintModel": "constraint_position_error",
    "PointContactConstraintModel": "constraint_position_error",
    "JointLimitConstraintModel": "constraint_residual",
}

# Each type of constraints: the kind of its blocks, and if each of its rows is a block.
_TYPES = {
    "RigidConstraintModel": ("equality", False),
    "PointAnchorConstraintModel": ("equality", False),
    "FrameAnchorConstraintModel": ("equality", False),
    "PointContactConstraintModel": ("contact", False),
    "JointFrictionConstraintModel": ("friction", True),
    "JointLimitConstraintModel": ("limit", True),
}


class Rows(NamedTuple):
    """The rows of all constraints under each other.

    Attributes
    ----------
    constraints, friction
        The constraints, and their coefficients of friction or None.
    alike
        The numbers of the constraints of each kind and size of blocks.
    start
        Their first rows, and the number of all rows.
    jacobian, error, compliance
        J ``(rows, nv)``, position errors and diagonal of Σ, ``(rows,)``.
    """

    constraints: list[Any]
    friction: list[float | None]
    alike: dict[tuple[str, int], np.ndarray]
    start: np.ndarray
    jacobian: np.ndarray
    error: np.ndarray
    compliance: np.ndarray

    @classmethod
    def of(
        cls, model: Any, data: Any, constraints: list[Any], friction: list[float | None]
    ) -> Rows:
        """Evaluate the constraints with the Jacobians of the joints in data."""
        jacobians, errors = [np.zeros((0, model.nv))], [np.zeros(0)]
        compliances, sizes = [np.zeros(0)], [0]
        for one in constraints:
            own = one.createData()
            one.calc(model, data, own)
            J = one.jacobian(model, data, own)
            error = getattr(own, _ERRORS.get(type(one).__name__, ""), None)
            jacobians.append(J)
            errors.append(np.zeros(len(J)) if error is None else error)
            compliances.append(one.retrieveCompliance())
            sizes.append(len(J))
        parts = (np.concatenate(part) for part in (jacobians, errors, compliances))
        alike = _alike(constraints, friction, sizes[1:])
        return cls(constraints, friction, alike, np.cumsum(sizes), *parts)

    def rows_of(self, members: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows ``(K, size)`` of some constraints, and the constraint of each block."""
        blocks = (self.start[members + 1] - self.start[members]) // size
        first = np.repeat(self.start[members], blocks)
        inside = np.arange(len(first)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
        return (first + size * inside)[:, None] + np.arange(size), np.repeat(members, blocks)

    def corrections(self, stabilization: float) -> np.ndarray:
        """Return the position errors that a step corrects: gaps as a whole, others in part."""
        share = np.full(len(self.error), stabilization)
        for (kind, size), members in self.alike.items():
            rows, _ = self.rows_of(members, size)
            if kind == "contact":
                share[rows[:, :2]] = 0.0  # tangents have no error
                rows = rows[:, 2]
            if kind in ("contact", "limit"):
                share[rows] = np.where(self.error[rows] > 0, 1.0, stabilization)
        return share * self.error

    def blocks(self, b: np.ndarray, h: float) -> list[Blocks]:
        """Return the constraints, joined by kind and size."""
        found = []
        for (kind, size), members in self.alike.items():
            rows, ids = self.rows_of(members, size)
            rows = rows[:, _NORMAL_FIRST] if kind == "contact" else rows
            compliance = self.compliance[rows]
            found.append(
                Blocks(
                    Origin(kind, ids, rows),
                    b[rows],
                    self.set(kind, members, h),
                    compliance if compliance.any() else None,
                )
            )
        return found

    def set(self, kind: str, members: np.ndarray, h: float) -> Set:
        """Return the set of the blocks of some constraints of one kind."""
        if kind == "contact":
            return sets.disc(np.array([self.friction[i] for i in members], float))
        if kind == "friction":
            chosen = [self.constraints[i] for i in members]
            low = np.concatenate([one.getFrictionLowerLimit() for one in chosen])
            high = np.concatenate([one.getFrictionUpperLimit() for one in chosen])
            return sets.box(h * low[:, None], h * high[:, None])
        return sets.half_line() if kind == "limit" else sets.free()


def _alike(
    constraints: list[Any], friction: list[float | None], sizes: list[int]
) -> dict[tuple[str, int], np.ndarray]:
    """Return the numbers of the constraints of each kind and size of blocks."""
    found: dict[tuple[str, int], list[int]] = {}
    for i, (one, mu, size) in enumerate(zip(constraints, friction, sizes, strict=True)):
        kind, is_single = _TYPES[type(one).__name__]
        kind = kind if mu is None else "contact"
        found.setdefault((kind, 1 if is_single else size), []).append(i)
    return {key: np.array(members) for key, members in found.items()}


def trees(model: Any) -> np.ndarray:
    """Return the number of the kinematic tree of each degree of freedom; each begins at joint 0."""
    number = [-1]
    for parent in model.parents.tolist()[1:]:
        number.append(number[parent] if parent else max(number) + 1)
    tree = np.zeros(model.nv, np.int64)
    for joint, (first, count) in enumerate(
        zip(model.idx_vs.tolist(), model.nvs.tolist(), strict=True)
    ):
        tree[first : first + count] = number[joint]
    return tree


# ---- arguments -----------------------------------------------------------------------------------


def extracted(pin: Any, i: int, constraint: Any) -> Any:
    """Return a constraint model without its wrapper."""
    if isinstance(constraint, pin.ConstraintModel):
        constraint = constraint.extract()
    name = type(constraint).__name__
    if name not in _TYPES or type(constraint) is not getattr(pin, name):
        raise TypeError(f"constraints[{i}] is {constraint!r}: one of {', '.join(_TYPES)} is needed")
    return constraint


def coefficients(pin: Any, mu: Any, constraints: list[Any]) -> list[float | None]:
    """Return the friction coefficient of each constraint, None without friction."""
    one_each = np.ndim(mu) > 0
    if one_each and len(mu) != len(constraints):
        raise ValueError(f"mu has {len(mu)} entries for {len(constraints)} constraints")
    found: list[float | None] = []
    for i, constraint in enumerate(constraints):
        given = mu[i] if one_each else mu
        kind = type(constraint).__name__
        if kind == "PointContactConstraintModel":
            own = constraint.getFriction()
        elif kind == "RigidConstraintModel" and constraint.type == pin.ContactType.CONTACT_3D:
            own = given
            given = None
        else:
            own = None
        if given is not None and one_each:
            kind += " of type CONTACT_6D" if kind == "RigidConstraintModel" else ""
            raise ValueError(f"mu[{i}] is {given}, but constraints[{i}] is a {kind}")
        found.append(None if own is None else float(own))
    return found
