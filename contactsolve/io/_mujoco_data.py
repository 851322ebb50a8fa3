"""What is read from MuJoCo's data: matrices, velocities, and whether they are up to date."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from contactsolve.io._trees import Entries

_ADVICE = "call mujoco.mj_forward(model, data) first"


class Step(NamedTuple):
    """A step of MuJoCo's semi-implicit Euler method, row by row.

    Attributes
    ----------
    h
        Time step [s].
    free_velocity
        ``(nv,)``, u + h a.
    b, compliance
        ``(nefc,)`` [m/s], [m/(N s)]; a problem without compliance has None.
    """

    h: float
    free_velocity: np.ndarray
    b: np.ndarray
    compliance: np.ndarray | None

    @classmethod
    def of(cls, mujoco: Any, model: Any, data: Any, soft: bool, stabilization: float) -> Step:
        """Return the step that begins with this data."""
        h, acceleration = float(model.opt.timestep), free_acceleration(model, data)
        free = data.qvel + h * acceleration
        if soft:
            b = h * (_of_rows(mujoco, model, data, acceleration) - data.efc_aref)
            return cls(h, free, b, data.efc_R.copy())

        # Surfaces that move add to the velocity, and position errors are corrected in part.
        b = _of_rows(mujoco, model, data, free) + _surface_velocity(mujoco, model, data)
        if stabilization:
            b += stabilization / h * (data.efc_pos - data.efc_margin)
        return cls(h, free, b, None)


def free_acceleration(model: Any, data: Any) -> np.ndarray:
    """Return a, the accelerations without constraints, ``(nv,)``: zero of trees that sleep."""
    asleep = np.asarray(getattr(data, "tree_asleep", np.full(model.ntree, -1))) >= 0
    return np.where(asleep[model.dof_treeid], 0.0, data.qacc_smooth)


def _of_rows(mujoco: Any, model: Any, data: Any, velocity: np.ndarray) -> np.ndarray:
    """Return J u for velocities ``(nv,)``, as MuJoCo computes it."""
    rows = np.zeros(data.nefc)
    if data.nefc:
        mujoco.mj_mulJacVec(model, data, rows, np.ascontiguousarray(velocity))
    return rows


def _surface_velocity(mujoco: Any, model: Any, data: Any) -> np.ndarray:
    """Return what moving surfaces add to J u: `efc_vel` contains it."""
    if not _has_surface_velocity(model):
        return np.zeros(data.nefc)
    return data.efc_vel - _of_rows(mujoco, model, data, data.qvel)


def _has_surface_velocity(model: Any) -> bool:
    return bool(getattr(model, "flg_surfacevel", False))


def jacobian_entries(mujoco: Any, model: Any, data: Any) -> Entries:
    """Return the entries of `efc_J` that are not zero."""
    if not mujoco.mj_isSparse(model):
        return Entries.of(np.reshape(data.efc_J, (data.nefc, model.nv)))
    row, at = _stored(data.efc_J_rownnz, data.efc_J_rowadr)
    value, column = data.efc_J[at], data.efc_J_colind[at]
    used = value != 0
    return Entries(row[used], column[used], value[used])


def mass_entries(model: Any, data: Any) -> Entries:
    """Return the entries of the lower triangle of M."""
    row, at = _stored(model.M_rownnz, model.M_rowadr)
    return Entries(row, model.M_colind[at], data.M[at])


def _stored(count: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of each entry of compressed rows, and where it stands."""
    row = np.repeat(np.arange(len(count)), count)
    before = np.repeat(np.cumsum(count) - count - start, count)
    return row, np.arange(len(row)) - before


def check_fresh(mujoco: Any, model: Any, data: Any) -> None:
    """Raise ValueError if data is seen to be older than its positions or velocities."""
    if model.nv and not (data.M[model.M_rowadr + model.M_rownnz - 1] > 0).all():
        raise ValueError(f"data has no mass matrix: {_ADVICE}")

    # The positions of free bodies are copied from qpos.
    free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    given = data.qpos[model.jnt_qposadr[free][:, None] + np.arange(3)]
    moved = (given != data.xpos[model.jnt_bodyid[free]]).any(axis=1)
    if moved.any():
        body = int(model.jnt_bodyid[free][moved][0])
        raise ValueError(f"data.xpos[{body}] is older than data.qpos: {_ADVICE}")

    # Velocities of constraints, as MuJoCo computes them, have the same bits.
    if _has_surface_velocity(model):
        return
    differs = _of_rows(mujoco, model, data, data.qvel) != data.efc_vel
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(f"data.efc_vel[{row}] is older than data.qvel: {_ADVICE}")
