"""S1's ball grid: equal spheres on a cubic lattice, each touching its neighbours."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactsolve.geometry import contact_jacobian
from contactsolve.problem import Problem
from contactsolve.scenarios._scene import (
    SceneArrays,
    gravity_bias,
    require_choice,
    require_positive,
    scenario,
)

_X, _Y, _Z = 0, 1, 2
_GROUND = -1


@scenario
def ball_grid(
    shape: int | Sequence[int],
    *,
    ground: str = "fixed",
    contact_order: str = "forward",
    mass: float = 20.0,
    radius: float = 1.0,
    mu: ArrayLike = 0.5,
    gravity: float = 9.81,
    time_step: float = 0.01,
    rows: int = 3,
) -> Problem:
    """A lattice of touching solid spheres at rest on the ground (S1 section 3.8.1).

    Balls are numbered with x fastest and z slowest. Side contacts carry nothing at the solution,
    so the grid is a set of equal columns, each as hard as its height.

    Parameters
    ----------
    shape : int or three ints
        Balls along x, y and z; one number n stands for n^3.
    ground : {"fixed", "body"}
        ``"fixed"``: the ground is the fixed world, index -1. ``"body"``: the ground is body 0,
        with zero inverse mass, and counts as a body in conflicts and couplings, as in S1.
    contact_order : {"forward", "backward"}
        The order of the contacts, ball by ball. ``"forward"``: ground, +x, +y, +z, the order
        behind S1's colour counts. ``"backward"``: below, -x, -y, the order behind S1 Table 3.3.
    mass : float, default 20.0
        Of one ball [kg].
    radius : float, default 1.0
        Of one ball [m]; the moment of inertia is 2/5 mass radius^2.
    mu : float or array_like, shape (K,), default 0.5
        Friction coefficients; unused with one row.
    gravity : float, default 9.81
        Along -z [m/s^2].
    time_step : float, default 0.01
        Length of the step whose impulses are sought [s].
    rows : {3, 1}
        3: normal and two tangents with friction discs. 1: the normal alone, without friction.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        A shape, option or quantity out of its range.

    Notes
    -----
    An n^3 grid has n^3 balls and n^2 (3 n - 2) contacts: 8^3 has 1,408, 24^3 40,320 and 40^3
    188,800 (S1 Table 3.2, which counts the ground among the bodies).
    """
    size = _grid_shape(shape)
    arrays = ball_grid_arrays(
        size,
        ground=ground,
        contact_order=contact_order,
        mass=mass,
        radius=radius,
        gravity=gravity,
        time_step=time_step,
        rows=rows,
    )
    name = f"ball_grid {size[_X]}x{size[_Y]}x{size[_Z]}"
    friction = mu if rows > 1 else None
    return Problem(arrays.J, arrays.Minv, arrays.b, friction, bodies=arrays.bodies, name=name)


def ball_grid_arrays(
    shape: tuple[int, int, int],
    *,
    ground: str,
    contact_order: str,
    mass: float,
    radius: float,
    gravity: float,
    time_step: float,
    rows: int,
) -> SceneArrays:
    """The arrays behind `ball_grid`, whose parameters these are."""
    require_choice("ground", ground, ("fixed", "body"))
    require_choice("contact_order", contact_order, ("forward", "backward"))
    require_choice("rows", rows, (3, 1))
    require_positive(mass=mass, radius=radius, time_step=time_step)

    centres = _centres(shape, radius)
    pairs, axis = _forward(shape) if contact_order == "forward" else _backward(shape)
    normals = np.eye(3)[axis]
    points = centres[pairs[:, 1]] - radius * normals

    inertia = 0.4 * mass * radius**2
    Minv = np.tile([1.0 / mass] * 3 + [1.0 / inertia] * 3, (len(centres), 1))
    if ground == "body":
        pairs = pairs + 1
        centres = np.concatenate((np.zeros((1, 3)), centres))
        Minv = np.concatenate((np.zeros((1, 6)), Minv))

    J = contact_jacobian(points, normals, pairs, centres)[:, :, :rows]
    b = gravity_bias(J, Minv, pairs, gravity, time_step)
    return SceneArrays(J, Minv, b, pairs)


def _grid_shape(shape: int | Sequence[int]) -> tuple[int, int, int]:
    given: Any = shape
    sizes = tuple(given) if np.iterable(given) else (given,) * 3
    if len(sizes) != 3 or min(operator.index(size) for size in sizes) < 1:
        raise ValueError(f"shape is {shape!r}: expected one or three integers above zero")
    return operator.index(sizes[_X]), operator.index(sizes[_Y]), operator.index(sizes[_Z])


def _lattice(shape: tuple[int, int, int]) -> tuple[NDArray[np.int64], ...]:
    """Ball numbers and lattice coordinates x, y, z, with x fastest."""
    ball = np.arange(shape[_X] * shape[_Y] * shape[_Z])
    layer, x = np.divmod(ball, shape[_X])
    z, y = np.divmod(layer, shape[_Y])
    return ball, x, y, z


def _centres(shape: tuple[int, int, int], radius: float) -> NDArray[np.float64]:
    _, x, y, z = _lattice(shape)
    return radius * np.stack((2.0 * x, 2.0 * y, 2.0 * z + 1.0), axis=1)


def _forward(shape: tuple[int, int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs and normal axes, ball by ball: the ground below it, then +x, +y, +z."""
    ball, x, y, z = _lattice(shape)
    row, layer = shape[_X], shape[_X] * shape[_Y]
    ground = np.full_like(ball, _GROUND)
    first = np.stack((ground, ball, ball, ball), axis=1)
    second = np.stack((ball, ball + 1, ball + row, ball + layer), axis=1)
    present = np.stack(
        (z == 0, x < shape[_X] - 1, y < shape[_Y] - 1, z < shape[_Z] - 1),
        axis=1,
    )
    return _kept(first, second, np.array([_Z, _X, _Y, _Z]), present)


def _backward(shape: tuple[int, int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs and normal axes, ball by ball: what is below it, then -x, -y."""
    ball, x, y, z = _lattice(shape)
    row, layer = shape[_X], shape[_X] * shape[_Y]
    below = np.where(z == 0, _GROUND, ball - layer)
    first = np.stack((below, ball - 1, ball - row), axis=1)
    second = np.stack((ball, ball, ball), axis=1)
    present = np.stack((np.ones_like(x, dtype=bool), x > 0, y > 0), axis=1)
    return _kept(first, second, np.array([_Z, _X, _Y]), present)


def _kept(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    axis: NDArray[np.int64],
    present: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The slots that hold a contact, ball after ball."""
    pairs = np.stack((first[present], second[present]), axis=1)
    return pairs, np.broadcast_to(axis, present.shape)[present]
