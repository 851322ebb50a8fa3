"""The bodies of a world, their shapes and materials: how they are added, moved and removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _core
from .._arrays import index_array, real_array
from ._mass import Part, Solid, factor, refuse_impossible, shift, solid_of, turned
from ._placed import PlacedShape, add_to, alike
from .material import Material
from .mesh import Mesh
from .shapes import Shape, kinds_of

__all__ = ["Population"]

# A body may begin this much deeper than its contacts are closed, in its bounding radius.
_OVERLAP = 1e-3


class Population:
    """What a world consists of. `World` adds options, state and steps."""

    dimension: int
    _core: _core.World
    _state: dict[str, Any]
    _materials: dict[int, int]  # numbers by the id of a material
    _kept: list[Material]
    _laws: list[tuple[tuple[int, int], tuple[Any, ...]]]  # pair (-1, -1): a material
    _shapes: list[PlacedShape]
    _unchecked: int | None  # the first shape whose overlaps were not tested
    _default: Material
    _allow_overlap: bool
    _friction: str

    def _look(self) -> None:
        """Look at the arrays of the state anew: they move where bodies are added."""
        self._state = self._core.state()

    # ---- bodies ----------------------------------------------------------------------------------

    def add_body(
        self,
        shape: Shape | Mesh | Sequence[tuple[Shape | Mesh, Any, Any]] | None = None,
        position: Any = None,
        *,
        orientation: Any = None,
        velocity: Any = None,
        mass: float | None = None,
        density: float | None = None,
        inertia: Any = None,
        material: Material | None = None,
        driven: bool = False,
        visual: bool = False,
    ) -> int:
        """Add a body, and return its number.

        Parameters
        ----------
        shape
            One shape, or several as ``(shape, position, orientation)`` in a frame of the body, with
            None for a shape that is not moved or not turned. None: no shape.
        position
            Of the centre of mass, ``(D,)`` [m]. The body's frame is moved so that the centre of
            mass is its origin.
        orientation
            ``(4,)`` w, x, y, z; an angle in the plane. Default: not turned.
        velocity
            ``(6,)`` or ``(3,)``; default: at rest.
        mass, density
            Give one of them [kg, kg/m³]; a driven body needs none.
        inertia
            About the centre of mass in the body's frame, ``(3, 3)``, or ``(3,)`` for a diagonal, or
            a number in the plane [kg m²]. Default: that of the shapes with an even density.
        material
            Of its shapes. Default: that of the world.
        driven
            Whatever acts on it, it keeps its velocity.
        visual
            Its shapes are seen in pictures and give it mass and inertia, but touch nothing.
        """
        parts = self._parts(shape)
        solid = self._mass_of(parts, mass, density, inertia, driven)
        number = self._number_of(material, visual)
        places = [shift(part.position, self.dimension) - solid.center for part in parts]
        for part in parts:
            turned(part.orientation, self.dimension)
        first = self._core.add_bodies(
            np.array([solid.volume]),
            solid.inertia,
            shift(position, self.dimension).reshape(1, -1),
            turned(orientation, self.dimension).reshape(1, -1),
            self._speed(velocity),
            np.array([bool(driven)]),
        )
        with self._all_or_none(first, 1):
            for part, place in zip(parts, places, strict=True):
                self._attach_part(part.shape, first, place, part.orientation, number)
        return first

    def add_bodies(
        self,
        shapes: Shape | Iterable[Shape],
        positions: Any,
        *,
        orientations: Any = None,
        velocities: Any = None,
        mass: Any = None,
        density: float | None = None,
        material: Material | None = None,
        driven: bool = False,
        visual: bool = False,
    ) -> np.ndarray:
        """Add n bodies with one shape each, and return their numbers ``(n,)``.

        Parameters
        ----------
        shapes
            One shape for all, or n of them.
        positions
            ``(n, D)``
        orientations, velocities
            ``(n, 4)`` and ``(n, 6)``, in the plane ``(n,)`` and ``(n, 3)``, or None.
        mass
            A number, or ``(n,)``; or give `density`.
        material, driven, visual
            As for `add_body`.
        """
        where = real_array("positions", positions)
        if where.ndim != 2 or where.shape[1] != self.dimension:
            raise ValueError(f"positions has shape {where.shape}: (n, {self.dimension}) is needed")
        count = len(where)
        every = [shapes] * count if isinstance(shapes, Shape) else list(shapes)
        if len(every) != count:
            raise ValueError(f"shapes has length {len(every)}, but positions has length {count}")
        for one in every:
            self._fits(one)
        number = self._number_of(material, visual)
        masses = None if mass is None else np.broadcast_to(real_array("mass", mass), (count,))
        solids = {id(one): solid_of([Part(one)], self.dimension) for one in every}
        own = [solids[id(one)] for one in every]

        # Masses and inertias: those of density 1, scaled.
        volume = np.array([one.volume for one in own])
        scale = factor(volume, masses, density, driven=driven)
        inertia = np.array([scaled * one.inertia for scaled, one in zip(scale, own, strict=True)])
        first = self._core.add_bodies(
            volume * scale,
            inertia,
            where,
            None if orientations is None else real_array("orientations", orientations),
            None if velocities is None else real_array("velocities", velocities),
            np.full(count, bool(driven)),
        )
        with self._all_or_none(first, count):
            self._attach_each(every, [one.center for one in own], first, number)
        return np.arange(first, first + count)

    def add_fixed(
        self,
        shape: Shape | Mesh,
        position: Any = None,
        *,
        orientation: Any = None,
        material: Material | None = None,
    ) -> int:
        """Add a shape to the fixed world; return its number, or that of a mesh's first triangle."""
        self._fits(shape)
        place = shift(position, self.dimension)
        return self._attach_part(shape, -1, place, orientation, self._number(material))

    def remove(self, body: int) -> None:
        """Remove a body with its shapes. Others keep their numbers."""
        self._core.remove(body)
        self._look()

    def place(
        self,
        bodies: int | Sequence[int] | np.ndarray,
        position: Any = None,
        *,
        orientation: Any = None,
        velocity: Any = None,
    ) -> None:
        """Move bodies, or give them other velocities, between two steps.

        Parameters
        ----------
        bodies
            The number of one, or ``(n,)``: all of them are moved before overlaps are tested.
        position
            ``(D,)`` or ``(n, D)``, of centres of mass [m].
        orientation
            ``(4,)`` or ``(n, 4)``; in the plane a number or ``(n,)``.
        velocity
            ``(d,)`` or ``(n, d)``, linear before angular.

        Raises
        ------
        ValueError
            A body is not in the world or would overlap another, unless `allow_overlap`; a value
            that is not finite. Nothing is moved.

        Notes
        -----
        What is None stays as it is. Contacts that are closed before and after keep their impulses
        as the start of the next solve.
        """
        chosen = np.atleast_1d(index_array("bodies", bodies))
        if chosen.ndim != 1 or len(np.unique(chosen)) != len(chosen):
            raise ValueError(f"bodies is {chosen.tolist()}: each body can be named once")
        given = {"position": position, "orientation": orientation, "velocity": velocity}
        full = [
            self._of_each(name, value, len(chosen), self._state[name])
            for name, value in given.items()
        ]
        before = {name: self._state[name].copy() for name in given if given[name] is not None}
        self._core.place(chosen, *full)
        if self._allow_overlap or (position is None and orientation is None):
            return
        try:
            self._refuse_overlap(np.isin([one.body for one in self._shapes], chosen))
        except BaseException:
            back = (before[name][chosen] if name in before else None for name in given)
            self._core.place(chosen, *back)
            raise

    def _of_each(self, name: str, value: Any, count: int, state: np.ndarray) -> np.ndarray | None:
        """Return a value for each of `count` bodies, in the form of the state of all."""
        if value is None:
            return None
        given, shape = real_array(name, value), (count, *state.shape[1:])
        if given.shape not in (shape, shape[1:]):
            raise ValueError(f"{name} has shape {given.shape}: {shape} is needed")
        return np.broadcast_to(given, shape)

    def set_pair(self, first: Material, second: Material, material: Material) -> None:
        """Say what holds where two different materials touch."""
        law = self._law(material)
        one, other = self._number(first), self._number(second)
        self._core.set_pair(one, other, *law)
        self._laws.append(((one, other), law))

    # ---- what bodies are made of -----------------------------------------------------------------

    @contextmanager
    def _all_or_none(self, first: int, count: int) -> Iterator[None]:
        """Remove the bodies from `first` on where their shapes cannot be added."""
        try:
            yield
        except BaseException:
            for body in range(first, first + count):
                self._core.remove(body)
            raise
        finally:
            self._look()

    def _speed(self, velocity: Any) -> np.ndarray | None:
        """Return the velocity of one body as the C library takes it."""
        if velocity is None:
            return None
        given = real_array("velocity", velocity)
        wanted = 6 if self.dimension == 3 else 3
        if given.shape != (wanted,):
            raise ValueError(f"velocity has shape {given.shape}: ({wanted},) is needed")
        return given

    def _fits(self, shape: Any) -> None:
        if not isinstance(shape, (Shape, Mesh)):
            raise TypeError(f"shape is {shape!r}: a shape of contactsolve.dynamics is needed")
        if shape.dimension != self.dimension:
            raise ValueError(
                f"{shape!r} is for dimension {shape.dimension}, not {self.dimension}, which has "
                f"{', '.join(kinds_of(self.dimension))}"
            )

    def _parts(self, shape: Any) -> list[Part]:
        """Return the shapes of one body."""
        if shape is None:
            return []
        single = isinstance(shape, (Shape, Mesh))
        parts = [Part(shape)] if single else [Part(*one) for one in shape]
        for one in parts:
            self._fits(one.shape)
        return parts

    def _mass_of(
        self, parts: list[Part], mass: Any, density: float | None, inertia: Any, driven: bool
    ) -> Solid:
        """Return mass, centre of mass and inertia of one body."""
        tensor = np.eye(3) if self.dimension == 3 else np.ones(())
        if mass is not None and np.ndim(mass) != 0:
            raise ValueError(f"mass has shape {np.shape(mass)}: one number is needed")
        kinds = [part.shape.kind for part in parts]
        if parts and "half_space" not in kinds and any(part.shape.volume > 0 for part in parts):
            unit = solid_of(parts, self.dimension)
            scale = float(factor(np.array([unit.volume]), mass, density, driven=driven)[0])
            solid = Solid(unit.volume * scale, unit.center, unit.inertia * scale)
        elif density is not None:
            raise TypeError("density is given: without a solid shape, mass and inertia are needed")
        elif (mass is None or inertia is None) and not driven:
            raise TypeError("mass and inertia are needed: there is no solid shape to compute from")
        else:
            solid = Solid(1.0 if mass is None else float(mass), np.zeros(self.dimension), tensor)
        if inertia is None:
            return solid
        given = real_array("inertia", inertia)
        refuse_impossible(given)
        return solid._replace(inertia=np.diag(given) if given.shape == (3,) else given)

    def _attach_part(
        self, shape: Shape | Mesh, body: int, place: np.ndarray, orientation: Any, material: int
    ) -> int:
        """Give a body one shape, or all triangles of a mesh; returns the number of the first."""
        shapes = shape.parts if isinstance(shape, Mesh) else [shape]
        numbers = [self._attach([one], [body], [place], [orientation], material) for one in shapes]
        return numbers[0]

    def _attach_each(
        self, shapes: list[Shape], centers: list[np.ndarray], first: int, material: int
    ) -> None:
        """Give bodies first, first + 1, ... one shape each."""
        bodies = np.arange(first, first + len(shapes))
        for part in alike(shapes):
            places = [-center for center in centers[part]]
            self._attach(shapes[part], bodies[part], places, [None] * len(places), material)

    def _attach(
        self,
        shapes: list[Shape],
        bodies: Any,
        positions: list[Any],
        orientations: list[Any],
        material: int,
    ) -> int:
        """Add shapes of one kind to bodies; returns the number of the first."""
        where = np.array(
            [np.zeros(self.dimension) if one is None else one for one in positions], dtype=float
        )
        turns = np.array([turned(one, self.dimension) for one in orientations])
        owners = np.asarray(bodies, dtype=np.int64)
        made_of = [None if material < 0 else self._kept[material]] * len(shapes)
        new = list(map(PlacedShape, shapes, owners.tolist(), where, turns, made_of))
        materials = np.full(len(shapes), material)

        # The list comes first: Ctrl-C during the call is raised once the C library has the shapes.
        known, unchecked = len(self._shapes), self._unchecked
        self._shapes += new
        self._unchecked = known if unchecked is None else min(known, unchecked)
        try:
            if material < 0:
                first = known
                self._core.skip_shapes(len(shapes))
            else:
                first = add_to(self._core, shapes, owners, where, turns, materials)
        except Exception:
            del self._shapes[known:]
            self._unchecked = unchecked
            raise
        self._shapes[first:] = new
        return first

    def _law(self, material: Material) -> tuple[str, int, np.ndarray, float, float]:
        """Return what holds where shapes of a material touch, as the C library takes it."""
        name, rows, values, *restitution = material.law(self.dimension)
        if name == "disc" and self._friction == "box":
            name = "box_friction"
        return name, rows, values, restitution[0], restitution[1]

    def _number_of(self, material: Material | None, visual: bool) -> int:
        """Return the number of a material; -1 for shapes that touch nothing and need none."""
        if not visual:
            return self._number(material)
        if material is not None:
            raise TypeError("material is given: shapes of a visual body touch nothing")
        return -1

    def _number(self, material: Material | None) -> int:
        """Return the number of a material, which is added at its first use."""
        material = self._default if material is None else material
        if not isinstance(material, Material):
            raise TypeError(f"material is {material!r}: a Material is needed")
        number = self._materials.get(id(material))
        if number is None:
            law = self._law(material)
            number = self._core.add_material(*law)
            self._laws.append(((-1, -1), law))
            self._materials[id(material)] = number
            self._kept.append(material)
        return number

    def _check_overlap(self, first: int) -> None:
        """Refuse shapes from number `first` on that begin within others."""
        if not self._allow_overlap:
            self._refuse_overlap(np.arange(len(self._shapes)) >= first)
        self._unchecked = None

    def _refuse_overlap(self, chosen: np.ndarray) -> None:
        """Raise if one of the chosen shapes, ``(shapes,)`` of truth values, is within another."""
        found = self._core.overlaps()
        radius = [
            np.inf if body < 0 or shape.kind == "half_space" else shape.bounding_radius
            for shape, body, *_ in self._shapes
        ]
        smaller = np.array(radius)[found["shape"]].min(axis=1)
        new = chosen[found["shape"]].any(axis=1)
        depth = np.where(new & (found["gap"] < -_OVERLAP * smaller), -found["gap"], 0.0)
        if depth.any():
            worst = int(np.argmax(depth))
            names = [
                f"body {body}" if body >= 0 else "the fixed world"
                for body in found["body"][worst].tolist()
            ]
            raise ValueError(
                f"{names[0]} and {names[1]} overlap by {depth[worst]:.3g} m: remove one of "
                "them, or allow_overlap=True"
            )
