"""Contact problems out of Pinocchio, and velocities back.

For constraints with the Jacobian J, velocities v before the step and joint torques τ, the
velocities of the constraints at the end of a step h of semi-implicit Euler are

    ξ = J M⁻¹ Jᵀ λ + J (v + h M⁻¹ (τ - nle)),

with the impulses λ and Pinocchio's non-linear effects nle (gravity, Coriolis).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from contactsolve import sets
from contactsolve._arrays import finite_array
from contactsolve._optional import optional
from contactsolve.io._simulators import (
    Blocks,
    Entries,
    Origin,
    SimulatorProblem,
    assembled,
    check_stabilization,
)
from contactsolve.sets import Set

__all__ = ["PinocchioProblem", "from_pinocchio"]

_NORMAL_FIRST = [2, 0, 1]  # Pinocchio's rows are t1, t2, n


class PinocchioProblem(SimulatorProblem):
    """A contact problem out of Pinocchio; made by `from_pinocchio`.

    Attributes
    ----------
    time_step
        h [s].
    free_velocity
        v + h M⁻¹ (τ - nle), in the order of Pinocchio's v, ``(nv,)``.
    origins
        For each group its kind (``"equality"``, ``"friction"``, ``"limit"``, ``"contact"``), for
        each block the number of its constraint in the list, and its rows of the Jacobians of all
        constraints under each other.
    """

    __slots__ = ()


class _Rows(NamedTuple):
    """What the rows of one constraint are: blocks ``(K, m)`` of its rows, and their set."""

    kind: str
    rows: np.ndarray
    bounds: np.ndarray | None = None  # of its parameter, one for each block
    error: np.ndarray | None = None  # of the position, for each of its rows


def from_pinocchio(
    model: Any,
    data: Any,
    constraints: Iterable[Any],
    q: Any,
    v: Any,
    tau: Any = 0.0,
    *,
    time_step: float,
    mu: Any = None,
    stabilization: float = 0.0,
    name: str = "",
) -> PinocchioProblem:
    """Return constraints between the bodies of a Pinocchio model as a problem.

    The bodies are the kinematic trees. Constraints of one kind with the same rows and degrees of
    freedom are a group; there are none without constraints.

    ================================= ======================= ======================================
    Pinocchio's constraint            blocks                  set
    ================================= ======================= ======================================
    `RigidConstraintModel`, 3-D       its 3 rows              `sets.free`
    ... with `mu`                     n, t1, t2 = z, x, y     `sets.disc`
    `RigidConstraintModel`, 6-D       its 6 rows              `sets.free`
    `PointAnchorConstraintModel`      its 3 rows              `sets.free`
    `FrameAnchorConstraintModel`      its 6 rows              `sets.free`
    `PointContactConstraintModel`     n, t1, t2 = z, x, y     `sets.disc`, with its `getFriction`
    `JointFrictionConstraintModel`    1 row                   `sets.box`, h times its limits
    `JointLimitConstraintModel`       1 row                   `sets.half_line`
    ================================= ======================= ======================================

    Parameters
    ----------
    model
        `pinocchio.Model`.
    data
        `pinocchio.Data` of the model, Pinocchio's workspace: `pinocchio.computeAllTerms` for q and
        v is called on it.
    constraints
        Constraint models, also wrapped as `pinocchio.ConstraintModel`, in any mixture. They are not
        changed.
    q, v, tau
        Configuration ``(nq,)``, velocities ``(nv,)`` and generalised forces ``(nv,)``, or a number.
    time_step
        h [s].
    mu
        Friction coefficients of 3-D `RigidConstraintModel`, which have none: a number, or one for
        each of `constraints`, with None for those that hold all rows. The normal is the z axis of
        the constraint's `reference_frame`, and the impulse pushes its first joint along it.
    stabilization
        The part of position errors that one step corrects, from 0 to 1. `RigidConstraintModel` has
        no position errors here. Gaps of contacts and distances from limits, errors above 0, may
        close in the step in any case: b has gap / h.
    name
        Name of the problem.

    Returns
    -------
    PinocchioProblem

    Raises
    ------
    ImportError
        Pinocchio is not installed (extra ``pinocchio``).
    TypeError
        `model`, `data` or one of `constraints` is something else.
    ValueError
        Arrays of a wrong shape, entries that are not finite, a `time_step` that is not positive,
        coefficients for constraints that have no friction, an unknown option.

    Notes
    -----
    Velocities of a constraint are those that Pinocchio's Jacobian gives: of joint 2 minus joint 1,
    for `RigidConstraintModel` of joint 1 minus joint 2. A compliance that a constraint has is the
    problem's Σ as it is. Data after `computeAllTerms` is never older than q and v.

    Examples
    --------
    >>> import pinocchio as pin, contactsolve as cs  # doctest: +SKIP
    >>> model = pin.buildSampleModelHumanoid()
    >>> foot = model.getJointId("rleg_wrist2_joint")
    >>> contact = pin.PointContactConstraintModel(model, 0, ground, foot, sole)
    >>> contact.setFriction(0.5)
    >>> problem = cs.io.from_pinocchio(
    ...     model, model.createData(), [contact], q, v, tau, time_step=1e-3
    ... )
    >>> problem.velocity(cs.solve(problem))  # v at the end of the step
    """
    pin = optional("pinocchio", "from_pinocchio needs")
    _check_types(pin, model, data)
    q, v = _vector("q", q, model.nq), _vector("v", v, model.nv)
    tau = (
        np.broadcast_to(finite_array("tau", tau), (model.nv,))
        if np.ndim(tau) == 0
        else _vector("tau", tau, model.nv)
    )
    if not 0 < time_step < np.inf:
        raise ValueError(f"time_step is {time_step}: a positive number of seconds is needed")
    check_stabilization(stabilization)
    constraints = [_extracted(pin, i, one) for i, one in enumerate(constraints)]
    friction = _coefficients(pin, mu, constraints)

    # Mass matrix, non-linear effects and Jacobians of this state.
    pin.computeAllTerms(model, data, q, v)
    data.q_in = q
    M = np.triu(data.M)
    full = M + np.triu(M, 1).T
    free = v + time_step * np.linalg.solve(full, tau - data.nle)

    # Constraints one by one, then kind by kind.
    parts, jacobians, compliances = [], [], []
    for constraint, coefficient in zip(constraints, friction, strict=True):
        own = constraint.createData()
        constraint.calc(model, data, own)
        jacobians.append(constraint.jacobian(model, data, own))
        parts.append(_rows(pin, constraint, own, coefficient, time_step))
        compliances.append(constraint.retrieveCompliance())
    J = np.concatenate([np.zeros((0, model.nv)), *jacobians])
    sigma = np.concatenate([np.zeros(0), *compliances])
    b = J @ free + _corrections(parts, jacobians, stabilization, time_step)
    problem, _ = assembled(
        PinocchioProblem,
        _blocks(parts, jacobians, b, sigma),
        Entries.of(J),
        Entries.of(M),
        _trees(model),
        time_step=float(time_step),
        free_velocity=free,
        name=name,
        rows=len(J),
    )
    return problem


# ---- constraints ---------------------------------------------------------------------------------


def _rows(pin: Any, constraint: Any, own: Any, mu: float | None, h: float) -> _Rows:
    """Return the rows of one constraint as blocks."""
    count = constraint.residualSize()
    all_rows = np.arange(count)
    if isinstance(constraint, pin.JointLimitConstraintModel):
        return _Rows("limit", all_rows[:, None], error=own.constraint_residual)
    if isinstance(constraint, pin.JointFrictionConstraintModel):
        low, high = constraint.getFrictionLowerLimit(), constraint.getFrictionUpperLimit()
        return _Rows("friction", all_rows[:, None], h * np.column_stack((low, high)))
    error = getattr(own, "constraint_position_error", None)
    if mu is None:
        return _Rows("equality", all_rows[None], error=error)
    if error is not None:
        error = np.where(all_rows == 2, error, 0.0)  # tangents have no error
    return _Rows("contact", all_rows[None, _NORMAL_FIRST], np.array([mu]), error)


def _corrections(
    parts: list[_Rows], jacobians: list[np.ndarray], stabilization: float, h: float
) -> np.ndarray:
    """Return what position errors add to b: gaps as a whole, other errors in part."""
    b = [np.zeros(0)]
    for part, J in zip(parts, jacobians, strict=True):
        error = np.zeros(len(J)) if part.error is None else np.asarray(part.error)
        share = np.full(len(J), stabilization)
        if part.kind in ("contact", "limit"):
            share[error > 0] = 1.0
        b.append(share * error / h)
    return np.concatenate(b)


def _set(kind: str, bounds: np.ndarray) -> Set:
    """Return the set of blocks of one kind."""
    if kind == "contact":
        return sets.disc(bounds)
    if kind == "friction":
        return sets.box(bounds[:, :1], bounds[:, 1:])
    return sets.half_line() if kind == "limit" else sets.free()


def _blocks(
    parts: list[_Rows], jacobians: list[np.ndarray], b: np.ndarray, sigma: np.ndarray
) -> list[Blocks]:
    """Join the constraints of one kind and size."""
    start = np.cumsum([0, *map(len, jacobians)])
    alike: dict[tuple[str, int], list[int]] = {}
    for i, part in enumerate(parts):
        alike.setdefault((part.kind, part.rows.shape[1]), []).append(i)
    found = []
    for (kind, _), members in alike.items():
        rows = np.concatenate([start[i] + parts[i].rows for i in members])
        ids = np.repeat(members, [len(parts[i].rows) for i in members])
        bounds = [part.bounds for part in (parts[i] for i in members) if part.bounds is not None]
        feasible = _set(kind, np.concatenate(bounds) if bounds else np.zeros(0))
        compliance = sigma[rows] if sigma[rows].any() else None
        found.append(Blocks(Origin(kind, ids, rows), b[rows], feasible, compliance))
    return found


def _trees(model: Any) -> np.ndarray:
    """Return the kinematic tree of each degree of freedom: the first joint on its way from 0."""
    parent, root = np.asarray(model.parents), np.arange(model.njoints)
    for joint in range(1, model.njoints):
        if parent[joint]:
            root[joint] = root[parent[joint]]
    tree = np.zeros(model.nv, np.int64)
    for joint in range(1, model.njoints):
        tree[model.idx_vs[joint] : model.idx_vs[joint] + model.nvs[joint]] = root[joint]
    return tree


# ---- arguments -----------------------------------------------------------------------------------


def _check_types(pin: Any, model: Any, data: Any) -> None:
    """Raise unless these are a model and its data."""
    if not isinstance(model, pin.Model):
        raise TypeError(f"model is {model!r}: a pinocchio.Model is needed")
    if not isinstance(data, pin.Data):
        raise TypeError(f"data is {data!r}: a pinocchio.Data is needed")
    if data.M.shape != (model.nv, model.nv):
        raise ValueError(
            f"data has {len(data.M)} degrees of freedom, but model has {model.nv}: data is of "
            f"another model"
        )


def _vector(name: str, value: Any, count: int) -> np.ndarray:
    """Return finite numbers ``(count,)``."""
    array = finite_array(name, value)
    if array.shape != (count,):
        raise ValueError(f"{name} has shape {array.shape}: ({count},) is needed")
    return array


def _extracted(pin: Any, i: int, constraint: Any) -> Any:
    """Return a constraint model without its wrapper."""
    if isinstance(constraint, pin.ConstraintModel):
        constraint = constraint.extract()
    known = (
        pin.RigidConstraintModel,
        pin.PointContactConstraintModel,
        pin.PointAnchorConstraintModel,
        pin.FrameAnchorConstraintModel,
        pin.JointFrictionConstraintModel,
        pin.JointLimitConstraintModel,
    )
    if not isinstance(constraint, known):
        names = ", ".join(one.__name__ for one in known)
        raise TypeError(f"constraints[{i}] is {constraint!r}: one of {names} is needed")
    return constraint


def _coefficients(pin: Any, mu: Any, constraints: list[Any]) -> list[float | None]:
    """Return the friction coefficient of each constraint, None without friction."""
    each = list(mu) if np.ndim(mu) else None
    if each is not None and len(each) != len(constraints):
        raise ValueError(f"mu has {len(each)} entries for {len(constraints)} constraints")
    found: list[float | None] = []
    for i, constraint in enumerate(constraints):
        is_rigid = isinstance(constraint, pin.RigidConstraintModel)
        takes_mu = is_rigid and constraint.type == pin.ContactType.CONTACT_3D
        given = None if each is None else each[i]
        if given is not None and not takes_mu:
            kind = type(constraint).__name__ + (" of type CONTACT_6D" if is_rigid else "")
            raise ValueError(f"mu[{i}] is {given}, but constraints[{i}] is a {kind}")
        given = mu if takes_mu and each is None else given
        if isinstance(constraint, pin.PointContactConstraintModel):
            given = constraint.getFriction()
        found.append(None if given is None else float(given))
    return found
