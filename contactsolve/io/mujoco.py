"""Contact problems out of MuJoCo, and impulses back.

MuJoCo's constraints have forces f that minimise ½ fᵀ(A + R) f + fᵀ(J a - a_ref), where a are the
accelerations without constraints, over cones of friction. With impulses λ = h f this is

    ξ = (A + R) λ + h (J a - a_ref),    λ ∈ C,

with the compliance Σ = R: the same matrix, because A takes impulses to velocities as it takes
forces to accelerations. That is ``soft=True``. Rigid constraints have Σ = 0 and, as ξ, their
velocity at the end of the step, J (u + h a + M⁻¹Jᵀλ).

Sources: MuJoCo's documentation, "Computation", sections Constraint model, Dual problem, Parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from contactsolve._optional import optional
from contactsolve.io._mujoco_data import (
    Step,
    check_fresh,
    free_acceleration,
    jacobian_entries,
    mass_entries,
)
from contactsolve.io._mujoco_rows import constraints, edge_forces
from contactsolve.io._simulators import SimulatorProblem, assembled, check_stabilization
from contactsolve.result import Result

__all__ = ["MujocoProblem", "from_mujoco", "to_mujoco"]

_LAWS = ("coulomb", "associated")
_CONES = ("pyramidal", "elliptic")  # as MuJoCo numbers them


class MujocoProblem(SimulatorProblem):
    """A contact problem out of MuJoCo; made by `from_mujoco`.

    `forces` has the order of `efc_force`. Where rows are edges of a pyramid, it has forces with the
    resultant of the contact, of which there are many; some are negative if the contact's impulse is
    not in the pyramid, as other sets allow.

    Attributes
    ----------
    time_step
        MuJoCo's time step h [s].
    free_velocity
        u + h a, velocities at the end of the step without constraints, in the order of `qvel`.
    origins
        For each group its kind (``"equality"``, ``"friction"``, ``"limit"``, ``"contact"``), the
        `efc_id` of each block, and its rows of `efc_J`.
    """

    __slots__ = ("_edges",)

    _edges: tuple[np.ndarray | None, ...]  # coefficients of friction, of groups made of edges

    def _in_rows(self, group: int, impulses: np.ndarray) -> np.ndarray:
        friction = self._edges[group]
        return impulses if friction is None else edge_forces(impulses, friction)


def from_mujoco(
    model: Any,
    data: Any,
    *,
    soft: bool = True,
    law: str = "coulomb",
    cone: str | None = None,
    stabilization: float = 0.0,
    name: str = "",
) -> MujocoProblem:
    r"""Return the constraints of a MuJoCo state as a problem.

    The bodies are the kinematic trees. Constraints of one kind with the same rows, set and degrees
    of freedom are a group; there are none without constraints.

    ==================== ============================== ============================================
    MuJoCo's rows        blocks                         set
    ==================== ============================== ============================================
    equality: connect    3 rows                         `sets.free`
    equality: weld       6 rows                         `sets.free`
    equality: joint,     1 row                          `sets.free`
    tendon, flex
    friction of joints   1 row                          `sets.box`, ± h frictionloss
    and of tendons
    limits of joints     1 row                          `sets.half_line`
    and of tendons
    contact, condim 1    n                              `sets.half_line`
    contact, condim 3    n, t1, t2                      elliptic: `sets.disc`, or `sets.ellipse` for
                                                        two coefficients; pyramidal: `sets.polygon`
    contact, condim 4    n, t1, t2, spin                elliptic: `sets.contensou_coupled`, or
                                                        `sets.support` of an ellipsoid; pyramidal:
                                                        `sets.support` of an octahedron
    contact, condim 6    n, t1, t2, roll 1, roll 2      `sets.rolling`
    ==================== ============================== ============================================

    The sets of condim 1, 3 and 4 are MuJoCo's for a given normal force. That of condim 6 is not:
    there is no spin row, sliding and rolling friction are bounded separately by discs (MuJoCo has
    one ellipsoid, or one cross-polytope, for all five), and two different coefficients of sliding,
    or of rolling, are replaced by the smaller one.

    Parameters
    ----------
    model, data
        `mujoco.MjModel` and `mujoco.MjData` after `mj_forward`. Nothing is written to them.
    soft
        True: MuJoCo's compliance Σ = `efc_R`, and b = h (J a - `efc_aref`). False: rigid
        constraints, b = J (u + h a).
    law
        ``"coulomb"``: friction opposes sliding, and a sliding contact does not separate.
        ``"associated"``: MuJoCo's convex law, whose solution with `soft` is MuJoCo's own. Contacts
        are `sets.second_order_cone` (elliptic, condim 3 with one coefficient), or one block of one
        row for each edge of their pyramid.
    cone
        ``"elliptic"`` or ``"pyramidal"``: the sets of contacts for ``law="coulomb"``, whichever
        rows MuJoCo has; None: as the model has them.
    stabilization
        The part of position errors that one step corrects, from 0 to 1, of rigid constraints.
    name
        Name of the problem.

    Returns
    -------
    MujocoProblem

    Raises
    ------
    ImportError
        MuJoCo is not installed (extra ``mujoco``).
    TypeError
        `model` or `data` is something else.
    ValueError
        `data` is not of this model, or older than its `qpos` or `qvel`; a row of a type that is not
        known; a contact that the associated law does not take; an option that is unknown or has no
        effect.

    Notes
    -----
    b is that of MuJoCo's semi-implicit Euler step. With other integrators, and with joint damping
    under ``eulerdamp``, `mj_step` changes velocities with a modified mass matrix after the forces
    are known; `to_mujoco` leaves that to MuJoCo. That data is out of date is noticed by `efc_vel`,
    by the positions of free bodies and by an empty mass matrix, so not if only joint angles change.

    Edges of a pyramid are combined into n, t1, t2, ...: n is the mean of all, t the difference of
    two over 2 μ. With R of an edge and T tangents, their compliance is R / (2 T) and R / (2 μ²):
    the same convex problem as long as every `|t|` is at most μ n / T. Moving surfaces
    (`surfacevel`) are part of b; a contact's `adhesion` is a passive force in MuJoCo, and thus part
    of a. Trees that sleep stay at rest. MuJoCo has no rows for equalities of the type distance.

    Examples
    --------
    A step with rigid contacts, made by MuJoCo's integrator::

        mujoco.mj_forward(model, data)
        problem = cs.io.from_mujoco(model, data, soft=False)
        result = cs.solve(problem)
        cs.io.to_mujoco(model, data, result)
        mujoco.mj_Euler(model, data)

    ``problem.velocity(result)`` is `qvel` at the end of that step, without writing anything.
    """
    mujoco = optional("mujoco", "from_mujoco needs")
    _check_types(mujoco, model, data)
    _check_choice("law", law, _LAWS)
    _check_choice("cone", cone, (*_CONES, None))
    check_stabilization(stabilization)
    if cone is not None and law == "associated":
        raise ValueError(f"cone is {cone!r}, but law='associated' has the model's own rows")
    if stabilization and soft:
        raise ValueError(f"stabilization is {stabilization}, but soft=True has MuJoCo's own")
    check_fresh(mujoco, model, data)

    # All constraints, row by row, then in the coordinates of the trees.
    step = Step.of(mujoco, model, data, soft, stabilization)
    elliptic = _CONES[model.opt.cone] == "elliptic" if cone is None else cone == "elliptic"
    found = constraints(model, data, step, law, elliptic)
    problem, sources = assembled(
        MujocoProblem,
        [blocks for blocks, _ in found],
        jacobian_entries(mujoco, model, data),
        mass_entries(model, data),
        np.asarray(model.dof_treeid, dtype=np.int64),
        time_step=step.h,
        free_velocity=step.free_velocity,
        name=name,
        rows=int(data.nefc),
    )

    # What the way back needs: coefficients of edges, split as the groups are.
    problem._edges = tuple(_edges_of(found, sources, problem))
    return problem


def _edges_of(found: list, sources: list[int], problem: MujocoProblem) -> list[np.ndarray | None]:
    """Return the coefficients of friction of each group that is made of edges, else None."""
    edges = []
    for number, origin in zip(sources, problem.origins, strict=True):
        blocks, friction = found[number]
        if friction is not None:
            friction = friction[np.searchsorted(blocks.origin.rows[:, 0], origin.rows[:, 0])]
        edges.append(friction)
    return edges


def to_mujoco(model: Any, data: Any, result: Result) -> None:
    """Write the impulses of a result to MuJoCo's data, for the integrator.

    `efc_force` and `qfrc_constraint` become those of the impulses, and `qacc` the acceleration that
    follows. ``mujoco.mj_Euler(model, data)`` or ``mj_implicit`` then makes the step. Positions and
    velocities are not changed.

    Parameters
    ----------
    model, data
        Those from which the problem was made, in the same state.
    result
        A result of a problem from `from_mujoco`.

    Raises
    ------
    ImportError
        MuJoCo is not installed (extra ``mujoco``).
    TypeError
        `model` or `data` is something else, or the problem is not from `from_mujoco`.
    ValueError
        `data` has other constraints or degrees of freedom.
    """
    mujoco = optional("mujoco", "to_mujoco needs")
    _check_types(mujoco, model, data)
    problem = result.problem
    if not isinstance(problem, MujocoProblem):
        raise TypeError(f"result is of {problem!r}: a problem of from_mujoco is needed")
    if (data.nefc, model.nv) != (problem._rows, len(problem.free_velocity)):
        raise ValueError(
            f"data has {data.nefc} rows of constraints and {model.nv} degrees of freedom, but the "
            f"problem was made from {problem._rows} and {len(problem.free_velocity)}"
        )
    data.efc_force[:] = problem.forces(result)
    mujoco.mj_mulJacTVec(model, data, data.qfrc_constraint, data.efc_force)
    change = problem.velocity(result) - problem.free_velocity
    data.qacc[:] = free_acceleration(model, data) + change / problem.time_step


def _check_types(mujoco: Any, model: Any, data: Any) -> None:
    """Raise unless these are a model and its data."""
    if not isinstance(model, mujoco.MjModel):
        raise TypeError(f"model is {model!r}: a mujoco.MjModel is needed")
    if not isinstance(data, mujoco.MjData):
        raise TypeError(f"data is {data!r}: a mujoco.MjData is needed")
    if (len(data.qpos), len(data.qvel)) != (model.nq, model.nv):
        raise ValueError(
            f"data has {len(data.qpos)} positions and {len(data.qvel)} velocities, but model has "
            f"{model.nq} and {model.nv}: data is of another model"
        )


def _check_choice(name: str, value: Any, known: tuple) -> None:
    if value not in known:
        raise ValueError(f"{name} is {value!r}; known: {', '.join(map(repr, known))}")
