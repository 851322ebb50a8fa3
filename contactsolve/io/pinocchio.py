"""Contact problems out of Pinocchio, and velocities back.

For constraints with the Jacobian J, velocities v before the step and joint torques τ, the
velocities of the constraints at the end of a step h of semi-implicit Euler are

    ξ = J M⁻¹ Jᵀ λ + J (v + h M⁻¹ (τ - nle)),

with the impulses λ and Pinocchio's non-linear effects nle (gravity, Coriolis).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from contactsolve._arrays import finite_array
from contactsolve._optional import optional
from contactsolve.io._pinocchio_rows import Rows, coefficients, extracted, trees
from contactsolve.io._simulators import SimulatorProblem, assembled, check_stabilization
from contactsolve.io._trees import Entries

__all__ = ["PinocchioProblem", "from_pinocchio"]


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
    problem's Σ as it is; its desired velocities and Baumgarte parameters are not read. Data after
    `computeAllTerms` is never older than q and v.

    Examples
    --------
    A foot on the ground::

        contact = pin.PointContactConstraintModel(model, 0, ground, foot, sole)
        contact.setFriction(0.5)
        problem = cs.io.from_pinocchio(model, data, [contact], q, v, tau, time_step=h)
        v_next = problem.velocity(cs.solve(problem))
        q_next = pin.integrate(model, q, h * v_next)
    """
    pin = optional("pinocchio", "from_pinocchio needs")
    _check_types(pin, model, data)
    q, v = _vector("q", q, model.nq), _vector("v", v, model.nv)
    tau = _vector("tau", np.full(model.nv, tau) if np.ndim(tau) == 0 else tau, model.nv)
    if not 0 < time_step < np.inf:
        raise ValueError(f"time_step is {time_step}: a positive number of seconds is needed")
    check_stabilization(stabilization)
    constraints = [extracted(pin, i, one) for i, one in enumerate(constraints)]
    friction = coefficients(pin, mu, constraints)

    # Mass matrix, non-linear effects and Jacobians of this state.
    pin.computeAllTerms(model, data, q, v)
    data.q_in = q
    M = np.triu(data.M)
    full = M + np.triu(M, 1).T
    free = v + time_step * np.linalg.solve(full, tau - data.nle)

    # Constraints one by one, then kind by kind.
    rows = Rows.of(model, data, constraints, friction)
    J = rows.jacobian
    b = J @ free + rows.corrections(stabilization) / time_step
    problem, _ = assembled(
        PinocchioProblem,
        rows.blocks(b, time_step),
        Entries.of(J),
        Entries.of(M),
        trees(model),
        time_step=float(time_step),
        free_velocity=free,
        name=name,
        rows=len(J),
    )
    return problem


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
