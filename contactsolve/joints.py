"""Joint Jacobians of rigid bodies: ball, hinge, slider, fixed, distance, and single rows.

A joint is a block of rows between two bodies, like a contact. Its set is `sets.free`, which holds
the rows at rest, or for motors, limits and clutches `sets.box`, which does so within bounds:

>>> import contactsolve as cs
>>> J = cs.joints.hinge([[0, 0, 1]], [[0, 1, 0]], [[-1, 0]], [[0.5, 0, 1]])
>>> motor = cs.joints.angular([[[0, 1, 0]]], [[-1, 0]])
>>> groups = [
...     cs.Group(J, [[-1, 0]], [[0.0] * 5], sets=cs.sets.free()),
...     cs.Group(motor, [[-1, 0]], [[-2.0]], lo=-0.3, hi=0.3),  # 2 rad/s, 0.3 N m s at most
... ]
>>> wheel = cs.Problem(groups=groups, bodies=[cs.Bodies([[1, 1, 1, 5, 5, 5.0]], diagonal=True)])
>>> float(cs.solve(wheel, method="bpp").impulses[1][0, 0])
0.3

Blocks have the shape ``(K, 2, m, 6)`` of `contact_jacobian`, and rows give the velocity of the
second body minus that of the first: linear rows at a point, of `linear` [m/s], before angular
rows, of `angular` [rad/s] (S3 section 1.2; Bender, Erleben and Trinkle 2014). -1 is the fixed
world. The rows are those of the current configuration. To correct drift, add the position error
over the time step to b (S3 eq. 1.14).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import as_array
from .geometry import _body_pairs, _real, _require_shape, _require_unit, _vectors, tangent_basis

__all__ = ["angular", "ball", "distance", "fixed", "gear", "hinge", "linear", "slider"]


def linear(
    points: ArrayLike, directions: ArrayLike, bodies: ArrayLike, positions: ArrayLike
) -> NDArray[np.float64]:
    """Return rows of the relative velocities at points, along directions.

    Parameters
    ----------
    points : array_like, shape (K, 3)
        Points of the joints in the world frame [m].
    directions : array_like, shape (K, m, 3)
        Unit vectors, one for each row.
    bodies : array_like of int, shape (K, 2)
        The pair of each joint; -1 is the fixed world.
    positions : array_like, shape (n, 3)
        Centres of mass of the bodies in the world frame [m].

    Returns
    -------
    ndarray, shape (K, 2, m, 6)

    Raises
    ------
    ValueError
        A wrong shape, a value that is not finite, a direction that is not a unit vector, or a body
        index out of range.
    TypeError
        Body indices that are not integers, or entries that are not real numbers.

    Notes
    -----
    With the lever arm r from the centre of mass to the point, the row of a direction e is
    ``[-e, -(r_i x e)]`` for the first body and ``[e, r_j x e]`` for the second (S1 eq. 2.55). A row
    along the teeth of two wheels at their pitch point is a gear between them.
    """
    points, positions = _vectors("points", points), _vectors("positions", positions)
    return _point_rows(points, points, directions, bodies, positions)


def angular(directions: ArrayLike, bodies: ArrayLike) -> NDArray[np.float64]:
    """Return rows of the relative angular velocities about directions.

    Parameters
    ----------
    directions : array_like, shape (K, m, 3)
        Unit vectors, one for each row.
    bodies : array_like of int, shape (K, 2)
        The pair of each joint; -1 is the fixed world.

    Returns
    -------
    ndarray, shape (K, 2, m, 6)
        ``[0, -a]`` and ``[0, a]`` for each direction a.

    Raises
    ------
    ValueError, TypeError
        As for `linear`.
    """
    axes = _directions("directions", directions, None)
    return _angular_rows(axes, axes, _pairs(bodies, len(axes)))


def gear(
    first_axes: ArrayLike, second_axes: ArrayLike, bodies: ArrayLike, ratio: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """Return rows that couple the speeds of two shafts, each about an axis of its own.

    Parameters
    ----------
    first_axes, second_axes : array_like, shape (K, 3)
        Unit vectors along the shafts.
    bodies : array_like of int, shape (K, 2)
        The pair of each joint; -1 is the fixed world.
    ratio : float or array_like, shape (K,)
        The row is ``second_axis . w_j - ratio first_axis . w_i`` [rad/s].

    Returns
    -------
    ndarray, shape (K, 2, 1, 6)

    Raises
    ------
    ValueError, TypeError
        As for `linear`.
    """
    first, second = _vectors("first_axes", first_axes), _vectors("second_axes", second_axes)
    _require_shape("second_axes", second, first.shape)
    _require_unit("first_axes", first)
    _require_unit("second_axes", second)
    pairs = _pairs(bodies, len(first))
    scale = np.broadcast_to(_real("ratio", ratio), (len(first),))
    return _angular_rows(scale[:, None, None] * first[:, None], second[:, None], pairs)


def ball(points: ArrayLike, bodies: ArrayLike, positions: ArrayLike) -> NDArray[np.float64]:
    """Return spherical joints: three rows that hold two bodies together at a point.

    Parameters
    ----------
    points, bodies, positions
        As for `linear`.

    Returns
    -------
    ndarray, shape (K, 2, 3, 6)
        Rows along x, y and z.
    """
    points = _vectors("points", points)
    return linear(points, np.tile(np.eye(3), (len(points), 1, 1)), bodies, positions)


def hinge(
    points: ArrayLike, axes: ArrayLike, bodies: ArrayLike, positions: ArrayLike
) -> NDArray[np.float64]:
    """Return hinges: five rows that leave only the rotation about an axis free.

    Parameters
    ----------
    points, bodies, positions
        As for `linear`.
    axes : array_like, shape (K, 3)
        Unit vectors.

    Returns
    -------
    ndarray, shape (K, 2, 5, 6)
        The three rows of `ball`, then two angular ones across the axis.
    """
    across = _across("axes", axes)
    held = ball(points, bodies, positions)
    return np.concatenate((held, angular(across, bodies)), axis=2)


def slider(
    points: ArrayLike, axes: ArrayLike, bodies: ArrayLike, positions: ArrayLike
) -> NDArray[np.float64]:
    """Return sliders: five rows that leave only the translation along an axis free.

    Parameters
    ----------
    points, bodies, positions
        As for `linear`.
    axes : array_like, shape (K, 3)
        Unit vectors.

    Returns
    -------
    ndarray, shape (K, 2, 5, 6)
        Two linear rows across the axis at the point, then three angular ones.
    """
    across = _across("axes", axes)
    turns = angular(np.tile(np.eye(3), (len(across), 1, 1)), bodies)
    return np.concatenate((linear(points, across, bodies, positions), turns), axis=2)


def fixed(points: ArrayLike, bodies: ArrayLike, positions: ArrayLike) -> NDArray[np.float64]:
    """Return fixed joints: six rows that leave nothing free; compliant ones form a cable.

    Parameters
    ----------
    points, bodies, positions
        As for `linear`.

    Returns
    -------
    ndarray, shape (K, 2, 6, 6)
        The three rows of `ball`, then three angular ones.
    """
    held = ball(points, bodies, positions)
    return np.concatenate((held, angular(np.tile(np.eye(3), (len(held), 1, 1)), bodies)), axis=2)


def distance(
    first_points: ArrayLike, second_points: ArrayLike, bodies: ArrayLike, positions: ArrayLike
) -> NDArray[np.float64]:
    """Return massless rods: one row, the rate of the distance between a point on each body.

    Parameters
    ----------
    first_points, second_points : array_like, shape (K, 3)
        Points on the first and on the second body, in the world frame, at a distance above 0 [m].
    bodies, positions
        As for `linear`.

    Returns
    -------
    ndarray, shape (K, 2, 1, 6)
    """
    first, second = _vectors("first_points", first_points), _vectors("second_points", second_points)
    _require_shape("second_points", second, first.shape)
    length = np.linalg.norm(second - first, axis=1)
    if (length == 0).any():
        joint = int(np.argmax(length == 0))
        raise ValueError(f"second_points[{joint}] is first_points[{joint}]: they must be apart")
    along = ((second - first) / length[:, None])[:, None]
    return _point_rows(first, second, along, bodies, _vectors("positions", positions))


# ---- rows ---------------------------------------------------------------------------------------


def _point_rows(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    directions: ArrayLike,
    bodies: ArrayLike,
    positions: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return rows of the velocity at `second` on the second body minus that at `first`."""
    axes = _directions("directions", directions, len(first))
    pairs = _body_pairs(bodies, len(first), len(positions))

    # Body -1 selects the additional last row. The row of a direction e is [e, r x e].
    padded = np.concatenate((positions, np.zeros((1, 3))))
    J = np.zeros((len(first), 2, axes.shape[1], 6))
    for side, sign, points in ((0, -1.0, first), (1, 1.0, second)):
        arms = points - padded[pairs[:, side]]
        J[:, side, :, :3] = sign * axes
        J[:, side, :, 3:] = sign * np.cross(arms[:, None, :], axes)
    return _without_world(J, pairs)


def _angular_rows(
    first: NDArray[np.float64], second: NDArray[np.float64], pairs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return rows of the second angular velocity minus the first, about axes ``(K, m, 3)``."""
    J = np.zeros((len(first), 2, first.shape[1], 6))
    J[:, 0, :, 3:] = -first
    J[:, 1, :, 3:] = second
    return _without_world(J, pairs)


def _without_world(J: NDArray[np.float64], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Set the blocks of the fixed world to zero, in place."""
    J[pairs < 0] = 0.0
    J += 0.0  # turns -0.0 into 0.0
    return J


# ---- arguments ----------------------------------------------------------------------------------


def _directions(name: str, value: ArrayLike, count: int | None) -> NDArray[np.float64]:
    """Return unit vectors ``(K, m, 3)``, checked; `count` is K, None for any."""
    axes = _real(name, value)
    fits = axes.ndim == 3 and axes.shape[2] == 3 and (count is None or len(axes) == count)
    if not fits:
        wanted = "K" if count is None else count
        raise ValueError(f"{name} has shape {axes.shape}: expected ({wanted}, m, 3)")
    _require_unit(name, axes)
    return axes


def _across(name: str, axes: ArrayLike) -> NDArray[np.float64]:
    """Return two directions perpendicular to each axis, ``(K, 2, 3)``."""
    along = _vectors(name, axes)
    _require_unit(name, along)
    return np.stack(tangent_basis(along), axis=1)


def _pairs(bodies: ArrayLike, count: int) -> NDArray[np.int64]:
    """Return body pairs, checked; the number of bodies is not known here."""
    given = as_array("bodies", bodies)
    return _body_pairs(given, count, int(given.max(initial=-1)) + 1 if given.dtype != object else 0)


def __dir__() -> list[str]:
    return sorted(__all__)
