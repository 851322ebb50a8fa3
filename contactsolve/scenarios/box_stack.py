"""A stack of equal boxes on the ground, four contacts at each interface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from contactsolve.geometry import contact_jacobian
from contactsolve.problem import Problem
from contactsolve.scenarios._scene import (
    SceneArrays,
    gravity_bias,
    integer,
    require_positive,
    scenario,
)

# Once around the face, so that neighbours in the list are neighbours on the box.
_CORNERS = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


@scenario
def box_stack(
    count: int = 10,
    *,
    mass: float = 1.0,
    top_mass: float | None = None,
    size: Sequence[float] = (1.0, 1.0, 1.0),
    mu: ArrayLike = 0.5,
    gravity: float = 9.81,
    time_step: float = 0.01,
) -> Problem:
    """Boxes at rest on each other and on the fixed ground, touching at their corners.

    Boxes and contacts are numbered from the ground up. Four contacts under a rigid box are one
    more than its weight needs, so the impulses are not unique, but the body velocities are.

    Parameters
    ----------
    count : int, default 10
        Number of boxes.
    mass : float, default 1.0
        Mass of one box [kg].
    top_mass : float, optional
        Mass of the uppermost box [kg]; default: `mass`. Fixed-point solvers converge slowest if a
        heavy box lies on light ones.
    size : three floats, default (1.0, 1.0, 1.0)
        Edge lengths of one box along x, y and z [m].
    mu : float or array_like, shape (4 count,), default 0.5
        Friction coefficients.
    gravity : float, default 9.81
        Gravitational acceleration along -z [m/s^2].
    time_step : float, default 0.01
        Length of the time step [s].

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        A count or quantity out of its range.

    Notes
    -----
    With one box this is the resting box of S1 figure 3.1: the Jacobi scheme loads the four
    corners alike, the Gauss-Seidel scheme does not.
    """
    arrays = box_stack_arrays(
        count,
        mass=mass,
        top_mass=mass if top_mass is None else top_mass,
        size=size,
        gravity=gravity,
        time_step=time_step,
    )
    return arrays.problem(f"box_stack {count}", mu)


def box_stack_arrays(
    count: int,
    *,
    mass: float,
    top_mass: float,
    size: Sequence[float],
    gravity: float,
    time_step: float,
) -> SceneArrays:
    """Return the arrays of `box_stack`, for its parameters."""
    if integer("count", count) < 1:
        raise ValueError(f"count is {count}: expected an integer above zero")
    require_positive(mass=mass, top_mass=top_mass, time_step=time_step)
    edges = np.asarray(size, dtype=np.float64)
    if edges.shape != (3,):
        raise ValueError(f"size is {size!r}: expected three edge lengths")
    for axis, edge in enumerate(edges):
        require_positive(**{f"size[{axis}]": edge})

    # Each box rests with four corners on the one below, or on the ground.
    box = np.arange(count)
    centres = np.zeros((count, 3))
    centres[:, 2] = (box + 0.5) * edges[2]
    upper = np.repeat(box, len(_CORNERS))
    pairs = np.stack((upper - 1, upper), axis=1)  # the box below; -1, the ground, under box 0
    points = np.concatenate(
        (np.tile(_CORNERS * edges[:2], (count, 1)), upper[:, None] * edges[2]), axis=1
    )
    normals = np.tile([0.0, 0.0, 1.0], (len(pairs), 1))

    # All boxes but the uppermost one have the same mass.
    masses = np.full(count, float(mass))
    masses[-1] = top_mass
    squares = edges**2
    unit_inertia = (squares.sum() - squares) / 12.0  # of a solid box of 1 kg
    Minv = np.concatenate(
        (np.repeat(1.0 / masses[:, None], 3, axis=1), 1.0 / (masses[:, None] * unit_inertia)),
        axis=1,
    )
    J = contact_jacobian(points, normals, pairs, centres)
    b = gravity_bias(J, Minv, pairs, gravity, time_step)
    return SceneArrays(J, Minv, b, pairs)
