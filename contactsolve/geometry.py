"""Contact Jacobians of rigid bodies, from points, normals and body positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import as_array

__all__ = ["contact_jacobian", "tangent_basis"]

# Wide enough for directions normalised in single precision, far too narrow for a forgotten
# normalisation.
_UNIT_TOLERANCE = 1e-6

# Below this height of the normal the basis is built from the opposite pole. The circle lies away
# from the coordinate directions and from the slopes scenes are usually made of.
_SEAM_HEIGHT = -0.55


def contact_jacobian(
    points: ArrayLike,
    normals: ArrayLike,
    bodies: ArrayLike,
    positions: ArrayLike,
    *,
    tangents: ArrayLike | None = None,
    spin: bool = False,
) -> NDArray[np.float64]:
    r"""Return the Jacobian blocks that map body velocities to contact velocities.

    The contact velocity is the velocity of body ``j`` at the contact point minus that of body
    ``i``, in the contact frame; the normal points from ``i`` to ``j``. Body velocities are six
    numbers in the world frame, linear [m/s] before angular [rad/s].

    Parameters
    ----------
    points : array_like, shape (K, 3)
        Contact points in the world frame [m].
    normals : array_like, shape (K, 3)
        Unit normals, from the first body of the pair to the second.
    bodies : array_like of int, shape (K, 2)
        The pair ``(i, j)`` of each contact; -1 is the fixed world.
    positions : array_like, shape (n, 3)
        Centres of mass of the bodies in the world frame [m].
    tangents : array_like, shape (K, 3) or (K, 2, 3), optional
        Unit vectors orthogonal to the normal: the first tangent, whose companion is then
        ``normal x tangent``, or both. Default: `tangent_basis`.
    spin : bool, default False
        Add a fourth row, the relative spin about the normal [rad/s].

    Returns
    -------
    ndarray, shape (K, 2, m, 6)
        ``[k, 0]`` multiplies the velocity of body ``i``, ``[k, 1]`` that of body ``j``. Rows:
        normal, tangent 1, tangent 2 and, with `spin`, spin; m is 3 or 4. The block of the fixed
        world is zero.

    Raises
    ------
    ValueError
        A wrong shape, a value that is not finite, a direction that is not a unit vector, a
        tangent that is not orthogonal to its normal, or a body index out of range.
    TypeError
        Body indices that are not integers, or entries that are not real numbers.

    Notes
    -----
    With the lever arm r from the centre of mass to the contact point, the row of a direction e
    is :math:`[-e, -(r_i \times e)]` for body i and :math:`[e, r_j \times e]` for body j (S1
    eqs. 2.55-2.63); the spin row is :math:`[0, -n]` and :math:`[0, n]`.

    Examples
    --------
    A ball of radius 0.5 m on the ground:

    >>> J = contact_jacobian([[0, 0, 0]], [[0, 0, 1]], [[-1, 0]], [[0, 0, 0.5]])
    >>> J.shape
    (1, 2, 3, 6)
    >>> J[0, 1, 0]  # the normal velocity is the ball's vertical one
    array([0., 0., 1., 0., 0., 0.])
    """
    points, normals = _vectors("points", points), _vectors("normals", normals)
    positions = _vectors("positions", positions)
    count = len(points)
    _require_shape("normals", normals, (count, 3))
    _require_unit("normals", normals)
    pairs = _body_pairs(bodies, count, len(positions))
    first, second = tangent_basis(normals) if tangents is None else _given(tangents, normals)

    # The row of a direction e with the lever arm r is [e, r x e].
    axes = np.stack((normals, first, second), axis=1)
    # Index -1 selects the additional last row, so that the fixed world is no special case here.
    padded = np.concatenate((positions, np.zeros((1, 3))))
    J = np.zeros((count, 2, 4 if spin else 3, 6))
    for side, sign in ((0, -1.0), (1, 1.0)):
        arms = points - padded[pairs[:, side]]
        J[:, side, :3, :3] = sign * axes
        J[:, side, :3, 3:] = sign * np.cross(arms[:, None, :], axes)
        if spin:
            J[:, side, 3, 3:] = sign * normals
        J[pairs[:, side] < 0, side] = 0.0
    J += 0.0  # turns -0.0 into 0.0, for printed blocks without stray signs
    return J


def tangent_basis(
    normals: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two tangents that form a right-handed orthonormal frame with each unit normal.

    No choice is continuous on the whole sphere. This one is discontinuous on one circle, at height
    -0.55 of the normal. It is smooth around every coordinate direction, where the tangents are
    coordinate directions too.

    Parameters
    ----------
    normals : ndarray, shape (K, 3)
        Unit vectors.

    Returns
    -------
    first, second : ndarray, shape (K, 3)
        ``first x second = normal``.

    Notes
    -----
    The formula is that of Duff et al., "Building an orthonormal basis, revisited", Journal of
    Computer Graphics Techniques 6(1), 2017, with the switch between the two hemispheres moved
    from the equator, where the normals of upright walls lie.
    """
    x, y, z = normals[:, 0], normals[:, 1], normals[:, 2]
    pole = np.where(z > _SEAM_HEIGHT, 1.0, -1.0)
    scale = -1.0 / (pole + z)
    mixed = x * y * scale
    first = np.stack((1.0 + pole * x * x * scale, pole * mixed, -pole * x), axis=1)
    second = np.stack((mixed, pole + y * y * scale, -y), axis=1)
    return first, second


def _given(
    tangents: ArrayLike, normals: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the given tangents, checked against the normals."""
    given = _real("tangents", tangents)
    count = len(normals)
    if given.shape not in ((count, 3), (count, 2, 3)):
        raise ValueError(
            f"tangents has shape {given.shape}: expected ({count}, 3) or ({count}, 2, 3)"
        )
    _require_unit("tangents", given)
    if given.ndim == 2:
        _require_orthogonal(given, normals, "its normal")
        return given, np.cross(normals, given)
    _require_orthogonal(given, normals[:, None, :], "its normal")
    _require_orthogonal(given[:, 1], given[:, 0], "the first tangent", suffix=", 1")
    return given[:, 0], given[:, 1]


def _real(name: str, value: Any) -> NDArray[np.float64]:
    """Return `value` as a finite float64 array."""
    array = as_array(name, value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} has dtype {array.dtype}: expected real numbers")
    array = array.astype(np.float64, copy=False)
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        index = tuple(wrong[0])
        raise ValueError(f"{_entry(name, index)} is {array[index]}: every entry must be finite")
    return array


def _vectors(name: str, value: Any) -> NDArray[np.float64]:
    """Return `value` as finite float64 rows of three; an empty list has no rows."""
    array = _real(name, value)
    if array.ndim == 1 and array.size == 0:
        array = array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"{name} has shape {array.shape}: expected (count, 3)")
    return array


def _body_pairs(value: Any, count: int, body_count: int) -> NDArray[np.int64]:
    """Return `value` as index pairs, checked."""
    array = as_array("bodies", value)
    if array.ndim == 1 and array.size == 0:
        array = np.zeros((0, 2), dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"bodies has dtype {array.dtype}: expected integers")
    _require_shape("bodies", array, (count, 2))
    wrong = np.argwhere((array < -1) | (array >= body_count))
    if len(wrong):
        index = tuple(wrong[0])
        raise ValueError(
            f"{_entry('bodies', index)} is {array[index]}: expected -1 for the fixed world or an "
            f"index below {body_count}, the number of bodies"
        )
    return array.astype(np.int64, copy=False)


def _require_shape(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}: expected {shape}, as points has it")


def _require_unit(name: str, array: NDArray[np.float64]) -> None:
    length = np.linalg.norm(array, axis=-1)
    wrong = np.argwhere(np.abs(length - 1.0) > _UNIT_TOLERANCE)
    if len(wrong):
        index = tuple(wrong[0])
        raise ValueError(
            f"{_entry(name, index)} has length {length[index]:.9g}: expected a unit vector"
        )


def _require_orthogonal(
    tangents: NDArray[np.float64], others: NDArray[np.float64], what: str, suffix: str = ""
) -> None:
    cosine = np.sum(tangents * others, axis=-1)
    wrong = np.argwhere(np.abs(cosine) > _UNIT_TOLERANCE)
    if len(wrong):
        index = tuple(wrong[0])
        entry = ", ".join(str(i) for i in index) + suffix
        raise ValueError(
            f"tangents[{entry}] has the component {cosine[index]:.6g} along {what}: "
            "expected orthogonal directions"
        )


def _entry(name: str, index: tuple[Any, ...]) -> str:
    return f"{name}[{', '.join(str(i) for i in index)}]"


def __dir__() -> list[str]:
    return sorted(__all__)
