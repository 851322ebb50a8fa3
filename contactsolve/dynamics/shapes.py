"""Convex shapes of bodies.

In space: `Sphere`, `Capsule`, `Box`, `Hull`, `Cylinder`, `Triangle`; in the plane: `Disc`,
`Segment`, `Polygon`; in both: `HalfSpace`. A shape has a frame of its own, with the origin at the
centre of the shape (of a `Hull`, `Triangle` or `Polygon`: where the vertices put it). Shapes cannot
be changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import _core

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "Disc",
    "HalfSpace",
    "Hull",
    "MassProperties",
    "Polygon",
    "Segment",
    "Shape",
    "Sphere",
    "Triangle",
]


class MassProperties(NamedTuple):
    """What a rigid body needs to know of its mass.

    Attributes
    ----------
    mass : float
        [kg]
    center : (3,) ndarray
        Centre of mass in the frame of the shape [m]; ``(2,)`` in the plane.
    inertia : (3, 3) ndarray or float
        About the centre of mass [kg m²]; a number in the plane.
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray | float


class Shape:
    """A convex shape: the base of all of them.

    Attributes
    ----------
    kind : str
        The name that the C library has for it.
    dimension : int
        3 in space, 2 in the plane.
    """

    __slots__ = ("_mass", "_numbers", "_vertices", "dimension")
    kind: ClassVar[str]

    dimension: int
    _numbers: tuple[float, ...]
    _vertices: np.ndarray | None
    _mass: tuple[float, np.ndarray, np.ndarray, float] | None

    def _describe(
        self, dimension: int, numbers: tuple[float, ...], vertices: np.ndarray | None = None
    ) -> None:
        """Set and check what describes the shape."""
        if vertices is not None:
            vertices.flags.writeable = False
        for name, value in (
            ("dimension", dimension),
            ("_numbers", numbers),
            ("_vertices", vertices),
            ("_mass", None),
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_mass", self._measured())

    def _measured(self) -> tuple[float, np.ndarray, np.ndarray, float] | None:
        """Return what the C library measures with density 1; it checks the shape."""
        return _core.shape_mass(
            self.kind, np.array([self._numbers]), self._vertices, self.dimension
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed: make a new one")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments()

    def _arguments(self) -> tuple[Any, ...]:
        return self._numbers

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        vertices = None if self._vertices is None else self._vertices.tobytes()
        return self.kind, self.dimension, self._numbers, vertices

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._arguments()))})"

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers that describe the shape in the C library."""
        return self._numbers

    def _all_measured(self) -> tuple[float, np.ndarray, np.ndarray, float]:
        if self._mass is None:
            raise ValueError(f"a {type(self).__name__} has no mass: its volume is infinite")
        return self._mass

    @property
    def volume(self) -> float:
        """The volume [m³], in the plane the area [m²]."""
        return self._all_measured()[0]

    @property
    def bounding_radius(self) -> float:
        """The radius of a sphere about the centre of mass that holds the shape [m]."""
        return self._all_measured()[3]

    def mass_properties(self, density: float) -> MassProperties:
        """Return mass, centre of mass, and the inertia about it.

        Parameters
        ----------
        density : float
            [kg/m³], in the plane [kg/m²].
        """
        density = _positive("density", density)
        volume, center, inertia, _ = self._all_measured()
        if self.dimension == 2:
            return MassProperties(density * volume, center.copy(), density * float(inertia[2, 2]))
        return MassProperties(density * volume, center.copy(), density * inertia)

    def inertia(self, density: float) -> np.ndarray | float:
        """Return the inertia about the centre of mass; see `mass_properties`."""
        return self.mass_properties(density).inertia


class Sphere(Shape):
    """A sphere about the origin."""

    __slots__ = ()
    kind = "sphere"

    def __init__(self, radius: float) -> None:
        self._describe(3, (_number("radius", radius),))

    @property
    def radius(self) -> float:
        """The radius [m]."""
        return self._numbers[0]


class _Rod(Shape):
    """A shape of a radius and a half length."""

    __slots__ = ()

    @property
    def radius(self) -> float:
        """The radius [m]."""
        return self._numbers[0]

    @property
    def half_length(self) -> float:
        """Half the length of the axis [m]."""
        return self._numbers[1]


class Capsule(_Rod):
    """All points within `radius` of the line from ``-half_length`` to ``half_length`` along z."""

    __slots__ = ()
    kind = "capsule"

    def __init__(self, radius: float, half_length: float) -> None:
        self._describe(3, (_number("radius", radius), _number("half_length", half_length)))


class Cylinder(_Rod):
    """A cylinder along z, from ``-half_length`` to ``half_length``."""

    __slots__ = ()
    kind = "cylinder"

    def __init__(self, radius: float, half_length: float) -> None:
        self._describe(3, (_number("radius", radius), _number("half_length", half_length)))


class Box(Shape):
    """A box with three half extents, along x, y and z."""

    __slots__ = ()
    kind = "box"

    def __init__(self, half_extents: Any) -> None:
        self._describe(3, _numbers_of("half_extents", half_extents, (3,)))

    @property
    def half_extents(self) -> tuple[float, ...]:
        """Half the edges [m]."""
        return self._numbers

    def _arguments(self) -> tuple[Any, ...]:
        return (self._numbers,)


class _Polytope(Shape):
    """The convex hull of points."""

    __slots__ = ()

    @property
    def vertices(self) -> np.ndarray:
        """The points, as they were given."""
        assert self._vertices is not None
        return self._vertices

    def _arguments(self) -> tuple[Any, ...]:
        return (self.vertices.tolist(),)


class Hull(_Polytope):
    """The convex hull of 4 to 64 points in space, ``(n, 3)``."""

    __slots__ = ()
    kind = "hull"

    def __init__(self, vertices: Any) -> None:
        self._describe(3, (), _points("vertices", vertices, 3))


class Triangle(_Polytope):
    """A triangle without thickness, with three corners ``(3, 3)``: a part of a `Mesh`.

    It has no volume: a body of triangles alone needs mass and inertia.

    Parameters
    ----------
    vertices
        The corners; from where they are counterclockwise, the side of the normal is seen.
    inner
        Numbers of edges, edge k from corner k to the next one, that are inner ones of a mesh: where
        they are flat or hollow, nothing touches the edge and neither face beside it.
    """

    __slots__ = ()
    kind = "triangle"

    def __init__(self, vertices: Any, inner: Iterable[int] = ()) -> None:
        edges = set(inner)
        if not edges <= {0, 1, 2}:
            raise ValueError(f"inner is {sorted(edges)}: a triangle has edges 0, 1 and 2")
        mask = float(sum(1 << k for k in edges))
        self._describe(3, (mask,), _points("vertices", vertices, 3))

    @property
    def inner(self) -> tuple[int, ...]:
        """The edges that are inner ones of a mesh."""
        return tuple(k for k in range(3) if int(self._numbers[0]) >> k & 1)

    def _arguments(self) -> tuple[Any, ...]:
        return self.vertices.tolist(), self.inner


class HalfSpace(Shape):
    """All points with ``normal · x <= offset``; the normal has 3 numbers, or 2 in the plane."""

    __slots__ = ()
    kind = "half_space"

    def __init__(self, normal: Any, offset: float = 0.0) -> None:
        direction = _numbers_of("normal", normal, (2, 3))
        if not any(direction):
            raise ValueError(f"normal is {normal!r}: a vector that is not zero is needed")
        padded = (*direction, 0.0)[:3]
        self._describe(len(direction), (*padded, _number("offset", offset)))

    def _measured(self) -> None:
        return None

    @property
    def normal(self) -> tuple[float, ...]:
        """The outward normal, as it was given."""
        return self._numbers[: self.dimension]

    @property
    def offset(self) -> float:
        """The value of ``normal · x`` at the surface."""
        return self._numbers[3]

    def _arguments(self) -> tuple[Any, ...]:
        return self.normal, self.offset


class Disc(Shape):
    """A disc about the origin of the plane."""

    __slots__ = ()
    kind = "disc"

    def __init__(self, radius: float) -> None:
        self._describe(2, (_number("radius", radius),))

    @property
    def radius(self) -> float:
        """The radius [m]."""
        return self._numbers[0]


class Segment(_Rod):
    """The capsule of the plane, along x; its radius may be zero, which leaves it without mass."""

    __slots__ = ()
    kind = "segment"

    def __init__(self, half_length: float, radius: float = 0.0) -> None:
        self._describe(2, (_number("radius", radius), _number("half_length", half_length)))

    def _arguments(self) -> tuple[Any, ...]:
        return self.half_length, self.radius


class Polygon(_Polytope):
    """The convex hull of 3 to 64 points in the plane, ``(n, 2)``."""

    __slots__ = ()
    kind = "polygon"

    def __init__(self, vertices: Any) -> None:
        self._describe(2, (), _points("vertices", vertices, 2))

    @classmethod
    def rectangle(cls, half_extents: Any) -> Polygon:
        """Return a rectangle about the origin with two half extents, along x and y."""
        x, y = _numbers_of("half_extents", half_extents, (2,))
        for i, extent in enumerate((x, y)):
            _positive(f"half_extents[{i}]", extent)
        return cls([[-x, -y], [x, -y], [x, y], [-x, y]])


# ---- arguments -----------------------------------------------------------------------------------


def _number(name: str, value: Any) -> float:
    """Return a finite number; the C library checks its range."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}: a number is needed") from None
    if not np.isfinite(number):
        raise ValueError(f"{name} is {number}: a finite number is needed")
    return number


def _positive(name: str, value: Any) -> float:
    number = _number(name, value)
    if number <= 0:
        raise ValueError(f"{name} is {number}: a positive number is needed")
    return number


def _numbers_of(name: str, value: Any, lengths: tuple[int, ...]) -> tuple[float, ...]:
    """Return one of so many finite numbers."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}: numbers are needed") from None
    if array.ndim != 1 or array.size not in lengths:
        wanted = " or ".join(map(str, lengths))
        raise ValueError(f"{name} has shape {array.shape}: {wanted} numbers are needed")
    return tuple(_number(f"{name}[{i}]", entry) for i, entry in enumerate(array.tolist()))


def _points(name: str, value: Any, columns: int) -> np.ndarray:
    """Return a copy of points; the C library checks that they span a hull."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}: an array of numbers is needed") from None
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} has shape {array.shape}: (n, {columns}) is needed")
    return np.ascontiguousarray(array)


def shape_of(
    kind: str, dimension: int, numbers: tuple[float, ...], vertices: np.ndarray | None
) -> Shape:
    """Return a shape from what describes it in the C library."""
    makers = {one.kind: one for one in _KINDS}
    if kind not in makers:
        raise ValueError(f"the kind of shape {kind!r} is unknown: {', '.join(makers)}")
    shape = makers[kind].__new__(makers[kind])
    shape._describe(dimension, numbers, vertices)
    return shape


def kinds_of(dimension: int) -> tuple[str, ...]:
    """Return the names of the shapes of a dimension."""
    return _NAMES_IN_SPACE if dimension == 3 else _NAMES_IN_PLANE


_NAMES_IN_SPACE = ("Sphere", "Capsule", "Cylinder", "Box", "Hull", "HalfSpace", "Mesh")
_NAMES_IN_PLANE = ("Disc", "Segment", "Polygon", "HalfSpace")
_KINDS: tuple[type[Shape], ...] = (
    *(Sphere, Capsule, Cylinder, Box, Hull, Triangle, HalfSpace),
    *(Disc, Segment, Polygon),
)
