"""Convex shapes of friction, for `contactsolve.sets.support`.

A shape lies in the plane of the two tangents, or, if its points have three coordinates, in the
space of the tangents and the spin. It contains the friction impulses for a normal impulse of 1, and
the origin. Dimensions are one number, or ``(K,)`` for each contact.

Shapes can be combined: ``a + b`` is the Minkowski sum, `hull` the convex hull,
``a.turned(angle)`` and ``a.shifted(offset)`` move a shape.

>>> from contactsolve import sets, shapes
>>> stadium = shapes.hull(shapes.disc(0.2).shifted([0.3, 0]), shapes.disc(0.2).shifted([-0.3, 0]))
>>> sets.support(stadium).project([1.0, 0.1, 0.5])
array([1. , 0.1, 0.2])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import finite_array, real_array

__all__ = [
    "Shape",
    "disc",
    "ellipse",
    "ellipsoid",
    "hull",
    "patch",
    "points",
    "superellipse",
    "superellipsoid",
]

# As the C library numbers them (csrc/prox/shape.h).
_ELLIPSOID, _SUPERELLIPSOID, _POINTS, _PATCH, _SUM, _HULL, _TURNED, _SHIFTED = range(1, 9)


class Shape:
    """A convex shape; made by the functions of this module.

    Attributes
    ----------
    dimensions
        2 (tangents) or 3 (tangents and spin).
    """

    __slots__ = ("_columns", "_text", "dimensions")

    def __init__(self, text: str, dimensions: int, code: int, columns: list[Any]) -> None:
        self.dimensions = dimensions
        self._text = text
        self._columns = [float(code), float(len(columns) + 2), *columns]

    def numbers(self) -> np.ndarray:
        """Return the shape as the C library reads it: ``(p,)``, or ``(K, p)``."""
        try:
            return np.stack(np.broadcast_arrays(*self._columns), axis=-1).astype(np.float64)
        except ValueError:
            lengths = sorted({np.shape(column) for column in self._columns} - {()})
            raise ValueError(
                f"the dimensions of {self} are of different numbers of contacts: "
                f"{', '.join(map(str, lengths))}"
            ) from None

    def __add__(self, other: Shape) -> Shape:
        """Return the Minkowski sum: all sums of a point of each."""
        return _together("sum", _SUM, (self, other))

    def turned(self, angle: Any) -> Shape:
        """Return the shape turned in the tangent plane, from t1 towards t2 [rad]."""
        turn = _dimension("angle", finite_array("angle", angle))
        columns = [np.cos(turn), np.sin(turn), *self._columns]
        return Shape(f"{self}.turned(...)", self.dimensions, _TURNED, columns)

    def shifted(self, offset: Any) -> Shape:
        """Return the shape moved by ``(n,)``, or ``(K, n)``; it must still contain the origin."""
        moved = real_array("offset", offset)
        if moved.ndim not in (1, 2) or moved.shape[-1] != self.dimensions:
            raise ValueError(
                f"offset has shape {moved.shape}: ({self.dimensions},) or "
                f"(K, {self.dimensions}) is needed"
            )
        columns = [*np.moveaxis(moved, -1, 0), *self._columns]
        return Shape(f"{self}.shifted(...)", self.dimensions, _SHIFTED, columns)

    def __repr__(self) -> str:
        return self._text


def _dimension(name: str, value: Any) -> Any:
    """Return a number, or one for each contact, checked."""
    array = real_array(name, value)
    if array.ndim > 1:
        raise ValueError(f"{name} has shape {array.shape}: one number or (K,) is needed")
    return array


def disc(radius: Any = 1.0) -> Shape:
    """A disc in the tangent plane: Coulomb friction."""
    return ellipse(radius, radius)


def ellipse(a: Any, b: Any) -> Shape:
    """An ellipse with semi-axes `a` along t1 and `b` along t2; zero makes it a segment."""
    return Shape("ellipse", 2, _ELLIPSOID, [_dimension("a", a), _dimension("b", b)])


def ellipsoid(a: Any, b: Any, c: Any) -> Shape:
    """An ellipsoid with semi-axes along t1, t2 and the spin [m]; zeros make it flat.

    A cylinder, Contensou's decoupled set, is ``ellipsoid(a, a, 0) + ellipsoid(0, 0, c)``.
    """
    axes = [_dimension(name, value) for name, value in (("a", a), ("b", b), ("c", c))]
    return Shape("ellipsoid", 3, _ELLIPSOID, axes)


def superellipse(a: Any, b: Any, exponent: Any) -> Shape:
    """All ``|x/a|^p + |y/b|^p <= 1``.

    An exponent p of 1 makes a rhombus, 2 an ellipse, and infinity a rectangle.
    """
    columns = [_dimension("exponent", exponent), _dimension("a", a), _dimension("b", b)]
    return Shape("superellipse", 2, _SUPERELLIPSOID, columns)


def superellipsoid(a: Any, b: Any, c: Any, exponent: Any) -> Shape:
    """All ``|x/a|^p + |y/b|^p + |z/c|^p <= 1``, with z the spin."""
    axes = [_dimension(name, value) for name, value in (("a", a), ("b", b), ("c", c))]
    columns = [_dimension("exponent", exponent), *axes]
    return Shape("superellipsoid", 3, _SUPERELLIPSOID, columns)


def points(points: Any) -> Shape:
    """The convex hull of points: ``(k, n)`` for all contacts or ``(K, k, n)``, n = 2 or 3."""
    array = real_array("points", points)
    if array.ndim not in (2, 3) or array.shape[-1] not in (2, 3) or array.shape[-2] < 1:
        raise ValueError(
            f"points has shape {array.shape}: (k, n) or (K, k, n) with n = 2 or 3 is needed"
        )
    return Shape("points", array.shape[-1], _POINTS, _columns_of(array))


def patch(positions: Any, weights: Any) -> Shape:
    """The friction of a contact patch: tangential impulse and spin moment, exactly coupled.

    The points of the patch share the normal impulse. Each has Coulomb friction against its own
    velocity when the patch slides and spins. The set is the sum over the points of
    ``weight (f, x f_2 - y f_1)`` for all ``|f| <= 1``. For points all over a disc it is
    Contensou's set, which `contactsolve.sets.contensou_coupled` approximates.

    Parameters
    ----------
    positions
        x along t1 and y along t2 [m], ``(k, 2)`` for all contacts or ``(K, k, 2)``.
    weights
        The share of each point in the normal impulse times its friction coefficient, ``(k,)`` or
        ``(K, k)``.
    """
    place, weight = real_array("positions", positions), real_array("weights", weights)
    if place.ndim not in (2, 3) or place.shape[-1] != 2 or place.shape[-2] < 1:
        raise ValueError(f"positions has shape {place.shape}: (k, 2) or (K, k, 2) is needed")
    if weight.ndim not in (1, 2) or weight.shape[-1] != place.shape[-2]:
        raise ValueError(
            f"weights has shape {weight.shape}: ({place.shape[-2]},) or (K, {place.shape[-2]}) "
            f"is needed"
        )
    columns = []
    for i in range(place.shape[-2]):
        columns += [place[..., i, 0], place[..., i, 1], weight[..., i]]
    return Shape("patch", 3, _PATCH, columns)


def hull(*shapes: Shape) -> Shape:
    """Return the convex hull of several shapes."""
    return _together("hull", _HULL, shapes)


def _together(name: str, code: int, shapes: tuple[Shape, ...]) -> Shape:
    for i, shape in enumerate(shapes):
        if not isinstance(shape, Shape):
            raise TypeError(f"{name}: shapes[{i}] is {shape!r}: a Shape is needed")
    sizes = {shape.dimensions for shape in shapes}
    if len(sizes) != 1:
        raise ValueError(f"{name} of {len(shapes)} shapes: all of the same dimensions are needed")
    columns = [column for shape in shapes for column in shape._columns]
    text = f"{name}({', '.join(map(repr, shapes))})"
    return Shape(text, sizes.pop(), code, columns)


def _columns_of(array: np.ndarray) -> list[Any]:
    """Return the coordinates of all points, as one column each."""
    return [array[..., i, j] for i in range(array.shape[-2]) for j in range(array.shape[-1])]


def __dir__() -> list[str]:
    return sorted(__all__)
